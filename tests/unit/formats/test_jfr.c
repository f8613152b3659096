#include <stdio.h>

#include "import_fixture.h"
#include "jfr_writer.h"

#define FORMAT (&format_jfr)

static struct jfr_writer make_recording(void)
{
	struct jfr_writer writer = jfr_writer_new(jfr_metadata);

	jfr_put_park(&writer, 1, 3000, 512);
	jfr_put_execution(&writer, 1, 1);
	jfr_put_execution(&writer, 1, 1);
	jfr_put_constants(&writer);
	jfr_finish(&writer);
	return writer;
}

static void assert_recording(struct jfr_writer *writer, uint32_t metric, const char *expected)
{
	struct imported imported = {0};
	int err = imported_read(&imported, FORMAT, writer->chunk.data, writer->chunk.length);

	assert_string_equal(imported.import.error.message, "");
	assert_int_equal(err, 0);
	assert_string_equal(imported.warnings.data, "");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = metric},
		       expected);
	imported_release(&imported);
	text_release(&writer->chunk);
}

static void samples_are_read_with_thread_class_and_method(void **state _unused_)
{
	struct jfr_writer writer = make_recording();

	assert_recording(&writer, 0, "worker;org.App.main;org.App.work 2\n");
}

static void every_event_with_a_stack_gives_metrics(void **state _unused_)
{
	struct jfr_writer writer = make_recording();
	struct imported imported = {0};
	static const char *const expected[][2] = {{"jdk.ExecutionSample", "count"},
						  {"app.Park", "count"},
						  {"app.Park.duration", "nanoseconds"},
						  {"app.Park.size", "bytes"}};

	assert_int_equal(imported_read(&imported, FORMAT, writer.chunk.data, writer.chunk.length),
			 0);
	assert_int_equal(profile_count_metrics(imported.profile), 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_string_equal(format_get_metric_name(imported.profile, i), expected[i][0]);
		assert_string_equal(format_get_metric_unit(imported.profile, i), expected[i][1]);
	}
	imported_release(&imported);
	assert_recording(&writer, 2, "worker;org.App.main;org.App.work 1500\n");
	writer = make_recording();
	assert_recording(&writer, 3, "worker;org.App.main;org.App.work 512\n");
}

/* Of an event the moment of its start is known, and of its duration when it was. */
static void a_duration_is_spread_over_its_event(void **state _unused_)
{
	struct jfr_writer writer = jfr_writer_new(jfr_metadata);
	struct imported imported = {.profile = profile_new()};
	const struct timestamps *timestamps;

	jfr_put_park(&writer, 1, 20000000, 512); /* 10 ms */
	jfr_put_constants(&writer);
	jfr_finish(&writer);
	assert_int_equal(profile_keep_timestamps(imported.profile), 0);
	assert_int_equal(imported_read(&imported, FORMAT, writer.chunk.data, writer.chunk.length),
			 0);
	timestamps = profile_get_timestamps(imported.profile);
	assert_int_equal(timestamps_count(timestamps), 3);
	for (size_t i = 0; i < 3; i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);
		uint32_t metric = profile_get_sample(imported.profile, timestamp->sample)->metric;
		bool is_duration = string_equals(format_get_metric_name(imported.profile, metric),
						 "app.Park.duration");

		assert_int_equal(timestamp->duration, is_duration ? 10 : 0);
		assert_int_equal(timestamp->time_ns, timestamps_get(timestamps, 0)->time_ns);
	}
	imported_release(&imported);
	text_release(&writer.chunk);
}

static void kinds_of_code_and_truncated_stacks_are_marked(void **state _unused_)
{
	struct jfr_writer writer = jfr_writer_new(jfr_metadata);

	jfr_put_execution(&writer, 2, 1);
	jfr_put_execution(&writer, 3, 1);
	jfr_put_execution(&writer, 0, 1);
	jfr_put_execution(&writer, 77, 1);
	jfr_put_constants(&writer);
	jfr_finish(&writer);
	assert_recording(&writer, 0,
			 "worker;? 2\nworker;[truncated];org.App.main 1\n"
			 "worker;org.App.main_[j];org.App.work_[i] 1\n");
}

