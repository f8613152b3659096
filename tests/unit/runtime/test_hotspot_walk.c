/*
 * The walk through HotSpot's code in a fake memory: code heaps, compiled and interpreted frames, stubs, and what is none of
 * them; and what methods say of themselves. All with the layouts of several versions.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"

/* clang-format off */
#include "hotspot_walk_layouts.h"
#include "unit.h"
/* clang-format on */

#define WALK_INLINE    static inline
#define HOTSPOT_INLINE static inline
#include "runtime/hotspot_walk.h"

/* Memory of a process: what the VM has, methods, a stack, and code. */
#define MEMORY        0x7f0000000000ull
#define MEMORY_BYTES  0x40000
#define MEMORY_END    (MEMORY + MEMORY_BYTES)
#define ARRAY         (MEMORY + 0x200)
#define ITEMS         (MEMORY + 0x240)
#define QUEUE         (MEMORY + 0x300)
#define HEAP(i)       (MEMORY + 0x400 + 0x200ull * (i))
#define SEGMENTS(i)   (MEMORY + 0x1000 + 0x400ull * (i))
#define METHOD        (MEMORY + 0x2000)
#define OTHER_METHOD  (MEMORY + 0x2080)
#define CONSTANTS     (MEMORY + 0x2100)
#define POOL          (MEMORY + 0x2400)
#define CLASS         (MEMORY + 0x2800)
#define SYMBOLS       (MEMORY + 0x3000)
#define STUB_NAME     (MEMORY + 0x3800)
#define ADAPTER_NAME  (MEMORY + 0x3880)
#define STACK         (MEMORY + 0x4000)
#define STACK_WORDS   0x400
#define CODE(i)       (MEMORY + 0x10000 + 0x10000ull * (i))
#define CODE_BYTES    0x10000
#define INTERPRETER   (CODE(0) + 0x8000)
#define INTERPRETED   0x4000 /* bytes */
#define CALL_STUB     (CODE(0) + 0xe000)
#define SEGMENT_SHIFT 7
#define BLOB_CODE     0x180 /* from a blob's start to its code */
#define WORD(n)       (STACK + 8ull * (n))
#define RETURN        (CODE(0) + 0x4040) /* follows a call */
#define NO_RETURN     (CODE(0) + 0x5040) /* does not */
#define OLD_RETURN    (CODE(0) + 0x6040) /* does as well; what returned there was called before */
#define CALLER_FP     0x7ffe00001110ull
#define COMPILE_ID    77
#define FRAME_WORDS   6
#define NUM_BYTECODES 40
#define FREE_SEGMENT  0xff
#define NO_READ_FAILS UINT64_MAX
#define IN_REGISTER   (-1)
#define OTHER_CODE(version) \
	(CODE(0) + (48ull << SEGMENT_SHIFT) + hotspot_walk_layouts[version].block_bytes + BLOB_CODE)
#define LEVEL_OF(word)        ((word) & ((1u << WIRE_HOTSPOT_LEVEL_BITS) - 1))
#define BYTECODE_OF(position) (((position) & ~WIRE_HOTSPOT_INTERPRETED) >> WIRE_HOTSPOT_LEVEL_BITS)

struct fake_process {
	struct walk walk; /* first: what the walk hands to its callbacks */
	struct hotspot_walk hotspot;
	struct wire_runtime_frame frames[WIRE_MAX_RUNTIME_FRAMES];
	struct wire_hotspot_method method; /* that was read last */
	uint64_t num_reads;
	uint64_t failing_read; /* its number */
	uint64_t code;         /* of the blob that the thread is in */
	uint8_t memory[MEMORY_BYTES];
};

#include "fake_memory.h"
#include "read_string.h"

static int read_scene(struct fake_process *scene, void *ret, uint64_t size, uint64_t address)
{
	memset(ret, 0, size); /* as the kernel does where it fails */
	if (scene->num_reads++ == scene->failing_read)
		return -1;
	return read_memory(scene, ret, size, address);
}

static inline int walk_read(struct walk *walk, wire_u64 address, wire_u64 *ret)
{
	wire_u64 word;

	if (read_scene((struct fake_process *)walk, &word, sizeof(word), address))
		return -1;
	*ret = word;
	return 0;
}

static inline int hotspot_read(struct hotspot_walk *hotspot, void *ret, wire_u32 bytes,
			       wire_u64 address)
{
	return read_scene(
		(struct fake_process *)((char *)hotspot - offsetof(struct fake_process, hotspot)),
		ret, bytes, address);
}

DEFINE_READ_STRING(hotspot_read_string, hotspot_walk, hotspot_read)

/* It is only asked for HotSpot's own code here. */
static inline int walk_find_mapping(struct walk *walk _unused_, wire_u64 pc _unused_)
{
	return 0;
}

static inline wire_u64 walk_get_thread_pointer(struct walk *walk _unused_)
{
	return 0;
}

static inline int walk_may_have_signal_stack(struct walk *walk _unused_, wire_u64 start _unused_,
					     wire_u64 num_bytes _unused_)
{
	return 1;
}

static inline void walk_note_frame_pointer(struct walk *walk _unused_, wire_u64 fp _unused_)
{
}

static inline const struct unwind_rule *walk_find_rule(struct walk *walk _unused_,
						       wire_u64 elf_address _unused_)
{
	return NULL;
}

/*
 * What is in the memory.
 */

/* In hexadecimal. */
static void put_code(struct fake_process *scene, uint64_t address, const char *code)
{
	unsigned int byte;
	int length;

	for (; sscanf(code, "%2x%n", &byte, &length) == 1; code += length)
		put_number(scene, address++, byte, 1);
}

/* In front of a return address. */
static void put_call(struct fake_process *scene, uint64_t return_address, uint64_t target)
{
	put_number(scene, return_address - 5, 0xe8, 1);
	put_number(scene, return_address - 4, target - return_address, 4);
}

static void put_vm(struct fake_process *scene, uint32_t num_heaps)
{
	const struct wire_hotspot_layout *layout = &scene->hotspot.layout;

	put_word(scene, MEMORY + layout->heaps,
		 layout->array_length == WIRE_HOTSPOT_NONE ? HEAP(0) : ARRAY);
	put_word(scene, MEMORY + layout->interpreter, QUEUE);
	put_word(scene, MEMORY + layout->call_stub_return, CALL_STUB);
	if (layout->array_length != WIRE_HOTSPOT_NONE) {
		put_number(scene, ARRAY + layout->array_length, num_heaps, 4);
		put_word(scene, ARRAY + layout->array_items, ITEMS);
	}
	for (uint32_t i = 0; i < WIRE_HOTSPOT_MAX_HEAPS; i++) {
		put_word(scene, ITEMS + 8 * i, HEAP(i));
		put_word(scene, HEAP(i) + layout->heap_start, CODE(i));
		put_word(scene, HEAP(i) + layout->heap_end, CODE(i) + CODE_BYTES);
		put_word(scene, HEAP(i) + layout->heap_segments, SEGMENTS(i));
		put_number(scene, HEAP(i) + layout->heap_segment_shift, SEGMENT_SHIFT, 4);
	}
	put_word(scene, QUEUE + layout->queue_start, INTERPRETER);
	put_number(scene, QUEUE + layout->queue_bytes, INTERPRETED, 4);
	memset(scene->memory + (SEGMENTS(0) - MEMORY), FREE_SEGMENT,
	       SEGMENTS(WIRE_HOTSPOT_MAX_HEAPS) - SEGMENTS(0));
}

/* All but the stack is there, which has no return address in it but what is none. */
static struct fake_process *scene_new(enum hotspot_walk_version version)
{
	struct fake_process *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->failing_read = NO_READ_FAILS;
	scene->hotspot.layout = hotspot_walk_layouts[version];
	put_vm(scene, 3);
	assert_int_equal(hotspot_find_code(&scene->hotspot, MEMORY), 0);
	for (unsigned int i = 0; i < STACK_WORDS; i++)
		put_word(scene, WORD(i), NO_RETURN);
	put_call(scene, RETURN, MEMORY);
	put_call(scene, OLD_RETURN, MEMORY);
	strcpy((char *)scene->memory + (STUB_NAME - MEMORY), "StubRoutines (1)");
	strcpy((char *)scene->memory + (ADAPTER_NAME - MEMORY), "I2C/C2I adapters");
	return scene;
}

struct blob {
	uint32_t heap;
	uint32_t segment;
	uint32_t num_segments;
	uint32_t frame_words;
	uint32_t frame_complete;
	uint64_t nmethod_of; /* a method; 0: it is none */
	bool is_free;
	bool is_adapter;
};

/* As HotSpot writes the table: chains start again when a byte is full. */
static void put_segments(struct fake_process *scene, uint32_t heap, uint32_t first, uint32_t count)
{
	uint8_t hop = 0;

	for (uint32_t i = 0; i < count; i++) {
		put_number(scene, SEGMENTS(heap) + first + i, hop, 1);
		hop = hop + 1 == FREE_SEGMENT ? 1 : (uint8_t)(hop + 1);
	}
}

