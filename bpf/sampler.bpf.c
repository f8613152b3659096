/*
 * The sampling program: runs at every tick of a perf event, takes the stacks of the thread that the
 * tick interrupted, and sends them.
 *
 * A stack is sent once per CPU and then known by its 64-bit content hash; a direct-mapped cache
 * per CPU remembers what was sent. An evicted stack is simply sent again, so there is no
 * table that can be full. Every run of the program ends in exactly one counter.
 */
/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */
#include "wire/wire.h"

char LICENSE[] SEC("license") = "GPL";

/* Set by user space before loading. */
const volatile bool take_user_stacks = true;
const volatile bool take_kernel_stacks = true;

/* The pid namespace that we count processes in; inode 0: the first one. */
const volatile __u64 pid_namespace_dev = 0;
const volatile __u64 pid_namespace_inode = 0;

struct stack_cache {
	__u64 hashes[WIRE_STACK_CACHE_SLOTS];
};

/* One ring for every WIRE_CPUS_PER_RING CPUs; user space sizes both before loading. */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_counters);
} counters SEC(".maps");

/*
 * The running thread, pid in the upper half, as our pid namespace counts. 0 when the namespace does
 * not show it.
 */
static __always_inline __u64 get_visible_pid_tgid(__u64 pid_tgid)
{
	struct bpf_pidns_info in_namespace;

	if (!pid_namespace_inode)
		return pid_tgid;
	if (bpf_get_ns_current_pid_tgid(pid_namespace_dev, pid_namespace_inode, &in_namespace,
					sizeof(in_namespace)))
		return 0;
	return (__u64)in_namespace.tgid << 32 | in_namespace.pid;
}

#include "wanted.h"

/* Walk by unwind tables; else the kernel follows frame pointers. */
const volatile bool walks_by_table = true;

#include "user_walk.h"

/* Key: CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_cache);
} sent_stacks SEC(".maps");

static __always_inline __u64 hash_pcs(const struct wire_stack *stack, __u32 num_frames, __u64 seed)
{
	__u64 hash = seed;

	for (__u32 i = 0; i < WIRE_MAX_FRAMES; i++) {
		if (i >= num_frames)
			break;
		hash = (hash ^ stack->pcs[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return hash | 1;
}

/* How full the ring is, in quarters: 0 to 3. */
static __always_inline __u64 get_full_quarters(void *ring)
{
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) * 4 /
	       bpf_ringbuf_query(ring, BPF_RB_RING_SIZE);
}

static __always_inline long send(void *ring, void *record, __u64 size)
{
	return bpf_ringbuf_output(ring, record, size,
				  get_full_quarters(ring) ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

#include "stack_area.h"

/*
 * Take the kernel or the user stack and send it if this CPU has not sent it lately.
 * Gives its hash, 0 when there is no stack. Returns 0, or -1 when the ring had no room.
 */
static __always_inline long send_stack(struct bpf_perf_event_data *ctx, void *ring,
				       struct stack_cache *cache, __u64 flags,
				       struct wire_sample *sample, __u64 *ret_hash)
{
	__u32 zero = 0;
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &zero);
	struct wire_stack *stack;
	long size_bytes;
	__u32 num_frames;
	__u32 end = 0;
	__u64 *slot;

	if (!scratch)
		return 0;
	stack = &scratch->stack;
	if (flags && walks_by_table && !runs_32_bit_code()) {
		num_frames = walk_user_stack(scratch, sample->pid, sample->generation, &end);
		sample->walk_end = end;
		if (!num_frames)
			return 0;
	} else {
		size_bytes = bpf_get_stack(ctx, stack->pcs, sizeof(stack->pcs), flags);
		if (size_bytes <= 0)
			return 0;
		num_frames = (__u32)size_bytes / sizeof(stack->pcs[0]);
		if (flags)
			sample->walk_end = WALK_FP_CHAIN;
	}
	if (num_frames > WIRE_MAX_FRAMES)
		num_frames = WIRE_MAX_FRAMES;
	*ret_hash = hash_pcs(stack, num_frames, flags);
	slot = &cache->hashes[*ret_hash >> 32 & (WIRE_STACK_CACHE_SLOTS - 1)];
	if (*slot == *ret_hash)
		return 0;
	stack->type = WIRE_STACK;
	stack->num_frames = num_frames;
	stack->hash = *ret_hash;
	if (send(ring, stack, sizeof(*stack) - sizeof(stack->pcs) + num_frames * sizeof(__u64)))
		return -1;
	*slot = *ret_hash;
	return 0;
}

/* A sample, with its raw stack where the walk missed a table. */
static __always_inline long send_sample(void *ring, struct wire_sample *sample)
{
	__u64 full_quarters = get_full_quarters(ring);
	__u32 cpu = bpf_get_smp_processor_id();
	struct wire_raw_sample *raw;
	__u32 size;

	if (!is_recoverable(sample->walk_end) || full_quarters >= 2 ||
	    !may_send_raw(sample->time_ns))
		return send(ring, sample, sizeof(*sample));
	raw = bpf_map_lookup_elem(&raw_samples, &cpu);
	size = raw ? fill_raw_sample(raw, full_quarters ? WIRE_RAW_FEW_PAGES : WIRE_RAW_PAGES) : 0;
	if (!size)
		return send(ring, sample, sizeof(*sample));
	raw->sample = *sample;
	raw->sample.type = WIRE_RAW_SAMPLE;
	return send(ring, raw, size);
}

/* The parts of a sample that come from the task. */
static __always_inline void describe_task(struct wire_sample *sample, bool in_user_mode)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	sample->flags = in_user_mode ? 0 : WIRE_SAMPLE_IN_KERNEL;
	sample->generation = WIRE_GENERATION_UNKNOWN;
	if (bpf_core_field_exists(task->self_exec_id))
		sample->generation = task->self_exec_id;
	if (bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD(task, in_execve))
		sample->flags |= WIRE_SAMPLE_IN_EXEC;
	if (!task->mm || (task->flags & PF_KTHREAD)) {
		sample->flags |= WIRE_SAMPLE_NO_USER_MEMORY;
	} else {
		struct pt_regs *registers = (void *)bpf_task_pt_regs((void *)task);

		sample->user_sp = registers->sp;
	}
	bpf_get_current_comm(sample->comm, sizeof(sample->comm));
}

