/*
 * `stackwide capture`: one recording into an archive, for cron and timers. Silent when all is well
 * and nobody watches, because cron mails what it reads.
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
#include "cli/capture_options.h"
#include "cli/command.h"
#include "cli/recording.h"
#include "cli/stopper.h"

#define LOWEST_PRIORITY    19
#define LOWEST_IO_PRIORITY 7 /* of best effort: the idle class may wait for ever */

struct capture_command {
	struct capture_options options;
	uint64_t start_ns; /* of the program, less the random delay */
	struct archive *archive;
	struct outputs outputs; /* none: the archive takes the bytes */
	struct stopper *stopper;
	struct recording recording;
	struct archive_expiry expired; /* before and after, summed up */
};

static int tell(int status, const struct error *error)
{
	log_error("%s", error->message);
	return status;
}

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

/* The machine's own work goes first. */
static void lower_io_priority(void)
{
	int priority = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, LOWEST_IO_PRIORITY);

	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, priority))
		log_debug("the I/O priority cannot be lowered");
}

/*
 * Not before the samples are in. Setting up needs a tenth of a second of CPU time: on a machine
 * with much to do it would take half a minute at the lowest priority, and what was to be seen would
 * be over; and a recorder that is not let run loses samples.
 */
static void lower_priority(void)
{
	if (setpriority(PRIO_PROCESS, 0, LOWEST_PRIORITY))
		log_debug("the priority cannot be lowered");
}

/* -EBUSY is no failure: the other run does the work. */
static int open_archive(struct capture_command *capture, bool *ret_is_busy)
{
	struct error error = {0};
	int err = archive_open(capture->options.dir, true, &capture->archive, &error);

	*ret_is_busy = false;
	if (!err)
		err = archive_lock(capture->archive, &error);
	if (err == -EBUSY) {
		log_warning("another capture into '%s' is still running: this one is left out",
			    capture->options.dir);
		*ret_is_busy = true;
		return EXIT_DONE;
	}
	return err ? tell(EXIT_FAILED, &error) : EXIT_DONE;
}

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
		return tell(EXIT_FAILED, &error);
	capture->expired.num_removed += expiry.num_removed;
	capture->expired.removed_bytes += expiry.removed_bytes;
	capture->expired.num_kept = expiry.num_kept;
	capture->expired.kept_bytes = expiry.kept_bytes;
	return EXIT_DONE;
}

/* Room for the capture, before anything is recorded. */
static int make_room(struct capture_command *capture)
{
	uint64_t free_bytes = 0;
	uint64_t total_bytes = 0;
	uint64_t min_free_bytes;
	int status;
	int err = archive_get_space(capture->archive, &free_bytes, &total_bytes);

	min_free_bytes = get_min_free(capture, total_bytes);
	status = expire(capture, min_free_bytes, NULL);
	if (!err)
		err = archive_get_space(capture->archive, &free_bytes, &total_bytes);
	if (status || (!err && free_bytes >= min_free_bytes))
		return status;
	if (err)
		log_error("cannot see how full '%s' is: %s", capture->options.dir, strerror(-err));
	else
		log_error("the disk of '%s' is too full: %" PRIu64 " MB are free, %" PRIu64
			  " MB must stay so (--min-free)",
			  capture->options.dir, free_bytes >> 20, min_free_bytes >> 20);
	return EXIT_FAILED;
}

/* Record until the time is over, the target has ended, or a signal came. */
static int record(struct capture_command *capture)
{
	struct recording *recording = &capture->recording;
	struct target target = record_options_get_target(&capture->options.record);
	uint64_t end_ns;
	int status;

	capture->stopper = stopper_new(&capture->outputs);
	if (!capture->stopper) {
		log_error("cannot start a thread: %s", strerror(errno));
		return EXIT_FAILED;
	}
	recording->options = &capture->options.record;
	recording->outputs = &capture->outputs;
	recording->is_silent = true;
	status = recording_set_up(recording, &target);
	if (status)
		return status;
	recording_start(recording, capture->start_ns);
	end_ns = clock_now_ns() + capture->options.record.duration_ns;
	while (!status && clock_now_ns() < end_ns && !stopper_get_signal(capture->stopper) &&
	       !recorder_has_ended(recording->recorder))
		status = recording_read(recording, end_ns, stopper_get_fd(capture->stopper), -1);
	if (!status)
		status = recording_stop(recording);
	if (status)
		return status;
	lower_priority();
	return recording_finish(recording);
}

