#include <zlib.h>
#include <zstd.h>

#include "base/array.h"
#include "formats/perfetto/perfetto.h"
#include "import_fixture.h"
#include "trace_builder.h"
#include "zones_builder.h"

/* ---- what comes of them ------------------------------------------------------------------- */

static int read_trace(const struct text *trace, struct zones_read_result *ret)
{
	return builder_read(&format_pftrace, trace->data, trace->length, false, ret);
}

/* The trace, which is emptied, as folded text of its first metric, and the warnings about it. */
static void assert_trace(struct text *trace, const char *expected, const char *warnings)
{
	struct zones_read_result result;

	assert_int_equal(read_trace(trace, &result), 0);
	assert_written(&format_folded, result.profile, (struct call_tree_opts){0}, expected);
	assert_string_equal(result.warnings.data, warnings);
	builder_release(&result);
	text_release(trace);
}

/* ---- samples ------------------------------------------------------------------------------ */

static void samples_of_others_weigh_one_each(void **state _unused_)
{
	struct text trace = {0};

	put_thread(&trace, 9, "worker", 0);
	put_stack(&trace, 3, CLEARED, "f");
	put_sample(&trace, 3, 10);
	put_sample(&trace, 3, 20);
	assert_trace(&trace, "worker;f 2\n", "");
}

/* A sample of this stack; lost: so many records before it, and it is no sample. */
static void put_other_sample(struct text *trace, uint64_t time, uint64_t callstack, uint64_t lost)
{
	struct text sample = {0};

	put(&sample, 2, 5);
	put(&sample, 3, 7);
	put(&sample, 4, callstack);
	if (lost)
		put(&sample, 17, lost);
	put_packet(trace, 3, NEEDED, time, SAMPLE, &sample);
}

/* What a trace lacks is counted, and each kind in its place. */
static void missing_stacks_and_lost_samples_are_counted(void **state _unused_)
{
	struct zones_read_result result;
	struct text trace = {0};

	put_sample(&trace, 3, 5); /* before its state */
	put_stack(&trace, 3, CLEARED, "f");
	put_sample(&trace, 3, 10);
	put_other_sample(&trace, 20, 99, 0);
	put_other_sample(&trace, 25, 98, 0);
	put_other_sample(&trace, 30, 0, 0); /* says that it has none */
	put_other_sample(&trace, 40, 0, 1000);
	assert_int_equal(read_trace(&trace, &result), 0);
	assert_written(&format_folded, result.profile, (struct call_tree_opts){0},
		       "[unknown] 3\n[unknown];f 1\n");
	assert_string_equal(result.warnings.data,
			    "x: 1 packet refers to data lost before it, skipping\n"
			    "x: 2 samples refer to missing stacks\n");
	assert_int_equal(result.counts.skipped, 1);
	assert_int_equal(result.counts.without_stack, 2);
	assert_int_equal(result.counts.lost_samples, 1000);
	builder_release(&result);
	text_release(&trace);
}

static void numbers_are_of_their_sequence(void **state _unused_)
{
	struct text trace = {0};

	put_stack(&trace, 3, CLEARED, "f");
	put_stack(&trace, 4, CLEARED, "g");
	put_sample(&trace, 3, 10);
	put_sample(&trace, 4, 20);
	assert_trace(&trace, "[unknown];f 1\n[unknown];g 1\n", "");
}

static void a_cleared_state_is_forgotten(void **state _unused_)
{
	struct text trace = {0};

	put_stack(&trace, 3, CLEARED, "f");
	put_sample(&trace, 3, 10);
	put_stack(&trace, 3, CLEARED, "g");
	put_sample(&trace, 3, 20);
	assert_trace(&trace, "[unknown];f 1\n[unknown];g 1\n", "");
}

static void packets_without_the_state_they_need_are_skipped(void **state _unused_)
{
	struct text trace = {0};

	put_sample(&trace, 3, 5);
	put_stack(&trace, 3, CLEARED, "f");
	put_sample(&trace, 3, 10);
	assert_trace(&trace, "[unknown];f 1\n",
		     "x: 1 packet refers to data lost before it, skipping\n");
}

