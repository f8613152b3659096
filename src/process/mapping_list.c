/*
 * The mappings of a process, sorted and without overlap. A new one replaces any that it covers, as
 * mmap() does. The rest of a partly covered mapping stays: before it, behind it, or both. So the
 * list is the latest report of events and scans for each address.
 *
 * It contains only executable mappings. Unmapping goes unnoticed, as perf reports no munmap(): the
 * list may contain code that is gone, until something else is mapped there.
 */
#include "process/process_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/file_table.h"

void mapping_list_release(struct mapping_list *list)
{
	if (list->num_refs && --*list->num_refs) {
		*list = (struct mapping_list){0};
		return;
	}
	free(list->num_refs);
	list->num_refs = NULL;
	array_release(&list->sorted);
}

/* Copy a shared list before it changes, with the given capacity. */
static int make_own(struct mapping_list *list, size_t capacity)
{
	struct mapping_list own = {0};

	if (!list->num_refs || *list->num_refs == 1)
		return array_reserve(&list->sorted, capacity) ? -ENOMEM : 0;
	if (array_reserve(&own.sorted, capacity))
		return -ENOMEM;
	if (list->sorted.length)
		memcpy(own.sorted.items, list->sorted.items,
		       list->sorted.length * sizeof(*own.sorted.items));
	own.sorted.length = list->sorted.length;
	--*list->num_refs;
	*list = own;
	return 0;
}

/* Index of the first mapping that ends after address, or the length. */
static size_t first_ending_after(const struct mapping_list *list, uint64_t address)
{
	return array_count_front(&list->sorted, mapping, mapping->end <= address);
}

/* The part of a mapping from `start` to `end`, which are inside it. */
static struct mapping part_of(const struct mapping *mapping, uint64_t start, uint64_t end)
{
	struct mapping part = *mapping;

	if (mapping->file != FILE_NONE)
		part.file_offset += start - mapping->start;
	part.start = start;
	part.end = end;
	return part;
}

static bool mapping_equals(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->file_offset == b->file_offset &&
	       a->file == b->file;
}

/*
 * Events repeat the results of a scan, and the reverse: an unchanged list need not be published
 * again.
 */
static bool says_nothing_new(const struct mapping *old, const struct mapping *new)
{
	struct mapping part;

	if (new->start < old->start || new->end > old->end)
		return false;
	part = part_of(old, new->start, new->end);
	return mapping_equals(&part, new);
}

int mapping_list_add(struct mapping_list *list, const struct mapping *mapping, bool *ret_is_changed)
{
	size_t first = first_ending_after(list, mapping->start);
	size_t next = first; /* the first one behind the new mapping */
	struct mapping chunks[3];
	size_t num_chunks = 0;
	struct mapping *items;

	if (first < list->sorted.length && says_nothing_new(&list->sorted.items[first], mapping)) {
		*ret_is_changed = false;
		return 0;
	}
	/* At most one mapping is split in two by the new one: two items more. */
	if (make_own(list, list->sorted.length + 2))
		return -ENOMEM;
	items = list->sorted.items;
	while (next < list->sorted.length && items[next].start < mapping->end)
		next++;

	if (next > first && items[first].start < mapping->start)
		chunks[num_chunks++] = part_of(&items[first], items[first].start, mapping->start);
	chunks[num_chunks++] = *mapping;
	if (next > first && items[next - 1].end > mapping->end)
		chunks[num_chunks++] = part_of(&items[next - 1], mapping->end, items[next - 1].end);

	memmove(items + first + num_chunks, items + next,
		(list->sorted.length - next) * sizeof(*items));
	memcpy(items + first, chunks, num_chunks * sizeof(*items));
	list->sorted.length = list->sorted.length - (next - first) + num_chunks;
	*ret_is_changed = true;
	return 0;
}

int mapping_list_share(struct mapping_list *list, struct mapping_list *other)
{
	if (!other->sorted.length)
		return 0;
	if (!other->num_refs) {
		other->num_refs = malloc(sizeof(*other->num_refs));
		if (!other->num_refs)
			return -ENOMEM;
		*other->num_refs = 1;
	}
	++*other->num_refs;
	*list = *other;
	return 0;
}

bool mapping_list_equals(const struct mapping_list *a, const struct mapping_list *b)
{
	if (a->sorted.length != b->sorted.length)
		return false;
	for (size_t i = 0; i < a->sorted.length; i++)
		if (!mapping_equals(&a->sorted.items[i], &b->sorted.items[i]))
			return false;
	return true;
}

const struct mapping *mapping_list_find(const struct mapping_list *list, uint64_t pc)
{
	size_t i = first_ending_after(list, pc);

	if (i == list->sorted.length || pc < list->sorted.items[i].start)
		return NULL;
	return &list->sorted.items[i];
}

const struct mapping *mapping_list_find_part(const struct mapping_list *list,
					     const struct mapping *part)
{
	const struct mapping *mapping = mapping_list_find(list, part->start);

	return mapping && says_nothing_new(mapping, part) ? mapping : NULL;
}

void mapping_list_set_ages(struct mapping_list *list, const struct mapping_list *older,
			   uint32_t version)
{
	array_for_each (&list->sorted, mapping) {
		const struct mapping *known = mapping_list_find_part(older, mapping);

		mapping->since = known ? known->since : version;
	}
}

static bool is_other_code(const struct mapping *a, const struct mapping *b)
{
	if (a->file != b->file)
		return true;
	return a->file != FILE_NONE && a->file_offset - a->start != b->file_offset - b->start;
}

bool mapping_list_has_other_code(const struct mapping_list *list, const struct mapping *mapping,
				 uint32_t *ret_since)
{
	size_t i = first_ending_after(list, mapping->start);

	*ret_since = 0;
	for (; i < list->sorted.length && list->sorted.items[i].start < mapping->end; i++) {
		const struct mapping *old = &list->sorted.items[i];

		if (is_other_code(old, mapping))
			return true;
		if (old->since > *ret_since)
			*ret_since = old->since;
	}
	return false;
}

bool mapping_list_overlaps(const struct mapping_list *list, uint64_t start, uint64_t end)
{
	size_t i = first_ending_after(list, start);

	return i < list->sorted.length && list->sorted.items[i].start < end;
}
