/*
 * `stackwide record`: sets up, waits, names, writes, sums up. Each step is one function that
 * returns 0 or an exit status and has told the user why.
 *
 * With --flush there is one recording after the other. The next one is set up while the last still
 * samples; when they have changed places, the last one's frames are named and its files written by
 * a thread of its own. So no tick is lost between them, and no memory is kept from one to the next.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/record_options.h"
#include "cli/recording.h"
#include "cli/stopper.h"
#include "cli/workload.h"
#include "collect/recorder.h"

struct record_command {
	struct record_options options;
	uint64_t start_ns; /* of the program */
	struct outputs outputs;
	struct stopper *stopper;
	struct workload workload; /* pid 0: none */
	struct recording recording;
	struct recording finishing; /* the one before, on its way to its files */
	pthread_t finisher;
	bool has_finisher;
	bool is_finished; /* written by the finisher, read atomically */
	int finish_status;
	uint32_t num_flushes; /* that wrote files */
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
	if (options->zones_paths.length && !outputs_have_times(&session->outputs)) {
		log_error("--zones needs an output that shows times: add -o FILE.pftrace");
		return EXIT_USAGE;
	}
	if (options->records_schedule && !outputs_have_times(&session->outputs)) {
		log_error("--sched: none of the files to be written can show scheduling; add a "
			  "trace, as in '-o FILE.pftrace'");
		return EXIT_USAGE;
	}
	return 0;
}

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

static int set_up(struct record_command *session)
{
	struct target target;
	struct error error = {0};

	session->stopper = stopper_new(&session->outputs);
	if (!session->stopper) {
		log_error("cannot start a thread: %s", strerror(errno));
		return EXIT_FAILED;
	}
	if (session->options.command && workload_start(&session->workload, session->options.command,
						       session->stopper, &error)) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	target = choose_target(session);
	session->recording.options = &session->options;
	session->recording.outputs = &session->outputs;
	return recording_set_up(&session->recording, &target);
}

/* Files that cannot be written are known at once, also when they will only be written later. */
static int open_outputs(struct record_command *session)
{
	int status;

	session->recording.number = session->options.flush_ns ? 1 : 0;
	status = recording_open_outputs(&session->recording);
	if (!status && session->options.flush_ns) {
		outputs_close(&session->outputs);
		output_file_free(session->recording.stats_file);
		session->recording.stats_file = NULL;
	}
	return status;
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

/* Record until end_ns, until the target or the command has ended, or a signal came. */
static int record_until(struct record_command *session, uint64_t end_ns, bool *ret_is_over)
{
	int status = 0;

	*ret_is_over = false;
	while (!status && !*ret_is_over && clock_now_ns() < end_ns) {
		*ret_is_over = stopper_get_signal(session->stopper) || has_target_ended(session);
		if (!*ret_is_over)
			status = recording_read(
				&session->recording, end_ns, stopper_get_fd(session->stopper),
				session->workload.pid ? session->workload.pid_fd : -1);
	}
	return status;
}

/* A flush of an interval without samples writes nothing. */
static int finish_flush(struct recording *recording)
{
	int status = recording_open_outputs(recording);

	if (!status)
		status = recording_finish(recording);
	outputs_close(recording->outputs);
	return status;
}

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
	malloc_trim(0); /* or memory that one recording needed is kept for good */
}

/* Hand the stopped recording to a thread, or finish it here when there can be none. */
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

/* The processes that are sampled now, for the recording that takes over. */
static int inherit_target(const struct record_command *session, struct target *target, pid_t **ids)
{
	*target = choose_target(session);
	target->starts_on_exec = false;
	if (target->kind != TARGET_PROCESSES)
		return 0;
	if (recorder_list_descendants(session->recording.recorder, target->ids, target->num_ids,
				      ids, &target->num_ids)) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	target->ids = *ids;
	target->may_be_gone = true;
	return 0;
}