static void a_reused_tid_has_its_name_of_the_time(void **state _unused_)
{
	struct text trace = {0};

	put_stack(&trace, 3, CLEARED, "f");
	put_sample(&trace, 3, 10);
	put_sample(&trace, 3, 60);
	put_sample(&trace, 3, 70);
	put_thread(&trace, 8, "first", 1);
	put_thread(&trace, 9, "second", 50);
	assert_trace(&trace, "first;f 1\nsecond;f 2\n", "");
}

/* In a trace a sample weighs its period. In a profile it counts 1, and so does its time. */
static void a_recording_counts_samples_and_knows_their_period(void **state _unused_)
{
	struct text trace = {0};
	struct text message = {0};
	struct text timebase = {0};
	struct text samples = {0};
	struct zones_read_result result;

	put_stack(&trace, 3, CLEARED, "f");
	put(&timebase, 2, 99);
	put_string(&timebase, 10, "cpu-clock");
	put_string(&timebase, 1000, "count");
	put_message(&samples, 1, &timebase);
	put_message(&message, 12, &samples);
	put_packet(&trace, 3, NEEDED, 0, DEFAULTS, &message);
	put_sample(&trace, 3, 10);
	put_sample(&trace, 3, 30);
	assert_int_equal(read_trace(&trace, &result), 0);
	assert_written(&format_folded, result.profile, (struct call_tree_opts){0},
		       "[unknown];f 2\n");
	assert_int_equal(timestamps_count(profile_get_timestamps(result.profile)), 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(timestamps_get(profile_get_timestamps(result.profile), i)->weight,
				 1);
	assert_int_equal(profile_get_sampling(result.profile)->period_ns, 1000);
	assert_int_equal(profile_get_sampling(result.profile)->duration_ns, 20);
	assert_int_equal(timeline_get_sample(result.timeline, 1)->weight, 1000);
	assert_int_equal(timeline_get_system(result.timeline)->sample_frequency, 99);
	builder_release(&result);
	text_release(&trace);
}

static void frames_of_equal_address_in_foreign_traces_were_inlined(void **state _unused_)
{
	struct text trace = {0};
	struct text data = {0};
	struct text item = {0};

	for (unsigned int i = 1; i <= 2; i++) {
		put(&item, 1, i);
		put_string(&item, 2, i == 1 ? "f" : "g");
		put_message(&data, 5, &item);
		put(&item, 1, i);
		put(&item, 2, i);
		put(&item, 3, 1);
		put(&item, 4, 0x40);
		put_message(&data, 6, &item);
	}
	put(&item, 1, 1);
	put_message(&data, 19, &item);
	put(&item, 1, 1);
	for (unsigned int i = 0; i < 4; i++)
		put(&item, 2, 1 + i % 2);
	put_message(&data, 7, &item);
	put_packet(&trace, 3, CLEARED, 1, INTERNED, &data);
	put_sample(&trace, 3, 10);
	assert_trace(&trace, "[unknown];f;g_[i];f;g_[i] 1\n", "");
}

/* ---- slices ------------------------------------------------------------------------------- */

static void slices_of_a_thread_are_its_zones(void **state _unused_)
{
	struct text trace = {0};

	put_event(&trace, 10, 9, "outer");
	put_event(&trace, 20, 9, "inner");
	put_event(&trace, 50, 9, NULL);
	put_event(&trace, 100, 9, NULL);
	put_thread(&trace, 9, "worker", 0); /* described afterwards */
	assert_trace(&trace, "worker;outer 60\nworker;outer;inner 30\n", "");
}

/* As protobuf's own parsers have it: a known field of another wire type is not known. */
static void fields_of_another_wire_type_are_skipped(void **state _unused_)
{
	struct text trace = {0};
	struct text packet = {0};
	struct text event = {0};

	put(&event, 9, 1);
	put_string(&event, 9, "\2");
	put(&event, 11, 9);
	put_string(&event, 11, "");
	put_string(&event, 23, "outer");
	put(&event, 23, 1);
	put(&packet, 8, 10);
	put_string(&packet, 8, "");
	put(&packet, 10, 1);
	put_message(&packet, EVENT, &event);
	put(&packet, EVENT, 1);
	put_string(&packet, 58, "");
	put_message(&trace, 1, &packet);
	put_event(&trace, 100, 9, NULL);
	put_thread(&trace, 9, "worker", 0);
	assert_trace(&trace, "worker;outer 90\n", "");
}

static void slices_need_not_come_in_order_of_time(void **state _unused_)
{
	struct text trace = {0};

	put_thread(&trace, 9, "worker", 0);
	put_event(&trace, 20, 9, "inner");
	put_event(&trace, 50, 9, NULL);
	put_event(&trace, 10, 9, "outer");
	put_event(&trace, 100, 9, NULL);
	assert_trace(&trace, "worker;outer 60\nworker;outer;inner 30\n", "");
}

static void slices_without_a_thread_go_by_their_track(void **state _unused_)
{
	struct text trace = {0};
	struct text track = {0};

	put(&track, 1, 9);
	put(&track, 5, 10); /* its parent, whose parent it is */
	put_string(&track, 2, "requests");
	put_packet(&trace, 1, 0, 0, TRACK, &track);
	put(&track, 1, 10);
	put(&track, 5, 9);
	put_packet(&trace, 1, 0, 0, TRACK, &track);
	put_event(&trace, 10, 9, "one");
	put_event(&trace, 50, 9, NULL);
	assert_trace(&trace, "requests;one 40\n", "");
}

static void a_slice_that_does_not_end_ends_with_the_trace(void **state _unused_)
{
	struct text trace = {0};

	put_thread(&trace, 9, "worker", 0);
	put_event(&trace, 10, 9, "open");
	put_event(&trace, 40, 8, NULL);
	assert_trace(&trace, "worker;open 30\n",
		     "x: 1 slice was still open at the end\n"
		     "x: 1 event does not match others, skipping\n");
}

static void times_may_be_steps_of_a_clock_of_the_sequence(void **state _unused_)
{
	struct text trace = {0};
	struct text message = {0};
	struct text clock = {0};

	put(&clock, 1, 64);
	put(&clock, 2, 5);
	put(&clock, 3, 1);
	put(&clock, 4, 1000);
	put_message(&message, 1, &clock);
	put(&clock, 1, 6);
	put(&clock, 2, 1000000);
	put_message(&message, 1, &clock);
	put_packet(&trace, 1, 0, 0, SNAPSHOT, &message);
	put(&message, 58, 64);
	put_packet(&trace, 1, CLEARED, 0, DEFAULTS, &message);
	put_thread(&trace, 9, "worker", 0);
	put_event(&trace, 2, 9, "outer");
	put_event(&trace, 3, 9, "inner");
	put_event(&trace, 1, 9, NULL);
	put_event(&trace, 1, 9, NULL);
	assert_trace(&trace, "worker;outer 4000\nworker;outer;inner 1000\n", "");
}

/* While the machine sleeps, the boot clock goes on and the monotonic one does not. */
static void times_before_and_after_a_sleep_are_those_of_the_boot_clock(void **state _unused_)
{
	static const uint64_t clocks[][2] = {{1000, 1000}, {9000, 2000}};
	struct text trace = {0};
	struct text message = {0};
	struct text clock = {0};

	put_thread(&trace, 9, "worker", 0);
	for (size_t i = 0; i < 2; i++) {
		put(&clock, 1, 6);
		put(&clock, 2, clocks[i][0]);
		put_message(&message, 1, &clock);
		put(&clock, 1, 3);
		put(&clock, 2, clocks[i][1]);
		put_message(&message, 1, &clock);
		put_packet(&trace, 1, 0, 0, SNAPSHOT, &message);
		if (!i) {
			put(&message, 58, 3);
			put_packet(&trace, 1, CLEARED, 0, DEFAULTS, &message);
		}
		/* Begins at 1500, ends at 9500. */
		put_event(&trace, i ? 2500 : 1500, 9, i ? NULL : "asleep");
	}
	assert_trace(&trace, "worker;asleep 8000\n", "");
}

/* ---- our own zones ------------------------------------------------------------------------ */

static const char zones[] = "#! process 900 game\n"
			    "THREAD, 1, main\n"
			    "THREAD, 2, worker\n"
			    "THREAD, 3, idle\n"
			    "STACK, 4096, 8192, fiber\n"
			    "LOCATION, 1, work, do_work, a.c, 3\n"
			    "LOCATION, 2, wait, do_wait, a.c, 9\n"
			    "COUNTER_TRACK, 1, queue\n"
			    "ZONE_START, 8000, 1, 100, 1\n"
			    "ZONE_CATEGORY, 8000, io\n"
			    "ZONE_PARAM, 8000, level, 3\n"
			    "ZONE_PARAM, 8000, who, 'me'\n"
			    "ZONE_FLOW, 8000, 77\n"
			    "ZONE_START, 7000, 2, 150, 2\n"
			    "ZONE_END, 7000, 180\n"
			    "ZONE_END, 8000, 250\n"
			    "ZONE_START, 40960, 1, 260, 1\n"
			    "ZONE_END, 40960, 270\n"
			    "COUNTER_VALUE, 1, 120, -3\n";

static struct text write_result(const struct format *format, const struct zones_read_result *result)
{
	struct format_opts opts = {.timeline = result->timeline};
	struct text text = {0};
	struct sink sink = {.write = imported_append, .context = &text};

	assert_int_equal(format->write(result->profile, &opts, &sink), 0);
	return text;
}

static void assert_same_text(struct text a, struct text b)
{
	assert_int_equal(a.length, b.length);
	assert_memory_equal(a.data, b.data, a.length);
	text_release(&a);
	text_release(&b);
}

static void zones_come_back_as_they_were(void **state _unused_)
{
	struct zones_read_result first;
	struct zones_read_result second;
	struct text trace;

	assert_int_equal(builder_read(&format_zones, zones, strlen(zones), false, &first), 0);
	trace = write_result(&format_pftrace, &first);
	assert_int_equal(read_trace(&trace, &second), 0);
	assert_string_equal(second.warnings.data, "");
	assert_same_text(write_result(&format_folded, &first),
			 write_result(&format_folded, &second));
	assert_same_text(write_result(&format_zones, &first), write_result(&format_zones, &second));
	text_release(&trace);
	builder_release(&first);
	builder_release(&second);
}

static void every_zone_has_the_thread_it_started_on(void **state _unused_)
{
	struct zones_read_result first;
	struct zones_read_result second;
	struct text trace;

	assert_int_equal(builder_read(&format_zones, zones, strlen(zones), false, &first), 0);
	trace = write_result(&format_pftrace, &first);
	assert_int_equal(read_trace(&trace, &second), 0);
	assert_written(&format_folded, second.profile,
		       (struct call_tree_opts){.root = TREE_ROOT_TID},
		       "main-900/1;work 130\nworker-900/2;work;wait 30\n");
	text_release(&trace);
	builder_release(&first);
	builder_release(&second);
}

/* ---- events with stacks ------------------------------------------------------------------- */

/* An instant event on the track of thread 7, with a stack that was interned before. */
static void put_instant(struct text *trace, uint64_t time, const char *name, uint64_t callstack)
{
	struct text event = {0};

	put(&event, 9, 3);
	put(&event, 11, 99);
	put_string(&event, 23, name);
	put(&event, 56, callstack);
	put_packet(trace, 3, NEEDED, time, EVENT, &event);
}

static void an_instant_event_with_a_stack_is_a_sample_of_its_name(void **state _unused_)
{
	struct text trace = {0};
	struct text event = {0};
	struct text stack = {0};
	struct text frame = {0};

	put_thread(&trace, 99, "worker", 0);
	put_stack(&trace, 3, CLEARED, "f");
	put_instant(&trace, 10, "TIMER", 1);
	put_instant(&trace, 20, "TIMER", 1);
	put_instant(&trace, 30, "WAKER", 1);
	put(&event, 9, 3);
	put(&event, 11, 99);
	put_string(&event, 23, "TIMER");
	put_string(&frame, 1, "main");
	put_message(&stack, 1, &frame);
	put_string(&frame, 1, "told; in full");
	put_string(&frame, 2, "a.c");
	put(&frame, 3, 7);
	put_message(&stack, 1, &frame);
	put_message(&event, 55, &stack);
	put_packet(&trace, 3, 0, 40, EVENT, &event);
	assert_trace(&trace, "worker;f 2\nworker;main;told: in full 1\n", "");
}

static void a_stack_of_a_slice_is_no_sample(void **state _unused_)
{
	struct text trace = {0};
	struct text event = {0};

	put_thread(&trace, 99, "worker", 0);
	put_stack(&trace, 3, CLEARED, "f");
	put_instant(&trace, 10, "TIMER", 1);
	put(&event, 9, 1);
	put(&event, 11, 99);
	put_string(&event, 23, "asleep");
	put(&event, 56, 1);
	put_packet(&trace, 3, NEEDED, 15, EVENT, &event);
	put_event(&trace, 20, 99, NULL);
	assert_trace(&trace, "worker;f 1\n", "x: 1 call stack of slices, not samples, skipping\n");
}

/* A slice as Chrome's older versions wrote it: at its end, with its duration. */
static void put_complete_event(struct text *trace, uint64_t time, const char *name,
			       uint64_t duration_us)
{
	struct text event = {0};
	struct text legacy = {0};

	put(&event, 11, 99);
	put_string(&event, 23, name);
	put(&legacy, 2, 'X');
	put(&legacy, 3, duration_us);
	put_message(&event, 6, &legacy);
	put_packet(trace, 1, 0, time, EVENT, &event);
}

static void complete_events_nest_by_their_times(void **state _unused_)
{
	struct text trace = {0};

	put_thread(&trace, 99, "worker", 0);
	put_complete_event(&trace, 1000, "inner", 2);
	put_complete_event(&trace, 4000, "next", 1);
	put_complete_event(&trace, 1000, "outer", 9);
	put_complete_event(&trace, 10000, "after", 1);
	assert_trace(&trace,
		     "worker;after 1000\nworker;outer 6000\nworker;outer;inner 2000\n"
		     "worker;outer;next 1000\n",
		     "");
}

static void a_complete_event_ends_with_the_one_around_it(void **state _unused_)
{
	struct text trace = {0};

	put_thread(&trace, 99, "worker", 0);
	put_complete_event(&trace, 1000, "outer", 10);
	put_complete_event(&trace, 2000, "middle", 2);
	put_complete_event(&trace, 3000, "inner", 5);
	assert_trace(&trace,
		     "worker;outer 8000\nworker;outer;middle 1000\n"
		     "worker;outer;middle;inner 1000\n",
		     "");
}

/* ---- hostile ------------------------------------------------------------------------------ */

static struct text make_trace(bool is_compressed)
{
	struct zones_read_result result;
	struct format_opts opts = {.is_compressed = is_compressed};
	struct text text = {0};
	struct sink sink = {.write = imported_append, .context = &text};

	assert_int_equal(builder_read(&format_zones, zones, strlen(zones), false, &result), 0);
	opts.timeline = result.timeline;
	assert_int_equal(format_pftrace.write(result.profile, &opts, &sink), 0);
	builder_release(&result);
	return text;
}

static void a_truncated_trace_is_read_up_to_its_end(void **state _unused_)
{
	struct text trace = make_trace(false);
	unsigned int num_refused = 0;

	for (size_t size = 0; size < trace.length; size++) {
		struct text truncated = {.data = trace.data, .length = size};
		struct zones_read_result result;
		int err = read_trace(&truncated, &result);

		assert_true(err == 0 || err == -EBADMSG);
		assert_true(err == 0 || result.error.message[0]);
		num_refused += err != 0;
		builder_release(&result);
	}
	assert_in_range(num_refused, 1, 32); /* where not one packet is whole */
	text_release(&trace);
}

static void assert_warnings(const struct text *trace, const char *expected)
{
	struct zones_read_result result;

	assert_int_equal(read_trace(trace, &result), 0);
	assert_string_equal(result.warnings.data, expected);
	builder_release(&result);
}

/* The start of the trace is refused, or read with this warning. */
static void assert_truncated(const struct text *trace, size_t size)
{
	struct text truncated = {.data = trace->data, .length = size};
	struct zones_read_result result;
	int err = read_trace(&truncated, &result);

	if (err)
		assert_int_equal(err, -EBADMSG);
	else if (!result.warnings.length || !strstr(result.warnings.data, "the trace is truncated"))
		fail_msg("%zu of %zu bytes are read without a word", size, trace->length);
	builder_release(&result);
}

/* Also between two packets, where the rest is a valid list of packets. */
static void a_truncated_trace_of_ours_is_reported(void **state _unused_)
{
	for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
		struct text trace = make_trace(is_compressed);

		for (size_t size = 1; size < trace.length; size++)
			assert_truncated(&trace, size);
		assert_warnings(&trace, "");
		text_release(&trace);
	}
}

