/* What the kernel has of sleeping threads comes as one stream of bytes: how long a record of it is. */
#include "collect/sleepers_program.h"

#include <string.h>

#include "base/attributes.h"
#include "unit.h"
#include "wire/wire.h"

static const size_t stack_head = offsetof(struct wire_stack, pcs);
static const size_t raw_head = offsetof(struct wire_raw_sample, bytes);

static void a_stack_is_as_long_as_it_has_frames(_unused_ void **state)
{
	struct wire_stack stack = {.type = WIRE_STACK, .num_frames = 3};
	size_t size = stack_head + 3 * sizeof(stack.pcs[0]);

	assert_int_equal(sleepers_measure_record(&stack, sizeof(stack)), size);
	assert_int_equal(sleepers_measure_record(&stack, size), size);
	stack.num_frames = 0;
	assert_int_equal(sleepers_measure_record(&stack, size), stack_head);
}

static void a_sample_has_one_size(_unused_ void **state)
{
	struct wire_sample sample = {.type = WIRE_SAMPLE};

	assert_int_equal(sleepers_measure_record(&sample, sizeof(sample)), sizeof(sample));
}

static void a_raw_sample_is_as_long_as_both_parts_of_its_stack(_unused_ void **state)
{
	static struct wire_raw_sample raw = {
		.sample.type = WIRE_RAW_SAMPLE, .num_bytes = 4001, .num_far_bytes = 500};

	assert_int_equal(sleepers_measure_record(&raw, sizeof(raw)), raw_head + 4501);
}

/* However much of it is missing. */
static void a_record_that_is_not_whole_has_no_size_yet(_unused_ void **state)
{
	static struct wire_raw_sample raw = {.sample.type = WIRE_RAW_SAMPLE, .num_bytes = 100};
	struct wire_stack stack = {.type = WIRE_STACK, .num_frames = 3};
	struct wire_sample sample = {.type = WIRE_SAMPLE};

	for (size_t size = 0; size < raw_head + 100; size++)
		assert_int_equal(sleepers_measure_record(&raw, size), 0);
	for (size_t size = 0; size < stack_head + 3 * sizeof(stack.pcs[0]); size++)
		assert_int_equal(sleepers_measure_record(&stack, size), 0);
	for (size_t size = 0; size < sizeof(sample); size++)
		assert_int_equal(sleepers_measure_record(&sample, size), 0);
}

static void what_is_no_record_has_no_size(_unused_ void **state)
{
	static struct wire_raw_sample raw = {.sample.type = WIRE_RAW_SAMPLE,
					     .num_bytes = WIRE_RAW_STACK_BYTES,
					     .num_far_bytes = 1};
	struct wire_stack stack = {.type = WIRE_STACK, .num_frames = WIRE_MAX_FRAMES + 1};
	struct wire_sample sample = {.type = 99};

	assert_int_equal(sleepers_measure_record(&raw, sizeof(raw)), 0);
	assert_int_equal(sleepers_measure_record(&stack, sizeof(stack)), 0);
	assert_int_equal(sleepers_measure_record(&sample, sizeof(sample)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_is_as_long_as_it_has_frames),
		cmocka_unit_test(a_sample_has_one_size),
		cmocka_unit_test(a_raw_sample_is_as_long_as_both_parts_of_its_stack),
		cmocka_unit_test(a_record_that_is_not_whole_has_no_size_yet),
		cmocka_unit_test(what_is_no_record_has_no_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
