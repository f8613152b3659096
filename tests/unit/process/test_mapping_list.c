#include "process/process_table.h"

#include <stdlib.h>

#include "failing_memory.h"
#include "process/file_table.h"
#include "unit.h"

static bool add(struct mapping_list *list, uint64_t start, uint64_t end, uint64_t file_offset,
		uint32_t file)
{
	struct mapping mapping = {
		.start = start, .end = end, .file_offset = file_offset, .file = file};
	bool is_changed;

	assert_int_equal(mapping_list_add(list, &mapping, &is_changed), 0);
	return is_changed;
}

static void assert_mapping(const struct mapping_list *list, size_t index, uint64_t start,
			   uint64_t end, uint64_t file_offset, uint32_t file)
{
	const struct mapping *mapping = &list->sorted.items[index];

	assert_true(index < list->sorted.length);
	assert_int_equal(mapping->start, start);
	assert_int_equal(mapping->end, end);
	assert_int_equal(mapping->file_offset, file_offset);
	assert_int_equal(mapping->file, file);
}

static void mappings_are_kept_sorted(_unused_ void **state)
{
	_cleanup_(mapping_list_release) struct mapping_list list = {0};

	add(&list, 30, 40, 0, 1);
	add(&list, 10, 20, 0, 2);
	add(&list, 20, 30, 0, 3);

	assert_int_equal(list.sorted.length, 3);
	assert_mapping(&list, 0, 10, 20, 0, 2);
	assert_mapping(&list, 1, 20, 30, 0, 3);
	assert_mapping(&list, 2, 30, 40, 0, 1);
}

static void a_mapping_inside_splits_the_older_one(_unused_ void **state)
{
	_cleanup_(mapping_list_release) struct mapping_list list = {0};

	add(&list, 10, 40, 100, 1);
	assert_true(add(&list, 20, 30, 0, 2));

	assert_int_equal(list.sorted.length, 3);
	assert_mapping(&list, 0, 10, 20, 100, 1);
	assert_mapping(&list, 1, 20, 30, 0, 2);
	assert_mapping(&list, 2, 30, 40, 120, 1);
}

static void a_mapping_across_trims_both_neighbours_and_drops_what_is_between(_unused_ void **state)
{
	_cleanup_(mapping_list_release) struct mapping_list list = {0};

	add(&list, 10, 20, 0, 1);
	add(&list, 20, 30, 0, 2);
	add(&list, 30, 40, 0, 3);
	add(&list, 15, 35, 0, 4);

	assert_int_equal(list.sorted.length, 3);
	assert_mapping(&list, 0, 10, 15, 0, 1);
	assert_mapping(&list, 1, 15, 35, 0, 4);
	assert_mapping(&list, 2, 35, 40, 5, 3);
}

static void a_larger_mapping_replaces_the_older_one(_unused_ void **state)
{
	_cleanup_(mapping_list_release) struct mapping_list list = {0};

	add(&list, 10, 20, 0, 1);
	assert_true(add(&list, 10, 30, 0, 1));

	assert_int_equal(list.sorted.length, 1);
	assert_mapping(&list, 0, 10, 30, 0, 1);
}

static void the_same_range_of_another_file_replaces(_unused_ void **state)
{
	_cleanup_(mapping_list_release) struct mapping_list list = {0};

	add(&list, 10, 20, 0, 1);
	assert_true(add(&list, 10, 20, 0, 2));

	assert_int_equal(list.sorted.length, 1);
	assert_mapping(&list, 0, 10, 20, 0, 2);
}

static void the_same_mapping_again_changes_nothing(_unused_ void **state)
{
	_cleanup_(mapping_list_release) struct mapping_list list = {0};

	add(&list, 10, 20, 5, 1);
	assert_false(add(&list, 10, 20, 5, 1));
	assert_int_equal(list.sorted.length, 1);
}

static void a_part_of_the_same_mapping_changes_nothing(_unused_ void **state)
{
	_cleanup_(mapping_list_release) struct mapping_list list = {0};

	add(&list, 10, 40, 100, 1);
	assert_false(add(&list, 20, 30, 110, 1));
	assert_true(add(&list, 20, 30, 0, 1));
	assert_int_equal(list.sorted.length, 3);
}

static void memory_has_no_file_offset_after_a_split(_unused_ void **state)
{
	_cleanup_(mapping_list_release) struct mapping_list list = {0};

	add(&list, 10, 40, 0, FILE_NONE);
	add(&list, 20, 30, 0, 1);

	assert_mapping(&list, 2, 30, 40, 0, FILE_NONE);
}

static uint32_t youngest; /* of the same code */

