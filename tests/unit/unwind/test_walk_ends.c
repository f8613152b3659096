#include "base/array.h"
#include "walk_scene.h"

static void a_register_that_cannot_be_read_does_no_harm_unless_it_is_needed(_unused_ void **state)
{
	struct unwind_rule inner = {.fp_op = UNWIND_REGISTER_AT_CFA,
				    .fp_offset = INT16_MIN,
				    .bx_op = UNWIND_REGISTER_AT_CFA,
				    .bx_offset = INT16_MIN};
	struct scene by_fp = scene_of_register(UNWIND_CFA_FP, inner);
	struct scene by_bx = scene_of_register(UNWIND_CFA_BX, inner);
	struct scene by_sp = scene_of_register(UNWIND_CFA_SP, inner);

	assert_ends_in_caller(&by_fp, WALK_READ_FAILED);
	assert_ends_in_caller(&by_bx, WALK_READ_FAILED);
	by_sp.stack[2] = RETURN_INTO(OUTER);
	assert_passes_caller(&by_sp);
}

static void a_saved_register_passes_frames_that_leave_it_alone(_unused_ void **state)
{
	struct scene scene = scene_of_two(
		RULE(UNWIND_CFA_SP, 16, .fp_op = UNWIND_REGISTER_AT_CFA, .fp_offset = -16),
		RULE(UNWIND_CFA_SP, 8));

	scene.rules[2] = RULE(UNWIND_CFA_FP, 16);
	scene.stack[0] = WORD(30);
	scene.stack[1] = RETURN_INTO(CALLER);
	scene.stack[2] = RETURN_INTO(2);
	scene.stack[31] = RETURN_INTO(OUTER);
	ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), RETURN_INTO(CALLER),
		    RETURN_INTO(2), RETURN_INTO(OUTER));
}

static void the_return_address_may_be_in_rdi(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_SP, 0, .ra_op = UNWIND_RA_IN_DI));

	scene.walk.registers.di = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
	assert_true(scene.walk.registers.sp == STACK);
}

static void rdi_of_an_outer_frame_is_not_known(_unused_ void **state)
{
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8),
					  RULE(UNWIND_CFA_SP, 8, .ra_op = UNWIND_RA_IN_DI));

	scene.walk.registers.di = scene.stack[1] = RETURN_INTO(OUTER);
	assert_ends_in_caller(&scene, WALK_UNSUPPORTED);
}

static void a_chain_of_frame_pointers_is_followed_where_there_are_no_rules(_unused_ void **state)
{
	struct scene scene = scene_in_jit(STACK);

	scene.stack[0] = WORD(10);
	scene.stack[1] = JIT + 0x80;
	scene.stack[10] = WORD(20);
	scene.stack[11] = RETURN_INTO(CALLER);
	scene.rules[CALLER] = RULE(UNWIND_CFA_FP, 16);
	scene.stack[21] = RETURN_INTO(OUTER);
	ASSERT_WALK(&scene, WALK_COMPLETE, FP_STEP(EXACT(JIT + 4)), FP_STEP(JIT + 0x80),
		    RETURN_INTO(CALLER), RETURN_INTO(OUTER));
	assert_int_equal(scene.walk.num_fp_steps, 2);
}

static void the_frame_pointer_is_followed_where_a_table_has_no_rule(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_NONE, 0));

	scene.mappings[0].flags |= UNWIND_MAPPING_HAS_NO_CFI;
	scene.walk.registers.fp = WORD(3);
	scene.stack[4] = RETURN_INTO(OUTER);
	ASSERT_WALK(&scene, WALK_COMPLETE, FP_STEP(EXACT(START_OF(INNER) + 4)), RETURN_INTO(OUTER));
	assert_int_equal(scene.walk.num_fp_steps, 1);
	assert_true(scene.walk.registers.sp == WORD(5));
}

static void a_rule_is_better_than_the_frame_pointer(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_SP, 8));

	scene.mappings[0].flags |= UNWIND_MAPPING_HAS_NO_CFI;
	scene.walk.registers.fp = WORD(3);
	scene.stack[0] = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
	assert_int_equal(scene.walk.num_fp_steps, 0);
}

