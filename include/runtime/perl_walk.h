/*
 * The walk of Perl's frames: finds the subroutines and evals that a thread's interpreter is in,
 * innermost first, and reads the description of a subroutine. They are those that `caller` reports,
 * plus the program itself, which calls the outermost one.
 *
 * The same code is compiled into the BPF program and into tests. The includer defines PERL_INLINE
 * (the specifiers of functions here) before this file, and perl_read() and perl_read_string() after
 * it. Memory is 64-bit, little endian.
 *
 *	if (!perl_walk_start(walk, …))
 *		for (i = 0; i < PERL_MAX_STEPS && !perl_walk_step(walk, frames); i++)
 *			;
 *	walk->end, walk->num_frames
 *
 * A step looks at one context, and has no loop but over the words of a file name, so that the
 * verifier checks it once. The includer may define PERL_HASH_SOME_WORDS() as a separately verified
 * function that calls perl_hash_some_words(). All data is in the struct, including data that is
 * read, since separately verified functions take no pointers to a stack.
 *
 * An interpreter has a stack of contexts: subroutines, evals, blocks, loops. Code called from C (a
 * method of a tied variable, the block of a sort) mostly gets a stack of its own, which refers to
 * the previous one. A context has the statement that was running when it was entered, which is the
 * position of the outer frame. The interpreter has the position of the innermost one.
 *
 * Perl_runops_standard() runs operations, one after the other, across subroutines. If C calls a
 * subroutine, it is called again, until there is no next operation: such a subroutine has no
 * operation to return to. The same holds for the blocks of sort, for code in regular expressions
 * and for `defer`. These have no frame of their own, only a placeholder for the call. The
 * placeholders of sort, of code in regular expressions and of repeated calls from C (MULTICALL)
 * remain while that code does not run. For an eval that the caller of C would not see, the
 * operations after it are run by another call, too: by S_docatch(), which has no context.
 *
 * The interpreter of a thread is thread-specific data; its location in the GNU C library depends on
 * the machine.
 */
#ifndef RUNTIME_PERL_WALK_H
#define RUNTIME_PERL_WALK_H

#include "runtime/x86_64/glibc_thread.h"
#include "wire/clear.h"
#include "wire/script.h"

#define PERL_FILE_WORDS (WIRE_SCRIPT_FILE_BYTES / 8)

/* Blocks and loops are contexts, too. */
#define PERL_MAX_STEPS (4 * WIRE_MAX_RUNTIME_FRAMES)

/*
 * Offsets that are the same from 5.32 to 5.40, with threads.
 *
 * Source: cop.h (stackinfo, context, block, block_sub, block_eval, cop), cv.h, gv.h, hv.h, op.h, perl.h of each.
 */
#define PERL_INTERPRETER_OPERATION 8

#define PERL_STACK_CONTEXTS 8 /* the first one */
#define PERL_STACK_PREVIOUS 16
#define PERL_STACK_INDEX    32 /* 32 bits: of the innermost context; -1: it has none */
#define PERL_STACK_TYPE     44 /* 32 bits */
#define PERL_STACK_BYTES    48
#define PERL_MAX_CONTEXTS   (1u << 24)

#define PERL_STACK_MAIN 1 /* type: that of the program */

#define PERL_CONTEXT_TYPE      0 /* a byte: the kind, and flags */
#define PERL_CONTEXT_STATEMENT 16
#define PERL_CONTEXT_RETURN \
	48 /* an operation. As those that follow, of subroutines, formats and evals */
#define PERL_CONTEXT_FILE_NAME 64 /* of an eval: that is of a file */
#define PERL_CONTEXT_CODE      72 /* of others */
#define PERL_CONTEXT_BYTES     104

/* Kinds of contexts. */
#define PERL_KIND_MASK  0x0f
#define PERL_SORT_BLOCK 0
#define PERL_SUB        9
#define PERL_FORMAT     10
#define PERL_EVAL       11
#define PERL_DEFER      13 /* from 5.36 on */

/* Flags of subroutines. */
#define PERL_SUB_MULTICALL 0x10
#define PERL_SUB_REGEXP    0x40 /* code in a regular expression */
#define PERL_SUB_FAKE      0x80 /* with that: it is for the running subroutine */
/* Flags of evals. */
#define PERL_EVAL_TEXT  0x20
#define PERL_EVAL_BLOCK 0x40
#define PERL_EVAL_TRY   0x80 /* no eval, but `try`, from 5.34 on */

