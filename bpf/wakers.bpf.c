/*
 * The wakers' program: finds the wakers of waits that will be sampled.
 *
 * It runs at every wakeup, in the waker, and replaces the off-CPU program's own handler: it notes
 * when a thread was woken. The thread gets into a run queue after that, so the time is the end of
 * the program. If the wait crosses a period by then, it will be sampled when the thread gets a CPU.
 * In this case the program takes the stacks of the running thread, and stores their number in the
 * note. The wait's sample has the same number: user space joins the two.
 *
 * It is called with the scheduler's lock of the woken thread held, and an interrupt may wake
 * another one meanwhile: the second wakeup is not recorded. If a stack's table is missing, few
 * pages are copied. As the ticks' and the waits' programs may have been interrupted, too, it is a
 * separate object.
 */
/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */
#include "departure.h"
#include "maps.h"
#include "output.h"
#include "own_time.h"
#define MAX_RAW_PAGES WIRE_RAW_FEW_PAGES
#include "take_sample.h"
#include "task.h"
#include "wait_target.h"
#include "wire/off_cpu.h"

char LICENSE[] SEC("license") = "GPL";

/* Set by user space while it records. */
volatile bool is_recording = false;

/*
 * Hash seed that keeps kernel stacks of this program apart from those of ticks and waits, which
 * start elsewhere.
 */
#define WAKER_SEED 2

/* A number has its CPU above the CPU's own counter. */
#define CPU_SHIFT 44

struct taking {
	__u64 count; /* of samples, for their numbers */
	__u32 is_under_way;
};

PER_CPU(struct wire_waker_counters, waker_counters);
PER_CPU(struct taking, takings);

/*
 * The running thread, as our pid namespace numbers it: 0 on an idle CPU. Returns false if the
 * namespace does not show it.
 */
static __always_inline bool find_thread(__u64 *ret)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	*ret = (__u32)pid_tgid ? get_visible_pid_tgid(pid_tgid) : 0;
	return *ret || !(__u32)pid_tgid;
}

/* A waker outside of the target has only a name: its process is not followed. */
static __always_inline bool has_user_stack(__u64 pid_tgid)
{
	if (!pid_tgid)
		return false;
	return (!is_filtered && !is_of_cgroup) || is_target((__u32)bpf_get_current_pid_tgid());
}

/* Send the stacks of the thread that runs. Gives the sample's number, or 0. */
static __always_inline __u64 send_waker(void *ctx, struct scratch *scratch,
					struct wire_waker_counters *counter, __u64 number)
{
	struct wire_sample *sample = &scratch->sample;
	__u64 pid_tgid;

	if (!find_thread(&pid_tgid)) {
		counter->hidden++;
		return 0;
	}
	describe_task(scratch, pid_tgid, false);
	sample->flags |= WIRE_SAMPLE_WAKER;
	if (!has_user_stack(pid_tgid))
		sample->flags |= WIRE_SAMPLE_NO_USER_MEMORY;
	sample->wakeup = number;
	/* Even if no kernel stacks are recorded: they show whether it was an interrupt. */
	if (take_stacks(ctx, scratch, true, WAKER_SEED) != SEND_DONE || send_sample()) {
		counter->lost_ring++;
		return 0;
	}
	counter->sent++;
	return number;
}

static __always_inline __u64 take_waker(void *ctx)
{
	struct wire_waker_counters *counter = get_per_cpu(&waker_counters);
	struct taking *taking = get_per_cpu(&takings);
	struct scratch *scratch = get_scratch();
	__u64 number;

	if (!counter || !taking || !scratch)
		return 0; /* impossible */
	if (taking->is_under_way) {
		counter->lost_nested++;
		return 0;
	}
	taking->is_under_way = true;
	barrier();
	taking->count++;
	number = send_waker(ctx, scratch, counter,
			    ((__u64)bpf_get_smp_processor_id() + 1) << CPU_SHIFT | taking->count);
	barrier();
	taking->is_under_way = false;
	return number;
}

/* Threads that are not targets have no notes. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_woken_by, struct task_struct *task)
{
	COUNT_OWN_TIME;
	struct departure *departure = is_recording ? find_departure(task) : NULL;
	__u64 waited_ns;
	__u64 now_ns;

	if (!departure || !departure->left_ns || departure->woken_ns)
		return 0;
	now_ns = bpf_ktime_get_ns();
	/* Clocks of different CPUs may differ a little. */
	waited_ns = now_ns > departure->left_ns ? now_ns - departure->left_ns : 0;
	if (departure->flag != WIRE_SAMPLE_PREEMPTED && !departure->is_left_out &&
	    waited_ns > departure->phase.until_ns)
		departure->wakeup = take_waker(ctx);
	/*
	 * The thread is not in a run queue before this program ends. Taking the sample delays its
	 * wakeup, so it belongs to the wait.
	 */
	departure->woken_ns = bpf_ktime_get_ns();
	return 0;
}
