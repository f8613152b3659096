/*
 * In which memory the user stack of a sample lies: found when a thread is first seen there, and
 * sent ahead of the sample. User space could not ask afterwards: the thread may be gone.
 *
 * A thread that was seen lately in the same memory is not looked at again.
 */
#ifndef STACK_AREA_H
#define STACK_AREA_H

#include "maps.h"
#include "user_walk.h"

#define KNOWN_AREAS 512 /* for each CPU; a power of two */

struct known_area {
	__u64 mm; /* address of the kernel's structure, which tells programs apart */
	__u64 begin;
	__u64 end;
	__u64 tid;
};

struct known_areas {
	struct known_area areas[KNOWN_AREAS];
};

PER_CPU(struct known_areas, known_areas);

/*
 * Whether a thread pointer is a C library's: the ABI has it point to itself. Go's points into a structure of its scheduler,
 * which lies among goroutines' stacks.
 */
static __always_inline bool is_of_c_library(__u64 thread_pointer)
{
	__u64 self = 0;

	return !bpf_probe_read_user(&self, sizeof(self), (void *)thread_pointer) &&
	       self == thread_pointer;
}

/* The mapping that holds the stack pointer. What is no stack at all stays without a kind. */
static long describe_area(struct task_struct *task, struct vm_area_struct *vma,
			  struct wire_stack_area *area)
{
	struct mm_struct *mm = task->mm;
	__u64 thread_pointer = TASK_THREAD_POINTER(task);

	area->begin = vma->vm_start;
	area->end = vma->vm_end;
	if (!mm || (area->begin <= mm->brk && mm->start_brk < area->end))
		return 0; /* any number of stacks may be in the heap */
	if (area->begin <= mm->start_stack && mm->start_stack < area->end) {
		area->kind = WIRE_STACK_MAIN;
	} else if (area->user_sp < thread_pointer && thread_pointer < area->end &&
		   is_of_c_library(thread_pointer)) {
		/* C libraries put what belongs to a thread above its stack. */
		area->kind = WIRE_STACK_THREAD;
		area->thread_pointer = thread_pointer;
	} else {
		area->kind = WIRE_STACK_OTHER;
	}
	return 0;
}

static __always_inline bool is_known_area(const struct known_area *known, __u64 mm,
					  const struct wire_sample *sample)
{
	return known->mm == mm && known->tid == sample->tid && known->begin < sample->user_sp &&
	       sample->user_sp <= known->end;
}

static __always_inline void send_stack_area(const struct wire_sample *sample)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	void *ring = get_ring();
	struct known_areas *cache = get_per_cpu(&known_areas);
	bool is_in_handler = is_on_signal_stack(task, sample->user_sp);
	__u64 mm = (__u64)task->mm;
	struct known_area *known;
	struct wire_stack_area area = {
		.type = WIRE_STACK_AREA,
		.pid = sample->pid,
		.tid = sample->tid,
		.time_ns = sample->time_ns,
		.generation = sample->generation,
		.user_sp = sample->user_sp,
	};

	/* Inside execve() it may be either image's stack. */
	if (!sample->user_sp || !cache || !ring || (sample->flags & WIRE_SAMPLE_IN_EXEC))
		return;
	known = &cache->areas[(sample->tid * 2 + is_in_handler) & (KNOWN_AREAS - 1)];
	if (is_known_area(known, mm, sample))
		return;
	if (is_in_handler) {
		area.kind = WIRE_STACK_SIGNAL;
		area.begin = task->sas_ss_sp;
		area.end = area.begin + task->sas_ss_size;
	} else if (bpf_find_vma(task, sample->user_sp, describe_area, &area, 0)) {
		return; /* the memory is being changed: the next sample will have it */
	}
	if (area.kind && send(ring, &area, sizeof(area)))
		return;
	*known = (struct known_area){
		.mm = mm, .begin = area.begin, .end = area.end, .tid = sample->tid};
}

#endif
