/*
 * The off-CPU program: how long threads wait, for what, and where.
 *
 *	sched_switch   a thread leaves its CPU: note when, and how
 *	sched_waking   it is woken: from now on it waits for a CPU and nothing else; so does a new
 *	               thread from sched_wakeup_new on. If the kernel keeps the time of each thread
 *	               in run queues, that is read at the switch-in instead.
 *	switch-in      it has got one: the wait is added to the thread's sum. Each period of the sum
 *	               has a point at a random place. Only if the wait has a point is a sample taken,
 *	               which represents as many periods as there are points in it
 *
 * If only waits for futexes are recorded (--locks), the kind of wait is read from a thread's
 * registers when it leaves its CPU. So neither its wakeup nor its sum includes ignored waits.
 *
 * The CPU time of threads is summed as well, and separately their lifetimes. All sums are exact, so
 * the parts add up to the whole, except for waits whose start was not seen.
 *
 * Machines switch threads a hundred thousand times a second, so most switches may only cost that
 * addition. The sample is taken in the resumed thread, with its memory, by the same walk as for
 * ticks. Ticks and wakeups may interrupt it, but no other thread can run on the CPU meanwhile. So a
 * scratch area for each CPU is enough, separate from that of the ticks. Therefore this is a
 * separate object: it shares the sampling program's tables, filter and rings, and nothing else.
 *
 * The hook at switch-in differs between kernels, as do the arguments of sched_switch; user space
 * detects both, and loads one program of each kind.
 *
 * A wakeup may happen between a thread's decision to sleep and its departure, before there is a
 * note of it: the thread's state shows that.
 */
/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */
#include "wire/off_cpu.h"
#include "departure.h"
#include "maps.h"
#include "output.h"
#include "own_time.h"
#include "take_sample.h"
#include "task.h"
#include "wait_target.h"

char LICENSE[] SEC("license") = "GPL";

/* Set by user space while it records. */
volatile bool is_recording = false;
/* The target is a command, and executes its program. */
volatile bool has_command_started = false;

/* Whether our pid namespace has the running thread. */
static __always_inline bool is_visible(void)
{
	return !pid_namespace_inode || get_visible_pid_tgid(bpf_get_current_pid_tgid());
}

/*
 * resumed_ns  when the thread got its CPU
 * is_first    it had not run before: it has no stack, and its time is now
 */
static __always_inline void take_sample(void *ctx, struct wire_off_cpu_counters *counter,
					const struct wait *wait, __u64 resumed_ns, bool is_first)
{
	__u64 pid_tgid = get_visible_pid_tgid(bpf_get_current_pid_tgid());
	struct scratch *scratch = get_scratch();
	/*
	 * Read the clock first: an interrupt from now on may make the time later, but not earlier
	 * than it was.
	 */
	__u64 runs_ns = bpf_ktime_get_ns() - resumed_ns;
	enum send_result result;
	struct wire_sample *sample;

	if (!scratch)
		return; /* impossible */
	sample = &scratch->sample;
	describe_task(scratch, pid_tgid, false);
	sample->flags |= wait->flag;
	sample->wakeup = wait->wakeup;
	sample->num_periods = wait->num_periods;
	sample->num_queue_periods = wait->num_queue_periods;
	if (wait->flag != WIRE_SAMPLE_PREEMPTED && !(sample->flags & WIRE_SAMPLE_NO_USER_MEMORY))
		sample->futex = get_futex(get_current_task(), &scratch->registers);
	if (is_first) {
		sample->flags |= WIRE_SAMPLE_NO_USER_MEMORY;
		result = send_sample() ? SEND_LOST_SAMPLE : SEND_DONE;
	} else {
		sample->time_ns -= runs_ns;
		sample->wait_ns = wait->wait_ns;
		sample->queue_ns = wait->queue_ns;
		result = send_stacks(ctx, scratch, take_kernel_stacks, KERNEL_SEED);
	}
	count_send(&counter->sends, result);
}

