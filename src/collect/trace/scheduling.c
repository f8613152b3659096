#include "collect/trace/scheduling.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "collect/programs/schedule_tap.h"

struct scheduling {
	struct schedule_tap *tap;
	struct schedule_store *store;
	struct kwork_store *kworks;
};

static int keep_batch(const void *record, size_t size, void *context)
{
	struct scheduling *scheduling = context;
	const uint32_t *type = record;

	if (size >= sizeof(*type) && *type == WIRE_KWORKS)
		return kwork_store_add(scheduling->kworks, record, size);
	return schedule_store_add(scheduling->store, record, size);
}

static int open_all(struct scheduling *scheduling, const struct scheduling_opts *opts,
		    struct error *error)
{
	struct schedule_tap_opts tap = {
		.running_fd = opts->running_fd,
		.targets_fd = opts->targets_fd,
		.ring_bytes = opts->ring_bytes,
		.on_record = keep_batch,
		.context = scheduling,
	};
	int err = schedule_store_new(opts->folder, &scheduling->store, error);

	if (err)
		return err;
	err = kwork_store_new(opts->folder, &scheduling->kworks, error);
	if (err)
		return err;
	err = schedule_tap_new(&tap, &scheduling->tap, error);
	if (err)
		return err;
	schedule_store_set_start(scheduling->store, clock_now_ns());
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
	kwork_store_free(scheduling->kworks);
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

static struct kwork_counts get_kwork_counts(const struct scheduling *scheduling)
{
	struct spool_counts stored = kwork_store_get_counts(scheduling->kworks);
	struct wire_kwork_counters seen = schedule_tap_get_kwork_counters(scheduling->tap);

	return (struct kwork_counts){
		.fired = seen.taken + seen.lost_nested + seen.unseen_begin,
		.kept = stored.kept,
		.lost_ring = seen.lost_ring,
		.lost_nested = seen.lost_nested,
		.lost_storage = stored.lost,
		.unseen_begin = seen.unseen_begin,
	};
}

struct scheduling_counts scheduling_get_counts(const struct scheduling *scheduling)
{
	struct schedule_store_counts stored = schedule_store_get_counts(scheduling->store);
	struct wire_schedule_counters seen = {0};

	if (schedule_tap_read_counters(scheduling->tap, &seen))
		log_debug("the scheduling program's counters cannot be read");
	return (struct scheduling_counts){
		.is_recorded = true,
		.fired = seen.switches + seen.wakeups + seen.unseen,
		.switches = stored.switches,
		.wakeups = stored.wakeups,
		.lost_ring = seen.lost_ring_switches + seen.lost_ring_wakeups,
		.lost_nested = seen.lost_nested,
		.lost_storage = stored.lost_switches + stored.lost_wakeups,
		.lost_unseen = seen.unseen,
		.kworks = get_kwork_counts(scheduling),
	};
}

struct schedule_store *scheduling_get_store(const struct scheduling *scheduling)
{
	return scheduling->store;
}

struct kwork_store *scheduling_get_kworks(const struct scheduling *scheduling)
{
	return scheduling->kworks;
}

int scheduling_read_time(const struct scheduling *scheduling, struct own_times *times)
{
	return scheduling ? schedule_tap_read_time(scheduling->tap, times) : 0;
}
