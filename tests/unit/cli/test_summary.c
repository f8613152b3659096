/*
 * What a person reads at the end of a recording that has lost something of every kind.
 */
#include "cli/record/summary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/table_format.h"
#include "profile_builder.h"

/* clang-format off */
#include "caught_output.h"
#include "failing_memory.h"
#include "unit.h"
/* clang-format on */

struct scene {
	struct account account;
	struct profile *profile;
	struct outputs outputs;
	struct text text;
};

static struct scene make_scene(void)
{
	return (struct scene){
		.account = {.frequency_hz = 99,
			    .ticks = {.samples = 400,
				      .num_cpus = 2,
				      .duration_ns = 2000000000,
				      .lost[LOSS_RING_SAMPLE] = 10,
				      .lost[LOSS_RING_STACK] = 20,
				      .lost[LOSS_UNKNOWN_STACK] = 64,
				      .lost[LOSS_PREEMPTED] = 4,
				      .lost[LOSS_SKIPPED] = 6,
				      .lost[LOSS_BLOCK] = 6,
				      .unfollowed = 3,
				      .lost_side_band = 4}},
		.profile = profile_new(),
	};
}

static void append(struct scene *scene,
		   int (*append_to)(const struct summary *summary, struct text *ret))
{
	struct summary summary = {
		.account = &scene->account,
		.profile = scene->profile,
		.outputs = &scene->outputs,
		.event_name = "cycles",
		.num_columns = 100,
	};

	assert_int_equal(append_to(&summary, &scene->text), 0);
}

static void assert_says(const struct scene *scene, const char *expected)
{
	if (!strstr(scene->text.data, expected))
		fail_msg("no '%s' in %s", expected, scene->text.data);
}

static void release(struct scene *scene)
{
	profile_free(scene->profile);
	text_release(&scene->text);
}

static void every_loss_is_reported_with_its_reason(_unused_ void **state)
{
	struct scene scene = make_scene();

	append(&scene, summary_append);
	assert_says(&scene, "\n  lost         100 samples (20.0%)\n"
			    "               10 samples lost: ring full\n");
	assert_says(
		&scene,
		"               20 samples lost: ring full for their stack\n"
		"               64 samples lost: stack missing\n"
		"               4 hits of a probe lost: another thread of the CPU was in it\n"
		"               6 hits skipped by the kernel: a BPF program was running on that CPU\n"
		"               6 allocations lost: too many live at a time; a larger -c loses less\n"
		"               take fewer samples, by a lower -F or a larger -c, to lose less\n"
		"               3 new threads were not sampled: ");
	assert_says(&scene, "               4 process events lost by the kernel: ");
	release(&scene);
}

static void ticks_that_were_not_delivered_are_reported(_unused_ void **state)
{
	struct scene scene = make_scene();

	memset(scene.account.ticks.lost, 0, sizeof(scene.account.ticks.lost));
	scene.account.ticks.fired = 100000;
	scene.account.ticks.idle = 0;
	scene.account.frequency_hz = 20000;
	scene.account.ticks.lost[LOSS_UNDELIVERED] = 60000; /* 3 s */
	append(&scene, summary_append);
	assert_says(&scene,
		    "\n  lost         no sample that was taken\n"
		    "               60,000 ticks were not delivered: the kernel throttled them, ");
	assert_says(&scene, "               take fewer samples, by a lower -F ");
	text_truncate(&scene.text, 0);
	append(&scene, summary_append_line);
	assert_says(&scene, ", lost 0, 60.0% of the ticks were not delivered");
	text_truncate(&scene.text, 0);
	/* A CPU was idle as long. */
	scene.account.ticks.idle_ns = 3000000000;
	append(&scene, summary_append);
	assert_null(strstr(scene.text.data, "take fewer samples"));
	scene.account.ticks.idle = 10000; /* to which ticks were delivered */
	append(&scene, summary_append);
	assert_says(&scene, "take fewer samples");
	text_truncate(&scene.text, 0);
	scene.account.ticks.idle_ns = 0;
	scene.account.frequency_hz = 99; /* a CPU that slept */
	append(&scene, summary_append);
	assert_says(&scene, "               60,000 ticks were not delivered: ");
	assert_null(strstr(scene.text.data, "take fewer samples"));
	text_truncate(&scene.text, 0);
	append(&scene, summary_append_line);
	assert_null(strstr(scene.text.data, "were not delivered"));
	release(&scene);
}

