#include "walk_scene.h"

static void the_stack_pointer_leads_to_the_caller(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_SP, 24));

	scene.stack[2] = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
	assert_true(scene.walk.registers.sp == WORD(3));
}

static void the_frame_pointer_leads_to_the_caller(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_FP, 16));

	scene.walk.registers.fp = WORD(4);
	scene.stack[5] = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
	assert_true(scene.walk.registers.sp == WORD(6));
}

static void an_offset_may_be_negative(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_FP, -16));

	scene.walk.registers.fp = WORD(8);
	scene.stack[5] = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
}

static void rbx_leads_to_the_caller(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_BX, 24));

	scene.walk.registers.bx = WORD(1);
	scene.stack[3] = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
}

/* Registers that nobody saves. */
static const struct {
	uint8_t op;
	size_t offset; /* in struct wire_registers */
} scratch[] = {
	{UNWIND_CFA_R10, offsetof(struct wire_registers, r10)},
	{UNWIND_CFA_AX, offsetof(struct wire_registers, ax)},
	{UNWIND_CFA_SI, offsetof(struct wire_registers, si)},
	{UNWIND_CFA_DI, offsetof(struct wire_registers, di)},
	{UNWIND_CFA_R9, offsetof(struct wire_registers, r9)},
	{UNWIND_CFA_R11, offsetof(struct wire_registers, r11)},
};

/* The register holds WORD(7), below which is a return address. */
static void set_scratch(struct scene *scene, size_t i)
{
	uint64_t frame = WORD(7);

	memcpy((char *)&scene->walk.registers + scratch[i].offset, &frame, sizeof(frame));
	scene->stack[6] = RETURN_INTO(OUTER);
}

static void registers_that_nobody_saves_lead_to_the_caller_of_the_innermost_frame(
	_unused_ void **state)
{
	for (size_t i = 0; i < ARRAY_LENGTH(scratch); i++) {
		struct scene scene = scene_of(RULE(scratch[i].op, 0));

		set_scratch(&scene, i);
		assert_reaches_outer(&scene);
	}
}

static void such_a_register_leads_on_where_callees_have_left_it_alone(_unused_ void **state)
{
	for (size_t i = 0; i < ARRAY_LENGTH(scratch); i++) {
		struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8), RULE(scratch[i].op, 0));

		set_scratch(&scene, i);
		add_call_before(&scene, RETURN_INTO(OUTER));
		assert_passes_caller(&scene);
	}
}

static void such_a_register_that_leads_to_no_call_is_not_followed(_unused_ void **state)
{
	for (size_t i = 0; i < ARRAY_LENGTH(scratch); i++) {
		struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8), RULE(scratch[i].op, 0));

		set_scratch(&scene, i);
		assert_ends_in_caller(&scene, WALK_UNSUPPORTED);
	}
}

static void the_cfa_may_lie_in_memory_at_the_stack_pointer(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_DEREF_SP, 16));

	scene.stack[2] = WORD(6);
	scene.stack[5] = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
	assert_true(scene.walk.registers.sp == WORD(6));
}

static void the_cfa_may_lie_above_what_is_in_memory_at_the_stack_pointer(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_DEREF_SP_ADD, UNWIND_STORED_COPY(16, 8)));

	scene.stack[2] = WORD(5);
	scene.stack[5] = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
	assert_true(scene.walk.registers.sp == WORD(6));
}

/* The copy of a stack pointer is stored in a frame that was aligned after some pushes. */
static void the_cfa_may_lie_any_distance_above_what_is_in_memory(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_DEREF_SP_ADD, UNWIND_STORED_COPY(16, 24)));

	scene.stack[2] = WORD(4);
	scene.stack[6] = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
	assert_true(scene.walk.registers.sp == WORD(7));
}

/* Registers that may hold a copy of the stack pointer, by their numbers in call-frame information. */
static const struct {
	unsigned int number;
	size_t offset;
} copies[] = {
	{0, offsetof(struct wire_registers, ax)},   {2, offsetof(struct wire_registers, cx)},
	{1, offsetof(struct wire_registers, dx)},   {4, offsetof(struct wire_registers, si)},
	{5, offsetof(struct wire_registers, di)},   {8, offsetof(struct wire_registers, r8)},
	{9, offsetof(struct wire_registers, r9)},   {10, offsetof(struct wire_registers, r10)},
	{11, offsetof(struct wire_registers, r11)}, {12, offsetof(struct wire_registers, r12)},
	{13, offsetof(struct wire_registers, r13)}, {14, offsetof(struct wire_registers, r14)},
	{15, offsetof(struct wire_registers, r15)},
};

