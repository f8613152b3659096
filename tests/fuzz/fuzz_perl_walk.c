/*
 * The walk of Perl's frames in memory that is all somebody else's choice, and what subroutines there say of themselves. The input is
 * in order: a byte's version, and the words of the memory. It starts with PL_curinterp, PL_thr_key, and the thread's own memory, which
 * is filled with what has to be there, and shows an interpreter that follows. What is missing is zero.
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
#include "read_string.h"
#include "require.h"

#define PERL_INLINE static inline
#include "runtime/perl_walk.h"

#define MEMORY        0x7f0000000000ull
#define MAX_WORDS     0x2000
#define UNTOUCHED     0x55
#define MAX_FUNCTIONS 4 /* that are read */

/* Where things are, by words. */
#define KEY_WORD         1
#define THREAD_WORD      2
#define DATA_WORD        (THREAD_WORD + GLIBC_THREAD_DATA / 8)
#define INTERPRETER_WORD 0x80
#define C_STACK          (MEMORY + 0x100) /* what is above it */

enum word_kind { IN_MEMORY, NUMBER, ANY, ZEROS, NUM_WORD_KINDS };

struct scene {
	struct perl_walk walk; /* first: what the walk hands to perl_read() */
	struct wire_perl_layout layout;
	uint64_t *words; /* on the heap, so that no word more can be read */
	size_t num_words;
	/* On the heap and no longer than the walk may write. */
	struct wire_runtime_frame *frames;
	uint32_t most_frames; /* that there were */
	struct wire_script_function *function;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline int perl_read(struct perl_walk *walk, void *ret, wire_u32 bytes, wire_u64 address)
{
	const struct scene *scene = (const struct scene *)walk;
	uint64_t num_bytes = scene->num_words * sizeof(*scene->words);

	memset(ret, 0, bytes); /* as a failed read does in the kernel */
	if (address < MEMORY || bytes > num_bytes || address - MEMORY > num_bytes - bytes)
		return -1;
	memcpy(ret, (const char *)scene->words + (address - MEMORY), bytes);
	return 0;
}

DEFINE_READ_STRING(perl_read_string, perl_walk, perl_read)

static void *allocate(size_t size)
{
	void *allocated = malloc(size);

	require(allocated != NULL);
	memset(allocated, UNTOUCHED, size);
	return allocated;
}

/* Those of a version; an interpreter is shorter than it is. */
static struct wire_perl_layout take_layout(struct bytes *input)
{
	static const struct wire_perl_layout layouts[] = {
		{KEY_WORD * 8, 224, 240, 248, 0},
		{KEY_WORD * 8, 208, 224, 248, 32},
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

/* The input's words come after the thread's. */
static void take_words(struct bytes *input, struct scene *scene)
{
	uint64_t *words = calloc(MAX_WORDS, sizeof(*words));
	size_t num_words = INTERPRETER_WORD;

	require(words != NULL);
	words[0] = MEMORY + INTERPRETER_WORD * 8;
	words[THREAD_WORD] = words[THREAD_WORD + 2] = MEMORY + THREAD_WORD * 8;
	words[DATA_WORD] = 1;
	words[DATA_WORD + 1] = MEMORY + INTERPRETER_WORD * 8;
	while (bytes_left(input) && num_words < MAX_WORDS)
		num_words += take_word(input, &words[num_words]);
	scene->num_words = num_words < MAX_WORDS ? num_words : MAX_WORDS;
	scene->words = realloc(words, scene->num_words * sizeof(*words));
	require(scene->words != NULL);
}

static void walk_all(struct scene *scene)
{
	struct perl_walk *walk = &scene->walk;
	unsigned int num_steps = 0;

	if (perl_walk_start(walk, &scene->layout, MEMORY, MEMORY + THREAD_WORD * 8, C_STACK,
			    scene->frames)) {
		scene->most_frames = walk->num_frames;
		require(walk->num_frames == 0 || walk->end == WIRE_RUNTIME_UNREADABLE);
		return;
	}
	scene->most_frames = walk->num_frames;
	for (bool is_ended = false; !is_ended;) {
		uint32_t num_frames = walk->num_frames;

		require(++num_steps <= PERL_MAX_STEPS);
		is_ended = perl_walk_step(walk, scene->frames);
		/* Where nothing runs, what was taken is none. */
		require(walk->num_frames == num_frames || walk->num_frames == num_frames + 1 ||
			(is_ended && !walk->num_frames && !walk->has_frame));
		require(walk->num_frames <= WIRE_MAX_RUNTIME_FRAMES);
		if (walk->num_frames > scene->most_frames)
			scene->most_frames = walk->num_frames;
	}
	require(walk->end < NUM_WIRE_RUNTIME_ENDS);
}

static void check_frames(const struct scene *scene)
{
	const uint8_t *end = (const uint8_t *)&scene->frames[WIRE_MAX_RUNTIME_FRAMES];

	for (uint32_t i = 0; i < scene->walk.num_frames; i++) {
		const struct wire_runtime_frame *frame = &scene->frames[i];

		require(!(frame->position & WIRE_SCRIPT_NO_FRAME) == (frame->fingerprint != 0));
		require(!(frame->position & WIRE_SCRIPT_MAY_WAIT) ||
			(frame->position & WIRE_RUNTIME_ENTRY_FRAME));
	}
	for (const uint8_t *byte = (const uint8_t *)&scene->frames[scene->most_frames]; byte < end;
	     byte++)
		require(*byte == UNTOUCHED);
}

static void check_text(const struct wire_script_text *text, uint32_t limit)
{
	require(text->num_bytes <= limit && text->num_bytes <= text->length);
}

static void check_function(struct scene *scene, uint32_t number)
{
	const struct wire_runtime_frame *frame = &scene->frames[number];
	struct wire_script_function *function = scene->function;

	if (frame->position & WIRE_SCRIPT_NO_FRAME)
		return;
	perl_read_function_names(&scene->walk, number, frame, function);
	require(function->code == frame->code && function->fingerprint == frame->fingerprint);
	require(function->code_kind < NUM_WIRE_SCRIPT_CODES);
	check_text(&function->class_name, WIRE_SCRIPT_CLASS_BYTES);
	check_text(&function->name, WIRE_SCRIPT_NAME_BYTES);
	check_text(&function->file, WIRE_SCRIPT_FILE_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input = bytes_of(data, size);
	struct scene scene = {.layout = take_layout(&input)};

	take_words(&input, &scene);
	scene.frames = allocate(WIRE_MAX_RUNTIME_FRAMES * sizeof(*scene.frames));
	scene.function = allocate(sizeof(*scene.function));
	walk_all(&scene);
	check_frames(&scene);
	for (uint32_t i = 0; i < scene.walk.num_frames && i < MAX_FUNCTIONS; i++)
		check_function(&scene, i);
	free(scene.words);
	free(scene.frames);
	free(scene.function);
	return 0;
}
