/*
 * V8's frames: finds the function of a call from its frame pointer, and reads the description of a
 * function.
 *
 * The same code is compiled into the BPF program and into tests. The includer defines V8_INLINE
 * (the specifiers of functions here) before this file, and v8_read() after it. Memory is 64-bit,
 * little endian, and pointers are not compressed.
 *
 *	v8_walk_start(walk, layout);
 *	for each level of the native stack with a frame pointer, from the innermost on
 *		if (v8_walk_read_frame(walk, fp))      of the innermost one: v8_walk_find_innermost()
 *			v8_walk_take_function(walk, walk->words[0], walk->words[1], level, frames);
 *	walk->num_frames, walk->end
 *
 * A JavaScript function, interpreted or compiled by any compiler, has its context and the closure
 * below its frame pointer. V8's other frames have a small integer there, and foreign frames
 * anything, so a supposed closure must be checked. Objects may be moved while the program runs, so
 * their addresses are valid only while the thread is stopped; functions are distinguished by a
 * fingerprint.
 *
 * Nothing here has a loop except v8_count_some_ends(), so that the verifier checks it once. Separately
 * verified functions take no pointers to a stack, so all data that is read is in the struct.
 *
 * The includer may define V8_COUNT_SOME_ENDS() as a separately verified function that calls
 * v8_count_some_ends().
 */
#ifndef RUNTIME_V8_WALK_H
#define RUNTIME_V8_WALK_H

#include "unwind/v8_code.h"
#include "wire/clear.h"
#include "wire/registers.h"
#include "wire/runtime.h"
#include "wire/v8.h"

/* Strings visited for a composed name; at most V8_MAX_PENDING of them are put off meanwhile. */
#define V8_MAX_PENDING    8
#define V8_MAX_NAME_STEPS 16

/*
 * Limits for counting lines: pieces of a source, and pieces for all functions of one stack. A piece
 * takes less than half a microsecond.
 */
#define V8_PIECE_BYTES    512 /* a power of two */
#define V8_MAX_PIECES     128
#define V8_MAX_ALL_PIECES 512

#define V8_OBJECT_WORDS 16 /* a power of two, and more than WIRE_V8_OBJECT_BYTES */

/* The number of functions that no script has. */
#define V8_NO_LITERAL 0xffffffff

/* Below the frame pointer: the closure, and the context, or a marker for another kind of frame. */
#define V8_FRAME_FUNCTION 16
/* A marker is the number of a frame type, times two; type 0 does not exist. */
#define V8_MAX_MARKER 126

/* State of the innermost function's frame. */
struct v8_innermost {
	/*
	 * Without a frame: the address where it pushes the frame pointer or calls the frame setup;
	 * 0: epilogue.
	 */
	wire_u64 prologue;
	wire_u32 is_own; /* the frame pointer is its own */
};

struct v8_walk {
	struct wire_v8_layout layout;
	wire_u64 shared_map; /* map of all SharedFunctionInfos; 0: not seen yet */
	wire_u32 num_frames;
	wire_u32 num_unproven; /* levels with a frame pointer, but without a frame of V8's */
	wire_u32 end;          /* enum wire_runtime_end */
	wire_u64 words[V8_OBJECT_WORDS]; /* the last object read */
	wire_u64 string[4];              /* start of a string */
	wire_u64 pending
		[V8_MAX_PENDING]; /* strings of a name that are still to be appended, the next one last */
	wire_u32 num_pending;
	wire_u32 type; /* of the last object asked for */
	/* State of counting lines. */
	wire_u64 last_return; /* the highest bit of a character: that before is a carriage return */
	wire_u32 num_ends;
	wire_u32 num_pieces; /* of all functions */
	wire_u64 piece[V8_PIECE_BYTES / 8];
};
_Static_assert(WIRE_V8_OBJECT_BYTES < V8_OBJECT_WORDS * 8, "an object has its place");

/*
 * Read bytes of the process's memory. Returns 0, or another number if not all can be read: then ret
 * is unchanged, or zeroed.
 */
V8_INLINE int v8_read(struct v8_walk *walk, void *ret, wire_u32 bytes, wire_u64 address);

