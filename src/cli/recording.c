#include "cli/recording.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/recorded_trace.h"
#include "cli/summary.h"
#include "timeline/clock_jump.h"

#define READ_INTERVAL_MS 100
/* After a wake-up, let records gather: a busy machine's events must not keep us busy too. */
#define GATHER_NS         (5 * NS_PER_MS)
#define LARGE_BLOCK_BYTES (128 << 10)

/* The exit status that stands for an error of ours. */
static int fail(int err, const struct error *error)
{
	log_error("%s", error->message);
	return err == -EPERM || err == -ENOTSUP ? EXIT_NOT_PERMITTED : EXIT_FAILED;
}

/* Every mapped file and every sampled thread needs a descriptor. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		log_debug("the limit of open files cannot be raised");
}

/*
 * Unwind tables are built in large blocks that are soon free again. By default glibc raises its
 * thresholds at the first of them, and keeps as much memory for good.
 */
static void return_large_blocks(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK_BYTES);
}

/*
 * The folder that the service manager has made for what we keep: a service of a user of its own
 * cannot write to root's. A symbolic link where systemd makes up the user. NULL: none; the caller
 * frees it.
 */
static char *find_cache_folder(void)
{
	const char *folders = getenv("CACHE_DIRECTORY"); /* several with colons between */
	_cleanup_free_ char *first = folders ? strndup(folders, strcspn(folders, ":")) : NULL;

	return first && *first ? realpath(first, NULL) : NULL;
}

int recording_set_up(struct recording *recording, const struct target *target)
{
	const struct record_options *options = recording->options;
	_cleanup_free_ char *cache_folder = find_cache_folder();
	struct recorder_opts opts = {
		.target = *target,
		.frequency_hz = options->frequency_hz,
		.no_kernel_stacks = options->no_kernel_stacks,
		.user_stacks = options->user_stacks,
		.tables = {.no_fp_steps = options->no_fp_steps,
			   .no_cache = options->no_table_cache,
			   .cache_folder = cache_folder},
		.checks_calls = options->checks_calls,
		.makes_trace = outputs_have_times(recording->outputs),
		.keeps_moments = outputs_have_moments(recording->outputs),
		.ring_bytes = options->ring_bytes,
		.records_schedule = options->records_schedule,
		.temporary_folder = file_get_temporary_folder(),
	};
	struct error error = {0};
	int err;

	raise_file_limit();
	return_large_blocks();
	err = recorder_new(&opts, &recording->recorder, &error);
	return err ? fail(err, &error) : 0;
}

int recording_open_outputs(struct recording *recording)
{
	const struct record_options *options = recording->options;
	struct error error = {0};

	if (outputs_open(recording->outputs, options->outputs.requests.items, recording->number,
			 &error) ||
	    (options->stats_path &&
	     output_file_open_numbered(options->stats_path, recording->number,
				       &recording->stats_file, &error))) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	return 0;
}

static struct clock_snapshot read_clocks(void)
{
	return (struct clock_snapshot){
		.boottime_ns = clock_now_ns(),
		.monotonic_ns = clock_read_ns(CLOCK_MONOTONIC),
		.realtime_ns = clock_read_ns(CLOCK_REALTIME),
	};
}

/* Whoever reads the trace converts times by the last comparison before them. */
static void compare_clocks(struct recording *recording)
{
	size_t count = recording->later_clocks.length;
	const struct clock_snapshot *last =
		count ? &recording->later_clocks.items[count - 1] : &recording->begin_clocks;
	struct clock_snapshot now = read_clocks();
	struct clock_snapshot *added;

	if (!clock_has_jumped(last, &now))
		return;
	log_debug("the clocks have jumped");
	added = array_add(&recording->later_clocks);
	if (added) /* else the next time */
		*added = now;
}

void recording_start(struct recording *recording, uint64_t start_ns)
{
	struct recorded_code code = recorder_get_code(recording->recorder);

	recorder_start(recording->recorder);
	recording->account.startup_ns = clock_now_ns() - start_ns;
	recording->begin_cpu_ns = account_read_cpu_ns();
	recording->begin_clocks = read_clocks();
	log_debug("sampling (%s) after %.1f ms; %u processes and %u mapped files are known",
		  recorder_get_event_name(recording->recorder),
		  (double)recording->account.startup_ns / 1e6,
		  process_table_get_count(code.processes), file_table_get_count(code.files));
	progress_init(&recording->progress);
}

