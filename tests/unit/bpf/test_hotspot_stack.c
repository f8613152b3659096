/* HotSpot's code in the stack of the running thread: found once for a process, walked through, and its methods sent. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "interpreters.h"
#undef const
#include "hotspot_walk_layouts.h"
/* clang-format on */

#define MEMORY        0x7f0000000000ull /* the bias of HotSpot's file as well */
#define MEMORY_BYTES  0x20000
#define ARRAY         (MEMORY + 0x200)
#define ITEMS         (MEMORY + 0x240)
#define QUEUE         (MEMORY + 0x300)
#define HEAP          (MEMORY + 0x400)
#define SEGMENTS      (MEMORY + 0x1000)
#define METHOD        (MEMORY + 0x2000)
#define CONSTANTS     (MEMORY + 0x2100)
#define POOL          (MEMORY + 0x2400)
#define SYMBOL        (MEMORY + 0x2800)
#define STUB_NAME     (MEMORY + 0x3000)
#define STACK         (MEMORY + 0x4000)
#define CODE          (MEMORY + 0x10000)
#define CODE_BYTES    0x10000
#define BLOB          (CODE + 16) /* its block starts before it */
#define INTERPRETER   (CODE + 0x8000)
#define SEGMENT_SHIFT 7
#define RETURN        (MEMORY + 0x5000)

struct fake_process {
	uint8_t memory[MEMORY_BYTES];
};

#include "fake_memory.h"

static struct fake_process process;
static const struct wire_hotspot_layout *layout;
static struct task_struct task;
static struct scratch *scratch;
static struct hotspot_scratch *hotspot;
static struct wire_runtime_stack *stack;

/* One heap with one stub, whose frame is three words. */
static void put_vm(void)
{
	put_word(&process, MEMORY + layout->heaps, ARRAY);
	put_word(&process, MEMORY + layout->interpreter, QUEUE);
	put_word(&process, MEMORY + layout->call_stub_return, CODE + 0xe000);
	put_number(&process, ARRAY + layout->array_length, 1, 4);
	put_word(&process, ARRAY + layout->array_items, ITEMS);
	put_word(&process, ITEMS, HEAP);
	put_word(&process, HEAP + layout->heap_start, CODE);
	put_word(&process, HEAP + layout->heap_end, CODE + CODE_BYTES);
	put_word(&process, HEAP + layout->heap_segments, SEGMENTS);
	put_number(&process, HEAP + layout->heap_segment_shift, SEGMENT_SHIFT, 4);
	put_word(&process, QUEUE + layout->queue_start, INTERPRETER);
	put_number(&process, QUEUE + layout->queue_bytes, 0x1000, 4);
	put_number(&process, CODE + layout->block_used, 1, 1);
	put_number(&process, BLOB + layout->blob_header_bytes, 96, layout->blob_header_bytes_size);
	put_number(&process, BLOB + layout->blob_frame_words, 3, 4);
	put_word(&process, BLOB + layout->blob_name, STUB_NAME);
	put_word(&process, BLOB + layout->blob_code, BLOB + 0x180);
	put_word(&process, BLOB + layout->blob_code_end, CODE + 0x400);
	put(&process, STUB_NAME, "StubRoutines (1)", 17);
	for (uint64_t i = 0; i < 8; i++)
		put_number(&process, SEGMENTS + i, i, 1);
}

/* A method run() of one class. */
static void put_method(void)
{
	put_word(&process, METHOD + layout->method_const, CONSTANTS);
	put_word(&process, CONSTANTS + layout->const_pool, POOL);
	put_number(&process, CONSTANTS + layout->const_name, 5, 2);
	put_word(&process, POOL + layout->pool_bytes + 8 * 5, SYMBOL);
	put_number(&process, SYMBOL + layout->symbol_length, 3, 2);
	put(&process, SYMBOL + layout->symbol_text, "run", 3);
	put_word(&process, BLOB + layout->nmethod_method, METHOD);
	put_number(&process, BLOB + layout->nmethod_compile_id, 77, 4);
}

