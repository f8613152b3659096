#include "collect/trace/stack_regions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "collect/trace/stack_bounds.h"
#include "timeline/region_map.h"

/*
 * A mapping larger than this is not a single stack of a fiber or thread: it may hold many stacks,
 * or other data beside one.
 */
#define MAX_OTHER_BYTES  (16ull << 20)
#define MAX_THREAD_BYTES (64ull << 20)

/*
 * The kernel does not report memory that is being changed, as at the start of a program or thread:
 * one of the next samples has the area of the first ones.
 */
#define LATE_AREA_NS NS_PER_SECOND

/* Maximum size of a thread's own data between its outermost frame and the end of its stack. */
#define MAX_THREAD_DATA_BYTES (256ull << 10)

/* A stack area, and whether it has become a region. */
struct known_stack_area {
	struct stack_area area;
	bool is_declared;
};

/* The regions of one process, by its id of the process table. */
struct process_regions {
	struct region_map *map; /* NULL: no sample yet */
	size_t next_area;       /* in areas: the next one to add, in order of time */
	size_t end_area;
};

struct stack_regions {
	struct timeline *timeline;
	ARRAY(struct known_stack_area) areas; /* by process, then by time */
	ARRAY(struct process_regions) processes;
	ARRAY(struct kernel_region) kernel_regions; /* in order of their regions */
};

static int compare_areas(const void *a, const void *b)
{
	const struct stack_area *left = &((const struct known_stack_area *)a)->area;
	const struct stack_area *right = &((const struct known_stack_area *)b)->area;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	if (left->first_ns != right->first_ns)
		return left->first_ns < right->first_ns ? -1 : 1;
	return left->end < right->end ? -1 : left->end > right->end;
}

static struct process_regions *use_process(struct stack_regions *regions, uint32_t process)
{
	while (regions->processes.length <= process)
		if (!array_add(&regions->processes))
			return NULL;
	return &regions->processes.items[process];
}

static struct known_stack_area *add_area(struct stack_regions *regions,
					 const struct stack_area *area)
{
	struct known_stack_area *added = array_add(&regions->areas);

	if (!added)
		return NULL;
	added->area = *area;
	/* A program has its main stack from the start. */
	if (area->kind == STACK_MAIN)
		added->area.first_ns = 0;
	return added;
}

/*
 * Whether a stack of the process starts in an area, other than the thread's own, which is on top.
 */
static bool has_tops(const struct stack_area *area, const struct stack_tops *tops,
		     uint64_t *ret_last_end)
{
	size_t count;
	const struct stack_top *items = stack_tops_get(tops, area->process, &count);
	bool skips_own = area->kind == STACK_THREAD;

	while (count-- && items[count].end > area->start) {
		if (items[count].end > area->end || items[count].start == items[count].end)
			continue;
		if (skips_own) {
			skips_own = false;
			continue;
		}
		*ret_last_end = items[count].end;
		return true;
	}
	return false;
}

/*
 * The end of the stack with the last top below a thread's own. It is that of another thread, whose
 * own data are above its outermost frame, if the kernel has joined the mappings of the two: stacks
 * without a guard may touch.
 */
static uint64_t find_end_below(const struct stack_area *areas, size_t count,
			       const struct stack_area *own, uint64_t last_end)
{
	uint64_t end = last_end;

	for (size_t i = 0; i < count; i++) {
		const struct stack_area *other = &areas[i];

		if (other->kind == STACK_THREAD && other->process == own->process &&
		    other->tid != own->tid && other->start < last_end && other->end >= last_end &&
		    other->end - last_end <= MAX_THREAD_DATA_BYTES && other->end < own->end &&
		    other->end > end)
			end = other->end;
	}
	return end;
}

/*
 * Stacks in a mapping with known tops are found by these (stack_bounds.h); so is the memory below a
 * thread's own stack.
 */
static int copy_areas(struct stack_regions *regions, const struct trace_log *log,
		      const struct stack_tops *tops)
{
	size_t count;
	const struct stack_area *areas = trace_log_get_areas(log, &count);

	for (size_t i = 0; i < count; i++) {
		struct stack_area area = areas[i];
		uint64_t last_end;

		if (area.kind == STACK_OTHER && area.end - area.start > MAX_OTHER_BYTES)
			continue;
		if (!area.has_exact_bounds &&
		    (area.kind == STACK_THREAD || area.kind == STACK_OTHER) &&
		    has_tops(&area, tops, &last_end)) {
			if (area.kind == STACK_OTHER)
				continue;
			area.start = find_end_below(areas, count, &area, last_end);
		}
		if (!add_area(regions, &area))
			return -ENOMEM;
	}
	return 0;
}

static void sort_areas(struct stack_regions *regions)
{
	if (regions->areas.length)
		qsort(regions->areas.items, regions->areas.length, sizeof(*regions->areas.items),
		      compare_areas);
}