static void the_process_of_the_threads_is_known(void **state _unused_)
{
	struct jfr_writer writer = jfr_writer_new(jfr_metadata);
	struct imported imported = {0};

	jfr_put_execution(&writer, 1, 1);
	jfr_start(&writer, ID_EVENT_INFORMATION);
	jfr_put(&writer, 812);
	jfr_end(&writer);
	jfr_put_constants(&writer);
	jfr_finish(&writer);
	assert_int_equal(imported_read(&imported, FORMAT, writer.chunk.data, writer.chunk.length),
			 0);
	assert_written(&format_folded, imported.profile,
		       (struct call_tree_opts){.root = TREE_ROOT_TID},
		       "worker-812/815;org.App.main;org.App.work 1\n");
	imported_release(&imported);
	text_release(&writer.chunk);
}

static void the_newest_definition_of_a_constant_counts(void **state _unused_)
{
	struct jfr_writer writer = jfr_writer_new(jfr_metadata);

	jfr_put_constants(&writer);
	jfr_put_execution(&writer, 1, 1);
	jfr_start_checkpoint(&writer, 1);
	jfr_put_symbols(&writer, 2, "org/New", "start");
	jfr_end(&writer);
	jfr_finish(&writer);
	assert_recording(&writer, 0, "worker;org.New.start;org.New.work 1\n");
}

/* async-profiler: native functions, and states that mean the wall clock. */
static void put_native_constants(struct jfr_writer *writer, const char *first_state)
{
	jfr_start_checkpoint(writer, 7);
	jfr_put_symbols(writer, 2, "libc.so.6", "read");
	jfr_start_pool(writer, ID_CLASS, 1);
	jfr_put(writer, 1);
	jfr_put(writer, 1);
	jfr_start_pool(writer, ID_METHOD, 1);
	jfr_put(writer, 1);
	jfr_put(writer, 1);
	jfr_put(writer, 2);
	jfr_start_pool(writer, ID_FRAME_TYPE, 2);
	jfr_put(writer, 3);
	jfr_put_string(writer, "Native");
	jfr_put(writer, 5);
	jfr_put_string(writer, "Kernel");
	jfr_start_pool(writer, ID_TRACE, 1);
	jfr_put(writer, 1);
	text_append_char(&writer->chunk, 0);
	jfr_put(writer, 1);
	jfr_put(writer, 1);
	jfr_put(writer, UINT64_MAX);
	jfr_put(writer, 3);
	jfr_start_pool(writer, ID_THREAD, 1);
	jfr_put(writer, 1);
	jfr_put_string(writer, "java");
	jfr_put(writer, 815);
	text_append_char(&writer->chunk, 0);
	jfr_start_pool(writer, ID_STATE, 2);
	jfr_put(writer, 0);
	jfr_put_string(writer, first_state);
	jfr_put(writer, 1);
	jfr_put_string(writer, "STATE_RUNNABLE");
	jfr_end(writer);
}

static void async_profiler_gives_native_functions_and_two_kinds_of_samples(void **state _unused_)
{
	struct jfr_writer writer = jfr_writer_new(jfr_metadata);
	struct imported imported = {0};

	jfr_put_execution(&writer, 1, 0);
	jfr_put_execution(&writer, 1, 1);
	jfr_put_execution(&writer, 1, 1);
	put_native_constants(&writer, "STATE_DEFAULT");
	jfr_finish(&writer);
	assert_int_equal(imported_read(&imported, FORMAT, writer.chunk.data, writer.chunk.length),
			 0);
	assert_string_equal(format_get_metric_name(imported.profile, 1),
			    "jdk.ExecutionSample.wall");
	assert_string_equal(profile_get_string(imported.profile,
					       profile_get_frame(imported.profile, 0)->module),
			    "libc.so.6");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 0},
		       "java;read 1\n");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 1},
		       "java;read 2\n");
	imported_release(&imported);
	text_release(&writer.chunk);
}

static void assert_is_running(const char *setting, const char *event, const char *metric)
{
	struct jfr_writer writer = jfr_writer_new(jfr_metadata);
	struct imported imported = {0};

	jfr_put_execution(&writer, 1, 1);
	jfr_put_setting(&writer, setting, event);
	put_native_constants(&writer, "STATE_SLEEPING");
	jfr_finish(&writer);
	assert_int_equal(imported_read(&imported, FORMAT, writer.chunk.data, writer.chunk.length),
			 0);
	assert_int_equal(profile_count_metrics(imported.profile), 1);
	assert_string_equal(format_get_metric_name(imported.profile, 0), metric);
	imported_release(&imported);
	text_release(&writer.chunk);
}

