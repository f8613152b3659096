/* The interpreters whose frames are taken beside a native stack, and the choice between them. */
#ifndef BPF_INTERPRETERS_H
#define BPF_INTERPRETERS_H

#include "hotspot_stack.h"
#include "python_stack.h"
#include "script_stack.h"
#include "user_walk.h"
#include "v8_stack.h"
#include "wire/runtime.h"

/* Call before the walk of the native stack: HotSpot's frames are collected during it. */
static __always_inline void start_runtime_walk(struct scratch *scratch)
{
	scratch->runtime.layout = scratch->hotspot_layout = 0;
	scratch->hotspot_state = HOTSPOT_NOT_STARTED;
}

/* Collect the frames of the interpreter that the process of the scratch sample runs. Gives 0; else it runs none. */
static __always_inline int collect_runtime_stack(const struct scratch *scratch)
{
	if (!scratch->runtime.layout)
		return scratch->hotspot_state == HOTSPOT_STARTED ? take_hotspot_stack() : -1;
	if (scratch->runtime.runtime == WIRE_RUNTIME_PYTHON)
		return take_python_stack();
	if (scratch->runtime.runtime == WIRE_RUNTIME_V8)
		return take_v8_stack();
	return take_script_stack();
}

/* Send the function of the frame with this number. Gives enum code_sending. */
static __always_inline int send_function(const struct wire_runtime_stack *stack, int number)
{
	if (stack->runtime == WIRE_RUNTIME_PYTHON)
		return send_python_code(number);
	if (stack->runtime == WIRE_RUNTIME_V8)
		return send_v8_function(number);
	if (stack->runtime == WIRE_RUNTIME_HOTSPOT)
		return send_hotspot_method(number);
	return send_script_function(number);
}

/* Not static: see user_walk.h. */
__attribute__((noinline)) int send_some_functions(int first)
{
	return send_some_codes(first, send_function);
}

/* Send the stack that was collected. Gives its hash, or 0 when it was not sent. Not static: see user_walk.h. */
__attribute__((noinline)) __u64 send_collected_stack(void)
{
	struct wire_runtime_stack *stack = get_per_cpu(&runtime_stacks);
	struct scratch *scratch = get_scratch();

	return stack && scratch ? send_runtime_frames(stack, scratch, send_some_functions) : 0;
}

/*
 * Send the frames of the interpreter that the process of the scratch sample runs. Gives their hash; 0: it runs no
 * interpreter, or they were not sent.
 */
static __always_inline __u64 take_runtime_stack(const struct scratch *scratch)
{
	return collect_runtime_stack(scratch) ? 0 : send_collected_stack();
}

#endif
