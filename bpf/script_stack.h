/*
 * The frames of PHP that the running thread is in: collected beside its native stack, as those of Python are
 * (python_stack.h).
 */
#ifndef BPF_SCRIPT_STACK_H
#define BPF_SCRIPT_STACK_H

#include "maps.h"
#include "output.h"
#include "runtime_stack.h"
#include "user_walk.h"
#include "wire/script.h"

#define PHP_INLINE static __always_inline
#include "runtime/php_walk.h"

/* By their number: struct unwind_process has it, plus 1. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WIRE_MAX_SCRIPT_LAYOUTS);
	__type(key, __u32);
	__type(value, struct wire_script_layout);
} script_layouts SEC(".maps");

struct script_scratch {
	struct php_walk php;
	struct wire_script_function function;
};
PER_CPU(struct script_scratch, script_scratches);

static __always_inline int php_read(struct php_walk *walk, void *ret, __u32 bytes, __u64 address)
{
	return bpf_probe_read_user(ret, bytes, (void *)address);
}

/* Gives 0, or another number when there is nothing to walk. Not static: see user_walk.h. */
__attribute__((noinline)) int begin_script_walk(void)
{
	struct script_scratch *script = get_per_cpu(&script_scratches);
	struct scratch *scratch = get_scratch();
	struct wire_script_layout *layout;
	__u32 number;

	if (!script || !scratch)
		return 1;
	script->php.end = WIRE_RUNTIME_UNREADABLE;
	script->php.num_frames = 0;
	number = scratch->script_layout - 1;
	layout = bpf_map_lookup_elem(&script_layouts, &number);
	if (!layout)
		return 1;
	return php_walk_begin(&script->php, &layout->php, scratch->script_state,
			      scratch->registers.r14, scratch->registers.r15);
}

__attribute__((noinline)) int step_script_walk(int number)
{
	struct script_scratch *script = get_per_cpu(&script_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);

	if (number < 0 || !script || !stack)
		return 1;
	return php_walk_step(&script->php, stack->frames);
}

/* Read the function of the frame with this number. Gives 0, or another number. Not static: see user_walk.h. */
__attribute__((noinline)) int read_script_function(int number)
{
	struct script_scratch *script = get_per_cpu(&script_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);

	if (!script || !stack || number < 0)
		return -1;
	return php_read_function_names(&script->php,
				       stack->frames[number & (WIRE_MAX_RUNTIME_FRAMES - 1)].code,
				       &script->function);
}

/* Gives enum code_sending. */
__attribute__((noinline)) int send_script_function(int number)
{
	struct script_scratch *script = get_per_cpu(&script_scratches);

	if (!script)
		return CODE_LOST;
	return send_runtime_code(number, &script->function, sizeof(script->function),
				 WIRE_SCRIPT_FUNCTION, read_script_function);
}

/* Collect the frames of the thread of the scratch sample, and send them. Gives their hash, or 0 when they were not sent. */
__attribute__((noinline)) __u64 take_script_stack(void)
{
	struct script_scratch *script = get_per_cpu(&script_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	struct scratch *scratch = get_scratch();

	if (!script || !stack || !scratch)
		return 0;
	if (!begin_script_walk())
		for (int i = 0; i < PHP_MAX_STEPS; i++)
			if (step_script_walk(i))
				break;
	stack->runtime = WIRE_RUNTIME_PHP;
	stack->num_frames = script->php.num_frames;
	stack->end = script->php.end;
	return send_runtime_frames(stack, scratch, send_script_function);
}

#endif
