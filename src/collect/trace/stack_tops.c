#include "collect/trace/stack_tops.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

#define PAGE_BYTES 4096u

/* No stack is larger: the outermost frame belongs to another stack, which a handler interrupted. */
#define MAX_STACK_BYTES (64ull << 20)

/* Other stacks have the bounds of their memory. */
#define MAX_TOPS (1u << 16)

static int compare_tops(const void *a, const void *b)
{
	const struct stack_top *left = a;
	const struct stack_top *right = b;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return left->end < right->end ? -1 : left->end > right->end;
}

/* The place of the first top that is not before the key. */
static size_t find_place(const struct stack_tops *tops, uint32_t process, uint64_t address)
{
	struct stack_top key = {.process = process, .end = address};

	return array_count_front(tops, top, compare_tops(top, &key) < 0);
}

void stack_tops_release(struct stack_tops *tops)
{
	array_release(tops);
	array_release(&tops->known);
}

/* The first known memory that ends at or above an address, in the order of processes. */
static size_t find_known(const struct stack_tops *tops, uint32_t process, uint64_t address)
{
	return array_count_front(&tops->known, memory,
				 memory->process < process ||
					 (memory->process == process && memory->end < address));
}

int stack_tops_ignore(struct stack_tops *tops, uint32_t process, uint64_t start, uint64_t end)
{
	size_t place = find_known(tops, process, start);
	struct known_stacks_memory *memory;

	/* Join it with all memory that it touches. */
	while (place < tops->known.length) {
		memory = &tops->known.items[place];
		if (memory->process != process || memory->start > end)
			break;
		start = memory->start < start ? memory->start : start;
		end = memory->end > end ? memory->end : end;
		array_remove(&tops->known, place);
	}
	memory = array_insert(&tops->known, place);
	if (!memory)
		return -ENOMEM;
	*memory = (struct known_stacks_memory){.start = start, .end = end, .process = process};
	return 0;
}

static bool is_ignored(const struct stack_tops *tops, uint32_t process, uint64_t address)
{
	size_t place = find_known(tops, process, address + 1);

	return place < tops->known.length && tops->known.items[place].process == process &&
	       tops->known.items[place].start <= address;
}

static uint64_t get_end(uint64_t outermost_sp)
{
	return (outermost_sp | (PAGE_BYTES - 1)) + 1;
}

int stack_tops_add(struct stack_tops *tops, uint32_t process, uint64_t outermost_sp)
{
	struct stack_top top = {.process = process, .end = get_end(outermost_sp)};
	size_t place;
	struct stack_top *added;

	if (!top.end || (tops->last.process == process && tops->last.end == top.end) ||
	    tops->length >= MAX_TOPS || is_ignored(tops, process, outermost_sp))
		return 0;
	tops->last = top;
	place = find_place(tops, process, top.end);
	if (place < tops->length && !compare_tops(&tops->items[place], &top))
		return 0;
	added = array_insert(tops, place);
	if (!added)
		return -ENOMEM;
	top.start = top.end;
	top.first_ns = UINT64_MAX;
	*added = top;
	return 0;
}

void stack_tops_assign(struct stack_tops *tops, uint32_t process, uint64_t time_ns,
		       uint64_t user_sp, uint64_t outermost_sp)
{
	uint64_t end = get_end(outermost_sp);
	/* A stack does not contain its end, which is the first byte of the one above. */
	size_t place = find_place(tops, process, user_sp + 1);
	struct stack_top *top;

	if (place == tops->length)
		return;
	top = &tops->items[place];
	if (top->process != process || top->end != end || end - user_sp > MAX_STACK_BYTES)
		return;
	if (user_sp < top->start)
		top->start = user_sp & ~(uint64_t)(PAGE_BYTES - 1);
	if (time_ns < top->first_ns)
		top->first_ns = time_ns;
}

const struct stack_top *stack_tops_get(const struct stack_tops *tops, uint32_t process,
				       size_t *ret_count)
{
	size_t first = find_place(tops, process, 0);

	*ret_count = find_place(tops, process, UINT64_MAX) - first;
	return *ret_count ? tops->items + first : NULL;
}
