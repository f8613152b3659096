/*
 * Notes of threads that are off their CPU, and their conversion to waits. The programs that write
 * the notes in different ways share the maps.
 */
#ifndef BPF_DEPARTURE_H
#define BPF_DEPARTURE_H

#include "maps.h"
#include "registers.h"
#include "task.h"
#include "wire/off_cpu.h"

/* Linux include/linux/sched.h: the same in all versions. */
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_DEAD            0x0080
#define TASK_WAKING          0x0200 /* woken, and on its way to a run queue */
#define TASK_NOLOAD          0x0400 /* idle, though no signal may wake it: kernel threads */
#define TASK_NEW             0x0800 /* it has not been started yet */

/* Hash seed that keeps stacks of waits apart from those of ticks, which start elsewhere. */
#define KERNEL_SEED 1

/* Set by user space before it records: the start, CLOCK_MONOTONIC. */
volatile __u64 start_ns = 0;
/* Set by user space before loading. */
const volatile __u64 period_ns = 0;
/* Shorter intervals are ignored, as if they had not happened. */
const volatile __u64 min_block_ns = 0;
/* Waits for anything but a futex are ignored as well. */
const volatile bool only_futexes = false;
/*
 * Notes of a thread are in its task's storage, which the kernel frees with the task; else keyed by
 * tid.
 */
const volatile bool notes_in_tasks = false;
/*
 * The kernel keeps each thread's time in run queues. So the time of a wakeup is
 * known afterwards, and no program runs at wakeups.
 */
const volatile bool has_queue_times = false;

/* Reason for knowing that a thread is off its CPU. */
enum departure_origin {
	DEPARTED,           /* it has left one */
	STARTED,            /* it is new and has not run yet */
	ASLEEP_SINCE_START, /* it was asleep already at the start of the recording */
};

enum exit_stage {
	LIVES,
	EXITS, /* each part of its lifetime is counted from now on */
	GONE,  /* it has left its CPU for the last time */
};

/* A thread's departure from its CPU. */
struct departure {
	__u64 left_ns;    /* CLOCK_MONOTONIC, not before the start; 0: on a CPU, as far as known */
	__u64 woken_ns;   /* 0: not yet, or not yet known */
	__u64 resumed_ns; /* while it is on a CPU: since this time; 0: unknown */
	struct wire_phase phase; /* of its off-CPU time; only with has_phase */
	__u32 flag;              /* enum wire_sample_flag */
	__u8 has_phase;
	__u8 exit_stage;      /* enum exit_stage */
	__u8 origin;          /* enum departure_origin */
	__u8 is_left_out;     /* it waits for something filtered out */
	__u64 wakeup;         /* number of its waker's sample; 0: none */
	__u64 lives_since_ns; /* its lifetime before this is counted; 0: nothing is */
	__u64 queued_ns;      /* in run queues before it left; only with has_queue_times */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct departure);
} departures_of_tasks SEC(".maps");

/* Key: tid. Preallocated: memory must not be allocated inside the scheduler. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WIRE_MAX_TARGETS);
	__type(key, __u32);
	__type(value, struct departure);
} departures_by_tid SEC(".maps");

PER_CPU(struct wire_off_cpu_state, states);

static __always_inline struct departure *find_departure(struct task_struct *task)
{
	__u32 tid;

	if (notes_in_tasks)
		return bpf_task_storage_get(&departures_of_tasks, task, NULL, 0);
	tid = TASK_FIELD(task, pid);
	return bpf_map_lookup_elem(&departures_by_tid, &tid);
}

static __always_inline struct departure *add_departure(struct task_struct *task)
{
	struct departure none = {0};
	__u32 tid;

	if (notes_in_tasks)
		return bpf_task_storage_get(&departures_of_tasks, task, NULL,
					    BPF_LOCAL_STORAGE_GET_F_CREATE);
	tid = TASK_FIELD(task, pid);
	if (bpf_map_update_elem(&departures_by_tid, &tid, &none, BPF_ANY))
		return NULL;
	return bpf_map_lookup_elem(&departures_by_tid, &tid);
}

static __always_inline void forget_departure(struct task_struct *task)
{
	__u32 tid = TASK_FIELD(task, pid);

	if (!notes_in_tasks)
		bpf_map_delete_elem(&departures_by_tid, &tid);
}

/* Since when a thread has lived in the recording, as far as that has not been counted. */
static __always_inline __u64 get_life_start(struct task_struct *task,
					    const struct departure *departure)
{
	__u64 started_ns;

	if (departure && departure->lives_since_ns)
		return departure->lives_since_ns;
	started_ns = TASK_FIELD(task, start_time);
	return started_ns > start_ns ? started_ns : start_ns;
}

