/*
 * The walk of PHP's frames: finds the functions that a process runs, innermost first, from
 * executor_globals, and reads the description of a function.
 *
 * The same code is compiled into the BPF program and into tests. The includer defines PHP_INLINE
 * (the specifiers of functions here) before this file, and php_read() after it. Memory is 64-bit,
 * little endian.
 *
 *	if (!php_walk_start(walk, …))
 *		for (i = 0; i < PHP_MAX_STEPS && !php_walk_step(walk, frames); i++)
 *			;
 *	walk->end, walk->num_frames
 *
 * A step takes one frame, and has no loop, so that the verifier checks it once. All its data is in
 * the struct, including data that is read, since separately verified functions take no pointers to
 * a stack.
 *
 * Frames are a list, _zend_execute_data, of functions in PHP and built-in functions. One call of
 * execute_ex() runs PHP functions that call each other; code called from C (a callback of usort(),
 * a generator, an included file) is marked as the top of such a call.
 *
 * A generator that yields from another one (and that from a third) is resumed by running the last
 * of them. Its frame is followed by one without a function, which is in the first generator. Those
 * in between are found from there, outermost first.
 *
 * The outermost frame of a fiber is a built-in function without a name. It is followed by the
 * frames that have resumed the fiber, which run on another native stack.
 *
 * The line of a frame is in its instruction, _zend_op. A frame stores its instruction when it calls
 * something, and at instructions that may fail. For the innermost one execute_ex() keeps the
 * instruction and the frame in reserved registers, if the compiler supports that. They are used if
 * they are plausible.
 *
 * A process with several PHP threads (ZTS) has separate executor_globals for each, elsewhere:
 * runtime/script.h.
 */
#ifndef RUNTIME_PHP_WALK_H
#define RUNTIME_PHP_WALK_H

#include "wire/clear.h"
#include "wire/script.h"

/* There are frames without a function. */
#define PHP_MAX_STEPS (2 * WIRE_MAX_RUNTIME_FRAMES)

/*
 * Offsets that are the same from 7.4 to 8.5.
 *
 * Source: Zend/zend_compile.h (_zend_execute_data, _zend_op, _zend_op_array), zend_types.h (_zend_string), zend.h
 * (_zend_class_entry) of each.
 */
#define PHP_FRAME_INSTRUCTION 0
#define PHP_FRAME_FUNCTION    24
#define PHP_FRAME_THIS \
	32 /* the object whose method it is; without a function, the generator it is in */
#define PHP_FRAME_INFO     40 /* 32 bits: how it was called, and more */
#define PHP_FRAME_PREVIOUS 48 /* the caller's */
#define PHP_FRAME_BYTES    56

#define PHP_CALL_TOP (1u << 17) /* of that: by C */

#define PHP_FUNCTION_TYPE  0 /* a byte */
#define PHP_FUNCTION_NAME  8 /* a string; 0: code of a file */
#define PHP_FUNCTION_CLASS 16
#define PHP_FUNCTION_BYTES 24 /* bytes that all functions have */

/* Types of functions. */
#define PHP_INTERNAL_FUNCTION 1
#define PHP_EVAL_CODE         4

#define PHP_INSTRUCTION_LINE  24 /* 32 bits */
#define PHP_INSTRUCTION_BYTES 32

#define PHP_CLASS_NAME 8 /* a string */

/* Bytes from a generator's parent field to its frame without a function, by version. */
#define PHP_GENERATOR_NODE_BYTES     32
#define PHP_OLD_GENERATOR_NODE_BYTES 40

#define PHP_STRING_HASH   8
#define PHP_STRING_LENGTH 16
#define PHP_STRING_TEXT   24

#define PHP_OBJECT_WORDS 32 /* a power of two */