static void set_copy(struct scene *scene, size_t i)
{
	uint64_t frame = WORD(4);

	memcpy((char *)&scene->walk.registers + copies[i].offset, &frame, sizeof(frame));
	scene->stack[6] = RETURN_INTO(OUTER);
}

static void a_copy_of_the_stack_pointer_leads_to_the_caller(_unused_ void **state)
{
	for (size_t i = 0; i < ARRAY_LENGTH(copies); i++) {
		struct scene scene =
			scene_of(RULE(UNWIND_CFA_COPY, UNWIND_COPY(copies[i].number, 24)));

		set_copy(&scene, i);
		assert_reaches_outer(&scene);
		assert_true(scene.walk.registers.sp == WORD(7));
	}
}

static void a_copy_leads_on_where_the_callee_has_pushed_nothing(_unused_ void **state)
{
	for (size_t i = 0; i < ARRAY_LENGTH(copies); i++) {
		struct unwind_rule rule = RULE(UNWIND_CFA_COPY, UNWIND_COPY(copies[i].number, 24));
		struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8), rule);

		set_copy(&scene, i);
		add_call_before(&scene, RETURN_INTO(OUTER));
		assert_passes_caller(&scene);
	}
}

static void a_copy_that_leads_to_no_call_is_not_followed(_unused_ void **state)
{
	struct scene scene =
		scene_of_two(RULE(UNWIND_CFA_SP, 8), RULE(UNWIND_CFA_COPY, UNWIND_COPY(12, 24)));

	scene.walk.registers.r12 = WORD(4);
	scene.stack[6] = RETURN_INTO(OUTER);
	assert_ends_in_caller(&scene, WALK_UNSUPPORTED);
}

/* It may have saved the register and have a copy of its own in it. */
static void a_copy_is_not_known_above_a_callee_with_a_frame(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_SP, 16));

	scene.rules[CALLER] = RULE(UNWIND_CFA_COPY, UNWIND_COPY(12, 24));
	scene.walk.registers.r12 = WORD(4);
	scene.stack[1] = RETURN_INTO(CALLER);
	scene.stack[6] = RETURN_INTO(OUTER);
	add_call_before(&scene, RETURN_INTO(OUTER));
	assert_ends_in_caller(&scene, WALK_UNSUPPORTED);
}

/* Its stack lies below the thread's. */
static void the_stack_of_a_goroutine_goes_on_where_it_called_c(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_GOROUTINE, 24));

	scene.walk.registers.sp = FAR;
	scene.far[3] = WORD(10);   /* the description of the goroutine */
	scene.far[2] = 16;         /* how far from the end of its stack */
	scene.stack[11] = WORD(8); /* the end of its stack */
	scene.stack[6] = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
	assert_true(scene.walk.registers.sp == WORD(7));
}

/* Its rbp lies between the place and the return address. */
static void the_stack_of_a_goroutine_may_go_on_behind_a_frame_pointer(_unused_ void **state)
{
	struct scene scene = scene_of((struct unwind_rule){.cfa_op = UNWIND_CFA_GOROUTINE,
							   .cfa_offset = 24,
							   .fp_op = UNWIND_REGISTER_AT_CFA,
							   .fp_offset = -16});

	scene.walk.registers.sp = FAR;
	scene.far[3] = WORD(10);
	scene.far[2] = 16;
	scene.stack[11] = WORD(8);
	scene.stack[7] = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
	assert_true(scene.walk.registers.sp == WORD(8));
}

static void a_goroutine_that_cannot_be_read_ends_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_GOROUTINE, 24));

	scene.stack[3] = UNREADABLE;
	assert_ends_in_inner(&scene, WALK_READ_FAILED);
}

