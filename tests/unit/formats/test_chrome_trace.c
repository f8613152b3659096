#include "formats/zones/read_profile.h"
#include "import_fixture.h"

#include "timeline/timeline.h"
#include <stdio.h>

#define FORMAT (&format_chrome_trace)

#define AT(ph, name, ts) "{\"ph\":\"" ph "\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts

static void slices_weigh_the_time_that_no_inner_one_has(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "[" AT("X", "inner", "2") ",\"dur\":3}," AT("X", "outer", "1") ",\"dur\":9}]",
		      0, "thread 1;outer 6000\nthread 1;outer;inner 3000\n");
}

static void times_may_be_strings(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "[" AT("X", "outer", "\"1\"") ",\"dur\":\"9.5\"}," AT("X", "inner",
									    "\"2\"") ",\"dur\":3}]",
		      0, "thread 1;outer 6500\nthread 1;outer;inner 3000\n");
	assert_warned(FORMAT,
		      "[" AT("X", "a", "\"x\"") ",\"dur\":1}," AT("X", "b", "2") ",\"dur\":1}]",
		      "FILE: at byte 1: a slice without its time, skipping this and others like "
		      "it\n",
		      "thread 1;b 1000\n");
}

static void times_may_be_before_zero(void **state _unused_)
{
	assert_stacks(
		FORMAT,
		"[" AT("X", "before", "-420.5") ",\"dur\":420.5}," AT(
			"X", "outer", "0") ",\"dur\":9}," AT("X", "inner", "1") ",\"dur\":3}]",
		0, "thread 1;before 420500\nthread 1;outer 6000\nthread 1;outer;inner 3000\n");
}

static void starts_and_ends_are_slices(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "[" AT("B", "a", "1") "}," AT("B", "b", "2") "}," AT("E", "", "3.5") "}," AT(
			      "E", "", "5") "}," AT("B", "b", "5") "}," AT("E", "", "6") "}]",
		      0, "thread 1;a 2500\nthread 1;a;b 1500\nthread 1;b 1000\n");
}

static void events_may_come_in_any_order(void **state _unused_)
{
	assert_stacks(FORMAT, "{\"traceEvents\":[" AT("E", "", "9") "}," AT("B", "a", "1") "}]}", 0,
		      "thread 1;a 8000\n");
}

/* Where programs append to a trace; or it is truncated. */
static void a_list_may_end_without_its_bracket(void **state _unused_)
{
	static const char *const texts[] = {
		"[\n" AT("X", "a", "1") ",\"dur\":1},\n",
		"[\n" AT("X", "a", "1") ",\"dur\":1}",
		"{\"traceEvents\":[" AT("X", "a", "1") ",\"dur\":1},",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		char warning[128];

		snprintf(warning, sizeof(warning),
			 "FILE: at byte %zu: the list of events has no end: the trace may be "
			 "truncated\n",
			 strlen(texts[i]));
		assert_warned(FORMAT, texts[i], warning, "thread 1;a 1000\n");
	}
}

static void an_event_that_is_truncated_is_reported(void **state _unused_)
{
	assert_warned(FORMAT, "[" AT("X", "a", "1") ",\"dur\":1},{\"ph\":\"X\"",
		      "FILE: at byte 63: cannot read the rest of the events, skipping\n",
		      "thread 1;a 1000\n");
}

static void slices_without_end_last_until_their_threads(void **state _unused_)
{
	assert_warned(FORMAT, "[" AT("B", "a", "1") "}," AT("X", "b", "2") ",\"dur\":2}]",
		      "FILE: 1 unterminated slice, ended with its track\n",
		      "thread 1;a 1000\nthread 1;a;b 2000\n");
}

static void ends_without_start_are_reported(void **state _unused_)
{
	assert_warned(FORMAT, "[" AT("E", "a", "1") "}," AT("X", "b", "2") ",\"dur\":2}]",
		      "FILE: 1 end of slices without a start, skipping\n", "thread 1;b 2000\n");
}

