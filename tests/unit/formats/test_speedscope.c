#include "import_fixture.h"

#include <stdio.h>

#define FORMAT (&format_speedscope)

#define SCHEMA "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
#define FRAMES                                                                                   \
	"\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\",\"file\":\"b.c\",\"line\":7}," \
	"{\"name\":\"c\"}]}"

static void samples_stand_beside_their_weights(void **state _unused_)
{
	assert_stacks(FORMAT,
		      SCHEMA
		      "\"profiles\":[{\"type\":\"sampled\",\"name\":\"one\",\"unit\":\"none\","
		      "\"startValue\":0,\"endValue\":9,\"samples\":[[0,1],[0,1],[0,2],[]],"
		      "\"weights\":[1,2,4,8]}]," FRAMES "}",
		      0, "a;b 3\na;c 4\n");
	assert_stacks(FORMAT,
		      "{" FRAMES
		      ",\"profiles\":[{\"weights\":[1],\"samples\":[[2]],\"unit\":\"none\"}]}",
		      0, "c 1\n");
}

static void events_open_and_close_frames(void **state _unused_)
{
	assert_stacks(FORMAT,
		      SCHEMA
		      "\"profiles\":[{\"type\":\"evented\",\"name\":\"one\",\"unit\":\"none\","
		      "\"startValue\":0,\"endValue\":20,\"events\":["
		      "{\"type\":\"O\",\"frame\":0,\"at\":1},{\"type\":\"O\",\"frame\":1,\"at\":3},"
		      "{\"type\":\"C\",\"frame\":1,\"at\":8},{\"type\":\"C\",\"frame\":0,\"at\":9},"
		      "{\"type\":\"O\",\"frame\":2,\"at\":15}]}]," FRAMES "}",
		      0, "a 3\na;b 5\nc 5\n");
}

static void times_become_nanoseconds(void **state _unused_)
{
	static const char text[] =
		SCHEMA "\"profiles\":[{\"type\":\"sampled\",\"unit\":\"milliseconds\","
		       "\"samples\":[[0]],\"weights\":[1.5]}]," FRAMES "}";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_string_equal(format_get_metric_unit(imported.profile, 0), "nanoseconds");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0}, "a 1500000\n");
	imported_release(&imported);
}

static void several_profiles_are_threads(void **state _unused_)
{
	assert_stacks(
		FORMAT,
		SCHEMA
		"\"profiles\":["
		"{\"name\":\"one\",\"unit\":\"none\",\"samples\":[[0]],\"weights\":[1]},"
		"{\"name\":\"two\",\"unit\":\"none\",\"samples\":[[0]],\"weights\":[2]}]," FRAMES
		"}",
		0, "one;a 1\ntwo;a 2\n");
}

static void what_is_written_is_read_again(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t first = builder_add_thread(profile, 812, 815, "ngi\"nx");
	uint32_t second = builder_add_thread(profile, 0, 0, "");
	struct format_opts opts = {0};
	struct text written = {0};
	struct text again = {0};
	struct sink sink = {.write = imported_append, .context = &written};
	struct imported imported = {0};
	uint32_t metric;

	builder_add_sample(profile, first, "main;f;sys_[k]", 2);
	builder_add_sample(profile, first, "main;f_[j];g_[i]", 3);
	builder_add_sample(profile, second, "main", 0);
	assert_int_equal(profile_add_metric(profile, "time", "microseconds", &metric), 0);
	assert_int_equal(profile_add_sample(profile, first, 1, metric, 77), 0);
	assert_int_equal(format_speedscope.write(profile, &opts, &sink), 0);
	assert_int_equal(imported_read(&imported, FORMAT, written.data, written.length), 0);
	assert_written(
		&format_folded, imported.profile, (struct call_tree_opts){.root = TREE_ROOT_TID},
		"main 0\nngi\"nx-812/815;main;f;sys_[k] 2\nngi\"nx-812/815;main;f_[j];g_[i] 3\n");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 1},
		       "ngi\"nx;main 77\n");
	sink.context = &again;
	assert_int_equal(format_speedscope.write(imported.profile, &opts, &sink), 0);
	assert_string_equal(again.data, written.data);
	text_release(&written);
	text_release(&again);
	imported_release(&imported);
	profile_free(profile);
}

static void an_empty_profile_is_an_empty_list(void **state _unused_)
{
	struct profile *profile = profile_new();

	assert_written(FORMAT, profile, (struct call_tree_opts){0},
		       "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		       "\"exporter\":\"stackwide@" STACKWIDE_VERSION "\",\n\"profiles\":[],\n"
		       "\"shared\":{\"frames\":[]},\n\"activeProfileIndex\":0}\n");
	profile_free(profile);
}

static void an_empty_list_is_an_empty_profile(void **state _unused_)
{
	assert_stacks(FORMAT, "{\"profiles\":[],\"shared\":{\"frames\":[]}}", 0, "");
}

