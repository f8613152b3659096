/*
 * The account of a run, of counts that are all different: what is left out of a sum shows. The recorder and what it knows of
 * outermost functions are the test's.
 */
#define recorder_get_user_stacks  get_user_stacks_of_test
#define recorder_get_event_stacks get_event_stacks_of_test
#define recorder_get_profile      get_profile_of_test
#define names_are_outermost       are_outermost_in_test
#include "cli/record/account.c"

#include "failing_memory.h"
#include "unit.h"

static struct profile *profile;
static struct user_stack_count user_stacks[8];
static size_t num_user_stacks;
static struct stack_count event_stacks[8];
static size_t num_event_stacks;
static uint32_t outermost; /* the location of a function that nobody calls */

const struct user_stack_count *get_user_stacks_of_test(const struct recorder *recorder _unused_,
						       size_t *ret_count)
{
	*ret_count = num_user_stacks;
	return user_stacks;
}

const struct stack_count *get_event_stacks_of_test(const struct recorder *recorder _unused_,
						   size_t *ret_count)
{
	*ret_count = num_event_stacks;
	return event_stacks;
}

struct profile *get_profile_of_test(struct recorder *recorder _unused_)
{
	return profile;
}

bool are_outermost_in_test(const struct names *names _unused_, uint32_t location)
{
	return location == outermost;
}

static struct account make_account(void)
{
	return (struct account){
		.ticks = {.fired = 1000000,
			  .lost[LOSS_RING_SAMPLE] = 1,
			  .lost[LOSS_RING_STACK] = 20,
			  .lost[LOSS_UNKNOWN_STACK] = 300,
			  .lost[LOSS_PREEMPTED] = 4000,
			  .lost[LOSS_SKIPPED] = 50000,
			  .in_exec = 5,
			  .kernel_only = 6},
		.complete_user_stacks = 70,
		.named_frames = 40000,
		.unnamed_frames = {[UNNAMED_NO_MAPPING] = 1,
				   [UNNAMED_NO_FILE] = 20,
				   [UNNAMED_BUILD_ID_DIFFERS] = 300,
				   [UNNAMED_NO_SYMBOL] = 1000,
				   [UNNAMED_NOT_REACHED] = 2000},
	};
}

static void assert_json(const struct account *account, const char *expected)
{
	struct text text = {0};

	account_print_json(account, &text);
	assert_false(text.failed);
	if (!strstr(text.data, expected))
		fail_msg("no %s in %s", expected, text.data);
	text_release(&text);
}

static void every_lost_sample_is_in_the_sum(_unused_ void **state)
{
	struct account account = make_account();

	assert_int_equal(account_sum_lost_samples(&account), 321);
	assert_int_equal(account_sum_lost(&account), 54321);
	assert_json(&account,
		    "\"lost\": {\"ring_sample\": 1, \"ring_stack\": 20, \"unknown_stack\": 300, "
		    "\"preempted\": 4000, \"skipped\": 50000, \"block\": 0, "
		    "\"undelivered\": 0}");
}

static void every_truncation_is_in_the_sum_and_has_a_name(_unused_ void **state)
{
	struct account account = make_account();

	for (size_t i = 0; i < NUM_TRUNCATIONS; i++) {
		account.truncated_user_stacks[i] = 1000 + i;
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(truncation_get_name((enum truncation)i),
						truncation_get_name((enum truncation)k));
	}
	assert_int_equal(account_sum_truncated(&account),
			 1000 * NUM_TRUNCATIONS + NUM_TRUNCATIONS * (NUM_TRUNCATIONS - 1) / 2);
	assert_int_equal(account_sum_whole(&account), 75);
	assert_json(&account, "\"user_stacks\": {\"complete\": 70, \"in_exec\": 5, \"truncated\": "
			      "{\"frame_pointer\": 1000, \"depth\": 1001, ");
}

