/*
 * The memory area of a sample's user stack: found when a thread is first seen there, and sent
 * before the sample. User space could not ask afterwards: the thread may be gone.
 *
 * A thread seen recently in the same memory is not examined again.
 */
#ifndef STACK_AREA_H
#define STACK_AREA_H

#include "maps.h"
#include "user_walk.h"

#define KNOWN_AREAS 512 /* for each CPU; a power of two */

struct known_area {
	__u64 mm; /* address of the kernel's structure, which tells programs apart */
	__u64 start;
	__u64 end;
	__u32 tid;
	__u32 kind; /* enum wire_stack_kind */
};

struct known_areas {
	struct known_area areas[KNOWN_AREAS];
};

PER_CPU(struct known_areas, known_areas);

/*
 * Whether a thread pointer is a C library's: by the ABI it points to itself. Go's points into a
 * structure of its scheduler, among the stacks of goroutines.
 */
static __always_inline bool is_of_c_library(__u64 thread_pointer)
{
	__u64 self = 0;

	return !bpf_probe_read_user(&self, sizeof(self), (void *)thread_pointer) &&
	       self == thread_pointer;
}

/* Any number of stacks may be in the heap, and other data. */
static __always_inline bool is_in_heap(struct mm_struct *mm, const struct wire_stack_area *area)
{
	return area->start <= BPF_CORE_READ(mm, brk) && BPF_CORE_READ(mm, start_brk) < area->end;
}

/* The mapping that holds the stack pointer. Memory that is not a stack has no kind. */
static long describe_area(struct task_struct *task, struct vm_area_struct *vma,
			  struct wire_stack_area *area)
{
	struct mm_struct *mm = TASK_POINTER(task, mm);
	__u64 thread_pointer = TASK_THREAD_POINTER(task);
	__u64 start_stack;

	area->start = vma->vm_start;
	area->end = vma->vm_end;
	if (!mm)
		return 0;
	start_stack = BPF_CORE_READ(mm, start_stack);
	if (area->start <= start_stack && start_stack < area->end) {
		area->kind = WIRE_STACK_MAIN;
	} else if (area->user_sp < thread_pointer && thread_pointer < area->end &&
		   is_of_c_library(thread_pointer)) {
		/* C libraries put a thread's own data above its stack. */
		area->kind = WIRE_STACK_THREAD;
		area->thread_pointer = thread_pointer;
	} else if (!is_in_heap(mm, area)) {
		area->kind = WIRE_STACK_OTHER;
	}
	return 0;
}

#define GLIBC_BOUNDS_WORDS 3
#define MUSL_BOUNDS_WORDS  5
#define MAX_BOUNDS_WORDS   ((GLIBC_LAST_BOUNDS - GLIBC_FIRST_BOUNDS) / 8 + GLIBC_BOUNDS_WORDS)

struct thread_bounds {
	__u64 words[MAX_BOUNDS_WORDS]; /* of the library's description of the thread */
	__u64 low;                     /* of the usable memory, above the guard */
	__u64 high;
};

PER_CPU(struct thread_bounds, thread_bounds);

/* Maximum size of the library's data between the thread pointer and the end of the stack. */
#define MAX_LIBRARY_BYTES (16ull << 10)

static __always_inline bool are_bounds(__u64 low, __u64 high, __u64 thread_pointer)
{
	return low < thread_pointer && high > thread_pointer &&
	       high - thread_pointer <= MAX_LIBRARY_BYTES;
}

/* Glibc's words: start of the memory, size, size of its guard. */
static __always_inline bool take_glibc_bounds(struct thread_bounds *bounds, const __u64 *words,
					      __u64 thread_pointer)
{
	__u64 low = words[0] + words[2];
	__u64 high = words[0] + words[1];

	if (low < words[0] || !are_bounds(low, high, thread_pointer))
		return false;
	bounds->low = low;
	bounds->high = high;
	return true;
}

