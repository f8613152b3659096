/*
 * Innermost frames of a sleeping thread's kernel stack. The kernel leaves out all frames of code
 * that it calls part of the scheduler (.sched.text): do_nanosleep, mutex_lock, schedule … The stack
 * of a wait that ends has them, so that one place would have two stacks.
 *
 * They are found by their return addresses, from the saved stack pointer up to the first frame that
 * the kernel gives. A word is one if the call before it leads to the function found last: close
 * below the previous return address, first to __schedule itself. A call by a register may lead
 * anywhere. The function that the first given frame calls may have jumped to another one.
 */
#ifndef BPF_SLEEPING_STACK_H
#define BPF_SLEEPING_STACK_H

#include "maps.h"

/* Chains of locks are the longest, with half of that. */
#define MAX_SCHEDULER_FRAMES 8
/* Their frames have some hundred bytes together. */
#define MAX_SCHEDULER_WORDS 160
/* The largest function of the scheduler has 4 KiB. */
#define MAX_FUNCTION_BYTES 8192
/* A call may skip the first instruction of a function. */
#define MAX_ENTRY_BYTES 16

/*
 * The second byte of __schedule(), where each sleeping thread is, and which the kernel omits from its
 * stack, and all code that the kernel omits. Set by user space before loading; 0: unknown.
 */
const volatile __u64 scheduler_pc = 0;
const volatile __u64 scheduler_text_start = 0;
const volatile __u64 scheduler_text_end = 0;

struct scheduler_frames {
	__u64 outer;  /* first pc that the kernel gives */
	__u64 callee; /* address in the function found last */
	__u32 number;
	__u32 padding;
	__u64 pcs[MAX_SCHEDULER_FRAMES]; /* innermost first */
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scheduler_frames);
} scheduler_frames SEC(".maps");

static __always_inline struct scheduler_frames *get_scheduler_frames(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scheduler_frames, &zero);
}

static __always_inline bool is_scheduler_text(__u64 address)
{
	return address >= scheduler_text_start && address < scheduler_text_end;
}

/* Result of find_call_target(): a call by a register or memory. */
#define CALL_ANYWHERE 1

/* The function that the call before a return address leads to; 0: no call. */
static __always_inline __u64 find_call_target(__u64 pc)
{
	__u64 code;

	if (bpf_probe_read_kernel(&code, sizeof(code), (void *)(pc - sizeof(code))))
		return 0;
	if (IS_DIRECT_CALL(code))
		return GET_CALL_TARGET(code, pc);
	return IS_CALL_BY_REGISTER(code) ? CALL_ANYWHERE : 0;
}

/* Whether the call that returns to pc can have led to the function found last. */
static __always_inline bool calls_last(const struct scheduler_frames *frames, __u64 pc)
{
	__u64 max_bytes = frames->number ? MAX_FUNCTION_BYTES : MAX_ENTRY_BYTES;
	bool is_outer = pc == frames->outer;
	__u64 target;

	if (!is_outer && !is_scheduler_text(pc))
		return false;
	target = find_call_target(pc);
	if (frames->callee - target < max_bytes)
		return true;
	if (!frames->number)
		return false;
	return target == CALL_ANYWHERE || (is_outer && is_scheduler_text(target));
}

/*
 * Look at a word of the stack. Gives 0 to go on; 1 at the frame that the kernel gives; 2: no frames.
 * Not static: the verifier checks it once.
 */
__attribute__((noinline)) int look_at_stack_word(__u64 address)
{
	struct scheduler_frames *frames = get_scheduler_frames();
	__u32 number;
	__u64 pc;

	if (!frames || bpf_probe_read_kernel(&pc, sizeof(pc), (void *)address))
		return 2;
	if (!calls_last(frames, pc))
		return pc == frames->outer ? 2 : 0;
	if (pc == frames->outer)
		return 1;
	number = frames->number;
	if (number >= MAX_SCHEDULER_FRAMES)
		return 2;
	frames->pcs[number] = frames->callee = pc;
	frames->number = number + 1;
	return 0;
}

/*
 * Find the frames below a pc, from the saved stack pointer on. Gives their number, also 0 if they
 * are not found. Not static: likewise.
 */
__attribute__((noinline)) int find_scheduler_frames(__u64 sp, __u64 outer)
{
	struct scheduler_frames *frames = get_scheduler_frames();
	int result = 0;

	if (!frames || !scheduler_pc || !scheduler_text_end)
		return 0;
	frames->outer = outer;
	frames->callee = scheduler_pc - 1 + MAX_ENTRY_BYTES - 1;
	frames->number = 0;
	for (__u64 i = 0; i < MAX_SCHEDULER_WORDS && !result; i++)
		result = look_at_stack_word(sp + i * sizeof(__u64));
	return result == 1 ? frames->number : 0;
}

#endif
