#include "analysis/regex.h"

#include <errno.h>
#include <libgen.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "unit.h"

static struct regex *compile(const char *pattern)
{
	struct error error = {0};
	struct regex *regex = NULL;

	if (regex_new(pattern, &regex, &error))
		fail_msg("%.200s: %s", pattern, error.message);
	return regex;
}

static bool matches(const char *pattern, const char *text)
{
	struct regex *regex = compile(pattern);
	bool is_match = regex_matches(regex, text, strlen(text));

	regex_free(regex);
	return is_match;
}

static void assert_refused(const char *pattern, const char *message)
{
	struct error error = {0};
	struct regex *regex;

	assert_int_equal(regex_new(pattern, &regex, &error), -EINVAL);
	assert_string_equal(error.message, message);
}

/* ---- the table that the page's core is asked about, too ------------------------------------- */

/* \xHH becomes a byte. Returns the length. */
static size_t unescape(char *text)
{
	char *to = text;

	for (const char *c = text; *c; to++) {
		uint32_t byte = (uint8_t)*c;
		bool is_escaped = string_starts_with(c, "\\x") && is_hex_digit(c[2]);

		if (is_escaped)
			byte = hex_digit_value(c[2]) << 4 | hex_digit_value(c[3]);
		*to = (char)byte;
		c += is_escaped ? 4 : 1;
	}
	*to = '\0';
	return (size_t)(to - text);
}

/* By the states of the table, by few of them, and by none. */
static void check_case(const char *pattern, const char *expected, char *text)
{
	static const uint32_t limits[] = {0x10000, 1, 2, 0};
	struct regex *regex;
	size_t length;

	if (string_equals(expected, "error")) {
		assert_refused(pattern, text);
		return;
	}
	length = unescape(text);
	regex = compile(pattern);
	for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
		regex_limit_cache(regex, limits[i]);
		for (int again = 0; again < 2; again++)
			if (regex_matches(regex, text, length) != string_equals(expected, "yes"))
				fail_msg("%s and %s (%zu bytes, %u states): not %s", pattern, text,
					 length, limits[i], expected);
	}
	regex_free(regex);
}

static void every_case_of_the_table_is_as_it_says(void **state _unused_)
{
	char file[] = __FILE__;
	struct text path = {0};
	FILE *cases;
	char line[1024];
	int num_cases = 0;

	text_printf(&path, "%s/regex_cases.txt", dirname(file));
	cases = fopen(path.data, "r");
	assert_non_null(cases);
	while (fgets(line, sizeof(line), cases)) {
		char *rest = line;
		char *pattern = strsep(&rest, "\t");
		char *expected = strsep(&rest, "\t");

		if (*line == '#' || !rest)
			continue;
		rest[strcspn(rest, "\n")] = '\0';
		check_case(pattern, expected, rest);
		num_cases++;
	}
	assert_true(num_cases > 150);
	fclose(cases);
	text_release(&path);
}

static void nothing_is_matched_by_what_may_be_empty(void **state _unused_)
{
	assert_true(matches("", ""));
	assert_true(matches("^$", ""));
	assert_true(matches("$^", ""));
	assert_true(matches("a*", ""));
	assert_true(matches("\\B", ""));
	assert_false(matches("\\b", ""));
	assert_false(matches(".", ""));
	assert_true(matches("", "a"));
	assert_true(matches("(?i)", "a"));
}

static void a_newline_and_a_nul_are_characters(void **state _unused_)
{
	struct regex *regex = compile("^a.b.c$");

	assert_true(regex_matches(regex, "a\nb\0c", 5));
	regex_free(regex);
	assert_false(matches("^b", "a\nb"));
	assert_true(matches("\\n", "a\nb"));
	assert_true(matches("[^x]b", "a\nb"));
}

static void names_of_many_kinds_are_found_by_one_that_has_met_others(void **state _unused_)
{
	struct regex *regex = compile("^(std::(map|set)<.*>::(insert|erase)|\\w+_lock)$");

	for (int i = 0; i < 3; i++) {
		assert_true(regex_matches(regex, "std::map<int, é>::insert", 25));
		assert_false(regex_matches(regex, "std::map<int>::inserts", 22));
		assert_true(regex_matches(regex, "spin_lock", 9));
		assert_false(regex_matches(regex, "spin_locks", 10));
	}
	regex_free(regex);
}

/* ---- bounds --------------------------------------------------------------------------------- */