struct php_walk {
	struct wire_php_layout layout;
	wire_u64 frame;     /* to take */
	wire_u64 generator; /* to take first, if it yields from another one; 0: none */
	/* execute_ex() keeps its innermost frame and current instruction in these: r14, r15. */
	wire_u64 frame_register;
	wire_u64 instruction_register;
	wire_u32 num_steps;
	wire_u32 num_frames;
	wire_u32 end;                     /* enum wire_runtime_end */
	wire_u32 is_internal;             /* the last one read is built in */
	wire_u64 words[PHP_OBJECT_WORDS]; /* the last object read */
};
_Static_assert(__builtin_offsetof(struct wire_script_function, class_text) % 8 == 0,
	       "its texts are words");

/*
 * Read bytes of the process's memory. Returns 0, or another number if not all can be read: then ret
 * is unchanged, or zeroed.
 */
PHP_INLINE int php_read(struct php_walk *walk, void *ret, wire_u32 bytes, wire_u64 address);

PHP_INLINE int php_walk_stop(struct php_walk *walk, enum wire_runtime_end end)
{
	walk->end = end;
	return 1;
}

PHP_INLINE int php_read_object(struct php_walk *walk, wire_u64 address, wire_u32 bytes)
{
	return php_read(walk, walk->words, bytes & (PHP_OBJECT_WORDS * 8 - 1), address);
}

/*
 * The field at an offset of the last object, followed by the rest of its word: fields are aligned
 * to their size.
 */
PHP_INLINE wire_u64 php_get_field(const struct php_walk *walk, wire_u32 offset)
{
	return walk->words[offset >> 3 & (PHP_OBJECT_WORDS - 1)] >> ((offset & 7) * 8);
}

/*
 * globals: address of executor_globals in the process. Returns 0 to go on, or 1 at the end, for the
 * reason in walk->end.
 */
PHP_INLINE int php_walk_start(struct php_walk *walk, const struct wire_php_layout *layout,
			      wire_u64 globals, wire_u64 frame_register,
			      wire_u64 instruction_register)
{
	walk->layout = *layout;
	walk->frame_register = frame_register;
	walk->instruction_register = instruction_register;
	walk->generator = 0;
	walk->num_steps = walk->num_frames = 0;
	if (php_read(walk, &walk->frame, sizeof(walk->frame), globals + layout->current))
		return php_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	return walk->frame ? 0 : php_walk_stop(walk, WIRE_RUNTIME_COMPLETE);
}

/*
 * Read a function's first bytes: those of a built-in function end early, and may be followed by
 * unreadable memory.
 */
PHP_INLINE int php_read_function(struct php_walk *walk, wire_u64 function)
{
	if (php_read_object(walk, function, walk->layout.function_bytes) &&
	    php_read_object(walk, function, PHP_FUNCTION_BYTES))
		return -1;
	walk->is_internal =
		(php_get_field(walk, PHP_FUNCTION_TYPE) & 0xff) == PHP_INTERNAL_FUNCTION;
	return 0;
}

/* A hash that identifies the last function read; never 0. Reads its name. */
PHP_INLINE wire_u32 php_get_fingerprint(struct php_walk *walk)
{
	wire_u64 name = php_get_field(walk, PHP_FUNCTION_NAME);
	wire_u64 hash = php_get_field(walk, PHP_FUNCTION_CLASS);
	wire_u64 string[2] = {0};

	if (!walk->is_internal) {
		hash = (hash ^ php_get_field(walk, walk->layout.function_file)) *
		       0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32 ^ php_get_field(walk, walk->layout.function_file + 8u);
	}
	if (name)
		(void)php_read(walk, string, sizeof(string), name + PHP_STRING_HASH);
	hash = (hash ^ name) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ hash >> 32 ^ string[0]) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ hash >> 32 ^ string[1]) * 0x9e3779b97f4a7c15ull;
	return (wire_u32)(hash >> 32) | 1;
}

/* Whether it is one of the instructions of the function read last. */
PHP_INLINE int php_has_instruction(const struct php_walk *walk, wire_u64 instruction)
{
	wire_u64 offset = instruction - php_get_field(walk, walk->layout.function_instructions);
	wire_u64 num = php_get_field(walk, walk->layout.function_num_instructions) & 0xffffffff;

	return offset % PHP_INSTRUCTION_BYTES == 0 && offset / PHP_INSTRUCTION_BYTES < num;
}

