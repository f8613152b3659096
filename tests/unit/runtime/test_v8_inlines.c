/* Functions that were inlined into optimized code, in a memory that changes. */
#include "runtime/v8_inlines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/attributes.h"

/* clang-format off */
#include "v8_layouts.h"
#include "v8_optimized.h"
#include "unit.h"
/* clang-format on */

#define MEMORY       0x2a0000000000ull
#define MEMORY_BYTES 0x60000
/* Maps. */
#define STREAM_MAP (MEMORY + 0x100)
#define SHARED_MAP (MEMORY + 0x200)
#define STRING_MAP (MEMORY + 0x300)
#define ARRAY_MAP  (MEMORY + 0x400)
/* Functions, by their literals, with their names behind them. */
#define FUNCTION(number) (MEMORY + 0x1000 + 0x100ull * (number))
#define NAME_OFFSET      0x80
#define NUM_FUNCTIONS    10
#define WRAPPER          (MEMORY + 0x2000)
#define CODE             (MEMORY + 0x3000)
#define DEOPT_DATA       (MEMORY + 0x4000)
#define LITERALS         (MEMORY + 0x5000)
#define TRANSLATIONS     (MEMORY + 0x6000)
#define POSITIONS        (MEMORY + 0x7000)
#define INLININGS        (MEMORY + 0x8000)
/* Its head is on another page than its calls. */
#define START      (MEMORY + 0x3f000)
#define CODE_BYTES 0x300
#define EXITS      0x2b4
#define NUM_EAGER  14
#define STRING     0x28 /* sequential, of one byte a character */

/* Calls in outer(), by where they return: of itself, and from the two deep(). */
static const struct {
	uint32_t translation;
	uint32_t pc;
} deopts[] = {{27, 0},      {405, 0},     {377, 0},     {363, 0},    {350, 0},
	      {337, 0},     {302, 0},     {244, 0},     {191, 0},    {164, 0},
	      {134, 0},     {122, 0},     {68, 0},      {0, 0},      {145, 0x127},
	      {196, 0x17f}, {307, 0x1d7}, {455, 0x27b}, {479, 0x2a3}};
#define OWN_CALL    0x127
#define DEEP_CALL   0x17f
#define DEEP_NUMBER 15

struct fake_process {
	uint8_t memory[MEMORY_BYTES];
	struct v8_inlines *inlines;
	struct v8_code_layout code;
	struct wire_v8_layout layout;
	uint32_t own; /* literal of the function that the code is of */
	struct wire_v8_function records[8];
	unsigned int num_records;
	unsigned int num_reads;
	uint64_t num_read_bytes;
	/* After so many reads something is written over what is there; 0: nothing. */
	unsigned int change_after;
	uint64_t changed;
	uint64_t change;
};

#include "fake_memory.h"

static int read_scene(void *context, uint64_t address, void *ret, size_t size)
{
	struct fake_process *scene = context;

	assert_in_range(size, 1, 64 << 10);
	scene->num_read_bytes += size;
	if (scene->change_after && scene->num_reads++ == scene->change_after)
		put_word(scene, scene->changed, scene->change);
	return read_memory(scene, ret, size, address);
}

static int add_function(void *context, const struct wire_v8_function *record)
{
	struct fake_process *scene = context;

	assert_true(scene->num_records < ARRAY_LENGTH(scene->records));
	scene->records[scene->num_records++] = *record;
	return 0;
}

static uint64_t integer(uint32_t value)
{
	return (uint64_t)value << 32;
}

static void put_map(struct fake_process *scene, uint64_t map, uint16_t type)
{
	put_number(scene, map + scene->layout.map_type, type, 2);
}

static void put_array(struct fake_process *scene, uint64_t array, const void *bytes, size_t size,
		      uint32_t length)
{
	put_word(scene, array, ARRAY_MAP + 1);
	put_word(scene, array + 8, integer(length));
	put(scene, array + 16, bytes, size);
}