/* Whether the top is that of a stack whose bounds the kernel or the thread's library has reported. */
static bool is_reported(const struct stack_regions *regions, size_t num_areas,
			const struct stack_top *top)
{
	size_t place =
		array_count_front(&regions->areas, known, known->area.process < top->process);

	for (; place < num_areas && regions->areas.items[place].area.process == top->process;
	     place++) {
		const struct stack_area *area = &regions->areas.items[place].area;

		if (area->kind != STACK_OTHER && area->start < top->end && top->end <= area->end)
			return true;
	}
	return false;
}

static int add_tops(struct stack_regions *regions, const struct trace_log *log,
		    const struct stack_tops *tops)
{
	size_t num_areas = regions->areas.length;
	size_t num_logged;
	const struct stack_area *logged = trace_log_get_areas(log, &num_logged);
	_cleanup_(stack_bounds_freep) struct stack_bounds *bounds =
		stack_bounds_new(logged, num_logged, tops);
	_cleanup_free_ struct stack_area *added = calloc(tops->length + 1, sizeof(*added));
	size_t num_added = 0;

	if (!bounds || !added)
		return -ENOMEM;
	for (size_t i = 0; i < tops->length; i++) {
		const struct stack_top *top = &tops->items[i];

		if (top->start < top->end && !is_reported(regions, num_areas, top))
			added[num_added++] = stack_bounds_get(bounds, i);
	}
	for (size_t i = 0; i < num_added; i++)
		if (!add_area(regions, &added[i]))
			return -ENOMEM;
	return 0;
}

static int index_areas(struct stack_regions *regions)
{
	for (size_t i = 0; i < regions->areas.length; i++) {
		uint32_t id = regions->areas.items[i].area.process;
		struct process_regions *process = use_process(regions, id);

		if (!process)
			return -ENOMEM;
		if (process->end_area == 0)
			process->next_area = i;
		process->end_area = i + 1;
	}
	return 0;
}

static int find_areas(struct stack_regions *regions, const struct trace_log *log,
		      const struct stack_tops *tops)
{
	int err = copy_areas(regions, log, tops);

	if (err)
		return err;
	sort_areas(regions);
	err = add_tops(regions, log, tops);
	if (err)
		return err;
	sort_areas(regions);
	return index_areas(regions);
}

struct stack_regions *stack_regions_new(const struct trace_log *log, const struct stack_tops *tops,
					struct timeline *timeline)
{
	struct stack_regions *regions = calloc(1, sizeof(*regions));

	if (!regions)
		return NULL;
	regions->timeline = timeline;
	if (find_areas(regions, log, tops)) {
		stack_regions_free(regions);
		return NULL;
	}
	return regions;
}

void stack_regions_free(struct stack_regions *regions)
{
	if (!regions)
		return;
	array_for_each (&regions->processes, process)
		region_map_free(process->map);
	array_release(&regions->processes);
	array_release(&regions->areas);
	array_release(&regions->kernel_regions);
	free(regions);
}

/* Regions that the program declared by zones take precedence over all others. */
static int adopt_declared(struct stack_regions *regions, struct region_map *map)
{
	uint32_t count = timeline_count_region(regions->timeline);

	for (uint32_t id = 0; id < count; id++) {
		int err = 0;

		if (timeline_get_region(regions->timeline, id)->process ==
		    region_map_get_process(map))
			err = region_map_adopt(map, id);
		if (err && err != -EEXIST)
			return err;
	}
	return 0;
}

static struct kernel_region *find_kernel_region(struct stack_regions *regions, uint32_t region)
{
	size_t place = array_count_front(&regions->kernel_regions, item, item->region < region);

	if (place == regions->kernel_regions.length ||
	    regions->kernel_regions.items[place].region != region)
		return NULL;
	return &regions->kernel_regions.items[place];
}

/* Split a mapping with two stacks: the upper one starts where the lower one ends. */
static int part_neighbours(struct stack_regions *regions, struct region_map *map,
			   struct stack_area *area, uint32_t other)
{
	struct stack_region *neighbour = timeline_get_region(regions->timeline, other);

	if (neighbour->end < area->end) {
		area->start = neighbour->end;
		return 0;
	}
	region_map_remove(map, other);
	neighbour->start = area->end;
	return region_map_adopt(map, other);
}

/*
 * Resolve an overlap of an area with a known region. Returns 0 if the area, possibly made smaller,
 * can be tried again, 1 if it shall be dropped.
 */
