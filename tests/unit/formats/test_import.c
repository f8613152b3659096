/* Messages about an input: names out of it are foreign bytes, and each message is one line. */
#include "formats/import.h"
#include "formats/reader.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

static char warned[1024];

static void keep_warning(void *context _unused_, const char *line)
{
	snprintf(warned, sizeof(warned), "%s", line);
}

static void no_name_makes_a_second_line(void **state _unused_)
{
	struct import import = {.name = "FILE", .warn = keep_warning};

	import_warn(&import, "the sum of %s", "a\n\x1b[31mb");
	assert_string_equal(warned, "FILE: the sum of a??[31mb");
	import_skip_line(&import, 7, "no %s", "\r");
	assert_string_equal(warned, "FILE:7: no ?");
	import_skip_member(&import, "\n", 7, "no %s", "\x7f");
	assert_string_equal(warned, "FILE/?: at byte 7: no ?");
	assert_int_equal(import_fail_line(&import, 7, "no %s", "\n"), -EBADMSG);
	assert_string_equal(import.error.message, "FILE:7: no ?");
	assert_int_equal(import_fail_byte(&import, 7, "no %s", "\t\xc3\xa9"), -EBADMSG);
	assert_string_equal(import.error.message, "FILE: at byte 7: no ?\xc3\xa9");
}

/* What is damaged is left out and counted, or refused. */
static void a_strict_reader_refuses_damage(void **state _unused_)
{
	struct import import = {.name = "FILE", .warn = keep_warning};

	assert_int_equal(reader_skip_byte(&import, 3, "damaged"), 0);
	assert_int_equal(reader_end_at_byte(&import, 4, "truncated"), 0);
	assert_string_equal(warned, "FILE: at byte 4: truncated");
	assert_int_equal(import.counts.skipped, 2);
	assert_int_equal(import.counts.warnings, 2);
	assert_string_equal(import.error.message, "");
	import.is_strict = true;
	assert_int_equal(reader_skip_byte(&import, 3, "damaged"), -EBADMSG);
	assert_string_equal(import.error.message, "FILE: at byte 3: damaged");
	assert_int_equal(reader_end_at_byte(&import, 4, "truncated"), -EBADMSG);
	assert_string_equal(import.error.message, "FILE: at byte 4: truncated");
	assert_int_equal(import.counts.skipped, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_name_makes_a_second_line),
		cmocka_unit_test(a_strict_reader_refuses_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