/* A function with a name of its own: "f0" and so on. */
static void put_function(struct fake_process *scene, uint32_t number)
{
	const struct wire_v8_layout *layout = &scene->layout;
	uint64_t function = FUNCTION(number);
	uint64_t name = function + NAME_OFFSET;
	char text[4];

	put_word(scene, function, SHARED_MAP + 1);
	put_word(scene, function + layout->shared_name, name + 1);
	put_number(scene, function + layout->shared_literal, number, 4);
	put_word(scene, name, STRING_MAP + 1);
	put_number(scene, name + layout->string_length, 2, 4);
	snprintf(text, sizeof(text), "f%u", number);
	put(scene, name + layout->string_characters, text, 2);
}

static void put_deopt_data(struct fake_process *scene)
{
	const struct v8_code_layout *code = &scene->code;
	uint64_t words[64] = {0};
	size_t num_words = code->first_deopt + 3 * ARRAY_LENGTH(deopts);

	assert_true(num_words <= ARRAY_LENGTH(words) + 8);
	words[0] = TRANSLATIONS + 1;
	words[code->num_inlined] = integer(4);
	words[code->literals] = LITERALS + 1;
	words[code->optimization_id] = integer(17);
	words[code->shared] = (code->is_shared_wrapped ? WRAPPER : FUNCTION(scene->own)) + 1;
	words[code->inlinings] = INLININGS + 1;
	words[code->exits] = integer(EXITS);
	words[code->exits + 1] = integer(NUM_EAGER);
	words[code->exits + 2] = integer(ARRAY_LENGTH(deopts) - NUM_EAGER);
	put_array(scene, DEOPT_DATA, words, sizeof(words), (uint32_t)num_words);
	for (size_t i = 0; i < ARRAY_LENGTH(deopts); i++) {
		uint64_t at = DEOPT_DATA + 16 + 8 * (code->first_deopt + 3 * i);

		put_word(scene, at, 0);
		put_word(scene, at + 8, integer(deopts[i].translation));
		put_word(scene, at + 16, integer(deopts[i].pc ? deopts[i].pc : UINT32_MAX));
	}
	put_word(scene, WRAPPER + 8, FUNCTION(scene->own) + 1);
}

/* Code that starts there, and all that it says. */
static void put_code(struct fake_process *scene, uint64_t start)
{
	const struct v8_code_layout *code = &scene->code;
	uint64_t stream = start - code->stream_bytes;
	uint64_t object = code->stream_code ? CODE : stream;
	uint8_t instructions[CODE_BYTES];
	uint64_t literals[NUM_FUNCTIONS];

	put_word(scene, stream, STREAM_MAP + 1);
	if (code->stream_code)
		put_word(scene, stream + code->stream_code, object + 1);
	if (code->code_start)
		put_word(scene, object + code->code_start, start);
	put_number(scene, object + code->code_size, CODE_BYTES, 4);
	put_number(scene, object + code->code_flags, 0x1b0u | code->kind_turbofan, 4);
	put_word(scene, object + code->code_deopt_data, DEOPT_DATA + 1);
	put_word(scene, object + code->code_positions, POSITIONS + 1);
	put_deopt_data(scene);
	for (uint32_t i = 0; i < NUM_FUNCTIONS; i++)
		literals[i] = FUNCTION(i) + 1;
	put_array(scene, LITERALS, literals, sizeof(literals), NUM_FUNCTIONS);
	put_array(scene, TRANSLATIONS, v8_translations_11_3, sizeof(v8_translations_11_3),
		  sizeof(v8_translations_11_3));
	put_array(scene, POSITIONS, v8_positions_11_3, sizeof(v8_positions_11_3),
		  sizeof(v8_positions_11_3));
	put_array(scene, INLININGS, v8_inlinings_11_3, sizeof(v8_inlinings_11_3),
		  sizeof(v8_inlinings_11_3));
	/* push %rax, and where callee() starts, cmp $0,%eax */
	memset(instructions, 0x50, sizeof(instructions));
	memcpy(instructions + 0xa0, "\x3d\0\0\0", 5);
	put(scene, start, instructions, sizeof(instructions));
}

