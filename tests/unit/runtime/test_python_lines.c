/*
 * Lines of CPython's code objects against what the interpreters themselves say, which python_lines.py prints: of a
 * sample, by every version, from the files beside it; and of modules of the standard library, by the interpreters that
 * are here; STACKWIDE_TEST_PYTHONS names more of them, with colons between.
 */
#include "runtime/python/lines.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/text.h"

/* clang-format off */
#include "python_interpreters.h"
#include "unit.h"
/* clang-format on */

#define FOLDER  "tests/unit/runtime/"
#define MODULES "argparse typing dataclasses enum asyncio.base_events asyncio.tasks"

#define MAX_TABLE_BYTES 65536

/* A code object of a dump; what is compared is of its last line, and counted. */
struct dump {
	unsigned minor;
	uint32_t first_line;
	char name[128];
	uint8_t table[MAX_TABLE_BYTES];
	size_t table_size;
	size_t num_compared;   /* instructions */
	size_t num_cut_short;  /* of those: not known with half of the table */
	size_t num_with_lines; /* instructions that have one */
};

static void expect_line(const struct dump *dump, uint32_t instruction, uint32_t wanted)
{
	struct python_line_table table = {.bytes = dump->table,
					  .num_bytes = dump->table_size,
					  .first_line = dump->first_line,
					  .minor = (uint8_t)dump->minor};
	uint32_t line = python_line_table_find(&table, instruction);

	if (line != wanted)
		fail_msg("3.%u, %s: instruction %" PRIu32 " is of line %" PRIu32 ", not %" PRIu32,
			 dump->minor, dump->name, instruction, wanted, line);
}

/* With part of the table, a line that is known is the right one. Returns whether it is with half of it. */
static bool expect_line_or_none(const struct dump *dump, uint32_t instruction, uint32_t wanted)
{
	bool is_known = false;

	for (unsigned eighths = 1; eighths < 8; eighths++) {
		struct python_line_table table = {.bytes = dump->table,
						  .num_bytes = dump->table_size * eighths / 8,
						  .first_line = dump->first_line,
						  .minor = (uint8_t)dump->minor,
						  .is_cut = true};
		uint32_t line = python_line_table_find(&table, instruction);

		if (line && line != wanted)
			fail_msg("3.%u, %s: instruction %" PRIu32 " is of line %" PRIu32
				 ", not %" PRIu32 " as the first %zu bytes say",
				 dump->minor, dump->name, instruction, wanted, line,
				 table.num_bytes);
		if (eighths == 4)
			is_known = line > 0;
	}
	return is_known;
}

static void read_table(struct dump *dump, const char *hex)
{
	dump->table_size = 0;
	for (unsigned byte; sscanf(hex, "%2x", &byte) == 1; hex += 2) {
		assert_true(dump->table_size < MAX_TABLE_BYTES);
		dump->table[dump->table_size++] = (uint8_t)byte;
	}
}

static void compare(struct dump *dump, const char *ranges, bool is_cut)
{
	unsigned end, line;
	uint32_t instruction = 0;
	int length;

	for (; sscanf(ranges, "%u:%u%n", &end, &line, &length) == 2; ranges += length) {
		for (; instruction < end; instruction += 2) {
			expect_line(dump, instruction, line);
			if (is_cut && !expect_line_or_none(dump, instruction, line))
				dump->num_cut_short++;
			dump->num_with_lines += line > 0;
			dump->num_compared++;
		}
	}
}

/* Compare a whole dump. */
static void read_dump(FILE *file, bool is_cut, struct dump *dump)
{
	char *text = NULL;
	size_t size = 0;

	*dump = (struct dump){0};
	while (getline(&text, &size, file) > 0) {
		if (sscanf(text, "python 3.%u", &dump->minor) == 1 ||
		    sscanf(text, "code %" SCNu32 " %127s", &dump->first_line, dump->name) == 2)
			continue;
		if (string_starts_with(text, "table "))
			read_table(dump, text + strlen("table "));
		else if (string_starts_with(text, "lines "))
			compare(dump, text + strlen("lines "), is_cut);
		else
			fail_msg("not a dump: %s", text);
	}
	free(text);
}

/* Compare the dump of a version that is kept here. */
static void read_kept_dump(unsigned int minor, bool is_cut, struct dump *dump)
{
	char path[sizeof(FOLDER) + 32];
	FILE *file;

	snprintf(path, sizeof(path), FOLDER "python_lines_3.%u.txt", minor);
	file = fopen(path, "r");
	assert_non_null(file);
	read_dump(file, is_cut, dump);
	fclose(file);
	assert_int_equal(dump->minor, minor);
}