/* Returns where its code starts. */
static uint64_t put_blob(struct fake_process *scene, const struct blob *blob)
{
	const struct wire_hotspot_layout *layout = &scene->hotspot.layout;
	uint64_t block = CODE(blob->heap) + ((uint64_t)blob->segment << SEGMENT_SHIFT);
	uint64_t start = block + layout->block_bytes;
	uint64_t end = block + ((uint64_t)blob->num_segments << SEGMENT_SHIFT) - 64;

	put_segments(scene, blob->heap, blob->segment, blob->num_segments);
	put_number(scene, block + layout->block_used, !blob->is_free, 1);
	put_number(scene, start + layout->blob_header_bytes,
		   blob->nmethod_of ? layout->nmethod_header_bytes : 96,
		   layout->blob_header_bytes_size);
	put_number(scene, start + layout->blob_frame_complete, blob->frame_complete,
		   layout->blob_frame_complete_size);
	put_number(scene, start + layout->blob_frame_words, blob->frame_words, 4);
	put_word(scene, start + layout->blob_name, blob->is_adapter ? ADAPTER_NAME : STUB_NAME);
	if (layout->blob_code_is_offset) {
		put_number(scene, start + layout->blob_code, BLOB_CODE, 4);
		put_number(scene, start + layout->blob_code_end, end - start, 4);
	} else {
		put_word(scene, start + layout->blob_code, start + BLOB_CODE);
		put_word(scene, start + layout->blob_code_end, end);
	}
	if (blob->nmethod_of) {
		put_word(scene, start + layout->nmethod_method, blob->nmethod_of);
		put_number(scene, start + layout->nmethod_compile_id, COMPILE_ID, 4);
	}
	return start + BLOB_CODE;
}

static uint64_t put_method_code(struct fake_process *scene, uint32_t frame_words, uint32_t complete)
{
	return put_blob(scene, &(struct blob){.segment = 16,
					      .num_segments = 16,
					      .frame_words = frame_words,
					      .frame_complete = complete,
					      .nmethod_of = METHOD});
}

static uint64_t put_stub(struct fake_process *scene, uint32_t frame_words)
{
	return put_blob(
		scene,
		&(struct blob){.segment = 16, .num_segments = 16, .frame_words = frame_words});
}

/* The thread is there, with its stack pointer at the stack's first word. */
static void start_at(struct fake_process *scene, uint64_t pc, uint64_t fp, uint64_t r13)
{
	const struct wire_registers registers = {.pc = pc, .sp = STACK, .fp = fp};

	walk_start(&scene->walk, &registers);
	scene->walk.num_frames = 1;
	scene->walk.end = WALK_AT_HOTSPOT_CODE;
	assert_int_equal(hotspot_start(&scene->hotspot, r13), 0);
	scene->num_reads = 0;
}

/* The same as the caller of something. */
static void start_outside(struct fake_process *scene, uint64_t pc, uint64_t fp)
{
	start_at(scene, pc, fp, 0);
	scene->walk.is_exact = scene->walk.is_innermost = 0;
	scene->walk.num_frames = 4;
}

static int step(struct fake_process *scene)
{
	return hotspot_step(&scene->hotspot, &scene->walk, scene->frames);
}

static void assert_at_caller(struct fake_process *scene, uint64_t pc, uint64_t sp, uint64_t fp)
{
	assert_true(scene->walk.registers.pc == pc);
	assert_true(scene->walk.registers.sp == sp);
	assert_int_equal(walk_restore_fp(&scene->walk), 0);
	assert_true(scene->walk.registers.fp == fp);
	assert_false(scene->walk.is_exact);
	assert_false(scene->walk.is_innermost);
	assert_int_equal(scene->walk.end, WALK_UNFINISHED);
}

static void assert_steps(struct fake_process *scene, uint64_t pc, uint64_t sp, uint64_t fp)
{
	assert_int_equal(step(scene), 0);
	assert_at_caller(scene, pc, sp, fp);
}

static void assert_ends(struct fake_process *scene, enum walk_end end)
{
	assert_int_equal(step(scene), 1);
	assert_int_equal(scene->walk.end, end);
}

/* The last frame that was added. */
static struct wire_runtime_frame get_frame(const struct fake_process *scene)
{
	assert_in_range(scene->hotspot.num_frames, 1, WIRE_MAX_RUNTIME_FRAMES);
	return scene->frames[scene->hotspot.num_frames - 1];
}

/* Whatever cannot be read, of a step that starts as it does now: the walk ends, or comes to where it comes when all can. */
static void assert_needs_what_it_reads(const struct fake_process *started, uint64_t pc, uint64_t sp)
{
	struct fake_process *scene = malloc(sizeof(*scene));
	uint64_t num_reads;
	uint64_t num_ended = 0;

	assert_non_null(scene);
	*scene = *started;
	assert_int_equal(step(scene), 0);
	num_reads = scene->num_reads;
	assert_true(num_reads > 0);
	for (uint64_t i = 0; i < num_reads; i++) {
		*scene = *started;
		scene->failing_read = i;
		if (step(scene)) {
			num_ended++;
			assert_true(scene->walk.end == WALK_JIT_CODE ||
				    scene->walk.end == WALK_READ_FAILED);
			continue;
		}
		assert_true(scene->walk.registers.pc == pc && scene->walk.registers.sp == sp);
	}
	assert_true(num_ended > 0);
	free(scene);
}

#define for_each_version(version)                                                         \
	for (enum hotspot_walk_version version = 0; (version) < NUM_HOTSPOT_WALK_LAYOUTS; \
	     (version)++)

/*
 * Where the process has its code.
 */

static void code_is_found_in_three_heaps_or_one(void **state _unused_)
{
	for_each_version(version)
	{
		struct fake_process *scene = scene_new(version);
		const struct hotspot_code *code = &scene->hotspot.code;
		uint32_t num_heaps = version == HOTSPOT_8 ? 1 : 3;

		assert_int_equal(code->num_heaps, num_heaps);
		for (uint32_t i = 0; i < num_heaps; i++) {
			assert_true(code->heap_starts[i] == CODE(i));
			assert_true(code->heap_ends[i] == CODE(i) + CODE_BYTES);
			assert_true(code->heap_segments[i] == SEGMENTS(i));
		}
		assert_int_equal(code->segment_shift, SEGMENT_SHIFT);
		assert_true(code->interpreter_start == INTERPRETER);
		assert_true(code->call_stub_return == CALL_STUB);

		/* One heap: nothing is left of the others. */
		if (version != HOTSPOT_8)
			put_number(scene, ARRAY + scene->hotspot.layout.array_length, 1, 4);
		assert_int_equal(hotspot_find_code(&scene->hotspot, MEMORY), 0);
		assert_int_equal(code->num_heaps, 1);
		assert_true(!code->heap_starts[1] && !code->heap_ends[1] && !code->heap_ends[2]);
		assert_int_equal(hotspot_get_heap(&scene->hotspot, CODE(0) + 1), 0);
		assert_int_equal(hotspot_get_heap(&scene->hotspot, CODE(1)),
				 WIRE_HOTSPOT_MAX_HEAPS);
		free(scene);
	}
}

/* What it is made in is larger, and has other code in its rest afterwards. */
static void the_interpreter_ends_where_it_does_now(void **state _unused_)
{
	for_each_version(version)
	{
		struct fake_process *scene = scene_new(version);
		uint64_t code = put_blob(scene, &(struct blob){.segment = 320,
							       .num_segments = 16,
							       .frame_words = FRAME_WORDS});

		assert_in_range(code, INTERPRETER, INTERPRETER + INTERPRETED);
		start_at(scene, code + 0x40, CALLER_FP, 0);
		assert_true(scene->hotspot.interpreter_end == INTERPRETER + INTERPRETED);
		put_number(scene, QUEUE + scene->hotspot.layout.queue_bytes, 0x1000, 4);
		put_word(scene, WORD(FRAME_WORDS - 2), CALLER_FP);
		put_word(scene, WORD(FRAME_WORDS - 1), RETURN);
		start_at(scene, code + 0x40, CALLER_FP, 0);
		assert_true(scene->hotspot.interpreter_end == INTERPRETER + 0x1000);
		assert_steps(scene, RETURN, WORD(FRAME_WORDS), CALLER_FP);

		scene->num_reads = scene->failing_read = 0;
		assert_int_not_equal(hotspot_start(&scene->hotspot, 0), 0);
		free(scene);
	}
}

static void code_is_not_there_before_all_of_it_is(void **state _unused_)
{
	static const uint32_t lengths[] = {0, WIRE_HOTSPOT_MAX_HEAPS + 1, UINT32_MAX};
	struct fake_process *scene = scene_new(HOTSPOT_17);
	const struct wire_hotspot_layout *layout = &scene->hotspot.layout;
	const uint64_t variables[] = {layout->heaps, layout->interpreter, layout->call_stub_return};

	for (size_t i = 0; i < ARRAY_LENGTH(variables); i++) {
		put_vm(scene, 3);
		put_word(scene, MEMORY + variables[i], 0);
		assert_int_not_equal(hotspot_find_code(&scene->hotspot, MEMORY), 0);
		assert_int_equal(scene->hotspot.code.num_heaps, 0);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		put_vm(scene, lengths[i]);
		assert_int_not_equal(hotspot_find_code(&scene->hotspot, MEMORY), 0);
		assert_int_equal(scene->hotspot.code.num_heaps, 0);
	}
	put_vm(scene, 3);
	put_word(scene, ITEMS + 16, 0); /* the third one is being made */
	assert_int_not_equal(hotspot_find_code(&scene->hotspot, MEMORY), 0);
	free(scene);
}

