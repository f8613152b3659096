/* Samples of a log as a timeline reads them: threads that change, weights that are scaled, and again from the start. */
#include "base/spool.h"

int rewind_of_test(struct spool *spool);
int next_of_test(struct spool *spool, void *ret);

#define spool_rewind rewind_of_test
#define spool_next   next_of_test
#include "collect/trace/recorded_samples.c"
#undef spool_rewind
#undef spool_next

#include "failing_memory.h"
#include "test_folder.h"
#include "unit.h"

#define PERIOD 10
#define WAIT   1000

static int rewind_error; /* what the file gives; 0: it is read */
static int next_error;

int rewind_of_test(struct spool *spool)
{
	return rewind_error ? rewind_error : spool_rewind(spool);
}

int next_of_test(struct spool *spool, void *ret)
{
	return next_error ? next_error : spool_next(spool, ret);
}

struct fixture {
	struct spool *spool;
	struct recorded_samples *samples;
	struct timeline *timeline;
	uint64_t position; /* of the reading */
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	rewind_error = next_error = 0;
	assert_int_equal(spool_new(test_parent_folder(), sizeof(struct timed_sample), NULL,
				   &fixture->spool, NULL),
			 0);
	fixture->samples = recorded_samples_new(fixture->spool, 8, PERIOD, WAIT);
	assert_non_null(fixture->samples);
	fixture->timeline = timeline_new();
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	timeline_free(fixture->timeline);
	spool_free(fixture->spool);
	free(fixture);
	return 0;
}

static void add(struct fixture *fixture, struct timed_sample sample)
{
	spool_add(fixture->spool, &sample);
}

static void set_thread(struct fixture *fixture, uint64_t number, uint32_t profile_thread,
		       uint32_t thread)
{
	assert_int_equal(
		recorded_samples_set_thread(fixture->samples, number, profile_thread, thread), 0);
}

static void scale(struct fixture *fixture, uint32_t metric, uint64_t numerator,
		  uint64_t denominator)
{
	recorded_samples_add_scale(fixture->samples,
				   &(struct metric_scale){metric, {numerator, denominator}});
}

static int try_next(struct fixture *fixture, struct timeline_sample *ret)
{
	return timeline_next_sample(fixture->timeline, &fixture->position, ret);
}

static struct timeline_sample next(struct fixture *fixture)
{
	struct timeline_sample sample;

	assert_int_equal(try_next(fixture, &sample), 1);
	return sample;
}

static void assert_end(struct fixture *fixture)
{
	struct timeline_sample sample;

	assert_int_equal(try_next(fixture, &sample), 0);
	fixture->position = 0; /* once more */
}

static void a_sample_is_as_it_was_logged(void **state)
{
	struct fixture *fixture = *state;
	struct timeline_sample sample;

	set_thread(fixture, 0, 7, 70);
	add(fixture, (struct timed_sample){.time_ns = 5,
					   .thread = 7,
					   .stack = 3,
					   .cpu = 2,
					   .metric = 4,
					   .num_periods = 3,
					   .is_in_kernel = true});
	add(fixture, (struct timed_sample){
			     .time_ns = 6, .thread = 7, .num_periods = 2, .is_truncated = true});
	recorded_samples_give(fixture->samples, fixture->timeline);
	sample = next(fixture);
	assert_int_equal(sample.time_ns, 5);
	assert_int_equal(sample.weight, 3 * PERIOD);
	assert_int_equal(sample.thread, 70);
	assert_int_equal(sample.stack, 3);
	assert_int_equal(sample.cpu, 2);
	assert_int_equal(sample.metric, 4);
	assert_int_equal(sample.mode, SAMPLE_MODE_KERNEL);
	assert_false(sample.is_truncated);
	sample = next(fixture);
	assert_int_equal(sample.mode, SAMPLE_MODE_USER);
	assert_true(sample.is_truncated);
	assert_end(fixture);
}

static void a_period_of_a_wait_is_another_one_than_a_ticks(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, (struct timed_sample){.num_periods = 2, .is_off_cpu = true});
	add(fixture, (struct timed_sample){.num_periods = 2});
	add(fixture, (struct timed_sample){.num_periods = 2, .weight = 7});
	recorded_samples_give(fixture->samples, fixture->timeline);
	assert_int_equal(next(fixture).weight, 2 * WAIT);
	assert_int_equal(next(fixture).weight, 2 * PERIOD);
	assert_int_equal(next(fixture).weight, 7);
}

