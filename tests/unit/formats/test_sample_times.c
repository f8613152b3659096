/*
 * Readers that know when their samples were taken keep it, and the page's data keeps it.
 */
#include <inttypes.h>

#include "import_fixture.h"
#include "jfr_writer.h"
#include "packed_profile.h"
#include "perf_data_writer.h"
#include "timeline/timeline.h"

/* "TIME_MS*WEIGHT TIME_MS*WEIGHT" of one metric, in order of samples and times. */
static void assert_times(const struct profile *profile, uint32_t metric, const char *expected)
{
	struct timestamps *timestamps = profile_get_timestamps(profile);
	struct text text = {0};

	text_append_string(&text, "");
	timestamps_sort(timestamps);
	for (size_t i = 0; i < timestamps_count(timestamps); i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);

		if (profile_get_sample(profile, timestamp->sample)->metric == metric)
			text_printf(&text, "%s%" PRIu64 "*%" PRIu64, text.length ? " " : "",
				    timestamp->time_ns / 1000000, timestamp->weight);
	}
	assert_string_equal(text.data, expected);
	text_release(&text);
}

static struct imported read_timed(const struct format *format, const void *data, size_t size)
{
	struct imported imported = {.profile = profile_new()};
	int err;

	assert_int_equal(profile_keep_timestamps(imported.profile), 0);
	err = imported_read(&imported, format, data, size);
	assert_string_equal(imported.import.error.message, "");
	assert_int_equal(err, 0);
	return imported;
}

static void assert_clock(const struct profile *profile, uint64_t expected_zero_ns)
{
	uint64_t zero_ns;

	assert_true(timestamps_find_clock(profile_get_timestamps(profile), 0, &zero_ns));
	assert_int_equal(zero_ns, expected_zero_ns);
}

static void perf_script_has_seconds_in_its_headers(void **state _unused_)
{
	static const char text[] = "web 7 [000] 12.345678: 30 cycles:\n\t1 f (x)\n\n"
				   "web 7 [000] 13: 40 cycles:\n\t1 f (x)\n\n"
				   "web 7 [000] 50 cycles:\n\t1 f (x)\n\n"
				   "web 7 [000] 99999999999999999999.5: 60 cycles:\n\t1 f (x)\n\n";
	struct imported imported = read_timed(&format_perf_script, text, strlen(text));

	assert_times(imported.profile, 0, "12345*30 13000*40");
	imported_release(&imported);
}

static void perf_data_has_the_time_in_its_records(void **state _unused_)
{
	struct perf_writer writer;
	struct imported imported;
	struct text file;

	perf_writer_init(&writer,
			 PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
				 PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
			 false);
	perf_add_event(&writer, 0, 0, 100, 11, "cycles:u");
	for (uint64_t i = 1; i < 4; i++)
		perf_add_sample(&writer, &(struct perf_sample_spec){i * 5000000,
								    7,
								    7,
								    11,
								    100 + i,
								    0,
								    {WRITER_CONTEXT(512), 0x1010},
								    {0},
								    {0}});
	file = perf_writer_finish(&writer);
	imported = read_timed(&format_perf_data, file.data, file.length);
	assert_times(imported.profile, 0, "5*101 10*102 15*103");
	text_release(&file);
	imported_release(&imported);
}

static void put_big_endian(struct jfr_writer *writer, size_t offset, uint64_t value)
{
	for (size_t i = 0; i < 8; i++)
		writer->chunk.data[offset + i] = (char)(value >> (56 - 8 * i));
}