static struct fake_process *scene_new(enum v8_layout_version version)
{
	struct fake_process *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->inlines = v8_inlines_new();
	assert_non_null(scene->inlines);
	scene->layout = v8_layouts[version];
	scene->code = v8_code_layouts[version];
	/* The translations of all are those of one version, as the rest does not depend on it. */
	scene->code.translations = V8_TRANSLATIONS_SHARED;
	scene->own = 9;
	put_map(scene, STREAM_MAP, scene->code.stream_type);
	put_map(scene, SHARED_MAP, scene->layout.shared_type);
	put_map(scene, STRING_MAP, STRING);
	for (uint32_t i = 0; i < NUM_FUNCTIONS; i++)
		put_function(scene, i);
	put_code(scene, START);
	return scene;
}

static void scene_free(struct fake_process *scene)
{
	v8_inlines_free(scene->inlines);
	free(scene);
}

/* As the frame of a function says it. */
static uint32_t get_fingerprint(const struct fake_process *scene, uint32_t number)
{
	uint64_t name = FUNCTION(number) + NAME_OFFSET + 1;
	uint64_t hash = name;

	(void)scene;
	hash *= 0x9e3779b97f4a7c15ull;
	hash = (hash ^ hash >> 32 ^ number) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(hash >> 32) | 1;
}

static int find(struct fake_process *scene, uint32_t offset, bool is_call,
		struct v8_inlined_chain *ret)
{
	const struct v8_memory memory = {.read = read_scene, .context = scene};
	const struct v8_code_source source = {
		.code = &scene->code,
		.layout = &scene->layout,
		.memory = &memory,
		.add_function = add_function,
		.context = scene,
	};
	const struct v8_code_place place = {
		.generation = 3,
		.pc = START + offset,
		.function = FUNCTION(scene->own) + 1,
		.pid = 7,
		.fingerprint = get_fingerprint(scene, scene->own),
		.is_call = is_call,
	};

	return v8_inlines_find(scene->inlines, &source, &place, ret);
}

/* functions: by their literals, innermost first. */
static void expect_chain(struct fake_process *scene, uint32_t offset, bool is_call,
			 const uint32_t *functions, uint32_t num_functions)
{
	struct v8_inlined_chain chain;

	assert_int_equal(find(scene, offset, is_call, &chain), 0);
	assert_int_equal(chain.num_functions, num_functions);
	for (uint32_t i = 0; i < num_functions; i++) {
		assert_int_equal(chain.functions[i].address, FUNCTION(functions[i]) + 1);
		assert_int_equal(chain.functions[i].fingerprint,
				 get_fingerprint(scene, functions[i]));
	}
}

static void expect_unknown(struct fake_process *scene, uint32_t offset, bool is_call)
{
	struct v8_inlined_chain chain;

	assert_int_equal(find(scene, offset, is_call, &chain), -ENOENT);
}

#define DEEP   (const uint32_t[]){1, 0}, 2
#define CALLEE (const uint32_t[]){3, 2}, 2
#define NONE   NULL, 0

static void a_call_is_in_the_functions_of_its_translation(void **state _unused_)
{
	for (int version = 0; version < NUM_V8_LAYOUTS; version++) {
		struct fake_process *scene = scene_new((enum v8_layout_version)version);

		expect_chain(scene, DEEP_CALL, true, DEEP);
		expect_chain(scene, OWN_CALL, true, NONE);
		scene_free(scene);
	}
}

/*
 * While code is deoptimized, it runs the exit of a check or a call, which calls. When it is no more valid, what it has called returns to an
 * exit: that may also be where the one before has called.
 */
static void the_exits_are_in_the_functions_of_their_translations(void **state _unused_)
{
	struct fake_process *scene = scene_new(V8_11_3);

	/* The first one is in callee(). */
	expect_chain(scene, EXITS, false, CALLEE);
	expect_chain(scene, EXITS + 3, false, CALLEE);
	expect_chain(scene, EXITS + 4, true, CALLEE);
	/* A call in deep() returns there, or the exit of the other call does. */
	expect_chain(scene, EXITS + 4 * (DEEP_NUMBER + 1), true, DEEP);
	/* In one of the two, outer() calls. */
	expect_unknown(scene, EXITS + 4 * DEEP_NUMBER, true);
	expect_unknown(scene, EXITS + 4 * (DEEP_NUMBER + 2), true);
	/* Of the last one. */
	expect_chain(scene, EXITS + 4 * (uint32_t)ARRAY_LENGTH(deopts), true, NONE);
	/* No call returns into an exit. */
	put(scene, START + 0x2b0, "\xe9\0\0\0\0", 5);
	expect_unknown(scene, EXITS + 4 * DEEP_NUMBER + 1, true);
	scene_free(scene);
}

