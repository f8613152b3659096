#include "cli/files/trace_hint.h"

#include "unit.h"

static void a_trace_that_a_browser_can_hold_needs_no_hint(void **state _unused_)
{
	struct text text = {0};

	assert_false(trace_hint_append(&text, "x.pftrace", 0));
	assert_false(trace_hint_append(&text, "x.pftrace", 10000000));
	assert_int_equal(text.length, 0);
}

static void the_hint_has_the_command_for_the_file(void **state _unused_)
{
	struct text text = {0};

	assert_true(trace_hint_append(&text, "/tmp/x.pftrace", 12345678));
	assert_non_null(strstr(text.data, "12 million events"));
	assert_non_null(strstr(text.data, "trace_processor --httpd /tmp/x.pftrace"));
	text_release(&text);
}

static void names_are_quoted_for_the_shell(void **state _unused_)
{
	struct text text = {0};

	assert_true(trace_hint_append(&text, "it's x.pftrace", 20000000));
	assert_non_null(strstr(text.data, "--httpd 'it'\\''s x.pftrace'"));
	text_release(&text);
	assert_true(trace_hint_append(&text, "-", 20000000));
	assert_non_null(strstr(text.data, "--httpd FILE"));
	text_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_that_a_browser_can_hold_needs_no_hint),
		cmocka_unit_test(the_hint_has_the_command_for_the_file),
		cmocka_unit_test(names_are_quoted_for_the_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
