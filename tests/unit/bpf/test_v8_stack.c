/* Where the walk finds the JavaScript function of a native level, and what it sends of it. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "interpreters.h"
#undef const
#include "v8_layouts.h"
/* clang-format on */

#define PC       0x7f0000001000
#define FP       0x7ffc00001000
#define CLOSURE  0x1111
#define INSTANCE 0x2221
#define MARKER   38

/* Memory with objects of V8, and with a stack. */
#define MEMORY       0x2a0000000000ull
#define MEMORY_BYTES 0x40000
#define SHARED_MAP   (MEMORY + 0x100)
#define SCOPE_MAP    (MEMORY + 0x140)
#define SCRIPT_MAP   (MEMORY + 0x180)
#define STRING_MAP   (MEMORY + 0x1c0)
#define THIN_MAP     (MEMORY + 0x200)
#define SHARED       (MEMORY + 0x300)
#define SCOPE        (MEMORY + 0x400)
#define SCRIPT       (MEMORY + 0x500)
#define NAME         (MEMORY + 0x600)
#define SOURCE       (MEMORY + 0x1000)
#define FRAMES       (MEMORY + 0x30000)
#define FRAME_BYTES  64
#define SOURCE_BYTES 0x20000
#define LINE_BYTES   8

struct fake_process {
	uint8_t memory[MEMORY_BYTES];
};

#include "fake_memory.h"

static struct fake_process process;
static struct task_struct task;
static struct wire_runtime_stack *stack;
static struct scratch *scratch;
static struct v8_scratch *v8;
/* The two words below the frame pointer: closure and context. */
static const uint64_t frame[] = {0x3331, 0x4441};

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	FAKE_PER_CPU(scratches);
	FAKE_PER_CPU(v8_scratches);
	FAKE_PER_CPU(runtime_stacks);
	FAKE_ARRAY(runtime_layouts, 1);
	FAKE_PER_CPU(hotspot_scratches);
	FAKE_ARRAY(unwind_mappings, 1);
	FAKE_ARRAY(sent_runtime, 1);
	FAKE_RINGS(rings);
	task = (struct task_struct){0};
	fake_kernel.task = &task;
	scratch = get_scratch();
	stack = get_per_cpu(&runtime_stacks);
	v8 = get_per_cpu(&v8_scratches);
	v8->walk.layout.wasm_marker = MARKER;
	scratch->registers.di = CLOSURE;
	scratch->registers.si = INSTANCE;
	for (int i = 0; i < 8; i++) {
		scratch->stack.pcs[i] = PC + 16 * (uint64_t)i;
		scratch->frame_pointers[i] = FP;
	}
	fake_memory_add(FP - V8_FRAME_FUNCTION, frame, sizeof(frame));
	fake_memory_add(MEMORY, process.memory, MEMORY_BYTES);
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

/* Takes the stack, and sends it. Returns its hash; 0: it was not sent. */
static uint64_t take_and_send(void)
{
	return take_v8_stack() ? 0 : send_collected_stack();
}

static void expect_words(uint64_t function, uint64_t context)
{
	assert_int_equal(v8->walk.words[0], function);
	assert_int_equal(v8->walk.words[1], context);
}

static void a_level_with_a_frame_pointer_has_its_function_there(void **state _unused_)
{
	for (int level = 1; level < 8; level++) {
		memset(v8->walk.words, 0, sizeof(v8->walk.words));
		scratch->stack.pcs[level] |= WIRE_PC_FP_STEP;
		assert_int_equal(find_v8_frame(level), 1);
		expect_words(frame[0], frame[1]);
	}
	scratch->frame_pointers[2] = FP + 0x10000; /* unreadable */
	assert_int_equal(find_v8_frame(2), 0);
}

