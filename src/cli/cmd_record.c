/*
 * `stackwide record`: sets up, waits, names, writes, sums up. Each step is one function that
 * returns 0 or an exit status and has told the user why.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/account.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/record_options.h"
#include "cli/stopper.h"
#include "cli/summary.h"
#include "cli/workload.h"
#include "symbolize/symbolizer.h"

#define READ_INTERVAL_MS 100
/* After a wake-up, let records gather: a busy machine's events must not keep us busy too. */
#define GATHER_NS (5 * NS_PER_MS)

struct session {
	struct record_options options;
	uint64_t start_ns; /* of the program */
	struct outputs outputs;
	struct output_file *stats_file;
	struct stopper *stopper;
	struct workload workload; /* pid 0: none */
	struct recorder *recorder;
	struct symbolizer *symbolizer;
	struct account account;
	struct progress progress;
	bool is_time_over; /* the duration ended the recording, not the command or a signal */
};

/* The exit status that stands for an error of ours. */
static int fail(int err, const struct error *error)
{
	log_error("%s", error->message);
	return err == -EPERM || err == -ENOTSUP ? EXIT_NOT_PERMITTED : EXIT_FAILED;
}

static int choose_formats(struct session *session)
{
	struct record_options *options = &session->options;
	struct error error = {0};

	if (!outputs_init(&session->outputs, options->outputs.requests.items,
			  options->outputs.requests.length, &error))
		return 0;
	log_error("%s", error.message);
	return EXIT_USAGE;
}

