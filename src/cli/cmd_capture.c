/*
 * `stackwide capture`: one recording into an archive, for cron and timers. Silent without a terminal
 * if all is well, because cron mails all output.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/ioprio.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "archive/archive.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/options/command.h"
#include "cli/record/capture_options.h"
#include "cli/record/recording.h"
#include "cli/record/stop_request.h"
#include "cli/report/history_reader.h"

/* Consecutive runs that may find another capture running. */
#define MAX_LEFT_OUT       3
#define LOWEST_PRIORITY    19
#define LOWEST_IO_PRIORITY 7 /* best effort, lowest: the idle class may starve */

struct capture_command {
	struct capture_options options;
	uint64_t start_ns; /* of the program, without the random delay */
	struct archive *archive;
	struct outputs outputs; /* empty: the archive receives the bytes */
	struct stop_request *stop_request;
	struct recording recording;
	struct archive_file *file;
	struct archive_expiry expired; /* before and after the recording, added up */
};

static int report(int status, const struct error *error)
{
	log_error("%s", error->message);
	return status;
}

/* The number may be easy to guess, and a machine that has just booted must not wait for entropy. */
static void wait_for_turn(uint64_t max_delay_ns)
{
	uint64_t number = 0;
	struct timespec delay;

	if (!max_delay_ns)
		return;
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = clock_now_ns();
	number %= max_delay_ns;
	delay.tv_sec = (time_t)(number / NS_PER_SECOND);
	delay.tv_nsec = (long)(number % NS_PER_SECOND);
	log_debug("waiting %.1f s", (double)number / 1e9);
	while (nanosleep(&delay, &delay) && errno == EINTR)
		;
}

/* The machine's own work takes precedence. */
static void lower_io_priority(void)
{
	int priority = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, LOWEST_IO_PRIORITY);

	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, priority))
		log_debug("the I/O priority cannot be lowered");
}

/*
 * Called after sampling, for symbolizing and writing. Setting up takes a tenth of a second of CPU
 * time. On a busy machine that would be half a minute at the lowest priority, and the event of
 * interest would be over. Also, a recorder without CPU time loses samples.
 */
static void lower_priority(void)
{
	if (setpriority(PRIO_PROCESS, 0, LOWEST_PRIORITY))
		log_debug("the priority cannot be lowered");
}

/* Another capture is running and does the work. If one runs for ever, all runs fail. */
static int leave_out(struct capture_command *capture)
{
	struct archive_holder holder = archive_count_left_out(capture->archive);
	char since[64] = "?";
	struct tm local;
	time_t since_s = (time_t)holder.since_s;

	if (holder.num_left_out < MAX_LEFT_OUT) {
		log_warning("another capture into '%s' is still running, skipping this one",
			    capture->options.dir);
		return EXIT_DONE;
	}
	if (holder.since_s && localtime_r(&since_s, &local))
		strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S", &local);
	log_error("another capture into '%s' has been running since %s (process %u): "
		  "this one is skipped, as were %u before it; end that process if it "
		  "hangs",
		  capture->options.dir, since, holder.pid, holder.num_left_out - 1);
	return EXIT_FAILED;
}

static int open_archive(struct capture_command *capture, bool *ret_is_busy)
{
	struct error error = {0};
	int err = archive_open(capture->options.dir, true, &capture->archive, &error);

	*ret_is_busy = false;
	if (err)
		return report(EXIT_FAILED, &error);
	err = archive_lock(capture->archive, &error);
	if (err == -EBUSY) {
		*ret_is_busy = true;
		return leave_out(capture);
	}
	return err ? report(EXIT_FAILED, &error) : EXIT_DONE;
}

/* Divide first: the size of a file system times a hundred may exceed 64 bits. */
static uint64_t get_min_free(const struct capture_command *capture, uint64_t total_bytes)
{
	if (capture->options.min_free_percent)
		return total_bytes / 100 * capture->options.min_free_percent;
	return capture->options.min_free_bytes;
}