/* The thread's own stack is above or below the goroutine's. */
static void a_function_that_has_left_a_stack_is_called_by_the_frame_pointer(_unused_ void **state)
{
	struct unwind_rule rule = RULE(UNWIND_CFA_FP_ELSEWHERE, 16, .fp_op = UNWIND_REGISTER_AT_CFA,
				       .fp_offset = -16);
	struct scene scene = scene_of(rule);

	scene.walk.registers.sp = FAR;
	scene.walk.registers.fp = WORD(5);
	scene.stack[6] = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
	assert_true(scene.walk.registers.sp == WORD(7));
	assert_true(scene.walk.fp_address == WORD(5));
}

/* The vdso is its callee. */
static void a_function_that_has_left_a_stack_returns_to_a_call(_unused_ void **state)
{
	struct unwind_rule rule = RULE(UNWIND_CFA_FP_ELSEWHERE, 16, .fp_op = UNWIND_REGISTER_AT_CFA,
				       .fp_offset = -16);
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8), rule);
	struct scene other;

	scene.walk.registers.sp = FAR;
	scene.far[0] = RETURN_INTO(CALLER);
	scene.walk.registers.fp = WORD(5);
	scene.stack[6] = RETURN_INTO(OUTER);
	other = scene;
	add_call_before(&scene, RETURN_INTO(OUTER));
	assert_passes_caller(&scene);
	assert_ends_in_caller(&other, WALK_UNSUPPORTED);
}

/* A register has its stack pointer, also in a function that it calls and that pushes nothing. */
static void a_function_that_has_left_a_stack_is_called_by_a_copy_of_it(_unused_ void **state)
{
	struct unwind_rule rule = RULE(UNWIND_CFA_COPY_ELSEWHERE, UNWIND_COPY(12, 8));
	struct scene scene = scene_of(rule);
	struct scene called = scene_of_two(RULE(UNWIND_CFA_SP, 8), rule);
	struct scene pushed = scene_of_two(RULE(UNWIND_CFA_SP, 16), rule);

	scene.walk.registers.sp = called.walk.registers.sp = pushed.walk.registers.sp = FAR;
	scene.walk.registers.r12 = called.walk.registers.r12 = pushed.walk.registers.r12 = WORD(5);
	called.far[0] = pushed.far[1] = RETURN_INTO(CALLER);
	scene.stack[5] = called.stack[5] = pushed.stack[5] = RETURN_INTO(OUTER);
	add_call_before(&called, RETURN_INTO(OUTER));
	add_call_before(&pushed, RETURN_INTO(OUTER));
	assert_reaches_outer(&scene);
	assert_passes_caller(&called);
	assert_ends_in_caller(&pushed, WALK_UNSUPPORTED);
}

#define RETURN_TO_CALLER_OF_SWITCH RETURN_INTO(CALLER)

/* The thread is on g0 in INNER, called by CALLER, which calls it by `target`. */
static struct scene scene_of_scheduled(int bytes, uint64_t target)
{
	struct unwind_rule rule =
		RULE(UNWIND_CFA_SCHEDULED, bytes, .fp_offset = 184, .bx_offset = -8);
	struct scene scene = scene_of(rule);
	int32_t distance = (int32_t)(target - RETURN_TO_CALLER_OF_SWITCH);

	scene.rules[CALLER] = RULE(UNWIND_CFA_SP, 16);
	add_call_before(&scene, RETURN_TO_CALLER_OF_SWITCH);
	memcpy(&scene.code[RETURN_TO_CALLER_OF_SWITCH - CODE - 4], &distance, sizeof(distance));
	scene.thread_pointer = WORD(2);
	scene.stack[1] = WORD(10);                       /* g0 */
	scene.stack[10 + WALK_GO_THREAD / 8] = WORD(20); /* its thread */
	scene.stack[20 + 184 / 8] = WORD(50);            /* the current goroutine */
	scene.stack[50 + WALK_GO_SAVED_SP / 8] = FAR;
	scene.walk.registers.sp = WORD(70);
	return scene;
}

static void a_goroutine_goes_on_where_the_runtime_has_left_its_stack(_unused_ void **state)
{
	struct scene scene = scene_of_scheduled(16, START_OF(INNER));

	scene.far[1] = RETURN_TO_CALLER_OF_SWITCH;
	scene.far[3] = RETURN_INTO(OUTER);
	assert_passes_caller(&scene);
	assert_true(scene.walk.registers.sp == FAR + 32);
}

