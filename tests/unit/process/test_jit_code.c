#include "process/jit_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "code_names.h"
#include "failing_memory.h"
#include "unit.h"

static void add(struct jit_code *code, uint64_t time_ns, uint64_t start, uint64_t size,
		const char *name)
{
	assert_int_equal(jit_code_add(code, time_ns, start, start + size, name, strlen(name)), 0);
}

static void each_time_has_its_name(_unused_ void **state)
{
	struct jit_code *code = jit_code_new();

	add(code, 100, 0x1000, 0x20, "a");
	add(code, 200, 0x1000, 0x20, "b");
	add(code, 300, 0x1000, 0x20, "a");
	assert_code_name(code, 99, 0x1010, NULL);
	assert_code_name(code, 100, 0x1010, "a");
	assert_code_name(code, 199, 0x1010, "a");
	assert_code_name(code, 200, 0x1010, "b");
	assert_code_name(code, 300, 0x1010, "a");
	jit_code_free(code);
}

static void the_first_name_of_an_address_is_that_of_its_oldest_entry(_unused_ void **state)
{
	struct jit_code *code = jit_code_new();
	uint64_t time_ns;

	add(code, 100, 0x1000, 0x20, "small");
	add(code, 200, 0x0, 0x100000, "large");
	add(code, 300, 0x2000, 0x20, "small");
	assert_string_equal(jit_code_find_first(code, 0x1000, &time_ns), "small");
	assert_int_equal(time_ns, 100);
	assert_string_equal(jit_code_find_first(code, 0x2000, &time_ns), "large");
	assert_int_equal(time_ns, 200);
	assert_null(jit_code_find_first(code, 0x100000, &time_ns));
	jit_code_free(code);
}

static void time_never_goes_back(_unused_ void **state)
{
	struct jit_code *code = jit_code_new();

	add(code, 200, 0x1000, 0x20, "a");
	add(code, 100, 0x1000, 0x20, "b");
	assert_code_name(code, 199, 0x1000, NULL);
	assert_code_name(code, 200, 0x1000, "b");
	jit_code_free(code);
}

static void the_last_entry_may_turn_out_to_be_later(_unused_ void **state)
{
	struct jit_code *code = jit_code_new();

	jit_code_delay_last(code, 5);
	add(code, 100, 0x1000, 0x20, "a");
	add(code, 100, 0x1000, 0x20, "b");
	jit_code_delay_last(code, 150);
	jit_code_delay_last(code, 120);
	assert_code_name(code, 149, 0x1000, "a");
	assert_code_name(code, 150, 0x1000, "b");
	jit_code_free(code);
}

static void code_of_any_size_is_found_at_its_edges(_unused_ void **state)
{
	struct jit_code *code = jit_code_new();
	char name[16];

	for (unsigned bits = 0; bits < 62; bits++) {
		uint64_t size = (1ull << bits) + bits;
		uint64_t start = (1ull << 62) - size / 2;

		snprintf(name, sizeof(name), "%u", bits);
		add(code, bits, start, size, name);
		assert_code_name(code, bits, start, name);
		assert_code_name(code, bits, start + size - 1, name);
	}
	assert_int_equal(jit_code_add(code, 100, 0, 1ull << 62, "x", 1), -EFBIG);
	jit_code_free(code);
}

/* Code that was not made again keeps its name beside code that always is. */
static void a_neighbour_that_is_made_again_hides_nothing(_unused_ void **state)
{
	struct jit_code *code = jit_code_new();
	uint64_t time_ns;

	add(code, 0, 0x1000, 0x20, "old");
	for (unsigned i = 1; i < 20000; i++)
		add(code, i, 0x1020, 0x20, "new");
	assert_string_equal(jit_code_find_first(code, 0x1000, &time_ns), "old");
	assert_code_name(code, 20000, 0x1020, "new");
	jit_code_free(code);
}

/* The oracle: for every address and time, the last entry that covers it. */
static void any_overlap_shows_the_newest_at_every_time(_unused_ void **state)
{
	enum { SIZE = 6000, NUM = 60 };
	unsigned seed = 7;

	for (int round = 0; round < 20; round++) {
		struct jit_code *code = jit_code_new();
		uint64_t starts[NUM];
		uint64_t ends[NUM];

		for (unsigned i = 0; i < NUM; i++) {
			char name[16];

			starts[i] = (uint64_t)(rand_r(&seed) % (SIZE - 1));
			ends[i] = starts[i] + 1 +
				  (uint64_t)rand_r(&seed) % (SIZE - starts[i]) / (1 + i % 7);
			snprintf(name, sizeof(name), "%u", i);
			assert_int_equal(
				jit_code_add(code, i, starts[i], ends[i], name, strlen(name)), 0);
		}
		for (uint64_t pc = 0; pc < SIZE; pc += 17) {
			int newest = -1;

			for (unsigned i = 0; i < NUM; i++) {
				const char *name = jit_code_find(code, pc, i + 1);

				if (starts[i] <= pc && pc < ends[i])
					newest = (int)i;
				assert_int_equal(name ? atoi(name) : -1, newest);
			}
		}
		jit_code_free(code);
	}
}

static void short_memory_takes_no_earlier_name(_unused_ void **state)
{
	enum { NUM = 40 };
	bool has_failed = true;

	failing_memory_start(0);
	assert_null(jit_code_new());
	assert_true(failing_memory_end());
	for (int64_t num_before = 0; has_failed; num_before++) {
		struct jit_code *code = jit_code_new();
		char name[32];
		uint64_t i;
		int err = 0;

		failing_memory_start(num_before);
		for (i = 0; i < NUM && !err; i++) {
			snprintf(name, sizeof(name), "the function with number %02d", (int)i);
			err = jit_code_add(code, i, i * 0x3f0, i * 0x3f0 + 0x3f0, name,
					   strlen(name));
		}
		has_failed = failing_memory_end_with(err);
		for (uint64_t j = 0; j < i - has_failed; j++) {
			snprintf(name, sizeof(name), "the function with number %02d", (int)j);
			assert_code_name(code, UINT64_MAX, j * 0x3f0, name);
			assert_code_name(code, UINT64_MAX, j * 0x3f0 + 0x3ef, name);
		}
		assert_code_name(code, UINT64_MAX, NUM * 0x3f0, NULL);
		/* There is some again. */
		add(code, NUM, NUM * 0x3f0, 0x3f0, "later");
		assert_code_name(code, UINT64_MAX, NUM * 0x3f0 + 0x3ef, "later");
		jit_code_free(code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_time_has_its_name),
		cmocka_unit_test(the_first_name_of_an_address_is_that_of_its_oldest_entry),
		cmocka_unit_test(time_never_goes_back),
		cmocka_unit_test(the_last_entry_may_turn_out_to_be_later),
		cmocka_unit_test(code_of_any_size_is_found_at_its_edges),
		cmocka_unit_test(a_neighbour_that_is_made_again_hides_nothing),
		cmocka_unit_test(short_memory_takes_no_earlier_name),
		cmocka_unit_test(any_overlap_shows_the_newest_at_every_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
