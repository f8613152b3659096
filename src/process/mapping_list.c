#include "process/mapping_list.h"

#include <errno.h>

#include "process/file_table.h"

void mapping_list_release(struct mapping_list *list)
{
	array_release(&list->sorted);
}

/* Index of the first mapping that ends after address; the length when there is none. */
static size_t first_ending_after(const struct mapping_list *list, uint64_t address)
{
	return array_count_front(&list->sorted, mapping, mapping->end <= address);
}

/* The part of a mapping from `start` to `end`, which lie inside of it. */
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
	struct mapping pieces[3];
	size_t num_pieces = 0;
	struct mapping *items;

	/* One mapping at most turns into three. */
	if (array_reserve(&list->sorted, list->sorted.length + 2))
		return -ENOMEM;
	items = list->sorted.items;
	if (first < list->sorted.length && says_nothing_new(&items[first], mapping)) {
		*ret_is_changed = false;
		return 0;
	}
	while (next < list->sorted.length && items[next].start < mapping->end)
		next++;

	if (next > first && items[first].start < mapping->start)
		pieces[num_pieces++] = part_of(&items[first], items[first].start, mapping->start);
	pieces[num_pieces++] = *mapping;
	if (next > first && items[next - 1].end > mapping->end)
		pieces[num_pieces++] = part_of(&items[next - 1], mapping->end, items[next - 1].end);

	memmove(items + first + num_pieces, items + next,
		(list->sorted.length - next) * sizeof(*items));
	memcpy(items + first, pieces, num_pieces * sizeof(*items));
	list->sorted.length = list->sorted.length - (next - first) + num_pieces;
	*ret_is_changed = true;
	return 0;
}

int mapping_list_copy(struct mapping_list *list, const struct mapping_list *other)
{
	if (!other->sorted.length)
		return 0;
	if (array_reserve(&list->sorted, other->sorted.length))
		return -ENOMEM;
	memcpy(list->sorted.items, other->sorted.items,
	       other->sorted.length * sizeof(*other->sorted.items));
	list->sorted.length = other->sorted.length;
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