/* The line of a frame of the last function read; 0: unknown. */
PHP_INLINE wire_u32 php_find_line(struct php_walk *walk, wire_u64 frame, wire_u64 instruction)
{
	wire_u64 line = 0;

	if (walk->is_internal)
		return 0;
	if (!walk->num_frames && frame == walk->frame_register &&
	    php_has_instruction(walk, walk->instruction_register))
		instruction = walk->instruction_register;
	if (!php_has_instruction(walk, instruction) ||
	    php_read(walk, &line, 4, instruction + PHP_INSTRUCTION_LINE))
		return 0;
	return line <= WIRE_SCRIPT_MAX_LINE ? (wire_u32)line : 0;
}

/* Whether the last frame's function is built in and has no name: the start of a fiber. */
PHP_INLINE int php_is_fiber(const struct php_walk *walk)
{
	return walk->is_internal && !php_get_field(walk, PHP_FUNCTION_NAME) &&
	       !php_get_field(walk, PHP_FUNCTION_CLASS);
}

/*
 * Take the frame at an address, whose own bytes were read, if it has a function. flags: of its
 * position. Returns 0, or another number if the function cannot be read.
 */
PHP_INLINE int php_take_frame(struct php_walk *walk, wire_u64 frame, wire_u32 flags,
			      struct wire_runtime_frame *frames)
{
	wire_u32 number = walk->num_frames & (WIRE_MAX_RUNTIME_FRAMES - 1);
	wire_u64 instruction = php_get_field(walk, PHP_FRAME_INSTRUCTION);
	wire_u64 function = php_get_field(walk, PHP_FRAME_FUNCTION);
	wire_u32 info = (wire_u32)php_get_field(walk, PHP_FRAME_INFO);

	if (!function)
		return 0;
	if (php_read_function(walk, function))
		return -1;
	if (php_is_fiber(walk)) {
		if (walk->num_frames)
			frames[(walk->num_frames - 1) & (WIRE_MAX_RUNTIME_FRAMES - 1)].position |=
				WIRE_SCRIPT_STACK_START;
		return 0;
	}
	if (!walk->is_internal && !flags && (info & PHP_CALL_TOP))
		flags = WIRE_RUNTIME_ENTRY_FRAME;
	frames[number].code = function;
	frames[number].position = php_find_line(walk, frame, instruction) | flags;
	frames[number].fingerprint = php_get_fingerprint(walk);
	walk->num_frames++;
	return 0;
}

/*
 * Take the frame of a generator that yields from another one, and go to that, or end. Returns as a
 * step.
 */
PHP_INLINE int php_step_generator(struct php_walk *walk, struct wire_runtime_frame *frames)
{
	wire_u64 generator = walk->generator;
	wire_u64 frame = 0;

	if (php_read(walk, &walk->generator, sizeof(walk->generator),
		     generator + walk->layout.generator_parent))
		return php_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	/* The last one's own frame was taken first. */
	if (!walk->generator)
		return walk->frame ? 0 : php_walk_stop(walk, WIRE_RUNTIME_COMPLETE);
	if (php_read(walk, &frame, sizeof(frame), generator + walk->layout.generator_frame) ||
	    php_read_object(walk, frame, PHP_FRAME_BYTES) ||
	    php_take_frame(walk, frame, WIRE_SCRIPT_DELEGATES, frames))
		return php_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	return 0;
}

/*
 * Whether a frame without a function, whose bytes were read, is in a generator, which is stored in
 * walk->generator then.
 */
PHP_INLINE int php_find_generator(struct php_walk *walk, wire_u64 frame)
{
	wire_u64 generator = php_get_field(walk, PHP_FRAME_THIS);
	wire_u64 node_bytes = frame - generator - walk->layout.generator_parent;

	if (php_get_field(walk, PHP_FRAME_FUNCTION) ||
	    (node_bytes != PHP_GENERATOR_NODE_BYTES && node_bytes != PHP_OLD_GENERATOR_NODE_BYTES))
		return 0;
	walk->generator = generator;
	return 1;
}

