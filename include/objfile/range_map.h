/*
 * Address ranges to numbers. Ranges may nest and overlap; a lookup returns the innermost one, which
 * is the last to start among those that hold the address.
 *
 *	range_map_add() …  range_map_finish()  range_map_find() …
 */
#ifndef OBJFILE_RANGE_MAP_H
#define OBJFILE_RANGE_MAP_H

#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"

struct range {
	uint64_t start;
	uint64_t end; /* first address after it */
	uint32_t value;
};

/* All zero is an empty map. After range_map_finish(): sorted, no two overlap. */
struct range_map {
	ARRAY(struct range) ranges;
};

void range_map_release(struct range_map *map);

/* Ignores empty ranges. Returns 0 or -ENOMEM. */
_must_check_ int range_map_add(struct range_map *map, uint64_t start, uint64_t end, uint32_t value);

/*
 * Sort and split into disjoint ranges, so that the map can be queried. If two ranges have the same
 * start, the shorter one is the inner one; if they are equal, the smaller value wins. Further
 * ranges may be added afterwards, followed by another range_map_finish(). Returns 0 or -ENOMEM.
 */
_must_check_ int range_map_finish(struct range_map *map);

/* The range that holds the address, or NULL. Borrowed until the map changes. */
const struct range *range_map_find(const struct range_map *map, uint64_t address);

/* The last range that starts at or below the address, or NULL. */
const struct range *range_map_find_last(const struct range_map *map, uint64_t address);

/* The first range that starts above the address, or NULL. */
const struct range *range_map_find_next(const struct range_map *map, uint64_t address);

#endif
