#include "import_fixture.h"

#define FORMAT (&format_firefox)

#define META                                                          \
	"\"meta\":{\"interval\":1,\"preprocessedProfileVersion\":48," \
	"\"categories\":[{\"name\":\"Other\"},{\"name\":\"Kernel module\"}]}"
#define TABLES                                                                               \
	"\"stackTable\":{\"frame\":[0,1,2],\"prefix\":[null,0,0],\"length\":3},"             \
	"\"frameTable\":{\"func\":[0,1,2],\"line\":[null,7,null],\"category\":[0,1,null],"   \
	"\"inlineDepth\":[0,0,1],\"length\":3},"                                             \
	"\"funcTable\":{\"name\":[0,1,2],\"resource\":[-1,0,-1],\"fileName\":[null,3,null]," \
	"\"lineNumber\":[null,null,4],\"length\":3},"                                        \
	"\"resourceTable\":{\"lib\":[0],\"name\":[4],\"type\":[1],\"length\":1},"            \
	"\"stringArray\":[\"main\",\"f;g\",\"h\",\"f.c\",\"libf.so\"]"
#define THREAD(samples) \
	"{\"name\":\"t\",\"pid\":\"7.1\",\"tid\":8,\"samples\":{" samples "}," TABLES "}"
#define PROFILE(samples) "{" META ",\"threads\":[" THREAD(samples) "]}"

static void samples_name_their_stacks(void **state _unused_)
{
	assert_stacks(FORMAT, PROFILE("\"stack\":[1,null,2,1],\"time\":[0,1,2,3],\"length\":4"), 0,
		      "t;main;f:g_[k] 2\nt;main;h_[i] 1\n");
}

static void weights_count_for_samples(void **state _unused_)
{
	assert_stacks(FORMAT,
		      PROFILE("\"weightType\":\"samples\",\"stack\":[0,1],\"weight\":[5,0]"), 0,
		      "t;main 5\nt;main;f:g_[k] 0\n");
	assert_stacks(FORMAT, PROFILE("\"stack\":[\"0\",1],\"weight\":[\"5\",\"4\"]"), 0,
		      "t;main 5\nt;main;f:g_[k] 4\n");
	/* Not escaped ones: nobody writes them. */
	assert_warned(FORMAT, PROFILE("\"stack\":[0,1],\"weight\":[5,\"\\u0034\"]"),
		      "FILE: at byte 177: a sample without a weight, skipping this and others like "
		      "it\n",
		      "t;main 5\n");
}

static void strictly_a_malformed_sample_is_refused(void **state _unused_)
{
	static const char text[] = PROFILE("\"stack\":[0,1],\"weight\":[5,\"\\u0034\"]");
	struct imported imported = {.import.is_strict = true};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), -EBADMSG);
	assert_string_equal(imported.import.error.message,
			    "FILE: at byte 177: a sample without a weight");
	imported_release(&imported);
}

static void milliseconds_become_nanoseconds(void **state _unused_)
{
	static const char text[] =
		PROFILE("\"stack\":[0,0,1],\"weight\":[1.5,0.000001,2e1],\"weightType\":"
			"\"tracing-ms\"");
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_string_equal(format_get_metric_unit(imported.profile, 0), "nanoseconds");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "t;main 1500001\nt;main;f:g_[k] 20000000\n");
	imported_release(&imported);
}

static void modules_files_lines_and_threads_are_kept(void **state _unused_)
{
	static const char text[] = PROFILE("\"stack\":[1]");
	struct imported imported = {0};
	const struct frame *frame;
	const struct thread *thread;

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	frame = profile_get_frame(imported.profile, 1);
	assert_string_equal(profile_get_string(imported.profile, frame->module), "libf.so");
	assert_string_equal(profile_get_string(imported.profile, frame->file), "f.c");
	assert_int_equal(frame->line, 7);
	assert_int_equal(profile_get_frame(imported.profile, 2)->line, 4);
	thread = profile_get_thread(imported.profile, 0);
	assert_int_equal(thread->tid, 8);
	assert_int_equal(profile_get_process(imported.profile, thread->process)->pid, 7);
	imported_release(&imported);
}

