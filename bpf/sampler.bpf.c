/*
 * The sampling program: runs at every tick of a perf event, takes the stacks of the thread that the
 * tick interrupted, and sends them. Every run of the program ends in exactly one counter.
 */
/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */
#include "maps.h"
#include "output.h"
#include "running.h"
#include "stack_area.h"
#include "target_filter.h"
#include "task.h"
#include "user_walk.h"
#include "wire/wire.h"

char LICENSE[] SEC("license") = "GPL";

/* Scheduling is recorded, too: ticks prove what runs. */
const volatile bool tracks_running = false;

/* Walk by unwind tables; else the kernel follows frame pointers. */
const volatile bool walks_by_table = true;

/*
 * Tables are for 64-bit code; the kernel knows how to follow frame pointers of 32-bit code. Whether it
 * has them, user space finds out.
 */
static __always_inline __u32 get_user_stack(struct bpf_perf_event_data *ctx,
					    struct scratch *scratch)
{
	bool is_32_bit = REGISTERS_ARE_32_BIT(&scratch->registers);

	if (walks_by_table && !is_32_bit)
		return walk_user_stack();
	scratch->sample.walk_end = is_32_bit ? WALK_32_BIT : WALK_FP_CHAIN;
	return get_stack(ctx, &scratch->stack, BPF_F_USER_STACK);
}

/* Send the scratch sample, with its raw stack where the walk missed a table. Returns 0 or less. */
__attribute__((noinline)) int send_sample(void)
{
	struct scratch *scratch = get_scratch();
	void *ring = get_ring();
	struct wire_raw_sample *raw;
	__u64 full_quarters;
	__u64 size;

	if (!scratch || !ring)
		return -1;
	full_quarters = get_full_quarters(ring);
	if (!is_recoverable(scratch->sample.walk_end) || full_quarters >= 2 ||
	    !may_send_raw(scratch->sample.time_ns))
		return send(ring, &scratch->sample, sizeof(scratch->sample));
	size = fill_raw_sample(full_quarters ? WIRE_RAW_FEW_PAGES : WIRE_RAW_PAGES);
	raw = get_raw_sample();
	barrier_var(size); /* the verifier must see the limits */
	if (!raw || size < sizeof(*raw) - sizeof(raw->bytes))
		return send(ring, &scratch->sample, sizeof(scratch->sample));
	if (size > sizeof(*raw))
		size = sizeof(*raw);
	raw->sample = scratch->sample;
	raw->sample.type = WIRE_RAW_SAMPLE;
	/* Perhaps something was mapped that user space has not read yet. */
	if (is_filtered)
		return bpf_ringbuf_output(ring, raw, size, BPF_RB_FORCE_WAKEUP);
	return send(ring, raw, size);
}

/* Begin the scratch sample with what comes from the task, and read its registers. */
static __always_inline void describe_task(struct scratch *scratch, __u64 pid_tgid,
					  bool in_user_mode)
{
	struct task_struct *task = get_current_task();
	struct wire_sample *sample = &scratch->sample;

	begin_sample(sample, pid_tgid, in_user_mode);
	if (bpf_core_field_exists(task->self_exec_id))
		sample->generation = TASK_FIELD(task, self_exec_id);
	if (bpf_core_field_exists(task->in_execve) && is_in_execve(task))
		sample->flags |= WIRE_SAMPLE_IN_EXEC;
	if (!TASK_FIELD(task, mm) || (TASK_FIELD(task, flags) & PF_KTHREAD)) {
		sample->flags |= WIRE_SAMPLE_NO_USER_MEMORY;
	} else {
		read_registers(scratch, task);
		sample->user_sp = scratch->registers.sp;
	}
}

/* Send what the tick has seen, and count what became of it. */
static __always_inline void take_sample(struct bpf_perf_event_data *ctx, struct scratch *scratch,
					struct wire_counters *counter, __u64 pid_tgid,
					bool takes_areas)
{
	bool in_user_mode = REGISTERS_IN_USER_MODE(ctx->regs);
	struct wire_sample *sample = &scratch->sample;
	bool is_stack_lost = false;
	__u32 num_frames;

	describe_task(scratch, pid_tgid, in_user_mode);
	if (takes_areas)
		send_stack_area(sample);
	if (take_kernel_stacks && !in_user_mode) {
		num_frames = get_stack(ctx, &scratch->stack, 0);
		if (num_frames)
			sample->kernel_stack = send_stack(num_frames, 0);
		is_stack_lost = num_frames && !sample->kernel_stack;
	}
	if (!is_stack_lost && take_user_stacks && !(sample->flags & WIRE_SAMPLE_NO_USER_MEMORY)) {
		num_frames = get_user_stack(ctx, scratch);
		if (num_frames)
			sample->user_stack = send_stack(num_frames, BPF_F_USER_STACK);
		is_stack_lost = num_frames && !sample->user_stack;
	}
	if (is_stack_lost)
		counter->lost_ring_stack++;
	else if (send_sample())
		counter->lost_ring_sample++;
	else
		counter->sent++;
}

/*
 * The processes that are published, kept in step at once: user space hears of these events a moment
 * later.
 */
static __always_inline void publish_fork(__u32 parent_pid, __u32 child_pid)
{
	struct unwind_process *process;

	if (parent_pid == child_pid || pid_namespace_inode)
		return;
	process = bpf_map_lookup_elem(&unwind_processes, &parent_pid);
	if (process)
		bpf_map_update_elem(&unwind_processes, &child_pid, process, BPF_ANY);
}

/* When the thread started, as the filter keeps it. */
static __always_inline __u32 get_start(const struct task_struct *task)
{
	return (__u32)(task->start_time >> 10) << WIRE_TARGET_BITS;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	follow_fork(parent->pid, child->pid, get_start(child), parent->tgid != child->tgid);
	publish_fork(parent->tgid, child->tgid);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_tid)
{
	__u32 pid = task->tgid;

	follow_exec(old_tid, task->pid, get_start(task));
	if (!pid_namespace_inode)
		bpf_map_delete_elem(&unwind_processes, &pid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u32 pid = task->tgid;

	follow_exit(task->pid, get_start(task));
	if (!pid_namespace_inode && task->pid == task->tgid)
		bpf_map_delete_elem(&unwind_processes, &pid);
	return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	follow_free(task->pid, get_start(task));
	return 0;
}

static __always_inline int handle_tick(struct bpf_perf_event_data *ctx, bool takes_areas)
{
	struct wire_counters *counter = get_per_cpu(&counters);
	struct scratch *scratch = get_scratch();
	__u64 pid_tgid;

	if (!counter || !scratch)
		return 0; /* cannot be */
	if (tracks_running)
		see_running();
	pid_tgid = begin_tick(counter);
	if (pid_tgid)
		take_sample(ctx, scratch, counter, pid_tgid, takes_areas);
	return 0;
}

/* User space loads one of the two. */
SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	return handle_tick(ctx, false);
}

/* Sends the memory that stacks lie in, too: for kernels with bpf_find_vma() (Linux 5.17). */
SEC("perf_event")
int on_tick_with_areas(struct bpf_perf_event_data *ctx)
{
	return handle_tick(ctx, true);
}