/* As Perfetto and speedscope read it: the innermost slice of that name, with what is in it; of no name the innermost one. */
static void an_end_is_of_the_slice_that_it_names(void **state _unused_)
{
	assert_warned(FORMAT,
		      "[" AT("B", "a", "1") "}," AT("B", "b", "2") "}," AT("E", "c", "3") "}," AT(
			      "E", "b", "5") "}," AT("E", "a", "6") "}]",
		      "FILE: 1 end of slices without a start, skipping\n",
		      "thread 1;a 2000\nthread 1;a;b 3000\n");
	assert_warned(FORMAT,
		      "[" AT("B", "a", "1") "}," AT("B", "b", "2") "}," AT("B", "c", "3") "}," AT(
			      "E", "b", "5") "}," AT("E", "a", "6") "}]",
		      "FILE: 1 unterminated slice, ended with its track\n",
		      "thread 1;a 2000\nthread 1;a;b 1000\nthread 1;a;b;c 2000\n");
	assert_stacks(FORMAT,
		      "[" AT("B", "a", "1") "}," AT("B", "a", "2") "}," AT(
			      "E", "a", "3") "},"
					     "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":5}]",
		      0, "thread 1;a 3000\nthread 1;a;a 1000\n");
}

static void what_outlasts_the_slice_around_it_is_truncated(void **state _unused_)
{
	assert_warned(FORMAT, "[" AT("X", "a", "1") ",\"dur\":4}," AT("X", "b", "3") ",\"dur\":9}]",
		      "FILE: 1 slice outlasts the slice around it: it is truncated\n",
		      "thread 1;a 2000\nthread 1;a;b 2000\n");
	/* Times are rounded to microseconds: no word about those. */
	assert_stacks(FORMAT, "[" AT("X", "a", "1") ",\"dur\":4}," AT("X", "b", "3") ",\"dur\":3}]",
		      0, "thread 1;a 2000\nthread 1;a;b 2000\n");
}

static void starts_without_end_do_not_nest_without_bound(void **state _unused_)
{
	struct imported imported = {0};
	struct text text = {0};

	text_append_char(&text, '[');
	for (int i = 0; i <= 1500; i++)
		text_printf(&text, "{\"ph\":\"B\",\"ts\":%d},", i);
	assert_int_equal(imported_read(&imported, FORMAT, text.data, text.length), 0);
	assert_non_null(strstr(imported.warnings.data,
			       "FILE: 500 slices are inside more than 1000 others, skipping\n"));
	assert_int_equal(imported.import.counts.skipped, 500);
	assert_int_equal(profile_count_stacks(imported.profile), 1001);
	text_release(&text);
	imported_release(&imported);
}

static void threads_and_processes_have_names(void **state _unused_)
{
	static const char text[] =
		"[" AT("X", "f", "1") ",\"dur\":2}," AT("M", "thread_name", "0") ",\"args\":{\"name\":\"Main\"}}," AT(
			"M", "process_name",
			"0") ",\"args\":{\"name\":\"Browser\"}},"
			     "{\"ph\":\"X\",\"name\":\"g\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":2}]";
	struct imported imported = {0};
	const struct thread *thread;

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "Browser;g 2000\nMain;f 2000\n");
	thread = profile_get_thread(imported.profile, 0);
	assert_int_equal(thread->tid, 1);
	assert_int_equal(profile_get_process(imported.profile, thread->process)->pid, 1);
	imported_release(&imported);
}

static void ids_may_be_names(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "[{\"ph\":\"X\",\"name\":\"f\",\"pid\":\"GPU\",\"tid\":\"queue\",\"ts\":1,"
		      "\"dur\":2},{\"ph\":\"X\",\"name\":\"f\",\"pid\":\"GPU\",\"tid\":\"7\","
		      "\"ts\":1,\"dur\":2}]",
		      0, "GPU;f 2000\nqueue;f 2000\n");
}

