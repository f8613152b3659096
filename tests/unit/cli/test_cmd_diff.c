/* What a comparison makes of its inputs before it compares: slices of captures, runs without weight, decimals, metrics. */
#define inputs_read read_sources
#include "cli/cmd_diff.c"

#include "profile_builder.h"

/* clang-format off */
#include "failing_memory.h"
/* clang-format on */

static struct diff_command session;
static void add_sources(uint32_t count);
static int read_status;

/* A file of as many sources as its name says. */
int read_sources(char *const *paths, size_t num_paths, const struct input_options *inputs,
		 struct profile *profile, struct timeline *timeline)
{
	assert_int_equal(num_paths, 1);
	assert_ptr_equal(inputs, &session.inputs);
	assert_ptr_equal(profile, session.profile);
	assert_null(timeline);
	add_sources((uint32_t)atoi(paths[0]));
	return read_status;
}

static int set_up(void **state _unused_)
{
	session = (struct diff_command){.profile = profile_new()};
	log_set_level(LOG_LEVEL_QUIET);
	return 0;
}

static int tear_down(void **state _unused_)
{
	for (size_t i = 0; i < 2; i++)
		session.recordings[i].path = NULL;
	release(&session);
	return 0;
}

/* So many sources, each with a thread. */
static void add_sources(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		char text[32];
		uint32_t name, source;

		snprintf(text, sizeof(text), "source %u", profile_count_sources(session.profile));
		assert_int_equal(profile_add_string(session.profile, text, &name), 0);
		assert_int_equal(profile_add_source(session.profile, name, &source), 0);
	}
}

/* Each is as large as the others, and none is left out. */
static void captures_are_divided_in_order(void **state _unused_)
{
	static const struct {
		uint32_t num_captures;
		size_t num_slices;
	} cases[] = {{0, 0}, {9, 0}, {10, 10}, {23, 23}, {24, 24}, {25, 24}, {100, 24}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		uint32_t first, next;

		profile_free(session.profile);
		session.profile = profile_new();
		session.runs[1].length = 0;
		add_sources(3);
		first = profile_count_sources(session.profile);
		add_sources(cases[i].num_captures);
		assert_int_equal(divide_captures(&session, 1, first), 0);
		assert_int_equal(session.runs[0].length, 0);
		assert_int_equal(session.runs[1].length, cases[i].num_slices);
		next = first;
		array_for_each (&session.runs[1], run) {
			uint32_t size = run->end_source - run->first_source;

			assert_int_equal(run->first_source, next);
			assert_in_range(size, cases[i].num_captures / cases[i].num_slices,
					cases[i].num_captures / cases[i].num_slices + 1);
			next = run->end_source;
		}
		if (cases[i].num_slices)
			assert_int_equal(next, first + cases[i].num_captures);
	}
}

/* A sample of a thread of the source. */
static void add_sample(uint32_t source, uint32_t metric, uint64_t weight)
{
	struct thread thread = {.tid = source + 1, .source = source};
	uint32_t id;

	assert_int_equal(profile_add_string(session.profile, "x", &thread.comm), 0);
	assert_int_equal(
		profile_add_process(session.profile, source + 1, thread.comm, &thread.process), 0);
	assert_int_equal(profile_add_thread(session.profile, &thread, &id), 0);
	assert_int_equal(profile_add_sample(session.profile, id,
					    builder_add_stack(session.profile, "main"), metric,
					    weight),
			 0);
}

static void add_run(size_t i, uint32_t first, uint32_t end)
{
	struct diff_run *run = array_add(&session.runs[i]);

	assert_non_null(run);
	*run = (struct diff_run){.first_source = first, .end_source = end};
	assert_int_equal(add_value(&session.paths[i], "path"), 0);
}

static void runs_without_weight_are_left_out(void **state _unused_)
{
	uint32_t metric, other;

	add_sources(5);
	assert_int_equal(profile_add_metric(session.profile, "samples", "count", &metric), 0);
	assert_int_equal(profile_add_metric(session.profile, "other", "count", &other), 0);
	session.metrics[1] = metric;
	add_sample(1, metric, 5);
	add_sample(2, metric, 0);
	add_sample(3, other, 5);
	add_sample(4, metric, 1);
	add_run(1, 0, 1); /* nothing */
	add_run(1, 1, 2);
	add_run(1, 2, 3); /* a weight of 0 */
	add_run(1, 3, 4); /* another metric */
	add_run(1, 4, 5);
	leave_out_empty_runs(&session, 1);
	assert_int_equal(session.runs[1].length, 2);
	assert_int_equal(session.runs[1].items[0].first_source, 1);
	assert_int_equal(session.runs[1].items[1].first_source, 4);
	/* The only one stays. */
	add_run(0, 0, 1);
	leave_out_empty_runs(&session, 0);
	assert_int_equal(session.runs[0].length, 1);
}