static void of_memory_it_is_reported_how_much_is_live_and_how_old(_unused_ void **state)
{
	struct scene scene = make_scene();
	static struct event_counts events[] = {
		{.name = "alloc",
		 .unit = "bytes",
		 .samples = 5,
		 .weight = 5000,
		 .scaled_weight = 5000},
		{.name = "alloc-live",
		 .unit = "bytes",
		 .samples = 7,
		 .weight = 2000,
		 .scaled_weight = 2000,
		 .is_live = true,
		 .live = 2,
		 .oldest_ns = 12300000000},
	};

	scene.account.events = events;
	scene.account.num_events = 2;
	append(&scene, summary_append);
	assert_says(
		&scene,
		"  events       5 samples of alloc represent 5,000 bytes\n"
		"               7 samples of alloc-live represent 2,000 bytes\n"
		"               2 of them were not freed by the end, the oldest is 12.3 s old\n");
	release(&scene);
}

/* What is reported of an event beside its sum. */
static void assert_event(struct event_counts counts, const char *expected)
{
	struct scene scene = make_scene();

	counts.name = "alloc";
	if (!counts.unit)
		counts.unit = "bytes";
	scene.account.events = &counts;
	scene.account.num_events = 1;
	append(&scene, summary_append);
	assert_says(&scene, expected);
	release(&scene);
}

static void an_estimated_sum_has_its_error(_unused_ void **state)
{
	assert_event((struct event_counts){.is_estimated = true,
					   .samples = 1600,
					   .weight = 5000,
					   .scaled_weight = 5000},
		     "1,600 samples of alloc represent 5,000 bytes (± 5 %)\n");
	assert_event((struct event_counts){.is_estimated = true,
					   .is_live = true,
					   .live = 400,
					   .samples = 1600,
					   .scaled_weight = 5000},
		     "represent 5,000 bytes (± 10 %)\n");
	assert_event((struct event_counts){.is_estimated = true,
					   .is_of_requests = true,
					   .effective_samples = 100,
					   .samples = 1600,
					   .scaled_weight = 5000},
		     "represent 5,000 bytes (± 20 %)\n");
	assert_event((struct event_counts){.is_estimated = true, .mean_distance = 100},
		     "represent 0 bytes\n");
	/* Two digits. */
	assert_event((struct event_counts){.is_estimated = true, .samples = 1, .scaled_weight = 7},
		     "1 sample of alloc represents 7 bytes (± 200 %)\n");
	assert_event((struct event_counts){.is_estimated = true, .samples = 3, .scaled_weight = 7},
		     "represent 7 bytes (± 120 %)\n");
	assert_event((struct event_counts){.is_estimated = true, .samples = 4, .scaled_weight = 7},
		     "represent 7 bytes (± 100 %)\n");
	assert_event((struct event_counts){.is_estimated = true, .samples = 5, .scaled_weight = 7},
		     "represent 7 bytes (± 89 %)\n");
	assert_event((struct event_counts){.samples = 9, .scaled_weight = 7},
		     "represent 7 bytes\n");
}

/* Blocks that are live may all be without a sample. */
static void a_sum_without_a_sample_has_a_limit(_unused_ void **state)
{
	assert_event((struct event_counts){.is_estimated = true,
					   .is_live = true,
					   .samples = 3,
					   .below_period = 2,
					   .mean_distance = 524288},
		     "represent 0 bytes (below 1,572,864 bytes, 19 times out of 20)\n");
}

static void parts_of_an_exact_sum_have_an_error(_unused_ void **state)
{
	assert_event(
		(struct event_counts){.samples = 9, .scaled_weight = 7, .effective_samples = 900},
		"represent 7 bytes\n               not every one is sampled: a stack with a tenth of "
		"them is ± 20 %;\n               -c 1 samples each\n");
	assert_event(
		(struct event_counts){.samples = 9, .scaled_weight = 7, .effective_samples = 3},
		"a stack with a tenth of them is ± 350 %;\n");
}

