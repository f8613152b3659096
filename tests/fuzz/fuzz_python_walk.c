/*
 * The walk of CPython's frames in memory that is all somebody else's choice, and what code objects there say of themselves. The
 * input is in order: a byte's version; of those that describe themselves, their table of offsets, 16 bits each; and the words
 * of the memory, with _PyRuntime first. What is missing is zero.
 *
 * A word is a byte, which says what kind it is, and its value: 16 bits of an address in the memory or of a number, 64 bits
 * of anything, or nothing for the thread pointer and for zero; of zeros a byte says how many.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "require.h"
#include "runtime/python/layouts.h"

#define PYTHON_INLINE static inline
#include "runtime/python_walk.h"

#define MEMORY         0x7f0000000000ull
#define MAX_WORDS      0x2000
#define THREAD_POINTER 0x7fff12340000ull
#define FIRST_VERSION  8
#define NUM_VERSIONS   8
#define UNTOUCHED      0x55
#define MAX_CODES      4 /* that are read */

enum word_kind { IN_MEMORY, NUMBER, ANY, THREAD, ZEROS, NUM_WORD_KINDS };

struct scene {
	struct python_walk walk; /* first: what the walk hands to python_read() */
	struct wire_python_layout layout;
	uint64_t *words; /* on the heap, so that no word more can be read */
	size_t num_words;
	/* On the heap and no longer than the walk may write. */
	struct wire_runtime_frame *frames;
	struct wire_python_code *code;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline int python_read(struct python_walk *walk, void *ret, wire_u32 bytes, wire_u64 address)
{
	const struct scene *scene = (const struct scene *)walk;
	uint64_t num_bytes = scene->num_words * sizeof(*scene->words);

