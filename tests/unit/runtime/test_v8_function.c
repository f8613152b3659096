/*
 * V8's functions as the sampling program sends them: names in parts of one and two bytes a character, what is cut or cannot
 * be, and the store.
 */
#include "runtime/v8_function.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/text.h"
#include "runtime/v8_source.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

struct scene {
	struct v8_functions *functions;
	struct wire_v8_function record;
};

static void put_text(struct wire_v8_text *text, uint8_t *place, uint16_t is_wide, const void *bytes,
		     size_t size)
{
	text->is_wide = is_wide;
	text->num_bytes = (wire_u16)size;
	text->length = (wire_u32)(size / (1u + is_wide));
	memcpy(place, bytes, size);
}

static void add_part(struct scene *scene, uint16_t is_wide, const void *bytes, size_t size)
{
	struct wire_v8_function *record = &scene->record;

	assert_in_range(record->num_parts, 0, WIRE_V8_NAME_PARTS - 1);
	put_text(&record->name[record->num_parts], record->name_text[record->num_parts], is_wide,
		 bytes, size);
	record->num_parts++;
}

static void put_name(struct scene *scene, const char *name)
{
	scene->record.num_parts = 0;
	add_part(scene, 0, name, strlen(name));
}

static void put_wide_name(struct scene *scene, const uint16_t *units, size_t num_units)
{
	scene->record.num_parts = 0;
	add_part(scene, 1, units, num_units * sizeof(*units));
}

static void put_file(struct scene *scene, const char *file)
{
	put_text(&scene->record.file, scene->record.file_text, 0, file, strlen(file));
}

static void lose_name(struct scene *scene)
{
	scene->record.num_parts = 0;
	scene->record.has_more = 1;
}

static void lose_file(struct scene *scene)
{
	scene->record.file = (struct wire_v8_text){0};
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	*state = scene;
	scene->functions = v8_functions_new();
	assert_non_null(scene->functions);
	scene->record = (struct wire_v8_function){
		.pid = 12,
		.generation = 3,
		.shared = 0x2a0012345679,
		.fingerprint = 0xabcd,
	};
	put_name(scene, "parse");
	put_file(scene, "/srv/parser.js");
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	v8_functions_free(scene->functions);
	free(scene);
	return 0;
}

static const struct v8_function *find(const struct scene *scene)
{
	const struct wire_v8_function *record = &scene->record;

	return v8_functions_find(scene->functions, record->pid, record->generation, record->shared,
				 record->fingerprint);
}

static const struct v8_function *add(const struct scene *scene)
{
	const struct v8_function *function;

	assert_int_equal(v8_functions_add(scene->functions, &scene->record, V8_NO_SOURCE), 0);
	function = find(scene);
	assert_non_null(function);
	return function;
}

static const char *add_name(struct scene *scene)
{
	scene->record.pid++;
	return add(scene)->name;
}

static void a_function_is_found_with_all_that_was_sent(void **state)
{
	struct scene *scene = *state;
	const struct v8_function *function = add(scene);

	assert_string_equal(function->name, "parse");
	assert_string_equal(function->file, "/srv/parser.js");
	assert_false(function->is_builtin);
	assert_false(function->is_name_missing);
	assert_int_equal(function->pid, 12);
	assert_int_equal(function->generation, 3);
	assert_int_equal(function->address, 0x2a0012345679);
	assert_int_equal(function->fingerprint, 0xabcd);
}

static void a_function_of_v8_itself_has_no_file(void **state)
{
	struct scene *scene = *state;

	scene->record.is_builtin = 1;
	lose_file(scene);
	assert_true(add(scene)->is_builtin);
	assert_string_equal(find(scene)->name, "parse");
	assert_string_equal(find(scene)->file, "");
}

static void a_function_says_where_it_starts(void **state)
{
	struct scene *scene = *state;

	scene->record.position = 700;
	scene->record.line = 31;
	scene->record.first_line = (uint32_t)-2;
	assert_int_equal(add(scene)->position, 700);
	assert_int_equal(find(scene)->line, 31);
	assert_int_equal(find(scene)->first_line, -2);
	assert_int_equal(find(scene)->source, V8_NO_SOURCE);
}