static void files_and_lines_are_kept(void **state _unused_)
{
	static const char text[] = SCHEMA
		"\"profiles\":[{\"unit\":\"none\",\"samples\":[[1]],\"weights\":[1]}]," FRAMES "}";
	struct imported imported = {0};
	const struct frame *frame;

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	frame = profile_get_frame(imported.profile, 1);
	assert_string_equal(profile_get_string(imported.profile, frame->file), "b.c");
	assert_int_equal(frame->line, 7);
	imported_release(&imported);
}

static void malformed_samples_and_events_are_skipped(void **state _unused_)
{
	assert_warned(
		FORMAT,
		"{" FRAMES ",\"profiles\":[{\"unit\":\"none\",\"samples\":[[9],[0],[\"x\"],[1]],"
		"\"weights\":[1,2,4]}]}",
		"FILE: at byte 122: a sample with a frame missing in the table, skipping this "
		"and others like it\n",
		"a 2\n");
	assert_warned(
		FORMAT,
		"{" FRAMES ",\"profiles\":[{\"unit\":\"none\",\"events\":["
		"{\"type\":\"O\",\"frame\":0,\"at\":5},{\"type\":\"C\",\"frame\":1,\"at\":6},"
		"{\"type\":\"O\",\"frame\":1,\"at\":4},{\"type\":\"X\",\"frame\":1,\"at\":7},"
		"{\"type\":\"C\",\"frame\":0,\"at\":9}]}]}",
		"FILE: at byte 151: the end of a frame that is not the innermost one, skipping this and "
		"others like it\n",
		"a 4\n");
}

static void what_is_not_speedscope_is_refused(void **state _unused_)
{
	assert_refused(FORMAT, "", "FILE: at byte 0: expected a value");
	assert_refused(FORMAT, "{}", "FILE: at byte 0: expected an object with profiles");
	assert_refused(FORMAT, "{\"profiles\":{\"list\":[]},\"shared\":{}}",
		       "FILE: at byte 0: expected an object with profiles");
	assert_refused(FORMAT, "{\"profiles\":[{\"name\":\"Ann\"}],\"shared\":{}}",
		       "FILE: at byte 0: expected profiles with samples or events");
	assert_refused(FORMAT, "{\"profiles\":[1]}", "FILE: at byte 13: expected a profile");
	assert_refused(FORMAT, "{\"profiles\":[{\"samples\":[[0]",
		       "FILE: at byte 28: expected ','");
	assert_refused(FORMAT, "{\"profiles\":[{\"samples\":{}}]}",
		       "FILE: at byte 24: expected lists of samples and of weights");
	assert_refused(FORMAT, "{\"shared\":{\"frames\":[1]},\"profiles\":[{}]}",
		       "FILE: at byte 21: expected a frame");
}

static enum detection detect(const char *text)
{
	return FORMAT->detect((const uint8_t *)text, strlen(text));
}

static void the_format_is_known_by_its_keys(void **state _unused_)
{
	assert_int_equal(detect(SCHEMA), DETECTED_SURE);
	assert_int_equal(detect("{\"profiles\":[{\"a\":1}],\"shared\":{"), DETECTED_SURE);
	assert_int_equal(detect("{\"name\":\"root\",\"value\":3}"), DETECTED_NOT);
	assert_int_equal(detect("[1]"), DETECTED_NOT);
}

static void numbers_may_be_strings(void **state _unused_)
{
	static const char head[] = "{\"shared\":{\"frames\":[{\"name\":\"f\"},{\"name\":\"g\"}]},"
				   "\"profiles\":[{\"type\":";
	char text[400];

	snprintf(text, sizeof(text),
		 "%s\"sampled\",\"unit\":\"none\",\"samples\":[[0,\"1\"],[0]],"
		 "\"weights\":[\"5\",2]}]}",
		 head);
	assert_stacks(FORMAT, text, 0, "f 2\nf;g 5\n");
	snprintf(text, sizeof(text),
		 "%s\"evented\",\"unit\":\"microseconds\",\"endValue\":\"9\",\"events\":["
		 "{\"type\":\"O\",\"frame\":\"0\",\"at\":\"1.5\"}]}]}",
		 head);
	assert_stacks(FORMAT, text, 0, "f 7500\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_stand_beside_their_weights),
		cmocka_unit_test(events_open_and_close_frames),
		cmocka_unit_test(times_become_nanoseconds),
		cmocka_unit_test(several_profiles_are_threads),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(an_empty_profile_is_an_empty_list),
		cmocka_unit_test(an_empty_list_is_an_empty_profile),
		cmocka_unit_test(files_and_lines_are_kept),
		cmocka_unit_test(malformed_samples_and_events_are_skipped),
		cmocka_unit_test(what_is_not_speedscope_is_refused),
		cmocka_unit_test(the_format_is_known_by_its_keys),
		cmocka_unit_test(numbers_may_be_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
