#include "formats/svg.h"

#include <string.h>

#include "base/attributes.h"
#include "base/text.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static void assert_title(const char *text, const char *name, uint64_t count, const char *unit)
{
	struct svg_title title;

	assert_true(svg_title_parse(text, strlen(text), &title));
	assert_int_equal(title.name_length, strlen(name));
	assert_memory_equal(text, name, strlen(name));
	assert_int_equal(title.count, count);
	assert_int_equal(title.unit_length, strlen(unit));
	assert_memory_equal(title.unit, unit, strlen(unit));
}

static void name_count_and_unit_are_distinguished(void **state _unused_)
{
	assert_title("main (1,234 samples, 5.67%)", "main", 1234, "samples");
	assert_title("all (1 ms, 100%)", "all", 1, "ms");
	assert_title("x (12 page faults, 1.00%) \n", "x", 12, "page faults");
	assert_title("a (18,446,744,073,709,551,615 ns, 1%)", "a", UINT64_MAX, "ns");
	assert_title(" (3 samples, 1%)", "", 3, "samples");
}

static void the_last_brackets_count(void **state _unused_)
{
	assert_title("f(int, char) (7 samples, 1%)", "f(int, char)", 7, "samples");
	assert_title("f (1 samples, 2%) (3 samples, 4%)", "f (1 samples, 2%)", 3, "samples");
	assert_title("f (9 ms (off), 1%)", "f", 9, "ms (off)");
}

static void counts_are_rounded(void **state _unused_)
{
	assert_title("a (2.5 ms, 1%)", "a", 3, "ms");
	assert_title("a (1,000.49 ms, 1%)", "a", 1000, "ms");
}

static void a_change_is_read(void **state _unused_)
{
	static const char text[] = "a (4 samples, 66.67%; -66.67%)";
	struct svg_title title;

	assert_title(text, "a", 4, "samples");
	assert_true(svg_title_parse(text, strlen(text), &title));
	assert_true(title.has_change);
	assert_true(title.change_percent > -66.68 && title.change_percent < -66.66);
}

static void the_samples_of_old_comparisons_count(void **state _unused_)
{
	assert_title("a (-36 sample weight, 37 samples, 12.09%)", "a", 37, "samples");
}

static void other_text_is_refused(void **state _unused_)
{
	static const char *const texts[] = {"",
					    "main",
					    "main (5 samples)",
					    "main (5 samples, 5)",
					    "main 5 samples, 5%)",
					    "main (five samples, 5%)",
					    "main (5, 5%)",
					    "main (18446744073709551616 samples, 5%)",
					    "main (5 samples, 5%; more)",
					    "(((((((((((((, 5%)"};
	struct svg_title title;

	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
		assert_false(svg_title_parse(texts[i], strlen(texts[i]), &title));
}

static void numbers_end_where_they_end(void **state _unused_)
{
	double value;

	assert_int_equal(svg_parse_number("-12.5px", 7, &value), 5);
	assert_true(value == -12.5);
	assert_int_equal(svg_parse_number("7%", 2, &value), 1);
	assert_int_equal(svg_parse_number("", 0, &value), 0);
	assert_int_equal(svg_parse_number("-", 1, &value), 0);
	assert_int_equal(svg_parse_number(".5", 2, &value), 0);
	assert_int_equal(svg_parse_number("1000000000000000000000", 22, &value), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_count_and_unit_are_distinguished),
		cmocka_unit_test(the_last_brackets_count),
		cmocka_unit_test(counts_are_rounded),
		cmocka_unit_test(a_change_is_read),
		cmocka_unit_test(the_samples_of_old_comparisons_count),
		cmocka_unit_test(other_text_is_refused),
		cmocka_unit_test(numbers_end_where_they_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