/* Pointers to objects have the lowest bit set; weak ones also have the next bit set. */
V8_INLINE int v8_is_object(wire_u64 word)
{
	return (word & 3) == 1;
}

/* Address of the object that a word points to. */
V8_INLINE wire_u64 v8_get_address(wire_u64 word)
{
	return word - 1;
}

V8_INLINE int v8_read_word(struct v8_walk *walk, wire_u64 address, wire_u64 *ret)
{
	return v8_read(walk, ret, sizeof(*ret), address);
}

/* Read the first bytes of an object; v8_get_word() then returns its fields. */
V8_INLINE int v8_read_object(struct v8_walk *walk, wire_u64 object, wire_u32 bytes)
{
	return v8_read(walk, walk->words, bytes & (V8_OBJECT_WORDS * 8 - 1),
		       v8_get_address(object));
}

/* The field at an offset, followed by the rest of its word. */
V8_INLINE wire_u64 v8_get_word(const struct v8_walk *walk, wire_u32 offset)
{
	return walk->words[offset >> 3 & (V8_OBJECT_WORDS - 1)] >> ((offset & 4) * 8);
}

#define V8_NO_TYPE 0xffffffff

/*
 * Put the type of an object with this map into walk->type. Returns 0, or another number if
 * unreadable.
 */
V8_INLINE int v8_read_type(struct v8_walk *walk, wire_u64 map)
{
	wire_u64 word = 0;

	walk->type = V8_NO_TYPE;
	if (!v8_is_object(map) ||
	    v8_read(walk, &word, 2, v8_get_address(map) + walk->layout.map_type))
		return -1;
	walk->type = (wire_u32)word;
	return 0;
}

V8_INLINE int v8_read_type_of(struct v8_walk *walk, wire_u64 object)
{
	wire_u64 map = 0;

	walk->type = V8_NO_TYPE;
	if (!v8_is_object(object) || v8_read_word(walk, v8_get_address(object), &map))
		return -1;
	return v8_read_type(walk, map);
}

V8_INLINE void v8_walk_start(struct v8_walk *walk, const struct wire_v8_layout *layout)
{
	walk->layout = *layout;
	walk->shared_map = 0;
	walk->num_frames = walk->num_pending = walk->num_pieces = walk->num_unproven = 0;
	walk->end = WIRE_RUNTIME_COMPLETE;
}

/* A hash that identifies the last SharedFunctionInfo read; never 0. */
V8_INLINE wire_u32 v8_get_fingerprint(const struct v8_walk *walk)
{
	wire_u64 hash = v8_get_word(walk, walk->layout.shared_name);

	hash = (hash ^ v8_get_word(walk, walk->layout.shared_script) << 20) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ hash >> 32 ^ (v8_get_word(walk, walk->layout.shared_literal) & 0xffffffff)) *
	       0x9e3779b97f4a7c15ull;
	return (wire_u32)(hash >> 32) | 1;
}

/* Whether the last object read is a SharedFunctionInfo. Returns 1, 0, or -1 if unreadable. */
V8_INLINE int v8_is_shared(struct v8_walk *walk)
{
	wire_u64 map = walk->words[0];

	if (walk->shared_map)
		return map == walk->shared_map;
	if (v8_read_type(walk, map))
		return -1;
	if (walk->type != walk->layout.shared_type)
		return 0;
	walk->shared_map = map;
	return 1;
}

/*
 * The function of a closure, read as an object. Returns 1, 0 if it is not a closure, or -1 if
 * unreadable.
 */
V8_INLINE int v8_read_shared_of(struct v8_walk *walk, wire_u64 function, wire_u64 *ret)
{
	if (v8_read_word(walk, v8_get_address(function) + walk->layout.function_shared, ret))
		return -1;
	if (!v8_is_object(*ret))
		return 0;
	if (v8_read_object(walk, *ret, walk->layout.shared_bytes))
		return -1;
	return v8_is_shared(walk);
}

/*
 * Add the function of a frame to frames (WIRE_MAX_RUNTIME_FRAMES long), if it is a JavaScript
 * function. If it is unreadable, walk->end is set. For a WebAssembly function the instance is
 * added, without a fingerprint.
 *
 * function  the closure or the instance, from the frame
 * context   likewise, or a marker for another kind of frame
 * level     of the native stack, from 0 for the innermost
 */