static void the_metric_is_what_was_asked_for(void **state _unused_)
{
	struct profile *profile = session.profile;
	uint32_t metric;

	assert_int_equal(find_metric(profile, 0, NULL), METRIC_NONE);
	assert_int_equal(profile_add_metric(profile, "one", "count", &metric), 0);
	assert_int_equal(profile_add_metric(profile, "two", "count", &metric), 0);
	assert_int_equal(find_metric(profile, 0, NULL), 0);
	assert_int_equal(find_metric(profile, 1, NULL), 1);
	assert_int_equal(find_metric(profile, 2, NULL), METRIC_NONE);
	assert_int_equal(find_metric(profile, 0, "two"), 1);
	assert_int_equal(find_metric(profile, 1, "one"), METRIC_NONE);
	/* Of a comparison its later part. */
	assert_int_equal(profile_add_metric(profile, METRIC_AFTER, "count", &metric), 0);
	assert_int_equal(find_metric(profile, 0, NULL), 2);
}

static void counts_with_decimals_are_whole_samples(void **state _unused_)
{
	uint32_t metric, other;

	assert_int_equal(get_scale(0), 1);
	assert_int_equal(get_scale(3), 1000);
	add_sources(3);
	assert_int_equal(profile_add_metric(session.profile, "samples", "count", &metric), 0);
	assert_int_equal(profile_add_metric(session.profile, "other", "count", &other), 0);
	assert_int_equal(sum_whole(session.profile, metric, 100), 0);
	add_sample(0, metric, 99);
	assert_int_equal(sum_whole(session.profile, metric, 100), 1);
	add_sample(1, metric, 100);
	add_sample(1, other, 5000);
	assert_int_equal(sum_whole(session.profile, metric, 100), 1);
	add_sample(2, metric, 1);
	assert_int_equal(sum_whole(session.profile, metric, 100), 2);
	add_sample(2, metric, UINT64_MAX - 1);
	assert_int_equal(sum_whole(session.profile, metric, 100), 0);
}

static void both_have_as_many_decimals(void **state _unused_)
{
	uint32_t metrics[2];

	add_sources(2);
	assert_int_equal(profile_add_metric(session.profile, "a", "count", &metrics[0]), 0);
	assert_int_equal(profile_add_metric(session.profile, "b", "count", &metrics[1]), 0);
	session.metrics[0] = metrics[0];
	session.metrics[1] = metrics[1];
	add_sample(0, metrics[0], 500);
	add_sample(1, metrics[1], 7);
	assert_int_equal(unify_decimals(&session), 0);
	assert_int_equal(profile_get_sample(session.profile, 0)->value, 500);
	assert_int_equal(session.recordings[0].num_samples, 0);
	for (size_t i = 0; i < 2; i++) {
		/* The one, then the other. */
		profile_set_metric_decimals(session.profile, metrics[0], i ? 0 : 2);
		profile_set_metric_decimals(session.profile, metrics[1], i ? 1 : 0);
		session.recordings[0].num_samples = 0;
		session.recordings[1].num_samples = 44;
		assert_int_equal(unify_decimals(&session), 0);
		assert_int_equal(session.recordings[0].num_samples, i ? 500 : 5);
		assert_int_equal(session.recordings[1].num_samples, 44);
		assert_int_equal(profile_get_sample(session.profile, 0)->value, i ? 5000 : 500);
		assert_int_equal(profile_get_sample(session.profile, 1)->value, 700);
	}
}

static void doubts_name_each_file(void **state _unused_)
{
	assert_int_equal(append_doubt(&session.doubt, "a"), 0);
	assert_true(string_starts_with(session.doubt.data, "a: most stacks weigh 1000"));
	assert_int_equal(append_doubt(&session.doubt, "b"), 0);
	assert_true(string_starts_with(session.doubt.data, "a and b: most stacks weigh 1000"));
	assert_true(string_ends_with(session.doubt.data, "is unknown"));
}

static bool is_right(size_t num_before, size_t num_after, int num_operands)
{
	char *operands[] = {NULL, NULL, NULL, NULL};
	static char operand[] = "x";

	for (size_t i = 0; i < 3; i++)
		operands[i] = operand;
	session.values[0].items.length = num_before;
	session.values[1].items.length = num_after;
	return is_usage_right(&session, operands, num_operands);
}

