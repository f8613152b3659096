#include "analysis/flat_table.h"

#include <errno.h>

#include "profile_builder.h"

static const struct flat_row *find_row(const struct flat_table *table, const char *name)
{
	for (size_t i = 0; i < table->num_rows; i++)
		if (string_equals(table->rows[i].function, name))
			return &table->rows[i];
	fail_msg("%s is not in the table", name);
	return NULL;
}

static void self_and_total_are_summed_over_samples(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct flat_table table;

	builder_add_sample(profile, thread, "main;a;b", 5);
	builder_add_sample(profile, thread, "main;a", 3);
	builder_add_sample(profile, thread, "main;c", 2);
	assert_int_equal(flat_table_init_profile(&table, profile, 0), 0);
	assert_int_equal(table.sum, 10);
	assert_int_equal(find_row(&table, "main")->self, 0);
	assert_int_equal(find_row(&table, "main")->total, 10);
	assert_int_equal(find_row(&table, "a")->self, 3);
	assert_int_equal(find_row(&table, "a")->total, 8);
	flat_table_release(&table);
	profile_free(profile);
}

static void a_recursive_function_counts_once_per_sample(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct flat_table table;

	builder_add_sample(profile, thread, "main;a;b;a;b;a", 4);
	assert_int_equal(flat_table_init_profile(&table, profile, 0), 0);
	assert_int_equal(find_row(&table, "a")->self, 4);
	assert_int_equal(find_row(&table, "a")->total, 4);
	assert_int_equal(find_row(&table, "b")->total, 4);
	flat_table_release(&table);
	profile_free(profile);
}

static void a_row_that_is_added_has_its_place_and_counts_in_the_sum(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct flat_table table;

	builder_add_sample(profile, thread, "main;big", 5);
	builder_add_sample(profile, thread, "main;small", 1);
	assert_int_equal(flat_table_init_profile(&table, profile, 0), 0);
	assert_int_equal(flat_table_add_row(&table, "others", 3), 0);
	assert_int_equal(table.sum, 9);
	assert_string_equal(table.rows[1].function, "others");
	assert_int_equal(table.rows[1].self, 3);
	assert_int_equal(table.rows[1].total, 3);
	assert_int_equal(flat_table_add_row(&table, "too many", UINT64_MAX), -EOVERFLOW);
	flat_table_release(&table);
	profile_free(profile);
}

static void rows_are_sorted_by_self_or_by_total(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct flat_table table;

	builder_add_sample(profile, thread, "main;big", 5);
	builder_add_sample(profile, thread, "main;small", 1);
	assert_int_equal(flat_table_init_profile(&table, profile, 0), 0);
	assert_string_equal(table.rows[0].function, "big");
	assert_string_equal(table.rows[1].function, "small");
	assert_string_equal(table.rows[2].function, "main");
	flat_table_sort_by_total(&table);
	assert_string_equal(table.rows[0].function, "main");
	assert_string_equal(table.rows[1].function, "big");
	flat_table_release(&table);
	profile_free(profile);
}

static uint32_t add_in_module(struct profile *profile, uint32_t stack, const char *name,
			      const char *module)
{
	struct frame frame = {0};
	uint32_t location;

	assert_int_equal(profile_add_string(profile, name, &frame.name), 0);
	assert_int_equal(profile_add_string(profile, module, &frame.module), 0);
	assert_int_equal(profile_add_frame_location(profile, &frame, &location), 0);
	assert_int_equal(profile_add_stack(profile, stack, location, &stack), 0);
	return stack;
}

static void functions_of_equal_name_in_different_modules_stay_apart(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct flat_table table;
	uint32_t metric;
	uint32_t stack;

	builder_add_thread(profile, 1, 1, "t");
	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	stack = add_in_module(profile, STACK_EMPTY, "read", "libc.so.6");
	stack = add_in_module(profile, stack, "read", "[kernel]");
	assert_int_equal(profile_add_sample(profile, 0, stack, metric, 3), 0);
	assert_int_equal(flat_table_init_profile(&table, profile, metric), 0);
	assert_int_equal(table.num_rows, 2);
	assert_string_equal(table.rows[0].module, "[kernel]");
	assert_int_equal(table.rows[0].self, 3);
	assert_int_equal(table.rows[1].self, 0);
	assert_int_equal(table.rows[1].total, 3);
	flat_table_release(&table);
	profile_free(profile);
}