#define PERL_STATEMENT_LINE  36 /* 32 bits */
#define PERL_STATEMENT_FILE  48 /* text that ends with a zero */
#define PERL_STATEMENT_START 32 /* of the part that is read */
#define PERL_STATEMENT_BYTES 24

#define PERL_OPERATION_FUNCTION 16 /* the function that runs it */

/* A value (a subroutine, a glob, a hash): address of its body, its flags, and more. */
#define PERL_VALUE_BODY  0
#define PERL_VALUE_FLAGS 12 /* 32 bits */
#define PERL_VALUE_MORE  16 /* for a glob its contents, for a hash its buckets */
#define PERL_VALUE_BYTES 24

#define PERL_HASH_HAS_NAME 0x02000000

#define PERL_CODE_PACKAGE 32 /* a hash: the package it was compiled in */
#define PERL_CODE_FIRST   40 /* operation */
#define PERL_CODE_GLOB    56 /* or its name, by flag */
#define PERL_CODE_FLAGS   92 /* 32 bits */
#define PERL_CODE_DEPTH   96 /* 32 bits: number of its active calls */
#define PERL_CODE_BYTES   104

#define PERL_CODE_HAS_NAME 0x8000
#define PERL_CODE_LEXICAL  0x10000

#define PERL_GLOB_NAME      32
#define PERL_GLOB_PACKAGE   40 /* a hash */
#define PERL_CONTENT_ORIGIN 56 /* in a glob's contents: the glob it was made for */

#define PERL_BUCKETS_LAST 24 /* in the body of a hash: the number of the last bucket */
/* More data of a hash: its name, or a list of names, starting with it. */
#define PERL_NAMES_NAME  0
#define PERL_NAMES_COUNT 28 /* 32 bits; 0: a single name */
#define PERL_NAMES_BYTES 32

#define PERL_NAME_HASH   0 /* 32 bits */
#define PERL_NAME_LENGTH 4 /* 32 bits */
#define PERL_NAME_TEXT   8

#define PERL_PHASE_RUN 4 /* of the program; before that it is compiled, and after it ends */
#define PERL_PHASE_END 5

/*
 * C has an operation for its callee on the C stack, which is in no context before the callee has
 * started. Maximum distance from the stack pointer.
 */
#define PERL_MAX_OPERATION_DISTANCE (1u << 20)

#define PERL_OBJECT_WORDS 16 /* a power of two, and more than a context has */

struct perl_walk {
	struct wire_perl_layout layout;
	wire_u64 contexts;       /* of the stack: the first one */
	wire_u64 previous_stack; /* 0: it is the first one */
	wire_u64 statement;      /* position of the next frame */
	/* The innermost frame, if it may not be at the last statement; or 0. */
	wire_u64 doubtful_code;
	wire_u32 doubtful_frame; /* its number */
	wire_u32 doubtful_line;  /* its line in that case */
	wire_u32 num_contexts;   /* remaining in the stack */
	wire_u32 num_steps;
	wire_u32 num_frames;
	wire_u32 end;         /* enum wire_runtime_end */
	wire_u32 phase;       /* of the interpreter; only of that of the program */
	wire_u32 is_program;  /* the interpreter is that of the program */
	wire_u32 has_frame;   /* one was taken */
	wire_u32 is_entered;  /* the innermost context is of a callee of C that does not run yet */
	wire_u32 line;        /* of the last statement read; 0: unknown */
	wire_u64 file;        /* of the statement read last */
	wire_u64 name;        /* of the subroutine read last; 0: it has none */
	wire_u64 package;     /* of that: a hash; 0: none */
	wire_u64 hashed_file; /* the file whose name was read last; 0: none */
	wire_u64 file_hash;   /* of its name */
	wire_u64 file_text[PERL_FILE_WORDS];
	wire_u64 words[PERL_OBJECT_WORDS]; /* the last object read */
	/* For each frame. */
	wire_u64 files[WIRE_MAX_RUNTIME_FRAMES]; /* text, at an address */
	wire_u8 kinds[WIRE_MAX_RUNTIME_FRAMES];  /* enum wire_script_code */
};

/*
 * Read bytes of the process's memory. Returns 0, or another number if not all can be read: then ret
 * is unchanged, or zeroed.
 */
PERL_INLINE int perl_read(struct perl_walk *walk, void *ret, wire_u32 bytes, wire_u64 address);

/*
 * Read text up to its terminating zero, or as much as fits, including the zero. Bytes after that
 * are unchanged, except up to 7 that may become 0. Returns the number of bytes before the zero, or
 * a negative number.
 */
PERL_INLINE int perl_read_string(struct perl_walk *walk, void *ret, wire_u32 size,
				 wire_u64 address);

