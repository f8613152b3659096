/*
 * map.xml: the mappings of the process, with their times.
 *
 *	<event kind="map" object="segment" tstamp="0.012" vaddr="0x400000" size="4096"
 *	       foffset="+0x1000" name="/usr/bin/work"/>
 *	<event kind="unmap" tstamp="1.5" vaddr="0x400000"/>
 *
 * An unmap has no size: it ends the range that starts at the same address. A map without an unmap
 * before it does so, too, as the collector misses some. Ranges are sorted by start; `ends` makes it
 * possible to stop a search: no range up to i reaches beyond ends[i].
 *
 * Functions that JITs and the kernel provide are in a second list. They may be inside of a segment
 * ([vdso], a JIT's cache), and the innermost meaning counts.
 */
#include "formats/gprofng/read_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How many overlapping ranges are tried for one address: hostile files may have any number. */
#define MAX_OVERLAPPING 64
/* Stacks are made again after each change, which a JIT may cause thousands of. */
#define MAX_CHANGES 64

struct gprofng_map_reader {
	struct gprofng_map *map;
	struct profile *profile;
	struct gprofng_modules *modules;
	uint64_t origin_ns;
	struct text text;
};

static void release_ranges(struct gprofng_ranges *ranges)
{
	array_release(&ranges->items);
	array_release(&ranges->ends);
}

void gprofng_map_release(struct gprofng_map *map)
{
	release_ranges(&map->files);
	release_ranges(&map->functions);
	array_release(&map->changes);
}

/* ---- modules ---- */

static int find_module(struct gprofng_map_reader *reader, uint32_t path, uint32_t *ret)
{
	struct gprofng_module wanted = {.path = path};
	struct module module = {.path = path};
	uint32_t number = gprofng_modules_find(reader->modules, &wanted);
	int err;

	if (number != HASH_INDEX_NONE) {
		*ret = reader->modules->items[number].module;
		return 0;
	}
	err = profile_add_module(reader->profile, &module, &wanted.module);
	if (err)
		return err;
	*ret = wanted.module;
	return gprofng_modules_add(reader->modules, &wanted, &number);
}

/* ---- events ---- */

static int add_name(struct gprofng_map_reader *reader, const struct xml_tag *tag,
		    const char *attribute, uint32_t *ret)
{
	text_truncate(&reader->text, 0);
	(void)gprofng_append_attribute(&reader->text, tag, attribute); /* none: it is empty */
	if (reader->text.failed)
		return -ENOMEM;
	return string_table_add(profile_get_strings(reader->profile),
				reader->text.data ? reader->text.data : "", reader->text.length,
				ret);
}

static int add_frame_name(struct gprofng_map_reader *reader, const struct xml_tag *tag,
			  const char *attribute, uint32_t *ret)
{
	text_truncate(&reader->text, 0);
	(void)gprofng_append_attribute(&reader->text, tag, attribute); /* none: it is [unknown] */
	if (reader->text.failed)
		return -ENOMEM;
	return profile_add_frame_name(reader->profile, reader->text.data ? reader->text.data : "",
				      reader->text.length, ret);
}

static int set_segment(struct gprofng_map_reader *reader, const struct xml_tag *tag,
		       struct gprofng_range *range)
{
	uint32_t path;
	int err = add_name(reader, tag, "name", &path);

	range->kind = GPROFNG_SEGMENT;
	range->value = gprofng_find_number(tag, "foffset");
	if (err)
		return err;
	return find_module(reader, path, &range->name);
}

static int set_function(struct gprofng_map_reader *reader, const struct xml_tag *tag,
			struct gprofng_range *range)
{
	struct xml_slice ignored;
	bool has_module = xml_find_attribute(tag, "funcname", &ignored);
	int err = add_frame_name(reader, tag, has_module ? "funcname" : "name", &range->name);

	range->kind = GPROFNG_FUNCTION;
	return err || !has_module ? err : add_name(reader, tag, "name", &range->module);
}