static void code_is_not_found_where_any_of_it_cannot_be_read(void **state _unused_)
{
	struct fake_process *scene = scene_new(HOTSPOT_25);
	uint64_t num_reads;

	scene->num_reads = 0;
	assert_int_equal(hotspot_find_code(&scene->hotspot, MEMORY), 0);
	num_reads = scene->num_reads;
	for (uint64_t i = 0; i < num_reads; i++) {
		scene->num_reads = 0;
		scene->failing_read = i;
		assert_int_not_equal(hotspot_find_code(&scene->hotspot, MEMORY), 0);
		assert_int_equal(scene->hotspot.code.num_heaps, 0);
	}
	free(scene);
}

/*
 * Blobs and their segments.
 */

static void assert_blob(struct fake_process *scene, uint64_t pc, uint64_t blob)
{
	assert_int_equal(hotspot_find_blob(&scene->hotspot, pc), 0);
	assert_true(scene->hotspot.blob == blob);
}

static void assert_no_blob(struct fake_process *scene, uint64_t pc)
{
	assert_int_not_equal(hotspot_find_blob(&scene->hotspot, pc), 0);
}

static void blobs_are_found_from_all_their_segments(void **state _unused_)
{
	for_each_version(version)
	{
		struct fake_process *scene = scene_new(version);
		uint64_t block_bytes = scene->hotspot.layout.block_bytes;

		for (uint32_t heap = 0; heap < scene->hotspot.code.num_heaps; heap++) {
			uint64_t blob = CODE(heap) + (9ull << SEGMENT_SHIFT) + block_bytes;

			put_blob(scene, &(struct blob){.heap = heap,
						       .segment = 9,
						       .num_segments = 20,
						       .nmethod_of = METHOD});
			for (uint64_t pc = blob; pc < scene->hotspot.blob_end || pc == blob; pc++)
				assert_blob(scene, pc, blob);
			assert_true(scene->hotspot.blob_code == blob + BLOB_CODE);
			assert_true(scene->hotspot.blob_end ==
				    CODE(heap) + (29ull << SEGMENT_SHIFT) - 64);
			assert_true(hotspot_is_nmethod(&scene->hotspot));
			assert_no_blob(scene, blob - 1);
			assert_no_blob(scene, scene->hotspot.blob_end);
		}
		free(scene);
	}
}

static void chains_of_hops_may_be_longer_than_a_byte_says(void **state _unused_)
{
	struct fake_process *scene = scene_new(HOTSPOT_17);
	uint64_t blob = CODE(1) + (2ull << SEGMENT_SHIFT) + 16;

	put_blob(scene, &(struct blob){.heap = 1, .segment = 2, .num_segments = 509});
	assert_blob(scene, blob, blob);
	assert_blob(scene, CODE(1) + (256ull << SEGMENT_SHIFT), blob);
	assert_blob(scene, CODE(1) + (257ull << SEGMENT_SHIFT), blob);
	assert_blob(scene, CODE(1) + (510ull << SEGMENT_SHIFT), blob);
	free(scene);
}

static void chains_that_lead_nowhere_end(void **state _unused_)
{
	struct fake_process *scene = scene_new(HOTSPOT_17);
	uint64_t blob = CODE(1) + (2ull << SEGMENT_SHIFT) + 16;
	uint64_t pc = CODE(1) + (257ull << SEGMENT_SHIFT);

	put_blob(scene, &(struct blob){.heap = 1, .segment = 2, .num_segments = 500});
	assert_blob(scene, pc, blob);
	/* Not so many segments before it. */
	put_number(scene, SEGMENTS(1) + 257, FREE_SEGMENT, 1);
	assert_no_blob(scene, pc);
	put_number(scene, SEGMENTS(1) + 257, 3, 1); /* to a free one */
	put_number(scene, SEGMENTS(1) + 254, FREE_SEGMENT, 1);
	assert_no_blob(scene, pc);
	/* Beyond the start, where another heap's blob is. */
	put_blob(scene, &(struct blob){.segment = 511, .num_segments = 40});
	put_number(scene, SEGMENTS(1) - 1, 0, 1);
	put_number(scene, SEGMENTS(1) + 20, 21, 1);
	assert_no_blob(scene, CODE(1) + (20ull << SEGMENT_SHIFT));
	free(scene);
}

static void chains_longer_than_any_that_is_written_end(void **state _unused_)
{
	struct fake_process *scene = scene_new(HOTSPOT_17);
	uint64_t blob = CODE(0) + 16;

	put_blob(scene, &(struct blob){.num_segments = 200});
	for (uint32_t i = 1; i < 200; i++)
		put_number(scene, SEGMENTS(0) + i, 1, 1);
	scene->num_reads = 0;
	assert_blob(scene, CODE(0) + ((HOTSPOT_MAX_HOPS - 1ull) << SEGMENT_SHIFT), blob);
	assert_no_blob(scene, CODE(0) + ((HOTSPOT_MAX_HOPS + 0ull) << SEGMENT_SHIFT));
	assert_no_blob(scene, CODE(0) + (199ull << SEGMENT_SHIFT));
	assert_true(scene->num_reads < 4 * HOTSPOT_MAX_HOPS);
	free(scene);
}

static void free_blocks_and_other_memory_hold_no_blob(void **state _unused_)
{
	struct fake_process *scene = scene_new(HOTSPOT_25);
	struct blob blob = {.segment = 16, .num_segments = 16};
	uint64_t code = put_blob(scene, &blob);

	assert_int_equal(hotspot_find_blob(&scene->hotspot, code), 0);
	assert_false(hotspot_is_nmethod(&scene->hotspot));
	blob.is_free = true;
	put_blob(scene, &blob);
	assert_no_blob(scene, code);
	assert_no_blob(scene, CODE(0) - 1);
	assert_no_blob(scene, CODE(WIRE_HOTSPOT_MAX_HEAPS - 1) + CODE_BYTES);
	start_at(scene, CODE(0) - 16, CALLER_FP, 0);
	assert_ends(scene, WALK_JIT_CODE);
	start_at(scene, code, CALLER_FP, 0);
	assert_ends(scene, WALK_JIT_CODE);
	assert_int_equal(scene->hotspot.num_frames, 0);
	free(scene);
}

/*
 * Compiled code.
 */

/* An instruction of a method whose frame has FRAME_WORDS, and where the stack has what it needs then. */
struct interrupted {
	const char *what;
	const char *code;
	unsigned int pc; /* of its bytes */
	unsigned int frame_complete;
	int return_word;
	int fp_word;
};

/* 20 is sub's operand: with rbp and the return address these are FRAME_WORDS. */
#define PUSHING        "898424 00c0feff 55 4883ec20 90 4889c3"
#define PUSHING_MUCH   "55 4881ec20000000 4889c3"
#define PUSHING_MOVING "55 4889e5 4883ec20 4889c3"
#define MOVING         "4881ec28000000 48896c2420 90 4889c3"
#define MOVING_FAR     "4881ec28000000 4889ac2420000000 4889c3"
#define BARRIER        "55 488bec 4883ec20 41817f2001000000 740a 4889c3"
#define FAR_JUMP       "55 4883ec20 41817f2001000000 0f8412000000 4889c3"
#define LONG_BARRIER   "55 4883ec20 4181bf2004000001000000 7512 4889c3"
#define CALLING        "55 4883ec20 0f1f00 41817f2001000000 7405 e800000000 4889c3"
#define CALLING_FAR    "55 4883ec20 4181bf2004000001000000 7405 e800000000 4889c3"
#define ENTERED        "413b4208 0f8500000000 6690 898424 00c0feff 55 4883ec20 4889c3"
#define STOPPING       "4c8d1500000000 4d899778030000 e900000000"
#define RETURNING      "4889c3 4883c420 5d 493ba748030000 0f8712000000 c3"
#define RETURNING_11   "4889c3 4881c420010000 5d 4d8b9770010000 418502 c3"
#define RETURNING_8    "4889c3 4883c420 5d 850512345678 c3"
#define RETURNING_SOME "4889c3 4883c420 5d c21000"
#define LOADING        "4889c3 4d8b9770010000 4889c3"

