/*
 * Optimized code of V8 in memory that is all somebody else's choice, and changes: whatever it holds, no more of it is read than is said,
 * and a chain of functions has an end.
 *
 * The input is a byte that says which version it is of and whether it is whole code that is changed, and then questions, of which a byte
 * says how many: of each, 16 bits of the instruction's place, a byte of what is asked, and 16 bits and a byte that is written there before;
 * and then what the memory has, one after the other, of which a byte says the kind: 16 bits of an object's place, of an address, of a
 * small integer, or of a type of a map; bytes, and zeros by eight, of which a byte says how many. With the whole code, it is 16 bits of a
 * place and a byte for it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "require.h"
#include "runtime/v8/optimized_code.h"
#include "runtime/v8_inlines.h"
#include "v8_layouts.h"
#include "v8_optimized.h"

#define MEMORY        0x2a0000000000ull
#define MEMORY_BYTES  0x10000
#define MAX_QUESTIONS 16
#define MAX_READS     100000

/* The whole code. */
#define STREAM_MAP   0x100
#define SHARED_MAP   0x200
#define FUNCTION(n)  (0x400 + 0x80 * (n))
#define CODE         0x1000
#define DEOPT_DATA   0x1100
#define LITERALS     0x1400
#define TRANSLATIONS 0x1500
#define POSITIONS    0x1800
#define INLININGS    0x1900
#define START        0x2040
#define NUM_LITERALS 10
#define NUM_DEOPTS   3

enum part { OBJECT, ADDRESS, INTEGER, MAP, BYTES, ZEROS, NUM_PARTS };

struct question {
	uint16_t pc;
	uint8_t what;
	uint16_t changed;
	uint8_t change;
};