static void the_frame_pointer_is_restored_before_it_is_followed(_unused_ void **state)
{
	struct scene scene = scene_of(
		RULE(UNWIND_CFA_SP, 16, .fp_op = UNWIND_REGISTER_AT_CFA, .fp_offset = -16));

	scene.stack[0] = WORD(5);
	scene.stack[1] = JIT + 0x80;
	scene.stack[5] = WORD(9);
	scene.stack[6] = JIT + 0x90;
	scene.stack[10] = RETURN_INTO(OUTER);
	ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), FP_STEP(JIT + 0x80),
		    FP_STEP(JIT + 0x90), RETURN_INTO(OUTER));
}

static void r10_is_not_known_after_a_step_by_frame_pointer(_unused_ void **state)
{
	struct scene scene = scene_in_jit(STACK);

	scene.rules[CALLER] = RULE(UNWIND_CFA_R10, 0);
	scene.walk.registers.r10 = WORD(7);
	add_call_before(&scene, RETURN_INTO(OUTER));
	scene.stack[1] = RETURN_INTO(CALLER);
	scene.stack[6] = RETURN_INTO(OUTER);
	ASSERT_WALK(&scene, WALK_UNSUPPORTED, FP_STEP(EXACT(JIT + 4)), RETURN_INTO(CALLER));
}

static void a_frame_pointer_that_is_not_known_is_not_followed(_unused_ void **state)
{
	struct scene scene = scene_in_jit(STACK);

	scene.stack[1] = RETURN_INTO(OUTER);
	scene.walk.is_fp_lost = 1;
	assert_ends_in_jit(&scene, WALK_FP_CHAIN);
	scene = scene_in_jit(STACK);
	scene.walk.fp_address = UNREADABLE;
	assert_ends_in_jit(&scene, WALK_FP_CHAIN);
}

static void a_frame_pointer_that_is_not_aligned_is_not_followed(_unused_ void **state)
{
	struct scene scene = scene_in_jit(WORD(3) + 4);
	uint64_t caller = RETURN_INTO(OUTER);

	memcpy((char *)&scene.stack[4] + 4, &caller, sizeof(caller));
	assert_ends_in_jit(&scene, WALK_FP_CHAIN);
}

static void a_frame_pointer_below_the_stack_pointer_is_not_followed(_unused_ void **state)
{
	struct scene scene = scene_in_jit(WORD(3));

	scene.walk.registers.sp = WORD(4);
	scene.stack[4] = RETURN_INTO(OUTER);
	assert_ends_in_jit(&scene, WALK_FP_CHAIN);
}

static void a_frame_pointer_is_followed_up_to_a_mebibyte(_unused_ void **state)
{
	struct scene scene = scene_in_jit(FAR);

	scene.far[1] = RETURN_INTO(OUTER);
	ASSERT_WALK(&scene, WALK_COMPLETE, FP_STEP(EXACT(JIT + 4)), RETURN_INTO(OUTER));
	scene = scene_in_jit(FAR + 8);
	scene.far[2] = RETURN_INTO(OUTER);
	assert_ends_in_jit(&scene, WALK_FP_CHAIN);
}

static void a_frame_pointer_that_cannot_be_read_is_not_followed(_unused_ void **state)
{
	struct scene no_fp = scene_in_jit(WORD(NUM_WORDS));
	struct scene no_return_address = scene_in_jit(WORD(NUM_WORDS - 1));

	assert_ends_in_jit(&no_fp, WALK_FP_CHAIN);
	assert_ends_in_jit(&no_return_address, WALK_FP_CHAIN);
}

static void a_frame_pointer_next_to_a_number_is_not_followed(_unused_ void **state)
{
	struct scene scene = scene_in_jit(STACK);

	scene.stack[0] = WORD(10);
	scene.stack[1] = WALK_PC_MIN - 1;
	assert_ends_in_jit(&scene, WALK_FP_CHAIN);
}

static void an_address_that_nothing_is_mapped_at_ends_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8), (struct unwind_rule){0});

	scene.stack[0] = CODE + CODE_SIZE + 1;
	ASSERT_WALK(&scene, WALK_NO_MAPPING, EXACT(START_OF(INNER) + 4), CODE + CODE_SIZE + 1);
}