/* The running thread has got its CPU at that time. */
static __always_inline void finish_wait(void *ctx, struct wire_off_cpu_counters *counter,
					struct departure *departure, __u64 now_ns, bool is_first)
{
	struct wait wait = measure_wait(departure, now_ns);

	departure->left_ns = 0;
	departure->resumed_ns = now_ns;
	add_wait(counter, &wait);
	if (wait.is_left_out)
		counter->other_waits++;
	else if (is_short(&wait))
		counter->below_min_block++;
	else if (cross_periods(&departure->phase, &wait))
		take_sample(ctx, counter, &wait, now_ns, is_first);
	else
		counter->below_period++;
}

/* The running thread leaves its CPU. */
static __always_inline int depart(void *ctx, bool is_preempted, struct task_struct *task,
				  __u32 state)
{
	struct wire_off_cpu_state *cpu = get_per_cpu(&states);
	__u32 tid = TASK_FIELD(task, pid);
	bool is_gone = !is_preempted && (state & TASK_DEAD);
	struct departure *departure;
	__u64 resumed_ns;

	if (!is_recording || !cpu)
		return 0;
	resumed_ns = cpu->switched_ns ? cpu->switched_ns : start_ns;
	cpu->switched_ns = bpf_ktime_get_ns();
	if (!tid || !is_target(tid))
		return 0;
	if (is_visible())
		cpu->counters.cpu_ns += cpu->switched_ns - resumed_ns;
	departure = find_departure(task);
	if (departure && departure->left_ns && departure->origin == STARTED && is_visible()) {
		cpu->counters.fired++;
		finish_wait(ctx, &cpu->counters, departure, resumed_ns, true);
	}
	if (is_gone || (departure && departure->exit_stage == EXITS))
		count_life(&cpu->counters, task, departure, cpu->switched_ns);
	if (is_gone) {
		if (departure)
			departure->exit_stage = GONE;
		forget_departure(task);
		return 0;
	}
	if (!departure)
		departure = add_departure(task);
	if (!departure) {
		cpu->counters.unnoted++;
		return 0;
	}
	set_phase(departure);
	departure->origin = DEPARTED;
	set_flag(departure, task, get_flag(is_preempted, state));
	departure->wakeup = 0;
	departure->woken_ns =
		!is_preempted && get_state(task) == TASK_WAKING ? cpu->switched_ns : 0;
	departure->left_ns = cpu->switched_ns;
	note_queued(departure, task);
	return 0;
}

/* The tracepoint's arguments have changed twice; see schedule.bpf.c. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_depart, bool is_preempted, struct task_struct *previous, struct task_struct *next)
{
	COUNT_OWN_TIME;

	return depart(ctx, is_preempted, previous, get_state(previous));
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_depart_state_last, bool is_preempted, struct task_struct *previous,
	     struct task_struct *next, unsigned int state)
{
	COUNT_OWN_TIME;

	return depart(ctx, is_preempted, previous, state);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_depart_state_second, bool is_preempted, unsigned int state,
	     struct task_struct *previous, struct task_struct *next)
{
	COUNT_OWN_TIME;

	return depart(ctx, is_preempted, previous, state);
}

/*
 * A new thread waits for its first CPU. sched_exit_tp does not report when it gets one, as the
 * thread does not return from the scheduler. It is noticed when the thread leaves that CPU.
 */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_started, struct task_struct *task)
{
	COUNT_OWN_TIME;
	struct wire_off_cpu_state *cpu = get_per_cpu(&states);
	struct departure *departure;

	if (!is_recording || !cpu || !is_new_target(TASK_FIELD(task, pid)))
		return 0;
	departure = add_departure(task);
	if (!departure) {
		cpu->counters.unnoted++;
		return 0;
	}
	set_phase(departure);
	departure->origin = STARTED;
	departure->flag = WIRE_SAMPLE_BLOCKED;
	departure->is_left_out = only_futexes; /* it has not even started */
	departure->wakeup = 0;
	departure->lives_since_ns = departure->left_ns = departure->woken_ns = bpf_ktime_get_ns();
	return 0;
}