V8_INLINE void v8_walk_take_function(struct v8_walk *walk, wire_u64 function, wire_u64 context,
				     wire_u32 level, struct wire_runtime_frame *frames)
{
	wire_u32 number = walk->num_frames & (WIRE_MAX_RUNTIME_FRAMES - 1);
	wire_u32 fingerprint;
	int found;

	if (!v8_is_object(function))
		return;
	if (walk->layout.wasm_marker && context == walk->layout.wasm_marker) {
		fingerprint = WIRE_V8_WASM;
	} else {
		if (!v8_is_object(context))
			return;
		found = v8_read_shared_of(walk, function, &function);
		if (found < 0)
			walk->end = WIRE_RUNTIME_UNREADABLE;
		if (found <= 0)
			return;
		fingerprint = v8_get_fingerprint(walk);
	}
	if (walk->num_frames >= WIRE_MAX_RUNTIME_FRAMES) {
		walk->end = WIRE_RUNTIME_DEEP;
		return;
	}
	frames[number].code = function;
	frames[number].fingerprint = fingerprint;
	frames[number].position = level;
	walk->num_frames++;
}

/* Whether it is a frame of V8's, but of no function of JavaScript. context as above. */
V8_INLINE int v8_walk_is_marker(wire_u64 context)
{
	return context && context <= V8_MAX_MARKER && !(context & 1);
}

/*
 * Read a frame by its frame pointer. Returns 1, with the closure and the context in walk->words, or
 * 0 if unreadable.
 */
V8_INLINE int v8_walk_read_frame(struct v8_walk *walk, wire_u64 fp)
{
	return !v8_read(walk, walk->words, 16, fp - V8_FRAME_FUNCTION);
}

/*
 * The same for the innermost level, whose frame may not be complete: unwind/v8_code.h. Popped words
 * are still below the stack pointer. At the start of a function its closure is in a register; for
 * WebAssembly the instance is.
 *
 * registers  of the level
 * frame      state of its frame
 *
 * Returns 1, with the arguments for v8_walk_take_function() in walk->words, or 0 if unknown.
 */
V8_INLINE int v8_walk_find_innermost(struct v8_walk *walk, const struct wire_registers *registers,
				     const struct v8_innermost *frame)
{
	wire_u64 next = frame->is_own ? registers->pc : frame->prologue + V8_CODE_PUSH_FP_BYTES;
	wire_u64 word;

	if (frame->is_own && registers->fp - V8_FRAME_FUNCTION >= registers->sp)
		return v8_walk_read_frame(walk, registers->fp);
	if (!frame->is_own && !frame->prologue)
		return !v8_read_word(walk, registers->sp - 8, &word) && word == registers->fp &&
		       v8_walk_read_frame(walk, registers->sp - 8);
	walk->words[0] = walk->words[1] = registers->V8_CODE_CLOSURE_REGISTER;
	/* It calls the frame setup. */
	if (!frame->is_own && !v8_read_word(walk, frame->prologue, &word) &&
	    v8_code_is_frame_call(word))
		return !v8_read_word(walk, frame->prologue - V8_CODE_MOVABS_BYTES, &word) &&
		       v8_code_is_before_frame_call(word);
	/* The words after the frame pointer, or the next code. */
	if (v8_read_word(walk, next, &word))
		return 0;
	if (frame->is_own && registers->fp == registers->sp + 8)
		word = v8_code_add_context_push(word);
	if (v8_code_pushes_closure(word))
		return 1;
	walk->words[0] = registers->V8_CODE_INSTANCE_REGISTER;
	walk->words[1] = walk->layout.wasm_marker;
	return walk->layout.wasm_marker && v8_code_pushes_marker(word, walk->layout.wasm_marker);
}

/* The limit is a power of two, so that a verifier sees that no more is read. */
V8_INLINE int v8_read_up_to(struct v8_walk *walk, void *ret, wire_u64 bytes, wire_u32 limit,
			    wire_u64 address)
{
	if (bytes < limit)
		return v8_read(walk, ret, (wire_u32)bytes & (limit - 1), address);
	return v8_read(walk, ret, limit, address);
}

