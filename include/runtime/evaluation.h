/*
 * The C function of an interpreter that evaluates frames, in the file that has it: where frames belong in a native stack is
 * known by its calls.
 */
#ifndef RUNTIME_EVALUATION_H
#define RUNTIME_EVALUATION_H

#include <stdint.h>

/* The function, and what compilers put elsewhere of it. */
#define EVALUATION_MAX_PARTS 4

/* ELF addresses; the end is the first one after it. */
struct evaluation_part {
	uint64_t start;
	uint64_t end;
	/* Not that function, but the one that it has call by call do its work: no more than a part of what it does. */
	uint32_t is_inner;
	/* It is of another function: that calls the one that evaluates, to go on with the frames of the call that has called it. */
	uint32_t goes_on;
};

/*
 * Code that pushes a frame, where the interpreter has the frame as its innermost one, though it may not be written yet. ELF
 * addresses, the end is exclusive.
 */
struct evaluation_push {
	uint64_t start;
	uint64_t end;
};
#define EVALUATION_MAX_PUSHES 96

#endif
