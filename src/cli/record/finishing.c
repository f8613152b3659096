/*
 * The end of a recording: symbolization, files, a summary. All of this depends on bytes that others
 * have written, so processes without rights do it:
 *
 *	we           open the files, make them appear when they are complete, supervise the others
 *	symbolizers  read programs and debug information; one after the other (symbolizers.c)
 *	the broker   opens debug files for the symbolizers
 *	the writer   gets names from the symbolizers, writes, and prints the summary
 *
 * They are forks of ours: each has the recording as it is at the stop. A symbolizer that dies costs
 * names, which the writer then replaces by file and offset. The writer may die of bad names, or be
 * killed by a process of the same user. Then another one writes without names, as a user that
 * others cannot have.
 */
#include "cli/record/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/child.h"
#include "base/child_messages.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "base/log.h"
#include "cli/options/command.h"
#include "cli/record/recorded_trace.h"
#include "cli/record/summary.h"
#include "cli/record/symbolizers.h"
#include "cli/record/target_hints.h"
#include "formats/import.h"
#include "symbolize/name_stream.h"
#include "timeline/timeline.h"

/* Limit of memory that formats may map to write a profile. */
#define WRITER_MEMORY_BYTES (16ull << 30)
/* Interval of checks without pidfds, and for time limits. */
#define TEND_MS 50
/*
 * A writer that does nothing for this long is abandoned: a file system hangs, or somebody stopped
 * the process. If it waits for the reader of a pipe, only the user ends it; once the user asks for
 * the end, it has less time.
 */
#define WRITER_IDLE_NS         (60 * NS_PER_SECOND)
#define STOPPED_WRITER_IDLE_NS (2 * NS_PER_SECOND)
#define REAP_MS                2000

/* Reports of the writer. */
enum finish_report { OUTPUTS_FILLED = 1, STATS_FILLED, OUTPUT_FAILED };

struct finish_message {
	uint32_t report;
	uint32_t output; /* index of the output that failed */
};

/* The answer to OUTPUTS_FILLED. */
struct commitment {
	int32_t status; /* exit status */
	uint64_t cpu_ns;
	uint64_t max_rss_bytes;
};

/* The sockets between the processes; each end is closed in processes that do not use it. */
struct finishing {
	struct recording *recording;
	int stream[2];  /* [0] the symbolizers write, [1] the writer reads */
	int control[2]; /* [0] ours, [1] the writer's */
	struct symbolizers *symbolizers;
	pid_t writer;
	uint64_t writer_cpu_ns;    /* its CPU time at its last increase */
	uint64_t writer_worked_ns; /* time of that */
	uint64_t writer_killed_ns; /* 0: not killed */
	bool is_stopped;           /* by the user, after the recording */
	bool is_filled;            /* the writer has filled the outputs */
	bool was_writer_lost;      /* it was killed, or died */
};

/* ---- in the writer ---- */

static void show_progress(uint32_t num_done, uint32_t num_total, void *context)
{
	struct recording *recording = context;

	/* No progress line for work of less than a second. */
	if (clock_now_ns() - recording->progress.start_ns > NS_PER_SECOND &&
	    progress_is_due(&recording->progress))
		progress_print(&recording->progress, "symbolizing: %u of %u code addresses",
			       num_done, num_total);
}

/* Locations without a name from the symbolizers get file and offset. */
static int take_names(struct recording *recording, int stream, struct names *names)
{
	struct profile *profile = recorder_get_profile(recording->recorder);
	struct import rest = {.profile = profile};
	int err;

	progress_init(&recording->progress);
	err = names_read(stream, profile, show_progress, recording, names);
	progress_clear(&recording->progress);
	if (names->is_damaged)
		log_warning("a symbolizer process sent invalid data: the rest of it is ignored");
	return err ? err : unsymbolized_code_name(&rest, false, UNNAMED_NOT_REACHED);
}

/*
 * Fill the account, and add its counts to the profile. The profile's clock is that of its
 * timestamps, CLOCK_BOOTTIME; its offset to the calendar is taken at the start.
 */