static int expire(struct capture_command *capture, uint64_t min_free_bytes,
		  const char *protected_name)
{
	struct archive_limits limits = {
		.now_s = (int64_t)(clock_read_ns(CLOCK_REALTIME) / NS_PER_SECOND),
		.keep_s = capture->options.keep_s,
		.max_size_bytes = capture->options.max_size_bytes,
		.min_free_bytes = min_free_bytes,
	};
	struct archive_expiry expiry;
	struct error error = {0};
	int err = archive_expire(capture->archive, &limits, protected_name, &expiry, &error);

	if (err)
		return report(EXIT_FAILED, &error);
	if (expiry.num_spared && expiry.gap_s)
		log_warning("no capture for %" PRIu64 " days, or the clock is wrong: %u older "
			    "captures are kept until the new ones have aged",
			    expiry.gap_s / 86400, expiry.num_spared);
	capture->expired.num_removed += expiry.num_removed;
	capture->expired.removed_bytes += expiry.removed_bytes;
	capture->expired.num_kept = expiry.num_kept;
	capture->expired.kept_bytes = expiry.kept_bytes;
	return EXIT_DONE;
}

static int fail_to_see(const struct capture_command *capture, int err)
{
	log_error("cannot find the free space of '%s': %s", capture->options.dir, strerror(-err));
	return EXIT_FAILED;
}

/* Expire old captures before recording, so that there is room for the new one. */
static int make_room(struct capture_command *capture)
{
	uint64_t free_bytes = 0;
	uint64_t total_bytes = 0;
	uint64_t min_free_bytes;
	int status;
	int err = archive_get_space(capture->archive, &free_bytes, &total_bytes);

	min_free_bytes = get_min_free(capture, total_bytes);
	status = expire(capture, min_free_bytes, NULL);
	if (status)
		return status;
	/* Age and size were enforced even if the free space of the disk is unknown. */
	if (err)
		return fail_to_see(capture, err);
	err = archive_get_space(capture->archive, &free_bytes, &total_bytes);
	if (err)
		return fail_to_see(capture, err);
	if (free_bytes >= min_free_bytes)
		return EXIT_DONE;
	log_error("the disk of '%s' is too full: %" PRIu64 " MB are free, %" PRIu64
		  " MB must stay free (--min-free)",
		  capture->options.dir, free_bytes >> 20, min_free_bytes >> 20);
	return EXIT_FAILED;
}

/* Record until the time is over, the target has ended, or a signal arrives. */
static int record(struct capture_command *capture)
{
	struct recording *recording = &capture->recording;
	struct target target = record_options_get_target(&capture->options.record);
	uint64_t end_ns;
	int status;

	capture->stop_request = stop_request_new(&capture->outputs);
	if (!capture->stop_request) {
		log_error("cannot start a thread: %s", strerror(errno));
		return EXIT_FAILED;
	}
	recording->options = &capture->options.record;
	recording->outputs = &capture->outputs;
	recording->is_silent = true;
	status = recording_set_up(recording, &target);
	if (status)
		return status;
	recording_give_up_rights(recording);
	recording_start(recording, capture->start_ns);
	end_ns = clock_now_ns() + capture->options.record.duration_ns;
	while (clock_now_ns() < end_ns && !stop_request_get_signal(capture->stop_request) &&
	       !recorder_has_ended(recording->recorder)) {
		status = recording_read(recording, end_ns,
					stop_request_get_fd(capture->stop_request), -1);
		if (status)
			return status;
	}
	return recording_stop(recording);
}

static int write_bytes(void *context, const void *data, size_t size)
{
	return archive_file_write(context, data, size);
}

static void show_capture(const struct capture_command *capture)
{
	const struct recorder_account *ticks = &capture->recording.account.ticks;

	if (log_get_level() == LOG_LEVEL_QUIET ||
	    (log_get_level() == LOG_LEVEL_NORMAL && !isatty(STDERR_FILENO)))
		return;
	fprintf(stderr,
		"captured %" PRIu64 " sample%s in %.1f s: %s/%s (%" PRIu64
		" bytes); %u capture%s (%" PRIu64 " MB) kept, %u removed\n",
		ticks->samples, ticks->samples == 1 ? "" : "s", (double)ticks->duration_ns / 1e9,
		capture->options.dir, archive_file_get_name(capture->file),
		archive_file_get_size(capture->file), capture->expired.num_kept,
		capture->expired.num_kept == 1 ? "" : "s", capture->expired.kept_bytes >> 20,
		capture->expired.num_removed);
}

static int write_profile(const struct profile *profile, void *context)
{
	struct capture_command *capture = context;
	struct format_opts opts = {.is_compressed = true};
	struct sink sink = {.write = write_bytes, .context = capture->file};
	int err = capture->options.format->write(profile, &opts, &sink);

	if (!err)
		return EXIT_DONE;
	log_error("cannot write to '%s': %s", capture->options.dir, strerror(-err));
	return EXIT_FAILED;
}

