#include "collect/thread_events.h"

#include <errno.h>
#include <string.h>

void thread_events_release(struct thread_events *events)
{
	array_release(&events->tids);
}

static bool has_tid(const struct thread_events *events, pid_t wanted)
{
	array_for_each (&events->tids, tid)
		if (*tid == wanted)
			return true;
	return false;
}

static int add_tid(pid_t tid, void *context)
{
	struct thread_events *events = context;
	pid_t *added = has_tid(events, tid) ? NULL : array_add(&events->tids);

	if (added)
		*added = tid;
	return 0;
}

static int explain(int err, struct error *error)
{
	if (err && error && !error->message[0])
		(void)error_set(error, err, "cannot listen to process events: %s", strerror(-err));
	return err;
}

static int explain_missing(int err, pid_t id, const char *what, struct error *error)
{
	if (err == -ESRCH)
		return error_set(error, err, "there is no %s %d", what, id);
	return explain(err, error);
}

int thread_events_list(struct thread_events *events, const struct target *target,
		       struct error *error)
{
	for (size_t i = 0; i < target->num_ids; i++) {
		pid_t id = target->ids[i];
		bool is_thread = target->kind == TARGET_THREADS;
		int err = target_is_alive(id) ? 0 : -ESRCH;

		if (!err)
			err = is_thread ? add_tid(id, events)
					: target_for_each_thread(id, add_tid, events);
		if (err == -ESRCH && target->may_be_gone)
			continue;
		if (err)
			return explain_missing(err, id, is_thread ? "thread" : "process", error);
	}
	return 0;
}

int thread_events_open(struct thread_events *events, const struct target *target,
		       struct sampler *sampler, struct error *error)
{
	size_t num_opened = 0;
	bool is_late = false;

	while (num_opened < events->tids.length) {
		for (; num_opened < events->tids.length; num_opened++) {
			pid_t tid = events->tids.items[num_opened];
			int err = is_late ? sampler_add_late_thread(sampler, tid, error)
					  : sampler_add_thread(sampler, tid, error);

			if (err && err != -ESRCH)
				return err;
		}
		is_late = true;
		if (target->kind == TARGET_PROCESSES)
			for (size_t i = 0; i < target->num_ids; i++)
				/* A process that is gone by now ends the recording later. */
				(void)!target_for_each_thread(target->ids[i], add_tid, events);
	}
	return 0;
}
