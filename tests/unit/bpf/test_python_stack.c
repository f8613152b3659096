/* Frames of CPython in memory that is made here: walked from the thread that runs, and sent with their code objects. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "interpreters.h"
#undef const
#include "runtime/python/layouts.h"
/* clang-format on */

#define MEMORY         0x7f0000000000ull
#define MEMORY_BYTES   0x20000
#define RUNTIME        MEMORY
#define INTERPRETER    (MEMORY + 0x1000)
#define THREAD(i)      (MEMORY + 0x2000 + 0x400ull * (i))
#define CFRAME(i)      (MEMORY + 0x8000 + 0x100ull * (i))
#define CODE           (MEMORY + 0xa000)
#define NAME           (MEMORY + 0xa400)
#define LINES          (MEMORY + 0xa800)
#define FRAMES         (MEMORY + 0xb000)
#define FRAME_SPACE    0x50
#define THREAD_POINTER 0x7fff12340000ull
#define NUM_THREADS    3

struct fake_process {
	uint8_t memory[MEMORY_BYTES];
};

#include "fake_memory.h"

static struct fake_process process;
static struct task_struct task;
static struct scratch *scratch;
static struct python_scratch *python;
static struct wire_runtime_stack *stack;
static struct wire_python_layout layout;

/* Three threads, of which the last one runs so many frames of one code object. */
static void put_frames(unsigned int num_frames)
{
	for (unsigned int i = 0; i < num_frames; i++) {
		uint64_t frame = FRAMES + FRAME_SPACE * (uint64_t)i;

		put_word(&process, frame + layout.frame_code, CODE);
		put_word(&process, frame + layout.frame_previous,
			 i + 1 < num_frames ? frame + FRAME_SPACE : 0);
		put_word(&process, frame + layout.frame_instruction,
			 CODE + layout.code_instructions + 6);
	}
	put_word(&process, CFRAME(NUM_THREADS - 1) + layout.cframe_frame, num_frames ? FRAMES : 0);
}

static int set_up(void **state _unused_)
{
	struct wire_runtime_layout runtime_layout;
	uint32_t number = 1;
	uint64_t code_bytes;

	fake_kernel_reset();
	FAKE_PER_CPU(scratches);
	FAKE_PER_CPU(python_scratches);
	FAKE_PER_CPU(runtime_stacks);
	FAKE_ARRAY(runtime_layouts, 2);
	FAKE_HASH(python_threads, 4);
	FAKE_ARRAY(sent_runtime, 1);
	FAKE_RINGS(rings);
	memset(&process, 0, sizeof(process));
	assert_int_equal(python_layout_get(12, &layout, &code_bytes), 0);
	runtime_layout =
		(struct wire_runtime_layout){.runtime = WIRE_RUNTIME_PYTHON, .python = layout};
	fake_map_update(fake_map_find(&runtime_layouts), &number, &runtime_layout);
	put_word(&process, RUNTIME + layout.interpreters, INTERPRETER);
	put_word(&process, RUNTIME + layout.interpreters + 8, INTERPRETER);
	put_word(&process, INTERPRETER + layout.interpreter_threads, THREAD(0));
	for (unsigned int i = 0; i < NUM_THREADS; i++) {
		put_word(&process, THREAD(i) + layout.thread_id, THREAD_POINTER + i);
		put_word(&process, THREAD(i) + layout.thread_frame, CFRAME(i));
		put_word(&process, THREAD(i) + layout.thread_next,
			 i + 1 < NUM_THREADS ? THREAD(i + 1) : 0);
	}
	put_number(&process, CODE + layout.code_first_line, 7, 4);
	put_word(&process, CODE + layout.code_name, NAME);
	put_word(&process, CODE + layout.code_file, NAME);
	put_word(&process, CODE + layout.code_lines, LINES);
	put_word(&process, NAME + layout.text_length, 3);
	put_number(&process, NAME + layout.text_state,
		   1u << layout.text_kind_shift | 3u << (layout.text_ascii_shift - 1), 4);
	put(&process, NAME + layout.ascii_text, "sit", 3);
	put_frames(2);
	fake_memory_add(MEMORY, process.memory, MEMORY_BYTES);
	task = (struct task_struct){.thread.fsbase = THREAD_POINTER + NUM_THREADS - 1};
	fake_kernel.task = &task;
	scratch = get_scratch();
	scratch->sample.pid = 50;
	scratch->sample.tid = 52;
	scratch->runtime.layout = 2;
	scratch->runtime.state = RUNTIME;
	python = get_per_cpu(&python_scratches);
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
	return take_python_stack() ? 0 : send_collected_stack();
}