/* Until 2.0 there were two states, also where the CPU's time was sampled. */
static void early_async_profilers_say_what_they_sampled(void **state _unused_)
{
	assert_is_running("event", "cpu", "jdk.ExecutionSample");
	assert_is_running("event", "itimer", "jdk.ExecutionSample");
	assert_is_running("event", "cache-misses", "jdk.ExecutionSample");
	assert_is_running("event", "wall", "jdk.ExecutionSample.wall");
	assert_is_running("filter", "cpu", "jdk.ExecutionSample.wall");
}

/* A thread that waits is one event for all the ticks it was seen at. */
static void a_sample_of_the_wall_clock_counts_for_all_its_ticks(void **state _unused_)
{
	static const char event_class[] =
		"  class id=23 name=profiler.WallClockSample superType=jdk.jfr.Event\n"
		"   field name=startTime class=6\n"
		"   field name=sampledThread class=36 constantPool=true\n"
		"   field name=stackTrace class=35 constantPool=true\n"
		"   field name=samples class=5\n";
	struct text metadata = {0};
	struct jfr_writer writer;

	text_printf(&metadata, "%s%s", jfr_metadata, event_class);
	writer = jfr_writer_new(metadata.data);
	text_release(&metadata);
	for (uint64_t samples = 20; samples <= 21; samples++) {
		jfr_start(&writer, 23);
		jfr_put(&writer, 1000);
		jfr_put(&writer, 1);
		jfr_put(&writer, 1);
		jfr_put(&writer, samples);
		jfr_end(&writer);
	}
	jfr_put_constants(&writer);
	jfr_finish(&writer);
	assert_recording(&writer, 0, "worker;org.App.main;org.App.work 41\n");
}

/* As LockSupport.parkNanos(Long.MAX_VALUE / 2 - 1), which parks until it is woken. */
static void a_sum_beyond_63_bits_stays_there_and_costs_nothing_else(void **state _unused_)
{
	struct jfr_writer writer = jfr_writer_new(jfr_metadata);
	struct imported imported = {0};
	struct text twice = {0};

	jfr_put_execution(&writer, 1, 1);
	for (uint64_t i = 0; i < 6; i++)
		jfr_put_park(&writer, 1 + i % 2, 3000, INT64_MAX / 2 - 1);
	jfr_put_execution(&writer, 1, 1);
	jfr_put_constants(&writer);
	jfr_finish(&writer);
	text_append(&twice, writer.chunk.data, writer.chunk.length);
	text_append(&twice, writer.chunk.data, writer.chunk.length);
	assert_int_equal(imported_read(&imported, FORMAT, twice.data, twice.length), 0);
	assert_string_equal(imported.warnings.data,
			    "FILE: the sum of app.Park.size exceeds 2^63 - 1 and is capped\n");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 0},
		       "worker;org.App.main;org.App.work 4\n");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 2},
		       "worker;[truncated];org.App.main 9000\n"
		       "worker;org.App.main;org.App.work 9000\n");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 3},
		       "worker;[truncated];org.App.main 4611686018427387902\n"
		       "worker;org.App.main;org.App.work 4611686018427387905\n");
	/* Another file adds to the same metrics. */
	text_truncate(&imported.warnings, 0);
	assert_int_equal(imported_read(&imported, FORMAT, twice.data, twice.length), 0);
	assert_int_equal(
		strncmp(imported.warnings.data, "FILE: the sum of app.Park.size exceeds", 38), 0);
	imported_release(&imported);
	imported = (struct imported){.import.is_strict = true};
	assert_int_equal(imported_read(&imported, FORMAT, twice.data, twice.length), -EBADMSG);
	imported_release(&imported);
	text_release(&twice);
	text_release(&writer.chunk);
}

/* In nanoseconds it is more than 64 bits hold. */
static void a_duration_too_long_for_its_unit_is_not_0(void **state _unused_)
{
	static const char *const units[] = {"TICKS", "SECONDS", "MILLISECONDS", "MICROSECONDS"};

	for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
		char *metadata = strdup(jfr_metadata);
		char *place = strstr(metadata, "value=TICKS");
		struct text changed = {0};
		struct imported imported = {0};
		struct jfr_writer writer;

		*place = '\0';
		text_printf(&changed, "%svalue=%s%s", metadata, units[i], place + 11);
		writer = jfr_writer_new(changed.data);
		jfr_put_park(&writer, 1, INT64_MAX, 0);
		jfr_put_constants(&writer);
		jfr_finish(&writer);
		/* 53 ticks a second. */
		memcpy(writer.chunk.data + 56, "\0\0\0\0\0\0\0\65", 8);
		assert_int_equal(
			imported_read(&imported, FORMAT, writer.chunk.data, writer.chunk.length),
			0);
		assert_string_equal(
			imported.warnings.data,
			"FILE: the sum of app.Park.duration exceeds 2^63 - 1 and is capped\n");
		assert_written(&format_folded, imported.profile,
			       (struct call_tree_opts){.metric = 1},
			       "worker;org.App.main;org.App.work 9223372036854775807\n");
		imported_release(&imported);
		text_release(&writer.chunk);
		text_release(&changed);
		free(metadata);
	}
}

