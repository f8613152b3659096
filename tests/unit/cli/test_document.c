#include "cli/help/document.h"

#include <string.h>

#include "base/attributes.h"
#include "cli/help/topics.h"
#include "unit.h"

static void assert_document(const char *markdown, size_t num_columns, const char *expected)
{
	_cleanup_(text_release) struct text text = {0};
	struct terminal terminal = {.num_columns = num_columns};

	document_append(&text, markdown, terminal);
	assert_false(text.failed);
	assert_string_equal(text.data, expected);
}

static void paragraphs_and_items_have_the_width_of_the_terminal(void **state _unused_)
{
	assert_document("# A title\n"
			"\n"
			"One two three\n"
			"four five six seven eight.\n"
			"\n"
			"- one two three four five six seven eight\n"
			"- nine\n"
			"1. ten\n",
			30,
			"A title\n"
			"\n"
			"  One two three four five six\n"
			"  seven eight.\n"
			"\n"
			"  - one two three four five\n"
			"    six seven eight\n"
			"  - nine\n"
			"  1. ten\n");
}

static void markup_is_left_out_and_code_is_not_touched(void **state _unused_)
{
	assert_document(
		"**Bold** `a ** [b](c) d` [waits](waiting.md), [x](https://a.example/b),\n"
		"[s](../../.github/SECURITY.md) [no link] a]\n"
		"    stackwide report `x` **y** | less\n",
		0,
		"  Bold a ** [b](c) d waits ('stackwide help waiting'), x (https://a.example/b),\n"
		"  s [no link] a]\n"
		"    stackwide report `x` **y** | less\n");
}

static void a_table_that_fits_has_columns(void **state _unused_)
{
	assert_document("| name | what it is |\n"
			"|---|---|\n"
			"| `a` | one two three four five six seven |\n"
			"| longer | |\n"
			"After.\n",
			36,
			"  name    what it is\n"
			"  a       one two three four five\n"
			"          six seven\n"
			"  longer\n"
			"  After.\n");
}

static void a_table_that_is_too_wide_becomes_a_list(void **state _unused_)
{
	assert_document("| name | first | |\n"
			"|---|---|---|\n"
			"| a | one two three four five | six |\n"
			"| b | | seven |",
			30,
			"  a\n"
			"    first: one two three four\n"
			"    five\n"
			"    six\n"
			"  b\n"
			"    seven\n");
}

static void headings_are_bold_on_a_terminal_with_colors(void **state _unused_)
{
	_cleanup_(text_release) struct text text = {0};
	struct terminal terminal = {.num_columns = 80, .has_color = true};

	document_append(&text, "## A `b`\n", terminal);
	assert_string_equal(text.data, "\033[1mA b\033[0m\n");
}

static void a_document_may_end_anywhere(void **state _unused_)
{
	const char *document = "# T\n\n- a [b](c.md) `d`\n\n| e | f |\n|---|---|\n| g | h |\n";
	char part[128];

	for (size_t length = 0; length <= strlen(document); length++) {
		_cleanup_(text_release) struct text text = {0};
		struct terminal terminal = {.num_columns = 40};

		snprintf(part, sizeof(part), "%.*s", (int)length, document);
		document_append(&text, part, terminal);
		assert_false(text.failed);
	}
}

static void topics_fit_a_terminal(void **state _unused_)
{
	for (const struct topic *topic = topic_get_all(); topic->name; topic++) {
		_cleanup_(text_release) struct text text = {0};
		struct terminal terminal = {.num_columns = 80};

		document_append(&text, topic->text, terminal);
		assert_false(text.failed);
		assert_ptr_equal(topic_find(topic->name), topic);
		for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
			if (!string_starts_with(line, "    ") && strcspn(line, "\n") > 90)
				fail_msg("%s: %.*s", topic->name, (int)strcspn(line, "\n"), line);
	}
	assert_null(topic_find("nothing"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paragraphs_and_items_have_the_width_of_the_terminal),
		cmocka_unit_test(markup_is_left_out_and_code_is_not_touched),
		cmocka_unit_test(a_table_that_fits_has_columns),
		cmocka_unit_test(a_table_that_is_too_wide_becomes_a_list),
		cmocka_unit_test(headings_are_bold_on_a_terminal_with_colors),
		cmocka_unit_test(a_document_may_end_anywhere),
		cmocka_unit_test(topics_fit_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