static void jfr_counts_ticks_from_the_chunks_start(void **state _unused_)
{
	struct jfr_writer writer = jfr_writer_new(jfr_metadata);
	struct imported imported;

	jfr_put_park(&writer, 1, 3000, 512);
	jfr_put_execution(&writer, 1, 1);
	jfr_put_constants(&writer);
	jfr_finish(&writer);
	/* The events are at tick 1000, 2 s before the chunk. */
	put_big_endian(&writer, 32, 5000000000);
	put_big_endian(&writer, 48, 4000001000);
	imported = read_timed(&format_jfr, writer.chunk.data, writer.chunk.length);
	assert_times(imported.profile, 0, "3000*1");
	assert_times(imported.profile, 2, "3000*1500");
	assert_clock(imported.profile, 0);
	text_release(&writer.chunk);
	imported_release(&imported);
}

static int add_sample(struct timeline *timeline, uint64_t time_ns, uint32_t stack)
{
	struct timeline_sample sample = {.time_ns = time_ns, .weight = 7, .stack = stack};

	return timeline_add_sample(timeline, &sample, NULL);
}

static void traces_have_times_and_the_clock_of_the_calendar(void **state _unused_)
{
	struct clock_snapshot clock = {1000, 2000, 1700000000000000000};
	struct timeline_thread thread = {.tid = 6};
	struct timeline_process process = {.pid = 5};
	struct profile *profile = profile_new();
	struct timeline *timeline = timeline_new();
	struct format_opts opts = {.timeline = timeline};
	struct text trace = {0};
	struct sink sink = {.write = imported_append, .context = &trace};
	struct imported imported;
	uint32_t stack;

	builder_add_sample(profile, builder_add_thread(profile, 5, 6, "t"), "main;work", 14);
	stack = profile_get_sample(profile, 0)->stack;
	assert_int_equal(timeline_add_clock(timeline, &clock, NULL), 0);
	assert_int_equal(timeline_add_process(timeline, &process, NULL), 0);
	assert_int_equal(timeline_add_thread(timeline, &thread, NULL), 0);
	assert_int_equal(add_sample(timeline, 3000000, stack), 0);
	assert_int_equal(add_sample(timeline, 4000000, stack), 0);
	assert_int_equal(format_pftrace.write(profile, &opts, &sink), 0);
	imported = read_timed(&format_pftrace, trace.data, trace.length);
	assert_times(imported.profile, 0, "3*7 4*7");
	assert_clock(imported.profile, 1700000000000000000 - 1000);
	imported_release(&imported);
	text_release(&trace);
	timeline_free(timeline);
	profile_free(profile);
}

#define V8_PROFILE                                                                                 \
	"{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"f\"}},"                           \
	"{\"id\":2,\"callFrame\":{\"functionName\":\"g\"}}],\"startTime\":1000,\"endTime\":26000," \
	"\"samples\":[1,2,1],\"timeDeltas\":[2000,5000,9000]}"

static void profiles_of_v8_have_times_between_their_samples(void **state _unused_)
{
	struct imported imported = read_timed(&format_cpuprofile, V8_PROFILE, strlen(V8_PROFILE));

	assert_times(imported.profile, 0, "3*1 17*1 8*1");
	assert_times(imported.profile, 1, "3*5000000 17*9000000 8*9000000");
	imported_release(&imported);
}

#define FIREFOX_PROFILE(samples)                                                                     \
	"{\"meta\":{\"interval\":1,\"startTime\":1700000000000.5,\"preprocessedProfileVersion\":48," \
	"\"categories\":[]},\"threads\":[{\"name\":\"t\",\"pid\":\"7\",\"tid\":8,"                   \
	"\"stackTable\":{\"frame\":[0],\"prefix\":[null],\"length\":1},"                             \
	"\"frameTable\":{\"func\":[0],\"length\":1},\"funcTable\":{\"name\":[0],\"length\":1},"      \
	"\"stringArray\":[\"f\"],\"samples\":{\"stack\":[0,null,0]," samples "\"length\":3}}]}"

static void assert_firefox_times(const char *text)
{
	struct imported imported = read_timed(&format_firefox, text, strlen(text));

	assert_times(imported.profile, 0, "1700000000002*1 1700000000008*1");
	assert_clock(imported.profile, 0);
	imported_release(&imported);
}

