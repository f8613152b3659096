/*
 * The scheduling program: emits the thread that each CPU switches to, the state of the previous
 * one, and wakeups with their wakers.
 *
 * Events are collected per CPU and sent a batch at a time: a machine may have hundreds of thousands
 * of them a second. Both tracepoints are hit with interrupts off, except when a thread wakes
 * itself; wakeups by an interrupt meanwhile are counted and dropped.
 *
 * With is_filtered, only target threads and those next to them are reported. After a target thread
 * the CPU's next one is reported, with its true end. So is a thread that wakes a target, from that
 * moment on. The rest looks as if the CPU were idle.
 *
 * A switch without an event is noticed when a thread that was not the last one to get the CPU
 * leaves it, or wakes another one there: running.h. Then the program emits the times until which
 * the last one, and since which the other one, was seen to run.
 */
/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */
#include "wire/schedule.h"
#include "maps.h"
#include "own_time.h"
#include "running.h"
#include "task.h"

char LICENSE[] SEC("license") = "GPL";

PER_CPU(struct wire_schedule_cpu, cpus);

PER_CPU(struct wire_schedule_counters, counters);

struct emitted_name {
	__u32 tid;
	__u32 generation;
	__u64 halves[2];
};

/* Key: tid modulo WIRE_SCHEDULE_NAMES. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WIRE_SCHEDULE_NAMES);
	__type(key, __u32);
	__type(value, struct emitted_name);
} names SEC(".maps");

/* The thread may be the running one, see task.h. */
static __always_inline __u32 get_tid(struct task_struct *task)
{
	return TASK_FIELD(task, pid);
}

/* Working data of a program run. */
struct run {
	struct wire_schedule_cpu *cpu;
	struct wire_schedule_running *running;
	struct wire_schedule_counters *counters;
};

static __always_inline bool is_target(__u64 tid)
{
	return !is_filtered || get_target_state(tid) == WIRE_TARGET;
}

/* False where this CPU is adding an event already. */
static __always_inline bool start_run(struct run *run)
{
	run->cpu = get_per_cpu(&cpus);
	run->running = get_per_cpu(&running_threads);
	run->counters = get_per_cpu(&counters);
	if (!run->cpu || !run->running || !run->counters)
		return false; /* impossible */
	if (run->cpu->is_busy)
		return false;
	run->cpu->is_busy = true;
	barrier();
	return true;
}

static __always_inline void end_run(struct run *run)
{
	barrier();
	run->cpu->has_started = true;
	run->cpu->is_busy = false;
}

static __always_inline void send_batch(struct run *run)
{
	struct wire_schedule *batch = &run->cpu->batch;
	void *ring = get_ring();
	__u64 num_slots = batch->num_slots;

	if (num_slots > WIRE_SCHEDULE_SLOTS)
		num_slots = WIRE_SCHEDULE_SLOTS;
	if (!ring ||
	    send(ring, batch,
		 sizeof(*batch) - sizeof(batch->slots) + num_slots * sizeof(batch->slots[0]))) {
		run->counters->lost_ring_switches += batch->num_switches;
		run->counters->lost_ring_wakeups += batch->num_wakeups;
		run->cpu->name_generation++;
	}
	batch->number++;
	batch->num_slots = 0;
}

/* The next slot. NULL cannot be: make_room() was called. */
static __always_inline union wire_schedule_slot *take_slot(struct run *run)
{
	struct wire_schedule *batch = &run->cpu->batch;
	__u32 index = batch->num_slots;

	if (index >= WIRE_SCHEDULE_SLOTS)
		return NULL;
	batch->num_slots = index + 1;
	return &batch->slots[index];
}

static __always_inline void read_name(struct task_struct *task, __u64 *first, __u64 *second)
{
	__u64 halves[2] = {0};

	if (HAS_HELPER(get_current_task_btf)) {
		*first = ((const __u64 *)task->comm)[0];
		*second = ((const __u64 *)task->comm)[1];
		return;
	}
	(void)bpf_core_read(halves, sizeof(halves), &task->comm);
	*first = halves[0];
	*second = halves[1];
}