static void ids_may_be_any_number(void **state _unused_)
{
	static const char text[] = "[{\"ph\":\"B\",\"name\":\"a\",\"tid\":-1,\"ts\":1},"
				   "{\"ph\":\"B\",\"name\":\"b\",\"tid\":1e63,\"ts\":1},"
				   "{\"ph\":\"E\",\"tid\":1e63,\"ts\":3},"
				   "{\"ph\":\"E\",\"tid\":-1,\"ts\":2}]";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_int_equal(profile_count_threads(imported.profile), 2);
	assert_int_equal(profile_get_sample(imported.profile, 1)->value +
				 profile_get_sample(imported.profile, 0)->value,
			 3000);
	imported_release(&imported);
}

#define ASYNC(ph, pid, cat, id, name, ts)                                               \
	"{\"ph\":\"" ph "\",\"pid\":" pid ",\"tid\":1,\"cat\":\"" cat "\",\"id\":\"" id \
	"\",\"name\":\"" name "\",\"ts\":" ts "}"

/* They overlap, and nest below the ones of the same category and id only. */
static void operations_are_distinguished_by_their_ids(void **state _unused_)
{
	static const char text[] = "[" ASYNC("b", "1", "net", "0x1", "load", "1") "," ASYNC("b", "1", "net", "0x2", "load", "2") "," ASYNC(
		"b", "1", "net", "0x1",
		"wait",
		"3") "," ASYNC("n", "1", "net", "0x1", "mark",
			       "4") "," ASYNC("b", "2", "disk", "0x1", "other",
					      "4") "," ASYNC("e", "1", "net", "0x1", "wait",
							     "5") "," ASYNC("e", "1", "net", "0x1",
									    "load",
									    "7") "," ASYNC("e", "2",
											   "disk",
											   "0x1",
											   "other",
											   "8") "," ASYNC("e",
													  "1",
													  "net",
													  "0x2",
													  "load",
													  "9") "]";

	assert_stacks(FORMAT, text, 0,
		      "async;load 11000\nasync;load;wait 2000\nasync;other 4000\n");
}

static void ids_may_be_global(void **state _unused_)
{
	assert_stacks(
		FORMAT,
		"[{\"ph\":\"b\",\"pid\":1,\"id2\":{\"global\":\"1\"},\"name\":\"a\",\"ts\":1},"
		"{\"ph\":\"e\",\"pid\":2,\"id2\":{\"global\":\"1\"},\"name\":\"a\",\"ts\":3}]",
		0, "async;a 2000\n");
}

/* As trace viewers have it: an operation may end in another process. */
static void ids_are_of_all_processes_unless_they_are_local(void **state _unused_)
{
	static const char local[] =
		"[{\"ph\":\"b\",\"pid\":2,\"id2\":{\"local\":\"1\"},\"name\":\"a\",\"ts\":500},"
		"{\"ph\":\"b\",\"pid\":3,\"id2\":{\"local\":\"1\"},\"name\":\"a\",\"ts\":550},"
		"{\"ph\":\"e\",\"pid\":2,\"id2\":{\"local\":\"1\"},\"name\":\"a\",\"ts\":600},"
		"{\"ph\":\"e\",\"pid\":3,\"id2\":{\"local\":\"1\"},\"name\":\"a\",\"ts\":750}]";
	static const char plain[] =
		"[{\"ph\":\"M\",\"pid\":2,\"name\":\"process_name\",\"args\":{\"name\":\"client\"}},"
		"{\"ph\":\"b\",\"pid\":2,\"id\":\"0x1\",\"name\":\"a\",\"ts\":500},"
		"{\"ph\":\"S\",\"pid\":2,\"id\":3,\"name\":\"old\",\"ts\":600},"
		"{\"ph\":\"e\",\"pid\":3,\"id\":\"0x1\",\"name\":\"a\",\"ts\":700},"
		"{\"ph\":\"F\",\"pid\":3,\"id\":3,\"name\":\"old\",\"ts\":800}]";
	struct imported imported = {0};

	assert_stacks(FORMAT, plain, 0, "async;a 200000\nasync;old 200000\n");
	assert_stacks(FORMAT, local, 0, "async;a 300000\n");
	assert_int_equal(imported_read(&imported, FORMAT, plain, strlen(plain)), 0);
	assert_written(&format_folded, imported.profile,
		       (struct call_tree_opts){.root = TREE_ROOT_PID},
		       "async-2;a 200000\nasync-2;old 200000\n");
	imported_release(&imported);
}