/* Its stack may have moved: the address is in the description. */
static void a_goroutine_goes_on_where_its_stack_is_made_larger(_unused_ void **state)
{
	struct scene scene = scene_of_scheduled(0, START_OF(INNER));

	scene.stack[50 + WALK_GO_SAVED_PC / 8] = RETURN_TO_CALLER_OF_SWITCH;
	scene.far[1] = RETURN_INTO(OUTER);
	assert_passes_caller(&scene);
	assert_true(scene.walk.registers.sp == FAR + 16);
}

static void another_goroutine_is_not_the_caller(_unused_ void **state)
{
	struct scene scene = scene_of_scheduled(16, START_OF(INNER) + 0x300);

	scene.far[1] = RETURN_TO_CALLER_OF_SWITCH;
	assert_ends_in_inner(&scene, WALK_UNSUPPORTED);
}

static void a_thread_without_goroutine_has_come_to_its_scheduler(_unused_ void **state)
{
	struct scene growing = scene_of_scheduled(0, START_OF(INNER));
	struct scene switched = scene_of_scheduled(16, START_OF(INNER));

	growing.stack[20 + 184 / 8] = switched.stack[20 + 184 / 8] = 0;
	assert_ends_in_inner(&growing, WALK_COMPLETE);
	assert_ends_in_inner(&switched, WALK_UNSUPPORTED);
}

static void a_thread_whose_goroutine_cannot_be_read_ends_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of_scheduled(16, START_OF(INNER));
	struct scene unknown = scene;

	scene.stack[50 + WALK_GO_SAVED_SP / 8] = UNREADABLE;
	assert_ends_in_inner(&scene, WALK_READ_FAILED);
	unknown.thread_pointer = 0;
	assert_ends_in_inner(&unknown, WALK_READ_FAILED);
}

static void the_cfa_may_lie_in_memory_at_the_frame_pointer(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_DEREF_FP, -8));

	scene.walk.registers.fp = WORD(3);
	scene.stack[2] = WORD(6);
	scene.stack[5] = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
}

static void a_cfa_that_cannot_be_read_ends_the_walk(_unused_ void **state)
{
	static const uint8_t ops[] = {UNWIND_CFA_DEREF_SP, UNWIND_CFA_DEREF_SP_ADD,
				      UNWIND_CFA_DEREF_FP, UNWIND_CFA_GOROUTINE};

	for (size_t i = 0; i < sizeof(ops); i++) {
		/* Beyond the stack of the test, at the stack pointer's place. */
		int offset = ops[i] == UNWIND_CFA_DEREF_SP_ADD ? UNWIND_STORED_COPY(1 << 18, 8)
							       : 1 << 30;
		struct scene scene = scene_of(RULE(ops[i], offset));

		scene.walk.registers.fp = WORD(3);
		assert_ends_in_inner(&scene, WALK_READ_FAILED);
	}
}

static void an_entry_of_the_plt_has_pushed_nothing_in_its_first_half(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_PLT, 5));

	scene.stack[0] = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
	assert_true(scene.walk.registers.sp == WORD(1));
}

static void an_entry_of_the_plt_has_pushed_a_word_in_its_second_half(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_PLT, 4));

	scene.stack[1] = RETURN_INTO(OUTER);
	assert_reaches_outer(&scene);
	assert_true(scene.walk.registers.sp == WORD(2));
}

static void a_signal_frame_gives_the_registers_of_what_it_interrupted(_unused_ void **state)
{
	static const uint8_t ops[] = {UNWIND_CFA_FP, UNWIND_CFA_BX, UNWIND_CFA_SP};

	for (size_t i = 0; i < sizeof(ops); i++) {
		struct scene scene = scene_of_signal(RULE(ops[i], 16));

		/* All of these are stale. */
		scene.walk.is_fp_lost = scene.walk.is_bx_lost = 1;
		scene.walk.fp_address = scene.walk.bx_address = UNREADABLE;
		if (ops[i] == UNWIND_CFA_SP)
			scene.stack[41] = RETURN_INTO(OUTER);
		else
			scene.stack[ops[i] == UNWIND_CFA_FP ? 33 : 37] = RETURN_INTO(OUTER);
		if (ops[i] != UNWIND_CFA_SP)
			scene.stack[WALK_CONTEXT_SP / 8] = WORD(30);
		ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4),
			    EXACT(START_OF(CALLER)), RETURN_INTO(OUTER));
	}
}