/* Takes the stack. Returns what was sent. */
static const struct wire_runtime_stack *take(void)
{
	const struct wire_runtime_stack *sent;
	uint64_t hash = take_and_send();

	assert_true(hash != 0);
	sent = fake_record_last(WIRE_RUNTIME_STACK);
	assert_int_equal(stack->hash, hash);
	return sent;
}

static uint64_t get_known(uint32_t tid)
{
	const uint64_t *known = bpf_map_lookup_elem(&python_threads, &tid);

	return known ? *known : 0;
}

static void each_call_is_a_frame(void **state _unused_)
{
	const struct wire_python_code *code;

	for (unsigned int num = 1; num < 12; num++) {
		put_frames(num);
		assert_int_equal(take()->num_frames, num);
		assert_int_equal(stack->runtime, WIRE_RUNTIME_PYTHON);
		assert_int_equal(stack->end, WIRE_RUNTIME_COMPLETE);
		for (unsigned int i = 0; i < num; i++)
			assert_int_equal(stack->frames[i].code, CODE);
	}
	assert_int_equal(fake_record_count(WIRE_RUNTIME_CODE), 1);
	code = fake_record_last(WIRE_RUNTIME_CODE);
	assert_int_equal(code->code, CODE);
	assert_int_equal(code->first_line, 7);
	assert_int_equal(code->name.length, 3);
	assert_memory_equal(code->name_text, "sit", 4);
	assert_int_equal(code->fingerprint, stack->frames[0].fingerprint);
}

static void deep_calls_have_a_limit(void **state _unused_)
{
	put_frames(WIRE_MAX_RUNTIME_FRAMES);
	assert_int_equal(take()->num_frames, WIRE_MAX_RUNTIME_FRAMES);
	assert_int_equal(stack->end, WIRE_RUNTIME_COMPLETE);
	put_frames(WIRE_MAX_RUNTIME_FRAMES + 1);
	assert_int_equal(take()->num_frames, WIRE_MAX_RUNTIME_FRAMES);
	assert_int_equal(stack->end, WIRE_RUNTIME_DEEP);
}

/* The thread is looked for once. */
static void the_state_of_a_thread_is_remembered(void **state _unused_)
{
	take();
	assert_int_equal(get_known(52), THREAD(2));
	assert_int_equal(python->known_thread, THREAD(2));
	/* Out of the list of threads it is found nevertheless. */
	put_word(&process, INTERPRETER + layout.interpreter_threads, 0);
	put_frames(3);
	assert_int_equal(take()->num_frames, 3);
	/* Another CPU asks the map. */
	python->known_tid = 0;
	python->known_thread = 0;
	put_frames(4);
	assert_int_equal(take()->num_frames, 4);
	python->known_tid = 0;
	python->known_thread = THREAD(0);
	put_frames(5);
	assert_int_equal(take()->num_frames, 5);
}

static void each_thread_has_a_state_of_its_own(void **state _unused_)
{
	take();
	scratch->sample.tid = 51;
	task.thread.fsbase = THREAD_POINTER + 1;
	put_word(&process, CFRAME(1) + layout.cframe_frame, FRAMES + FRAME_SPACE);
	assert_int_equal(take()->num_frames, 1);
	assert_int_equal(get_known(51), THREAD(1));
	assert_int_equal(get_known(52), THREAD(2));
	/* The tid of a thread of another process before. */
	scratch->sample.tid = 52;
	assert_int_equal(take()->num_frames, 1);
	assert_int_equal(get_known(52), THREAD(1));
}

