#include "cli/record/recording.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/child_messages.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/options/command.h"
#include "cli/record/target_hints.h"

#define READ_INTERVAL_NS  (100 * NS_PER_MS)
#define LARGE_BLOCK_BYTES (128 << 10)

/* Print the error; returns its exit status. */
static int fail(int err, const struct error *error)
{
	log_error("%s", error->message);
	return err == -EPERM || err == -ENOTSUP ? EXIT_NOT_PERMITTED : EXIT_FAILED;
}

/* Every mapped file, and for thread targets every thread and CPU, needs a descriptor. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		log_debug("cannot raise the limit of open files");
}

/*
 * Unwind tables are built in large blocks that are soon freed. The default glibc behaviour raises
 * its mmap threshold when the first of them is freed, and then keeps such blocks on its heap.
 */
static void return_large_blocks(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK_BYTES);
}

/*
 * The cache folder that systemd has created for the service (CacheDirectory=): a service with a user
 * of its own cannot write to root's. With DynamicUser= it is a symbolic link. NULL: none; the caller
 * frees it.
 */
static char *find_cache_folder(void)
{
	const char *folders = getenv("CACHE_DIRECTORY"); /* several with colons between */
	_cleanup_free_ char *first = folders ? strndup(folders, strcspn(folders, ":")) : NULL;

	return first && *first ? realpath(first, NULL) : NULL;
}

/* A machine or a group may run programs of any user, not just of the chosen ones. */
static bool is_of_many_users(const struct target *target)
{
	return target->kind == TARGET_SYSTEM || target->kind == TARGET_CGROUP;
}

/* Whether loading and opening at every flush needs more than CAP_BPF and CAP_PERFMON. */
static bool takes_administrator(const struct record_options *options)
{
	if (options->records_schedule || options->records_off_cpu)
		return true;
	array_for_each (&options->events.events, event)
		if (event->probe)
			return true;
	return false;
}

/*
 * The kernel may lack seccomp, and a container may forbid it. Linux before 5.11 counts BPF maps as
 * locked memory, a limit that only root may lift.
 */
void recording_give_up_rights(const struct recording *recording)
{
	const struct record_options *options = recording->options;
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	int err;

	(void)setrlimit(RLIMIT_MEMLOCK, &unlimited);
	err = confinement_keep_sampling_rights(options->flush_ns && takes_administrator(options));
	if (err)
		log_debug("cannot drop privileges: %s", strerror(-err));
	err = confinement_refuse_all_but_sampling();
	if (err)
		log_debug("cannot restrict system calls: %s", strerror(-err));
}

void recording_take_messages(void)
{
	if (child_messages_start())
		log_debug("unprivileged processes print their own messages");
}

int recording_set_up(struct recording *recording, const struct target *target)
{
	const struct record_options *options = recording->options;
	_cleanup_free_ char *cache_folder = find_cache_folder();
	struct recorder_opts opts = {
		.target = *target,
		.frequency_hz = options->frequency_hz,
		.events = options->events.events.items,
		.num_events = options->events.events.length,
		.event_count = options->event_count,
		.no_kernel_stacks = options->no_kernel_stacks,
		.user_stacks = options->user_stacks,
		.tables = {.no_fp_steps = options->no_fp_steps,
			   .no_cache = options->no_table_cache,
			   .runtime_frames = options->runtime_frames,
			   .cache_folder = cache_folder,
			   .worker_user = options->symbolize_user},
		.checks_calls = options->checks_calls,
		.makes_trace = outputs_have_times(recording->outputs),
		.keeps_timestamps = outputs_have_timestamps(recording->outputs),
		.keeps_scripts = options->outputs.tree.root == TREE_ROOT_SCRIPT,
		.ring_bytes = options->ring_bytes,
		.records_schedule = options->records_schedule,
		.off_cpu_period_ns = record_options_get_off_cpu_period_ns(options),
		.off_cpu_min_block_ns = options->min_block_ns,
		.takes_wakers = options->takes_wakers,
		.takes_futexes = options->takes_futexes,
		.only_futexes = options->only_futexes,
		.temporary_folder = file_get_temporary_folder(),
	};
	struct error error = {0};
	int err;

	recording->is_of_many_users = is_of_many_users(target);
	/* Data about other users' programs is shared only as the user chooses. */
	recording->output_mode = recording->is_of_many_users ? OUTPUT_MODE_PRIVATE : OUTPUT_MODE;
	raise_file_limit();
	return_large_blocks();
	confinement_raise_priority();
	err = recorder_new(&opts, &recording->recorder, &error);
	if (err)
		return fail(err, &error);
	/* Only once, not again at every flush. */
	if (!target->may_be_gone)
		target_hints_warn_of_kernel_threads(options);
	return 0;
}

