/*
 * `stackwide record`: set up, sample, symbolize, write, print a summary. Each step is one function
 * that returns 0 or an exit status and has printed the reason.
 *
 * With --flush there is one recording after the other. The next one is set up while the last still
 * samples; after the switch, a thread symbolizes the last one and writes its files. So no tick is
 * lost between them, and no memory is kept from one to the next.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/files/outputs.h"
#include "cli/options/command.h"
#include "cli/record/record_options.h"
#include "cli/record/recording.h"
#include "cli/record/stop_request.h"
#include "cli/record/target_hints.h"
#include "cli/record/workload.h"
#include "collect/recorder.h"

struct record_command {
	struct record_options options;
	uint64_t start_ns; /* of the program */
	struct outputs outputs;
	struct stop_request *stop_request;
	struct workload workload; /* pid 0: none */
	struct recording recording;
	struct recording finishing; /* the previous one, being written */
	pthread_t finisher;
	bool has_finisher;
	bool is_finished; /* written by the finisher, read atomically */
	int finish_status;
	uint32_t num_flushes; /* flushes that wrote files */
	bool is_time_over;    /* the duration ended the recording, not the command or a signal */
};

static int choose_formats(struct record_command *session)
{
	struct record_options *options = &session->options;
	struct error error = {0};

	if (outputs_init(&session->outputs, options->outputs.requests.items,
			 options->outputs.requests.length, &error)) {
		log_error("%s", error.message);
		return EXIT_USAGE;
	}
	output_options_warn_of_unused(&options->outputs, &session->outputs);
	if (options->zones_paths.length && !outputs_have_times(&session->outputs)) {
		log_error("--zones needs a trace: add -o FILE.pftrace");
		return EXIT_USAGE;
	}
	if (options->records_schedule && !outputs_have_times(&session->outputs)) {
		log_error("--sched needs a trace as output: add -o FILE.pftrace");
		return EXIT_USAGE;
	}
	if (!options->takes_wakers && outputs_find_metric(&session->outputs, METRIC_OFFWAKE)) {
		log_error("the format offwake needs --off-cpu --wakers");
		return EXIT_USAGE;
	}
	return 0;
}

/*
 * A command without a target is itself the target; with -a the whole machine is sampled while it
 * runs.
 */
static struct target choose_target(const struct record_command *session)
{
	struct target target = record_options_get_target(&session->options);

	if (target.kind == TARGET_SYSTEM && session->workload.pid && !session->options.wants_system)
		return (struct target){.kind = TARGET_PROCESSES,
				       .ids = &session->workload.pid,
				       .num_ids = 1,
				       .starts_on_exec = true};
	return target;
}

/* With --user, as the user who has called sudo. */
static int start_workload(struct record_command *session, struct error *error)
{
	const struct record_options *options = &session->options;
	const char *name = getenv("SUDO_USER");
	struct workload_user user;
	int err;

	if (!options->is_for_user)
		return workload_start(&session->workload, options->command, NULL,
				      session->stop_request, error);
	if (!name)
		return error_set(
			error, -ENOENT,
			"--user runs the command as the user who called sudo, but SUDO_USER is "
			"not set");
	err = workload_user_init(&user, name, error);
	if (err)
		return err;
	err = workload_start(&session->workload, options->command, &user, session->stop_request,
			     error);
	workload_user_release(&user);
	return err;
}

static int set_up(struct record_command *session)
{
	struct target target;
	struct error error = {0};
	int status;

	session->stop_request = stop_request_new(&session->outputs);
	if (!session->stop_request) {
		log_error("cannot start a thread: %s", strerror(errno));
		return EXIT_FAILED;
	}
	if (session->options.command && start_workload(session, &error)) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	target = choose_target(session);
	session->recording.options = &session->options;
	session->recording.outputs = &session->outputs;
	status = recording_set_up(&session->recording, &target);
	if (!status)
		recording_give_up_rights(&session->recording);
	return status;
}

/* Open files now, even if they are written much later: a mistyped path is reported at once. */
static int open_outputs(struct record_command *session)
{
	int status;

	session->recording.number = session->options.flush_ns ? 1 : 0;
	status = recording_open_outputs(&session->recording);
	if (status || !session->options.flush_ns)
		return status;
	outputs_close(&session->outputs);
	output_file_free(session->recording.stats_file);
	session->recording.stats_file = NULL;
	return 0;
}

static int start(struct record_command *session)
{
	struct error error = {0};

	recording_start(&session->recording, session->start_ns);
	if (!session->workload.pid ||
	    !workload_release(&session->workload, session->options.command, &error))
		return 0;
	log_error("%s", error.message);
	return EXIT_FAILED;
}

static bool has_target_ended(struct record_command *session)
{
	if (session->workload.pid)
		return workload_has_ended(&session->workload);
	if (!session->options.pids.length)
		return recorder_has_ended(session->recording.recorder);
	array_for_each (&session->options.pids, pid)
		if (target_is_alive(*pid))
			return false;
	return true;
}