static int set_up(void **state _unused_)
{
	struct wire_runtime_layout runtime_layout;
	uint32_t number = 1;

	fake_kernel_reset();
	FAKE_PER_CPU(scratches);
	FAKE_PER_CPU(hotspot_scratches);
	FAKE_PER_CPU(runtime_stacks);
	FAKE_ARRAY(runtime_layouts, 2);
	FAKE_HASH(hotspot_codes, 4);
	FAKE_ARRAY(sent_runtime, 1);
	FAKE_ARRAY(unwind_mappings, 1);
	FAKE_RINGS(rings);
	memset(&process, 0, sizeof(process));
	layout = &hotspot_walk_layouts[HOTSPOT_17];
	runtime_layout =
		(struct wire_runtime_layout){.runtime = WIRE_RUNTIME_HOTSPOT, .hotspot = *layout};
	fake_map_update(fake_map_find(&runtime_layouts), &number, &runtime_layout);
	put_vm();
	put_method();
	fake_memory_add(MEMORY, process.memory, MEMORY_BYTES);
	task = (struct task_struct){0};
	fake_kernel.task = &task;
	scratch = get_scratch();
	scratch->window_start = WINDOW_NONE;
	scratch->trampoline = NO_TRAMPOLINE;
	scratch->sample.pid = 50;
	scratch->sample.generation = 3;
	scratch->hotspot_layout = 2;
	scratch->hotspot_bias = MEMORY;
	scratch->registers.r13 = 0x1234;
	hotspot = get_per_cpu(&hotspot_scratches);
	stack = get_per_cpu(&runtime_stacks);
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
	return take_hotspot_stack() ? 0 : send_collected_stack();
}

static void the_code_of_a_process_is_looked_for_once(void **state _unused_)
{
	assert_int_equal(start_hotspot_walk(), 0);
	assert_int_equal(hotspot->walk.code.heap_starts[0], CODE);
	assert_int_equal(hotspot->walk.bytecode_register, 0x1234);
	assert_int_equal(hotspot->walk.interpreter_end, INTERPRETER + 0x1000);
	put_word(&process, HEAP + layout->heap_start, CODE + 0x100);
	put_number(&process, QUEUE + layout->queue_bytes, 0x800, 4);
	scratch->registers.r13 = 0x5678;
	memset(&hotspot->walk.code, 0, sizeof(hotspot->walk.code));
	assert_int_equal(start_hotspot_walk(), 0);
	assert_int_equal(hotspot->walk.code.heap_starts[0], CODE);
	assert_int_equal(hotspot->walk.bytecode_register, 0x5678);
	assert_int_equal(hotspot->walk.interpreter_end, INTERPRETER + 0x800);
}

/* By pid, generation and bias. */
static void other_processes_have_their_code_elsewhere(void **state _unused_)
{
	__u64 *const others[] = {&scratch->sample.generation, &scratch->hotspot_bias};

	assert_int_equal(start_hotspot_walk(), 0);
	put_word(&process, HEAP + layout->heap_start, CODE + 0x100);
	scratch->sample.pid = 51;
	assert_int_equal(start_hotspot_walk(), 0);
	assert_int_equal(hotspot->walk.code.heap_starts[0], CODE + 0x100);
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		/* At another bias nothing is readable. */
		scratch->sample.pid = 50;
		scratch->sample.generation = 3;
		scratch->hotspot_bias = MEMORY;
		++*others[i];
		assert_int_equal(start_hotspot_walk() ? 1 : 0, i);
		if (!i)
			assert_int_equal(hotspot->walk.code.heap_starts[0], CODE + 0x100);
	}
}

static void without_layout_or_code_there_is_no_walk(void **state _unused_)
{
	scratch->hotspot_layout = 3;
	assert_int_equal(start_hotspot_walk(), -1);
	scratch->hotspot_layout = 2;
	scratch->hotspot_bias = 0x10;
	assert_int_equal(start_hotspot_walk(), -1);
	/* It was not remembered. */
	scratch->hotspot_bias = MEMORY;
	assert_int_equal(start_hotspot_walk(), 0);
}

/* At a level that something returns to. */
static void go_to(uint64_t pc, uint32_t end)
{
	scratch->walk = (struct walk){
		.registers = {.pc = pc, .sp = STACK, .fp = STACK}, .num_frames = 1, .end = end};
}

static void a_stub_is_walked_through(void **state _unused_)
{
	static const uint32_t ends[] = {WALK_AT_HOTSPOT_CODE, WALK_NO_MAPPING};

	put_word(&process, STACK + 16, RETURN);
	for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
		scratch->hotspot_state = HOTSPOT_NOT_STARTED;
		go_to(BLOB + 0x200, ends[i]);
		assert_int_equal(step_hotspot(0), 0);
		assert_int_equal(scratch->hotspot_state, HOTSPOT_STARTED);
		assert_int_equal(scratch->walk.registers.pc, RETURN);
		assert_int_equal(scratch->walk.registers.sp, STACK + 24);
		assert_int_equal(hotspot->walk.num_frames, 1);
		assert_int_equal(stack->frames[0].code, BLOB);
		assert_int_equal(stack->frames[0].position, WIRE_HOTSPOT_STUB);
	}
	/* The stack goes on. */
	go_to(BLOB + 0x200, WALK_AT_HOTSPOT_CODE);
	assert_int_equal(step_hotspot(1), 0);
	assert_int_equal(hotspot->walk.num_frames, 2);
}