/* The closure is still in a register. */
static void a_frame_in_setup_is_that_of_the_second_level(void **state _unused_)
{
	scratch->walk.frame_setup = WALK_FRAME_SETUP_JAVASCRIPT;
	assert_int_equal(find_v8_frame(1), 1);
	expect_words(CLOSURE, CLOSURE);
	for (int level = 2; level < 8; level++)
		assert_int_equal(find_v8_frame(level), 0);
	assert_int_equal(find_v8_frame(0), 0);
	scratch->walk.frame_setup = WALK_FRAME_SETUP_WASM;
	assert_int_equal(find_v8_frame(1), 1);
	expect_words(INSTANCE, MARKER);
}

/* Native code may hold anything in rdi. */
static void without_frame_setup_registers_hold_no_function(void **state _unused_)
{
	scratch->walk.frame_setup = WALK_FRAME_SETUP_NONE;
	for (int level = 0; level < 8; level++)
		assert_int_equal(find_v8_frame(level), 0);
	assert_int_equal(find_v8_frame(-1), 0);
}

static void a_walk_needs_a_layout(void **state _unused_)
{
	scratch->runtime.layout = 0;
	assert_int_equal(start_v8_walk(), -1);
	scratch->runtime.layout = 2;
	assert_int_equal(start_v8_walk(), -1);
	scratch->runtime.layout = 1;
	v8->walk.num_frames = 5;
	assert_int_equal(start_v8_walk(), 0);
	assert_int_equal(v8->walk.num_frames, 0);
}

/* An object's word points behind its address. */
static void put_pointer(uint64_t object, uint64_t offset, uint64_t to)
{
	put_word(&process, object + offset, to + 1);
}

static void put_map(uint64_t map, uint16_t type)
{
	put_number(&process, map + v8_layouts[V8_13_6].map_type, type, sizeof(type));
}

/* A function sit() at a position of a source, with a line for each 8 bytes, and so many levels that run it. */
static void make_program(uint32_t position, uint32_t num_levels)
{
	struct wire_runtime_layout runtime_layout;
	static struct wire_v8_layout layout;

	layout = v8_layouts[V8_13_6];
	layout.wasm_marker = MARKER;
	memset(&process, 0, sizeof(process));
	runtime_layout = (struct wire_runtime_layout){.runtime = WIRE_RUNTIME_V8, .v8 = layout};
	fake_map_update(fake_map_find(&runtime_layouts), &(uint32_t){0}, &runtime_layout);
	put_map(SHARED_MAP, layout.shared_type);
	put_map(SCOPE_MAP, layout.scope_type);
	put_map(SCRIPT_MAP, layout.script_type);
	put_map(STRING_MAP, V8_STRING_ONE_BYTE);
	put_map(THIN_MAP, V8_STRING_THIN | V8_STRING_ONE_BYTE);
	put_pointer(SHARED, 0, SHARED_MAP);
	put_pointer(SHARED, layout.shared_name, SCOPE);
	put_pointer(SHARED, layout.shared_script, SCRIPT);
	put_pointer(SCOPE, 0, SCOPE_MAP);
	put_word(&process, SCOPE + layout.scope_position, (uint64_t)position << 32);
	put_word(&process, SCOPE + layout.scope_position + 8, (uint64_t)(position + 1) << 32);
	put_pointer(SCOPE, layout.scope_locals, NAME);
	put_pointer(NAME, 0, STRING_MAP);
	put_number(&process, NAME + layout.string_length, 3, 4);
	put(&process, NAME + layout.string_characters, "sit", 3);
	put_pointer(SCRIPT, 0, SCRIPT_MAP);
	put_pointer(SCRIPT, layout.script_name - 8, SOURCE);
	put_pointer(SCRIPT, layout.script_name, NAME);
	put_pointer(SOURCE, 0, STRING_MAP);
	put_number(&process, SOURCE + layout.string_length, SOURCE_BYTES, 4);
	for (uint32_t i = 0; i < SOURCE_BYTES; i++)
		put_number(&process, SOURCE + layout.string_characters + i,
			   i % LINE_BYTES == LINE_BYTES - 1 ? '\n' : 'x', 1);
	scratch->runtime.layout = 1;
	scratch->sample.pid = 50;
	scratch->walk.num_frames = num_levels;
	scratch->walk.end = WALK_COMPLETE;
	scratch->trampoline = NO_TRAMPOLINE;
	scratch->window_start = WINDOW_NONE;
	/* The words of a closure: the function's address is in its place. */
	for (uint32_t i = 0; i < num_levels; i++) {
		uint64_t closure = FRAMES + FRAME_BYTES * (uint64_t)i;

		put_pointer(closure, layout.function_shared, SHARED);
		scratch->stack.pcs[i] = PC | WIRE_PC_FP_STEP;
		scratch->frame_pointers[i] = closure + V8_FRAME_FUNCTION;
		put_pointer(closure, 0, closure);
		put_pointer(closure, 8, SCOPE);
	}
}

