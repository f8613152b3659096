/*
 * The walk of CPython's frames: finds the code objects that a thread runs, innermost first, from
 * the thread pointer, and reads the description of a code object.
 *
 * The same code is compiled into the BPF program and into tests. The includer defines PYTHON_INLINE
 * (the specifiers of functions here), and optionally PYTHON_MAX_LOOKS, before this file, and
 * python_read() after it. Memory is 64-bit, little endian.
 *
 *	if (!python_walk_start(walk, …))
 *		for (i = 0; i < PYTHON_MAX_STEPS && !python_walk_step(walk, frames); i++)
 *			;
 *	walk->end, walk->num_frames, walk->thread_state (to be handed to the next start)
 *
 * A step looks at one thread or takes one frame, and has no loop, so that the verifier checks it
 * once. All its data is in the struct, including data that is read, since separately verified
 * functions take no pointers to a stack.
 *
 * A thread is found in the interpreters' lists of threads by the result of pthread_self(), which
 * CPython stores as thread_id; this is taken to be the thread pointer. In a process with several
 * interpreters it may be in several of them: then the frames of all are taken, those of the newest
 * interpreter first, as it is mostly called by the others.
 */
#ifndef RUNTIME_PYTHON_WALK_H
#define RUNTIME_PYTHON_WALK_H

#include "wire/clear.h"
#include "wire/python.h"

/* Limit of interpreters and threads that are searched. */
#ifndef PYTHON_MAX_LOOKS
#define PYTHON_MAX_LOOKS (64 + 4096)
#endif
/* Each run of the C function may have a frame of its own besides those of Python. */
#define PYTHON_MAX_FRAME_STEPS (2 * WIRE_MAX_RUNTIME_FRAMES)
#define PYTHON_MAX_STEPS       (PYTHON_MAX_LOOKS + PYTHON_MAX_FRAME_STEPS + 2)

#define PYTHON_OBJECT_WORDS 32 /* a power of two, and more than WIRE_PYTHON_OBJECT_BYTES */

/*
 * From 3.11 on a thread's frames are adjacent, those of callers below. They are read together, as a
 * read costs more than the copying. A power of two.
 */
#define PYTHON_WINDOW_WORDS 128
#define PYTHON_PAGE_BYTES   4096

struct python_walk {
	struct wire_python_layout layout;
	wire_u64 thread_pointer;
	wire_u64 interpreter;  /* the one whose threads are being searched */
	wire_u64 next_thread;  /* to look at; 0: the interpreter has no more */
	wire_u64 frame;        /* to take; 0: look for the thread */
	wire_u64 thread_state; /* the one found; 0: none */
	wire_u32 num_looks;
	wire_u32 num_frame_steps;
	wire_u32 num_frames;
	wire_u32 end;          /* enum wire_runtime_end */
	wire_u32 has_others;   /* there are several interpreters */
	wire_u32 window_bytes; /* bytes read; 0: none */
	wire_u32 frame_word;   /* start of the last frame read, in words of the window */
	wire_u64 window_start; /* its address */
	wire_u64 window[PYTHON_WINDOW_WORDS];
	wire_u64 words[PYTHON_OBJECT_WORDS]; /* the object read last */
};
_Static_assert(__builtin_offsetof(struct wire_python_code, name_text) % 8 == 0,
	       "its texts are words");
_Static_assert(WIRE_PYTHON_OBJECT_BYTES < PYTHON_OBJECT_WORDS * 8, "an object has its place");
_Static_assert(PYTHON_OBJECT_WORDS < PYTHON_WINDOW_WORDS, "a frame has its place");
_Static_assert(!(WIRE_MAX_RUNTIME_FRAMES & (WIRE_MAX_RUNTIME_FRAMES - 1)),
	       "less one, it is a mask");

/*
 * Read bytes of the process's memory. Returns 0, or another number if not all can be read: then ret
 * is unchanged, or zeroed.
 */
PYTHON_INLINE int python_read(struct python_walk *walk, void *ret, wire_u32 bytes,
			      wire_u64 address);

PYTHON_INLINE int python_walk_stop(struct python_walk *walk, enum wire_runtime_end end)
{
	walk->end = end;
	return 1;
}

PYTHON_INLINE int python_read_word(struct python_walk *walk, wire_u64 address, wire_u64 *ret)
{
	return python_read(walk, ret, sizeof(*ret), address);
}

