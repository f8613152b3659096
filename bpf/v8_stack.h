/*
 * The JavaScript functions of the running thread: the levels of its native stack whose V8 frame
 * holds a function. The thread is stopped meanwhile, so no object is moved.
 */
#ifndef BPF_V8_STACK_H
#define BPF_V8_STACK_H

#include "maps.h"
#include "output.h"
#include "runtime_stack.h"
#include "user_walk.h"
#include "wire/v8.h"

int count_some_v8_ends(__u32 first, __u64 bytes, __u64 is_wide);

#define V8_INLINE                                       static __always_inline
#define V8_COUNT_SOME_ENDS(walk, first, bytes, is_wide) count_some_v8_ends(first, bytes, is_wide)
#include "runtime/v8_walk.h"

struct v8_scratch {
	struct v8_walk walk;
	struct wire_v8_function function;
};
PER_CPU(struct v8_scratch, v8_scratches);

static __always_inline int v8_read(struct v8_walk *walk, void *ret, __u32 bytes, __u64 address)
{
	return bpf_probe_read_user(ret, bytes, (void *)address);
}

/* Gives 0, or -1 without a layout. Not static: see user_walk.h. */
__attribute__((noinline)) int start_v8_walk(void)
{
	struct v8_scratch *v8 = get_per_cpu(&v8_scratches);
	struct scratch *scratch = get_scratch();
	struct wire_runtime_layout *layout;

	if (!v8 || !scratch)
		return -1;
	layout = find_layout(scratch->runtime.layout);
	if (!layout)
		return -1;
	v8_walk_start(&v8->walk, &layout->v8);
	return 0;
}

/*
 * The walk has reached code so new that its mapping is not known yet: user space walks such a stack
 * once more, by its copy. Here only frame pointers are wanted, and V8's code has them. Gives 0, or
 * another number at the end. Not static: see user_walk.h.
 */
__attribute__((noinline)) int skip_unknown_code(void)
{
	struct scratch *scratch = get_scratch();

	if (!scratch)
		return 1;
	scratch->walk.end = WALK_UNFINISHED;
	return walk_step_without_frame(&scratch->walk) &&
	       walk_step_fp(&scratch->walk, scratch->stack.pcs);
}

/*
 * Walk a step from there. The part of the native stack that was sent stays unchanged. Gives 0 to go
 * on, 1 at the end. Not static: see user_walk.h.
 */
__attribute__((noinline)) int walk_one_step_on(int number)
{
	struct scratch *scratch = get_scratch();

	if (number < 0 || !scratch)
		return 1;
	if (scratch->walk.end == WALK_NO_MAPPING && skip_unknown_code())
		return 1;
	return walk_one_step(number) && scratch->walk.end != WALK_NO_MAPPING;
}

/* Take more of these steps. Not static: see walk_some_steps(). */
__attribute__((noinline)) int walk_on(int number)
{
	for (int i = 0; i < STEPS_AT_ONCE; i++)
		if (walk_one_step_on(number))
			return 1;
	return 0;
}

/* Not static: see user_walk.h. */
__attribute__((noinline)) int find_innermost_v8_frame(void)
{
	struct v8_scratch *v8 = get_per_cpu(&v8_scratches);
	struct scratch *scratch = get_scratch();
	struct wire_registers registers;
	struct v8_innermost frame = {0};

	if (!v8 || !scratch)
		return 0;
	get_registers(&scratch->registers, &registers);
	frame.prologue = scratch->walk.prologue;
	frame.is_own = !scratch->walk.cfa_offset;
	return v8_walk_find_innermost(&v8->walk, &registers, &frame);
}

/* Take the function that has called the code that sets up its frame: it is still in a register. */
__attribute__((noinline)) int find_v8_frame_in_setup(void)
{
	struct v8_scratch *v8 = get_per_cpu(&v8_scratches);
	struct scratch *scratch = get_scratch();
	struct wire_registers registers;
	bool is_wasm;

	if (!v8 || !scratch)
		return 0;
	get_registers(&scratch->registers, &registers);
	is_wasm = scratch->walk.frame_setup == WALK_FRAME_SETUP_WASM;
	v8->walk.words[0] =
		is_wasm ? registers.V8_CODE_INSTANCE_REGISTER : registers.V8_CODE_CLOSURE_REGISTER;
	v8->walk.words[1] =
		is_wasm ? v8->walk.layout.wasm_marker : registers.V8_CODE_CLOSURE_REGISTER;
	return 1;
}

__attribute__((noinline)) int find_v8_frame(int level)
{
	struct v8_scratch *v8 = get_per_cpu(&v8_scratches);
	struct scratch *scratch = get_scratch();
	bool is_by_fp;

	if (!v8 || !scratch || level < 0)
		return 0;
	level &= WIRE_MAX_FRAMES - 1;
	is_by_fp = scratch->stack.pcs[level] & WIRE_PC_FP_STEP;
	if (!level)
		return (is_by_fp || scratch->walk.cfa_offset) && find_innermost_v8_frame();
	if (is_by_fp)
		return v8_walk_read_frame(&v8->walk, scratch->frame_pointers[level]);
	return level == 1 && scratch->walk.frame_setup && find_v8_frame_in_setup();
}

/*
 * Look at a level of the native stack that was stepped over by its frame pointer, or at an inner
 * one whose code has not set it up yet. V8 has no call-frame information for the code that it compiles.
 */