static void events_without_a_stack_are_counted_and_reported(void **state _unused_)
{
	struct jfr_writer writer = jfr_writer_new(jfr_metadata);
	struct imported imported = {0};

	for (int i = 0; i < 3; i++)
		jfr_put_park(&writer, 0, 3000, 1);
	jfr_put_setting(&writer, "stackdepth", "64"); /* has none by its nature */
	jfr_put_execution(&writer, 1, 1);
	jfr_put_constants(&writer);
	jfr_finish(&writer);
	assert_int_equal(imported_read(&imported, FORMAT, writer.chunk.data, writer.chunk.length),
			 0);
	assert_string_equal(imported.warnings.data,
			    "FILE: 3 events recorded without a stack, skipping\n");
	assert_int_equal(imported.import.counts.without_stack, 3);
	assert_int_equal(imported.import.counts.records, 1);
	imported_release(&imported);
	text_release(&writer.chunk);
}

static void chunks_follow_each_other(void **state _unused_)
{
	struct jfr_writer writer = make_recording();
	struct jfr_writer second = make_recording();

	text_append(&writer.chunk, second.chunk.data, second.chunk.length);
	text_release(&second.chunk);
	assert_recording(&writer, 0, "worker;org.App.main;org.App.work 4\n");
}

static void what_precedes_an_unfinished_chunk_is_kept(void **state _unused_)
{
	struct jfr_writer writer = make_recording();
	struct imported imported = {0};
	size_t length = writer.chunk.length;
	char expected[200];

	text_append(&writer.chunk, "FLR\0\0\2\0\1\0\0\0\0\0\1\0\0", 16);
	snprintf(
		expected, sizeof(expected),
		"FILE: at byte %zu: the chunk is unfinished or truncated; the rest of the chunk is skipped\n",
		length);
	assert_int_equal(imported_read(&imported, FORMAT, writer.chunk.data, writer.chunk.length),
			 0);
	assert_string_equal(imported.warnings.data, expected);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "worker;org.App.main;org.App.work 2\n");
	imported_release(&imported);
	text_release(&writer.chunk);
}

static void a_damaged_chunk_costs_only_itself(void **state _unused_)
{
	struct jfr_writer writer = make_recording();
	struct jfr_writer second = make_recording();
	struct imported imported = {0};

	memset(writer.chunk.data + writer.last_checkpoint, 0xff, 4);
	text_append(&writer.chunk, second.chunk.data, second.chunk.length);
	assert_int_equal(imported_read(&imported, FORMAT, writer.chunk.data, writer.chunk.length),
			 0);
	assert_non_null(strstr(imported.warnings.data, "a checkpoint is damaged"));
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "worker;org.App.main;org.App.work 2\n");
	imported_release(&imported);
	text_release(&writer.chunk);
	text_release(&second.chunk);
}

static void a_class_that_contains_itself_ends(void **state _unused_)
{
	struct jfr_writer writer =
		jfr_writer_new("root\n"
			       " class id=5 name=A\n"
			       "  field name=a class=5\n"
			       "  field name=b class=5\n"
			       " class id=20 name=E\n"
			       "  field name=a class=5\n"
			       "  field name=stackTrace class=5 constantPool=true\n");
	struct imported imported = {0};

	jfr_put_execution(&writer, 1, 1);
	jfr_start_checkpoint(&writer, 0);
	jfr_end(&writer);
	jfr_finish(&writer);
	assert_int_equal(imported_read(&imported, FORMAT, writer.chunk.data, writer.chunk.length),
			 -EBADMSG);
	assert_non_null(strstr(imported.import.error.message, "an event is damaged"));
	imported_release(&imported);
	text_release(&writer.chunk);
}