/* Read bytes of an object; python_get_word() then returns its words. */
PYTHON_INLINE int python_read_object(struct python_walk *walk, wire_u64 address, wire_u32 bytes)
{
	return python_read(walk, walk->words, bytes & (PYTHON_OBJECT_WORDS * 8 - 1), address);
}

/* The word with the field at an offset of the last object read. */
PYTHON_INLINE wire_u64 python_get_word(const struct python_walk *walk, wire_u32 offset)
{
	return walk->words[offset >> 3 & (PYTHON_OBJECT_WORDS - 1)];
}

/* The field at an offset, followed by the rest of its word: fields are aligned to their size. */
PYTHON_INLINE wire_u64 python_get_part(wire_u64 word, wire_u32 offset)
{
	return word >> ((offset & 7) * 8);
}

/* Read the identifying part of a code object. */
PYTHON_INLINE int python_read_code_object(struct python_walk *walk, wire_u64 code)
{
	return python_read_object(walk, code + walk->layout.code_start, walk->layout.code_bytes);
}

/* A word of the code object read last. */
PYTHON_INLINE wire_u64 python_get_code_word(const struct python_walk *walk, wire_u32 offset)
{
	return python_get_word(walk, offset - walk->layout.code_start);
}

PYTHON_INLINE wire_u32 python_get_first_line(const struct python_walk *walk)
{
	return (wire_u32)python_get_part(python_get_code_word(walk, walk->layout.code_first_line),
					 walk->layout.code_first_line);
}

/* Read that much of the process's memory, less than the size of the window, into the window. */
PYTHON_INLINE int python_read_window(struct python_walk *walk, wire_u64 start, wire_u32 bytes)
{
	walk->window_bytes = 0;
	if (python_read(walk, walk->window, bytes & (PYTHON_WINDOW_WORDS * 8 - 1), start))
		return -1;
	walk->window_start = start;
	walk->window_bytes = bytes;
	return 0;
}

/*
 * The address to start reading a frame from, so that callers' frames are read with it. The rest of
 * the same page is readable; memory below may not be mapped.
 */
PYTHON_INLINE wire_u64 python_get_window_start(const struct python_walk *walk, wire_u32 bytes)
{
	wire_u64 start = walk->frame + bytes - (PYTHON_WINDOW_WORDS - 1) * 8;
	wire_u64 page = walk->frame & ~(wire_u64)(PYTHON_PAGE_BYTES - 1);

	if (walk->layout.runs == WIRE_PYTHON_RUN_EACH ||
	    walk->frame & 7) /* frames are separate, or this is not a frame */
		return walk->frame;
	return start < page || start > walk->frame ? page : start;
}

/* Read the frame; python_get_frame_word() then returns its words. */
PYTHON_INLINE int python_read_frame(struct python_walk *walk)
{
	wire_u32 bytes = walk->layout.frame_bytes & (PYTHON_OBJECT_WORDS * 8 - 1);
	wire_u64 distance = walk->frame - walk->window_start;
	wire_u64 start;

	if (distance & 7 || distance + bytes > walk->window_bytes ||
	    distance > walk->window_bytes) {
		start = python_get_window_start(walk, bytes);
		distance = walk->frame - start;
		if (python_read_window(walk, start, (wire_u32)distance + bytes))
			return -1;
	}
	walk->frame_word = (wire_u32)distance >> 3;
	return 0;
}

/* The word that has the field at an offset of the frame read last. */
PYTHON_INLINE wire_u64 python_get_frame_word(const struct python_walk *walk, wire_u32 offset)
{
	return walk->window[(walk->frame_word + (offset >> 3)) & (PYTHON_WINDOW_WORDS - 1)];
}

/* The byte that tells how a frame is run. */
PYTHON_INLINE wire_u32 python_get_run(const struct python_walk *walk)
{
	return python_get_part(python_get_frame_word(walk, walk->layout.frame_run),
			       walk->layout.frame_run) &
	       0xff;
}

/*
 * The innermost frame of a thread's state; 0: it runs none. Returns 0, or another number if
 * unreadable.
 */
PYTHON_INLINE int python_read_innermost(struct python_walk *walk, wire_u64 thread_state,
					wire_u64 *ret)
{
	if (python_read_word(walk, thread_state + walk->layout.thread_frame, ret))
		return -1;
	if (walk->layout.cframe_frame == WIRE_PYTHON_NONE || !*ret)
		return 0;
	return python_read_word(walk, *ret + walk->layout.cframe_frame, ret);
}

/*
 * The innermost frame of the thread that an earlier walk has found, with one read. Returns 0, or
 * another number: the state is not this thread's any more, has no frame, or cannot be read.
 */
