#include "base/near_names.h"

#include <string.h>

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static const char *find(const char *word, const char *const *names)
{
	static char text[NEAR_NAMES_TEXT_BYTES];
	struct near_names near = {.word = word};

	for (; *names; names++)
		near_names_compare(&near, *names);
	near_names_format(&near, text);
	return text;
}

static void the_nearest_come_first(void **state _unused_)
{
	const char *const names[] = {"callloc", "free", "malloc", "realloc", "mallinfo", NULL};

	assert_string_equal(find("mallok", names),
			    "; did you mean 'malloc', 'callloc' or 'realloc'?");
	assert_string_equal(find("alloc", names),
			    "; did you mean 'malloc', 'realloc' or 'callloc'?");
}

static void a_name_that_holds_the_word_is_near(void **state _unused_)
{
	const char *const names[] = {"x", "page-faults", NULL};

	assert_string_equal(find("fault", names), "; did you mean 'page-faults'?");
}

static void a_name_is_shown_once_and_three_at_most(void **state _unused_)
{
	const char *const names[] = {"aaa1", "aaa1", "aaa2", "aaa3", "aaa4", NULL};

	assert_string_equal(find("aaa", names), "; did you mean 'aaa1', 'aaa2' or 'aaa3'?");
}

static void nothing_comes_near_to_what_is_too_long(void **state _unused_)
{
	char word[NEAR_NAMES_MAX_BYTES + 1];
	const char *const names[] = {word, NULL};

	memset(word, 'a', sizeof(word));
	word[NEAR_NAMES_MAX_BYTES] = '\0';
	assert_string_equal(find(word, names), "");
	assert_string_equal(find("a", names), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_come_first),
		cmocka_unit_test(a_name_that_holds_the_word_is_near),
		cmocka_unit_test(a_name_is_shown_once_and_three_at_most),
		cmocka_unit_test(nothing_comes_near_to_what_is_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