enum v8_string {
	V8_STRING_SEQUENTIAL = 0,
	V8_STRING_CONS = 1, /* two others, concatenated */
	V8_STRING_EXTERNAL = 2,
	V8_STRING_SLICED = 3, /* a substring: its parent and offset are in the same places */
	V8_STRING_THIN = 5,   /* replaced by another one */
	V8_STRING_REPRESENTATION = 7,
	V8_STRING_ONE_BYTE = 8,
	V8_STRING_UNCACHED = 16, /* external: does not contain the address of its characters */
};

/*
 * Read the start of a string into walk->string, and its type. Returns 0, or another number if it is
 * unreadable or not a string.
 */
V8_INLINE int v8_read_string(struct v8_walk *walk, wire_u64 string)
{
	walk->type = V8_NO_TYPE;
	if (!v8_is_object(string) ||
	    v8_read(walk, walk->string, sizeof(walk->string), v8_get_address(string)) ||
	    v8_read_type(walk, walk->string[0]))
		return -1;
	return walk->type < walk->layout.first_type_after_strings ? 0 : -1;
}

V8_INLINE wire_u64 v8_get_string_word(const struct v8_walk *walk, wire_u32 offset)
{
	return walk->string[offset >> 3 & 3] >> ((offset & 4) * 8);
}

/*
 * The characters of the string that v8_read_string() has read. Returns 0, or another number: it has
 * no characters itself.
 */
V8_INLINE int v8_copy_characters(struct v8_walk *walk, wire_u64 string, struct wire_v8_text *ret,
				 wire_u8 *ret_text, wire_u32 limit)
{
	wire_u32 representation = walk->type & V8_STRING_REPRESENTATION;
	wire_u32 length = (wire_u32)v8_get_string_word(walk, walk->layout.string_length);
	wire_u32 is_wide = !(walk->type & V8_STRING_ONE_BYTE);
	wire_u64 bytes = (wire_u64)length << is_wide;
	wire_u64 characters = v8_get_address(string) + walk->layout.string_characters;

	if (representation == V8_STRING_EXTERNAL && (walk->type & V8_STRING_UNCACHED))
		return -1;
	if (representation == V8_STRING_EXTERNAL)
		characters = v8_get_string_word(walk, walk->layout.external_characters);
	else if (representation != V8_STRING_SEQUENTIAL)
		return -1;
	if (v8_read_up_to(walk, ret_text, bytes, limit, characters))
		return -1;
	ret->length = length;
	ret->num_bytes = (wire_u16)(bytes < limit ? bytes : limit);
	ret->is_wide = (wire_u16)is_wide;
	return 0;
}

/* The rest is lost: no part after a missing one may be taken. */
V8_INLINE int v8_lose_rest(struct v8_walk *walk, struct wire_v8_function *ret)
{
	walk->num_pending = 0;
	ret->has_more = 1;
	return 1;
}

/*
 * Put off two strings, the second one to follow the first. Without room for both, everything after
 * the first one is lost.
 */
V8_INLINE void v8_put_off(struct v8_walk *walk, wire_u64 first, wire_u64 second,
			  struct wire_v8_function *ret)
{
	if (walk->num_pending > V8_MAX_PENDING - 2) {
		v8_lose_rest(walk, ret);
	} else {
		walk->pending[walk->num_pending & (V8_MAX_PENDING - 1)] = second;
		walk->num_pending++;
	}
	walk->pending[walk->num_pending & (V8_MAX_PENDING - 1)] = first;
	walk->num_pending++;
}

/*
 * Take the next string of a name. Returns 0 to go on, 1 at the end; after V8_MAX_NAME_STEPS there may be more.
 */