/* One after the other they are one list of packets. */
static void traces_of_ours_that_are_joined_are_complete(void **state _unused_)
{
	for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
		struct text trace = make_trace(is_compressed);
		struct text other = make_trace(false);

		text_append(&trace, other.data, other.length);
		assert_warnings(&trace, "");
		text_release(&other);
		text_release(&trace);
	}
}

static size_t get_size_of_packet(const struct text *trace, size_t start)
{
	struct bytes bytes = bytes_of(trace->data + start, trace->length - start);
	struct protobuf_field field;

	return protobuf_next(&bytes, &field) ? bytes.offset : 0;
}

/* The first one lacks its last packet. */
static void a_truncated_trace_before_another_one_is_reported(void **state _unused_)
{
	struct text trace = make_trace(false);
	struct text joined = {0};
	char expected[100];
	size_t last = 0;

	for (size_t size; last < trace.length; last += size) {
		size = get_size_of_packet(&trace, last);
		assert_int_not_equal(size, 0);
		if (last + size == trace.length)
			break;
	}
	text_append(&joined, trace.data, last);
	text_append(&joined, trace.data, trace.length);
	snprintf(expected, sizeof(expected), "x: at byte %zu: the trace is truncated\n", last);
	assert_warnings(&joined, expected);
	text_release(&joined);
	text_release(&trace);
}

