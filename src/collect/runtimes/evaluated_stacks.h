/*
 * Frames of interpreters in which a C function evaluates them: they are collected beside the native stack; each call of that
 * function is a level of that stack, in whose place the frames come that it has evaluated. That works where there are as many
 * such levels as the interpreter says that there were calls: else nothing is put together.
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
	/* A process has one list of frames, whichever thread asks: threads that evaluate no frame are not the interpreter's. */
	bool has_one_thread;
	/* A frame is there before the call that evaluates it. */
	bool has_frame_before_call;
	/* In the position of a frame: those further out ran on another native stack; 0: there are none. */
	uint32_t stack_begin_flag;
	/* It is no frame, but has WIRE_RUNTIME_ENTRY_FRAME of a call that has evaluated none of its own; 0: likewise. */
	uint32_t no_frame_flag;
	/* The function that evaluates frames is called for it again and again, and may not be running; 0: likewise. */
	uint32_t may_wait_flag;
	/* If a call evaluates no frame, yet or any more, the frames say so themselves. */
	bool tells_idle_calls;
	/*
	 * Whether a file switches between coroutines that take turns on one native stack, each with a list of frames of its own; NULL:
	 * none does.
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
