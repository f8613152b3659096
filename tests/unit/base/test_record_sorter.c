#include "base/record_sorter.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

/* clang-format off */
#include "unit.h"
/* clang-format on */

enum { MEMORY_BYTES = 4096 };

struct memory_store {
	ARRAY(uint8_t) bytes;
	int err;
};

static int append(void *context, const void *data, size_t size, uint64_t *ret_offset)
{
	struct memory_store *store = context;

	if (store->err)
		return store->err;
	*ret_offset = store->bytes.length;
	if (array_reserve(&store->bytes, store->bytes.length + size))
		return -ENOMEM;
	memcpy(store->bytes.items + store->bytes.length, data, size);
	store->bytes.length += size;
	return 0;
}

static int read_back(void *context, uint64_t offset, void *data, size_t size)
{
	struct memory_store *store = context;

	assert_true(offset + size <= store->bytes.length);
	memcpy(data, store->bytes.items + offset, size);
	return 0;
}

struct fixture {
	struct memory_store memory;
	struct record_store store;
	struct record_sorter sorter;
};

static void init(struct fixture *fixture, bool has_store)
{
	*fixture = (struct fixture){0};
	fixture->store = (struct record_store){append, read_back, &fixture->memory};
	record_sorter_init(&fixture->sorter, has_store ? &fixture->store : NULL, MEMORY_BYTES);
}

static void release(struct fixture *fixture)
{
	record_sorter_release(&fixture->sorter);
	array_release(&fixture->memory.bytes);
}

static uint32_t choose(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33) % below;
}

/* The record's number, and as many more bytes as that says. */
static void add(struct fixture *fixture, uint64_t key, uint32_t number)
{
	uint8_t data[sizeof(number) + 64];

	memset(data, (uint8_t)number, sizeof(data));
	memcpy(data, &number, sizeof(number));
	assert_int_equal(
		record_sorter_add(&fixture->sorter, key, data, sizeof(number) + number % 60), 0);
}

/* Every record comes once, in order of key and then of number. */
static void check(struct fixture *fixture, uint32_t count)
{
	struct sorted_record record;
	uint64_t last_key = 0;
	uint32_t last_number = 0;
	uint32_t num_read = 0;
	uint64_t sum = 0;

	assert_int_equal(record_sorter_finish(&fixture->sorter), 0);
	while (record_sorter_next(&fixture->sorter, &record) == 1) {
		uint32_t number;

		memcpy(&number, record.data, sizeof(number));
		assert_int_equal(record.size, sizeof(number) + number % 60);
		for (size_t i = sizeof(number); i < record.size; i++)
			assert_int_equal(((const uint8_t *)record.data)[i], (uint8_t)number);
		assert_true(!num_read || record.key > last_key ||
			    (record.key == last_key && number > last_number));
		last_key = record.key;
		last_number = number;
		sum += number;
		num_read++;
	}
	assert_int_equal(num_read, count);
	assert_int_equal(sum, (uint64_t)count * (count - 1) / 2);
	assert_int_equal(record_sorter_next(&fixture->sorter, &record), 0);
}

static void sort_random(bool has_store, uint32_t count, uint32_t num_keys)
{
	struct fixture fixture;
	uint64_t random = count;

	init(&fixture, has_store);
	for (uint32_t i = 0; i < count; i++)
		add(&fixture, choose(&random, num_keys), i);
	check(&fixture, count);
	release(&fixture);
}

static void records_come_in_order_of_their_keys(void **state _unused_)
{
	for (uint32_t count = 0; count < 50; count++) {
		sort_random(false, count, 10);
		sort_random(true, count, 10);
	}
	sort_random(false, 20000, 100000);
	sort_random(true, 20000, 100000);
	sort_random(true, 20000, 3);
}

static void what_is_sorted_is_one_piece(void **state _unused_)
{
	struct fixture fixture;

	init(&fixture, true);
	for (uint32_t i = 0; i < 5000; i++)
		add(&fixture, i / 3, i);
	assert_true(fixture.memory.bytes.length > 10 * MEMORY_BYTES);
	assert_int_equal(fixture.sorter.chunks.length, 1);
	check(&fixture, 5000);
	release(&fixture);
}

