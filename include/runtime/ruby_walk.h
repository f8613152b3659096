/*
 * The walk of CRuby's frames: finds the code that the interrupted thread runs, innermost first, and
 * reads the description of that code.
 *
 * The same code is compiled into the BPF program and into tests. The includer defines RUBY_INLINE
 * (the specifiers of functions here) before this file, and ruby_read() after it. Memory is 64-bit,
 * little endian.
 *
 *	if (!ruby_walk_start(walk, …))
 *		for (i = 0; i < RUBY_MAX_STEPS && !ruby_walk_step(walk, frames); i++)
 *			;
 *	walk->end, walk->num_frames
 *
 * A step takes one frame, and has no loop, so that the verifier checks it once. All its data is in
 * the struct, including data that is read, since separately verified functions take no pointers to
 * a stack.
 *
 * Frames are an array, rb_control_frame_t, at the end of the stack of an execution context; each
 * thread and each fiber has a context. From 3.0 on each thread has its running context in
 * thread-local storage; before, there is one variable, for the thread that holds the interpreter
 * lock. While fibers are switched, or just after a thread has released the lock, that context does
 * not belong to the running native stack. So its native stack must hold the stack pointer.
 *
 * There are frames of Ruby code (an iseq), of methods in C, and others that Ruby does not show
 * either. A Ruby frame called from C is marked (FINISH): vm_exec() evaluates it and its callees,
 * until C is called again.
 *
 * The line is found by the position of the instruction, in a bit vector with ranks
 * (succ_index_table): each lookup takes the same few reads. A frame stores its instruction when it
 * calls something. For the innermost one vm_exec_core() keeps the instruction and the frame in
 * reserved registers, which are used if they are plausible.
 */
#ifndef RUNTIME_RUBY_WALK_H
#define RUNTIME_RUBY_WALK_H

#include "wire/clear.h"
#include "wire/script.h"

/* There are frames that are not taken. */
#define RUBY_MAX_STEPS (2 * WIRE_MAX_RUNTIME_FRAMES)

/*
 * Offsets that are the same from 2.7 to 3.3.
 *
 * Source: vm_core.h (rb_execution_context_t, rb_control_frame_t, rb_iseq_t, rb_iseq_constant_body), iseq.c (succ_index_table),
 * method.h, symbol.c and include/ruby/internal/core/ of each.
 */
#define RUBY_CONTEXT_STACK       0
#define RUBY_CONTEXT_STACK_WORDS 8
#define RUBY_CONTEXT_FRAME       16

/* At the offset in the layout: the native stack of a context, which grows down. */
#define RUBY_NATIVE_START 0
#define RUBY_NATIVE_BYTES 16

#define RUBY_FRAME_INSTRUCTION 0
#define RUBY_FRAME_CODE        16
#define RUBY_FRAME_ENVIRONMENT 32
#define RUBY_FRAME_BYTES       40 /* size of these fields */

/* The three words that end at a frame's environment. */
#define RUBY_ENVIRONMENT_BACK   16
#define RUBY_ENVIRONMENT_METHOD 0
#define RUBY_ENVIRONMENT_FLAGS  16
#define RUBY_ENVIRONMENT_BYTES  24

#define RUBY_FLAG_FINISH 0x20
#define RUBY_KIND(flags) ((flags)&0x7fff0001)
#define RUBY_KIND_C      0x55550001
#define RUBY_KIND_DUMMY \
	0x79990001 /* for example the outermost one, which may have code, but does not run it */

#define RUBY_CODE_BODY 16

#define RUBY_BODY_SIZE         4 /* 32 bits: in words */
#define RUBY_BODY_INSTRUCTIONS 8
#define RUBY_BODY_PATH         64 /* a string, or an array that starts with it */
#define RUBY_BODY_LABEL        80 /* a string */

/* At the offset in the layout, in a body. */
#define RUBY_LINES_ENTRIES 0
#define RUBY_LINES_NUM     16 /* 32 bits */
#define RUBY_LINES_INDEX   24
#define RUBY_LINES_BYTES   32

/* The index of lines: the first ones are 7 bits each, those of all others the ranks of bits. */
#define RUBY_INDEX_DIRECT       54
#define RUBY_INDEX_BLOCKS       48 /* from its start */
#define RUBY_INDEX_BLOCK_BITS   512
#define RUBY_INDEX_BLOCK_BYTES  80
#define RUBY_INDEX_BLOCK_VECTOR 16

