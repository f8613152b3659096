/* Samples and processes by version of their interpreter; versions are bounded. */
#include "collect/runtime_stacks.c"

#include "unit.h"

#define MAX_VERSIONS (RECORDER_MAX_RUNTIMES - NUM_RUNTIME_KINDS)

static struct runtime_stacks stacks;

static int tear_down(void **state _unused_)
{
	array_release(&stacks.counts);
	array_release(&stacks.is_counted);
	stacks = (struct runtime_stacks){0};
	return 0;
}

static struct runtime_counts *count(enum runtime_kind kind, uint16_t major, uint16_t minor)
{
	const struct runtime_version version = {.kind = kind, .major = major, .minor = minor};
	struct runtime_counts *counts = find_counts(&stacks, &version);

	assert_non_null(counts);
	counts->samples++;
	return counts;
}

static void each_version_has_its_counts(void **state _unused_)
{
	count(RUNTIME_PYTHON, 3, 11);
	count(RUNTIME_PYTHON, 3, 12);
	count(RUNTIME_PYTHON, 4, 11);
	count(RUNTIME_RUBY, 3, 11);
	assert_int_equal(count(RUNTIME_PYTHON, 3, 11)->samples, 2);
	assert_int_equal(stacks.counts.length, 4);
}

static void versions_beyond_the_bound_are_counted_together(void **state _unused_)
{
	for (uint16_t minor = 1; minor <= MAX_VERSIONS; minor++)
		assert_int_equal(count(RUNTIME_PYTHON, 3, minor)->minor, minor);
	assert_int_equal(stacks.counts.length, MAX_VERSIONS);
	assert_int_equal(count(RUNTIME_PYTHON, 3, MAX_VERSIONS + 1)->major, 0);
	assert_int_equal(count(RUNTIME_PYTHON, 3, MAX_VERSIONS + 2)->samples, 2);
	assert_int_equal(count(RUNTIME_RUBY, 3, 1)->samples, 1);
	/* Those that have counts keep them. */
	assert_int_equal(count(RUNTIME_PYTHON, 3, 1)->samples, 2);
	for (int kind = 0; kind < NUM_RUNTIME_KINDS; kind++)
		count((enum runtime_kind)kind, 9, 9);
	assert_true(stacks.counts.length <= RECORDER_MAX_RUNTIMES);
}

static void a_process_is_counted_once(void **state _unused_)
{
	struct process process = {.id = 5};

	assert_true(is_new(&stacks, &process));
	assert_false(is_new(&stacks, &process));
	process.id = 4;
	assert_true(is_new(&stacks, &process));
	process.id = 6;
	assert_true(is_new(&stacks, &process));
	assert_false(is_new(&stacks, &process));
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_version_has_its_counts),
		TEST(versions_beyond_the_bound_are_counted_together),
		TEST(a_process_is_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