static bool has_other_code(const struct mapping_list *list, uint64_t start, uint64_t end,
			   uint64_t file_offset, uint32_t file)
{
	const struct mapping mapping = {
		.start = start, .end = end, .file_offset = file_offset, .file = file};

	return mapping_list_has_other_code(list, &mapping, &youngest);
}

static void other_code_is_another_file_or_another_part(_unused_ void **state)
{
	_cleanup_(mapping_list_release) struct mapping_list list = {0};

	add(&list, 10, 20, 100, 1);
	add(&list, 30, 40, 0, FILE_NONE);
	list.sorted.items[0].since = 4;
	list.sorted.items[1].since = 5;
	assert_false(has_other_code(&list, 20, 30, 0, 2));
	assert_int_equal(youngest, 0);
	assert_false(has_other_code(&list, 5, 25, 95, 1));
	assert_int_equal(youngest, 4);
	assert_false(has_other_code(&list, 12, 14, 102, 1));
	assert_true(has_other_code(&list, 12, 14, 100, 1));
	assert_true(has_other_code(&list, 19, 25, 109, 2));
	assert_true(has_other_code(&list, 12, 14, 0, FILE_NONE));
	assert_true(has_other_code(&list, 35, 45, 0, 1));
	assert_true(has_other_code(&list, 5, 35, 95, 1)); /* memory behind it */
	assert_false(has_other_code(&list, 35, 45, 0, FILE_NONE));
	assert_int_equal(youngest, 5);
}

static uint32_t get_age_at(const struct mapping_list *list, uint64_t address)
{
	return mapping_list_find(list, address)->since;
}

static void mappings_keep_their_age_in_a_newer_list(_unused_ void **state)
{
	_cleanup_(mapping_list_release) struct mapping_list older = {0};
	_cleanup_(mapping_list_release) struct mapping_list newer = {0};

	add(&older, 10, 20, 100, 1);
	add(&older, 30, 40, 0, 2);
	add(&older, 50, 60, 0, 3);
	for (uint32_t i = 0; i < 3; i++)
		older.sorted.items[i].since = i + 1;
	add(&newer, 12, 20, 102, 1);
	add(&newer, 30, 41, 0, 2); /* longer than before */
	add(&newer, 50, 60, 0, 4);
	mapping_list_set_ages(&newer, &older, 7);
	assert_int_equal(get_age_at(&newer, 12), 1);
	assert_int_equal(get_age_at(&newer, 30), 7);
	assert_int_equal(get_age_at(&newer, 50), 7);
}

static void the_end_is_outside(_unused_ void **state)
{
	_cleanup_(mapping_list_release) struct mapping_list list = {0};

	assert_null(mapping_list_find(&list, 10));
	add(&list, 10, 20, 0, 1);
	add(&list, 30, 40, 0, 2);

	assert_null(mapping_list_find(&list, 9));
	assert_int_equal(mapping_list_find(&list, 10)->file, 1);
	assert_int_equal(mapping_list_find(&list, 19)->file, 1);
	assert_null(mapping_list_find(&list, 20));
	assert_int_equal(mapping_list_find(&list, 39)->file, 2);
	assert_null(mapping_list_find(&list, 40));
}

static void shared_mappings_are_equal_until_one_list_changes(_unused_ void **state)
{
	_cleanup_(mapping_list_release) struct mapping_list list = {0};
	_cleanup_(mapping_list_release) struct mapping_list child = {0};

	assert_int_equal(mapping_list_share(&child, &list), 0);
	add(&list, 10, 20, 0, 1);
	assert_false(mapping_list_equals(&child, &list));
	assert_int_equal(mapping_list_share(&child, &list), 0);
	assert_true(mapping_list_equals(&child, &list));
	add(&list, 10, 20, 0, 2);
	assert_false(mapping_list_equals(&child, &list));
	assert_int_equal(mapping_list_find(&list, 10)->file, 2);
	assert_int_equal(mapping_list_find(&child, 10)->file, 1);
}

/* Each with its own end, in any order. */
static void descendants_share_mappings_until_they_change(_unused_ void **state)
{
	struct mapping_list lists[4] = {0};

	add(&lists[0], 10, 20, 0, 1);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(mapping_list_share(&lists[i], &lists[i - 1]), 0);
	for (size_t i = 1; i < 4; i++)
		assert_ptr_equal(lists[i].sorted.items, lists[0].sorted.items);
	/* Nothing new is no change. */
	assert_false(add(&lists[2], 10, 20, 0, 1));
	assert_ptr_equal(lists[2].sorted.items, lists[0].sorted.items);
	add(&lists[2], 30, 40, 0, 2);
	assert_ptr_not_equal(lists[2].sorted.items, lists[0].sorted.items);
	mapping_list_release(&lists[0]);
	mapping_list_release(&lists[3]);
	assert_int_equal(mapping_list_find(&lists[1], 10)->file, 1);
	assert_null(mapping_list_find(&lists[1], 30));
	assert_int_equal(mapping_list_find(&lists[2], 30)->file, 2);
	mapping_list_release(&lists[2]);
	mapping_list_release(&lists[1]);
}