static const struct interrupted interrupted[] = {
	{"stack is touched", PUSHING, 0, 12, 0, IN_REGISTER},
	{"push", PUSHING, 7, 12, 0, IN_REGISTER},
	{"sub behind push", PUSHING, 8, 12, 1, 0},
	{"nop for a barrier", PUSHING, 12, 13, 5, 4},
	{"body", PUSHING, 13, 13, 5, 4},
	{"sub of much behind push", PUSHING_MUCH, 1, 8, 1, 0},
	{"mov of rsp behind push", PUSHING_MOVING, 1, 8, 1, 0},
	{"sub behind mov of rsp", PUSHING_MOVING, 4, 8, 1, 0},
	{"sub", MOVING, 0, 12, 0, IN_REGISTER},
	{"mov of rbp", MOVING, 7, 12, 5, IN_REGISTER},
	{"body behind mov", MOVING, 13, 12, 5, 4},
	{"mov of rbp far away", MOVING_FAR, 7, 15, 5, IN_REGISTER},
	{"other mov of rsp behind push", BARRIER, 1, 18, 1, 0},
	{"barrier", BARRIER, 8, 18, 5, 4},
	{"jump behind a barrier", BARRIER, 16, 18, 5, 4},
	{"body behind a barrier", BARRIER, 18, 18, 5, 4},
	{"far jump behind a barrier", FAR_JUMP, 13, 19, 5, 4},
	{"long barrier", LONG_BARRIER, 5, 18, 5, 4},
	{"long nop for a barrier", CALLING, 5, 23, 5, 4},
	{"call of a barrier", CALLING, 18, 23, 5, 4},
	{"jump behind a long barrier", CALLING_FAR, 16, 23, 5, 4},
	{"call of a long barrier", CALLING_FAR, 18, 23, 5, 4},
	{"nop before the frame", ENTERED, 10, 24, 0, IN_REGISTER},
	{"return that is to stop", STOPPING, 0, 0, 0, IN_REGISTER},
	{"noting where it is to", STOPPING, 7, 0, 0, IN_REGISTER},
	{"jump to who stops it", STOPPING, 14, 0, 0, IN_REGISTER},
	{"add", RETURNING, 3, 0, 5, 4},
	{"pop", RETURNING, 7, 0, 1, 0},
	{"poll", RETURNING, 8, 0, 0, IN_REGISTER},
	{"jump behind a poll", RETURNING, 15, 0, 0, IN_REGISTER},
	{"ret", RETURNING, 21, 0, 0, IN_REGISTER},
	{"add of much", RETURNING_11, 3, 0, 5, 4},
	{"pop behind it", RETURNING_11, 10, 0, 1, 0},
	{"older poll", RETURNING_11, 11, 0, 0, IN_REGISTER},
	{"its test", RETURNING_11, 18, 0, 0, IN_REGISTER},
	{"ret behind it", RETURNING_11, 21, 0, 0, IN_REGISTER},
	{"oldest poll", RETURNING_8, 8, 0, 0, IN_REGISTER},
	{"ret that removes arguments", RETURNING_SOME, 8, 0, 0, IN_REGISTER},
	{"what a poll loads, too", LOADING, 3, 0, 5, 4},
};

static struct fake_process *scene_of_interrupted(enum hotspot_walk_version version,
						 const struct interrupted *at,
						 uint64_t return_address)
{
	struct fake_process *scene = scene_new(version);

	scene->code = put_method_code(scene, FRAME_WORDS, at->frame_complete);
	put_code(scene, scene->code, at->code);
	put_word(scene, WORD(at->return_word), return_address);
	if (at->fp_word != IN_REGISTER)
		put_word(scene, WORD(at->fp_word), CALLER_FP);
	start_at(scene, scene->code + at->pc, at->fp_word == IN_REGISTER ? CALLER_FP : 3, 0);
	return scene;
}

static void compiled_code_may_be_interrupted_anywhere(void **state _unused_)
{
	for_each_version(version)
	{
		for (size_t i = 0; i < ARRAY_LENGTH(interrupted); i++) {
			const struct interrupted *at = &interrupted[i];
			uint64_t sp = WORD(at->return_word + 1);
			struct fake_process *scene = scene_of_interrupted(version, at, RETURN);

			print_message("%u: %s\n", hotspot_walk_layouts[version].major, at->what);
			assert_needs_what_it_reads(scene, RETURN, sp);
			assert_steps(scene, RETURN, sp, CALLER_FP);
			assert_true(get_frame(scene).code == scene->code - BLOB_CODE);
			assert_int_equal(LEVEL_OF(get_frame(scene).position), 0);
			assert_false(get_frame(scene).position & WIRE_HOTSPOT_INTERPRETED);
			free(scene);

			/* What follows no call is none. */
			scene = scene_of_interrupted(version, at, NO_RETURN);
			assert_ends(scene, WALK_JIT_CODE);
			assert_int_equal(scene->hotspot.num_frames, 1);
			free(scene);
		}
	}
}

/* The stack pointer is moved in the midst of methods: there may be what was there before. */
static void assert_called_by(enum hotspot_walk_version version, uint64_t return_address,
			     uint64_t target, uint64_t method_of_target, bool may_be)
{
	const struct interrupted at = {"body", PUSHING, 13, 13, 5, 4};
	struct fake_process *scene = scene_of_interrupted(version, &at, return_address);
	uint64_t other = put_blob(scene, &(struct blob){.segment = 48,
							.num_segments = 16,
							.frame_words = FRAME_WORDS,
							.frame_complete = 16,
							.nmethod_of = method_of_target});

	assert_true(other == OTHER_CODE(version));
	put_blob(scene, &(struct blob){.segment = 80, .num_segments = 16});
	put_call(scene, return_address, target);
	/* The same where it has called a C function, or a stub. */
	for (int called = 0; called < 3; called++) {
		start_at(scene, scene->code + at.pc, 3, 0);
		scene->walk.is_exact = !called;
		if (called == 2)
			scene->hotspot.last_level = scene->hotspot.any_stub_level =
				scene->walk.num_frames - 1;
		if (may_be)
			assert_steps(scene, return_address, WORD(at.return_word + 1), CALLER_FP);
		else
			assert_ends(scene, WALK_JIT_CODE);
	}
	/* Where it has called Java's code the stack pointer is where it has to be. */
	start_outside(scene, scene->code + at.pc, 3);
	scene->hotspot.last_level = scene->walk.num_frames - 1;
	assert_steps(scene, return_address, WORD(at.return_word + 1), CALLER_FP);
	free(scene);
}

static void what_calls_another_method_is_no_caller(void **state _unused_)
{
	for_each_version(version)
	{
		const uint64_t code = CODE(0) + (16ull << SEGMENT_SHIFT) + BLOB_CODE + 16;
		const uint64_t other = OTHER_CODE(version);

		assert_called_by(version, RETURN, code, OTHER_METHOD, true);
		assert_called_by(version, RETURN, other, OTHER_METHOD, false);
		assert_called_by(version, RETURN, other + 0x40, OTHER_METHOD, false);
		/* Code of the same method that is newer than what runs. */
		assert_called_by(version, RETURN, other, METHOD, true);
		/* A stub, as of calls that do not know their class. */
		assert_called_by(version, RETURN, CODE(0) + (85ull << SEGMENT_SHIFT), OTHER_METHOD,
				 true);
		/* A stub of the caller's own; but what calls itself has not called another one. */
		assert_called_by(version, other + 0x80, other + 0x100, OTHER_METHOD, true);
		assert_called_by(version, other + 0x80, other + 8, OTHER_METHOD, false);
	}
}

static void a_method_is_called_by_javas_code(void **state _unused_)
{
	for_each_version(version)
	{
		struct fake_process *scene = scene_new(version);

		scene->code = put_method_code(scene, FRAME_WORDS, 0);
		put_word(scene, WORD(FRAME_WORDS - 1), SYMBOLS);
		start_outside(scene, scene->code + 0x20, 3);
		assert_ends(scene, WALK_JIT_CODE);
		free(scene);
	}
}

static void where_calls_return_to_the_interpreter_no_call_is(void **state _unused_)
{
	const struct interrupted at = {"body", PUSHING, 13, 13, 5, 4};
	struct fake_process *scene = scene_of_interrupted(HOTSPOT_17, &at, INTERPRETER + 0x200);

	assert_steps(scene, INTERPRETER + 0x200, WORD(6), CALLER_FP);
	free(scene);
}

static void callers_are_complete_and_nothing_is_asked_of_them(void **state _unused_)
{
	for_each_version(version)
	{
		struct fake_process *scene = scene_new(version);

		/* As it would be before it is set up. */
		scene->code = put_method_code(scene, FRAME_WORDS, 64);
		put_word(scene, WORD(5), NO_RETURN);
		put_word(scene, WORD(4), CALLER_FP);
		start_outside(scene, scene->code + 0x20, 3);
		assert_needs_what_it_reads(scene, NO_RETURN, WORD(6));
		assert_steps(scene, NO_RETURN, WORD(6), CALLER_FP);
		assert_int_equal(LEVEL_OF(get_frame(scene).position), 3);
		/* A call may be the last thing that there is in the code. */
		start_outside(scene, scene->hotspot.blob_end, 3);
		assert_steps(scene, NO_RETURN, WORD(6), CALLER_FP);

		put_word(scene, WORD(5), 0x123);
		start_outside(scene, scene->code + 0x20, 3);
		assert_ends(scene, WALK_NO_RETURN_ADDRESS);
		free(scene);
	}
}

static void no_frame_has_a_size_that_cannot_be(void **state _unused_)
{
	static const uint32_t sizes[] = {
		0, 1, UINT32_MAX, INT32_MAX, HOTSPOT_MAX_FRAME_BYTES / 8 + 1, 1u << 29};

	for_each_version(version)
	{
		for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
			struct fake_process *scene = scene_new(version);

			scene->code = put_method_code(scene, sizes[i], 0);
			put_word(scene, WORD(0), RETURN);
			start_at(scene, scene->code + 0x20, CALLER_FP, 0);
			assert_ends(scene, WALK_JIT_CODE);
			start_outside(scene, scene->code + 0x20, CALLER_FP);
			assert_ends(scene, WALK_JIT_CODE);
			free(scene);
		}
	}
}

static void a_frame_that_goes_beyond_the_stack_ends_the_walk(void **state _unused_)
{
	struct fake_process *scene = scene_new(HOTSPOT_25);

	scene->code = put_method_code(scene, HOTSPOT_MAX_FRAME_BYTES / 8, 0);
	start_outside(scene, scene->code + 0x20, CALLER_FP);
	assert_ends(scene, WALK_READ_FAILED);
	start_at(scene, scene->code + 0x20, CALLER_FP, 0);
	assert_ends(scene, WALK_JIT_CODE);
	free(scene);
}

