/*
 * The walk through HotSpot's code in memory that is all somebody else's choice, and what methods there say of themselves. The input
 * is in order: a byte's layout, or after the last one the numbers of any; a byte whether the VM's own variables are taken as they
 * are in memory or as a VM has them; the thread's registers, 2 bytes each; and the words of the memory. What is missing is zero.
 * A memory that starts with what the VM has has its table of segments at SEGMENTS, and its heap and stack behind it.
 *
 * A word is a byte, which says what kind it is, and its value: 16 bits of an address in the memory; 16, 32 or 64 bits of
 * anything; of zeros a byte says how many.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "read_string.h"
#include "require.h"
#include "runtime/hotspot_method.h"

#include "hotspot_walk_layouts.h"

#define WALK_INLINE    static inline
#define HOTSPOT_INLINE static inline
#include "runtime/hotspot_walk.h"

#define MEMORY      0x7f0000000000ull
#define MAX_WORDS   0x2000
#define MAX_METHODS 8 /* that are read */
#define UNTOUCHED   0x55
/* The reads of one step: hops, and what is read besides. */
#define MAX_READS (HOTSPOT_MAX_HOPS + 32)
/* Where a VM's memory has them. */
#define SEGMENTS      0x100
#define HEAP          0x200
#define INTERPRETER   0x2000
#define HEAP_END      0x10000
#define SEGMENT_SHIFT 7
#define MAX_SHIFT     31

enum word_kind { ADDRESS, SHORT, NUMBER, ANY, ZEROS, NUM_WORD_KINDS };

struct scene {
	struct walk walk; /* first: what the walk hands to its callbacks */
	struct hotspot_walk *hotspot;
	uint64_t *words; /* on the heap, so that no word more can be read */
	size_t num_words;
	uint64_t num_reads;
	/* On the heap and no longer than the walk may write. */
	struct wire_runtime_frame *frames;
	struct wire_hotspot_method *method;
	struct hotspot_methods *methods;
	uint64_t pcs[WIRE_MAX_FRAMES];
};

/* What hotspot_read() is handed is on the heap, too. */
static struct scene *current;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_memory(struct scene *scene, void *ret, uint64_t bytes, uint64_t address)
{
	uint64_t num_bytes = scene->num_words * sizeof(*scene->words);

	scene->num_reads++;
	memset(ret, 0, bytes); /* as a failed read does in the kernel */
	if (address < MEMORY || bytes > num_bytes || address - MEMORY > num_bytes - bytes)
		return -1;
	memcpy(ret, (const char *)scene->words + (address - MEMORY), bytes);
	return 0;
}

static inline int walk_read(struct walk *walk, wire_u64 address, wire_u64 *ret)
{
	return read_memory((struct scene *)walk, ret, sizeof(*ret), address);
}

static inline int hotspot_read(struct hotspot_walk *hotspot _unused_, void *ret, wire_u32 bytes,
			       wire_u64 address)
{
	return read_memory(current, ret, bytes, address);
}

DEFINE_READ_STRING(hotspot_read_string, hotspot_walk, hotspot_read)

