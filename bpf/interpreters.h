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

/*
 * Send the frames of the interpreter that the process of the scratch sample runs. Gives their hash; 0: it runs no
 * interpreter, or they were not sent.
 */
static __always_inline __u64 take_runtime_stack(const struct scratch *scratch)
{
	if (!scratch->runtime.layout)
		return scratch->hotspot_state == HOTSPOT_STARTED ? take_hotspot_stack() : 0;
	if (scratch->runtime.runtime == WIRE_RUNTIME_PYTHON)
		return take_python_stack();
	if (scratch->runtime.runtime == WIRE_RUNTIME_V8)
		return take_v8_stack();
	return take_script_stack();
}

#endif
