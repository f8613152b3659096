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

static void code_that_cannot_be_read_is_not_taken_for_an_entry(_unused_ void **state)
{
	struct scene scene = scene_of_entry();

	scene.walk.registers.pc = JIT + 4;
	assert_ends_in_jit(&scene, WALK_FP_CHAIN);
}

/*
 * INNER is in code without a table, and the instructions around its pc are these. Its caller's address is so many words above the stack
 * pointer; the frame pointer is the caller's.
 */
#define NO_CFI_CODE (START_OF(INNER) + 0x40)

static struct scene scene_without_table(const uint8_t *code, size_t size, size_t pc, size_t word)
{
	struct scene scene = scene_of_entry();

	scene.mappings[0].start = START_OF(CALLER);
	scene.mappings[1].start = START_OF(INNER);
	scene.mappings[1].end = START_OF(CALLER);
	memcpy(scene.code + (NO_CFI_CODE - CODE) - pc, code, size);
	scene.walk.registers.pc = NO_CFI_CODE;
	scene.walk.registers.fp = WORD(6);
	scene.stack[0] = WORD(6);
	scene.stack[word] = RETURN_INTO(CALLER);
	scene.rules[CALLER] = RULE(UNWIND_CFA_FP, 16);
	scene.stack[7] = RETURN_INTO(OUTER);
	return scene;
}

static void assert_has_no_frame(struct scene *scene, uint32_t bytes, uint64_t prologue)
{
	ASSERT_WALK(scene, WALK_COMPLETE, EXACT(NO_CFI_CODE), RETURN_INTO(CALLER),
		    RETURN_INTO(OUTER));
	assert_int_equal(scene->walk.num_fp_steps, 0);
	assert_int_equal(scene->walk.cfa_offset, bytes);
	assert_int_equal(scene->walk.prologue, prologue);
}

static void assert_has_frame(struct scene *scene)
{
	ASSERT_WALK(scene, WALK_COMPLETE, FP_STEP(EXACT(NO_CFI_CODE)), RETURN_INTO(OUTER));
	assert_int_equal(scene->walk.cfa_offset, 0);
}

static void before_it_pushes_the_frame_pointer_a_function_has_no_frame(_unused_ void **state)
{
	static const uint8_t prologues[][4] = {{0x55, 0x48, 0x89, 0xe5}, {0x55, 0x48, 0x8b, 0xec}};

	for (size_t i = 0; i < ARRAY_LENGTH(prologues); i++) {
		struct scene scene = scene_without_table(prologues[i], 4, 0, 0);

		assert_has_no_frame(&scene, 8, NO_CFI_CODE);
		scene = scene_without_table(prologues[i], 4, 1, 1);
		assert_has_no_frame(&scene, 16, NO_CFI_CODE - 1);
		/* All of it is there. */
		scene = scene_without_table(prologues[i], 4, 4, 1);
		assert_has_frame(&scene);
	}
}

/* As V8 compiles it, in three versions: whether the code is still valid is looked at before. */
static void a_check_may_come_before_that(_unused_ void **state)
{
	static const struct {
		uint8_t code[32];
		size_t size;
		size_t prologue;
	} checks[] = {
		{"\x48\x8b\x59\xf8\xf6\x43\x35\x01\x0f\x85\1\2\3\4\x55\x48\x89\xe5", 18, 14},
		{"\x48\x8b\x59\xa0\xf6\x43\x0f\x01\x74\x05\xe9\1\2\3\4\x55\x48\x89\xe5", 19, 15},
		{"\x48\x8b\x59\xc0\xf6\x43\x0f\x01\x74\x0d\x49\xba\1\2\3\4\5\6\7\0\x41\xff\xe2"
		 "\x55\x48\x89\xe5",
		 27, 23},
	};
	static const size_t instructions[] = {0, 4, 8};

	for (size_t i = 0; i < ARRAY_LENGTH(checks); i++) {
		for (size_t j = 0; j < ARRAY_LENGTH(instructions); j++) {
			size_t pc = instructions[j];
			struct scene scene =
				scene_without_table(checks[i].code, checks[i].size, pc, 0);

			assert_has_no_frame(&scene, 8, NO_CFI_CODE - pc + checks[i].prologue);
			/* What follows is something else. */
			scene = scene_without_table(checks[i].code, checks[i].prologue, pc, 0);
			assert_has_frame(&scene);
		}
	}
}