static void only_functions_of_selected_samples_have_rows(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	uint8_t is_selected[] = {0, 1, 1};
	struct selection selection = {.is_selected = is_selected, .num_samples = 3};
	struct flat_table table;
	struct frame_tree tree;

	builder_add_sample(profile, thread, "main;a;b", 5);
	builder_add_sample(profile, thread, "main;a", 3);
	builder_add_sample(profile, thread, "main;zero", 0);
	assert_int_equal(frame_tree_init(&tree, profile), 0);
	assert_int_equal(flat_table_init(&table, &tree, 0, &selection), 0);
	assert_int_equal(table.num_rows, 3);
	assert_int_equal(table.sum, 3);
	assert_int_equal(find_row(&table, "a")->total, 3);
	assert_int_equal(find_row(&table, "zero")->total, 0);
	flat_table_release(&table);
	frame_tree_release(&tree);
	profile_free(profile);
}

static void a_location_without_frames_is_an_unknown_function(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct flat_table table;
	uint32_t location;
	uint32_t stack;

	builder_add_sample(profile, thread, "main", 1);
	assert_int_equal(profile_add_location(profile, LOCATION_KERNEL, 0, 64, &location), 0);
	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, 0, 7), 0);
	assert_int_equal(flat_table_init_profile(&table, profile, 0), 0);
	assert_int_equal(find_row(&table, "[unknown]")->self, 7);
	flat_table_release(&table);
	profile_free(profile);
}

/* Weights of all letters by looking at each stack as a text. */
static void totals_of_random_recursive_stacks_are_right(void **state _unused_)
{
	uint32_t seed = 1;

	for (int round = 0; round < 200; round++) {
		struct profile *profile = profile_new();
		uint32_t thread = builder_add_thread(profile, 1, 1, "t");
		uint64_t self[4] = {0};
		uint64_t total[4] = {0};
		struct flat_table table;

		for (int i = 0; i < 30; i++) {
			char stack[32] = "";
			size_t depth = 1 + (seed >> 16) % 10;

			for (size_t level = 0; level < depth; level++) {
				seed = seed * 1664525u + 1013904223u;
				stack[2 * level] = (char)('a' + (seed >> 16) % 4);
				stack[2 * level + 1] = level + 1 < depth ? ';' : '\0';
			}
			self[stack[2 * depth - 2] - 'a'] += (uint64_t)i;
			for (int letter = 0; letter < 4; letter++)
				if (strchr(stack, 'a' + letter))
					total[letter] += (uint64_t)i;
			builder_add_sample(profile, thread, stack, (uint64_t)i);
		}
		assert_int_equal(flat_table_init_profile(&table, profile, 0), 0);
		for (size_t i = 0; i < table.num_rows; i++) {
			int letter = table.rows[i].function[0] - 'a';

			assert_int_equal(table.rows[i].self, self[letter]);
			assert_int_equal(table.rows[i].total, total[letter]);
		}
		flat_table_release(&table);
		profile_free(profile);
	}
}

static void an_empty_profile_gives_an_empty_table(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct flat_table table;

	assert_int_equal(flat_table_init_profile(&table, profile, 0), 0);
	assert_int_equal(table.num_rows, 0);
	assert_int_equal(table.sum, 0);
	flat_table_release(&table);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(self_and_total_are_summed_over_samples),
		cmocka_unit_test(a_recursive_function_counts_once_per_sample),
		cmocka_unit_test(a_row_that_is_added_has_its_place_and_counts_in_the_sum),
		cmocka_unit_test(rows_are_sorted_by_self_or_by_total),
		cmocka_unit_test(functions_of_equal_name_in_different_modules_stay_apart),
		cmocka_unit_test(only_functions_of_selected_samples_have_rows),
		cmocka_unit_test(a_location_without_frames_is_an_unknown_function),
		cmocka_unit_test(totals_of_random_recursive_stacks_are_right),
		cmocka_unit_test(an_empty_profile_gives_an_empty_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
