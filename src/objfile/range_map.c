#include "objfile/range_map.h"

#include <errno.h>

void range_map_release(struct range_map *map)
{
	array_release(&map->ranges);
}

int range_map_add(struct range_map *map, uint64_t start, uint64_t end, uint32_t value)
{
	struct range *range;

	if (start >= end)
		return 0;
	range = array_add(&map->ranges);
	if (!range)
		return -ENOMEM;
	*range = (struct range){.start = start, .end = end, .value = value};
	return 0;
}

/* Outer before inner; of equal ranges, the one that wins is last, as the innermost. */
static int compare_ranges(const void *left, const void *right)
{
	const struct range *a = left;
	const struct range *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return (a->value < b->value) - (a->value > b->value);
}

/* The disjoint chunks of a map so far, and the ranges that are still open, outermost first. */
struct range_splitter {
	struct range_map chunks;
	ARRAY(struct range) open;
	uint64_t position; /* everything below it is in chunks */
};

/* Emit the rest of the open ranges up to `limit`, innermost first. */
static int split_until(struct range_splitter *splitter, uint64_t limit)
{
	while (splitter->open.length) {
		const struct range *top = &splitter->open.items[splitter->open.length - 1];
		uint64_t end = top->end < limit ? top->end : limit;
		int err = range_map_add(&splitter->chunks, splitter->position, end, top->value);

		if (err)
			return err;
		if (splitter->position < end)
			splitter->position = end;
		if (top->end > limit)
			break;
		splitter->open.length--;
	}
	return 0;
}

static int split(struct range_splitter *splitter, const struct range_map *map)
{
	int err;

	array_for_each (&map->ranges, range) {
		struct range *top;

		err = split_until(splitter, range->start);
		if (err)
			return err;
		splitter->position = range->start;
		top = array_add(&splitter->open);
		if (!top)
			return -ENOMEM;
		*top = *range;
	}
	return split_until(splitter, UINT64_MAX);
}

int range_map_finish(struct range_map *map)
{
	struct range_splitter splitter = {0};
	int err;

	if (map->ranges.length > 1)
		qsort(map->ranges.items, map->ranges.length, sizeof(*map->ranges.items),
		      compare_ranges);
	err = split(&splitter, map);
	array_release(&splitter.open);
	if (err) {
		range_map_release(&splitter.chunks);
		return err;
	}
	range_map_release(map);
	*map = splitter.chunks;
	return 0;
}

/* The number of ranges that start at or below the address. */
static size_t count_up_to(const struct range_map *map, uint64_t address)
{
	return array_count_front(&map->ranges, range, range->start <= address);
}

const struct range *range_map_find_last(const struct range_map *map, uint64_t address)
{
	size_t count = count_up_to(map, address);

	return count ? &map->ranges.items[count - 1] : NULL;
}

const struct range *range_map_find(const struct range_map *map, uint64_t address)
{
	const struct range *last = range_map_find_last(map, address);

	return last && address < last->end ? last : NULL;
}

const struct range *range_map_find_next(const struct range_map *map, uint64_t address)
{
	size_t count = count_up_to(map, address);

	return count < map->ranges.length ? &map->ranges.items[count] : NULL;
}