static int count(struct recording *recording, const struct names *names)
{
	struct profile *profile = recorder_get_profile(recording->recorder);
	struct account *account = &recording->account;
	struct sampling sampling = {.start_ns = recording->start_clocks.realtime_ns};

	account->frequency_hz = recording->options->frequency_hz;
	account_count(account, recording->recorder, names);
	sampling.duration_ns = account->ticks.duration_ns;
	/* Samples of chosen events have weights of their own. */
	if (!account->num_events)
		sampling.period_ns = NS_PER_SECOND / account->frequency_hz;
	sampling.complete_stacks = account_sum_whole(account);
	sampling.truncated_stacks = account_sum_truncated(account);
	sampling.lost_samples = account_sum_lost_samples(account);
	profile_add_sampling(profile, &sampling);
	if (profile_set_clock(profile, 0,
			      recording->start_clocks.realtime_ns -
				      recording->start_clocks.boottime_ns))
		return -ENOMEM;
	return account_keep(account, profile);
}

/* For outputs with only one metric. */
static uint32_t get_shown_metric(const struct recording *recording)
{
	return profile_find_metric(recorder_get_profile(recording->recorder),
				   record_options_get_metric(recording->options));
}

/* Report to the parent. Returns 0 or an exit status. */
static int say(int control, enum finish_report report, size_t output)
{
	struct finish_message message = {.report = report, .output = (uint32_t)output};

	return send(control, &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message)
		       ? 0
		       : EXIT_FAILED;
}

/* The parent makes those that failed disappear. Returns an exit status. */
static int report_failed(const struct outputs *outputs, int control)
{
	int status = EXIT_DONE;

	for (size_t i = 0; !status && i < outputs->length; i++)
		if (outputs->items[i].has_failed)
			status = say(control, OUTPUT_FAILED, i);
	return status;
}

/* Without a timeline. */
static void leave_traces_out(struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->length; i++)
		outputs->items[i].has_failed |= outputs->items[i].format->has_times;
}

/* ret_part_status  not 0 if an output or a part of the trace is missing */
static int fill_outputs(struct recording *recording, int control, int *ret_part_status)
{
	struct format_opts opts = {
		.tree = recording->options->outputs.tree,
		.svg = &recording->options->outputs.svg,
		.is_compressed = recording->options->outputs.is_compressed,
		.observed_ms = recording->account.ticks.observed_ns / NS_PER_MS,
		.folds_microseconds = recording->options->records_off_cpu,
	};
	_cleanup_(timeline_freep) struct timeline *timeline = NULL;
	struct profile *profile = recorder_get_profile(recording->recorder);
	size_t num_failed;

	*ret_part_status = EXIT_DONE;
	if (recording->keeper)
		return recording->keeper->write(profile, recording->keeper->context);
	if (outputs_have_times(recording->outputs)) {
		*ret_part_status = recorded_trace_make(recording, &timeline);
		if (!timeline)
			leave_traces_out(recording->outputs);
	}
	opts.timeline = timeline;
	opts.tree.metric = get_shown_metric(recording);
	num_failed = outputs_fill_each(recording->outputs, profile, &opts);
	if (num_failed)
		*ret_part_status = EXIT_FAILED;
	return num_failed == recording->outputs->length
		       ? EXIT_FAILED
		       : report_failed(recording->outputs, control);
}

static int await_commitment(int control, struct commitment *ret)
{
	int status = say(control, OUTPUTS_FILLED, 0);
	ssize_t got;

	if (status)
		return status;
	do {
		got = recv(control, ret, sizeof(*ret), 0);
	} while (got < 0 && errno == EINTR);
	return got == sizeof(*ret) ? ret->status : EXIT_FAILED;
}

