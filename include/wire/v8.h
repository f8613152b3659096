/*
 * Offsets for reading V8's frames and functions in the sampling program. Each build has them in its
 * symbols (runtime/v8.h).
 *
 * Included by both sides, as wire.h is.
 */
#ifndef WIRE_V8_H
#define WIRE_V8_H

#include "wire/runtime.h"
#include "wire/types.h"

/*
 * Limits for a function: parts of a composed name, bytes of each part, and bytes of its script's
 * name.
 */
#define WIRE_V8_NAME_PARTS 4
#define WIRE_V8_PART_BYTES 128
#define WIRE_V8_FILE_BYTES 512
/* Words of a source's characters in its hash, evenly spread from the first one to the last one. */
#define WIRE_V8_SOURCE_WORDS 17
/* Objects are read within their first bytes. */
#define WIRE_V8_OBJECT_BYTES 96

/* The fingerprint of a WebAssembly frame whose instance is known; those of functions are odd. */
#define WIRE_V8_WASM 0

/* Offsets in bytes from an object's start, and types, as an object's map has them. */
struct wire_v8_layout {
	wire_u16 major; /* of V8's version */
	wire_u16 minor;
	/* Types. */
	wire_u16 first_type_after_strings;
	wire_u16 shared_type; /* SharedFunctionInfo: shared by all closures of a function */
	wire_u16 scope_type;  /* ScopeInfo: of a function that has been compiled; it has the name */
	wire_u16 script_type;
	wire_u8 map_type; /* of a map: the type of its objects */
	/* JSFunction. */
	wire_u8 function_shared;
	/* SharedFunctionInfo. */
	wire_u8 shared_name;    /* the name, or the ScopeInfo */
	wire_u8 shared_script;  /* undefined for functions that V8 has built in */
	wire_u8 shared_literal; /* 32 bits: the function's number in its script, and flags below */
	wire_u8 shared_bytes;   /* bytes that hold all of these: a multiple of 8 */
	/* Script. */
	wire_u8 script_name; /* its source is the word before, the number of its first line that behind */
	/* ScopeInfo. */
	wire_u8 scope_flags;
	wire_u8 scope_flags_shift; /* they are a small integer, or a plain one: 32 or 0 */
	wire_u8 scope_num_locals;
	wire_u8 scope_locals;       /* content after these depends on their number and the flags */
	wire_u8 scope_position;     /* start and end of the function; 0: they are behind the name */
	wire_u8 scope_has_receiver; /* a word for the receiver may follow them */
	wire_u16 scope_max_inline_locals; /* of more, the names are elsewhere */
	/* Strings. */
	wire_u8 string_length; /* 32 bits, in characters */
	wire_u8 string_characters;
	wire_u8 cons_first;
	wire_u8 cons_second;
	wire_u8 thin_actual;
	wire_u8 external_characters; /* their address */
	/*
	 * WebAssembly frame: the marker behind its frame pointer, in the place of the context; 0:
	 * unknown.
	 */
	wire_u8 wasm_marker;
	wire_u8 padding;
};

_Static_assert(sizeof(struct wire_v8_layout) == 36, "it is followed by padding");

/* Characters of a string, or of a part of it. */
struct wire_v8_text {
	wire_u32 length;    /* in characters; may be more than num_bytes holds */
	wire_u16 num_bytes; /* bytes sent */
	wire_u16 is_wide;   /* two bytes each, else one: Latin-1 */
};

/*
 * Location of a script's source, and facts to recognize it: strings are moved, and other data may
 * replace them.
 */
struct wire_v8_source {
	wire_u64 string;     /* address of the string that has the characters; 0: unknown */
	wire_u64 map;        /* the first word there */
	wire_u64 characters; /* address of the source's first one, which need not be the string's */
	wire_u64 hash;       /* of words at wire_v8_get_source_offset() */
	wire_u32 words;      /* those in the hash, a bit each: the others could not be read */
	wire_u32 length;     /* in characters */
	wire_u32 string_length; /* likewise, of the string */
	wire_u8 is_wide;        /* two bytes a character, else one */
	wire_u8 length_offset;  /* in the string */
	wire_u8 pointer_offset; /* there: the address of its characters; 0: they are in it */
	wire_u8 padding;
};

/*
 * Offset of a word in a source of num_bytes, 8 at least. number: from 0 to WIRE_V8_SOURCE_WORDS -
 * 1.
 */
static inline __attribute__((always_inline)) wire_u64 wire_v8_get_source_offset(wire_u64 num_bytes,
										wire_u32 number)
{
	return (num_bytes - 8) * number / (WIRE_V8_SOURCE_WORDS - 1);
}

/* Hash of the words before and this one. */
static inline __attribute__((always_inline)) wire_u64 wire_v8_hash_source(wire_u64 hash,
									  wire_u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* The function's start is unknown. */
#define WIRE_V8_NO_POSITION 0xffffffff

/* A function, sent before the first stack that has it. */
struct wire_v8_function {
	wire_u32 type; /* WIRE_RUNTIME_CODE */
	wire_u32 pid;
	wire_u64 generation;
	wire_u64 shared; /* address of the SharedFunctionInfo */
	wire_u32 fingerprint;
	wire_u8 runtime; /* WIRE_RUNTIME_V8 */
	wire_u8 head_padding[3];
	wire_u8 is_builtin; /* V8's own: it is of no script */
	wire_u8 num_parts;  /* of the name */
	wire_u8 has_more;   /* there are more parts, or one could not be read */
	wire_u8 padding;
	wire_u32 position;   /* of its first character in the source; WIRE_V8_NO_POSITION */
	wire_u32 first_line; /* the number of the source's first line, from 0; signed */
	/*
	 * The line of that character, from 1 for the source's first one. 0: unknown, as it was too
	 * far to count, or could not be read. Then `source` has the location of the source.
	 */
	wire_u32 line;
	/* So that the source can be found again, when it was moved. */
	wire_u64 script;              /* the object; 0: no script */
	struct wire_v8_layout layout; /* used to read it */
	wire_u8 layout_padding[4];
	struct wire_v8_source source;
	struct wire_v8_text name[WIRE_V8_NAME_PARTS];
	struct wire_v8_text file;
	/* Each at a place of its own; missing ones are 0. */
	wire_u8 name_text[WIRE_V8_NAME_PARTS][WIRE_V8_PART_BYTES];
	wire_u8 file_text[WIRE_V8_FILE_BYTES];
};

#endif