static void hits_without_a_sample_are_reported(_unused_ void **state)
{
	assert_event(
		(struct event_counts){
			.samples = 1, .weight = 1000000, .scaled_weight = 1000000, .rest = 1},
		"represents 1,000,000 bytes\n               1 byte more is in no stack: no sample "
		"followed it on its CPU;\n               a smaller -c leaves less\n");
	assert_event((struct event_counts){.unit = "nanoseconds",
					   .samples = 1,
					   .weight = 1000000000,
					   .scaled_weight = 1000000000,
					   .rest = 500000000},
		     "represents 1.000 s\n               0.500 s more are in no stack");
	assert_event((struct event_counts){.weight = 1000, .scaled_weight = 1000},
		     "represent 1,000 bytes\n  lost");
	assert_event((struct event_counts){.rest = 10},
		     "represent 0 bytes\n               10 bytes more are in no stack");
}

/* A few large allocations may be most of the bytes. */
static void the_share_of_lost_weight_is_reported(_unused_ void **state)
{
	assert_event(
		(struct event_counts){.unit = "bytes",
				      .weight = 1000,
				      .scaled_weight = 1000,
				      .lost_weight = 3000},
		"represent 1,000 bytes\n               3,000 bytes more (75.0%) are lost with the samples\n"
		"  lost");
	assert_event(
		(struct event_counts){.unit = "bytes",
				      .is_live = true,
				      .weight = 1000,
				      .scaled_weight = 1000,
				      .lost_weight = 1000},
		"represent 1,000 bytes\n               up to 1,000 bytes more (50.0%) may be lost with "
		"their samples\n");
}

static void nothing_lost_is_reported_too(_unused_ void **state)
{
	struct scene scene = make_scene();

	scene.account.ticks = (struct recorder_account){.samples = 400};
	append(&scene, summary_append);
	assert_says(&scene, "\n  lost         nothing\n  our cost ");
	release(&scene);
}

static void our_share_of_a_cpu_is_that_of_a_second_or_more(_unused_ void **state)
{
	struct scene scene = make_scene();

	scene.account.recording_cpu_ns = 500000000;
	scene.account.ticks.duration_ns = 1000000000;
	append(&scene, summary_append);
	assert_says(&scene, "our cost     0.50 s CPU (50.00% of one CPU) and ");
	release(&scene);
	scene = make_scene();
	scene.account.recording_cpu_ns = 500000000;
	scene.account.ticks.duration_ns = 999999999;
	append(&scene, summary_append);
	assert_says(&scene, "our cost     0.50 s CPU and ");
	release(&scene);
}

static void the_short_summary_has_the_sum(_unused_ void **state)
{
	struct scene scene = make_scene();

	append(&scene, summary_append_line);
	assert_string_equal(scene.text.data, "400 samples in 2.0 s, lost 100\n");
	release(&scene);
}

static void waits_are_reported_with_their_kinds_and_how_much_was_sampled(_unused_ void **state)
{
	struct scene scene = make_scene();

	scene.account.ticks.off_cpu = (struct off_cpu_counts){
		.is_recorded = true,
		.period_ns = 10000000,
		.min_block_ns = 500000,
		.below_min_block = 37,
		.below_min_block_ns = 12000000,
		.samples = 1198,
		.lost[LOSS_RING_SAMPLE] = 1,
		.lost[LOSS_RING_STACK] = 20,
		.lost[LOSS_UNKNOWN_STACK] = 300,
		.lost[LOSS_UNREAD] = 4000,
		.exact_ns = {[WAIT_BLOCKED] = 11000000000, [WAIT_RUN_QUEUE] = 1000000000},
		.sampled_ns = {[WAIT_BLOCKED] = 11010000000, [WAIT_RUN_QUEUE] = 960000000},
	};
	scene.account.off_cpu.complete_user_stacks = 990;
	scene.account.off_cpu.truncated_user_stacks[TRUNCATED_NO_RULE] = 10;
	append(&scene, summary_append);
	assert_says(
		&scene,
		"  off-CPU      1,198 samples (period 10 ms) represent 99.75% of the time off the CPU\n"
		"               11.000 s blocked until woken\n"
		"               1.000 s in a run queue after being woken\n"
		"               0.012 s skipped, in 37 waits below 0.5 ms\n"
		"               990 user stacks complete (99.0%)\n"
		"               10 end in code without call-frame information\n"
		"               1 sample lost: ring full\n"
		"               20 samples lost: ring full for their stack\n"
		"               300 samples lost: stack missing\n"
		"               4,000 samples lost: memory of sleeping threads read too late\n");
	release(&scene);
}