static int fill_stats(struct recording *recording)
{
	_cleanup_(text_release) struct text json = {0};
	int err;

	if (!recording->stats_file)
		return 0;
	account_print_json(&recording->account, &json);
	err = json.failed ? -ENOMEM
			  : output_file_write(recording->stats_file, json.data, json.length);
	if (!err)
		return 0;
	log_error("cannot write '%s': %s", output_file_get_path(recording->stats_file),
		  strerror(-err));
	return EXIT_FAILED;
}

/*
 * The account is checked in every recording, not only in tests. If it does not add up, samples were
 * lost without being counted, and the exit status reports that.
 */
static int sum_up(struct recording *recording, const struct names *names,
		  const struct commitment *commitment, int control)
{
	struct account *account = &recording->account;
	struct summary summary = {
		.account = account,
		.profile = recorder_get_profile(recording->recorder),
		.outputs = recording->outputs,
		.stats_path =
			recording->stats_file ? output_file_get_path(recording->stats_file) : NULL,
		.event_name = recorder_get_event_name(recording->recorder),
		.is_kernel_restricted = names->is_kernel_restricted,
		.unread_debug_info = {names->unread_path, names->is_unread_split},
		.has_user_stacks = recording->options->user_stacks != USER_STACKS_NONE,
		.metric = get_shown_metric(recording),
		.num_columns = recording->num_columns,
	};
	int status;

	if (!recording->keeper && outputs_have_times(recording->outputs))
		summary.trace_losses = recorder_get_trace_losses(recording->recorder);
	account->output_ns = clock_now_ns() - recording->stop_ns;
	account->total_cpu_ns = commitment->cpu_ns + account_read_cpu_ns();
	account->max_rss_bytes = account_read_max_rss_bytes();
	if (account->max_rss_bytes < commitment->max_rss_bytes)
		account->max_rss_bytes = commitment->max_rss_bytes;
	if (account->max_rss_bytes < account->recording_rss_bytes)
		account->max_rss_bytes = account->recording_rss_bytes;
	status = fill_stats(recording);
	if (!status)
		status = say(control, STATS_FILLED, 0);
	if (!status && !recording->is_silent && log_get_level() != LOG_LEVEL_QUIET &&
	    (recording->number ? summary_print_line(&summary) : summary_print(&summary))) {
		log_error("out of memory");
		status = EXIT_FAILED;
	}
	if (!recorder_account_is_balanced(&account->ticks)) {
		log_error("the account does not add up: %llu ticks fired, %llu accounted for; "
			  "this is a bug, please report it",
			  (unsigned long long)account->ticks.fired,
			  (unsigned long long)(account->ticks.idle + account->ticks.filtered +
					       account->ticks.samples + account_sum_lost(account)));
		status = EXIT_FAILED;
	}
	if (!off_cpu_counts_are_balanced(&account->ticks.off_cpu)) {
		log_error("the account of the off-CPU time does not add up; this is a bug, please "
			  "report it with the file of --stats");
		status = EXIT_FAILED;
	}
	if (!scheduling_counts_are_balanced(&account->ticks.scheduling)) {
		log_error("the account of the scheduling does not add up; this is a bug, please "
			  "report it with the file of --stats");
		status = EXIT_FAILED;
	}
	return status;
}

/* The writer needs no other descriptor of the recorder, least of all the opener's socket. */
static int keep_fds(const struct recording *recording, int stream, int control)
{
	struct fd_list kept = {0};

	fd_list_add(&kept, STDERR_FILENO);
	fd_list_add(&kept, stream);
	fd_list_add(&kept, control);
	recorder_add_fds(recording->recorder, &kept);
	zones_inputs_add_fds(&recording->zones, &kept);
	if (recording->keeper)
		recording->keeper->add_fds(recording->keeper->context, &kept);
	else
		outputs_add_fds(recording->outputs, &kept);
	if (recording->stats_file)
		output_file_add_fds(recording->stats_file, &kept);
	return confinement_close_others(&kept);
}

