/*
 * HotSpot's code: steps from a frame in it to the caller's, identifies its method, and reads the
 * description of a method.
 *
 * The same code is compiled into the BPF program and into tests. The includer defines
 * HOTSPOT_INLINE (the specifiers of functions here) and includes unwind/walk.h before this file,
 * and defines hotspot_read() after it. Memory is 64-bit, little endian.
 *
 *	if (!hotspot_find_code(hotspot, bias))                  once for a process: hotspot->code
 *		…
 *	if (!hotspot_start(hotspot, bytecode_register))         for each stack
 *		…
 *	hotspot_step(hotspot, walk, frames)                     once the walk has reached HotSpot's code
 *
 * Compiled code has no call-frame information and no frame pointer, but its blob records the size
 * of its frames. In the innermost frame, which may not be complete, the instructions show how much
 * of it is set up. The interpreter has frame pointers. Its frames record the end of the caller's
 * frame, since the call may have extended a compiled caller's frame. Uncertainty ends the walk: the
 * caller of the innermost frame must be at a return address. ARCH/hotspot_code.h recognizes the
 * instructions.
 *
 * All data that is read is in the struct, since separately verified functions take no pointers to a
 * stack. The includer may define HOTSPOT_FIND_SEGMENT() as such a function that calls
 * hotspot_find_segment(); likewise HOTSPOT_TAKE_SOME_HOPS(), HOTSPOT_FIND_BLOB() and HOTSPOT_TRY_RETURN().
 */
#ifndef RUNTIME_HOTSPOT_WALK_H
#define RUNTIME_HOTSPOT_WALK_H

#include "runtime/x86_64/hotspot_code.h"
#include "unwind/walk.h"
#include "wire/clear.h"
#include "wire/hotspot.h"
#include "wire/runtime.h"

/*
 * Maximum number of entries of the segment table to read for a block's start: enough for one of 2
 * MiB.
 */
#define HOTSPOT_MAX_HOPS     64
#define HOTSPOT_HOPS_AT_ONCE 8 /* a divisor of these */
#define HOTSPOT_NO_SEGMENT   (~0ull)

#define HOTSPOT_OBJECT_WORDS \
	64 /* a power of two, and more than WIRE_HOTSPOT_OBJECT_BYTES and the word before a blob */

/* Maximum frame size, and maximum distance of a stack pointer from its frame. */
#define HOTSPOT_MAX_FRAME_BYTES (1u << 20)

/* Bytes of the interpreter's return code before the frame's bytecode is in its register again. */
#define HOTSPOT_MAX_ENTRY_BYTES 64

/* Words of an interpreter frame, relative to its frame pointer. */
#define HOTSPOT_FRAME_SENDER_SP (-1)
#define HOTSPOT_FRAME_METHOD    (-3)

/* Location of HotSpot's code in a process. */
struct hotspot_code {
	wire_u64 generation; /* of the process; set by the includer */
	wire_u64 bias;       /* load bias of HotSpot's file; likewise */
	wire_u64 heap_starts[WIRE_HOTSPOT_MAX_HEAPS];
	wire_u64 heap_ends[WIRE_HOTSPOT_MAX_HEAPS];
	wire_u64 heap_segments[WIRE_HOTSPOT_MAX_HEAPS];
	wire_u64 interpreter_start;
	wire_u64 interpreter_bytes; /* address of the interpreter's size */
	wire_u64 call_stub_return;
	wire_u32 num_heaps;
	wire_u32 segment_shift;
};

struct hotspot_walk {
	struct wire_hotspot_layout layout;
	struct hotspot_code code;
	wire_u64 bytecode_register; /* of the innermost frame */
	wire_u64 interpreter_end;
	wire_u64 blob; /* the last one found */
	wire_u64 blob_code;
	wire_u64 blob_end;
	wire_u64 cfa; /* of the attempted step */
	wire_u64 caller_pc;
	wire_u64 caller_fp;
	wire_u64 hop; /* segments of the last hop */
	wire_u32 num_frames;
	wire_u32 is_deep;        /* some frames did not fit */
	wire_u32 last_level;     /* last level of the walk in HotSpot's code */
	wire_u32 any_stub_level; /* likewise, in a stub */
	wire_u32 stub_level;     /* likewise, in a stub whose blob records its frame size */
	wire_u64 words
		[HOTSPOT_OBJECT_WORDS]; /* the last object read, or the last blob read and the word before it */
};
_Static_assert(WIRE_HOTSPOT_OBJECT_BYTES + 8 < HOTSPOT_OBJECT_WORDS * 8, "an object has its place");

/*
 * Bytes of the process's memory. Returns 0, or another number if not all are readable; then none
 * are written, or only 0.
 */
HOTSPOT_INLINE int hotspot_read(struct hotspot_walk *hotspot, void *ret, wire_u32 bytes,
				wire_u64 address);

/*
 * Text up to its terminating zero, or as much as fits, including the zero. Returns the number of
 * bytes before the zero, or a negative number.
 */
HOTSPOT_INLINE int hotspot_read_string(struct hotspot_walk *hotspot, void *ret, wire_u32 size,
				       wire_u64 address);

HOTSPOT_INLINE int hotspot_read_word(struct hotspot_walk *hotspot, wire_u64 address, wire_u64 *ret)
{
	return hotspot_read(hotspot, ret, sizeof(*ret), address);
}

HOTSPOT_INLINE int hotspot_read_object(struct hotspot_walk *hotspot, wire_u64 address,
				       wire_u32 bytes)
{
	return hotspot_read(hotspot, hotspot->words, bytes & (HOTSPOT_OBJECT_WORDS * 8 - 1),
			    address);
}

/* The field at an offset of the last object read, followed by the rest of its word. */
HOTSPOT_INLINE wire_u64 hotspot_get_field(const struct hotspot_walk *hotspot, wire_u32 offset)
{
	return hotspot->words[offset >> 3 & (HOTSPOT_OBJECT_WORDS - 1)] >> ((offset & 7) * 8);
}

