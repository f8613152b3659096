/*
 * What the sampling program reads of V8's frames and functions, and by which offsets: each build says them in its symbols
 * (runtime/v8.h).
 *
 * Included by both sides, as wire.h is.
 */
#ifndef WIRE_V8_H
#define WIRE_V8_H

#include "wire/types.h"

/* Of a function: so many parts of a name that was put together, and so much of each; and of a script's name. */
#define WIRE_V8_NAME_PARTS 4
#define WIRE_V8_PART_BYTES 128
#define WIRE_V8_FILE_BYTES 512
/* What is read of objects lies in their first bytes. */
#define WIRE_V8_OBJECT_BYTES 96

/* Files that have V8 in them, in one recording. */
#define WIRE_MAX_V8_LAYOUTS 64

/* Offsets in bytes from an object's begin, and types, as an object's map has them. */
struct wire_v8_layout {
	wire_u16 major; /* of V8's version */
	wire_u16 minor;
	/* Types. */
	wire_u16 first_type_after_strings;
	wire_u16 shared_type; /* SharedFunctionInfo: what all closures of a function share */
	wire_u16 scope_type;  /* ScopeInfo: of a function that has been compiled; it has the name */
	wire_u16 script_type;
	wire_u8 map_type; /* of a map: the type of what has it */
	/* Of a JSFunction. */
	wire_u8 function_shared;
	/* Of a SharedFunctionInfo. */
	wire_u8 shared_name;    /* the name, or the ScopeInfo */
	wire_u8 shared_script;  /* undefined for functions that V8 has built in */
	wire_u8 shared_literal; /* 32 bits: the function's number in its script, and flags below */
	wire_u8 shared_bytes;   /* that hold all of these: a multiple of 8 */
	/* Of a script. */
	wire_u8 script_name;
	/* Of a ScopeInfo. */
	wire_u8 scope_flags;
	wire_u8 scope_flags_shift; /* they are a small integer, or a plain one: 32 or 0 */
	wire_u8 scope_num_locals;
	wire_u8 scope_locals; /* what follows depends on the flags and on how many these are */
	wire_u8 scope_has_receiver;       /* a word for the receiver may follow them */
	wire_u16 scope_max_inline_locals; /* of more, the names are elsewhere */
	/* Of strings. */
	wire_u8 string_length; /* 32 bits, in characters */
	wire_u8 string_characters;
	wire_u8 cons_first;
	wire_u8 cons_second;
	wire_u8 thin_actual;
	wire_u8 external_characters; /* their address */
};

/* Characters of a string, or of a part of it. */
struct wire_v8_text {
	wire_u32 length;    /* in characters, of which not all may be there */
	wire_u16 num_bytes; /* that are there */
	wire_u16 is_wide;   /* two bytes each, else one: Latin-1 */
};

/* A function, sent before the first stack that has it. */
struct wire_v8_function {
	wire_u32 type; /* WIRE_V8_FUNCTION */
	wire_u32 pid;
	wire_u64 generation;
	wire_u64 shared; /* address of the SharedFunctionInfo */
	wire_u32 fingerprint;
	wire_u8 is_builtin; /* V8's own: it is of no script */
	wire_u8 num_parts;  /* of the name */
	wire_u8 has_more;   /* there are more parts, or one could not be read */
	wire_u8 padding;
	struct wire_v8_text name[WIRE_V8_NAME_PARTS];
	struct wire_v8_text file;
	/* Each at a place of its own; what is not there is 0. */
	wire_u8 name_text[WIRE_V8_NAME_PARTS][WIRE_V8_PART_BYTES];
	wire_u8 file_text[WIRE_V8_FILE_BYTES];
};

#endif