/* All of the memory is HotSpot's code as well. */
static inline int walk_find_mapping(struct walk *walk, wire_u64 pc)
{
	const struct scene *scene = (const struct scene *)walk;
	uint64_t end = MEMORY + scene->num_words * sizeof(*scene->words);

	if (pc < MEMORY || pc >= end)
		return 0;
	walk->mapping.start = MEMORY;
	walk->mapping.end = end;
	walk->mapping.flags = UNWIND_MAPPING_HAS_HOTSPOT;
	return 1;
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

static void *allocate(size_t size)
{
	void *allocated = malloc(size);

	require(allocated != NULL);
	memset(allocated, UNTOUCHED, size);
	return allocated;
}

/* A field of so many bytes, at a multiple of them. */
static uint16_t take_offset(struct bytes *input, unsigned int bytes)
{
	return (uint16_t)(bytes_u16(input) % (WIRE_HOTSPOT_OBJECT_BYTES / bytes) * bytes);
}

static uint16_t take_size(struct bytes *input)
{
	return (uint16_t)(8 + take_offset(input, 8));
}

/* Whatever hotspot_read_layout() lets through. */
static void take_any_layout(struct bytes *input, struct wire_hotspot_layout *ret)
{
	*ret = hotspot_walk_layouts[HOTSPOT_17];
	ret->array_length = take_offset(input, 4);
	ret->array_items = take_offset(input, 8);
	ret->heap_start = take_offset(input, 8);
	ret->heap_end = take_offset(input, 8);
	ret->heap_segments = take_offset(input, 8);
	ret->heap_segment_shift = take_offset(input, 4);
	ret->queue_start = take_offset(input, 8);
	ret->queue_bytes = take_offset(input, 4);
	ret->block_bytes = take_size(input);
	ret->block_used = bytes_u16(input) % ret->block_bytes;
	ret->blob_header_bytes_size = bytes_u8(input) % 2 ? 2 : 4;
	ret->blob_frame_complete_size = bytes_u8(input) % 2 ? 2 : 4;
	ret->blob_code_is_offset = bytes_u8(input) % 2;
	ret->blob_header_bytes = take_offset(input, ret->blob_header_bytes_size);
	ret->blob_frame_complete = take_offset(input, ret->blob_frame_complete_size);
	ret->blob_frame_words = take_offset(input, 4);
	ret->blob_code = take_offset(input, ret->blob_code_is_offset ? 4 : 8);
	ret->blob_code_end = take_offset(input, ret->blob_code_is_offset ? 4 : 8);
	ret->nmethod_method = take_offset(input, 8);
	ret->nmethod_compile_id = take_offset(input, 4);
	ret->nmethod_header_bytes = bytes_u16(input);
	ret->blob_bytes = WIRE_HOTSPOT_OBJECT_BYTES;
	ret->method_const = take_offset(input, 8);
	ret->const_bytes = take_size(input);
	ret->const_pool = take_offset(input, 8);
	ret->const_code_bytes = take_offset(input, 2);
	ret->const_flags = take_offset(input, 2);
	ret->const_has_lines = bytes_u16(input);
	ret->const_name = take_offset(input, 2);
	ret->pool_bytes = take_size(input);
	ret->pool_class = take_offset(input, 8);
	ret->pool_file = take_offset(input, 2);
	ret->class_name = take_offset(input, 8);
	ret->symbol_length = take_offset(input, 2);
	ret->symbol_text = take_offset(input, 1);
}

static void take_layout(struct bytes *input, struct wire_hotspot_layout *ret)
{
	unsigned int number = bytes_u8(input) % (NUM_HOTSPOT_WALK_LAYOUTS + 1);

	if (number == NUM_HOTSPOT_WALK_LAYOUTS)
		take_any_layout(input, ret);
	else
		*ret = hotspot_walk_layouts[number];
}

static void take_registers(struct bytes *input, struct wire_registers *ret, uint64_t *ret_r13)
{
	memset(ret, 0, sizeof(*ret));
	ret->pc = MEMORY + bytes_u16(input);
	ret->sp = MEMORY + (bytes_u16(input) & ~7u);
	ret->fp = MEMORY + bytes_u16(input);
	ret->bx = MEMORY + bytes_u16(input);
	*ret_r13 = MEMORY + bytes_u16(input);
}

static void take_words(struct bytes *input, struct scene *scene)
{
	uint64_t *words = calloc(MAX_WORDS, sizeof(*words));
	size_t num_words = 0;

	require(words != NULL);
	while (bytes_left(input) && num_words < MAX_WORDS) {
		switch ((enum word_kind)(bytes_u8(input) % NUM_WORD_KINDS)) {
		case ADDRESS:
			words[num_words++] = MEMORY + bytes_u16(input);
			break;
		case SHORT:
			words[num_words++] = bytes_u16(input);
			break;
		case NUMBER:
			words[num_words++] = bytes_u32(input);
			break;
		case ANY:
			words[num_words++] = bytes_u64(input);
			break;
		case ZEROS:
			num_words += bytes_u8(input);
			break;
		case NUM_WORD_KINDS:
			break;
		}
	}
	scene->num_words = num_words < MAX_WORDS ? num_words : MAX_WORDS;
	scene->words = realloc(words, scene->num_words * sizeof(*words) + 1);
	require(scene->words != NULL);
}

/* As a VM has it: one heap, whose later part is the interpreter. */
static void put_code(struct hotspot_walk *hotspot)
{
	struct hotspot_code *code = &hotspot->code;

	memset(code, 0, sizeof(*code));
	code->heap_starts[0] = MEMORY + HEAP;
	code->heap_ends[0] = MEMORY + HEAP_END;
	code->heap_segments[0] = MEMORY + SEGMENTS;
	code->interpreter_start = MEMORY + INTERPRETER;
	code->call_stub_return = MEMORY + HEAP + 0x440;
	code->num_heaps = 1;
	code->segment_shift = SEGMENT_SHIFT;
	hotspot->interpreter_end = MEMORY + 2 * INTERPRETER;
}

static void check_code(const struct hotspot_code *code)
{
	require(code->num_heaps <= WIRE_HOTSPOT_MAX_HEAPS);
	require(code->segment_shift <= MAX_SHIFT);
	for (uint32_t i = code->num_heaps; code->num_heaps && i < WIRE_HOTSPOT_MAX_HEAPS; i++)
		require(!code->heap_starts[i] && !code->heap_ends[i] && !code->heap_segments[i]);
}

/* As the sampling program does it. */
static void walk_all(struct scene *scene)
{
	struct hotspot_walk *hotspot = scene->hotspot;
	struct walk *walk = &scene->walk;

	for (int i = 0; i < 2 * WIRE_MAX_FRAMES; i++) {
		uint64_t sp = walk->registers.sp;
		bool is_innermost = walk->is_innermost;
		uint32_t num_frames = hotspot->num_frames;

		if (!walk_step(walk, scene->pcs))
			continue;
		if (walk->end != WALK_AT_HOTSPOT_CODE)
			return;
		scene->num_reads = 0;
		if (hotspot_step(hotspot, walk, scene->frames)) {
			require(walk->end == WALK_JIT_CODE || walk->end == WALK_READ_FAILED ||
				walk->end == WALK_NO_RETURN_ADDRESS);
			return;
		}
		require(scene->num_reads <= MAX_READS);
		require(walk->end == WALK_UNFINISHED && !walk->is_exact && !walk->is_innermost);
		require(walk_is_user_pc(walk->registers.pc));
		/* Stacks grow down, and no walk is in a circle. What returns may have taken its frame from the stack. */
		require(walk->registers.sp > sp || (is_innermost && walk->registers.sp == sp));
		require(walk->registers.sp - sp <= 2 * HOTSPOT_MAX_FRAME_BYTES + 16);
		require(hotspot->num_frames == num_frames || hotspot->num_frames == num_frames + 1);
	}
	require(false); /* it has an end */
}

static void check_frames(const struct scene *scene)
{
	const struct hotspot_walk *hotspot = scene->hotspot;
	const uint8_t *end = (const uint8_t *)&scene->frames[WIRE_MAX_RUNTIME_FRAMES];
	uint32_t mask = (1u << WIRE_HOTSPOT_LEVEL_BITS) - 1;

	require(hotspot->num_frames <= WIRE_MAX_RUNTIME_FRAMES);
	require(!hotspot->is_deep || hotspot->num_frames == WIRE_MAX_RUNTIME_FRAMES);
	for (uint32_t i = 0; i < hotspot->num_frames; i++) {
		const struct wire_runtime_frame *frame = &scene->frames[i];

		require(frame->fingerprint != 0);
		require((frame->position & mask) < scene->walk.num_frames);
		require(i == 0 || (frame->position & mask) > (frame[-1].position & mask));
	}
	for (const uint8_t *byte = (const uint8_t *)&scene->frames[hotspot->num_frames]; byte < end;
	     byte++)
		require(*byte == UNTOUCHED);
}

static void check_text(const struct wire_hotspot_text *text, const wire_u8 *bytes, uint32_t limit)
{
	require(text->num_bytes == (text->length < limit ? text->length : limit));
	for (uint32_t i = text->num_bytes; i < limit; i++)
		require(bytes[i] == 0);
}

/* What is read of a method is what user space takes. */
static void check_method(struct scene *scene, const struct wire_runtime_frame *frame,
			 uint64_t address)
{
	struct wire_hotspot_method *method = scene->method;
	const struct hotspot_method *added;

	memset(method, UNTOUCHED, sizeof(*method));
	if (hotspot_read_method(scene->hotspot, address, method))
		return;
	require(method->method == address);
	check_text(&method->class_name, method->class_text, WIRE_HOTSPOT_CLASS_BYTES);
	check_text(&method->name, method->name_text, WIRE_HOTSPOT_NAME_BYTES);
	check_text(&method->file, method->file_text, WIRE_HOTSPOT_FILE_BYTES);
	require(method->num_line_bytes <= WIRE_HOTSPOT_LINE_BYTES);
	for (uint32_t i = method->num_line_bytes; i < WIRE_HOTSPOT_LINE_BYTES; i++)
		require(method->lines[i] == 0);
	method->type = WIRE_RUNTIME_CODE;
	method->pid = 1;
	method->generation = 0;
	method->code = frame->code;
	method->fingerprint = frame->fingerprint;
	method->compile_id = 0;
	require(!hotspot_methods_add(scene->methods, method));
	added = hotspot_methods_find(scene->methods, 1, 0, frame->code, frame->fingerprint);
	require(added != NULL);
	for (uint32_t i = 0; i < method->code_bytes; i += 7)
		(void)hotspot_method_get_line(added, i);
}

static void check_methods(struct scene *scene)
{
	for (uint32_t i = 0; i < scene->hotspot->num_frames && i < MAX_METHODS; i++) {
		const struct wire_runtime_frame *frame = &scene->frames[i];
		wire_u64 method = frame->code;

		if (!(frame->position & WIRE_HOTSPOT_INTERPRETED) &&
		    hotspot_read_word(scene->hotspot,
				      frame->code + scene->hotspot->layout.nmethod_method, &method))
			continue;
		check_method(scene, frame, method);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input = bytes_of(data, size);
	struct scene *scene = calloc(1, sizeof(*scene));
	struct wire_registers registers;
	uint64_t r13;
	bool is_vm;

	require(scene != NULL);
	current = scene;
	scene->hotspot = allocate(sizeof(*scene->hotspot));
	take_layout(&input, &scene->hotspot->layout);
	is_vm = bytes_u8(&input) % 2;
	take_registers(&input, &registers, &r13);
	take_words(&input, scene);
	scene->frames = allocate(WIRE_MAX_RUNTIME_FRAMES * sizeof(*scene->frames));
	scene->method = allocate(sizeof(*scene->method));
	scene->methods = hotspot_methods_new();
	require(scene->methods != NULL);
	walk_start(&scene->walk, &registers);
	if (hotspot_find_code(scene->hotspot, MEMORY) || hotspot_start(scene->hotspot, r13) ||
	    is_vm) {
		(void)hotspot_start(scene->hotspot, r13); /* what is not in the code */
		put_code(scene->hotspot);
	}
	check_code(&scene->hotspot->code);
	walk_all(scene);
	check_frames(scene);
	check_methods(scene);
	hotspot_methods_free(scene->methods);
	free(scene->words);
	free(scene->frames);
	free(scene->method);
	free(scene->hotspot);
	free(scene);
	return 0;
}