/* Outputs are written as far as possible; the status of the rest is returned if all else went well. */
static int write_all(struct recording *recording, uid_t user, int stream, int control)
{
	struct confinement confinement = {
		.name = "stackwide-write", .user = user, .memory_bytes = WRITER_MEMORY_BYTES};
	struct commitment commitment;
	struct names names = {0};
	int part_status = EXIT_DONE;
	int status;

	recorded_trace_open_zones(recording);
	if (keep_fds(recording, stream, control)) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	if (!(confinement_enter(&confinement) & CONFINED_CAPABILITIES))
		return EXIT_FAILED;
	if (take_names(recording, stream, &names) || count(recording, &names)) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	status = fill_outputs(recording, control, &part_status);
	if (!status)
		status = await_commitment(control, &commitment);
	if (!status)
		status = sum_up(recording, &names, &commitment, control);
	names_release(&names);
	return status ? status : part_status;
}

/* ---- ours ---- */

/* The writer has only its own ends: when another process dies, it sees the end of the stream. */
static int start_writer(struct finishing *finishing, uid_t user)
{
	pid_t parent = getpid();
	pid_t writer;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, finishing->stream) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, finishing->control))
		return -errno;
	/* Its standard error is no terminal. */
	finishing->recording->num_columns = summary_get_columns();
	fflush(NULL); /* else both would print the buffered text */
	writer = fork();
	if (writer < 0)
		return -errno;
	if (!writer) {
		int status;

		confinement_die_with(parent);
		child_messages_redirect();
		status = write_all(finishing->recording, user, finishing->stream[1],
				   finishing->control[1]);
		fflush(NULL);
		_exit(status);
	}
	close(finishing->stream[1]);
	close(finishing->control[1]);
	finishing->stream[1] = finishing->control[1] = -1;
	finishing->writer = writer;
	finishing->writer_cpu_ns = 0;
	finishing->writer_worked_ns = clock_now_ns();
	finishing->writer_killed_ns = 0;
	return 0;
}

/* Without symbolizers, the writer makes up all names. */
static void start_symbolizers(struct finishing *finishing)
{
	const struct record_options *options = finishing->recording->options;
	struct symbolizers_opts opts = {.no_inlines = options->no_inlines,
					.limit_ns = options->symbolize_limit_ns,
					.has_owner_budgets = finishing->recording->is_of_many_users,
					.user = options->symbolize_user};
	int err = symbolizers_new(finishing->recording->recorder, &opts, finishing->stream[0],
				  &finishing->symbolizers);

	if (err)
		log_warning("frames are not symbolized: %s", strerror(-err));
}

/* Ends the stream, even if a hanging process has it open, too. */
static void end_stream(struct finishing *finishing)
{
	if (finishing->stream[0] < 0)
		return;
	shutdown(finishing->stream[0], SHUT_WR);
	close(finishing->stream[0]);
	finishing->stream[0] = -1;
}

static int commit_outputs(struct recording *recording)
{
	struct error error = {0};

	if (recording->keeper)
		return recording->keeper->commit(recording->keeper->context);
	if (!outputs_commit(recording->outputs, &error))
		return EXIT_DONE;
	log_error("%s", error.message);
	return EXIT_FAILED;
}

static int commit_stats(struct recording *recording)
{
	struct error error = {0};

	if (!recording->stats_file || !output_file_commit(recording->stats_file, &error))
		return EXIT_DONE;
	log_error("%s", error.message);
	return EXIT_FAILED;
}

/* The writer has filled the outputs, and waits for the answer. */
static void answer(struct finishing *finishing)
{
	struct symbolizers_cost cost = {0};
	struct commitment commitment;

	if (finishing->symbolizers) {
		symbolizers_report(finishing->symbolizers);
		cost = symbolizers_get_cost(finishing->symbolizers);
	}
	commitment = (struct commitment){
		.status = commit_outputs(finishing->recording),
		.cpu_ns = account_read_cpu_ns() + cost.cpu_ns +
			  finishing->recording->account.ticks.tables.worker_cpu_ns,
		.max_rss_bytes = account_read_max_rss_bytes(),
	};
	if (commitment.max_rss_bytes < cost.max_rss_bytes)
		commitment.max_rss_bytes = cost.max_rss_bytes;
	(void)!send(finishing->control[0], &commitment, sizeof(commitment), MSG_NOSIGNAL);
}