V8_INLINE int v8_step_name(struct v8_walk *walk, struct wire_v8_function *ret)
{
	wire_u32 part = ret->num_parts & (WIRE_V8_NAME_PARTS - 1);
	wire_u32 representation;
	wire_u64 string;

	if (!walk->num_pending)
		return 1;
	if (ret->num_parts >= WIRE_V8_NAME_PARTS)
		return v8_lose_rest(walk, ret);
	walk->num_pending--;
	string = walk->pending[walk->num_pending & (V8_MAX_PENDING - 1)];
	if (v8_read_string(walk, string))
		return v8_lose_rest(walk, ret);
	representation = walk->type & V8_STRING_REPRESENTATION;
	if (representation == V8_STRING_CONS) {
		v8_put_off(walk, v8_get_string_word(walk, walk->layout.cons_first),
			   v8_get_string_word(walk, walk->layout.cons_second), ret);
		return 0;
	}
	if (representation == V8_STRING_THIN) {
		walk->pending[walk->num_pending & (V8_MAX_PENDING - 1)] =
			v8_get_string_word(walk, walk->layout.thin_actual);
		walk->num_pending++;
		return 0;
	}
	if (!(wire_u32)v8_get_string_word(walk, walk->layout.string_length))
		return 0;
	if (v8_copy_characters(walk, string, &ret->name[part], ret->name_text[part],
			       WIRE_V8_PART_BYTES))
		return v8_lose_rest(walk, ret);
	ret->num_parts++;
	return 0;
}

/*
 * Whether a word points to a string that is not empty; if so, v8_step_name() starts with it. A
 * string that is unreadable may be one.
 */
V8_INLINE int v8_take_name(struct v8_walk *walk, wire_u64 word, struct wire_v8_function *ret)
{
	if (v8_read_string(walk, word)) {
		if (v8_is_object(word) && walk->type == V8_NO_TYPE)
			ret->has_more = 1;
		return 0;
	}
	if (!(wire_u32)v8_get_string_word(walk, walk->layout.string_length))
		return 0;
	walk->pending[0] = word;
	walk->num_pending = 1;
	return 1;
}

/* Flags of a ScopeInfo for the words between its local variables and the name. */
#define V8_SCOPE_RECEIVER(flags)     ((flags) >> 7 & 3) /* 1 or 2: it has a place */
#define V8_SCOPE_HAS_CLASS(flags)    ((flags) >> 10 & 1)
#define V8_SCOPE_VARIABLE(flags)     ((flags) >> 12 & 3) /* not 0: the function's name is there */
#define V8_SCOPE_HAS_INFERRED(flags) ((flags) >> 14 & 1)

/* Whether these are the start and end of a function, as small integers; others are ignored. */
V8_INLINE int v8_is_position(wire_u64 start, wire_u64 end)
{
	return !(wire_u32)start && !(wire_u32)end && start <= end && !(end >> 63);
}

/*
 * Find the position in a ScopeInfo. It follows the name, whose first word is at an offset: name and
 * variable of the function are two words, the inferred name is one, and flags show which of them
 * are present. In the scope of a module they are one word further; that scope starts at the start
 * of its source.
 */
V8_INLINE void v8_find_position(struct v8_walk *walk, wire_u64 scope, wire_u64 offset,
				wire_u64 flags, struct wire_v8_function *ret)
{
	if (V8_SCOPE_VARIABLE(flags))
		offset += 16;
	if (V8_SCOPE_HAS_INFERRED(flags))
		offset += 8;
	if (v8_read(walk, walk->words, 3 * 8, v8_get_address(scope) + offset))
		return;
	if (v8_is_position(walk->words[0], walk->words[1]))
		ret->position = (wire_u32)(walk->words[0] >> 32);
	else if (!walk->words[1] && v8_is_position(walk->words[1], walk->words[2]))
		ret->position = 0;
}

/*
 * The name in a ScopeInfo: that of the function, followed by the index of its variable. If that is
 * empty, the name that V8 has inferred, two words further. In the scope of a module they are one
 * word further.
 */
V8_INLINE void v8_find_scope_name(struct v8_walk *walk, wire_u64 scope,
				  struct wire_v8_function *ret)
{
	wire_u64 flags;
	wire_u64 num_locals;
	wire_u64 offset;

