/*
 * The innermost function is about to jump out of several frames, or to another stack: registers
 * that nobody saves say where to.
 */
#include "walk_scene.h"

#include <errno.h>

/* In longjmp, which goes to CALLER; that finds its own frame by a register. */
static struct scene scene_of_longjmp(uint8_t caller_op)
{
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_JUMP, 0), RULE(caller_op, 16));

	scene.stack[0] = 0;
	scene.stack[2] = WORD(40); /* the saved rbx */
	scene.walk.registers.dx = RETURN_INTO(CALLER);
	scene.walk.registers.r8 = WORD(20);
	scene.walk.registers.r9 = WORD(30);
	scene.walk.registers.di = WORD(2);
	return scene;
}

static void longjmp_leads_to_where_setjmp_was_called(_unused_ void **state)
{
	struct scene by_sp = scene_of_longjmp(UNWIND_CFA_SP);
	struct scene by_fp = scene_of_longjmp(UNWIND_CFA_FP);
	struct scene by_bx = scene_of_longjmp(UNWIND_CFA_BX);

	by_sp.stack[21] = by_fp.stack[31] = by_bx.stack[41] = RETURN_INTO(OUTER);
	assert_passes_caller(&by_sp);
	assert_passes_caller(&by_fp);
	assert_passes_caller(&by_bx);
}

static void longjmp_may_lead_to_a_stack_below(_unused_ void **state)
{
	struct scene scene = scene_of_longjmp(UNWIND_CFA_SP);

	scene.walk.registers.sp = WORD(100);
	scene.stack[21] = RETURN_INTO(OUTER);
	assert_passes_caller(&scene);
}

static void longjmp_to_what_is_no_address_of_code_ends_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of_longjmp(UNWIND_CFA_SP);

	scene.walk.registers.dx = WALK_PC_MIN - 1;
	assert_ends_in_inner(&scene, WALK_NO_RETURN_ADDRESS);
}

/* In setcontext, which goes to this address with the registers in the ucontext at WORD(50). */
static struct scene scene_of_setcontext(uint64_t pc, struct unwind_rule target)
{
	static const uint8_t call[] = {0xe8, 1, 2, 3, 4};
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_CONTEXT, 0), target);

	memcpy(scene.code + (RETURN_INTO(CALLER) - CODE) - sizeof(call), call, sizeof(call));
	scene.walk.registers.dx = WORD(50);
	scene.stack[50 + WALK_CONTEXT_PC / 8] = pc;
	scene.stack[50 + WALK_CONTEXT_SP / 8] = WORD(10);
	scene.stack[50 + WALK_CONTEXT_FP / 8] = WORD(20);
	scene.stack[50 + WALK_CONTEXT_BX / 8] = WORD(30);
	return scene;
}

static void setcontext_leads_to_where_getcontext_was_called(_unused_ void **state)
{
	static const uint8_t ops[] = {UNWIND_CFA_SP, UNWIND_CFA_FP, UNWIND_CFA_BX};

	for (size_t i = 0; i < ARRAY_LENGTH(ops); i++) {
		struct scene scene = scene_of_setcontext(RETURN_INTO(CALLER), RULE(ops[i], 16));

		scene.stack[10 * (i + 1) + 1] = RETURN_INTO(OUTER);
		assert_passes_caller(&scene);
	}
}

static void setcontext_may_lead_to_the_first_byte_of_a_function(_unused_ void **state)
{
	struct scene scene = scene_of_setcontext(START_OF(CALLER), RULE(UNWIND_CFA_SP, 8));

	scene.stack[10] = RETURN_INTO(OUTER);
	ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), EXACT(START_OF(CALLER)),
		    RETURN_INTO(OUTER));
}

static void a_context_that_cannot_be_read_ends_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of_setcontext(RETURN_INTO(CALLER), RULE(UNWIND_CFA_SP, 8));

	scene.walk.registers.dx = UNREADABLE;
	assert_ends_in_inner(&scene, WALK_READ_FAILED);
}