static const struct wire_v8_function *take_function(void)
{
	assert_true(take_and_send() != 0);
	return fake_record_last(WIRE_RUNTIME_CODE);
}

/* Each level but the innermost, whose frame is not complete here. */
static void each_level_of_javascript_is_a_frame(void **state _unused_)
{
	for (uint32_t num = 2; num < 20; num++) {
		make_program(0, num);
		scratch->stack.pcs[0] = PC;
		assert_true(take_and_send() != 0);
		assert_int_equal(stack->num_frames, num - 1);
		assert_int_equal(stack->runtime, WIRE_RUNTIME_V8);
		assert_int_equal(stack->end, WIRE_RUNTIME_PROVEN);
		for (uint32_t i = 1; i < num; i++) {
			assert_int_equal(stack->frames[i - 1].code, SHARED + 1);
			assert_int_equal(stack->frames[i - 1].position, i);
		}
	}
	assert_int_equal(fake_record_count(WIRE_RUNTIME_CODE), 1);
	make_program(0, 3);
	scratch->walk.end = WALK_NO_TABLE;
	assert_true(take_and_send() != 0);
	assert_int_equal(stack->end, WIRE_RUNTIME_PARTIAL);
}

/* By which V8 finds its way as well. Others that keep a frame pointer have anything there. */
static void levels_without_a_frame_of_v8_are_not_proven(void **state _unused_)
{
	static const struct {
		uint64_t context;
		enum wire_runtime_end end;
	} cases[] = {{2, WIRE_RUNTIME_PROVEN},    {126, WIRE_RUNTIME_PROVEN},
		     {0, WIRE_RUNTIME_COMPLETE},  {3, WIRE_RUNTIME_COMPLETE},
		     {7, WIRE_RUNTIME_COMPLETE},  {128, WIRE_RUNTIME_COMPLETE},
		     {PC, WIRE_RUNTIME_COMPLETE}, {SCOPE + 1, WIRE_RUNTIME_PROVEN}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		make_program(0, 3);
		scratch->stack.pcs[0] = PC;
		put_word(&process, scratch->frame_pointers[2] - 8, cases[i].context);
		assert_true(take_and_send() != 0);
		assert_int_equal(stack->end, cases[i].end);
	}
	/* No closure; a frame that cannot be read; and the same frame when the walk did not use its frame pointer. */
	make_program(0, 3);
	scratch->stack.pcs[0] = PC;
	put_word(&process, scratch->frame_pointers[2] - 16, SCOPE + 1);
	assert_true(take_and_send() != 0);
	assert_true(stack->end != WIRE_RUNTIME_PROVEN);
	make_program(0, 3);
	scratch->stack.pcs[0] = PC;
	scratch->frame_pointers[2] = 0x1000;
	assert_true(take_and_send() != 0);
	assert_int_equal(stack->end, WIRE_RUNTIME_COMPLETE);
	scratch->stack.pcs[2] &= ~WIRE_PC_FP_STEP;
	assert_true(take_and_send() != 0);
	assert_int_equal(stack->end, WIRE_RUNTIME_PROVEN);
}