#define RUBY_METHOD_DEFINITION 16
#define RUBY_METHOD_BYTES      24
#define RUBY_DEFINITION_NAME   32 /* a symbol's number */
#define RUBY_DEFINITION_BYTES  40

/* The type of an object: bits of its first word. */
#define RUBY_TYPE(flags)      ((flags)&0x1f)
#define RUBY_TYPE_STRING      5
#define RUBY_TYPE_ARRAY       7
#define RUBY_IS_METHOD(flags) (((flags)&0xf01f) == 0x601a)
/* For a string: its text is elsewhere; for an array: its elements are inline. */
#define RUBY_FLAG_PLACE     (1u << 13)
#define RUBY_STRING_LENGTH  16 /* also that of an array */
#define RUBY_STRING_POINTER 24
/* For a string with inline text, before 3.2. */
#define RUBY_SHORT_LENGTH(flags) ((flags) >> 14 & 0x1f)
#define RUBY_SHORT_TEXT          16
#define RUBY_ARRAY_ELEMENTS      16
#define RUBY_ARRAY_POINTER       32

/* In global_symbols: an array of arrays with two elements for each symbol. */
#define RUBY_SYMBOLS_NAMES 16
#define RUBY_SYMBOLS_EACH  512
/*
 * Operators are numbered as tokens, far below; other symbols are their number and 4 bits for the
 * type of name.
 */
#define RUBY_SYMBOL_FIRST 1024
#define RUBY_SYMBOL_SHIFT 4

/* Mark in the code address of a frame, which is a multiple of 8: it is a method in C. */
#define RUBY_C_METHOD 1

#define RUBY_OBJECT_WORDS 32 /* a power of two */

struct ruby_walk {
	struct wire_ruby_layout layout;
	wire_u64 state;
	wire_u64 frame;      /* the next to take */
	wire_u64 frames_end; /* the address after the outermost one */
	/* vm_exec_core() keeps its innermost frame and next instruction in these: r15, r14. */
	wire_u64 frame_register;
	wire_u64 instruction_register;
	wire_u32 num_steps;
	wire_u32 num_frames;
	wire_u32 end;                      /* enum wire_runtime_end */
	wire_u64 words[RUBY_OBJECT_WORDS]; /* the last object read */
};

/*
 * Bytes of the process's memory. Returns 0, or another number if not all are readable; then none
 * are written, or only 0.
 */
RUBY_INLINE int ruby_read(struct ruby_walk *walk, void *ret, wire_u32 bytes, wire_u64 address);

RUBY_INLINE int ruby_walk_stop(struct ruby_walk *walk, enum wire_runtime_end end)
{
	walk->end = end;
	return 1;
}

RUBY_INLINE int ruby_read_word(struct ruby_walk *walk, wire_u64 address, wire_u64 *ret)
{
	return ruby_read(walk, ret, sizeof(*ret), address);
}

RUBY_INLINE int ruby_read_object(struct ruby_walk *walk, wire_u64 address, wire_u32 bytes)
{
	return ruby_read(walk, walk->words, bytes & (RUBY_OBJECT_WORDS * 8 - 1), address);
}

/*
 * The field at an offset of the last object, followed by the rest of its word: fields are aligned
 * to their size.
 */
RUBY_INLINE wire_u64 ruby_get_field(const struct ruby_walk *walk, wire_u32 offset)
{
	return walk->words[offset >> 3 & (RUBY_OBJECT_WORDS - 1)] >> ((offset & 7) * 8);
}

/*
 * Find a thread-local variable by module number and offset, like __tls_get_addr(); these are at
 * walk->state. Returns 0, or another number if the thread does not have it.
 *
 * Source: glibc, sysdeps/x86_64/nptl/tls.h and elf/dl-tls.c (dtv).
 */
RUBY_INLINE int ruby_find_by_index(struct ruby_walk *walk, wire_u64 thread_pointer, wire_u64 *ret)
{
	wire_u64 index[2];
	wire_u64 vector;
	wire_u64 length;
	wire_u64 block;

	if (ruby_read(walk, index, sizeof(index), walk->state) || !index[0] ||
	    ruby_read_word(walk, thread_pointer + 8, &vector) ||
	    ruby_read_word(walk, vector - 16, &length) || index[0] > length ||
	    ruby_read_word(walk, vector + 16 * index[0], &block) || !block || !~block)
		return -1;
	*ret = block + index[1];
	return 0;
}