/* What is said of an event that was counted for some of a second. */
static void assert_counted(uint64_t running_ns, const char *expected)
{
	struct scene scene = make_scene();
	struct event_counts counts = {
		.name = "cycles",
		.unit = "count",
		.samples = 12,
		.weight = 1000,
		.scaled_weight = 2315,
		.times = {.enabled_ns = 1000000000, .running_ns = running_ns},
	};

	scene.account.events = &counts;
	scene.account.num_events = 1;
	append(&scene, summary_append);
	assert_says(&scene, expected);
	release(&scene);
}

static void an_event_that_took_turns_says_how_often_it_was_counted(_unused_ void **state)
{
	assert_counted(
		432000000,
		"  events       12 samples of cycles represent 2,315\n"
		"               cycles was counted 43.2% of the time: other events used the counters;\n"
		"               weights are scaled by 2.31\n");
	assert_counted(
		0,
		"               cycles was never counted: other events used the counters; record fewer at once\n");
	assert_counted(1000000000, "represent 2,315\n  lost ");
}

/* What is said of waits where only those for futexes are wanted. */
static void assert_futexes(struct off_cpu_counts counts, const char *expected)
{
	struct scene scene = make_scene();

	counts.is_recorded = counts.only_futexes = true;
	counts.period_ns = 10000000;
	scene.account.ticks.off_cpu = counts;
	append(&scene, summary_append);
	assert_says(&scene, expected);
	release(&scene);
}

static void of_waits_for_futexes_it_is_reported_what_was_left_out_and_that_there_are_none(
	_unused_ void **state)
{
	assert_futexes((struct off_cpu_counts){.samples = 50,
					       .other_waits = 37,
					       .other_waits_ns = 2000000000,
					       .exact_ns = {[WAIT_BLOCKED] = 500000000},
					       .sampled_ns = {[WAIT_BLOCKED] = 490000000}},
		       "  off-CPU      50 samples (period 10 ms) represent 98.00% of the time "
		       "waited for futexes\n"
		       "               0.500 s blocked until woken\n"
		       "               2.000 s skipped, in 37 waits for anything but a futex\n");
	assert_futexes((struct off_cpu_counts){0},
		       "  off-CPU      0 samples (period 10 ms): no thread waited for a futex\n");
	assert_futexes(
		(struct off_cpu_counts){.below_min_block = 3},
		"  off-CPU      0 samples (period 10 ms): no thread waited for a futex that long\n");
}

/* What of 10 s is in no sum, and what the summary says then. */
static void assert_unaccounted(int64_t unaccounted_ns, uint64_t unnoted, const char *expected)
{
	struct scene scene = make_scene();

	scene.account.ticks.off_cpu = (struct off_cpu_counts){
		.is_recorded = true,
		.unnoted = unnoted,
		.cpu_ns = 4000000000,
		.exact_ns = {[WAIT_BLOCKED] = (uint64_t)(6000000000 - unaccounted_ns)},
		.knows_lives = true,
		.lived_ns = 10000000000,
	};
	append(&scene, summary_append);
	if (expected)
		assert_says(&scene, expected);
	else
		assert_null(strstr(scene.text.data, "of the threads' time"));
	scene.account.ticks.off_cpu.knows_lives = false;
	text_truncate(&scene.text, 0);
	append(&scene, summary_append);
	assert_null(strstr(scene.text.data, "of the threads' time"));
	release(&scene);
}

static void more_than_a_percent_that_is_in_no_sum_is_reported(_unused_ void **state)
{
	assert_unaccounted(100000000, 0, NULL);
	assert_unaccounted(-100000000, 0, NULL);
	assert_unaccounted(
		150000000, 0,
		"               0.150 s (1.5%) of the threads' time is missing: waits whose start was not seen\n");
	assert_unaccounted(
		150000000, 3,
		"               0.150 s (1.5%) of the threads' time is missing: waits that were not recorded\n");
	assert_unaccounted(-150000000, 0,
			   "               0.150 s (1.5%) of the threads' time is counted twice: "
			   "the kernel did not report all switches\n");
}

static void user_stacks_of_wakers_that_are_left_out_are_reported_with_the_cure(
	_unused_ void **state)
{
	struct scene scene = make_scene();

	scene.account.ticks.off_cpu = (struct off_cpu_counts){
		.is_recorded = true,
		.wakers = {.is_recorded = true, .known = 40, .left_out = 30},
	};
	append(&scene, summary_append);
	assert_says(
		&scene,
		"               40 waits with a known waker (100.0%)\n"
		"               30 user stacks of wakers dropped: /proc/kallsyms is restricted;\n"
		"               set sysctl kernel.kptr_restrict=0 or run with CAP_SYSLOG\n");
	release(&scene);
}

