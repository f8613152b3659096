/* Stacks of waits with their wakers, where memory is short. */
#include "collect/stacks/wakers.h"

#include <errno.h>
#include <string.h>

#include "failing_memory.h"
#include "unit.h"
#include "wire/wire.h"

/* The interrupts of the kernel, which wakers take over. */
static struct waker_code make_code(void)
{
	struct waker_code code = {.wakeup = {.start = 0x1000, .end = 0x2000}};
	struct code_range *added = array_add(&code.interrupts);

	assert_non_null(added);
	*added = (struct code_range){.start = 0x3000, .end = 0x4000};
	return code;
}

/* The names of a stack, from the inside out. */
static void assert_names(const struct profile *profile, uint32_t stack, const char *expected)
{
	char names[256] = "";

	for (; stack != STACK_EMPTY; stack = profile_get_stack_parent(profile, stack)) {
		const struct location *location =
			profile_get_location(profile, profile_get_stack_location(profile, stack));
		const char *name = profile_get_string(
			profile, profile_get_frame(profile, location->first_frame)->name);

		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s|", name);
	}
	assert_string_equal(names, expected);
}

/* The interrupts belong to the wakers also where these lack memory. */
static void wakers_without_memory_are_released_as_others(void **state _unused_)
{
	int64_t num_before = 0;
	bool is_short;

	do {
		struct profile *profile = profile_new();
		struct waker_code code = make_code();
		struct wakers wakers;
		int err;

		failing_memory_start(num_before++);
		err = wakers_init(&wakers, profile, &code);
		is_short = failing_memory_end();
		assert_int_equal(err, is_short ? -ENOMEM : 0);
		wakers_release(&wakers);
		profile_free(profile);
	} while (is_short);
	assert_true(num_before > 2);
}

/* More than a small array has room for. */
#define NUM_LEVELS 300

/* A wait for a futex that a thread with a deep stack has ended. */
static int put_all(struct wakers *wakers, uint32_t waker_stack, uint32_t comm, uint32_t *ret,
		   struct waker *ret_waker)
{
	const struct waker waker = {
		.wakeup = 5, .stack = waker_stack, .comm = comm, .pid = 7, .tid = 8};
	int err;

	*ret = STACK_EMPTY;
	err = wakers_add_futex(wakers, 0x1234, ret);
	if (err)
		return err;
	wakers_note(wakers, &waker);
	return wakers_add_to(wakers, 5, ret, ret_waker);
}

static void a_stack_that_lacked_memory_can_be_made_again(void **state _unused_)
{
	int64_t num_before = 0;
	bool is_short;

	do {
		struct profile *profile = profile_new();
		struct frame frame = {0};
		uint32_t location, waker_stack, comm, stack, levels = STACK_EMPTY;
		struct waker_code code = make_code();
		struct wakers wakers;
		struct waker waker;
		int err;

		assert_int_equal(wakers_init(&wakers, profile, &code), 0);
		assert_int_equal(profile_add_string(profile, "ender", &comm), 0);
		assert_int_equal(profile_add_frame_name(profile, "wake", 4, &frame.name), 0);
		frame.full_name = frame.name;
		assert_int_equal(profile_add_frame_location(profile, &frame, &location), 0);
		waker_stack = STACK_EMPTY;
		for (int i = 0; i < NUM_LEVELS; i++)
			assert_int_equal(
				profile_add_stack(profile, waker_stack, location, &waker_stack), 0);
		failing_memory_start(num_before++);
		err = put_all(&wakers, waker_stack, comm, &stack, &waker);
		is_short = failing_memory_end();
		assert_int_equal(err, is_short ? -ENOMEM : 0);
		if (err)
			assert_int_equal(put_all(&wakers, waker_stack, comm, &stack, &waker), 0);
		assert_int_equal(waker.tid, 8);
		for (int i = 0; i < NUM_LEVELS - 1; i++)
			levels = profile_get_stack_parent(profile, i ? levels : stack);
		/* All but its name and the innermost level. */
		assert_names(profile, profile_get_stack_parent(profile, levels),
			     "wake|" WAKER_SEPARATOR "|[futex 0x1234]|");
		wakers_release(&wakers);
		profile_free(profile);
	} while (is_short);
	assert_true(num_before > 2);
}

static void a_waker_that_is_expected_is_not_known_yet(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct waker_code code = make_code();
	struct waker expected = {.wakeup = 5, .is_expected = true};
	struct waker waker = {.wakeup = 5, .stack = STACK_EMPTY, .tid = 8};
	struct wakers wakers;
	struct waker found;
	uint32_t stack = STACK_EMPTY;

	assert_int_equal(wakers_init(&wakers, profile, &code), 0);
	assert_int_equal(profile_add_string(profile, "ender", &waker.comm), 0);
	wakers_note(&wakers, &expected);
	assert_true(wakers_expect(&wakers, 5));
	assert_false(wakers_expect(&wakers, 6));
	assert_int_equal(wakers_add_to(&wakers, 5, &stack, &found), 0);
	assert_int_equal(found.wakeup, 0);
	assert_names(profile, stack, WAKER_UNKNOWN_NAME "|" WAKER_SEPARATOR "|");
	assert_true(wakers_expect(&wakers, 5));
	wakers_note(&wakers, &waker);
	assert_false(wakers_expect(&wakers, 5));
	wakers_forget(&wakers, 5); /* it is there */
	stack = STACK_EMPTY;
	assert_int_equal(wakers_add_to(&wakers, 5, &stack, &found), 0);
	assert_int_equal(found.tid, 8);
	wakers_note(&wakers, &expected);
	wakers_forget(&wakers, 6);
	assert_true(wakers_expect(&wakers, 5));
	wakers_forget(&wakers, 5);
	assert_false(wakers_expect(&wakers, 5));
	wakers_release(&wakers);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wakers_without_memory_are_released_as_others),
		cmocka_unit_test(a_stack_that_lacked_memory_can_be_made_again),
		cmocka_unit_test(a_waker_that_is_expected_is_not_known_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