static int make_way(struct stack_regions *regions, struct region_map *map, struct stack_area *area,
		    uint64_t mapping_start, uint32_t other)
{
	const struct kernel_region *known = find_kernel_region(regions, other);

	if (!known)
		return 1; /* the program's own declaration wins */
	/* Go uses memory of stacks for other stacks, and for those of signal handlers. */
	if (area->kind == STACK_GOROUTINE || known->kind == STACK_GOROUTINE) {
		region_map_remove(map, other);
		return 0;
	}
	if (area->kind == STACK_SIGNAL || (known->kind == STACK_SIGNAL && !area->tid))
		return 1;
	if (!area->has_exact_bounds && known->mapping_start == mapping_start &&
	    timeline_get_region(regions->timeline, other)->end != area->end)
		return part_neighbours(regions, map, area, other);
	region_map_remove(map, other);
	return 0;
}

static int note_kernel_region(struct stack_regions *regions, const struct stack_area *area,
			      uint64_t mapping_start, uint32_t timeline_process, uint32_t region)
{
	struct kernel_region *added = array_add(&regions->kernel_regions);

	if (!added)
		return -ENOMEM;
	*added = (struct kernel_region){.region = region,
					.process = timeline_process,
					.tid = area->tid,
					.kind = area->kind,
					.mapping_start = mapping_start};
	return 0;
}

static int name_area(struct stack_regions *regions, const struct stack_area *area, uint32_t *ret)
{
	char name[64];

	if (area->kind == STACK_MAIN)
		return timeline_add_string(regions->timeline, "[stack]", ret);
	snprintf(name, sizeof(name), "stack 0x%" PRIx64 ", %s%" PRIu64 " KiB", area->start,
		 area->is_lower_bound ? "at least " : "", (area->end - area->start) >> 10);
	return timeline_add_string(regions->timeline, name, ret);
}

static int declare(struct stack_regions *regions, struct region_map *map,
		   const struct stack_area *source)
{
	struct stack_area area = *source;
	uint32_t region;
	uint32_t name;
	int err;

	if (area.kind == STACK_THREAD && !area.has_exact_bounds &&
	    area.end - area.start > MAX_THREAD_BYTES)
		area.start = area.end - MAX_THREAD_BYTES;
	/* A region is noted once it is declared: that must not lack memory. */
	if (array_reserve(&regions->kernel_regions, regions->kernel_regions.length + 1))
		return -ENOMEM;
	do {
		err = name_area(regions, &area, &name);
		if (err)
			return err;
		err = region_map_declare_exact(
			map,
			&(struct stack_region){.start = area.start,
					       .end = area.end,
					       .name = name,
					       .kind = area.is_lower_bound ? REGION_PARTIAL
									   : REGION_DECLARED},
			&region);
		if (err != -EEXIST)
			break;
		err = make_way(regions, map, &area, source->start, region);
		if (err)
			return err > 0 ? 0 : err;
	} while (area.start < area.end);
	if (err)
		return err;
	return note_kernel_region(regions, &area, source->start, region_map_get_process(map),
				  region);
}

static int declare_once(struct stack_regions *regions, struct region_map *map,
			struct known_stack_area *known)
{
	int err;

	if (known->is_declared)
		return 0;
	err = declare(regions, map, &known->area);
	known->is_declared = !err;
	return err;
}

/* Declare the thread's own stack that holds the pointer, if it is reported soon. */
static int declare_late(struct stack_regions *regions, const struct process_regions *own,
			const struct stack_pointer *pointer)
{
	for (size_t i = own->next_area; i < own->end_area; i++) {
		struct known_stack_area *known = &regions->areas.items[i];

		if (known->area.first_ns > pointer->time_ns + LATE_AREA_NS)
			break;
		if (known->area.kind == STACK_THREAD && known->area.tid == pointer->tid &&
		    known->area.start < pointer->address && pointer->address <= known->area.end)
			return declare_once(regions, own->map, known);
	}
	return 0;
}

int stack_regions_find(struct stack_regions *regions, uint32_t process, uint32_t timeline_process,
		       const struct stack_pointer *pointer, uint32_t *ret)
{
	struct process_regions *own = use_process(regions, process);
	int err;

	if (!own)
		return -ENOMEM;
	if (!own->map) {
		_cleanup_(region_map_freep) struct region_map *map =
			region_map_new(regions->timeline, timeline_process);

		if (!map)
			return -ENOMEM;
		err = adopt_declared(regions, map);
		if (err)
			return err;
		own->map = return_ptr(map);
	}
	while (own->next_area < own->end_area &&
	       regions->areas.items[own->next_area].area.first_ns <= pointer->time_ns) {
		err = declare_once(regions, own->map, &regions->areas.items[own->next_area]);
		if (err)
			return err;
		own->next_area++;
	}
	if (!region_map_is_declared(own->map, pointer->address)) {
		err = declare_late(regions, own, pointer);
		if (err)
			return err;
	}
	return region_map_find(own->map, pointer->address, ret);
}

const struct kernel_region *stack_regions_get_all(const struct stack_regions *regions,
						  size_t *ret_count)
{
	*ret_count = regions->kernel_regions.length;
	return regions->kernel_regions.items;
}
