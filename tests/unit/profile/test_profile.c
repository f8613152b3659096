#include "profile/profile.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

static void equal_strings_have_equal_ids(void **state _unused_)
{
	struct string_table *table = string_table_new();
	uint32_t first;
	uint32_t second;

	assert_int_equal(string_table_add(table, "main", 4, &first), 0);
	assert_int_equal(string_table_add(table, "main", 4, &second), 0);
	assert_int_equal(first, second);
	assert_int_equal(string_table_add(table, "ma\0in", 5, &second), 0);
	assert_int_not_equal(first, second);
	assert_int_equal(string_table_get_length(table, second), 5);
	assert_int_equal(string_table_add(table, "", 0, &second), 0);
	assert_int_equal(second, STRING_EMPTY);
	string_table_free(table);
}

static void strings_stay_where_they_are(void **state _unused_)
{
	struct string_table *table = string_table_new();
	static char large[200000];
	const char *kept;
	uint32_t id;

	assert_int_equal(string_table_add(table, "first", 5, &id), 0);
	kept = string_table_get(table, id);
	memset(large, 'x', sizeof(large));
	for (size_t length = 1; length < sizeof(large); length += 997)
		assert_int_equal(string_table_add(table, large, length, &id), 0);
	assert_string_equal(kept, "first");
	string_table_free(table);
}

static void stacks_share_their_outer_part(void **state _unused_)
{
	struct stack_table *table = stack_table_new();
	uint32_t outer;
	uint32_t a;
	uint32_t b;
	uint32_t again;

	assert_int_equal(stack_table_add(table, STACK_EMPTY, 7, &outer), 0);
	assert_int_equal(stack_table_add(table, outer, 8, &a), 0);
	assert_int_equal(stack_table_add(table, outer, 9, &b), 0);
	assert_int_equal(stack_table_add(table, outer, 8, &again), 0);
	assert_int_equal(a, again);
	assert_int_equal(stack_table_get_parent(table, a), outer);
	assert_int_equal(stack_table_get_parent(table, b), outer);
	assert_int_equal(stack_table_get_level(table, b), 9);
	assert_int_equal(stack_table_get_count(table), 4);
	stack_table_free(table);
}

static void stacks_added_unseen_are_found_later(void **state _unused_)
{
	struct stack_table *table = stack_table_new();
	uint32_t stacks[100];
	uint32_t found;

	for (uint32_t i = 0; i < 100; i++) {
		uint32_t parent = i ? stacks[i / 2] : STACK_EMPTY;

		/* Every third is searched for, so that the two ways alternate. */
		if (i % 3)
			assert_int_equal(stack_table_add_new(table, parent, i, &stacks[i]), 0);
		else
			assert_int_equal(stack_table_add(table, parent, i, &stacks[i]), 0);
		if (i == 50)
			stack_table_trim(table);
	}
	assert_int_equal(stack_table_get_count(table), 101);
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(stack_table_add(table, i ? stacks[i / 2] : STACK_EMPTY, i, &found),
				 0);
		assert_int_equal(found, stacks[i]);
	}
	stack_table_free(table);
}

/* Stacks have up to hundreds of callees, added before, between and after settling. */
static void stacks_are_found_however_often_the_table_is_settled(void **state _unused_)
{
	struct stack_table *table = stack_table_new();
	uint32_t parents[3000];
	uint32_t found;

	for (uint32_t i = 0; i < ARRAY_LENGTH(parents); i++) {
		uint32_t level = (i * 7919) % 3001;

		parents[i] = (i * 2654435761u >> 7) % (i < 1000 ? i / 50 + 1 : i);
		assert_int_equal(stack_table_find(table, parents[i], level), STACK_EMPTY);
		assert_int_equal(stack_table_add(table, parents[i], level, &found), 0);
		assert_int_equal(found, i + 1);
		if (i == 3 || i == 900 || i == 1000 || i == 2500)
			assert_int_equal(stack_table_settle(table), 0);
		if (i == 2600)
			stack_table_trim(table);
	}
	assert_int_equal(stack_table_settle(table), 0);
	for (uint32_t i = 0; i < ARRAY_LENGTH(parents); i++) {
		uint32_t level = (i * 7919) % 3001;

		assert_int_equal(stack_table_find(table, parents[i], level), i + 1);
		assert_int_equal(stack_table_find(table, parents[i], 4000), STACK_EMPTY);
	}
	stack_table_free(table);
}

static struct profile *make_profile(uint32_t *thread, uint32_t *stack)
{
	struct profile *profile = profile_new();
	struct thread main_thread = {.tid = 5};
	uint32_t location;