static void other_ends_of_a_walk_stay(void **state _unused_)
{
	static const uint32_t ends[] = {WALK_COMPLETE, WALK_NO_TABLE, WALK_JIT_CODE, WALK_TOO_DEEP};

	put_word(&process, STACK + 16, RETURN);
	for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
		go_to(BLOB + 0x200, ends[i]);
		assert_int_equal(step_hotspot(0), 1);
		assert_int_equal(scratch->walk.end, ends[i]);
		assert_int_equal(scratch->hotspot_state, HOTSPOT_NOT_STARTED);
	}
	go_to(BLOB + 0x200, WALK_AT_HOTSPOT_CODE);
	assert_int_equal(step_hotspot(-1), 1);
	scratch->hotspot_layout = 0;
	assert_int_equal(step_hotspot(0), 1);
	assert_int_equal(scratch->walk.end, WALK_AT_HOTSPOT_CODE);
}

/* The last address of a heap is that of a call that never returns. */
static void an_unknown_mapping_may_be_a_heap(void **state _unused_)
{
	assert_int_equal(start_hotspot_walk(), 0);
	go_to(CODE, WALK_NO_MAPPING);
	assert_false(is_at_hotspot_code(hotspot, &scratch->walk));
	scratch->walk.is_exact = 1;
	assert_true(is_at_hotspot_code(hotspot, &scratch->walk));
	go_to(CODE + CODE_BYTES, WALK_NO_MAPPING);
	assert_true(is_at_hotspot_code(hotspot, &scratch->walk));
	scratch->walk.is_exact = 1;
	assert_false(is_at_hotspot_code(hotspot, &scratch->walk));
	scratch->walk.end = WALK_NO_TABLE;
	assert_false(is_at_hotspot_code(hotspot, &scratch->walk));
	scratch->walk.end = WALK_AT_HOTSPOT_CODE;
	assert_true(is_at_hotspot_code(hotspot, &scratch->walk));
	/* Another mapping stays unknown. */
	go_to(MEMORY + 0x100, WALK_NO_MAPPING);
	assert_int_equal(step_hotspot(0), 1);
	assert_int_equal(scratch->walk.end, WALK_NO_MAPPING);
}

/* The VM starts, or its memory cannot be read: it is code that was generated. */
static void without_its_code_the_walk_ends_in_generated_code(void **state _unused_)
{
	scratch->hotspot_bias = 0x10;
	go_to(BLOB + 0x200, WALK_AT_HOTSPOT_CODE);
	assert_int_equal(step_hotspot(0), 1);
	assert_int_equal(scratch->walk.end, WALK_JIT_CODE);
	assert_int_equal(scratch->hotspot_state, HOTSPOT_NOT_FOUND);
	/* It is asked once for a stack. */
	scratch->hotspot_bias = MEMORY;
	go_to(BLOB + 0x200, WALK_AT_HOTSPOT_CODE);
	assert_int_equal(step_hotspot(0), 1);
	assert_int_equal(scratch->walk.end, WALK_JIT_CODE);
	go_to(BLOB + 0x200, WALK_NO_MAPPING);
	assert_int_equal(step_hotspot(0), 1);
	assert_int_equal(scratch->walk.end, WALK_NO_MAPPING);
}

static void set_frame(uint32_t number, uint64_t code, uint32_t position)
{
	stack->frames[number] = (struct wire_runtime_frame){
		.code = code, .fingerprint = number + 11, .position = position};
}

static void compiled_code_leads_to_its_method(void **state _unused_)
{
	const struct wire_hotspot_method *sent;

	assert_int_equal(start_hotspot_walk(), 0);
	set_frame(0, BLOB, 0);
	assert_int_equal(send_hotspot_method(0), CODE_SENT);
	sent = fake_record_last(WIRE_RUNTIME_CODE);
	assert_int_equal(sent->code, BLOB);
	assert_int_equal(sent->fingerprint, 11);
	assert_int_equal(sent->compile_id, 77);
	assert_int_equal(sent->method, METHOD);
	assert_memory_equal(sent->name_text, "run", 4);
	/* Of what is interpreted the method itself is known. */
	set_frame(1, METHOD, WIRE_HOTSPOT_INTERPRETED);
	assert_int_equal(send_hotspot_method(1), CODE_SENT);
	sent = fake_record_last(WIRE_RUNTIME_CODE);
	assert_int_equal(sent->code, METHOD);
	assert_int_equal(sent->method, METHOD);
	assert_int_equal(sent->compile_id, 0);
	assert_int_equal(sent->fingerprint, 12);
	/* A stub has but a name. */
	set_frame(2, BLOB, WIRE_HOTSPOT_STUB);
	assert_int_equal(send_hotspot_method(2), CODE_SENT);
	sent = fake_record_last(WIRE_RUNTIME_CODE);
	assert_int_equal(sent->compile_id, 0);
	assert_int_equal(sent->method, 0);
	assert_memory_equal(sent->name_text, "StubRoutines (1)", 17);
	assert_int_equal(fake_kernel.num_records, 3);
}

