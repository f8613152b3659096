/*
 * The interpreter frames of the running thread, as they are sent: unless this CPU has sent the same
 * ones lately, like native stacks.
 */
#ifndef BPF_RUNTIME_STACK_H
#define BPF_RUNTIME_STACK_H

#include "maps.h"
#include "output.h"
#include "user_walk.h"
#include "wire/runtime.h"
#include "wire/runtime_layout.h"

/* Set by user space before loading. */
const volatile bool takes_runtime_frames = false;

#define MAX_CLEARED 1024

static const volatile __u8 zeros[MAX_CLEARED];

/* Clear parts of a record. The verifier would go through each store of a loop. */
static __always_inline void clear_by_copy(void *bytes, __u32 num_bytes)
{
	(void)bpf_probe_read_kernel(bytes, num_bytes, (const void *)zeros);
}
#define WIRE_CLEAR(bytes, num_bytes)                                                   \
	do {                                                                           \
		_Static_assert((num_bytes) <= MAX_CLEARED, "as many zeros are there"); \
		clear_by_copy(bytes, num_bytes);                                       \
	} while (0)

struct sent_hashes {
	__u64 hashes[WIRE_STACK_CACHE_SLOTS];
};

/* Hashes of stacks and of functions' records. Key: CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sent_hashes);
} sent_runtime SEC(".maps");

/* The stack that is taken. */
PER_CPU(struct wire_runtime_stack, runtime_stacks);

/* Layouts by number: struct unwind_process has the number plus 1. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WIRE_MAX_RUNTIME_LAYOUTS);
	__type(key, __u32);
	__type(value, struct wire_runtime_layout);
} runtime_layouts SEC(".maps");

/* The layout with a number plus 1, or NULL. */
static __always_inline struct wire_runtime_layout *find_layout(__u32 number)
{
	__u32 key = number - 1;

	return bpf_map_lookup_elem(&runtime_layouts, &key);
}

/* This CPU's note that it has sent the record with the hash; never NULL. */
static __always_inline __u64 *find_sent(__u64 hash)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct sent_hashes *sent = bpf_map_lookup_elem(&sent_runtime, &cpu);

	return sent ? &sent->hashes[hash >> 40 & (WIRE_STACK_CACHE_SLOTS - 1)] : NULL;
}

/* Hash of an object in the process of the scratch sample; never 0. */
static __always_inline __u64 hash_for_process(__u64 address, __u32 fingerprint,
					      const struct scratch *scratch)
{
	__u64 hash = (address ^ (__u64)scratch->sample.pid << 44) * 0x9e3779b97f4a7c15ull;

	return (hash ^ hash >> 29 ^ fingerprint ^ scratch->sample.generation << 32) *
		       0x9e3779b97f4a7c15ull |
	       1;
}

/* Hash of the record of a frame's function. */
static __always_inline __u64 hash_runtime_code(const struct wire_runtime_frame *frame,
					       const struct scratch *scratch)
{
	return hash_for_process(frame->code, frame->fingerprint, scratch);
}

/* As hash_some_frames(). */
__attribute__((noinline)) __u64 hash_some_runtime_frames(__u64 first, __u64 hash)
{
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);

	if (!stack)
		return 0;
	for (__u32 i = 0; i < HASHED_AT_ONCE; i++) {
		const struct wire_runtime_frame *frame =
			&stack->frames[(first + i) & (WIRE_MAX_RUNTIME_FRAMES - 1)];

		if (first + i >= stack->num_frames)
			break;
		/* Two of the three products wait for no other frame's. */
		hash ^= frame->code * 0xc2b2ae3d27d4eb4full ^
			((__u64)frame->position << 32 ^ frame->fingerprint) * 0xd6e8feb86659fd93ull;
		hash *= 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return hash;
}

__attribute__((noinline)) __u64 hash_runtime_stack(void)
{
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	__u64 hash;

	if (!stack)
		return 0;
	hash = stack->end | (__u64)stack->runtime << 8;
	for (__u64 i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i += HASHED_AT_ONCE) {
		if (i >= stack->num_frames)
			break;
		hash = hash_some_runtime_frames(i, hash);
	}
	return hash | 1;
}

