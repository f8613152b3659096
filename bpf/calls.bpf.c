/*
 * Threads that are in a system call when a recording starts or ends. User space has the kernel run
 * these programs for every thread of the machine.
 *
 *	note_call   at the start: it is in its call from now on, as far as this recording goes
 *	send_call   at the end: the sample of a call that has not ended
 *
 * The program of the event (counted.bpf.c) ends noted calls. Of a thread on a CPU, the call cannot
 * be known at the start.
 */
/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */
#include "other_task.h"
#include "system_call.h"

char LICENSE[] SEC("license") = "GPL";

/* Set by user space before loading: number of the requested event. */
const volatile __u32 event_number = 0;

/* Set by user space before it reads: the start, CLOCK_MONOTONIC. */
volatile __u64 start_ns = 0;

static __always_inline bool is_of_user(struct task_struct *task)
{
	return TASK_POINTER(task, mm) && !(TASK_FIELD(task, flags) & PF_KTHREAD);
}

SEC("iter/task")
int note_call(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct wire_call call = {.start_ns = start_ns};
	struct user_registers registers = {0};
	const struct wire_call *noted;
	__u32 num_leaves;
	__u64 key;

	if (!task || !is_target(task) || !is_of_user(task) || is_on_cpu(task))
		return 0;
	key = (__u64)task;
	num_leaves = count_leaves(task);
	read_registers(&registers, task);
	call.number = get_call_under_way(task, &registers);
	if (!call.number || ends_thread(call.number))
		return 0;
	if (bpf_map_update_elem(&calls, &key, &call, BPF_NOEXIST))
		return 0; /* it has made one meanwhile */
	if (count_leaves(task) == num_leaves && !is_on_cpu(task))
		return 0;
	/* It runs: perhaps it has returned before it was noted. */
	noted = bpf_map_lookup_elem(&calls, &key);
	if (noted && noted->start_ns == start_ns)
		bpf_map_delete_elem(&calls, &key);
	return 0;
}

/* Whether all of it was written. */
static __always_inline bool write_call(struct seq_file *seq, struct task_struct *task,
				       const struct wire_call *call, bool copies_stack)
{
	struct sleeper *sleeper = get_sleeper();
	struct wire_sample *sample;
	__u64 size;

	if (!sleeper)
		return false; /* impossible */
	sample = &sleeper->raw.sample;
	describe_other(sample, task);
	sample->flags |= WIRE_SAMPLE_UNDER_WAY;
	sample->num_periods = 1;
	sample->event = event_number;
	size = fill_user_stack(sleeper, task, copies_stack);
	/* It may have gone on since the end: then its stack is another one. */
	if (get_call(task, &sleeper->registers) != call->number) {
		sample->type = WIRE_SAMPLE;
		sample->user_sp = 0;
		size = sizeof(*sample);
	}
	sample->weight = end_ns - call->start_ns;
	sample->duration_ms = get_duration_ms(sample->weight);
	sample->call = call->number;
	barrier_var(size); /* the verifier must see the limit */
	if (size > sizeof(sleeper->raw))
		size = sizeof(sleeper->raw);
	return !bpf_seq_write(seq, &sleeper->raw, size);
}

static __always_inline int finish_call(struct bpf_iter__task *ctx, bool copies_stack)
{
	struct task_struct *task = ctx->task;
	const struct wire_call *noted;
	struct wire_call call;
	__u64 key;

	if (!task || !is_of_user(task))
		return 0;
	key = (__u64)task;
	noted = bpf_map_lookup_elem(&calls, &key);
	if (!noted || noted->start_ns >= end_ns)
		return 0;
	call = *noted;
	if (write_call(ctx->meta->seq, task, &call, copies_stack))
		bpf_map_delete_elem(&calls, &key); /* else the program runs again for it */
	return 0;
}

/* User space loads one of the two. */
SEC("iter/task")
int send_call(struct bpf_iter__task *ctx)
{
	return finish_call(ctx, false);
}

/* For kernels that let a program sleep which they run for every task (Linux 5.18). */
SEC("iter.s/task")
int send_call_with_stack(struct bpf_iter__task *ctx)
{
	return finish_call(ctx, true);
}