/* By V8's first compilers. */
static void what_sets_up_the_frame_may_be_called_before(_unused_ void **state)
{
	static const uint8_t javascript[] = "\xbb\x08\0\0\0\x49\xbc\1\2\3\4\5\6\7\x08\xe8\1\2\3\4";
	static const uint8_t old_javascript[] =
		"\xbb\x08\0\0\0\x49\xbc\1\2\3\4\5\6\7\x08\x41\xff\x95\1\2\3\4";
	static const uint8_t wasm[] = "\x41\xbc\1\0\0\0\xe8\1\2\3\4";
	static const uint8_t first_wasm[] = "\x45\x31\xe4\xe8\1\2\3\4";
	static const struct {
		const uint8_t *code;
		size_t size;
		size_t call;
		size_t instructions[3];
		size_t num_instructions;
	} inputs[] = {
		{javascript, sizeof(javascript), 15, {0, 5, 15}, 3},
		{old_javascript, sizeof(old_javascript), 15, {0, 5, 15}, 3},
		{wasm, sizeof(wasm), 6, {0, 6}, 2},
		{first_wasm, sizeof(first_wasm), 3, {0, 3}, 2},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(inputs); i++) {
		for (size_t j = 0; j < inputs[i].num_instructions; j++) {
			size_t pc = inputs[i].instructions[j];
			struct scene scene =
				scene_without_table(inputs[i].code, inputs[i].size, 0, 0);

			scene.walk.registers.pc = NO_CFI_CODE + pc;
			ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(NO_CFI_CODE + pc),
				    RETURN_INTO(CALLER), RETURN_INTO(OUTER));
			assert_int_equal(scene.walk.prologue, NO_CFI_CODE + inputs[i].call);
			if (inputs[i].call == 15) /* of JavaScript */
				continue;
			/* Such instructions elsewhere are nothing: functions start at a multiple of 32. */
			scene = scene_without_table(inputs[i].code, inputs[i].size, 8, 0);
			scene.walk.registers.pc = NO_CFI_CODE - 8 + pc;
			ASSERT_WALK(&scene, WALK_COMPLETE, FP_STEP(EXACT(NO_CFI_CODE - 8 + pc)),
				    RETURN_INTO(OUTER));
		}
	}
}

/* By the address, and by where Node.js 16 and 17 have it. */
static const uint8_t frame_call[] = "\x49\xbc\1\2\3\4\5\6\7\x08\xe8\1\2\3\4";
static const uint8_t old_frame_call[] = "\x49\xbc\1\2\3\4\5\6\7\x08\x41\xff\x95\1\2\3\4";

/* INNER has not made a frame for CALLER, whose code has no table, nor for itself. */
static struct scene scene_of_frame_call(const uint8_t *call, size_t size)
{
	struct scene scene = scene_of_entry();

	scene.mappings[0].end = START_OF(CALLER);
	scene.mappings[1].start = START_OF(CALLER);
	scene.mappings[1].end = START_OF(CALLER + 1);
	put_call(&scene, call, size);
	scene.code[RETURN_INTO(CALLER + 1) - 5 - CODE] = 0xe8;
	scene.stack[0] = RETURN_INTO(CALLER);
	scene.stack[1] = RETURN_INTO(CALLER + 1);
	scene.walk.registers.fp = WORD(3);
	scene.stack[4] = RETURN_INTO(CALLER + 2);
	return scene;
}

