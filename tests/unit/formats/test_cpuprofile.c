#include "import_fixture.h"

#define FORMAT (&format_cpuprofile)

#define NODES                                                                                        \
	"\"nodes\":["                                                                                \
	"{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\",\"lineNumber\":-1},\"hitCount\":0,"    \
	"\"children\":[2,4]},"                                                                       \
	"{\"id\":2,\"callFrame\":{\"functionName\":\"\",\"url\":\"file:///a.js\",\"lineNumber\":6}," \
	"\"hitCount\":1,\"children\":[3]},"                                                          \
	"{\"id\":3,\"callFrame\":{\"functionName\":\"fib\"},\"hitCount\":2},"                        \
	"{\"id\":4,\"callFrame\":{\"functionName\":\"(idle)\"},\"hitCount\":5}]"

static const char sampled[] = "{" NODES ",\"startTime\":100,\"endTime\":190,"
			      "\"samples\":[3,2,4,3],\"timeDeltas\":[10,20,-5,30]}";

static void samples_are_counted_at_their_nodes(void **state _unused_)
{
	assert_stacks(FORMAT, sampled, 0, "(anonymous) 1\n(anonymous);fib 2\n(idle) 1\n");
}

/* At 110, 125, 130 and 155, in another order; the last one lasts no longer than any before it, and not until 190. */
static void time_is_that_up_to_the_next_sample(void **state _unused_)
{
	assert_stacks(FORMAT, sampled, 1,
		      "(anonymous) 25000\n(anonymous);fib 40000\n(idle) 5000\n");
}

static void without_samples_the_counts_of_the_nodes_are_taken(void **state _unused_)
{
	assert_stacks(FORMAT, "{" NODES "}", 0, "(anonymous) 1\n(anonymous);fib 2\n(idle) 5\n");
}

static void files_and_lines_are_kept(void **state _unused_)
{
	struct imported imported = {0};
	const struct frame *frame;

	assert_int_equal(imported_read(&imported, FORMAT, sampled, strlen(sampled)), 0);
	frame = profile_get_frame(imported.profile, 1);
	assert_string_equal(profile_get_string(imported.profile, frame->file), "file:///a.js");
	assert_int_equal(frame->line, 7);
	imported_release(&imported);
}

static void a_circle_of_nodes_is_truncated(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"a\"},\"hitCount\":1,"
		      "\"children\":[2]},{\"id\":2,\"callFrame\":{\"functionName\":\"b\"},"
		      "\"hitCount\":1,\"children\":[1]}]}",
		      0, "b 1\nb;a 1\n");
}

static void samples_of_unknown_nodes_are_skipped(void **state _unused_)
{
	assert_warned(FORMAT,
		      "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"a\"}},"
		      "{\"id\":1,\"callFrame\":{\"functionName\":\"b\"}}],\"samples\":[1,9,\"x\"]}",
		      "FILE: at byte 52: a node with a duplicate id, skipping this and others "
		      "like it\n",
		      "a 1\n");
}

static void a_deep_chain_of_nodes_is_read(void **state _unused_)
{
	struct text text = {0};
	struct imported imported = {0};

	/* Children first, so that no stack is built when its child's is. */
	text_append_string(&text, "{\"nodes\":[");
	for (int i = 0; i < 50000; i++)
		text_printf(&text, "%s{\"id\":%d,\"hitCount\":1,\"children\":[%d]}", i ? "," : "",
			    i, i - 1);
	text_append_string(&text, "]}");
	assert_int_equal(imported_read(&imported, FORMAT, text.data, text.length), 0);
	assert_int_equal(profile_count_stacks(imported.profile), 50001);
	text_release(&text);
	imported_release(&imported);
}

static void what_is_no_profile_is_refused(void **state _unused_)
{
	assert_refused(FORMAT, "", "FILE: at byte 0: expected a value");
	assert_refused(FORMAT, "{}", "FILE: at byte 0: expected an object with nodes");
	assert_refused(FORMAT, "{\"nodes\":[{\"id\":1},{\"id\":2}],\"links\":[{\"callFrame\":1}]}",
		       "FILE: at byte 0: expected nodes with call frames");
	assert_refused(FORMAT, "{\"nodes\":[3]}", "FILE: at byte 10: expected a node");
	assert_refused(FORMAT, "{\"nodes\":[{\"id\":1}],\"samples\":[1",
		       "FILE: at byte 32: expected ','");
}

static enum detection detect(const char *text)
{
	return FORMAT->detect((const uint8_t *)text, strlen(text));
}

static void the_format_is_known_by_its_keys(void **state _unused_)
{
	assert_int_equal(detect(sampled), DETECTED_SURE);
	assert_int_equal(detect("{\"nodes\":[1]}"), DETECTED_NOT);
	assert_int_equal(detect("{\"name\":\"root\",\"value\":3}"), DETECTED_NOT);
	assert_int_equal(format_json.detect((const uint8_t *)sampled, strlen(sampled)),
			 DETECTED_NOT);
}

static void numbers_may_be_strings(void **state _unused_)
{
	static const char text[] =
		"{\"nodes\":[{\"id\":\"1\",\"callFrame\":{\"functionName\":\"f\"},"
		"\"children\":[\"2\"]},{\"id\":\"2\",\"callFrame\":{\"functionName\":\"g\"}}],"
		"\"startTime\":\"0\",\"endTime\":\"10\",\"samples\":[\"1\",\"2\"],"
		"\"timeDeltas\":[\"1\",2.6]}";

	assert_stacks(FORMAT, text, 0, "f 1\nf;g 1\n");
	assert_stacks(FORMAT, text, 1, "f 3000\nf;g 3000\n");
	assert_stacks(FORMAT,
		      "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"f\"},"
		      "\"hitCount\":\"5\"}]}",
		      0, "f 5\n");
}

static void a_count_that_is_none_is_not_0(void **state _unused_)
{
	assert_warned(
		FORMAT,
		"{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"f\"},"
		"\"hitCount\":\"many\"},{\"id\":2,\"callFrame\":{\"functionName\":\"g\"},"
		"\"hitCount\":2}]}",
		"FILE: at byte 10: a node whose hits are not a number, skipping this and others "
		"like it\n",
		"g 2\n");
	assert_warned(
		FORMAT,
		"{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"f\"}}],"
		"\"samples\":[1,1],\"timeDeltas\":[1,\"long\"]}",
		"FILE: at byte 85: a time that is not a number, skipping this and others like "
		"it\n",
		"f 2\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_counted_at_their_nodes),
		cmocka_unit_test(time_is_that_up_to_the_next_sample),
		cmocka_unit_test(without_samples_the_counts_of_the_nodes_are_taken),
		cmocka_unit_test(files_and_lines_are_kept),
		cmocka_unit_test(a_circle_of_nodes_is_truncated),
		cmocka_unit_test(samples_of_unknown_nodes_are_skipped),
		cmocka_unit_test(a_deep_chain_of_nodes_is_read),
		cmocka_unit_test(what_is_no_profile_is_refused),
		cmocka_unit_test(the_format_is_known_by_its_keys),
		cmocka_unit_test(numbers_may_be_strings),
		cmocka_unit_test(a_count_that_is_none_is_not_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
