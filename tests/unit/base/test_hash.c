#include <stdio.h>
#include <string.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "unit.h"

static bool is_number(const void *owner, uint32_t item, const void *key)
{
	return ((const uint64_t *)owner)[item] == *(const uint64_t *)key;
}

static void every_item_is_found_again_after_growth(void **state _unused_)
{
	static uint64_t numbers[5000];
	struct hash_index index = {0};

	for (uint32_t i = 0; i < 5000; i++) {
		numbers[i] = i * 7919ull;
		assert_int_equal(hash_index_add(&index, hash_mix(0, numbers[i]), i), 0);
	}
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(hash_index_find(&index, hash_mix(0, numbers[i]), is_number,
						 numbers, &numbers[i]),
				 i);
	hash_index_release(&index);
}

static void items_of_equal_hash_are_distinguished(void **state _unused_)
{
	uint64_t numbers[] = {10, 20, 30};
	uint64_t missing = 40;
	struct hash_index index = {0};

	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(hash_index_add(&index, 5, i), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(hash_index_find(&index, 5, is_number, numbers, &numbers[i]), i);
	assert_int_equal(hash_index_find(&index, 5, is_number, numbers, &missing), HASH_INDEX_NONE);
	hash_index_release(&index);
}

static void an_empty_index_finds_nothing(void **state _unused_)
{
	struct hash_index index = {0};
	uint64_t key = 1;

	assert_int_equal(hash_index_find(&index, 1, is_number, &key, &key), HASH_INDEX_NONE);
}

static void bytes_around_do_not_count(void **state _unused_)
{
	static const char some[] = "<<<<<<<<abcdefghijklmnopqrstuvwxyz>>>>>>>>";
	static const char others[] = "[[[[[[[[abcdefghijklmnopqrstuvwxyz]]]]]]]]";

	for (size_t size = 0; size <= 26; size++)
		assert_true(hash_bytes(some + 8, size) == hash_bytes(others + 8, size));
}

static void hashes_depend_on_every_byte_and_on_length(void **state _unused_)
{
	char text[20] = {0};
	uint64_t before = hash_bytes(text, sizeof(text));

	for (size_t i = 0; i < sizeof(text); i++) {
		text[i] = 1;
		assert_true(hash_bytes(text, sizeof(text)) != before);
		text[i] = 0;
	}
	assert_true(hash_bytes(text, 19) != before);
}

struct counted_names {
	char names[1000][16];
	uint32_t num_compared;
};

static bool is_counted_name(const void *owner, uint32_t item, const void *key)
{
	const struct counted_names *names = owner;

	((struct counted_names *)(uintptr_t)owner)->num_compared++;
	return memcmp(names->names[item], key, sizeof(names->names[item])) == 0;
}

/* Names of functions often end in a number. */
static void names_that_differ_at_the_end_have_slots_of_their_own(void **state _unused_)
{
	for (size_t size = 4; size < 16; size++) {
		struct counted_names names = {0};
		struct hash_index index = {0};

		for (uint32_t i = 0; i < 1000; i++) {
			char digits[4];

			snprintf(digits, sizeof(digits), "%03u", i);
			memset(names.names[i], 'a', size);
			memcpy(names.names[i] + size - 3, digits, 3);
			assert_int_equal(
				hash_index_add(&index, hash_bytes(names.names[i], size), i), 0);
		}
		for (uint32_t i = 0; i < 1000; i++)
			assert_int_equal(hash_index_find(&index, hash_bytes(names.names[i], size),
							 is_counted_name, &names, names.names[i]),
					 i);
		assert_int_equal(names.num_compared, 1000);
		hash_index_release(&index);
	}
}

/* Hashes that crowd into few slots: what stays must be found past every gap. */
static void what_is_removed_is_gone_and_the_rest_stays(void **state _unused_)
{
	static uint64_t numbers[1000];
	struct hash_index index = {0};

	for (uint32_t i = 0; i < 1000; i++) {
		numbers[i] = i;
		assert_int_equal(hash_index_add(&index, i * 7919ull % 37, i), 0);
	}
	for (uint32_t i = 0; i < 1000; i += 3)
		hash_index_remove(&index, i * 7919ull % 37, i);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(
			hash_index_find(&index, i * 7919ull % 37, is_number, numbers, &numbers[i]),
			i % 3 ? i : HASH_INDEX_NONE);
	assert_int_equal(index.num_items, 666);
	hash_index_release(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_item_is_found_again_after_growth),
		cmocka_unit_test(items_of_equal_hash_are_distinguished),
		cmocka_unit_test(an_empty_index_finds_nothing),
		cmocka_unit_test(bytes_around_do_not_count),
		cmocka_unit_test(hashes_depend_on_every_byte_and_on_length),
		cmocka_unit_test(names_that_differ_at_the_end_have_slots_of_their_own),
		cmocka_unit_test(what_is_removed_is_gone_and_the_rest_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
