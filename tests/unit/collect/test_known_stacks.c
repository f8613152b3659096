#include "collect/stacks/known_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "failing_memory.h"
#include "unit.h"
#include "wire/unwind.h"
#include "wire/wire.h"

static void assert_pcs(const struct known_stacks *stacks, uint64_t hash, const uint64_t *pcs,
		       uint32_t num_pcs)
{
	const struct known_stack *stack = known_stacks_find(stacks, hash);
	uint64_t read[WIRE_MAX_FRAMES];

	assert_non_null(stack);
	assert_int_equal(stack->num_pcs, num_pcs);
	known_stacks_get_pcs(stacks, stack, read);
	if (num_pcs)
		assert_memory_equal(read, pcs, num_pcs * sizeof(*pcs));
}

static void a_stack_comes_back_as_it_was_added(void **state _unused_)
{
	static const uint64_t user[] = {0x401000, 0x401000, 0x400fff, 0x7f0000001234, 0x401010};
	static const uint64_t kernel[] = {0xffffffff81000000, 0xffffffff81000010,
					  0xffff800000000000};
	static const uint64_t ends[] = {0, UINT64_MAX, 0, 1ull << 63, INT64_MAX, 1};
	static const uint64_t marked[] = {0x401000 | WIRE_PC_EXACT, 0x402000 | WIRE_PC_FP_STEP,
					  0x403000};
	struct known_stacks stacks = {0};

	assert_null(known_stacks_find(&stacks, 1));
	assert_int_equal(known_stacks_add(&stacks, 1, user, ARRAY_LENGTH(user)), 0);
	assert_int_equal(known_stacks_add(&stacks, 2, kernel, ARRAY_LENGTH(kernel)), 0);
	assert_int_equal(known_stacks_add(&stacks, 3, NULL, 0), 0);
	assert_int_equal(known_stacks_add(&stacks, 4, ends, ARRAY_LENGTH(ends)), 0);
	assert_int_equal(known_stacks_add(&stacks, 5, marked, ARRAY_LENGTH(marked)), 0);
	assert_pcs(&stacks, 1, user, ARRAY_LENGTH(user));
	assert_pcs(&stacks, 2, kernel, ARRAY_LENGTH(kernel));
	assert_pcs(&stacks, 3, NULL, 0);
	assert_pcs(&stacks, 4, ends, ARRAY_LENGTH(ends));
	assert_pcs(&stacks, 5, marked, ARRAY_LENGTH(marked));
	assert_null(known_stacks_find(&stacks, 6));
	known_stacks_release(&stacks);
}

static void the_first_stack_may_be_empty(void **state _unused_)
{
	struct known_stacks stacks = {0};

	assert_int_equal(known_stacks_add(&stacks, 1, NULL, 0), 0);
	assert_pcs(&stacks, 1, NULL, 0);
	known_stacks_release(&stacks);
}

static uint64_t next_random(void)
{
	return (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
}

static void stacks_of_any_pcs_and_depth_come_back(void **state _unused_)
{
	static uint64_t pcs[40][WIRE_MAX_FRAMES];
	struct known_stacks stacks = {0};

	srand(1);
	for (uint32_t i = 0; i < 40; i++) {
		for (uint32_t k = 0; k < WIRE_MAX_FRAMES; k++)
			pcs[i][k] = next_random() >> (rand() % 64);
		assert_int_equal(known_stacks_add(&stacks, i, pcs[i], WIRE_MAX_FRAMES - i), 0);
	}
	for (uint32_t i = 0; i < 40; i++)
		assert_pcs(&stacks, i, pcs[i], WIRE_MAX_FRAMES - i);
	known_stacks_release(&stacks);
}

/* Calls within a library, each of a few hundred KB. */
static void a_pc_near_the_last_one_takes_three_bytes(void **state _unused_)
{
	uint64_t pcs[100];
	struct known_stacks stacks = {0};

	for (uint32_t i = 0; i < 100; i++)
		pcs[i] = 0x7f1234560000 + (uint64_t)((i * 7919) % 100) * 8192;
	assert_int_equal(known_stacks_add(&stacks, 1, pcs, 100), 0);
	assert_true(stacks.distances.length <= 100 * 3 + 4);
	known_stacks_release(&stacks);
}

/* All pcs are far from each other: 65,535 of them take ten bytes each. */
static void stacks_behind_16_mib_of_others_come_back(void **state _unused_)
{
	static uint64_t pcs[UINT16_MAX];
	struct known_stacks stacks = {0};
	uint64_t num_stacks = 0;

	for (uint32_t i = 0; i < UINT16_MAX; i++)
		pcs[i] = i % 2 ? i : INT64_MAX - i;
	while (stacks.distances.length <= 1u << 24)
		assert_int_equal(known_stacks_add(&stacks, num_stacks++, pcs, UINT16_MAX), 0);
	assert_int_equal(known_stacks_add(&stacks, num_stacks, pcs + 7, 3), 0);
	assert_pcs(&stacks, num_stacks, pcs + 7, 3);
	known_stacks_release(&stacks);
}

static void a_stack_may_start_behind_any_number_of_bytes(void **state _unused_)
{
	struct known_stack stack = {0};

	stack.first_byte--;
	assert_int_equal(stack.first_byte, (1ull << 48) - 1);
	stack.num_pcs--;
	assert_int_equal(stack.num_pcs, UINT16_MAX);
}

/* What one of them lacks memory for leaves nothing behind. */
static void without_memory_a_stack_is_not_known(void **state _unused_)
{
	static const uint64_t pcs[] = {0x401000, 0x7f0000001234};
	struct known_stacks stacks = {0};

	for (uint64_t hash = 0; hash < 100; hash++) {
		int64_t num_before = 0;
		size_t num_bytes = stacks.distances.length;

		for (;; num_before++) {
			int err;

			failing_memory_start(num_before);
			err = known_stacks_add(&stacks, hash, pcs, ARRAY_LENGTH(pcs));
			assert_int_equal(err, failing_memory_end() ? -ENOMEM : 0);
			if (!err)
				break;
			assert_null(known_stacks_find(&stacks, hash));
			assert_int_equal(stacks.distances.length, num_bytes);
		}
		assert_true(hash || num_before > 0);
		assert_pcs(&stacks, hash, pcs, ARRAY_LENGTH(pcs));
	}
	known_stacks_release(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_comes_back_as_it_was_added),
		cmocka_unit_test(the_first_stack_may_be_empty),
		cmocka_unit_test(stacks_of_any_pcs_and_depth_come_back),
		cmocka_unit_test(a_pc_near_the_last_one_takes_three_bytes),
		cmocka_unit_test(stacks_behind_16_mib_of_others_come_back),
		cmocka_unit_test(a_stack_may_start_behind_any_number_of_bytes),
		cmocka_unit_test(without_memory_a_stack_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
