/* Plain steps in a loop: which steps are plain, that each gives what walk_step() gives, and their limit. */
#include "walk_scene.h"

#define SAVES_FP(offset) .fp_op = UNWIND_REGISTER_AT_CFA, .fp_offset = (offset)
#define SAVES_BX(offset) .bx_op = UNWIND_REGISTER_AT_CFA, .bx_offset = (offset)

/* In INNER, whose mapping is found. */
static struct scene scene_in_mapping(struct unwind_rule inner)
{
	struct scene scene = scene_of(inner);

	find_first_mapping(&scene);
	memset(scene.pcs, 0x5a, sizeof(scene.pcs));
	return scene;
}

/* INNER pushed nothing, as in scene_of_two(). */
static struct scene scene_of_two_in_mapping(struct unwind_rule inner, struct unwind_rule caller)
{
	struct scene scene = scene_in_mapping(inner);

	scene.rules[CALLER] = caller;
	scene.stack[0] = RETURN_INTO(CALLER);
	return scene;
}

/* So many steps are plain, and no more. They do the same as others. */
static void expect_plain_steps(struct scene *scene, uint32_t number)
{
	struct scene by_steps = *scene;
	const uint32_t num_frames = scene->walk.num_frames + number;

	assert_int_equal(walk_take_plain_steps(&scene->walk, scene->pcs, (int)number), 0);
	assert_int_equal(scene->walk.num_frames, num_frames);
	for (uint32_t i = 0; i < number; i++)
		assert_int_equal(walk_step(&by_steps.walk, by_steps.pcs), 0);
	assert_memory_equal(&scene->walk, &by_steps.walk, sizeof(scene->walk));
	assert_memory_equal(scene->pcs, by_steps.pcs, sizeof(scene->pcs));
}

/* Nothing has changed but the frame pointer, which may have been read. */
static void expect_no_plain_step(const struct scene *scene)
{
	struct scene plain = *scene;

	assert_int_equal(walk_take_plain_steps(&plain.walk, plain.pcs, 16), 1);
	plain.walk.registers.fp = scene->walk.registers.fp;
	plain.walk.fp_address = scene->walk.fp_address;
	assert_memory_equal(&plain, scene, sizeof(plain));
}

static void a_frame_may_be_found_by_the_frame_pointer(_unused_ void **state)
{
	struct scene scene = scene_in_mapping(RULE(UNWIND_CFA_FP, 16));

	scene.walk.registers.fp = WORD(4);
	scene.stack[5] = RETURN_INTO(OUTER);
	expect_plain_steps(&scene, 1);
	assert_true(scene.walk.registers.pc == RETURN_INTO(OUTER));
	assert_true(scene.walk.registers.sp == WORD(6));
	assert_false(scene.walk.is_exact);
	assert_false(scene.walk.is_innermost);
	/* The outermost frame is no step. */
	expect_no_plain_step(&scene);
}

/* Each frame saves the frame pointer of its caller, as code with frame pointers does. */
static void the_frame_pointer_of_the_caller_is_read_where_it_was_saved(_unused_ void **state)
{
	const struct unwind_rule rule = RULE(UNWIND_CFA_FP, 16, SAVES_FP(-16));
	struct scene scene = scene_in_mapping(rule);

	scene.rules[CALLER] = scene.rules[CALLER + 1] = rule;
	scene.walk.registers.fp = WORD(2);
	scene.stack[2] = WORD(8);
	scene.stack[3] = RETURN_INTO(CALLER);
	scene.stack[8] = WORD(11);
	scene.stack[9] = RETURN_INTO(CALLER + 1);
	scene.stack[11] = WORD(20);
	scene.stack[12] = RETURN_INTO(OUTER);
	expect_plain_steps(&scene, 3);
	assert_true(scene.walk.registers.pc == RETURN_INTO(OUTER));
	assert_true(scene.walk.registers.sp == WORD(13));
	assert_true(scene.walk.fp_address == WORD(11));
}