static int write_bytes(void *context, const void *data, size_t size)
{
	return archive_file_write(context, data, size);
}

static void show_capture(const struct capture_command *capture, const struct archive_file *file)
{
	const struct recorder_account *ticks = &capture->recording.account.ticks;

	if (log_get_level() == LOG_LEVEL_QUIET ||
	    (log_get_level() == LOG_LEVEL_NORMAL && !isatty(STDERR_FILENO)))
		return;
	fprintf(stderr,
		"captured %" PRIu64 " samples in %.1f s: %s/%s (%" PRIu64
		" bytes); %u captures (%" PRIu64 " MB) are kept, %u were removed\n",
		ticks->samples, (double)ticks->duration_ns / 1e9, capture->options.dir,
		archive_file_get_name(file), archive_file_get_size(file), capture->expired.num_kept,
		capture->expired.kept_bytes >> 20, capture->expired.num_removed);
}

static int write_file(struct capture_command *capture, struct archive_file *file)
{
	struct format_opts opts = {.is_compressed = true};
	struct sink sink = {.write = write_bytes, .context = file};
	struct error error = {0};
	int err = capture->options.format->write(recorder_get_profile(capture->recording.recorder),
						 &opts, &sink);
	int status;

	if (err)
		(void)error_set(&error, err, "cannot write to '%s': %s", capture->options.dir,
				strerror(-err));
	else
		err = archive_file_commit(file, &error);
	if (err)
		return tell(EXIT_FAILED, &error);
	status = expire(capture, 0, archive_file_get_name(file));
	if (!status)
		show_capture(capture, file);
	return status;
}

static int keep(struct capture_command *capture)
{
	int64_t time_s = (int64_t)(capture->recording.begin_clocks.realtime_ns / NS_PER_SECOND);
	struct archive_file *file;
	struct error error = {0};
	char host[256] = "";
	int status;

	if (gethostname(host, sizeof(host) - 1) || !host[0])
		strcpy(host, "localhost");
	if (archive_file_new(capture->archive, time_s, host, capture->options.format->extension,
			     &file, &error))
		return tell(EXIT_FAILED, &error);
	status = write_file(capture, file);
	archive_file_free(file);
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
	if (!status)
		status = record(capture);
	return status ? status : keep(capture);
}

static int run_capture(int argc, char **argv)
{
	struct capture_command capture = {0};
	int parsed = capture_options_parse(&capture.options, argc, argv);
	int status = parsed < 0 ? EXIT_USAGE : EXIT_SHOW_HELP;

	if (!parsed)
		status = run(&capture);
	recording_release(&capture.recording);
	stopper_free(capture.stopper);
	archive_free(capture.archive);
	capture_options_release(&capture.options);
	return status;
}

const struct command command_capture = {
	.name = "capture",
	.summary = "record once into an archive, for cron and timers",
	.usage = "Usage: stackwide capture --dir DIR [-d TIME] [OPTION...]\n"
		 "       stackwide capture --config FILE [OPTION...]",
	.help = "A capture is a file DIR/YYYY/MM/DD/HHMMSSZ-HOST.pb.gz, named by when it began, in UTC.\n"
		"It appears whole or not at all. When another run is still at work on DIR, this one\n"
		"says so and ends. The oldest captures go by --keep, --max-size and --min-free; the\n"
		"newest and what is no capture stay. Naming and writing run at the lowest priority.\n"
		"Captures say nothing when all is well, unless a terminal listens.\n\n"
		"Examples:\n"
		"  sudo stackwide capture --dir /var/lib/stackwide -d 30s --keep 14d --max-size 2G\n"
		"  stackwide history --dir /var/lib/stackwide --since yesterday\n"
		"  stackwide report --dir /var/lib/stackwide --since 03:00 --until 03:30\n\n"
		"Exit status: 0 done (also when another run was at work), 1 failed, 2 usage, 4 not\n"
		"permitted or not supported by this kernel.\n",
	.options = capture_option_specs,
	.run = run_capture,
};
