/*
 * Offsets for reading CPython's frames and code objects in the sampling program. They differ
 * between minor versions, which describe themselves from 3.13 on (runtime/python.h).
 *
 * Included by both sides, as wire.h is.
 */
#ifndef WIRE_PYTHON_H
#define WIRE_PYTHON_H

#include "wire/runtime.h"
#include "wire/types.h"

/* Limits for code objects: names, names of files and line tables are truncated. */
#define WIRE_PYTHON_NAME_BYTES 256
#define WIRE_PYTHON_FILE_BYTES 512
#define WIRE_PYTHON_LINE_BYTES 512
/* Frames and code objects are read within their first bytes. */
#define WIRE_PYTHON_OBJECT_BYTES 248
/* The version does not have it. */
#define WIRE_PYTHON_NONE 0xffff

/* How to tell that a frame is the first one of a call of the evaluating C function. */
enum wire_python_runs {
	WIRE_PYTHON_RUN_EACH,  /* all are */
	WIRE_PYTHON_RUN_ENTRY, /* if a byte of it is not 0 */
	/* Its caller is not a Python frame: a byte of the caller is run_owner or more. */
	WIRE_PYTHON_RUN_OWNER,
};

/* How a frame refers to its instruction. */
enum wire_python_instruction {
	WIRE_PYTHON_BYTE_INDEX, /* an int; below 0: not started */
	WIRE_PYTHON_UNIT_INDEX, /* the same, of two bytes each */
	WIRE_PYTHON_POINTER,    /* into the code object */
};

/* Offsets in bytes, unless noted otherwise. */
struct wire_python_layout {
	wire_u16 minor;        /* of version 3 */
	wire_u8 runs;          /* enum wire_python_runs */
	wire_u8 instruction;   /* enum wire_python_instruction */
	wire_u16 interpreters; /* of _PyRuntime: the first interpreter */
	/* Interpreter. */
	wire_u16 interpreter_next;
	wire_u16 interpreter_threads; /* the first thread */
	/* Thread. */
	wire_u16 thread_next;
	wire_u16 thread_id;    /* as pthread_self() gives it: its thread pointer */
	wire_u16 thread_frame; /* the innermost frame; of versions with cframes, the cframe */
	wire_u16 cframe_frame; /* of a cframe: the innermost frame; or WIRE_PYTHON_NONE */
	/* Frame. */
	wire_u16 frame_code;
	wire_u16 frame_previous; /* the caller's */
	wire_u16 frame_instruction;
	wire_u16 frame_run;    /* the byte that `runs` asks; else WIRE_PYTHON_NONE */
	wire_u8 run_owner;     /* for WIRE_PYTHON_RUN_OWNER: the byte's least value */
	wire_u8 code_tag_bits; /* a mask: low bits of frame_code that do not belong to the address */
	wire_u16 frame_bytes;  /* bytes that hold all of these: a multiple of 8 */
	/* Code object. */
	wire_u16 code_first_line;
	wire_u16 code_name; /* the qualified name, if there is one */
	wire_u16 code_file;
	wire_u16 code_lines;        /* a bytes object */
	wire_u16 code_instructions; /* WIRE_PYTHON_POINTER: the first one; else WIRE_PYTHON_NONE */
	wire_u16 code_start;        /* of the bytes that hold the others; both are multiples of 8 */
	wire_u16 code_bytes;
	/* Strings and bytes. */
	wire_u16 text_length;     /* in characters */
	wire_u16 text_state;      /* 32 bits */
	wire_u8 text_kind_shift;  /* of it: 3 bits, bytes of a character */
	wire_u8 text_ascii_shift; /* bit `ascii`; below it `compact`: text follows the head */
	wire_u16 ascii_text;      /* where they follow then */
	wire_u16 other_text;
	wire_u16 bytes_length;
	wire_u16 bytes_content;
} __attribute__((aligned(8))); /* it is copied in words */

/*
 * Position of CPython's frames (wire_runtime_frame): bytes from the first instruction to the one
 * that runs, or ran last; WIRE_RUNTIME_ENTRY_FRAME, and this flag.
 */
#define WIRE_PYTHON_NOT_STARTED (1u << 30)

struct wire_python_text {
	wire_u32 length;    /* in characters; may be more than num_bytes holds */
	wire_u16 num_bytes; /* that are there */
	wire_u8 kind;       /* bytes of a character */
	wire_u8 is_ascii;
};

/* A code object, sent before the first stack that has it. */
struct wire_python_code {
	wire_u32 type; /* WIRE_RUNTIME_CODE */
	wire_u32 pid;
	wire_u64 generation;
	wire_u64 code;
	wire_u32 fingerprint;
	wire_u8 runtime; /* WIRE_RUNTIME_PYTHON */
	wire_u8 padding[3];
	wire_u32 first_line;
	wire_u16 minor;
	wire_u16 num_line_bytes; /* that are there */
	wire_u32 line_bytes;     /* of the whole table */
	wire_u32 text_padding;
	struct wire_python_text name;
	struct wire_python_text file;
	/* Each at a place of its own; missing ones are 0. */
	wire_u8 name_text[WIRE_PYTHON_NAME_BYTES];
	wire_u8 file_text[WIRE_PYTHON_FILE_BYTES];
	wire_u8 lines[WIRE_PYTHON_LINE_BYTES];
};
WIRE_RUNTIME_CODE_ASSERT(wire_python_code);

#endif