static void threads_that_slept_throughout_are_counted_and_one_row(_unused_ void **state)
{
	struct scene scene = make_scene();
	uint32_t first = builder_add_thread(scene.profile, 1, 2, "pool");
	uint32_t second = builder_add_thread(scene.profile, 1, 3, "pool");

	builder_add_sample(scene.profile, first, SLEPT_FRAME_NAME ";main;poll", 60);
	builder_add_sample(scene.profile, second, SLEPT_FRAME_NAME ";main;poll", 30);
	builder_add_sample(scene.profile, builder_add_thread(scene.profile, 1, 4, "web"), "run",
			   10);
	scene.account.ticks.off_cpu = (struct off_cpu_counts){.is_recorded = true};
	append(&scene, summary_append);
	assert_says(&scene, "               2 threads slept throughout\n");
	assert_says(&scene, "   90.00%  [slept throughout]\n   10.00%  run\n");
	release(&scene);
}

static void interpreters_have_their_versions_as_far_as_these_are_known(_unused_ void **state)
{
	struct scene scene = make_scene();
	struct runtime_counts runtimes[] = {
		{.runtime = WIRE_RUNTIME_PYTHON, .major = 3, .minor = 11, .samples = 50},
		{.runtime = WIRE_RUNTIME_HOTSPOT, .major = 17, .samples = 400},
		{.runtime = WIRE_RUNTIME_HOTSPOT, .samples = 8},
		{.runtime = WIRE_RUNTIME_V8,
		 .major = 11,
		 .minor = 3,
		 .samples = 20,
		 .may_lack_inlined = 3},
		{.runtime = (enum wire_runtime)NUM_WIRE_INTERPRETERS, .samples = 2100},
	};

	runtimes[0].fits[RUNTIME_FITS] = 50;
	runtimes[1].fits[RUNTIME_FITS] = 300;
	runtimes[1].fits[RUNTIME_EARLY] = 100;
	runtimes[2].fits[RUNTIME_UNKNOWN] = 8;
	runtimes[3].fits[RUNTIME_FITS] = 20;
	runtimes[4].fits[RUNTIME_UNKNOWN] = 2100;
	memcpy(scene.account.ticks.runtimes, runtimes, sizeof(runtimes));
	scene.account.ticks.num_runtimes = ARRAY_LENGTH(runtimes);
	append(&scene, summary_append);
	assert_says(&scene, "\n  Python       50 with frames of Python 3.11 (100.0%)\n");
	assert_says(
		&scene,
		"\n  Java         300 with frames of Java 17 (75.0%)\n"
		"               100 sampled before the interpreter was recognized\n"
		"  Java         0 with frames of Java (0.0%)\n"
		"               8 shown as native code: unsupported version or build\n"
		"  V8           20 with frames of V8 11.3 (100.0%)\n"
		"               3 may lack inlined functions: code metadata unreadable or incomplete\n"
		"  .NET         2,100 shown as native code: frames of .NET are not supported\n");
	release(&scene);
}

/* A recording that has something of each kind to say, with all that a summary has of rows and files. */
static void short_memory_is_no_shorter_summary(_unused_ void **state)
{
	struct scene scene = make_scene();
	struct event_counts event = {
		.name = "cycles", .unit = "count", .samples = 5, .scaled_weight = 7};
	struct output output = {.format = &format_pprof};
	uint32_t metric;
	uint32_t thread = builder_add_thread(scene.profile, 7, 8, "x");
	int (*const appends[])(const struct summary *summary,
			       struct text *ret) = {summary_append, summary_append_line};

	assert_int_equal(profile_add_metric(scene.profile, "samples", "count", &metric), 0);
	assert_int_equal(profile_add_sample(scene.profile, thread,
					    builder_add_stack(scene.profile, "main;run"), metric,
					    10),
			 0);
	assert_int_equal(output_file_open("/dev/null", 0600, &output.file, NULL), 0);
	scene.outputs = (struct outputs){&output, 1};
	scene.account.events = &event;
	scene.account.num_events = 1;
	scene.account.ticks.off_cpu.is_recorded = true;
	for (size_t i = 0; i < ARRAY_LENGTH(appends); i++) {
		const struct summary summary = {
			.account = &scene.account,
			.profile = scene.profile,
			.outputs = &scene.outputs,
			.event_name = "cycles",
			.stats_path = "s.json",
			.metric = metric,
			.num_columns = 100,
		};
		bool has_failed = true;

		for (int64_t num_before = 0; has_failed; num_before++) {
			text_release(&scene.text);
			failing_memory_start(num_before);
			has_failed = failing_memory_end_with(appends[i](&summary, &scene.text));
		}
		assert_says(&scene, "/dev/null");
	}
	output_file_free(output.file);
	release(&scene);
}