static void a_saved_frame_pointer_passes_frames_that_leave_it_alone(_unused_ void **state)
{
	struct scene scene = scene_in_mapping(RULE(UNWIND_CFA_SP, 24, SAVES_FP(-16)));

	scene.rules[CALLER] = RULE(UNWIND_CFA_SP, 16);
	scene.rules[CALLER + 1] = RULE(UNWIND_CFA_FP, 16);
	scene.walk.registers.fp = WORD(30); /* INNER's own */
	scene.stack[1] = WORD(9);
	scene.stack[2] = RETURN_INTO(CALLER);
	scene.stack[4] = RETURN_INTO(CALLER + 1);
	scene.stack[10] = RETURN_INTO(OUTER);
	scene.stack[31] = RETURN_INTO(CALLER);
	expect_plain_steps(&scene, 3);
	assert_true(scene.walk.registers.pc == RETURN_INTO(OUTER));
	assert_true(scene.walk.registers.fp == WORD(9));
	assert_int_equal(scene.walk.fp_address, 0);
}

static void the_outer_one_of_two_saved_frame_pointers_is_the_callers(_unused_ void **state)
{
	struct scene scene = scene_in_mapping(RULE(UNWIND_CFA_SP, 24, SAVES_FP(-16)));

	scene.rules[CALLER] = RULE(UNWIND_CFA_SP, 24, SAVES_FP(-24));
	scene.rules[CALLER + 1] = RULE(UNWIND_CFA_FP, 16);
	scene.stack[1] = WORD(30);
	scene.stack[2] = RETURN_INTO(CALLER);
	scene.stack[3] = WORD(9);
	scene.stack[5] = RETURN_INTO(CALLER + 1);
	scene.stack[10] = RETURN_INTO(OUTER);
	scene.stack[31] = RETURN_INTO(CALLER);
	expect_plain_steps(&scene, 3);
	assert_true(scene.walk.registers.pc == RETURN_INTO(OUTER));
}

/* Registers have a place and a mark each. */
static void a_frame_may_save_either_register(_unused_ void **state)
{
	const struct unwind_rule rules[] = {
		RULE(UNWIND_CFA_SP, 32),
		RULE(UNWIND_CFA_SP, 32, SAVES_FP(-16)),
		RULE(UNWIND_CFA_SP, 32, SAVES_BX(-24)),
		RULE(UNWIND_CFA_SP, 32, SAVES_FP(-16), SAVES_BX(-24)),
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rules); i++) {
		struct scene scene = scene_in_mapping(rules[i]);

		scene.rules[CALLER] = RULE(UNWIND_CFA_SP, 16);
		scene.walk.is_fp_lost = scene.walk.is_bx_lost = 1;
		scene.stack[3] = RETURN_INTO(CALLER);
		scene.stack[5] = RETURN_INTO(OUTER);
		expect_plain_steps(&scene, 2);
		assert_int_equal(scene.walk.is_fp_lost, !rules[i].fp_op);
		assert_int_equal(scene.walk.is_bx_lost, !rules[i].bx_op);
		assert_true(scene.walk.fp_address == (rules[i].fp_op ? WORD(2) : 0));
		assert_true(scene.walk.bx_address == (rules[i].bx_op ? WORD(1) : 0));
	}
}

/* Both are saved, and the caller needs the one. */
static void the_frame_pointer_is_not_read_from_the_place_of_another_register(_unused_ void **state)
{
	struct scene scene =
		scene_in_mapping(RULE(UNWIND_CFA_SP, 32, SAVES_FP(-16), SAVES_BX(-24)));

	scene.rules[CALLER] = RULE(UNWIND_CFA_FP, 16);
	scene.stack[1] = WORD(30);
	scene.stack[2] = WORD(9);
	scene.stack[3] = RETURN_INTO(CALLER);
	scene.stack[10] = RETURN_INTO(OUTER);
	scene.stack[31] = RETURN_INTO(CALLER + 1);
	expect_plain_steps(&scene, 2);
	assert_true(scene.walk.registers.pc == RETURN_INTO(OUTER));
}

