#include "unwind/replay.h"

#include "unit.h"

#include <string.h>

#include "base/attributes.h"
#include "wire/wire.h"

#define HANDLER_STACK 0x602000ull       /* what is left of it: 32 words */
#define STACK         0x7ffc00001000ull /* from where it was interrupted: 8 words */
#define HANDLER       0x401000ull
#define TRAMPOLINE    0x402000ull
#define INTERRUPTED   0x403000ull
#define OUTERMOST     0x404000ull
#define GENERATED     0x500000ull

enum { HANDLER_WORDS = 32, STACK_WORDS = 8 };
/* In a ucontext, which lies above the return address into the trampoline. */
enum { CONTEXT_STACK_WORD = 1 + 2, CONTEXT_STACK_BYTES_WORD = 1 + 4 };
enum { CONTEXT_RSP_WORD = 1 + 20, CONTEXT_RIP_WORD = 1 + 21 };

struct scene {
	uint64_t handler_words[HANDLER_WORDS];
	uint64_t words[STACK_WORDS];
	struct replay_stack stack;
	int cfa_offset; /* of all functions but the trampoline and the outermost */
	bool has_no_table;
	bool has_no_rule; /* for the handler */
	uint64_t pcs[WIRE_MAX_FRAMES];
	uint32_t num_frames;
	uint64_t outermost_sp;
};

static bool find_code(void *context, uint64_t pc, struct replay_code *ret)
{
	const struct scene *scene = context;

	ret->mapping = (struct unwind_mapping){
		.start = HANDLER, .end = OUTERMOST + 0x1000, .flags = UNWIND_MAPPING_HAS_TABLE};
	if (scene->has_no_table) {
		ret->mapping.end = OUTERMOST;
		ret->mapping.flags = UNWIND_MAPPING_HAS_NO_CFI;
	}
	if (pc >= GENERATED)
		ret->mapping = (struct unwind_mapping){.start = GENERATED,
						       .end = GENERATED + 0x1000,
						       .flags = UNWIND_MAPPING_HAS_NO_CFI};
	else if (scene->has_no_table && pc >= OUTERMOST)
		ret->mapping = (struct unwind_mapping){.start = OUTERMOST,
						       .end = OUTERMOST + 0x1000,
						       .flags = UNWIND_MAPPING_HAS_TABLE};
	return pc >= ret->mapping.start && pc < ret->mapping.end;
}

static bool find_rule(void *context, const struct replay_code *code _unused_, uint64_t elf_address,
		      struct unwind_rule *ret)
{
	const struct scene *scene = context;

	if (scene->has_no_rule && elf_address >> 12 == HANDLER >> 12)
		*ret = (struct unwind_rule){.cfa_op = UNWIND_CFA_NONE};
	else if (elf_address >= OUTERMOST)
		*ret = (struct unwind_rule){.cfa_op = UNWIND_CFA_STOP};
	else if (elf_address >> 12 == TRAMPOLINE >> 12)
		*ret = (struct unwind_rule){.cfa_op = UNWIND_CFA_SIGNAL};
	else
		*ret = (struct unwind_rule){.cfa_op = UNWIND_CFA_SP,
					    .cfa_offset = scene->cfa_offset};
	return true;
}

/* A handler runs on its own stack; its caller is the trampoline, above which lies the ucontext. */
static void init_scene(struct scene *scene)
{
	*scene = (struct scene){
		.stack = {.registers = {.pc = HANDLER, .sp = HANDLER_STACK},
			  .stack = {HANDLER_STACK, (const uint8_t *)scene->handler_words,
				    sizeof(scene->handler_words)},
			  .far = {STACK, (const uint8_t *)scene->words, sizeof(scene->words)}},
		.cfa_offset = 8,
	};
	scene->handler_words[0] = TRAMPOLINE + 1;
	scene->handler_words[CONTEXT_RSP_WORD] = STACK;
	scene->handler_words[CONTEXT_RIP_WORD] = INTERRUPTED;
	scene->words[0] = OUTERMOST + 1;
}

