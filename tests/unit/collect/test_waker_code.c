#include "collect/programs/waker_code.h"

#include <string.h>

#include "unit.h"

static const char kallsyms[] = "0000000000000000 A fixed_percpu_data\n"
			       "ffffffff81000d40 T asm_common_interrupt\n"
			       "ffffffff81000d80 T asm_exc_page_fault\n"
			       "ffffffff81000e00 T asm_sysvec_apic_timer_interrupt\n"
			       "ffffffff81000e00 T __alias\n"
			       "nonsense\n"
			       "ffffffff81000e20 T asm_sysvec_call_function\n"
			       "ffffffff81000e40 T later\n"
			       "ffffffff81001000 t try_to_wake_up\n"
			       "ffffffff81001800 T wake_up_process\n"
			       "ffffffffc0000000 t asm_sysvec_x\t[module]\n"
			       "ffffffffc0000010 t after\t[module]\n";

static struct waker_code read_text(const char *text)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct waker_code code;

	assert_int_equal(waker_code_read(file, &code), 0);
	fclose(file);
	return code;
}

static void ranges_reach_to_the_next_address(_unused_ void **state)
{
	struct waker_code code = read_text(kallsyms);

	assert_int_equal(code.wakeup.start, 0xffffffff81001000);
	assert_int_equal(code.wakeup.end, 0xffffffff81001800);
	assert_int_equal(code.interrupts.length, 3);
	assert_int_equal(code.interrupts.items[0].start, 0xffffffff81000d40);
	assert_int_equal(code.interrupts.items[0].end, 0xffffffff81000d80);
	assert_int_equal(code.interrupts.items[1].start, 0xffffffff81000e00);
	assert_int_equal(code.interrupts.items[1].end, 0xffffffff81000e20);
	assert_int_equal(code.interrupts.items[2].end, 0xffffffff81000e40);
	waker_code_release(&code);
}

static void hidden_addresses_give_nothing(_unused_ void **state)
{
	struct waker_code code = read_text("0000000000000000 T asm_common_interrupt\n"
					   "0000000000000000 t try_to_wake_up\n"
					   "0000000000000000 T later\n");
	const uint64_t pcs[] = {0xffffffff81001500, 0xffffffff81000d50};
	struct waker_levels levels = waker_code_find_levels(&code, pcs, 2);

	assert_int_equal(code.interrupts.length, 0);
	assert_int_equal(levels.num_inner, 0);
	assert_int_equal(levels.num_levels, 2);
	assert_false(levels.is_interrupt);
	waker_code_release(&code);
}

static void a_system_call_keeps_what_is_outside_of_the_wakeup(_unused_ void **state)
{
	struct waker_code code = read_text(kallsyms);
	/* Behind the page fault it is in, which is the thread's own doing. */
	const uint64_t pcs[] = {0xffffffff90000000, 0xffffffff81001234, 0xffffffff82000000,
				0xffffffff81000d90, 0xffffffff81000d40};
	struct waker_levels levels = waker_code_find_levels(&code, pcs, 5);

	assert_int_equal(levels.num_inner, 2);
	assert_int_equal(levels.num_levels, 5);
	assert_false(levels.is_interrupt);
	waker_code_release(&code);
}

/* The inner one of two: what it interrupted was an interrupt, too. */
static void what_an_interrupt_interrupted_is_left_out(_unused_ void **state)
{
	struct waker_code code = read_text(kallsyms);
	const uint64_t pcs[] = {0xffffffff81001800, 0xffffffff82000000, 0xffffffff81000e20,
				0xffffffff83000000, 0xffffffff81000d50};
	struct waker_levels levels = waker_code_find_levels(&code, pcs, 5);

	assert_int_equal(levels.num_inner, 1);
	assert_int_equal(levels.num_levels, 3);
	assert_true(levels.is_interrupt);
	waker_code_release(&code);
}

static void an_interrupt_may_come_in_the_middle_of_a_wakeup(_unused_ void **state)
{
	struct waker_code code = read_text(kallsyms);
	const uint64_t pcs[] = {0xffffffff81001234, 0xffffffff82000000, 0xffffffff81000e20,
				0xffffffff81001700, 0xffffffff83000000};
	struct waker_levels levels = waker_code_find_levels(&code, pcs, 5);

	assert_int_equal(levels.num_inner, 1);
	assert_int_equal(levels.num_levels, 3);
	assert_true(levels.is_interrupt);
	waker_code_release(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_reach_to_the_next_address),
		cmocka_unit_test(hidden_addresses_give_nothing),
		cmocka_unit_test(a_system_call_keeps_what_is_outside_of_the_wakeup),
		cmocka_unit_test(what_an_interrupt_interrupted_is_left_out),
		cmocka_unit_test(an_interrupt_may_come_in_the_middle_of_a_wakeup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