static void the_total_of_frames_is_the_named_and_the_unnamed(_unused_ void **state)
{
	struct account account = make_account();

	assert_int_equal(account_sum_unnamed(&account), 3321);
	assert_json(&account, "\"frames\": {\"total\": 43321, \"named\": 40000, \"sizeless\": 0, "
			      "\"unnamed\": {\"no_mapping\": 1, \"no_file\": 20, "
			      "\"build_id_differs\": 300, \"no_symbol\": 1000, "
			      "\"not_reached\": 2000}}");
}

static void every_version_of_an_interpreter_has_its_counts(_unused_ void **state)
{
	struct account account = {
		.ticks = {.runtimes = {{.runtime = WIRE_RUNTIME_V8,
					.major = 11,
					.minor = 3,
					.samples = 7},
				       {.runtime = WIRE_RUNTIME_HOTSPOT,
					.major = 17,
					.processes = 2,
					.samples = 30,
					.fits = {[RUNTIME_FITS] = 29, [RUNTIME_OUTSIDE] = 1},
					.may_lack_inlined = 5},
				       {.runtime = (enum wire_runtime)NUM_WIRE_INTERPRETERS + 1,
					.samples = 3,
					.fits = {[RUNTIME_UNKNOWN] = 3}}},
			  .num_runtimes = 3}};

	assert_json(
		&account,
		"\"name\": \"v8js\", \"version\": \"11.3\", \"processes\": 0, \"samples\": 7, ");
	assert_json(&account,
		    "{\"name\": \"jvm\", \"version\": \"17\", \"processes\": 2, \"samples\": 30, "
		    "\"fits\": 29, \"fits_not\": 0, \"no_thread\": 0, \"unreadable\": 0, "
		    "\"early\": 0, \"unknown_build\": 0, \"outside\": 1, \"may_lack_inlined\": 5}");
	assert_json(
		&account,
		"{\"name\": \"beam\", \"version\": \"0.0\", \"processes\": 0, \"samples\": 3, "
		"\"fits\": 0, \"fits_not\": 0, \"no_thread\": 0, \"unreadable\": 0, "
		"\"early\": 0, \"unknown_build\": 3, \"outside\": 0, \"may_lack_inlined\": 0}]");
}

static void what_the_kernel_could_not_report_is_there(_unused_ void **state)
{
	struct account account = make_account();

	account.ticks.unfollowed = 11;
	account.ticks.lost_side_band = 12;
	account.ticks.late_events = 13;
	account.ticks.tables.num_dropped = 14;
	assert_json(&account, "\"unfollowed_threads\": 11,");
	account.ticks.late_allocators = (struct late_allocators){.num_files = 41,
								 .num_followed = 42,
								 .max_delay_ns = 43,
								 .num_unread = 44,
								 .num_unknown = 46};
	account.ticks.overwritten.count = 45;
	assert_json(&account, "\"lost_events\": 12, \"late_events\": 13,");
	assert_json(&account, "\"late_allocators\": 41, \"followed_allocators\": 42, "
			      "\"follow_delay_ns\": 43, \"unsearched_files\": 44, "
			      "\"unknown_allocators\": 46, \"overwritten_files\": 45,");
	assert_json(&account, "\"dropped\": 14}");
}

static void losses_of_scheduling_have_their_names(_unused_ void **state)
{
	struct account account = {
		.ticks = {.scheduling = {.is_recorded = true,
					 .fired = 100,
					 .switches = 40,
					 .wakeups = 30,
					 .lost_ring = 1,
					 .lost_nested = 2,
					 .lost_storage = 3,
					 .lost_unseen = 4,
					 .kworks = {.fired = 70,
						    .kept = 50,
						    .unseen_begin = 5,
						    .lost_ring = 6,
						    .lost_nested = 7,
						    .lost_storage = 8}}},
	};

	assert_json(&account, "\"sched\": {\"fired\": 100, \"switches\": 40, \"wakings\": 30, "
			      "\"lost\": {\"ring\": 1, \"nested\": 2, \"storage\": 3, "
			      "\"unseen\": 4}");
	assert_json(&account, "{\"fired\": 70, \"kept\": 50, \"unseen_begin\": 5, \"lost\": "
			      "{\"ring\": 6, \"nested\": 7, \"storage\": 8}");
}

