/*
 * The walk of Ruby's frames in memory that is all somebody else's choice, and what code there says of itself. The input is in
 * order: a byte's version, three words (the stack pointer and two registers), and the words of the memory, with the state first and
 * what a thread pointer leads to behind it. What is missing is zero.
 *
 * A word is a byte, which says what kind it is, and its value: 16 bits of an address in the memory or of a number, 64 bits of
 * anything, or nothing for zero; of zeros a byte says how many.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "require.h"

#define RUBY_INLINE static inline
#include "runtime/ruby_walk.h"

#define MEMORY         0x7f0000000000ull
#define THREAD_POINTER (MEMORY + 0x10)
#define MAX_WORDS      0x2000
#define UNTOUCHED      0x55
#define MAX_CODES      4 /* that are read */

enum word_kind { IN_MEMORY, NUMBER, ANY, ZEROS, NUM_WORD_KINDS };

enum scene_register { STACK_POINTER, FRAME, INSTRUCTION, NUM_SCENE_REGISTERS };

struct scene {
	struct ruby_walk walk; /* first: what the walk hands to ruby_read() */
	struct wire_ruby_layout layout;
	uint64_t registers[NUM_SCENE_REGISTERS];
	uint64_t *words; /* on the heap, so that no word more can be read */
	size_t num_words;
	/* On the heap and no longer than the walk may write. */
	struct wire_runtime_frame *frames;
	struct wire_script_function *function;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline int ruby_read(struct ruby_walk *walk, void *ret, wire_u32 bytes, wire_u64 address)
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

/* Those of a version. */
static struct wire_ruby_layout take_layout(struct bytes *input)
{
	static const struct wire_ruby_layout layouts[] = {
		{0x40, 0, WIRE_RUBY_CONTEXT_OF_ALL, 56, 8, 16, 0x38, 0x98, 0xb0, 0x20, 120, 0},
		{0x40, 0, WIRE_RUBY_CONTEXT_BY_INDEX, 64, 12, 16, 0x30, 0x90, 0xa8, 0x28, 120, 0},
		{0x40, 0, WIRE_RUBY_CONTEXT_BY_INDEX, 56, 12, 24, 0x30, 0x98, 0xb0, 0x30, 112, 0},
		{0x40, 0, WIRE_RUBY_CONTEXT_BY_OFFSET, 64, 12, 24, 0x30, 0x98, 0xb0, 0x30, 112, 0},
		{0x40, 0x20, WIRE_RUBY_CONTEXT_IN_CODE, 56, 12, 24, 0x30, 0x98, 0xb0, 0x30, 112, 0},
	};

	return layouts[bytes_u8(input) % ARRAY_LENGTH(layouts)];
}

/* Returns how many words there are, of 0 those behind the first one are left as they are. */
static size_t take_word(struct bytes *input, uint64_t *ret)
{
	switch ((enum word_kind)(bytes_u8(input) % NUM_WORD_KINDS)) {
	case IN_MEMORY:
		*ret = MEMORY + bytes_u16(input);
		break;
	case NUMBER:
		*ret = bytes_u16(input);
		break;
	case ANY:
		*ret = bytes_u64(input);
		break;
	case ZEROS:
		return bytes_u8(input);
	case NUM_WORD_KINDS:
		break;
	}
	return 1;
}

static void take_words(struct bytes *input, struct scene *scene)
{
	uint64_t *words = calloc(MAX_WORDS, sizeof(*words));
	size_t num_words = 0;

	require(words != NULL);
	while (bytes_left(input) && num_words < MAX_WORDS)
		num_words += take_word(input, &words[num_words]);
	scene->num_words = num_words < MAX_WORDS ? num_words : MAX_WORDS;
	scene->words = realloc(words, scene->num_words * sizeof(*words) + 1);
	require(scene->words != NULL);
}

static void walk_all(struct scene *scene)
{
	struct ruby_walk *walk = &scene->walk;
	unsigned int num_steps = 0;

	if (ruby_walk_start(walk, &scene->layout, MEMORY, THREAD_POINTER,
			    scene->registers[STACK_POINTER], scene->registers[FRAME],
			    scene->registers[INSTRUCTION])) {
		require(walk->num_frames == 0);
		return;
	}
	for (bool is_ended = false; !is_ended;) {
		uint32_t num_frames = walk->num_frames;

		require(++num_steps <= RUBY_MAX_STEPS);
		is_ended = ruby_walk_step(walk, scene->frames);
		require(walk->num_frames == num_frames || walk->num_frames == num_frames + 1);
		require(walk->num_frames <= WIRE_MAX_RUNTIME_FRAMES);
	}
	require(walk->end < NUM_WIRE_RUNTIME_ENDS);
}

static void check_frames(const struct scene *scene)
{
	const uint8_t *end = (const uint8_t *)&scene->frames[WIRE_MAX_RUNTIME_FRAMES];

	for (uint32_t i = 0; i < scene->walk.num_frames; i++)
		require(scene->frames[i].fingerprint != 0 && scene->frames[i].code != 0);
	for (const uint8_t *byte = (const uint8_t *)&scene->frames[scene->walk.num_frames];
	     byte < end; byte++)
		require(*byte == UNTOUCHED);
}

static void check_text(const struct wire_script_text *text, const wire_u8 *bytes, uint32_t limit)
{
	require(text->num_bytes <= limit && text->num_bytes <= text->length);
	for (uint32_t i = text->num_bytes; i < limit; i++)
		require(bytes[i] == 0);
}

static void check_function(struct scene *scene, const struct wire_runtime_frame *frame)
{
	struct wire_script_function *function = scene->function;

	/* It was read for the frame. */
	require(!ruby_read_function(&scene->walk, frame->code, function));
	require(function->code == frame->code && function->fingerprint == frame->fingerprint);
	require(function->code_kind < NUM_WIRE_SCRIPT_CODES);
	require(function->class_name.num_bytes == 0);
	check_text(&function->name, function->name_text, WIRE_SCRIPT_NAME_BYTES);
	check_text(&function->file, function->file_text, WIRE_SCRIPT_FILE_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input = bytes_of(data, size);
	struct scene scene = {.layout = take_layout(&input)};

	for (size_t i = 0; i < ARRAY_LENGTH(scene.registers); i++)
		take_word(&input, &scene.registers[i]);
	take_words(&input, &scene);
	scene.frames = allocate(WIRE_MAX_RUNTIME_FRAMES * sizeof(*scene.frames));
	scene.function = allocate(sizeof(*scene.function));
	walk_all(&scene);
	check_frames(&scene);
	for (uint32_t i = 0; i < scene.walk.num_frames && i < MAX_CODES; i++)
		check_function(&scene, &scene.frames[i]);
	free(scene.words);
	free(scene.frames);
	free(scene.function);
	return 0;
}