#define INSTANT "\"ph\":\"I\",\"pid\":1,\"tid\":1,\"ts\":1"

static void instants_with_stacks_are_samples_where_nothing_else_weighs(void **state _unused_)
{
	static const char warning[] =
		"FILE: the trace has no durations: 2 instants with stacks are read as samples\n";

	assert_warned(FORMAT,
		      "{\"traceEvents\":[{\"name\":\"hit\",\"sf\":2," INSTANT "},"
		      "{\"name\":\"hit\",\"sf\":1," INSTANT "},{\"name\":\"no\"," INSTANT "}],"
		      "\"stackFrames\":{\"1\":{\"name\":\"main\"},"
		      "\"2\":{\"name\":\"f\",\"parent\":1}}}",
		      warning, "thread 1;main 1\nthread 1;main;f 1\n");
	assert_warned(FORMAT,
		      "[{\"name\":\"hit\",\"stack\":[\"main\",\"f\"]," INSTANT "},"
		      "{\"name\":\"hit\",\"args\":{\"data\":{\"stackTrace\":["
		      "{\"functionName\":\"\",\"url\":\"a.js\",\"lineNumber\":3},"
		      "{\"functionName\":\"g\"}]}}," INSTANT "}]",
		      warning, "thread 1;g;(anonymous) 1\nthread 1;main;f 1\n");
	/* Beside slices they are what happened in them. */
	assert_stacks(FORMAT,
		      "[{\"name\":\"hit\",\"stack\":[\"main\",\"f\"]," INSTANT
		      "}," AT("X", "a", "1") ",\"dur\":1}]",
		      0, "thread 1;a 1000\n");
	assert_warned(
		FORMAT, "[{\"name\":\"hit\"," INSTANT "}]",
		"FILE: the trace has only 1 instants without stacks, no durations: a trace (-o FILE.pftrace) shows them\n",
		"");
}

#define NODES                                                                \
	"\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\"}}," \
	"{\"id\":2,\"parent\":1,\"callFrame\":{\"functionName\":\"f\"}}]"
#define CHUNK(data)                                                                            \
	"{\"ph\":\"P\",\"name\":\"ProfileChunk\",\"pid\":1,\"tid\":9,\"id\":\"0x1\",\"ts\":1," \
	"\"args\":{\"data\":{" data "}}}"

static const char chunks[] =
	"[" AT("M", "thread_name", "0") ",\"args\":{\"name\":\"Main\"}}," AT("P", "Profile", "1") ",\"id\":\"0x1\",\"args\":{\"data\":{\"startTime\":100}}}," CHUNK(
		"\"cpuProfile\":{" NODES
		",\"samples\":[2,1]},\"timeDeltas\":[10,20]") "," CHUNK("\"cpuProfile\":{\"nodes\":[{\"id\":3,\"parent\":2,\"callFrame\":"
									"{\"functionName\":\"g\"}}],\"samples\":[3,2],\"endTime\":200},"
									"\"timeDeltas\":[5,15]") "]";

static void chunks_of_a_cpu_profile_are_one(void **state _unused_)
{
	assert_stacks(FORMAT, chunks, 0, "Main 1\nMain;f 2\nMain;f;g 1\n");
	assert_stacks(FORMAT, chunks, 1, "Main 5000\nMain;f 40000\nMain;f;g 15000\n");
}

static void samples_have_stack_frames(void **state _unused_)
{
	assert_stacks(
		FORMAT,
		"{\"traceEvents\":[" AT("P", "sample", "1") ",\"sf\":2}," AT(
			"P", "sample",
			"2") ",\"sf\":\"1\"}],\"stackFrames\":{\"2\":{\"name\":\"f\","
			     "\"parent\":1},\"1\":{\"name\":\"main\",\"category\":\"a.out\"}}}",
		0, "thread 1;main 1\nthread 1;main;f 1\n");
}