static void user_space_knows_the_interpreter_and_the_call_stub(void **state _unused_)
{
	assert_int_equal(start_hotspot_walk(), 0);
	set_frame(0, 0, WIRE_HOTSPOT_CALL_STUB);
	set_frame(1, BLOB, WIRE_HOTSPOT_INTERPRETED | WIRE_HOTSPOT_STUB);
	assert_int_equal(send_hotspot_method(0), CODE_SENT);
	assert_int_equal(send_hotspot_method(1), CODE_SENT);
	assert_int_equal(fake_kernel.num_records, 0);
	assert_int_equal(send_hotspot_method(-1), CODE_LOST);
}

static void unreadable_methods_are_asked_for_again(void **state _unused_)
{
	assert_int_equal(start_hotspot_walk(), 0);
	set_frame(0, 0x10, 0);
	assert_int_equal(send_hotspot_method(0), CODE_UNREAD);
	set_frame(0, 0x10, WIRE_HOTSPOT_INTERPRETED);
	assert_int_equal(send_hotspot_method(0), CODE_UNREAD);
	set_frame(0, 0x10, WIRE_HOTSPOT_STUB);
	assert_int_equal(send_hotspot_method(0), CODE_UNREAD);
	/* The method is there, and the number of its compiled code is not. */
	set_frame(0, MEMORY + MEMORY_BYTES - layout->nmethod_method - 8, 0);
	put_word(&process, MEMORY + MEMORY_BYTES - 8, METHOD);
	assert_int_equal(send_hotspot_method(0), CODE_UNREAD);
	assert_int_equal(fake_kernel.num_records, 0);
}

/* More than are sent at once. */
static void each_method_of_a_stack_is_sent(void **state _unused_)
{
	const struct wire_runtime_stack *sent;

	assert_int_equal(start_hotspot_walk(), 0);
	hotspot->walk.num_frames = 2 * STEPS_AT_ONCE + 1;
	for (uint32_t i = 0; i < hotspot->walk.num_frames; i++)
		set_frame(i, METHOD, WIRE_HOTSPOT_INTERPRETED);
	scratch->walk.end = WALK_COMPLETE;
	assert_true(take_and_send() != 0);
	assert_int_equal(fake_record_count(WIRE_RUNTIME_CODE), 2 * STEPS_AT_ONCE + 1);
	sent = fake_record_last(WIRE_RUNTIME_STACK);
	assert_int_equal(sent->num_frames, 2 * STEPS_AT_ONCE + 1);
	assert_int_equal(sent->runtime, WIRE_RUNTIME_HOTSPOT);
}

static void the_end_of_a_stack_is_said(void **state _unused_)
{
	assert_int_equal(start_hotspot_walk(), 0);
	scratch->walk.end = WALK_COMPLETE;
	take_and_send();
	assert_int_equal(stack->end, WIRE_RUNTIME_COMPLETE);
	scratch->walk.end = WALK_NO_TABLE;
	take_and_send();
	assert_int_equal(stack->end, WIRE_RUNTIME_PARTIAL);
	hotspot->walk.is_deep = 1;
	take_and_send();
	assert_int_equal(stack->end, WIRE_RUNTIME_DEEP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_code_of_a_process_is_looked_for_once),
		TEST(other_processes_have_their_code_elsewhere),
		TEST(without_layout_or_code_there_is_no_walk),
		TEST(a_stub_is_walked_through),
		TEST(other_ends_of_a_walk_stay),
		TEST(an_unknown_mapping_may_be_a_heap),
		TEST(without_its_code_the_walk_ends_in_generated_code),
		TEST(compiled_code_leads_to_its_method),
		TEST(user_space_knows_the_interpreter_and_the_call_stub),
		TEST(unreadable_methods_are_asked_for_again),
		TEST(each_method_of_a_stack_is_sent),
		TEST(the_end_of_a_stack_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
