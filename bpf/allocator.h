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
 * has anyway. A wrapper that may jump to another file's function is remembered at each call; only a
 * hit in another file continues that.
 *
 * A call from another allocator's code, such as a preloaded wrapper's, is recognized in user space,
 * by the stack (collect/stacks/nested_calls.h).
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
 * Whether the thread's last call is the present one. If returns are probed, by us or others, the
 * kernel has replaced the return address of a function that has jumped.
 */
static __always_inline bool is_present_call(const struct wire_last_call *last,
					    const struct user_registers *ctx,
					    const struct wire_own_code *own, __u64 return_address,
					    __u64 weight)
{
	if (!last || last->sp != ctx->sp || last->weight != weight ||
	    (last->left_file && last->left_file == own->file))
		return false;
	return last->return_address == return_address ||
	       return_address == find_trampoline(TASK_POINTER(get_current_task(), mm));
}

/*
 * Remember a call that may continue at another point, at every hit. For several in a row, the first
 * one.
 */
static __always_inline void keep_call(struct user_registers *ctx, __u32 point, __u64 weight)
{
	const struct wire_own_code *own = bpf_map_lookup_elem(&own_code, &point);
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct wire_last_call call = {.sp = ctx->sp, .weight = weight, .point = point};
	struct wire_last_call *last;

	if (!own)
		return;
	if (own->jump_register == WIRE_NO_REGISTER ||
	    read_register(ctx, own->jump_register) > own->jump_limit) {
		if (!own->jumps_out)
			return;
		call.left_file = own->file;
	}
	if (!get_return_address(ctx, &call.return_address))
		return;
	last = bpf_map_lookup_elem(&last_calls, &tid);
	if (is_present_call(last, ctx, own, call.return_address, weight))
		return;
	/* Writing it in place takes a tenth of the time of an update. */
	if (last)
		*last = call;
	else
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
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	const struct wire_last_call *last;
	__u64 return_address;

	if (!own || !get_return_address(ctx, &return_address))
		return false;
	for (int i = 0; i < WIRE_MAX_OWN_CODE && own->bytes[i]; i++)
		if (return_address - 1 - PROBED_PC(ctx) - own->offsets[i] < own->bytes[i])
			return true;
	last = bpf_map_lookup_elem(&last_calls, &tid);
	return is_present_call(last, ctx, own, return_address, weight) && last->point != point;
}

#endif
