#include "collect/target_threads.h"

#include <errno.h>
#include <string.h>

#include "collect/side_band.h"

void target_threads_release(struct target_threads *threads)
{
	array_release(&threads->tids);
}

static bool has_tid(const struct target_threads *threads, pid_t wanted)
{
	array_for_each (&threads->tids, tid)
		if (*tid == wanted)
			return true;
	return false;
}

static int add_tid(pid_t tid, void *context)
{
	struct target_threads *threads = context;
	pid_t *added = has_tid(threads, tid) ? NULL : array_add(&threads->tids);

	if (added)
		*added = tid;
	return 0;
}

static int explain_missing(int err, pid_t id, const char *what, struct error *error)
{
	if (err == -ESRCH)
		return error_set(error, err, "there is no %s %d", what, id);
	return side_band_explain(err, error);
}

int target_threads_list(struct target_threads *threads, const struct target *target,
			struct error *error)
{
	for (size_t i = 0; i < target->num_ids; i++) {
		pid_t id = target->ids[i];
		bool is_thread = target->kind == TARGET_THREADS;
		int err = -ESRCH;

		if (target_is_alive(id))
			err = is_thread ? add_tid(id, threads)
					: target_for_each_thread(id, add_tid, threads);
		if (err == -ESRCH && target->may_be_gone)
			continue;
		if (err)
			return explain_missing(err, id, is_thread ? "thread" : "process", error);
	}
	return 0;
}

int target_threads_want(struct target_threads *threads, const struct target *target,
			struct sampler *sampler, struct error *error)
{
	size_t num_wanted = 0;

	while (num_wanted < threads->tids.length) {
		for (; num_wanted < threads->tids.length; num_wanted++) {
			int err = sampler_want_thread(sampler, threads->tids.items[num_wanted],
						      error);

			if (err)
				return err;
		}
		if (target->kind == TARGET_PROCESSES)
			for (size_t i = 0; i < target->num_ids; i++)
				/* A process that is gone by now ends the recording later. */
				(void)!target_for_each_thread(target->ids[i], add_tid, threads);
	}
	return 0;
}
