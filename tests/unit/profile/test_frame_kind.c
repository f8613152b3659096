/*
 * What is made of the table of frame kinds, and what cannot be made of it: the words of the page, and those of the help.
 */
#include "profile/frame_kind.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/attributes.h"
#include "base/file.h"
#include "base/text.h"
#include "unit.h"

static void one_mark_is_given_and_found_again(void **state _unused_)
{
	for (enum frame_kind kind = 0; kind < NUM_FRAME_KINDS; kind++) {
		for (int is_inlined = 0; is_inlined < 2; is_inlined++) {
			uint8_t mark = frame_kind_get_mark(kind, is_inlined);
			char name[32];
			size_t length;
			uint8_t found = UINT8_MAX;

			snprintf(name, sizeof(name), "read%s", frame_mark_get_text(mark));
			length = strlen(name);
			if (length == 4)
				assert_false(frame_mark_strip(name, &length, &found));
			else
				assert_true(frame_mark_strip(name, &length, &found));
			assert_int_equal(length, 4);
			assert_int_equal(found, name[4] ? mark : UINT8_MAX);
		}
	}
	assert_string_equal(frame_mark_get_text(frame_kind_get_mark(FRAME_KERNEL, true)), "_[k]");
	assert_string_equal(frame_mark_get_text(frame_kind_get_mark(FRAME_JIT, true)), "_[i]");
	assert_string_equal(frame_mark_get_text(frame_kind_get_mark(FRAME_USER, false)), "");
}

static void what_is_no_mark_stays(void **state _unused_)
{
	static const char *const names[] = {"",        "[k]",     "read_[x]",
					    "read_[k", "read[k]", "operator[]"};
	uint8_t mark;

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		size_t length = strlen(names[i]);

		assert_false(frame_mark_strip(names[i], &length, &mark));
		assert_int_equal(length, strlen(names[i]));
	}
}

/* Formats distinguish kinds by these: two of the same would be one after reading. */
static void kinds_differ_in_all_that_is_written_of_them(void **state _unused_)
{
	for (enum frame_kind kind = 0; kind < NUM_FRAME_KINDS; kind++) {
		for (enum frame_kind other = 0; other < kind; other++)
			assert_string_not_equal(frame_kinds[kind].category,
						frame_kinds[other].category);
	}
}

static void expect_in_file(const char *path, const char *wanted)
{
	struct text text = {0};

	assert_int_equal(file_read_at(AT_FDCWD, path, 1u << 20, &text), 0);
	if (!strstr(text.data, wanted))
		fail_msg("%s does not have %s", path, wanted);
	text_release(&text);
}

/* The page has a colour for each, which is none of ours. */
static void the_page_knows_the_kinds_in_their_order(void **state _unused_)
{
	struct text list = {0};
	struct text page = {0};
	const char *at;

	assert_int_equal(file_read_at(AT_FDCWD, "src/viewer/web/core/names.js", 1u << 20, &page),
			 0);
	at = strstr(page.data, "const KIND_WORDS = [");
	assert_non_null(at);
	at += strlen("const KIND_WORDS = [");
	for (enum frame_kind kind = 0; kind < NUM_FRAME_KINDS; kind++) {
		text_truncate(&list, 0);
		text_printf(&list, "'%s'", frame_kinds[kind].word);
		at = strchr(at, '\'');
		assert_non_null(at);
		assert_memory_equal(at, list.data, list.length);
		at += list.length;
	}
	assert_int_equal(*at, ']');
	text_release(&list);
	text_release(&page);
}

static void the_help_names_every_mark(void **state _unused_)
{
	for (uint8_t mark = 0; mark < NUM_FRAME_MARKS; mark++)
		expect_in_file("src/cli/files/output_options.h", frame_mark_get_text(mark));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_mark_is_given_and_found_again),
		cmocka_unit_test(what_is_no_mark_stays),
		cmocka_unit_test(kinds_differ_in_all_that_is_written_of_them),
		cmocka_unit_test(the_page_knows_the_kinds_in_their_order),
		cmocka_unit_test(the_help_names_every_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