static void a_mapping_of_which_nothing_is_known_ends_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_SP, 8));

	scene.mappings[0].flags = 0;
	scene.walk.registers.fp = WORD(3);
	scene.stack[0] = scene.stack[4] = RETURN_INTO(OUTER);
	assert_ends_in_inner(&scene, WALK_NO_TABLE);
}

static void a_mapping_is_looked_for_only_when_another_one_is_entered(_unused_ void **state)
{
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8), RULE(UNWIND_CFA_SP, 8));

	scene.stack[1] = RETURN_INTO(OUTER);
	assert_passes_caller(&scene);
	assert_int_equal(scene.num_searches, 1);
	scene = scene_in_jit(STACK);
	scene.stack[1] = RETURN_INTO(OUTER);
	ASSERT_WALK(&scene, WALK_COMPLETE, FP_STEP(EXACT(JIT + 4)), RETURN_INTO(OUTER));
	assert_int_equal(scene.num_searches, 2);
}

/* CALLER calls itself; the frames from num_frames on are the outermost. */
static struct scene scene_of_recursion(size_t num_frames)
{
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8), RULE(UNWIND_CFA_SP, 8));

	for (size_t i = 0; i < NUM_WORDS; i++)
		scene.stack[i] = RETURN_INTO(i + 2 < num_frames ? CALLER : OUTER);
	return scene;
}

static void a_stack_of_as_many_frames_as_are_kept_is_complete(_unused_ void **state)
{
	struct scene scene = scene_of_recursion(WIRE_MAX_FRAMES);
	uint64_t pcs[WIRE_MAX_FRAMES] = {EXACT(START_OF(INNER) + 4)};

	for (size_t i = 1; i < WIRE_MAX_FRAMES; i++)
		pcs[i] = RETURN_INTO(i + 1 < WIRE_MAX_FRAMES ? CALLER : OUTER);
	assert_walk(&scene, WALK_COMPLETE, pcs, WIRE_MAX_FRAMES);
}

static void a_deeper_stack_is_truncated_at_its_outer_end(_unused_ void **state)
{
	struct scene scene = scene_of_recursion(WIRE_MAX_FRAMES + 1);
	uint64_t pcs[WIRE_MAX_FRAMES] = {EXACT(START_OF(INNER) + 4)};

	for (size_t i = 1; i < WIRE_MAX_FRAMES; i++)
		pcs[i] = RETURN_INTO(CALLER);
	assert_walk(&scene, WALK_TOO_DEEP, pcs, WIRE_MAX_FRAMES);
}

static void a_caller_below_its_callee_ends_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_FP, 0));

	scene.walk.registers.sp = WORD(8);
	scene.walk.registers.fp = WORD(7);
	scene.stack[6] = RETURN_INTO(OUTER);
	assert_ends_in_inner(&scene, WALK_NON_INCREASING_CFA);
}

static void a_caller_in_the_same_place_ends_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8), RULE(UNWIND_CFA_SP, 0));

	assert_ends_in_caller(&scene, WALK_NON_INCREASING_CFA);
}

static void a_cfa_beyond_the_end_of_memory_ends_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_FP, 16));

	scene.walk.registers.fp = UINT64_MAX - 7;
	assert_ends_in_inner(&scene, WALK_NON_INCREASING_CFA);
}

static void a_return_address_that_cannot_be_read_ends_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_SP, 8 * (NUM_WORDS + 1)));

	assert_ends_in_inner(&scene, WALK_READ_FAILED);
}

static void a_return_address_in_the_first_page_is_none(_unused_ void **state)
{
	static const uint64_t values[] = {1, WALK_PC_MIN - 1};
	struct scene scene;

	for (size_t i = 0; i < 2; i++) {
		scene = scene_of(RULE(UNWIND_CFA_SP, 8));
		scene.stack[0] = values[i];
		assert_ends_in_inner(&scene, WALK_NO_RETURN_ADDRESS);
	}
	scene = scene_of(RULE(UNWIND_CFA_SP, 8));
	scene.stack[0] = WALK_PC_MIN;
	ASSERT_WALK(&scene, WALK_NO_MAPPING, EXACT(START_OF(INNER) + 4), WALK_PC_MIN);
}

