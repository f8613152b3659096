/*
 * The wakers of waits: queries of the stacks of METRIC_OFFWAKE, which are those of waits with their
 * wakers on top.
 *
 * Pure: no I/O. Results borrow the profile.
 */
#ifndef ANALYSIS_WAKERS_H
#define ANALYSIS_WAKERS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/filter.h"
#include "analysis/fragment.h"
#include "analysis/frame_tree.h"
#include "base/attributes.h"

/*
 * Threads with the same name, or a waker that is no thread (WAKER_INTERRUPT_NAME,
 * WAKER_UNKNOWN_NAME).
 */
struct waker_threads {
	uint32_t frame; /* a frame of the profile with the name */
	uint64_t total; /* weight of the waits that they ended */
};

struct wakers_answer {
	/* Frames of the wakers, from the inside out, up to their names; node 0 is all waits. */
	struct fragment_tree tree;
	struct waker_threads *threads; /* largest total first, then by name */
	size_t num_threads;
};

struct wakers_opts {
	uint32_t metric;                   /* METRIC_OFFWAKE of the profile */
	const struct selection *selection; /* samples that count, and how much of them; NULL: all */
	const struct fragment *fragment;   /* the waits must contain it; NULL: any */
	const struct selection *waits;     /* the waits must be among these samples; NULL: any */
};

/*
 * Returns 0, -ENOMEM, or -EOVERFLOW if the sum of the weights exceeds 64 bits. May be released in
 * any case.
 */
_must_check_ int wakers_answer_init(struct wakers_answer *answer, const struct frame_tree *tree,
				    const struct wakers_opts *opts);
void wakers_answer_release(struct wakers_answer *answer);

/*
 * The answer's tree for only the waits ended by threads of one name: `waker`, a frame with that
 * name. Returns the same.
 */
_must_check_ int waker_stacks_init(struct fragment_tree *ret, const struct frame_tree *tree,
				   const struct wakers_opts *opts, uint32_t waker);

/* A link of a chain: waits, and the waker of most of them. */
struct waker_link {
	uint32_t
		waiter; /* a frame with the name of the threads that wait; FRAME_NONE: the first link's */
	uint64_t total; /* weight of all their waits */
	uint32_t *
		frames; /* of the waker's heaviest path, from the inside out; the waker's name is last */
	size_t num_frames; /* at least 1 */
	uint64_t ended;    /* weight of the waits that this path ended */
	uint32_t
		futex; /* the frame WAKER_FUTEX_NAME of most of these; FRAME_NONE: they have none */
};

#define MAX_WAKER_LINKS 5

struct waker_chain {
	struct waker_link links[MAX_WAKER_LINKS];
	size_t num_links;
};

/*
 * The heaviest chain: the waker of most of the waits, then the waker of most of that thread's
 * waits, anywhere, and so on. It ends at a waker that is no thread, or one that was met before.
 * Waits without a known waker are only in the totals. Returns the same.
 */
_must_check_ int waker_chain_init(struct waker_chain *chain, const struct frame_tree *tree,
				  const struct wakers_opts *opts);
void waker_chain_release(struct waker_chain *chain);

#endif
