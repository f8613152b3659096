/*
 * What the sampling program reads of the frames and functions of interpreters that say in each frame which line runs, and by
 * which offsets (runtime/script.h).
 *
 * Included by both sides, as wire.h is.
 */
#ifndef WIRE_SCRIPT_H
#define WIRE_SCRIPT_H

#include "wire/runtime.h"
#include "wire/types.h"

/* Of a function: more of the names of its class, of itself and of its file is left out. */
#define WIRE_SCRIPT_CLASS_BYTES 128
#define WIRE_SCRIPT_NAME_BYTES  128
#define WIRE_SCRIPT_FILE_BYTES  512

/* PHP: offsets in bytes. What is the same in all its versions stands in runtime/php_walk.h. */
struct wire_php_layout {
	wire_u16 current; /* of executor_globals: the innermost frame */
	/* Of a function that is no built-in one. */
	wire_u16 function_num_instructions; /* 32 bits */
	wire_u16 function_instructions;     /* the first one */
	wire_u16 function_file;  /* a string; the lines of its begin and its end follow */
	wire_u16 function_bytes; /* that hold all of these: a multiple of 8 */
	/* Of a generator. */
	wire_u16 generator_frame;
	wire_u16 generator_parent; /* that it yields from; 0: it does not */
};

/* Where Ruby has the pointer to the context that a thread runs. */
enum wire_ruby_context {
	WIRE_RUBY_CONTEXT_OF_ALL,    /* at its state: the one that runs (before 3.0) */
	WIRE_RUBY_CONTEXT_BY_INDEX,  /* its state is what __tls_get_addr() is given for it */
	WIRE_RUBY_CONTEXT_BY_OFFSET, /* at its state: how far it is from the thread pointer */
	WIRE_RUBY_CONTEXT_IN_CODE,   /* so far from the thread pointer as context_offset says */
};

/* Ruby: likewise (runtime/ruby_walk.h). */
struct wire_ruby_layout {
	wire_u64 symbols;        /* from its state on to its global_symbols, modulo 2^64 */
	wire_u64 context_offset; /* modulo 2^64 */
	wire_u8 context;         /* enum wire_ruby_context */
	wire_u8 frame_bytes;
	wire_u8 line_bytes;  /* of an entry of a table of lines */
	wire_u8 string_text; /* of a string that has its text in it */
	/* Of a context. */
	wire_u16 context_thread;
	wire_u16 context_native; /* its native stack */
	wire_u16 context_bytes;  /* that hold these: a multiple of 8 */
	wire_u16 thread_context; /* of a thread: the context that it runs */
	wire_u16 body_lines;     /* of the body of code */
	wire_u16 padding;
};

/* Perl: likewise (runtime/perl_walk.h). */
struct wire_perl_layout {
	wire_u64 key; /* from PL_curinterp to PL_thr_key, modulo 2^64 */
	/* Of an interpreter. */
	wire_u16 statement;  /* that runs */
	wire_u16 stack;      /* of contexts: the one that is used */
	wire_u16 phase;      /* 32 bits */
	wire_u16 hash_names; /* of the body of a hash; 0: they are behind its buckets */
};

/*
 * What frames have as their position (wire_runtime_frame): the line that runs, 0: none, or it is larger; and besides
 * WIRE_RUNTIME_ENTRY_FRAME these flags. The first: the frames further out ran on another native stack, from where this one was
 * switched to. The second: a generator that waits for the one that it yields from; of such in a row, the outermost comes first.
 * The third: it is no frame, and tells only of a call of the C function that evaluates frames, which has none of its own. The
 * fourth: the C function may not be running for it, as it is called again and again.
 */
#define WIRE_SCRIPT_STACK_BEGIN (1u << 30)
#define WIRE_SCRIPT_DELEGATES   (1u << 29)
#define WIRE_SCRIPT_NO_FRAME    (1u << 28)
#define WIRE_SCRIPT_MAY_WAIT    (1u << 27)
#define WIRE_SCRIPT_MAX_LINE    (WIRE_SCRIPT_MAY_WAIT - 1)

/* What kind of code a function is. */
enum wire_script_code {
	WIRE_SCRIPT_CODE_FUNCTION,
	WIRE_SCRIPT_CODE_FILE, /* all of a file that is in no function */
	WIRE_SCRIPT_CODE_EVAL, /* of a text that was evaluated */
	NUM_WIRE_SCRIPT_CODES,
};

struct wire_script_text {
	wire_u32 length;    /* in bytes, of which not all may be there */
	wire_u32 num_bytes; /* that are there */
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
	/* Each at a place of its own; what is not there is 0. */
	wire_u8 class_text[WIRE_SCRIPT_CLASS_BYTES];
	wire_u8 name_text[WIRE_SCRIPT_NAME_BYTES];
	wire_u8 file_text[WIRE_SCRIPT_FILE_BYTES];
};
WIRE_RUNTIME_CODE_ASSERT(wire_script_function);

#endif
