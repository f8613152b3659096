/*
 * The walk of V8's frames in memory that is all somebody else's choice, and what functions there say of themselves. The input is
 * in order: a byte's layout; of the last one, its numbers, a byte each; and the words of the memory. What is missing is zero.
 * The memory starts with pairs of words, each of which is what a level of the stack has below its frame pointer.
 *
 * A word is a byte, which says what kind it is, and its value: 16 bits of an object in the memory or of any address there; in
 * its upper half, where small integers, types of maps and lengths of strings are, 16 or 32 bits; 64 bits of anything; of zeros
 * a byte says how many.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "require.h"
#include "runtime/v8_function.h"
#include "runtime/v8_source.h"

#include "v8_layouts.h"

#define V8_INLINE static inline
#include "runtime/v8_walk.h"

#define MEMORY        0x2a0000000000ull
#define MAX_WORDS     0x2000
#define MAX_LEVELS    64 /* of the stack */
#define MAX_FUNCTIONS 8  /* that are read */
#define MAX_INNERMOST 64 /* levels that are tried */
#define UNTOUCHED     0x55
#define WASM_MARKER   16 /* what frames of WebAssembly have */

enum word_kind { OBJECT, ADDRESS, NUMBER, LENGTH, ANY, ZEROS, NUM_WORD_KINDS };

struct scene {
	struct v8_walk walk; /* first: what the walk hands to v8_read() */
	struct wire_v8_layout layout;
	uint64_t *words; /* on the heap, so that no word more can be read */
	size_t num_words;
	/* On the heap and no longer than the walk may write. */
	struct wire_runtime_frame *frames;
	struct wire_v8_function *function;
	struct v8_functions *functions;
	struct v8_sources *sources;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline int v8_read(struct v8_walk *walk, void *ret, wire_u32 bytes, wire_u64 address)
{
	const struct scene *scene = (const struct scene *)walk;
	uint64_t num_bytes = scene->num_words * sizeof(*scene->words);