#define SHARED                                                                                  \
	"\"shared\":{\"stackTable\":{\"frame\":[0,1],\"prefixOffset\":[0,1]},"                  \
	"\"frameTable\":{\"func\":[0,1],\"line\":[3,0],\"category\":[1,1],\"flags\":[16,5]},"   \
	"\"funcTable\":{\"name\":[0,1],\"resource\":[0,0],\"source\":[0,0],\"flags\":[12,16]}," \
	"\"resourceTable\":{\"name\":[2],\"type\":[1]},\"sources\":{\"filename\":[3]},"         \
	"\"stringArray\":[\"a\",\"0x10\",\"lib\",\"a.c\"]}"

static void newer_versions_share_tables_and_flag_what_is_there(void **state _unused_)
{
	static const char text[] = "{" SHARED ",\"threads\":["
				   "{\"name\":\"x\",\"samples\":{\"stack\":[1]}},"
				   "{\"name\":\"y\",\"samples\":{\"stack\":[0]}}]," META "}";
	struct imported imported = {0};
	const struct frame *frame;

	assert_stacks(FORMAT, text, 0, "x;a;0x10_[k] 1\ny;a 1\n");
	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	frame = profile_get_frame(imported.profile, 0);
	assert_int_equal(frame->kind, FRAME_USER);
	assert_string_equal(profile_get_string(imported.profile, frame->file), "a.c");
	frame = profile_get_frame(imported.profile, 1);
	assert_true(frame->is_inlined);
	assert_int_equal(frame->module, STRING_EMPTY);
	imported_release(&imported);
}

static void an_address_without_a_name_is_shown_in_its_module(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "{" META ",\"threads\":[{\"name\":\"t\",\"samples\":{\"stack\":[0]},"
		      "\"stackTable\":{\"frame\":[0],\"prefix\":[null]},"
		      "\"frameTable\":{\"func\":[0]},"
		      "\"funcTable\":{\"name\":[0],\"resource\":[0]},"
		      "\"resourceTable\":{\"name\":[1],\"type\":[1]},"
		      "\"stringTable\":[\"0x1a40\",\"libc.so.6\"]}]}",
		      0, "t;libc.so.6+0x1a40 1\n");
}

static void allocations_are_metrics_of_their_own(void **state _unused_)
{
	static const char text[] =
		"{" META ",\"threads\":[{\"name\":\"t\",\"samples\":{\"stack\":[]},"
		"\"nativeAllocations\":{\"stack\":[0,0],\"weight\":[64,-16]}," TABLES "}]}";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 1},
		       "t;main 64\n");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 2},
		       "t;main 16\n");
	imported_release(&imported);
}

static const char raw[] =
	"{\"libs\":[{\"start\":8192,\"end\":12288,\"offset\":256,\"name\":\"xul\"},"
	"{\"start\":4096,\"end\":8192,\"offset\":0,\"name\":\"low\"}],"
	"\"meta\":{\"version\":31,\"stackwalk\":1},"
	"\"threads\":[{\"name\":\"GeckoMain\",\"tid\":3,\"pid\":2,"
	"\"samples\":{\"schema\":{\"time\":1,\"stack\":0},\"data\":[[2,1.5],[null,2],[3,3]]},"
	"\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},"
	"\"data\":[[null,0],[0,1],[1,2],[0,3]]},"
	"\"frameTable\":{\"schema\":{\"location\":0,\"line\":2},"
	"\"data\":[[0],[1],[2,true,12],[3]]},"
	"\"stringTable\":[\"(root)\",\"0x2010\",\"run (https://a.b/c.js:10:5)\",\"f (in lib)\"]}],"
	"\"processes\":[{\"meta\":{\"version\":31},\"libs\":[],\"threads\":[{\"name\":\"Web\","
	"\"samples\":{\"schema\":{\"stack\":0},\"data\":[[0]]},"
	"\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[[null,0]]},"
	"\"frameTable\":{\"schema\":{\"location\":0},\"data\":[[0]]},"
	"\"stringTable\":[\"0x2010\"]}]}]}";