/* Find the pointer to the thread's context. Returns 0, or another number if the thread has none. */
RUBY_INLINE int ruby_find_context(struct ruby_walk *walk, wire_u64 thread_pointer, wire_u64 *ret)
{
	wire_u64 offset = walk->layout.context_offset;

	if (walk->layout.context == WIRE_RUBY_CONTEXT_BY_INDEX)
		return ruby_find_by_index(walk, thread_pointer, ret);
	*ret = walk->state;
	if (walk->layout.context == WIRE_RUBY_CONTEXT_OF_ALL)
		return 0;
	if (walk->layout.context == WIRE_RUBY_CONTEXT_BY_OFFSET &&
	    ruby_read_word(walk, walk->state, &offset))
		return -1;
	*ret = thread_pointer + offset;
	return 0;
}

/*
 * Start, with a copy of the layout.
 *
 * state  address in the process, see enum wire_ruby_context
 *
 * Returns 0 to continue, or 1 at the end, with the reason in walk->end.
 */
RUBY_INLINE int ruby_walk_start(struct ruby_walk *walk, const struct wire_ruby_layout *layout,
				wire_u64 state, wire_u64 thread_pointer, wire_u64 sp,
				wire_u64 frame_register, wire_u64 instruction_register)
{
	wire_u64 context = 0;
	wire_u64 own = 0;
	wire_u64 start;

	walk->layout = *layout;
	walk->state = state;
	walk->frame_register = frame_register;
	walk->instruction_register = instruction_register;
	walk->num_steps = walk->num_frames = 0;
	if (ruby_find_context(walk, thread_pointer, &state))
		return ruby_walk_stop(walk, WIRE_RUNTIME_NO_THREAD);
	if (ruby_read_word(walk, state, &context))
		return ruby_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	if (!context)
		return ruby_walk_stop(walk, WIRE_RUNTIME_NO_THREAD);
	if (ruby_read_object(walk, context, layout->context_bytes))
		return ruby_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	walk->frame = ruby_get_field(walk, RUBY_CONTEXT_FRAME);
	walk->frames_end = ruby_get_field(walk, RUBY_CONTEXT_STACK) +
			   8 * ruby_get_field(walk, RUBY_CONTEXT_STACK_WORDS);
	start = ruby_get_field(walk, layout->context_native + RUBY_NATIVE_START);
	if (!walk->frame ||
	    start - sp > ruby_get_field(walk, layout->context_native + RUBY_NATIVE_BYTES))
		return ruby_walk_stop(walk, WIRE_RUNTIME_NO_THREAD);
	if (ruby_read_word(walk,
			   ruby_get_field(walk, layout->context_thread) + layout->thread_context,
			   &own) ||
	    own != context)
		return ruby_walk_stop(walk, WIRE_RUNTIME_NO_THREAD);
	return 0;
}

RUBY_INLINE wire_u32 ruby_count_bits(wire_u64 bits)
{
	bits -= bits >> 1 & 0x5555555555555555ull;
	bits = (bits & 0x3333333333333333ull) + (bits >> 2 & 0x3333333333333333ull);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (wire_u32)(bits * 0x0101010101010101ull >> 56);
}

/*
 * Number of the line entry for an instruction word, from 1 on; 0: none. index: address of the
 * index.
 */
RUBY_INLINE wire_u64 ruby_find_entry(struct ruby_walk *walk, wire_u64 index, wire_u64 word)
{
	wire_u64 block[2] = {0};
	wire_u64 bits = 0;
	wire_u64 small;

	if (word < RUBY_INDEX_DIRECT) {
		if (ruby_read_word(walk, index + word / 9 * 8, &bits))
			return 0;
		return bits >> (word % 9 * 7) & 0x7f;
	}
	word -= RUBY_INDEX_DIRECT;
	index += RUBY_INDEX_BLOCKS + word / RUBY_INDEX_BLOCK_BITS * RUBY_INDEX_BLOCK_BYTES;
	word %= RUBY_INDEX_BLOCK_BITS;
	small = word / 64;
	if (ruby_read(walk, block, sizeof(block), index) ||
	    ruby_read_word(walk, index + RUBY_INDEX_BLOCK_VECTOR + small * 8, &bits))
		return 0;
	return (block[0] & 0xffffffff) + (small ? block[1] >> ((small - 1) * 9) & 0x1ff : 0) +
	       ruby_count_bits(bits << (63 - word % 64));
}