static __always_inline void take_sample(struct bpf_perf_event_data *ctx, void *ring,
					struct stack_cache *cache, struct wire_counters *counter,
					__u64 pid_tgid)
{
	bool in_user_mode = REGISTERS_IN_USER_MODE(ctx->regs);
	struct wire_sample sample = {
		.type = WIRE_SAMPLE,
		.pid = pid_tgid >> 32,
		.tid = (__u32)pid_tgid,
		.cpu = bpf_get_smp_processor_id(),
		.time_ns = bpf_ktime_get_boot_ns(),
	};
	long err = 0;

	describe_task(&sample, in_user_mode);
	if (take_stack_areas)
		send_stack_area(ring, &sample);
	if (take_kernel_stacks && !in_user_mode)
		err = send_stack(ctx, ring, cache, 0, &sample, &sample.kernel_stack);
	if (!err && take_user_stacks && !(sample.flags & WIRE_SAMPLE_NO_USER_MEMORY))
		err = send_stack(ctx, ring, cache, BPF_F_USER_STACK, &sample, &sample.user_stack);
	if (err)
		counter->lost_ring_stack++;
	else if (send_sample(ring, &sample))
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

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	follow_fork(parent, child);
	publish_fork(parent->tgid, child->tgid);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_tid)
{
	__u32 pid = task->tgid;

	follow_exec(old_tid, task);
	if (!pid_namespace_inode)
		bpf_map_delete_elem(&unwind_processes, &pid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u32 pid = task->tgid;

	follow_exit(task);
	if (!pid_namespace_inode && task->pid == task->tgid)
		bpf_map_delete_elem(&unwind_processes, &pid);
	return 0;
}

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 cpu = bpf_get_smp_processor_id();
	__u32 ring_number = cpu / WIRE_CPUS_PER_RING;
	__u32 zero = 0;
	struct wire_counters *counter = bpf_map_lookup_elem(&counters, &zero);
	struct stack_cache *cache = bpf_map_lookup_elem(&sent_stacks, &cpu);
	void *ring = bpf_map_lookup_elem(&rings, &ring_number);
	bool is_wanted;

	if (!counter || !cache || !ring)
		return 0; /* cannot be: the maps are sized for every possible CPU */
	counter->fired++;
	if ((__u32)pid_tgid == 0) {
		counter->idle++;
		return 0;
	}
	is_wanted = !is_filtered || get_wanted_of_current((__u32)pid_tgid) == WIRE_WANTED;
	pid_tgid = get_visible_pid_tgid(pid_tgid);
	if (!is_wanted || !pid_tgid)
		counter->filtered++;
	else
		take_sample(ctx, ring, cache, counter, pid_tgid);
	return 0;
}