	if (v8_read_object(walk, scope, walk->layout.scope_locals)) {
		ret->has_more = 1;
		return;
	}
	flags = v8_get_word(walk, walk->layout.scope_flags) >>
		(walk->layout.scope_flags_shift & 63);
	num_locals = v8_get_word(walk, walk->layout.scope_num_locals) >> 32;
	offset = walk->layout.scope_locals + 8 * (num_locals < walk->layout.scope_max_inline_locals
							  ? 2 * num_locals
							  : num_locals + 1);
	if (walk->layout.scope_has_receiver &&
	    (V8_SCOPE_RECEIVER(flags) == 1 || V8_SCOPE_RECEIVER(flags) == 2))
		offset += 8;
	if (V8_SCOPE_HAS_CLASS(flags))
		offset += 8;
	if (walk->layout.scope_position) {
		wire_u64 start = v8_get_word(walk, walk->layout.scope_position);

		if (v8_is_position(start, v8_get_word(walk, walk->layout.scope_position + 8)))
			ret->position = (wire_u32)(start >> 32);
	} else {
		v8_find_position(walk, scope, offset, flags, ret);
	}
	if (v8_read(walk, walk->words, 4 * 8, v8_get_address(scope) + offset)) {
		ret->has_more = 1;
		return;
	}
	if (v8_take_name(walk, walk->words[0], ret) || v8_take_name(walk, walk->words[1], ret) ||
	    v8_take_name(walk, walk->words[2], ret))
		return;
	v8_take_name(walk, walk->words[3], ret);
}

/*
 * Find the name from the word that has it, or the ScopeInfo with it. V8's mark for no name is a
 * small integer.
 */
V8_INLINE void v8_find_name(struct v8_walk *walk, wire_u64 word, struct wire_v8_function *ret)
{
	if (!v8_is_object(word))
		return;
	if (v8_read_type_of(walk, word))
		ret->has_more = 1;
	else if (walk->type == walk->layout.scope_type)
		v8_find_scope_name(walk, word, ret);
	else
		v8_take_name(walk, word, ret);
}

/*
 * Put a script's source, name and first line number into walk->words. Returns 0, or another number.
 */
V8_INLINE int v8_read_script(struct v8_walk *walk, wire_u64 script)
{
	return v8_read(walk, walk->words, 3 * 8,
		       v8_get_address(script) + walk->layout.script_name - 8);
}

/*
 * Replace a string by its target, and add the number of characters skipped in that. Returns 0 or
 * -1.
 */
V8_INLINE int v8_unwrap_string(struct v8_walk *walk, wire_u64 *string, wire_u64 *skipped)
{
	wire_u32 representation = walk->type & V8_STRING_REPRESENTATION;
	wire_u32 length = (wire_u32)v8_get_string_word(walk, walk->layout.string_length);

	if (representation == V8_STRING_THIN)
		*string = v8_get_string_word(walk, walk->layout.thin_actual);
	else if (representation == V8_STRING_CONS || representation == V8_STRING_SLICED)
		*string = v8_get_string_word(walk, walk->layout.cons_first);
	else
		return 0;
	if (representation == V8_STRING_SLICED)
		*skipped += v8_get_string_word(walk, walk->layout.cons_second) >> 32;
	if (v8_read_string(walk, *string))
		return -1;
	/* A concatenated string is all in its first part, once it is flat. */
	return representation == V8_STRING_CONS &&
			       (wire_u32)v8_get_string_word(walk, walk->layout.string_length) !=
				       length
		       ? -1
		       : 0;
}

/* Find the location of a script's source, without its hash. If unknown, ret is unchanged. */
V8_INLINE void v8_find_source(struct v8_walk *walk, wire_u64 string, struct wire_v8_source *ret)
{
	wire_u64 skipped = 0; /* characters */
	wire_u32 representation;
	wire_u32 length;

	if (v8_read_string(walk, string))
		return;
	ret->length = (wire_u32)v8_get_string_word(walk, walk->layout.string_length);
	if (v8_unwrap_string(walk, &string, &skipped) || v8_unwrap_string(walk, &string, &skipped))
		return;
	representation = walk->type & V8_STRING_REPRESENTATION;
	length = (wire_u32)v8_get_string_word(walk, walk->layout.string_length);
	ret->is_wide = !(walk->type & V8_STRING_ONE_BYTE);
	if (skipped + ret->length > length || (wire_u64)ret->length << ret->is_wide < 8)
		return;
	if (representation == V8_STRING_EXTERNAL && !(walk->type & V8_STRING_UNCACHED)) {
		ret->pointer_offset = walk->layout.external_characters;
		ret->characters = v8_get_string_word(walk, walk->layout.external_characters);
	} else if (representation == V8_STRING_SEQUENTIAL) {
		ret->characters = v8_get_address(string) + walk->layout.string_characters;
	} else {
		return;
	}
	ret->characters += skipped << ret->is_wide;
	ret->string_length = length;
	ret->length_offset = walk->layout.string_length;
	ret->map = walk->string[0];
	ret->string = v8_get_address(string);
}