/* What a coroutine's stack is prepared with. */
static void a_function_that_has_a_pattern_for_a_return_address_is_outermost(_unused_ void **state)
{
	static const uint64_t patterns[] = {0, 0xdeaddeaddeaddead, 0xccccccccccccccccull};
	static const uint64_t others[] = {1, UINT64_MAX, 0xdeaddeaddeaddeae, 0x8000000000000000};

	for (size_t i = 0; i < ARRAY_LENGTH(patterns); i++) {
		struct scene inner = scene_of(RULE(UNWIND_CFA_SP, 16));
		struct scene caller = scene_of_two(RULE(UNWIND_CFA_SP, 8), RULE(UNWIND_CFA_SP, 8));

		inner.stack[1] = caller.stack[1] = patterns[i];
		assert_ends_in_inner(&inner, WALK_COMPLETE);
		assert_ends_in_caller(&caller, WALK_COMPLETE);
		assert_true(caller.walk.registers.sp == WORD(2));
	}
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		struct scene caller = scene_of_two(RULE(UNWIND_CFA_SP, 8), RULE(UNWIND_CFA_SP, 8));

		caller.stack[1] = others[i];
		assert_ends_in_caller(&caller, WALK_NO_RETURN_ADDRESS);
	}
}

static void no_return_address_proves_little_where_a_frame_may_be_wrong(_unused_ void **state)
{
	struct scene unaligned = scene_of_two(RULE(UNWIND_CFA_SP, 8), RULE(UNWIND_CFA_SP, 16));
	struct scene by_fp = scene_of(RULE(UNWIND_CFA_FP, 16));
	struct scene behind_fp_step = scene_in_jit(STACK);

	assert_ends_in_caller(&unaligned, WALK_NO_RETURN_ADDRESS);
	by_fp.walk.registers.fp = WORD(10);
	assert_ends_in_inner(&by_fp, WALK_NO_RETURN_ADDRESS);
	behind_fp_step.stack[1] = RETURN_INTO(CALLER);
	behind_fp_step.rules[CALLER] = RULE(UNWIND_CFA_SP, 16);
	ASSERT_WALK(&behind_fp_step, WALK_NO_RETURN_ADDRESS, FP_STEP(EXACT(JIT + 4)),
		    RETURN_INTO(CALLER));
}

static void a_caller_whose_frame_is_found_by_frame_pointer_may_be_outermost(_unused_ void **state)
{
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8), RULE(UNWIND_CFA_FP, 16));

	scene.walk.registers.fp = WORD(10);
	assert_ends_in_caller(&scene, WALK_COMPLETE);
}

static void a_return_address_at_the_end_of_a_function_belongs_to_it(_unused_ void **state)
{
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8), RULE(UNWIND_CFA_SP, 8));

	scene.rules[CALLER + 1] = RULE(UNWIND_CFA_UNSUPPORTED, 0);
	scene.stack[0] = START_OF(CALLER + 1);
	scene.stack[1] = CODE + CODE_SIZE; /* the end of OUTER and of the mapping */
	ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), START_OF(CALLER + 1),
		    CODE + CODE_SIZE);
}

static void an_interrupted_address_at_the_start_of_a_function_belongs_to_it(_unused_ void **state)
{
	struct scene inner = scene_of(RULE(UNWIND_CFA_UNSUPPORTED, 0));
	struct scene scene = scene_of_signal(RULE(UNWIND_CFA_UNSUPPORTED, 0));

	inner.walk.registers.pc = START_OF(OUTER);
	ASSERT_WALK(&inner, WALK_COMPLETE, EXACT(START_OF(OUTER)));
	scene.stack[WALK_CONTEXT_PC / 8] = START_OF(CALLER + 1);
	scene.rules[CALLER + 1] = RULE(UNWIND_CFA_STOP, 0);
	ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), EXACT(START_OF(CALLER + 1)));
}

static void the_caller_of_an_interrupted_function_is_no_exact_address(_unused_ void **state)
{
	struct scene scene = scene_of_signal(RULE(UNWIND_CFA_SP, 8));

	scene.stack[40] = CODE + CODE_SIZE;
	ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), EXACT(START_OF(CALLER)),
		    CODE + CODE_SIZE);
}