/*
 * Fill in the properties of the object; range->kind stays GPROFNG_UNMAPPED if it is not understood.
 */
static int set_object(struct gprofng_map_reader *reader, const struct xml_tag *tag,
		      struct gprofng_range *range)
{
	struct xml_slice object;

	if (!xml_find_attribute(tag, "object", &object))
		return 0;
	if (xml_slice_equals(object, "segment"))
		return set_segment(reader, tag, range);
	if (xml_slice_equals(object, "function") || xml_slice_equals(object, "dynfunc"))
		return set_function(reader, tag, range);
	if (xml_slice_equals(object, "jcm")) {
		range->kind = GPROFNG_METHOD;
		range->value = gprofng_find_number(tag, "methodId");
	}
	return 0;
}

static int add_range(struct gprofng_ranges *ranges, const struct gprofng_range *range)
{
	struct gprofng_range *added = array_add(&ranges->items);

	if (!added)
		return -ENOMEM;
	*added = *range;
	added->number = (uint32_t)ranges->items.length;
	return 0;
}

static int read_event(struct gprofng_map_reader *reader, const struct xml_tag *tag)
{
	struct gprofng_map *map = reader->map;
	struct gprofng_range range = {.kind = GPROFNG_UNMAPPED, .end_ns = UINT64_MAX};
	struct xml_slice kind = {0};
	struct xml_slice time;
	bool is_unmap;
	int err;

	if (tag->is_closing || !xml_find_attribute(tag, "kind", &kind))
		return 0;
	is_unmap = xml_slice_equals(kind, "unmap");
	range.start = gprofng_find_number(tag, "vaddr");
	if (xml_find_attribute(tag, "tstamp", &time))
		range.start_ns = gprofng_parse_seconds(time);
	range.start_ns += reader->origin_ns;
	if (is_unmap) {
		err = add_range(&map->files, &range);
		if (err)
			return err;
		return add_range(&map->functions, &range);
	}
	if (!xml_slice_equals(kind, "map"))
		return 0;
	err = set_object(reader, tag, &range);
	if (err || range.kind == GPROFNG_UNMAPPED ||
	    __builtin_add_overflow(range.start, gprofng_find_number(tag, "size"), &range.end) ||
	    range.end == range.start)
		return err;
	return add_range(range.kind == GPROFNG_SEGMENT ? &map->files : &map->functions, &range);
}

/* ---- order ---- */

static int compare_ranges(const void *a, const void *b)
{
	const struct gprofng_range *range_a = a;
	const struct gprofng_range *range_b = b;

	if (range_a->start != range_b->start)
		return range_a->start < range_b->start ? -1 : 1;
	if (range_a->start_ns != range_b->start_ns)
		return range_a->start_ns < range_b->start_ns ? -1 : 1;
	return range_a->number < range_b->number ? -1 : 1;
}

static int compare_times(const void *a, const void *b)
{
	uint64_t time_a = *(const uint64_t *)a;
	uint64_t time_b = *(const uint64_t *)b;

	return time_a < time_b ? -1 : time_a > time_b;
}

static int add_change(struct gprofng_map *map, uint64_t time_ns)
{
	uint64_t *added;

	if (map->changes.length >= MAX_CHANGES)
		return 0;
	added = array_add(&map->changes);
	if (!added)
		return -ENOMEM;
	*added = time_ns;
	return 0;
}

/*
 * End each range at the start of the next one with the same start, then drop the unmaps. Ranges
 * that overlap with different starts stay; gprofng_map_find() chooses among them.
 */