/* The same for the last blob read. */
HOTSPOT_INLINE wire_u64 hotspot_get_blob_field(const struct hotspot_walk *hotspot, wire_u32 offset)
{
	return hotspot_get_field(hotspot, 8 + offset);
}

/* Find the range of a code heap. Returns 0, or another number if unreadable. */
HOTSPOT_INLINE int hotspot_find_heap(struct hotspot_walk *hotspot, wire_u32 number, wire_u64 heap)
{
	const struct wire_hotspot_layout *layout = &hotspot->layout;
	struct hotspot_code *code = &hotspot->code;
	wire_u64 shift = 0;

	if (hotspot_read_word(hotspot, heap + layout->heap_start, &code->heap_starts[number]) ||
	    hotspot_read_word(hotspot, heap + layout->heap_end, &code->heap_ends[number]) ||
	    hotspot_read_word(hotspot, heap + layout->heap_segments,
			      &code->heap_segments[number]) ||
	    hotspot_read(hotspot, &shift, 4, heap + layout->heap_segment_shift))
		return -1;
	code->segment_shift = shift & 31;
	return 0;
}

/* Find the array of code heaps and its length. Returns 0, or another number. */
HOTSPOT_INLINE int hotspot_find_heaps(struct hotspot_walk *hotspot, wire_u64 variable,
				      wire_u64 *ret_items, wire_u64 *ret_length)
{
	const struct wire_hotspot_layout *layout = &hotspot->layout;
	wire_u64 array = 0;

	*ret_items = variable;
	*ret_length = 1;
	if (layout->array_length == WIRE_HOTSPOT_NONE)
		return 0;
	*ret_length = 0;
	if (hotspot_read_word(hotspot, variable, &array) || !array ||
	    hotspot_read(hotspot, ret_length, 4, array + layout->array_length) || !*ret_length ||
	    *ret_length > WIRE_HOTSPOT_MAX_HEAPS)
		return -1;
	return hotspot_read_word(hotspot, array + layout->array_items, ret_items);
}

/*
 * Find the process's code: all fields of hotspot->code except those of the includer, by the layout.
 *
 * bias  address in the process minus ELF address
 *
 * Returns 0, or another number if it has none yet or is unreadable.
 */
HOTSPOT_INLINE int hotspot_find_code(struct hotspot_walk *hotspot, wire_u64 bias)
{
	const struct wire_hotspot_layout *layout = &hotspot->layout;
	struct hotspot_code *code = &hotspot->code;
	wire_u64 items = 0;
	wire_u64 length = 0;
	wire_u64 queue = 0;

	code->num_heaps = 0;
	if (hotspot_find_heaps(hotspot, bias + layout->heaps, &items, &length))
		return -1;
	for (wire_u32 i = 0; i < WIRE_HOTSPOT_MAX_HEAPS; i++) {
		wire_u64 heap = 0;

		code->heap_starts[i] = code->heap_ends[i] = code->heap_segments[i] = 0;
		if (i >= length)
			continue;
		if (hotspot_read_word(hotspot, items + 8 * i, &heap) ||
		    hotspot_find_heap(hotspot, i, heap))
			return -1;
	}
	/*
	 * The interpreter is created after the heaps; calls through the call stub start after that.
	 */
	if (hotspot_read_word(hotspot, bias + layout->interpreter, &queue) || !queue ||
	    hotspot_read_word(hotspot, queue + layout->queue_start, &code->interpreter_start) ||
	    hotspot_read_word(hotspot, bias + layout->call_stub_return, &code->call_stub_return) ||
	    !code->call_stub_return)
		return -1;
	code->interpreter_bytes = queue + layout->queue_bytes;
	code->num_heaps = (wire_u32)length;
	return 0;
}

/*
 * Start a stack, using hotspot->code. The interpreter's end is read each time: while it is
 * generated it has more memory, and the unused part becomes other code afterwards.
 *
 * Returns 0, or another number if unreadable.
 */
HOTSPOT_INLINE int hotspot_start(struct hotspot_walk *hotspot, wire_u64 bytecode_register)
{
	const struct hotspot_code *code = &hotspot->code;
	wire_u64 bytes = 0;

	hotspot->bytecode_register = bytecode_register;
	hotspot->num_frames = hotspot->is_deep = 0;
	hotspot->last_level = hotspot->stub_level = hotspot->any_stub_level = 0;
	if (hotspot_read(hotspot, &bytes, 4, code->interpreter_bytes))
		return -1;
	hotspot->interpreter_end = code->interpreter_start + bytes;
	return 0;
}

HOTSPOT_INLINE int hotspot_is_interpreter(const struct hotspot_walk *hotspot, wire_u64 pc)
{
	return pc >= hotspot->code.interpreter_start && pc < hotspot->interpreter_end;
}

/* The number of the heap that holds pc, or WIRE_HOTSPOT_MAX_HEAPS. */
HOTSPOT_INLINE wire_u32 hotspot_get_heap(const struct hotspot_walk *hotspot, wire_u64 pc)
{
	for (wire_u32 i = 0; i < WIRE_HOTSPOT_MAX_HEAPS; i++)
		if (pc >= hotspot->code.heap_starts[i] && pc < hotspot->code.heap_ends[i])
			return i;
	return WIRE_HOTSPOT_MAX_HEAPS;
}

/* Whether the last blob read is the code of a method. */
HOTSPOT_INLINE int hotspot_is_nmethod(const struct hotspot_walk *hotspot)
{
	wire_u64 bytes = hotspot_get_blob_field(hotspot, hotspot->layout.blob_header_bytes);

	bytes &= hotspot->layout.blob_header_bytes_size == 2 ? 0xffff : 0xffffffff;
	return bytes == hotspot->layout.nmethod_header_bytes;
}