	assert_int_equal(profile_add_process(profile, 5, STRING_EMPTY, &main_thread.process), 0);
	assert_int_equal(profile_add_thread(profile, &main_thread, thread), 0);
	assert_int_equal(profile_add_location(profile, LOCATION_KERNEL, 0, 0x10, &location), 0);
	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, stack), 0);
	return profile;
}

static void samples_of_one_thread_and_stack_are_summed(void **state _unused_)
{
	uint32_t thread;
	uint32_t stack;
	struct profile *profile = make_profile(&thread, &stack);

	assert_int_equal(profile_add_sample(profile, thread, stack, 0, 3), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, 0, 4), 0);
	assert_int_equal(profile_add_sample(profile, thread, STACK_EMPTY, 0, 1), 0);
	assert_int_equal(profile_count_samples(profile), 2);
	assert_int_equal(profile_get_sample(profile, 0)->value, 7);
	profile_free(profile);
}

/* Ascending ones are added without a search; each of the others must be found all the same. */
static void samples_are_summed_in_whatever_order_they_come(void **state _unused_)
{
	static const uint32_t order[] = {3, 5, 5, 4, 9, 3, 1, 9, 10, 4, 0, 10, 1};
	uint64_t sums[11] = {0};
	uint32_t thread;
	uint32_t stack;
	struct profile *profile = make_profile(&thread, &stack);
	int err;

	for (uint32_t i = 0; i < ARRAY_LENGTH(order); i++) {
		/* The first of its stack needs no search. */
		if (sums[order[i]])
			err = profile_add_sample(profile, thread, order[i], 0, 1u << i);
		else
			err = profile_add_new_sample(profile, thread, order[i], 0, 1u << i);
		assert_int_equal(err, 0);
		sums[order[i]] += 1u << i;
		if (i == 7)
			profile_trim(profile);
	}
	assert_int_equal(profile_count_samples(profile), 7);
	for (uint32_t i = 0; i < profile_count_samples(profile); i++)
		assert_int_equal(profile_get_sample(profile, i)->value,
				 sums[profile_get_sample(profile, i)->stack]);
	profile_free(profile);
}

static void samples_differ_by_thread_stack_and_metric(void **state _unused_)
{
	uint32_t thread;
	uint32_t stack;
	struct profile *profile = make_profile(&thread, &stack);

	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 8; i-- > 0;)
			assert_int_equal(profile_add_sample(profile, i & 1, i >> 1 & 1, i >> 2, i),
					 0);
	assert_int_equal(profile_count_samples(profile), 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(profile_get_sample(profile, i)->value, 2 * (7 - i));
	profile_free(profile);
}

static void a_sum_beyond_64_bits_is_refused_and_changes_nothing(void **state _unused_)
{
	uint32_t thread;
	uint32_t stack;
	struct profile *profile = make_profile(&thread, &stack);

	assert_int_equal(profile_add_sample(profile, thread, stack, 0, UINT64_MAX), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, 0, 1), -EOVERFLOW);
	assert_true(profile_get_sample(profile, 0)->value == UINT64_MAX);
	profile_free(profile);
}

