#include "collect/trace/stack_bounds.h"

#include <stdlib.h>

#include "base/array.h"

#define PAGE_BYTES 4096u

/* A larger mapping with a single stack at its end is that stack, too, up to this. */
#define MAX_MAPPING_BYTES (1ull << 30)
#define MAX_SHARED_BYTES  (16ull << 20)

/*
 * Maximum size of other memory above a stack in its mapping: a library's own data, or memory that
 * the kernel has joined.
 */
#define MAX_REST_BYTES (8 * PAGE_BYTES)

/* Between two stacks that follow each other. */
#define MAX_GAP_BYTES (4 * PAGE_BYTES)

/* glibc's malloc() keeps arenas of threads at multiples of this: the mapping holds other data as well. */
#define ARENA_BYTES (64ull << 20)

/* A mapping. */
struct stack_mapping {
	uint64_t start;
	uint64_t end;
	uint32_t process;
	bool is_threads; /* a thread's own stack is at its end */
};

struct stack_bounds {
	ARRAY(struct stack_mapping) mappings; /* by process and end */
	ARRAY(struct stack_area) areas;       /* by top */
};

static int compare_mappings(const void *a, const void *b)
{
	const struct stack_mapping *left = a;
	const struct stack_mapping *right = b;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return left->end < right->end ? -1 : left->end > right->end;
}

static int copy_mappings(struct stack_bounds *bounds, const struct stack_area *areas, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct stack_mapping *added;

		if (areas[i].kind != STACK_OTHER && areas[i].kind != STACK_THREAD)
			continue;
		added = array_add(&bounds->mappings);
		if (!added)
			return -1;
		*added = (struct stack_mapping){.start = areas[i].start,
						.end = areas[i].end,
						.process = areas[i].process,
						.is_threads = areas[i].kind == STACK_THREAD};
	}
	if (bounds->mappings.length)
		qsort(bounds->mappings.items, bounds->mappings.length,
		      sizeof(*bounds->mappings.items), compare_mappings);
	return 0;
}

/* The mapping with the lowest end that holds the top: memory may be mapped anew, and joined. */
static const struct stack_mapping *find_mapping(const struct stack_bounds *bounds,
						const struct stack_top *top)
{
	struct stack_mapping key = {.process = top->process, .end = top->end};
	size_t place =
		array_count_front(&bounds->mappings, mapping, compare_mappings(mapping, &key) < 0);

	for (; place < bounds->mappings.length; place++) {
		const struct stack_mapping *mapping = &bounds->mappings.items[place];

		if (mapping->process != top->process)
			return NULL;
		if (mapping->start < top->end)
			return mapping;
	}
	return NULL;
}

/* The part that was seen in use. */
static struct stack_area get_used(const struct stack_top *top, const struct stack_mapping *mapping)
{
	struct stack_area area = {
		.first_ns = top->first_ns,
		.start = top->start,
		.end = top->end,
		.process = top->process,
		.kind = STACK_OTHER,
		.is_lower_bound = true,
	};

	if (mapping && area.start < mapping->start)
		area.start = mapping->start;
	return area;
}

/* Tops that follow each other in one mapping. */
struct group {
	const struct stack_mapping *mapping;
	const struct stack_top *tops;
	size_t count;
	uint64_t min_distance;
	size_t num_min_distances; /* stacks with that distance, or a little more */
	uint64_t rest;            /* of the mapping, above the last top */
};

/* Distance from the end of the stack below, or from the start of the mapping. */
static uint64_t get_distance(const struct group *group, size_t number)
{
	uint64_t start = group->mapping->start;

	if (number && group->tops[number - 1].end > start)
		start = group->tops[number - 1].end;
	return group->tops[number].end - start;
}

/* Allocators and programs keep a little of their own data between stacks, and tops are rounded. */
static bool is_min_distance(const struct group *group, uint64_t distance)
{
	uint64_t more = group->min_distance / 8;

	if (more < PAGE_BYTES)
		more = PAGE_BYTES;
	if (more > MAX_GAP_BYTES)
		more = MAX_GAP_BYTES;
	return distance - group->min_distance <= more;
}