/* The oracle: for every address, what was mapped last. */
static void any_order_of_mappings_shows_the_latest_at_every_address(_unused_ void **state)
{
	enum { SIZE = 64 };
	unsigned seed = 1;

	for (int round = 0; round < 300; round++) {
		_cleanup_(mapping_list_release) struct mapping_list list = {0};
		uint64_t offsets[SIZE] = {0};
		uint32_t files[SIZE] = {0};

		for (int step = 0; step < 40; step++) {
			uint64_t start = (uint64_t)rand_r(&seed) % (SIZE - 1);
			uint64_t end = start + 1 + (uint64_t)rand_r(&seed) % (SIZE - start - 1);
			uint32_t file = 1 + (uint32_t)rand_r(&seed) % 3;
			uint64_t offset = 1000 + start * ((uint64_t)rand_r(&seed) % 2);

			add(&list, start, end, offset, file);
			for (uint64_t i = start; i < end; i++) {
				files[i] = file;
				offsets[i] = offset + i - start;
			}
		}
		for (uint64_t i = 0; i < SIZE; i++) {
			const struct mapping *mapping = mapping_list_find(&list, i);

			assert_int_equal(mapping ? mapping->file : 0, files[i]);
			if (mapping)
				assert_int_equal(mapping->file_offset + i - mapping->start,
						 offsets[i]);
		}
		for (size_t i = 1; i < list.sorted.length; i++)
			assert_true(list.sorted.items[i - 1].end <= list.sorted.items[i].start);
	}
}

/* Without memory, lists and what they share stay as they are. */
static void short_memory_changes_no_mapping(_unused_ void **state)
{
	bool has_failed = true;

	for (int64_t num_before = 0; has_failed; num_before++) {
		struct mapping_list lists[2] = {0};
		struct mapping mapping = {.start = 20, .end = 30, .file = 2};
		bool is_changed;
		int err;

		failing_memory_start(num_before);
		err = mapping_list_add(&lists[0], &(struct mapping){10, 40, 0, 1, 0}, &is_changed);
		err = err ? err : mapping_list_share(&lists[1], &lists[0]);
		err = err ? err : mapping_list_add(&lists[1], &mapping, &is_changed);
		for (uint64_t i = 1; i < 40 && !err; i++) {
			mapping.start = i * 100;
			mapping.end = mapping.start + 10;
			err = mapping_list_add(&lists[0], &mapping, &is_changed);
		}
		has_failed = failing_memory_end_with(err);
		for (size_t i = 0; i < 2; i++) {
			for (size_t j = 0; j < lists[i].sorted.length; j++)
				assert_true(lists[i].sorted.items[j].start <
					    lists[i].sorted.items[j].end);
			if (has_failed && lists[i].sorted.length == 1)
				assert_mapping(&lists[i], 0, 10, 40, 0, 1);
		}
		add(&lists[1], 5, 50, 0, 3);
		add(&lists[0], 100, 4000, 0, 4);
		assert_int_equal(mapping_list_find(&lists[1], 20)->file, 3);
		assert_int_equal(mapping_list_find(&lists[0], 3990)->file, 4);
		mapping_list_release(&lists[0]);
		mapping_list_release(&lists[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mappings_are_kept_sorted),
		cmocka_unit_test(a_mapping_inside_splits_the_older_one),
		cmocka_unit_test(a_mapping_across_trims_both_neighbours_and_drops_what_is_between),
		cmocka_unit_test(a_larger_mapping_replaces_the_older_one),
		cmocka_unit_test(the_same_range_of_another_file_replaces),
		cmocka_unit_test(the_same_mapping_again_changes_nothing),
		cmocka_unit_test(a_part_of_the_same_mapping_changes_nothing),
		cmocka_unit_test(memory_has_no_file_offset_after_a_split),
		cmocka_unit_test(other_code_is_another_file_or_another_part),
		cmocka_unit_test(mappings_keep_their_age_in_a_newer_list),
		cmocka_unit_test(the_end_is_outside),
		cmocka_unit_test(shared_mappings_are_equal_until_one_list_changes),
		cmocka_unit_test(descendants_share_mappings_until_they_change),
		cmocka_unit_test(short_memory_changes_no_mapping),
		cmocka_unit_test(any_order_of_mappings_shows_the_latest_at_every_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