static void a_function_has_its_name_and_line(void **state _unused_)
{
	static const uint32_t positions[] = {0, 7, 8, 511, 512, 513, 4096, 65528, 65536};
	const struct wire_v8_function *function;

	for (uint32_t i = 0; i < ARRAY_LENGTH(positions); i++) {
		make_program(positions[i], 2);
		scratch->sample.generation = i; /* it is another process */
		function = take_function();
		assert_int_equal(function->position, positions[i]);
		assert_int_equal(function->line, positions[i] / LINE_BYTES + 1);
		assert_int_equal(function->num_parts, 1);
		assert_int_equal(function->has_more, 0);
		assert_memory_equal(function->name_text[0], "sit", 4);
		assert_memory_equal(function->file_text, "sit", 4);
		assert_int_equal(function->source.words, 0);
	}
	assert_int_equal(fake_record_count(WIRE_RUNTIME_CODE), ARRAY_LENGTH(positions));
	assert_int_equal(fake_record_count(WIRE_WAKEUP), 0);
}

/* Too far to count: user space is told where the source is, at once. */
static void a_far_function_has_the_words_of_its_source(void **state _unused_)
{
	const struct wire_v8_function *function;
	uint64_t hash = 0;

	make_program(65537, 2);
	function = take_function();
	assert_int_equal(function->line, 0);
	assert_int_equal(function->source.words, (1u << WIRE_V8_SOURCE_WORDS) - 1);
	for (uint32_t i = 0; i < WIRE_V8_SOURCE_WORDS; i++) {
		uint64_t word;

		read_memory(&process, &word, sizeof(word),
			    SOURCE + v8_layouts[V8_13_6].string_characters +
				    wire_v8_get_source_offset(SOURCE_BYTES, i));
		hash = wire_v8_hash_source(hash, word);
	}
	assert_true(function->source.hash == hash);
	assert_int_equal(fake_record_count(WIRE_WAKEUP), 1);
	assert_int_equal(fake_kernel.num_forced_wakeups, 1);
}

static void a_source_that_is_unknown_has_no_words(void **state _unused_)
{
	const struct wire_v8_function *function;

	make_program(65537, 2);
	put_word(&process, SCRIPT + v8_layouts[V8_13_6].script_name - 8, 0);
	function = take_function();
	assert_int_equal(function->line, 0);
	assert_int_equal(function->source.words, 0);
	assert_int_equal(fake_record_count(WIRE_WAKEUP), 0);
}

/* A string that stands for itself never ends. */
static void a_name_that_does_not_end_has_more(void **state _unused_)
{
	const struct wire_v8_function *function;

	make_program(0, 2);
	put_pointer(NAME, 0, THIN_MAP);
	put_pointer(NAME, v8_layouts[V8_13_6].thin_actual, NAME);
	function = take_function();
	assert_int_equal(function->num_parts, 0);
	assert_int_equal(function->has_more, 1);
}

static void functions_of_webassembly_are_not_sent(void **state _unused_)
{
	make_program(0, 3);
	put_word(&process, scratch->frame_pointers[1] - 8, MARKER);
	assert_true(take_and_send() != 0);
	assert_int_equal(stack->num_frames, 2);
	assert_int_equal(stack->frames[0].fingerprint, WIRE_V8_WASM);
	assert_int_equal(send_v8_function(0), CODE_SENT);
	assert_int_equal(send_v8_function(-1), CODE_LOST);
	assert_int_equal(fake_record_count(WIRE_RUNTIME_CODE), 1);
}

static void an_unreadable_function_is_asked_for_again(void **state _unused_)
{
	make_program(0, 2);
	assert_true(take_and_send() != 0);
	stack->frames[0].code = 0x11;
	stack->frames[0].fingerprint = 5;
	assert_int_equal(send_v8_function(0), CODE_UNREAD);
	scratch->runtime.layout = 0;
	assert_int_equal(take_and_send(), 0);
}

