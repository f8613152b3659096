/*
 * The CPython frames of the running thread: collected beside its native stack; user space splices
 * them. The thread is stopped meanwhile, so its data does not change.
 *
 * A code object is sent unless this CPU has sent it lately, as stacks are: its process may be gone
 * before user space could read it.
 */
#ifndef BPF_PYTHON_STACK_H
#define BPF_PYTHON_STACK_H

#include "maps.h"
#include "output.h"
#include "runtime_stack.h"
#include "user_walk.h"
#include "wire/python.h"

#define PYTHON_INLINE static __always_inline
/* In a process with more threads, a thread may never be found. */
#define PYTHON_MAX_LOOKS 1024
#include "runtime/python_walk.h"

/* Address of the interpreter's state of a thread, by tid. */
#define MAX_PYTHON_THREADS 4096

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_PYTHON_THREADS);
	__type(key, __u32);
	__type(value, __u64);
} python_threads SEC(".maps");

/* Steps in one call of a function: the verifier looks at each call, so fewer calls are better. */
#define PYTHON_STEPS_AT_ONCE 2
#define PYTHON_CALLS_AT_ONCE 32

struct python_scratch {
	struct python_walk walk;
	__u64 known_thread; /* where an earlier walk found the state of the thread; 0: none */
	__u32 known_tid;    /* whose: the thread that ran Python last here */
	struct wire_python_code code;
};
PER_CPU(struct python_scratch, python_scratches);

static __always_inline int python_read(struct python_walk *walk, void *ret, __u32 bytes,
				       __u64 address)
{
	return bpf_probe_read_user(ret, bytes, (void *)address);
}

/* A state left by another process with the same tid is detected: it is not this thread's. */
static __always_inline void find_known_thread(struct python_scratch *python, __u32 tid)
{
	const __u64 *state;

	if (python->known_tid == tid && python->known_thread)
		return;
	state = bpf_map_lookup_elem(&python_threads, &tid);
	python->known_thread = state ? *state : 0;
	python->known_tid = tid;
}

/* Not static: see user_walk.h. */
__attribute__((noinline)) int start_python_walk(void)
{
	struct python_scratch *python = get_per_cpu(&python_scratches);
	struct scratch *scratch = get_scratch();
	struct wire_runtime_layout *layout;

	if (!python || !scratch)
		return 1;
	python->walk.end = WIRE_RUNTIME_UNREADABLE;
	python->walk.thread_state = 0;
	find_known_thread(python, scratch->sample.tid);
	layout = find_layout(scratch->runtime.layout);
	if (!layout)
		return 1;
	return python_walk_start(&python->walk, &layout->python, scratch->runtime.state,
				 TASK_THREAD_POINTER(get_current_task()), python->known_thread);
}

/* Remember where the walk found the state of the thread. */
static __always_inline void note_known_thread(struct python_scratch *python, __u32 tid)
{
	__u64 state = python->walk.thread_state;

	if (!state || state == python->known_thread)
		return;
	python->known_thread = state;
	bpf_map_update_elem(&python_threads, &tid, &state, BPF_ANY);
}

/* Gives 0 to go on, 1 at the end. */
__attribute__((noinline)) int step_python_walk(int number)
{
	struct python_scratch *python = get_per_cpu(&python_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);

	if (number < 0 || !python || !stack)
		return 1;
	for (int i = 0; i < PYTHON_STEPS_AT_ONCE; i++)
		if (python_walk_step(&python->walk, stack->frames))
			return 1;
	return 0;
}

/* The same, more often. */
__attribute__((noinline)) int take_some_python_steps(int number)
{
	for (int i = 0; i < PYTHON_CALLS_AT_ONCE; i++)
		if (step_python_walk(number))
			return 1;
	return 0;
}

/* Read the code object of the frame with this number. Gives 0, or another number. Not static: see user_walk.h. */
__attribute__((noinline)) int read_python_frame_code(int number)
{
	struct python_scratch *python = get_per_cpu(&python_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	struct wire_runtime_frame *frame;

	if (!python || !stack || number < 0)
		return -1;
	frame = &stack->frames[number & (WIRE_MAX_RUNTIME_FRAMES - 1)];
	if (!frame->fingerprint)
		return -1;
	return python_read_code(&python->walk, frame->code, &python->code);
}

/* Gives enum code_sending. */
__attribute__((noinline)) int send_python_code(int number)
{
	struct python_scratch *python = get_per_cpu(&python_scratches);

	if (!python)
		return CODE_LOST;
	return send_runtime_code(number, &python->code, sizeof(python->code),
				 read_python_frame_code);
}

/* Collect the frames of the thread of the scratch sample. Gives 0, or another number. Not static: see user_walk.h. */
__attribute__((noinline)) int take_python_stack(void)
{
	struct python_scratch *python = get_per_cpu(&python_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	struct scratch *scratch = get_scratch();

	if (!python || !stack || !scratch)
		return -1;
	python->walk.num_frames = 0;
	if (!start_python_walk())
		for (int i = 0; i < PYTHON_MAX_STEPS;
		     i += PYTHON_STEPS_AT_ONCE * PYTHON_CALLS_AT_ONCE)
			if (take_some_python_steps(i))
				break;
	stack->runtime = WIRE_RUNTIME_PYTHON;
	stack->num_frames = python->walk.num_frames;
	stack->end = python->walk.end;
	note_known_thread(python, scratch->sample.tid);
	return 0;
}

#endif
