/*
 * The innermost function has no rule: it is left when it looks as if it had just been entered.
 */
#include "walk_scene.h"

/* The instruction before the return address into CALLER. */
static void put_call(struct scene *scene, const uint8_t *code, size_t size)
{
	memcpy(scene->code + (RETURN_INTO(CALLER) - CODE) - size, code, size);
}

/* INNER has no rule, its caller's address is on top of the stack, and a call precedes that. */
static struct scene scene_of_entry(void)
{
	static const uint8_t call[] = {0xe8, 1, 2, 3, 4};
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_NONE, 0), RULE(UNWIND_CFA_SP, 8));

	put_call(&scene, call, sizeof(call));
	scene.stack[1] = RETURN_INTO(OUTER);
	return scene;
}

static void assert_enters_caller(struct scene *scene)
{
	ASSERT_WALK(scene, WALK_COMPLETE, ENTRY_STEP(EXACT(START_OF(INNER) + 4)),
		    RETURN_INTO(CALLER), RETURN_INTO(OUTER));
}

static void the_return_address_on_top_of_the_stack_leads_to_the_caller(_unused_ void **state)
{
	struct scene scene = scene_of_entry();

	assert_enters_caller(&scene);
	assert_int_equal(scene.walk.num_fp_steps, 0);
}

static void a_pushed_frame_pointer_may_be_on_top_of_the_return_address(_unused_ void **state)
{
	static const uint8_t prologues[][4] = {{0x55, 0x48, 0x89, 0xe5}, {0x55, 0x48, 0x8b, 0xec}};

	for (size_t i = 0; i < ARRAY_LENGTH(prologues); i++) {
		struct scene scene = scene_of_entry();

		memcpy(scene.code + (START_OF(INNER) + 3 - CODE), prologues[i], 4);
		scene.walk.registers.fp = scene.stack[0] = WORD(6);
		scene.stack[1] = RETURN_INTO(CALLER);
		scene.rules[CALLER] = RULE(UNWIND_CFA_FP, 16);
		scene.stack[7] = RETURN_INTO(OUTER);
		assert_enters_caller(&scene);
		assert_int_equal(scene.walk.num_fp_steps, 0);
	}
}

static void a_frame_pointer_that_was_left_on_the_stack_is_not_looked_behind(_unused_ void **state)
{
	struct scene scene = scene_of_entry();

	scene.walk.registers.fp = scene.stack[0] = WORD(6);
	scene.stack[1] = RETURN_INTO(CALLER);
	assert_ends_in_inner(&scene, WALK_NO_RULE);
}

static void a_call_may_be_indirect(_unused_ void **state)
{
	static const struct {
		uint8_t code[7];
		size_t size;
	} calls[] = {
		{{0xff, 0xd0}, 2},                         /* call *%rax */
		{{0xff, 0x50, 0x18}, 3},                   /* call *0x18(%rax) */
		{{0xff, 0x54, 0x24, 0x08}, 4},             /* call *8(%rsp) */
		{{0xff, 0x15, 0x10, 0x20, 0x30, 0x40}, 6}, /* call *0x40302010(%rip) */
		/* call *0x40302010(%rax,%rax,8) */
		{{0xff, 0x94, 0xc0, 0x10, 0x20, 0x30, 0x40}, 7},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(calls); i++) {
		struct scene scene = scene_of_entry();

		memset(scene.code, 0, sizeof(scene.code));
		put_call(&scene, calls[i].code, calls[i].size);
		assert_enters_caller(&scene);
	}
}

static void an_address_that_follows_no_call_is_no_return_address(_unused_ void **state)
{
	static const uint8_t jump[] = {0xff, 0xe0}; /* jmp *%rax */
	struct scene scene = scene_of_entry();

	memset(scene.code, 0, sizeof(scene.code));
	assert_ends_in_inner(&scene, WALK_NO_RULE);
	scene = scene_of_entry();
	memset(scene.code, 0, sizeof(scene.code));
	put_call(&scene, jump, sizeof(jump));
	assert_ends_in_inner(&scene, WALK_NO_RULE);
}