static uint32_t get_fingerprint(struct fake_process *scene, const struct blob *blob,
				uint32_t compile_id)
{
	const struct wire_hotspot_layout *layout = &scene->hotspot.layout;

	scene->code = put_blob(scene, blob);
	put_number(scene, scene->code - BLOB_CODE + layout->nmethod_compile_id, compile_id, 4);
	start_outside(scene, scene->code + 0x20, CALLER_FP);
	assert_int_equal(step(scene), 0);
	return get_frame(scene).fingerprint;
}

static void fingerprints_are_of_the_method_and_its_compilation(void **state _unused_)
{
	struct fake_process *scene = scene_new(HOTSPOT_17);
	struct blob blob = {.segment = 16,
			    .num_segments = 16,
			    .frame_words = FRAME_WORDS,
			    .nmethod_of = METHOD};
	uint32_t fingerprint = get_fingerprint(scene, &blob, 1);

	assert_int_not_equal(fingerprint, 0);
	assert_int_equal(get_fingerprint(scene, &blob, 1), fingerprint);
	assert_int_not_equal(get_fingerprint(scene, &blob, 2), fingerprint);
	blob.nmethod_of = OTHER_METHOD;
	assert_int_not_equal(get_fingerprint(scene, &blob, 1), fingerprint);
	free(scene);
}

static void of_more_methods_than_are_kept_the_outer_ones_are_left_out(void **state _unused_)
{
	struct fake_process *scene = scene_new(HOTSPOT_17);

	scene->code = put_method_code(scene, 2, 0);
	start_outside(scene, scene->code + 0x20, CALLER_FP);
	for (uint32_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES + 2; i++) {
		scene->walk.num_frames = i + 1;
		scene->walk.registers.pc = scene->code + 0x20;
		scene->walk.registers.sp = STACK;
		assert_int_equal(step(scene), 0);
		assert_int_equal(scene->hotspot.is_deep, i >= WIRE_MAX_RUNTIME_FRAMES);
	}
	assert_int_equal(scene->hotspot.num_frames, WIRE_MAX_RUNTIME_FRAMES);
	for (uint32_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i++)
		assert_int_equal(LEVEL_OF(scene->frames[i].position), i);
	free(scene);
}

/*
 * Stubs and adapters.
 */

static void put_frame(struct fake_process *scene, unsigned int word, uint64_t return_address)
{
	put_word(scene, WORD(word), CALLER_FP);
	put_word(scene, WORD(word + 1), return_address);
}

static void stubs_of_a_known_size_are_like_methods_without_one(void **state _unused_)
{
	struct fake_process *scene = scene_new(HOTSPOT_17);

	scene->code = put_stub(scene, FRAME_WORDS);
	put_frame(scene, 4, RETURN);
	start_outside(scene, scene->code + 0x20, 3);
	assert_steps(scene, RETURN, WORD(6), CALLER_FP);
	start_at(scene, scene->code + 0x20, 3, 0);
	assert_steps(scene, RETURN, WORD(6), CALLER_FP);
	scene->code = put_stub(scene, 1);
	start_at(scene, scene->code + 0x20, 3, 0);
	assert_ends(scene, WALK_JIT_CODE);
	free(scene);
}

static void stubs_that_call_have_a_frame_pointer(void **state _unused_)
{
	static const uint32_t sizes[] = {0, UINT32_MAX, 0x80000000u};

	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		struct fake_process *scene = scene_new(HOTSPOT_25);

		scene->code = put_stub(scene, sizes[i]);
		put_frame(scene, 7, NO_RETURN);
		start_outside(scene, scene->code + 0x20, WORD(7));
		assert_needs_what_it_reads(scene, NO_RETURN, WORD(9));
		assert_steps(scene, NO_RETURN, WORD(9), CALLER_FP);

		start_outside(scene, scene->code + 0x20, WORD(7) + 4);
		assert_ends(scene, WALK_JIT_CODE);
		start_outside(scene, scene->code + 0x20, WORD(0) - 8);
		assert_ends(scene, WALK_JIT_CODE);
		start_outside(scene, scene->code + 0x20, STACK + HOTSPOT_MAX_FRAME_BYTES + 8);
		assert_ends(scene, WALK_JIT_CODE);
		put_word(scene, WORD(8), 0x123);
		start_outside(scene, scene->code + 0x20, WORD(7));
		assert_ends(scene, WALK_JIT_CODE);
		free(scene);
	}
}

/* rbp of what is called, with no frame of its own, is the frame pointer of an outer one. */
static struct fake_process *scene_of_stub(const char *code, unsigned int pc, uint64_t fp)
{
	struct fake_process *scene = scene_new(HOTSPOT_17);

	scene->code = put_stub(scene, 0);
	put_code(scene, scene->code, code);
	put_call(scene, RETURN, scene->code);
	start_at(scene, scene->code + pc, fp, 0);
	return scene;
}

static void stubs_may_be_interrupted_with_and_without_a_frame(void **state _unused_)
{
	static const char code[] = "55 488bec 4889c3 5d c3";
	static const struct {
		unsigned int pc;
		int return_word;
		int fp_word;
	} cases[] = {
		{0, 0, IN_REGISTER}, /* push */
		{1, 1, 0},           /* mov */
		{7, 1, 0},           /* pop */
		{8, 0, IN_REGISTER}, /* ret */
	};
	struct fake_process *scene;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		uint64_t sp = WORD(cases[i].return_word + 1);

		scene = scene_of_stub(code, cases[i].pc, WORD(100));
		put_word(scene, WORD(cases[i].return_word), RETURN);
		if (cases[i].fp_word != IN_REGISTER)
			put_word(scene, WORD(cases[i].fp_word), CALLER_FP);
		assert_needs_what_it_reads(scene, RETURN, sp);
		assert_steps(scene, RETURN, sp,
			     cases[i].fp_word == IN_REGISTER ? WORD(100) : CALLER_FP);
		free(scene);
	}
	/* With a frame. */
	scene = scene_of_stub(code, 4, WORD(9));
	put_frame(scene, 9, RETURN);
	assert_steps(scene, RETURN, WORD(11), CALLER_FP);
	free(scene);
	/* Without one: the frame pointer leads to what calls something else. */
	scene = scene_of_stub("4889c3 4889c3 c3", 3, WORD(9));
	put_word(scene, WORD(0), RETURN);
	put_frame(scene, 9, RETURN + 0x100);
	put_call(scene, RETURN + 0x100, MEMORY);
	assert_steps(scene, RETURN, WORD(1), WORD(9));
	free(scene);
	/* Neither. */
	scene = scene_of_stub(code, 4, WORD(9));
	put_frame(scene, 9, NO_RETURN);
	assert_ends(scene, WALK_JIT_CODE);
	free(scene);
}

static void a_call_of_something_else_has_not_called_a_stub(void **state _unused_)
{
	struct fake_process *scene = scene_of_stub("4889c3 4889c3 c3", 3, CALLER_FP);

	put_word(scene, WORD(0), RETURN);
	put_call(scene, RETURN, scene->code - 0x2000);
	assert_ends(scene, WALK_JIT_CODE);
	/* It may have been called from where it is not said what is. */
	put_code(scene, RETURN - 5, "909090ffd0");
	start_at(scene, scene->code + 3, CALLER_FP, 0);
	assert_steps(scene, RETURN, WORD(1), CALLER_FP);
	free(scene);
}

static struct fake_process *scene_of_adapter(const char *code, uint64_t r13)
{
	struct fake_process *scene = scene_new(HOTSPOT_25);

	scene->code = put_blob(
		scene, &(struct blob){.segment = 16, .num_segments = 16, .is_adapter = true});
	put_code(scene, scene->code, code);
	put_frame(scene, 9, OLD_RETURN);
	start_at(scene, scene->code, WORD(9), r13);
	return scene;
}

/* The frame pointer is that of the interpreter's frame that calls, or of one farther out. */
static void adapters_have_no_frame(void **state _unused_)
{
	struct fake_process *scene = scene_of_adapter("4c8b5b40 41ffe3", 5);

	put_word(scene, WORD(0), INTERPRETER + 0x40);
	assert_needs_what_it_reads(scene, INTERPRETER + 0x40, WORD(1));
	assert_steps(scene, INTERPRETER + 0x40, WORD(1), WORD(9));
	free(scene);
	scene = scene_of_adapter("488b4b38 ffe1", WORD(1));
	put_word(scene, WORD(0), RETURN);
	assert_steps(scene, RETURN, WORD(1), WORD(9));
	free(scene);
	/* There is room for arguments now, or r13 is something else's still. */
	scene = scene_of_adapter("488b4b38 ffe1", WORD(3));
	put_word(scene, WORD(0), RETURN);
	assert_ends(scene, WALK_JIT_CODE);
	free(scene);
	/* What it calls. */
	scene = scene_of_adapter("90", 0);
	start_outside(scene, scene->code + 0x20, WORD(9));
	assert_ends(scene, WALK_JIT_CODE);
	free(scene);
}

