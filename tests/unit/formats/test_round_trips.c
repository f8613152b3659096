/*
 * Formats of other tools that are written and read: whatever profile is written, reading it gives
 * the same stacks, weights and threads.
 */
#include <stdio.h>

#include "import_fixture.h"
#include "pprof_fixture.h"
#include "zones_builder.h"

#define NUM_PROFILES 100

/* What not every format keeps. */
enum kept {
	KEPT_PROCESSES = 1, /* also without a pid */
	KEPT_INLINED = 2,   /* also into a function of another module or kind */
	KEPT_ZEROS = 4,     /* samples that weigh nothing, with their metric */
	KEPT_ALL = 7,
};

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Of 20 strings; what JSON has to escape is in many of them. */
static uint32_t add_random_string(struct profile *profile, uint32_t *seed, const char *prefix)
{
	static const char *const tails[] = {
		"",      "\"q\"", "\\",     "\xc3\xa9\xe2\x82\xac", "{a,b}",
		"</x>",  "null",  "a b",    "\xf0\x9f\x94\xa5",     "[1]",
		"'%s%n", "_[x]",  "~T<>()", "::operator<",          "0"};
	char name[64];
	uint32_t id;

	snprintf(name, sizeof(name), "%s%u%s", prefix, next_random(seed) % 2,
		 tails[next_random(seed) % ARRAY_LENGTH(tails)]);
	assert_int_equal(profile_add_string(profile, name, &id), 0);
	return id;
}

/* A file's base name, or what has a scheme, and may have slashes then. */
static uint32_t add_random_module(struct profile *profile, uint32_t *seed)
{
	bool has_scheme = next_random(seed) % 4 == 0;
	uint32_t id = add_random_string(profile, seed, has_scheme ? "node:internal/" : "lib");

	if (has_scheme || !strchr(profile_get_string(profile, id), '/'))
		return id;
	assert_int_equal(profile_add_string(profile, "libc.so.6", &id), 0);
	return id;
}

static uint32_t add_random_location(struct profile *profile, uint32_t *seed, unsigned int kept)
{
	struct frame frame = {.name = add_random_string(profile, seed, "f")};
	uint32_t location;

	frame.full_name = frame.name;
	if (next_random(seed) % 2) {
		frame.file = add_random_string(profile, seed, "/src/");
		frame.line = next_random(seed) % 3;
	}
	if (next_random(seed) % 2)
		frame.module = add_random_module(profile, seed);
	switch (next_random(seed) % 8) {
	case 0:
		frame.kind = FRAME_KERNEL;
		break;
	case 1:
		frame.kind = FRAME_JIT;
		break;
	case 2:
		frame.is_inlined = true;
		break;
	case 3:
		frame.kind = FRAME_PYTHON;
		break;
	case 4:
		frame.kind = FRAME_JAVASCRIPT;
		break;
	case 5:
		frame.is_inlined = next_random(seed) % 2;
		frame.kind = FRAME_JAVA;
		break;
	}
	frame.is_inlined &= (kept & KEPT_INLINED) != 0;
	assert_int_equal(profile_add_frame_location(profile, &frame, &location), 0);
	return location;
}

static uint32_t add_random_thread(struct profile *profile, uint32_t *seed, uint32_t source)
{
	struct thread thread = {
		.tid = next_random(seed), .source = source, .process = next_random(seed) % 3};
	uint32_t id;

	thread.comm = add_random_string(profile, seed, "t");
	assert_int_equal(profile_add_thread(profile, &thread, &id), 0);
	return id;
}

static void add_random_sample(struct profile *profile, uint32_t *seed, const uint32_t *threads,
			      unsigned int kept)
{
	uint64_t weight = next_random(seed) % 5 ? next_random(seed) % 100000 : 0;
	uint32_t metric = next_random(seed) % profile_count_metrics(profile);
	uint32_t stack = STACK_EMPTY;
	uint32_t depth = next_random(seed) % 6;

	while (depth-- > 0)
		assert_int_equal(profile_add_stack(profile, stack,
						   add_random_location(profile, seed, kept),
						   &stack),
				 0);
	if (next_random(seed) % 10 == 0)
		weight = (1ull << 52) + next_random(seed);
	if (!(kept & KEPT_ZEROS))
		weight++;
	assert_int_equal(
		profile_add_sample(profile, threads[next_random(seed) % 4], stack, metric, weight),
		0);
}

