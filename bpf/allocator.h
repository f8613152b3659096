/*
 * Finds the hits of an allocator's functions that are calls from outside: realloc(NULL) continues
 * in malloc, so does calloc in some allocators, and operator new calls it. Only the outermost hit
 * is counted.
 *
 * A call from the allocator's own code is recognized by its return address. A function that ends in
 * a jump to another one leaves no return address of its own. The second hit then has the stack
 * pointer and the return address of the first one. No other hit at this depth or above was between
 * them. A program's own function may jump to either of them as well, in one call. So only calls that
 * do continue are remembered: realloc without memory, and aligned_alloc with an alignment that
 * malloc has anyway; the size is the same then. A wrapper that may jump out of its function is
 * remembered at each call. A hit in another file continues that with any size. Signal handlers may
 * interrupt such a call and allocate, so a thread may have several open calls.
 *
 * The library of glibc for debugging jumps to a hook if there is one. The hook that it starts with
 * removes itself, and jumps back. Hooks of programs call the function again.
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
#include "task.h"

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
#define MAX_OPEN_THREADS 16384

/* Keyed by tid. Only calls just put in are looked up, so old ones may be evicted. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_OPEN_THREADS);
	__type(key, __u32);
	__type(value, struct wire_open_calls);
} open_calls SEC(".maps");

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
 * A hit at this depth ends jumps of calls there and below, and may be the target of one there. A
 * signal handler may have a stack of its own, at any address. Its calls end none on another stack.
 */
static __always_inline void end_jumps(struct wire_running *last, __u64 sp)
{
	__u64 count = last->num_jumps;

	for (int i = 0; i < WIRE_MAX_OPEN_CALLS && count; i++) {
		__u64 jump_sp = last->jump_sps[(count - 1) % WIRE_MAX_OPEN_CALLS];

		if (jump_sp > sp || (jump_sp < sp && is_on_signal_stack(get_current_task(), sp)))
			break;
		if (jump_sp == sp)
			last->arrival = WIRE_PERHAPS_BY_JUMP;
		count--;
	}
	last->num_jumps = count;
}

/* Find out how a hit may have arrived. This is not inline, as with most allocators it is rare. */
static __attribute__((noinline)) int follow_jumps(struct wire_running *last, __u64 task, __u64 sp)
{
	if (last->task != task)
		last->known_sp = last->num_jumps = 0;
	if (last->known_sp < sp)
		last->arrival = WIRE_PERHAPS_BY_JUMP;
	if (last->known_sp < sp && !is_on_signal_stack(get_current_task(), sp)) {
		last->known_sp = sp;
		last->num_jumps = 0;
	} else if (last->num_jumps) {
		end_jumps(last, sp);
	}
	return 0;
}

/* The call of the last hit may continue by a jump. */
static __always_inline void add_jump(struct wire_running *last)
{
	if (last->num_jumps >= WIRE_MAX_OPEN_CALLS) {
		for (int i = 1; i < WIRE_MAX_OPEN_CALLS; i++)
			last->jump_sps[i - 1] = last->jump_sps[i];
		last->num_jumps = WIRE_MAX_OPEN_CALLS - 1;
	}
	last->jump_sps[last->num_jumps % WIRE_MAX_OPEN_CALLS] = last->sp;
	last->num_jumps++;
}

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
	last->arrival = WIRE_BY_CALL;
	if (last->task != task || last->known_sp < sp || last->num_jumps)
		follow_jumps(last, task, sp);
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
 * Whether an open call of the thread is the present one. If returns are probed, by us or others, the
 * kernel has replaced the return address of a function that has jumped.
 */
