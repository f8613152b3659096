/*
 * Weights below 0 in formats of text: they are subtracted from their stacks, and what stays below 0 is
 * left out with a warning.
 */
#include "import_fixture.h"

#define COMPARISON(verb)       \
	"FILE: the file " verb \
	" a comparison of two profiles: only growth is read; 'stackwide diff BEFORE AFTER' compares profiles\n"

static void counts_of_a_stack_are_added_with_their_signs(void **state _unused_)
{
	assert_stacks(&format_folded, "p;a 100\np;a -150\np;a 200\n", 0, "p;a 150\n");
	assert_stacks(&format_folded, "p;a -150\np;a 350\np;b 1\n", 0, "p;a 200\np;b 1\n");
	/* Out of order, and with others between. */
	assert_stacks(&format_folded, "z 5\np;a -3\nb 1\np 7\np;a 4\nz -1\n", 0,
		      "b 1\np 7\np;a 1\nz 4\n");
}

static void a_sum_of_0_stays(void **state _unused_)
{
	assert_stacks(&format_folded, "a 5\na -5\nb -0\n", 0, "a 0\nb 0\n");
}

static void what_stays_below_0_is_left_out(void **state _unused_)
{
	assert_warned(&format_folded, "a 100\nb -3\nc 5\nc -7\n",
		      "FILE: 2 stacks have negative sums of samples (5 in all), skipping\n",
		      "a 100\n");
	assert_warned(&format_folded, "a 100\nb -3\n",
		      "FILE: 1 stack has a negative sum of samples (3 in all), skipping\n",
		      "a 100\n");
}

static void a_large_part_below_0_looks_like_a_comparison(void **state _unused_)
{
	assert_warned(&format_folded, "a 10\nb -30\n",
		      "FILE: 1 stack has a negative sum of samples (30 in all), "
		      "skipping\n" COMPARISON("looks like"),
		      "a 10\n");
}

static void nothing_above_0_is_refused(void **state _unused_)
{
	assert_refused(&format_folded, "a;b -5\n",
		       "FILE: at byte 0: expected weights above 0: all sums are negative");
	assert_refused(&format_folded, "a;b -1.5\na;b 1\n",
		       "FILE: at byte 0: expected weights above 0: all sums are negative");
	assert_refused(&format_diff_folded, "a;b -5 -2\n",
		       "FILE: at byte 0: expected weights above 0: all sums are negative");
}

static void fractions_have_signs_too(void **state _unused_)
{
	/* What was read before is multiplied when the first fraction comes. */
	assert_warned(&format_folded, "a -1\na 3.5\nb -0.25\nc -2\nc 10\n",
		      "FILE: some counts have decimals: all are multiplied by 100\n"
		      "FILE: 1 stack has a negative sum of samples (0.25 in all), skipping\n",
		      "a 250\nc 800\n");
}

static void a_minus_sign_belongs_to_the_count_alone(void **state _unused_)
{
	assert_stacks(&format_folded, "f;a-5 3\nf;- 4\nf;b - 5\n", 0, "f;- 4\nf;a-5 3\nf;b - 5\n");
	assert_warned(&format_folded, "a 1\nb --5\nc -\nd +-5\n- 6\n-5\n",
		      "FILE:2: malformed, skipping\nFILE:3: malformed, skipping\n"
		      "FILE:4: malformed, skipping\nFILE:6: malformed, skipping\n",
		      "- 6\na 1\n");
}

static void both_counts_of_a_comparison_have_signs(void **state _unused_)
{
	struct imported imported = {0};
	const char *text = "a 10 -4\na 0 5\nb -2 3\nb 5 0\nc 9 9\n";

	assert_int_equal(imported_read(&imported, &format_diff_folded, text, strlen(text)), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_written(&format_diff_folded, imported.profile, (struct call_tree_opts){0},
		       "a 10 1\nb 3 3\nc 9 9\n");
	imported_release(&imported);
}

/* A text is no comparison because frames end in a negative number. */
static void a_negative_first_count_is_part_of_a_name(void **state _unused_)
{
	static const char text[] = "main;f -1 5\nmain;g -2 6\n";

	assert_int_equal(format_diff_folded.detect((const uint8_t *)text, strlen(text)),
			 DETECTED_BY_NAME);
	assert_stacks(&format_folded, text, 0, "main;f -1 5\nmain;g -2 6\n");
}

static void files_that_are_merged_keep_their_own_sums(void **state _unused_)
{
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, &format_folded, "a 10\nb 3\n", 9), 0);
	assert_int_equal(imported_read(&imported, &format_folded, "a -4\nb 1\n", 9), 0);
	assert_non_null(strstr(imported.warnings.data, "1 stack has a negative sum"));
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0}, "a 10\nb 4\n");
	imported_release(&imported);
}