static char *repeat(const char *part, size_t count)
{
	struct text text = {0};

	while (count-- > 0)
		text_append_string(&text, part);
	assert_false(text.failed);
	return text.data;
}

static void what_is_too_deep_or_too_long_is_refused(void **state _unused_)
{
	char *deep = repeat("(", REGEX_MAX_DEPTH + 1);
	char *is_longest = repeat("a", REGEX_MAX_LENGTH);
	char *is_longer = repeat("a", REGEX_MAX_LENGTH + 1);
	char *stars = repeat("*", REGEX_MAX_LENGTH);

	assert_refused(deep, "at character 201: more than 200 parentheses are open");
	assert_true(matches(is_longest, is_longer));
	assert_refused(is_longer, "it is longer than 10000 bytes");
	stars[0] = 'a';
	assert_refused(stars, "at character 802: more than 800 levels are nested");
	free(deep);
	free(is_longest);
	free(is_longer);
	free(stars);
}

static void parentheses_that_are_closed_do_not_count(void **state _unused_)
{
	char *wide = repeat("(a)", 10 * REGEX_MAX_DEPTH);
	char *text = repeat("a", 10 * REGEX_MAX_DEPTH);

	assert_true(matches(wide, text));
	text[0] = 'b';
	assert_false(matches(wide, text));
	free(wide);
	free(text);
}

static void parentheses_may_be_as_deep_as_the_limit(void **state _unused_)
{
	struct text pattern = {0};

	for (int i = 0; i < REGEX_MAX_DEPTH; i++)
		text_append_string(&pattern, "(b|a");
	for (int i = 0; i < REGEX_MAX_DEPTH; i++)
		text_append_string(&pattern, ")*");
	text_append_string(&pattern, "c");
	assert_true(matches(pattern.data, "abac"));
	assert_false(matches(pattern.data, "aba"));
	text_release(&pattern);
}

static void an_empty_part_may_be_repeated_without_end(void **state _unused_)
{
	assert_true(matches("^((((){1000}){1000}){1000}){1000}$", ""));
	assert_true(matches("^(((()*)*)*)*$", ""));
	assert_true(matches("^((){0,1000}){0,1000}$", ""));
	assert_false(matches("^((()*)+)+$", "a"));
}

/* Were the time not linear, these would not come to an end. */
static void a_long_text_takes_a_time_that_is_linear(void **state _unused_)
{
	static const char *const patterns[] = {"(a*)*b",        "(a|aa)+$b",       "(a+)+b",
					       "(.*)(.*)(.*)b", "((a?){30}){30}b", "(a|a)*(a|a)*b",
					       "(x{0,30}){30}b"};
	char *text = repeat("a", 200000);

	for (size_t i = 0; i < ARRAY_LENGTH(patterns); i++)
		assert_false(matches(patterns[i], text));
	assert_true(matches("(a|aa)+$", text));
	assert_true(matches("(a*)*", text));
	free(text);
}

/* 2^100 sets of instructions are possible: the table is emptied, and then done without. */
static void more_states_than_there_is_room_for_change_nothing(void **state _unused_)
{
	struct regex *regex = compile("a[ab]{100}$");
	uint32_t random = 1;
	char text[5000];

	for (size_t i = 0; i < sizeof(text); i++) {
		random = random * 1103515245 + 12345;
		text[i] = random >> 16 & 1 ? 'a' : 'b';
	}
	for (size_t length = 101; length <= sizeof(text); length += 7)
		assert_int_equal(regex_matches(regex, text, length), text[length - 101] == 'a');
	regex_free(regex);
}

/* ---- the C library as oracle ---------------------------------------------------------------- */

#define NUM_PATTERNS 25000
#define NUM_TEXTS    8

static uint32_t next_random(uint32_t *state, uint32_t limit)
{
	*state = *state * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)(*state >> 8) * limit) >> 24);
}

static void append_alternatives(struct text *pattern, uint32_t *random, int depth,
				bool is_repeated);

