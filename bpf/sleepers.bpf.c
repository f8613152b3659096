/*
 * Threads that sleep when a recording starts or ends: they have no events. User space has the
 * kernel run these programs for every thread of the machine.
 *
 *	note_sleeper   at the start: it sleeps from now on, as far as this recording goes
 *	count_thread   at the end, after noting has stopped: the lifetime of each thread until now, and
 *	               the unfinished part that is in no sum yet: its wait, or its time on a CPU
 *	send_sleeper   after that: the sample of a noted wait that has not ended
 *
 * Most threads of a machine are seen by all three: they sleep throughout. Their waits are counted
 * like those of threads that have got a CPU again (off_cpu.bpf.c), whose notes and counters these
 * programs share.
 */
/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */
#include "departure.h"
#include "maps.h"
#include "other_task.h"
#include "registers.h"
#include "sleeping_stack.h"
#include "task.h"
#include "wire/off_cpu.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline bool is_asleep(__u32 state)
{
	return state && !(state & (TASK_DEAD | TASK_WAKING | TASK_NEW));
}

SEC("iter/task")
int note_sleeper(struct bpf_iter__task *ctx)
{
	struct wire_off_cpu_state *cpu = get_per_cpu(&states);
	struct task_struct *task = ctx->task;
	struct departure *departure;
	__u32 num_leaves;
	__u32 state;

	if (!task || !cpu || !is_target(task))
		return 0;
	num_leaves = count_leaves(task);
	state = get_state(task);
	if (!is_asleep(state))
		return 0;
	departure = find_departure(task);
	if (!departure)
		departure = add_departure(task);
	if (!departure) {
		/* The recording has started: other programs count on this CPU, too. */
		__sync_fetch_and_add(&cpu->counters.unnoted, 1);
		return 0;
	}
	if (departure->has_phase) /* it has run meanwhile, and was noted when it left */
		return 0;
	set_phase(departure);
	set_flag(departure, task, get_flag(false, state));
	departure->origin = ASLEEP_SINCE_START;
	departure->left_ns = start_ns;
	note_queued(departure, task);
	/* It may have been woken and run before all that was read. */
	if (count_leaves(task) != num_leaves || !is_asleep(get_state(task)))
		departure->left_ns = 0;
	return 0;
}

/*
 * How long a thread has run that is noted as new and waiting. Not every kernel reports that it has
 * got its first CPU before it leaves that CPU (off_cpu.bpf.c).
 */
static __always_inline __u64 get_first_run(struct task_struct *task,
					   const struct departure *departure)
{
	__u64 since_ns = end_ns > departure->left_ns ? end_ns - departure->left_ns : 0;
	__u64 run_ns = departure->origin == STARTED ? TASK_FIELD(task, se.sum_exec_runtime) : 0;

	return run_ns < since_ns ? run_ns : since_ns;
}

/*
 * Note when a thread was woken that has not got a CPU before the end. It is in a run queue, or it
 * has got one since.
 */
static __always_inline void find_last_wakeup(struct departure *departure, struct task_struct *task,
					     __u64 clock_ahead_ns)
{
	__u64 queued_ns;
	__u64 until_ns; /* the scheduler's clock: the end of that time */

	if (!has_queue_times || departure->woken_ns || !clock_ahead_ns)
		return;
	until_ns = TASK_FIELD(task, sched_info.last_queued);
	queued_ns = TASK_FIELD(task, sched_info.run_delay) - departure->queued_ns;
	if (!until_ns && queued_ns)
		until_ns = TASK_FIELD(task, sched_info.last_arrival);
	if (until_ns)
		departure->woken_ns = until_ns + clock_ahead_ns - queued_ns;
}

SEC("iter/task")
int count_thread(struct bpf_iter__task *ctx)
{
	struct wire_off_cpu_state *cpu = get_per_cpu(&states);
	struct task_struct *task = ctx->task;
	struct departure *departure;
	__u64 start;
	__u64 run_ns;
	struct wait wait;

	if (!task || !cpu || !is_target(task))
		return 0;
	departure = find_departure(task);
	/*
	 * It has ended: before the start, or its lifetime is all counted, or it has just not left
	 * its CPU in time.
	 */
	if ((get_state(task) & TASK_DEAD) && (!departure || departure->exit_stage == GONE))
		return 0;
	start = get_life_start(task, departure);
	if (start >= end_ns) /* it started later */
		return 0;
	cpu->counters.lived_ns += end_ns - start;
	if (departure && departure->left_ns) {
		find_last_wakeup(departure, task, cpu->clock_ahead_ns);
		run_ns = get_first_run(task, departure);
		wait = measure_wait(departure, end_ns - run_ns);
		add_wait(&cpu->counters, &wait);
		cpu->counters.cpu_ns += run_ns;
		if (run_ns)
			departure->left_ns = 0; /* it does not wait */
	} else if (departure && departure->resumed_ns) {
		cpu->counters.cpu_ns += end_ns - departure->resumed_ns;
	} else if (is_on_cpu(task)) { /* since before the start */
		cpu->counters.cpu_ns += end_ns - start;
	}
	return 0;
}

/* The length of its wait, beside the thread's data. */
static __always_inline void describe_sleeper(struct wire_sample *sample, struct task_struct *task,
					     const struct departure *departure,
					     const struct wait *wait)
{
	describe_other(sample, task);
	sample->flags |= wait->flag;
	if (departure->origin == ASLEEP_SINCE_START)
		sample->flags |= WIRE_SAMPLE_THROUGHOUT;
	sample->num_periods = wait->num_periods;
	sample->num_queue_periods = wait->num_queue_periods;
	sample->wakeup = departure->woken_ns ? departure->wakeup : WIRE_NOT_WOKEN;
	sample->wait_ns = wait->wait_ns;
	sample->queue_ns = wait->queue_ns;
}