static void raw_profiles_have_rows_and_frames_as_text(void **state _unused_)
{
	struct imported imported = {0};
	const struct frame *frame;

	assert_stacks(FORMAT, raw, 0,
		      "GeckoMain;(root);f 1\nGeckoMain;(root);xul+0x110;run 1\nWeb;0x2010 1\n");
	assert_int_equal(imported_read(&imported, FORMAT, raw, strlen(raw)), 0);
	frame = profile_get_frame(imported.profile, 2);
	assert_string_equal(profile_get_string(imported.profile, frame->file), "https://a.b/c.js");
	assert_int_equal(frame->line, 12);
	frame = profile_get_frame(imported.profile, 3);
	assert_string_equal(profile_get_string(imported.profile, frame->module), "lib");
	imported_release(&imported);
}

/*
 * A text is the name of a function in processed processes, and a whole frame in raw ones: what was made
 * of it in one must not be taken for what it is in the other.
 */
static void the_same_text_is_a_function_here_and_a_frame_there(void **state _unused_)
{
	static const char mixed[] =
		"{\"meta\":{\"version\":31,\"stackwalk\":1},\"threads\":[{\"name\":\"Raw\","
		"\"funcTable\":{\"name\":[1,1]},"
		"\"samples\":{\"schema\":{\"stack\":0},\"data\":[[0]]},"
		"\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[[null,0]]},"
		"\"frameTable\":{\"schema\":{\"location\":0},\"data\":[[1]]},"
		"\"stringTable\":[\"other\",\"run (a.js:3)\"]}],"
		"\"processes\":[{\"meta\":{\"preprocessedProfileVersion\":50},"
		"\"threads\":[{\"name\":\"Processed\",\"samples\":{\"stack\":[0]},"
		"\"stackTable\":{\"frame\":[0],\"prefix\":[null]},\"frameTable\":{\"func\":[0]},"
		"\"funcTable\":{\"name\":[0]},\"stringArray\":[\"run (a.js:3)\"]}]}]}";

	assert_stacks(FORMAT, mixed, 0, "Processed;run (a.js:3) 1\nRaw;run 1\n");
}

/* The first processed files have no version; the names of their functions are absolute addresses. */
static const char first_processed[] =
	"{\"meta\":{\"interval\":1,\"stackwalk\":1,\"version\":3},\"threads\":[{\"name\":\"Main\","
	"\"libs\":[{\"name\":\"prog\",\"path\":\"/opt/prog\",\"start\":94557999988736,"
	"\"end\":94558000054272,\"offset\":0}],"
	"\"frameTable\":{\"length\":4,\"func\":[0,1,2,3],\"address\":[-1,8068,10821,-1]},"
	"\"funcTable\":{\"length\":4,\"name\":[0,1,2,3],\"resource\":[-1,0,0,-1]%s},"
	"\"resourceTable\":{\"length\":1,\"type\":[1],\"name\":[4],\"lib\":[0]},"
	"\"stackTable\":{\"length\":4,\"prefix\":[null,0,1,1],\"frame\":[0,1,2,3]},"
	"\"stringArray\":[\"(root)\",\"0x560000001f84\",\"0x560000002a45\",\"work\",\"prog\"],"
	"\"samples\":{\"length\":5,\"stack\":[1,2,2,3,0],\"time\":[0,1,2,3,4]}}]}";