/* What a program prints to stderr meanwhile. */
static void catch_stderr(int (*print)(const struct summary *summary), const struct summary *summary,
			 int expected, char *ret, size_t size)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	int err = print(summary);

	caught_output_end(&caught, ret, size);
	assert_int_equal(err, expected);
}

static int print_without_memory(const struct summary *summary)
{
	int err;

	failing_memory_start(0);
	err = summary_print_line(summary);
	(void)failing_memory_end();
	return err;
}

/* Of user stacks where there are some; the files of one metric say of which, where there are several. */
static void the_line_and_the_files_say_what_they_are_of(_unused_ void **state)
{
	struct scene scene = make_scene();
	struct output outputs[2] = {{.format = &format_folded}, {.format = &format_pprof}};
	struct summary summary = {
		.account = &scene.account,
		.profile = scene.profile,
		.outputs = &scene.outputs,
		.event_name = "cycles",
		.has_user_stacks = true,
		.num_columns = 100,
	};
	char printed[4096];
	uint32_t metric;

	assert_int_equal(profile_add_metric(scene.profile, "cpu", "count", &metric), 0);
	catch_stderr(summary_print_line, &summary, 0, printed, sizeof(printed));
	assert_string_equal(printed, "400 samples in 2.0 s, lost 100\n");
	scene.account.complete_user_stacks = 3;
	scene.account.truncated_user_stacks[TRUNCATED_DEPTH] = 1;
	catch_stderr(summary_print_line, &summary, 0, printed, sizeof(printed));
	assert_string_equal(printed, "400 samples in 2.0 s, 75.0% of the user stacks complete, "
				     "lost 100\n");
	summary.has_user_stacks = false;
	catch_stderr(summary_print_line, &summary, 0, printed, sizeof(printed));
	assert_string_equal(printed, "400 samples in 2.0 s, lost 100\n");
	catch_stderr(print_without_memory, &summary, -ENOMEM, printed, sizeof(printed));
	assert_string_equal(printed, "");
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(output_file_open("/dev/null", 0600, &outputs[i].file, NULL), 0);
	scene.outputs = (struct outputs){outputs, 2};
	catch_stderr(summary_print_line, &summary, 0, printed, sizeof(printed));
	assert_string_equal(printed, "400 samples in 2.0 s, lost 100: /dev/null, /dev/null\n");
	catch_stderr(summary_print, &summary, 0, printed, sizeof(printed));
	assert_non_null(strstr(printed, "wrote /dev/null (folded, 0 bytes)\n"));
	assert_int_equal(profile_add_metric(scene.profile, "wall", "count", &metric), 0);
	summary.metric = metric;
	catch_stderr(summary_print, &summary, 0, printed, sizeof(printed));
	assert_non_null(strstr(printed, "wrote /dev/null (folded of wall, 0 bytes)\n"));
	assert_non_null(strstr(printed, "wrote /dev/null (pprof, 0 bytes)\n"));
	for (size_t i = 0; i < 2; i++)
		output_file_free(outputs[i].file);
	release(&scene);
}