/* Bytes of a stack that starts with all frames of the scheduler. */
#define OUTER_BYTES (sizeof(((struct wire_stack *)0)->pcs) - (MAX_SCHEDULER_FRAMES + 1) * 8)

/*
 * Put the frames that the kernel omits in front of its own, which have been taken. Gives the number
 * of all.
 */
static __always_inline __u32 complete_kernel_stack(struct task_struct *task,
						   struct wire_stack *stack)
{
	struct scheduler_frames *frames = get_scheduler_frames();
	__u64 number = find_scheduler_frames(TASK_KERNEL_SP(task), stack->pcs[0]);
	long size_bytes;

	if (!frames)
		return 0; /* impossible */
	stack->pcs[0] = scheduler_pc;
	/* All of them, as the kernel's own follow those that were found. */
	for (__u32 i = 0; i < MAX_SCHEDULER_FRAMES; i++)
		stack->pcs[1 + i] = frames->pcs[i];
	barrier_var(number); /* the verifier must see the limit */
	if (number > MAX_SCHEDULER_FRAMES)
		number = 0; /* impossible */
	size_bytes = bpf_get_task_stack(task, stack->pcs + 1 + number, OUTER_BYTES, 0);
	return size_bytes <= 0 ? 0 : (__u32)size_bytes / sizeof(stack->pcs[0]) + 1 + number;
}

/* Gives the number of frames. */
static __always_inline __u32 get_kernel_stack(struct task_struct *task, struct wire_stack *stack)
{
	long size_bytes = bpf_get_task_stack(task, stack->pcs, sizeof(stack->pcs), 0);

	if (size_bytes <= 0)
		return 0;
	if (!scheduler_pc)
		return (__u32)size_bytes / sizeof(stack->pcs[0]);
	return complete_kernel_stack(task, stack);
}

/* Whether it was taken. */
static __always_inline bool write_kernel_stack(struct seq_file *seq, struct task_struct *task,
					       struct sleeper *sleeper)
{
	struct wire_stack *stack = &sleeper->stack;
	__u64 num_frames = get_kernel_stack(task, stack);

	if (!num_frames)
		return true;
	stack->hash = hash_stack(num_frames, KERNEL_SEED);
	sleeper->raw.sample.kernel_stack = stack->hash;
	barrier_var(num_frames); /* the verifier must see the limit */
	if (num_frames > WIRE_MAX_FRAMES)
		num_frames = WIRE_MAX_FRAMES;
	stack->type = WIRE_STACK;
	stack->num_frames = num_frames;
	return !bpf_seq_write(seq, stack,
			      sizeof(*stack) - sizeof(stack->pcs) + num_frames * sizeof(__u64));
}

/* Whether all of it was written. */
static __always_inline bool write_sleeper(struct seq_file *seq, struct task_struct *task,
					  const struct departure *departure,
					  const struct wait *wait, bool copies_stack)
{
	struct sleeper *sleeper = get_sleeper();
	bool is_there = is_asleep(get_state(task)); /* else it has gone on since */
	__u64 size;

	if (!sleeper)
		return false; /* impossible */
	describe_sleeper(&sleeper->raw.sample, task, departure, wait);
	if (is_there && take_kernel_stacks && !write_kernel_stack(seq, task, sleeper))
		return false;
	size = is_there ? fill_user_stack(sleeper, task, copies_stack)
			: sizeof(sleeper->raw.sample);
	barrier_var(size); /* the verifier must see the limit */
	if (size > sizeof(sleeper->raw))
		size = sizeof(sleeper->raw);
	return !bpf_seq_write(seq, &sleeper->raw, size);
}

static __always_inline int finish_sleeper(struct bpf_iter__task *ctx, bool copies_stack)
{
	struct wire_off_cpu_state *cpu = get_per_cpu(&states);
	struct task_struct *task = ctx->task;
	struct wire_off_cpu_counters *counter;
	struct departure *departure;
	struct wait wait;

	if (!task || !cpu)
		return 0;
	counter = &cpu->counters;
	departure = find_departure(task);
	if (!departure || !departure->left_ns || departure->left_ns >= end_ns)
		return 0;
	wait = measure_wait(departure, end_ns);
	if (wait.is_left_out) {
		counter->other_waits++;
	} else if (!is_short(&wait)) {
		struct wire_phase phase = departure->phase;
		bool is_sampled = cross_periods(&phase, &wait);

		if (is_sampled &&
		    !write_sleeper(ctx->meta->seq, task, departure, &wait, copies_stack))
			return 0; /* the program runs again for it */
		counter->sends.sent += is_sampled;
		counter->sent_unfinished += is_sampled;
		counter->below_period += !is_sampled;
	} else {
		counter->below_min_block++;
	}
	counter->fired++;
	counter->unfinished++;
	departure->left_ns = 0;
	return 0;
}

/* User space loads one of the two. */
SEC("iter/task")
int send_sleeper(struct bpf_iter__task *ctx)
{
	return finish_sleeper(ctx, false);
}

/* For kernels that let a program sleep which they run for every task (Linux 5.18). */
SEC("iter.s/task")
int send_sleeper_with_stack(struct bpf_iter__task *ctx)
{
	return finish_sleeper(ctx, true);
}