static void broken_bytes_never_crash(void **state _unused_)
{
	for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
		struct text trace = make_trace(is_compressed);

		for (size_t at = 0; at < trace.length; at++) {
			struct zones_read_result result;
			int err;

			trace.data[at] ^= (char)0xa5;
			err = read_trace(&trace, &result);
			assert_true(err == 0 || result.error.message[0]);
			trace.data[at] ^= (char)0xa5;
			builder_release(&result);
		}
		text_release(&trace);
	}
}

static void packets_that_expand_without_end_are_refused(void **state _unused_)
{
	uLongf size = 1u << 20;
	_cleanup_free_ uint8_t *plain = calloc(1, 80u << 20);
	_cleanup_free_ uint8_t *compressed = malloc(size);
	struct zones_read_result result;
	struct text trace = {0};
	struct text packet = {0};

	assert_true(plain && compressed);
	assert_int_equal(compress2(compressed, &size, plain, 80u << 20, 9), Z_OK);
	put_bytes(&packet, COMPRESSED, compressed, size);
	put_message(&trace, 1, &packet);
	assert_true(trace.length < 200000);
	assert_int_equal(read_trace(&trace, &result), -EBADMSG);
	assert_non_null(strstr(result.error.message, "expand to far more"));
	builder_release(&result);
	text_release(&trace);
}

