/*
 * Offsets for reading HotSpot's code cache, frames and methods in the sampling program. Each build
 * has them in tables for debuggers (runtime/hotspot.h).
 *
 * Included by both sides, as wire.h is.
 */
#ifndef WIRE_HOTSPOT_H
#define WIRE_HOTSPOT_H

#include "wire/runtime.h"
#include "wire/types.h"

/*
 * Limits for a method: the names of its class, of itself and of its source file, and its line table
 * are truncated.
 */
#define WIRE_HOTSPOT_CLASS_BYTES 256
#define WIRE_HOTSPOT_NAME_BYTES  128
#define WIRE_HOTSPOT_FILE_BYTES  128
#define WIRE_HOTSPOT_LINE_BYTES  512
/* Code blobs and methods are read within their first bytes. */
#define WIRE_HOTSPOT_OBJECT_BYTES 496
/* The version does not have it. */
#define WIRE_HOTSPOT_NONE 0xffff

/* Parts of the code cache: JDK 8 has one, newer ones have three, or one. */
#define WIRE_HOTSPOT_MAX_HEAPS 3

/* Offsets in bytes, unless noted otherwise. */
struct wire_hotspot_layout {
	/* Variables, by their ELF address. */
	wire_u64 heaps;       /* the address of a growable array of pointers to code heaps; with
			  array_length NONE the address of the only heap */
	wire_u64 interpreter; /* the address of the interpreter's queue of code */
	wire_u64 call_stub_return; /* where functions called by the VM return to */
	wire_u16 major;            /* of the JDK's version */
	/* Growable array. */
	wire_u16 array_length; /* 32 bits; NONE (JDK 8): there is no array */
	wire_u16 array_items;  /* their address */
	/* Code heap. */
	wire_u16 heap_start;    /* the address of its memory */
	wire_u16 heap_end;      /* the first one behind its reserved memory */
	wire_u16 heap_segments; /* the address of a table with a byte for each segment: its block
				   starts at least so many segments before; 0: here; 0xff: no block */
	wire_u16 heap_segment_shift; /* 32 bits: the logarithm of a segment's size */
	/* Queue of code. */
	wire_u16 queue_start; /* the address of its memory */
	wire_u16 queue_bytes; /* 32 bits: its size */
	/* Block of a code heap: a header of this many bytes, then a code blob. */
	wire_u16 block_bytes;
	wire_u16 block_used; /* a byte; 0: it is free */
	/* Code blob. */
	wire_u16 blob_bytes; /* bytes to read of a blob, also of an nmethod: a multiple of 8 */
	wire_u16 blob_name;  /* the address of a string, except for nmethods */
	wire_u16 blob_size;  /* 32 bits: of all of it */
	wire_u16 blob_header_bytes;       /* its header size by its own account: tells nmethods */
	wire_u8 blob_header_bytes_size;   /* of that: 2 or 4 bytes */
	wire_u8 blob_frame_complete_size; /* likewise of the next */
	wire_u16 blob_frame_complete; /* signed: bytes of code after which its frame is set up */
	wire_u16 blob_frame_words; /* 32 bits, signed: words of a frame; with its return address */
	wire_u16 blob_code;     /* the address of its code; or with blob_code_is_offset 32 bits */
	wire_u16 blob_code_end; /* likewise; or with that, the offset of the data behind it */
	wire_u8 blob_code_is_offset; /* from the blob's start */
	wire_u8 padding;
	/* Nmethod: code of a compiled method, or a wrapper of a native one. */
	wire_u16 nmethod_header_bytes; /* header size of such a blob */
	wire_u16 nmethod_method;       /* the method */
	wire_u16 nmethod_compile_id;   /* 32 bits: no two have the same one */
	/* Method, and the part that it shares with methods of redefined classes. */
	wire_u16 method_const;
	wire_u16 const_bytes; /* of a ConstMethod: its instructions follow, and then its lines */
	wire_u16 const_pool;  /* the constant pool */
	wire_u16 const_code_bytes; /* 16 bits: of its instructions */
	wire_u16 const_flags;      /* 32 bits; perhaps 16 of them belong to something else */
	wire_u16 const_has_lines;  /* of these, the flag for a line table */
	wire_u16 const_name;       /* 16 bits: number in the pool */
	/* Constant pool. */
	wire_u16 pool_bytes; /* its entries, of a word each, follow */
	wire_u16 pool_class; /* the class whose methods have it */
	wire_u16 pool_file;  /* 16 bits: number in the pool of the source file's name; 0: none;
			       WIRE_HOTSPOT_NONE: see class_file */
	/* Class and symbol. */
	wire_u16 class_file; /* if the pool does not have it: likewise, also of the pool */
	wire_u16 class_name;
	wire_u16 symbol_length; /* 16 bits, in bytes */
	wire_u16 symbol_text;   /* modified UTF-8 */
	/*
	 * Frame of the interpreter: words before its frame pointer, to the address of the current
	 * bytecode.
	 */
	wire_u16 frame_bytecode;
	wire_u16 reserved[1];
};

/*
 * Position of frames (wire_runtime_frame), besides the level of the native stack in the low bits;
 * `code` is the method or the blob.
 */
#define WIRE_HOTSPOT_LEVEL_BITS 10
#define WIRE_HOTSPOT_INTERPRETED \
	(1u << 31) /* of a method: the index of the bytecode that runs is above the level */
#define WIRE_HOTSPOT_STUB \
	(1u << 30) /* no method: a blob of the JVM's own; with the other: the interpreter */
#define WIRE_HOTSPOT_CALL_STUB   (1u << 29) /* the JVM calls the inner frame by it; `code` is 0 */
#define WIRE_HOTSPOT_NO_BYTECODE 0xffff

struct wire_hotspot_text {
	wire_u16 length;    /* in bytes; may be more than num_bytes */
	wire_u16 num_bytes; /* bytes sent */
};

/*
 * A method, compiled code of a method, or a stub (which has only a name): sent before the first
 * stack that has it.
 */
struct wire_hotspot_method {
	wire_u32 type; /* WIRE_RUNTIME_CODE */
	wire_u32 pid;
	wire_u64 generation;
	wire_u64 code; /* as in the frame */
	wire_u32 fingerprint;
	wire_u8 runtime; /* WIRE_RUNTIME_HOTSPOT */
	wire_u8 head_padding[3];
	wire_u32 compile_id;     /* of compiled code */
	wire_u16 code_bytes;     /* of its bytecode */
	wire_u16 num_line_bytes; /* bytes sent of the compressed line table; it marks its own end */
	wire_u64 method;         /* address of the Method */
	wire_u16 major;          /* of the JDK's version: of how the table is compressed */
	wire_u16 padding[5];
	struct wire_hotspot_text class_name;
	struct wire_hotspot_text name;
	struct wire_hotspot_text file;
	/* Each at a place of its own; missing ones are 0. */
	wire_u8 class_text[WIRE_HOTSPOT_CLASS_BYTES];
	wire_u8 name_text[WIRE_HOTSPOT_NAME_BYTES];
	wire_u8 file_text[WIRE_HOTSPOT_FILE_BYTES];
	wire_u8 lines[WIRE_HOTSPOT_LINE_BYTES];
};
WIRE_RUNTIME_CODE_ASSERT(wire_hotspot_method);

#endif
