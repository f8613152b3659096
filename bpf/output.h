/*
 * Output of a sampling program: samples, and stacks, which are sent once per CPU and then
 * identified by their 64-bit content hash. A direct-mapped cache per CPU remembers the stacks sent.
 * An evicted stack is simply sent again, so no table can be full.
 *
 * Global functions are verified once, separately: see user_walk.h.
 */
#ifndef BPF_OUTPUT_H
#define BPF_OUTPUT_H

#include "maps.h"
#include "pid_namespace.h"

/* Set by user space before loading. */
const volatile bool take_user_stacks = true;
const volatile bool take_kernel_stacks = true;

struct stack_cache {
	__u64 hashes[WIRE_STACK_CACHE_SLOTS];
};

PER_CPU(struct wire_counters, counters);

/*
 * The stack that is to be sent, in the program's scratch area; of every program that includes this.
 * NULL cannot be.
 */
static __always_inline struct wire_stack *get_scratch_stack(void);

/* Key: CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_cache);
} sent_stacks SEC(".maps");

/* Fill in the data of the running thread that every kernel has. */
static __always_inline void start_sample(struct wire_sample *sample, __u64 pid_tgid,
					 bool in_user_mode)
{
	*sample = (struct wire_sample){
		.type = WIRE_SAMPLE,
		.pid = pid_tgid >> 32,
		.tid = (__u32)pid_tgid,
		.cpu = bpf_get_smp_processor_id(),
		.flags = in_user_mode ? 0 : WIRE_SAMPLE_IN_KERNEL,
		.time_ns = bpf_ktime_get_boot_ns(),
		.generation = WIRE_GENERATION_UNKNOWN,
		.num_periods = 1,
	};
	bpf_get_current_comm(sample->comm, sizeof(sample->comm));
}

/* Frames that one call hashes: the verifier goes through each, and through the calls. */
#define HASHED_AT_ONCE 32

/*
 * Add frames of the scratch stack to its hash, from this number on. Two sums take turns, as each product
 * waits for the one before; a frame of 0 follows an odd number. Not static: see user_walk.h.
 */
__attribute__((noinline)) __u64 hash_some_frames(__u64 first, __u64 num_frames, __u64 hash)
{
	struct wire_stack *stack = get_scratch_stack();
	__u64 other = num_frames;

	if (!stack)
		return 0;
	for (__u32 i = 0; i < HASHED_AT_ONCE; i += 2) {
		__u64 number = (first + i) & (WIRE_MAX_FRAMES - 2);

		if (first + i >= num_frames)
			break;
		hash = (hash ^ stack->pcs[number]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
		other = (other ^ stack->pcs[number + 1]) * 0xc2b2ae3d27d4eb4full;
		other ^= other >> 29;
	}
	return hash ^ other * 0xd6e8feb86659fd93ull;
}

/* The hash of the scratch stack. Stacks with different seeds are different ones. */
static __always_inline __u64 hash_stack(__u64 num_frames, __u64 seed)
{
	struct wire_stack *stack = get_scratch_stack();
	__u64 hash = seed;

	if (!stack)
		return 0;
	if (num_frames < WIRE_MAX_FRAMES)
		stack->pcs[num_frames] = 0;
	for (__u64 i = 0; i < WIRE_MAX_FRAMES; i += HASHED_AT_ONCE) {
		if (i >= num_frames)
			break;
		hash = hash_some_frames(i, num_frames, hash);
	}
	return hash | 1;
}

/*
 * Send the scratch stack if this CPU has not sent it lately. Gives its hash, or 0 when the ring had
 * no room.
 */
__attribute__((noinline)) __u64 send_stack(__u64 num_frames, __u64 seed)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct stack_cache *cache = bpf_map_lookup_elem(&sent_stacks, &cpu);
	struct wire_stack *stack = get_scratch_stack();
	void *ring = get_ring();
	__u64 hash;
	__u64 *slot;

	if (!cache || !stack || !ring)
		return 0;
	hash = hash_stack(num_frames, seed);
	slot = &cache->hashes[hash >> 32 & (WIRE_STACK_CACHE_SLOTS - 1)];
	if (*slot == hash)
		return hash;
	barrier_var(num_frames); /* the verifier must see the limit */
	if (num_frames > WIRE_MAX_FRAMES)
		num_frames = WIRE_MAX_FRAMES;
	stack->type = WIRE_STACK;
	stack->num_frames = num_frames;
	stack->hash = hash;
	if (send(ring, stack, sizeof(*stack) - sizeof(stack->pcs) + num_frames * sizeof(__u64)))
		return 0;
	*slot = hash;
	return hash;
}

/* Take the kernel's stack, or the user's as the kernel follows it. Gives the number of frames. */
static __always_inline __u32 get_stack(void *ctx, struct wire_stack *stack, __u64 flags)
{
	long size_bytes = bpf_get_stack(ctx, stack->pcs, sizeof(stack->pcs), flags);

	return size_bytes <= 0 ? 0 : (__u32)size_bytes / sizeof(stack->pcs[0]);
}

enum send_result { SEND_DONE, SEND_LOST_SAMPLE, SEND_LOST_STACK };

static __always_inline void count_send(struct wire_sends *sends, enum send_result result)
{
	switch (result) {
	case SEND_LOST_STACK:
		sends->lost_ring_stack++;
		break;
	case SEND_LOST_SAMPLE:
		sends->lost_ring_sample++;
		break;
	case SEND_DONE:
		sends->sent++;
		break;
	}
}

#endif
