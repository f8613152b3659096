/*
 * Two lists in order of their ends, with binary search. A pointer belongs to the first region whose
 * end is not below it, if that one starts low enough: regions of one list do not overlap, so that
 * no other can hold it.
 *
 * Ends count as inside. A stack pointer that equals the end is that of an empty stack, where a
 * thread's first zone may well be. If the next region starts at that address, the pointer belongs
 * to the next one.
 *
 * Implicit regions have no known lower bound. They are extended down by the pointers seen, up to
 * IMPLICIT_REACH_BYTES at a time: pointers farther away are taken for another stack. That may split
 * one deep stack into two, which is wrong in the harmless way: two stacks taken for one would nest
 * the zones of one thread in those of another.
 *
 * Declared regions win: they are looked up first, also if an implicit one had been guessed at the
 * same place before the declaration.
 */
#include "timeline/region_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"

/* The bounds are here too, so that looking one up touches one array. */
struct region_map_entry {
	uint64_t lowest; /* first byte; of an implicit region: the lowest pointer seen */
	uint64_t end;    /* the last pointer, which only an empty stack has */
	uint32_t region;
};

/* In order of their ends, which are all different. */
struct entries {
	ARRAY(struct region_map_entry) list;
};

struct region_map {
	struct timeline *timeline;
	uint32_t process;
	struct entries declared;
	struct entries implicit;
};

struct region_map *region_map_new(struct timeline *timeline, uint32_t process)
{
	struct region_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->timeline = timeline;
	map->process = process;
	return map;
}

void region_map_free(struct region_map *map)
{
	if (!map)
		return;
	array_release(&map->declared.list);
	array_release(&map->implicit.list);
	free(map);
}

uint32_t region_map_get_process(const struct region_map *map)
{
	return map->process;
}

/* Address 0 has a page above it, too; the last page of memory ends at its last byte. */
static uint64_t round_up(uint64_t pointer)
{
	uint64_t below = pointer ? pointer - 1 : 0;

	return below > UINT64_MAX - REGION_ALIGNMENT ? UINT64_MAX
						     : (below | (REGION_ALIGNMENT - 1)) + 1;
}

/* The first entry whose end is not below the pointer; the number of entries if not found. */
static size_t find_place(const struct entries *entries, uint64_t pointer)
{
	return array_count_front(&entries->list, entry, entry->end < pointer);
}

static int add_entry(struct entries *entries, const struct stack_region *region, uint32_t id)
{
	struct region_map_entry *entry =
		array_insert(&entries->list, find_place(entries, region->end));

	if (!entry)
		return -ENOMEM;
	*entry = (struct region_map_entry){
		.lowest = region->start, .end = region->end, .region = id};
	return 0;
}

/* A declared region that shares memory with [start, end), or NULL. */
static const struct region_map_entry *find_overlapping(const struct region_map *map, uint64_t start,
						       uint64_t end)
{
	size_t place = find_place(&map->declared, start + 1);

	if (place < map->declared.list.length && map->declared.list.items[place].lowest < end)
		return &map->declared.list.items[place];
	return NULL;
}

/*
 * Room first: a region that is in the timeline but not in the map would never be found, and made
 * again with every pointer.
 */
static int add_region(struct region_map *map, struct entries *entries,
		      const struct stack_region *region, uint32_t *ret)
{
	uint32_t id;
	int err = array_reserve(&entries->list, entries->list.length + 1);

	if (err)
		return err;
	err = timeline_add_region(map->timeline, region, &id);
	if (err)
		return err;
	err = add_entry(entries, region, id);
	if (err)
		return err;
	*ret = id;
	return 0;
}

static int make_name(struct region_map *map, uint64_t pointer, uint32_t *ret)
{
	char name[32];

	snprintf(name, sizeof(name), "Stack @%" PRIu64, pointer);
	return timeline_add_string(map->timeline, name, ret);
}