__attribute__((noinline)) int look_for_v8_frame(int level)
{
	struct v8_scratch *v8 = get_per_cpu(&v8_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	const struct scratch *scratch = get_scratch();
	__u32 num_unproven;
	__u32 is_by_fp;

	if (!v8 || !stack || !scratch || level < 0)
		return -1;
	level &= WIRE_MAX_FRAMES - 1;
	is_by_fp = !!(scratch->stack.pcs[level] & WIRE_PC_FP_STEP);
	num_unproven = v8->walk.num_unproven + is_by_fp;
	if (find_v8_frame(level)) {
		__u64 context = v8->walk.words[1];
		__u32 num_frames = v8->walk.num_frames;

		v8_walk_take_function(&v8->walk, v8->walk.words[0], context, level, stack->frames);
		if (v8->walk.num_frames != num_frames || v8_walk_is_marker(context))
			num_unproven = v8->walk.num_unproven;
	}
	v8->walk.num_unproven = num_unproven;
	return 0;
}

/* At STEPS_AT_ONCE levels from this one on, if they are there. Gives 0 to go on, 1 at the end. */
__attribute__((noinline)) int look_for_some_v8_frames(int first)
{
	const struct scratch *scratch = get_scratch();

	if (!scratch || first < 0)
		return 1;
	for (int i = 0; i < STEPS_AT_ONCE; i++) {
		if ((__u32)(first + i) >= scratch->walk.num_frames)
			return 1;
		if (look_for_v8_frame(first + i))
			return 1;
	}
	return 0;
}

__attribute__((noinline)) int step_v8_name(int number)
{
	struct v8_scratch *v8 = get_per_cpu(&v8_scratches);

	if (number < 0 || !v8)
		return 1;
	return v8_step_name(&v8->walk, &v8->function);
}

/* Not static: see user_walk.h. */
__attribute__((noinline)) int count_some_v8_ends(__u32 first, __u64 bytes, __u64 is_wide)
{
	struct v8_scratch *v8 = get_per_cpu(&v8_scratches);

	if (v8)
		v8_count_some_ends(&v8->walk, first, bytes, is_wide);
	return 0;
}

__attribute__((noinline)) int step_v8_line(int number)
{
	struct v8_scratch *v8 = get_per_cpu(&v8_scratches);

	if (number < 0 || !v8)
		return 1;
	return v8_step_line(&v8->walk, number, &v8->function);
}

/* Look at STEPS_AT_ONCE pieces, from this one on. Not static: see user_walk.h. */
__attribute__((noinline)) int step_some_v8_lines(int first)
{
	for (int i = 0; i < STEPS_AT_ONCE; i++)
		if (step_v8_line(first + i))
			return 1;
	return 0;
}

__attribute__((noinline)) int step_v8_source(int number)
{
	struct v8_scratch *v8 = get_per_cpu(&v8_scratches);

	if (number < 0 || !v8)
		return 1;
	return v8_step_source(&v8->walk, number, &v8->function.source);
}

__attribute__((noinline)) int start_v8_function(int number)
{
	struct v8_scratch *v8 = get_per_cpu(&v8_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);

	if (number < 0 || !v8 || !stack)
		return -1;
	return v8_read_function(&v8->walk,
				stack->frames[number & (WIRE_MAX_RUNTIME_FRAMES - 1)].code,
				&v8->function);
}

/* Read the function of the frame with this number. Gives 0, or another number. */
static __always_inline int read_v8_frame_function(int number)
{
	struct v8_scratch *v8 = get_per_cpu(&v8_scratches);

	if (!v8 || start_v8_function(number))
		return -1;
	for (int i = 0; i < V8_MAX_NAME_STEPS; i++)
		if (step_v8_name(i))
			break;
	v8->function.has_more |= v8->walk.num_pending > 0;
	for (int i = 0; i < V8_MAX_PIECES; i += STEPS_AT_ONCE)
		if (step_some_v8_lines(i))
			break;
	if (v8->function.line || !v8->function.source.string)
		return 0;
	for (int i = 0; i < WIRE_V8_SOURCE_WORDS; i++)
		if (step_v8_source(i))
			break;
	/* User space reads it, before it is moved or its process has gone. */
	wake_user_space();
	return 0;
}

/* Gives enum code_sending. */
__attribute__((noinline)) int send_v8_function(int number)
{
	struct v8_scratch *v8 = get_per_cpu(&v8_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);

	if (!v8 || !stack || number < 0)
		return CODE_LOST;
	/* User space finds out the WebAssembly function. */
	if (stack->frames[number & (WIRE_MAX_RUNTIME_FRAMES - 1)].fingerprint == WIRE_V8_WASM)
		return CODE_SENT;
	return send_runtime_code(number, &v8->function, sizeof(v8->function),
				 read_v8_frame_function);
}

/* Collect the JavaScript functions in the scratch stack. Gives 0, or another number. Not static: see user_walk.h. */
__attribute__((noinline)) int take_v8_stack(void)
{
	struct v8_scratch *v8 = get_per_cpu(&v8_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	struct scratch *scratch = get_scratch();

	if (!v8 || !stack || !scratch || start_v8_walk())
		return -1;
	if (scratch->walk.end == WALK_NO_MAPPING)
		for (int i = 0; i < WIRE_MAX_FRAMES; i += STEPS_AT_ONCE)
			if (walk_on(i))
				break;
	for (int i = 0; i < WIRE_MAX_FRAMES; i += STEPS_AT_ONCE)
		if (look_for_some_v8_frames(i))
			break;
	stack->runtime = WIRE_RUNTIME_V8;
	stack->num_frames = v8->walk.num_frames;
	stack->end = v8->walk.end;
	if (stack->end == WIRE_RUNTIME_COMPLETE && scratch->walk.end != WALK_COMPLETE)
		stack->end = WIRE_RUNTIME_PARTIAL;
	if (stack->end == WIRE_RUNTIME_COMPLETE && !v8->walk.num_unproven)
		stack->end = WIRE_RUNTIME_PROVEN;
	return 0;
}

#endif
