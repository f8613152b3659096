#include "collect/stacks/wakers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "wire/wire.h"

/*
 * A woken thread gets a CPU soon, and then its wait is recorded, so this many are pending at most.
 * If there were more, the wakers of the oldest would count as unknown.
 */
#define NUM_SLOTS (1u << 16)
/* Each makes stacks of its own. */
#define MAX_FUTEXES 1000

int wakers_init(struct wakers *wakers, struct profile *profile, const struct waker_code *code)
{
	*wakers = (struct wakers){
		.profile = profile,
		.code = *code,
		.slots = calloc(NUM_SLOTS, sizeof(*wakers->slots)),
	};
	if (!wakers->slots)
		return -ENOMEM;
	return profile_add_metric(profile, METRIC_OFFWAKE, "nanoseconds", &wakers->metric);
}

void wakers_release(struct wakers *wakers)
{
	waker_code_release(&wakers->code);
	futex_table_release(&wakers->futexes);
	free(wakers->slots);
	*wakers = (struct wakers){0};
}

static struct waker *get_slot(const struct wakers *wakers, uint64_t wakeup)
{
	return &wakers->slots[hash_bytes(&wakeup, sizeof(wakeup)) % NUM_SLOTS];
}

void wakers_note(struct wakers *wakers, const struct waker *waker)
{
	*get_slot(wakers, waker->wakeup) = *waker;
}

bool wakers_expect(const struct wakers *wakers, uint64_t wakeup)
{
	const struct waker *slot = get_slot(wakers, wakeup);

	return slot->wakeup == wakeup && slot->is_expected;
}

void wakers_forget(struct wakers *wakers, uint64_t wakeup)
{
	if (wakers_expect(wakers, wakeup))
		*get_slot(wakers, wakeup) = (struct waker){0};
}

static int add_frame(struct wakers *wakers, const char *name, uint32_t *stack)
{
	struct frame frame = {0};
	uint32_t location;
	int err = profile_add_frame_name(wakers->profile, name, strlen(name), &frame.name);

	if (err)
		return err;
	frame.full_name = frame.name;
	err = profile_add_frame_location(wakers->profile, &frame, &location);
	return err ? err : profile_add_stack(wakers->profile, *stack, location, stack);
}

int wakers_add_futex(struct wakers *wakers, uint64_t address, uint32_t *stack)
{
	const struct futex futex = {address};
	char name[32] = WAKER_FUTEX_NAME;
	uint32_t number = futex_table_find(&wakers->futexes, &futex);

	if (number == HASH_INDEX_NONE && wakers->futexes.length < MAX_FUTEXES) {
		int err = futex_table_add(&wakers->futexes, &futex, &number);

		if (err)
			return err;
	}
	if (number != HASH_INDEX_NONE)
		snprintf(name, sizeof(name), WAKER_FUTEX_START "%" PRIx64 "]", address);
	return add_frame(wakers, name, stack);
}

static int add_reversed(struct wakers *wakers, uint32_t levels, uint32_t *stack)
{
	for (; levels != STACK_EMPTY; levels = profile_get_stack_parent(wakers->profile, levels)) {
		uint32_t location = profile_get_stack_location(wakers->profile, levels);
		int err = profile_add_stack(wakers->profile, *stack, location, stack);

		if (err)
			return err;
	}
	return 0;
}

int wakers_add_to(struct wakers *wakers, uint64_t wakeup, uint32_t *stack, struct waker *ret)
{
	struct waker *slot = get_slot(wakers, wakeup);
	struct waker waker = *slot;
	const char *name = wakeup == WIRE_NOT_WOKEN ? WAKER_NOBODY_NAME : WAKER_UNKNOWN_NAME;
	int err = add_frame(wakers, WAKER_SEPARATOR, stack);

	if (err)
		return err;
	*ret = (struct waker){0};
	if (wakeup && waker.wakeup == wakeup && !waker.is_expected) {
		*slot = (struct waker){0};
		*ret = waker;
		err = add_reversed(wakers, waker.stack, stack);
		if (err)
			return err;
		name = waker.is_interrupt ? WAKER_INTERRUPT_NAME
					  : profile_get_string(wakers->profile, waker.comm);
	}
	return add_frame(wakers, name, stack);
}