	memset(ret, 0, bytes); /* as a failed read does in the kernel */
	if (address < MEMORY || bytes > num_bytes || address - MEMORY > num_bytes - bytes)
		return -1;
	memcpy(ret, (const char *)scene->words + (address - MEMORY), bytes);
	return 0;
}

/* What user space reads later is the same memory. */
static int read_memory(void *context, uint64_t address, void *ret, size_t size)
{
	struct scene *scene = context;

	require(size > 0 && size <= 64 << 10);
	return v8_read(&scene->walk, ret, (wire_u32)size, address);
}

static void *allocate(size_t size)
{
	void *allocated = malloc(size);

	require(allocated != NULL);
	memset(allocated, UNTOUCHED, size);
	return allocated;
}

/* A word in so many first ones of an object. */
static uint8_t take_offset(struct bytes *input, unsigned int num_words)
{
	return (uint8_t)(8 * (bytes_u8(input) % num_words));
}

/* Whatever v8_find() lets through. */
static void take_any_layout(struct bytes *input, struct wire_v8_layout *ret)
{
	unsigned int last_word;
	unsigned int flags;

	*ret = v8_layouts[1];
	ret->function_shared = take_offset(input, 12);
	last_word = 1 + bytes_u8(input) % 11;
	ret->shared_name = take_offset(input, last_word);
	ret->shared_script = take_offset(input, last_word);
	ret->shared_literal = (uint8_t)(8 * last_word + 4);
	ret->shared_bytes = (uint8_t)(8 * last_word + 8);
	ret->script_name = (uint8_t)(16 + take_offset(input, 9));
	ret->map_type = (uint8_t)(2 * (bytes_u8(input) % 48));
	ret->scope_num_locals = (uint8_t)(16 + take_offset(input, 7));
	flags = bytes_u8(input);
	ret->scope_flags_shift = flags & 1 ? 32 : 0;
	ret->scope_position = flags & 2 ? (uint8_t)(ret->scope_num_locals + 8) : 0;
	ret->scope_locals = (uint8_t)(ret->scope_num_locals + (flags & 2 ? 24 : 8));
	ret->string_length = (uint8_t)(4 * (bytes_u8(input) % 8));
	ret->string_characters = take_offset(input, 4);
	ret->cons_first = take_offset(input, 4);
	ret->cons_second = take_offset(input, 4);
	ret->thin_actual = take_offset(input, 4);
}

static void take_layout(struct bytes *input, struct wire_v8_layout *ret)
{
	unsigned int number = bytes_u8(input) % (NUM_V8_LAYOUTS + 1);

	if (number == NUM_V8_LAYOUTS)
		take_any_layout(input, ret);
	else
		*ret = v8_layouts[number];
	ret->wasm_marker = WASM_MARKER;
}

static void take_words(struct bytes *input, struct scene *scene)
{
	uint64_t *words = calloc(MAX_WORDS, sizeof(*words));
	size_t num_words = 0;

	require(words != NULL);
	while (bytes_left(input) && num_words < MAX_WORDS) {
		switch ((enum word_kind)(bytes_u8(input) % NUM_WORD_KINDS)) {
		case OBJECT:
			words[num_words++] = MEMORY + (bytes_u16(input) & ~7u) + 1;
			break;
		case ADDRESS:
			words[num_words++] = MEMORY + bytes_u16(input);
			break;
		case NUMBER:
			words[num_words++] = (uint64_t)bytes_u16(input) << 32;
			break;
		case LENGTH:
			words[num_words++] = (uint64_t)bytes_u32(input) << 32;
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

static uint64_t get_frame_pointer(uint32_t level)
{
	return MEMORY + 16 * (level + 1ull);
}

static void take_frame(struct scene *scene, uint64_t fp, uint32_t level)
{
	struct v8_walk *walk = &scene->walk;

	if (v8_walk_read_frame(walk, fp))
		v8_walk_take_function(walk, walk->words[0], walk->words[1], level, scene->frames);
}

static void walk_all(struct scene *scene)
{
	struct v8_walk *walk = &scene->walk;

	v8_walk_start(walk, &scene->layout);
	for (uint32_t level = 0; level < MAX_LEVELS; level++) {
		uint32_t num_frames = walk->num_frames;

		take_frame(scene, get_frame_pointer(level), level);
		require(walk->num_frames == num_frames || walk->num_frames == num_frames + 1);
		require(walk->end == WIRE_RUNTIME_COMPLETE || walk->end == WIRE_RUNTIME_UNREADABLE);
	}
}

static void check_frames(const struct scene *scene)
{
	const uint8_t *end = (const uint8_t *)&scene->frames[WIRE_MAX_RUNTIME_FRAMES];

	for (uint32_t i = 0; i < scene->walk.num_frames; i++) {
		const struct wire_runtime_frame *frame = &scene->frames[i];

		require((frame->code & 3) == 1);
		require((frame->fingerprint == WIRE_V8_WASM) ==
			(scene->words[2 * frame->position + 1] == WASM_MARKER));
		require(frame->position < MAX_LEVELS);
		require(i == 0 || frame->position > frame[-1].position);
	}
	for (const uint8_t *byte = (const uint8_t *)&scene->frames[scene->walk.num_frames];
	     byte < end; byte++)
		require(*byte == UNTOUCHED);
}

static void check_text(const struct wire_v8_text *text, const wire_u8 *bytes, uint32_t limit)
{
	require(text->is_wide <= 1);
	require(text->num_bytes <= limit);
	require(text->num_bytes == ((uint64_t)text->length << text->is_wide) ||
		(text->num_bytes == limit && text->length > limit >> text->is_wide));
	for (uint32_t i = text->num_bytes; i < limit; i++)
		require(bytes[i] == 0);
}

static void check_record(const struct wire_v8_function *function)
{
	require(function->num_parts <= WIRE_V8_NAME_PARTS);
	require(function->has_more <= 1 && function->is_builtin <= 1 && function->padding == 0);
	for (uint32_t i = 0; i < WIRE_V8_NAME_PARTS; i++) {
		check_text(&function->name[i], function->name_text[i], WIRE_V8_PART_BYTES);
		require((function->name[i].length != 0) == (i < function->num_parts));
	}
	check_text(&function->file, function->file_text, WIRE_V8_FILE_BYTES);
	require(!function->is_builtin || !function->file.length);
	require(!function->script || !function->is_builtin);
}

/*
 * What is read again is what was read: a source is known where a word of it is, or where it lies outside. Its lines are those that were
 * counted.
 */
static void check_source(struct scene *scene)
{
	const struct wire_v8_source *source = &scene->function->source;
	const struct v8_memory memory = {read_memory, scene};
	uint64_t num_bytes = (uint64_t)source->length << source->is_wide;
	uint32_t counted = scene->function->line;
	uint32_t number;
	uint32_t line;

	require(!counted || scene->function->position <= source->length);
	scene->function->line = 0;
	require(source->words < 1u << WIRE_V8_SOURCE_WORDS && source->padding == 0);
	require(source->string || (!source->words && !source->hash));
	require(!v8_sources_add(scene->sources, scene->function, &memory, &number));
	require((number == V8_NO_SOURCE) ==
		(!source->string || scene->function->position == WIRE_V8_NO_POSITION));
	line = v8_sources_get_line(scene->sources, number, scene->function->position);
	require(line <= scene->function->position + 1ull);
	/* All of it is in the memory. */
	if (number != V8_NO_SOURCE && source->characters >= MEMORY &&
	    num_bytes <= scene->num_words * sizeof(*scene->words) &&
	    source->characters - MEMORY <= scene->num_words * sizeof(*scene->words) - num_bytes &&
	    source->string - MEMORY <= scene->num_words * sizeof(*scene->words) - 32)
		require((line != 0) == (scene->function->position <= source->length));
	/* Between two characters that end a line together no function starts. */
	require(!line || !counted || line == counted || line + 1 == counted);
	scene->function->line = counted;
}

/* All registers are words of the memory, in which the code is as well. */
static void check_innermost(struct scene *scene)
{
	struct v8_walk *walk = &scene->walk;

	for (size_t i = 0; i + 5 < scene->num_words && i < MAX_INNERMOST; i++) {
		const struct wire_registers registers = {
			.pc = scene->words[i],
			.sp = scene->words[i + 1],
			.fp = scene->words[i + 2],
			.di = scene->words[i + 3],
			.si = scene->words[i + 4],
		};
		const struct v8_innermost frame = {.prologue = i & 1 ? scene->words[i + 5] : 0,
						   .is_own = i & 2};

		v8_walk_start(walk, &scene->layout);
		if (v8_walk_find_innermost(walk, &registers, &frame))
			v8_walk_take_function(walk, walk->words[0], walk->words[1], 0,
					      scene->frames);
		require(walk->num_frames <= 1);
		require(walk->end == WIRE_RUNTIME_COMPLETE || walk->end == WIRE_RUNTIME_UNREADABLE);
		require(!walk->num_frames ||
			((scene->frames[0].code & 3) == 1 && !scene->frames[0].position));
	}
}

/* What is read of a function is what user space takes. */
static void check_function(struct scene *scene, const struct wire_runtime_frame *frame)
{
	struct wire_v8_function *function = scene->function;
	const struct v8_function *added;

	memset(function, UNTOUCHED, sizeof(*function));
	require(!v8_read_function(&scene->walk, frame->code, function));
	require(function->shared == frame->code && function->fingerprint == frame->fingerprint);
	for (int i = 0; i < V8_MAX_NAME_STEPS; i++) {
		if (v8_step_name(&scene->walk, function))
			break;
		require(scene->walk.num_pending <= V8_MAX_PENDING);
	}
	function->has_more |= scene->walk.num_pending > 0;
	for (uint32_t i = 0; i < V8_MAX_PIECES; i++)
		if (v8_step_line(&scene->walk, i, function))
			break;
	for (uint32_t i = 0; i < WIRE_V8_SOURCE_WORDS; i++)
		if (v8_step_source(&scene->walk, i, &function->source))
			break;
	function->pid = 1;
	function->generation = 0;
	check_record(function);
	check_source(scene);
	require(!v8_functions_add(scene->functions, function, V8_NO_SOURCE));
	added = v8_functions_find(scene->functions, 1, 0, frame->code, frame->fingerprint);
	require(added != NULL);
	require(added->is_name_missing <= (added->name[0] == '\0'));
	require((added->name[0] == '\0') == (function->num_parts == 0));
}

/* The same one on all levels: of more than are kept the outer ones are left out. */
static void check_many(struct scene *scene)
{
	uint32_t level = scene->frames[0].position;
	struct wire_runtime_frame first = scene->frames[0];

	v8_walk_start(&scene->walk, &scene->layout);
	for (uint32_t i = 0; i <= WIRE_MAX_RUNTIME_FRAMES; i++) {
		require(scene->walk.end == WIRE_RUNTIME_COMPLETE);
		take_frame(scene, get_frame_pointer(level), i);
	}
	require(scene->walk.end == WIRE_RUNTIME_DEEP);
	require(scene->walk.num_frames == WIRE_MAX_RUNTIME_FRAMES);
	for (uint32_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i++)
		require(scene->frames[i].position == i && scene->frames[i].code == first.code &&
			scene->frames[i].fingerprint == first.fingerprint);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input = bytes_of(data, size);
	struct scene scene = {0};

	take_layout(&input, &scene.layout);
	take_words(&input, &scene);
	scene.frames = allocate(WIRE_MAX_RUNTIME_FRAMES * sizeof(*scene.frames));
	scene.function = allocate(sizeof(*scene.function));
	scene.functions = v8_functions_new();
	scene.sources = v8_sources_new();
	require(scene.functions && scene.sources);
	walk_all(&scene);
	check_frames(&scene);
	for (uint32_t i = 0; i < scene.walk.num_frames && i < MAX_FUNCTIONS; i++)
		if (scene.frames[i].fingerprint != WIRE_V8_WASM)
			check_function(&scene, &scene.frames[i]);
	if (scene.walk.num_frames)
		check_many(&scene);
	check_innermost(&scene);
	v8_functions_free(scene.functions);
	v8_sources_free(scene.sources);
	free(scene.words);
	free(scene.frames);
	free(scene.function);
	return 0;
}