/* Count its lifetime up to a time. */
static __always_inline void count_life(struct wire_off_cpu_counters *counter,
				       struct task_struct *task, struct departure *departure,
				       __u64 until_ns)
{
	counter->lived_ns += until_ns - get_life_start(task, departure);
	if (departure)
		departure->lives_since_ns = until_ns;
}

static __always_inline __u32 get_flag(bool is_preempted, __u32 state)
{
	if (is_preempted || !state)
		return WIRE_SAMPLE_PREEMPTED;
	if ((state & TASK_UNINTERRUPTIBLE) && !(state & TASK_NOLOAD))
		return WIRE_SAMPLE_UNINTERRUPTIBLE;
	return WIRE_SAMPLE_BLOCKED;
}

static __always_inline __u64 get_random(void)
{
	return (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
}

static __always_inline void set_phase(struct departure *departure)
{
	__u64 random;

	if (departure->has_phase)
		return;
	random = get_random();
	wire_start_period(&departure->phase, period_ns, &random);
	departure->has_phase = true;
}

/* Set how the thread waits from now on: its registers show the reason. */
static __always_inline void set_flag(struct departure *departure, struct task_struct *task,
				     __u32 flag)
{
	departure->flag = flag;
	departure->is_left_out = only_futexes && !waits_for_futex(task, flag);
}

/* The thread leaves its CPU: note its time in run queues so far. */
static __always_inline void note_queued(struct departure *departure, struct task_struct *task)
{
	if (has_queue_times)
		departure->queued_ns = TASK_FIELD(task, sched_info.run_delay);
}

/*
 * The thread has got a CPU: when was it woken? The wakers' program has noted that, too. The kernel's
 * time is the time in run queues alone: other programs may run between a wakeup and the queue.
 */
static __always_inline void find_wakeup(struct departure *departure, struct task_struct *task,
					__u64 now_ns)
{
	if (has_queue_times && departure->origin != STARTED)
		departure->woken_ns =
			now_ns - (TASK_FIELD(task, sched_info.run_delay) - departure->queued_ns);
}

/* An off-CPU interval, and the part of it that a sample represents. */
struct wait {
	__u64 wait_ns;  /* until it was woken; all of it, if it was preempted */
	__u64 queue_ns; /* from the wakeup on */
	__u64 wakeup;   /* see struct departure */
	__u32 flag;     /* enum wire_sample_flag */
	__u32 num_periods;
	__u32 num_queue_periods;
	bool is_left_out;
};

/* now_ns  when it got a CPU again */
static __always_inline struct wait measure_wait(const struct departure *departure, __u64 now_ns)
{
	__u64 left_ns = departure->left_ns;
	__u64 woken_ns = departure->woken_ns;
	struct wait wait = {
		.flag = departure->flag,
		.wakeup = departure->wakeup,
		.is_left_out = departure->is_left_out,
	};

	/* Clocks of different CPUs may differ a little. */
	if (now_ns < left_ns)
		now_ns = left_ns;
	if (wait.flag == WIRE_SAMPLE_PREEMPTED || !woken_ns || woken_ns > now_ns)
		woken_ns = now_ns;
	if (woken_ns < left_ns)
		woken_ns = left_ns;
	wait.wait_ns = woken_ns - left_ns;
	wait.queue_ns = now_ns - woken_ns;
	return wait;
}

/* Whether a wait is shorter than the limit. */
static __always_inline bool is_short(const struct wait *wait)
{
	return wait->wait_ns + wait->queue_ns < min_block_ns;
}

static __always_inline void add_wait(struct wire_off_cpu_counters *counter, const struct wait *wait)
{
	if (wait->is_left_out) {
		counter->other_waits_ns += wait->wait_ns + wait->queue_ns;
		return;
	}
	if (is_short(wait)) {
		counter->below_min_block_ns += wait->wait_ns + wait->queue_ns;
		return;
	}
	if (wait->flag == WIRE_SAMPLE_PREEMPTED)
		counter->preempted_ns += wait->wait_ns;
	else if (wait->flag == WIRE_SAMPLE_UNINTERRUPTIBLE)
		counter->uninterruptible_ns += wait->wait_ns;
	else
		counter->blocked_ns += wait->wait_ns;
	counter->run_queue_ns += wait->queue_ns;
}

/* Add a wait to the sum of its thread. Returns whether a sample is due for it. */
static __always_inline bool cross_periods(struct wire_phase *phase, struct wait *wait)
{
	__u64 sum_ns = wait->wait_ns + wait->queue_ns;
	struct wire_phase next;
	__u64 random;

	if (sum_ns <= phase->until_ns) { /* most of them: no random number is needed */
		phase->until_ns -= sum_ns;
		return false;
	}
	next = *phase;
	random = get_random();
	wait->num_periods = wire_take_periods(&next, wait->wait_ns, period_ns, &random);
	wait->num_queue_periods = wire_take_periods(&next, wait->queue_ns, period_ns, &random);
	*phase = next;
	return true;
}

#endif
