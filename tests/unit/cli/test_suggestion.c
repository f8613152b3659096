#include "cli/options/suggestion.h"

#include <string.h>

#include "base/array.h"
#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static const char *suggest(const char *wanted)
{
	static const char *const words[] = {"record", "report", "view",     "convert",
					    "top",    "total",  "min-width"};
	struct suggestion suggestion = {.wanted = wanted};

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		suggestion_offer(&suggestion, words[i]);
	return suggestion.word;
}

static void one_edit_is_found(void **state _unused_)
{
	assert_string_equal(suggest("recrod"), "record"); /* swapped */
	assert_string_equal(suggest("recod"), "record");  /* missing */
	assert_string_equal(suggest("recoord"), "record");
	assert_string_equal(suggest("rekord"), "record");
	assert_string_equal(suggest("veiw"), "view");
	assert_string_equal(suggest("minwidth"), "min-width");
	assert_string_equal(suggest("record"), "record");
}

static void the_start_of_a_word_is_enough(void **state _unused_)
{
	assert_string_equal(suggest("conv"), "convert");
	assert_string_equal(suggest("min"), "min-width");
}

/* Both are as near as each other. */
static void the_first_of_similar_words_stays(void **state _unused_)
{
	assert_string_equal(suggest("rexort"), "report");
	assert_string_equal(suggest("re"), "record");
	assert_string_equal(suggest("to"), "top");
}

static void other_words_are_not_suggested(void **state _unused_)
{
	assert_null(suggest("x"));
	assert_null(suggest(""));
	assert_null(suggest("bogus"));
	assert_null(suggest("something"));
	assert_null(suggest("a word that is longer than any word of ours can be"));
}

static void long_words_are_not_compared(void **state _unused_)
{
	char word[64] = {0};
	struct suggestion suggestion = {.wanted = "record"};

	memset(word, 'r', sizeof(word) - 1);
	suggestion_offer(&suggestion, word);
	assert_null(suggestion.word);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_edit_is_found),
		cmocka_unit_test(the_start_of_a_word_is_enough),
		cmocka_unit_test(the_first_of_similar_words_stays),
		cmocka_unit_test(other_words_are_not_suggested),
		cmocka_unit_test(long_words_are_not_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