/* Find the code range of the last blob read. */
HOTSPOT_INLINE void hotspot_find_blob_code(struct hotspot_walk *hotspot)
{
	const struct wire_hotspot_layout *layout = &hotspot->layout;
	wire_u64 start = hotspot_get_blob_field(hotspot, layout->blob_code);
	wire_u64 end = hotspot_get_blob_field(hotspot, layout->blob_code_end);

	if (layout->blob_code_is_offset) {
		start = hotspot->blob + (start & 0xffffffff);
		end = hotspot->blob + (end & 0xffffffff);
	}
	hotspot->blob_code = start;
	hotspot->blob_end = end;
}

/*
 * Some hops from a segment to the one that its block starts in. Returns the segment that was reached:
 * hotspot->hop is 0 if the block starts there. HOTSPOT_NO_SEGMENT: unknown or unreadable.
 */
HOTSPOT_INLINE wire_u64 hotspot_take_some_hops(struct hotspot_walk *hotspot, wire_u64 segments,
					       wire_u64 segment)
{
	hotspot->hop = 0; /* only its low byte is read */
	for (int i = 0; i < HOTSPOT_HOPS_AT_ONCE; i++) {
		if (hotspot_read(hotspot, &hotspot->hop, 1, segments + segment))
			return HOTSPOT_NO_SEGMENT;
		if (!hotspot->hop)
			return segment;
		if (hotspot->hop == 0xff || hotspot->hop > segment)
			return HOTSPOT_NO_SEGMENT;
		segment -= hotspot->hop;
	}
	return segment;
}

#ifndef HOTSPOT_TAKE_SOME_HOPS
#define HOTSPOT_TAKE_SOME_HOPS hotspot_take_some_hops
#endif

/* The segment that a block starts in. Returns HOTSPOT_NO_SEGMENT if unknown or unreadable. */
HOTSPOT_INLINE wire_u64 hotspot_find_segment(struct hotspot_walk *hotspot, wire_u64 segments,
					     wire_u64 segment)
{
	for (int i = 0; i < HOTSPOT_MAX_HOPS; i += HOTSPOT_HOPS_AT_ONCE) {
		segment = HOTSPOT_TAKE_SOME_HOPS(hotspot, segments, segment);
		if (segment == HOTSPOT_NO_SEGMENT || !hotspot->hop)
			return segment;
	}
	return HOTSPOT_NO_SEGMENT;
}

#ifndef HOTSPOT_FIND_SEGMENT
#define HOTSPOT_FIND_SEGMENT hotspot_find_segment
#endif

/*
 * Find the blob that holds pc, and read it. Returns 0, or another number if not found or
 * unreadable.
 */
HOTSPOT_INLINE int hotspot_find_blob(struct hotspot_walk *hotspot, wire_u64 pc)
{
	const struct wire_hotspot_layout *layout = &hotspot->layout;
	wire_u32 heap = hotspot_get_heap(hotspot, pc);
	wire_u32 shift = hotspot->code.segment_shift & 31;
	wire_u64 segments;
	wire_u64 segment;
	wire_u64 start;

	if (heap >= WIRE_HOTSPOT_MAX_HEAPS)
		return -1;
	start = hotspot->code.heap_starts[heap];
	segments = hotspot->code.heap_segments[heap];
	segment = HOTSPOT_FIND_SEGMENT(hotspot, segments, (pc - start) >> shift);
	if (segment == HOTSPOT_NO_SEGMENT)
		return -1;
	hotspot->blob = start + (segment << shift) + layout->block_bytes;
	if (hotspot_read_object(hotspot, hotspot->blob - 8, 8 + layout->blob_bytes) ||
	    !(hotspot_get_field(hotspot, 8 - layout->block_bytes + layout->block_used) & 0xff))
		return -1;
	hotspot_find_blob_code(hotspot);
	return pc >= hotspot->blob && pc < hotspot->blob_end ? 0 : -1;
}

#ifndef HOTSPOT_FIND_BLOB
#define HOTSPOT_FIND_BLOB hotspot_find_blob
#endif

HOTSPOT_INLINE wire_u32 hotspot_hash(wire_u64 first, wire_u64 second)
{
	wire_u64 hash = (first ^ second << 29 ^ second >> 35) * 0x9e3779b97f4a7c15ull;

	return (wire_u32)(hash >> 32) | 1;
}

/* Add a Java frame to those of the stack; its level is the last one of the walk. */
HOTSPOT_INLINE void hotspot_add_frame(struct hotspot_walk *hotspot, const struct walk *walk,
				      wire_u64 code, wire_u32 fingerprint, wire_u32 position,
				      struct wire_runtime_frame *frames)
{
	wire_u32 number = hotspot->num_frames & (WIRE_MAX_RUNTIME_FRAMES - 1);

	if (hotspot->num_frames >= WIRE_MAX_RUNTIME_FRAMES) {
		hotspot->is_deep = 1;
		return;
	}
	frames[number].code = code;
	frames[number].fingerprint = fingerprint;
	frames[number].position =
		position | ((walk->num_frames - 1) & ((1u << WIRE_HOTSPOT_LEVEL_BITS) - 1));
	hotspot->num_frames++;
}

/*
 * Go to the caller: its pc and the end of this frame are in hotspot. The includer has noted its fp.
 */
HOTSPOT_INLINE int hotspot_go_on(struct hotspot_walk *hotspot, struct walk *walk)
{
	hotspot->last_level = walk->num_frames;
	walk->registers.pc = hotspot->caller_pc;
	walk->registers.sp = hotspot->cfa;
	walk->is_exact = 0;
	walk->is_innermost = 0;
	walk->is_bx_lost = 1;
	walk->is_scratch_lost = 1;
	walk->end = WALK_UNFINISHED;
	return 0;
}

/*
 * Whether pc may be a return address: after a call, or in the interpreter, which pushes the return
 * address itself and jumps to the callee.
 */