static void adapters_have_their_return_address_in_a_register_at_times(void **state _unused_)
{
	static const char *const codes[] = {
		"4883e4f0", "50", "4c8bec", "4883ec10", "4881ec00010000", "48890424",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
		struct fake_process *scene = scene_of_adapter(codes[i], WORD(1));

		put_word(scene, WORD(0), OLD_RETURN);
		assert_ends(scene, WALK_JIT_CODE);
		free(scene);
	}
}

static void the_call_stub_has_a_frame_pointer_whatever_its_blob_says(void **state _unused_)
{
	struct fake_process *scene = scene_new(HOTSPOT_25);

	scene->code = put_stub(scene, FRAME_WORDS);
	scene->hotspot.code.call_stub_return = scene->code + 0x20;
	put_frame(scene, 11, NO_RETURN);
	start_outside(scene, scene->code + 0x20, WORD(11));
	assert_steps(scene, NO_RETURN, WORD(13), CALLER_FP);
	free(scene);
}

/*
 * The interpreter.
 */

#define FRAME_WORD    20
#define SENDER        WORD(25)
#define FIRST         FIRST_OF(scene->hotspot.layout.const_bytes)
#define FIRST_OF(n)   (CONSTANTS + (n))
#define AT_BYTECODE   (INTERPRETER + 0x100)
#define SLOT_BYTECODE 5

/* A frame that has put away where it is when it last called something. */
static struct fake_process *scene_of_interpreter(enum hotspot_walk_version version)
{
	struct fake_process *scene = scene_new(version);
	const struct wire_hotspot_layout *layout = &scene->hotspot.layout;

	put_word(scene, METHOD + layout->method_const, CONSTANTS);
	put_number(scene, CONSTANTS + layout->const_code_bytes, NUM_BYTECODES, 2);
	put_frame(scene, FRAME_WORD, NO_RETURN);
	put_word(scene, WORD(FRAME_WORD + HOTSPOT_FRAME_SENDER_SP), SENDER);
	put_word(scene, WORD(FRAME_WORD + HOTSPOT_FRAME_METHOD), METHOD);
	put_word(scene, WORD(FRAME_WORD) - 8 * scene->hotspot.layout.frame_bytecode,
		 FIRST + SLOT_BYTECODE);
	return scene;
}

static void assert_interpreted(const struct fake_process *scene, uint32_t bytecode, uint32_t level)
{
	struct wire_runtime_frame frame = get_frame(scene);

	assert_int_equal(scene->hotspot.num_frames, 1);
	assert_true(frame.code == METHOD);
	assert_int_equal(frame.fingerprint, hotspot_hash(METHOD, CONSTANTS));
	assert_true(frame.position & WIRE_HOTSPOT_INTERPRETED);
	assert_int_equal(BYTECODE_OF(frame.position), bytecode);
	assert_int_equal(LEVEL_OF(frame.position), level);
}

static void the_innermost_interpreted_bytecode_is_in_a_register(void **state _unused_)
{
	for_each_version(version)
	{
		struct fake_process *scene = scene_of_interpreter(version);

		start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), FIRST + NUM_BYTECODES - 1);
		assert_needs_what_it_reads(scene, NO_RETURN, SENDER);
		assert_steps(scene, NO_RETURN, SENDER, CALLER_FP);
		assert_interpreted(scene, NUM_BYTECODES - 1, 0);
		/* One that is not of the method: the frame is as it was at its last call. */
		start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), FIRST + NUM_BYTECODES);
		assert_steps(scene, NO_RETURN, SENDER, CALLER_FP);
		assert_interpreted(scene, SLOT_BYTECODE, 0);
		start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), FIRST - 1);
		assert_steps(scene, NO_RETURN, SENDER, CALLER_FP);
		assert_interpreted(scene, SLOT_BYTECODE, 0);
		free(scene);
	}
}

static void callers_have_put_their_bytecode_into_their_frame(void **state _unused_)
{
	for_each_version(version)
	{
		struct fake_process *scene = scene_of_interpreter(version);

		start_outside(scene, AT_BYTECODE, WORD(FRAME_WORD));
		assert_needs_what_it_reads(scene, NO_RETURN, SENDER);
		assert_steps(scene, NO_RETURN, SENDER, CALLER_FP);
		assert_interpreted(scene, SLOT_BYTECODE, 3);
		free(scene);
	}
}

static void native_methods_have_no_bytecode(void **state _unused_)
{
	struct fake_process *scene = scene_of_interpreter(HOTSPOT_17);

	put_number(scene, CONSTANTS + scene->hotspot.layout.const_code_bytes, 0, 2);
	put_word(scene, WORD(FRAME_WORD) - 8 * scene->hotspot.layout.frame_bytecode, 0);
	start_outside(scene, AT_BYTECODE, WORD(FRAME_WORD));
	assert_steps(scene, NO_RETURN, SENDER, CALLER_FP);
	assert_interpreted(scene, WIRE_HOTSPOT_NO_BYTECODE, 3);
	/* That the frame is its own is not sure then. */
	start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), FIRST);
	assert_ends(scene, WALK_JIT_CODE);
	assert_int_equal(scene->hotspot.num_frames, 0);
	free(scene);
}

/* The level is the interpreter's own code, and no method. */
static void assert_no_method(const struct fake_process *scene)
{
	assert_int_equal(scene->hotspot.num_frames, 1);
	assert_int_equal(scene->frames[0].position, WIRE_HOTSPOT_INTERPRETED | WIRE_HOTSPOT_STUB);
}

/* r13 is the caller's stack pointer while a method is called, until that has a frame. */
static void what_is_called_has_no_frame_yet(void **state _unused_)
{
	static const unsigned int words[] = {0, 1, 4};

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		struct fake_process *scene = scene_of_interpreter(HOTSPOT_25);

		put_word(scene, WORD(words[i]), RETURN);
		start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), WORD(5));
		assert_steps(scene, RETURN, WORD(5), WORD(FRAME_WORD));
		assert_no_method(scene);
		free(scene);
	}
}

static void what_is_called_has_a_caller(void **state _unused_)
{
	struct fake_process *scene = scene_of_interpreter(HOTSPOT_25);

	put_word(scene, WORD(3), RETURN); /* not where it has to be */
	start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), WORD(5));
	assert_ends(scene, WALK_JIT_CODE);
	assert_int_equal(scene->hotspot.num_frames, 0);
	free(scene);
}

static void what_has_returned_has_no_frame_any_more(void **state _unused_)
{
	struct fake_process *scene = scene_of_interpreter(HOTSPOT_17);

	put_word(scene, WORD(0), RETURN);
	start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), FIRST + NUM_BYTECODES);
	assert_steps(scene, RETURN, WORD(1), WORD(FRAME_WORD));
	assert_no_method(scene);
	/* rbx is where the caller's frame ends, where that is beyond. */
	start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), FIRST + NUM_BYTECODES);
	scene->walk.registers.bx = WORD(7);
	assert_steps(scene, RETURN, WORD(7), WORD(FRAME_WORD));
	/* Where no frame is, that is all. */
	start_at(scene, AT_BYTECODE, 3, 0);
	assert_steps(scene, RETURN, WORD(1), 3);
	free(scene);
}

/* Below the stack pointer the frame is that of a method that was there before. */
static void a_frame_that_is_being_set_up_has_no_method_yet(void **state _unused_)
{
	struct fake_process *scene = scene_of_interpreter(HOTSPOT_25);

	put_frame(scene, FRAME_WORD, RETURN);
	for (int word = HOTSPOT_FRAME_METHOD + 1; word <= 0; word++) {
		start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), word ? FIRST : SENDER);
		scene->walk.registers.sp = WORD(FRAME_WORD + word);
		assert_steps(scene, RETURN, SENDER, CALLER_FP);
		assert_no_method(scene);
	}
	/* Its bytecode is in the register, and later in the frame as well. */
	for (int word = -(int)scene->hotspot.layout.frame_bytecode; word < HOTSPOT_FRAME_METHOD;
	     word++) {
		start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), FIRST);
		scene->walk.registers.sp = WORD(FRAME_WORD + word);
		assert_steps(scene, RETURN, SENDER, CALLER_FP);
		assert_interpreted(scene, 0, 0);
	}
	free(scene);
}

static void a_frame_that_is_being_set_up_has_a_caller(void **state _unused_)
{
	struct fake_process *scene = scene_of_interpreter(HOTSPOT_25);

	start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), FIRST);
	scene->walk.registers.sp = WORD(FRAME_WORD + HOTSPOT_FRAME_METHOD + 1);
	assert_ends(scene, WALK_JIT_CODE);
	put_frame(scene, FRAME_WORD, RETURN);
	put_word(scene, WORD(FRAME_WORD + HOTSPOT_FRAME_SENDER_SP), WORD(FRAME_WORD));
	start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), FIRST);
	scene->walk.registers.sp = WORD(FRAME_WORD + HOTSPOT_FRAME_METHOD + 1);
	assert_ends(scene, WALK_JIT_CODE);
	free(scene);
}

