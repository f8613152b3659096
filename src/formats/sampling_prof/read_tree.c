/*
 * Stacks from counts: every element gets one, the path to it in a spanning tree of the call graph, and its self count goes
 * there. The tree grows from the root, always by the most frequent call that leads to an element
 * not in it yet. This is Prim's algorithm for a maximum spanning tree, with a heap of the calls
 * that lead out of the tree.
 *
 * Totals and callers are exact as long as no element has a second caller.
 *
 * Direct recursion: the element is in its stack twice if all its samples had a call to itself.
 */
#include "formats/sampling_prof/read.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Among equal counts the call of smaller number, so that the same file gives the same tree
 * everywhere.
 */
static bool is_before(const struct sampling_prof_reader *reader, uint32_t a, uint32_t b)
{
	const struct call *calls = reader->calls.items;

	return calls[a].count != calls[b].count ? calls[a].count > calls[b].count : a < b;
}

static int heap_add(struct sampling_prof_reader *reader, uint32_t call)
{
	size_t i = reader->heap.length;
	uint32_t *items;

	if (!array_add(&reader->heap))
		return -ENOMEM;
	items = reader->heap.items;
	for (; i && is_before(reader, call, items[(i - 1) / 2]); i = (i - 1) / 2)
		items[i] = items[(i - 1) / 2];
	items[i] = call;
	return 0;
}

static uint32_t heap_take(struct sampling_prof_reader *reader)
{
	uint32_t *items = reader->heap.items;
	uint32_t first = items[0];
	uint32_t last = items[--reader->heap.length];
	size_t length = reader->heap.length;
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < length && is_before(reader, items[child + 1], items[child]))
			child++;
		if (child >= length || !is_before(reader, items[child], last))
			break;
		items[i] = items[child];
		i = child;
	}
	if (length)
		items[i] = last;
	return first;
}

static int add_calls_of(struct sampling_prof_reader *reader, uint32_t from, size_t first)
{
	int err;

	for (size_t i = first; i < reader->calls.length && reader->calls.items[i].from == from;
	     i++) {
		err = heap_add(reader, (uint32_t)i);
		if (err)
			return err;
	}
	return 0;
}

static int add_to_tree(struct sampling_prof_reader *reader, uint32_t caller, uint32_t id)
{
	struct sampling_prof_element *element = &reader->elements.items[id];
	struct profile *profile = reader->import->profile;
	uint32_t parent = caller == NO_CALLER ? STACK_EMPTY : reader->elements.items[caller].stack;
	uint32_t *ordered = array_add(&reader->order);
	int err;

	if (!ordered)
		return -ENOMEM;
	*ordered = id;
	element->is_in_tree = true;
	element->caller = caller;
	err = profile_add_stack(profile, parent, element->location, &element->stack);
	if (err)
		return err;
	if (element->recursions && element->recursions == element->total)
		err = profile_add_stack(profile, element->stack, element->location,
					&element->stack);
	if (err)
		return err;
	return add_calls_of(reader, id, element->first_call);
}

static int grow_tree(struct sampling_prof_reader *reader)
{
	int err;

	while (reader->heap.length) {
		struct call call = reader->calls.items[heap_take(reader)];

		if (!reader->elements.items[call.to].is_in_tree) {
			err = add_to_tree(reader, call.from, call.to);
			if (err)
				return err;
		}
	}
	return 0;
}

static int compare_totals(const void *left, const void *right, void *context)
{
	const struct sampling_prof_element *elements = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	if (elements[a].total != elements[b].total)
		return elements[a].total > elements[b].total ? -1 : 1;
	return (a > b) - (a < b);
}

/* An element that no path from a root reaches becomes a root; the one with the greatest total first. */
static int add_other_roots(struct sampling_prof_reader *reader)
{
	uint32_t count = (uint32_t)reader->elements.length;
	_cleanup_free_ uint32_t *ids = calloc(count + 1ull, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	for (uint32_t id = 0; id < count; id++)
		ids[id] = id;
	qsort_r(ids, count, sizeof(*ids), compare_totals, reader->elements.items);
	for (uint32_t i = 0; i < count; i++) {
		int err;

		if (reader->elements.items[ids[i]].is_in_tree)
			continue;
		err = add_to_tree(reader, NO_CALLER, ids[i]);
		if (err)
			return err;
		err = grow_tree(reader);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Whether the stacks give the file's totals and calls. Goes from the last element that joined the
 * tree to the first, which is from the leaves up: a callee is always later than its caller.
 */
static bool is_exact(struct sampling_prof_reader *reader)
{
	bool exact = true;

	for (size_t i = reader->order.length; i-- > 0;) {
		struct sampling_prof_element *element =
			&reader->elements.items[reader->order.items[i]];
		struct sampling_prof_element *caller = NULL;

		if (element->caller != NO_CALLER)
			caller = &reader->elements.items[element->caller];
		if (__builtin_add_overflow(element->explained, element->self,
					   &element->explained) ||
		    element->explained != element->total ||
		    (element->recursions && element->recursions != element->total) ||
		    (caller &&
		     __builtin_add_overflow(caller->explained, element->total, &caller->explained)))
			exact = false;
	}
	array_for_each (&reader->calls, call)
		if (call->count && reader->elements.items[call->to].caller != call->from)
			exact = false;
	return exact;
}

int sampling_prof_grow_tree(struct sampling_prof_reader *reader, bool *ret_is_exact)
{
	int err = add_calls_of(reader, NO_CALLER, reader->first_root);

	if (err)
		return err;
	err = grow_tree(reader);
	if (err)
		return err;
	err = add_other_roots(reader);
	if (err)
		return err;
	*ret_is_exact = is_exact(reader);
	return 0;
}

int sampling_prof_add_tree(struct sampling_prof_reader *reader)
{
	array_for_each (&reader->elements, element) {
		int err;

		if (!element->self)
			continue;
		err = reader_add_sample(reader->import, 0, reader->thread, element->stack,
					reader->metric, element->self);
		if (err)
			return err;
	}
	return 0;
}