/* The characters of a word, of one byte each or of two. */
struct v8_characters {
	wire_u64 ones;  /* the lowest bit of each */
	wire_u64 highs; /* the highest one */
	wire_u32 bits;  /* of a character */
};

/* The highest bit of each character of a word that is this one. */
V8_INLINE wire_u64 v8_find_character(const struct v8_characters *characters, wire_u64 word,
				     wire_u64 character)
{
	word ^= character * characters->ones;
	return ~(((word & ~characters->highs) + ~characters->highs) | word) & characters->highs;
}

/*
 * Add the ends of lines in a word. A carriage return followed by a line feed counts once, at the
 * line feed. Without a branch: the verifier's work multiplies with two in a loop.
 */
V8_INLINE void v8_count_ends(struct v8_walk *walk, const struct v8_characters *characters,
			     wire_u64 word)
{
	wire_u64 feeds = v8_find_character(characters, word, '\n');
	wire_u64 returns = v8_find_character(characters, word, '\r');
	/* U+2028 and U+2029; one-byte strings cannot contain them. */
	wire_u64 separators = v8_find_character(characters, word & ~characters->ones, 0x2028) *
			      (characters->bits >> 4);
	wire_u64 pairs = feeds & (returns << characters->bits | walk->last_return);
	wire_u64 ends = (feeds | returns | separators) & ~pairs;

	walk->num_ends += (wire_u32)((ends >> (characters->bits - 1)) * characters->ones >>
				     (64 - characters->bits));
	walk->last_return = returns >> (64 - characters->bits);
}

/* Words of a piece that one call counts: the verifier goes through each, and through the calls. */
#define V8_WORDS_AT_ONCE 8

/*
 * The same for some words of the piece, from this one on.
 *
 * bytes    of the piece
 * is_wide  1: characters of two bytes, else 0
 */
V8_INLINE void v8_count_some_ends(struct v8_walk *walk, wire_u32 first, wire_u64 bytes,
				  wire_u64 is_wide)
{
	wire_u64 ones = 0x0001000100010001ull | (0x0100010001000100ull & (is_wide - 1));
	wire_u32 bits = 8u << (is_wide & 1);
	const struct v8_characters characters = {
		.ones = ones, .highs = ones << (bits - 1), .bits = bits};

	for (wire_u32 i = 0; i < V8_WORDS_AT_ONCE; i++) {
		if (8ull * (first + i) >= bytes)
			break;
		v8_count_ends(walk, &characters,
			      walk->piece[(first + i) & (V8_PIECE_BYTES / 8 - 1)]);
	}
}

#ifndef V8_COUNT_SOME_ENDS
#define V8_COUNT_SOME_ENDS v8_count_some_ends
#endif

/*
 * Count the lines before a function in the next piece of its source, for each number from 0 on. Returns 0 to go on, 1 at the end.
 */
V8_INLINE int v8_step_line(struct v8_walk *walk, wire_u32 number, struct wire_v8_function *ret)
{
	wire_u64 is_wide = ret->source.is_wide & 1;
	wire_u64 start = (wire_u64)number * V8_PIECE_BYTES;
	wire_u64 end = (wire_u64)ret->position << is_wide;
	wire_u64 bytes = end - start;

	if (ret->position == WIRE_V8_NO_POSITION || ret->position > ret->source.length)
		return 1;
	if (end <= start) {
		ret->line = walk->num_ends + 1;
		return 1;
	}
	if (!ret->source.string || end > V8_MAX_PIECES * V8_PIECE_BYTES ||
	    walk->num_pieces >= V8_MAX_ALL_PIECES)
		return 1;
	walk->num_pieces++;
	/* The bytes after the last character in its word are ignored. */
	walk->piece[bytes >> 3 & (V8_PIECE_BYTES / 8 - 1)] = 0;
	if (v8_read_up_to(walk, walk->piece, bytes, V8_PIECE_BYTES, ret->source.characters + start))
		return 1;
	for (wire_u32 i = 0; i < V8_PIECE_BYTES / 8; i += V8_WORDS_AT_ONCE) {
		if (8ull * i >= bytes)
			break;
		V8_COUNT_SOME_ENDS(walk, i, bytes, is_wide);
	}
	if (bytes > V8_PIECE_BYTES)
		return 0;
	ret->line = walk->num_ends + 1;
	return 1;
}