static void samples_may_list_their_stack(void **state _unused_)
{
	assert_stacks(FORMAT, "[" AT("P", "s", "1") ",\"stack\":[\"main\",\"f\"]}]", 0,
		      "thread 1;main;f 1\n");
}

static void samples_may_stand_beside_the_events(void **state _unused_)
{
	assert_stacks(
		FORMAT,
		"{\"samples\":[{\"tid\":1,\"ts\":1,\"name\":\"cycles\",\"sf\":7,"
		"\"weight\":5}],\"stackFrames\":{\"7\":{\"name\":\"f\"}},\"traceEvents\":[" AT(
			"M", "thread_name", "0") ",\"args\":{\"name\":\"Main\"}}]}",
		0, "Main;f 5\n");
}

static void samples_of_no_frame_are_reported(void **state _unused_)
{
	assert_warned(
		FORMAT,
		"{\"traceEvents\":[" AT("P", "s", "1") ",\"sf\":2}," AT(
			"P", "s", "1") ",\"sf\":1}],\"stackFrames\":{\"1\":{\"name\":\"f\"}}}",
		"FILE: 1 sample refers to a missing stack, skipping\n", "thread 1;f 1\n");
}

static void frames_in_a_ring_are_truncated(void **state _unused_)
{
	assert_stacks(
		FORMAT,
		"{\"traceEvents\":[" AT(
			"P", "s",
			"1") ",\"sf\":1}],\"stackFrames\":{"
			     "\"1\":{\"name\":\"a\",\"parent\":2},\"2\":{\"name\":\"b\",\"parent\":1}}}",
		0, "thread 1;b;a 1\n");
}

static void what_is_no_list_of_events_is_refused(void **state _unused_)
{
	assert_refused(FORMAT, "{\"events\":[]}", "FILE: at byte 0: expected a list of events");
	assert_refused(FORMAT, "{\"traceEvents\":[{\"name\":\"Ann\"},{\"ts\":5}]}",
		       "FILE: at byte 0: expected events with a phase");
	assert_refused(FORMAT, "[1,2]", "FILE: at byte 0: expected events with a phase");
	assert_refused(FORMAT, "7", "FILE: at byte 0: expected a list of events");
	assert_refused(FORMAT, "[{\"ph\":]}", "FILE: at byte 7: expected");
	assert_refused(FORMAT, "", "FILE: at byte 0: expected");
}

static void the_content_decides_the_format(void **state _unused_)
{
	static const char *const sure[] = {
		"[{\"pid\":1,\"args\":{},\"ph\":\"X\"}",
		"{\"metadata\":{\"a\":[1,2]},\"traceEvents\":[]}",
		"\xef\xbb\xbf [ {\"ph\":\"B\"}",
	};
	static const char *const not [] = {
		"[]",      "[{\"a\":1},{\"ph\":1}]",      "{\"ph\":\"B\"}", "[1]", "[[{\"ph\":1}]]",
		"a;b 1\n", "{\"a\":{\"traceEvents\":[]}}"};

	for (size_t i = 0; i < ARRAY_LENGTH(sure); i++) {
		assert_int_equal(FORMAT->detect((const uint8_t *)sure[i], strlen(sure[i])),
				 DETECTED_SURE);
		assert_ptr_equal(format_detect("x.bin", (const uint8_t *)sure[i], strlen(sure[i])),
				 FORMAT);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(not ); i++)
		assert_int_equal(FORMAT->detect((const uint8_t *)not [i], strlen(not [i])),
				 DETECTED_NOT);
}

/* ---- timeline ---- */

static struct timeline *read_events(struct imported *imported, const char *text)
{
	struct timeline *timeline = timeline_new();

