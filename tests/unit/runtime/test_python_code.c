/*
 * Code objects as the sampling program sends them: names of every kind, what is cut or no text, and the store.
 */
#include "runtime/python_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/text.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

struct scene {
	struct python_codes *codes;
	struct wire_python_code record;
};

static void put_text(struct wire_python_text *text, uint8_t *place, uint8_t kind, const void *bytes,
		     size_t size)
{
	text->kind = kind;
	text->num_bytes = (wire_u16)size;
	text->length = (wire_u32)(size / kind);
	memcpy(place, bytes, size);
}

static void put_name(struct scene *scene, uint8_t kind, const void *bytes, size_t size)
{
	put_text(&scene->record.name, scene->record.name_text, kind, bytes, size);
}

static void put_file(struct scene *scene, const char *file)
{
	put_text(&scene->record.file, scene->record.file_text, 1, file, strlen(file));
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	*state = scene;
	scene->codes = python_codes_new();
	assert_non_null(scene->codes);
	scene->record = (struct wire_python_code){
		.pid = 12,
		.generation = 3,
		.code = 0x7f0012345678,
		.fingerprint = 0xabcd,
		.first_line = 10,
		.minor = 8,
		.num_line_bytes = 4,
		.line_bytes = 4,
		.lines = {0, 1, 6, 2},
	};
	put_name(scene, 1, "Parser.parse", 12);
	put_file(scene, "/usr/lib/parser.py");
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	python_codes_free(scene->codes);
	free(scene);
	return 0;
}

static const struct python_code *find(const struct scene *scene)
{
	const struct wire_python_code *record = &scene->record;

	return python_codes_find(scene->codes, record->pid, record->generation, record->code,
				 record->fingerprint);
}

static const struct python_code *add(const struct scene *scene)
{
	const struct python_code *code;

	assert_int_equal(python_codes_add(scene->codes, &scene->record), 0);
	code = find(scene);
	assert_non_null(code);
	return code;
}

static void a_code_object_is_found_with_all_that_was_sent(void **state)
{
	struct scene *scene = *state;
	const struct python_code *code = add(scene);

	assert_string_equal(code->name, "Parser.parse");
	assert_string_equal(code->file, "/usr/lib/parser.py");
	assert_int_equal(code->first_line, 10);
	assert_int_equal(python_code_get_line(code, 0), 11);
	assert_int_equal(python_code_get_line(code, 4), 11);
	assert_int_equal(python_code_get_line(code, 6), 13);
}

/* Addresses are used again: by another process, by another program of it, and for another code object. */
static void no_other_one_is_taken_for_it(void **state)
{
	struct scene *scene = *state;
	const struct wire_python_code *record = &scene->record;
	uint32_t pid = record->pid, fingerprint = record->fingerprint;
	uint64_t generation = record->generation, address = record->code;

	(void)add(scene);
	assert_non_null(python_codes_find(scene->codes, pid, generation, address, fingerprint));
	assert_null(python_codes_find(scene->codes, pid + 1, generation, address, fingerprint));
	assert_null(python_codes_find(scene->codes, pid, generation + 1, address, fingerprint));
	assert_null(python_codes_find(scene->codes, pid, generation, address + 8, fingerprint));
	assert_null(python_codes_find(scene->codes, pid, generation, address, fingerprint + 1));
}

static void the_flags_of_a_frame_are_no_part_of_its_instruction(void **state)
{
	struct scene *scene = *state;
	const struct python_code *code = add(scene);

	assert_int_equal(python_code_get_line(code, WIRE_RUNTIME_ENTRY_FRAME | 6), 13);
	assert_int_equal(python_code_get_line(code, WIRE_PYTHON_NOT_STARTED), 10);
	assert_int_equal(
		python_code_get_line(code, WIRE_PYTHON_NOT_STARTED | WIRE_RUNTIME_ENTRY_FRAME | 6),
		10);
}

/* The last line goes on to the end of the code, unless there are more. */
static void beyond_a_table_that_was_cut_lines_are_not_known(void **state)
{
	struct scene *scene = *state;

	scene->record.line_bytes = 400;
	assert_int_equal(python_code_get_line(add(scene), 4), 11);
	assert_int_equal(python_code_get_line(find(scene), 6), 0);
	scene->record.pid++;
	scene->record.line_bytes = 4;
	assert_int_equal(python_code_get_line(add(scene), 1000), 13);
}

static void names_of_every_kind_become_utf_8(void **state)
{
	static const struct {
		uint8_t kind;
		uint8_t size;
		uint32_t bytes[4];
		const char *name;
	} cases[] = {
		{1, 3, {0x7ae961}, "aéz"},
		{1, 2, {0xff80}, "\xc2\x80ÿ"},
		{2, 4, {0x04360061}, "aж"},
		{2, 4, {0xffff20ac}, "€\xef\xbf\xbf"},
		{4, 12, {'a', 0x1f40d, 0x10ffff}, "a🐍\xf4\x8f\xbf\xbf"},
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		put_name(scene, cases[i].kind, cases[i].bytes, cases[i].size);
		scene->record.pid++;
		assert_string_equal(add(scene)->name, cases[i].name);
	}
}

/* Two surrogates in a string are two: CPython has no pairs. */
static void what_is_no_character_is_replaced(void **state)
{
	static const struct {
		uint8_t kind;
		uint8_t size;
		uint32_t bytes[3];
		const char *name;
	} cases[] = {
		{2, 6, {0xdc0dd83d, 'a'}, "��a"},
		{2, 4, {0xdfffd800}, "��"},
		{4, 12, {0xdc80, 0x110000, 'z'}, "��z"},
		{4, 8, {UINT32_MAX, 0x80000041}, "��"},
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		put_name(scene, cases[i].kind, cases[i].bytes, cases[i].size);
		scene->record.pid++;
		assert_string_equal(add(scene)->name, cases[i].name);
	}
}

