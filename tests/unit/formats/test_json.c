#include "import_fixture.h"

#include <stdio.h>

#define FORMAT (&format_json)
#define META   "{\"meta\":{\"tool\":\"stackwide\",\"version\":\"" STACKWIDE_VERSION "\","

static void values_are_those_of_whole_subtrees(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 812, 815, "nginx");

	builder_add_sample(profile, thread, "main;b_[k]", 2);
	builder_add_sample(profile, thread, "main;a \"x\"", 4);
	builder_add_sample(profile, thread, "main", 1);
	assert_written(
		FORMAT, profile, (struct call_tree_opts){.root = TREE_ROOT_NONE},
		META
		"\"metric\":\"samples\",\"unit\":\"count\",\"total\":7},\n"
		"\"name\":\"all\",\"value\":7,\"children\":["
		"{\"name\":\"main\",\"value\":7,\"children\":["
		"{\"name\":\"a \\\"x\\\"\",\"value\":4},{\"name\":\"b_[k]\",\"value\":2}]}]}\n");
	assert_written(
		FORMAT, profile,
		(struct call_tree_opts){.root = TREE_ROOT_TID, .no_annotations = true},
		META "\"metric\":\"samples\",\"unit\":\"count\",\"root\":\"tid\",\"total\":7},\n"
		     "\"name\":\"all\",\"value\":7,\"children\":["
		     "{\"name\":\"nginx-812/815\",\"value\":7,\"children\":["
		     "{\"name\":\"main\",\"value\":7,\"children\":["
		     "{\"name\":\"a \\\"x\\\"\",\"value\":4},{\"name\":\"b\",\"value\":2}]}]}]}\n");
	profile_free(profile);
}

static void an_empty_profile_is_an_empty_tree(void **state _unused_)
{
	struct profile *profile = profile_new();

	assert_written(FORMAT, profile, (struct call_tree_opts){0},
		       META "\"metric\":\"\",\"unit\":\"\",\"root\":\"comm\",\"total\":0},\n"
			    "\"name\":\"all\",\"value\":0}\n");
	profile_free(profile);
}

static void a_comparison_has_both_values_and_the_change(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 0, 0, "");
	uint32_t before;
	uint32_t after;
	uint32_t location = builder_add_location(profile, (char[]){"f"});
	uint32_t stack;

	assert_int_equal(profile_add_metric(profile, METRIC_BEFORE, "count", &before), 0);
	assert_int_equal(profile_add_metric(profile, METRIC_AFTER, "count", &after), 0);
	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, before, 5), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, after, 3), 0);
	assert_written(
		FORMAT, profile,
		(struct call_tree_opts){.metric = after, .has_baseline = true, .baseline = before},
		META "\"metric\":\"after\",\"unit\":\"count\",\"baseline\":\"before\","
		     "\"total\":3},\n"
		     "\"name\":\"all\",\"value\":3,\"baseline\":5,\"delta\":-2,\"children\":["
		     "{\"name\":\"f\",\"value\":3,\"baseline\":5,\"delta\":-2}]}\n");
	profile_free(profile);
}

static void a_total_beyond_64_bits_is_not_written(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 0, 0, "");
	size_t written = 0;
	struct sink sink = {.write = imported_append, .context = &written};
	struct format_opts opts = {0};

	builder_add_sample(profile, thread, "a", UINT64_MAX);
	builder_add_sample(profile, thread, "b", 1);
	assert_int_equal(format_json.write(profile, &opts, &sink), -EOVERFLOW);
	profile_free(profile);
}

static void threads_and_marks_survive(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 812, 815, "a-b/c");
	struct format_opts opts = {.tree.root = TREE_ROOT_TID};
	struct text written = {0};
	struct sink sink = {.write = imported_append, .context = &written};
	struct imported imported = {0};

	builder_add_sample(profile, thread, "main; x;;sys_[k];jit_[j];in_[i];odd_[w]", 2);
	assert_int_equal(format_json.write(profile, &opts, &sink), 0);
	assert_int_equal(imported_read(&imported, FORMAT, written.data, written.length), 0);
	assert_written(&format_folded, imported.profile, opts.tree,
		       "a-b/c-812/815;main; x;;sys_[k];jit_[j];in_[i];odd_[w] 2\n");
	text_release(&written);
	imported_release(&imported);
	profile_free(profile);
}