/*
 * Add the next word of a source to its hash: for each number from 0 to WIRE_V8_SOURCE_WORDS - 1.
 * Returns 0, or 1 if there is no source.
 */
V8_INLINE int v8_step_source(struct v8_walk *walk, wire_u32 number, struct wire_v8_source *ret)
{
	wire_u64 word = 0;

	if (!ret->string)
		return 1;
	if (v8_read_word(walk,
			 ret->characters + wire_v8_get_source_offset(
						   (wire_u64)ret->length << ret->is_wide, number),
			 &word))
		return 0;
	ret->words |= 1u << (number & 31);
	ret->hash = wire_v8_hash_source(ret->hash, word);
	return 0;
}

/*
 * Start reading the description of a function: all of ret except type, pid, generation, name, line
 * and the hash of its source. V8_MAX_NAME_STEPS of v8_step_name() then find the name, and
 * V8_MAX_PIECES of v8_step_line() the line. Without a line number, v8_step_source() adds a word of
 * the source each time to its hash.
 *
 * Returns 0, or another number if unreadable.
 */
V8_INLINE int v8_read_function(struct v8_walk *walk, wire_u64 shared, struct wire_v8_function *ret)
{
	wire_u64 name;
	wire_u64 script;
	wire_u64 file;
	wire_u32 literal;

	WIRE_CLEAR(&ret->source, sizeof(ret->source) + sizeof(ret->name) + sizeof(ret->file));
	WIRE_CLEAR(ret->name_text[0], sizeof(ret->name_text));
	WIRE_CLEAR(ret->file_text, sizeof(ret->file_text));
	ret->shared = shared;
	ret->num_parts = ret->has_more = ret->is_builtin = ret->padding = 0;
	ret->position = WIRE_V8_NO_POSITION;
	ret->first_line = 0;
	ret->script = 0;
	ret->line = 0;
	ret->layout = walk->layout;
	for (int i = 0; i < (int)sizeof(ret->layout_padding); i++)
		ret->layout_padding[i] = 0;
	walk->last_return = walk->num_ends = 0;
	walk->num_pending = 0;
	if (v8_read_object(walk, shared, walk->layout.shared_bytes))
		return -1;
	ret->fingerprint = v8_get_fingerprint(walk);
	name = v8_get_word(walk, walk->layout.shared_name);
	script = v8_get_word(walk, walk->layout.shared_script);
	literal = (wire_u32)v8_get_word(walk, walk->layout.shared_literal);
	v8_find_name(walk, name, ret);
	if (v8_read_type_of(walk, script))
		return 0;
	/* A debugger puts something of its own into the script's place. */
	ret->is_builtin = walk->type != walk->layout.script_type && literal == V8_NO_LITERAL;
	if (walk->type != walk->layout.script_type || v8_read_script(walk, script))
		return 0;
	ret->script = script;
	file = walk->words[1];
	ret->first_line = (wire_u32)(walk->words[2] >> 32);
	v8_find_source(walk, walk->words[0], &ret->source);
	if (v8_read_string(walk, file))
		return 0;
	/* A concatenated path that is not flat is not read. */
	if ((walk->type & V8_STRING_REPRESENTATION) == V8_STRING_THIN) {
		file = v8_get_string_word(walk, walk->layout.thin_actual);
		if (v8_read_string(walk, file))
			return 0;
	}
	v8_copy_characters(walk, file, &ret->file, ret->file_text, WIRE_V8_FILE_BYTES);
	return 0;
}

#endif