static __always_inline bool is_present_call(const struct wire_open_call *last,
					    const struct wire_running *mine,
					    const struct user_registers *ctx,
					    const struct wire_own_code *own, __u64 return_address,
					    __u64 weight)
{
	if (last->sp != ctx->sp || mine->arrival != WIRE_PERHAPS_BY_JUMP)
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

/* depth  0: the innermost one */
static __always_inline struct wire_open_call *get_open_call(struct wire_open_calls *calls,
							    __u32 depth)
{
	return &calls->calls[(calls->last - depth) % WIRE_MAX_OPEN_CALLS];
}

/* Whether a call that was entered with this stack pointer may not have returned. */
static __always_inline bool is_entered(const struct wire_open_call *call)
{
	__u64 value;

	return !bpf_probe_read_user(&value, sizeof(value), (void *)call->sp) &&
	       is_return_address(value, call->return_address);
}

/*
 * Leave out calls below this depth, and of handlers that have ended: they have returned, or were
 * left by longjmp(). Returns the innermost of the rest, or NULL.
 */
static __always_inline struct wire_open_call *end_calls(struct wire_open_calls *calls, __u64 sp)
{
	struct wire_open_call *last = get_open_call(calls, 0);
	bool is_handler;

	if (calls->count && last->sp == sp)
		return last;
	is_handler = is_on_signal_stack(get_current_task(), sp);
	for (int i = 0; i < WIRE_MAX_OPEN_CALLS && calls->count; i++) {
		last = get_open_call(calls, 0);
		if (last->is_on_signal_stack == is_handler ? last->sp >= sp : is_handler)
			return last;
		calls->last--;
		calls->count--;
	}
	return NULL;
}

/* A place for a call below the innermost one. If there are too many, replace one. */
static __always_inline struct wire_open_call *add_open_call(struct wire_open_calls *calls)
{
	if (calls->count == WIRE_MAX_OPEN_CALLS && !is_entered(get_open_call(calls, 0)))
		return get_open_call(calls, 0);
	if (calls->count < WIRE_MAX_OPEN_CALLS)
		calls->count++;
	calls->last++;
	return get_open_call(calls, 0);
}

/*
 * Remember a call that may continue at another point. For several in a row, the first one. Returns
 * whether it may do so by a jump.
 */
static __always_inline bool remember_call(struct user_registers *ctx, struct wire_running *mine,
					  __u32 point, __u64 weight)
{
	const struct wire_own_code *own = bpf_map_lookup_elem(&own_code, &point);
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct wire_open_call call = {.sp = ctx->sp, .weight = weight, .point = point};
	struct wire_open_calls *calls;
	struct wire_open_call *last;
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
	calls = bpf_map_lookup_elem(&open_calls, &tid);
	if (!calls) {
		struct wire_open_calls first = {.calls = {call}, .count = 1};

		first.calls[0].is_on_signal_stack = is_on_signal_stack(get_current_task(), call.sp);
		mine->arrival = WIRE_BY_CALL;
		(void)bpf_map_update_elem(&open_calls, &tid, &first, BPF_ANY);
		return may_jump;
	}
	last = end_calls(calls, call.sp);
	if (last && is_present_call(last, mine, ctx, own, call.return_address, weight)) {
		if (last->point != point)
			return may_jump;
		/* A hook that is still there has not jumped back: it is a call of the same place. */
		if (last->is_hooked && !call.is_hooked) {
			last->is_hooked = false;
			mine->arrival = WIRE_BY_HOOK;
			return may_jump;
		}
	}
	mine->arrival = WIRE_BY_CALL;
	if (last && last->sp == call.sp) {
		call.is_on_signal_stack = last->is_on_signal_stack;
	} else {
		call.is_on_signal_stack = is_on_signal_stack(get_current_task(), call.sp);
		last = add_open_call(calls);
	}
	/* Writing in place takes a tenth of the time of an update. */
	*last = call;
	return may_jump;
}

/* It is not inline, so that its part of the stack is free again when the walk needs all of it. */
static __attribute__((noinline)) int keep_call(struct user_registers *ctx,
					       struct wire_running *mine, __u32 point, __u64 weight)
{
	if (remember_call(ctx, mine, point, weight))
		add_jump(mine);
	return 0;
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

/* Instead of an address: the hit is not a call that counts. */
#define NO_CALL 1

/*
 * NO_CALL, or the return address of a call of an allocator that the present one may be part of, as
 * wire_sample.entered_from; 0: none. Not inline, as keep_call().
 */
static __attribute__((noinline)) __u64 find_outer_call(struct user_registers *ctx,
						       const struct wire_running *mine,
						       __u64 weight)
{
	__u32 point = get_point(ctx);
	const struct wire_own_code *own = bpf_map_lookup_elem(&own_code, &point);
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	bool is_handler = is_on_signal_stack(get_current_task(), ctx->sp);
	struct wire_open_calls *calls;
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
	calls = bpf_map_lookup_elem(&open_calls, &tid);
	if (!calls)
		return 0;
	if (mine->arrival == WIRE_BY_HOOK)
		return NO_CALL;
	for (__u32 i = 0; i < WIRE_MAX_OPEN_CALLS && i < calls->count; i++) {
		const struct wire_open_call *call = get_open_call(calls, i);

		if (call->is_on_signal_stack && !is_handler)
			continue;
		if (call->sp == ctx->sp && call->point != point && has_started(call->file) &&
		    is_present_call(call, mine, ctx, own, return_address, weight))
			return NO_CALL;
		if (call->sp > ctx->sp && is_entered(call))
			return call->return_address | (call->is_hooked ? WIRE_ENTERED_BY_HOOK : 0);
	}
	return 0;
}

#endif