HOTSPOT_INLINE int hotspot_is_return_address(const struct hotspot_walk *hotspot, struct walk *walk,
					     wire_u64 pc)
{
	return walk_is_user_pc(pc) &&
	       (hotspot_is_interpreter(hotspot, pc) || walk_follows_call(walk, pc));
}

/*
 * Whether there is a return address at this offset from the stack pointer; if so, the frame ends
 * after it.
 */
HOTSPOT_INLINE int hotspot_try_return(struct hotspot_walk *hotspot, struct walk *walk,
				      wire_u64 offset)
{
	hotspot->cfa = walk->registers.sp + offset + 8;
	return !walk_read(walk, hotspot->cfa - 8, &hotspot->caller_pc) &&
	       hotspot_is_return_address(hotspot, walk, hotspot->caller_pc);
}

#ifndef HOTSPOT_TRY_RETURN
#define HOTSPOT_TRY_RETURN hotspot_try_return
#endif

/* Bytes of code that set up the frame in the last blob read. */
HOTSPOT_INLINE wire_u64 hotspot_get_frame_complete(const struct hotspot_walk *hotspot)
{
	wire_u64 bytes = hotspot_get_blob_field(hotspot, hotspot->layout.blob_frame_complete);

	return bytes & (hotspot->layout.blob_frame_complete_size == 2 ? 0xffff : 0xffffffff);
}

/*
 * State of the innermost frame, whose blob was read last. Returns 0, or another number if its code
 * is unreadable.
 */
HOTSPOT_INLINE int hotspot_find_state(struct hotspot_walk *hotspot, struct walk *walk,
				      enum hotspot_frame_state *ret)
{
	wire_u64 pc = walk->registers.pc;
	wire_u64 before = 0;
	wire_u64 code = 0;

	if (hotspot_read(hotspot, &code, sizeof(code), pc) ||
	    hotspot_read(hotspot, &before, sizeof(before), pc - 8))
		return -1;
	*ret = HOTSPOT_FRAME_COMPLETE;
	if (hotspot_is_removed(code, before))
		*ret = HOTSPOT_FRAME_NONE;
	else if (HOTSPOT_POPS_FP(code))
		*ret = HOTSPOT_FRAME_PUSHED;
	else if (hotspot_is_old_return_poll(code))
		*ret = HOTSPOT_FRAME_NONE;
	else if (pc - hotspot->blob_code < hotspot_get_frame_complete(hotspot))
		*ret = hotspot_get_prologue_state(code, before);
	return 0;
}

/* Note the address where the caller's fp is saved. */
HOTSPOT_INLINE void hotspot_save_fp(struct walk *walk, wire_u64 address)
{
	walk->fp_address = address;
	walk->is_fp_lost = 0;
}

/*
 * Whether the last blob read records its frame size; code that only jumps has no frame, such as
 * method handles.
 */
HOTSPOT_INLINE int hotspot_has_frame_size(const struct hotspot_walk *hotspot)
{
	wire_u32 words =
		(wire_u32)hotspot_get_blob_field(hotspot, hotspot->layout.blob_frame_words);

	return words >= 2 && words <= HOTSPOT_MAX_FRAME_BYTES / 8;
}

/* Target of the direct call before a return address; 0: not a direct call, or unreadable. */
HOTSPOT_INLINE wire_u64 hotspot_get_call_target(struct walk *walk, wire_u64 pc)
{
	wire_u64 code = 0;

	if (walk_read(walk, pc - 8, &code) || !hotspot_ends_in_direct_call(code))
		return 0;
	return pc + hotspot_get_call_distance(code);
}

/*
 * Whether the call before the caller's pc may have called the last blob read, a method's. It has
 * not if its target is another method's code, unless that is a stub of the caller's own. Reads the
 * target's blob. The same method may have been compiled again meanwhile.
 */
HOTSPOT_INLINE int hotspot_may_be_called(struct hotspot_walk *hotspot, struct walk *walk)
{
	wire_u64 method = hotspot_get_blob_field(hotspot, hotspot->layout.nmethod_method);
	wire_u64 pc = hotspot->caller_pc;
	wire_u64 target;

	if (hotspot_get_heap(hotspot, pc) >= WIRE_HOTSPOT_MAX_HEAPS)
		return 0;
	if (hotspot_is_interpreter(hotspot, pc))
		return 1;
	target = hotspot_get_call_target(walk, pc);
	if (!target)
		return 1;
	if ((target >= hotspot->blob && target < hotspot->blob_end) ||
	    HOTSPOT_FIND_BLOB(hotspot, target) || !hotspot_is_nmethod(hotspot) ||
	    !hotspot_has_frame_size(hotspot) ||
	    hotspot_get_blob_field(hotspot, hotspot->layout.nmethod_method) == method)
		return 1;
	return pc >= hotspot->blob && pc < hotspot->blob_end &&
	       target - hotspot->blob_code >= hotspot_get_frame_complete(hotspot);
}

/*
 * Code of methods moves the stack pointer at times, by an unrecorded distance: when the first
 * compiler checks subclasses or copies arrays; in JDK 8 also when it calculates powers, logarithms
 * and the like, or calls C functions. So the supposed return address is checked more closely,
 * except in a frame that has called a method.
 */
HOTSPOT_INLINE int hotspot_is_frame_certain(struct hotspot_walk *hotspot, struct walk *walk)
{
	wire_u32 callee = walk->num_frames - 1;
	int calls_method = !walk->is_exact && hotspot->last_level &&
			   hotspot->last_level == callee && hotspot->any_stub_level != callee;

	return calls_method || !hotspot_is_nmethod(hotspot) || hotspot_may_be_called(hotspot, walk);
}

/*
 * A step over a frame with the size recorded in its blob. In the innermost frame the instructions
 * decide how much is set up; a complete frame always has its return address at its end.
 */
