#include "collect/kernel/raw_stack.h"

#include "unit.h"

#include <stdlib.h>

#include "base/attributes.h"

#define HANDLER_STACK 0x602000ull       /* what is left of it: 32 words */
#define STACK         0x7ffc00001000ull /* from where it was interrupted: 8 words */
#define HANDLER       0x401000ull

enum { HANDLER_WORDS = 32, STACK_WORDS = 8 };
enum { RECORD_SIZE = offsetof(struct wire_raw_sample, bytes) + (HANDLER_WORDS + STACK_WORDS) * 8 };

/* A handler runs on its own stack. */
static struct wire_raw_sample *make_record(void)
{
	struct wire_raw_sample *record = calloc(1, sizeof(*record));

	assert_non_null(record);
	record->registers.pc = HANDLER;
	record->registers.sp = HANDLER_STACK;
	record->num_bytes = HANDLER_WORDS * 8;
	record->far_sp = STACK;
	record->num_far_bytes = STACK_WORDS * 8;
	record->entry_bytes = 8;
	record->cfa_offset = 16;
	record->frame_setup = 1;
	record->has_signal_stack = 1;
	record->signal_stack = 0x600000;
	record->signal_stack_bytes = 0x3000;
	return record;
}

static void a_replay_gets_both_stacks(void **state _unused_)
{
	struct wire_raw_sample *record = make_record();
	struct replay_stack stack = raw_stack_for_replay(record);

	assert_int_equal(stack.registers.pc, HANDLER);
	assert_int_equal(stack.entry_bytes, 8);
	assert_int_equal(stack.cfa_offset, 16);
	assert_int_equal(stack.frame_setup, 1);
	assert_true(stack.has_signal_stack);
	assert_int_equal(stack.signal_stack, 0x600000);
	assert_int_equal(stack.signal_stack_bytes, 0x3000);
	assert_int_equal(stack.stack.address, HANDLER_STACK);
	assert_int_equal(stack.stack.size, HANDLER_WORDS * 8);
	assert_ptr_equal(stack.stack.bytes, record->bytes);
	assert_int_equal(stack.far.address, STACK);
	assert_int_equal(stack.far.size, STACK_WORDS * 8);
	assert_ptr_equal(stack.far.bytes, record->bytes + HANDLER_WORDS * 8);
	free(record);
}

static void a_record_is_whole_when_it_holds_both_stacks(void **state _unused_)
{
	struct wire_raw_sample *record = make_record();

	assert_int_equal(raw_stack_get_size(record), (HANDLER_WORDS + STACK_WORDS) * 8);
	assert_true(raw_stack_is_whole(record, RECORD_SIZE));
	assert_true(raw_stack_is_whole(record, RECORD_SIZE + 4)); /* rings round up */
	assert_false(raw_stack_is_whole(record, RECORD_SIZE - 1));
	assert_false(raw_stack_is_whole(record, sizeof(struct wire_sample)));
	free(record);
}

static void sizes_that_no_record_has_are_refused(void **state _unused_)
{
	struct wire_raw_sample *record = make_record();

	record->num_far_bytes = WIRE_RAW_STACK_BYTES;
	assert_false(raw_stack_is_whole(record, SIZE_MAX));
	/* Both together take all the room, or more. */
	record->num_bytes = WIRE_RAW_STACK_BYTES - 8;
	record->num_far_bytes = 8;
	assert_true(raw_stack_is_whole(record, SIZE_MAX));
	record->num_far_bytes = 9;
	assert_false(raw_stack_is_whole(record, SIZE_MAX));
	record->num_bytes = WIRE_RAW_STACK_BYTES;
	record->num_far_bytes = 0;
	assert_true(raw_stack_is_whole(record, SIZE_MAX));
	record->num_bytes = UINT32_MAX;
	record->num_far_bytes = 2;
	assert_false(raw_stack_is_whole(record, SIZE_MAX));
	free(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_replay_gets_both_stacks),
		cmocka_unit_test(a_record_is_whole_when_it_holds_both_stacks),
		cmocka_unit_test(sizes_that_no_record_has_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
