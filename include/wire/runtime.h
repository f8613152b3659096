/*
 * Frames of interpreters (runtime/), which the sampling program takes beside a native stack and user space puts into it.
 *
 * Included by both sides, as wire.h is.
 */
#ifndef WIRE_RUNTIME_H
#define WIRE_RUNTIME_H

#include "wire/types.h"

/* Frames of a stack that are kept; of deeper ones the outer ones are left out. A power of two. */
#define WIRE_MAX_RUNTIME_FRAMES 512

enum wire_runtime {
	WIRE_RUNTIME_PYTHON,  /* wire/python.h */
	WIRE_RUNTIME_V8,      /* wire/v8.h */
	WIRE_RUNTIME_HOTSPOT, /* wire/hotspot.h */
	WIRE_RUNTIME_PHP,     /* wire/script.h */
	WIRE_RUNTIME_RUBY,    /* likewise */
	WIRE_RUNTIME_PERL,    /* likewise */
	NUM_WIRE_RUNTIMES,
};

struct wire_runtime_frame {
	wire_u64 code; /* address of what says which function it is: a code object, or the like */
	/* Of what that is, as the address may be another one's later; 0: it could not be read. */
	wire_u32 fingerprint;
	/* CPython: the instruction, and flags (wire/python.h). V8: the level of the native stack, from 0 for the innermost.
	   HotSpot: that, and the bytecode that runs (wire/hotspot.h). PHP, Ruby, Perl: the line (wire/script.h). */
	wire_u32 position;
};

/*
 * In a position, of CPython, PHP, Ruby and Perl: it is the outermost frame that one call of the C function evaluates which evaluates
 * frames.
 */
#define WIRE_RUNTIME_ENTRY_FRAME (1u << 31)

/* What says which function frames are of: each interpreter's own record begins so. It is sent before the first stack that has it. */
struct wire_runtime_code {
	wire_u32 type; /* WIRE_PYTHON_CODE and the like */
	wire_u32 pid;
	wire_u64 generation;
};

/* Why there are no more frames. */
enum wire_runtime_end {
	WIRE_RUNTIME_COMPLETE,
	/* No state was found: there is none, the interpreter is not initialized, or there are too many threads. */
	WIRE_RUNTIME_NO_THREAD,
	WIRE_RUNTIME_DEEP,    /* more frames than are kept */
	WIRE_RUNTIME_PARTIAL, /* V8: outer levels of the native stack were not come to */
	WIRE_RUNTIME_UNREADABLE,
	/* V8: complete, and each level from which the walk followed the frame pointer has a frame of V8, as V8's own stack walk needs it. */
	WIRE_RUNTIME_PROVEN,
	NUM_WIRE_RUNTIME_ENDS,
};

/* Frames, innermost first, sent before the first sample that refers to them. */
struct wire_runtime_stack {
	wire_u32 type; /* WIRE_RUNTIME_STACK */
	wire_u16 num_frames;
	wire_u8 end;                                               /* enum wire_runtime_end */
	wire_u8 runtime;                                           /* enum wire_runtime */
	wire_u64 hash;                                             /* of all the rest; never 0 */
	struct wire_runtime_frame frames[WIRE_MAX_RUNTIME_FRAMES]; /* only num_frames are sent */
};

#endif