static void what_has_returned_has_its_caller_in_a_register_in_the_end(void **state _unused_)
{
	struct fake_process *scene = scene_of_interpreter(HOTSPOT_17);

	put_word(scene, WORD(0), OLD_RETURN);
	start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), RETURN);
	scene->walk.registers.bx = WORD(3);
	assert_needs_what_it_reads(scene, RETURN, WORD(3));
	assert_steps(scene, RETURN, WORD(3), WORD(FRAME_WORD));
	assert_no_method(scene);
	/* Its stack pointer is the caller's already. */
	start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), RETURN);
	scene->walk.registers.bx = WORD(0);
	assert_steps(scene, RETURN, WORD(0), WORD(FRAME_WORD));
	/* It has returned to the interpreter, which will take its own bytecode from its frame. */
	start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), AT_BYTECODE - 8);
	put_word(scene, WORD(0), NO_RETURN);
	assert_steps(scene, NO_RETURN, SENDER, CALLER_FP);
	assert_interpreted(scene, SLOT_BYTECODE, 0);
	free(scene);
}

static void where_an_unknown_register_leads_to_is_not_known(void **state _unused_)
{
	static const char *const codes[] = {"ffe7",          "ffe0",        "41ffe2",
					    "488be3 41ffe5", "498be3 ffe7", "498be5 ffe0"};
	struct fake_process *scene = scene_of_interpreter(HOTSPOT_17);

	put_word(scene, WORD(0), OLD_RETURN);
	for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
		put_code(scene, AT_BYTECODE, codes[i]);
		start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), 0);
		assert_ends(scene, WALK_JIT_CODE);
	}
	put_code(scene, AT_BYTECODE, "498be3 4889c3");
	start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), 0);
	assert_steps(scene, OLD_RETURN, WORD(1), WORD(FRAME_WORD));
	free(scene);
}

static void interpreted_frames_that_cannot_be_end_the_walk(void **state _unused_)
{
	static const uint64_t senders[] = {WORD(FRAME_WORD), WORD(FRAME_WORD - 1), 0,
					   WORD(FRAME_WORD) + HOTSPOT_MAX_FRAME_BYTES + 8,
					   UINT64_MAX};
	struct fake_process *scene = scene_of_interpreter(HOTSPOT_17);

	for (size_t i = 0; i < ARRAY_LENGTH(senders); i++) {
		put_word(scene, WORD(FRAME_WORD + HOTSPOT_FRAME_SENDER_SP), senders[i]);
		start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), FIRST);
		assert_ends(scene, WALK_JIT_CODE);
		start_outside(scene, AT_BYTECODE, WORD(FRAME_WORD));
		assert_ends(scene, WALK_JIT_CODE);
	}
	put_word(scene, WORD(FRAME_WORD + HOTSPOT_FRAME_SENDER_SP), SENDER);
	put_word(scene, WORD(FRAME_WORD + HOTSPOT_FRAME_METHOD), 0x8);
	start_outside(scene, AT_BYTECODE, WORD(FRAME_WORD));
	assert_ends(scene, WALK_JIT_CODE);
	start_outside(scene, AT_BYTECODE, 0);
	assert_ends(scene, WALK_JIT_CODE);
	assert_int_equal(scene->hotspot.num_frames, 0);
	free(scene);
}

/* What is not on the stack yet is what was there before: a frame of something else, which was whole. */
static void frames_that_are_not_pushed_say_nothing(void **state _unused_)
{
	for_each_version(version)
	{
		struct fake_process *scene = scene_of_interpreter(version);
		unsigned int pushed = FRAME_WORD - scene->hotspot.layout.frame_bytecode;

		start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), FIRST + NUM_BYTECODES);
		scene->walk.registers.sp = WORD(pushed);
		assert_steps(scene, NO_RETURN, SENDER, CALLER_FP);
		for (unsigned int word = pushed + 1; word < FRAME_WORD; word++) {
			start_at(scene, AT_BYTECODE, WORD(FRAME_WORD), FIRST + NUM_BYTECODES);
			scene->walk.registers.sp = WORD(word);
			assert_ends(scene, WALK_JIT_CODE);
			assert_int_equal(scene->hotspot.num_frames, 0);
		}
		free(scene);
	}
}

static void callers_that_are_not_native_have_a_bytecode(void **state _unused_)
{
	static const uint64_t bytecodes[] = {0, FIRST_OF(48) - 1, FIRST_OF(48) + NUM_BYTECODES};

	for (size_t i = 0; i < ARRAY_LENGTH(bytecodes); i++) {
		struct fake_process *scene = scene_of_interpreter(HOTSPOT_17);

		put_word(scene, WORD(FRAME_WORD) - 8 * scene->hotspot.layout.frame_bytecode,
			 bytecodes[i]);
		start_outside(scene, AT_BYTECODE, WORD(FRAME_WORD));
		assert_ends(scene, WALK_JIT_CODE);
		assert_int_equal(scene->hotspot.num_frames, 0);
		free(scene);
	}
}

/* As when a compiled frame is taken apart into interpreted ones, which are filled one after the other. */
static void interpreted_frames_behind_a_stub_may_not_be_filled(void **state _unused_)
{
	for_each_version(version)
	{
		struct fake_process *scene = scene_of_interpreter(version);

		scene->code = put_stub(scene, FRAME_WORDS);
		put_frame(scene, FRAME_WORDS - 2, AT_BYTECODE);
		put_word(scene, WORD(FRAME_WORDS - 2), WORD(FRAME_WORD));
		start_outside(scene, scene->code + 0x20, 3);
		assert_steps(scene, AT_BYTECODE, WORD(FRAME_WORDS), WORD(FRAME_WORD));
		scene->walk.num_frames++;
		assert_ends(scene, WALK_JIT_CODE);
		assert_int_equal(scene->hotspot.num_frames, 1);

		/* Behind a method's code they are what has called it. */
		scene->code = put_method_code(scene, FRAME_WORDS, 0);
		start_outside(scene, scene->code + 0x20, 3);
		assert_steps(scene, AT_BYTECODE, WORD(FRAME_WORDS), WORD(FRAME_WORD));
		scene->walk.num_frames++;
		assert_steps(scene, NO_RETURN, SENDER, CALLER_FP);
		free(scene);
	}
}

/*
 * What methods say of themselves.
 */

#define NAME_NUMBER 3
#define FILE_NUMBER 4
#define SYMBOL(i)   (SYMBOLS + 0x200ull * (i))

static void put_symbol(struct fake_process *scene, uint64_t symbol, const char *text,
		       uint16_t length)
{
	const struct wire_hotspot_layout *layout = &scene->hotspot.layout;

	put_number(scene, symbol + layout->symbol_length, length, 2);
	for (uint16_t i = 0; i < length; i++)
		put_number(scene, symbol + layout->symbol_text + i, (uint8_t)text[i], 1);
}

/* A method put_number() of java/util/Map in Map.java; its lines are the bytes 1, 2, 3 and so on. */
static struct fake_process *scene_of_method(enum hotspot_walk_version version, uint64_t constants)
{
	struct fake_process *scene = scene_new(version);
	const struct wire_hotspot_layout *layout = &scene->hotspot.layout;
	uint64_t lines = constants + layout->const_bytes + NUM_BYTECODES;

	put_word(scene, METHOD + layout->method_const, constants);
	put_word(scene, constants + layout->const_pool, POOL);
	put_number(scene, constants + layout->const_code_bytes, NUM_BYTECODES, 2);
	put_number(scene, constants + layout->const_flags, layout->const_has_lines, 2);
	put_number(scene, constants + layout->const_name, NAME_NUMBER, 2);
	put_word(scene, POOL + layout->pool_class, CLASS);
	put_word(scene, POOL + layout->pool_bytes + 8 * NAME_NUMBER, SYMBOL(0));
	put_word(scene, POOL + layout->pool_bytes + 8 * FILE_NUMBER, SYMBOL(1));
	put_word(scene, CLASS + layout->class_name, SYMBOL(2));
	if (layout->pool_file == WIRE_HOTSPOT_NONE)
		put_number(scene, CLASS + layout->class_file, FILE_NUMBER, 2);
	else
		put_number(scene, POOL + layout->pool_file, FILE_NUMBER, 2);
	put_symbol(scene, SYMBOL(0), "put", 3);
	put_symbol(scene, SYMBOL(1), "Map.java", 8);
	put_symbol(scene, SYMBOL(2), "java/util/Map", 13);
	for (uint64_t i = 0; i < WIRE_HOTSPOT_LINE_BYTES && lines + i < MEMORY_END; i++)
		put_number(scene, lines + i, i + 1, 1);
	return scene;
}

/* What was in the record before is gone. */
static int read_method(struct fake_process *scene)
{
	memset(&scene->method, 0x55, sizeof(scene->method));
	return hotspot_read_method(&scene->hotspot, METHOD, &scene->method);
}

static void assert_text(const struct wire_hotspot_text *text, const wire_u8 *bytes, uint32_t limit,
			const char *expected)
{
	size_t length = strlen(expected);

	assert_int_equal(text->num_bytes, length);
	assert_memory_equal(bytes, expected, length);
	for (size_t i = length; i < limit; i++)
		assert_int_equal(bytes[i], 0);
}

static void assert_names(const struct fake_process *scene, const char *class, const char *name,
			 const char *file)
{
	const struct wire_hotspot_method *method = &scene->method;

	assert_text(&method->class_name, method->class_text, WIRE_HOTSPOT_CLASS_BYTES, class);
	assert_text(&method->name, method->name_text, WIRE_HOTSPOT_NAME_BYTES, name);
	assert_text(&method->file, method->file_text, WIRE_HOTSPOT_FILE_BYTES, file);
}

