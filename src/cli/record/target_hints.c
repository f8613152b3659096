#include "cli/record/target_hints.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "collect/target.h"

/* As many lines as a person reads. */
#define MAX_HINTS 8

static void warn_of_kernel_thread(pid_t id, const char *what)
{
	struct target_state state;

	if (!target_read_state(id, &state) && state.is_kernel_thread)
		log_warning("%s %d (%s) is a kernel thread: it has only kernel stacks", what, id,
			    state.comm);
}

void target_hints_warn_of_kernel_threads(const struct record_options *options)
{
	for (size_t i = 0; i < options->pids.length && i < MAX_HINTS; i++)
		warn_of_kernel_thread(options->pids.items[i], "process");
	for (size_t i = 0; i < options->tids.length && i < MAX_HINTS; i++)
		warn_of_kernel_thread(options->tids.items[i], "thread");
}

static const char *explain_state(const struct target_state *state)
{
	switch (state->letter) {
	case 'R':
		return "it is runnable now";
	case 'S':
	case 'I': /* a kernel thread without work */
		return "it is waiting";
	case 'D':
		return "it is in an uninterruptible wait, for a disk or a lock";
	case 'T':
		return "it is stopped until it gets SIGCONT";
	case 't':
		return "it is stopped by a debugger";
	default:
		return "it is not running";
	}
}

/* Append " (in hrtimer_nanosleep)": the kernel function in which it waits, if known. */
static void append_wait_channel(struct text *text, pid_t id, const struct target_state *state)
{
	_cleanup_(text_release) struct text channel = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/wchan", id);
	if (!strchr("SDI", state->letter) || file_read_at(AT_FDCWD, path, 256, &channel) ||
	    !channel.length || string_equals(channel.data, "0"))
		return;
	text_printf(text, " (in %s)", channel.data);
}

static void explain_idle(pid_t id, const char *what, uint64_t duration_ns)
{
	_cleanup_(text_release) struct text why = {0};
	struct target_state state;
	int err = target_read_state(id, &state);

	if (err == -ESRCH || (!err && state.has_ended)) {
		log_warning("no samples: %s %d ended without running at any tick", what, id);
		return;
	}
	if (err) {
		log_warning("no samples: %s %d did not run at any tick in %.1f s", what, id,
			    (double)duration_ns / 1e9);
		return;
	}
	text_append_string(&why, explain_state(&state));
	append_wait_channel(&why, id, &state);
	if (why.failed)
		return;
	log_warning("no samples: %s %d (%s) did not run at any tick in %.1f s: %s", what, id,
		    state.comm, (double)duration_ns / 1e9, why.data);
}

static void explain_nothing(const struct record_options *options)
{
	if (options->event_lists.length)
		log_warning("no samples: no event happened in the target");
	else if (options->only_futexes)
		log_warning("no samples: the target did not run at any tick, and waited for no "
			    "lock");
	else if (options->records_off_cpu)
		log_warning("no samples: the target did not run at any tick, and did not wait");
	else
		log_warning("no samples: the target did not run at any tick; sample more often "
			    "with -F, or record its waits with --off-cpu");
}

void target_hints_explain_no_samples(const struct record_options *options, uint64_t duration_ns)
{
	if (options->event_lists.length || (!options->pids.length && !options->tids.length)) {
		explain_nothing(options);
		return;
	}
	for (size_t i = 0; i < options->pids.length && i < MAX_HINTS; i++)
		explain_idle(options->pids.items[i], "process", duration_ns);
	for (size_t i = 0; i < options->tids.length && i < MAX_HINTS; i++)
		explain_idle(options->tids.items[i], "thread", duration_ns);
}