static void functions_are_sent_once_with_their_names(void **state _unused_)
{
	struct fake_process *scene = scene_new(V8_11_3);

	expect_chain(scene, DEEP_CALL, true, DEEP);
	assert_int_equal(scene->num_records, 2);
	assert_int_equal(scene->records[0].shared, FUNCTION(1) + 1);
	assert_int_equal(scene->records[0].pid, 7);
	assert_int_equal(scene->records[0].generation, 3);
	assert_int_equal(scene->records[0].num_parts, 1);
	assert_memory_equal(scene->records[0].name_text[0], "f1", 2);
	assert_memory_equal(scene->records[1].name_text[0], "f0", 2);
	expect_chain(scene, DEEP_CALL, true, DEEP);
	assert_int_equal(scene->num_records, 2);
	scene_free(scene);
}

static void an_instruction_is_in_the_functions_of_its_position(void **state _unused_)
{
	struct fake_process *scene = scene_new(V8_11_3);

	expect_chain(scene, 0xa0, false, CALLEE);
	expect_chain(scene, 0xc1, false, CALLEE);
	expect_chain(scene, 0xd6, false, (const uint32_t[]){2}, 1);
	expect_chain(scene, 0x30, false, NONE);
	/* A call that nothing is deoptimized at. */
	expect_chain(scene, 0xb0, true, CALLEE);
	scene_free(scene);
}

static void what_comes_behind_a_jump_is_in_the_functions_of_the_jump_to_it(void **state _unused_)
{
	struct fake_process *scene = scene_new(V8_11_3);

	put(scene, START + 0xb0, "\xeb\x10", 2);
	expect_chain(scene, 0xb0, false, CALLEE);
	expect_unknown(scene, 0xb3, false);
	/* Behind the last position, too. */
	put(scene, START + 0x290, "\xeb\x10", 2);
	expect_unknown(scene, 0x293, false);
	scene_free(scene);
	scene = scene_new(V8_11_3);
	/* jae in leaf() leads behind both: 0xd8 to 0x292 */
	put(scene, START + 0xd8, "\x0f\x83\xb4\x01\0\0", 6);
	put(scene, START + 0x290, "\xeb\x10", 2);
	expect_chain(scene, 0x293, false, (const uint32_t[]){2}, 1);
	expect_chain(scene, 0x294, true, (const uint32_t[]){2}, 1);
	scene_free(scene);
}

/* Without a comparison that has a position, there are only those of calls. */
static void positions_of_calls_say_nothing_of_other_instructions(void **state _unused_)
{
	struct fake_process *scene = scene_new(V8_11_3);

	put(scene, START + 0xa0, "PPPPP", 5);
	expect_unknown(scene, 0xa8, false);
	expect_unknown(scene, 0xb0, true);
	expect_chain(scene, DEEP_CALL, true, DEEP);
	scene_free(scene);
}

static void code_of_another_function_says_nothing(void **state _unused_)
{
	struct fake_process *scene = scene_new(V8_11_3);

	scene->own = 8;
	expect_unknown(scene, DEEP_CALL, true);
	/* It has come to be its own. */
	put_deopt_data(scene);
	put_word(scene, LITERALS + 16 + 8 * 8, FUNCTION(9) + 1);
	put_word(scene, LITERALS + 16 + 8 * 9, FUNCTION(8) + 1);
	expect_chain(scene, DEEP_CALL, true, DEEP);
	scene_free(scene);
}

static void a_translation_of_another_function_says_nothing(void **state _unused_)
{
	struct fake_process *scene = scene_new(V8_11_3);

	put_word(scene, LITERALS + 16 + 8 * 8, FUNCTION(9) + 1);
	put_word(scene, LITERALS + 16 + 8 * 9, FUNCTION(8) + 1);
	expect_unknown(scene, DEEP_CALL, true);
	scene_free(scene);
}

