/*
 * The wakers of waits: keeps each waker until the wait it has ended is recorded, and combines
 * the stacks of both.
 *
 * Such a stack is that of the wait, up to the frame for its kind, then a frame `--`, and then the
 * waker's from the inside out. Its thread's name is last, in the order of offwaketime. All of them
 * have one metric, so they are drawn, filtered and written like any others.
 */
#ifndef COLLECT_STACKS_WAKERS_H
#define COLLECT_STACKS_WAKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/intern.h"
#include "collect/programs/waker_code.h"
#include "profile/profile.h"

struct waker {
	uint64_t wakeup; /* its number; 0: none */
	uint32_t stack;  /* of the profile; STACK_EMPTY: unknown */
	uint32_t comm;   /* string: of the thread */
	uint32_t pid;
	uint32_t tid;
	bool is_interrupt; /* not a thread, but an interrupt */
	bool is_expected;  /* its stack lacks a table: the rest is added with it */
};

struct futex {
	uint64_t address;
};
INTERN_TABLE(futex_table, struct futex, address);

struct wakers {
	struct profile *profile; /* borrowed */
	uint32_t metric;
	struct futex_table futexes; /* futexes with a name of their own */
	struct waker_code code;
	struct waker *slots; /* by the number's hash; the next one of a slot takes it */
};

/*
 * Adds the metric.
 *
 * code  taken over, also when it fails
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int wakers_init(struct wakers *wakers, struct profile *profile,
			     const struct waker_code *code);
void wakers_release(struct wakers *wakers);

void wakers_note(struct wakers *wakers, const struct waker *waker);
/* Whether one is expected and has not arrived yet. */
bool wakers_expect(const struct wakers *wakers, uint64_t wakeup);
/* An expected waker will not arrive. */
void wakers_forget(struct wakers *wakers, uint64_t wakeup);
/* Put the futex that a wait was for on top of its stack. Returns 0 or -ENOMEM. */
_must_check_ int wakers_add_futex(struct wakers *wakers, uint64_t address, uint32_t *stack);
/*
 * Put the waker of a wait on top of its stack, even if unknown.
 *
 * wakeup  from struct wire_sample
 * ret     the waker; number 0 if unknown or without a waker
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int wakers_add_to(struct wakers *wakers, uint64_t wakeup, uint32_t *stack,
			       struct waker *ret);

#endif