HOTSPOT_INLINE int hotspot_step_sized(struct hotspot_walk *hotspot, struct walk *walk)
{
	wire_u64 bytes =
		(hotspot_get_blob_field(hotspot, hotspot->layout.blob_frame_words) & 0xffffffff) *
		8;
	enum hotspot_frame_state state = HOTSPOT_FRAME_COMPLETE;

	if (!hotspot_is_nmethod(hotspot))
		hotspot->stub_level = hotspot->any_stub_level = walk->num_frames;
	if (walk->is_exact && hotspot_find_state(hotspot, walk, &state))
		return walk_stop(walk, WALK_READ_FAILED);
	if (state == HOTSPOT_FRAME_NONE)
		bytes = 8;
	else if (state == HOTSPOT_FRAME_PUSHED)
		bytes = 16;
	if (!walk->is_exact) {
		hotspot->cfa = walk->registers.sp + bytes;
		if (walk_read(walk, hotspot->cfa - 8, &hotspot->caller_pc))
			return walk_stop(walk, WALK_READ_FAILED);
		if (!walk_is_user_pc(hotspot->caller_pc))
			return walk_stop(walk, WALK_NO_RETURN_ADDRESS);
	} else if (!HOTSPOT_TRY_RETURN(hotspot, walk, bytes - 8)) {
		return walk_stop(walk, WALK_JIT_CODE);
	}
	if (!hotspot_is_frame_certain(hotspot, walk))
		return walk_stop(walk, WALK_JIT_CODE);
	if (state == HOTSPOT_FRAME_COMPLETE || state == HOTSPOT_FRAME_PUSHED)
		hotspot_save_fp(walk, hotspot->cfa - 16);
	return hotspot_go_on(hotspot, walk);
}

/*
 * Read the caller from a frame with a frame pointer. Returns 0, or another number if it is
 * implausible.
 */
HOTSPOT_INLINE int hotspot_read_frame(struct hotspot_walk *hotspot, struct walk *walk)
{
	if (walk_restore_fp(walk) || walk->registers.fp < walk->registers.sp ||
	    walk->registers.fp - walk->registers.sp > HOTSPOT_MAX_FRAME_BYTES ||
	    (walk->registers.fp & 7) || walk_read(walk, walk->registers.fp, &hotspot->caller_fp) ||
	    walk_read(walk, walk->registers.fp + 8, &hotspot->caller_pc) ||
	    !walk_is_user_pc(hotspot->caller_pc))
		return -1;
	hotspot->cfa = walk->registers.fp + 16;
	return 0;
}

HOTSPOT_INLINE int hotspot_step_by_fp(struct hotspot_walk *hotspot, struct walk *walk)
{
	walk->registers.fp = hotspot->caller_fp;
	return hotspot_go_on(hotspot, walk);
}

/*
 * Whether the call before a return address may have called the last blob read; an indirect call
 * may.
 */
HOTSPOT_INLINE int hotspot_may_call_blob(const struct hotspot_walk *hotspot, struct walk *walk,
					 wire_u64 pc)
{
	wire_u64 target = hotspot_get_call_target(walk, pc);

	return !target || (target >= hotspot->blob && target < hotspot->blob_end);
}

/* Name of the code between the interpreter and compiled code: "I2C/C2I adapters". */
#define HOTSPOT_ADAPTER_NAME 0x204932432f433249ull /* its first eight bytes */

/*
 * An adapter has no frame. After the adapter has made room for arguments, the frame of a compiled
 * caller ends at the bytecode register; before that, it is unknown.
 */
HOTSPOT_INLINE int hotspot_step_adapter(struct hotspot_walk *hotspot, struct walk *walk)
{
	wire_u64 code = 0;

	if (!walk->is_exact || hotspot_read(hotspot, &code, sizeof(code), walk->registers.pc) ||
	    hotspot_moves_return_address(code) || !HOTSPOT_TRY_RETURN(hotspot, walk, 0))
		return walk_stop(walk, WALK_JIT_CODE);
	if (!hotspot_is_interpreter(hotspot, hotspot->caller_pc) &&
	    (!walk->is_innermost || hotspot->bytecode_register != hotspot->cfa))
		return walk_stop(walk, WALK_JIT_CODE);
	return hotspot_go_on(hotspot, walk);
}

/*
 * Other stubs do not record their frames. A stub with a frame has a frame pointer, and so has every
 * stub that calls something.
 */
HOTSPOT_INLINE int hotspot_step_stub(struct hotspot_walk *hotspot, struct walk *walk)
{
	enum hotspot_frame_state state = HOTSPOT_FRAME_COMPLETE;
	wire_u64 before = 0;
	wire_u64 code = 0;
	wire_u64 name = 0;

	if (!hotspot_is_nmethod(hotspot) &&
	    hotspot_read_word(hotspot, hotspot_get_blob_field(hotspot, hotspot->layout.blob_name),
			      &name))
		return walk_stop(walk, WALK_READ_FAILED);
	if (name == HOTSPOT_ADAPTER_NAME)
		return hotspot_step_adapter(hotspot, walk);
	if (!hotspot_is_nmethod(hotspot))
		hotspot->any_stub_level = walk->num_frames;
	if (!walk->is_exact) {
		if (hotspot_read_frame(hotspot, walk))
			return walk_stop(walk, WALK_JIT_CODE);
		return hotspot_step_by_fp(hotspot, walk);
	}
	if (hotspot_read(hotspot, &code, sizeof(code), walk->registers.pc) ||
	    hotspot_read(hotspot, &before, sizeof(before), walk->registers.pc - 8))
		return walk_stop(walk, WALK_READ_FAILED);
	if (hotspot_is_removed(code, before) || HOTSPOT_PUSHES_FP(code))
		state = HOTSPOT_FRAME_NONE;
	else if (HOTSPOT_POPS_FP(code) || HOTSPOT_HAS_PUSHED_FP(before))
		state = HOTSPOT_FRAME_PUSHED;
	if (state == HOTSPOT_FRAME_COMPLETE && !hotspot_read_frame(hotspot, walk) &&
	    hotspot_is_return_address(hotspot, walk, hotspot->caller_pc) &&
	    hotspot_may_call_blob(hotspot, walk, hotspot->caller_pc))
		return hotspot_step_by_fp(hotspot, walk);
	if (!HOTSPOT_TRY_RETURN(hotspot, walk, state == HOTSPOT_FRAME_PUSHED ? 8 : 0) ||
	    !hotspot_may_call_blob(hotspot, walk, hotspot->caller_pc))
		return walk_stop(walk, WALK_JIT_CODE);
	if (state == HOTSPOT_FRAME_PUSHED)
		hotspot_save_fp(walk, hotspot->cfa - 16);
	return hotspot_go_on(hotspot, walk);
}