PERL_INLINE int perl_walk_stop(struct perl_walk *walk, enum wire_runtime_end end)
{
	walk->end = end;
	return 1;
}

PERL_INLINE int perl_read_object(struct perl_walk *walk, wire_u64 address, wire_u32 bytes)
{
	return perl_read(walk, walk->words, bytes & (PERL_OBJECT_WORDS * 8 - 1), address);
}

PERL_INLINE int perl_read_word(struct perl_walk *walk, wire_u64 address, wire_u64 *ret)
{
	return perl_read(walk, ret, sizeof(*ret), address);
}

/*
 * The field at an offset of the last object, followed by the rest of its word: fields are aligned
 * to their size.
 */
PERL_INLINE wire_u64 perl_get_field(const struct perl_walk *walk, wire_u32 offset)
{
	return walk->words[offset >> 3 & (PERL_OBJECT_WORDS - 1)] >> ((offset & 7) * 8);
}

PERL_INLINE wire_u64 perl_hash(wire_u64 hash, wire_u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/*
 * Continue with the contexts of a stack. Returns 0, or another number if it is unreadable or not a
 * stack.
 */
PERL_INLINE int perl_enter_stack(struct perl_walk *walk, wire_u64 stack)
{
	if (perl_read_object(walk, stack, PERL_STACK_BYTES))
		return -1;
	walk->contexts = perl_get_field(walk, PERL_STACK_CONTEXTS);
	walk->previous_stack = perl_get_field(walk, PERL_STACK_PREVIOUS);
	walk->num_contexts = (wire_u32)perl_get_field(walk, PERL_STACK_INDEX) + 1;
	if ((wire_u32)perl_get_field(walk, PERL_STACK_TYPE) == PERL_STACK_MAIN)
		walk->previous_stack = 0;
	return walk->num_contexts <= PERL_MAX_CONTEXTS ? 0 : -1;
}

/* Add a placeholder for a call of the C function that runs operations. flags: additional ones. */
PERL_INLINE void perl_take_call(struct perl_walk *walk, wire_u32 flags,
				struct wire_runtime_frame *frames)
{
	wire_u32 number = walk->num_frames & (WIRE_MAX_RUNTIME_FRAMES - 1);

	frames[number].code = 0;
	frames[number].fingerprint = 0;
	frames[number].position = WIRE_RUNTIME_ENTRY_FRAME | WIRE_SCRIPT_NO_FRAME | flags;
	walk->num_frames++;
}

/* The interpreter that the thread runs; 0: none. Returns 0, or another number if unreadable. */
PERL_INLINE int perl_find_interpreter(struct perl_walk *walk, wire_u64 state,
				      wire_u64 thread_pointer, wire_u64 *ret)
{
	wire_u64 first = 0;
	wire_u32 key = 0;

	*ret = 0;
	if (perl_read_word(walk, state, &first) ||
	    perl_read(walk, &key, sizeof(key), state + walk->layout.key) ||
	    perl_read_object(walk, thread_pointer, 32))
		return -1;
	if (!first || key >= GLIBC_THREAD_KEYS ||
	    perl_get_field(walk, GLIBC_THREAD_SELF) != thread_pointer ||
	    perl_get_field(walk, GLIBC_THREAD_SELF_TOO) != thread_pointer ||
	    (wire_u32)perl_get_field(walk, GLIBC_THREAD_SEVERAL) > 1)
		return 0;
	if (perl_read_object(walk, thread_pointer + GLIBC_THREAD_DATA + key * 16, 16))
		return -1;
	if (perl_get_field(walk, 0) & 1)
		*ret = perl_get_field(walk, 8);
	walk->is_program = *ret == first;
	return 0;
}

/*
 * Whether the last context read was entered by an operation that C has made: while that runs, text
 * is compiled, or a subroutine has not reached its first statement.
 */
PERL_INLINE int perl_is_entered(const struct perl_walk *walk)
{
	wire_u32 type = perl_get_field(walk, PERL_CONTEXT_TYPE) & 0xff;

	if (perl_get_field(walk, PERL_CONTEXT_RETURN))
		return 0;
	if ((type & PERL_KIND_MASK) == PERL_EVAL)
		return (type & PERL_EVAL_TEXT) != 0;
	return (type & PERL_KIND_MASK) == PERL_SUB && !(type & PERL_SUB_MULTICALL) &&
	       perl_get_field(walk, PERL_CONTEXT_STATEMENT) == walk->statement;
}

/*
 * The running operation was made by C: its callee has no context, as it is written in C, or has
 * just entered one. Whether the C function that runs operations executes it depends on the callee;
 * it may not be running yet. Returns 0, or another number if unreadable.
 */
PERL_INLINE int perl_take_operation(struct perl_walk *walk, wire_u64 operation,
				    struct wire_runtime_frame *frames)
{
	wire_u64 innermost = walk->contexts + (walk->num_contexts - 1) * PERL_CONTEXT_BYTES;
	wire_u64 function = 0;
	wire_u32 is_entered;

	if (perl_read_word(walk, operation + PERL_OPERATION_FUNCTION, &function))
		return -1;
	if (walk->num_contexts && perl_read_object(walk, innermost, PERL_CONTEXT_BYTES))
		return -1;
	is_entered = walk->num_contexts && perl_is_entered(walk);
	if (!function)
		walk->is_entered = is_entered;
	else if (!is_entered)
		perl_take_call(walk, WIRE_SCRIPT_MAY_WAIT, frames);
	return 0;
}

/*
 * state  address of PL_curinterp in the process
 *
 * Returns 0 to go on, or 1 at the end, which walk->end explains.
 */
PERL_INLINE int perl_walk_start(struct perl_walk *walk, const struct wire_perl_layout *layout,
				wire_u64 state, wire_u64 thread_pointer, wire_u64 stack_pointer,
				struct wire_runtime_frame *frames)
{
	wire_u64 interpreter = 0;
	wire_u64 operation = 0;
	wire_u64 stack = 0;

	walk->layout = *layout;
	walk->hashed_file = walk->file_hash = 0;
	walk->doubtful_code = walk->num_steps = walk->num_frames = 0;
	walk->has_frame = walk->is_entered = walk->is_program = walk->phase = 0;
	if (perl_find_interpreter(walk, state, thread_pointer, &interpreter))
		return perl_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	if (!interpreter)
		return perl_walk_stop(walk, WIRE_RUNTIME_NO_THREAD);
	if (perl_read_word(walk, interpreter + PERL_INTERPRETER_OPERATION, &operation) ||
	    perl_read_word(walk, interpreter + layout->statement, &walk->statement) ||
	    perl_read_word(walk, interpreter + layout->stack, &stack) ||
	    perl_read(walk, &walk->phase, sizeof(walk->phase), interpreter + layout->phase))
		return perl_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	if (!stack) /* it is being made */
		return perl_walk_stop(walk, WIRE_RUNTIME_NO_THREAD);
	if (perl_enter_stack(walk, stack))
		return perl_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	/*
	 * The last operation of a call has run and its context was left: the call may be about to
	 * end, or over.
	 */
	if (!operation)
		perl_take_call(walk, WIRE_SCRIPT_MAY_WAIT, frames);
	else if (operation - stack_pointer < PERL_MAX_OPERATION_DISTANCE &&
		 perl_take_operation(walk, operation, frames))
		return perl_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	return 0;
}

/* A divisor of PERL_FILE_WORDS. */
#define PERL_WORDS_AT_ONCE 8

/* Add words of the file name to its hash, from this number on. */
PERL_INLINE void perl_hash_some_words(struct perl_walk *walk, wire_u32 first)
{
	for (wire_u32 i = 0; i < PERL_WORDS_AT_ONCE; i++)
		walk->file_hash = perl_hash(walk->file_hash,
					    walk->file_text[(first + i) & (PERL_FILE_WORDS - 1)]);
}

#ifndef PERL_HASH_SOME_WORDS
#define PERL_HASH_SOME_WORDS perl_hash_some_words
#endif

/*
 * Hash the file name of a statement, to tell it from a later one at the same address. Successive
 * frames mostly have the same file.
 */
PERL_INLINE void perl_hash_file(struct perl_walk *walk)
{
	if (walk->file == walk->hashed_file)
		return;
	walk->hashed_file = walk->file;
	walk->file_hash = 0;
	WIRE_CLEAR(walk->file_text, sizeof(walk->file_text));
	if (perl_read_string(walk, walk->file_text, sizeof(walk->file_text), walk->file) < 0) {
		walk->file = walk->hashed_file = 0;
		return;
	}
	for (wire_u32 i = 0; i < PERL_FILE_WORDS; i += PERL_WORDS_AT_ONCE)
		PERL_HASH_SOME_WORDS(walk, i);
}

/* Read the line and the file of a statement; 0 if unreadable. */
PERL_INLINE void perl_read_statement(struct perl_walk *walk, wire_u64 statement)
{
	walk->line = 0;
	walk->file = 0;
	if (!statement ||
	    perl_read_object(walk, statement + PERL_STATEMENT_START, PERL_STATEMENT_BYTES))
		return;
	walk->line = (wire_u32)perl_get_field(walk, PERL_STATEMENT_LINE - PERL_STATEMENT_START);
	walk->file = perl_get_field(walk, PERL_STATEMENT_FILE - PERL_STATEMENT_START);
	if (walk->line > WIRE_SCRIPT_MAX_LINE)
		walk->line = 0;
	if (walk->file)
		perl_hash_file(walk);
}

/*
 * A hash that distinguishes frames with code at the same address, from the last statement read;
 * never 0.
 */
PERL_INLINE wire_u32 perl_get_fingerprint(const struct perl_walk *walk, wire_u64 hash)
{
	hash = perl_hash(hash, walk->file ? walk->file_hash : 0);
	return (wire_u32)(hash >> 16) | 1;
}

/* Read a subroutine, and find its name. Returns 0, or another number if unreadable. */
PERL_INLINE int perl_read_code(struct perl_walk *walk, wire_u64 code)
{
	wire_u64 glob;
	wire_u64 body = 0;

	walk->name = walk->package = 0;
	if (perl_read_word(walk, code + PERL_VALUE_BODY, &body) ||
	    perl_read_object(walk, body, PERL_CODE_BYTES))
		return -1;
	glob = perl_get_field(walk, PERL_CODE_GLOB);
	if (!glob)
		return 0;
	if (perl_get_field(walk, PERL_CODE_FLAGS) & PERL_CODE_HAS_NAME) {
		walk->name = glob;
		walk->package = perl_get_field(walk, PERL_CODE_PACKAGE);
		return 0;
	}
	if (perl_read_word(walk, glob + PERL_VALUE_BODY, &body) ||
	    perl_read_word(walk, body + PERL_GLOB_NAME, &walk->name) ||
	    perl_read_word(walk, body + PERL_GLOB_PACKAGE, &walk->package))
		return -1;
	return 0;
}

/* The first statement of the subroutine read, if it is similar to the last one run; or 0. */
PERL_INLINE wire_u64 perl_find_start(struct perl_walk *walk)
{
	wire_u64 first = perl_get_field(walk, PERL_CODE_FIRST);
	wire_u64 function = 0;
	wire_u64 known = 0;

	if (perl_read_word(walk, first + PERL_OPERATION_FUNCTION, &function) ||
	    perl_read_word(walk, walk->statement + PERL_OPERATION_FUNCTION, &known))
		return 0;
	return function == known ? first : 0;
}

/*
 * The frame whose line is doubtful is called by another one: it has not run any of its statements.
 */
PERL_INLINE void perl_end_doubt(struct perl_walk *walk, wire_u64 code,
				struct wire_runtime_frame *frames)
{
	wire_u32 number = walk->doubtful_frame & (WIRE_MAX_RUNTIME_FRAMES - 1);

	if (walk->doubtful_code && walk->doubtful_code != code)
		frames[number].position =
			(frames[number].position & ~WIRE_SCRIPT_MAX_LINE) | walk->doubtful_line;
	walk->doubtful_code = 0;
}

/* Add a frame that is at the statement read last. */
PERL_INLINE void perl_take_frame(struct perl_walk *walk, wire_u64 code, wire_u64 hash,
				 enum wire_script_code kind, wire_u32 flags,
				 struct wire_runtime_frame *frames)
{
	wire_u32 number = walk->num_frames & (WIRE_MAX_RUNTIME_FRAMES - 1);

	frames[number].code = code;
	frames[number].fingerprint = perl_get_fingerprint(walk, hash);
	frames[number].position = walk->line | flags;
	walk->files[number] = walk->file;
	walk->kinds[number] = (wire_u8)kind;
	walk->has_frame = 1;
	walk->num_frames++;
}

/*
 * Take the frame of a subroutine. caller: the statement that has called it. Returns 0, or another
 * number if unreadable.
 *
 * The innermost one may not have started its first statement: then the last one run is its
 * caller's. The same may be true if it has called itself there and has returned.
 */
PERL_INLINE int perl_take_code(struct perl_walk *walk, wire_u64 code, wire_u64 caller,
			       wire_u32 flags, struct wire_runtime_frame *frames)
{
	wire_u32 number = walk->num_frames;
	wire_u32 is_new = !walk->has_frame && caller == walk->statement;
	wire_u64 statement = walk->statement;
	wire_u64 name[1] = {0};
	wire_u64 hash;

	if (perl_read_code(walk, code))
		return -1;
	if (walk->name && perl_read_word(walk, walk->name + PERL_NAME_HASH, name))
		walk->name = 0;
	hash = perl_hash(perl_hash(perl_hash(code, walk->name), walk->package), name[0]);
	walk->doubtful_code = 0;
	if (is_new) {
		wire_u32 depth = (wire_u32)perl_get_field(walk, PERL_CODE_DEPTH);
		wire_u64 start = perl_find_start(walk);

		perl_read_statement(walk, start);
		if (depth > 1) {
			walk->doubtful_code = code;
			walk->doubtful_frame = number;
			walk->doubtful_line = walk->line;
		} else {
			statement = 0;
		}
	}
	if (statement)
		perl_read_statement(walk, statement);
	perl_take_frame(walk, code, hash, WIRE_SCRIPT_CODE_FUNCTION, flags, frames);
	return 0;
}

/* Take a frame that is of no subroutine. */
PERL_INLINE void perl_take_other(struct perl_walk *walk, enum wire_script_code kind, wire_u32 flags,
				 struct wire_runtime_frame *frames)
{
	perl_read_statement(walk, walk->statement);
	perl_take_frame(walk, walk->file ? walk->file : walk->contexts, kind, kind, flags, frames);
}

/*
 * Whether the context outside of the last one taken is a block that C runs: its last operation has
 * no next one, either.
 */
PERL_INLINE int perl_is_in_block(struct perl_walk *walk)
{
	wire_u64 outer = walk->contexts + (walk->num_contexts - 1) * PERL_CONTEXT_BYTES;
	wire_u8 type = 0;
	wire_u8 kind;

	if (!walk->num_contexts || perl_read(walk, &type, sizeof(type), outer))
		return 0;
	kind = type & PERL_KIND_MASK;
	return kind == PERL_SORT_BLOCK || kind == PERL_DEFER ||
	       (kind == PERL_SUB && (type & PERL_SUB_REGEXP));
}

/*
 * A stack of C's callees ends at the last frame taken, so that frame belongs to the same call as
 * the next frames.
 */
PERL_INLINE wire_u32 perl_move_entry(struct perl_walk *walk, struct wire_runtime_frame *frames)
{
	wire_u32 number = (walk->num_frames - 1) & (WIRE_MAX_RUNTIME_FRAMES - 1);
	wire_u32 flags;

	if (!walk->num_frames)
		return 0;
	flags = frames[number].position & (WIRE_RUNTIME_ENTRY_FRAME | WIRE_SCRIPT_MAY_WAIT);
	if (frames[number].position & WIRE_SCRIPT_NO_FRAME)
		return 0;
	frames[number].position &= ~flags;
	return flags;
}

PERL_INLINE int perl_take_sub(struct perl_walk *walk, wire_u32 type,
			      struct wire_runtime_frame *frames)
{
	wire_u64 caller = perl_get_field(walk, PERL_CONTEXT_STATEMENT);
	wire_u64 returns_to = perl_get_field(walk, PERL_CONTEXT_RETURN);
	wire_u64 code = perl_get_field(walk, PERL_CONTEXT_CODE);
	wire_u32 flags = 0;
	int err = 0;

	if ((type & PERL_KIND_MASK) == PERL_SUB && (type & PERL_SUB_FAKE)) {
		perl_take_call(walk, WIRE_SCRIPT_MAY_WAIT, frames);
		return 0;
	}
	if ((type & PERL_KIND_MASK) == PERL_SUB) {
		if (type & PERL_SUB_MULTICALL)
			flags = WIRE_RUNTIME_ENTRY_FRAME | WIRE_SCRIPT_MAY_WAIT;
		else if (!returns_to && !walk->is_entered && !perl_is_in_block(walk))
			flags = WIRE_RUNTIME_ENTRY_FRAME;
	}
	perl_end_doubt(walk, code, frames);
	/* It is being left. */
	if (!code && flags)
		perl_take_call(walk, flags & WIRE_SCRIPT_MAY_WAIT, frames);
	else if (code)
		err = perl_take_code(walk, code, caller, flags, frames);
	walk->statement = caller;
	return err;
}

PERL_INLINE void perl_take_eval(struct perl_walk *walk, wire_u32 type,
				struct wire_runtime_frame *frames)
{
	wire_u64 caller = perl_get_field(walk, PERL_CONTEXT_STATEMENT);
	wire_u64 returns_to = perl_get_field(walk, PERL_CONTEXT_RETURN);
	wire_u64 file_name = perl_get_field(walk, PERL_CONTEXT_FILE_NAME);
	enum wire_script_code kind = file_name ? WIRE_SCRIPT_CODE_FILE : WIRE_SCRIPT_CODE_EVAL;
	wire_u32 flags = 0;

	if (type & PERL_EVAL_TRY)
		return;
	if (!returns_to && (type & PERL_EVAL_BLOCK))
		flags = perl_move_entry(walk, frames);
	else if (!returns_to && (type & PERL_EVAL_TEXT) && !walk->is_entered &&
		 !perl_is_in_block(walk))
		flags = WIRE_RUNTIME_ENTRY_FRAME;
	/* The evaluated text is not compiled yet, or has ended. */
	if (!walk->has_frame && caller == walk->statement && !(type & PERL_EVAL_BLOCK)) {
		if (flags)
			perl_take_call(walk, 0, frames);
	} else {
		perl_take_other(walk, kind, flags, frames);
	}
	walk->statement = caller;
}

/* After the last context: take the program, if the interpreter runs one. Returns as a step. */
PERL_INLINE int perl_walk_finish(struct perl_walk *walk, struct wire_runtime_frame *frames)
{
	wire_u32 flags = WIRE_RUNTIME_ENTRY_FRAME;

	perl_end_doubt(walk, 0, frames);
	/* Nothing runs. */
	if (!walk->has_frame && (!walk->is_program || walk->phase != PERL_PHASE_RUN))
		walk->num_frames = 0;
	if (!walk->is_program)
		return perl_walk_stop(walk, WIRE_RUNTIME_COMPLETE);
	/*
	 * The program is being compiled, or has ended: then C has called the running code, and the
	 * program itself does not run.
	 */
	if (walk->phase != PERL_PHASE_RUN) {
		flags = perl_move_entry(walk, frames);
		if (!flags)
			return perl_walk_stop(walk, WIRE_RUNTIME_COMPLETE);
	}
	if (walk->phase >= PERL_PHASE_END)
		walk->statement = 0;
	perl_take_other(walk, WIRE_SCRIPT_CODE_FILE, flags, frames);
	return perl_walk_stop(walk, WIRE_RUNTIME_COMPLETE);
}

/*
 * Examine one context, and add its frame to frames (WIRE_MAX_RUNTIME_FRAMES long). Returns 0 to
 * continue, or 1 at the end, with the reason in walk->end; after PERL_MAX_STEPS at most.
 */
PERL_INLINE int perl_walk_step(struct perl_walk *walk, struct wire_runtime_frame *frames)
{
	wire_u32 type;
	wire_u32 kind;

	if (walk->num_steps++ >= PERL_MAX_STEPS - 1 || walk->num_frames >= WIRE_MAX_RUNTIME_FRAMES)
		return perl_walk_stop(walk, WIRE_RUNTIME_DEEP);
	if (!walk->num_contexts) {
		if (!walk->previous_stack)
			return perl_walk_finish(walk, frames);
		if (perl_enter_stack(walk, walk->previous_stack))
			return perl_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
		return 0;
	}
	walk->num_contexts--;
	if (perl_read_object(walk, walk->contexts + walk->num_contexts * PERL_CONTEXT_BYTES,
			     PERL_CONTEXT_BYTES))
		return perl_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	type = perl_get_field(walk, PERL_CONTEXT_TYPE) & 0xff;
	kind = type & PERL_KIND_MASK;
	if (kind == PERL_SORT_BLOCK)
		perl_take_call(walk, WIRE_SCRIPT_MAY_WAIT, frames);
	else if (kind == PERL_DEFER)
		perl_take_call(walk, 0, frames);
	else if (kind == PERL_EVAL)
		perl_take_eval(walk, type, frames);
	else if ((kind == PERL_SUB || kind == PERL_FORMAT) && perl_take_sub(walk, type, frames))
		return perl_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	walk->is_entered = 0;
	return 0;
}

/* The text of a name, up to the limit. It is a power of two, so that a verifier sees the bound. */
PERL_INLINE void perl_read_name(struct perl_walk *walk, wire_u64 name, struct wire_script_text *ret,
				wire_u8 *ret_text, wire_u32 limit)
{
	wire_u32 length = 0;
	int err;

	ret->length = ret->num_bytes = 0;
	if (!name || perl_read(walk, &length, sizeof(length), name + PERL_NAME_LENGTH))
		return;
	if (length < limit)
		err = perl_read(walk, ret_text, length & (limit - 1), name + PERL_NAME_TEXT);
	else
		err = perl_read(walk, ret_text, limit, name + PERL_NAME_TEXT);
	if (err)
		return;
	ret->length = length;
	ret->num_bytes = length < limit ? length : limit;
}

/* The name of a package; 0: it has none, or it cannot be read. */
PERL_INLINE wire_u64 perl_find_package_name(struct perl_walk *walk, wire_u64 package)
{
	wire_u64 last_bucket = 0;
	wire_u64 names;
	wire_u64 name;

	if (!package || perl_read_object(walk, package, PERL_VALUE_BYTES) ||
	    !(perl_get_field(walk, PERL_VALUE_FLAGS) & PERL_HASH_HAS_NAME))
		return 0;
	names = perl_get_field(walk, PERL_VALUE_BODY) + walk->layout.hash_names;
	if (!walk->layout.hash_names) {
		if (perl_read_word(walk, names + PERL_BUCKETS_LAST, &last_bucket))
			return 0;
		names = perl_get_field(walk, PERL_VALUE_MORE) + (last_bucket + 1) * 8;
	}
	if (perl_read_object(walk, names, PERL_NAMES_BYTES))
		return 0;
	name = perl_get_field(walk, PERL_NAMES_NAME);
	if (name && (wire_u32)perl_get_field(walk, PERL_NAMES_COUNT) &&
	    perl_read_word(walk, name, &name))
		return 0;
	return name;
}

/* A subroutine bears the name of the glob it was made for. */
PERL_INLINE void perl_find_origin(struct perl_walk *walk, wire_u64 code)
{
	wire_u64 content = 0;
	wire_u64 origin = 0;
	wire_u64 body = 0;
	wire_u64 name = 0;

	if (perl_read_code(walk, code) || !walk->name)
		return;
	if (perl_get_field(walk, PERL_CODE_FLAGS) & PERL_CODE_LEXICAL)
		walk->package = 0;
	if (perl_get_field(walk, PERL_CODE_FLAGS) & PERL_CODE_HAS_NAME)
		return;
	if (perl_read_word(walk, perl_get_field(walk, PERL_CODE_GLOB) + PERL_VALUE_MORE,
			   &content) ||
	    !content || perl_read_word(walk, content + PERL_CONTENT_ORIGIN, &origin) || !origin ||
	    perl_read_word(walk, origin + PERL_VALUE_BODY, &body) ||
	    perl_read_word(walk, body + PERL_GLOB_NAME, &name) || !name)
		return;
	walk->name = name;
	if (walk->package)
		(void)perl_read_word(walk, body + PERL_GLOB_PACKAGE, &walk->package);
}

/*
 * Read the description of a frame's code: all of ret except type, pid and generation. Names are
 * truncated if unreadable.
 *
 * walk    the walk that has taken the frame; changes only the last object read
 * number  the frame's
 */
PERL_INLINE void perl_read_function_names(struct perl_walk *walk, wire_u32 number,
					  const struct wire_runtime_frame *frame,
					  struct wire_script_function *ret)
{
	wire_u64 file = walk->files[number & (WIRE_MAX_RUNTIME_FRAMES - 1)];
	int num_bytes;

	WIRE_CLEAR(ret->class_text, sizeof(ret->class_text));
	WIRE_CLEAR(ret->name_text, sizeof(ret->name_text));
	WIRE_CLEAR(ret->file_text, sizeof(ret->file_text));
	ret->runtime = WIRE_RUNTIME_PERL;
	ret->padding = 0;
	ret->code = frame->code;
	ret->fingerprint = frame->fingerprint;
	ret->code_kind = walk->kinds[number & (WIRE_MAX_RUNTIME_FRAMES - 1)];
	walk->name = walk->package = 0;
	if (ret->code_kind == WIRE_SCRIPT_CODE_FUNCTION)
		perl_find_origin(walk, frame->code);
	perl_read_name(walk, perl_find_package_name(walk, walk->package), &ret->class_name,
		       ret->class_text, WIRE_SCRIPT_CLASS_BYTES);
	perl_read_name(walk, walk->name, &ret->name, ret->name_text, WIRE_SCRIPT_NAME_BYTES);
	ret->file.length = ret->file.num_bytes = 0;
	if (!file)
		return;
	num_bytes = perl_read_string(walk, ret->file_text, WIRE_SCRIPT_FILE_BYTES, file);
	if (num_bytes < 0)
		return;
	/* Without a zero, the text is longer. */
	ret->file.num_bytes = (wire_u32)num_bytes;
	ret->file.length = (wire_u32)num_bytes + (num_bytes >= WIRE_SCRIPT_FILE_BYTES - 1);
}

#endif