static void show_recording(struct recording *recording)
{
	struct recorder_account ticks;
	double seconds;

	if (!progress_is_due(&recording->progress))
		return;
	ticks = recorder_get_account(recording->recorder);
	seconds = (double)ticks.duration_ns / 1e9;
	progress_print(&recording->progress, "recording: %.1f s, %.0f samples/s, %llu lost%s",
		       seconds, seconds > 0 ? (double)ticks.samples / seconds : 0,
		       (unsigned long long)(ticks.lost_ring_sample + ticks.lost_ring_stack),
		       recording->options->duration_ns || recording->options->command
			       ? ""
			       : "; Ctrl-C finishes and writes");
}

/* Sleep until there is something to do; at most until end_ns. */
static void wait_for_work(const struct recording *recording, uint64_t end_ns, int stop_fd,
			  int other_fd)
{
	struct timespec gather = {.tv_nsec = GATHER_NS};
	uint64_t now_ns = clock_now_ns();
	int timeout_ms = READ_INTERVAL_MS;
	struct pollfd fds[3] = {
		{.fd = stop_fd, .events = POLLIN},
		{.fd = recorder_get_fd(recording->recorder), .events = POLLIN},
		{.fd = other_fd, .events = POLLIN},
	};

	if (end_ns <= now_ns)
		return;
	if (end_ns - now_ns < READ_INTERVAL_MS * NS_PER_MS)
		timeout_ms = (int)((end_ns - now_ns) / NS_PER_MS) + 1;
	if (poll(fds, ARRAY_LENGTH(fds), timeout_ms) > 0 && !fds[0].revents && !fds[2].revents)
		nanosleep(&gather, NULL);
}

int recording_read(struct recording *recording, uint64_t end_ns, int stop_fd, int other_fd)
{
	struct error error = {0};
	int err;

	wait_for_work(recording, end_ns, stop_fd, other_fd);
	err = recorder_read(recording->recorder, &error);
	compare_clocks(recording);
	show_recording(recording);
	if (!err)
		return 0;
	progress_clear(&recording->progress);
	return fail(err, &error);
}

int recording_stop(struct recording *recording)
{
	struct error error = {0};
	int err;

	progress_clear(&recording->progress);
	err = recorder_stop(recording->recorder, &error);
	recording->account.recording_cpu_ns = account_read_cpu_ns() - recording->begin_cpu_ns;
	recording->account.recording_rss_bytes = account_read_max_rss_bytes();
	recording->stop_ns = clock_now_ns();
	return err ? fail(err, &error) : 0;
}

bool recording_is_empty(const struct recording *recording)
{
	return recorder_get_account(recording->recorder).samples == 0;
}

static void show_naming(uint32_t num_done, uint32_t num_total, void *context)
{
	struct recording *recording = context;

	/* Only work that takes over a second is worth a line. */
	if (clock_now_ns() - recording->progress.start_ns > NS_PER_SECOND &&
	    progress_is_due(&recording->progress))
		progress_print(&recording->progress, "naming: %u of %u code addresses", num_done,
			       num_total);
}

static int symbolize(struct recording *recording)
{
	struct symbolizer_opts opts = {
		.no_inlines = recording->options->no_inlines,
		.progress = show_naming,
		.context = recording,
	};
	struct recorded_code code = recorder_get_code(recording->recorder);
	int err;

	recording->symbolizer = symbolizer_new(code.files, code.processes, &opts);
	if (!recording->symbolizer)
		return -ENOMEM;
	for (size_t i = 0; i < code.num_kernel; i++) {
		const struct kernel_code *kernel = &code.kernel[i];

		err = symbolizer_add_kernel_symbol(recording->symbolizer, kernel->start,
						   kernel->size_bytes, kernel->name);
		if (err)
			return err;
	}
	return symbolizer_name_profile(recording->symbolizer,
				       recorder_get_profile(recording->recorder));
}

static int name_frames(struct recording *recording)
{
	int err;

	progress_init(&recording->progress);
	err = symbolize(recording);
	progress_clear(&recording->progress);
	if (err) {
		log_error("cannot name the frames: %s", strerror(-err));
		return EXIT_FAILED;
	}
	return 0;
}

