/*
 * Finds the hits of an allocator's functions that are calls from outside: realloc(NULL) continues
 * in malloc, so does calloc in some allocators, and operator new calls it. Only the outermost hit
 * is counted.
 *
 * A call from the allocator's own code is recognized by its return address. A function that ends in
 * a jump to another one leaves no return address of its own. The second hit then has the stack
 * pointer and the return address of the first one. It is the thread's last such call, and no other
 * hit at this depth was between them. A program's own function may jump to either of them as well, in one
 * call. So only calls that do continue are remembered: realloc without memory, and aligned_alloc
 * with an alignment that malloc has anyway; the size is the same then. A wrapper that may jump out
 * of its function is remembered at each call. A hit in another file continues that with any size.
 *
 * The library of glibc for debugging jumps to a hook if there is one. The hook that it starts with
 * removes itself, and jumps back.
 *
 * A call from another allocator's code, such as a preloaded wrapper's, is recognized in user space,
 * by the stack (collect/stacks/nested_calls.h). A wrapper that jumped to a helper is not in the
 * stack; its caller is, and a sample has the return address there.
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

/*
 * Indexed by the number of a file's first point: when hits of the file start to count
 * (CLOCK_BOOTTIME). All of its points start at once, so that a call through two of them counts
 * once.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} file_starts SEC(".maps");

PER_CPU(struct wire_running, running);

static __always_inline bool get_return_address(const struct user_registers *ctx, __u64 *ret)
{
	return !READ_RETURN_ADDRESS(ret, ctx);
}
#define PROBED_PC(ctx) ((ctx)->PC_REGISTER)

/*
 * Whether another point of the same instruction was hit right before, by the same call. If not,
 * note the hit.
 */
static __always_inline bool is_hit_again(struct wire_running *last,
					 const struct user_registers *ctx, __u32 point)
{
	__u64 task = bpf_get_current_task();
	__u64 pc = PROBED_PC(ctx);
	__u64 sp = ctx->sp;

	if (last->pc == pc && last->sp == sp && last->task == task && last->point != point)
		return true;
	/* After another thread, it is unknown. */
	last->arrival =
		last->task != task || last->jump_sp == sp ? WIRE_PERHAPS_BY_JUMP : WIRE_BY_CALL;
	if (last->task != task || last->jump_sp <= sp)
		last->jump_sp = 0;
	last->task = task;
	last->pc = pc;
	last->sp = sp;
	last->point = point;
	return false;
}

/* An address at which a function's return address is: the kernel may have replaced it. */
static __always_inline bool is_return_address(__u64 value, __u64 return_address)
{
	return value == return_address ||
	       value == find_trampoline(TASK_POINTER(get_current_task(), mm));
}

/*
 * Whether the thread's last call is the present one. If returns are probed, by us or others, the
 * kernel has replaced the return address of a function that has jumped.
 */
static __always_inline bool is_present_call(const struct wire_last_call *last,
					    const struct wire_running *mine,
					    const struct user_registers *ctx,
					    const struct wire_own_code *own, __u64 return_address,
					    __u64 weight)
{
	if (!last || last->sp != ctx->sp || mine->arrival != WIRE_PERHAPS_BY_JUMP)
		return false;
	if (!(last->jumps_in && last->weight == weight) &&
	    !(last->jumps_out && last->file != own->file))
		return false;
	return is_return_address(return_address, last->return_address);
}

/* Whether a function starts by a jump to a hook. */
static __always_inline bool has_hook(const struct user_registers *ctx,
				     const struct wire_own_code *own)
{
	__u64 hook = 0;

	return own->hook_offset &&
	       !bpf_probe_read_user(&hook, sizeof(hook),
				    (void *)(PROBED_PC(ctx) + own->hook_offset)) &&
	       hook;
}

/*
 * Remember a call that may continue at another point, at every hit. For several in a row, the first
 * one. Returns whether it may do so by a jump. Not inline, so that its part of the stack is free
 * again when the walk needs all of it.
 */