static void a_comparison_survives(void **state _unused_)
{
	struct import import = {.profile = profile_new()};
	struct format_opts opts = {.tree.has_baseline = true};
	struct text written = {0};
	struct sink sink = {.write = imported_append, .context = &written};
	struct imported imported = {0};
	const char *input = "main;foo 1 2\nmain;foo;bar 0 4\nmain;gone 3 0\n";

	import.name = "FILE";
	import.data = (const uint8_t *)input;
	import.size = strlen(input);
	assert_int_equal(format_diff_folded.read(&import), 0);
	opts.tree.baseline = profile_find_metric(import.profile, METRIC_BEFORE);
	opts.tree.metric = profile_find_metric(import.profile, METRIC_AFTER);
	assert_int_equal(format_json.write(import.profile, &opts, &sink), 0);
	assert_int_equal(imported_read(&imported, FORMAT, written.data, written.length), 0);
	opts.tree.baseline = profile_find_metric(imported.profile, METRIC_BEFORE);
	opts.tree.metric = profile_find_metric(imported.profile, METRIC_AFTER);
	assert_written(&format_diff_folded, imported.profile, opts.tree, input);
	text_release(&written);
	imported_release(&imported);
	profile_free(import.profile);
}

static void an_empty_profile_survives(void **state _unused_)
{
	assert_stacks(
		FORMAT,
		"{\"meta\":{\"tool\":\"stackwide\",\"metric\":\"samples\",\"unit\":\"count\"},"
		"\"name\":\"all\",\"value\":0}",
		0, "");
}

static void keys_come_long_or_short_and_in_any_order(void **state _unused_)
{
	assert_stacks(
		FORMAT,
		"{\"name\":\"root\",\"children\":[{\"name\":\"a\",\"value\":3,\"extra\":{\"x\":[1]},"
		"\"children\":[{\"name\":\"b\",\"value\":1,\"children\":[]}]}],\"value\":3}",
		0, "a 2\na;b 1\n");
	assert_stacks(
		FORMAT,
		"{\"c\":[{\"c\":[{\"n\":\"b\",\"v\":1,\"l\":\"kernel\"}],\"v\":3,\"n\":\"a\"}],"
		"\"v\":3,\"n\":\"root\"}",
		0, "a 2\na;b_[k] 1\n");
}

static void values_may_be_the_nodes_own(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "{\"name\":\"root\",\"value\":0,\"children\":[{\"name\":\"a\",\"value\":2,"
		      "\"children\":[{\"name\":\"b\",\"value\":5}]}]}",
		      0, "a 2\na;b 5\n");
}

static void a_value_that_is_missing_is_that_of_the_children(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "{\"name\":\"root\",\"children\":[{\"name\":\"a\",\"value\":2},"
		      "{\"name\":\"b\",\"children\":[{\"name\":\"c\",\"value\":5}]}]}",
		      0, "a 2\nb;c 5\n");
}

static void several_trees_may_stand_in_an_array(void **state _unused_)
{
	assert_stacks(
		FORMAT,
		"[{\"name\":\"a\",\"value\":2},{\"name\":\"b\",\"value\":3,\"children\":null}]", 0,
		"a 2\nb 3\n");
}

static void an_outermost_node_with_samples_of_its_own_is_a_frame(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "{\"name\":\"all\",\"value\":5,\"children\":[{\"name\":\"a\",\"value\":3}]}",
		      0, "all 2\nall;a 3\n");
}

static void names_cannot_break_folded_text(void **state _unused_)
{
	assert_stacks(
		FORMAT,
		"{\"name\":\"all\",\"value\":1,\"children\":[{\"name\":\" a;b\\n\",\"value\":1}]}",
		0, "a:b 1\n");
}

static void decimals_are_rounded_with_a_warning(void **state _unused_)
{
	assert_warned(FORMAT, "{\"name\":\"a\",\"value\":2.6}",
		      "FILE: values with decimals are rounded\n", "a 3\n");
	assert_stacks(FORMAT, "{\"name\":\"a\",\"value\":2e1}", 0, "a 20\n");
}

static void a_deep_tree_is_read_and_written(void **state _unused_)
{
	struct text document = {0};
	struct imported imported = {0};
	struct format_opts opts = {0};
	struct text written = {0};
	struct sink sink = {.write = imported_append, .context = &written};

	for (int i = 0; i < 100000; i++)
		text_append_string(&document, "{\"n\":\"f\",\"v\":1,\"c\":[");
	for (int i = 0; i < 100000; i++)
		text_append_string(&document, "]}");
	assert_int_equal(imported_read(&imported, FORMAT, document.data, document.length), 0);
	assert_int_equal(format_json.write(imported.profile, &opts, &sink), 0);
	assert_int_equal(profile_count_stacks(imported.profile), 100001);
	text_release(&written);
	text_release(&document);
	imported_release(&imported);
}

