#include "collect/scheduling.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "collect/schedule_tap.h"

struct scheduling {
	struct schedule_tap *tap;
	struct schedule_store *store;
};

static int keep_batch(const void *record, size_t size, void *context)
{
	struct scheduling *scheduling = context;

	return schedule_store_add(scheduling->store, record, size);
}

static bool is_filtered(const struct target *target)
{
	return target->kind == TARGET_PROCESSES || target->kind == TARGET_THREADS;
}

/* ---- the threads that are wanted ---------------------------------------------------------- */

struct wanted {
	struct schedule_tap *tap;
	struct error *error;
	ARRAY(pid_t) tids;
};

static int want(pid_t tid, void *context)
{
	struct wanted *wanted = context;
	pid_t *added;

	array_for_each (&wanted->tids, known)
		if (*known == tid)
			return 0;
	added = array_add(&wanted->tids);
	if (!added)
		return -ENOMEM;
	*added = tid;
	return schedule_tap_want(wanted->tap, tid, wanted->error);
}

/*
 * Threads are listed until there are no new ones: one that was started by a thread not wanted yet
 * is wanted only because it is listed.
 */
static int want_threads(struct schedule_tap *tap, const struct scheduling_opts *opts,
			struct error *error)
{
	struct wanted wanted = {.tap = tap, .error = error};
	size_t num_before = SIZE_MAX;
	int err = 0;

	for (size_t i = 0; !err && i < opts->num_tids; i++)
		err = want(opts->tids[i], &wanted);
	while (!err && opts->target->kind == TARGET_PROCESSES && wanted.tids.length != num_before) {
		num_before = wanted.tids.length;
		for (size_t i = 0; !err && i < opts->target->num_ids; i++) {
			err = target_for_each_thread(opts->target->ids[i], want, &wanted);
			if (err == -ESRCH)
				err = 0; /* it is gone, and the recording will end */
		}
	}
	array_release(&wanted.tids);
	return err;
}

/* ------------------------------------------------------------------------------------------- */

static int open_all(struct scheduling *scheduling, const struct scheduling_opts *opts,
		    struct error *error)
{
	struct schedule_tap_opts tap = {
		.is_filtered = is_filtered(opts->target),
		.ring_bytes = opts->ring_bytes,
		.on_record = keep_batch,
		.context = scheduling,
	};
	int err = schedule_store_new(opts->folder, &scheduling->store, error);

	if (!err)
		err = schedule_tap_new(&tap, &scheduling->tap, error);
	if (!err && tap.is_filtered)
		err = want_threads(scheduling->tap, opts, error);
	if (err)
		return err;
	schedule_store_set_begin(scheduling->store, clock_now_ns());
	return schedule_tap_start(scheduling->tap, error);
}

int scheduling_new(const struct scheduling_opts *opts, struct scheduling **ret, struct error *error)
{
	struct scheduling *scheduling = calloc(1, sizeof(*scheduling));
	int err = scheduling ? open_all(scheduling, opts, error) : -ENOMEM;

	if (err) {
		scheduling_free(scheduling);
		return err;
	}
	*ret = scheduling;
	return 0;
}

void scheduling_free(struct scheduling *scheduling)
{
	if (!scheduling)
		return;
	schedule_tap_free(scheduling->tap);
	schedule_store_free(scheduling->store);
	free(scheduling);
}

int scheduling_get_fd(const struct scheduling *scheduling)
{
	return schedule_tap_get_fd(scheduling->tap);
}

int scheduling_read(struct scheduling *scheduling)
{
	return scheduling ? schedule_tap_read(scheduling->tap) : 0;
}

int scheduling_stop(struct scheduling *scheduling)
{
	return scheduling ? schedule_tap_stop(scheduling->tap) : 0;
}

struct scheduling_counts scheduling_get_counts(const struct scheduling *scheduling)
{
	struct schedule_store_counts kept = schedule_store_get_counts(scheduling->store);
	struct wire_schedule_counters seen = {0};

	if (schedule_tap_read_counters(scheduling->tap, &seen))
		log_debug("the scheduling program's counters cannot be read");
	return (struct scheduling_counts){
		.is_recorded = true,
		.fired = seen.switches + seen.wakings,
		.switches = kept.switches,
		.wakings = kept.wakings,
		.lost_ring = seen.lost_ring_switches + seen.lost_ring_wakings,
		.lost_nested = seen.lost_nested,
		.lost_storage = kept.lost_switches + kept.lost_wakings,
		.unfollowed = seen.unfollowed,
	};
}

bool scheduling_counts_are_balanced(const struct scheduling_counts *counts)
{
	return counts->fired == counts->switches + counts->wakings + counts->lost_ring +
					counts->lost_nested + counts->lost_storage;
}

struct schedule_store *scheduling_get_store(const struct scheduling *scheduling)
{
	return scheduling->store;
}