/* Tell a thread's name and pid, unless this CPU has lately and need not again. Idle needs none. */
static __always_inline void emit_name(struct run *run, struct task_struct *task, bool again)
{
	__u32 tid = get_tid(task);
	__u32 place = tid % WIRE_SCHEDULE_NAMES;
	struct emitted_name *emitted = bpf_map_lookup_elem(&names, &place);
	union wire_schedule_slot *slot;
	__u64 *text;
	__u64 first;
	__u64 second;

	read_name(task, &first, &second);
	if (!tid || !emitted ||
	    (!again && emitted->tid == tid && emitted->generation == run->cpu->name_generation &&
	     emitted->halves[0] == first && emitted->halves[1] == second))
		return;
	emitted->tid = tid;
	emitted->generation = run->cpu->name_generation;
	emitted->halves[0] = first;
	emitted->halves[1] = second;
	slot = take_slot(run);
	if (!slot)
		return;
	slot->event = (struct wire_schedule_event){
		.time_ns = TASK_FIELD(task, tgid),
		.tid = tid,
		.kind = WIRE_SCHEDULE_NAME,
	};
	slot = take_slot(run);
	if (!slot)
		return;
	text = (__u64 *)slot->name;
	text[0] = first;
	text[1] = second;
}

/* NULL: no target. */
static __always_inline void set_running(struct run *run, __u64 time_ns, struct task_struct *task,
					__u32 num_leaves)
{
	run->running->tid = task ? get_tid(task) : 0;
	run->running->num_leaves = task ? num_leaves : 0;
	run->running->seen_ns = time_ns;
	run->running->other_since_ns = 0;
}

/*
 * Make room for the output of one program run: three names, an event of two slots and another.
 * `task` is the running thread, num_leaves the number of times that it had left a CPU before.
 */
static __always_inline void make_room(struct run *run, __u64 time_ns, struct task_struct *task,
				      __u32 num_leaves)
{
	struct wire_schedule *batch = &run->cpu->batch;

	if (batch->num_slots > WIRE_SCHEDULE_SLOTS - 9)
		send_batch(run);
	if (batch->num_slots)
		return;
	if (!run->cpu->has_started && is_target(get_tid(task)))
		set_running(run, time_ns, task, num_leaves);
	if (!run->cpu->name_generation)
		run->cpu->name_generation = 1; /* places that were never used have 0 */
	batch->type = WIRE_SCHEDULE;
	batch->tid = run->running->tid;
	batch->cpu = bpf_get_smp_processor_id();
	batch->num_switches = batch->num_wakeups = 0;
	if (run->running->tid == get_tid(task))
		emit_name(run, task, false);
}

static __always_inline __u8 get_priority(struct task_struct *task)
{
	int priority = TASK_FIELD(task, prio);

	return priority < 0 ? WIRE_SCHEDULE_DEADLINE : priority;
}

/* The CPU continues with `task`; NULL: not a target. */
static __always_inline void emit_switch(struct run *run, __u64 time_ns, struct task_struct *task,
					__u32 state, bool is_preempted)
{
	union wire_schedule_slot *slot;

	if (task)
		emit_name(run, task, false);
	slot = take_slot(run);
	if (!slot)
		return;
	run->counters->switches++;
	run->cpu->batch.num_switches++;
	set_running(run, time_ns, task, task ? count_leaves(task) : 0);
	slot->event = (struct wire_schedule_event){
		.time_ns = time_ns,
		.tid = run->running->tid,
		.state = state,
		.priority = task ? get_priority(task) : 120,
		.kind = is_preempted ? WIRE_SCHEDULE_SWITCH_PREEMPTED : WIRE_SCHEDULE_SWITCH,
	};
}