/* A tid is reused: from a sample on, its thread is another one. So each time that they are read. */
static void a_thread_changes_at_a_sample(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t i = 0; i < 4; i++)
		add(fixture, (struct timed_sample){.time_ns = i, .thread = i == 3});
	set_thread(fixture, 0, 0, 10);
	set_thread(fixture, 0, 1, 20);
	set_thread(fixture, 2, 0, 11);
	set_thread(fixture, 3, 1, 21);
	recorded_samples_give(fixture->samples, fixture->timeline);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(next(fixture).thread, 10);
		assert_int_equal(next(fixture).thread, 10);
		assert_int_equal(next(fixture).thread, 11);
		assert_int_equal(next(fixture).thread, 21);
		assert_end(fixture);
	}
}

/* The rest of a division goes to the next sample of the same metric. */
static void each_metric_is_scaled_by_its_own(void **state)
{
	struct fixture *fixture = *state;

	for (size_t metric = 1; metric <= MAX_EVENTS; metric++)
		scale(fixture, (uint32_t)metric, metric == 1 ? 1 : 3, 2);
	for (int i = 0; i < 2; i++) {
		add(fixture, (struct timed_sample){.metric = 1, .weight = 1});
		add(fixture, (struct timed_sample){.metric = MAX_EVENTS, .weight = 1});
		add(fixture, (struct timed_sample){.metric = 0, .weight = 5});
		add(fixture, (struct timed_sample){.metric = 1, .num_periods = 1});
	}
	recorded_samples_give(fixture->samples, fixture->timeline);
	for (int i = 0; i < 2; i++) {
		uint64_t first = next(fixture).weight;

		assert_int_equal(next(fixture).weight, 1);
		assert_int_equal(next(fixture).weight, 5);
		assert_int_equal(next(fixture).weight, PERIOD);
		assert_int_equal(first + next(fixture).weight, 1);
		assert_int_equal(next(fixture).weight, 2);
		assert_int_equal(next(fixture).weight, 5);
		assert_int_equal(next(fixture).weight, PERIOD);
		assert_end(fixture);
	}
}

/* In the middle of a metric's share, too. */
static void reading_again_starts_with_nothing_left_over(void **state)
{
	struct fixture *fixture = *state;

	scale(fixture, 1, 1, 2);
	for (int i = 0; i < 3; i++)
		add(fixture, (struct timed_sample){.metric = 1, .weight = 1});
	recorded_samples_give(fixture->samples, fixture->timeline);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(next(fixture).weight, 0);
		assert_int_equal(next(fixture).weight, 1);
		assert_int_equal(next(fixture).weight, 0);
		assert_end(fixture);
	}
}

static void a_file_that_cannot_be_read_is_an_error_and_no_end(void **state)
{
	struct fixture *fixture = *state;
	struct timeline_sample sample;

	add(fixture, (struct timed_sample){.weight = 3});
	add(fixture, (struct timed_sample){.weight = 4});
	recorded_samples_give(fixture->samples, fixture->timeline);
	rewind_error = -EIO;
	assert_int_equal(try_next(fixture, &sample), -EIO);
	rewind_error = 0;
	fixture->position = 0;
	assert_int_equal(next(fixture).weight, 3);
	next_error = -EIO;
	assert_int_equal(try_next(fixture, &sample), -EIO);
}

static int make(void *context _unused_)
{
	struct recorded_samples *samples = recorded_samples_new(NULL, 1000, PERIOD, WAIT);
	int err = samples ? recorded_samples_set_thread(samples, 0, 0, 1) : -ENOMEM;

	recorded_samples_free(samples);
	return err;
}

static void short_memory_is_an_error(void **state)
{
	struct fixture *fixture = *state;

	failing_memory_try_all(make, NULL);
	recorded_samples_give(fixture->samples, fixture->timeline);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sample_is_as_it_was_logged),
		TEST(a_period_of_a_wait_is_another_one_than_a_ticks),
		TEST(a_thread_changes_at_a_sample),
		TEST(each_metric_is_scaled_by_its_own),
		TEST(reading_again_starts_with_nothing_left_over),
		TEST(a_file_that_cannot_be_read_is_an_error_and_no_end),
		TEST(short_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