/* Behind the system call of clone(), with this result of it. */
static struct scene scene_of_clone(uint64_t result)
{
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_CLONE, 8), RULE(UNWIND_CFA_SP, 8));

	scene.walk.registers.ax = result;
	scene.stack[1] = RETURN_INTO(OUTER);
	return scene;
}

static void a_new_thread_starts_behind_the_call_of_clone(_unused_ void **state)
{
	struct scene scene = scene_of_clone(0);

	assert_ends_in_inner(&scene, WALK_COMPLETE);
}

static void who_has_made_a_thread_has_a_caller(_unused_ void **state)
{
	struct scene during_call = scene_of_clone((uint64_t)-ENOSYS);
	struct scene after_call = scene_of_clone(4711);

	assert_passes_caller(&during_call);
	assert_passes_caller(&after_call);
}

static void an_outer_frame_behind_the_call_of_clone_is_not_known_to_be_new(_unused_ void **state)
{
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8), RULE(UNWIND_CFA_CLONE, 8));

	scene.stack[1] = RETURN_INTO(OUTER);
	assert_passes_caller(&scene);
}

/* A landing pad of OUTER, which is no address that a call returns to. */
#define LANDING_PAD (START_OF(OUTER) + 0x80)

static void the_frame_of_a_landing_pad_may_lie_at_rcx(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_CX, 8));

	scene.walk.registers.cx = WORD(6);
	scene.stack[6] = LANDING_PAD;
	ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), EXACT(LANDING_PAD));
	assert_true(scene.walk.registers.sp == WORD(7));
}

static void the_address_of_a_landing_pad_may_be_in_rcx(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_SP, 0, .ra_op = UNWIND_RA_IN_CX));

	scene.walk.registers.cx = LANDING_PAD;
	ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), EXACT(LANDING_PAD));
}

static void a_landing_pad_may_be_the_first_byte_of_a_cold_part(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_SP, 0, .ra_op = UNWIND_RA_IN_CX));

	scene.rules[OUTER - 1] = RULE(UNWIND_CFA_UNSUPPORTED, 0);
	scene.walk.registers.cx = START_OF(OUTER);
	ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), EXACT(START_OF(OUTER)));
}

static void these_registers_of_an_outer_frame_are_not_known(_unused_ void **state)
{
	const struct unwind_rule rules[] = {
		RULE(UNWIND_CFA_JUMP, 0),
		RULE(UNWIND_CFA_CONTEXT, 0),
		RULE(UNWIND_CFA_CX, 8),
		RULE(UNWIND_CFA_SP, 8, .ra_op = UNWIND_RA_IN_CX),
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rules); i++) {
		struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8), rules[i]);

		scene.walk.registers.dx = scene.walk.registers.cx = RETURN_INTO(OUTER);
		assert_ends_in_caller(&scene, WALK_UNSUPPORTED);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(longjmp_leads_to_where_setjmp_was_called),
		cmocka_unit_test(longjmp_may_lead_to_a_stack_below),
		cmocka_unit_test(longjmp_to_what_is_no_address_of_code_ends_the_walk),
		cmocka_unit_test(setcontext_leads_to_where_getcontext_was_called),
		cmocka_unit_test(setcontext_may_lead_to_the_first_byte_of_a_function),
		cmocka_unit_test(a_context_that_cannot_be_read_ends_the_walk),
		cmocka_unit_test(a_new_thread_starts_behind_the_call_of_clone),
		cmocka_unit_test(who_has_made_a_thread_has_a_caller),
		cmocka_unit_test(an_outer_frame_behind_the_call_of_clone_is_not_known_to_be_new),
		cmocka_unit_test(the_frame_of_a_landing_pad_may_lie_at_rcx),
		cmocka_unit_test(the_address_of_a_landing_pad_may_be_in_rcx),
		cmocka_unit_test(a_landing_pad_may_be_the_first_byte_of_a_cold_part),
		cmocka_unit_test(these_registers_of_an_outer_frame_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