/* The writer's number may be anything. */
static void note_failed(const struct recording *recording, uint32_t output)
{
	if (!recording->keeper && output < recording->outputs->length)
		recording->outputs->items[output].has_failed = true;
}

/* Returns an exit status. Sets *ret_is_over at the writer's last report. */
static int take_report(struct finishing *finishing, bool *ret_is_over)
{
	struct finish_message message = {0};
	ssize_t got = recv(finishing->control[0], &message, sizeof(message), 0);

	*ret_is_over = got == 0 || (got < 0 && errno != EINTR);
	if (got != sizeof(message))
		return EXIT_DONE;
	if (message.report == OUTPUTS_FILLED && !finishing->is_filled) {
		finishing->is_filled = true;
		answer(finishing);
	} else if (message.report == OUTPUT_FAILED && !finishing->is_filled) {
		note_failed(finishing->recording, message.output);
	} else if (message.report == STATS_FILLED) {
		return commit_stats(finishing->recording);
	}
	return EXIT_DONE;
}

/* Whether everything is written to files, which can be rewritten. */
static bool can_rewind(const struct recording *recording)
{
	if (recording->stats_file && !output_file_can_rewind(recording->stats_file))
		return false;
	return recording->keeper || outputs_can_rewind(recording->outputs);
}

/* Whether the writer has done nothing for too long. Waiting for names does not count. */
static bool is_writer_idle(struct finishing *finishing, bool is_symbolizing)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t cpu_ns = child_read_cpu_ns(finishing->writer);

	if (cpu_ns > finishing->writer_cpu_ns || is_symbolizing) {
		finishing->writer_cpu_ns = cpu_ns;
		finishing->writer_worked_ns = now_ns;
	}
	if (finishing->is_stopped)
		return now_ns - finishing->writer_worked_ns > STOPPED_WRITER_IDLE_NS;
	return now_ns - finishing->writer_worked_ns > WRITER_IDLE_NS && !finishing->is_filled &&
	       can_rewind(finishing->recording);
}

/* A stop (SIGSTOP) by somebody else is undone. */
static void tend_writer(struct finishing *finishing, bool is_symbolizing)
{
	child_continue(finishing->writer);
	if (!is_writer_idle(finishing, is_symbolizing))
		return;
	kill(finishing->writer, SIGKILL);
	if (!finishing->writer_killed_ns)
		finishing->writer_killed_ns = clock_now_ns();
}

/* If a file system hangs, the writer cannot be killed and never reports its end. */
static bool is_writer_left_behind(const struct finishing *finishing)
{
	return finishing->writer_killed_ns &&
	       clock_now_ns() - finishing->writer_killed_ns > REAP_MS * NS_PER_MS;
}

/* Runs until the writer's last report. Returns an exit status. */
static int supervise(struct finishing *finishing, int stop_fd)
{
	int status = EXIT_DONE;
	bool is_over = false;

	while (!is_over && !is_writer_left_behind(finishing)) {
		bool is_symbolizing =
			finishing->symbolizers && symbolizers_tend(finishing->symbolizers);
		/* poll() ignores negative descriptors. */
		struct pollfd fds[3] = {
			{.fd = finishing->control[0], .events = POLLIN},
			{.fd = is_symbolizing ? symbolizers_get_fd(finishing->symbolizers) : -1,
			 .events = POLLIN},
			{.fd = finishing->is_stopped ? -1 : stop_fd, .events = POLLIN},
		};

		if (!is_symbolizing)
			end_stream(finishing);
		tend_writer(finishing, is_symbolizing);
		if (poll(fds, ARRAY_LENGTH(fds), TEND_MS) <= 0)
			continue;
		if (fds[2].revents) {
			finishing->is_stopped = true;
			if (is_symbolizing)
				symbolizers_stop(finishing->symbolizers);
		}
		if (fds[0].revents)
			status |= take_report(finishing, &is_over);
	}
	return status;
}