/*
 * Musl's words: start of the memory (0 if the program has provided it), size, top of the usable
 * stack, size of that, size of the guard. The thread's data are above the top.
 */
static __always_inline bool take_musl_bounds(struct thread_bounds *bounds, const __u64 *words,
					     __u64 thread_pointer)
{
	__u64 low = words[2] - words[3];
	__u64 high = low - words[4] + words[1];

	if (words[2] > thread_pointer || low >= words[2] || words[4] > low ||
	    (words[0] ? words[0] + words[4] != low : words[4] != 0) ||
	    !are_bounds(low, high, thread_pointer))
		return false;
	bounds->low = low;
	bounds->high = high;
	return true;
}

/*
 * Find the bounds that the C library has noted for the thread's stack. Their values prove them: they
 * agree with each other and with the thread pointer. Returns 1 if found. Not static: the verifier
 * checks its loop once.
 */
__attribute__((noinline)) int find_glibc_bounds(__u64 thread_pointer)
{
	struct thread_bounds *bounds = get_per_cpu(&thread_bounds);

	if (!bounds || bpf_probe_read_user(bounds->words, sizeof(bounds->words),
					   (void *)(thread_pointer + GLIBC_FIRST_BOUNDS)))
		return 0;
	for (int i = 0; i <= MAX_BOUNDS_WORDS - GLIBC_BOUNDS_WORDS; i++)
		if (take_glibc_bounds(bounds, bounds->words + i, thread_pointer))
			return 1;
	return 0;
}

/* The same for musl. The mapping may end with its last word. */
__attribute__((noinline)) int find_musl_bounds(__u64 thread_pointer)
{
	struct thread_bounds *bounds = get_per_cpu(&thread_bounds);

	if (!bounds)
		return 0;
	for (int offset = MUSL_FIRST_BOUNDS; offset <= MUSL_LAST_BOUNDS; offset += 8)
		if (!bpf_probe_read_user(bounds->words, MUSL_BOUNDS_WORDS * sizeof(__u64),
					 (void *)(thread_pointer + offset)) &&
		    take_musl_bounds(bounds, bounds->words, thread_pointer))
			return 1;
	return 0;
}

/*
 * Replace the mapping of a thread's own stack by the bounds that its library has noted, if it has.
 * In the heap, only these tell where it is.
 */
static __always_inline void narrow_thread_area(struct task_struct *task,
					       struct wire_stack_area *area)
{
	const struct thread_bounds *bounds = get_per_cpu(&thread_bounds);
	bool is_heap = is_in_heap(TASK_POINTER(task, mm), area);

	if (!bounds ||
	    (!find_glibc_bounds(area->thread_pointer) && !find_musl_bounds(area->thread_pointer))) {
		if (is_heap)
			area->kind = WIRE_STACK_NONE;
		return;
	}
	if (area->user_sp <= bounds->low) {
		/* Other memory of the mapping. It ends where the thread's stack starts. */
		area->kind = is_heap ? WIRE_STACK_NONE : WIRE_STACK_OTHER;
		area->thread_pointer = 0;
		if (bounds->low < area->end)
			area->end = bounds->low;
		return;
	}
	area->kind = WIRE_STACK_BOUNDED_THREAD;
	if (area->start < bounds->low)
		area->start = bounds->low;
	if (bounds->high < area->end)
		area->end = bounds->high;
}

/* Start of Go's runtime.g, the same since Go 1.4. */
struct goroutine {
	__u64 low, high;
	__u64 guard; /* above low; or one of a few numbers that no address reaches */
	__u64 system_guard;
};
#define MAX_GOROUTINE_BYTES (1ull << 30) /* Go's own limit */
#define NO_GUARD            (~0ull)
#define MIN_POISONED_GUARD  (~0ull - 0xfff)