/* The bytecode's index in a method, from its ConstMethod; WIRE_HOTSPOT_NO_BYTECODE: not in it. */
HOTSPOT_INLINE wire_u32 hotspot_get_bytecode(struct hotspot_walk *hotspot, wire_u64 constants,
					     wire_u64 bytecode)
{
	wire_u64 index = bytecode - constants - hotspot->layout.const_bytes;
	wire_u64 bytes = 0;

	if (hotspot_read(hotspot, &bytes, 2, constants + hotspot->layout.const_code_bytes) ||
	    index >= bytes)
		return WIRE_HOTSPOT_NO_BYTECODE;
	return (wire_u32)index;
}

/* Go to the caller of a frame that is not set up yet, or removed already. */
HOTSPOT_INLINE int hotspot_leave_interpreter(struct hotspot_walk *hotspot, struct walk *walk,
					     struct wire_runtime_frame *frames)
{
	hotspot_add_frame(hotspot, walk, hotspot->code.interpreter_start, 1,
			  WIRE_HOTSPOT_INTERPRETED | WIRE_HOTSPOT_STUB, frames);
	return hotspot_go_on(hotspot, walk);
}

/*
 * A method has ended, and the bytecode register is its return address. Its caller's frame ends at
 * bx, until the stack pointer gets there.
 */
HOTSPOT_INLINE int hotspot_step_return(struct hotspot_walk *hotspot, struct walk *walk,
				       struct wire_runtime_frame *frames)
{
	wire_u64 bx = walk->registers.bx;

	hotspot->caller_pc = hotspot->bytecode_register;
	hotspot->cfa = walk->registers.sp;
	if (!hotspot_is_return_address(hotspot, walk, hotspot->caller_pc))
		return walk_stop(walk, WALK_JIT_CODE);
	if (bx > hotspot->cfa && bx - hotspot->cfa <= HOTSPOT_MAX_FRAME_BYTES && !(bx & 7))
		hotspot->cfa = bx;
	return hotspot_leave_interpreter(hotspot, walk, frames);
}

/*
 * Whether the innermost frame has pushed this word already. The memory below the stack pointer is
 * from an earlier frame.
 */
HOTSPOT_INLINE int hotspot_has_pushed(const struct walk *walk, int word)
{
	return walk->registers.fp + 8 * (wire_u64)(long long)word >= walk->registers.sp;
}

/*
 * Whether the innermost frame, which was read, has a frame pointer already, but not its method yet.
 * Its caller's frame ends at the bytecode register until that is pushed.
 */
HOTSPOT_INLINE int hotspot_is_being_set_up(struct hotspot_walk *hotspot, struct walk *walk)
{
	wire_u64 fp = walk->registers.fp;
	wire_u64 sender = hotspot->bytecode_register;

	if (hotspot_has_pushed(walk, HOTSPOT_FRAME_METHOD) ||
	    !hotspot_is_return_address(hotspot, walk, hotspot->caller_pc))
		return 0;
	if (hotspot_has_pushed(walk, HOTSPOT_FRAME_SENDER_SP) &&
	    walk_read(walk, fp + 8 * HOTSPOT_FRAME_SENDER_SP, &sender))
		return 0;
	if (sender < hotspot->cfa || sender - fp > HOTSPOT_MAX_FRAME_BYTES || (sender & 7))
		return 0;
	hotspot->cfa = sender;
	return 1;
}

/* Whether a method has no bytecode, which native ones have not. */
HOTSPOT_INLINE int hotspot_is_native(struct hotspot_walk *hotspot, wire_u64 constants)
{
	wire_u64 bytes = 0;

	return !hotspot_read(hotspot, &bytes, 2, constants + hotspot->layout.const_code_bytes) &&
	       !bytes;
}

/*
 * The interpreter frame at the frame pointer. In the innermost one, the bytecode register is the
 * current bytecode. Otherwise it may not be its own frame. It is, unless it is calling something
 * (then the register is the caller's stack pointer) or something has returned (then the return
 * address is on top).
 *
 * A stub it has called may be the one that replaces a compiled frame by interpreted ones,
 * which may not be filled in yet.
 */
HOTSPOT_INLINE int hotspot_step_interpreter(struct hotspot_walk *hotspot, struct walk *walk,
					    struct wire_runtime_frame *frames)
{
	wire_u64 fp;
	wire_u64 method = 0;
	wire_u64 constants = 0;
	wire_u64 bytecode = 0;
	wire_u32 index = WIRE_HOTSPOT_NO_BYTECODE;
	int is_frame = !hotspot_read_frame(hotspot, walk);