static void two_sides_are_named_once(void **state _unused_)
{
	for (size_t before = 0; before < 3; before++)
		for (size_t after = 0; after < 3; after++)
			for (int operands = 0; operands < 4; operands++) {
				bool is_pair = before && after && !operands;
				bool is_operands = !before && !after && operands == 2;

				session.archive.dir = NULL;
				assert_int_equal(is_right(before, after, operands),
						 is_pair || is_operands);
				session.archive.dir = "dir";
				assert_int_equal(is_right(before, after, operands),
						 before == 1 && after == 1 && !operands);
			}
	session.archive.dir = NULL;
	session.values[0].items.length = session.values[1].items.length = 0;
}

static void names_are_those_of_the_files(void **state _unused_)
{
	assert_int_equal(add_value(&session.paths[0], "a"), 0);
	assert_int_equal(add_value(&session.paths[0], "b"), 0);
	assert_int_equal(add_value(&session.paths[1], "c"), 0);
	assert_int_equal(add_value(&session.values[0], "from..to"), 0);
	assert_int_equal(add_value(&session.values[1], "later"), 0);
	assert_int_equal(name_recordings(&session), EXIT_DONE);
	assert_string_equal(session.recordings[0].path, "a, b");
	assert_string_equal(session.recordings[1].path, "c");
	/* Of an archive it is the range. */
	text_truncate(&session.names[0], 0);
	text_truncate(&session.names[1], 0);
	session.archive.dir = "dir";
	assert_int_equal(name_recordings(&session), EXIT_DONE);
	assert_string_equal(session.recordings[0].path, "from..to");
	assert_string_equal(session.recordings[1].path, "later");
	assert_false(is_range_without_archive(&session, 0));
	session.archive.dir = NULL;
	assert_true(is_range_without_archive(&session, 0));
	assert_false(is_range_without_archive(&session, 1));
}

/* Each is a run, of all its sources. */
static void each_file_is_a_run(void **state _unused_)
{
	static const uint32_t counts[] = {2, 1, 0, 3};
	uint32_t next = 1;

	assert_int_equal(add_value(&session.paths[1], "2"), 0);
	assert_int_equal(add_value(&session.paths[1], "1"), 0);
	assert_int_equal(add_value(&session.paths[1], "0"), 0);
	assert_int_equal(add_value(&session.paths[1], "3"), 0);
	add_sources(1);
	assert_int_equal(read_runs(&session, 1), EXIT_DONE);
	assert_int_equal(session.runs[0].length, 0);
	assert_int_equal(session.runs[1].length, ARRAY_LENGTH(counts));
	array_for_each (&session.runs[1], run) {
		assert_int_equal(run->first_source, next);
		next += counts[run - session.runs[1].items];
		assert_int_equal(run->end_source, next);
	}
	read_status = EXIT_FAILED;
	assert_int_equal(read_runs(&session, 1), EXIT_FAILED);
	read_status = 0;
	/* Without memory for a run. */
	session.runs[1].length = session.runs[1].capacity;
	failing_memory_start(0);
	assert_int_equal(read_runs(&session, 1), EXIT_FAILED);
	assert_true(failing_memory_end());
	session.runs[1].length = 0;
}

/* A table needs to know them, and a page alone does not. */
static void times_are_kept_for_the_table(void **state _unused_)
{
	struct output page = {0};
	bool has_failed = true;

	for (int i = 0; i < 4; i++) {
		struct profile *profile;

		session.outputs = (struct outputs){&page, i & 1};
		session.is_json = i & 2;
		profile = make_profile(&session);
		assert_non_null(profile);
		assert_int_equal(profile_get_timestamps(profile) != NULL, i != 1);
		profile_free(profile);
	}
	session.is_json = true;
	for (int64_t num_before = 0; has_failed; num_before++) {
		struct profile *profile;

		failing_memory_start(num_before);
		profile = make_profile(&session);
		has_failed = failing_memory_end_with(profile ? 0 : -ENOMEM);
		profile_free(profile);
	}
	session.outputs = (struct outputs){0};
	session.is_json = false;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(captures_are_divided_in_order),
		TEST(runs_without_weight_are_left_out),
		TEST(the_metric_is_what_was_asked_for),
		TEST(counts_with_decimals_are_whole_samples),
		TEST(both_have_as_many_decimals),
		TEST(doubts_name_each_file),
		TEST(two_sides_are_named_once),
		TEST(names_are_those_of_the_files),
		TEST(each_file_is_a_run),
		TEST(times_are_kept_for_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