/*
 * Take a frame into frames (WIRE_MAX_RUNTIME_FRAMES long). Returns 0 to go on, or 1 at the end, for
 * the reason in walk->end; after PHP_MAX_STEPS at most.
 */
PHP_INLINE int php_walk_step(struct php_walk *walk, struct wire_runtime_frame *frames)
{
	wire_u64 frame = walk->frame;

	if (walk->num_steps++ >= PHP_MAX_STEPS - 1 || walk->num_frames >= WIRE_MAX_RUNTIME_FRAMES)
		return php_walk_stop(walk, WIRE_RUNTIME_DEEP);
	if (walk->generator)
		return php_step_generator(walk, frames);
	if (php_read_object(walk, frame, PHP_FRAME_BYTES))
		return php_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	walk->frame = php_get_field(walk, PHP_FRAME_PREVIOUS);
	if (php_find_generator(walk, frame))
		return 0;
	if (php_take_frame(walk, frame, 0, frames))
		return php_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	return walk->frame ? 0 : php_walk_stop(walk, WIRE_RUNTIME_COMPLETE);
}

/*
 * The text of a string, up to the limit. It is a power of two, so that a verifier sees the bound.
 */
PHP_INLINE void php_read_text(struct php_walk *walk, wire_u64 string, struct wire_script_text *ret,
			      wire_u8 *ret_text, wire_u32 limit)
{
	wire_u64 length = 0;
	int err;

	ret->length = ret->num_bytes = 0;
	if (!string || php_read(walk, &length, sizeof(length), string + PHP_STRING_LENGTH))
		return;
	if (length < limit)
		err = php_read(walk, ret_text, (wire_u32)length & (limit - 1),
			       string + PHP_STRING_TEXT);
	else
		err = php_read(walk, ret_text, limit, string + PHP_STRING_TEXT);
	if (err)
		return;
	ret->length = length < 0xffffffff ? (wire_u32)length : 0xffffffff;
	ret->num_bytes = length < limit ? (wire_u32)length : limit;
}

/*
 * Read the description of a function: all of ret except type, pid and generation. Names are
 * truncated if unreadable.
 *
 * walk  with its layout; changes only the last object read
 *
 * Returns 0, or another number if the function is unreadable.
 */
PHP_INLINE int php_read_function_names(struct php_walk *walk, wire_u64 function,
				       struct wire_script_function *ret)
{
	wire_u64 class_name = 0;
	wire_u64 file = 0;
	wire_u64 class;
	wire_u64 name;

	WIRE_CLEAR(ret->class_text, sizeof(ret->class_text));
	WIRE_CLEAR(ret->name_text, sizeof(ret->name_text));
	WIRE_CLEAR(ret->file_text, sizeof(ret->file_text));
	ret->runtime = WIRE_RUNTIME_PHP;
	ret->padding = 0;
	ret->code = function;
	ret->fingerprint = 0;
	if (php_read_function(walk, function))
		return -1;
	ret->fingerprint = php_get_fingerprint(walk);
	name = php_get_field(walk, PHP_FUNCTION_NAME);
	class = php_get_field(walk, PHP_FUNCTION_CLASS);
	ret->code_kind = WIRE_SCRIPT_CODE_FUNCTION;
	if (!name)
		ret->code_kind = (php_get_field(walk, PHP_FUNCTION_TYPE) & 0xff) == PHP_EVAL_CODE
					 ? WIRE_SCRIPT_CODE_EVAL
					 : WIRE_SCRIPT_CODE_FILE;
	if (!walk->is_internal)
		file = php_get_field(walk, walk->layout.function_file);
	if (class)
		(void)php_read(walk, &class_name, sizeof(class_name), class + PHP_CLASS_NAME);
	php_read_text(walk, class_name, &ret->class_name, ret->class_text, WIRE_SCRIPT_CLASS_BYTES);
	php_read_text(walk, name, &ret->name, ret->name_text, WIRE_SCRIPT_NAME_BYTES);
	php_read_text(walk, file, &ret->file, ret->file_text, WIRE_SCRIPT_FILE_BYTES);
	return 0;
}

#endif
