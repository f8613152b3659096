#include "base/spool.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "test_folder.h"
#include "unit.h"

/* Several blocks. */
#define MANY 100000u

struct item {
	uint64_t key;
	uint64_t number;
};

static int compare_items(const void *a, const void *b)
{
	const struct item *left = a;
	const struct item *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

static struct spool *make_spool(int (*compare)(const void *, const void *))
{
	struct spool *spool;

	assert_int_equal(
		spool_new(test_parent_folder(), sizeof(struct item), compare, &spool, NULL), 0);
	return spool;
}

static void items_are_read_as_they_were_added_and_again(void **state _unused_)
{
	struct spool *spool = make_spool(NULL);
	struct item item;

	for (uint64_t i = 0; i < MANY; i++)
		spool_add(spool, &(struct item){.key = MANY - i, .number = i});
	for (int round = 0; round < 2; round++) {
		assert_int_equal(spool_rewind(spool), 0);
		for (uint64_t i = 0; i < MANY; i++) {
			assert_int_equal(spool_next(spool, &item), 1);
			assert_int_equal(item.number, i);
		}
		assert_int_equal(spool_next(spool, &item), 0);
	}
	assert_int_equal(spool_get_counts(spool).kept, MANY);
	spool_free(spool);
}

/* Most come in order, some much later; once nothing is in order at all. */
static void check_order(uint64_t (*choose_key)(uint64_t))
{
	struct spool *spool = make_spool(compare_items);
	struct item item;
	struct item last = {0};
	uint64_t sum = 0;

	for (uint64_t i = 0; i < MANY; i++)
		spool_add(spool, &(struct item){.key = choose_key(i), .number = i});
	assert_int_equal(spool_rewind(spool), 0);
	for (uint64_t i = 0; i < MANY; i++) {
		assert_int_equal(spool_next(spool, &item), 1);
		assert_true(item.key > last.key ||
			    (item.key == last.key && (i == 0 || item.number > last.number)));
		last = item;
		sum += item.number;
	}
	assert_int_equal(spool_next(spool, &item), 0);
	assert_int_equal(sum, (uint64_t)MANY * (MANY - 1) / 2);
	spool_free(spool);
}

static uint64_t some_late(uint64_t i)
{
	return i % 1000 == 7 && i > 70000 ? i - 70000 : i;
}

static uint64_t backwards(uint64_t i)
{
	return (MANY - i) / 3;
}

static void items_that_come_late_are_read_in_their_place(void **state _unused_)
{
	check_order(some_late);
}

static void items_that_come_backwards_are_read_in_order_and_equal_ones_as_they_came(
	void **state _unused_)
{
	check_order(backwards);
}

static void an_empty_spool_has_no_items(void **state _unused_)
{
	struct spool *spool = make_spool(compare_items);
	struct item item;

	assert_int_equal(spool_rewind(spool), 0);
	assert_int_equal(spool_next(spool, &item), 0);
	spool_free(spool);
}

/* A limit of the file's size is as good as a full disk. */
static void what_the_file_does_not_take_is_counted_and_the_rest_is_read(void **state _unused_)
{
	struct rlimit before;
	struct rlimit limit;
	struct spool *spool = make_spool(NULL);
	struct spool_counts counts;
	struct item item;
	uint64_t count = 0;
	uint64_t last = 0;
	int got;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = MANY / 2 * sizeof(item);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (uint64_t i = 0; i < MANY; i++)
		spool_add(spool, &(struct item){.number = i});
	assert_int_equal(spool_rewind(spool), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	while ((got = spool_next(spool, &item)) > 0) {
		assert_true(!count || item.number > last);
		last = item.number;
		count++;
	}
	assert_int_equal(got, 0);
	counts = spool_get_counts(spool);
	assert_int_equal(counts.kept, count);
	assert_true(count > 0 && count <= MANY / 2);
	assert_int_equal(counts.kept + counts.lost, MANY);
	assert_int_equal(counts.lost_errno, EFBIG);
	spool_free(spool);
}

static void a_folder_that_is_not_there_is_named(void **state _unused_)
{
	struct spool *spool;
	struct error error;

	assert_int_equal(spool_new("/nowhere/at/all", 8, NULL, &spool, &error), -ENOENT);
	assert_non_null(strstr(error.message, "/nowhere/at/all"));
	assert_non_null(strstr(error.message, "TMPDIR"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_read_as_they_were_added_and_again),
		cmocka_unit_test(items_that_come_late_are_read_in_their_place),
		cmocka_unit_test(
			items_that_come_backwards_are_read_in_order_and_equal_ones_as_they_came),
		cmocka_unit_test(an_empty_spool_has_no_items),
		cmocka_unit_test(what_the_file_does_not_take_is_counted_and_the_rest_is_read),
		cmocka_unit_test(a_folder_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
