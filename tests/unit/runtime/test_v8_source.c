/*
 * Sources of V8's scripts in a memory that changes: their lines, and what is read of them when they are not there any more.
 */
#include "runtime/v8_source.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"

/* clang-format off */
#include "v8_layouts.h"
#include "unit.h"
/* clang-format on */

#define MEMORY       0x2a0000000000ull
#define MEMORY_BYTES 0x100000
#define STRING       (MEMORY + 0x1000)
#define OTHER_STRING (MEMORY + 0x81000)
#define SCRIPT       (MEMORY + 0x100)
#define STRING_MAP   (MEMORY + 0x200)
#define SCRIPT_MAP   (MEMORY + 0x300)
#define TYPE_ONE     0x28 /* sequential, of one byte a character */
#define TYPE_TWO     0x20
#define TYPE_OUTSIDE 0x2a /* external */

/* The text of most: lines of 0, 5, 3 and 4 characters, and the last one without an end. */
#define TEXT "\nfunc \nsit\nrun_ \nend"

struct fake_process {
	uint8_t memory[MEMORY_BYTES];
	struct v8_sources *sources;
	struct v8_memory reader;
	struct wire_v8_function record;
	unsigned int num_reads;
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
	if (scene->change_after && scene->num_reads++ == scene->change_after)
		put_word(scene, scene->changed, scene->change);
	return read_memory(scene, ret, size, address);
}

/* As the sampling program would. */
static void take_hash(struct fake_process *scene)
{
	struct wire_v8_source *source = &scene->record.source;
	uint64_t num_bytes = (uint64_t)source->length << source->is_wide;

	source->hash = 0;
	source->words = (1u << WIRE_V8_SOURCE_WORDS) - 1;
	for (uint32_t i = 0; i < WIRE_V8_SOURCE_WORDS; i++) {
		uint64_t word;

		assert_int_equal(
			read_scene(scene,
				   source->characters + wire_v8_get_source_offset(num_bytes, i),
				   &word, sizeof(word)),
			0);
		source->hash = wire_v8_hash_source(source->hash, word);
	}
}

static void put_string(struct fake_process *scene, uint64_t string, const void *characters,
		       uint32_t length, bool is_wide)
{
	put_word(scene, string, STRING_MAP + 1);
	put_word(scene, string + 8, (uint64_t)length << 32 | 3);
	put(scene, string + 16, characters, (size_t)length << is_wide);
	put_word(scene, STRING_MAP + 12, is_wide ? TYPE_TWO : TYPE_ONE);
}

static void put_source(struct fake_process *scene, const void *characters, uint32_t length,
		       bool is_wide)
{
	put_string(scene, STRING, characters, length, is_wide);
	scene->record.source = (struct wire_v8_source){
		.string = STRING,
		.map = STRING_MAP + 1,
		.characters = STRING + 16,
		.length = length,
		.string_length = length,
		.is_wide = is_wide,
		.length_offset = 12,
	};
	take_hash(scene);
}

static void put_text(struct fake_process *scene, const char *text)
{
	put_source(scene, text, (uint32_t)strlen(text), false);
}

/* The same characters outside of the heap. */
static void move_outside(struct fake_process *scene)
{
	struct wire_v8_source *source = &scene->record.source;

	put_word(scene, STRING_MAP + 12, TYPE_OUTSIDE);
	put(scene, MEMORY + 0x800, TEXT, sizeof(TEXT));
	put_word(scene, STRING + 24, MEMORY + 0x800);
	source->characters = MEMORY + 0x800;
	source->pointer_offset = 24;
}

static int set_up(void **state)
{
	struct fake_process *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->sources = v8_sources_new();
	assert_non_null(scene->sources);
	scene->reader = (struct v8_memory){read_scene, scene};
	scene->record = (struct wire_v8_function){.pid = 12,
						  .generation = 3,
						  .position = 8,
						  .script = SCRIPT + 1,
						  .layout = v8_layouts[V8_11_3]};
	put_word(scene, SCRIPT, SCRIPT_MAP + 1);
	put_word(scene, SCRIPT + 8, STRING + 1);
	put_word(scene, SCRIPT_MAP + 12, v8_layouts[V8_11_3].script_type);
	put_text(scene, TEXT);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct fake_process *scene = *state;

	v8_sources_free(scene->sources);
	free(scene);
	return 0;
}