static void processed_files_are_known_by_their_columns(void **state _unused_)
{
	static const char expected[] = "Main;(root) 1\nMain;(root);prog+0x1f84 1\n"
				       "Main;(root);prog+0x1f84;prog+0x2a45 2\n"
				       "Main;(root);prog+0x1f84;work 1\n";
	struct imported imported = {.import.will_name_code = true};
	const struct location *location = NULL;
	char text[2048];

	snprintf(text, sizeof(text), first_processed, ",\"address\":[-1,8068,10821,-1]");
	assert_stacks(FORMAT, text, 0, expected);
	/* By the library's start. */
	snprintf(text, sizeof(text), first_processed, "");
	assert_stacks(FORMAT, text, 0, expected);
	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	for (uint32_t i = 0; i < profile_count_locations(imported.profile); i++)
		if (profile_get_location(imported.profile, i)->space == LOCATION_ELF && !location)
			location = profile_get_location(imported.profile, i);
	assert_non_null(location);
	assert_int_equal(location->address, 0x1f84);
	imported_release(&imported);
}

static void what_does_not_exist_is_skipped(void **state _unused_)
{
	assert_warned(FORMAT,
		      "{\"threads\":[{\"name\":\"t\",\"samples\":{\"stack\":[0,1,2,9]},"
		      "\"stackTable\":{\"frame\":[0,5,0],\"prefix\":[null,null,2]},"
		      "\"frameTable\":{\"func\":[0]},\"funcTable\":{\"name\":[0]},"
		      "\"stringArray\":[\"a\"]}],\"meta\":{\"preprocessedProfileVersion\":48}}",
		      "FILE: at byte 79: a stack whose frame or caller is missing, skipping this "
		      "and others like it\n",
		      "t;a 1\n");
}

static void what_is_no_profile_is_refused(void **state _unused_)
{
	assert_refused(FORMAT, "", "FILE: at byte 0: expected a value");
	assert_refused(FORMAT, "[]", "FILE: at byte 0: expected an object with threads");
	assert_refused(FORMAT, "{}", "FILE: at byte 0: expected an object with threads");
	assert_refused(FORMAT, "{\"threads\":[{\"name\":\"Ann\"},{\"posts\":5}]}",
		       "FILE: at byte 0: expected threads with samples");
	assert_refused(FORMAT, "{\"threads\":7}",
		       "FILE: at byte 0: expected an object with threads");
	assert_refused(FORMAT, "{\"threads\":[{\"samples\":", "FILE: at byte 23: expected a value");
	assert_refused(FORMAT, PROFILE("\"stack\":[0,0],\"weight\":[18446744073709551615,1]"),
		       "FILE: at byte 177: the weights of a stack exceed 64 bits");
}

/* Threads with and without ids, kinds of frames, an empty stack, times, more than 53 bits. */
static struct profile *make_profile(void)
{
	struct profile *profile = profile_new();
	uint32_t first = builder_add_thread(profile, 812, 812, "ngi\"nx");
	uint32_t second = builder_add_thread(profile, 812, 815, "worker");
	uint32_t third = builder_add_thread(profile, 0, 0, "");
	uint32_t time;
	uint32_t alloc;

	builder_add_sample(profile, first, "main;f;sys_[k]", 2);
	builder_add_sample(profile, second, "main;f_[j];g_[i]", 3);
	builder_add_sample(profile, third, "main", 0);
	assert_int_equal(profile_add_metric(profile, "cpu", "nanoseconds", &time), 0);
	assert_int_equal(profile_add_metric(profile, "alloc", "bytes", &alloc), 0);
	assert_int_equal(profile_add_sample(profile, first, 1, time, 18014398509481983), 0);
	assert_int_equal(profile_add_sample(profile, first, STACK_EMPTY, time, 1500000), 0);
	assert_int_equal(profile_add_sample(profile, second, 2, alloc, 77), 0);
	return profile;
}