static __attribute__((noinline)) bool keep_call(struct user_registers *ctx,
						struct wire_running *mine, __u32 point,
						__u64 weight)
{
	const struct wire_own_code *own = bpf_map_lookup_elem(&own_code, &point);
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct wire_last_call call = {.sp = ctx->sp, .weight = weight, .point = point};
	struct wire_last_call *last;
	bool may_jump;

	if (!own)
		return false;
	call.file = own->file;
	call.jumps_out = own->jumps_out;
	call.is_hooked = has_hook(ctx, own);
	call.jumps_in =
		call.is_hooked || (own->jump_register != WIRE_NO_REGISTER &&
				   read_register(ctx, own->jump_register) <= own->jump_limit);
	may_jump = call.jumps_in || call.jumps_out;
	if ((!may_jump && !own->calls_out) || !get_return_address(ctx, &call.return_address))
		return false;
	last = bpf_map_lookup_elem(&last_calls, &tid);
	if (is_present_call(last, mine, ctx, own, call.return_address, weight)) {
		if (last->point != point)
			return may_jump;
		if (last->is_hooked) {
			last->is_hooked = call.is_hooked;
			mine->arrival = WIRE_BY_HOOK;
			return may_jump;
		}
	}
	mine->arrival = WIRE_BY_CALL;
	if (!last) {
		(void)bpf_map_update_elem(&last_calls, &tid, &call, BPF_ANY);
		return may_jump;
	}
	if (last->sp > call.sp) {
		call.outer_sp = last->sp;
		call.outer_return_address = last->return_address;
	} else if (last->outer_sp > call.sp) {
		call.outer_sp = last->outer_sp;
		call.outer_return_address = last->outer_return_address;
	}
	/* Writing in place takes a tenth of the time of an update. */
	*last = call;
	return may_jump;
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

/* The caller of the function that starts; 0: unknown. */
static __always_inline __u64 find_caller(const struct user_registers *ctx)
{
	__u64 caller;

	if (!get_return_address(ctx, &caller))
		return 0;
	if (caller != find_trampoline(TASK_POINTER(get_current_task(), mm)))
		return caller;
	return find_probed_return(ctx->sp);
}

/* Whether hits of a file, by its number, count by now. */
static __always_inline bool has_started(__u32 file)
{
	__u32 first = file - 1;
	const __u64 *start_ns = file ? bpf_map_lookup_elem(&file_starts, &first) : NULL;

	return !start_ns || !*start_ns || bpf_ktime_get_boot_ns() >= *start_ns;
}

/* Whether a call that was entered with this stack pointer may not have returned. */
static __always_inline bool is_entered(const struct user_registers *ctx, __u64 sp,
				       __u64 return_address)
{
	__u64 value;

	return sp > ctx->sp && !bpf_probe_read_user(&value, sizeof(value), (void *)sp) &&
	       is_return_address(value, return_address);
}

/* Instead of an address: the hit is not a call that counts. */
#define NO_CALL 1

/*
 * NO_CALL, or the return address of a call of an allocator that the present one may be part of; 0:
 * none. Not inline, as keep_call().
 */
static __attribute__((noinline)) __u64 find_outer_call(struct user_registers *ctx,
						       const struct wire_running *mine,
						       __u64 weight)
{
	__u32 point = get_point(ctx);
	const struct wire_own_code *own = bpf_map_lookup_elem(&own_code, &point);
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	const struct wire_last_call *last;
	__u64 return_address;

	if (!own)
		return 0;
	if (!has_started(own->file))
		return NO_CALL;
	if (!get_return_address(ctx, &return_address))
		return 0;
	for (int i = 0; i < WIRE_MAX_OWN_CODE && own->bytes[i]; i++)
		if (return_address - 1 - PROBED_PC(ctx) - own->offsets[i] < own->bytes[i])
			return NO_CALL;
	last = bpf_map_lookup_elem(&last_calls, &tid);
	if (!last)
		return 0;
	if (mine->arrival == WIRE_BY_HOOK)
		return NO_CALL;
	if (is_present_call(last, mine, ctx, own, return_address, weight) && last->point != point &&
	    has_started(last->file))
		return NO_CALL;
	if (is_entered(ctx, last->sp, last->return_address))
		return last->return_address;
	return is_entered(ctx, last->outer_sp, last->outer_return_address)
		       ? last->outer_return_address
		       : 0;
}

#endif