int recording_open_outputs(struct recording *recording)
{
	const struct record_options *options = recording->options;
	struct error error = {0};

	if (outputs_open(recording->outputs, options->outputs.requests.items, recording->number,
			 recording->output_mode, &error) ||
	    (options->stats_path &&
	     output_file_open_numbered(options->stats_path, recording->number,
				       recording->output_mode, &recording->stats_file, &error))) {
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

/* Take a snapshot of the clocks: readers of the trace convert times by the last one before. */
static void compare_clocks(struct recording *recording)
{
	size_t count = recording->later_clocks.length;
	const struct clock_snapshot *last =
		count ? &recording->later_clocks.items[count - 1] : &recording->start_clocks;
	struct clock_snapshot now = read_clocks();
	struct clock_snapshot *added;

	if (!clock_has_jumped(last, &now))
		return;
	log_debug("the clocks jumped");
	added = array_add(&recording->later_clocks);
	if (added) /* if not, next time */
		*added = now;
}

/* Our CPU time, and that of the processes that build unwind tables. */
static uint64_t read_cpu_ns(const struct recording *recording)
{
	return account_read_cpu_ns() +
	       recorder_get_account(recording->recorder).tables.worker_cpu_ns;
}

void recording_start(struct recording *recording, uint64_t start_ns)
{
	struct recorded_code code = recorder_get_code(recording->recorder);

	zones_inputs_note(&recording->zones, recording->options->zones_paths.items,
			  recording->options->zones_paths.length);
	recorder_start(recording->recorder);
	recording->account.startup_ns = clock_now_ns() - start_ns;
	recording->start_cpu_ns = read_cpu_ns(recording);
	recording->start_clocks = read_clocks();
	log_debug("sampling (%s) after %.1f ms; %u processes and %u mapped files are known",
		  recording->options->events.events.length
			  ? recording->options->events.events.items[0].name
			  : recorder_get_event_name(recording->recorder),
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
		       (unsigned long long)losses_sum_samples(ticks.lost),
		       recording->options->duration_ns || recording->options->command
			       ? ""
			       : "; Ctrl-C stops and writes");
}

static struct timespec get_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_SECOND),
				 .tv_nsec = (long)(ns % NS_PER_SECOND)};
}

/* Until when to wait if nothing happens: process events that were read may be due before. */
static uint64_t get_wait_end_ns(const struct recording *recording, uint64_t now_ns, uint64_t end_ns)
{
	uint64_t due_ns = recorder_get_due_ns(recording->recorder);
	uint64_t next_ns = read_pace_get_next_ns(&recording->pace, now_ns);

	if (due_ns < next_ns)
		due_ns = next_ns;
	if (end_ns > now_ns + READ_INTERVAL_NS)
		end_ns = now_ns + READ_INTERVAL_NS;
	return due_ns < end_ns ? due_ns : end_ns;
}

/* Sleep until there is something to do; at most until end_ns. */
static void wait_for_work(const struct recording *recording, uint64_t end_ns, int stop_fd,
			  int other_fd)
{
	uint64_t now_ns = clock_now_ns();
	struct timespec pause;
	/* other_fd may be -1, which poll() ignores. */
	struct pollfd fds[3] = {
		{.fd = stop_fd, .events = POLLIN},
		{.fd = recorder_get_fd(recording->recorder), .events = POLLIN},
		{.fd = other_fd, .events = POLLIN},
	};

	if (end_ns <= now_ns)
		return;
	pause = get_timespec(get_wait_end_ns(recording, now_ns, end_ns) - now_ns);
	/* Do not delay a request to stop, or the end of the command. */
	if (ppoll(fds, ARRAY_LENGTH(fds), &pause, NULL) <= 0 || fds[0].revents || fds[2].revents)
		return;
	now_ns = clock_now_ns();
	pause = get_timespec(read_pace_get_next_ns(&recording->pace, now_ns) - now_ns);
	nanosleep(&pause, NULL);
}

int recording_read(struct recording *recording, uint64_t end_ns, int stop_fd, int other_fd)
{
	struct error error = {0};
	int err;

	wait_for_work(recording, end_ns, stop_fd, other_fd);
	read_pace_add(&recording->pace, clock_now_ns());
	err = recorder_read(recording->recorder, &error);
	if (recording->options->zones_paths.length)
		zones_inputs_collect(&recording->zones, recording->options->zones_paths.items,
				     recording->options->zones_paths.length, clock_now_ns());
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
	recording->account.recording_cpu_ns = read_cpu_ns(recording) - recording->start_cpu_ns;
	recording->account.recording_rss_bytes =
		account_read_max_rss_bytes() +
		recorder_get_account(recording->recorder).tables.worker_rss_bytes;
	recording->stop_ns = clock_now_ns();
	/* The processes that finish it share this one's memory, and write into it. */
	malloc_trim(0);
	return err ? fail(err, &error) : 0;
}

bool recording_is_empty(const struct recording *recording)
{
	struct recorder_account account = recorder_get_account(recording->recorder);

	return account.samples == 0 && account.off_cpu.samples == 0;
}

void recording_release(struct recording *recording)
{
	recorder_free(recording->recorder);
	free(recording->events);
	output_file_free(recording->stats_file);
	array_release(&recording->later_clocks);
	zones_inputs_release(&recording->zones);
	*recording = (struct recording){0};
}