static void every_version_has_the_lines_of_the_sample(void **state _unused_)
{
	for (unsigned int minor = 8; minor <= 15; minor++) {
		struct dump dump;

		read_kept_dump(minor, false, &dump);
		assert_true(dump.num_compared > 500);
		assert_true(dump.num_with_lines > 500);
	}
}

/* What is not known then is the end of the code, which takes the end of its table. */
static void part_of_a_table_gives_no_wrong_line(void **state _unused_)
{
	for (unsigned int minor = 8; minor <= 15; minor++) {
		struct dump dump;

		read_kept_dump(minor, true, &dump);
		assert_true(dump.num_cut_short > 0);
		assert_true(dump.num_cut_short < dump.num_compared);
	}
}

static void versions_that_are_not_known_have_no_lines(void **state _unused_)
{
	static const uint8_t bytes[] = {0xd8, 0x00, 0x04}; /* an instruction, a line further */
	static const uint8_t minors[] = {0, 7, 16, UINT8_MAX};
	struct python_line_table table = {
		.bytes = bytes, .num_bytes = sizeof(bytes), .first_line = 10, .minor = 13};

	for (table.minor = 11; table.minor <= 15; table.minor++) {
		assert_int_equal(python_line_table_find(&table, 0), 11);
		assert_int_equal(python_line_table_find(&table, 1), 11);
		assert_int_equal(python_line_table_find(&table, 2), 0);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(minors); i++) {
		table.minor = minors[i];
		assert_int_equal(python_line_table_find(&table, 0), 0);
	}
}

/* An int overflows on the way, or is below 1 at its end. */
static void lines_that_no_source_has_are_none(void **state _unused_)
{
	static const uint8_t back[] = {2, 0xf0, 2, 0x10};
	static const uint8_t far[] = {
		0xe8, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x03, /* INT32_MAX further */
		0xe8, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x43, 0x7f, 0x00};
	static const uint8_t endless[] = {0xe8, 0x42};
	struct python_line_table table = {
		.bytes = back, .num_bytes = sizeof(back), .first_line = 5, .minor = 10};

	assert_int_equal(python_line_table_find(&table, 0), 0);
	assert_int_equal(python_line_table_find(&table, 2), 5);
	table.minor = 8;
	assert_int_equal(python_line_table_find(&table, 0), 5);
	assert_int_equal(python_line_table_find(&table, 2), 0);
	assert_int_equal(python_line_table_find(&table, 4), 5);
	table = (struct python_line_table){
		.bytes = far, .num_bytes = sizeof(far), .first_line = 5, .minor = 11};
	assert_int_equal(python_line_table_find(&table, 0), 0);
	assert_int_equal(python_line_table_find(&table, 2), 3);
	table = (struct python_line_table){
		.bytes = endless, .num_bytes = sizeof(endless), .first_line = 5, .minor = 11};
	assert_int_equal(python_line_table_find(&table, 0), 0);
}

/* Whether it is one of those whose lines are read. */
static bool compare_interpreter(const char *path)
{
	char command[4096];
	struct dump dump;
	FILE *file;

	snprintf(command, sizeof(command), "'%s' -E -s " FOLDER "python_lines.py sample " MODULES,
		 path);
	file = popen(command, "re");
	assert_non_null(file);
	read_dump(file, false, &dump);
	if (pclose(file) != 0)
		fail_msg("%s does not dump its code objects", path);
	if (dump.minor < 8)
		return false;
	if (dump.num_compared < 500)
		fail_msg("%s: only %zu instructions", path, dump.num_compared);
	print_message("%s: 3.%u, %zu instructions\n", path, dump.minor, dump.num_compared);
	return true;
}

static void the_interpreters_here_say_the_same_of_the_standard_library(void **state _unused_)
{
	struct interpreter_list list = {0};
	size_t num_interpreters = 0;

	find_interpreters(&list);
	array_for_each (&list.paths, path)
		num_interpreters += compare_interpreter(*path);
	release_interpreters(&list);
	if (!num_interpreters)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version_has_the_lines_of_the_sample),
		cmocka_unit_test(part_of_a_table_gives_no_wrong_line),
		cmocka_unit_test(versions_that_are_not_known_have_no_lines),
		cmocka_unit_test(lines_that_no_source_has_are_none),
		cmocka_unit_test(the_interpreters_here_say_the_same_of_the_standard_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