static void every_hit_of_an_event_has_an_account(_unused_ void **state)
{
	struct account account = make_account();
	struct event_counts counts = {
		.name = "sched:sched_wakeup",
		.unit = "count",
		.fired = 87654321,
		.idle = 1,
		.filtered = 20,
		.unmatched = 300,
		.weightless = 4000,
		.unseen_begin = 10,
		.unfinished = 11,
		.below_period = 50000,
		.samples = 600000,
		.lost[LOSS_RING_SAMPLE] = 1000000,
		.lost[LOSS_RING_STACK] = 2000000,
		.lost[LOSS_UNKNOWN_STACK] = 4000000,
		.lost[LOSS_PREEMPTED] = 12,
		.lost[LOSS_SKIPPED] = 80000000,
		.lost[LOSS_BLOCK] = 13,
		.live = 14,
		.oldest_ns = 15,
		.times = {.enabled_ns = 70, .running_ns = 35},
		.weight = 8,
		.scaled_weight = 16,
		.rest = 9,
		.lost_weight = 17,
	};

	account.events = &counts;
	account.num_events = 1;
	assert_json(
		&account,
		"\"events\": [\n    {\"name\": \"sched:sched_wakeup\", \"unit\": \"count\", "
		"\"fired\": 87654321, \"idle\": 1, \"filtered\": 20, "
		"\"unmatched\": 300, \"weightless\": 4000, "
		"\"unseen_begin\": 10, \"unfinished\": 11, "
		"\"below_period\": 50000, \"samples\": 600000, \"lost\": {"
		"\"ring_sample\": 1000000, \"ring_stack\": 2000000, "
		"\"unknown_stack\": 4000000, \"preempted\": 12, "
		"\"skipped\": 80000000, \"block\": 13, \"undelivered\": 0}, \"live\": 14, \"oldest_ns\": 15, "
		"\"enabled_ns\": 70, \"running_ns\": 35, "
		"\"weight\": 8, \"scaled_weight\": 16, \"rest\": 9, \"lost_weight\": 17}],\n");
}

static void waits_have_an_account_of_their_own(_unused_ void **state)
{
	struct account account = make_account();
	struct off_cpu_counts *counts = &account.ticks.off_cpu;

	*counts = (struct off_cpu_counts){
		.is_recorded = true,
		.period_ns = 1000,
		.min_block_ns = 70,
		.only_futexes = true,
		.fired = 427654321,
		.filtered = 600000,
		.unseen_begin = 50000,
		.other_waits = 400000000,
		.other_waits_ns = 77,
		.below_min_block = 7000000,
		.below_min_block_ns = 890,
		.below_period = 4000,
		.samples = 300,
		.lost[LOSS_RING_SAMPLE] = 1,
		.lost[LOSS_RING_STACK] = 5,
		.lost[LOSS_UNKNOWN_STACK] = 15,
		.lost[LOSS_UNREAD] = 20000000,
		.unfinished = 20000300,
		.exact_ns = {1000, 2000, 3000, 4000},
		.sampled_ns = {1000, 2000, 3000, 3000},
		.cpu_ns = 500,
	};
	assert_true(off_cpu_counts_are_balanced(counts));
	assert_json(&account, "\"off_cpu\": {\"period_ns\": 1000, \"min_block_ns\": 70, "
			      "\"only_futexes\": true, \"fired\": 427654321, "
			      "\"filtered\": 600000, \"unseen_begin\": 50000, "
			      "\"other_waits\": 400000000, \"other_waits_ns\": 77, "
			      "\"below_min_block\": 7000000, \"below_min_block_ns\": 890, "
			      "\"below_period\": 4000, \"samples\": 300, \"lost\": {"
			      "\"ring_sample\": 1, \"ring_stack\": 5, \"unknown_stack\": 15, "
			      "\"unread\": 20000000}, \"unfinished\": 20000300, ");
	assert_json(&account, "\"exact_ns\": {\"blocked\": 1000, \"uninterruptible\": 2000, "
			      "\"run-queue\": 3000, \"preempted\": 4000}");
	assert_json(&account, "\"coverage_percent\": 90.000,\n    \"cpu_ns\": 500,\n");
}

