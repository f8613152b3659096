#include <errno.h>

#include "analysis/stack_paths.h"
#include "profile_builder.h"

/* Levels are locations; threads of odd numbers share one, those of even numbers another, and 0 has none. */
struct taker {
	const struct profile *profile;
	struct stack_table *paths;
	uint32_t num_locations; /* added */
	uint32_t left_out;      /* a thread */
	int failure;            /* of add_location() */
};

static bool takes(const void *context, const struct sample *sample)
{
	const struct taker *taker = context;

	return sample->thread != taker->left_out;
}

static int add_thread(void *context, uint32_t thread, uint32_t *path)
{
	struct taker *taker = context;
	uint32_t tid = profile_get_thread(taker->profile, thread)->tid;

	return tid ? stack_table_add(taker->paths, *path, 1000 + tid % 2, path) : 0;
}

static int add_location(void *context, uint32_t location, uint32_t *path)
{
	struct taker *taker = context;

	taker->num_locations++;
	return taker->failure ? taker->failure
			      : stack_table_add(taker->paths, *path, location, path);
}

static int find(struct taker *taker, uint32_t **ret)
{
	const struct stack_paths_steps steps = {takes, add_thread, add_location, taker};

	taker->paths = stack_table_new();
	return stack_paths_find(taker->profile, &steps, ret);
}

static void no_part_of_a_stack_is_walked_twice_below_one_root(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t first = builder_add_thread(profile, 1, 1, "t");
	uint32_t other = builder_add_thread(profile, 2, 2, "u");
	uint32_t second = builder_add_thread(profile, 1, 3, "t");
	struct taker taker = {.profile = profile, .left_out = UINT32_MAX};
	uint32_t *paths;
	uint32_t metric;
	uint32_t stack;

	stack = builder_add_stack(profile, "a;b;c");
	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	assert_int_equal(profile_add_sample(profile, first, stack, metric, 1), 0);
	assert_int_equal(profile_add_sample(profile, other, stack, metric, 1), 0);
	assert_int_equal(profile_add_sample(profile, second, stack, metric, 1), 0);
	stack = profile_get_stack_parent(profile, stack);
	assert_int_equal(profile_add_sample(profile, first, stack, metric, 1), 0);
	assert_int_equal(find(&taker, &paths), 0);

	assert_int_equal(taker.num_locations, 3 + 3);
	assert_int_equal(paths[0], paths[2]);
	assert_int_not_equal(paths[0], paths[1]);
	assert_int_equal(stack_table_get_parent(taker.paths, paths[0]), paths[3]);
	free(paths);
	stack_table_free(taker.paths);
	profile_free(profile);
}

static void a_thread_without_level_starts_at_the_root(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t nobody = builder_add_thread(profile, 0, 0, "");
	struct taker taker = {.profile = profile, .left_out = UINT32_MAX};
	uint32_t *paths;

	builder_add_sample(profile, nobody, "a", 1);
	builder_add_sample(profile, nobody, "", 1);
	assert_int_equal(find(&taker, &paths), 0);

	assert_int_equal(stack_table_get_parent(taker.paths, paths[0]), STACK_PATHS_ROOT);
	free(paths);
	stack_table_free(taker.paths);
	profile_free(profile);
}

static void what_is_not_taken_costs_no_step(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t taken = builder_add_thread(profile, 1, 1, "t");
	struct taker taker = {.profile = profile};
	uint32_t *paths;

	taker.left_out = builder_add_thread(profile, 2, 2, "u");
	builder_add_sample(profile, taken, "a", 1);
	builder_add_sample(profile, taker.left_out, "b;c", 1);
	assert_int_equal(find(&taker, &paths), 0);

	assert_int_equal(taker.num_locations, 1);
	assert_int_equal(stack_table_get_count(taker.paths), 1 + 2);
	assert_int_equal(paths[1], STACK_PATHS_ROOT);
	free(paths);
	stack_table_free(taker.paths);
	profile_free(profile);
}

static void the_error_of_a_step_is_returned(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct taker taker = {.profile = profile, .left_out = UINT32_MAX, .failure = -E2BIG};
	uint32_t *paths = NULL;

	builder_add_sample(profile, thread, "a", 1);
	assert_int_equal(find(&taker, &paths), -E2BIG);
	assert_null(paths);
	stack_table_free(taker.paths);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_part_of_a_stack_is_walked_twice_below_one_root),
		cmocka_unit_test(a_thread_without_level_starts_at_the_root),
		cmocka_unit_test(what_is_not_taken_costs_no_step),
		cmocka_unit_test(the_error_of_a_step_is_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