/* No thread of Python: nothing is remembered. */
static void a_native_thread_has_no_state(void **state _unused_)
{
	take();
	scratch->sample.tid = 53;
	task.thread.fsbase = 0x10;
	assert_int_equal(take()->num_frames, 0);
	assert_int_equal(stack->end, WIRE_RUNTIME_NO_THREAD);
	assert_int_equal(get_known(53), 0);
	assert_int_equal(python->known_thread, 0);
}

static void without_a_layout_there_are_no_frames(void **state _unused_)
{
	static const uint32_t layouts[] = {0, 3};

	take();
	for (size_t i = 0; i < ARRAY_LENGTH(layouts); i++) {
		scratch->runtime.layout = layouts[i];
		python->walk.end = WIRE_RUNTIME_COMPLETE;
		assert_int_equal(take()->num_frames, 0);
		assert_int_equal(stack->end, WIRE_RUNTIME_UNREADABLE);
		/* What an earlier walk found is no other thread's. */
		assert_int_equal(python->walk.thread_state, 0);
	}
	scratch->runtime.layout = 2;
	scratch->runtime.state = 0x10;
	assert_int_equal(take()->num_frames, 0);
	assert_int_equal(stack->end, WIRE_RUNTIME_UNREADABLE);
}

static void code_that_could_not_be_read_has_no_record(void **state _unused_)
{
	put_word(&process, FRAMES + layout.frame_code, 0x10);
	assert_int_equal(take()->num_frames, 2);
	assert_int_equal(stack->frames[0].fingerprint, 0);
	assert_int_equal(fake_record_count(WIRE_RUNTIME_CODE), 1);
	assert_int_equal(send_python_code(0), CODE_UNREAD);
	assert_int_equal(send_python_code(1), CODE_SENT);
	assert_int_equal(send_python_code(-1), CODE_LOST);
	stack->frames[1].fingerprint = 0;
	assert_int_equal(read_python_frame_code(1), -1);
	assert_int_equal(read_python_frame_code(-1), -1);
}

/* More frames than are sent at once, with a code object each. */
static void each_code_of_a_stack_is_sent(void **state _unused_)
{
	for (uint32_t i = 0; i < 2 * STEPS_AT_ONCE + 1; i++)
		stack->frames[i] =
			(struct wire_runtime_frame){.code = CODE, .fingerprint = 100 + i};
	stack->num_frames = 2 * STEPS_AT_ONCE + 1;
	stack->runtime = WIRE_RUNTIME_PYTHON;
	assert_int_equal(send_some_functions(0), CODE_SENT);
	assert_int_equal(fake_record_count(WIRE_RUNTIME_CODE), STEPS_AT_ONCE);
	assert_int_equal(send_some_functions(2 * STEPS_AT_ONCE), CODE_SENT);
	assert_int_equal(fake_record_count(WIRE_RUNTIME_CODE), STEPS_AT_ONCE + 1);
}

static void a_full_ring_loses_the_stack(void **state _unused_)
{
	fake_kernel.ring_room = 0;
	assert_int_equal(take_and_send(), 0);
	fake_kernel.ring_room = FAKE_ALL_FIT;
	take();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_call_is_a_frame),
		TEST(deep_calls_have_a_limit),
		TEST(the_state_of_a_thread_is_remembered),
		TEST(each_thread_has_a_state_of_its_own),
		TEST(a_native_thread_has_no_state),
		TEST(without_a_layout_there_are_no_frames),
		TEST(code_that_could_not_be_read_has_no_record),
		TEST(each_code_of_a_stack_is_sent),
		TEST(a_full_ring_loses_the_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