static void a_lost_frame_pointer_is_not_followed_until_it_is_known_again(_unused_ void **state)
{
	struct scene scene =
		scene_of_two_in_mapping(RULE(UNWIND_CFA_FP, 16), RULE(UNWIND_CFA_FP, 16));

	scene.walk.registers.fp = WORD(4);
	scene.stack[5] = RETURN_INTO(OUTER);
	scene.walk.is_fp_lost = 1;
	expect_no_plain_step(&scene);
	/* Frames by the stack pointer go on, and one of them may have saved it. */
	scene.rules[INNER] = RULE(UNWIND_CFA_SP, 8);
	expect_plain_steps(&scene, 1);
	expect_no_plain_step(&scene);
	scene.rules[CALLER] = RULE(UNWIND_CFA_SP, 24, SAVES_FP(-16));
	scene.rules[CALLER + 1] = RULE(UNWIND_CFA_FP, 16);
	scene.stack[2] = WORD(8);
	scene.stack[3] = RETURN_INTO(CALLER + 1);
	scene.stack[9] = RETURN_INTO(OUTER);
	expect_plain_steps(&scene, 2);
	assert_true(scene.walk.registers.pc == RETURN_INTO(OUTER));
}

static void a_frame_pointer_that_cannot_be_read_is_not_followed(_unused_ void **state)
{
	struct scene scene = scene_in_mapping(RULE(UNWIND_CFA_FP, 16));

	scene.walk.registers.fp = WORD(4);
	scene.stack[5] = RETURN_INTO(OUTER);
	scene.walk.fp_address = UNREADABLE;
	expect_no_plain_step(&scene);
	assert_int_equal(walk_take_plain_steps(&scene.walk, scene.pcs, 1), 1);
	assert_true(scene.walk.fp_address == UNREADABLE);
}

static void offsets_may_be_negative(_unused_ void **state)
{
	struct scene scene = scene_in_mapping(RULE(UNWIND_CFA_FP, -16));

	scene.walk.registers.fp = WORD(8);
	scene.stack[5] = RETURN_INTO(OUTER);
	expect_plain_steps(&scene, 1);
	assert_true(scene.walk.registers.sp == WORD(6));
}

static void other_rules_are_not_plain(_unused_ void **state)
{
	for (unsigned int op = 0; op <= UNWIND_CFA_UNSUPPORTED; op++) {
		struct scene scene = scene_in_mapping(RULE((uint8_t)op, 16));

		scene.walk.registers.fp = scene.walk.registers.bx = STACK;
		scene.stack[1] = RETURN_INTO(OUTER);
		if (op == UNWIND_CFA_SP || op == UNWIND_CFA_FP)
			expect_plain_steps(&scene, 1);
		else
			expect_no_plain_step(&scene);
	}
	for (unsigned int op = UNWIND_REGISTER_AT_FP; op <= UNWIND_REGISTER_UNDEFINED; op++) {
		struct scene saves_fp =
			scene_in_mapping(RULE(UNWIND_CFA_SP, 16, .fp_op = (uint8_t)op));
		struct scene saves_bx =
			scene_in_mapping(RULE(UNWIND_CFA_SP, 16, .bx_op = (uint8_t)op));

		saves_fp.stack[1] = saves_bx.stack[1] = RETURN_INTO(OUTER);
		expect_no_plain_step(&saves_fp);
		expect_no_plain_step(&saves_bx);
	}
	for (unsigned int op = UNWIND_RA_IN_DI; op <= UNWIND_RA_IN_CX; op++) {
		struct scene scene =
			scene_in_mapping(RULE(UNWIND_CFA_SP, 16, .ra_op = (uint8_t)op));

		scene.stack[1] = RETURN_INTO(OUTER);
		expect_no_plain_step(&scene);
	}
}

/* A stack pointer that does not grow, and words that are no return addresses: walk_step() has the reason. */
static void a_step_that_ends_the_walk_is_not_plain(_unused_ void **state)
{
	static const uint64_t words[] = {0, WALK_PC_MIN - 1, UINT64_MAX, 0xffff800000001000};

	for (int offset = -8; offset <= 0; offset += 8) {
		struct scene scene = scene_in_mapping(RULE(UNWIND_CFA_SP, offset));

		scene.walk.registers.sp = WORD(4);
		scene.stack[2] = scene.stack[3] = RETURN_INTO(OUTER);
		expect_no_plain_step(&scene);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		struct scene scene = scene_in_mapping(RULE(UNWIND_CFA_SP, 16));

		scene.stack[1] = words[i];
		expect_no_plain_step(&scene);
	}
}