/* Go's runtime returns from signals in a function that no call is in front of. */
static void a_signal_frame_may_start_at_the_next_byte(_unused_ void **state)
{
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 8), RULE(UNWIND_CFA_SIGNAL, 1));

	scene.stack[0] = START_OF(CALLER) + 1;
	scene.stack[1 + WALK_CONTEXT_PC / 8] = START_OF(OUTER);
	scene.stack[1 + WALK_CONTEXT_SP / 8] = WORD(40);
	ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), EXACT(START_OF(CALLER) + 1),
		    EXACT(START_OF(OUTER)));
}

/* The function that lies before it may end without padding. */
static void what_starts_at_the_byte_before_a_signal_frame_is_a_return(_unused_ void **state)
{
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_SIGNAL, 1), RULE(UNWIND_CFA_SP, 8));

	scene.stack[0] = RETURN_INTO(CALLER);
	scene.stack[1] = RETURN_INTO(OUTER);
	ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), RETURN_INTO(CALLER),
		    RETURN_INTO(OUTER));
}

static void a_return_to_no_code_ends_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_STOP, 1));

	scene.stack[0] = 7;
	assert_ends_in_inner(&scene, WALK_NO_RETURN_ADDRESS);
}

static void what_a_signal_interrupted_may_lie_on_another_stack_below(_unused_ void **state)
{
	struct scene scene = scene_of_signal(RULE(UNWIND_CFA_SP, 8));

	scene.walk.registers.sp = WORD(64);
	memcpy(&scene.stack[64], &scene.stack[0], 32 * sizeof(scene.stack[0]));
	scene.stack[40] = RETURN_INTO(OUTER);
	ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), EXACT(START_OF(CALLER)),
		    RETURN_INTO(OUTER));
}

static void what_a_signal_interrupted_is_not_the_innermost(_unused_ void **state)
{
	struct scene scene = scene_of_signal(RULE(UNWIND_CFA_R10, 0));

	scene.walk.registers.r10 = WORD(50);
	scene.stack[49] = RETURN_INTO(OUTER);
	add_call_before(&scene, RETURN_INTO(OUTER));
	ASSERT_WALK(&scene, WALK_UNSUPPORTED, EXACT(START_OF(INNER) + 4), EXACT(START_OF(CALLER)));
}

/* INNER is what a handler returns to that runs on this alternate stack. */
static struct scene scene_on_signal_stack(uint64_t start, uint64_t num_bytes)
{
	struct scene scene = scene_of_signal(RULE(UNWIND_CFA_SP, 8));

	scene.stack[WALK_CONTEXT_STACK / 8] = start;
	scene.stack[WALK_CONTEXT_STACK_BYTES / 8] = num_bytes;
	scene.stack[40] = RETURN_INTO(OUTER);
	scene.has_signal_stack = true;
	return scene;
}

static void assert_passes_signal(struct scene *scene)
{
	ASSERT_WALK(scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), EXACT(START_OF(CALLER)),
		    RETURN_INTO(OUTER));
}

static void a_handler_runs_while_the_alternate_stack_is_the_threads(_unused_ void **state)
{
	struct scene scene = scene_on_signal_stack(STACK, 0x1000);

	scene.signal_stack = STACK;
	scene.signal_stack_bytes = 0x1000;
	assert_passes_signal(&scene);
}

/* It was left by siglongjmp: what it interrupted has gone on. */
static void a_coroutine_on_a_former_signal_stack_starts_there(_unused_ void **state)
{
	struct scene none = scene_on_signal_stack(STACK - 0x100, 0x1000);
	struct scene other = scene_on_signal_stack(STACK - 0x100, 0x1000);

	other.signal_stack = STACK - 0x100;
	other.signal_stack_bytes = 0x2000;
	assert_ends_in_inner(&none, WALK_COMPLETE);
	assert_ends_in_inner(&other, WALK_COMPLETE);
}