static uint32_t add(struct fake_process *scene)
{
	uint32_t source = 77;

	assert_int_equal(v8_sources_add(scene->sources, &scene->record, &scene->reader, &source),
			 0);
	return source;
}

static uint32_t get_line(struct fake_process *scene, uint32_t position)
{
	return v8_sources_get_line(scene->sources, add(scene), position);
}

static void characters_have_the_lines_that_they_are_in(void **state)
{
	static const uint32_t lines[] = {1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3,
					 4, 4, 4, 4, 4, 4, 5, 5, 5, 5};
	struct fake_process *scene = *state;

	for (uint32_t i = 0; i < ARRAY_LENGTH(lines); i++)
		assert_int_equal(get_line(scene, i), lines[i]);
	assert_int_equal(get_line(scene, ARRAY_LENGTH(lines)), 0);
	assert_int_equal(get_line(scene, UINT32_MAX), 0);
}

/* As V8 has them: a carriage return alone ends one, as do two characters of Unicode. */
static void lines_end_as_those_of_javascript(void **state)
{
	static const uint16_t wide[] = {'a', 0x2028, 'b', 0x2029, '\r', '\n', 'c', '\n', 0x0a0d};
	static const uint32_t wide_lines[] = {1, 1, 2, 2, 3, 3, 4, 4, 5};
	static const uint32_t lines[] = {1, 1, 1, 2, 2, 3, 3, 4, 5, 5, 5};
	struct fake_process *scene = *state;

	put_text(scene, "a\r\nb\r\r\n\n\x85\x28\r");
	for (uint32_t i = 0; i < ARRAY_LENGTH(lines); i++)
		assert_int_equal(get_line(scene, i), lines[i]);
	put_source(scene, wide, ARRAY_LENGTH(wide), true);
	for (uint32_t i = 0; i < ARRAY_LENGTH(wide_lines); i++)
		assert_int_equal(get_line(scene, i), wide_lines[i]);
}

/* It is read in pieces, and a line may end where one does. */
static void a_long_source_is_read_as_a_whole(void **state)
{
	static char text[200000];
	struct fake_process *scene = *state;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 64 == 63 ? '\n' : i % 64 == 62 ? '\r' : 'x';
	put_source(scene, text, sizeof(text), false);
	for (uint32_t i = 0; i < sizeof(text); i += 21)
		assert_int_equal(get_line(scene, i), 1 + i / 64);
}

static void each_source_is_read_once(void **state)
{
	struct fake_process *scene = *state;
	uint32_t first = add(scene);

	memset(scene->memory, 0, MEMORY_BYTES);
	assert_int_equal(add(scene), first);
	assert_int_equal(v8_sources_get_line(scene->sources, first, 8), 3);
}

static void no_other_one_is_taken_for_it(void **state)
{
	struct fake_process *scene = *state;
	const struct wire_v8_function record = scene->record;

	(void)add(scene);
	memset(scene->memory, 0, MEMORY_BYTES);
	scene->record.pid++;
	assert_int_equal(get_line(scene, 8), 0);
	scene->record = record;
	scene->record.generation++;
	assert_int_equal(get_line(scene, 8), 0);
	scene->record = record;
	scene->record.script += 8;
	assert_int_equal(get_line(scene, 8), 0);
	scene->record = record;
	scene->record.source.hash++;
	assert_int_equal(get_line(scene, 8), 0);
	scene->record = record;
	scene->record.source.words--;
	assert_int_equal(get_line(scene, 8), 0);
	scene->record = record;
	scene->record.source.length--;
	assert_int_equal(get_line(scene, 8), 0);
	scene->record = record;
	assert_int_equal(get_line(scene, 8), 3);
}

static void what_says_no_place_has_no_source(void **state)
{
	struct fake_process *scene = *state;

	scene->record.source.string = 0;
	assert_int_equal(add(scene), V8_NO_SOURCE);
	scene->record.source.string = STRING;
	scene->record.position = WIRE_V8_NO_POSITION;
	assert_int_equal(add(scene), V8_NO_SOURCE);
	assert_int_equal(v8_sources_get_line(scene->sources, V8_NO_SOURCE, 0), 0);
	/* One that says its line needs none. */
	scene->record.position = 8;
	scene->record.line = 3;
	assert_int_equal(add(scene), V8_NO_SOURCE);
}