/* A line of folded text stays one, and a terminal does as it likes. */
static void control_characters_become_blanks(void **state)
{
	struct scene *scene = *state;

	put_name(scene, 1, "a\nb\0c\x1b[1m\x7f", 10);
	put_file(scene, "<a\r\n>");
	assert_string_equal(add(scene)->name, "a b c [1m ");
	assert_string_equal(find(scene)->file, "<a  >");
}

static void what_was_cut_ends_with_an_ellipsis(void **state)
{
	struct scene *scene = *state;

	scene->record.name.length = 13;
	scene->record.file.length = 100000;
	assert_string_equal(add(scene)->name, "Parser.parse…");
	assert_string_equal(find(scene)->file, "/usr/lib/parser.py…");

	/* In the middle of a character. */
	put_name(scene, 2, (const uint32_t[]){0x04360061, 0x62}, 5);
	scene->record.name.length = 3;
	scene->record.pid++;
	assert_string_equal(add(scene)->name, "aж…");
}

static void more_bytes_than_the_length_says_are_not_taken(void **state)
{
	struct scene *scene = *state;

	scene->record.name.length = 6;
	scene->record.file.length = 0;
	assert_string_equal(add(scene)->name, "Parser");
	assert_string_equal(find(scene)->file, "");
}

static void a_record_that_cannot_be_is_refused(void **state)
{
	struct scene *scene = *state;
	const struct wire_python_code good = scene->record;

	for (unsigned fault = 0; fault < 8; fault++) {
		struct wire_python_code *record = &scene->record;

		*record = good;
		switch (fault) {
		case 0:
			record->name.num_bytes = WIRE_PYTHON_NAME_BYTES + 1;
			break;
		case 1:
			record->file.num_bytes = WIRE_PYTHON_FILE_BYTES + 1;
			break;
		case 2:
			record->num_line_bytes = WIRE_PYTHON_LINE_BYTES + 1;
			break;
		case 3:
			record->name.kind = 0;
			break;
		case 4:
			record->name.kind = 3;
			break;
		case 5:
			record->file.kind = 5;
			break;
		case 6:
			record->file.kind = UINT8_MAX;
			break;
		case 7:
			record->file.num_bytes = UINT16_MAX;
			break;
		}
		assert_int_equal(python_codes_add(scene->codes, record), -EINVAL);
		assert_null(find(scene));
	}
	scene->record = good;
	(void)add(scene);
}

/* A page was not there the first time, another one the second time. */
static void what_was_not_read_before_is_completed(void **state)
{
	struct scene *scene = *state;
	const struct wire_python_code whole = scene->record;

	scene->record.name = (struct wire_python_text){0};
	scene->record.num_line_bytes = 0;
	scene->record.line_bytes = 4;
	assert_string_equal(add(scene)->name, "");
	assert_int_equal(python_code_get_line(find(scene), 0), 0);

	scene->record = whole;
	scene->record.file = (struct wire_python_text){.length = 20};
	assert_string_equal(add(scene)->name, "Parser.parse");
	assert_string_equal(find(scene)->file, "/usr/lib/parser.py");
	assert_int_equal(python_code_get_line(find(scene), 6), 13);

	put_name(scene, 1, "other", 5);
	put_file(scene, "other.py");
	assert_string_equal(add(scene)->name, "Parser.parse");
	assert_string_equal(find(scene)->file, "/usr/lib/parser.py");
}

static void the_number_of_code_objects_is_bounded(void **state)
{
	struct scene *scene = *state;
	const uint64_t first = scene->record.code;
	uint32_t num_codes = 0;
	int err;

	while (!(err = python_codes_add(scene->codes, &scene->record))) {
		num_codes++;
		scene->record.code += 16;
		assert_true(num_codes <= PYTHON_CODES_MAX);
	}
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(num_codes, PYTHON_CODES_MAX);
	assert_null(find(scene));
	scene->record.code = first;
	assert_string_equal(add(scene)->name, "Parser.parse");
}

/* A program may have other names each time. */
static void the_bytes_of_names_are_bounded(void **state)
{
	struct scene *scene = *state;
	uint8_t name[WIRE_PYTHON_NAME_BYTES];
	uint32_t num_codes = 0;
	int err;

	memset(name, 0xe9, sizeof(name)); /* é: two bytes each */
	for (;;) {
		snprintf((char *)name, sizeof(name), "%08x", num_codes);
		name[8] = 0xe9;
		put_name(scene, 1, name, sizeof(name));
		err = python_codes_add(scene->codes, &scene->record);
		if (err)
			break;
		num_codes++;
		scene->record.code += 16;
		assert_true(num_codes <= PYTHON_CODES_TEXT_MAX / sizeof(name));
	}
	assert_int_equal(err, -ENOSPC);
	assert_true(num_codes > PYTHON_CODES_TEXT_MAX / (2 * sizeof(name)));
	assert_null(find(scene));
	scene->record.code -= 16;
	assert_non_null(find(scene));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_code_object_is_found_with_all_that_was_sent,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_other_one_is_taken_for_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_flags_of_a_frame_are_no_part_of_its_instruction,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(beyond_a_table_that_was_cut_lines_are_not_known,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_of_every_kind_become_utf_8, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_character_is_replaced, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(control_characters_become_blanks, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_was_cut_ends_with_an_ellipsis, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(more_bytes_than_the_length_says_are_not_taken,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_record_that_cannot_be_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_was_not_read_before_is_completed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_number_of_code_objects_is_bounded, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_bytes_of_names_are_bounded, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