static void what_is_written_is_read_again(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct format_opts opts = {0};
	struct text written = {0};
	struct text again = {0};
	struct sink sink = {.write = imported_append, .context = &written};
	struct imported imported = {0};

	assert_int_equal(format_firefox.write(profile, &opts, &sink), 0);
	assert_int_equal(imported_read(&imported, FORMAT, written.data, written.length), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_written(
		&format_folded, imported.profile, (struct call_tree_opts){.root = TREE_ROOT_TID},
		"main 0\nngi\"nx-812/812;main;f;sys_[k] 2\nworker-812/815;main;f_[j];g_[i] 3\n");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 1},
		       "ngi\"nx 1500000\nngi\"nx;main 18014398509481983\n");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 2},
		       "worker;main;f 77\n");
	assert_string_equal(format_get_metric_name(imported.profile, 1), "cpu");
	assert_string_equal(format_get_metric_unit(imported.profile, 2), "bytes");
	profile_free(profile);
	profile = imported.profile;
	imported.profile = NULL;
	text_truncate(&written, 0);
	assert_int_equal(format_firefox.write(profile, &opts, &sink), 0);
	assert_int_equal(imported_read(&imported, FORMAT, written.data, written.length), 0);
	sink.context = &again;
	assert_int_equal(format_firefox.write(imported.profile, &opts, &sink), 0);
	assert_string_equal(again.data, written.data);
	text_release(&written);
	text_release(&again);
	imported_release(&imported);
	profile_free(profile);
}

static bool detects(const struct format *format, const char *text)
{
	return format->detect((const uint8_t *)text, strlen(text)) == DETECTED_SURE;
}

static void the_format_is_known_by_its_meta(void **state _unused_)
{
	static const char processed[] = PROFILE("\"stack\":[]");

	assert_true(detects(FORMAT, processed));
	assert_true(detects(FORMAT, raw));
	assert_false(detects(FORMAT, "{\"meta\":{\"tool\":\"stackwide\",\"version\":\"0.1.0\"},"
				     "\"name\":\"all\",\"value\":1,\"children\":[]}"));
	assert_false(detects(FORMAT, "{\"traceEvents\":[]}"));
	assert_false(detects(&format_speedscope, processed));
	assert_false(detects(&format_cpuprofile, processed));
	assert_false(detects(&format_json, processed));
}

/* Code without names, as samply writes it. */
static const char anonymous[] =
	"{\"meta\":{\"version\":24,\"preprocessedProfileVersion\":44,\"interval\":1},"
	"\"libs\":[{\"name\":\"a\"},{\"name\":\"libx.so\",\"path\":\"/opt/libx.so\",\"codeId\":\"abCD\"}],"
	"\"threads\":[{\"name\":\"t\",\"pid\":1,\"tid\":1,\"stringArray\":[\"0x1234\",\"libx.so\",\"main\"],"
	"\"resourceTable\":{\"length\":1,\"lib\":[1],\"name\":[1],\"type\":[1]},"
	"\"funcTable\":{\"length\":2,\"name\":[0,2],\"resource\":[0,0]},"
	"\"frameTable\":{\"length\":2,\"address\":[4660,-1],\"func\":[0,1]},"
	"\"stackTable\":{\"length\":2,\"prefix\":[null,0],\"frame\":[1,0]},"
	"\"samples\":{\"length\":1,\"stack\":[1],\"time\":[0]}}]}";

static void unsymbolized_code_is_left_to_a_caller_who_will_name_it(void **state _unused_)
{
	struct imported imported = {.import.will_name_code = true};
	const struct location *location = NULL;
	const struct module *module;

	assert_int_equal(imported_read(&imported, &format_firefox, anonymous, strlen(anonymous)),
			 0);
	for (uint32_t i = 0; i < profile_count_locations(imported.profile); i++)
		if (!profile_get_location(imported.profile, i)->num_frames)
			location = profile_get_location(imported.profile, i);
	assert_non_null(location);
	assert_int_equal(location->space, LOCATION_ELF);
	assert_int_equal(location->address, 0x1234);
	module = profile_get_module(imported.profile, location->owner);
	assert_string_equal(profile_get_string(imported.profile, module->path), "/opt/libx.so");
	assert_int_equal(module->build_id_size, 2);
	assert_memory_equal(module->build_id, "\xab\xcd", 2);
	imported_release(&imported);
}