/* The known rule is that of an earlier mapping with these addresses, or of the file below generated code. */
static void plain_steps_are_taken_by_tables_alone(_unused_ void **state)
{
	for (uint32_t flags = 0; flags < 16; flags++) {
		struct scene scene = scene_in_mapping(RULE(UNWIND_CFA_SP, 16));

		scene.stack[1] = RETURN_INTO(OUTER);
		scene.walk.mapping.flags = flags;
		if ((flags & UNWIND_MAPPING_HAS_TABLE) && !(flags & UNWIND_MAPPING_HAS_HOTSPOT))
			expect_plain_steps(&scene, 1);
		else
			expect_no_plain_step(&scene);
	}
}

/* Generated code has called code of a file, and the other way round. */
static void plain_steps_end_at_generated_code(_unused_ void **state)
{
	static const uint32_t flags[] = {0, UNWIND_MAPPING_HAS_NO_CFI,
					 UNWIND_MAPPING_HAS_NO_CFI | UNWIND_MAPPING_HAS_TRAMPOLINES,
					 UNWIND_MAPPING_HAS_HOTSPOT,
					 UNWIND_MAPPING_HAS_HOTSPOT | UNWIND_MAPPING_HAS_TABLE};

	for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
		struct scene scene = scene_in_mapping(RULE(UNWIND_CFA_SP, 16));

		scene.mappings[1].flags = flags[i];
		scene.stack[1] = JIT + 0x80;
		scene.stack[3] = RETURN_INTO(OUTER);
		expect_plain_steps(&scene, 1);
		expect_no_plain_step(&scene);
		/* From there, too, even at an address that the file has a rule for. */
		walk_find_mapping(&scene.walk, JIT + 0x7f);
		expect_no_plain_step(&scene);
	}
}

/* Another mapping has its own table: walk_step() looks for it. */
static void plain_steps_stay_within_the_mapping(_unused_ void **state)
{
	const uint64_t function = START_OF(CALLER);
	struct scene scene = scene_in_mapping(RULE(UNWIND_CFA_SP, 16));

	scene.stack[1] = RETURN_INTO(OUTER);
	scene.walk.mapping.start = scene.walk.registers.pc;
	scene.walk.mapping.end = scene.walk.registers.pc + 1;
	expect_plain_steps(&scene, 1);
	scene.rules[CALLER] = RULE(UNWIND_CFA_SP, 16);
	for (uint64_t pc = function + 1; pc < function + FUNCTION_SIZE; pc += 0x20)
		for (int distance = -2; distance <= 2; distance++) {
			struct scene after = scene_in_mapping(RULE(UNWIND_CFA_SP, 16));
			struct scene before;

			after.walk.registers.pc = pc;
			after.walk.is_exact = after.walk.is_innermost = 0;
			after.rules[CALLER] = RULE(UNWIND_CFA_SP, 16);
			after.stack[1] = RETURN_INTO(OUTER);
			before = after;
			/* The call is at the byte before its return address. */
			after.walk.mapping.end = pc - 1 + (uint64_t)distance;
			before.walk.mapping.start = pc - 1 + (uint64_t)distance;
			if (distance > 0)
				expect_plain_steps(&after, 1);
			else
				expect_no_plain_step(&after);
			if (distance <= 0)
				expect_plain_steps(&before, 1);
			else
				expect_no_plain_step(&before);
		}
}

/* A function that never returns ends with a call: the return address is the start of the next one. */
static void a_return_address_has_the_rule_of_its_call(_unused_ void **state)
{
	struct scene scene =
		scene_of_two_in_mapping(RULE(UNWIND_CFA_SP, 8), RULE(UNWIND_CFA_SP, 16));

	scene.rules[CALLER + 1] = RULE(UNWIND_CFA_SP, 40);
	scene.stack[0] = START_OF(CALLER + 1);
	scene.stack[2] = START_OF(CALLER + 1) + 1;
	scene.stack[7] = RETURN_INTO(OUTER);
	expect_plain_steps(&scene, 3);
	assert_true(scene.walk.registers.pc == RETURN_INTO(OUTER));
}