static void locations_differ_by_space_owner_and_address(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t ids[4];
	uint32_t again;

	assert_int_equal(profile_add_location(profile, LOCATION_FILE, 1, 0x10, &ids[0]), 0);
	assert_int_equal(profile_add_location(profile, LOCATION_FILE, 2, 0x10, &ids[1]), 0);
	assert_int_equal(profile_add_location(profile, LOCATION_PROCESS, 1, 0x10, &ids[2]), 0);
	assert_int_equal(profile_add_location(profile, LOCATION_FILE, 1, 0x11, &ids[3]), 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(ids[i], i);
	assert_int_equal(profile_add_location(profile, LOCATION_FILE, 2, 0x10, &again), 0);
	assert_int_equal(again, ids[1]);
	profile_free(profile);
}

static void frames_are_copied_into_their_location(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct frame frames[2] = {{.line = 1, .is_inlined = true}, {.line = 2}};
	uint32_t location;
	const struct location *named;

	assert_int_equal(profile_add_location(profile, LOCATION_FILE, 0, 1, &location), 0);
	assert_int_equal(profile_set_frames(profile, location, frames, 2, UNNAMED_NOT), 0);
	frames[0].line = 9;
	named = profile_get_location(profile, location);
	assert_int_equal(named->num_frames, 2);
	assert_int_equal(profile_get_frame(profile, named->first_frame)->line, 1);
	assert_int_equal(profile_get_frame(profile, named->first_frame + 1)->line, 2);
	profile_free(profile);
}

static void a_renamed_thread_is_a_new_one(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct thread thread = {.tid = 1};
	uint32_t first;
	uint32_t second;

	assert_int_equal(profile_add_thread(profile, &thread, &first), 0);
	assert_int_equal(profile_add_string(profile, "worker", &thread.comm), 0);
	assert_int_equal(profile_add_thread(profile, &thread, &second), 0);
	assert_int_not_equal(first, second);
	profile_free(profile);
}

static const char *name_frame(struct profile *profile, const char *name)
{
	uint32_t id;

	assert_int_equal(profile_add_frame_name(profile, name, strlen(name), &id), 0);
	return profile_get_string(profile, id);
}

static void names_of_frames_fit_folded_text(void **state _unused_)
{
	struct profile *profile = profile_new();

	assert_string_equal(name_frame(profile, "operator delete[]"), "operator delete[]");
	assert_string_equal(name_frame(profile, " Ljava/lang/String;\n"), "Ljava/lang/String:");
	assert_string_equal(name_frame(profile, "a\tb\x7f"), "a b");
	assert_string_equal(name_frame(profile, " \n"), "[unknown]");
	profile_free(profile);
}

static void naming_a_frame_leaves_the_rest_of_it(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct frame frame = {.file = 5, .line = 7, .kind = FRAME_JAVA, .is_inlined = true};

	assert_int_equal(profile_name_frame(profile, "a;b", "a;b()", "c.so", &frame), 0);
	assert_string_equal(profile_get_string(profile, frame.name), "a:b");
	assert_string_equal(profile_get_string(profile, frame.full_name), "a;b()");
	assert_string_equal(profile_get_string(profile, frame.module), "c.so");
	assert_int_equal(frame.file, 5);
	assert_int_equal(frame.line, 7);
	assert_int_equal(frame.kind, FRAME_JAVA);
	assert_true(frame.is_inlined);
	profile_free(profile);
}

static void metrics_of_equal_name_and_unit_are_one(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t ids[4];

	assert_int_equal(profile_add_metric(profile, "cpu", "nanoseconds", &ids[0]), 0);
	assert_int_equal(profile_add_metric(profile, "cpu", "count", &ids[1]), 0);
	assert_int_equal(profile_add_metric(profile, "cpu", "nanoseconds", &ids[2]), 0);
	assert_int_not_equal(ids[0], ids[1]);
	assert_int_equal(ids[0], ids[2]);
	assert_int_equal(profile_find_metric(profile, "cpu"), ids[0]);
	assert_int_equal(profile_find_metric(profile, "wall"), METRIC_NONE);
	profile_free(profile);
}

static void the_wall_metric_is_that_of_a_recording_of_waits(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t samples;
	uint32_t wall;
	uint32_t blocked;
	uint32_t other;

	assert_int_equal(profile_add_metric(profile, "samples", "count", &samples), 0);
	assert_int_equal(profile_add_metric(profile, "wall", "count", &other), 0);
	assert_int_equal(profile_add_metric(profile, "wall", "nanoseconds", &wall), 0);
	assert_int_equal(profile_find_wall_metric(profile, 0), METRIC_NONE);
	assert_int_equal(profile_add_metric(profile, "blocked", "nanoseconds", &blocked), 0);
	assert_int_equal(profile_find_wall_metric(profile, 0), wall);
	assert_int_equal(profile_find_wall_metric(profile, wall), wall);
	assert_int_equal(profile_find_wall_metric(profile, wall + 1), METRIC_NONE);
	profile_free(profile);
}

static void equal_frames_without_address_are_one_location(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct frame frame = {.line = 3};
	uint32_t ids[3];

	assert_int_equal(profile_add_frame_location(profile, &frame, &ids[0]), 0);
	assert_int_equal(profile_add_frame_location(profile, &frame, &ids[1]), 0);
	frame.kind = FRAME_KERNEL;
	assert_int_equal(profile_add_frame_location(profile, &frame, &ids[2]), 0);
	assert_int_equal(ids[0], ids[1]);
	assert_int_not_equal(ids[0], ids[2]);
	assert_int_equal(profile_get_location(profile, ids[2])->num_frames, 1);
	profile_free(profile);
}

static void recordings_are_summed_up(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct sampling later = {.start_ns = 30, .duration_ns = 5, .complete_stacks = UINT64_MAX};
	struct sampling first = {.start_ns = 20, .duration_ns = 7, .complete_stacks = 1};
	struct sampling unknown = {.lost_samples = 4};

	profile_add_sampling(profile, &later);
	profile_add_sampling(profile, &first);
	profile_add_sampling(profile, &unknown);
	assert_int_equal(profile_get_sampling(profile)->start_ns, 20);
	assert_int_equal(profile_get_sampling(profile)->duration_ns, 12);
	assert_true(profile_get_sampling(profile)->complete_stacks == UINT64_MAX);
	assert_int_equal(profile_get_sampling(profile)->lost_samples, 4);
	profile_free(profile);
}

static void recordings_of_different_periods_have_none(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct sampling fine = {.period_ns = 1000};
	struct sampling coarse = {.period_ns = 2000};

	profile_add_sampling(profile, &fine);
	profile_add_sampling(profile, &fine);
	assert_int_equal(profile_get_sampling(profile)->period_ns, 1000);
	profile_add_sampling(profile, &coarse);
	assert_int_equal(profile_get_sampling(profile)->period_ns, 0);
	profile_free(profile);
}

/* Those that are left are found, and so are their times, which weigh no more than they do. */
static void removed_samples_are_gone_with_their_times(void **state _unused_)
{
	static const uint8_t is_removed[] = {0, 1, 0};
	struct profile *profile = profile_new();
	const struct timestamps *timestamps;
	struct thread thread = {0};
	uint32_t metric;
	uint32_t id;

	assert_int_equal(profile_keep_timestamps(profile), 0);
	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	assert_int_equal(profile_add_process(profile, 1, STRING_EMPTY, &thread.process), 0);
	assert_int_equal(profile_add_thread(profile, &thread, &id), 0);
	/* Not in the order of stacks, so that they are indexed. */
	for (uint32_t stack = 3; stack > 0; stack--) {
		for (uint64_t time = 1; time <= 2; time++) {
			assert_int_equal(profile_add_sample(profile, id, stack, metric, 5), 0);
			assert_int_equal(profile_add_timestamp(profile, id, stack, metric, 5,
							       time * 1000000),
					 0);
		}
	}
	profile_set_sample_value(profile, 2, 7);
	assert_int_equal(profile_remove_samples(profile, is_removed), 0);
	assert_int_equal(profile_count_samples(profile), 2);
	assert_int_equal(profile_get_sample(profile, 0)->stack, 3);
	assert_int_equal(profile_get_sample(profile, 1)->stack, 1);
	timestamps = profile_get_timestamps(profile);
	assert_int_equal(timestamps_count(timestamps), 4);
	for (size_t i = 0; i < 4; i++) {
		static const uint64_t weights[] = {5, 5, 5, 2};

		assert_int_equal(timestamps_get(timestamps, i)->sample, i / 2);
		assert_int_equal(timestamps_get(timestamps, i)->weight, weights[i]);
	}
	for (uint32_t stack = 1; stack <= 3; stack++)
		assert_int_equal(profile_add_sample(profile, id, stack, metric, 1), 0);
	assert_int_equal(profile_count_samples(profile), 3);
	assert_int_equal(profile_get_sample(profile, 0)->value, 11);
	assert_int_equal(profile_get_sample(profile, 1)->value, 8);
	assert_int_equal(profile_get_sample(profile, 2)->value, 1);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_strings_have_equal_ids),
		cmocka_unit_test(strings_stay_where_they_are),
		cmocka_unit_test(stacks_share_their_outer_part),
		cmocka_unit_test(stacks_added_unseen_are_found_later),
		cmocka_unit_test(stacks_are_found_however_often_the_table_is_settled),
		cmocka_unit_test(samples_of_one_thread_and_stack_are_summed),
		cmocka_unit_test(samples_are_summed_in_whatever_order_they_come),
		cmocka_unit_test(samples_differ_by_thread_stack_and_metric),
		cmocka_unit_test(a_sum_beyond_64_bits_is_refused_and_changes_nothing),
		cmocka_unit_test(locations_differ_by_space_owner_and_address),
		cmocka_unit_test(frames_are_copied_into_their_location),
		cmocka_unit_test(a_renamed_thread_is_a_new_one),
		cmocka_unit_test(names_of_frames_fit_folded_text),
		cmocka_unit_test(naming_a_frame_leaves_the_rest_of_it),
		cmocka_unit_test(metrics_of_equal_name_and_unit_are_one),
		cmocka_unit_test(the_wall_metric_is_that_of_a_recording_of_waits),
		cmocka_unit_test(equal_frames_without_address_are_one_location),
		cmocka_unit_test(recordings_are_summed_up),
		cmocka_unit_test(recordings_of_different_periods_have_none),
		cmocka_unit_test(removed_samples_are_gone_with_their_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