static void user_stacks_are_reported_with_what_they_lack(_unused_ void **state)
{
	struct scene scene = make_scene();
	struct summary summary = {.account = &scene.account,
				  .profile = scene.profile,
				  .outputs = &scene.outputs,
				  .has_user_stacks = true,
				  .event_name = "cycles",
				  .num_columns = 100};

	scene.account.complete_user_stacks = 60;
	scene.account.ticks.in_exec = 20;
	scene.account.ticks.kernel_only = 8;
	scene.account.ticks.unproven = 5;
	scene.account.ticks.idle = 1234;
	for (size_t i = 0; i < NUM_TRUNCATIONS; i++)
		scene.account.truncated_user_stacks[i] = 1;
	scene.account.truncated_user_stacks[TRUNCATED_DEPTH] = 20 - (NUM_TRUNCATIONS - 1);
	assert_int_equal(summary_append(&summary, &scene.text), 0);
	assert_says(&scene, "at 99 Hz (cycles); idle: 1,234 ticks\n");
	assert_says(&scene, "  user stacks  80 complete (80.0%)\n"
			    "               20 of them inside an exec: kernel part only\n"
			    "               5 of them may lack a caller: ");
	assert_says(&scene, "               8 samples have none: kernel threads, ");
	for (size_t i = 0; i < NUM_TRUNCATIONS; i++) {
		_cleanup_(text_release) struct text line = {0};

		text_append_string(&line, "               ");
		table_append_counted(&line, i == TRUNCATED_DEPTH ? 20 - (NUM_TRUNCATIONS - 1) : 1,
				     truncation_explain((enum truncation)i));
		assert_says(&scene, line.data);
	}
	text_truncate(&scene.text, 0);
	summary.has_user_stacks = false;
	assert_int_equal(summary_append(&summary, &scene.text), 0);
	assert_null(strstr(scene.text.data, "user stacks"));
	release(&scene);
}

static void samples_without_user_stacks_are_reported_alone(_unused_ void **state)
{
	struct scene scene = make_scene();
	struct summary summary = {.account = &scene.account,
				  .profile = scene.profile,
				  .outputs = &scene.outputs,
				  .has_user_stacks = true,
				  .event_name = "cycles",
				  .num_columns = 100};

	scene.account.ticks.kernel_only = 8;
	assert_int_equal(summary_append(&summary, &scene.text), 0);
	assert_says(&scene, "  user stacks  none\n"
			    "               8 samples have none: ");
	release(&scene);
}

static void almost_all_are_not_all(_unused_ void **state)
{
	struct scene scene = make_scene();
	struct summary summary = {.account = &scene.account,
				  .profile = scene.profile,
				  .outputs = &scene.outputs,
				  .has_user_stacks = true,
				  .event_name = "cycles",
				  .num_columns = 100};

	scene.account.complete_user_stacks = 9999;
	scene.account.truncated_user_stacks[TRUNCATED_DEPTH] = 1;
	assert_int_equal(summary_append(&summary, &scene.text), 0);
	assert_says(&scene, "  user stacks  9,999 complete (>99.9%)\n");
	text_truncate(&scene.text, 0);
	assert_int_equal(summary_append_line(&summary, &scene.text), 0);
	assert_says(&scene, ", >99.9% of the user stacks complete, ");
	release(&scene);
}

static void frames_without_names_have_their_reasons(_unused_ void **state)
{
	struct scene scene = make_scene();
	struct summary summary = {.account = &scene.account,
				  .profile = scene.profile,
				  .outputs = &scene.outputs,
				  .event_name = "cycles",
				  .num_columns = 100};

	scene.account.named_frames = 900;
	scene.account.sizeless_frames = 9;
	scene.account.unnamed_frames[UNNAMED_NO_MAPPING] = 10;
	scene.account.unnamed_frames[UNNAMED_NO_FILE] = 20;
	scene.account.unnamed_frames[UNNAMED_BUILD_ID_DIFFERS] = 30;
	scene.account.unnamed_frames[UNNAMED_NO_SYMBOL] = 15;
	scene.account.unnamed_frames[UNNAMED_NOT_REACHED] = 25;
	assert_int_equal(summary_append(&summary, &scene.text), 0);
	assert_says(&scene, "  frames       900 named (90.0%)\n"
			    "               10 outside all known mappings\n"
			    "               20 in files that could not be opened\n"
			    "               30 in files that were replaced or overwritten\n"
			    "               15 in code without symbols\n"
			    "               25 not reached before symbolization was stopped\n");
	assert_null(strstr(scene.text.data, "kernel functions have no names"));
	text_truncate(&scene.text, 0);
	/* One in a hundred is worth a line. */
	scene.account.sizeless_frames = 10;
	summary.is_kernel_restricted = true;
	summary.unread_debug_info = (struct unread_debug_info){"/bin/split", true};
	assert_int_equal(summary_append(&summary, &scene.text), 0);
	assert_says(&scene, "               10 named by symbols without a size: their end is ");
	assert_says(&scene, "/bin/split is in .dwo files, which are not read;\n");
	assert_says(&scene, "kernel functions have no names: /proc/kallsyms is restricted;\n");
	text_truncate(&scene.text, 0);
	summary.unread_debug_info.is_split = false;
	assert_int_equal(summary_append(&summary, &scene.text), 0);
	assert_says(&scene, "/bin/split is in a missing dwz file\n");
	release(&scene);
}

