#include "collect/programs/waker_code.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "collect/kernel/kallsyms.h"
#include "objfile/architecture.h"

/* Frames between the stack capture and the wakeup: BPF's own, and the tracepoint's. */
#define MAX_INNER_LEVELS 16

/*
 * Whether an interrupt enters the kernel here. Exceptions that the thread itself has caused
 * (asm_exc_page_fault) are its own doing.
 */
static bool is_interrupt(const char *name)
{
	for (const char *const *start = architecture_here()->interrupts; *start; start++)
		if (string_starts_with(name, *start))
			return true;
	return false;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct code_range *a = left;
	const struct code_range *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static bool is_wakeup(const char *name)
{
	return string_starts_with(name, "try_to_wake_up");
}

static int add(struct waker_code *code, const char *name, const struct code_range *range)
{
	struct code_range *added;

	if (is_wakeup(name)) {
		code->wakeup = *range;
		return 0;
	}
	added = array_add(&code->interrupts);
	if (!added)
		return -ENOMEM;
	*added = *range;
	return 0;
}

/* A function ends at the next address. */
int waker_code_read(FILE *kallsyms, struct waker_code *ret)
{
	struct kallsyms_symbol open = {0}; /* its end is not known yet; without a name: none */
	struct kallsyms_symbol symbol;

	*ret = (struct waker_code){0};
	while (kallsyms_next(kallsyms, &symbol)) {
		if (open.name[0] && symbol.address > open.address) {
			if (add(ret, open.name,
				&(struct code_range){open.address, symbol.address})) {
				waker_code_release(ret);
				return -ENOMEM;
			}
			open.name[0] = '\0';
		}
		if (symbol.is_of_module)
			break;
		if (symbol.address && !open.name[0] &&
		    (is_interrupt(symbol.name) || is_wakeup(symbol.name)))
			open = symbol;
	}
	if (ret->interrupts.length)
		qsort(ret->interrupts.items, ret->interrupts.length, sizeof(struct code_range),
		      compare_ranges);
	return 0;
}

int waker_code_find(struct waker_code *ret)
{
	FILE *kallsyms = fopen("/proc/kallsyms", "re");
	int err;

	*ret = (struct waker_code){0};
	if (!kallsyms)
		return 0;
	err = waker_code_read(kallsyms, ret);
	fclose(kallsyms);
	return err;
}

void waker_code_release(struct waker_code *code)
{
	array_release(&code->interrupts);
}

/* Pcs are return addresses: that of a call at the end of a function is after its end. */
static bool is_in(const struct code_range *range, uint64_t pc)
{
	return pc > range->start && pc <= range->end;
}

static bool enters_interrupt(const struct waker_code *code, uint64_t pc)
{
	size_t count = array_count_front(&code->interrupts, range, range->start < pc);

	return count && is_in(&code->interrupts.items[count - 1], pc);
}

struct waker_levels waker_code_find_levels(const struct waker_code *code, const uint64_t *pcs,
					   uint32_t num_pcs)
{
	struct waker_levels levels = {.num_levels = num_pcs};

	/* The first one: an interrupt may wake a thread in the middle of another wakeup. */
	for (uint32_t i = 0; i < num_pcs && i < MAX_INNER_LEVELS && !levels.num_inner; i++)
		if (is_in(&code->wakeup, pcs[i]))
			levels.num_inner = i + 1;
	for (uint32_t i = levels.num_inner; i < num_pcs && !levels.is_interrupt; i++) {
		if (!enters_interrupt(code, pcs[i]))
			continue;
		levels.is_interrupt = true;
		levels.num_levels = i + 1;
	}
	return levels;
}