PYTHON_INLINE int python_read_known(struct python_walk *walk, wire_u64 thread_state, wire_u64 *ret)
{
	wire_u32 id = walk->layout.thread_id;
	wire_u32 frame = walk->layout.thread_frame;
	wire_u32 first = id < frame ? id : frame;
	wire_u32 bytes = (id < frame ? frame : id) + 8 - first;

	if (bytes > WIRE_PYTHON_OBJECT_BYTES ||
	    python_read_object(walk, thread_state + first, bytes) ||
	    python_get_word(walk, id - first) != walk->thread_pointer)
		return -1;
	*ret = python_get_word(walk, frame - first);
	if (*ret && walk->layout.cframe_frame != WIRE_PYTHON_NONE &&
	    python_read_word(walk, *ret + walk->layout.cframe_frame, ret))
		return -1;
	return *ret ? 0 : -1;
}

/*
 * Start, with a copy of the layout.
 *
 * runtime       address of _PyRuntime in the process
 * thread_state  from an earlier walk of this thread, or 0. It is used if it still belongs to this
 *               thread and runs frames: freed memory may look the same except for these
 *
 * Returns 0 to continue, or 1 at the end, with the reason in walk->end.
 */
PYTHON_INLINE int python_walk_start(struct python_walk *walk,
				    const struct wire_python_layout *layout, wire_u64 runtime,
				    wire_u64 thread_pointer, wire_u64 thread_state)
{
	wire_u64 other = 0;
	wire_u64 frame = 0;

	walk->layout = *layout;
	walk->thread_pointer = thread_pointer;
	walk->frame = walk->thread_state = 0;
	walk->num_looks = walk->num_frame_steps = walk->num_frames = 0;
	walk->window_bytes = 0;
	walk->end = WIRE_RUNTIME_UNREADABLE;

	/*
	 * The newest interpreter, followed by the main one, which is the oldest: if they are the
	 * same, it is the only one.
	 */
	if (python_read_object(walk, runtime + layout->interpreters, 16))
		return 1;
	walk->interpreter = walk->words[0];
	if (!walk->interpreter) /* not initialized yet, or finalized */
		return python_walk_stop(walk, WIRE_RUNTIME_NO_THREAD);
	if (walk->words[1] != walk->interpreter &&
	    python_read_word(walk, walk->interpreter + layout->interpreter_next, &other))
		return 1;
	walk->has_others = other != 0;
	if (thread_state && !other && !python_read_known(walk, thread_state, &frame)) {
		walk->frame = frame;
		walk->thread_state = thread_state;
		return 0;
	}
	return python_read_word(walk, walk->interpreter + layout->interpreter_threads,
				&walk->next_thread)
		       ? 1
		       : 0;
}

/* All interpreters' threads have been searched. */
PYTHON_INLINE int python_walk_stop_looking(struct python_walk *walk)
{
	return python_walk_stop(walk, walk->thread_state ? WIRE_RUNTIME_COMPLETE
							 : WIRE_RUNTIME_NO_THREAD);
}

/* Go to the next interpreter, or look at one thread. */
PYTHON_INLINE int python_walk_look(struct python_walk *walk)
{
	wire_u64 thread = walk->next_thread;
	wire_u64 id;

	if (walk->num_looks++ >= PYTHON_MAX_LOOKS)
		return python_walk_stop(walk, walk->thread_state ? WIRE_RUNTIME_UNREADABLE
								 : WIRE_RUNTIME_NO_THREAD);
	if (!thread) {
		if (python_read_word(walk, walk->interpreter + walk->layout.interpreter_next,
				     &walk->interpreter))
			return python_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
		if (!walk->interpreter)
			return python_walk_stop_looking(walk);
		if (python_read_word(walk, walk->interpreter + walk->layout.interpreter_threads,
				     &walk->next_thread))
			return python_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
		return 0;
	}
	if (python_read_word(walk, thread + walk->layout.thread_id, &id) ||
	    python_read_word(walk, thread + walk->layout.thread_next, &walk->next_thread))
		return python_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	if (id != walk->thread_pointer)
		return 0;
	if (python_read_innermost(walk, thread, &walk->frame))
		return python_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	if (!walk->thread_state || walk->frame)
		walk->thread_state = thread;
	return 0;
}