/* Whether it is one of the instructions of the body read last, or the end of the last one. */
RUBY_INLINE int ruby_has_instruction(const struct ruby_walk *walk, wire_u64 instruction)
{
	wire_u64 offset = instruction - ruby_get_field(walk, RUBY_BODY_INSTRUCTIONS);

	return offset % 8 == 0 && offset / 8 <= (ruby_get_field(walk, RUBY_BODY_SIZE) & 0xffffffff);
}

/* The line of a frame of the last body read; 0: unknown. instruction: the next one. */
RUBY_INLINE wire_u32 ruby_find_line(struct ruby_walk *walk, wire_u64 frame, wire_u64 instruction)
{
	wire_u64 entries = ruby_get_field(walk, walk->layout.body_lines + RUBY_LINES_ENTRIES);
	wire_u64 num = ruby_get_field(walk, walk->layout.body_lines + RUBY_LINES_NUM) & 0xffffffff;
	wire_u64 index = ruby_get_field(walk, walk->layout.body_lines + RUBY_LINES_INDEX);
	wire_u64 line = 0;
	wire_u64 entry = 1;
	wire_u64 word;

	if (!walk->num_frames && frame == walk->frame_register &&
	    ruby_has_instruction(walk, walk->instruction_register))
		instruction = walk->instruction_register;
	if (!ruby_has_instruction(walk, instruction))
		return 0;
	word = (instruction - ruby_get_field(walk, RUBY_BODY_INSTRUCTIONS)) / 8;
	if (word)
		word--;
	if (num > 1)
		entry = ruby_find_entry(walk, index, word);
	if (!entry || entry > num ||
	    ruby_read(walk, &line, 4, entries + (entry - 1) * walk->layout.line_bytes))
		return 0;
	return line <= WIRE_SCRIPT_MAX_LINE ? (wire_u32)line : 0;
}