/* A flush of an interval without samples writes nothing. */
static int finish_flush(struct recording *recording)
{
	int status = recording_open_outputs(recording);

	if (!status)
		status = recording_finish(recording, -1);
	outputs_close(recording->outputs);
	return status;
}

/* The flag is set last: a thread that sees it may join this one without waiting long. */
static void *run_finisher(void *context)
{
	struct record_command *session = context;
	int status = finish_flush(&session->finishing);

	if (status)
		session->finish_status = status;
	__atomic_store_n(&session->is_finished, true, __ATOMIC_RELEASE);
	return NULL;
}

static void join_finisher(struct record_command *session)
{
	if (!session->has_finisher)
		return;
	pthread_join(session->finisher, NULL);
	session->has_finisher = false;
	recording_release(&session->finishing);
	malloc_trim(0); /* else glibc keeps the memory of a recording */
}

/* Hand the stopped recording to a thread; if none can be created, finish it here. */
static void start_finisher(struct record_command *session, struct recording *stopped)
{
	session->finishing = *stopped;
	if (recording_is_empty(&session->finishing)) {
		recording_release(&session->finishing);
		return;
	}
	session->finishing.number = ++session->num_flushes;
	session->is_finished = false;
	session->has_finisher = !pthread_create(&session->finisher, NULL, run_finisher, session);
	if (!session->has_finisher) {
		(void)!run_finisher(session);
		recording_release(&session->finishing);
	}
}

/* The currently sampled processes, for the next recording. */
static int inherit_target(const struct record_command *session, struct target *target, pid_t **ids)
{
	*target = choose_target(session);
	target->starts_on_exec = false;
	if (target->kind != TARGET_PROCESSES)
		return 0;
	target->may_be_gone = true;
	if (target->leaves_children_out)
		return 0;
	if (recorder_list_descendants(session->recording.recorder, target->ids, target->num_ids,
				      ids, &target->num_ids)) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	target->ids = *ids;
	return 0;
}

/* Let a new recording take over, and write the last one. */
static int flush(struct record_command *session)
{
	struct recording last = session->recording;
	struct recording next = {.options = &session->options, .outputs = &session->outputs};
	_cleanup_free_ pid_t *ids = NULL;
	struct target target;
	int status = inherit_target(session, &target, &ids);

	if (status)
		return status;
	/* All have exited; the session will, too, shortly. */
	if (target.kind == TARGET_PROCESSES && !target.num_ids)
		return 0;
	status = recording_set_up(&next, &target);
	if (status) {
		recording_release(&next);
		return status;
	}
	recording_start(&next, clock_now_ns());
	recorder_hand_over(last.recorder, next.recorder);
	session->recording = next;
	status = recording_stop(&last);
	if (status)
		recording_release(&last);
	else
		start_finisher(session, &last);
	return status;
}

/* Join at once, since it keeps its whole recording in memory. */
static void join_finisher_if_done(struct record_command *session)
{
	if (session->has_finisher && __atomic_load_n(&session->is_finished, __ATOMIC_ACQUIRE))
		join_finisher(session);
}

/* Record until end_ns, until the target or the command has ended, or a signal arrives. */
static int record_until(struct record_command *session, uint64_t end_ns, bool *ret_is_over)
{
	int other_fd = session->workload.pid ? session->workload.pid_fd : -1;

	*ret_is_over = false;
	while (clock_now_ns() < end_ns) {
		int status;

		join_finisher_if_done(session);
		*ret_is_over =
			stop_request_get_signal(session->stop_request) || has_target_ended(session);
		if (*ret_is_over)
			return 0;
		status = recording_read(&session->recording, end_ns,
					stop_request_get_fd(session->stop_request), other_fd);
		if (status)
			return status;
	}
	return 0;
}

static int record(struct record_command *session)
{
	uint64_t end_ns = session->options.duration_ns
				  ? clock_now_ns() + session->options.duration_ns
				  : UINT64_MAX;
	uint64_t flush_ns = session->options.flush_ns;
	uint64_t next_ns = flush_ns ? clock_now_ns() + flush_ns : UINT64_MAX;
	bool is_over = false;

	while (!is_over && clock_now_ns() < end_ns) {
		int status = record_until(session, next_ns < end_ns ? next_ns : end_ns, &is_over);

		if (status)
			return status;
		if (is_over || clock_now_ns() >= end_ns || clock_now_ns() < next_ns)
			continue;
		/*
		 * Writing takes longer than the interval. The interval grows, and memory stays
		 * bounded by two recordings.
		 */
		if (session->has_finisher) {
			next_ns = clock_now_ns() + 10 * NS_PER_MS;
			continue;
		}
		status = flush(session);
		if (status)
			return status;
		next_ns += flush_ns;
	}
	session->is_time_over = clock_now_ns() >= end_ns;
	return recording_stop(&session->recording);
}