static void measure(struct group *group)
{
	group->min_distance = UINT64_MAX;
	for (size_t i = 0; i < group->count; i++)
		if (get_distance(group, i) < group->min_distance)
			group->min_distance = get_distance(group, i);
	for (size_t i = 0; i < group->count; i++)
		group->num_min_distances += is_min_distance(group, get_distance(group, i));
	group->rest = group->mapping->is_threads
			      ? 0
			      : group->mapping->end - group->tops[group->count - 1].end;
}

static bool is_power_of_2(uint64_t number)
{
	return !(number & (number - 1));
}

/*
 * Whether the known stacks fill the mapping. If there are unknown ones, distances are sums of
 * sizes, which are rarely all powers of two.
 */
static bool fills_mapping(const struct group *group)
{
	uint64_t bytes = group->mapping->end - group->mapping->start;

	if (group->mapping->start % ARENA_BYTES == 0)
		return false;
	if (bytes > MAX_SHARED_BYTES)
		return group->count == 1 && bytes <= MAX_MAPPING_BYTES &&
		       group->rest <= PAGE_BYTES && !group->mapping->is_threads;
	if (group->mapping->is_threads)
		return true;
	if (group->rest > MAX_REST_BYTES || group->rest >= group->min_distance / 2)
		return false;
	if (group->count == 1)
		return true;
	for (size_t i = 0; i < group->count; i++)
		if (!is_power_of_2(get_distance(group, i)))
			return false;
	return true;
}

static struct stack_area get_bounds(const struct group *group, size_t number, bool fills_mapping)
{
	const struct stack_top *top = &group->tops[number];
	struct stack_area area = get_used(top, group->mapping);
	uint64_t distance = get_distance(group, number);
	bool is_even = group->count > 1 && group->num_min_distances > 1;
	uint64_t bytes = is_even ? group->min_distance : distance;

	if ((!is_even && !fills_mapping) || top->end - area.start > bytes)
		return area;
	if (is_even && !is_min_distance(group, distance)) {
		/*
		 * One stack, or unknown ones below it; below the lowest one, other memory that the
		 * kernel has joined.
		 */
		if (distance % bytes == 0 || !number)
			area.start = top->end - bytes;
		return area;
	}
	area.start = top->end - bytes;
	area.is_lower_bound = false;
	return area;
}

static int add_group(struct stack_bounds *bounds, struct group *group)
{
	bool fills = false;

	if (group->mapping) {
		measure(group);
		fills = fills_mapping(group);
	}
	for (size_t i = 0; i < group->count; i++) {
		struct stack_area *added = array_add(&bounds->areas);

		if (!added)
			return -1;
		*added = group->mapping ? get_bounds(group, i, fills)
					: get_used(&group->tops[i], NULL);
	}
	return 0;
}

static int add_groups(struct stack_bounds *bounds, const struct stack_tops *tops)
{
	size_t end;

	for (size_t first = 0; first < tops->length; first = end) {
		struct group group = {
			.mapping = find_mapping(bounds, &tops->items[first]),
			.tops = &tops->items[first],
		};

		for (end = first + 1; end < tops->length; end++)
			if (tops->items[end].process != tops->items[first].process ||
			    find_mapping(bounds, &tops->items[end]) != group.mapping)
				break;
		group.count = end - first;
		if (add_group(bounds, &group))
			return -1;
	}
	return 0;
}

struct stack_bounds *stack_bounds_new(const struct stack_area *areas, size_t num_areas,
				      const struct stack_tops *tops)
{
	struct stack_bounds *bounds = calloc(1, sizeof(*bounds));

	if (!bounds)
		return NULL;
	if (copy_mappings(bounds, areas, num_areas) || add_groups(bounds, tops)) {
		stack_bounds_free(bounds);
		return NULL;
	}
	return bounds;
}

void stack_bounds_free(struct stack_bounds *bounds)
{
	if (!bounds)
		return;
	array_release(&bounds->mappings);
	array_release(&bounds->areas);
	free(bounds);
}

struct stack_area stack_bounds_get(const struct stack_bounds *bounds, size_t top)
{
	return bounds->areas.items[top];
}