static void a_handler_on_the_interrupted_stack_is_not_asked_for_another(_unused_ void **state)
{
	struct scene without = scene_on_signal_stack(0, 0);
	struct scene below = scene_on_signal_stack(STACK - 0x1000, 0x1000);
	struct scene above = scene_on_signal_stack(STACK + 8, 0x1000);

	assert_passes_signal(&without);
	assert_passes_signal(&below);
	assert_passes_signal(&above);
}

/* SS_AUTODISARM: the thread has no alternate stack while the handler runs. */
static void a_disarmed_stack_shows_nothing(_unused_ void **state)
{
	struct scene scene = scene_on_signal_stack(STACK, 0x1000);

	scene.stack[WALK_CONTEXT_STACK_FLAGS / 8] = WALK_STACK_IS_DISARMED;
	assert_passes_signal(&scene);
}

static void a_signal_frame_that_cannot_be_read_ends_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_SIGNAL, 0));

	/* Of the four registers all but the last, rip, are there. */
	scene.walk.registers.sp = WORD(NUM_WORDS) - WALK_CONTEXT_PC;
	assert_ends_in_inner(&scene, WALK_READ_FAILED);
}

static void a_frame_that_is_marked_the_outermost_completes_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_STOP, 0));

	assert_ends_in_inner(&scene, WALK_COMPLETE);
}

static void a_rule_that_is_not_one_of_ours_ends_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_UNSUPPORTED, 8));

	assert_ends_in_inner(&scene, WALK_UNSUPPORTED);
}

static void an_address_without_rule_ends_the_walk(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_NONE, 8));

	assert_ends_in_inner(&scene, WALK_NO_RULE);
}

static void an_address_beyond_the_table_has_no_rule(_unused_ void **state)
{
	struct scene scene = scene_of(RULE(UNWIND_CFA_SP, 8));

	scene.mappings[0].bias = 0;
	assert_ends_in_inner(&scene, WALK_NO_RULE);
}

static void a_register_that_a_frame_leaves_alone_is_the_callers(_unused_ void **state)
{
	struct scene by_fp = scene_of_register(UNWIND_CFA_FP, (struct unwind_rule){0});
	struct scene by_bx = scene_of_register(UNWIND_CFA_BX, (struct unwind_rule){0});

	by_fp.stack[21] = RETURN_INTO(OUTER);
	assert_passes_caller(&by_fp);
	by_bx.stack[25] = RETURN_INTO(OUTER);
	assert_passes_caller(&by_bx);
}

static void a_register_may_be_saved_below_the_cfa(_unused_ void **state)
{
	struct unwind_rule inner = {.cfa_op = UNWIND_CFA_SP,
				    .cfa_offset = 32,
				    .fp_op = UNWIND_REGISTER_AT_CFA,
				    .fp_offset = -16,
				    .bx_op = UNWIND_REGISTER_AT_CFA,
				    .bx_offset = -24};
	static const uint8_t ops[] = {UNWIND_CFA_FP, UNWIND_CFA_BX};

	for (size_t i = 0; i < sizeof(ops); i++) {
		struct scene scene = scene_of_two(inner, RULE(ops[i], 16));

		scene.stack[3] = RETURN_INTO(CALLER);
		scene.stack[ops[i] == UNWIND_CFA_FP ? 2 : 1] = WORD(30);
		scene.stack[31] = RETURN_INTO(OUTER);
		assert_passes_caller(&scene);
	}
}

/*
 * INNER has a frame of 32 words and keeps registers where rbp says; CALLER finds its frame by one.
 */
static struct scene scene_of_realigned(uint8_t caller_op, uint64_t fp)
{
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_SP, 256, .fp_op = UNWIND_REGISTER_AT_FP,
					       .bx_op = UNWIND_REGISTER_AT_FP, .bx_offset = -8),
					  RULE(caller_op, 16));

	scene.walk.registers.fp = fp;
	scene.walk.registers.bx = fp;
	scene.stack[31] = RETURN_INTO(CALLER);
	return scene;
}