/* Whether an address holds the description of the goroutine that uses this stack. */
static __always_inline bool read_goroutine(__u64 address, __u64 user_sp, struct goroutine *ret)
{
	if (!address || bpf_probe_read_user(ret, sizeof(*ret), (void *)address))
		return false;
	if (user_sp <= ret->low || user_sp > ret->high ||
	    ret->high - ret->low > MAX_GOROUTINE_BYTES)
		return false;
	if (ret->system_guard != NO_GUARD && ret->system_guard != ret->guard)
		return false;
	return ret->guard >= MIN_POISONED_GUARD ||
	       (ret->guard > ret->low && ret->guard < ret->high);
}

/*
 * The goroutine of the thread. Go's code has it in a register; for Go's assembly,
 * and code called by that, it is in the word below the thread pointer.
 */
static __always_inline bool find_goroutine(struct task_struct *task,
					   const struct user_registers *registers,
					   struct goroutine *ret)
{
	__u64 address = 0;

	if (read_goroutine(registers->GOROUTINE_REGISTER, registers->sp, ret))
		return true;
	return !bpf_probe_read_user(&address, sizeof(address),
				    (void *)(TASK_THREAD_POINTER(task) - sizeof(address))) &&
	       read_goroutine(address, registers->sp, ret);
}

static __always_inline bool is_known_area(const struct known_area *known, __u64 mm,
					  const struct wire_sample *sample)
{
	return known->mm == mm && known->tid == sample->tid && known->start < sample->user_sp &&
	       sample->user_sp <= known->end;
}

/*
 * Find the stack that holds user_sp. Returns 0, or a negative value if unknown: the memory is being
 * changed, and the next sample will have it.
 */
static __always_inline long find_area(struct task_struct *task, const struct scratch *scratch,
				      struct wire_stack_area *area)
{
	struct goroutine goroutine;
	bool is_of_go;

	if (is_on_signal_stack(task, area->user_sp)) {
		area->kind = WIRE_STACK_SIGNAL;
		area->start = task->sas_ss_sp;
		area->end = area->start + task->sas_ss_size;
		return 0;
	}
	is_of_go = find_goroutine(task, &scratch->registers, &goroutine);
	/* Go only estimates the stacks that others have made. */
	if (!is_of_go || goroutine.system_guard != NO_GUARD) {
		if (bpf_find_vma(task, area->user_sp, describe_area, area, 0))
			return -1;
		if (area->kind == WIRE_STACK_THREAD)
			narrow_thread_area(task, area);
		if (area->kind != WIRE_STACK_OTHER)
			return 0;
	}
	if (is_of_go) {
		area->kind = WIRE_STACK_GOROUTINE;
		area->start = goroutine.low;
		area->end = goroutine.high;
	}
	return 0;
}

static __always_inline void send_area_of(const struct scratch *scratch)
{
	const struct wire_sample *sample = &scratch->sample;
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	void *ring = get_ring();
	struct known_areas *cache = get_per_cpu(&known_areas);
	bool is_in_handler = is_on_signal_stack(task, sample->user_sp);
	__u64 mm = (__u64)TASK_POINTER(task, mm);
	struct known_area *known;
	bool is_known;
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
	is_known = is_known_area(known, mm, sample);
	/* Go may have made other stacks of the memory. */
	if ((is_known && known->kind != WIRE_STACK_GOROUTINE) || find_area(task, scratch, &area))
		return;
	if (is_known && known->kind == area.kind && known->start == area.start &&
	    known->end == area.end)
		return;
	if (area.kind && send(ring, &area, sizeof(area)))
		return;
	*known = (struct known_area){.mm = mm,
				     .start = area.start,
				     .end = area.end,
				     .tid = sample->tid,
				     .kind = area.kind};
}

/* Send that of the scratch sample. Not static: inlined, it would take most of the stack of all calls. */
__attribute__((noinline)) int send_stack_area(void)
{
	struct scratch *scratch = get_scratch();

	if (scratch)
		send_area_of(scratch);
	return 0;
}

#endif