/* The packets of a trace by zstd, in two frames, as one packet: Perfetto 58 writes such. */
static struct text make_zstd_trace(const struct text *plain)
{
	struct text trace = {0};
	struct text packet = {0};
	size_t room = 2 * ZSTD_compressBound(plain->length);
	_cleanup_free_ uint8_t *compressed = malloc(room);
	size_t half = plain->length / 2;
	size_t size;

	assert_non_null(compressed);
	size = ZSTD_compress(compressed, room, plain->data, half, 3);
	assert_false(ZSTD_isError(size));
	size += ZSTD_compress(compressed + size, room - size, plain->data + half,
			      plain->length - half, 3);
	put_bytes(&packet, ZSTD_COMPRESSED, compressed, size);
	put_message(&trace, 1, &packet);
	return trace;
}

static struct text write_folded(const struct text *trace)
{
	struct text text = {0};
	struct sink sink = {.write = imported_append, .context = &text};
	struct zones_read_result result;
	const struct format_opts opts = {0};

	assert_int_equal(read_trace(trace, &result), 0);
	assert_int_equal(format_folded.write(result.profile, &opts, &sink), 0);
	builder_release(&result);
	return text;
}

static void packets_compressed_by_zstd_are_read(void **state _unused_)
{
	struct text plain = make_trace(false);
	struct text trace = make_zstd_trace(&plain);
	struct text expected = write_folded(&plain);
	struct text found = write_folded(&trace);

	assert_ptr_equal(format_detect("x.bin", (uint8_t *)trace.data, trace.length),
			 &format_pftrace);
	assert_true(expected.length > 0);
	assert_int_equal(found.length, expected.length);
	assert_memory_equal(found.data, expected.data, expected.length);
	text_release(&plain);
	text_release(&trace);
	text_release(&expected);
	text_release(&found);
}