/* ret_trace_status  not 0 where only a part of the trace is missing */
static int write_outputs(struct recording *recording, int *ret_trace_status)
{
	struct format_opts opts = {
		.tree = recording->options->outputs.tree,
		.svg = &recording->options->outputs.svg,
		.is_compressed = recording->options->outputs.is_compressed,
	};
	_cleanup_(timeline_freep) struct timeline *timeline = NULL;
	struct error error = {0};

	*ret_trace_status = EXIT_DONE;
	if (outputs_have_times(recording->outputs)) {
		*ret_trace_status = recorded_trace_make(recording, &timeline);
		if (!timeline)
			return *ret_trace_status;
	}
	opts.timeline = timeline;
	if (outputs_write(recording->outputs, recorder_get_profile(recording->recorder), &opts,
			  &error)) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

static int write_stats(struct recording *recording)
{
	_cleanup_(text_release) struct text json = {0};
	struct error error = {0};
	int err;

	if (!recording->stats_file)
		return 0;
	account_print_json(&recording->account, &json);
	err = json.failed ? -ENOMEM
			  : output_file_write(recording->stats_file, json.data, json.length);
	if (err)
		(void)error_set(&error, err, "cannot write '%s': %s",
				output_file_get_path(recording->stats_file), strerror(-err));
	else
		err = output_file_commit(recording->stats_file, &error);
	if (err) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	return 0;
}

static int sum_up(struct recording *recording)
{
	struct account *account = &recording->account;
	struct summary summary = {
		.account = account,
		.profile = recorder_get_profile(recording->recorder),
		.outputs = recording->outputs,
		.stats_path =
			recording->stats_file ? output_file_get_path(recording->stats_file) : NULL,
		.event_name = recorder_get_event_name(recording->recorder),
		.is_kernel_restricted = symbolizer_is_kernel_restricted(recording->symbolizer),
		.has_user_stacks = recording->options->user_stacks != USER_STACKS_NONE,
	};
	int status;

	account->output_ns = clock_now_ns() - recording->stop_ns;
	account->total_cpu_ns = account_read_cpu_ns();
	account->max_rss_bytes = account_read_max_rss_bytes();
	status = write_stats(recording);
	if (!status && !recording->is_silent && log_get_level() != LOG_LEVEL_QUIET &&
	    (recording->number ? summary_print_line(&summary) : summary_print(&summary))) {
		log_error("out of memory");
		status = EXIT_FAILED;
	}
	if (!account->ticks.samples && !recording->is_silent)
		log_warning("there are no samples: what was to be sampled did not run");
	if (!recorder_account_is_balanced(&account->ticks)) {
		log_error("the account does not add up: %llu ticks fired, %llu accounted for; "
			  "this is a bug, please report it",
			  (unsigned long long)account->ticks.fired,
			  (unsigned long long)(account->ticks.idle + account->ticks.filtered +
					       account->ticks.samples + account_sum_lost(account)));
		status = EXIT_FAILED;
	}
	if (!scheduling_counts_are_balanced(&account->ticks.scheduling)) {
		log_error("the account of the scheduling does not add up; this is a bug, please "
			  "report it with the file of --stats");
		status = EXIT_FAILED;
	}
	return status;
}

/* The account, and what of it stays with the profile. */
static int count(struct recording *recording)
{
	struct profile *profile = recorder_get_profile(recording->recorder);
	struct account *account = &recording->account;
	struct sampling sampling = {.start_ns = recording->begin_clocks.realtime_ns};

	account->frequency_hz = recording->options->frequency_hz;
	account_count(account, recording->recorder, recording->symbolizer);
	sampling.duration_ns = account->ticks.duration_ns;
	sampling.period_ns = NS_PER_SECOND / account->frequency_hz;
	sampling.complete_stacks = account->complete_user_stacks;
	sampling.truncated_stacks = account_sum_truncated(account);
	sampling.lost_samples = account_sum_lost(account);
	profile_add_sampling(profile, &sampling);
	if (profile_set_clock(profile, 0,
			      recording->begin_clocks.realtime_ns -
				      recording->begin_clocks.boottime_ns))
		return -ENOMEM;
	return account_keep(account, profile);
}

int recording_finish(struct recording *recording)
{
	int status = name_frames(recording);
	int trace_status = EXIT_DONE;

	if (!status && count(recording)) {
		log_error("out of memory");
		status = EXIT_FAILED;
	}
	if (!status)
		status = write_outputs(recording, &trace_status);
	if (!status)
		status = sum_up(recording);
	return status ? status : trace_status;
}

void recording_release(struct recording *recording)
{
	symbolizer_free(recording->symbolizer);
	recorder_free(recording->recorder);
	output_file_free(recording->stats_file);
	array_release(&recording->later_clocks);
	*recording = (struct recording){0};
}