static void a_register_may_be_saved_at_the_frame_pointer_of_its_frame(_unused_ void **state)
{
	struct scene by_fp = scene_of_realigned(UNWIND_CFA_FP, WORD(20));
	struct scene by_bx = scene_of_realigned(UNWIND_CFA_BX, WORD(20));

	by_fp.stack[20] = by_bx.stack[19] = WORD(40);
	by_fp.stack[41] = by_bx.stack[41] = RETURN_INTO(OUTER);
	assert_passes_caller(&by_fp);
	assert_passes_caller(&by_bx);
}

static void a_frame_pointer_outside_of_its_frame_is_the_callers_again(_unused_ void **state)
{
	static const unsigned int words[] = {32, 50};

	for (size_t i = 0; i < 2; i++) {
		struct scene by_fp = scene_of_realigned(UNWIND_CFA_FP, WORD(words[i]));
		struct scene by_bx = scene_of_realigned(UNWIND_CFA_BX, WORD(words[i]));

		by_fp.stack[words[i] + 1] = by_bx.stack[words[i] + 1] = RETURN_INTO(OUTER);
		assert_passes_caller(&by_fp);
		assert_passes_caller(&by_bx);
	}
}

static void a_lost_register_ends_the_walk_only_where_it_is_needed(_unused_ void **state)
{
	struct unwind_rule inner = {.fp_op = UNWIND_REGISTER_UNDEFINED,
				    .bx_op = UNWIND_REGISTER_UNDEFINED};
	struct scene by_fp = scene_of_register(UNWIND_CFA_FP, inner);
	struct scene by_bx = scene_of_register(UNWIND_CFA_BX, inner);
	struct scene by_sp = scene_of_register(UNWIND_CFA_SP, inner);

	assert_ends_in_caller(&by_fp, WALK_READ_FAILED);
	assert_ends_in_caller(&by_bx, WALK_READ_FAILED);
	by_sp.stack[2] = RETURN_INTO(OUTER);
	assert_passes_caller(&by_sp);
}

static void a_lost_register_cannot_say_where_others_are(_unused_ void **state)
{
	struct unwind_rule by_fp = {.fp_op = UNWIND_REGISTER_AT_FP};
	struct unwind_rule bx_by_fp = {.bx_op = UNWIND_REGISTER_AT_FP};
	struct scene scene = scene_of_register(UNWIND_CFA_SP, by_fp);

	scene.walk.is_fp_lost = 1;
	assert_ends_in_inner(&scene, WALK_READ_FAILED);
	scene = scene_of_register(UNWIND_CFA_SP, bx_by_fp);
	scene.walk.is_fp_lost = 1;
	assert_ends_in_inner(&scene, WALK_READ_FAILED);
}