static int close_ranges(struct gprofng_map *map, struct gprofng_ranges *ranges)
{
	size_t num_merged = 0;

	if (ranges->items.length)
		qsort(ranges->items.items, ranges->items.length, sizeof(*ranges->items.items),
		      compare_ranges);
	for (size_t i = 0; i < ranges->items.length; i++) {
		struct gprofng_range *range = &ranges->items.items[i];
		struct gprofng_range *last =
			num_merged ? &ranges->items.items[num_merged - 1] : NULL;
		int err = 0;

		if (last && last->start == range->start && last->end_ns == UINT64_MAX) {
			last->end_ns = range->start_ns;
			err = add_change(map, range->start_ns);
		}
		if (err)
			return err;
		if (range->kind != GPROFNG_UNMAPPED)
			ranges->items.items[num_merged++] = *range;
	}
	ranges->items.length = num_merged;
	return 0;
}

static int note_ends(struct gprofng_ranges *ranges)
{
	uint64_t highest = 0;

	if (array_reserve(&ranges->ends, ranges->items.length))
		return -ENOMEM;
	array_for_each (&ranges->items, range) {
		highest = range->end > highest ? range->end : highest;
		ranges->ends.items[ranges->ends.length++] = highest;
	}
	return 0;
}

static void gprofng_map_reader_release(struct gprofng_map_reader *reader)
{
	text_release(&reader->text);
}

int gprofng_map_read(struct gprofng_map *map, struct profile *profile,
		     struct gprofng_modules *modules, const struct gprofng_log *log,
		     const struct gprofng_file *file)
{
	_cleanup_(gprofng_map_reader_release) struct gprofng_map_reader reader = {
		map, profile, modules, log->start_ns, {0}};
	struct xml_scanner scanner = gprofng_scan(file);
	struct xml_tag tag;
	int err;

	while (xml_next_tag(&scanner, &tag)) {
		if (!xml_slice_equals(tag.name, "event"))
			continue;
		err = read_event(&reader, &tag);
		if (err)
			return err;
	}
	err = close_ranges(map, &map->files);
	if (err)
		return err;
	err = close_ranges(map, &map->functions);
	if (err)
		return err;
	err = note_ends(&map->files);
	if (err)
		return err;
	err = note_ends(&map->functions);
	if (err)
		return err;
	if (map->changes.length)
		qsort(map->changes.items, map->changes.length, sizeof(*map->changes.items),
		      compare_times);
	return 0;
}

/* ---- lookup ---- */

/* The number of ranges that start at the address or before it. */
static size_t count_starts(const struct gprofng_ranges *ranges, uint64_t pc)
{
	return array_count_front(&ranges->items, range, range->start <= pc);
}

/*
 * Choose among the ranges that hold pc: one that was mapped at that time, and of several segments
 * the one mapped last; if none was, the one with the nearest start.
 */
static const struct gprofng_range *find_range(const struct gprofng_ranges *ranges, uint64_t pc,
					      uint64_t time_ns)
{
	const struct gprofng_range *best = NULL;
	const struct gprofng_range *other = NULL;
	size_t tries = 0;

	for (size_t i = count_starts(ranges, pc); i-- > 0 && tries < MAX_OVERLAPPING; tries++) {
		const struct gprofng_range *range = &ranges->items.items[i];

		if (ranges->ends.items[i] <= pc)
			break;
		if (range->end <= pc)
			continue;
		if (!other)
			other = range;
		if (range->start_ns <= time_ns && time_ns < range->end_ns &&
		    (!best || (range->start_ns > best->start_ns && range->kind == GPROFNG_SEGMENT)))
			best = range;
	}
	return best ? best : other;
}

const struct gprofng_range *gprofng_map_find(const struct gprofng_map *map, uint64_t pc,
					     uint64_t time_ns)
{
	const struct gprofng_range *found = find_range(&map->functions, pc, time_ns);

	return found ? found : find_range(&map->files, pc, time_ns);
}

uint32_t gprofng_map_get_epoch(const struct gprofng_map *map, uint64_t time_ns)
{
	uint32_t epoch = 0;

	while (epoch < map->changes.length && map->changes.items[epoch] <= time_ns)
		epoch++;
	return epoch;
}