static void firefox_has_times_or_steps_from_the_start_of_the_process(void **state _unused_)
{
	assert_firefox_times(FIREFOX_PROFILE("\"time\":[2,4.5,7.75],"));
	assert_firefox_times(FIREFOX_PROFILE("\"timeDeltas\":[2,2.5,3.25],"));
}

/* ---- the page's data ---------------------------------------------------------------------- */

static struct imported read_written(const struct profile *profile, const uint8_t *is_left_out)
{
	struct text text = {0};
	struct sink sink = {.write = imported_append, .context = &text};
	struct imported imported;

	assert_int_equal(
		native_write(profile,
			     &(struct native_opts){.has_times = true, .is_left_out = is_left_out},
			     &sink),
		0);
	imported = read_timed(&format_svg, text.data, text.length);
	text_release(&text);
	return imported;
}

static const char two_threads[] = "web 7 [000] 12.5: 30 cycles:\n\t1 f (x)\n\n"
				  "web 8 [000] 12.4: 40 cycles:\n\t1 g (x)\n\n"
				  "web 7 [000] 12.9: 31 cycles:\n\t1 f (x)\n\n"
				  "web 8 [000] 13.1: 5 cycles:\n\t1 f (x)\n\n"
				  "web 8 [000] 12.7: 5 cycles:\n\t1 f (x)\n\n"
				  "web 8 [000] 6 cycles:\n\t1 h (x)\n\n"
				  "web 9 [000] 6 cycles:\n\t1 g (x)\n\n"
				  "web 9 [000] 12.8: 6 cycles:\n\t1 g (x)\n\n";

static void times_are_written_and_read_back(void **state _unused_)
{
	struct imported imported =
		read_timed(&format_perf_script, two_threads, strlen(two_threads));
	struct imported again;

	assert_int_equal(profile_set_clock(imported.profile, 0, 77000000), 0);
	again = read_written(imported.profile, NULL);
	assert_times(again.profile, 0, "12500*30 12900*31 12700*5 13100*5 12400*40 12800*6");
	assert_clock(again.profile, 77000000);
	imported_release(&again);
	imported_release(&imported);
}

static void each_source_keeps_its_own_times(void **state _unused_)
{
	struct imported imported =
		read_timed(&format_perf_script, two_threads, strlen(two_threads));
	static const char later[] = "web 7 [000] 99.5: 3 cycles:\n\t1 f (x)\n\n";
	static const uint8_t first_is_left_out[] = {1, 0};
	struct imported again;

	assert_int_equal(imported_read(&imported, &format_perf_script, later, strlen(later)), 0);
	again = read_written(imported.profile, NULL);
	assert_times(again.profile, 0,
		     "12500*30 12900*31 12700*5 13100*5 99500*3 12400*40 12800*6");
	imported_release(&again);
	again = read_written(imported.profile, first_is_left_out);
	assert_times(again.profile, 0, "99500*3");
	imported_release(&again);
	imported_release(&imported);
}

static void flame_graphs_have_no_times(void **state _unused_)
{
	struct imported imported =
		read_timed(&format_perf_script, two_threads, strlen(two_threads));
	struct text text = {0};
	struct sink sink = {.write = imported_append, .context = &text};
	static const struct format_opts opts;
	struct imported again;

	assert_int_equal(format_svg.write(imported.profile, &opts, &sink), 0);
	again = read_timed(&format_svg, text.data, text.length);
	assert_int_equal(profile_count_samples(again.profile),
			 profile_count_samples(imported.profile));
	assert_int_equal(timestamps_count(profile_get_timestamps(again.profile)), 0);
	imported_release(&again);
	text_release(&text);
	imported_release(&imported);
}

static void assert_times_of_samples(struct packed_bytes samples, const char *expected)
{
	struct text packed = packed_profile_with(PACKED_SAMPLES, samples);
	struct imported imported = read_timed(&format_svg, packed.data, packed.length);

	assert_times(imported.profile, 0, expected);
	imported_release(&imported);
	text_release(&packed);
}