	assert_non_null(timeline);
	imported->import.timeline = timeline;
	assert_int_equal(imported_read(imported, FORMAT, text, strlen(text)), 0);
	return timeline;
}

static struct timeline *read_timeline(struct imported *imported, const char *text)
{
	struct timeline *timeline = read_events(imported, text);

	assert_string_equal(imported->warnings.data, "");
	return timeline;
}

static void slices_are_zones(void **state _unused_)
{
	struct imported imported = {0};
	struct timeline *timeline = read_timeline(
		&imported,
		"[" AT("X", "inner", "2") ",\"dur\":3}," AT("X", "outer", "1") ",\"dur\":9}," AT(
			"i", "mark", "3") "}," AT("M", "thread_name",
						  "0") ",\"args\":{\"name\":\"Main\"}}]");
	const struct zone *zone = timeline_get_zone(timeline, 1);

	assert_int_equal(timeline_count_zone(timeline), 3);
	assert_string_equal(timeline_get_string(timeline, zone->name), "inner");
	assert_int_equal(zone->start_ns, 2000);
	assert_int_equal(zone->end_ns, 5000);
	assert_int_equal(zone->parent, 0);
	assert_string_equal(
		timeline_get_string(timeline, timeline_get_thread(timeline, zone->thread)->name),
		"Main");
	zone = timeline_get_zone(timeline, 2);
	assert_string_equal(timeline_get_string(timeline, zone->name), "mark");
	assert_int_equal(zone->start_ns, zone->end_ns);
	assert_int_equal(zone->parent, 1);
	timeline_free(timeline);
	imported_release(&imported);
}

static void zones_have_categories_and_parameters(void **state _unused_)
{
	struct imported imported = {0};
	struct timeline *timeline = read_timeline(
		&imported, "[" AT("X", "a", "1") ",\"dur\":1,\"cat\":\"x,y\",\"args\":{\"n\":7,"
						 "\"s\":\"t\",\"deep\":{\"a\":1},\"b\":true}}]");
	const struct zone_attribute *attribute = timeline_next_attribute(timeline, 0, NULL);

	assert_int_equal(attribute->kind, ATTRIBUTE_CATEGORY);
	assert_string_equal(timeline_get_string(timeline, attribute->value.string), "x");
	attribute = timeline_next_attribute(timeline, 0, attribute);
	assert_string_equal(timeline_get_string(timeline, attribute->value.string), "y");
	attribute = timeline_next_attribute(timeline, 0, attribute);
	assert_string_equal(timeline_get_string(timeline, attribute->name), "n");
	assert_int_equal(attribute->value.u64, 7);
	attribute = timeline_next_attribute(timeline, 0, attribute);
	assert_string_equal(timeline_get_string(timeline, attribute->value.string), "t");
	attribute = timeline_next_attribute(timeline, 0, attribute);
	assert_int_equal(attribute->type, VALUE_BOOL);
	assert_null(timeline_next_attribute(timeline, 0, attribute));
	timeline_free(timeline);
	imported_release(&imported);
}

static void counters_have_a_track_for_each_member(void **state _unused_)
{
	struct imported imported = {0};
	struct timeline *timeline = read_timeline(
		&imported,
		"[" AT("C", "mem", "1") ",\"args\":{\"heap\":7,\"stack\":1.5}}," AT(
			"C", "mem",
			"2") ",\"args\":{\"heap\":\"9\"}}," AT("C", "fps",
							       "2") ",\"args\":{\"value\":60}}]");
	const struct counter_value *value = timeline_get_counter_value(timeline, 2);

	assert_int_equal(timeline_count_counter_track(timeline), 3);
	assert_int_equal(timeline_count_counter_value(timeline), 4);
	assert_int_equal(value->time_ns, 2000);
	assert_int_equal(value->track, 0);
	assert_int_equal(value->value.i64, 9);
	assert_string_equal(
		timeline_get_string(timeline, timeline_get_counter_track(timeline, 0)->name),
		"mem heap");
	assert_string_equal(
		timeline_get_string(timeline, timeline_get_counter_track(timeline, 2)->name),
		"fps");
	timeline_free(timeline);
	imported_release(&imported);
}