static struct profile *make_profile(uint32_t seed, unsigned int kept)
{
	static const char *const metrics[][2] = {{"samples", "count"},
						 {"cpu \"x\"", "nanoseconds"},
						 {"alloc", "bytes"},
						 {"waits", "microseconds"},
						 {"alloc", "count"}};
	struct profile *profile = profile_new();
	uint32_t num_samples = next_random(&seed) % 60 + 1;
	uint32_t first_pid = kept & KEPT_PROCESSES ? 0 : 1000;
	uint32_t threads[4];
	uint32_t id;
	uint32_t source;

	assert_non_null(profile);
	assert_int_equal(profile_add_source(profile, STRING_EMPTY, &source), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(profile_add_process(profile, first_pid + i * 1000,
						     add_random_string(profile, &seed, "p"), &id),
				 0);
	for (size_t i = 0; i < 4; i++)
		threads[i] = add_random_thread(profile, &seed, source);
	for (size_t i = 0; i <= seed % ARRAY_LENGTH(metrics); i++)
		assert_int_equal(profile_add_metric(profile, metrics[i][0], metrics[i][1], &id), 0);
	while (num_samples-- > 0)
		add_random_sample(profile, &seed, threads, kept);
	return profile;
}

/* ---- a profile as text ---- */

static void append_stack(struct text *text, const struct profile *profile, uint32_t stack)
{
	for (; stack != STACK_EMPTY; stack = profile_get_stack_parent(profile, stack)) {
		const struct location *location =
			profile_get_location(profile, profile_get_stack_location(profile, stack));

		for (uint32_t i = 0; i < location->num_frames; i++) {
			const struct frame *frame =
				profile_get_frame(profile, location->first_frame + i);

			text_printf(text, " <- %s (%s:%u, %d%d) in %s",
				    profile_get_string(profile, frame->name),
				    profile_get_string(profile, frame->file), frame->line,
				    frame->kind, frame->is_inlined,
				    profile_get_string(profile, frame->module));
		}
	}
}

static int compare_lines(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Sorted lines, one for each sample. */
static void describe(struct text *text, const struct profile *profile)
{
	uint32_t count = profile_count_samples(profile);
	struct text *lines = calloc(count + 1, sizeof(*lines));
	char **sorted = calloc(count + 1, sizeof(*sorted));

	assert_non_null(lines);
	assert_non_null(sorted);
	for (uint32_t i = 0; i < count; i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		const struct thread *thread = profile_get_thread(profile, sample->thread);
		const struct process_info *process = profile_get_process(profile, thread->process);

		text_printf(&lines[i], "%s-%u/%u of %s %s (%s) %llu",
			    profile_get_string(profile, thread->comm), process->pid, thread->tid,
			    profile_get_string(profile, process->comm),
			    format_get_metric_name(profile, sample->metric),
			    format_get_metric_unit(profile, sample->metric),
			    (unsigned long long)sample->value);
		append_stack(&lines[i], profile, sample->stack);
		sorted[i] = lines[i].data;
	}
	qsort(sorted, count, sizeof(*sorted), compare_lines);
	text_append_string(text, "");
	for (uint32_t i = 0; i < count; i++) {
		text_append_string(text, sorted[i]);
		text_append_char(text, '\n');
	}
	for (uint32_t i = 0; i < count; i++)
		text_release(&lines[i]);
	free(lines);
	free(sorted);
}

static void assert_identity(const struct format *format, uint32_t seed, unsigned int kept)
{
	struct profile *profile = make_profile(seed, kept);
	struct format_opts opts = {0};
	struct text written = {0};
	struct text expected = {0};
	struct text got = {0};
	struct sink sink = {.write = imported_append, .context = &written};
	struct imported imported = {0};

	assert_int_equal(format->write(profile, &opts, &sink), 0);
	if (format == &format_pprof)
		written = fixture_gunzip(written);
	assert_int_equal(imported_read(&imported, format, written.data, written.length), 0);
	assert_string_equal(imported.warnings.data, "");
	describe(&expected, profile);
	describe(&got, imported.profile);
	if (!string_equals(got.data, expected.data))
		fprintf(stderr, "seed %u: got\n%s\nexpected\n%s\n%s\n", seed, got.data,
			expected.data, written.data);
	assert_true(string_equals(got.data, expected.data));
	text_release(&written);
	text_release(&expected);
	text_release(&got);
	imported_release(&imported);
	profile_free(profile);
}

static void the_firefox_profiler_s_format_keeps_all(void **state _unused_)
{
	for (uint32_t seed = 1; seed <= NUM_PROFILES; seed++)
		assert_identity(&format_firefox, seed, KEPT_ALL);
}

static void speedscope_s_format_keeps_all(void **state _unused_)
{
	for (uint32_t seed = 1; seed <= NUM_PROFILES; seed++)
		assert_identity(&format_speedscope, seed, KEPT_ALL);
}

static void an_svg_keeps_all(void **state _unused_)
{
	for (uint32_t seed = 1; seed <= NUM_PROFILES; seed++)
		assert_identity(&format_svg, seed, KEPT_ALL);
}

static void pprof_s_format_keeps_all(void **state _unused_)
{
	for (uint32_t seed = 1; seed <= NUM_PROFILES; seed++)
		assert_identity(&format_pprof, seed, KEPT_PROCESSES);
}

static void a_trace_keeps_all(void **state _unused_)
{
	for (uint32_t seed = 1; seed <= NUM_PROFILES; seed++)
		assert_identity(&format_pftrace, seed, KEPT_ALL & ~KEPT_PROCESSES);
}

/* ---- a recording of waits ---- */

enum { TICK_NS = 1000000 };

/* As it is recorded, and as its trace has it: sums are in the profile only. */
struct recording {
	struct zones_read_result result;
	uint32_t thread;
	uint32_t clock;
	uint32_t cpu;
	uint32_t waits[4];
	uint32_t wall;
};

static void recording_init(struct recording *recording, const char *clock, uint32_t frequency)
{
	static const char *const waits[] = {METRIC_BLOCKED, "uninterruptible", "run-queue",
					    "preempted"};
	struct profile *profile = profile_new();
	struct timeline *timeline = timeline_new();
	struct timeline_process process = {.pid = 7};
	struct timeline_thread thread = {.tid = 8};
	struct timeline_system system = {.sample_frequency = frequency};

	assert_true(profile && timeline);
	assert_int_equal(profile_keep_timestamps(profile), 0);
	assert_int_equal(profile_add_metric(profile, clock, frequency ? "count" : "nanoseconds",
					    &recording->clock),
			 0);
	assert_int_equal(profile_add_metric(profile, "cpu", "nanoseconds", &recording->cpu), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
			profile_add_metric(profile, waits[i], "nanoseconds", &recording->waits[i]),
			0);
	assert_int_equal(profile_add_metric(profile, METRIC_WALL, "nanoseconds", &recording->wall),
			 0);
	recording->thread = builder_add_thread(profile, 7, 8, "worker");
	assert_int_equal(timeline_add_string(timeline, "worker", &process.name), 0);
	thread.name = process.name;
	assert_int_equal(timeline_add_process(timeline, &process, NULL), 0);
	assert_int_equal(timeline_add_thread(timeline, &thread, NULL), 0);
	if (frequency)
		assert_int_equal(timeline_add_string(timeline, "cpu-clock", &system.sample_metric),
				 0);
	timeline_set_system(timeline, &system);
	recording->result.profile = profile;
	recording->result.timeline = timeline;
}

static void add_weight(struct recording *recording, uint32_t stack, uint32_t metric,
		       uint64_t weight, uint64_t time_ns)
{
	struct profile *profile = recording->result.profile;

	assert_int_equal(profile_add_sample(profile, recording->thread, stack, metric, weight), 0);
	assert_int_equal(
		profile_add_timestamp(profile, recording->thread, stack, metric, weight, time_ns),
		0);
}

static void add_to_trace(struct recording *recording, uint32_t stack, uint32_t metric,
			 uint64_t weight, uint64_t time_ns)
{
	struct timeline_sample sample = {
		.time_ns = time_ns, .weight = weight, .stack = stack, .metric = (uint8_t)metric};

	assert_int_equal(timeline_add_sample(recording->result.timeline, &sample, NULL), 0);
}

static void add_tick(struct recording *recording, uint32_t stack, uint64_t time_ns)
{
	add_weight(recording, stack, recording->clock, 1, time_ns);
	add_weight(recording, stack, recording->cpu, TICK_NS, time_ns);
	add_weight(recording, stack, recording->wall, TICK_NS, time_ns);
	add_to_trace(recording, stack, recording->clock, TICK_NS, time_ns);
}

static void add_wait(struct recording *recording, uint32_t stack, uint32_t metric, uint64_t weight,
		     uint64_t time_ns)
{
	add_weight(recording, stack, metric, weight, time_ns);
	add_weight(recording, stack, recording->wall, weight, time_ns);
	add_to_trace(recording, stack, metric, weight, time_ns);
}

/* "blocked 4000000 at 25000000", and what metrics there are, with their samples; sorted. */
static void describe_times(struct text *text, const struct profile *profile)
{
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	size_t num_times = timestamps_count(timestamps);
	size_t count = num_times + profile_count_metrics(profile);
	struct text *lines = calloc(count + 1, sizeof(*lines));
	char **sorted = calloc(count + 1, sizeof(*sorted));

	assert_non_null(lines);
	assert_non_null(sorted);
	for (size_t i = 0; i < num_times; i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);
		const struct sample *sample = profile_get_sample(profile, timestamp->sample);

		text_printf(&lines[i], "%s %llu at %llu",
			    format_get_metric_name(profile, sample->metric),
			    (unsigned long long)timestamp->weight,
			    (unsigned long long)timestamp->time_ns);
		append_stack(&lines[i], profile, sample->stack);
	}
	for (uint32_t i = 0; i < profile_count_metrics(profile); i++)
		text_printf(&lines[num_times + i], "%s/%s of %llu",
			    format_get_metric_name(profile, i), format_get_metric_unit(profile, i),
			    (unsigned long long)profile_get_metric(profile, i)->num_samples);
	for (size_t i = 0; i < count; i++)
		sorted[i] = lines[i].data;
	qsort(sorted, count, sizeof(*sorted), compare_lines);
	for (size_t i = 0; i < count; i++)
		text_printf(text, "%s\n", sorted[i]);
	for (size_t i = 0; i < count; i++)
		text_release(&lines[i]);
	free(lines);
	free(sorted);
}

static void describe_all(struct text *text, const struct profile *profile)
{
	describe(text, profile);
	describe_times(text, profile);
}

/* Written and read twice: sums are not written, and made once. */
static void assert_recording_stays(struct recording *recording)
{
	struct zones_read_result read[2];
	struct text expected = {0};

	describe_all(&expected, recording->result.profile);
	for (size_t i = 0; i < 2; i++) {
		const struct zones_read_result *from = i ? &read[0] : &recording->result;
		struct text written = builder_write(&format_pftrace, from, (struct format_opts){0});
		struct text got = {0};

		assert_int_equal(builder_read(&format_pftrace, written.data, written.length, false,
					      &read[i]),
				 0);
		assert_string_equal(read[i].warnings.data, "");
		describe_all(&got, read[i].profile);
		assert_string_equal(got.data, expected.data);
		assert_int_not_equal(profile_find_wall_metric(read[i].profile, 0), METRIC_NONE);
		text_release(&got);
		text_release(&written);
	}
	builder_release(&read[0]);
	builder_release(&read[1]);
	text_release(&expected);
	builder_release(&recording->result);
}

static void a_trace_of_waits_keeps_the_sums_of_its_recording(void **state _unused_)
{
	struct recording recording = {0};
	uint32_t f;
	uint32_t blocked;
	uint32_t queued;

	recording_init(&recording, "samples", 1000);
	f = builder_add_stack(recording.result.profile, "main;f");
	blocked = builder_add_stack(recording.result.profile, "main;read;[blocked]");
	queued = builder_add_stack(recording.result.profile, "main;read;[run queue]");
	add_tick(&recording, f, 10 * TICK_NS);
	add_tick(&recording, f, 11 * TICK_NS);
	add_wait(&recording, blocked, recording.waits[0], 5000000, 20 * TICK_NS);
	add_wait(&recording, blocked, recording.waits[0], 7000000, 40 * TICK_NS);
	add_wait(&recording, queued, recording.waits[2], 1000000, 41 * TICK_NS);
	add_tick(&recording, f, 50 * TICK_NS);
	assert_recording_stays(&recording);
}

/* Where no thread was blocked, the metric is there all the same: all time is shown by default. */
static void waits_of_one_kind_are_enough(void **state _unused_)
{
	struct recording recording = {0};

	recording_init(&recording, "samples", 1000);
	add_tick(&recording, builder_add_stack(recording.result.profile, "main;f"), TICK_NS);
	add_wait(&recording, builder_add_stack(recording.result.profile, "main;[preempted]"),
		 recording.waits[3], 5000000, 20 * TICK_NS);
	assert_recording_stays(&recording);
}

/* Its waits are slices, which a profile that became a trace does not have. */
static void waits_without_any_tick_are_a_recording(void **state _unused_)
{
	struct timeline_wait wait = {.start_ns = 1 * TICK_NS,
				     .queued_ns = 20 * TICK_NS,
				     .end_ns = 20 * TICK_NS,
				     .weight = 5000000};
	struct recording recording = {0};
	struct zones_read_result read;
	struct text written;
	uint32_t stack;
	uint32_t wall;

	recording_init(&recording, "samples", 1000);
	stack = builder_add_stack(recording.result.profile, "main;[blocked]");
	wait.stack = builder_add_stack(recording.result.profile, "main");
	add_wait(&recording, stack, recording.waits[0], 5000000, 20 * TICK_NS);
	assert_int_equal(timeline_add_wait(recording.result.timeline, &wait, NULL), 0);
	written = builder_write(&format_pftrace, &recording.result, (struct format_opts){0});
	assert_int_equal(builder_read(&format_pftrace, written.data, written.length, false, &read),
			 0);
	wall = profile_find_wall_metric(read.profile, 0);
	assert_int_not_equal(wall, METRIC_NONE);
	assert_written(&format_folded, read.profile, (struct call_tree_opts){.metric = wall},
		       "worker;main;[blocked] 5000000\n");
	text_release(&written);
	builder_release(&read);
	builder_release(&recording.result);
}

/* record -e: how long a tick stands for is not in the trace, so that there is no sum to make. */
static void a_trace_of_another_clock_has_no_sums(void **state _unused_)
{
	struct recording recording = {0};
	struct zones_read_result read;
	struct text written;

	recording_init(&recording, "cpu-clock", 0);
	add_tick(&recording, builder_add_stack(recording.result.profile, "main;f"), TICK_NS);
	add_wait(&recording, builder_add_stack(recording.result.profile, "main;[blocked]"),
		 recording.waits[0], 5000000, 20 * TICK_NS);
	written = builder_write(&format_pftrace, &recording.result, (struct format_opts){0});
	assert_int_equal(builder_read(&format_pftrace, written.data, written.length, false, &read),
			 0);
	assert_int_equal(profile_find_wall_metric(read.profile, 0), METRIC_NONE);
	assert_int_equal(profile_count_metrics(read.profile), 2);
	text_release(&written);
	builder_release(&read);
	builder_release(&recording.result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_firefox_profiler_s_format_keeps_all),
		cmocka_unit_test(speedscope_s_format_keeps_all),
		cmocka_unit_test(an_svg_keeps_all),
		cmocka_unit_test(pprof_s_format_keeps_all),
		cmocka_unit_test(a_trace_keeps_all),
		cmocka_unit_test(a_trace_of_waits_keeps_the_sums_of_its_recording),
		cmocka_unit_test(waits_of_one_kind_are_enough),
		cmocka_unit_test(waits_without_any_tick_are_a_recording),
		cmocka_unit_test(a_trace_of_another_clock_has_no_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
