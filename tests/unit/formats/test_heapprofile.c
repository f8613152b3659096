#include "import_fixture.h"

#define FORMAT (&format_heapprofile)

#define CALL(name) "\"callFrame\":{\"functionName\":\"" name "\",\"url\":\"a.js\",\"lineNumber\":6}"

static const char heap[] = "{\"head\":{" CALL(
	"(root)") ",\"selfSize\":8,\"id\":1,\"children\":["
		  "{" CALL(
			  "f") ",\"selfSize\":64,\"id\":2,\"children\":["
			       "{" CALL(
				       "") ",\"selfSize\":32,\"id\":3,\"children\":[]}]},"
					   "{" CALL(
						   "f") ",\"selfSize\":2,\"id\":4,\"children\":[]}]},"
							"\"samples\":[{\"size\":64,\"nodeId\":2,\"ordinal\":1}]}";

static void memory_weighs_at_what_allocated_it(void **state _unused_)
{
	struct imported imported = {0};
	const struct frame *frame;

	assert_int_equal(imported_read(&imported, FORMAT, heap, strlen(heap)), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "f 66\nf;(anonymous) 32\n");
	assert_string_equal(format_get_metric_name(imported.profile, 0), "inuse_space");
	assert_string_equal(format_get_metric_unit(imported.profile, 0), "bytes");
	frame = profile_get_frame(imported.profile, profile_count_frames(imported.profile) - 1);
	assert_string_equal(profile_get_string(imported.profile, frame->file), "a.js");
	assert_int_equal(frame->line, 7);
	imported_release(&imported);
}

static void weights_may_come_behind_the_children(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "{\"samples\":[],\"head\":{\"id\":1,\"functionName\":\"main\",\"children\":["
		      "{\"id\":2,\"functionName\":\"g\",\"children\":null,\"selfSize\":3}],"
		      "\"selfSize\":5}}",
		      0, "main 5\nmain;g 3\n");
}

static void old_cpu_profiles_count_hits(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "{\"head\":{\"functionName\":\"(root)\",\"hitCount\":0,\"children\":["
		      "{\"functionName\":\"f\",\"hitCount\":5}]}}",
		      0, "f 5\n");
}

/* As `jq -S` sorts them; the samples of an old CPU profile have times, in an order of their own. */
static void members_come_in_any_order(void **state _unused_)
{
	static const char text[] =
		"{\"endTime\":1,\"head\":{\"children\":[{\"children\":[{\"children\":[],\"functionName\":"
		"\"g\",\"hitCount\":2,\"id\":30,\"lineNumber\":2,\"url\":\"b.js\"}],"
		"\"functionName\":\"f\",\"hitCount\":1,\"id\":20,\"lineNumber\":1,\"url\":\"a.js\"}],"
		"\"functionName\":\"(root)\",\"hitCount\":0,\"id\":10},"
		"\"samples\":[30,20,30,40],\"startTime\":0,\"timestamps\":[2000,0,1500]}";
	struct imported imported = {0};
	const struct frame *frame;

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_string_equal(
		imported.warnings.data,
		"FILE: at byte 267: a sample without a node of that id, skipping this and "
		"others like it\n");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "f 1\nf;g 2\n");
	assert_string_equal(format_get_metric_name(imported.profile, 1), "time");
	/* From 0 to 1.5 ms f, then nobody, from 2 on g, as long as f before. */
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 1},
		       "f 1500000\nf;g 1500000\n");
	frame = profile_get_frame(imported.profile, 0);
	assert_string_equal(profile_get_string(imported.profile, frame->file), "b.js");
	imported_release(&imported);
}

static void what_lies_too_deep_weighs_above(void **state _unused_)
{
	struct imported imported = {0};
	struct text text = {0};
	uint32_t depth = 0;

	text_append_string(&text, "{\"head\":");
	for (int i = 0; i < 1200; i++)
		text_append_string(&text, "{\"functionName\":\"f\",\"children\":[");
	text_append_string(&text, "{\"functionName\":\"g\",\"selfSize\":7}");
	for (int i = 0; i < 1200; i++)
		text_append_string(&text, "]}");
	text_append_string(&text, "}");
	assert_int_equal(imported_read(&imported, FORMAT, text.data, text.length), 0);
	assert_string_equal(
		imported.warnings.data,
		"FILE: 201 nodes are deeper than 1000 levels: their weight counts at that level\n");
	assert_int_equal(profile_count_samples(imported.profile), 1);
	for (uint32_t stack = profile_get_sample(imported.profile, 0)->stack; stack != STACK_EMPTY;
	     stack = profile_get_stack_parent(imported.profile, stack))
		depth++;
	assert_int_equal(depth, 1000);
	imported_release(&imported);
	text_release(&text);
}

static void what_is_none_is_refused(void **state _unused_)
{
	assert_refused(FORMAT, "[]", "FILE: at byte 0: expected an object with a head");
	assert_refused(FORMAT, "{}", "FILE: at byte 0: expected an object with a head");
	assert_refused(FORMAT, "{\"head\":{\"commit\":\"x\"},\"base\":{\"hitCount\":2}}",
		       "FILE: at byte 0: expected nodes with functions and weights");
	assert_refused(FORMAT, "{\"head\":3}", "FILE: at byte 0: expected an object with a head");
	assert_refused(FORMAT, "{\"head\":{\"selfSize\":1}", "FILE: at byte 22: expected");
}

static void the_content_decides_the_format(void **state _unused_)
{
	const char *other = "{\"nodes\":[{\"id\":1,\"callFrame\":{}}]}";

	assert_int_equal(FORMAT->detect((const uint8_t *)heap, strlen(heap)), DETECTED_SURE);
	assert_int_equal(FORMAT->detect((const uint8_t *)other, strlen(other)), DETECTED_NOT);
	assert_int_equal(format_cpuprofile.detect((const uint8_t *)heap, strlen(heap)),
			 DETECTED_NOT);
}

static void sizes_may_be_strings(void **state _unused_)
{
	assert_stacks(FORMAT, "{\"head\":{" CALL("f") ",\"selfSize\":\"64\",\"children\":[]}}", 0,
		      "f 64\n");
	assert_warned(
		FORMAT,
		"{\"head\":{" CALL("f") ",\"selfSize\":\"large\",\"children\":[{" CALL(
			"g") ",\"selfSize\":3}]}}",
		"FILE: at byte 70: a node whose weight is not a number, skipping this and others "
		"like it\n",
		"f;g 3\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_weighs_at_what_allocated_it),
		cmocka_unit_test(weights_may_come_behind_the_children),
		cmocka_unit_test(old_cpu_profiles_count_hits),
		cmocka_unit_test(members_come_in_any_order),
		cmocka_unit_test(what_lies_too_deep_weighs_above),
		cmocka_unit_test(what_is_none_is_refused),
		cmocka_unit_test(the_content_decides_the_format),
		cmocka_unit_test(sizes_may_be_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
