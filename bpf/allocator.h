/*
 * Finds the hits of an allocator's functions that are calls from outside: realloc(NULL) continues
 * in malloc, so does calloc in some allocators, and operator new calls it. Only the outermost hit
 * is counted.
 *
 * A call from the allocator's own code is recognized by its return address. A function that ends in
 * a jump to another one leaves no return address of its own: the second hit then has the stack
 * pointer, the return address and the size of the first one, the thread's last such call. A
 * program's own function may jump to either of them as well, in one call. So only calls that do
 * continue are remembered: realloc without memory, and aligned_alloc with an alignment that malloc
 * has anyway.
 *
 * Most hits are of malloc, and below the distance to the next sample: for these only the size is
 * read. Whether it was a call from outside is checked only when a sample is due. Points of a
 * Poisson process in other hits are dropped, which leaves a Poisson process over those that count.
 *
 * Containers of one image have the same file with different device and inode numbers. So it is
 * probed once for each, and each call has as many hits in a row.
 */
#ifndef BPF_ALLOCATOR_H
#define BPF_ALLOCATOR_H

#include "live.h"
#include "maps.h"
#include "probe_argument.h"
#include "probed_program.h"

/* Set by user space before loading. */
const volatile bool is_of_allocator = false;

/* Indexed by the number of the point. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_own_code);
} own_code SEC(".maps");

/* Threads that were within an allocator a moment ago. */
#define MAX_LAST_CALLS 16384

/* Keyed by tid. Only a call just put in is looked up, so old ones may be evicted. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_LAST_CALLS);
	__type(key, __u32);
	__type(value, struct wire_last_call);
} last_calls SEC(".maps");

static __always_inline bool get_return_address(const struct user_registers *ctx, __u64 *ret)
{
	return !READ_RETURN_ADDRESS(ret, ctx);
}
#define PROBED_PC(ctx) ((ctx)->PC_REGISTER)

/* Whether another point of the same instruction was hit right before, by the same call. */
static __always_inline bool is_hit_again(struct wire_running *last,
					 const struct user_registers *ctx, __u32 point)
{
	__u64 task = bpf_get_current_task();
	__u64 pc = PROBED_PC(ctx);
	__u64 sp = ctx->sp;

	if (last->pc == pc && last->sp == sp && last->task == task && last->point != point)
		return true;
	last->task = task;
	last->pc = pc;
	last->sp = sp;
	last->point = point;
	return false;
}

/*
 * The last call of the running thread if it is the present one; else NULL. If returns are probed,
 * the kernel has replaced the return address of a function that has jumped.
 */
static __always_inline const struct wire_last_call *find_last_call(const struct user_registers *ctx,
								   __u64 return_address,
								   __u64 weight)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	const struct wire_last_call *last = bpf_map_lookup_elem(&last_calls, &tid);

	if (!last || last->sp != ctx->sp || last->weight != weight)
		return NULL;
	if (last->return_address == return_address ||
	    (is_live && return_address == find_trampoline(TASK_POINTER(get_current_task(), mm))))
		return last;
	return NULL;
}

/*
 * Remember a call that may continue at another point, at every hit. For several in a row, the first
 * one.
 */
static __always_inline void keep_call(struct user_registers *ctx, __u32 point, __u64 weight)
{
	const struct wire_own_code *own = bpf_map_lookup_elem(&own_code, &point);
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct wire_last_call call = {0};

	if (!own || read_register(ctx, own->jump_register) > own->jump_limit ||
	    !get_return_address(ctx, &call.return_address) ||
	    find_last_call(ctx, call.return_address, weight))
		return;
	call.sp = ctx->sp;
	call.weight = weight;
	call.point = point;
	(void)bpf_map_update_elem(&last_calls, &tid, &call, BPF_ANY);
}

/* Location where the function will store the address of its allocation; 0: it returns that. */
static __always_inline __u64 find_pointer(struct user_registers *ctx)
{
	__u32 point = get_point(ctx);
	const struct wire_own_code *own = bpf_map_lookup_elem(&own_code, &point);

	return own && own->pointer_register != WIRE_NO_REGISTER
		       ? read_register(ctx, own->pointer_register)
		       : 0;
}

/* Not inline, so that its part of the stack is free again when the walk needs all of it. */
static __attribute__((noinline)) bool is_call_of_allocator(struct user_registers *ctx, __u64 weight)
{
	__u32 point = get_point(ctx);
	const struct wire_own_code *own = bpf_map_lookup_elem(&own_code, &point);
	const struct wire_last_call *last;
	__u64 return_address;

	if (!own || !get_return_address(ctx, &return_address))
		return false;
	for (int i = 0; i < WIRE_MAX_OWN_CODE && own->bytes[i]; i++)
		if (return_address - PROBED_PC(ctx) - own->offsets[i] < own->bytes[i])
			return true;
	last = find_last_call(ctx, return_address, weight);
	return last && last->point != point;
}

#endif