static enum walk_end replay(struct scene *scene)
{
	struct replay_source source = {
		.find_code = find_code,
		.find_rule = find_rule,
		.context = scene,
	};

	return replay_walk(&scene->stack, &source, scene->pcs, &scene->num_frames,
			   &scene->outermost_sp);
}

static void a_walk_leaves_the_handlers_stack_for_the_interrupted_one(void **state _unused_)
{
	struct scene scene;

	init_scene(&scene);
	assert_int_equal(replay(&scene), WALK_COMPLETE);
	assert_int_equal(scene.num_frames, 4);
	assert_true(scene.pcs[0] == (HANDLER | WIRE_PC_EXACT));
	assert_true(scene.pcs[1] == TRAMPOLINE + 1);
	assert_true(scene.pcs[2] == (INTERRUPTED | WIRE_PC_EXACT));
	assert_true(scene.pcs[3] == OUTERMOST + 1);
	assert_true(scene.outermost_sp == STACK + 8);
}

/* The handler was left, and its stack is a coroutine's now. */
static void a_walk_does_not_leave_a_stack_that_is_no_longer_for_handlers(void **state _unused_)
{
	struct scene scene;

	init_scene(&scene);
	scene.handler_words[CONTEXT_STACK_WORD] = HANDLER_STACK;
	scene.handler_words[CONTEXT_STACK_BYTES_WORD] = sizeof(scene.handler_words);
	assert_int_equal(replay(&scene), WALK_COMPLETE);
	assert_int_equal(scene.num_frames, 4); /* unknown */
	scene.stack.has_signal_stack = true;
	assert_int_equal(replay(&scene), WALK_COMPLETE);
	assert_int_equal(scene.num_frames, 2);
	assert_true(scene.pcs[1] == TRAMPOLINE + 1);
	scene.stack.signal_stack = HANDLER_STACK;
	scene.stack.signal_stack_bytes = sizeof(scene.handler_words);
	assert_int_equal(replay(&scene), WALK_COMPLETE);
	assert_int_equal(scene.num_frames, 4);
	scene.stack.signal_stack_bytes--;
	assert_int_equal(replay(&scene), WALK_COMPLETE);
	assert_int_equal(scene.num_frames, 2);
}

/* How the walk ends whose return address is at this offset from the stack pointer. */
static enum walk_end end_with_return_address_at(struct scene *scene, uint64_t sp, int offset)
{
	scene->stack.registers.sp = sp;
	scene->cfa_offset = offset + 8;
	return replay(scene);
}

static void words_are_read_up_to_the_end_of_each_stack(void **state _unused_)
{
	struct scene scene;

	init_scene(&scene);
	scene.handler_words[HANDLER_WORDS - 1] = OUTERMOST + 1;
	scene.words[STACK_WORDS - 1] = OUTERMOST + 1;
	assert_int_equal(end_with_return_address_at(&scene, HANDLER_STACK, (HANDLER_WORDS - 1) * 8),
			 WALK_COMPLETE);
	assert_int_equal(end_with_return_address_at(&scene, STACK, (STACK_WORDS - 1) * 8),
			 WALK_COMPLETE);
}

static void nothing_is_read_outside_the_stacks(void **state _unused_)
{
	struct scene scene;

	init_scene(&scene);
	assert_int_equal(end_with_return_address_at(&scene, HANDLER_STACK - 8, 0),
			 WALK_READ_FAILED);
	assert_int_equal(end_with_return_address_at(&scene, HANDLER_STACK, HANDLER_WORDS * 8 - 7),
			 WALK_READ_FAILED);
	assert_int_equal(end_with_return_address_at(&scene, STACK - 1, 0), WALK_READ_FAILED);
	assert_int_equal(end_with_return_address_at(&scene, STACK, STACK_WORDS * 8 - 7),
			 WALK_READ_FAILED);
}