/* Let a new recording take over, and write what the last one has. */
static int flush(struct record_command *session)
{
	struct recording last = session->recording;
	struct recording next = {.options = &session->options, .outputs = &session->outputs};
	_cleanup_free_ pid_t *ids = NULL;
	struct target target;
	int status = inherit_target(session, &target, &ids);

	/* All have ended: the session does too, in a moment. */
	if (!status && target.kind == TARGET_PROCESSES && !target.num_ids)
		return 0;
	if (!status)
		status = recording_set_up(&next, &target);
	if (status) {
		recording_release(&next);
		return status;
	}
	recording_start(&next, clock_now_ns());
	session->recording = next;
	status = recording_stop(&last);
	if (status)
		recording_release(&last);
	else
		start_finisher(session, &last);
	return status;
}

/* A flush waits until the files of the one before are written. */
static bool can_flush(struct record_command *session)
{
	if (session->has_finisher && __atomic_load_n(&session->is_finished, __ATOMIC_ACQUIRE))
		join_finisher(session);
	return !session->has_finisher;
}

static int record(struct record_command *session)
{
	uint64_t end_ns = session->options.duration_ns
				  ? clock_now_ns() + session->options.duration_ns
				  : UINT64_MAX;
	uint64_t flush_ns = session->options.flush_ns;
	uint64_t next_ns = flush_ns ? clock_now_ns() + flush_ns : UINT64_MAX;
	bool is_over = false;
	int status = 0;

	while (!status && !is_over && clock_now_ns() < end_ns) {
		status = record_until(session, next_ns < end_ns ? next_ns : end_ns, &is_over);
		if (status || is_over || clock_now_ns() >= end_ns || clock_now_ns() < next_ns)
			continue;
		if (can_flush(session)) {
			status = flush(session);
			next_ns += flush_ns;
		} else {
			next_ns = clock_now_ns() + 10 * NS_PER_MS;
		}
	}
	session->is_time_over = clock_now_ns() >= end_ns;
	return status ? status : recording_stop(&session->recording);
}

static int finish(struct record_command *session)
{
	if (!session->options.flush_ns)
		return recording_finish(&session->recording);
	join_finisher(session);
	if (!recording_is_empty(&session->recording)) {
		session->recording.number = ++session->num_flushes;
		session->finish_status |= finish_flush(&session->recording);
	}
	if (!session->num_flushes)
		log_warning("there are no samples: what was to be sampled did not run");
	return session->finish_status ? EXIT_FAILED : 0;
}

/*
 * A command that outlives the recording is told to end: at once where the time is over or we were
 * told to end by name. At Ctrl-C the terminal has told it already.
 */
static void stop_workload(struct record_command *session)
{
	int number = stopper_get_signal(session->stopper);

	if (session->workload.pid && !workload_has_ended(&session->workload) && number != SIGINT)
		workload_signal(&session->workload, number ? number : SIGTERM);
}

/* The exit status that the command's end makes ours. */
static int finish_workload(struct record_command *session)
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

static int run_session(struct record_command *session)
{
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
	stopper_free(session.stopper);
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
	.help = "Without -o, the profile goes to stackwide-HOST-YYYYmmddTHHMMSS.html in the working\n"
		"directory: the viewer with the profile in it, one page for any browser, that every command\n"
		"reads again. Ctrl-C finishes and writes; a second Ctrl-C gives up and leaves no file.\n\n"
		"Examples:\n"
		"  sudo stackwide record -d 10\n"
		"  sudo stackwide record -F 999 -p 812 -d 30s -o nginx.folded\n"
		"  sudo stackwide record -o build.folded -o build.txt -- make -j8\n"
		"  sudo stackwide record -d 5 -o - --to folded | grep nginx\n"
		"  sudo stackwide record -o build.pftrace -- make -j8              for ui.perfetto.dev\n"
		"  sudo stackwide record -d 5 --sched -o machine.pftrace\n"
		"  sudo stackwide record --zones g.zones -o g.pftrace -- env STACKWIDE_ZONES=g.zones ./g\n"
		"  sudo stackwide record --flush 5m -o day.folded       day.1.folded, day.2.folded, ...\n\n"
		"Exit status: that of COMMAND (128 + signal when it was killed); else 0 done, 1 failed,\n"
		"2 usage, 4 not permitted or not supported by this kernel.\n",
	.options = record_option_specs,
	.run = run_record,
};
