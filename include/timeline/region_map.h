/*
 * Finds the stack region that holds a pointer: the regions of one process, by address.
 *
 * Declared regions do not overlap. A pointer outside all of them belongs to an implicit region. It
 * ends at the pointer rounded up to REGION_ALIGNMENT and grows down as long as new pointers are
 * within IMPLICIT_REACH_BYTES below the lowest one seen. It is named `Stack @<pointer>` after its
 * first. The end of a declared region is rounded up as well.
 */
#ifndef TIMELINE_REGION_MAP_H
#define TIMELINE_REGION_MAP_H

#include "timeline/timeline.h"

#define REGION_ALIGNMENT     4096u
#define IMPLICIT_REACH_BYTES 10240u

struct region_map;

/* The map adds its regions to the timeline, which outlives it. NULL when out of memory. */
struct region_map *region_map_new(struct timeline *timeline, uint32_t process);
void region_map_free(struct region_map *map);
static inline void region_map_freep(struct region_map **map)
{
	region_map_free(*map);
}

uint32_t region_map_get_process(const struct region_map *map);

/*
 * Declare the region [start, end), start < end.
 *
 * name  string id; the empty string gives `Stack @<end>`
 *
 * Returns 0, -ENOMEM, or -EEXIST when it overlaps a declared region, whose id *ret is then.
 */
_must_check_ int region_map_declare(struct region_map *map, uint64_t start, uint64_t end,
				    uint32_t name, uint32_t *ret);

/*
 * The same with exact bounds, and with the kind REGION_DECLARED or REGION_PARTIAL.
 *
 * region  its process is ignored
 */
_must_check_ int region_map_declare_exact(struct region_map *map, const struct stack_region *region,
					  uint32_t *ret);

/*
 * Add a region of the timeline, of the same process, declared or implicit. Returns 0, -ENOMEM, or
 * -EEXIST if it is declared and overlaps another such region.
 */
_must_check_ int region_map_adopt(struct region_map *map, uint32_t region);

/*
 * Forget a declared region: its memory is not a stack any more, or will be another one. It stays in
 * the timeline.
 */
void region_map_remove(struct region_map *map, uint32_t region);

/* Whether a declared region holds the pointer. */
bool region_map_is_declared(const struct region_map *map, uint64_t pointer);

/* The region that holds the pointer, added if needed. Returns 0 or -ENOMEM. */
_must_check_ int region_map_find(struct region_map *map, uint64_t pointer, uint32_t *ret);

/*
 * The region that would hold the pointer, if there is one; it does not grow. Returns whether there
 * is.
 */
bool region_map_find_known(const struct region_map *map, uint64_t pointer, uint32_t *ret);

#endif