static void append_atom(struct text *pattern, uint32_t *random, int depth, bool is_repeated)
{
	static const char *const atoms[] = {"a",           "b",
					    "c",           "d",
					    "ab",          ".",
					    "[ab]",        "[^ab]",
					    "[b-d]",       "[^c-d]",
					    "[[:digit:]]", "[[:alpha:]_]",
					    "[]a]",        "[^]a]",
					    "[a-]",        "\\.",
					    "\\[",         "\\*",
					    "[.*+]",       "_",
					    "[[:punct:]]", "[^[:alnum:]]",
					    "1",           "[[:upper:]]"};
	static const char *const repetitions[] = {"*",     "+",     "?",    "{2}",
						  "{0,1}", "{1,3}", "{,2}", "{2,}"};

	bool has_repetition = next_random(random, 3) == 0;

	if (depth > 0 && next_random(random, 4) == 0) {
		text_append_char(pattern, '(');
		append_alternatives(pattern, random, depth - 1, is_repeated || has_repetition);
		text_append_char(pattern, ')');
	} else {
		text_append_string(pattern, atoms[next_random(random, ARRAY_LENGTH(atoms))]);
	}
	if (has_repetition)
		text_append_string(pattern,
				   repetitions[next_random(random, ARRAY_LENGTH(repetitions))]);
}

/* No ^ and $ in what is repeated: there the C library is wrong, which finds ((^.))+c in ebc. */
static void append_alternatives(struct text *pattern, uint32_t *random, int depth, bool is_repeated)
{
	for (uint32_t i = next_random(random, 3) ? 1 : 2; i > 0; i--) {
		if (!is_repeated && next_random(random, 6) == 0)
			text_append_char(pattern, '^');
		for (uint32_t j = 1 + next_random(random, 4); j > 0; j--)
			append_atom(pattern, random, depth, is_repeated);
		if (!is_repeated && next_random(random, 6) == 0)
			text_append_char(pattern, '$');
		if (i > 1)
			text_append_char(pattern, '|');
	}
}

static void append_text(struct text *text, uint32_t *random)
{
	static const char letters[] = "aaabbbccdde1._*[-A";

	text_truncate(text, 0);
	text_append_string(text, "");
	for (uint32_t i = next_random(random, 13); i > 0; i--)
		text_append_char(text, letters[next_random(random, sizeof(letters) - 1)]);
	text_append_string(text, "");
}

/* Returns how many texts matched. */
static int compare_with_library(const char *pattern, uint32_t *random)
{
	struct regex *regex = compile(pattern);
	struct text text = {0};
	regex_t oracle;
	int num_matches = 0;

	if (regcomp(&oracle, pattern, REG_EXTENDED | REG_NOSUB))
		fail_msg("the C library refuses %s", pattern);
	regex_limit_cache(regex, next_random(random, 4) ? 0x10000 : next_random(random, 5));
	for (int i = 0; i < NUM_TEXTS; i++) {
		bool is_match;

		append_text(&text, random);
		is_match = regex_matches(regex, text.data, text.length);
		if (is_match != !regexec(&oracle, text.data, 0, NULL, 0))
			fail_msg("%s and %s: %d", pattern, text.data, is_match);
		num_matches += is_match;
	}
	text_release(&text);
	regfree(&oracle);
	regex_free(regex);
	return num_matches;
}

static void what_posix_has_is_matched_as_the_c_library_does(void **state _unused_)
{
	struct text pattern = {0};
	uint32_t random = 20261125;
	int num_matches = 0;

	for (int i = 0; i < NUM_PATTERNS; i++) {
		text_truncate(&pattern, 0);
		append_alternatives(&pattern, &random, 2, false);
		text_append_string(&pattern, "");
		num_matches += compare_with_library(pattern.data, &random);
	}
	/* Neither all nor none of them. */
	assert_in_range(num_matches, NUM_PATTERNS * NUM_TEXTS / 5,
			NUM_PATTERNS * NUM_TEXTS * 4 / 5);
	text_release(&pattern);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_of_the_table_is_as_it_says),
		cmocka_unit_test(nothing_is_matched_by_what_may_be_empty),
		cmocka_unit_test(a_newline_and_a_nul_are_characters),
		cmocka_unit_test(names_of_many_kinds_are_found_by_one_that_has_met_others),
		cmocka_unit_test(what_is_too_deep_or_too_long_is_refused),
		cmocka_unit_test(parentheses_that_are_closed_do_not_count),
		cmocka_unit_test(parentheses_may_be_as_deep_as_the_limit),
		cmocka_unit_test(an_empty_part_may_be_repeated_without_end),
		cmocka_unit_test(a_long_text_takes_a_time_that_is_linear),
		cmocka_unit_test(more_states_than_there_is_room_for_change_nothing),
		cmocka_unit_test(what_posix_has_is_matched_as_the_c_library_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