/*
 * The target is a command: the recording starts when it executes its program. Nothing else is in
 * the filter before that.
 */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_command, struct task_struct *task)
{
	COUNT_OWN_TIME;
	struct wire_off_cpu_state *cpu = get_per_cpu(&states);

	if (!is_recording || has_command_started || !cpu ||
	    !get_target_state_of_current(TASK_FIELD(task, pid)))
		return 0;
	has_command_started = true;
	start_ns = cpu->switched_ns = bpf_ktime_get_ns();
	return 0;
}

/*
 * A thread ends. When it leaves its CPU for the last time, a waiter may have stopped the recording
 * already, and no list has the thread any more. So its lifetime is counted here, and the rest of it
 * at each switch, like its parts.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	COUNT_OWN_TIME;
	struct wire_off_cpu_state *cpu = get_per_cpu(&states);
	struct departure *departure;
	__u64 now_ns;

	if (!is_recording || !cpu || !is_target(TASK_FIELD(task, pid)))
		return 0;
	departure = find_departure(task);
	if (!departure)
		departure = add_departure(task);
	if (!departure)
		return 0; /* all of it is counted there */
	now_ns = bpf_ktime_get_ns();
	/* The thread may be preempted here, and others count on this CPU, too. */
	__sync_fetch_and_add(&cpu->counters.lived_ns, now_ns - get_life_start(task, departure));
	departure->lives_since_ns = now_ns;
	departure->exit_stage = EXITS;
	return 0;
}

/*
 * For kernels that do not keep the time of threads in run queues. Threads that are not targets have
 * no notes.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_woken, struct task_struct *task)
{
	COUNT_OWN_TIME;
	struct departure *departure = is_recording ? find_departure(task) : NULL;

	if (departure && departure->left_ns && !departure->woken_ns)
		departure->woken_ns = bpf_ktime_get_ns();
	return 0;
}

/* The running thread has just got its CPU. */
static __always_inline int resume(void *ctx)
{
	struct task_struct *task = get_current_task();
	struct wire_off_cpu_state *cpu = get_per_cpu(&states);
	__u32 tid = TASK_FIELD(task, pid);
	struct wire_off_cpu_counters *counter;
	struct departure *departure;

	if (!is_recording || !tid || !cpu)
		return 0;
	if (has_queue_times && cpu->switched_ns)
		cpu->clock_ahead_ns = cpu->switched_ns - TASK_FIELD(task, sched_info.last_arrival);
	counter = &cpu->counters;
	counter->fired++;
	if (!is_target(tid) || !is_visible()) {
		counter->filtered++;
		return 0;
	}
	departure = find_departure(task);
	if (!departure || !departure->left_ns) {
		counter->unseen_begin++;
		return 0;
	}
	if (departure->exit_stage == EXITS)
		count_life(counter, task, departure, cpu->switched_ns);
	find_wakeup(departure, task, cpu->switched_ns);
	finish_wait(ctx, counter, departure, cpu->switched_ns, departure->origin == STARTED);
	return 0;
}

/* At the end of the scheduler, with its locks released: the cheapest hook. */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(on_resume, bool is_switch)
{
	COUNT_OWN_TIME;

	return is_switch ? resume(ctx) : 0;
}

/* For kernels without that tracepoint. Both are met inside the scheduler. */
SEC("fentry/finish_task_switch")
int BPF_PROG(on_resume_entry, struct task_struct *previous)
{
	COUNT_OWN_TIME;

	return resume(ctx);
}

SEC("kprobe/finish_task_switch")
int on_resume_probe(void *ctx)
{
	COUNT_OWN_TIME;

	return resume(ctx);
}