/* Whatever is there by now: where the string was, where it is said to be, and meanwhile. */
static void what_was_moved_is_found_again(void **state)
{
	struct fake_process *scene = *state;

	put_word(scene, STRING, OTHER_STRING); /* as V8 leaves it */
	assert_int_equal(get_line(scene, 8), 0);
	put_word(scene, SCRIPT + 8, OTHER_STRING + 1);
	put_string(scene, OTHER_STRING, TEXT, sizeof(TEXT) - 1, false);
	assert_int_equal(get_line(scene, 8), 3);
}

static void what_is_found_again_has_to_be_the_same(void **state)
{
	struct fake_process *scene = *state;

	put_word(scene, STRING, 0);
	put_word(scene, SCRIPT + 8, OTHER_STRING + 1);
	put_string(scene, OTHER_STRING, TEXT, sizeof(TEXT) - 1, false);
	put(scene, OTHER_STRING + 16, "x", 1);
	assert_int_equal(get_line(scene, 8), 0);
	put_string(scene, OTHER_STRING, TEXT, sizeof(TEXT) - 2, false);
	assert_int_equal(get_line(scene, 8), 0);
	put_string(scene, OTHER_STRING, TEXT, sizeof(TEXT) - 1, false);
	put_word(scene, SCRIPT_MAP + 12, 999); /* what is there is no script any more */
	assert_int_equal(get_line(scene, 8), 0);
}

static void what_changes_while_it_is_read_is_not_known(void **state)
{
	struct fake_process *scene = *state;

	/* The head, the text, the head. */
	for (unsigned int num_reads = 1; num_reads <= 2; num_reads++) {
		scene->change_after = 0;
		put_text(scene, TEXT);
		put_word(scene, SCRIPT + 8, 0);
		scene->record.script += 8;
		scene->num_reads = 0;
		scene->change_after = num_reads;
		scene->changed = STRING;
		scene->change = OTHER_STRING;
		assert_int_equal(get_line(scene, 8), 0);
	}
}

static void other_characters_are_not_its_own(void **state)
{
	struct fake_process *scene = *state;

	put_word(scene, SCRIPT + 8, 0);
	put(scene, STRING + 16, "x", 1);
	assert_int_equal(get_line(scene, 8), 0);
	put(scene, STRING + 16, TEXT, 1);
	put(scene, STRING + 12, "x", 1); /* the length */
	assert_int_equal(get_line(scene, 8), 0);
	put_text(scene, TEXT);
	assert_int_equal(get_line(scene, 8), 3);
}

static void what_lies_outside_is_known_by_its_string(void **state)
{
	struct fake_process *scene = *state;

	move_outside(scene);
	/* Of a file's pages none need be in memory. */
	scene->record.source.hash = scene->record.source.words = 0;
	assert_int_equal(get_line(scene, 8), 3);

	scene->record.script += 8;
	put_word(scene, STRING + 24, 0); /* as V8 leaves it */
	assert_int_equal(get_line(scene, 8), 0);
}

static void without_words_what_lies_inside_is_not_known(void **state)
{
	struct fake_process *scene = *state;

	scene->record.source.hash = scene->record.source.words = 0;
	assert_int_equal(get_line(scene, 8), 0);
}

static void a_source_may_be_a_part_of_a_string(void **state)
{
	struct fake_process *scene = *state;
	struct wire_v8_source *source = &scene->record.source;

	source->characters += 7;
	source->length -= 7;
	take_hash(scene);
	assert_int_equal(get_line(scene, 3), 1);
	assert_int_equal(get_line(scene, 4), 2);
}

static void what_is_not_there_is_asked_for_some_times(void **state)
{
	struct fake_process *scene = *state;

	put_word(scene, STRING, 0);
	put_word(scene, SCRIPT, 0);
	for (int i = 0; i < V8_SOURCE_ATTEMPTS_MAX; i++)
		assert_int_equal(get_line(scene, 8), 0);
	put_word(scene, STRING, STRING_MAP + 1);
	assert_int_equal(get_line(scene, 8), 0);
}