static void damaged_packets_of_zstd_are_skipped(void **state _unused_)
{
	struct text plain = make_trace(false);
	struct text trace = make_zstd_trace(&plain);

	for (size_t at = 0; at < trace.length; at++) {
		struct zones_read_result result;
		int err;

		trace.data[at] ^= (char)0xa5;
		err = read_trace(&trace, &result);
		assert_true(err == 0 || result.error.message[0]);
		trace.data[at] ^= (char)0xa5;
		builder_release(&result);
	}
	text_release(&plain);
	text_release(&trace);
}

static void packets_of_zstd_that_expand_without_end_are_refused(void **state _unused_)
{
	size_t room = 1u << 20;
	_cleanup_free_ uint8_t *plain = calloc(1, 80u << 20);
	_cleanup_free_ uint8_t *compressed = malloc(room);
	struct zones_read_result result;
	struct text trace = {0};
	struct text packet = {0};
	size_t size;

	assert_true(plain && compressed);
	size = ZSTD_compress(compressed, room, plain, 80u << 20, 3);
	assert_false(ZSTD_isError(size));
	put_bytes(&packet, ZSTD_COMPRESSED, compressed, size);
	put_message(&trace, 1, &packet);
	assert_int_equal(read_trace(&trace, &result), -EBADMSG);
	assert_non_null(strstr(result.error.message, "expand to far more"));
	builder_release(&result);
	text_release(&trace);
}