static void a_function_whose_frame_is_about_to_be_made_has_none(_unused_ void **state)
{
	static const struct {
		const uint8_t *code;
		size_t size;
	} calls[] = {
		{frame_call, sizeof(frame_call) - 1},
		{old_frame_call, sizeof(old_frame_call) - 1},
	};
	struct scene scene;

	for (size_t i = 0; i < ARRAY_LENGTH(calls); i++) {
		scene = scene_of_frame_call(calls[i].code, calls[i].size);
		ASSERT_WALK(&scene, WALK_NO_MAPPING, ENTRY_STEP(EXACT(START_OF(INNER) + 4)),
			    RETURN_INTO(CALLER), RETURN_INTO(CALLER + 1));
		assert_int_equal(scene.walk.frame_setup, WALK_FRAME_SETUP_JAVASCRIPT);
		assert_int_equal(scene.walk.entry_bytes, 8);
		/* Another call. */
		scene = scene_of_frame_call(calls[i].code, calls[i].size);
		scene.code[RETURN_INTO(CALLER) - calls[i].size + 1 - CODE] = 0xbb;
		ASSERT_WALK(&scene, WALK_NO_MAPPING, ENTRY_STEP(EXACT(START_OF(INNER) + 4)),
			    FP_STEP(RETURN_INTO(CALLER)), RETURN_INTO(CALLER + 2));
		assert_int_equal(scene.walk.frame_setup, WALK_FRAME_SETUP_NONE);
	}
	/* No return address. */
	scene = scene_of_frame_call(frame_call, sizeof(frame_call) - 1);
	scene.code[RETURN_INTO(CALLER + 1) - 5 - CODE] = 0;
	ASSERT_WALK(&scene, WALK_NO_MAPPING, ENTRY_STEP(EXACT(START_OF(INNER) + 4)),
		    FP_STEP(RETURN_INTO(CALLER)), RETURN_INTO(CALLER + 2));
}

static void before_it_returns_a_function_has_no_frame(_unused_ void **state)
{
	/* V8's pops the arguments, of which there may be more than it has. */
	static const uint8_t leave[] = {0x48, 0x83, 0xf9, 0x02, 0x7f, 0x03, 0xc2, 0x10, 0x00,
					0x41, 0x5a, 0x48, 0x8d, 0x24, 0xcc, 0x41, 0x52, 0xc3};
	static const size_t instructions[] = {0, 4, 6, 9, 17};
	static const uint8_t returns[][2] = {{0xc3}, {0xc2, 0x10}, {0xf3, 0xc3}};

	for (size_t i = 0; i < ARRAY_LENGTH(returns); i++) {
		struct scene scene = scene_without_table(returns[i], 2, 0, 0);

		assert_has_no_frame(&scene, 8, 0);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(instructions); i++) {
		struct scene scene = scene_without_table(leave, sizeof(leave), instructions[i], 0);

		assert_has_no_frame(&scene, 8, 0);
	}
}

static void without_a_return_address_it_has_one(_unused_ void **state)
{
	static const uint8_t code[] = {0xc3};
	struct scene scene = scene_without_table(code, 1, 0, 0);

	memset(scene.code + (START_OF(CALLER) - CODE), 0, FUNCTION_SIZE);
	assert_has_frame(&scene);
	scene = scene_without_table(code, 1, 0, 0);
	scene.stack[0] = UNREADABLE;
	assert_has_frame(&scene);
}

/* It is known of the innermost function alone. */
static void a_caller_has_a_frame(_unused_ void **state)
{
	static const uint8_t code[] = {0xc3};
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8), RULE(UNWIND_CFA_NONE, 0));

	scene.mappings[0].flags |= UNWIND_MAPPING_HAS_NO_CFI;
	memcpy(scene.code + (RETURN_INTO(CALLER) - CODE), code, 1);
	scene.walk.registers.fp = WORD(3);
	scene.stack[1] = RETURN_INTO(CALLER);
	scene.stack[4] = RETURN_INTO(OUTER);
	ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), FP_STEP(RETURN_INTO(CALLER)),
		    RETURN_INTO(OUTER));
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
		cmocka_unit_test(code_that_cannot_be_read_is_not_taken_for_an_entry),
		cmocka_unit_test(before_it_pushes_the_frame_pointer_a_function_has_no_frame),
		cmocka_unit_test(a_check_may_come_before_that),
		cmocka_unit_test(what_sets_up_the_frame_may_be_called_before),
		cmocka_unit_test(a_function_whose_frame_is_about_to_be_made_has_none),
		cmocka_unit_test(before_it_returns_a_function_has_no_frame),
		cmocka_unit_test(without_a_return_address_it_has_one),
		cmocka_unit_test(a_caller_has_a_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