static void what_is_no_tree_is_refused_with_its_position(void **state _unused_)
{
	assert_refused(FORMAT, "", "FILE: at byte 0: expected a value");
	assert_refused(FORMAT, "[]", "FILE: at byte 0: expected a tree of names and values");
	assert_refused(FORMAT, "{\"name\":1}", "FILE: at byte 8: expected the name of a frame");
	assert_refused(FORMAT, "{\"name\":\"a\",\"value\":-1}",
		       "FILE: at byte 20: expected a number from 0 to 2^64");
	assert_refused(FORMAT, "{\"name\":\"a\",\"value\":1e30}",
		       "FILE: at byte 20: expected a number from 0 to 2^64");
	assert_refused(FORMAT, "{\"name\":\"a\",\"children\":[3]}",
		       "FILE: at byte 24: expected a node");
	assert_refused(FORMAT, "{\"name\":\"a\",\"value\":1,\"children\":[{",
		       "FILE: at byte 35: expected a key");
}

static enum detection detect(const char *text)
{
	return format_json.detect((const uint8_t *)text, strlen(text));
}

static void the_format_is_known_by_its_content(void **state _unused_)
{
	assert_int_equal(detect("{\"c\":[{\"c\":[{\"n\":\"x\",\"v\":3"), DETECTED_SURE);
	assert_int_equal(detect("[{\"name\":\"a\",\"value\":3"), DETECTED_SURE);
	assert_int_equal(detect("{\"$schema\":\"x\",\"name\":\"a\",\"value\":3}"), DETECTED_NOT);
	assert_int_equal(detect("{\"x\":1}"), DETECTED_NOT);
	assert_int_equal(detect("main;foo 3\n"), DETECTED_NOT);
	assert_int_equal(detect("{main} 3\n"), DETECTED_NOT);
}

/* "name" and "value" stand in many files; those of a node stand in a node. */
static void names_and_values_elsewhere_are_no_tree(void **state _unused_)
{
	static const char *const foreign[] = {
		"{\"users\":[{\"name\":\"Ann\",\"value\":5}]}",
		"{\"resourceProfiles\":[{\"scopeProfiles\":[{\"scope\":{\"name\":\"p\"},"
		"\"profiles\":[{\"x\":{\"value\":5}}]}]}]}",
		"{\"version\":1,\"recording\":{\"displayName\":\"Timeline\",\"records\":["
		"{\"name\":\"timer\",\"value\":5}]}}",
		"{\"flamebearer\":{\"names\":[\"total\"],\"levels\":[[0,5,0,0]]},"
		"\"metadata\":{\"name\":\"cpu\"},\"timeline\":[{\"value\":5}]}",
		"{\"name\":\"Ann\",\"age\":{\"value\":5}}",
		"{\"name\":\"Ann\",\"value\":\"five\"}",
		"{\"children\":[{\"name\":\"Ann\"},{\"name\":\"Bob\"}]}",
		"{\"children\":{\"name\":\"Ann\",\"value\":5}}",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(foreign); i++)
		assert_int_equal(detect(foreign[i]), DETECTED_NOT);
	assert_refused(FORMAT, foreign[0], "FILE: at byte 0: expected a tree of names and values");
	assert_refused(FORMAT, "{}", "FILE: at byte 0: expected a tree of names and values");
	assert_refused(FORMAT, "{\"name\":\"Ann\"}",
		       "FILE: at byte 0: expected a tree of names and values");
}

static void values_may_be_strings(void **state _unused_)
{
	static const char text[] =
		"{\"name\":\"all\",\"children\":[{\"name\":\"a\",\"value\":\"3\"}]}";

	assert_int_equal(detect(text), DETECTED_SURE);
	assert_stacks(FORMAT, text, 0, "a 3\n");
	assert_refused(FORMAT, "{\"name\":\"a\",\"value\":\"3x\"}",
		       "FILE: at byte 20: expected a number");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_those_of_whole_subtrees),
		cmocka_unit_test(an_empty_profile_is_an_empty_tree),
		cmocka_unit_test(a_comparison_has_both_values_and_the_change),
		cmocka_unit_test(a_total_beyond_64_bits_is_not_written),
		cmocka_unit_test(threads_and_marks_survive),
		cmocka_unit_test(a_comparison_survives),
		cmocka_unit_test(an_empty_profile_survives),
		cmocka_unit_test(keys_come_long_or_short_and_in_any_order),
		cmocka_unit_test(values_may_be_the_nodes_own),
		cmocka_unit_test(a_value_that_is_missing_is_that_of_the_children),
		cmocka_unit_test(several_trees_may_stand_in_an_array),
		cmocka_unit_test(an_outermost_node_with_samples_of_its_own_is_a_frame),
		cmocka_unit_test(names_cannot_break_folded_text),
		cmocka_unit_test(decimals_are_rounded_with_a_warning),
		cmocka_unit_test(a_deep_tree_is_read_and_written),
		cmocka_unit_test(what_is_no_tree_is_refused_with_its_position),
		cmocka_unit_test(the_format_is_known_by_its_content),
		cmocka_unit_test(names_and_values_elsewhere_are_no_tree),
		cmocka_unit_test(values_may_be_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
