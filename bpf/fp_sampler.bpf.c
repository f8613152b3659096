/*
 * The sampling program for kernels without type information (BTF). It cannot read any field of a
 * task. So the kernel walks user stacks by frame pointers, and forks are followed by tracepoints.
 * Their formats give the offsets of the numbers in their records.
 */
/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
/* clang-format on */
#define WITHOUT_TYPES
#include "maps.h"
#include "output.h"
#define RUNS_FOR_EACH_TIMED 8
#include "own_time.h"
#include "target_filter.h"
#include "wire/unwind.h"

char LICENSE[] SEC("license") = "GPL";

/* Offsets of these fields in the records of their tracepoints; set by user space before loading. */
const volatile __u32 fork_child_pid_offset = 0;
const volatile __u32 exec_pid_offset = 0;
const volatile __u32 exec_old_pid_offset = 0;
const volatile __u32 free_pid_offset = 0;

/* Working memory of a tick, too large for the program's stack. */
struct scratch {
	struct wire_sample sample;
	struct wire_stack stack;
};

PER_CPU(struct scratch, scratches);

static __always_inline struct wire_stack *get_scratch_stack(void)
{
	struct scratch *scratch = get_per_cpu(&scratches);

	return scratch ? &scratch->stack : NULL;
}

static __always_inline __u32 read_tid(const void *record, __u32 offset)
{
	__u32 tid = 0;

	(void)bpf_probe_read_kernel(&tid, sizeof(tid), record + offset);
	return tid;
}

SEC("tracepoint/sched/sched_process_fork")
int on_fork(void *record)
{
	COUNT_OWN_TIME;

	/*
	 * The record does not distinguish threads from processes: user space drops a child's
	 * samples.
	 */
	follow_fork((__u32)bpf_get_current_pid_tgid(), read_tid(record, fork_child_pid_offset), 0,
		    false);
	return 0;
}

SEC("tracepoint/sched/sched_process_exec")
int on_exec(void *record)
{
	COUNT_OWN_TIME;

	follow_exec(read_tid(record, exec_old_pid_offset), read_tid(record, exec_pid_offset), 0);
	return 0;
}

SEC("tracepoint/sched/sched_process_exit")
int on_exit(void *record)
{
	COUNT_OWN_TIME;

	follow_exit((__u32)bpf_get_current_pid_tgid(), 0);
	return 0;
}

SEC("tracepoint/sched/sched_process_free")
int on_free(void *record)
{
	COUNT_OWN_TIME;

	follow_free(read_tid(record, free_pid_offset), 0);
	return 0;
}

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	COUNT_OWN_TIME;
	struct wire_counters *counter = get_per_cpu(&counters);
	struct scratch *scratch = get_per_cpu(&scratches);
	bool in_user_mode = REGISTERS_IN_USER_MODE(ctx->regs);
	void *ring = get_ring();
	bool is_stack_lost = false;
	struct wire_sample *sample;
	__u32 num_frames;
	__u64 pid_tgid;

	if (!counter || !scratch || !ring)
		return 0; /* impossible */
	pid_tgid = start_tick(counter);
	if (!pid_tgid)
		return 0;
	sample = &scratch->sample;
	start_sample(sample, pid_tgid, in_user_mode);
	sample->weight = ctx->sample_period;
	if (take_kernel_stacks && !in_user_mode) {
		num_frames = get_stack(ctx, &scratch->stack, 0);
		if (num_frames)
			sample->kernel_stack = send_stack(num_frames, 0);
		is_stack_lost = num_frames && !sample->kernel_stack;
	}
	if (!is_stack_lost && take_user_stacks) {
		sample->walk_end = WALK_FP_CHAIN;
		num_frames = get_stack(ctx, &scratch->stack, BPF_F_USER_STACK);
		if (num_frames)
			sample->user_stack = send_stack(num_frames, BPF_F_USER_STACK);
		else
			sample->flags |= WIRE_SAMPLE_NO_USER_MEMORY;
		is_stack_lost = num_frames && !sample->user_stack;
	}
	if (is_stack_lost)
		count_send(&counter->sends, SEND_LOST_STACK);
	else if (send(ring, sample, sizeof(*sample)))
		count_send(&counter->sends, SEND_LOST_SAMPLE);
	else
		count_send(&counter->sends, SEND_DONE);
	return 0;
}