static void a_stack_of_less_than_a_word_holds_none(void **state _unused_)
{
	struct scene scene;

	init_scene(&scene);
	scene.stack.stack.size = 7;
	scene.stack.far.size = 0;
	assert_int_equal(end_with_return_address_at(&scene, HANDLER_STACK, 0), WALK_READ_FAILED);
	assert_int_equal(end_with_return_address_at(&scene, STACK, 0), WALK_READ_FAILED);
}

static void a_pc_where_nothing_is_mapped_ends_the_walk(void **state _unused_)
{
	struct scene scene;

	init_scene(&scene);
	scene.handler_words[0] = 0x900000;
	assert_int_equal(replay(&scene), WALK_NO_MAPPING);
	assert_int_equal(scene.num_frames, 2);
	assert_true(scene.outermost_sp == 0);
}

/* Its code cannot be read, but it has been seen whose the frame pointer is. */
static void a_function_without_frame_is_left_by_the_stack_pointer(void **state _unused_)
{
	struct scene scene;

	init_scene(&scene);
	scene.has_no_table = true;
	scene.stack.registers =
		(struct wire_registers){.pc = HANDLER, .sp = STACK, .fp = STACK + 32};
	scene.words[1] = INTERRUPTED + 1;
	scene.words[5] = OUTERMOST + 1;
	assert_int_equal(replay(&scene), WALK_COMPLETE);
	assert_int_equal(scene.num_frames, 2);
	assert_true(scene.pcs[0] == (HANDLER | WIRE_PC_EXACT | WIRE_PC_FP_STEP));
	assert_true(scene.pcs[1] == OUTERMOST + 1);
	scene.stack.cfa_offset = 16;
	assert_int_equal(replay(&scene), WALK_COMPLETE);
	assert_int_equal(scene.num_frames, 3);
	assert_true(scene.pcs[0] == (HANDLER | WIRE_PC_EXACT));
	assert_true(scene.pcs[1] == ((INTERRUPTED + 1) | WIRE_PC_FP_STEP));
	assert_true(scene.pcs[2] == OUTERMOST + 1);
}

/* It has been seen in code that was generated that the innermost function was just entered, and its caller as well. */
static void what_was_just_entered_is_left_by_the_stack_pointer(void **state _unused_)
{
	struct scene scene;

	init_scene(&scene);
	scene.has_no_rule = true;
	scene.stack.registers = (struct wire_registers){.pc = HANDLER, .sp = STACK};
	scene.words[0] = GENERATED + 1;
	scene.words[1] = OUTERMOST + 1;
	assert_int_equal(replay(&scene), WALK_NO_RULE);
	scene.stack.entry_bytes = 8;
	assert_int_equal(replay(&scene), WALK_FP_CHAIN);
	assert_int_equal(scene.num_frames, 2);
	scene.stack.frame_setup = WALK_FRAME_SETUP_JAVASCRIPT;
	assert_int_equal(replay(&scene), WALK_COMPLETE);
	assert_int_equal(scene.num_frames, 3);
	assert_true(scene.pcs[0] == (HANDLER | WIRE_PC_EXACT | WIRE_PC_ENTRY_STEP));
	assert_true(scene.pcs[1] == GENERATED + 1);
	assert_true(scene.pcs[2] == OUTERMOST + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_leaves_the_handlers_stack_for_the_interrupted_one),
		cmocka_unit_test(a_walk_does_not_leave_a_stack_that_is_no_longer_for_handlers),
		cmocka_unit_test(words_are_read_up_to_the_end_of_each_stack),
		cmocka_unit_test(nothing_is_read_outside_the_stacks),
		cmocka_unit_test(a_function_without_frame_is_left_by_the_stack_pointer),
		cmocka_unit_test(what_was_just_entered_is_left_by_the_stack_pointer),
		cmocka_unit_test(a_stack_of_less_than_a_word_holds_none),
		cmocka_unit_test(a_pc_where_nothing_is_mapped_ends_the_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