RUBY_INLINE wire_u64 ruby_hash(wire_u64 hash, wire_u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/* The body of an iseq. Returns 0, or another number if unreadable. */
RUBY_INLINE int ruby_read_body(struct ruby_walk *walk, wire_u64 code)
{
	wire_u64 body = 0;

	if (ruby_read_word(walk, code + RUBY_CODE_BODY, &body))
		return -1;
	return ruby_read_object(walk, body, walk->layout.body_lines + RUBY_LINES_BYTES);
}

/* A hash that identifies the code of the last body read; never 0. Reads its label. */
RUBY_INLINE wire_u32 ruby_get_fingerprint(struct ruby_walk *walk)
{
	wire_u64 label = ruby_get_field(walk, RUBY_BODY_LABEL);
	wire_u64 hash = ruby_hash(label, ruby_get_field(walk, RUBY_BODY_PATH));
	wire_u64 string[3] = {0};

	hash = ruby_hash(hash, ruby_get_field(walk, RUBY_BODY_INSTRUCTIONS));
	(void)ruby_read(walk, string, sizeof(string), label + RUBY_STRING_LENGTH);
	hash = ruby_hash(hash, string[0]);
	hash = ruby_hash(hash, string[1]);
	hash = ruby_hash(hash, string[2]);
	return (wire_u32)hash | 1;
}

/*
 * The symbol by which a method in C is called, and its definition. Returns 0, or another number if
 * it is not a method, or unreadable.
 */
RUBY_INLINE int ruby_read_method(struct ruby_walk *walk, wire_u64 method, wire_u64 *ret_symbol,
				 wire_u64 *ret_definition)
{
	if (ruby_read_object(walk, method, RUBY_METHOD_BYTES) ||
	    !RUBY_IS_METHOD(ruby_get_field(walk, 0)))
		return -1;
	*ret_definition = ruby_get_field(walk, RUBY_METHOD_DEFINITION);
	return ruby_read_word(walk, *ret_definition + RUBY_DEFINITION_NAME, ret_symbol);
}

RUBY_INLINE wire_u32 ruby_get_method_fingerprint(wire_u64 symbol, wire_u64 definition)
{
	return (wire_u32)ruby_hash(ruby_hash(0, symbol), definition) | 1;
}

/* Returns as a step. */
RUBY_INLINE int ruby_take_method(struct ruby_walk *walk, wire_u64 method,
				 struct wire_runtime_frame *frame)
{
	wire_u64 definition = 0;
	wire_u64 symbol = 0;

	if ((method & RUBY_C_METHOD) || ruby_read_method(walk, method, &symbol, &definition))
		return ruby_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	frame->code = method | RUBY_C_METHOD;
	frame->position = 0;
	frame->fingerprint = ruby_get_method_fingerprint(symbol, definition);
	walk->num_frames++;
	return 0;
}

/*
 * Take a frame into frames (WIRE_MAX_RUNTIME_FRAMES long). Returns 0 to go on, or 1 at the end, for
 * the reason in walk->end; after RUBY_MAX_STEPS at most.
 */
RUBY_INLINE int ruby_walk_step(struct ruby_walk *walk, struct wire_runtime_frame *frames)
{
	wire_u32 number = walk->num_frames & (WIRE_MAX_RUNTIME_FRAMES - 1);
	wire_u64 frame = walk->frame;
	wire_u64 instruction;
	wire_u64 flags;
	wire_u64 code;

	if (frame >= walk->frames_end)
		return ruby_walk_stop(walk, WIRE_RUNTIME_COMPLETE);
	if (walk->num_steps++ >= RUBY_MAX_STEPS - 1 || walk->num_frames >= WIRE_MAX_RUNTIME_FRAMES)
		return ruby_walk_stop(walk, WIRE_RUNTIME_DEEP);
	if (ruby_read_object(walk, frame, RUBY_FRAME_BYTES))
		return ruby_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	walk->frame += walk->layout.frame_bytes;
	instruction = ruby_get_field(walk, RUBY_FRAME_INSTRUCTION);
	code = ruby_get_field(walk, RUBY_FRAME_CODE);
	/* As a function in C that is called as a block has. */
	if (code && !instruction)
		return 0;
	if (ruby_read_object(walk,
			     ruby_get_field(walk, RUBY_FRAME_ENVIRONMENT) - RUBY_ENVIRONMENT_BACK,
			     RUBY_ENVIRONMENT_BYTES))
		return ruby_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	flags = ruby_get_field(walk, RUBY_ENVIRONMENT_FLAGS);
	if (RUBY_KIND(flags) == RUBY_KIND_DUMMY)
		return 0;
	if (!code) {
		if (RUBY_KIND(flags) != RUBY_KIND_C)
			return 0;
		return ruby_take_method(walk, ruby_get_field(walk, RUBY_ENVIRONMENT_METHOD),
					&frames[number]);
	}
	if ((code & RUBY_C_METHOD) || ruby_read_body(walk, code))
		return ruby_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	frames[number].code = code;
	frames[number].position = ruby_find_line(walk, frame, instruction) |
				  (flags & RUBY_FLAG_FINISH ? WIRE_RUNTIME_ENTRY_FRAME : 0);
	frames[number].fingerprint = ruby_get_fingerprint(walk);
	walk->num_frames++;
	return 0;
}

/* An element of an array; 0: it has none, or it cannot be read. */
RUBY_INLINE wire_u64 ruby_read_element(struct ruby_walk *walk, wire_u64 array, wire_u64 number)
{
	wire_u64 elements = array + RUBY_ARRAY_ELEMENTS;
	wire_u64 element = 0;
	wire_u64 flags = 0;

	if (ruby_read_word(walk, array, &flags) || RUBY_TYPE(flags) != RUBY_TYPE_ARRAY ||
	    (!(flags & RUBY_FLAG_PLACE) &&
	     ruby_read_word(walk, array + RUBY_ARRAY_POINTER, &elements)) ||
	    ruby_read_word(walk, elements + number * 8, &element))
		return 0;
	return element;
}

/* A symbol's name: a string; 0: it cannot be read. */
RUBY_INLINE wire_u64 ruby_find_name(struct ruby_walk *walk, wire_u64 symbol)
{
	wire_u64 number = symbol < RUBY_SYMBOL_FIRST ? symbol : symbol >> RUBY_SYMBOL_SHIFT;
	wire_u64 names = 0;

	if (ruby_read_word(walk, walk->state + walk->layout.symbols + RUBY_SYMBOLS_NAMES, &names))
		return 0;
	names = ruby_read_element(walk, names, number / RUBY_SYMBOLS_EACH);
	return ruby_read_element(walk, names, number % RUBY_SYMBOLS_EACH * 2);
}

/*
 * The text of a string, up to the limit. It is a power of two, so that a verifier sees the bound.
 */
RUBY_INLINE void ruby_read_text(struct ruby_walk *walk, wire_u64 string,
				struct wire_script_text *ret, wire_u8 *ret_text, wire_u32 limit)
{
	wire_u64 text = string + walk->layout.string_text;
	wire_u64 length = 0;
	wire_u64 flags = 0;
	int err;

	ret->length = ret->num_bytes = 0;
	if (!string || ruby_read_word(walk, string, &flags) ||
	    RUBY_TYPE(flags) != RUBY_TYPE_STRING ||
	    ruby_read_word(walk, string + RUBY_STRING_LENGTH, &length))
		return;
	if (flags & RUBY_FLAG_PLACE) {
		if (ruby_read_word(walk, string + RUBY_STRING_POINTER, &text))
			return;
	} else if (walk->layout.string_text == RUBY_SHORT_TEXT) {
		length = RUBY_SHORT_LENGTH(flags);
	}
	if (length < limit)
		err = ruby_read(walk, ret_text, (wire_u32)length & (limit - 1), text);
	else
		err = ruby_read(walk, ret_text, limit, text);
	if (err)
		return;
	ret->length = length < 0xffffffff ? (wire_u32)length : 0xffffffff;
	ret->num_bytes = length < limit ? (wire_u32)length : limit;
}

/* The label and the path of an iseq. Returns 0, or another number if unreadable. */
RUBY_INLINE int ruby_find_code_names(struct ruby_walk *walk, wire_u64 code, wire_u64 *ret_name,
				     wire_u64 *ret_path, wire_u32 *ret_fingerprint)
{
	wire_u64 flags = 0;

	if (ruby_read_body(walk, code))
		return -1;
	*ret_name = ruby_get_field(walk, RUBY_BODY_LABEL);
	*ret_path = ruby_get_field(walk, RUBY_BODY_PATH);
	*ret_fingerprint = ruby_get_fingerprint(walk);
	if (!ruby_read_word(walk, *ret_path, &flags) && RUBY_TYPE(flags) == RUBY_TYPE_ARRAY)
		*ret_path = ruby_read_element(walk, *ret_path, 0);
	return 0;
}

/*
 * Read the description of a frame's code: all of ret except type, pid and generation. Names are
 * truncated if unreadable.
 *
 * walk  in its state after the start; changes only the last object read
 * code  as in the frame
 *
 * Returns 0, or another number if unreadable.
 */
RUBY_INLINE int ruby_read_function(struct ruby_walk *walk, wire_u64 code,
				   struct wire_script_function *ret)
{
	wire_u64 definition = 0;
	wire_u64 symbol = 0;
	wire_u64 name = 0;
	wire_u64 path = 0;

	WIRE_CLEAR(ret->class_text, sizeof(ret->class_text));
	WIRE_CLEAR(ret->name_text, sizeof(ret->name_text));
	WIRE_CLEAR(ret->file_text, sizeof(ret->file_text));
	ret->runtime = WIRE_RUNTIME_RUBY;
	ret->code_kind = WIRE_SCRIPT_CODE_FUNCTION;
	ret->padding = 0;
	ret->code = code;
	ret->fingerprint = 0;
	ret->class_name.length = ret->class_name.num_bytes = 0;
	if (code & RUBY_C_METHOD) {
		if (ruby_read_method(walk, code & ~(wire_u64)RUBY_C_METHOD, &symbol, &definition))
			return -1;
		ret->fingerprint = ruby_get_method_fingerprint(symbol, definition);
		name = ruby_find_name(walk, symbol);
	} else if (ruby_find_code_names(walk, code, &name, &path, &ret->fingerprint)) {
		return -1;
	}
	ruby_read_text(walk, name, &ret->name, ret->name_text, WIRE_SCRIPT_NAME_BYTES);
	ruby_read_text(walk, path, &ret->file, ret->file_text, WIRE_SCRIPT_FILE_BYTES);
	return 0;
}

#endif
