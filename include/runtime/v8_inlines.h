/*
 * JavaScript functions that V8's optimizing compilers have inlined: finds those of an instruction
 * in optimized code.
 *
 * The code object describes itself. At a return address, its deoptimization data lists the
 * functions that would run without optimization. At any other instruction, its table of source
 * positions contains the inlining, if the table covers all instructions and not only calls. If
 * neither covers an instruction, its functions are unknown. Nothing is guessed.
 *
 * The garbage collector may move objects and free code while they are read. A description counts if
 * the code is the same before and after; the compiler numbers each code of an isolate.
 *
 * Not thread-safe.
 */
#ifndef RUNTIME_V8_INLINES_H
#define RUNTIME_V8_INLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "runtime/v8_source.h"
#include "wire/v8.h"

/* How a version encodes the lists of functions in its deoptimization data. */
enum v8_translations {
	V8_TRANSLATIONS_PLAIN,  /* all signed; V8 9.4 and 10.2 */
	V8_TRANSLATIONS_SHARED, /* an opcode is a byte, and may refer to an earlier list; 11.3 */
	V8_TRANSLATIONS_FRAMES_FIRST, /* the same with the opcodes of frames in front; 12.4 */
	V8_TRANSLATIONS_BYTECODE,     /* the same, and frames name their bytecode; 13.6 */
};

/* Offsets in bytes from an object's start, types as maps have them, and numbers of words in the deoptimization data. */
struct v8_code_layout {
	bool is_known;
	uint8_t translations;    /* enum v8_translations */
	uint16_t stream_type;    /* of the object that contains the instructions */
	uint8_t stream_bytes;    /* from its start to the first instruction */
	uint8_t stream_code;     /* its code object; 0: it is the code object itself */
	uint8_t code_start;      /* address of the first instruction; 0: behind the object's head */
	uint8_t code_size;       /* 32 bits: bytes of instructions */
	uint8_t code_flags;      /* 32 bits, with the kind in the lowest four */
	uint8_t code_deopt_data; /* array of the words below */
	uint8_t code_positions;  /* table of source positions */
	uint8_t kind_turbofan;
	uint8_t kind_maglev;
	uint8_t safepoint_head; /* bytes before the entries of Maglev's table; 0: unknown */
	uint8_t num_inlined;
	uint8_t literals;
	uint8_t optimization_id;
	uint8_t shared;
	uint8_t inlinings;   /* for each inlining, its function and its caller */
	uint8_t exits;       /* offset of the exits; behind it how many are eager, and lazy */
	uint8_t first_deopt; /* words for each: bytecode offset, index in the translations, pc */
	bool is_shared_wrapped;
	uint8_t exit_bytes;
};

/*
 * Whether a known layout keeps all reads in bounds: it may be sent by a process that a file has
 * taken over.
 */
bool v8_code_layout_is_valid(const struct v8_code_layout *layout);

/*
 * Limits of a recording: processes, codes, bytes of descriptions. The process with the oldest last
 * lookup is dropped first.
 */
#define V8_INLINES_PROCESSES_MAX (1u << 16)
#define V8_INLINES_CODES_MAX     (1u << 17)
#define V8_INLINES_BYTES_MAX     (64u << 20)
/*
 * Bytes read in a process at most, plus bytes for each second since the first lookup. A read counts
 * as 2 KiB plus its bytes.
 */
#define V8_INLINES_READ_MAX        (256u << 20)
#define V8_INLINES_READ_PER_SECOND (16u << 20)
/* Limit of inlined functions at one instruction. */
#define V8_INLINES_DEPTH_MAX 64

/* An instruction. */
struct v8_code_place {
	uint64_t generation; /* of the process, as in wire_sample */
	uint64_t pc;         /* the instruction, or the address that a call returns to */
	uint64_t function;   /* of the frame */
	uint32_t pid;
	uint32_t fingerprint; /* of that function */
	bool is_call;         /* pc is a return address */
};

/* The key of a function among v8_functions. */
struct v8_inlined_function {
	uint64_t address;
	uint32_t fingerprint;
};

struct v8_inlined_chain {
	uint32_t num_functions; /* 0: the instruction is the compiled function's own */
	struct v8_inlined_function functions[V8_INLINES_DEPTH_MAX]; /* innermost first */
};

/* The memory of a process, and the layouts of its build. */
struct v8_code_source {
	const struct v8_code_layout *code;
	const struct wire_v8_layout *layout;
	const struct v8_memory *memory;
	/* Called for each function before the first chain with it. record has pid and generation. Returns 0 or -ENOMEM. */
	int (*add_function)(void *context, const struct wire_v8_function *record);
	void *context;
};

struct v8_inlines;

struct v8_inlines *v8_inlines_new(void); /* NULL when out of memory */
void v8_inlines_free(struct v8_inlines *inlines);
static inline void v8_inlines_freep(struct v8_inlines **inlines)
{
	v8_inlines_free(*inlines);
}

/*
 * Find the inlined functions at an instruction.
 *
 * Returns 0, -ENOENT (unknown) or -ENOMEM.
 */
_must_check_ int v8_inlines_find(struct v8_inlines *inlines, const struct v8_code_source *source,
				 const struct v8_code_place *place, struct v8_inlined_chain *ret);

#endif