/* As Hermes, the engine of React Native, writes them. */
static void weights_may_be_strings(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "{\"traceEvents\":[],\"samples\":["
		      "{\"tid\":\"7\",\"ts\":\"10\",\"weight\":\"1\",\"sf\":1},"
		      "{\"tid\":\"7\",\"ts\":\"20\",\"weight\":\"4\",\"sf\":2}],"
		      "\"stackFrames\":{\"1\":{\"name\":\"root\"},"
		      "\"2\":{\"name\":\"f\",\"parent\":1}}}",
		      0, "thread 7;root 1\nthread 7;root;f 4\n");
}

#define WEIGHS(weight)                                                               \
	"{\"traceEvents\":[],\"stackFrames\":{\"1\":{\"name\":\"f\"}},\"samples\":[" \
	"{\"tid\":7,\"sf\":1,\"weight\":" weight "},{\"tid\":7,\"sf\":1,\"weight\":2}]}"

static void what_is_no_weight_is_not_0(void **state _unused_)
{
	static const char *const none[] = {"\"heavy\"", "\"\"",     "\"--1\"",
					   "null",      "\"1e30\"", "[3]"};

	for (size_t i = 0; i < ARRAY_LENGTH(none); i++) {
		char text[256];

		snprintf(text, sizeof(text), WEIGHS("%s"), none[i]);
		assert_warned(FORMAT, text,
			      "FILE: at byte 62: a sample without a weight, skipping this and "
			      "others like it\n",
			      "thread 7;f 2\n");
	}
	assert_warned(FORMAT, WEIGHS("\"0.6\""), "FILE: weights with decimals are rounded\n",
		      "thread 7;f 3\n");
}

static void weights_have_signs(void **state _unused_)
{
	assert_stacks(FORMAT, WEIGHS("-1"), 0, "thread 7;f 1\n");
	assert_stacks(FORMAT, WEIGHS("\"-2\""), 0, "thread 7;f 0\n");
	assert_refused(FORMAT, WEIGHS("-3"), "FILE: at byte 0: expected weights above 0");
}

static void a_duration_that_is_none_is_not_0(void **state _unused_)
{
	assert_warned(FORMAT,
		      "[{\"ph\":\"X\",\"name\":\"f\",\"tid\":7,\"ts\":1,\"dur\":\"long\"},"
		      "{\"ph\":\"X\",\"name\":\"g\",\"tid\":7,\"ts\":2,\"dur\":\"3\"}]",
		      "FILE: at byte 1: a slice whose duration is not a number, skipping this and "
		      "others like it\n",
		      "thread 7;g 3000\n");
}

static void expect_flow(const struct timeline *timeline, uint32_t zone, const char *name,
			unsigned int kind, uint64_t flow)
{
	const struct zone_attribute *attribute = timeline_next_attribute(timeline, zone, NULL);

	assert_string_equal(timeline_get_string(timeline, timeline_get_zone(timeline, zone)->name),
			    name);
	assert_non_null(attribute);
	assert_int_equal(attribute->kind, kind);
	assert_true(attribute->value.u64 == flow);
	assert_null(timeline_next_attribute(timeline, zone, attribute));
}

#define FLOW(ph, id, tid, ts)                                                                  \
	"{\"ph\":\"" ph "\",\"id\":" id ",\"name\":\"n\",\"cat\":\"c\",\"pid\":1,\"tid\":" tid \
	",\"ts\":" ts
#define SLICE(name, tid, ts) \
	"{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts ",\"dur\":5}"