/* Whether the CPU runs another thread than was emitted, or the same one, which has left it meanwhile. */
static __always_inline bool is_unseen(const struct run *run, struct task_struct *task,
				      __u32 num_leaves)
{
	return run->cpu->has_started && (run->running->tid || !is_filtered) &&
	       (run->running->tid != get_tid(task) || run->running->num_leaves != num_leaves);
}

/* The CPU runs `task`, to which no switch was seen; is_reported: whether to report it. */
static __always_inline void emit_unseen(struct run *run, __u64 time_ns, struct task_struct *task,
					__u32 num_leaves, bool is_reported)
{
	const struct wire_schedule_running *running = run->running;
	struct wire_schedule_unseen unseen = {
		.known_until_ns = running->seen_ns,
		.runs_since_ns = time_ns,
	};
	union wire_schedule_slot *slot;

	if (running->other_since_ns && running->other_tid == get_tid(task) &&
	    running->other_leaves == num_leaves)
		unseen.runs_since_ns = running->other_since_ns;
	run->counters->unseen++;
	if (is_reported)
		emit_name(run, task, true);
	slot = take_slot(run);
	if (!slot)
		return;
	set_running(run, time_ns, is_reported ? task : NULL, num_leaves);
	slot->event = (struct wire_schedule_event){
		.time_ns = time_ns,
		.tid = run->running->tid,
		.priority = is_reported ? get_priority(task) : 120,
		.kind = WIRE_SCHEDULE_UNSEEN,
	};
	slot = take_slot(run);
	if (slot)
		slot->unseen = unseen;
}

static __always_inline void add_switch(bool is_preempted, struct task_struct *previous,
				       struct task_struct *next, __u32 state)
{
	bool next_is_target = is_target(get_tid(next));
	bool previous_is_target = is_filtered && is_target(get_tid(previous));
	__u32 num_leaves = count_leaves(previous) - 1; /* before this one */
	struct run run;

	if (!start_run(&run))
		return; /* cannot be: interrupts are off */
	if (next_is_target || previous_is_target || run.running->tid) {
		__u64 time_ns = bpf_ktime_get_boot_ns();

		make_room(&run, time_ns, previous, num_leaves);
		if (is_unseen(&run, previous, num_leaves))
			emit_unseen(&run, time_ns, previous, num_leaves,
				    previous_is_target || !is_filtered);
		else if (previous_is_target && run.running->tid != get_tid(previous))
			emit_switch(&run, time_ns, previous, 0, false); /* a target since it runs */
		emit_switch(&run, time_ns, next_is_target || previous_is_target ? next : NULL,
			    state | previous->exit_state, is_preempted);
	}
	end_run(&run);
}

/*
 * The tracepoint's arguments have changed twice: user space finds from the kernel's types which of
 * these fits, and loads only that. The state in the arguments is the one that the decision was made
 * by; the task's own may have changed since.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool is_preempted, struct task_struct *previous, struct task_struct *next)
{
	COUNT_OWN_TIME;
	add_switch(is_preempted, previous, next, get_state(previous));
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch_state_last, bool is_preempted, struct task_struct *previous,
	     struct task_struct *next, unsigned int state)
{
	COUNT_OWN_TIME;
	add_switch(is_preempted, previous, next, state);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch_state_second, bool is_preempted, unsigned int state,
	     struct task_struct *previous, struct task_struct *next)
{
	COUNT_OWN_TIME;
	add_switch(is_preempted, previous, next, state);
	return 0;
}

/* The kernel has one or the other. */
struct pcpu_hot {
	int preempt_count;
} __attribute__((preserve_access_index));
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot pcpu_hot __ksym __weak;

