/*
 * Which hits of an allocator's functions are calls from outside: realloc(NULL) goes on in malloc, calloc in some of them
 * does, and operator new calls it. The outermost one is counted, and no other.
 *
 * A call from the allocator's own code is seen by its return address. A function that ends in a jump to another leaves
 * none of its own: the other one then finds the stack pointer, the return address and the size of the first, which was
 * the last such call of the thread. A program's own function may jump to one or the other as well, from one call of
 * it; so what counts are only calls that do go on: of realloc those without memory, of aligned_alloc those that malloc
 * aligns anyway.
 *
 * Most hits are of malloc, and below the distance to the next sample: of them nothing is asked but their size. Whether
 * it was a call from outside is found out where a sample is due; points of a Poisson process that lie in other hits
 * are left out, which leaves one in those that count.
 *
 * Containers of one image have the same file by numbers of their own, so that it is probed once for each, and each call
 * is hit as often, one right after the other.
 */
#ifndef BPF_ALLOCATOR_H
#define BPF_ALLOCATOR_H

#include "live.h"
#include "maps.h"
#include "probe_argument.h"
#include "probed_program.h"

/* Set by user space before loading. */
const volatile bool is_of_allocator = false;

/* By the number of the point. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_own_code);
} own_code SEC(".maps");

/* Threads that were within an allocator a moment ago. */
#define MAX_LAST_CALLS 16384

/* By tid. Only what has just been put in is looked for, so that others may be removed. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_LAST_CALLS);
	__type(key, __u32);
	__type(value, struct wire_last_call);
} last_calls SEC(".maps");

static __always_inline bool get_return_address(const struct user_registers *ctx, __u64 *ret)
{
	return !bpf_probe_read_user(ret, sizeof(*ret), (void *)ctx->sp);
}
#define PROBED_PC(ctx) ((ctx)->ip)

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
 * Of the running thread, where that was the call that it is in now; else NULL. Where returns are probed, the kernel has
 * replaced the return address of a function that has jumped.
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
	    (is_live && return_address == find_trampoline(get_current_task())))
		return last;
	return NULL;
}

/* What may go on in another point is kept for that, at every hit. Of several in a row, the first. */
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

/* Where the function that is hit will put the address of what it allocates; 0: it returns that. */
static __always_inline __u64 find_pointer(struct user_registers *ctx)
{
	__u32 point = get_point(ctx);
	const struct wire_own_code *own = bpf_map_lookup_elem(&own_code, &point);

	return own && own->pointer_register != WIRE_NO_REGISTER
		       ? read_register(ctx, own->pointer_register)
		       : 0;
}

/* Not inline: its part of the stack is free again when the walk needs all that programs have. */
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