static void what_threads_have_lived_is_compared_with_its_parts(_unused_ void **state)
{
	struct account account = make_account();
	struct off_cpu_counts *counts = &account.ticks.off_cpu;

	*counts = (struct off_cpu_counts){
		.is_recorded = true,
		.other_waits_ns = 100,
		.below_min_block_ns = 7,
		.exact_ns = {1000, 200, 30, 4},
		.cpu_ns = 50000,
		.knows_lives = true,
		.lived_ns = 51351,
	};
	assert_json(&account, "\"cpu_ns\": 50000, \"lived_ns\": 51351, \"unaccounted_ns\": 10,\n");
	counts->lived_ns = 51340;
	assert_json(&account, "\"lived_ns\": 51340, \"unaccounted_ns\": -1,\n");
}

static void wakers_have_user_stacks_of_their_own(_unused_ void **state)
{
	struct account account = make_account();

	account.ticks.off_cpu.is_recorded = true;
	account.ticks.off_cpu.wakers = (struct waker_counts){
		.is_recorded = true,
		.known = 7,
		.hidden = 6,
		.in_exec = 5,
		.left_out = 4,
	};
	account.off_cpu.complete_waker_stacks = 300;
	account.off_cpu.truncated_waker_stacks[TRUNCATED_DEPTH] = 2;
	assert_json(&account, "\"wakers\": {\"known\": 7, ");
	assert_json(&account, "}, \"left_out\": 4}}},\n");
	assert_json(&account, "\"hidden\": 6,\n      \"user_stacks\": {\"complete\": 300, "
			      "\"in_exec\": 5, \"truncated\": {\"frame_pointer\": 0, "
			      "\"depth\": 2, ");
}

static int set_up_profile(void **state _unused_)
{
	profile = profile_new();
	assert_non_null(profile);
	num_user_stacks = num_event_stacks = 0;
	return 0;
}

static int tear_down_profile(void **state _unused_)
{
	profile_free(profile);
	return 0;
}

static uint32_t add_location(uint64_t address)
{
	uint32_t location;

	assert_int_equal(profile_add_location(profile, LOCATION_PROCESS, 0, address, &location), 0);
	return location;
}

static uint32_t add_stack(uint32_t parent, uint32_t location)
{
	uint32_t stack;

	assert_int_equal(profile_add_stack(profile, parent, location, &stack), 0);
	return stack;
}

/* By frame pointers: only the function at the end of a stack tells whether it is complete. */
static void user_stacks_are_complete_by_their_outermost_function(_unused_ void **state)
{
	struct account account = {0};
	uint32_t start = add_stack(STACK_EMPTY, outermost = add_location(0x100));
	uint32_t middle = add_stack(STACK_EMPTY, add_location(0x200));

	user_stacks[0] = (struct user_stack_count){.stack = start, .num_samples = 1};
	user_stacks[1] = (struct user_stack_count){.stack = add_stack(start, add_location(0x300)),
						   .num_samples = 20};
	user_stacks[2] = (struct user_stack_count){
		.stack = middle, .num_samples = 7300, .num_at_limit = 300};
	user_stacks[3] = (struct user_stack_count){.stack = middle, .num_samples = 10000};
	user_stacks[4] = (struct user_stack_count){.stack = STACK_EMPTY, .num_samples = 400000};
	user_stacks[5] = (struct user_stack_count){.stack = STACK_EMPTY, .num_samples = 1000000};
	num_user_stacks = 6;
	account_count(&account, NULL, NULL);
	assert_int_equal(account.complete_user_stacks, 21);
	assert_int_equal(account.truncated_user_stacks[TRUNCATED_DEPTH], 300);
	assert_int_equal(account.truncated_user_stacks[TRUNCATED_FRAME_POINTER], 17000);
	assert_int_equal(account.truncated_user_stacks[TRUNCATED_NO_STACK], 1400000);
	assert_int_equal(account_sum_truncated(&account), 1417300);
}