/* An end is of the next slice of its thread, or with bp of the one around it; what is in none is told. */
static void flows_join_slices(void **state _unused_)
{
	struct imported imported = {0};
	struct timeline *timeline = read_events(
		&imported,
		"[" SLICE("a", "1", "1") "," FLOW("s", "7", "1", "2") "}," FLOW("f", "7", "2", "8") "}," SLICE("b", "2", "9") "," SLICE(
			"c", "3",
			"1") "," FLOW("t", "7", "3",
				      "6") "}," FLOW("s", "8", "4",
						     "1") "}," SLICE("d", "4",
								     "1") "," FLOW("f", "8", "5",
										   "4") ",\"bp\":"
											"\"e\"}," SLICE("e", "5", "1") "," FLOW(
												"f",
												"8",
												"5",
												"9") "}," FLOW("t",
													       "8",
													       "6",
													       "9") "}]");
	uint64_t first = timeline_next_attribute(timeline, 0, NULL)->value.u64;
	uint64_t second = timeline_next_attribute(timeline, 3, NULL)->value.u64;

	assert_int_equal(timeline_count_zone(timeline), 5);
	assert_true(first != second);
	expect_flow(timeline, 0, "a", ATTRIBUTE_FLOW, first);
	expect_flow(timeline, 1, "b", ATTRIBUTE_TERMINATING_FLOW, first);
	/* It ends there and then. */
	expect_flow(timeline, 2, "c", ATTRIBUTE_FLOW, first);
	expect_flow(timeline, 3, "d", ATTRIBUTE_FLOW, second);
	expect_flow(timeline, 4, "e", ATTRIBUTE_TERMINATING_FLOW, second);
	assert_string_equal(imported.warnings.data,
			    "FILE: 2 flow events are outside all slices, skipping\n");
	timeline_free(timeline);
	imported_release(&imported);
	/* A profile has none, and misses none. */
	assert_stacks(FORMAT, "[" SLICE("a", "1", "1") "," FLOW("s", "7", "2", "2") "}]", 0,
		      "thread 1;a 5000\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_weigh_the_time_that_no_inner_one_has),
		cmocka_unit_test(times_may_be_strings),
		cmocka_unit_test(times_may_be_before_zero),
		cmocka_unit_test(starts_and_ends_are_slices),
		cmocka_unit_test(events_may_come_in_any_order),
		cmocka_unit_test(a_list_may_end_without_its_bracket),
		cmocka_unit_test(an_event_that_is_truncated_is_reported),
		cmocka_unit_test(slices_without_end_last_until_their_threads),
		cmocka_unit_test(ends_without_start_are_reported),
		cmocka_unit_test(an_end_is_of_the_slice_that_it_names),
		cmocka_unit_test(what_outlasts_the_slice_around_it_is_truncated),
		cmocka_unit_test(starts_without_end_do_not_nest_without_bound),
		cmocka_unit_test(threads_and_processes_have_names),
		cmocka_unit_test(ids_may_be_names),
		cmocka_unit_test(ids_may_be_any_number),
		cmocka_unit_test(operations_are_distinguished_by_their_ids),
		cmocka_unit_test(ids_may_be_global),
		cmocka_unit_test(ids_are_of_all_processes_unless_they_are_local),
		cmocka_unit_test(instants_with_stacks_are_samples_where_nothing_else_weighs),
		cmocka_unit_test(chunks_of_a_cpu_profile_are_one),
		cmocka_unit_test(samples_have_stack_frames),
		cmocka_unit_test(samples_may_list_their_stack),
		cmocka_unit_test(samples_may_stand_beside_the_events),
		cmocka_unit_test(samples_of_no_frame_are_reported),
		cmocka_unit_test(frames_in_a_ring_are_truncated),
		cmocka_unit_test(what_is_no_list_of_events_is_refused),
		cmocka_unit_test(the_content_decides_the_format),
		cmocka_unit_test(slices_are_zones),
		cmocka_unit_test(zones_have_categories_and_parameters),
		cmocka_unit_test(counters_have_a_track_for_each_member),
		cmocka_unit_test(weights_may_be_strings),
		cmocka_unit_test(what_is_no_weight_is_not_0),
		cmocka_unit_test(weights_have_signs),
		cmocka_unit_test(a_duration_that_is_none_is_not_0),
		cmocka_unit_test(flows_join_slices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
