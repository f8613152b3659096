#include "analysis/flat_table.h"

#include "profile_maker.h"

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
	uint32_t thread = maker_add_thread(profile, 1, 1, "t");
	struct flat_table table;

	maker_add_sample(profile, thread, "main;a;b", 5);
	maker_add_sample(profile, thread, "main;a", 3);
	maker_add_sample(profile, thread, "main;c", 2);
	assert_int_equal(flat_table_init(&table, profile, 0), 0);
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
	uint32_t thread = maker_add_thread(profile, 1, 1, "t");
	struct flat_table table;

	maker_add_sample(profile, thread, "main;a;b;a;b;a", 4);
	assert_int_equal(flat_table_init(&table, profile, 0), 0);
	assert_int_equal(find_row(&table, "a")->self, 4);
	assert_int_equal(find_row(&table, "a")->total, 4);
	assert_int_equal(find_row(&table, "b")->total, 4);
	flat_table_release(&table);
	profile_free(profile);
}

static void rows_are_sorted_by_self_or_by_total(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = maker_add_thread(profile, 1, 1, "t");
	struct flat_table table;

	maker_add_sample(profile, thread, "main;big", 5);
	maker_add_sample(profile, thread, "main;small", 1);
	assert_int_equal(flat_table_init(&table, profile, 0), 0);
	assert_string_equal(table.rows[0].function, "big");
	assert_string_equal(table.rows[1].function, "small");
	assert_string_equal(table.rows[2].function, "main");
	flat_table_sort_by_total(&table);
	assert_string_equal(table.rows[0].function, "main");
	assert_string_equal(table.rows[1].function, "big");
	flat_table_release(&table);
	profile_free(profile);
}

static void an_empty_profile_gives_an_empty_table(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct flat_table table;

	assert_int_equal(flat_table_init(&table, profile, 0), 0);
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
		cmocka_unit_test(rows_are_sorted_by_self_or_by_total),
		cmocka_unit_test(an_empty_profile_gives_an_empty_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