static void a_function_inlined_into_itself_is_the_frames_own(void **state _unused_)
{
	struct fake_process *scene = scene_new(V8_11_3);

	/* mid() */
	put_number(scene, INLININGS + 16 + 8, UINT32_MAX, 4);
	put(scene, START + 0x1f6, "PPPPP", 5);
	expect_chain(scene, 0x1f6, false, (const uint32_t[]){9}, 1);
	assert_int_equal(scene->num_records, 0);
	scene_free(scene);
}

static void nothing_is_inlined_into_other_code(void **state _unused_)
{
	struct fake_process *scene = scene_new(V8_11_3);

	put_number(scene, CODE + scene->code.code_flags, 11, 4);
	expect_chain(scene, DEEP_CALL, true, NONE);
	scene_free(scene);
	scene = scene_new(V8_11_3);
	put_word(scene, DEOPT_DATA + 16 + 8 * scene->code.num_inlined, 0);
	expect_chain(scene, DEEP_CALL, true, NONE);
	expect_chain(scene, 0xa0, false, NONE);
	scene_free(scene);
}

/* Of Maglev, a version whose tables are not known says nothing of calls. */
static void calls_of_maglev_are_known_by_its_table(void **state _unused_)
{
	static const uint8_t table[] = {
		9, 0, 0, 0, 1, 0, 0, 0, 0xa3, 0, 0, 0, 4, 0, 0, 0, 0x7f, 0x01, DEEP_NUMBER + 1,
		0, 0, 0, 0};
	struct fake_process *scene = scene_new(V8_13_6);

	put_number(scene, CODE + scene->code.code_flags, scene->code.kind_maglev, 4);
	put_number(scene, CODE + scene->code.code_size + 4, sizeof(table), 4);
	put(scene, START + CODE_BYTES, table, sizeof(table));
	put(scene, START + 0xa0, "PPPPP", 5);
	expect_chain(scene, DEEP_CALL, true, DEEP);
	expect_unknown(scene, 0x1d7, true);
	scene_free(scene);
	scene = scene_new(V8_11_3);
	put_number(scene, CODE + scene->code.code_flags, scene->code.kind_maglev, 4);
	put(scene, START + 0xa0, "PPPPP", 5);
	expect_unknown(scene, 0x1d7, true);
	scene_free(scene);
}

static void what_is_not_there_says_nothing(void **state _unused_)
{
	static const uint64_t words[] = {
		START - 16,              /* the map of the object with instructions */
		START - 8,               /* the code object */
		CODE + 40,               /* where it starts */
		CODE + 16,               /* the deoptimization data */
		CODE + 24,               /* the positions */
		DEOPT_DATA + 8,          /* their length */
		DEOPT_DATA + 16,         /* the translations */
		DEOPT_DATA + 16 + 8 * 2, /* the literals */
		DEOPT_DATA + 16 + 8 * 6, /* the function */
		DEOPT_DATA + 16 + 8 * 7, /* the inlinings */
		DEOPT_DATA + 16 + 8 * 9, /* the number of eager deoptimizations */
		LITERALS + 8,            /* the length of the literals */
		LITERALS + 16,           /* mid() */
		FUNCTION(1),             /* the map of deep() */
		TRANSLATIONS + 8,        /* the length of the translations */
	};
	static const uint64_t changes[] = {0, MEMORY + MEMORY_BYTES + 1, UINT64_MAX};

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		for (size_t k = 0; k < ARRAY_LENGTH(changes); k++) {
			struct fake_process *scene = scene_new(V8_11_3);

			put_word(scene, words[i], changes[k]);
			expect_unknown(scene, DEEP_CALL, true);
			scene_free(scene);
		}
}