static void a_lost_register_is_known_again_where_an_outer_frame_saved_it(_unused_ void **state)
{
	static const uint8_t ops[] = {UNWIND_CFA_FP, UNWIND_CFA_BX};

	for (size_t i = 0; i < sizeof(ops); i++) {
		struct scene scene = scene_of_two(
			RULE(UNWIND_CFA_SP, 8, .fp_op = UNWIND_REGISTER_UNDEFINED,
			     .bx_op = UNWIND_REGISTER_UNDEFINED),
			RULE(UNWIND_CFA_SP, 24, .fp_op = UNWIND_REGISTER_AT_CFA, .fp_offset = -16,
			     .bx_op = UNWIND_REGISTER_AT_CFA, .bx_offset = -24));

		scene.rules[2] = RULE(ops[i], 16);
		scene.stack[ops[i] == UNWIND_CFA_FP ? 2 : 1] = WORD(30);
		scene.stack[3] = RETURN_INTO(2);
		scene.stack[31] = RETURN_INTO(OUTER);
		ASSERT_WALK(&scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), RETURN_INTO(CALLER),
			    RETURN_INTO(2), RETURN_INTO(OUTER));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stack_pointer_leads_to_the_caller),
		cmocka_unit_test(the_frame_pointer_leads_to_the_caller),
		cmocka_unit_test(an_offset_may_be_negative),
		cmocka_unit_test(rbx_leads_to_the_caller),
		cmocka_unit_test(
			registers_that_nobody_saves_lead_to_the_caller_of_the_innermost_frame),
		cmocka_unit_test(such_a_register_leads_on_where_callees_have_left_it_alone),
		cmocka_unit_test(such_a_register_that_leads_to_no_call_is_not_followed),
		cmocka_unit_test(the_cfa_may_lie_in_memory_at_the_stack_pointer),
		cmocka_unit_test(the_cfa_may_lie_above_what_is_in_memory_at_the_stack_pointer),
		cmocka_unit_test(the_cfa_may_lie_any_distance_above_what_is_in_memory),
		cmocka_unit_test(a_copy_of_the_stack_pointer_leads_to_the_caller),
		cmocka_unit_test(a_copy_leads_on_where_the_callee_has_pushed_nothing),
		cmocka_unit_test(a_copy_that_leads_to_no_call_is_not_followed),
		cmocka_unit_test(a_copy_is_not_known_above_a_callee_with_a_frame),
		cmocka_unit_test(the_stack_of_a_goroutine_goes_on_where_it_called_c),
		cmocka_unit_test(the_stack_of_a_goroutine_may_go_on_behind_a_frame_pointer),
		cmocka_unit_test(a_goroutine_that_cannot_be_read_ends_the_walk),
		cmocka_unit_test(a_function_that_has_left_a_stack_is_called_by_the_frame_pointer),
		cmocka_unit_test(a_function_that_has_left_a_stack_returns_to_a_call),
		cmocka_unit_test(a_function_that_has_left_a_stack_is_called_by_a_copy_of_it),
		cmocka_unit_test(a_goroutine_goes_on_where_the_runtime_has_left_its_stack),
		cmocka_unit_test(a_goroutine_goes_on_where_its_stack_is_made_larger),
		cmocka_unit_test(another_goroutine_is_not_the_caller),
		cmocka_unit_test(a_thread_without_goroutine_has_come_to_its_scheduler),
		cmocka_unit_test(a_thread_whose_goroutine_cannot_be_read_ends_the_walk),
		cmocka_unit_test(the_cfa_may_lie_in_memory_at_the_frame_pointer),
		cmocka_unit_test(a_cfa_that_cannot_be_read_ends_the_walk),
		cmocka_unit_test(an_entry_of_the_plt_has_pushed_nothing_in_its_first_half),
		cmocka_unit_test(an_entry_of_the_plt_has_pushed_a_word_in_its_second_half),
		cmocka_unit_test(a_signal_frame_gives_the_registers_of_what_it_interrupted),
		cmocka_unit_test(a_signal_frame_may_start_at_the_next_byte),
		cmocka_unit_test(what_starts_at_the_byte_before_a_signal_frame_is_a_return),
		cmocka_unit_test(a_return_to_no_code_ends_the_walk),
		cmocka_unit_test(what_a_signal_interrupted_may_lie_on_another_stack_below),
		cmocka_unit_test(what_a_signal_interrupted_is_not_the_innermost),
		cmocka_unit_test(a_handler_runs_while_the_alternate_stack_is_the_threads),
		cmocka_unit_test(a_coroutine_on_a_former_signal_stack_starts_there),
		cmocka_unit_test(a_handler_on_the_interrupted_stack_is_not_asked_for_another),
		cmocka_unit_test(a_disarmed_stack_shows_nothing),
		cmocka_unit_test(a_signal_frame_that_cannot_be_read_ends_the_walk),
		cmocka_unit_test(a_frame_that_is_marked_the_outermost_completes_the_walk),
		cmocka_unit_test(a_rule_that_is_not_one_of_ours_ends_the_walk),
		cmocka_unit_test(an_address_without_rule_ends_the_walk),
		cmocka_unit_test(an_address_beyond_the_table_has_no_rule),
		cmocka_unit_test(a_register_that_a_frame_leaves_alone_is_the_callers),
		cmocka_unit_test(a_register_may_be_saved_below_the_cfa),
		cmocka_unit_test(a_register_may_be_saved_at_the_frame_pointer_of_its_frame),
		cmocka_unit_test(a_frame_pointer_outside_of_its_frame_is_the_callers_again),
		cmocka_unit_test(a_lost_register_ends_the_walk_only_where_it_is_needed),
		cmocka_unit_test(a_lost_register_cannot_say_where_others_are),
		cmocka_unit_test(a_lost_register_is_known_again_where_an_outer_frame_saved_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