/* Of ticks, of waits, and of who ended these. */
static void every_end_of_a_walk_is_counted(_unused_ void **state)
{
	struct account account = {0};
	uint64_t sum = 0;

	for (uint64_t end = 0; end < NUM_WALK_ENDS; end++) {
		account.ticks.walks[end] = 1 + end;
		account.ticks.off_cpu.walks[end] = 2 * (1 + end);
		account.ticks.off_cpu.wakers.walks[end] = 3 * (1 + end);
		sum += 1 + end;
	}
	account_count(&account, NULL, NULL);
	assert_int_equal(account.complete_user_stacks, 1 + WALK_COMPLETE);
	assert_int_equal(account.off_cpu.complete_user_stacks, 2 * (1 + WALK_COMPLETE));
	assert_int_equal(account.off_cpu.complete_waker_stacks, 3 * (1 + WALK_COMPLETE));
	for (size_t i = 0; i < NUM_TRUNCATIONS; i++) {
		/* Each has a walk that ends for it. */
		assert_true(account.truncated_user_stacks[i] > 0);
		assert_int_equal(account.off_cpu.truncated_user_stacks[i],
				 2 * account.truncated_user_stacks[i]);
		assert_int_equal(account.off_cpu.truncated_waker_stacks[i],
				 3 * account.truncated_user_stacks[i]);
	}
	assert_int_equal(account_sum_truncated(&account) + account_sum_whole(&account), sum);
	assert_int_equal(account.truncated_user_stacks[TRUNCATED_DEPTH], 1 + WALK_TOO_DEEP);
	assert_int_equal(account.truncated_user_stacks[TRUNCATED_READ], 1 + WALK_READ_FAILED);
	assert_int_equal(account.truncated_user_stacks[TRUNCATED_NO_RULE], 1 + WALK_NO_RULE);
}

/* Three levels: named with two frames, by a symbol without size, and not named; [truncated] outside of them. */
static uint32_t add_counted_stack(void)
{
	static const struct frame frames[2] = {{.name = STRING_EMPTY}, {.name = STRING_EMPTY}};
	uint32_t locations[3];
	uint32_t stack = STACK_EMPTY;

	for (uint32_t i = 0; i < 3; i++)
		locations[i] = add_location(0x100 * (i + 1));
	assert_int_equal(profile_set_frames(profile, locations[0], frames, 2, UNNAMED_NOT), 0);
	assert_int_equal(profile_set_frames(profile, locations[1], frames, 1, UNNAMED_NOT), 0);
	profile_mark_sizeless(profile, locations[1]);
	assert_int_equal(profile_set_frames(profile, locations[2], frames, 1, UNNAMED_NO_SYMBOL),
			 0);
	assert_int_equal(profile_add_truncated_frame(profile, stack, &stack), 0);
	for (uint32_t i = 0; i < 3; i++)
		stack = add_stack(stack, locations[i]);
	return stack;
}

static void frames_are_counted_once_for_each_sample(_unused_ void **state)
{
	struct account account = {0};
	uint32_t stack = add_counted_stack();
	uint32_t samples;
	uint32_t waits;
	uint32_t thread;

	assert_int_equal(profile_add_metric(profile, "samples", "count", &samples), 0);
	assert_int_equal(profile_add_metric(profile, "off-cpu", "nanoseconds", &waits), 0);
	assert_int_equal(profile_add_thread(profile, &(struct thread){0}, &thread), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, samples, 10), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, waits, 100000), 0);
	account_count(&account, NULL, NULL);
	assert_int_equal(account.named_frames, 30);
	assert_int_equal(account.sizeless_frames, 10);
	assert_int_equal(account.unnamed_frames[UNNAMED_NO_SYMBOL], 10);
	assert_int_equal(account_sum_unnamed(&account), 10);
}