/* The index of a frame's instruction, with the flag for a frame that has not started. */
PYTHON_INLINE wire_u32 python_get_instruction(const struct python_walk *walk, wire_u64 code)
{
	wire_u64 instruction =
		python_get_part(python_get_frame_word(walk, walk->layout.frame_instruction),
				walk->layout.frame_instruction);

	if (walk->layout.instruction == WIRE_PYTHON_POINTER)
		instruction -= code + walk->layout.code_instructions;
	else if (instruction & 1u << 31) /* an int below 0 */
		instruction = WIRE_PYTHON_NOT_STARTED;
	else if (walk->layout.instruction == WIRE_PYTHON_UNIT_INDEX)
		instruction = (instruction & 0xffffffff) * 2;
	else
		instruction &= 0xffffffff;
	/* Before the first instruction, or not an instruction. */
	return instruction < WIRE_PYTHON_NOT_STARTED ? (wire_u32)instruction
						     : WIRE_PYTHON_NOT_STARTED;
}

/* A hash that identifies the last code object read; never 0. */
PYTHON_INLINE wire_u32 python_get_fingerprint(const struct python_walk *walk)
{
	wire_u64 name = python_get_code_word(walk, walk->layout.code_name);
	wire_u64 file = python_get_code_word(walk, walk->layout.code_file);
	wire_u64 lines = python_get_code_word(walk, walk->layout.code_lines);
	wire_u64 hash =
		(name ^ (wire_u64)python_get_first_line(walk) << 40) * 0x9e3779b97f4a7c15ull;

	/* Odd constants without a pattern: the products do not wait for each other. */
	hash ^= file * 0xc2b2ae3d27d4eb4full ^ lines * 0xd6e8feb86659fd93ull;
	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ull;
	return (wire_u32)(hash >> 32) | 1;
}

/*
 * From 3.13 on there is an internal frame between a class that is called and its __init__
 * (_Py_InitCleanup). Python itself does not show it: its name and its file are the same string, and
 * it has no line.
 */
PYTHON_INLINE int python_is_hidden(const struct python_walk *walk)
{
	return !python_get_first_line(walk) &&
	       python_get_code_word(walk, walk->layout.code_name) ==
		       python_get_code_word(walk, walk->layout.code_file);
}

PYTHON_INLINE int python_walk_take_frame(struct python_walk *walk,
					 struct wire_runtime_frame *frames)
{
	wire_u32 number = walk->num_frames & (WIRE_MAX_RUNTIME_FRAMES - 1);
	wire_u32 instruction;
	wire_u32 fingerprint = 0;
	wire_u64 code;

	if (walk->num_frame_steps++ >= PYTHON_MAX_FRAME_STEPS)
		return python_walk_stop(walk, WIRE_RUNTIME_DEEP);
	if (python_read_frame(walk))
		return python_walk_stop(walk, WIRE_RUNTIME_UNREADABLE);
	walk->frame = python_get_frame_word(walk, walk->layout.frame_previous);
	code = python_get_frame_word(walk, walk->layout.frame_code) &
	       ~(wire_u64)walk->layout.code_tag_bits;
	instruction = python_get_instruction(walk, code);
	if (walk->layout.runs == WIRE_PYTHON_RUN_EACH) {
		instruction |= WIRE_RUNTIME_ENTRY_FRAME;
	} else if (walk->layout.runs == WIRE_PYTHON_RUN_ENTRY) {
		if (python_get_run(walk))
			instruction |= WIRE_RUNTIME_ENTRY_FRAME;
	} else if (python_get_run(walk) >= walk->layout.run_owner) {
		if (walk->num_frames)
			frames[(walk->num_frames - 1) & (WIRE_MAX_RUNTIME_FRAMES - 1)].position |=
				WIRE_RUNTIME_ENTRY_FRAME;
		return 0;
	}
	if (walk->num_frames >= WIRE_MAX_RUNTIME_FRAMES)
		return python_walk_stop(walk, WIRE_RUNTIME_DEEP);
	if (!python_read_code_object(walk, code)) {
		if (python_is_hidden(walk))
			return 0;
		fingerprint = python_get_fingerprint(walk);
	}
	frames[number].code = code;
	frames[number].fingerprint = fingerprint;
	frames[number].position = instruction;
	walk->num_frames++;
	return 0;
}

/*
 * Look at a thread, or add a frame to frames (WIRE_MAX_RUNTIME_FRAMES long). Returns 0 to go on, or
 * 1 at the end, for the reason in walk->end; after PYTHON_MAX_STEPS at most.
 */