static void what_says_where_it_starts_may_come_later(void **state)
{
	struct scene *scene = *state;

	scene->record.position = WIRE_V8_NO_POSITION;
	(void)add(scene);
	scene->record.position = 700;
	scene->record.first_line = 5;
	assert_int_equal(v8_functions_add(scene->functions, &scene->record, 3), 0);
	assert_int_equal(find(scene)->position, 700);
	assert_int_equal(find(scene)->source, 3);
	assert_int_equal(find(scene)->first_line, 5);
	/* What is known stays. */
	scene->record.position = WIRE_V8_NO_POSITION;
	(void)add(scene);
	assert_int_equal(find(scene)->position, 700);
	assert_int_equal(find(scene)->source, 3);
	/* As does a line that was counted, which needs no source. */
	scene->record.line = 41;
	(void)add(scene);
	assert_int_equal(find(scene)->line, 41);
	scene->record.line = 0;
	assert_int_equal(v8_functions_add(scene->functions, &scene->record, 4), 0);
	assert_int_equal(find(scene)->line, 41);
}

/* Addresses are used again: by another process, by another program of it, and for another function. */
static void no_other_one_is_taken_for_it(void **state)
{
	struct scene *scene = *state;
	const struct wire_v8_function *record = &scene->record;
	uint32_t pid = record->pid, fingerprint = record->fingerprint;
	uint64_t generation = record->generation, address = record->shared;

	assert_null(find(scene));
	(void)add(scene);
	assert_non_null(v8_functions_find(scene->functions, pid, generation, address, fingerprint));
	assert_null(v8_functions_find(scene->functions, pid + 1, generation, address, fingerprint));
	assert_null(v8_functions_find(scene->functions, pid, generation + 1, address, fingerprint));
	assert_null(v8_functions_find(scene->functions, pid, generation, address + 8, fingerprint));
	assert_null(v8_functions_find(scene->functions, pid, generation, address, fingerprint + 2));
}

/* As of processes that one was forked from: each says it of itself. */
static void two_processes_have_each_their_own(void **state)
{
	struct scene *scene = *state;
	const struct v8_function *function;

	(void)add(scene);
	scene->record.pid = 13;
	put_name(scene, "stringify");
	put_file(scene, "/srv/other.js");
	assert_string_equal(add(scene)->name, "stringify");
	assert_string_equal(find(scene)->file, "/srv/other.js");
	function = v8_functions_find(scene->functions, 12, 3, scene->record.shared, 0xabcd);
	assert_non_null(function);
	assert_string_equal(function->name, "parse");
	assert_string_equal(function->file, "/srv/parser.js");
}

static void parts_of_a_name_follow_each_other(void **state)
{
	static const uint16_t wide[] = {0x434, 0x43e};
	struct scene *scene = *state;

	put_name(scene, "Module");
	add_part(scene, 0, ".", 1);
	add_part(scene, 0, "_extensions", 11);
	add_part(scene, 0, "..js", 4);
	assert_string_equal(add_name(scene), "Module._extensions..js");

	put_name(scene, "get ");
	add_part(scene, 1, wide, sizeof(wide));
	add_part(scene, 0, "\xe9", 1);
	assert_string_equal(add_name(scene), "get доé");
}

static void what_lies_behind_the_parts_is_not_taken(void **state)
{
	struct scene *scene = *state;

	add_part(scene, 0, "other", 5);
	scene->record.name[1].num_bytes = UINT16_MAX;
	scene->record.num_parts = 1;
	memset(scene->record.name_text[0] + 5, 'x', WIRE_V8_PART_BYTES - 5);
	memset(scene->record.file_text + 14, 'x', WIRE_V8_FILE_BYTES - 14);
	assert_string_equal(add(scene)->name, "parse");
	assert_string_equal(find(scene)->file, "/srv/parser.js");
}

static void a_function_may_have_no_name(void **state)
{
	struct scene *scene = *state;

	scene->record.num_parts = 0;
	assert_string_equal(add(scene)->name, "");
	assert_false(find(scene)->is_name_missing);
}

static void characters_of_one_byte_are_latin_1(void **state)
{
	struct scene *scene = *state;

	put_name(scene, "a\xe9z\xff\x80");
	put_file(scene, "/caf\xe9.js");
	assert_string_equal(add(scene)->name, "aézÿ\xc2\x80");
	assert_string_equal(find(scene)->file, "/café.js");
}