/* How many samples were cancelled out is not known. */
static void each_stack_counts_as_one_sample_at_least(void **state _unused_)
{
	static const char text[] = "a 1\na 1\na 1\na -2\nb 7\nc -1\n";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, &format_folded, text, strlen(text)), 0);
	assert_int_equal(profile_get_metric(imported.profile, 0)->num_samples, 2);
	assert_int_equal(imported.import.counts.records, 6);
	imported_release(&imported);
}

#define SPEEDSCOPE(samples, weights)                                                            \
	"{\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\"}]},\"profiles\":[{\"type\":" \
	"\"sampled\",\"name\":\"t\",\"unit\":\"bytes\",\"samples\":[" samples                   \
	"],\"weights\":[" weights "]}]}"

static void speedscope_s_weights_have_signs(void **state _unused_)
{
	assert_stacks(&format_speedscope, SPEEDSCOPE("[0],[0,1],[0,1]", "10,-20,50"), 0,
		      "a 10\na;b 30\n");
	/* More digits than a double holds. */
	assert_stacks(&format_speedscope,
		      SPEEDSCOPE("[0],[0]", "-9007199254740993,9007199254740994"), 0, "a 1\n");
	assert_warned(&format_speedscope, SPEEDSCOPE("[0],[0,1]", "100,-20"),
		      "FILE: 1 stack has a negative sum of bytes (20 bytes in all), skipping\n",
		      "a 100\n");
	assert_refused(&format_speedscope, SPEEDSCOPE("[0]", "-1"),
		       "FILE: at byte 0: expected weights above 0");
}

#define FIREFOX(samples)                                                                        \
	"{\"meta\":{\"preprocessedProfileVersion\":48,\"categories\":[{\"name\":\"Other\"}]},"  \
	"\"threads\":[{\"name\":\"t\",\"pid\":7,\"tid\":8,\"samples\":{" samples "},"           \
	"\"stackTable\":{\"frame\":[0,1],\"prefix\":[null,0],\"length\":2},"                    \
	"\"frameTable\":{\"func\":[0,1],\"line\":[null,null],\"category\":[0,0],\"length\":2}," \
	"\"funcTable\":{\"name\":[0,1],\"resource\":[-1,-1],\"length\":2},"                     \
	"\"stringArray\":[\"a\",\"b\"]}]}"

/* The thread of a comparison, which the profiler's page makes of two. */
static void the_firefox_profiler_s_weights_have_signs(void **state _unused_)
{
	assert_stacks(&format_firefox, FIREFOX("\"stack\":[0,1,0],\"weight\":[5,7,-2]"), 0,
		      "t;a 3\nt;a;b 7\n");
	assert_warned(&format_firefox, FIREFOX("\"stack\":[0,1],\"weight\":[50,-2]"),
		      "FILE: 1 stack has a negative sum of samples (2 in all), skipping\n",
		      "t;a 50\n");
}

static void times_weigh_no_more_than_their_sample(void **state _unused_)
{
	static const char text[] = FIREFOX("\"stack\":[1,0,0,0,1],\"weight\":[9,5,4,-6,-20],"
					   "\"time\":[1,2,3,4,5]");
	struct imported imported = {.profile = profile_new()};
	const struct timestamps *timestamps;

	assert_int_equal(profile_keep_timestamps(imported.profile), 0);
	assert_int_equal(imported_read(&imported, &format_firefox, text, strlen(text)), 0);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0}, "t;a 3\n");
	timestamps = profile_get_timestamps(imported.profile);
	assert_int_equal(timestamps_count(timestamps), 1);
	assert_int_equal(timestamps_get(timestamps, 0)->sample, 0);
	assert_int_equal(timestamps_get(timestamps, 0)->weight, 3);
	assert_int_equal(timestamps_get(timestamps, 0)->time_ns, 2000000);
	imported_release(&imported);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_of_a_stack_are_added_with_their_signs),
		cmocka_unit_test(a_sum_of_0_stays),
		cmocka_unit_test(what_stays_below_0_is_left_out),
		cmocka_unit_test(a_large_part_below_0_looks_like_a_comparison),
		cmocka_unit_test(nothing_above_0_is_refused),
		cmocka_unit_test(fractions_have_signs_too),
		cmocka_unit_test(a_minus_sign_belongs_to_the_count_alone),
		cmocka_unit_test(both_counts_of_a_comparison_have_signs),
		cmocka_unit_test(a_negative_first_count_is_part_of_a_name),
		cmocka_unit_test(files_that_are_merged_keep_their_own_sums),
		cmocka_unit_test(each_stack_counts_as_one_sample_at_least),
		cmocka_unit_test(speedscope_s_weights_have_signs),
		cmocka_unit_test(the_firefox_profiler_s_weights_have_signs),
		cmocka_unit_test(times_weigh_no_more_than_their_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