/* The signal that ended the recording does not also end symbolization. */
static int get_stop_fd(const struct record_command *session)
{
	return stop_request_get_signal(session->stop_request)
		       ? -1
		       : stop_request_get_fd(session->stop_request);
}

static int finish(struct record_command *session)
{
	if (!session->options.flush_ns)
		return recording_finish(&session->recording, get_stop_fd(session));
	join_finisher(session);
	if (!recording_is_empty(&session->recording)) {
		session->recording.number = ++session->num_flushes;
		session->finish_status |= finish_flush(&session->recording);
	}
	if (!session->num_flushes)
		target_hints_explain_no_samples(&session->options,
						clock_now_ns() - session->start_ns);
	return session->finish_status ? EXIT_FAILED : 0;
}

/*
 * Terminate a command that outlives the recording: at once if the duration is over or a signal was
 * sent to us only. At Ctrl-C the terminal has signalled the command as well.
 */
static void stop_workload(struct record_command *session)
{
	int number = stop_request_get_signal(session->stop_request);

	if (session->workload.pid && !workload_has_ended(&session->workload) && number != SIGINT)
		workload_signal(&session->workload, number ? number : SIGTERM);
}

/* The exit status that results from the command's end. */
static int finish_workload(struct record_command *session)
{
	bool was_stopped = stop_request_get_signal(session->stop_request);
	struct workload *workload = &session->workload;

	if (!workload->pid)
		return 0;
	if (!workload_wait(workload, 1000)) {
		workload_signal(workload, SIGTERM);
		if (!workload_wait(workload, 5000)) {
			log_warning("the command (process %d) is still running after SIGTERM",
				    workload->pid);
			return 0;
		}
	}
	/* After the duration, we terminated the command: no failure of its own. */
	return session->is_time_over && !was_stopped ? 0 : workload_get_exit_status(workload);
}

static int run_session(struct record_command *session)
{
	int workload_status;
	int status;

	recording_take_messages();
	status = record_options_find_events(&session->options);
	if (status)
		return status;
	status = choose_formats(session);
	if (status)
		return status;
	status = set_up(session);
	if (status)
		return status;
	status = open_outputs(session);
	if (status)
		return status;
	status = start(session);
	if (status)
		return status;
	status = record(session);
	if (status)
		return status;
	stop_workload(session);
	status = finish(session);
	workload_status = finish_workload(session);
	return status ? status : workload_status;
}

static int run_record(int argc, char **argv)
{
	struct record_command session = {.start_ns = clock_now_ns()};
	int parsed = record_options_parse(&session.options, argc, argv);
	int status = parsed < 0 ? EXIT_USAGE : EXIT_SHOW_HELP;

	if (!parsed)
		status = run_session(&session);
	join_finisher(&session);
	workload_close(&session.workload);
	recording_release(&session.recording);
	stop_request_free(session.stop_request);
	outputs_release(&session.outputs);
	record_options_release(&session.options);
	return status;
}

const struct command command_record = {
	.name = "record",
	.summary = "sample stacks and write a profile",
	.usage = "Usage: stackwide record [OPTION...]                whole machine, until Ctrl-C\n"
		 "       stackwide record -p PID | -t TID | --cgroup PATH [OPTION...]\n"
		 "       stackwide record [OPTION...] -- COMMAND...  a command and its children",
	.help = "Without -o, the profile goes to stackwide-HOST-YYYYmmddTHHMMSS.html in the\n"
		"working directory. It is the viewer with the profile inside: one page for any\n"
		"browser, which every command can read again. Ctrl-C stops and writes; a second\n"
		"Ctrl-C aborts and leaves no file.\n\n"
		"Examples:\n"
		"  sudo stackwide record -d 10\n"
		"  sudo stackwide record -F 999 -p 812 -d 30s -o nginx.folded\n"
		"  sudo stackwide record -o build.folded -o build.txt -- make -j8\n"
		"  sudo stackwide record -d 5 -o - --to folded | grep nginx\n"
		"  sudo stackwide record -o build.pftrace -- make -j8     for ui.perfetto.dev\n"
		"  sudo stackwide record -d 5 --sched -o machine.pftrace\n"
		"  sudo stackwide record --zones g.zones -o g.pftrace -- \\\n"
		"    env STACKWIDE_ZONES=g.zones ./g\n"
		"  sudo stackwide record -p 812 -d 10 --off-cpu -o n.svg  where it waits\n"
		"  sudo stackwide record --faults -p 812 -d 10 -o f.svg   who touches memory\n"
		"  sudo stackwide record --syscalls -o c.html -- make    calls, durations\n"
		"  sudo stackwide record --flush 5m -o day.folded         day.1.folded, ...\n\n"
		"Exit status: that of COMMAND (128 + signal if it was killed, 0 if -d ended it);\n"
		"else 0 done, 1 failed, 2 usage, 3 bad input, 4 not permitted or not supported by\n"
		"this kernel.\n",
	.options = record_option_specs,
	.run = run_record,
};