int region_map_declare(struct region_map *map, uint64_t start, uint64_t end, uint32_t name,
		       uint32_t *ret)
{
	struct stack_region region = {
		.start = start, .end = round_up(end), .name = name, .kind = REGION_DECLARED};

	return region_map_declare_exact(map, &region, ret);
}

int region_map_declare_exact(struct region_map *map, const struct stack_region *region,
			     uint32_t *ret)
{
	struct stack_region added = *region;
	const struct region_map_entry *other = find_overlapping(map, added.start, added.end);

	if (other) {
		*ret = other->region;
		return -EEXIST;
	}
	added.process = map->process;
	if (added.name == STRING_EMPTY && make_name(map, added.end, &added.name))
		return -ENOMEM;
	return add_region(map, &map->declared, &added, ret);
}

int region_map_adopt(struct region_map *map, uint32_t id)
{
	const struct stack_region *region = timeline_get_region(map->timeline, id);

	if (region->kind == REGION_IMPLICIT)
		return add_entry(&map->implicit, region, id);
	if (find_overlapping(map, region->start, region->end))
		return -EEXIST;
	return add_entry(&map->declared, region, id);
}

/*
 * A region may have been replaced by another one with the same end; then there is nothing to
 * remove.
 */
void region_map_remove(struct region_map *map, uint32_t region)
{
	const struct stack_region *removed = timeline_get_region(map->timeline, region);
	size_t place = find_place(&map->declared, removed->end);

	if (place < map->declared.list.length && map->declared.list.items[place].region == region)
		array_remove(&map->declared.list, place);
}

/*
 * Between two declared regions that touch, the shared address is the first byte of the upper one;
 * otherwise a pointer to the end is one to an empty stack.
 */
static const struct region_map_entry *find_declared(const struct region_map *map, uint64_t pointer)
{
	size_t place = find_place(&map->declared, pointer);
	size_t left = map->declared.list.length - place;
	const struct region_map_entry *entry;

	if (!left)
		return NULL;
	entry = &map->declared.list.items[place];
	if (left > 1 && pointer == entry->end && entry[1].lowest == pointer)
		return entry + 1;
	return entry->lowest <= pointer ? entry : NULL;
}

bool region_map_is_declared(const struct region_map *map, uint64_t pointer)
{
	return find_declared(map, pointer) != NULL;
}

static struct region_map_entry *find_implicit(const struct region_map *map, uint64_t pointer)
{
	size_t place = find_place(&map->implicit, pointer);
	struct region_map_entry *entry;

	if (place == map->implicit.list.length)
		return NULL;
	entry = &map->implicit.list.items[place];
	if (pointer < entry->lowest && entry->lowest - pointer > IMPLICIT_REACH_BYTES)
		return NULL;
	return entry;
}

static int add_implicit(struct region_map *map, uint64_t pointer, uint32_t *ret)
{
	struct stack_region region = {.start = pointer,
				      .end = round_up(pointer),
				      .process = map->process,
				      .kind = REGION_IMPLICIT};
	int err = make_name(map, pointer, &region.name);

	return err ? err : add_region(map, &map->implicit, &region, ret);
}

int region_map_find(struct region_map *map, uint64_t pointer, uint32_t *ret)
{
	const struct region_map_entry *declared = find_declared(map, pointer);
	struct region_map_entry *implicit;

	if (declared) {
		*ret = declared->region;
		return 0;
	}
	implicit = find_implicit(map, pointer);
	if (!implicit)
		return add_implicit(map, pointer, ret);
	if (pointer < implicit->lowest) {
		implicit->lowest = pointer;
		timeline_get_region(map->timeline, implicit->region)->start = pointer;
	}
	*ret = implicit->region;
	return 0;
}

bool region_map_find_known(const struct region_map *map, uint64_t pointer, uint32_t *ret)
{
	const struct region_map_entry *known = find_declared(map, pointer);

	if (!known)
		known = find_implicit(map, pointer);
	if (!known)
		return false;
	*ret = known->region;
	return true;
}
