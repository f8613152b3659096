#include "objfile/plt_stubs.h"

#include <errno.h>

void plt_release(struct plt *plt)
{
	array_release(&plt->stubs);
}

const struct plt_slot *plt_find_slot(const struct plt_slots *slots, uint64_t address)
{
	size_t count = array_count_front(&slots->items, slot, slot->address <= address);
	const struct plt_slot *last = count ? &slots->items.items[count - 1] : NULL;

	return last && last->address == address ? last : NULL;
}

int plt_add_stub(struct plt *plt, uint64_t start, uint64_t size, const struct plt_slot *slot)
{
	struct plt_stub *stub;

	if (!slot || (!slot->symbol && !slot->resolver))
		return 0;
	stub = array_add(&plt->stubs);
	if (!stub)
		return -ENOMEM;
	*stub = (struct plt_stub){
		.start = start,
		.end = start + size,
		.symbol = slot->symbol,
		.resolver = slot->resolver,
	};
	return 0;
}