/* Expires again, now that the new capture is complete and counts among the others. */
static int commit_profile(void *context)
{
	struct capture_command *capture = context;
	struct error error = {0};
	int status;

	if (archive_file_commit(capture->file, &error))
		return report(EXIT_FAILED, &error);
	status = expire(capture, 0, archive_file_get_name(capture->file));
	if (status)
		return status;
	show_capture(capture);
	return EXIT_DONE;
}

static int rewind_file(void *context)
{
	struct capture_command *capture = context;

	return archive_file_rewind(capture->file);
}

static void add_fds(const void *context, struct fd_list *fds)
{
	const struct capture_command *capture = context;

	archive_file_add_fds(capture->file, fds);
}

/* A capture has the time when sampling started, not that of writing. */
static int open_file(struct capture_command *capture)
{
	int64_t time_s = (int64_t)(capture->recording.start_clocks.realtime_ns / NS_PER_SECOND);
	struct error error = {0};
	char host[256] = "";

	if (gethostname(host, sizeof(host) - 1) || !host[0])
		strcpy(host, "localhost");
	if (archive_file_new(capture->archive, time_s, host, capture->options.format->extension,
			     &capture->file, &error))
		return report(EXIT_FAILED, &error);
	return EXIT_DONE;
}

/* Symbolize, write and store the recording. */
static int keep(struct capture_command *capture)
{
	const struct recording_keeper keeper = {write_profile, commit_profile, rewind_file, add_fds,
						capture};
	int stop_fd = stop_request_get_signal(capture->stop_request)
			      ? -1
			      : stop_request_get_fd(capture->stop_request);
	int status = open_file(capture);

	if (status)
		return status;
	lower_priority();
	capture->recording.keeper = &keeper;
	status = recording_finish(&capture->recording, stop_fd);
	if (!status)
		history_reader_index(capture->archive, capture->options.dir, capture->file,
				     capture->options.record.symbolize_user);
	return status;
}

static int run(struct capture_command *capture)
{
	bool is_busy;
	int status;

	wait_for_turn(capture->options.random_delay_ns);
	capture->start_ns = clock_now_ns();
	lower_io_priority();
	status = open_archive(capture, &is_busy);
	if (status || is_busy)
		return status;
	status = make_room(capture);
	if (status)
		return status;
	status = record(capture);
	return status ? status : keep(capture);
}

static int run_capture(int argc, char **argv)
{
	struct capture_command capture = {0};
	int parsed = capture_options_parse(&capture.options, argc, argv);
	int status = parsed < 0 ? EXIT_USAGE : EXIT_SHOW_HELP;

	if (!parsed) {
		recording_take_messages();
		status = record_options_find_events(&capture.options.record);
		if (!status)
			status = run(&capture);
	}
	archive_file_free(capture.file);
	recording_release(&capture.recording);
	stop_request_free(capture.stop_request);
	archive_free(capture.archive);
	capture_options_release(&capture.options);
	return status;
}

const struct command command_capture = {
	.name = "capture",
	.summary = "record once into an archive, for cron and timers",
	.usage = "Usage: stackwide capture --dir DIR [-d TIME] [OPTION...]\n"
		 "       stackwide capture --config FILE [OPTION...]",
	.help = "A capture is a file DIR/YYYY/MM/DD/HHMMSSZ-HOST.pb.gz, named by its start time\n"
		"in UTC. It is written completely or not at all. If another run is still working\n"
		"on DIR, this one reports that and exits. --keep, --max-size and --min-free\n"
		"remove the oldest captures, never the newest one or any other file. Symbolizing\n"
		"and writing run at the lowest priority. DIR/.stackwide.index holds the\n"
		"rows of 'stackwide history'. A successful run prints nothing\n"
		"unless standard error is a terminal.\n\n"
		"Examples:\n"
		"  sudo stackwide capture --dir /var/lib/stackwide -d 30s --keep 14d\n"
		"  stackwide history --dir /var/lib/stackwide --since yesterday\n"
		"  stackwide report --dir /var/lib/stackwide --since 03:00 --until 03:30\n\n"
		"Exit status: 0 done (also if another run was working, but not for the third time\n"
		"in a row), 1 failed, 2 usage, 4 not permitted or not supported by this kernel.\n",
	.options = capture_option_specs,
	.takes_format = capture_takes_format,
	.run = run_capture,
};