	if (hotspot->stub_level && hotspot->stub_level + 1 == walk->num_frames)
		return walk_stop(walk, WALK_JIT_CODE);
	fp = walk->registers.fp;
	if (is_frame && walk->is_innermost && hotspot_is_being_set_up(hotspot, walk)) {
		walk->registers.fp = hotspot->caller_fp;
		return hotspot_leave_interpreter(hotspot, walk, frames);
	}
	is_frame = is_frame &&
		   (!walk->is_innermost || hotspot_has_pushed(walk, HOTSPOT_FRAME_METHOD)) &&
		   !walk_read(walk, fp + 8 * HOTSPOT_FRAME_METHOD, &method) &&
		   !walk_read(walk, fp - 8 * hotspot->layout.frame_bytecode, &bytecode) &&
		   !walk_read(walk, fp + 8 * HOTSPOT_FRAME_SENDER_SP, &hotspot->cfa) &&
		   !hotspot_read_word(hotspot, method + hotspot->layout.method_const, &constants);
	if (is_frame && walk->is_innermost)
		index = hotspot_get_bytecode(hotspot, constants, hotspot->bytecode_register);
	if (walk->is_innermost && index == WIRE_HOTSPOT_NO_BYTECODE) {
		wire_u64 sender = hotspot->bytecode_register;
		wire_u64 cfa = hotspot->cfa;
		wire_u64 pc = hotspot->caller_pc;
		wire_u64 code = 0;
		int is_code = hotspot_get_heap(hotspot, sender) < WIRE_HOTSPOT_MAX_HEAPS;

		/* Once reached, it is useless. */
		if (is_code && walk->registers.pc - sender >= HOTSPOT_MAX_ENTRY_BYTES)
			return hotspot_step_return(hotspot, walk, frames);
		if (hotspot_read(hotspot, &code, sizeof(code), walk->registers.pc) ||
		    hotspot_jumps_back(code))
			return walk_stop(walk, WALK_JIT_CODE);
		if (!is_code && sender > walk->registers.sp &&
		    sender - walk->registers.sp <= HOTSPOT_MAX_FRAME_BYTES && !(sender & 7)) {
			if (!HOTSPOT_TRY_RETURN(hotspot, walk, 0) &&
			    !HOTSPOT_TRY_RETURN(hotspot, walk, 8) &&
			    !HOTSPOT_TRY_RETURN(hotspot, walk, sender - walk->registers.sp - 8))
				return walk_stop(walk, WALK_JIT_CODE);
			hotspot->cfa = sender;
			return hotspot_leave_interpreter(hotspot, walk, frames);
		}
		if (HOTSPOT_TRY_RETURN(hotspot, walk, 0)) {
			if (walk->registers.bx >= hotspot->cfa &&
			    walk->registers.bx - hotspot->cfa <= HOTSPOT_MAX_FRAME_BYTES)
				hotspot->cfa = walk->registers.bx;
			return hotspot_leave_interpreter(hotspot, walk, frames);
		}
		hotspot->cfa = cfa;
		hotspot->caller_pc = pc;
	}
	/* Callees of method handles may have lost an argument on the way. */
	if (!is_frame || hotspot->cfa <= fp || hotspot->cfa - fp > HOTSPOT_MAX_FRAME_BYTES)
		return walk_stop(walk, WALK_JIT_CODE);
	if (index == WIRE_HOTSPOT_NO_BYTECODE &&
	    (!walk->is_innermost || hotspot_has_pushed(walk, -(int)hotspot->layout.frame_bytecode)))
		index = hotspot_get_bytecode(hotspot, constants, bytecode);
	if (index == WIRE_HOTSPOT_NO_BYTECODE &&
	    (walk->is_innermost || !hotspot_is_native(hotspot, constants)))
		return walk_stop(walk, WALK_JIT_CODE);
	hotspot_add_frame(hotspot, walk, method, hotspot_hash(method, constants),
			  WIRE_HOTSPOT_INTERPRETED | index << WIRE_HOTSPOT_LEVEL_BITS, frames);
	return hotspot_step_by_fp(hotspot, walk);
}

/* Add the last blob read: code of a method, or a stub. */
HOTSPOT_INLINE void hotspot_add_blob(struct hotspot_walk *hotspot, const struct walk *walk,
				     struct wire_runtime_frame *frames)
{
	const struct wire_hotspot_layout *layout = &hotspot->layout;
	wire_u64 method = hotspot_get_blob_field(hotspot, layout->nmethod_method);
	wire_u64 id = hotspot_get_blob_field(hotspot, layout->nmethod_compile_id) & 0xffffffff;
	wire_u64 name = hotspot_get_blob_field(hotspot, layout->blob_name);

	if (walk->registers.pc == hotspot->code.call_stub_return)
		hotspot_add_frame(hotspot, walk, 0, 1, WIRE_HOTSPOT_CALL_STUB, frames);
	else if (!hotspot_is_nmethod(hotspot))
		hotspot_add_frame(hotspot, walk, hotspot->blob, hotspot_hash(name, hotspot->blob),
				  WIRE_HOTSPOT_STUB, frames);
	else if (method)
		hotspot_add_frame(hotspot, walk, hotspot->blob, hotspot_hash(method, id), 0,
				  frames);
}

/*
 * The walk has reached HotSpot's code, and has added the present frame to its levels. Go to its
 * caller, and add the method to frames (WIRE_MAX_RUNTIME_FRAMES long). Returns 0 to continue, or 1
 * at the end, with the reason in walk->end.
 */
HOTSPOT_INLINE int hotspot_step(struct hotspot_walk *hotspot, struct walk *walk,
				struct wire_runtime_frame *frames)
{
	wire_u64 pc = walk->registers.pc - !walk->is_exact;

	if (hotspot_is_interpreter(hotspot, pc))
		return hotspot_step_interpreter(hotspot, walk, frames);
	if (HOTSPOT_FIND_BLOB(hotspot, pc))
		return walk_stop(walk, WALK_JIT_CODE);
	hotspot_add_blob(hotspot, walk, frames);
	if (hotspot_has_frame_size(hotspot) && walk->registers.pc != hotspot->code.call_stub_return)
		return hotspot_step_sized(hotspot, walk);
	return hotspot_step_stub(hotspot, walk);
}

