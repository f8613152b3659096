/* The order of unwind tables between users. The builder has no threads here. */
#include "collect/tables/table_builder.c"

#include "unit.h"

#define USER_A 20001
#define USER_B 20002

static void wait_for_job(struct table_builder *builder, uint32_t file, uid_t owner,
			 uint32_t num_requests)
{
	struct job *job = array_add(&builder->jobs);

	assert_non_null(job);
	*job = (struct job){.file = file, .mapped.owner = owner, .num_requests = num_requests};
}

/* Returns UINT32_MAX if no job may be taken. */
static uint32_t take_file(struct table_builder *builder)
{
	struct job job;

	return take_job(builder, &job) ? job.file : UINT32_MAX;
}

static void release_order(struct table_builder *builder)
{
	array_release(&builder->jobs);
	array_release(&builder->owners);
}

static void the_least_served_user_comes_first(_unused_ void **state)
{
	struct table_builder builder = {0};

	add_spent(&builder, USER_A, 600 * NS_PER_MS);
	wait_for_job(&builder, 1, USER_A, 9);
	wait_for_job(&builder, 2, USER_B, 1);
	wait_for_job(&builder, 3, 0, 1);
	/* Less than a step does not count. */
	assert_int_equal(take_file(&builder), 1);
	wait_for_job(&builder, 1, USER_A, 9);
	add_spent(&builder, USER_A, 600 * NS_PER_MS);
	add_spent(&builder, 0, 60 * NS_PER_SECOND); /* time of root's files does not count */
	wait_for_job(&builder, 4, USER_B, 2);
	assert_int_equal(take_file(&builder), 4);
	add_spent(&builder, USER_B, 2 * NS_PER_SECOND);
	assert_int_equal(take_file(&builder), 3);
	assert_int_equal(take_file(&builder), 1);
	assert_int_equal(take_file(&builder), 2);
	assert_int_equal(take_file(&builder), UINT32_MAX);
	release_order(&builder);
}

static void slow_files_come_last_and_one_at_a_time(_unused_ void **state)
{
	struct table_builder builder = {0};

	add_spent(&builder, USER_B, 9 * NS_PER_SECOND);
	for (uint32_t file = 1; file <= 2; file++) {
		struct job slow = {.file = file, .mapped.owner = USER_A, .num_requests = 9};

		assert_true(put_back(&builder, &slow));
	}
	wait_for_job(&builder, 3, USER_B, 1);
	assert_int_equal(take_file(&builder), 3);
	assert_int_equal(take_file(&builder), 2);
	assert_true(builder.is_slow_running);
	assert_int_equal(take_file(&builder), UINT32_MAX);
	wait_for_job(&builder, 4, USER_B, 1);
	assert_int_equal(take_file(&builder), 4);
	builder.is_slow_running = false;
	assert_int_equal(take_file(&builder), 1);
	release_order(&builder);
}

/* Files of a program that starts are mapped now; those of others were found by a scan. */
static void among_equal_files_the_latest_comes_first(_unused_ void **state)
{
	struct table_builder builder = {0};

	wait_for_job(&builder, 1, 0, 1);
	wait_for_job(&builder, 2, 0, 2);
	wait_for_job(&builder, 3, 0, 1);
	wait_for_job(&builder, 4, 0, 1);
	assert_int_equal(take_file(&builder), 2);
	assert_int_equal(take_file(&builder), 4);
	wait_for_job(&builder, 5, 0, 1);
	assert_int_equal(take_file(&builder), 5);
	assert_int_equal(take_file(&builder), 3);
	assert_int_equal(take_file(&builder), 1);
	release_order(&builder);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_least_served_user_comes_first),
		cmocka_unit_test(slow_files_come_last_and_one_at_a_time),
		cmocka_unit_test(among_equal_files_the_latest_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