static void assert_lines(const struct fake_process *scene, uint32_t num_bytes)
{
	assert_int_equal(scene->method.num_line_bytes, num_bytes);
	for (uint32_t i = 0; i < WIRE_HOTSPOT_LINE_BYTES; i++)
		assert_int_equal(scene->method.lines[i], i < num_bytes ? (uint8_t)(i + 1) : 0);
}

static void methods_say_what_they_are(void **state _unused_)
{
	for_each_version(version)
	{
		struct fake_process *scene = scene_of_method(version, CONSTANTS);

		assert_int_equal(read_method(scene), 0);
		assert_names(scene, "java/util/Map", "put", "Map.java");
		assert_int_equal(scene->method.class_name.length, 13);
		assert_int_equal(scene->method.name.length, 3);
		assert_int_equal(scene->method.file.length, 8);
		assert_true(scene->method.method == METHOD);
		assert_int_equal(scene->method.code_bytes, NUM_BYTECODES);
		assert_int_equal(scene->method.major, hotspot_walk_layouts[version].major);
		assert_lines(scene, WIRE_HOTSPOT_LINE_BYTES);
		for (int i = 0; i < 3; i++)
			assert_int_equal(scene->method.padding[i], 0);
		free(scene);
	}
}

static void methods_may_have_neither_lines_nor_file(void **state _unused_)
{
	for_each_version(version)
	{
		struct fake_process *scene = scene_of_method(version, CONSTANTS);
		const struct wire_hotspot_layout *layout = &scene->hotspot.layout;

		/* Of the flags, all the others. */
		put_number(scene, CONSTANTS + layout->const_flags,
			   0xffff & ~layout->const_has_lines, 2);
		if (layout->pool_file == WIRE_HOTSPOT_NONE)
			put_number(scene, CLASS + layout->class_file, 0, 2);
		else
			put_number(scene, POOL + layout->pool_file, 0, 2);
		assert_int_equal(read_method(scene), 0);
		assert_names(scene, "java/util/Map", "put", "");
		assert_int_equal(scene->method.file.length, 0);
		assert_lines(scene, 0);
		free(scene);
	}
}

static void of_long_names_the_start_is_taken(void **state _unused_)
{
	struct fake_process *scene = scene_of_method(HOTSPOT_17, CONSTANTS);
	char text[WIRE_HOTSPOT_CLASS_BYTES + 1];
	char name[WIRE_HOTSPOT_NAME_BYTES + 1] = {0};

	memset(text, 'x', sizeof(text));
	memset(name, 'x', sizeof(name) - 1);
	put_symbol(scene, SYMBOL(0), text, WIRE_HOTSPOT_NAME_BYTES + 1);
	put_symbol(scene, SYMBOL(1), text, WIRE_HOTSPOT_FILE_BYTES);
	put_symbol(scene, SYMBOL(2), text, WIRE_HOTSPOT_CLASS_BYTES + 1);
	assert_int_equal(read_method(scene), 0);
	text[WIRE_HOTSPOT_CLASS_BYTES] = '\0';
	assert_names(scene, text, name, name);
	assert_int_equal(scene->method.class_name.length, WIRE_HOTSPOT_CLASS_BYTES + 1);
	assert_int_equal(scene->method.name.length, WIRE_HOTSPOT_NAME_BYTES + 1);
	assert_int_equal(scene->method.file.length, WIRE_HOTSPOT_FILE_BYTES);
	/* One that fits but for its last byte, and an empty one. */
	put_symbol(scene, SYMBOL(0), text, WIRE_HOTSPOT_NAME_BYTES - 1);
	put_symbol(scene, SYMBOL(1), text, 0);
	assert_int_equal(read_method(scene), 0);
	name[WIRE_HOTSPOT_NAME_BYTES - 1] = '\0';
	assert_names(scene, text, name, "");
	free(scene);
}

static void lines_may_end_where_memory_does(void **state _unused_)
{
	static const struct {
		uint32_t bytes_behind;
		uint32_t num_line_bytes;
	} cases[] = {{512, 512}, {511, 64}, {64, 64}, {63, 0}, {0, 0}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		uint64_t constants = MEMORY_END - cases[i].bytes_behind - NUM_BYTECODES -
				     hotspot_walk_layouts[HOTSPOT_25].const_bytes;
		struct fake_process *scene = scene_of_method(HOTSPOT_25, constants);

		assert_int_equal(read_method(scene), 0);
		assert_names(scene, "java/util/Map", "put", "Map.java");
		assert_lines(scene, cases[i].num_line_bytes);
		free(scene);
	}
}

static void what_cannot_be_read_of_a_method_is_left_out(void **state _unused_)
{
	struct fake_process *scene = scene_of_method(HOTSPOT_11, CONSTANTS);
	uint64_t num_reads;
	unsigned int num_failed = 0;

	scene->num_reads = 0;
	assert_int_equal(read_method(scene), 0);
	num_reads = scene->num_reads;
	for (uint64_t i = 0; i < num_reads; i++) {
		scene->num_reads = 0;
		scene->failing_read = i;
		if (read_method(scene)) {
			num_failed++;
			continue;
		}
		/* Each is there or not. */
		assert_text(&scene->method.name, scene->method.name_text, WIRE_HOTSPOT_NAME_BYTES,
			    scene->method.name.length ? "put" : "");
		assert_text(&scene->method.class_name, scene->method.class_text,
			    WIRE_HOTSPOT_CLASS_BYTES,
			    scene->method.class_name.length ? "java/util/Map" : "");
		assert_text(&scene->method.file, scene->method.file_text, WIRE_HOTSPOT_FILE_BYTES,
			    scene->method.file.length ? "Map.java" : "");
	}
	/* The method, its constants, and which symbol its name is. */
	assert_int_equal(num_failed, 3);
	scene->failing_read = NO_READ_FAILS;
	put_word(scene, POOL + scene->hotspot.layout.pool_class, 0x10);
	assert_int_equal(read_method(scene), 0);
	assert_names(scene, "", "put", "");
	free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_found_in_three_heaps_or_one),
		cmocka_unit_test(the_interpreter_ends_where_it_does_now),
		cmocka_unit_test(code_is_not_there_before_all_of_it_is),
		cmocka_unit_test(code_is_not_found_where_any_of_it_cannot_be_read),
		cmocka_unit_test(blobs_are_found_from_all_their_segments),
		cmocka_unit_test(chains_of_hops_may_be_longer_than_a_byte_says),
		cmocka_unit_test(chains_that_lead_nowhere_end),
		cmocka_unit_test(chains_longer_than_any_that_is_written_end),
		cmocka_unit_test(free_blocks_and_other_memory_hold_no_blob),
		cmocka_unit_test(compiled_code_may_be_interrupted_anywhere),
		cmocka_unit_test(what_calls_another_method_is_no_caller),
		cmocka_unit_test(a_method_is_called_by_javas_code),
		cmocka_unit_test(where_calls_return_to_the_interpreter_no_call_is),
		cmocka_unit_test(callers_are_complete_and_nothing_is_asked_of_them),
		cmocka_unit_test(no_frame_has_a_size_that_cannot_be),
		cmocka_unit_test(a_frame_that_goes_beyond_the_stack_ends_the_walk),
		cmocka_unit_test(fingerprints_are_of_the_method_and_its_compilation),
		cmocka_unit_test(of_more_methods_than_are_kept_the_outer_ones_are_left_out),
		cmocka_unit_test(stubs_of_a_known_size_are_like_methods_without_one),
		cmocka_unit_test(stubs_that_call_have_a_frame_pointer),
		cmocka_unit_test(stubs_may_be_interrupted_with_and_without_a_frame),
		cmocka_unit_test(a_call_of_something_else_has_not_called_a_stub),
		cmocka_unit_test(adapters_have_no_frame),
		cmocka_unit_test(adapters_have_their_return_address_in_a_register_at_times),
		cmocka_unit_test(the_call_stub_has_a_frame_pointer_whatever_its_blob_says),
		cmocka_unit_test(the_innermost_interpreted_bytecode_is_in_a_register),
		cmocka_unit_test(callers_have_put_their_bytecode_into_their_frame),
		cmocka_unit_test(native_methods_have_no_bytecode),
		cmocka_unit_test(what_is_called_has_no_frame_yet),
		cmocka_unit_test(what_is_called_has_a_caller),
		cmocka_unit_test(what_has_returned_has_no_frame_any_more),
		cmocka_unit_test(what_has_returned_has_its_caller_in_a_register_in_the_end),
		cmocka_unit_test(where_an_unknown_register_leads_to_is_not_known),
		cmocka_unit_test(a_frame_that_is_being_set_up_has_no_method_yet),
		cmocka_unit_test(a_frame_that_is_being_set_up_has_a_caller),
		cmocka_unit_test(interpreted_frames_that_cannot_be_end_the_walk),
		cmocka_unit_test(frames_that_are_not_pushed_say_nothing),
		cmocka_unit_test(callers_that_are_not_native_have_a_bytecode),
		cmocka_unit_test(interpreted_frames_behind_a_stub_may_not_be_filled),
		cmocka_unit_test(methods_say_what_they_are),
		cmocka_unit_test(methods_may_have_neither_lines_nor_file),
		cmocka_unit_test(of_long_names_the_start_is_taken),
		cmocka_unit_test(lines_may_end_where_memory_does),
		cmocka_unit_test(what_cannot_be_read_of_a_method_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