/* Returns its exit status. */
static int reap_writer(struct finishing *finishing)
{
	int wait_status = 0;

	/* It has reported everything, and may not keep us waiting; nor may a file system. */
	if (!child_reap(finishing->writer, REAP_MS, &wait_status)) {
		kill(finishing->writer, SIGKILL);
		if (!child_reap(finishing->writer, REAP_MS, &wait_status))
			wait_status = SIGKILL;
	}
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	finishing->was_writer_lost = true;
	log_warning("the process that writes the files was killed by signal %d",
		    WTERMSIG(wait_status));
	return EXIT_FAILED;
}

static void release(struct finishing *finishing)
{
	symbolizers_free(finishing->symbolizers);
	finishing->symbolizers = NULL;
	for (size_t i = 0; i < ARRAY_LENGTH(finishing->stream); i++) {
		cleanup_closep(&finishing->stream[i]);
		cleanup_closep(&finishing->control[i]);
		finishing->stream[i] = finishing->control[i] = -1;
	}
}

/* Symbolize, and write with a writer of this user. Returns an exit status. */
static int write_by(struct finishing *finishing, uid_t user, bool has_symbolizers, int stop_fd)
{
	int writer_status;
	int status;
	int err = start_writer(finishing, user);

	if (err) {
		release(finishing);
		log_error("cannot start the process that writes the files: %s", strerror(-err));
		return EXIT_FAILED;
	}
	if (has_symbolizers)
		start_symbolizers(finishing);
	status = supervise(finishing, stop_fd);
	end_stream(finishing);
	writer_status = reap_writer(finishing);
	release(finishing);
	return status ? status : writer_status;
}

/* The output of the lost writer may be anything. */
static bool can_start_over(struct finishing *finishing)
{
	struct recording *recording = finishing->recording;

	if (!finishing->was_writer_lost || finishing->is_filled)
		return false;
	if (recording->stats_file && output_file_rewind(recording->stats_file))
		return false;
	return recording->keeper ? !recording->keeper->rewind(recording->keeper->context)
				 : !outputs_rewind(recording->outputs);
}

/* Events may have happened that no sample was taken of. */
static void explain_no_samples(const struct recording *recording)
{
	const struct account *account = &recording->account;

	for (size_t i = 0; i < account->num_events; i++) {
		if (account->events[i].below_period) {
			log_warning(
				"no samples: too few events happened in the target; a smaller -c "
				"takes more, and -c 1 one of each");
			return;
		}
	}
	target_hints_explain_no_samples(recording->options, account->ticks.duration_ns);
}

static void warn_of_truncated_names(const struct process_table_stats *stats)
{
	char others[64] = "";

	if (!stats->truncated_code_maps)
		return;
	if (stats->truncated_code_maps > 1)
		snprintf(others, sizeof(others), " and %" PRIu64 " more",
			 stats->truncated_code_maps - 1);
	log_warning("some code generated by %s-%" PRIu32 "%s has no names: 64 MB of names are kept "
		    "per process (perf-map and jitdump), and 256 MB in all",
		    stats->first_truncated_comm, stats->first_truncated_pid, others);
}

static void warn_of_unopened_files(uint64_t num_files)
{
	if (num_files)
		log_warning("%" PRIu64
			    " mapped files were skipped: too many open files; their code has no "
			    "names; raise the limit with 'ulimit -n'",
			    num_files);
}