static void a_checkpoint_before_all_others_is_damage(void **state _unused_)
{
	struct jfr_writer writer = jfr_writer_new(jfr_metadata);
	struct imported imported = {0};

	writer.last_checkpoint = writer.chunk.length + ((size_t)1 << 63);
	jfr_put_constants(&writer);
	jfr_finish(&writer);
	assert_int_equal(imported_read(&imported, FORMAT, writer.chunk.data, writer.chunk.length),
			 -EBADMSG);
	assert_non_null(strstr(imported.import.error.message,
			       "a checkpoint does not lead to one before it"));
	imported_release(&imported);
	text_release(&writer.chunk);
}

static void a_constant_can_stand_for_a_thread_and_a_method(void **state _unused_)
{
	struct text metadata = {0};
	struct jfr_writer writer;

	text_append_string(&metadata, jfr_metadata);
	memcpy(strstr(metadata.data, "method class=32"), "method class=36", 15);
	writer = jfr_writer_new(metadata.data);
	jfr_put_execution(&writer, 2, 1);
	jfr_put_constants(&writer);
	jfr_finish(&writer);
	assert_recording(&writer, 0, "worker;[truncated];? 1\n");
	text_release(&metadata);
}

/* Every byte of a recording is changed, and the recording is truncated everywhere. */
static void damage_anywhere_ends_in_a_result_or_a_reason(void **state _unused_)
{
	struct jfr_writer writer = make_recording();

	for (size_t i = 0; i < writer.chunk.length; i++) {
		struct imported truncated = {0};
		struct imported changed = {0};
		int err = imported_read(&truncated, FORMAT, writer.chunk.data, i);

		assert_true(!err || (err == -EBADMSG && truncated.import.error.message[0]));
		writer.chunk.data[i] ^= 0x55;
		err = imported_read(&changed, FORMAT, writer.chunk.data, writer.chunk.length);
		assert_true(!err || (err == -EBADMSG && changed.import.error.message[0]));
		writer.chunk.data[i] ^= 0x55;
		imported_release(&truncated);
		imported_release(&changed);
	}
	text_release(&writer.chunk);
}

static void old_and_foreign_files_are_refused(void **state _unused_)
{
	struct imported imported = {0};
	struct jfr_writer writer = make_recording();

	assert_refused(FORMAT, "hello", "FILE: at byte 0: expected a chunk of a flight recording");
	writer.chunk.data[5] = 1;
	assert_int_equal(imported_read(&imported, FORMAT, writer.chunk.data, writer.chunk.length),
			 -EBADMSG);
	assert_string_equal(imported.import.error.message,
			    "FILE: at byte 4: recordings of Java 8 and older are not supported");
	assert_int_equal(FORMAT->detect((const uint8_t *)writer.chunk.data, 8), DETECTED_SURE);
	assert_int_equal(FORMAT->detect((const uint8_t *)"FLR a;b 1\n", 10), DETECTED_NOT);
	imported_release(&imported);
	text_release(&writer.chunk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_read_with_thread_class_and_method),
		cmocka_unit_test(every_event_with_a_stack_gives_metrics),
		cmocka_unit_test(a_duration_is_spread_over_its_event),
		cmocka_unit_test(kinds_of_code_and_truncated_stacks_are_marked),
		cmocka_unit_test(the_process_of_the_threads_is_known),
		cmocka_unit_test(the_newest_definition_of_a_constant_counts),
		cmocka_unit_test(async_profiler_gives_native_functions_and_two_kinds_of_samples),
		cmocka_unit_test(a_sample_of_the_wall_clock_counts_for_all_its_ticks),
		cmocka_unit_test(early_async_profilers_say_what_they_sampled),
		cmocka_unit_test(a_sum_beyond_63_bits_stays_there_and_costs_nothing_else),
		cmocka_unit_test(a_duration_too_long_for_its_unit_is_not_0),
		cmocka_unit_test(events_without_a_stack_are_counted_and_reported),
		cmocka_unit_test(chunks_follow_each_other),
		cmocka_unit_test(what_precedes_an_unfinished_chunk_is_kept),
		cmocka_unit_test(a_damaged_chunk_costs_only_itself),
		cmocka_unit_test(a_class_that_contains_itself_ends),
		cmocka_unit_test(a_checkpoint_before_all_others_is_damage),
		cmocka_unit_test(a_constant_can_stand_for_a_thread_and_a_method),
		cmocka_unit_test(damage_anywhere_ends_in_a_result_or_a_reason),
		cmocka_unit_test(old_and_foreign_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