/* By its frame pointer, or by what it pushed. */
static void the_innermost_frame_may_be_gone(void **state _unused_)
{
	make_program(0, 3);
	/* Its own frame is complete. */
	scratch->registers =
		(struct user_registers){.sp = FRAMES, .bp = scratch->frame_pointers[1]};
	assert_int_equal(find_v8_frame(0), 1);
	expect_words(FRAMES + FRAME_BYTES + 1, SCOPE + 1);
	/* It was popped, and lies below the stack pointer. */
	scratch->walk.cfa_offset = 8;
	scratch->walk.prologue = 0;
	scratch->registers.sp = scratch->frame_pointers[2] + 8;
	scratch->registers.bp = FRAMES;
	put_word(&process, scratch->frame_pointers[2], FRAMES);
	scratch->stack.pcs[0] = PC;
	assert_int_equal(find_v8_frame(0), 1);
	expect_words(FRAMES + 2 * FRAME_BYTES + 1, SCOPE + 1);
	/* It starts: what it will push is at the prologue. */
	scratch->walk.prologue = PC;
	assert_int_equal(find_v8_frame(0), 0);
	/* Neither. */
	scratch->walk.cfa_offset = 0;
	assert_int_equal(find_v8_frame(0), 0);
}

static void levels_end_with_the_stack(void **state _unused_)
{
	make_program(0, 2 * STEPS_AT_ONCE + 4);
	start_v8_walk();
	assert_int_equal(look_for_some_v8_frames(STEPS_AT_ONCE), 0);
	assert_int_equal(v8->walk.num_frames, STEPS_AT_ONCE);
	assert_int_equal(look_for_some_v8_frames(2 * STEPS_AT_ONCE), 1);
	assert_int_equal(v8->walk.num_frames, STEPS_AT_ONCE + 4);
	assert_int_equal(look_for_some_v8_frames(2 * STEPS_AT_ONCE + 4), 1);
	assert_int_equal(v8->walk.num_frames, STEPS_AT_ONCE + 4);
	assert_int_equal(look_for_some_v8_frames(-1), 1);
	assert_int_equal(look_for_v8_frame(-1), -1);
	assert_int_equal(v8->walk.num_frames, STEPS_AT_ONCE + 4);
}

/* Code whose mapping is not known yet has frame pointers. */
static void unknown_code_is_walked_by_frame_pointers(void **state _unused_)
{
	const uint32_t num_levels = 20;

	make_program(0, num_levels);
	for (uint32_t i = 0; i + 1 < num_levels; i++) {
		put_word(&process, scratch->frame_pointers[i], scratch->frame_pointers[i + 1]);
		put_word(&process, scratch->frame_pointers[i] + 8, PC + 16 * (uint64_t)(i + 1));
	}
	scratch->walk.registers =
		(struct wire_registers){.pc = PC, .sp = FRAMES, .fp = scratch->frame_pointers[0]};
	walk_start(&scratch->walk, &scratch->walk.registers);
	assert_int_equal(walk_some_steps(0), 1);
	assert_int_equal(scratch->walk.end, WALK_NO_MAPPING);
	assert_true(take_and_send() != 0);
	assert_int_equal(scratch->walk.num_frames, num_levels);
	assert_int_equal(scratch->stack.pcs[num_levels - 1] & ~WIRE_PC_FP_STEP,
			 PC + 16 * (uint64_t)(num_levels - 1));
	/* The last one has no frame pointer to go on with. */
	assert_int_equal(stack->num_frames, num_levels - 2);
	assert_int_equal(stack->end, WIRE_RUNTIME_PARTIAL);
	assert_int_equal(walk_on(-1), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_level_with_a_frame_pointer_has_its_function_there),
		TEST(a_frame_in_setup_is_that_of_the_second_level),
		TEST(without_frame_setup_registers_hold_no_function),
		TEST(a_walk_needs_a_layout),
		TEST(each_level_of_javascript_is_a_frame),
		TEST(levels_without_a_frame_of_v8_are_not_proven),
		TEST(a_function_has_its_name_and_line),
		TEST(a_far_function_has_the_words_of_its_source),
		TEST(a_source_that_is_unknown_has_no_words),
		TEST(a_name_that_does_not_end_has_more),
		TEST(functions_of_webassembly_are_not_sent),
		TEST(an_unreadable_function_is_asked_for_again),
		TEST(the_innermost_frame_may_be_gone),
		TEST(levels_end_with_the_stack),
		TEST(unknown_code_is_walked_by_frame_pointers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