static void warn_of_late_allocators(const struct late_allocators *late)
{
	if (late->num_followed)
		log_warning("%" PRIu32 " file%s with an allocator %s mapped after the start "
			    "(%s%s): the allocations there of the first %.1f ms%s are missing",
			    late->num_followed, late->num_followed == 1 ? "" : "s",
			    late->num_followed == 1 ? "was" : "were", late->first_followed_path,
			    late->num_followed == 1 ? "" : ", ...",
			    (double)late->max_delay_ns / 1e6,
			    late->num_followed == 1 ? "" : " at most");
	if (late->num_files)
		log_warning("allocations of %" PRIu32 " file%s with an allocator are missing, "
			    "which were mapped after the start (%s%s) and could not be probed; -v "
			    "shows why; start these programs first",
			    late->num_files, late->num_files == 1 ? "" : "s", late->first_path,
			    late->num_files == 1 ? "" : ", ...");
	if (late->num_unread)
		log_warning("%" PRIu32 " mapped file%s %s not searched for allocators, as they "
			    "were gone, there were too many, or the recording ended: "
			    "allocations may be missing",
			    late->num_unread, late->num_unread == 1 ? "" : "s",
			    late->num_unread == 1 ? "was" : "were");
	if (late->num_unknown)
		log_warning("%" PRIu32 " program%s %s an unknown allocator, such as that of Go "
			    "(%s%s): %s allocations are not counted",
			    late->num_unknown, late->num_unknown == 1 ? "" : "s",
			    late->num_unknown == 1 ? "has" : "have", late->first_unknown_path,
			    late->num_unknown == 1 ? "" : ", ...",
			    late->num_unknown == 1 ? "its" : "their");
}

static void warn_of_overwritten_files(const struct overwritten_files *files)
{
	if (files->count)
		log_warning("%" PRIu32
			    " probed file%s %s overwritten (%s%s): the probes were taken "
			    "away before, and count until then",
			    files->count, files->count == 1 ? "" : "s",
			    files->count == 1 ? "was" : "were",
			    files->first_path ? files->first_path : "?",
			    files->count == 1 ? "" : ", ...");
}

static void warn_of_left_probes(const struct left_probes *probes)
{
	if (probes->ended_early)
		log_warning("the process that holds the probes (stackwide-keep) was ended by "
			    "somebody else: hits after that are missing");
	else if (probes->keeper && probes->silent)
		log_warning("probes are still attached, as process %d does not answer; process %d "
			    "(stackwide-keep) takes them away as soon as it does, or has ended",
			    probes->silent, probes->keeper);
	else if (probes->keeper)
		log_warning("probes are still attached; process %d (stackwide-keep) takes them "
			    "away",
			    probes->keeper);
}

static void warn_of_late_reads(const struct slow_opener_counts *opener)
{
	if (opener->num_late)
		log_warning("%" PRIu64 " reads of processes and their files timed out, and %" PRIu64
			    " more of the same processes and users were skipped; their code may "
			    "have no names",
			    opener->num_late, opener->num_refused);
}

int recording_finish(struct recording *recording, int stop_fd)
{
	struct finishing finishing = {
		.recording = recording, .stream = {-1, -1}, .control = {-1, -1}};
	int status;

	confinement_lower_priority(); /* symbolization is not urgent */
	recording->account.ticks =
		recorder_get_account(recording->recorder); /* not in the writer */
	if (recording->options->events.events.length) {
		recording->events = recorder_get_event_counts(recording->recorder);
		if (!recording->events) {
			log_error("out of memory");
			return EXIT_FAILED;
		}
		recording->account.events = recording->events;
		recording->account.num_events = recording->options->events.events.length;
	}
	status = write_by(&finishing, recording->options->symbolize_user, true, stop_fd);
	if (can_start_over(&finishing)) {
		log_warning("retrying in a new process; frames will be unnamed");
		status = write_by(&finishing, geteuid(), false, stop_fd);
	}
	warn_of_truncated_names(&recording->account.ticks.processes);
	warn_of_unopened_files(recording->account.ticks.unopened_files);
	warn_of_late_reads(&recording->account.ticks.opener);
	warn_of_late_allocators(&recording->account.ticks.late_allocators);
	warn_of_overwritten_files(&recording->account.ticks.overwritten);
	warn_of_left_probes(&recording->account.ticks.left_probes);
	if (!recording->account.ticks.samples && !recording->account.ticks.off_cpu.samples &&
	    !recording->is_silent)
		explain_no_samples(recording);
	return status;
}
