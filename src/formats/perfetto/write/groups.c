#include "formats/perfetto/write/groups.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"

#define MAX_SAMPLES_OF_GROUPED 2

/* Fewer are not grouped. */
#define MIN_PROCESSES 3

/* A longer line of ancestors goes round: pids of others' traces may do so. */
#define MAX_ANCESTORS 64

INTERN_TABLE(group_table, struct perfetto_group, ancestor);

struct perfetto_groups {
	struct group_table groups;
	uint32_t *of_process; /* TIMELINE_NONE: none */
	int32_t *ranks;       /* by region */
	uint32_t num_processes;
	uint32_t num_regions;
};

/* ---- which processes ---------------------------------------------------------------------- */

/* Each process's samples, up to one more than matter, and whether there is any sample at all. */
static int count_samples(const struct timeline *timeline, uint8_t *counts, bool *ret_has_samples)
{
	struct timeline_sample sample;
	uint64_t position = 0;
	int got;

	*ret_has_samples = false;
	while ((got = timeline_next_sample(timeline, &position, &sample)) > 0) {
		uint8_t *count = &counts[timeline_get_thread(timeline, sample.thread)->process];

		*count = (uint8_t)(*count + (*count <= MAX_SAMPLES_OF_GROUPED));
		*ret_has_samples = true;
	}
	return got;
}

/* A process that reports something itself is worth a place of its own. */
static void count_reports(const struct timeline *timeline, uint8_t *counts)
{
	for (uint32_t i = 0; i < timeline_count_zone(timeline); i++) {
		const struct zone *zone = timeline_get_zone(timeline, i);

		counts[timeline_get_region(timeline, zone->region)->process] = UINT8_MAX;
	}
	for (uint32_t i = 0; i < timeline_count_counter_track(timeline); i++)
		counts[timeline_get_counter_track(timeline, i)->process] = UINT8_MAX;
}

static bool is_short(const struct timeline *timeline, const struct perfetto_groups_opts *opts,
		     const uint8_t *counts, uint32_t process)
{
	const struct timeline_process *info = timeline_get_process(timeline, process);

	return opts->start_ns && info->start_ns > opts->start_ns && info->end_ns && info->pid &&
	       counts[process] <= MAX_SAMPLES_OF_GROUPED;
}

/* The nearest ancestor that is not grouped. */
static uint32_t find_ancestor(const struct timeline *timeline,
			      const struct perfetto_groups_opts *opts, const uint8_t *counts,
			      uint32_t process)
{
	for (size_t i = 0; i < MAX_ANCESTORS; i++) {
		process = opts->parents[process];
		if (process == TIMELINE_NONE || !is_short(timeline, opts, counts, process))
			return process;
	}
	return TIMELINE_NONE;
}

static int make_groups(struct perfetto_groups *groups, const struct timeline *timeline,
		       const struct perfetto_groups_opts *opts, const uint8_t *counts)
{
	_cleanup_(group_table_release) struct group_table all = {0};

	for (uint32_t i = 0; i < groups->num_processes; i++) {
		uint32_t process = opts->order[i];
		struct perfetto_group group = {0};
		uint32_t number;
		int err;

		if (!is_short(timeline, opts, counts, process))
			continue;
		group.ancestor = find_ancestor(timeline, opts, counts, process);
		err = group_table_intern(&all, &group, &number);
		if (err)
			return err;
		all.items[number].num_processes++;
		groups->of_process[process] = number;
	}
	/* Those that are large enough, with numbers of their own. */
	for (uint32_t i = 0; i < groups->num_processes; i++) {
		uint32_t *number = &groups->of_process[opts->order[i]];
		int err;

		if (*number == TIMELINE_NONE)
			continue;
		if (all.items[*number].num_processes < MIN_PROCESSES) {
			*number = TIMELINE_NONE;
			continue;
		}
		err = group_table_intern(&groups->groups, &all.items[*number], number);
		if (err)
			return err;
	}
	return 0;
}

/* ---- regions ------------------------------------------------------------------------------ */

struct region_weights {
	const struct timeline *timeline;
	uint64_t *weights_ns;
};

