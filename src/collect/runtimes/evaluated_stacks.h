/*
 * Frames of interpreters that evaluate them in a C function. They are collected beside the native
 * stack, where each call of that function is a frame: it is replaced by the frames that it has
 * evaluated. This works if the native stack has as many such calls as the interpreter reports; else
 * the stack stays as it is.
 */
#ifndef COLLECT_RUNTIMES_EVALUATED_STACKS_H
#define COLLECT_RUNTIMES_EVALUATED_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/runtimes/runtime_ops.h"

/* An interpreter, and the traits of its code and its frames. All is borrowed. */
struct evaluated_runtime {
	const struct runtime_context *context;
	enum wire_runtime runtime;
	/*
	 * A process has one list of frames for all threads: a thread without evaluating calls is
	 * not the interpreter's.
	 */
	bool has_one_thread;
	/* A frame exists before the call that evaluates it. */
	bool has_frame_before_call;
	/* Flag in a frame's position: outer frames ran on another native stack; 0: no such flag. */
	uint32_t stack_start_flag;
	/*
	 * Not a frame, but marks a call (WIRE_RUNTIME_ENTRY_FRAME) without frames; 0: no such flag.
	 */
	uint32_t no_frame_flag;
	/*
	 * Flag: the evaluating function is called for this frame again and again, and may not be
	 * running; 0: no such flag.
	 */
	uint32_t may_wait_flag;
	/* The frames mark calls that evaluate no frame, or none any more. */
	bool tells_idle_calls;
	/*
	 * Whether a file switches between coroutines that take turns on one native stack, each with
	 * a list of frames of its own. NULL: no file does.
	 */
	bool (*switches_coroutines)(const struct mapped_file *file);
	/* The location of a frame in the profile, by its number among these. Returns 0 or -ENOMEM. */
	int (*locate)(void *stacks, const struct runtime_sample *source,
		      const struct runtime_frame_list *frames, uint32_t number, uint32_t *ret);
	void *stacks; /* of locate() */
};

/* As splice() of struct runtime_ops. */
_must_check_ int evaluated_stacks_splice(const struct evaluated_runtime *runtime,
					 struct runtime_splice *splice);

#endif