static void what_nothing_lies_like_is_refused(void **state)
{
	struct fake_process *scene = *state;
	struct wire_v8_source *source = &scene->record.source;
	const struct wire_v8_source good = *source;
	uint32_t ret;

	for (int i = 0; i < 6; i++) {
		*source = good;
		switch (i) {
		case 0:
			source->is_wide = 2;
			break;
		case 1:
			source->length = 7;
			break;
		case 2:
			source->length = source->string_length + 1;
			break;
		case 3:
			source->words = 1u << WIRE_V8_SOURCE_WORDS;
			break;
		case 4:
			source->length_offset = 29;
			break;
		default:
			source->pointer_offset = 25;
			break;
		}
		assert_int_equal(
			v8_sources_add(scene->sources, &scene->record, &scene->reader, &ret),
			-EINVAL);
	}
}

/* A program may say that it has any, as large as numbers go. */
static void what_is_read_is_bounded(void **state)
{
	struct fake_process *scene = *state;
	struct wire_v8_source *source = &scene->record.source;

	source->length = source->string_length = UINT32_MAX;
	assert_int_equal(get_line(scene, 8), 0);
	source->is_wide = 1;
	assert_int_equal(get_line(scene, 8), 0);
	source->is_wide = 0;
	source->length = source->string_length = V8_SOURCE_BYTES_MAX;
	put_word(scene, STRING + 8, (uint64_t)source->length << 32);
	/* Each is tried where it is, and where its script says. */
	for (unsigned int i = 0; i < V8_SOURCES_BYTES_MAX / V8_SOURCE_BYTES_MAX; i++) {
		assert_int_equal(get_line(scene, 8), 0);
		scene->record.pid++;
	}
	/* There is no more to read now. */
	put_text(scene, TEXT);
	assert_int_equal(get_line(scene, 8), 0);
}

static void the_number_of_sources_is_bounded(void **state)
{
	struct fake_process *scene = *state;
	uint32_t num_sources = 0;
	uint32_t ret;
	int err;

	while (!(err = v8_sources_add(scene->sources, &scene->record, &scene->reader, &ret))) {
		scene->record.script += 8;
		num_sources++;
		if (num_sources % V8_SOURCES_OF_PROCESS_MAX == 0)
			scene->record.pid++;
		assert_true(num_sources <= V8_SOURCES_MAX);
	}
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(num_sources, V8_SOURCES_MAX);
	assert_int_equal(ret, V8_NO_SOURCE);
}

static void the_number_of_sources_of_a_process_is_bounded(void **state)
{
	struct fake_process *scene = *state;
	uint32_t ret;

	for (uint32_t i = 0; i < V8_SOURCES_OF_PROCESS_MAX; i++, scene->record.script += 8)
		assert_int_not_equal(add(scene), V8_NO_SOURCE);
	assert_int_equal(v8_sources_add(scene->sources, &scene->record, &scene->reader, &ret),
			 -ENOSPC);
	scene->record.pid++;
	assert_int_equal(get_line(scene, 8), 3);
}

/* A process that says where nothing is is not asked for ever, and others are. */
static void failures_of_a_process_are_bounded(void **state)
{
	struct fake_process *scene = *state;

	scene->record.source.hash++;
	for (uint32_t i = 0; i < V8_SOURCES_FAILURES_MAX; i++, scene->record.script += 8)
		assert_int_equal(get_line(scene, 8), 0);
	scene->record.source.hash--;
	assert_int_equal(get_line(scene, 8), 0);
	scene->record.pid++;
	assert_int_equal(get_line(scene, 8), 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(characters_have_the_lines_that_they_are_in),
		TEST(lines_end_as_those_of_javascript),
		TEST(a_long_source_is_read_as_a_whole),
		TEST(each_source_is_read_once),
		TEST(no_other_one_is_taken_for_it),
		TEST(what_says_no_place_has_no_source),
		TEST(what_was_moved_is_found_again),
		TEST(what_is_found_again_has_to_be_the_same),
		TEST(what_changes_while_it_is_read_is_not_known),
		TEST(other_characters_are_not_its_own),
		TEST(what_lies_outside_is_known_by_its_string),
		TEST(without_words_what_lies_inside_is_not_known),
		TEST(a_source_may_be_a_part_of_a_string),
		TEST(what_is_not_there_is_asked_for_some_times),
		TEST(what_nothing_lies_like_is_refused),
		TEST(what_is_read_is_bounded),
		TEST(the_number_of_sources_is_bounded),
		TEST(the_number_of_sources_of_a_process_is_bounded),
		TEST(failures_of_a_process_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