static void characters_of_two_bytes_are_utf_16(void **state)
{
	static const struct {
		uint16_t units[4];
		size_t num_units;
		const char *name;
	} cases[] = {
		{{'a', 0x436}, 2, "aж"},
		{{0x20ac, 0xffff}, 2, "€\xef\xbf\xbf"},
		{{'a', 0xd83d, 0xdc0d, 'b'}, 4, "a🐍b"},
		{{0xd800, 0xdc00, 0xdbff, 0xdfff}, 4, "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		put_wide_name(scene, cases[i].units, cases[i].num_units);
		put_text(&scene->record.file, scene->record.file_text, 1, cases[i].units,
			 2 * cases[i].num_units);
		assert_string_equal(add_name(scene), cases[i].name);
		assert_string_equal(find(scene)->file, cases[i].name);
	}
}

static void half_a_pair_is_no_character(void **state)
{
	static const struct {
		uint16_t units[4];
		size_t num_units;
		const char *name;
	} cases[] = {
		{{0xd83d}, 1, "�"},
		{{0xdc0d}, 1, "�"},
		{{'a', 0xd83d, 'b'}, 3, "a�b"},
		{{'a', 0xdc0d, 'b'}, 3, "a�b"},
		{{0xdc0d, 0xd83d}, 2, "��"},
		{{0xd83d, 0xd83d, 0xdc0d}, 3, "�🐍"},
		{{0xd83d, 0xdc0d, 0xdc0d}, 3, "🐍�"},
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		put_wide_name(scene, cases[i].units, cases[i].num_units);
		assert_string_equal(add_name(scene), cases[i].name);
	}
	/* The other half lies behind the end. */
	put_wide_name(scene, (const uint16_t[]){0xd83d, 0xdc0d}, 2);
	scene->record.name[0].num_bytes = 2;
	scene->record.name[0].length = 1;
	assert_string_equal(add_name(scene), "�");
}

/* A line of folded text stays one, and a terminal does as it likes. */
static void control_characters_become_blanks(void **state)
{
	static const uint16_t wide[] = {'a', '\n', 0, 0x1b, 0x7f, 'b'};
	struct scene *scene = *state;

	scene->record.num_parts = 0;
	add_part(scene, 0, "a\nb\0c\x1b[1m\x7f", 10);
	put_file(scene, "<a\r\n>");
	assert_string_equal(add_name(scene), "a b c [1m ");
	assert_string_equal(find(scene)->file, "<a  >");
	put_wide_name(scene, wide, ARRAY_LENGTH(wide));
	assert_string_equal(add_name(scene), "a    b");
}

static void what_was_cut_ends_with_an_ellipsis(void **state)
{
	static const uint16_t wide[] = {'a', 0x436};
	struct scene *scene = *state;

	scene->record.name[0].length = 6;
	scene->record.file.length = UINT32_MAX;
	assert_string_equal(add_name(scene), "parse…");
	assert_string_equal(find(scene)->file, "/srv/parser.js…");

	put_wide_name(scene, wide, ARRAY_LENGTH(wide));
	scene->record.name[0].length = 3;
	assert_string_equal(add_name(scene), "aж…");
}

static void a_name_ends_with_the_part_that_was_cut(void **state)
{
	struct scene *scene = *state;

	add_part(scene, 0, ".second", 7);
	add_part(scene, 0, ".third", 6);
	scene->record.name[1].length = 400;
	assert_string_equal(add_name(scene), "parse.second…");
	scene->record.name[0].length = 400;
	assert_string_equal(add_name(scene), "parse…");
}

static void a_name_with_more_parts_ends_with_an_ellipsis(void **state)
{
	struct scene *scene = *state;

	scene->record.has_more = 1;
	assert_string_equal(add_name(scene), "parse…");
	assert_false(find(scene)->is_name_missing);
	/* But only once. */
	scene->record.name[0].length = 400;
	assert_string_equal(add_name(scene), "parse…");
}

/* Nothing of it has come: there is no start of which an ellipsis says that it goes on. */
static void a_name_that_could_not_be_read_is_missing(void **state)
{
	struct scene *scene = *state;

	lose_name(scene);
	assert_string_equal(add_name(scene), "");
	assert_true(find(scene)->is_name_missing);
	scene->record.file.num_bytes = 0;
	assert_string_equal(add_name(scene), "");
	assert_string_equal(find(scene)->file, "");
}

static void as_much_as_is_sent_is_taken(void **state)
{
	char expected[WIRE_V8_NAME_PARTS * WIRE_V8_PART_BYTES + 1];
	struct scene *scene = *state;

	memset(expected, 'n', sizeof(expected) - 1);
	expected[sizeof(expected) - 1] = '\0';
	scene->record.num_parts = 0;
	for (size_t i = 0; i < WIRE_V8_NAME_PARTS; i++)
		add_part(scene, 0, expected, WIRE_V8_PART_BYTES);
	put_text(&scene->record.file, scene->record.file_text, 0, expected, WIRE_V8_FILE_BYTES);
	assert_string_equal(add(scene)->name, expected);
	expected[WIRE_V8_FILE_BYTES] = '\0';
	assert_string_equal(find(scene)->file, expected);
}

static void a_record_that_cannot_be_is_refused(void **state)
{
	struct scene *scene = *state;
	struct wire_v8_function good;

	add_part(scene, 0, ".second", 7);
	good = scene->record;
	for (unsigned fault = 0; fault < 14; fault++) {
		struct wire_v8_function *record = &scene->record;

		*record = good;
		switch (fault) {
		case 0:
			record->num_parts = WIRE_V8_NAME_PARTS + 1;
			break;
		case 1:
			record->num_parts = UINT8_MAX;
			break;
		case 2:
			record->name[0].num_bytes = record->name[0].length = WIRE_V8_PART_BYTES + 1;
			break;
		case 3:
			record->name[1].num_bytes = UINT16_MAX;
			record->name[1].length = UINT32_MAX;
			break;
		case 4:
			record->file.num_bytes = record->file.length = WIRE_V8_FILE_BYTES + 1;
			break;
		case 5:
			record->file.num_bytes = UINT16_MAX;
			record->file.length = UINT32_MAX;
			break;
		case 6:
			record->name[0].is_wide = 2;
			record->name[0].num_bytes = 3;
			break;
		case 7:
			record->name[1].is_wide = UINT16_MAX;
			break;
		case 8:
			record->file.is_wide = 2;
			record->file.num_bytes = 12;
			break;
		case 9: /* half a character */
			record->name[1].is_wide = 1;
			record->name[1].num_bytes = 7;
			break;
		case 10:
			record->file.is_wide = 1;
			record->file.num_bytes = 13;
			break;
		case 11: /* more than the whole string has */
			record->name[0].length = 4;
			break;
		case 12:
			record->file.length = 0;
			break;
		case 13:
			record->name[1].is_wide = 1;
			record->name[1].num_bytes = 6;
			record->name[1].length = 2;
			break;
		}
		assert_int_equal(v8_functions_add(scene->functions, record, V8_NO_SOURCE), -EINVAL);
		assert_null(find(scene));
	}
	scene->record = good;
	(void)add(scene);
	scene->record.num_parts = UINT8_MAX; /* of one that is known neither */
	assert_int_equal(v8_functions_add(scene->functions, &scene->record, V8_NO_SOURCE), -EINVAL);
	assert_string_equal(find(scene)->name, "parse.second");
}

/* A page was not there the first time, another one the second time. */
static void what_was_not_read_before_is_completed(void **state)
{
	struct scene *scene = *state;
	const struct wire_v8_function whole = scene->record;

	lose_name(scene);
	lose_file(scene);
	assert_string_equal(add(scene)->name, "");
	assert_string_equal(find(scene)->file, "");
	assert_true(find(scene)->is_name_missing);

	scene->record = whole;
	lose_file(scene);
	assert_string_equal(add(scene)->name, "parse");
	assert_string_equal(find(scene)->file, "");
	assert_false(find(scene)->is_name_missing);

	scene->record = whole;
	lose_name(scene);
	assert_string_equal(add(scene)->name, "parse");
	assert_string_equal(find(scene)->file, "/srv/parser.js");
	assert_false(find(scene)->is_name_missing);

	/* The file first. */
	scene->record.pid++;
	assert_string_equal(add(scene)->name, "");
	scene->record = whole;
	scene->record.pid++;
	lose_file(scene);
	assert_string_equal(add(scene)->name, "parse");
	assert_string_equal(find(scene)->file, "/srv/parser.js");
	assert_false(find(scene)->is_name_missing);
}

static void what_is_known_stays_so(void **state)
{
	struct scene *scene = *state;

	(void)add(scene);
	put_name(scene, "other");
	put_file(scene, "/other.js");
	assert_string_equal(add(scene)->name, "parse");
	assert_string_equal(find(scene)->file, "/srv/parser.js");

	/* That it has no name is known as well. */
	scene->record.pid++;
	scene->record.num_parts = 0;
	lose_file(scene);
	assert_string_equal(add(scene)->name, "");
	put_name(scene, "other");
	put_file(scene, "/other.js");
	assert_string_equal(add(scene)->name, "");
	assert_string_equal(find(scene)->file, "/other.js");
}

/* Its script was not there the first time. */
static void that_it_is_of_v8_itself_is_completed(void **state)
{
	struct scene *scene = *state;

	lose_file(scene);
	assert_false(add(scene)->is_builtin);
	scene->record.is_builtin = 1;
	assert_true(add(scene)->is_builtin);
}

static void the_number_of_functions_is_bounded(void **state)
{
	struct scene *scene = *state;
	const uint64_t first = scene->record.shared;
	uint32_t num_functions = 0;
	int err;

	while (!(err = v8_functions_add(scene->functions, &scene->record, V8_NO_SOURCE))) {
		num_functions++;
		scene->record.shared += 16;
		assert_true(num_functions <= V8_FUNCTIONS_MAX);
	}
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(num_functions, V8_FUNCTIONS_MAX);
	assert_null(find(scene));
	scene->record.shared = first;
	assert_string_equal(add(scene)->name, "parse");
}

/* One of V8 itself is known, though it has no file that could be. */
static void what_is_known_needs_no_more_room(void **state)
{
	struct scene *scene = *state;
	const struct wire_v8_function script = scene->record;
	struct wire_v8_function builtin;

	scene->record.pid++;
	scene->record.is_builtin = 1;
	lose_file(scene);
	builtin = scene->record;
	(void)add(scene);
	scene->record = script;
	while (!v8_functions_add(scene->functions, &scene->record, V8_NO_SOURCE))
		scene->record.shared += 16;
	scene->record = builtin;
	assert_true(add(scene)->is_builtin);
}

/* A program may have other names each time. */
static void the_bytes_of_names_are_bounded(void **state)
{
	struct scene *scene = *state;
	uint8_t name[WIRE_V8_PART_BYTES];
	uint32_t num_functions = 0;
	int err;

	memset(name, 0xe9, sizeof(name)); /* é: two bytes each */
	for (;;) {
		snprintf((char *)name, sizeof(name), "%08x", num_functions);
		name[8] = 0xe9;
		scene->record.num_parts = 0;
		for (size_t i = 0; i < WIRE_V8_NAME_PARTS; i++)
			add_part(scene, 0, name, sizeof(name));
		err = v8_functions_add(scene->functions, &scene->record, V8_NO_SOURCE);
		if (err)
			break;
		num_functions++;
		scene->record.shared += 16;
		assert_true(num_functions <= V8_FUNCTIONS_TEXT_MAX / sizeof(name));
	}
	assert_int_equal(err, -ENOSPC);
	assert_true(num_functions >
		    V8_FUNCTIONS_TEXT_MAX / (2 * WIRE_V8_NAME_PARTS * sizeof(name)));
	assert_null(find(scene));
	scene->record.shared -= 16;
	assert_non_null(find(scene));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_function_is_found_with_all_that_was_sent, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_function_of_v8_itself_has_no_file, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_function_says_where_it_starts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_says_where_it_starts_may_come_later, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(no_other_one_is_taken_for_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(two_processes_have_each_their_own, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(parts_of_a_name_follow_each_other, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_lies_behind_the_parts_is_not_taken, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_function_may_have_no_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(characters_of_one_byte_are_latin_1, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(characters_of_two_bytes_are_utf_16, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(half_a_pair_is_no_character, set_up, tear_down),
		cmocka_unit_test_setup_teardown(control_characters_become_blanks, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_was_cut_ends_with_an_ellipsis, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_name_ends_with_the_part_that_was_cut, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_name_with_more_parts_ends_with_an_ellipsis,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_name_that_could_not_be_read_is_missing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(as_much_as_is_sent_is_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_record_that_cannot_be_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_was_not_read_before_is_completed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_known_stays_so, set_up, tear_down),
		cmocka_unit_test_setup_teardown(that_it_is_of_v8_itself_is_completed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_number_of_functions_is_bounded, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_known_needs_no_more_room, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_bytes_of_names_are_bounded, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
