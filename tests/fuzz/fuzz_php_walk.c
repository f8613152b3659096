/*
 * The walk of PHP's frames in memory that is all somebody else's choice, and what functions there say of themselves. The input is
 * in order: a byte's version, two words of registers, and the words of the memory, with executor_globals first. What is missing
 * is zero.
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

#define PHP_INLINE static inline
#include "runtime/php_walk.h"

#define MEMORY        0x7f0000000000ull
#define MAX_WORDS     0x2000
#define UNTOUCHED     0x55
#define MAX_FUNCTIONS 4 /* that are read */

enum word_kind { IN_MEMORY, NUMBER, ANY, ZEROS, NUM_WORD_KINDS };

struct scene {
	struct php_walk walk; /* first: what the walk hands to php_read() */
	struct wire_php_layout layout;
	uint64_t registers[2];
	uint64_t *words; /* on the heap, so that no word more can be read */
	size_t num_words;
	/* On the heap and no longer than the walk may write. */
	struct wire_runtime_frame *frames;
	struct wire_script_function *function;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline int php_read(struct php_walk *walk, void *ret, wire_u32 bytes, wire_u64 address)
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

/* Those of a version; globals start with what the walk asks them for. */
static struct wire_php_layout take_layout(struct bytes *input)
{
	static const struct wire_php_layout layouts[] = {
		{0, 60, 64, 136, 152, 64, 160},
		{0, 68, 72, 144, 160, 56, 152},
		{0, 80, 88, 152, 168, 56, 152},
		{0, 96, 104, 168, 184, 56, 152},
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
	struct php_walk *walk = &scene->walk;
	unsigned int num_steps = 0;

	if (php_walk_start(walk, &scene->layout, MEMORY, scene->registers[0],
			   scene->registers[1])) {
		require(walk->num_frames == 0);
		return;
	}
	for (bool is_ended = false; !is_ended;) {
		uint32_t num_frames = walk->num_frames;

		require(++num_steps <= PHP_MAX_STEPS);
		is_ended = php_walk_step(walk, scene->frames);
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
	require(!php_read_function_names(&scene->walk, frame->code, function));
	require(function->code == frame->code && function->fingerprint == frame->fingerprint);
	require(function->code_kind < NUM_WIRE_SCRIPT_CODES);
	check_text(&function->class_name, function->class_text, WIRE_SCRIPT_CLASS_BYTES);
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
	for (uint32_t i = 0; i < scene.walk.num_frames && i < MAX_FUNCTIONS; i++)
		check_function(&scene, &scene.frames[i]);
	free(scene.words);
	free(scene.frames);
	free(scene.function);
	return 0;
}