PYTHON_INLINE int python_walk_step(struct python_walk *walk, struct wire_runtime_frame *frames)
{
	if (!walk->frame)
		return python_walk_look(walk);
	if (python_walk_take_frame(walk, frames))
		return 1;
	if (walk->frame || walk->has_others)
		return 0;
	return python_walk_stop(walk, WIRE_RUNTIME_COMPLETE);
}

/* The limit is a power of two, so that a verifier sees that no more is read. */
PYTHON_INLINE int python_read_up_to(struct python_walk *walk, void *ret, wire_u64 bytes,
				    wire_u32 limit, wire_u64 address)
{
	if (bytes < limit)
		return python_read(walk, ret, (wire_u32)bytes & (limit - 1), address);
	return python_read(walk, ret, limit, address);
}

/* The text of a string object, up to the limit; kind 0: it cannot be read. */
PYTHON_INLINE void python_read_text(struct python_walk *walk, wire_u64 address,
				    struct wire_python_text *ret, wire_u8 *ret_text, wire_u32 limit)
{
	wire_u64 length = 0;
	wire_u64 state = 0;
	wire_u64 bytes;
	wire_u32 kind;
	wire_u32 is_ascii;

	ret->length = 0;
	ret->num_bytes = 0;
	ret->kind = ret->is_ascii = 0;
	if (!address || python_read_word(walk, address + walk->layout.text_length, &length) ||
	    python_read(walk, &state, 4, address + walk->layout.text_state))
		return;
	kind = state >> (walk->layout.text_kind_shift & 31) & 7;
	is_ascii = state >> (walk->layout.text_ascii_shift & 31) & 1;
	/*
	 * Its characters are elsewhere, as in strings of the C API before 3.12; or it is not a
	 * string.
	 */
	if (!(state >> ((walk->layout.text_ascii_shift - 1) & 31) & 1) ||
	    (kind != 1 && kind != 2 && kind != 4))
		return;
	bytes = (length < limit ? length : limit) * kind;
	if (python_read_up_to(
		    walk, ret_text, bytes, limit,
		    address + (is_ascii ? walk->layout.ascii_text : walk->layout.other_text)))
		return;
	ret->length = length < 0xffffffff ? (wire_u32)length : 0xffffffff;
	ret->num_bytes = (wire_u16)(bytes < limit ? bytes : limit);
	ret->kind = (wire_u8)kind;
	ret->is_ascii = (wire_u8)is_ascii;
}

/*
 * Read the description of a code object: all of ret except type, pid and generation. Names are
 * truncated if unreadable.
 *
 * walk  with its layout; changes only the last object read
 *
 * Returns 0, or another number if the code object is unreadable; ret has no fingerprint then.
 */
PYTHON_INLINE int python_read_code(struct python_walk *walk, wire_u64 code,
				   struct wire_python_code *ret)
{
	wire_u64 name;
	wire_u64 file;
	wire_u64 lines;
	wire_u64 bytes = 0;

	WIRE_CLEAR(ret->name_text, sizeof(ret->name_text));
	WIRE_CLEAR(ret->file_text, sizeof(ret->file_text));
	WIRE_CLEAR(ret->lines, sizeof(ret->lines));
	ret->code = code;
	ret->fingerprint = ret->first_line = ret->line_bytes = 0;
	ret->num_line_bytes = ret->text_padding = 0;
	ret->minor = walk->layout.minor;
	if (python_read_code_object(walk, code))
		return -1;
	ret->fingerprint = python_get_fingerprint(walk);
	ret->first_line = python_get_first_line(walk);
	name = python_get_code_word(walk, walk->layout.code_name);
	file = python_get_code_word(walk, walk->layout.code_file);
	lines = python_get_code_word(walk, walk->layout.code_lines);
	python_read_text(walk, name, &ret->name, ret->name_text, WIRE_PYTHON_NAME_BYTES);
	python_read_text(walk, file, &ret->file, ret->file_text, WIRE_PYTHON_FILE_BYTES);
	if (!lines || python_read_word(walk, lines + walk->layout.bytes_length, &bytes))
		return 0;
	ret->line_bytes = bytes < 0xffffffff ? (wire_u32)bytes : 0xffffffff;
	if (python_read_up_to(walk, ret->lines, bytes, WIRE_PYTHON_LINE_BYTES,
			      lines + walk->layout.bytes_content))
		return 0;
	ret->num_line_bytes =
		(wire_u16)(bytes < WIRE_PYTHON_LINE_BYTES ? bytes : WIRE_PYTHON_LINE_BYTES);
	return 0;
}

#endif