/* Keys rise in each of them, and the third one starts between those of the others. */
static void a_piece_starts_where_keys_fall(void **state _unused_)
{
	static const uint64_t starts[] = {0, 20000, 10000};
	struct fixture fixture;
	uint32_t number = 0;

	init(&fixture, true);
	for (size_t i = 0; i < ARRAY_LENGTH(starts); i++)
		for (uint32_t k = 0; k < 3000; k++, number++)
			add(&fixture, starts[i] + k, number);
	check(&fixture, number);
	release(&fixture);
}

static void what_fits_into_memory_is_not_stored(void **state _unused_)
{
	struct fixture fixture;

	init(&fixture, true);
	for (uint32_t i = 0; i < 20; i++)
		add(&fixture, 100 - i, i);
	check(&fixture, 20);
	assert_int_equal(fixture.memory.bytes.length, 0);
	release(&fixture);
}

static void a_record_may_be_larger_than_memory(void **state _unused_)
{
	static uint8_t large[200000];
	struct fixture fixture;
	struct sorted_record record;

	init(&fixture, true);
	memset(large, 7, sizeof(large));
	add(&fixture, 9, 1);
	assert_int_equal(record_sorter_add(&fixture.sorter, 5, large, sizeof(large)), 0);
	assert_int_equal(record_sorter_add(&fixture.sorter, 4, NULL, 0), 0);
	assert_int_equal(record_sorter_finish(&fixture.sorter), 0);
	assert_int_equal(record_sorter_next(&fixture.sorter, &record), 1);
	assert_int_equal(record.size, 0);
	assert_int_equal(record_sorter_next(&fixture.sorter, &record), 1);
	assert_int_equal(record.size, sizeof(large));
	assert_memory_equal(record.data, large, sizeof(large));
	assert_int_equal(record_sorter_next(&fixture.sorter, &record), 1);
	assert_int_equal(record.key, 9);
	assert_int_equal(record_sorter_next(&fixture.sorter, &record), 0);
	release(&fixture);
}

static void a_full_disk_is_reported(void **state _unused_)
{
	struct fixture fixture;
	int err = 0;

	init(&fixture, true);
	fixture.memory.err = -ENOSPC;
	for (uint32_t i = 0; !err && i < 5000; i++)
		err = record_sorter_add(&fixture.sorter, i, &i, sizeof(i));
	assert_int_equal(err, -ENOSPC);
	release(&fixture);
}

static void sort_in_every_way(void)
{
	struct fixture fixture;

	sort_random(false, 500, 100);
	sort_random(true, 2000, 100);
	/* Given up in the middle of reading: there are chunks that have buffers. */
	init(&fixture, true);
	for (uint32_t i = 0; i < 2000; i++)
		add(&fixture, 2000 - i, i);
	assert_int_equal(record_sorter_finish(&fixture.sorter), 0);
	assert_int_equal(record_sorter_next(&fixture.sorter, &(struct sorted_record){0}), 1);
	release(&fixture);
}

/* What a sanitizer would see at the end, also where there is none. */
static void all_memory_is_given_back(void **state _unused_)
{
	enum { NUM_ROUNDS = 32 };
	size_t before;

	/* The allocator keeps small pieces for the next time, and counts them. */
	for (int i = 0; i < NUM_ROUNDS; i++)
		sort_in_every_way();
	before = mallinfo2().uordblks;
	for (int i = 0; i < NUM_ROUNDS; i++)
		sort_in_every_way();
	/* Less than the smallest allocation of each round. */
	assert_true(mallinfo2().uordblks < before + NUM_ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_in_order_of_their_keys),
		cmocka_unit_test(what_is_sorted_is_one_piece),
		cmocka_unit_test(a_piece_starts_where_keys_fall),
		cmocka_unit_test(what_fits_into_memory_is_not_stored),
		cmocka_unit_test(a_record_may_be_larger_than_memory),
		cmocka_unit_test(a_full_disk_is_reported),
		cmocka_unit_test(all_memory_is_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