/* What samples of an event weigh is not their number. */
static void frames_of_events_are_counted_by_their_samples(_unused_ void **state)
{
	struct event_counts event = {.name = "faults", .unit = "count"};
	struct account account = {.events = &event, .num_events = 1};
	uint32_t stack = add_counted_stack();
	uint32_t samples;
	uint32_t thread;

	assert_int_equal(profile_add_metric(profile, "samples", "count", &samples), 0);
	assert_int_equal(profile_add_thread(profile, &(struct thread){0}, &thread), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, samples, 1000), 0);
	event_stacks[0] = (struct stack_count){.stack = stack, .num_samples = 3};
	event_stacks[1] = (struct stack_count){.stack = profile_get_stack_parent(profile, stack),
					       .num_samples = 4};
	num_event_stacks = 2;
	account_count(&account, NULL, NULL);
	assert_int_equal(account.named_frames, 3 * 7);
	assert_int_equal(account.sizeless_frames, 7);
	assert_int_equal(account.unnamed_frames[UNNAMED_NO_SYMBOL], 3);
}

/* Each of the parts is in the sum: without one it is another. */
static void an_account_of_waits_that_lacks_one_does_not_add_up(_unused_ void **state)
{
	struct off_cpu_counts counts = {.fired = 1};

	for (size_t i = 0; i < 10; i++) {
		uint64_t *const parts[] = {
			&counts.filtered,
			&counts.unseen_begin,
			&counts.below_min_block,
			&counts.below_period,
			&counts.samples,
			&counts.lost[LOSS_RING_SAMPLE],
			&counts.lost[LOSS_RING_STACK],
			&counts.lost[LOSS_UNKNOWN_STACK],
			&counts.lost[LOSS_UNREAD],
			&counts.other_waits,
		};

		assert_false(off_cpu_counts_are_balanced(&counts));
		*parts[i] = 1;
		assert_true(off_cpu_counts_are_balanced(&counts));
		*parts[i] = 0;
	}
}

/* With a count of each kind. */
static void short_memory_keeps_no_part_of_an_account(_unused_ void **state)
{
	struct account account = make_account();
	bool has_failed = true;

	for (size_t i = 0; i < NUM_TRUNCATIONS; i++)
		account.truncated_user_stacks[i] = i + 1;
	account.ticks.off_cpu.is_recorded = true;
	for (int64_t num_before = 0; has_failed; num_before++) {
		struct profile *kept = profile_new();
		struct text json = {0};
		int err;

		failing_memory_start(num_before);
		err = account_keep(&account, kept);
		account_print_json(&account, &json);
		err = err ? err : json.failed ? -ENOMEM : 0;
		has_failed = failing_memory_end_with(err);
		/* Said again, it is there. */
		assert_int_equal(account_keep(&account, kept), 0);
		text_release(&json);
		profile_free(kept);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_lost_sample_is_in_the_sum),
		cmocka_unit_test(every_truncation_is_in_the_sum_and_has_a_name),
		cmocka_unit_test(the_total_of_frames_is_the_named_and_the_unnamed),
		cmocka_unit_test(every_version_of_an_interpreter_has_its_counts),
		cmocka_unit_test(what_the_kernel_could_not_report_is_there),
		cmocka_unit_test(losses_of_scheduling_have_their_names),
		cmocka_unit_test(every_hit_of_an_event_has_an_account),
		cmocka_unit_test(waits_have_an_account_of_their_own),
		cmocka_unit_test(what_threads_have_lived_is_compared_with_its_parts),
		cmocka_unit_test(wakers_have_user_stacks_of_their_own),
		cmocka_unit_test(an_account_of_waits_that_lacks_one_does_not_add_up),
		cmocka_unit_test(short_memory_keeps_no_part_of_an_account),
		cmocka_unit_test_setup_teardown(
			user_stacks_are_complete_by_their_outermost_function, set_up_profile,
			tear_down_profile),
		cmocka_unit_test_setup_teardown(every_end_of_a_walk_is_counted, set_up_profile,
						tear_down_profile),
		cmocka_unit_test_setup_teardown(frames_are_counted_once_for_each_sample,
						set_up_profile, tear_down_profile),
		cmocka_unit_test_setup_teardown(frames_of_events_are_counted_by_their_samples,
						set_up_profile, tear_down_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