/* The frames have this hash. Send them if this CPU has not lately. Gives 0, or -1 when the ring had no room. */
__attribute__((noinline)) int send_runtime_stack(__u64 hash)
{
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	void *ring = get_ring();
	__u64 *slot = find_sent(hash);
	__u64 num_frames;

	if (!stack || !ring || !slot)
		return -1;
	if (*slot == hash)
		return 0;
	num_frames = stack->num_frames;
	barrier_var(num_frames); /* the verifier must see the limit */
	if (num_frames > WIRE_MAX_RUNTIME_FRAMES)
		num_frames = WIRE_MAX_RUNTIME_FRAMES;
	stack->type = WIRE_RUNTIME_STACK;
	stack->hash = hash;
	if (send(ring, stack,
		 sizeof(*stack) - sizeof(stack->frames) + num_frames * sizeof(stack->frames[0])))
		return -1;
	*slot = hash;
	return 0;
}

/* Outcome of sending the record of a frame's function. */
enum code_sending {
	CODE_LOST = -1, /* the ring had no room */
	CODE_SENT,      /* now, or lately */
	CODE_UNREAD,    /* it may be read another time */
};

/*
 * Send the function of the frame with a number, unless this CPU has lately. Gives enum
 * code_sending.
 *
 * record     where read_code() puts it; it starts as struct wire_runtime_code
 * read_code  gives 0, or another number when it cannot be read
 */
static __always_inline int send_runtime_code(int number, void *record, __u64 size,
					     int (*read_code)(int number))
{
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	struct scratch *scratch = get_scratch();
	struct wire_runtime_code *code = record;
	void *ring = get_ring();
	__u64 hash;
	__u64 *slot;

	if (!stack || !scratch || !ring || number < 0)
		return CODE_LOST;
	hash = hash_runtime_code(&stack->frames[number & (WIRE_MAX_RUNTIME_FRAMES - 1)], scratch);
	slot = find_sent(hash);
	if (!slot || *slot == hash)
		return slot ? CODE_SENT : CODE_LOST;
	if (read_code(number))
		return CODE_UNREAD;
	code->type = WIRE_RUNTIME_CODE;
	code->pid = scratch->sample.pid;
	code->generation = scratch->sample.generation;
	code->runtime = stack->runtime;
	if (send(ring, record, size))
		return CODE_LOST;
	*slot = hash;
	return CODE_SENT;
}

/*
 * Send the functions of the stack's frames, from this number on, STEPS_AT_ONCE of them at most.
 * Gives enum code_sending.
 *
 * send_code  sends that of the frame with this number: gives enum code_sending
 */
static __always_inline int send_some_codes(int first,
					   int (*send_code)(const struct wire_runtime_stack *stack,
							    int number))
{
	const struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	/* Without a branch, which would be another way to the next round. */
	int unread = CODE_SENT;

	if (!stack || first < 0)
		return CODE_LOST;
	for (int i = 0; i < STEPS_AT_ONCE; i++) {
		int sending;

		if ((__u32)(first + i) >= stack->num_frames)
			break;
		sending = send_code(stack, first + i);
		if (sending == CODE_LOST)
			return CODE_LOST;
		unread |= sending;
	}
	return unread;
}

/*
 * Send the frames of the stack that was taken, and their functions. If all of that was sent lately
 * for the process of the scratch sample, nothing is read again: a forked process has equal frames,
 * but counts as another one. Gives the hash, or 0 when they were not sent.
 *
 * send_codes  send_some_codes() of the interpreters
 */
static __always_inline __u64 send_runtime_frames(struct wire_runtime_stack *stack,
						 const struct scratch *scratch,
						 int (*send_codes)(int first))
{
	__u64 hash = hash_runtime_stack();
	__u64 key = hash_for_process(hash, 0, scratch);
	__u64 *slot = find_sent(key);
	__u32 num_frames = stack->num_frames;
	int unread = CODE_SENT;

	if (!slot)
		return 0;
	if (*slot == key)
		return hash;
	for (__u32 i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i += STEPS_AT_ONCE) {
		int sending;

		if (i >= num_frames)
			break;
		sending = send_codes(i);
		if (sending == CODE_LOST)
			return 0;
		unread |= sending;
	}
	if (send_runtime_stack(hash))
		return 0;
	if (!unread)
		*slot = key;
	return hash;
}

#endif
