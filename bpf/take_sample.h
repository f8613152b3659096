/*
 * Takes a sample of the running thread, at a tick or when it gets a CPU again. The sample's
 * parts are in the scratch area of the including program. A program that may be interrupted by
 * another one has maps of its own, so that neither overwrites the other's data before it is sent.
 */
#ifndef BPF_TAKE_SAMPLE_H
#define BPF_TAKE_SAMPLE_H

#include "interpreters.h"
#include "maps.h"
#include "output.h"
#include "task.h"
#include "user_walk.h"
#include "wire/wire.h"

/* Pages of a raw stack; a program that may not copy for long defines it before it includes this. */
#ifndef MAX_RAW_PAGES
#define MAX_RAW_PAGES WIRE_RAW_PAGES
#endif

/* Walk by unwind tables; else the kernel follows frame pointers. */
const volatile bool walks_by_table = true;

/*
 * Caller of the function whose first instruction is executed: its frame pointer is that of the
 * caller, which most kernels skip. 0: unknown. A program may define it before it includes this.
 */
#ifndef FIND_CALLER
#define FIND_CALLER(ctx) 0
#endif

static __always_inline __u32 get_fp_stack(void *ctx, struct wire_stack *stack)
{
	__u32 num_frames = get_stack(ctx, stack, BPF_F_USER_STACK);
	__u64 caller = FIND_CALLER(ctx);
	long size_bytes;

	if (!caller || !num_frames || (num_frames > 1 && stack->pcs[1] == caller))
		return num_frames;
	size_bytes = bpf_get_stack(ctx, &stack->pcs[1], sizeof(stack->pcs) - sizeof(stack->pcs[0]),
				   BPF_F_USER_STACK);
	if (size_bytes <= 0)
		return 0;
	stack->pcs[0] = stack->pcs[1];
	stack->pcs[1] = caller;
	return (__u32)size_bytes / sizeof(stack->pcs[0]) + 1;
}

/*
 * Tables are for 64-bit code; the kernel can follow frame pointers of 32-bit code. User space finds
 * out whether the code has them.
 */
static __always_inline __u32 get_user_stack(void *ctx, struct scratch *scratch)
{
	bool is_32_bit = REGISTERS_ARE_32_BIT(&scratch->registers);

	if (walks_by_table && !is_32_bit)
		return walk_user_stack();
	scratch->sample.walk_end = is_32_bit ? WALK_32_BIT : WALK_FP_CHAIN;
	return get_fp_stack(ctx, &scratch->stack);
}

/*
 * Send the scratch sample with its raw stack, as a record of that type, if the walk missed a table.
 * Gives 0 if it was sent.
 */
__attribute__((noinline)) int send_raw(__u32 type)
{
	struct scratch *scratch = get_scratch();
	void *ring = get_ring();
	struct wire_raw_sample *raw;
	__u64 full_quarters;
	__u64 size;

	if (!scratch || !ring || !is_recoverable(scratch->sample.walk_end))
		return -1;
	full_quarters = get_full_quarters(ring);
	if (full_quarters >= 2 || !may_send_raw(scratch->sample.time_ns))
		return -1;
	size = fill_raw_sample(full_quarters ? WIRE_RAW_FEW_PAGES : MAX_RAW_PAGES);
	raw = get_raw_sample();
	barrier_var(size); /* the verifier must see the limits */
	if (!raw || size < sizeof(*raw) - sizeof(raw->bytes))
		return -1;
	if (size > sizeof(*raw))
		size = sizeof(*raw);
	note_raw_bytes(size);
	raw->sample = scratch->sample;
	raw->sample.type = type;
	/* Perhaps something was mapped that user space has not read yet. */
	if (is_filtered)
		return bpf_ringbuf_output(ring, raw, size, BPF_RB_FORCE_WAKEUP);
	return send(ring, raw, size);
}

/*
 * Send the scratch sample, with its raw stack if the walk missed a table. Gives 0 if it was sent.
 */
static __always_inline int send_sample(void)
{
	struct scratch *scratch = get_scratch();
	void *ring = get_ring();

	if (!scratch || !ring)
		return -1;
	if (is_recoverable(scratch->sample.walk_end) && !send_raw(WIRE_RAW_SAMPLE))
		return 0;
	return send(ring, &scratch->sample, sizeof(scratch->sample));
}

/* Start the scratch sample with the fields of the task, and read its registers. */
static __always_inline void describe_task(struct scratch *scratch, __u64 pid_tgid,
					  bool in_user_mode)
{
	struct task_struct *task = get_current_task();
	struct wire_sample *sample = &scratch->sample;

	start_sample(sample, pid_tgid, in_user_mode);
	start_runtime_walk(scratch);
	if (bpf_core_field_exists(task->self_exec_id))
		sample->generation = TASK_FIELD(task, self_exec_id);
	if (bpf_core_field_exists(task->in_execve) && is_in_execve(task))
		sample->flags |= WIRE_SAMPLE_IN_EXEC;
	scratch->mm = TASK_POINTER(task, mm);
	if (!scratch->mm || (TASK_FIELD(task, flags) & PF_KTHREAD)) {
		sample->flags |= WIRE_SAMPLE_NO_USER_MEMORY;
	} else {
		read_registers(&scratch->registers, task);
		sample->user_sp = scratch->registers.sp;
	}
}

/*
 * Take the stacks of the scratch sample, which has been started, and send them. Gives SEND_DONE or
 * SEND_LOST_STACK.
 *
 * kernel_seed  of the kernel stack's hash; see hash_stack()
 */
static __always_inline enum send_result take_stacks(void *ctx, struct scratch *scratch,
						    bool takes_kernel_stack, __u64 kernel_seed)
{
	struct wire_sample *sample = &scratch->sample;
	__u32 num_frames;

	if (takes_kernel_stack) {
		num_frames = get_stack(ctx, &scratch->stack, 0);
		if (num_frames)
			sample->kernel_stack = send_stack(num_frames, kernel_seed);
		if (num_frames && !sample->kernel_stack)
			return SEND_LOST_STACK;
	}
	if (take_user_stacks && !(sample->flags & WIRE_SAMPLE_NO_USER_MEMORY)) {
		num_frames = get_user_stack(ctx, scratch);
		if (num_frames)
			sample->user_stack = send_stack(num_frames, BPF_F_USER_STACK);
		if (num_frames && !sample->user_stack)
			return SEND_LOST_STACK;
		if (takes_runtime_frames && walks_by_table)
			sample->runtime_stack = take_runtime_stack(scratch);
	}
	return SEND_DONE;
}

/* The same, and then the sample, with its raw stack where the walk missed a table. */
static __always_inline enum send_result send_stacks(void *ctx, struct scratch *scratch,
						    bool takes_kernel_stack, __u64 kernel_seed)
{
	if (take_stacks(ctx, scratch, takes_kernel_stack, kernel_seed) == SEND_LOST_STACK)
		return SEND_LOST_STACK;
	return send_sample() ? SEND_LOST_SAMPLE : SEND_DONE;
}

#endif