static void the_outermost_frame_may_be_one_that_nobody_called(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_SP, 8));

	scene.rules[CALLER] = RULE(UNWIND_CFA_STOP, 1);
	scene.stack[0] = START_OF(CALLER + 1);
	ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), EXACT(START_OF(CALLER + 1)));
}

static void a_return_address_beyond_user_space_is_none(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_SP, 8));

	scene.stack[0] = 0xffff800000001000;
	assert_ends_in_inner(&scene, WALK_NO_RETURN_ADDRESS);
}

static void rbx_is_not_known_after_code_without_rules(_unused_ void **state)
{
	struct scene scene = scene_in_jit(STACK);

	scene.walk.registers.bx = WORD(20);
	scene.stack[1] = RETURN_INTO(CALLER);
	scene.rules[CALLER] = RULE(UNWIND_CFA_BX, 16);
	scene.stack[21] = RETURN_INTO(OUTER);
	while (!take_step(&scene))
		;
	assert_int_equal(scene.walk.end, WALK_READ_FAILED);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_register_that_cannot_be_read_does_no_harm_unless_it_is_needed),
		cmocka_unit_test(a_saved_register_passes_frames_that_leave_it_alone),
		cmocka_unit_test(the_return_address_may_be_in_rdi),
		cmocka_unit_test(rdi_of_an_outer_frame_is_not_known),
		cmocka_unit_test(a_chain_of_frame_pointers_is_followed_where_there_are_no_rules),
		cmocka_unit_test(the_frame_pointer_is_followed_where_a_table_has_no_rule),
		cmocka_unit_test(a_rule_is_better_than_the_frame_pointer),
		cmocka_unit_test(the_frame_pointer_is_restored_before_it_is_followed),
		cmocka_unit_test(r10_is_not_known_after_a_step_by_frame_pointer),
		cmocka_unit_test(a_frame_pointer_that_is_not_known_is_not_followed),
		cmocka_unit_test(a_frame_pointer_that_is_not_aligned_is_not_followed),
		cmocka_unit_test(a_frame_pointer_below_the_stack_pointer_is_not_followed),
		cmocka_unit_test(a_frame_pointer_is_followed_up_to_a_mebibyte),
		cmocka_unit_test(a_frame_pointer_that_cannot_be_read_is_not_followed),
		cmocka_unit_test(a_frame_pointer_next_to_a_number_is_not_followed),
		cmocka_unit_test(an_address_that_nothing_is_mapped_at_ends_the_walk),
		cmocka_unit_test(a_mapping_of_which_nothing_is_known_ends_the_walk),
		cmocka_unit_test(a_mapping_is_looked_for_only_when_another_one_is_entered),
		cmocka_unit_test(a_stack_of_as_many_frames_as_are_kept_is_complete),
		cmocka_unit_test(a_deeper_stack_is_truncated_at_its_outer_end),
		cmocka_unit_test(a_caller_below_its_callee_ends_the_walk),
		cmocka_unit_test(a_caller_in_the_same_place_ends_the_walk),
		cmocka_unit_test(a_cfa_beyond_the_end_of_memory_ends_the_walk),
		cmocka_unit_test(a_return_address_that_cannot_be_read_ends_the_walk),
		cmocka_unit_test(a_return_address_in_the_first_page_is_none),
		cmocka_unit_test(a_function_that_has_a_pattern_for_a_return_address_is_outermost),
		cmocka_unit_test(no_return_address_proves_little_where_a_frame_may_be_wrong),
		cmocka_unit_test(a_caller_whose_frame_is_found_by_frame_pointer_may_be_outermost),
		cmocka_unit_test(a_return_address_at_the_end_of_a_function_belongs_to_it),
		cmocka_unit_test(an_interrupted_address_at_the_start_of_a_function_belongs_to_it),
		cmocka_unit_test(the_caller_of_an_interrupted_function_is_no_exact_address),
		cmocka_unit_test(the_outermost_frame_may_be_one_that_nobody_called),
		cmocka_unit_test(a_return_address_beyond_user_space_is_none),
		cmocka_unit_test(rbx_is_not_known_after_code_without_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