static int open_outputs(struct session *session)
{
	struct record_options *options = &session->options;
	struct error error = {0};
	int err = outputs_open(&session->outputs, options->outputs.requests.items, &error);

	if (!err && options->stats_path)
		err = output_file_open(options->stats_path, &session->stats_file, &error);
	if (!err)
		return 0;
	log_error("%s", error.message);
	return EXIT_FAILED;
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

static struct target choose_target(const struct session *session)
{
	const struct record_options *options = &session->options;

	if (options->pids.length)
		return (struct target){.kind = TARGET_PROCESSES,
				       .ids = options->pids.items,
				       .num_ids = options->pids.length};
	if (options->tids.length)
		return (struct target){.kind = TARGET_THREADS,
				       .ids = options->tids.items,
				       .num_ids = options->tids.length};
	if (options->cgroup_path)
		return (struct target){.kind = TARGET_CGROUP, .cgroup_path = options->cgroup_path};
	if (session->workload.pid && !options->wants_system)
		return (struct target){.kind = TARGET_PROCESSES,
				       .ids = &session->workload.pid,
				       .num_ids = 1,
				       .starts_on_exec = true};
	return (struct target){.kind = TARGET_SYSTEM};
}

static int set_up(struct session *session)
{
	struct record_options *options = &session->options;
	struct error error = {0};
	int err = 0;

	raise_file_limit();
	session->stopper = stopper_new(&session->outputs);
	if (!session->stopper) {
		log_error("cannot start a thread: %s", strerror(errno));
		return EXIT_FAILED;
	}
	if (options->command)
		err = workload_start(&session->workload, options->command, session->stopper,
				     &error);
	if (!err) {
		struct recorder_opts opts = {
			.target = choose_target(session),
			.frequency_hz = options->frequency_hz,
			.no_kernel_stacks = options->no_kernel_stacks,
			.user_stacks = options->user_stacks,
			.no_fp_steps = options->no_fp_steps,
			.no_table_cache = options->no_table_cache,
			.checks_calls = options->checks_calls,
			.ring_bytes = options->ring_bytes,
		};

		err = recorder_new(&opts, &session->recorder, &error);
	}
	return err ? fail(err, &error) : 0;
}

static int start(struct session *session)
{
	struct error error = {0};
	int err;

	recorder_start(session->recorder);
	session->account.startup_ns = clock_now_ns() - session->start_ns;
	log_debug("sampling (%s) after %.1f ms; %u processes and %u mapped files are known",
		  recorder_get_event_name(session->recorder),
		  (double)session->account.startup_ns / 1e6,
		  process_table_get_count(recorder_get_processes(session->recorder)),
		  file_table_get_count(recorder_get_files(session->recorder)));
	if (!session->workload.pid)
		return 0;
	err = workload_release(&session->workload, session->options.command, &error);
	if (err) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	return 0;
}

static void show_recording(struct session *session)
{
	struct recorder_account ticks;
	double seconds;

	if (!progress_is_due(&session->progress))
		return;
	ticks = recorder_get_account(session->recorder);
	seconds = (double)ticks.duration_ns / 1e9;
	progress_print(&session->progress, "recording: %.1f s, %.0f samples/s, %llu lost%s",
		       seconds, seconds > 0 ? (double)ticks.samples / seconds : 0,
		       (unsigned long long)(ticks.lost_ring_sample + ticks.lost_ring_stack),
		       session->options.duration_ns || session->workload.pid
			       ? ""
			       : "; Ctrl-C finishes and writes");
}

/* Sleep until there is something to do; at most until end_ns. */
static void wait_for_work(struct session *session, uint64_t end_ns)
{
	struct timespec gather = {.tv_nsec = GATHER_NS};
	uint64_t now_ns = clock_now_ns();
	int timeout_ms = READ_INTERVAL_MS;
	struct pollfd fds[3] = {
		{.fd = stopper_get_fd(session->stopper), .events = POLLIN},
		{.fd = recorder_get_fd(session->recorder), .events = POLLIN},
		{.fd = session->workload.pid ? session->workload.pid_fd : -1, .events = POLLIN},
	};

	if (end_ns <= now_ns)
		return;
	if (end_ns - now_ns < READ_INTERVAL_MS * NS_PER_MS)
		timeout_ms = (int)((end_ns - now_ns) / NS_PER_MS) + 1;
	if (poll(fds, ARRAY_LENGTH(fds), timeout_ms) > 0 && !fds[0].revents && !fds[2].revents)
		nanosleep(&gather, NULL);
}

/* Record until the time is over, the target or the command has ended, or a signal came. */
static int record(struct session *session)
{
	uint64_t begin_cpu_ns = account_read_cpu_ns();
	uint64_t begin_ns = clock_now_ns();
	uint64_t end_ns =
		session->options.duration_ns ? begin_ns + session->options.duration_ns : UINT64_MAX;
	struct error error = {0};
	int err = 0;

	progress_init(&session->progress);
	while (!err && clock_now_ns() < end_ns && !stopper_get_signal(session->stopper)) {
		if (session->workload.pid ? workload_has_ended(&session->workload)
					  : recorder_has_ended(session->recorder))
			break;
		wait_for_work(session, end_ns);
		err = recorder_read(session->recorder, &error);
		show_recording(session);
	}
	progress_clear(&session->progress);
	session->is_time_over = clock_now_ns() >= end_ns;
	if (!err)
		err = recorder_stop(session->recorder, &error);
	session->account.recording_cpu_ns = account_read_cpu_ns() - begin_cpu_ns;
	session->account.recording_rss_bytes = account_read_max_rss_bytes();
	return err ? fail(err, &error) : 0;
}

static void show_naming(uint32_t num_done, uint32_t num_total, void *context)
{
	struct session *session = context;

	/* Only work that takes over a second is worth a line. */
	if (clock_now_ns() - session->progress.start_ns > NS_PER_SECOND &&
	    progress_is_due(&session->progress))
		progress_print(&session->progress, "naming: %u of %u code addresses", num_done,
			       num_total);
}

static int add_kernel_code(struct session *session)
{
	size_t count;
	const struct kernel_code *code = recorder_get_kernel_code(session->recorder, &count);
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		err = symbolizer_add_kernel_symbol(session->symbolizer, code[i].start,
						   code[i].size_bytes, code[i].name);
	return err;
}

static int name_frames(struct session *session)
{
	struct symbolizer_opts opts = {
		.no_inlines = session->options.no_inlines,
		.progress = show_naming,
		.context = session,
	};
	int err = -ENOMEM;

	progress_init(&session->progress);
	session->symbolizer = symbolizer_new(recorder_get_files(session->recorder),
					     recorder_get_processes(session->recorder), &opts);
	if (session->symbolizer)
		err = add_kernel_code(session);
	if (!err)
		err = symbolizer_name_profile(session->symbolizer,
					      recorder_get_profile(session->recorder));
	progress_clear(&session->progress);
	if (err) {
		log_error("cannot name the frames: %s", strerror(-err));
		return EXIT_FAILED;
	}
	return 0;
}

static int write_outputs(struct session *session)
{
	struct format_opts opts = {.tree = session->options.outputs.tree};
	struct error error = {0};

	if (outputs_write(&session->outputs, recorder_get_profile(session->recorder), &opts,
			  &error)) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	return 0;
}

static int write_stats(struct session *session)
{
	_cleanup_(text_release) struct text json = {0};
	struct error error = {0};
	int err;

	if (!session->stats_file)
		return 0;
	account_print_json(&session->account, &json);
	err = json.failed ? -ENOMEM
			  : output_file_write(session->stats_file, json.data, json.length);
	if (err)
		(void)error_set(&error, err, "cannot write '%s': %s", session->options.stats_path,
				strerror(-err));
	else
		err = output_file_commit(session->stats_file, &error);
	if (err) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	return 0;
}

static int sum_up(struct session *session, uint64_t stop_ns)
{
	struct account *account = &session->account;
	struct summary summary = {
		.account = account,
		.profile = recorder_get_profile(session->recorder),
		.outputs = &session->outputs,
		.stats_path = session->options.stats_path,
		.event_name = recorder_get_event_name(session->recorder),
		.is_kernel_restricted = symbolizer_is_kernel_restricted(session->symbolizer),
		.has_user_stacks = session->options.user_stacks != USER_STACKS_NONE,
	};
	int status;

	account->frequency_hz = session->options.frequency_hz;
	account_count(account, session->recorder, session->symbolizer);
	account->output_ns = clock_now_ns() - stop_ns;
	account->total_cpu_ns = account_read_cpu_ns();
	account->max_rss_bytes = account_read_max_rss_bytes();
	status = write_stats(session);
	if (!status && log_get_level() != LOG_LEVEL_QUIET && summary_print(&summary)) {
		log_error("out of memory");
		status = EXIT_FAILED;
	}
	if (!account->ticks.samples)
		log_warning("there are no samples: what was to be sampled did not run");
	if (!recorder_account_is_balanced(&account->ticks)) {
		log_error("the account does not add up: %llu ticks fired, %llu accounted for; "
			  "this is a bug, please report it",
			  (unsigned long long)account->ticks.fired,
			  (unsigned long long)(account->ticks.idle + account->ticks.filtered +
					       account->ticks.samples + account_sum_lost(account)));
		status = EXIT_FAILED;
	}
	return status;
}

/*
 * A command that outlives the recording is told to end: at once where the time is over or we were
 * told to end by name. At Ctrl-C the terminal has told it already.
 */
static void stop_workload(struct session *session)
{
	int number = stopper_get_signal(session->stopper);

	if (session->workload.pid && !workload_has_ended(&session->workload) && number != SIGINT)
		workload_signal(&session->workload, number ? number : SIGTERM);
}

/* The exit status that the command's end makes ours. */
static int finish_workload(struct session *session)
{
	bool was_stopped = stopper_get_signal(session->stopper);
	struct workload *workload = &session->workload;

	if (!workload->pid)
		return 0;
	if (!workload_wait(workload, 1000)) {
		workload_signal(workload, SIGTERM);
		if (!workload_wait(workload, 5000)) {
			log_warning("the command (process %d) goes on running after SIGTERM",
				    workload->pid);
			return 0;
		}
	}
	/* When the time was over, the end was our doing. */
	return session->is_time_over && !was_stopped ? 0 : workload_get_exit_status(workload);
}

static int run_session(struct session *session)
{
	uint64_t stop_ns;
	int workload_status;
	int status = choose_formats(session);

	if (!status)
		status = set_up(session);
	if (!status)
		status = open_outputs(session);
	if (!status)
		status = start(session);
	if (!status)
		status = record(session);
	if (status)
		return status;
	stop_ns = clock_now_ns();
	stop_workload(session);
	status = name_frames(session);
	if (!status)
		status = write_outputs(session);
	if (!status)
		status = sum_up(session, stop_ns);
	workload_status = finish_workload(session);
	return status ? status : workload_status;
}

static int run_record(int argc, char **argv)
{
	struct session session = {.start_ns = clock_now_ns()};
	int parsed = record_options_parse(&session.options, argc, argv);
	int status = parsed < 0 ? EXIT_USAGE : EXIT_SHOW_HELP;

	if (!parsed)
		status = run_session(&session);
	workload_close(&session.workload);
	symbolizer_free(session.symbolizer);
	recorder_free(session.recorder);
	stopper_free(session.stopper);
	output_file_free(session.stats_file);
	outputs_release(&session.outputs);
	record_options_release(&session.options);
	return status;
}

const struct command command_record = {
	.name = "record",
	.summary = "sample stacks and write a profile",
	.usage = "Usage: stackwide record [OPTION...]                whole machine, until Ctrl-C\n"
		 "       stackwide record -p PID | -t TID | --cgroup PATH [OPTION...]\n"
		 "       stackwide record [OPTION...] -- COMMAND...  a command and what it starts",
	.help = "Without -o, the profile goes to stackwide-HOST-YYYYmmddTHHMMSS.folded in the working\n"
		"directory. Ctrl-C finishes and writes; a second Ctrl-C gives up and leaves no file.\n\n"
		"Examples:\n"
		"  sudo stackwide record -d 10\n"
		"  sudo stackwide record -F 999 -p 812 -d 30s -o nginx.folded\n"
		"  sudo stackwide record -o build.folded -o build.txt -- make -j8\n"
		"  sudo stackwide record -d 5 -q -o - --to folded | flamegraph.pl > profile.svg\n\n"
		"Exit status: that of COMMAND (128 + signal when it was killed); else 0 done, 1 failed,\n"
		"2 usage, 4 not permitted or not supported by this kernel.\n",
	.options = record_option_specs,
	.run = run_record,
};
