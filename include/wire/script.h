/*
 * Offsets for reading frames and functions in the sampling program, of interpreters whose frames
 * hold the current line (runtime/script.h).
 *
 * Included by both sides, as wire.h is.
 */
#ifndef WIRE_SCRIPT_H
#define WIRE_SCRIPT_H

#include "wire/runtime.h"
#include "wire/types.h"

/* Limits for a function: the names of its class, of itself and of its file are truncated. */
#define WIRE_SCRIPT_CLASS_BYTES 128
#define WIRE_SCRIPT_NAME_BYTES  128
#define WIRE_SCRIPT_FILE_BYTES  512

/* PHP: offsets in bytes. Those that are the same in all versions are in runtime/php_walk.h. */
struct wire_php_layout {
	wire_u16 current; /* of executor_globals: the innermost frame */
	/* Function, except built-in ones. */
	wire_u16 function_num_instructions; /* 32 bits */
	wire_u16 function_instructions;     /* the first one */
	wire_u16 function_file;  /* a string; the function's first and last line follow */
	wire_u16 function_bytes; /* bytes that hold all of these: a multiple of 8 */
	/* Generator. */
	wire_u16 generator_frame;
	wire_u16 generator_parent; /* the one that it yields from; 0: none */
};

/* How to find the pointer to the context that a thread runs in Ruby. */
enum wire_ruby_context {
	WIRE_RUBY_CONTEXT_OF_ALL,    /* at its state: the one that runs (before 3.0) */
	WIRE_RUBY_CONTEXT_BY_INDEX,  /* its state is the argument of __tls_get_addr() for it */
	WIRE_RUBY_CONTEXT_BY_OFFSET, /* at its state: its distance from the thread pointer */
	WIRE_RUBY_CONTEXT_IN_CODE,   /* context_offset bytes from the thread pointer */
};

/* Ruby: likewise (runtime/ruby_walk.h). */
struct wire_ruby_layout {
	wire_u64 symbols;        /* from its state on to its global_symbols, modulo 2^64 */
	wire_u64 context_offset; /* modulo 2^64 */
	wire_u8 context;         /* enum wire_ruby_context */
	wire_u8 frame_bytes;
	wire_u8 line_bytes;  /* of an entry of a table of lines */
	wire_u8 string_text; /* of a string that has its text in it */
	/* Context. */
	wire_u16 context_thread;
	wire_u16 context_native; /* its native stack */
	wire_u16 context_bytes;  /* bytes that hold these: a multiple of 8 */
	wire_u16 thread_context; /* of a thread: the context that it runs */
	wire_u16 body_lines;     /* of the body of code */
	wire_u16 padding;
};

/* Perl: likewise (runtime/perl_walk.h). */
struct wire_perl_layout {
	wire_u64 key; /* from PL_curinterp to PL_thr_key, modulo 2^64 */
	/* Interpreter. */
	wire_u16 statement;  /* the current one */
	wire_u16 stack;      /* of contexts: the current one */
	wire_u16 phase;      /* 32 bits */
	wire_u16 hash_names; /* of the body of a hash; 0: they are behind its buckets */
};

/*
 * Position of frames (wire_runtime_frame): the line that runs (0: no line, or it is too large),
 * WIRE_RUNTIME_ENTRY_FRAME, and these flags.
 *
 * STACK_BEGIN  Frames further out ran on another native stack, which switched to this one.
 * DELEGATES    A generator that waits for the one that it yields from. Several in a row are sent
 *              outermost first.
 * NO_FRAME     No frame: it marks a call of the evaluating C function without a frame of its own.
 * MAY_WAIT     The C function may not be running for it, as it is called again and again.
 */
#define WIRE_SCRIPT_STACK_START (1u << 30)
#define WIRE_SCRIPT_DELEGATES   (1u << 29)
#define WIRE_SCRIPT_NO_FRAME    (1u << 28)
#define WIRE_SCRIPT_MAY_WAIT    (1u << 27)
#define WIRE_SCRIPT_MAX_LINE    (WIRE_SCRIPT_MAY_WAIT - 1)

/* Kind of a function's code. */
enum wire_script_code {
	WIRE_SCRIPT_CODE_FUNCTION,
	WIRE_SCRIPT_CODE_FILE, /* all of a file that is in no function */
	WIRE_SCRIPT_CODE_EVAL, /* of a text that was evaluated */
	NUM_WIRE_SCRIPT_CODES,
};

struct wire_script_text {
	wire_u32 length;    /* in bytes; may be more than num_bytes */
	wire_u32 num_bytes; /* bytes sent */
};

/* A function, sent before the first stack that has it. */
struct wire_script_function {
	wire_u32 type; /* WIRE_RUNTIME_CODE */
	wire_u32 pid;
	wire_u64 generation;
	wire_u64 code; /* its address, as in the frame */
	wire_u32 fingerprint;
	wire_u8 runtime;   /* enum wire_runtime */
	wire_u8 code_kind; /* enum wire_script_code */
	wire_u16 padding;
	struct wire_script_text class_name;
	struct wire_script_text name;
	struct wire_script_text file;
	/* Each at a place of its own; missing ones are 0. */
	wire_u8 class_text[WIRE_SCRIPT_CLASS_BYTES];
	wire_u8 name_text[WIRE_SCRIPT_NAME_BYTES];
	wire_u8 file_text[WIRE_SCRIPT_FILE_BYTES];
};
WIRE_RUNTIME_CODE_ASSERT(wire_script_function);

#endif