/* The limit is a power of two, so that a verifier sees that no more is read. */
HOTSPOT_INLINE int hotspot_read_up_to(struct hotspot_walk *hotspot, void *ret, wire_u64 bytes,
				      wire_u32 limit, wire_u64 address)
{
	if (bytes < limit)
		return hotspot_read(hotspot, ret, (wire_u32)bytes & (limit - 1), address);
	return hotspot_read(hotspot, ret, limit, address);
}

/* The text of a symbol, up to the limit; nothing if unreadable. */
HOTSPOT_INLINE void hotspot_read_symbol(struct hotspot_walk *hotspot, wire_u64 symbol,
					struct wire_hotspot_text *ret, wire_u8 *ret_text,
					wire_u32 limit)
{
	wire_u64 length = 0;

	if (!symbol || hotspot_read(hotspot, &length, 2, symbol + hotspot->layout.symbol_length) ||
	    hotspot_read_up_to(hotspot, ret_text, length, limit,
			       symbol + hotspot->layout.symbol_text))
		return;
	ret->length = (wire_u16)length;
	ret->num_bytes = (wire_u16)(length < limit ? length : limit);
}

/*
 * The table of lines after the bytecodes: its length is unknown before it is read, and memory may
 * end soon.
 */
HOTSPOT_INLINE void hotspot_read_lines(struct hotspot_walk *hotspot, wire_u64 address,
				       struct wire_hotspot_method *ret)
{
	ret->num_line_bytes = WIRE_HOTSPOT_LINE_BYTES;
	if (!hotspot_read(hotspot, ret->lines, WIRE_HOTSPOT_LINE_BYTES, address))
		return;
	ret->num_line_bytes = 64;
	if (hotspot_read(hotspot, ret->lines, 64, address))
		ret->num_line_bytes = 0;
}

/* Clear all of it except type, pid, generation, code, fingerprint and compile_id. */
HOTSPOT_INLINE void hotspot_clear_method(const struct hotspot_walk *hotspot,
					 struct wire_hotspot_method *ret)
{
	WIRE_CLEAR(ret->class_text, sizeof(ret->class_text));
	WIRE_CLEAR(ret->name_text, sizeof(ret->name_text));
	WIRE_CLEAR(ret->file_text, sizeof(ret->file_text));
	WIRE_CLEAR(ret->lines, sizeof(ret->lines));
	ret->class_name.length = ret->class_name.num_bytes = 0;
	ret->name.length = ret->name.num_bytes = 0;
	ret->file.length = ret->file.num_bytes = 0;
	ret->method = 0;
	ret->num_line_bytes = ret->code_bytes = 0;
	ret->major = hotspot->layout.major;
	ret->padding[0] = ret->padding[1] = ret->padding[2] = 0;
}

/* The rest of a stub's name is dropped. */
#define HOTSPOT_STUB_NAME_BYTES 64

/*
 * Read the name of a stub, into the same fields of ret as hotspot_read_method(). Returns 0, or
 * another number if unreadable.
 */
HOTSPOT_INLINE int hotspot_read_stub(struct hotspot_walk *hotspot, wire_u64 blob,
				     struct wire_hotspot_method *ret)
{
	wire_u64 name = 0;
	int length;

	hotspot_clear_method(hotspot, ret);
	if (hotspot_read_word(hotspot, blob + hotspot->layout.blob_name, &name))
		return -1;
	length = hotspot_read_string(hotspot, ret->name_text, HOTSPOT_STUB_NAME_BYTES, name);
	if (length < 0)
		return -1;
	ret->name.length = ret->name.num_bytes = (wire_u16)length;
	return 0;
}

/*
 * Read the description of a method: all of ret except type, pid, generation, code, fingerprint and
 * compile_id. Names are truncated if unreadable. Returns 0, or another number if the method is
 * unreadable.
 */
HOTSPOT_INLINE int hotspot_read_method(struct hotspot_walk *hotspot, wire_u64 method,
				       struct wire_hotspot_method *ret)
{
	const struct wire_hotspot_layout *layout = &hotspot->layout;
	wire_u64 constants = 0;
	wire_u64 class = 0;
	wire_u64 pool;
	wire_u64 name;
	wire_u64 file = 0;
	wire_u64 symbol = 0;
	wire_u32 has_lines;

	hotspot_clear_method(hotspot, ret);
	ret->method = method;
	if (hotspot_read_word(hotspot, method + layout->method_const, &constants) ||
	    hotspot_read_object(hotspot, constants, layout->const_bytes))
		return -1;
	pool = hotspot_get_field(hotspot, layout->const_pool);
	name = hotspot_get_field(hotspot, layout->const_name) & 0xffff;
	has_lines = hotspot_get_field(hotspot, layout->const_flags) & layout->const_has_lines;
	ret->code_bytes = (wire_u16)hotspot_get_field(hotspot, layout->const_code_bytes);
	if (has_lines)
		hotspot_read_lines(hotspot, constants + layout->const_bytes + ret->code_bytes, ret);
	if (hotspot_read_word(hotspot, pool + layout->pool_bytes + 8 * name, &symbol))
		return -1;
	hotspot_read_symbol(hotspot, symbol, &ret->name, ret->name_text, WIRE_HOTSPOT_NAME_BYTES);
	if (!hotspot_read_word(hotspot, pool + layout->pool_class, &class) &&
	    !hotspot_read_word(hotspot, class + layout->class_name, &symbol))
		hotspot_read_symbol(hotspot, symbol, &ret->class_name, ret->class_text,
				    WIRE_HOTSPOT_CLASS_BYTES);
	if (!hotspot_read(hotspot, &file, 2,
			  layout->pool_file == WIRE_HOTSPOT_NONE ? class + layout->class_file
								 : pool + layout->pool_file) &&
	    file &&
	    !hotspot_read_word(hotspot, pool + layout->pool_bytes + 8 * (file & 0xffff), &symbol))
		hotspot_read_symbol(hotspot, symbol, &ret->file, ret->file_text,
				    WIRE_HOTSPOT_FILE_BYTES);
	return 0;
}

#endif