/* Their weights are even shares, others, or those of two samples; the second one goes back. */
static void weights_are_shared_or_given(void **state _unused_)
{
	assert_times_of_samples(PACKED("\0\0\0\1\6" COLUMN_1_MS "\1\0\1\4\1\2\0\0"), "4*3 8*3");
	assert_times_of_samples(PACKED("\0\0\0\1\6" COLUMN_1_MS "\1\0\1\4\1\2\1\1\2\1\4"),
				"4*1 8*4");
	assert_times_of_samples(PACKED("\1\1\0\0\2\6\6" COLUMN_1_MS "\2\6\5\0\2\1\1\2\1\1\2\1\1"),
				"4*1 7*1");
}

static void times_that_make_no_sense_are_refused(void **state _unused_)
{
	static const struct {
		struct packed_bytes samples;
		const char *reason;
	} cases[] = {
		/* No unit. */
		{PACKED("\0\0\0\1\6\1\0\1\0\1\4\1\2\0\0"), "units that are not 0"},
		/* No first time, no next one, and one too many of each. */
		{PACKED("\0\0\0\1\6" COLUMN_1_MS "\0\1\4\1\2\0\0"), "times of samples"},
		{PACKED("\0\0\0\1\6" COLUMN_1_MS "\1\0\0\1\2\0\0"), "times of samples"},
		{PACKED("\0\0\0\1\6" COLUMN_1_MS "\2\0\1\1\4\1\2\0\0"),
		 "as many weights and times"},
		{PACKED("\0\0\0\1\6" COLUMN_1_MS "\1\0\2\4\4\1\2\0\0"),
		 "as many weights and times"},
		/* 5 ms before the start, which is 4 ms; and after 36 million years. */
		{PACKED("\0\0\0\1\6" COLUMN_1_MS "\1\x9\1\4\1\2\0\0"), "times of samples"},
		{PACKED("\0\0\0\1\6" COLUMN_1_MS
			"\1\x80\x80\x80\x80\x80\x80\x80\x80\x20\1\4\1\2\0\0"),
		 "times of samples"},
		/* 7 of 6, at once and together. */
		{PACKED("\0\0\0\1\6" COLUMN_1_MS "\1\0\1\4\1\2\1\1\1\7"),
		 "no more than their sample"},
		{PACKED("\0\0\0\1\6" COLUMN_1_MS "\1\0\1\4\1\2\1\1\2\3\4"),
		 "no more than their sample"},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct text packed = packed_profile_with(PACKED_SAMPLES, cases[i].samples);
		struct imported imported = {.profile = profile_new()};

		assert_int_equal(profile_keep_timestamps(imported.profile), 0);
		assert_int_equal(imported_read(&imported, &format_svg, packed.data, packed.length),
				 -EBADMSG);
		if (!strstr(imported.import.error.message, cases[i].reason))
			fail_msg("'%s' does not say '%s'", imported.import.error.message,
				 cases[i].reason);
		imported_release(&imported);
		text_release(&packed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perf_script_has_seconds_in_its_headers),
		cmocka_unit_test(perf_data_has_the_time_in_its_records),
		cmocka_unit_test(jfr_counts_ticks_from_the_chunks_start),
		cmocka_unit_test(traces_have_times_and_the_clock_of_the_calendar),
		cmocka_unit_test(profiles_of_v8_have_times_between_their_samples),
		cmocka_unit_test(firefox_has_times_or_steps_from_the_start_of_the_process),
		cmocka_unit_test(times_are_written_and_read_back),
		cmocka_unit_test(each_source_keeps_its_own_times),
		cmocka_unit_test(flame_graphs_have_no_times),
		cmocka_unit_test(weights_are_shared_or_given),
		cmocka_unit_test(times_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