static __always_inline __u32 get_preempt_count(const struct task_struct *task)
{
	if (&__preempt_count)
		return *(const int *)bpf_this_cpu_ptr(&__preempt_count);
	if (&pcpu_hot)
		return ((const struct pcpu_hot *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
	return 0;
}

/* Non-maskable and hard interrupts, and a soft interrupt that is being served: linux/preempt.h. */
#define IN_INTERRUPT 0x00ff0100

static __always_inline __u16 get_target_cpu(const struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return task->cpu;
}

/* Report a waker of a target from that moment on. */
static __always_inline void emit_waker(struct run *run, __u64 time_ns, struct task_struct *waker,
				       bool is_in_interrupt)
{
	__u32 num_leaves = count_leaves(waker);

	if (is_unseen(run, waker, num_leaves))
		emit_unseen(run, time_ns, waker, num_leaves,
			    !is_in_interrupt || is_target(get_tid(waker)));
	else if (run->running->tid == get_tid(waker))
		run->running->seen_ns = time_ns;
	else if (!is_in_interrupt)
		emit_switch(run, time_ns, waker, 0, false);
}

static __always_inline void add_wakeup(struct task_struct *waker, struct task_struct *task,
				       bool is_in_interrupt)
{
	union wire_schedule_slot *slot;
	struct run run;
	__u64 time_ns;

	if (!is_target(get_tid(task)))
		return;
	if (!start_run(&run)) {
		run.counters = get_per_cpu(&counters);
		if (run.counters) {
			run.counters->wakeups++;
			run.counters->lost_nested++;
		}
		return;
	}
	time_ns = bpf_ktime_get_boot_ns();
	make_room(&run, time_ns, waker, count_leaves(waker));
	emit_waker(&run, time_ns, waker, is_in_interrupt);
	emit_name(&run, task, false);
	slot = take_slot(&run);
	if (slot) {
		run.counters->wakeups++;
		run.cpu->batch.num_wakeups++;
		slot->event = (struct wire_schedule_event){
			.time_ns = time_ns,
			.tid = task->pid,
			.state = get_target_cpu(task),
			.priority = get_priority(task),
			.kind = is_in_interrupt ? WIRE_SCHEDULE_WAKEUP_IN_INTERRUPT
						: WIRE_SCHEDULE_WAKEUP,
		};
	}
	end_run(&run);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	COUNT_OWN_TIME;
	struct task_struct *waker = get_current_task();

	add_wakeup(waker, task, get_preempt_count(waker) & IN_INTERRUPT);
	return 0;
}

/*
 * For kernels that hide the preemption count (in a variable, without CONFIG_KALLSYMS_ALL). A wakeup by the
 * idle thread is by an interrupt.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_wakeup_without_count, struct task_struct *task)
{
	COUNT_OWN_TIME;
	struct task_struct *waker = get_current_task();

	add_wakeup(waker, task, get_tid(waker) == 0);
	return 0;
}

/* ---- the kernel's own work ---------------------------------------------------------------- */

/*
 * Interrupts, softirqs and items of workqueues, each emitted at its end, together with its start,
 * so that a lost batch leaves nothing open. A softirq may interrupt a worker, and an interrupt
 * both: each kind has a batch of its own.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NUM_WIRE_KWORK_KINDS);
	__type(key, __u32);
	__type(value, struct wire_kwork_cpu);
} kworks SEC(".maps");

/* The item that a worker is executing. */
struct work {
	__u64 start_ns;
	__u64 function;
};

/* Key: tid of a worker, which may sleep at its item, and go on elsewhere. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WIRE_KWORK_WORKERS);
	__type(key, __u32);
	__type(value, struct work);
} workers SEC(".maps");

static __always_inline struct wire_kwork_cpu *get_kwork(__u32 kind)
{
	return bpf_map_lookup_elem(&kworks, &kind);
}

/* The next slot of the batch. NULL: it is counted why not; else end_kwork() is called. */
static __always_inline struct wire_kwork *start_kwork(struct wire_kwork_cpu *cpu, __u32 kind,
						      __u64 start_ns, __u32 number)
{
	struct wire_kworks *batch = &cpu->batch;
	__u32 index;

	if (!start_ns) {
		cpu->counters.unseen_begin++;
		return NULL;
	}
	if (cpu->is_busy) {
		cpu->counters.lost_nested++;
		return NULL;
	}
	cpu->is_busy = true;
	barrier();
	index = batch->num_slots;
	if (index >= WIRE_KWORK_SLOTS)
		index = 0; /* impossible */
	cpu->counters.taken++;
	batch->type = WIRE_KWORKS;
	batch->cpu = bpf_get_smp_processor_id();
	batch->kind = kind;
	batch->num_slots = index + 1;
	batch->slots[index] = (struct wire_kwork){
		.start_ns = start_ns,
		.end_ns = bpf_ktime_get_boot_ns(),
		.number = number,
	};
	return &batch->slots[index];
}

static __always_inline void end_kwork(struct wire_kwork_cpu *cpu)
{
	struct wire_kworks *batch = &cpu->batch;

	if (batch->num_slots >= WIRE_KWORK_SLOTS) {
		void *ring = get_ring();

		if (!ring || send(ring, batch, sizeof(*batch)))
			cpu->counters.lost_ring += batch->num_slots;
		batch->num_slots = 0;
	}
	barrier();
	cpu->is_busy = false;
}

static __always_inline void note_kwork(__u32 kind, __u32 number)
{
	struct wire_kwork_cpu *cpu = get_kwork(kind);

	if (!cpu)
		return; /* impossible */
	cpu->start_ns = bpf_ktime_get_boot_ns();
	cpu->number = number;
}

/* Since when that one is under way; from now on it is not. */
static __always_inline __u64 take_start(struct wire_kwork_cpu *cpu, __u32 number)
{
	__u64 start_ns = cpu->number == number ? cpu->start_ns : 0;

	cpu->start_ns = 0;
	return start_ns;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq, int irq, struct irqaction *action)
{
	COUNT_OWN_TIME;

	note_kwork(WIRE_KWORK_IRQ, irq);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_end, int irq, struct irqaction *action, int ret)
{
	COUNT_OWN_TIME;
	struct wire_kwork_cpu *cpu = get_kwork(WIRE_KWORK_IRQ);
	struct wire_kwork *kwork;

	if (!cpu)
		return 0; /* impossible */
	kwork = start_kwork(cpu, WIRE_KWORK_IRQ, take_start(cpu, irq), irq);
	if (!kwork)
		return 0;
	(void)bpf_probe_read_kernel_str(kwork->name, sizeof(kwork->name),
					BPF_CORE_READ(action, name));
	end_kwork(cpu);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq, unsigned int vector)
{
	COUNT_OWN_TIME;

	note_kwork(WIRE_KWORK_SOFTIRQ, vector);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_end, unsigned int vector)
{
	COUNT_OWN_TIME;
	struct wire_kwork_cpu *cpu = get_kwork(WIRE_KWORK_SOFTIRQ);

	if (cpu && start_kwork(cpu, WIRE_KWORK_SOFTIRQ, take_start(cpu, vector), vector))
		end_kwork(cpu);
	return 0;
}

/* The function is taken now, as the item may be gone when it is done. */
SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(on_work, struct work_struct *item)
{
	COUNT_OWN_TIME;
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct work work = {
		.start_ns = bpf_ktime_get_boot_ns(),
		.function = (__u64)BPF_CORE_READ(item, func),
	};

	/* If the map is full, its start is unknown at its end. */
	(void)bpf_map_update_elem(&workers, &tid, &work, BPF_ANY);
	return 0;
}

SEC("tp_btf/workqueue_execute_end")
int BPF_PROG(on_work_end)
{
	COUNT_OWN_TIME;
	struct wire_kwork_cpu *cpu = get_kwork(WIRE_KWORK_WORKQUEUE);
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct work *noted = bpf_map_lookup_elem(&workers, &tid);
	struct work work = {0};
	struct wire_kwork *kwork;

	if (noted) {
		work = *noted;
		(void)bpf_map_delete_elem(&workers, &tid);
	}
	if (!cpu)
		return 0; /* impossible */
	kwork = start_kwork(cpu, WIRE_KWORK_WORKQUEUE, work.start_ns, tid);
	if (!kwork)
		return 0;
	kwork->function = work.function;
	end_kwork(cpu);
	return 0;
}