struct scene {
	uint8_t *memory; /* on the heap, so that no byte more can be read */
	size_t num_bytes;
	size_t num_reads;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_memory(void *context, uint64_t address, void *ret, size_t size)
{
	struct scene *scene = context;

	require(size > 0 && size <= 64 << 10);
	require(++scene->num_reads <= MAX_READS);
	if (address < MEMORY || size > scene->num_bytes ||
	    address - MEMORY > scene->num_bytes - size)
		return -1;
	memcpy(ret, scene->memory + (address - MEMORY), size);
	return 0;
}

static int add_function(void *context, const struct wire_v8_function *record)
{
	(void)context;
	require(record->type != 0 && record->pid == 1);
	require(record->num_parts <= WIRE_V8_NAME_PARTS);
	return 0;
}

static void add(struct scene *scene, const void *bytes, size_t size)
{
	size_t left = MEMORY_BYTES - scene->num_bytes;

	size = size < left ? size : left;
	if (size)
		memcpy(scene->memory + scene->num_bytes, bytes, size);
	scene->num_bytes += size;
}

static void add_word(struct scene *scene, uint64_t word)
{
	add(scene, &word, sizeof(word));
}

static void add_part(struct scene *scene, struct bytes *input)
{
	static const uint8_t zeros[8 * UINT8_MAX];
	size_t length;

	switch ((enum part)(bytes_u8(input) % NUM_PARTS)) {
	case OBJECT:
		add_word(scene, MEMORY + (bytes_u16(input) & ~7u) + 1);
		break;
	case ADDRESS:
		add_word(scene, MEMORY + bytes_u16(input));
		break;
	case INTEGER:
		add_word(scene, (uint64_t)bytes_u16(input) << 32);
		break;
	case MAP:
		add_word(scene, (uint64_t)bytes_u16(input) << 32);
		break;
	case BYTES:
		length = bytes_u8(input);
		length = length < bytes_left(input) ? length : bytes_left(input);
		add(scene, bytes_take(input, length), length);
		break;
	case ZEROS:
		add(scene, zeros, (size_t)8 * bytes_u8(input));
		break;
	case NUM_PARTS:
		break;
	}
}

static void put(struct scene *scene, size_t at, const void *bytes, size_t size)
{
	memcpy(scene->memory + at, bytes, size);
}

static void put_word(struct scene *scene, size_t at, uint64_t word)
{
	put(scene, at, &word, sizeof(word));
}

static uint64_t object(size_t at)
{
	return MEMORY + at + 1;
}

static void put_array(struct scene *scene, size_t at, const void *bytes, size_t size, size_t length)
{
	put_word(scene, at + 8, (uint64_t)length << 32);
	put(scene, at + 16, bytes, size);
}

static void put_deopt_data(struct scene *scene, const struct v8_code_layout *code)
{
	uint64_t words[32] = {object(TRANSLATIONS)};
	static const uint32_t deopts[NUM_DEOPTS][2] = {{27, 0}, {145, 0x127}, {196, 0x17f}};

	words[code->num_inlined] = 4ull << 32;
	words[code->literals] = object(LITERALS);
	words[code->optimization_id] = 1ull << 32;
	words[code->shared] = object(FUNCTION(9));
	words[code->inlinings] = object(INLININGS);
	words[code->exits] = 0x2b4ull << 32;
	words[code->exits + 1] = 1ull << 32;
	words[code->exits + 2] = 2ull << 32;
	for (size_t i = 0; i < NUM_DEOPTS; i++) {
		words[code->first_deopt + 3 * i + 1] = (uint64_t)deopts[i][0] << 32;
		words[code->first_deopt + 3 * i + 2] = (uint64_t)deopts[i][1] << 32;
	}
	put_array(scene, DEOPT_DATA, words, sizeof(words), code->first_deopt + 3u * NUM_DEOPTS);
}

/* Code as test_v8_inlines.c has it. */
static void put_code(struct scene *scene, const struct v8_code_layout *code,
		     const struct wire_v8_layout *layout)
{
	size_t at = code->stream_code ? CODE : START - code->stream_bytes;
	uint64_t literals[NUM_LITERALS];
	uint32_t half = 0x300;

	scene->num_bytes = MEMORY_BYTES;
	memset(scene->memory, 0x50, MEMORY_BYTES);
	put(scene, STREAM_MAP + layout->map_type, &code->stream_type, 2);
	put(scene, SHARED_MAP + layout->map_type, &layout->shared_type, 2);
	put_word(scene, START - code->stream_bytes, object(STREAM_MAP));
	if (code->stream_code)
		put_word(scene, START - code->stream_bytes + 8u, object(CODE));
	if (code->code_start)
		put_word(scene, at + code->code_start, MEMORY + START);
	put(scene, at + code->code_size, &half, sizeof(half));
	half = code->kind_turbofan;
	put(scene, at + code->code_flags, &half, sizeof(half));
	put_word(scene, at + code->code_deopt_data, object(DEOPT_DATA));
	put_word(scene, at + code->code_positions, object(POSITIONS));
	put_deopt_data(scene, code);
	for (size_t i = 0; i < NUM_LITERALS; i++) {
		literals[i] = object(FUNCTION(i));
		put_word(scene, FUNCTION(i), object(SHARED_MAP));
	}
	/* Where it is wrapped, in itself. */
	put_word(scene, FUNCTION(9) + 8, object(FUNCTION(9)));
	put_array(scene, LITERALS, literals, sizeof(literals), NUM_LITERALS);
	put_array(scene, TRANSLATIONS, v8_translations_11_3, sizeof(v8_translations_11_3),
		  sizeof(v8_translations_11_3));
	put_array(scene, POSITIONS, v8_positions_11_3, sizeof(v8_positions_11_3),
		  sizeof(v8_positions_11_3));
	put_array(scene, INLININGS, v8_inlinings_11_3, sizeof(v8_inlinings_11_3),
		  sizeof(v8_inlinings_11_3));
	put(scene, START + 0xa0, "\x3d\0\0\0", 5);
}

/* Of all functions there the fingerprint is the same: they have the same name and script. */
static uint32_t get_fingerprint(void)
{
	uint64_t word = 0x5050505050505050ull;
	uint64_t hash = (word ^ word << 20) * 0x9e3779b97f4a7c15ull;

	hash = (hash ^ hash >> 32 ^ 0x50505050) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(hash >> 32) | 1;
}

static void ask(struct scene *scene, struct v8_inlines *inlines, const struct v8_code_layout *code,
		const struct wire_v8_layout *layout, const struct question *question)
{
	const struct v8_memory memory = {.read = read_memory, .context = scene};
	const struct v8_code_source source = {
		.code = code, .layout = layout, .memory = &memory, .add_function = add_function};
	const struct v8_code_place place = {
		.generation = question->what >> 1 & 1,
		.pc = MEMORY + question->pc,
		.function = object(FUNCTION(9)),
		.pid = 1,
		.fingerprint = get_fingerprint(),
		.is_call = question->what & 1,
	};
	struct v8_inlined_chain chain;
	int err;

	if (question->changed < scene->num_bytes)
		scene->memory[question->changed] = question->change;
	scene->num_reads = 0;
	err = v8_inlines_find(inlines, &source, &place, &chain);
	require(err == 0 || err == -ENOENT);
	if (!err)
		require(chain.num_functions <= V8_INLINES_DEPTH_MAX);
}

/* The bytes as each of what is decoded. */
static void decode(const uint8_t *data, size_t size)
{
	const struct v8_byte_array bytes = {data, size};
	uint32_t literals[V8_INLINES_DEPTH_MAX];
	uint32_t literal;
	uint32_t start;
	int32_t inlining;

	for (int form = V8_TRANSLATIONS_PLAIN; form <= V8_TRANSLATIONS_BYTECODE; form++) {
		uint32_t num = 0;

		for (uint32_t index = 0; index < size && index < 16; index++)
			if (!v8_translation_read((enum v8_translations)form, &bytes, index,
						 literals, V8_INLINES_DEPTH_MAX, &num))
				require(num <= V8_INLINES_DEPTH_MAX);
	}
	(void)v8_maglev_safepoint_find(&bytes, 16, 0x50, &literal);
	if (!v8_positions_find(&bytes, 0x50, &start, &inlining))
		require(start <= 0x50 && inlining >= V8_NOT_INLINED);
	(void)v8_positions_are_detailed(&bytes, &bytes);
	for (int32_t i = 0; i < 4; i++)
		if (!v8_inlining_get(&bytes, i, &literal, &inlining))
			require(inlining < i);
	for (uint32_t end = 0; end < size && end < 32; end++)
		if (!v8_code_find_source(&bytes, 0, end, &start))
			require(start <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input = bytes_of(data, size);
	struct scene scene = {.memory = malloc(MEMORY_BYTES)};
	struct v8_inlines *inlines = v8_inlines_new();
	struct question questions[MAX_QUESTIONS];
	uint8_t form = bytes_u8(&input);
	enum v8_layout_version version = form % NUM_V8_LAYOUTS;
	struct v8_code_layout code = v8_code_layouts[version];
	bool is_whole = form & 0x80;
	unsigned int num_questions = bytes_u8(&input) % (MAX_QUESTIONS + 1);

	require(scene.memory && inlines);
	decode(data, size);
	for (unsigned int i = 0; i < num_questions; i++) {
		questions[i].pc = bytes_u16(&input);
		questions[i].what = bytes_u8(&input);
		questions[i].changed = bytes_u16(&input);
		questions[i].change = bytes_u8(&input);
	}
	if (is_whole) {
		code.translations = V8_TRANSLATIONS_SHARED;
		put_code(&scene, &code, &v8_layouts[version]);
		while (bytes_left(&input) >= 3) {
			uint16_t at = bytes_u16(&input);

			scene.memory[at] = bytes_u8(&input);
		}
	}
	while (!is_whole && bytes_left(&input) && scene.num_bytes < MEMORY_BYTES)
		add_part(&scene, &input);
	scene.memory = realloc(scene.memory, scene.num_bytes + 1);
	require(scene.memory != NULL);
	for (unsigned int i = 0; i < num_questions; i++)
		ask(&scene, inlines, &code, &v8_layouts[version], &questions[i]);
	v8_inlines_free(inlines);
	free(scene.memory);
	return 0;
}
