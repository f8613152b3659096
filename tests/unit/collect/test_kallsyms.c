/* Lines of /proc/kallsyms, good and malformed. */
#include "collect/kernel/kallsyms.h"

#include <string.h>

#include "base/attributes.h"
#include "unit.h"

/* Give the lines as a file. */
static FILE *open_text(const char *text)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	fputs(text, file);
	rewind(file);
	return file;
}

static void expect(FILE *file, uint64_t address, const char *name, bool is_of_module)
{
	struct kallsyms_symbol symbol;

	assert_true(kallsyms_next(file, &symbol));
	assert_true(symbol.address == address);
	assert_string_equal(symbol.name, name);
	assert_int_equal(symbol.is_of_module, is_of_module);
}

static void expect_end(FILE *file)
{
	struct kallsyms_symbol symbol;

	assert_false(kallsyms_next(file, &symbol));
	fclose(file);
}

static void a_symbol_has_an_address_and_a_name(void **state _unused_)
{
	FILE *file = open_text("ffffffff81c0a2d0 t __schedule\n"
			       "0000000000000000 A fixed_percpu_data\n"
			       "ffffffffc0a01000 T nf_hook\t[nf_tables]\n"
			       "ffffffffc0a02000 t bpf_prog_1234_f\t[bpf]\n"
			       "ffffffff81c0a2d8 T last");

	expect(file, 0xffffffff81c0a2d0, "__schedule", false);
	expect(file, 0, "fixed_percpu_data", false);
	expect(file, 0xffffffffc0a01000, "nf_hook", true);
	expect(file, 0xffffffffc0a02000, "bpf_prog_1234_f", true);
	expect(file, 0xffffffff81c0a2d8, "last", false);
	expect_end(file);
}

static void a_line_of_another_form_is_skipped(void **state _unused_)
{
	FILE *file = open_text("\n"
			       "t no_address\n"
			       " t no_address_either\n"
			       "ffffffff81c0a2d0\n"
			       "ffffffff81c0a2d0 \n"
			       "ffffffff81c0a2d0 t\n"
			       "ffffffff81c0a2d0 t \n"
			       "ffffffff81c0a2d0 t \t[module]\n"
			       "ffffffff81c0a2d0xt name\n"
			       "ffffffff81c0a2d0 txname\n"
			       "ffffffff81c0a2d1 t name\n"
			       "ffffffff81c0a2d0xx before_the_end\n"
			       "ffffffff81c0a2d0 ");

	expect(file, 0xffffffff81c0a2d1, "name", false);
	expect_end(file);
}

/* KSYM_NAME_LEN is 512 since Linux 6.1, and a module's name has 56 bytes at most. */
static void the_longest_name_of_a_module_is_read_whole(void **state _unused_)
{
	char name[512] = "";
	char line[1024];
	FILE *file;

	memset(name, 'n', sizeof(name) - 1);
	snprintf(line, sizeof(line), "ffffffffc0a01000 t %s\t[%.55s]\nffffffffc0a02000 t next\n",
		 name, name);
	file = open_text(line);
	expect(file, 0xffffffffc0a01000, name, true);
	expect(file, 0xffffffffc0a02000, "next", false);
	expect_end(file);
}

static void the_rest_of_a_line_that_is_too_long_is_no_symbol(void **state _unused_)
{
	char line[3000];
	char name[KALLSYMS_LINE_BYTES];
	FILE *file;

	memset(line, 'n', sizeof(line));
	memcpy(line, "ffffffff81c0a2d0 t ", 19);
	/* It looks like one. */
	memcpy(line + KALLSYMS_LINE_BYTES - 1, "ffff t rest ", 12);
	memcpy(line + 2000, "\nffffffff81c0a2d1 t next\n", 26);
	memset(name, 'n', sizeof(name));
	name[KALLSYMS_LINE_BYTES - 1 - 19] = '\0';
	file = open_text(line);
	expect(file, 0xffffffff81c0a2d0, name, false);
	expect(file, 0xffffffff81c0a2d1, "next", false);
	expect_end(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_symbol_has_an_address_and_a_name),
		cmocka_unit_test(a_line_of_another_form_is_skipped),
		cmocka_unit_test(the_longest_name_of_a_module_is_read_whole),
		cmocka_unit_test(the_rest_of_a_line_that_is_too_long_is_no_symbol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
