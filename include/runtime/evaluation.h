/*
 * The C function of an interpreter that evaluates frames, in the interpreter's file: its calls show
 * where frames belong in a native stack.
 */
#ifndef RUNTIME_EVALUATION_H
#define RUNTIME_EVALUATION_H

#include <stdint.h>

/* The function, and parts of it that compilers put elsewhere. */
#define EVALUATION_MAX_PARTS 4

/* ELF addresses; the end is the first one after it. */
struct evaluation_part {
	uint64_t start;
	uint64_t end;
	/*
	 * Not that function, but the one that it lets do its work, call by call: a part of its work
	 * at most.
	 */
	uint32_t is_inner;
	/*
	 * Part of another function that calls the evaluating one to continue the frames of its own
	 * caller.
	 */
	uint32_t goes_on;
};

/*
 * Code that pushes a frame: the frame is the interpreter's innermost one there, but may not be
 * written yet. ELF addresses, the end is exclusive.
 */
struct evaluation_push {
	uint64_t start;
	uint64_t end;
};
#define EVALUATION_MAX_PUSHES 96

#endif