static void what_is_no_address_of_code_is_no_return_address(_unused_ void **state)
{
	static const uint64_t values[] = {0,
					  WALK_PC_MIN - 1,
					  UNREADABLE,
					  RETURN_INTO(CALLER) | WIRE_PC_EXACT,
					  RETURN_INTO(CALLER) | WIRE_PC_FP_STEP,
					  RETURN_INTO(CALLER) | WIRE_PC_ENTRY_STEP};

	for (size_t i = 0; i < ARRAY_LENGTH(values); i++) {
		struct scene scene = scene_of_entry();

		scene.stack[0] = values[i];
		assert_ends_in_inner(&scene, WALK_NO_RULE);
	}
}

static void a_stack_that_cannot_be_read_has_no_return_address(_unused_ void **state)
{
	struct scene scene = scene_of_entry();

	scene.walk.registers.sp = UNREADABLE;
	assert_ends_in_inner(&scene, WALK_NO_RULE);
}

static void a_function_that_has_called_another_one_is_not_at_its_entry(_unused_ void **state)
{
	struct scene scene = scene_of_entry();

	scene.rules[INNER] = RULE(UNWIND_CFA_SP, 8);
	scene.rules[CALLER] = RULE(UNWIND_CFA_NONE, 0);
	scene.stack[1] = RETURN_INTO(CALLER);
	assert_ends_in_caller(&scene, WALK_NO_RULE);
}

static void what_a_signal_interrupted_is_not_taken_for_an_entry(_unused_ void **state)
{
	struct scene scene = scene_of_signal(RULE(UNWIND_CFA_NONE, 0));
	static const uint8_t call[] = {0xe8, 1, 2, 3, 4};

	put_call(&scene, call, sizeof(call));
	scene.stack[40] = RETURN_INTO(CALLER);
	ASSERT_WALK(&scene, WALK_NO_RULE, EXACT(START_OF(INNER) + 4), EXACT(START_OF(CALLER)));
}

static void the_entry_comes_before_the_frame_pointer_which_is_still_the_callers(
	_unused_ void **state)
{
	struct scene scene = scene_of_entry();

	scene.mappings[0].flags |= UNWIND_MAPPING_HAS_NO_CFI;
	scene.rules[CALLER] = RULE(UNWIND_CFA_FP, 16);
	scene.walk.registers.fp = WORD(6);
	scene.stack[7] = RETURN_INTO(OUTER);
	assert_enters_caller(&scene);
	assert_int_equal(scene.walk.num_fp_steps, 0);
}

static void a_function_without_entry_is_left_by_the_frame_pointer(_unused_ void **state)
{
	struct scene scene = scene_of_entry();

	scene.mappings[0].flags |= UNWIND_MAPPING_HAS_NO_CFI;
	memset(scene.code, 0, sizeof(scene.code));
	scene.walk.registers.fp = WORD(3);
	scene.stack[4] = RETURN_INTO(OUTER);
	ASSERT_WALK(&scene, WALK_COMPLETE, FP_STEP(EXACT(START_OF(INNER) + 4)), RETURN_INTO(OUTER));
	assert_int_equal(scene.walk.num_fp_steps, 1);
}

static void code_without_table_is_not_taken_for_an_entry(_unused_ void **state)
{
	struct scene scene = scene_of_entry();

	scene.walk.registers.pc = JIT + 4;
	assert_ends_in_jit(&scene, WALK_FP_CHAIN);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_return_address_on_top_of_the_stack_leads_to_the_caller),
		cmocka_unit_test(a_pushed_frame_pointer_may_be_on_top_of_the_return_address),
		cmocka_unit_test(a_frame_pointer_that_was_left_on_the_stack_is_not_looked_behind),
		cmocka_unit_test(a_call_may_be_indirect),
		cmocka_unit_test(an_address_that_follows_no_call_is_no_return_address),
		cmocka_unit_test(what_is_no_address_of_code_is_no_return_address),
		cmocka_unit_test(a_stack_that_cannot_be_read_has_no_return_address),
		cmocka_unit_test(a_function_that_has_called_another_one_is_not_at_its_entry),
		cmocka_unit_test(what_a_signal_interrupted_is_not_taken_for_an_entry),
		cmocka_unit_test(
			the_entry_comes_before_the_frame_pointer_which_is_still_the_callers),
		cmocka_unit_test(a_function_without_entry_is_left_by_the_frame_pointer),
		cmocka_unit_test(code_without_table_is_not_taken_for_an_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