static void losses_of_scheduling_are_reported(_unused_ void **state)
{
	struct scene scene = make_scene();

	scene.account.ticks.scheduling = (struct scheduling_counts){
		.switches = 1000,
		.wakeups = 2000,
		.lost_ring = 3,
		.lost_nested = 4,
		.lost_storage = 5,
		.lost_unseen = 6,
		.kworks = {.kept = 70, .lost_ring = 1, .lost_nested = 2, .lost_storage = 4}};
	append(&scene, summary_append);
	assert_null(strstr(scene.text.data, "scheduling"));
	text_truncate(&scene.text, 0);
	scene.account.ticks.scheduling.is_recorded = true;
	append(&scene, summary_append);
	assert_says(&scene, "  scheduling   1,000 switches and 2,000 wakeups\n"
			    "               70 interrupts, softirqs and workqueue items\n"
			    "               7 of these lost; --stats has the reasons\n"
			    "               3 lost: ring full\n"
			    "               4 lost: wakeups by an interrupt inside another event\n"
			    "               5 lost: temporary file full; ");
	assert_says(&scene, "               6 lost: not reported by the kernel; ");
	release(&scene);
}

static void the_time_of_programs_is_part_of_our_cost(_unused_ void **state)
{
	struct scene scene = make_scene();

	scene.account.recording_cpu_ns = 100000000;
	scene.account.total_cpu_ns = 500000000;
	scene.account.ticks.program_time = (struct program_time){.ns = 4999999};
	append(&scene, summary_append);
	assert_null(strstr(scene.text.data, "in BPF programs"));
	text_truncate(&scene.text, 0);
	scene.account.ticks.program_time.ns = 300000000;
	append(&scene, summary_append);
	assert_says(&scene,
		    "  our cost     0.40 s CPU (20.00% of one CPU) and 0 MB while recording;\n"
		    "               0.30 s of it in BPF programs, while others ran;\n"
		    "               0.80 s and ");
	text_truncate(&scene.text, 0);
	scene.account.ticks.program_time.is_sampled = true;
	append(&scene, summary_append);
	assert_says(&scene, "while others ran (estimated: some runs are timed);\n");
	release(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_loss_is_reported_with_its_reason),
		cmocka_unit_test(ticks_that_were_not_delivered_are_reported),
		cmocka_unit_test(of_memory_it_is_reported_how_much_is_live_and_how_old),
		cmocka_unit_test(an_estimated_sum_has_its_error),
		cmocka_unit_test(a_sum_without_a_sample_has_a_limit),
		cmocka_unit_test(parts_of_an_exact_sum_have_an_error),
		cmocka_unit_test(hits_without_a_sample_are_reported),
		cmocka_unit_test(the_share_of_lost_weight_is_reported),
		cmocka_unit_test(nothing_lost_is_reported_too),
		cmocka_unit_test(user_stacks_are_reported_with_what_they_lack),
		cmocka_unit_test(samples_without_user_stacks_are_reported_alone),
		cmocka_unit_test(almost_all_are_not_all),
		cmocka_unit_test(frames_without_names_have_their_reasons),
		cmocka_unit_test(losses_of_scheduling_are_reported),
		cmocka_unit_test(the_time_of_programs_is_part_of_our_cost),
		cmocka_unit_test(our_share_of_a_cpu_is_that_of_a_second_or_more),
		cmocka_unit_test(the_short_summary_has_the_sum),
		cmocka_unit_test(short_memory_is_no_shorter_summary),
		cmocka_unit_test(the_line_and_the_files_say_what_they_are_of),
		cmocka_unit_test(waits_are_reported_with_their_kinds_and_how_much_was_sampled),
		cmocka_unit_test(an_event_that_took_turns_says_how_often_it_was_counted),
		cmocka_unit_test(
			of_waits_for_futexes_it_is_reported_what_was_left_out_and_that_there_are_none),
		cmocka_unit_test(more_than_a_percent_that_is_in_no_sum_is_reported),
		cmocka_unit_test(
			user_stacks_of_wakers_that_are_left_out_are_reported_with_the_cure),
		cmocka_unit_test(threads_that_slept_throughout_are_counted_and_one_row),
		cmocka_unit_test(interpreters_have_their_versions_as_far_as_these_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