static void unsymbolized_code_is_called_by_its_place_elsewhere(void **state _unused_)
{
	assert_stacks(&format_firefox, anonymous, 0, "t;main;libx.so+0x1234 1\n");
}

/* Files of 2014 and before: no tables, and libraries as a text. */
#define LISTED                                                                                         \
	"{\"meta\":{\"version\":2,\"interval\":1,\"stackwalk\":1},\"libs\":\"[{\\\"start\\\": 4096, "  \
	"\\\"end\\\": 8192, \\\"name\\\": \\\"libxul.so\\\"}]\",\"threads\":[{\"name\":\"GeckoMain\"," \
	"\"tid\":12,\"samples\":["

static void samples_of_the_oldest_files_list_their_frames(void **state _unused_)
{
	static const char text[] = LISTED
		"{\"frames\":[{\"location\":\"(root)\"},{\"location\":\"run (a.js:12)\",\"line\":13}],"
		"\"responsiveness\":0,\"time\":10.5},"
		"{\"frames\":[{\"location\":\"(root)\"},\"0x1010\"],\"time\":11.5},"
		"1,{\"frames\":null}],\"markers\":[]}]}";
	struct imported imported = {0};
	const struct timestamps *timestamps;

	assert_stacks(FORMAT, text, 0,
		      "GeckoMain 1\nGeckoMain;(root);libxul.so+0x10 1\nGeckoMain;(root);run 1\n");
	imported.profile = profile_new();
	assert_int_equal(profile_keep_timestamps(imported.profile), 0);
	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	timestamps = profile_get_timestamps(imported.profile);
	assert_int_equal(timestamps_count(timestamps), 2);
	assert_int_equal(timestamps_get(timestamps, 0)->time_ns, 10000000);
	assert_int_equal(profile_get_frame(imported.profile, 1)->line, 13);
	imported_release(&imported);
}

static void a_list_of_frames_is_bounded(void **state _unused_)
{
	struct text text = {0};

	text_append_string(&text, LISTED "{\"frames\":[");
	for (int i = 0; i < 65537; i++)
		text_append_string(&text, i ? ",\"f\"" : "\"f\"");
	text_append_string(&text, "]}]}]}");
	assert_refused(FORMAT, text.data,
		       "FILE: at byte 262156: a stack of more than 65536 frames");
	text_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_the_oldest_files_list_their_frames),
		cmocka_unit_test(a_list_of_frames_is_bounded),
		cmocka_unit_test(samples_name_their_stacks),
		cmocka_unit_test(weights_count_for_samples),
		cmocka_unit_test(strictly_a_malformed_sample_is_refused),
		cmocka_unit_test(milliseconds_become_nanoseconds),
		cmocka_unit_test(modules_files_lines_and_threads_are_kept),
		cmocka_unit_test(newer_versions_share_tables_and_flag_what_is_there),
		cmocka_unit_test(an_address_without_a_name_is_shown_in_its_module),
		cmocka_unit_test(allocations_are_metrics_of_their_own),
		cmocka_unit_test(raw_profiles_have_rows_and_frames_as_text),
		cmocka_unit_test(the_same_text_is_a_function_here_and_a_frame_there),
		cmocka_unit_test(processed_files_are_known_by_their_columns),
		cmocka_unit_test(what_does_not_exist_is_skipped),
		cmocka_unit_test(what_is_no_profile_is_refused),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(the_format_is_known_by_its_meta),
		cmocka_unit_test(unsymbolized_code_is_left_to_a_caller_who_will_name_it),
		cmocka_unit_test(unsymbolized_code_is_called_by_its_place_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