/* Not by their numbers, which differ when the trace is read again. */
static int compare_regions(const void *a, const void *b, void *context)
{
	const struct region_weights *weights = context;
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;
	const struct stack_region *left_region = timeline_get_region(weights->timeline, left);
	const struct stack_region *right_region = timeline_get_region(weights->timeline, right);

	if (left_region->process != right_region->process)
		return left_region->process < right_region->process ? -1 : 1;
	if (weights->weights_ns[left] != weights->weights_ns[right])
		return weights->weights_ns[left] > weights->weights_ns[right] ? -1 : 1;
	if (left_region->end != right_region->end)
		return left_region->end < right_region->end ? -1 : 1;
	return (left > right) - (left < right);
}

static int rank_regions(struct perfetto_groups *groups, const struct timeline *timeline)
{
	_cleanup_free_ uint64_t *weights_ns =
		calloc((size_t)groups->num_regions + 1, sizeof(*weights_ns));
	_cleanup_free_ uint32_t *order = calloc((size_t)groups->num_regions + 1, sizeof(*order));
	struct region_weights weights = {timeline, weights_ns};
	struct occupancy occupancy;
	uint64_t position = 0;
	int32_t rank = 0;
	int got;

	if (!weights_ns || !order)
		return -ENOMEM;
	while ((got = timeline_next_occupancy(timeline, &position, &occupancy)) > 0)
		weights_ns[occupancy.region] += occupancy.end_ns - occupancy.start_ns;
	if (got < 0)
		return got;
	for (uint32_t i = 0; i < groups->num_regions; i++)
		order[i] = i;
	qsort_r(order, groups->num_regions, sizeof(*order), compare_regions, &weights);
	for (uint32_t i = 0; i < groups->num_regions; i++) {
		if (i && timeline_get_region(timeline, order[i])->process !=
				 timeline_get_region(timeline, order[i - 1])->process)
			rank = 0;
		groups->ranks[order[i]] = ++rank;
	}
	return 0;
}

/* ---- both --------------------------------------------------------------------------------- */

static void groups_freep(struct perfetto_groups **groups)
{
	perfetto_groups_free(*groups);
}

int perfetto_groups_new(const struct timeline *timeline, const struct perfetto_groups_opts *opts,
			struct perfetto_groups **ret)
{
	_cleanup_(groups_freep) struct perfetto_groups *groups = calloc(1, sizeof(*groups));
	_cleanup_free_ uint8_t *counts = NULL;
	bool has_samples;
	int err;

	if (!groups)
		return -ENOMEM;
	groups->num_processes = timeline_count_process(timeline);
	groups->num_regions = timeline_count_region(timeline);
	groups->of_process =
		malloc(((size_t)groups->num_processes + 1) * sizeof(*groups->of_process));
	groups->ranks = calloc((size_t)groups->num_regions + 1, sizeof(*groups->ranks));
	counts = calloc((size_t)groups->num_processes + 1, sizeof(*counts));
	if (!groups->of_process || !groups->ranks || !counts)
		return -ENOMEM;
	memset(groups->of_process, 0xff,
	       ((size_t)groups->num_processes + 1) * sizeof(*groups->of_process));
	err = count_samples(timeline, counts, &has_samples);
	if (err)
		return err;
	count_reports(timeline, counts);
	err = make_groups(groups, timeline, opts, counts);
	if (err)
		return err;
	err = has_samples ? rank_regions(groups, timeline) : 0;
	if (err)
		return err;
	*ret = return_ptr(groups);
	return 0;
}

void perfetto_groups_free(struct perfetto_groups *groups)
{
	if (!groups)
		return;
	group_table_release(&groups->groups);
	free(groups->of_process);
	free(groups->ranks);
	free(groups);
}

uint32_t perfetto_groups_find(const struct perfetto_groups *groups, uint32_t process)
{
	return groups->of_process[process];
}

uint32_t perfetto_groups_count(const struct perfetto_groups *groups)
{
	return (uint32_t)groups->groups.length;
}

const struct perfetto_group *perfetto_groups_get(const struct perfetto_groups *groups,
						 uint32_t group)
{
	return &groups->groups.items[group];
}

int32_t perfetto_groups_get_rank(const struct perfetto_groups *groups, uint32_t region)
{
	return groups->ranks[region];
}
