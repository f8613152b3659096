#include "collect/programs/scheduler_code.h"

#include <string.h>

#include "unit.h"

static struct scheduler_code read_text(const char *text)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct scheduler_code code = scheduler_code_read(file);

	fclose(file);
	return code;
}

static void the_scheduler_reaches_to_the_next_symbol(_unused_ void **state)
{
	struct scheduler_code code = read_text("0000000000000000 A fixed_percpu_data\n"
					       "ffffffff81000100 t __schedule_not\n"
					       "ffffffff81000200 t __schedule\n"
					       "ffffffff81000200 T __alias\n"
					       "nonsense\n"
					       "ffffffff81000900 T schedule\n"
					       "ffffffff81000a00 T later\n");

	assert_int_equal(code.start, 0xffffffff81000200);
	assert_int_equal(code.end, 0xffffffff81000900);
}

static void the_code_of_the_scheduler_has_marks_around_it(_unused_ void **state)
{
	struct scheduler_code code = read_text("ffffffff81000100 T __sched_text_start\n"
					       "ffffffff81000200 t __schedule\n"
					       "ffffffff81000900 T schedule\n"
					       "ffffffff81000f00 T __sched_text_end\n");
	struct scheduler_code unmarked = read_text("ffffffff81000200 t __schedule\n"
						   "ffffffff81000900 T schedule\n"
						   "ffffffff81000f00 T later\n");
	struct scheduler_code outside = read_text("ffffffff81000200 t __schedule\n"
						  "ffffffff81000900 T schedule\n"
						  "ffffffff81000a00 T __sched_text_start\n"
						  "ffffffff81000f00 T __sched_text_end\n");

	assert_int_equal(code.end, 0xffffffff81000900);
	assert_int_equal(code.text_start, 0xffffffff81000100);
	assert_int_equal(code.text_end, 0xffffffff81000f00);
	assert_int_equal(unmarked.end, 0xffffffff81000900);
	assert_int_equal(unmarked.text_end, 0);
	assert_int_equal(outside.end, 0xffffffff81000900);
	assert_int_equal(outside.text_start, 0);
	assert_int_equal(outside.text_end, 0);
}

static void hidden_addresses_and_a_missing_symbol_give_nothing(_unused_ void **state)
{
	struct scheduler_code hidden = read_text("0000000000000000 t __schedule\n"
						 "0000000000000000 T schedule\n");
	struct scheduler_code missing = read_text("ffffffff81000900 T schedule\n");

	assert_int_equal(hidden.end, 0);
	assert_int_equal(missing.end, 0);
}

static void the_levels_down_to_the_scheduler_are_counted(_unused_ void **state)
{
	const struct scheduler_code code = {.start = 0x1000, .end = 0x2000};
	const uint64_t pcs[] = {0x9000, 0x9100, 0x1500, 0x2100, 0x3000};
	/* A return address behind the function's last call; and one before its first. */
	const uint64_t at_end[] = {0x9000, 0x2000};
	const uint64_t at_start[] = {0x9000, 0x1000};

	assert_int_equal(scheduler_code_count(&code, pcs, 5), 3);
	assert_int_equal(scheduler_code_count(&code, pcs, 2), 0);
	assert_int_equal(scheduler_code_count(&code, at_end, 2), 2);
	assert_int_equal(scheduler_code_count(&code, at_start, 2), 0);
}

/* So deep is nothing that takes a stack. */
static void the_scheduler_is_among_the_inner_levels(_unused_ void **state)
{
	const struct scheduler_code code = {.start = 0x1000, .end = 0x2000};
	uint64_t pcs[17] = {0};

	pcs[15] = 0x1500;
	assert_int_equal(scheduler_code_count(&code, pcs, 17), 16);
	pcs[15] = 0;
	pcs[16] = 0x1500;
	assert_int_equal(scheduler_code_count(&code, pcs, 17), 0);
}

static void where_the_scheduler_is_not_known_nothing_is_counted(_unused_ void **state)
{
	const struct scheduler_code unknown = {0};

	assert_int_equal(scheduler_code_count(&unknown, (const uint64_t[]){0x1500, 0}, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_scheduler_reaches_to_the_next_symbol),
		cmocka_unit_test(the_code_of_the_scheduler_has_marks_around_it),
		cmocka_unit_test(hidden_addresses_and_a_missing_symbol_give_nothing),
		cmocka_unit_test(the_levels_down_to_the_scheduler_are_counted),
		cmocka_unit_test(the_scheduler_is_among_the_inner_levels),
		cmocka_unit_test(where_the_scheduler_is_not_known_nothing_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
