#include "formats/perfetto/read/timed_waits.h"

#include <errno.h>
#include <stdlib.h>

void perfetto_timed_waits_release(struct perfetto_timed_waits *waits)
{
	array_release(&waits->items);
}

int perfetto_timed_waits_add(struct perfetto_timed_waits *waits,
			     const struct perfetto_timed_wait *wait)
{
	struct perfetto_timed_wait *added = array_add(&waits->items);

	if (!added)
		return -ENOMEM;
	*added = *wait;
	return 0;
}

/* By thread, then by end. */
static int compare(const void *a, const void *b)
{
	const struct timeline_wait *first = *(const struct timeline_wait *const *)a;
	const struct timeline_wait *second = *(const struct timeline_wait *const *)b;

	if (first->thread != second->thread)
		return first->thread < second->thread ? -1 : 1;
	return (first->end_ns > second->end_ns) - (first->end_ns < second->end_ns);
}

static int add_time(const struct perfetto_trace *trace, const struct perfetto_timed_wait *wait,
		    const struct timeline_wait *slice)
{
	uint64_t start_ns = !slice            ? wait->end_ns
			    : wait->is_queued ? slice->queued_ns
					      : slice->start_ns;
	uint64_t end_ns = slice && !wait->is_queued ? slice->queued_ns : wait->end_ns;

	return profile_add_interval(trace->import->profile, wait->thread, wait->stack, wait->metric,
				    wait->weight, start_ns, end_ns);
}

int perfetto_timed_waits_finish(const struct perfetto_timed_waits *waits,
				const struct perfetto_trace *trace, uint32_t first_wait)
{
	size_t count = timeline_count_wait(trace->timeline) - first_wait;
	_cleanup_free_ const struct timeline_wait **slices = NULL;
	int err = 0;

	if (!waits->items.length)
		return 0;
	slices = calloc(count + 1, sizeof(*slices));
	if (!slices)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		slices[i] = timeline_get_wait(trace->timeline, first_wait + (uint32_t)i);
	qsort(slices, count, sizeof(*slices), compare);
	for (size_t i = 0; i < waits->items.length && !err; i++) {
		const struct perfetto_timed_wait *wait = &waits->items.items[i];
		struct timeline_wait wanted = {.thread = wait->owner, .end_ns = wait->end_ns};
		const struct timeline_wait *key = &wanted;
		const struct timeline_wait *const *found =
			bsearch(&key, slices, count, sizeof(*slices), compare);

		err = add_time(trace, wait, found ? *found : NULL);
	}
	return err;
}