	memset(ret, 0, bytes); /* as a failed read does in the kernel */
	if (address < MEMORY || bytes > num_bytes || address - MEMORY > num_bytes - bytes)
		return -1;
	memcpy(ret, (const char *)scene->words + (address - MEMORY), bytes);
	return 0;
}

static void *allocate(size_t size)
{
	void *allocated = malloc(size);

	require(allocated != NULL);
	memset(allocated, UNTOUCHED, size);
	return allocated;
}

/* Returns false of a table that no build has. */
static bool take_layout(struct bytes *input, struct wire_python_layout *ret)
{
	unsigned int minor = FIRST_VERSION + bytes_u8(input) % NUM_VERSIONS;
	uint64_t words[PYTHON_MAX_OFFSET_WORDS];
	uint64_t code_bytes;

	if (minor < PYTHON_FIRST_WITH_OFFSETS)
		return !python_layout_get(minor, ret, &code_bytes);
	for (size_t i = 0; i < PYTHON_MAX_OFFSET_WORDS; i++)
		words[i] = bytes_u16(input);
	return !python_layout_read(minor, words, PYTHON_MAX_OFFSET_WORDS, ret);
}

static void take_words(struct bytes *input, struct scene *scene)
{
	uint64_t *words = calloc(MAX_WORDS, sizeof(*words));
	size_t num_words = 0;

	require(words != NULL);
	while (bytes_left(input) && num_words < MAX_WORDS) {
		switch ((enum word_kind)(bytes_u8(input) % NUM_WORD_KINDS)) {
		case IN_MEMORY:
			words[num_words++] = MEMORY + bytes_u16(input);
			break;
		case NUMBER:
			words[num_words++] = bytes_u16(input);
			break;
		case ANY:
			words[num_words++] = bytes_u64(input);
			break;
		case THREAD:
			words[num_words++] = THREAD_POINTER;
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

static void walk_all(struct scene *scene, uint64_t thread_state)
{
	struct python_walk *walk = &scene->walk;
	unsigned int num_steps = 0;

	if (python_walk_start(walk, &scene->layout, MEMORY, THREAD_POINTER, thread_state)) {
		require(walk->num_frames == 0 && walk->end != WIRE_RUNTIME_COMPLETE);
		return;
	}
	for (bool is_ended = false; !is_ended;) {
		uint32_t num_frames = walk->num_frames;

		require(++num_steps <= PYTHON_MAX_STEPS);
		is_ended = python_walk_step(walk, scene->frames);
		require(walk->num_frames == num_frames || walk->num_frames == num_frames + 1);
		require(walk->num_frames <= WIRE_MAX_RUNTIME_FRAMES);
	}
	require(walk->end < NUM_WIRE_RUNTIME_ENDS);
	require((walk->end == WIRE_RUNTIME_NO_THREAD) <= (walk->num_frames == 0));
}

static void check_frames(const struct scene *scene)
{
	const uint8_t *end = (const uint8_t *)&scene->frames[WIRE_MAX_RUNTIME_FRAMES];

	for (uint32_t i = 0; i < scene->walk.num_frames; i++) {
		uint32_t instruction = scene->frames[i].position & ~WIRE_RUNTIME_ENTRY_FRAME;

		require(!(scene->frames[i].code & scene->layout.code_tag_bits));
		require(instruction <= WIRE_PYTHON_NOT_STARTED);
		if (scene->layout.runs == WIRE_PYTHON_RUN_EACH)
			require(scene->frames[i].position & WIRE_RUNTIME_ENTRY_FRAME);
	}
	for (const uint8_t *byte = (const uint8_t *)&scene->frames[scene->walk.num_frames];
	     byte < end; byte++)
		require(*byte == UNTOUCHED);
}

static void check_text(const struct wire_python_text *text, const wire_u8 *bytes, uint32_t limit)
{
	require(text->num_bytes <= limit);
	require(text->num_bytes <= (uint64_t)text->length * text->kind);
	require(text->kind == 0 || text->kind == 1 || text->kind == 2 || text->kind == 4);
	for (uint32_t i = text->num_bytes; i < limit; i++)
		require(bytes[i] == 0);
}

static void check_code(struct scene *scene, const struct wire_runtime_frame *frame)
{
	struct wire_python_code *code = scene->code;
	int err = python_read_code(&scene->walk, frame->code, code);

	require(code->code == frame->code && code->fingerprint == frame->fingerprint);
	require(!err == (code->fingerprint != 0));
	if (err)
		return;
	check_text(&code->name, code->name_text, WIRE_PYTHON_NAME_BYTES);
	check_text(&code->file, code->file_text, WIRE_PYTHON_FILE_BYTES);
	require(code->num_line_bytes <= WIRE_PYTHON_LINE_BYTES &&
		code->num_line_bytes <= code->line_bytes);
	for (uint32_t i = code->num_line_bytes; i < WIRE_PYTHON_LINE_BYTES; i++)
		require(code->lines[i] == 0);
}

/* What is remembered leads to the same frames. */
static void check_remembered(struct scene *scene)
{
	struct wire_runtime_frame *before = scene->frames;
	uint32_t num_frames = scene->walk.num_frames;
	uint32_t end = scene->walk.end;

	if (scene->walk.has_others || !num_frames)
		return;
	scene->frames = allocate(WIRE_MAX_RUNTIME_FRAMES * sizeof(*scene->frames));
	walk_all(scene, scene->walk.thread_state);
	require(scene->walk.num_frames == num_frames && scene->walk.end == end);
	require(!memcmp(scene->frames, before, num_frames * sizeof(*before)));
	free(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input = bytes_of(data, size);
	struct scene scene = {0};

	if (!take_layout(&input, &scene.layout))
		return 0;
	take_words(&input, &scene);
	scene.frames = allocate(WIRE_MAX_RUNTIME_FRAMES * sizeof(*scene.frames));
	scene.code = allocate(sizeof(*scene.code));
	walk_all(&scene, 0);
	check_frames(&scene);
	for (uint32_t i = 0; i < scene.walk.num_frames && i < MAX_CODES; i++)
		check_code(&scene, &scene.frames[i]);
	check_remembered(&scene);
	free(scene.words);
	free(scene.frames);
	free(scene.code);
	return 0;
}
