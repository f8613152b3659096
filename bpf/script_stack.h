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

/* Send a frame's function if this CPU has not lately. Gives enum code_sending. */
__attribute__((noinline)) int send_script_function(int number)
{
	struct script_scratch *script = get_per_cpu(&script_scratches);
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	struct scratch *scratch = get_scratch();
	void *ring = get_ring();
	struct wire_runtime_frame *frame;
	__u64 hash;
	__u64 *slot;

	if (!script || !stack || !scratch || !ring || number < 0)
		return CODE_LOST;
	frame = &stack->frames[number & (WIRE_MAX_RUNTIME_FRAMES - 1)];
	hash = hash_runtime_code(frame, scratch);
	slot = find_sent(hash);
	if (!slot || *slot == hash)
		return slot ? CODE_SENT : CODE_LOST;
	if (php_read_function_names(&script->php, frame->code, &script->function))
		return CODE_UNREAD;
	script->function.type = WIRE_SCRIPT_FUNCTION;
	script->function.pid = scratch->sample.pid;
	script->function.generation = scratch->sample.generation;
	if (send(ring, &script->function, sizeof(script->function)))
		return CODE_LOST;
	*slot = hash;
	return CODE_SENT;
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