/* ---- detection ---------------------------------------------------------------------------- */

static void a_trace_is_known_by_its_packets(void **state _unused_)
{
	struct text trace = make_trace(false);
	struct text compressed = make_trace(true);

	assert_ptr_equal(format_detect("x.bin", (uint8_t *)trace.data, trace.length),
			 &format_pftrace);
	assert_ptr_equal(format_detect("x.bin", (uint8_t *)compressed.data, compressed.length),
			 &format_pftrace);
	assert_ptr_not_equal(format_detect("x.bin", (const uint8_t *)"\n\na;b 1\n", 8),
			     &format_pftrace);
	assert_int_equal(perfetto_detect((const uint8_t *)"", 0), DETECTED_NOT);
	text_release(&trace);
	text_release(&compressed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_compressed_by_zstd_are_read),
		cmocka_unit_test(damaged_packets_of_zstd_are_skipped),
		cmocka_unit_test(packets_of_zstd_that_expand_without_end_are_refused),
		cmocka_unit_test(samples_of_others_weigh_one_each),
		cmocka_unit_test(missing_stacks_and_lost_samples_are_counted),
		cmocka_unit_test(numbers_are_of_their_sequence),
		cmocka_unit_test(a_cleared_state_is_forgotten),
		cmocka_unit_test(packets_without_the_state_they_need_are_skipped),
		cmocka_unit_test(a_reused_tid_has_its_name_of_the_time),
		cmocka_unit_test(a_recording_counts_samples_and_knows_their_period),
		cmocka_unit_test(frames_of_equal_address_in_foreign_traces_were_inlined),
		cmocka_unit_test(slices_of_a_thread_are_its_zones),
		cmocka_unit_test(fields_of_another_wire_type_are_skipped),
		cmocka_unit_test(slices_need_not_come_in_order_of_time),
		cmocka_unit_test(slices_without_a_thread_go_by_their_track),
		cmocka_unit_test(a_slice_that_does_not_end_ends_with_the_trace),
		cmocka_unit_test(times_may_be_steps_of_a_clock_of_the_sequence),
		cmocka_unit_test(times_before_and_after_a_sleep_are_those_of_the_boot_clock),
		cmocka_unit_test(an_instant_event_with_a_stack_is_a_sample_of_its_name),
		cmocka_unit_test(a_stack_of_a_slice_is_no_sample),
		cmocka_unit_test(complete_events_nest_by_their_times),
		cmocka_unit_test(a_complete_event_ends_with_the_one_around_it),
		cmocka_unit_test(zones_come_back_as_they_were),
		cmocka_unit_test(every_zone_has_the_thread_it_started_on),
		cmocka_unit_test(a_truncated_trace_is_read_up_to_its_end),
		cmocka_unit_test(a_truncated_trace_of_ours_is_reported),
		cmocka_unit_test(traces_of_ours_that_are_joined_are_complete),
		cmocka_unit_test(a_truncated_trace_before_another_one_is_reported),
		cmocka_unit_test(broken_bytes_never_crash),
		cmocka_unit_test(packets_that_expand_without_end_are_refused),
		cmocka_unit_test(a_trace_is_known_by_its_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