/* Nothing that is read while code is replaced is of the new code, or half of each. */
static void code_that_changes_while_it_is_read_says_nothing_wrong(void **state _unused_)
{
	static const uint64_t words[] = {
		START - 8,
		CODE + 40,
		CODE + 16,
		DEOPT_DATA + 16 + 8 * 5, /* the number of the optimization */
		DEOPT_DATA + 16 + 8 * 2,
		LITERALS + 16,
		LITERALS + 24,
	};

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		for (unsigned int after = 1; after < 60; after++) {
			struct fake_process *scene = scene_new(V8_11_3);
			struct v8_inlined_chain chain;
			int err;

			scene->change_after = after;
			scene->changed = words[i];
			/* Two functions change their places. */
			scene->change = words[i] >= LITERALS && words[i] < TRANSLATIONS
						? FUNCTION(5) + 1
						: integer(18);
			err = find(scene, DEEP_CALL, true, &chain);
			assert_true(err == 0 || err == -ENOENT);
			for (uint32_t k = 0; !err && k < chain.num_functions; k++) {
				uint64_t right = FUNCTION(1 - k) + 1;

				/* A literal that was another one before it was read is that. */
				if (chain.functions[k].address != FUNCTION(5) + 1)
					assert_int_equal(chain.functions[k].address, right);
			}
			scene_free(scene);
		}
}

static void code_of_an_unknown_build_says_nothing(void **state _unused_)
{
	struct fake_process *scene = scene_new(V8_11_3);

	scene->code = (struct v8_code_layout){0};
	expect_unknown(scene, DEEP_CALL, true);
	assert_int_equal(scene->num_reads, 0);
	scene_free(scene);
}

/* Neither what is known nor what is not is read again with each stack. */
static void code_is_read_once(void **state _unused_)
{
	struct fake_process *scene = scene_new(V8_11_3);
	unsigned int num_reads;

	scene->change_after = UINT32_MAX;
	expect_chain(scene, DEEP_CALL, true, DEEP);
	num_reads = scene->num_reads;
	expect_chain(scene, DEEP_CALL, true, DEEP);
	expect_chain(scene, OWN_CALL, true, NONE);
	assert_int_equal(scene->num_reads, num_reads);
	scene_free(scene);
	scene = scene_new(V8_11_3);
	scene->change_after = UINT32_MAX;
	put_word(scene, START - 8, 0);
	expect_unknown(scene, DEEP_CALL, true);
	num_reads = scene->num_reads;
	expect_unknown(scene, DEEP_CALL, true);
	assert_int_equal(scene->num_reads, num_reads);
	scene_free(scene);
}

/* A process without any code that is looked for everywhere does not take the recorder's time for ever. */
static void what_is_read_of_a_process_is_bounded(void **state _unused_)
{
	struct fake_process *scene = scene_new(V8_11_3);
	uint64_t num_bytes = 0;
	uint32_t offset = 0;

	scene->change_after = UINT32_MAX;
	put_map(scene, STREAM_MAP, 1);
	do {
		num_bytes = scene->num_read_bytes;
		expect_unknown(scene, ++offset, false);
	} while (scene->num_read_bytes > num_bytes);
	assert_in_range(num_bytes, V8_INLINES_READ_MAX / 4, 2ull * V8_INLINES_READ_MAX);
	scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_is_in_the_functions_of_its_translation),
		cmocka_unit_test(the_exits_are_in_the_functions_of_their_translations),
		cmocka_unit_test(functions_are_sent_once_with_their_names),
		cmocka_unit_test(an_instruction_is_in_the_functions_of_its_position),
		cmocka_unit_test(what_comes_behind_a_jump_is_in_the_functions_of_the_jump_to_it),
		cmocka_unit_test(positions_of_calls_say_nothing_of_other_instructions),
		cmocka_unit_test(code_of_another_function_says_nothing),
		cmocka_unit_test(a_translation_of_another_function_says_nothing),
		cmocka_unit_test(a_function_inlined_into_itself_is_the_frames_own),
		cmocka_unit_test(nothing_is_inlined_into_other_code),
		cmocka_unit_test(calls_of_maglev_are_known_by_its_table),
		cmocka_unit_test(what_is_not_there_says_nothing),
		cmocka_unit_test(code_that_changes_while_it_is_read_says_nothing_wrong),
		cmocka_unit_test(code_of_an_unknown_build_says_nothing),
		cmocka_unit_test(code_is_read_once),
		cmocka_unit_test(what_is_read_of_a_process_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