static void an_interrupted_address_has_its_own_rule(_unused_ void **state)
{
	struct scene scene = scene_in_mapping(RULE(UNWIND_CFA_SP, 40));

	scene.rules[CALLER] = RULE(UNWIND_CFA_SP, 16);
	scene.walk.registers.pc = START_OF(CALLER);
	scene.stack[1] = RETURN_INTO(OUTER);
	expect_plain_steps(&scene, 1);
	assert_true(scene.walk.registers.pc == RETURN_INTO(OUTER));
	assert_true(scene.pcs[0] == EXACT(START_OF(CALLER)));
}

/* INNER has called itself so often that no outermost frame is in reach. */
static struct scene scene_of_endless_calls(uint32_t num_frames)
{
	struct scene scene = scene_in_mapping(RULE(UNWIND_CFA_SP, 8));

	for (size_t i = 0; i < NUM_WORDS; i++)
		scene.stack[i] = RETURN_INTO(INNER);
	scene.walk.num_frames = num_frames;
	return scene;
}

static void plain_steps_fill_the_stack_up_to_its_limit(_unused_ void **state)
{
	for (uint32_t num_before = 0; num_before <= WIRE_MAX_FRAMES; num_before++) {
		struct scene scene = scene_of_endless_calls(num_before);
		const uint64_t untouched = scene.pcs[WIRE_MAX_FRAMES];

		assert_int_equal(walk_take_plain_steps(&scene.walk, scene.pcs, 2 * WIRE_MAX_FRAMES),
				 1);
		assert_int_equal(scene.walk.num_frames, WIRE_MAX_FRAMES);
		assert_true(scene.pcs[WIRE_MAX_FRAMES] == untouched);
		if (num_before)
			assert_true(scene.pcs[0] == untouched);
		for (size_t i = num_before + (num_before == 0); i < WIRE_MAX_FRAMES; i++)
			assert_true(scene.pcs[i] == (i == num_before ? EXACT(START_OF(INNER) + 4)
								     : RETURN_INTO(INNER)));
		/* The walk is not truncated before there is one more frame. */
		assert_int_equal(scene.walk.end, WALK_UNFINISHED);
		assert_int_equal(walk_step(&scene.walk, scene.pcs), 1);
		assert_int_equal(scene.walk.end, WALK_TOO_DEEP);
		assert_int_equal(scene.walk.num_frames, WIRE_MAX_FRAMES);
	}
}

static void as_many_plain_steps_are_taken_as_are_asked_for(_unused_ void **state)
{
	for (uint32_t number = 0; number <= 40; number++) {
		struct scene scene = scene_of_endless_calls(0);

		expect_plain_steps(&scene, number);
		assert_int_equal(scene.walk.is_exact, number == 0);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_may_be_found_by_the_frame_pointer),
		cmocka_unit_test(the_frame_pointer_of_the_caller_is_read_where_it_was_saved),
		cmocka_unit_test(a_saved_frame_pointer_passes_frames_that_leave_it_alone),
		cmocka_unit_test(the_outer_one_of_two_saved_frame_pointers_is_the_callers),
		cmocka_unit_test(a_frame_may_save_either_register),
		cmocka_unit_test(the_frame_pointer_is_not_read_from_the_place_of_another_register),
		cmocka_unit_test(a_lost_frame_pointer_is_not_followed_until_it_is_known_again),
		cmocka_unit_test(a_frame_pointer_that_cannot_be_read_is_not_followed),
		cmocka_unit_test(offsets_may_be_negative),
		cmocka_unit_test(other_rules_are_not_plain),
		cmocka_unit_test(a_step_that_ends_the_walk_is_not_plain),
		cmocka_unit_test(plain_steps_are_taken_by_tables_alone),
		cmocka_unit_test(plain_steps_end_at_generated_code),
		cmocka_unit_test(plain_steps_stay_within_the_mapping),
		cmocka_unit_test(a_return_address_has_the_rule_of_its_call),
		cmocka_unit_test(an_interrupted_address_has_its_own_rule),
		cmocka_unit_test(plain_steps_fill_the_stack_up_to_its_limit),
		cmocka_unit_test(as_many_plain_steps_are_taken_as_are_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
