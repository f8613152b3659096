/* Frames of PHP, Ruby and Perl in memory that is made here: walked, and sent with their functions. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "interpreters.h"
#undef const
/* clang-format on */

/* Memory of the running process. */
#define MEMORY         0x7f0000000000ull
#define MEMORY_BYTES   0x40000
#define STATE          MEMORY
#define FRAMES         (MEMORY + 0x10000)
#define FUNCTION       (MEMORY + 0x2000)
#define NAME           (MEMORY + 0x2200)
#define CODES          (MEMORY + 0x3000)
#define NUM_CODES      4
#define THREAD_POINTER (MEMORY + 0x4000)
#define CONTEXT        (MEMORY + 0x5000)
#define THREAD         (MEMORY + 0x5400)
#define CODE           (MEMORY + 0x5600)
#define BODY           (MEMORY + 0x5800)
#define LABEL          (MEMORY + 0x5c00)
#define ENVIRONMENT    (MEMORY + 0x6000)
#define LINES          (MEMORY + 0x6200)
#define INTERPRETER    (MEMORY + 0x7000)
#define STACKS         (MEMORY + 0x8000)
#define STATEMENT      (MEMORY + 0x8400)
#define FILE_NAME      (MEMORY + 0x8600)

#define NATIVE_START 0x7ffd00010000ull

struct fake_process {
	uint8_t memory[MEMORY_BYTES];
};

#include "fake_memory.h"

static struct fake_process process;
static struct task_struct task;
static struct scratch *scratch;
static struct script_scratch *script;
static struct wire_runtime_stack *stack;
static struct wire_runtime_layout layout;

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	FAKE_PER_CPU(scratches);
	FAKE_PER_CPU(script_scratches);
	FAKE_PER_CPU(runtime_stacks);
	FAKE_ARRAY(runtime_layouts, 2);
	FAKE_ARRAY(sent_runtime, 1);
	FAKE_RINGS(rings);
	memset(&process, 0, sizeof(process));
	layout = (struct wire_runtime_layout){0};
	task = (struct task_struct){.thread.fsbase = THREAD_POINTER};
	fake_kernel.task = &task;
	fake_memory_add(MEMORY, process.memory, MEMORY_BYTES);
	scratch = get_scratch();
	scratch->runtime.layout = 2;
	scratch->runtime.state = STATE;
	scratch->sample.pid = 50;
	script = get_per_cpu(&script_scratches);
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
	return take_script_stack() ? 0 : send_collected_stack();
}

static void set_layout(void)
{
	uint32_t number = 1;

	assert_int_equal(fake_map_update(fake_map_find(&runtime_layouts), &number, &layout), 0);
}

static void put_string(uint64_t string, const char *text)
{
	put_word(&process, string + PHP_STRING_LENGTH, strlen(text));
	put(&process, string + PHP_STRING_TEXT, text, strlen(text));
}

/* A program of PHP in so many calls of one function, at line 10 of its 10 to 13. */
static void make_php(unsigned int num_frames)
{
	layout.runtime = WIRE_RUNTIME_PHP;
	layout.php = (struct wire_php_layout){.current = 488,
					      .function_num_instructions = 80,
					      .function_instructions = 88,
					      .function_file = 152,
					      .function_bytes = 168,
					      .generator_frame = 56,
					      .generator_parent = 152};
	set_layout();
	put_word(&process, STATE + layout.php.current, num_frames ? FRAMES : 0);
	put_number(&process, FUNCTION + PHP_FUNCTION_TYPE, 2, 1);
	put_word(&process, FUNCTION + PHP_FUNCTION_NAME, NAME);
	put_number(&process, FUNCTION + layout.php.function_num_instructions, NUM_CODES, 4);
	put_word(&process, FUNCTION + layout.php.function_instructions, CODES);
	put_string(NAME, "total");
	for (unsigned int i = 0; i < NUM_CODES; i++)
		put_number(&process, CODES + i * PHP_INSTRUCTION_BYTES + PHP_INSTRUCTION_LINE,
			   10 + i, 4);
	for (unsigned int i = 0; i < num_frames; i++) {
		uint64_t frame = FRAMES + 0x40 * (uint64_t)i;

		put_word(&process, frame + PHP_FRAME_INSTRUCTION, CODES);
		put_word(&process, frame + PHP_FRAME_FUNCTION, FUNCTION);
		put_word(&process, frame + PHP_FRAME_PREVIOUS,
			 i + 1 < num_frames ? frame + 0x40 : 0);
	}
}

/* A program of Ruby in one method, whose line is 20. */
static void make_ruby(void)
{
	const uint64_t frame = FRAMES + 0x100;

	layout.runtime = WIRE_RUNTIME_RUBY;
	layout.ruby = (struct wire_ruby_layout){.context = WIRE_RUBY_CONTEXT_BY_OFFSET,
						.frame_bytes = 56,
						.line_bytes = 4,
						.string_text = 24,
						.context_thread = 40,
						.context_native = 48,
						.context_bytes = 80,
						.thread_context = 16,
						.body_lines = 120};
	set_layout();
	put_word(&process, STATE, 0x80);
	put_word(&process, THREAD_POINTER + 0x80, CONTEXT);
	put_word(&process, CONTEXT + RUBY_CONTEXT_STACK, FRAMES);
	put_word(&process, CONTEXT + RUBY_CONTEXT_STACK_WORDS, (0x100 + 56) / 8);
	put_word(&process, CONTEXT + RUBY_CONTEXT_FRAME, frame);
	put_word(&process, CONTEXT + 40, THREAD);
	put_word(&process, CONTEXT + 48 + RUBY_NATIVE_START, NATIVE_START);
	put_word(&process, CONTEXT + 48 + RUBY_NATIVE_BYTES, 0x8000);
	put_word(&process, THREAD + 16, CONTEXT);
	put_word(&process, frame + RUBY_FRAME_INSTRUCTION, NATIVE_START); /* of none of its lines */
	put_word(&process, frame + RUBY_FRAME_CODE, CODE);
	put_word(&process, frame + RUBY_FRAME_ENVIRONMENT, ENVIRONMENT + 16);
	put_word(&process, ENVIRONMENT + 16, 0x11110003);
	put_word(&process, CODE + RUBY_CODE_BODY, BODY);
	put_number(&process, BODY + RUBY_BODY_SIZE, NUM_CODES, 4);
	put_word(&process, BODY + RUBY_BODY_INSTRUCTIONS, CODES);
	put_word(&process, BODY + RUBY_BODY_LABEL, LABEL);
	put_word(&process, BODY + 120 + RUBY_LINES_ENTRIES, LINES);
	put_number(&process, BODY + 120 + RUBY_LINES_NUM, 1, 4);
	put_number(&process, LINES, 20, 4);
	put_word(&process, LABEL, RUBY_TYPE_STRING);
	put_word(&process, LABEL + RUBY_STRING_LENGTH, 3);
	put(&process, LABEL + 24, "sit", 3);
	scratch->registers =
		(struct user_registers){.sp = NATIVE_START - 0x100, .r15 = frame, .r14 = CODES + 8};
}

/* A program of Perl at line 30, in no subroutine. */
static void make_perl(void)
{
	layout.runtime = WIRE_RUNTIME_PERL;
	layout.perl = (struct wire_perl_layout){
		.key = 0x10, .statement = 208, .stack = 224, .phase = 512, .hash_names = 32};
	set_layout();
	put_word(&process, STATE, INTERPRETER);
	put_number(&process, STATE + 0x10, 3, 4);
	put_word(&process, THREAD_POINTER + GLIBC_THREAD_SELF, THREAD_POINTER);
	put_word(&process, THREAD_POINTER + GLIBC_THREAD_SELF_TOO, THREAD_POINTER);
	put_word(&process, THREAD_POINTER + GLIBC_THREAD_DATA + 3 * 16, 1);
	put_word(&process, THREAD_POINTER + GLIBC_THREAD_DATA + 3 * 16 + 8, INTERPRETER);
	put_word(&process, INTERPRETER + PERL_INTERPRETER_OPERATION, STATEMENT);
	put_word(&process, INTERPRETER + 208, STATEMENT);
	put_word(&process, INTERPRETER + 224, STACKS);
	put_number(&process, INTERPRETER + 512, PERL_PHASE_RUN, 4);
	put_number(&process, STACKS + PERL_STACK_INDEX, UINT32_MAX, 4);
	put_number(&process, STACKS + PERL_STACK_TYPE, PERL_STACK_MAIN, 4);
	put_number(&process, STATEMENT + PERL_STATEMENT_LINE, 30, 4);
	put_word(&process, STATEMENT + PERL_STATEMENT_FILE, FILE_NAME);
	put(&process, FILE_NAME, "/srv/order.pl", 14);
	scratch->registers.sp = STATEMENT + (64ull << 20); /* it is on nobody's stack */
}

/* Takes the stack. Returns what was sent. */
static const struct wire_runtime_stack *take(void)
{
	uint64_t hash = take_and_send();
	const struct wire_runtime_stack *sent;

	assert_true(hash != 0);
	sent = fake_record_last(WIRE_RUNTIME_STACK);
	assert_int_equal(sent->hash, hash);
	return sent;
}

static void each_call_of_php_is_a_frame(void **state _unused_)
{
	const struct wire_runtime_stack *sent;
	const struct wire_script_function *function;

	for (unsigned int num = 1; num < 20; num++) {
		make_php(num);
		sent = take();
		assert_int_equal(sent->runtime, WIRE_RUNTIME_PHP);
		assert_int_equal(sent->end, WIRE_RUNTIME_COMPLETE);
		assert_int_equal(sent->num_frames, num);
		for (unsigned int i = 0; i < num; i++) {
			assert_int_equal(sent->frames[i].code, FUNCTION);
			assert_int_equal(sent->frames[i].position, 10);
		}
	}
	/* Sent once. */
	assert_int_equal(fake_record_count(WIRE_RUNTIME_CODE), 1);
	function = fake_record_last(WIRE_RUNTIME_CODE);
	assert_int_equal(function->code, FUNCTION);
	assert_int_equal(function->pid, 50);
	assert_int_equal(function->fingerprint, stack->frames[0].fingerprint);
	assert_int_equal(function->name.num_bytes, 5);
	assert_memory_equal(function->name_text, "total", 5);
}

/* Of the innermost frame registers have the instruction. */
static void the_line_of_php_is_that_of_the_register(void **state _unused_)
{
	make_php(2);
	scratch->registers.r14 = FRAMES;
	scratch->registers.r15 = CODES + 2 * PHP_INSTRUCTION_BYTES;
	assert_int_equal(take()->frames[0].position, 12);
	assert_int_equal(stack->frames[1].position, 10);
}

/* As many frames as a stack has room for. */
static void deep_calls_of_php_have_a_limit(void **state _unused_)
{
	make_php(WIRE_MAX_RUNTIME_FRAMES);
	assert_int_equal(take()->num_frames, WIRE_MAX_RUNTIME_FRAMES);
	assert_int_equal(stack->end, WIRE_RUNTIME_COMPLETE);
	make_php(WIRE_MAX_RUNTIME_FRAMES + 1);
	assert_int_equal(take()->num_frames, WIRE_MAX_RUNTIME_FRAMES);
	assert_int_equal(stack->end, WIRE_RUNTIME_DEEP);
}

static void a_stack_without_frames_is_sent(void **state _unused_)
{
	make_php(0);
	assert_int_equal(take()->num_frames, 0);
	assert_int_equal(stack->end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(fake_record_count(WIRE_RUNTIME_CODE), 0);
}

static void a_method_of_ruby_has_the_line_of_its_registers(void **state _unused_)
{
	const struct wire_runtime_stack *sent;
	const struct wire_script_function *function;

	make_ruby();
	sent = take();
	assert_int_equal(sent->runtime, WIRE_RUNTIME_RUBY);
	assert_int_equal(sent->end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(sent->num_frames, 1);
	assert_int_equal(sent->frames[0].code, CODE);
	assert_int_equal(sent->frames[0].position, 20);
	function = fake_record_last(WIRE_RUNTIME_CODE);
	assert_int_equal(function->runtime, WIRE_RUNTIME_RUBY);
	assert_int_equal(function->code, CODE);
	assert_memory_equal(function->name_text, "sit", 4);
	/* Another thread's native stack. */
	scratch->registers.sp = NATIVE_START + 8;
	assert_int_equal(take()->end, WIRE_RUNTIME_NO_THREAD);
	assert_int_equal(stack->num_frames, 0);
}

static void a_program_of_perl_is_one_frame(void **state _unused_)
{
	const struct wire_runtime_stack *sent;
	const struct wire_script_function *function;

	make_perl();
	sent = take();
	assert_int_equal(sent->runtime, WIRE_RUNTIME_PERL);
	assert_int_equal(sent->end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(sent->num_frames, 1);
	assert_int_equal(sent->frames[0].position, 30 | WIRE_RUNTIME_ENTRY_FRAME);
	function = fake_record_last(WIRE_RUNTIME_CODE);
	assert_int_equal(function->runtime, WIRE_RUNTIME_PERL);
	assert_int_equal(function->code_kind, WIRE_SCRIPT_CODE_FILE);
	assert_int_equal(function->file.num_bytes, 13);
	assert_memory_equal(function->file_text, "/srv/order.pl", 14);
}

/* A call that has no frame has no function, either. */
static void calls_without_a_frame_send_no_function(void **state _unused_)
{
	const struct wire_runtime_stack *sent;

	make_perl();
	put_word(&process, INTERPRETER + PERL_INTERPRETER_OPERATION, 0);
	sent = take();
	assert_int_equal(sent->num_frames, 2);
	assert_true(sent->frames[0].position & WIRE_SCRIPT_NO_FRAME);
	assert_false(sent->frames[1].position & WIRE_SCRIPT_NO_FRAME);
	assert_int_equal(fake_record_count(WIRE_RUNTIME_CODE), 1);
	/* An operation on the thread's own stack was made by C. */
	put_word(&process, INTERPRETER + PERL_INTERPRETER_OPERATION, STATEMENT);
	put_word(&process, STATEMENT + PERL_OPERATION_FUNCTION, 0x500);
	scratch->registers.sp = STATEMENT - 0x40;
	assert_true(take()->frames[0].position & WIRE_SCRIPT_NO_FRAME);
}

/* The frames before are those of another thread. */
static void without_a_layout_there_are_no_frames(void **state _unused_)
{
	make_ruby();
	take();
	make_perl();
	take();
	make_php(3);
	assert_int_equal(take()->num_frames, 3);
	scratch->runtime.layout = 0;
	assert_int_equal(take()->num_frames, 0);
	assert_int_equal(stack->end, WIRE_RUNTIME_UNREADABLE);
	assert_int_equal(stack->runtime, WIRE_RUNTIME_PHP);
	assert_int_equal(script->ruby.num_frames, 0);
	assert_int_equal(script->perl.num_frames, 0);
	assert_int_equal(script->ruby.end, WIRE_RUNTIME_UNREADABLE);
	assert_int_equal(script->perl.end, WIRE_RUNTIME_UNREADABLE);
	scratch->runtime.layout = 3;
	assert_int_equal(take()->num_frames, 0);
}

static void unreadable_memory_is_said(void **state _unused_)
{
	static void (*const makers[])(void) = {make_ruby, make_perl};

	make_php(1);
	scratch->runtime.state = 0x10;
	assert_int_equal(take()->end, WIRE_RUNTIME_UNREADABLE);
	for (size_t i = 0; i < ARRAY_LENGTH(makers); i++) {
		makers[i]();
		task.thread.fsbase = 0x10;
		assert_int_equal(take()->num_frames, 0);
		assert_true(stack->end != WIRE_RUNTIME_COMPLETE);
		task.thread.fsbase = THREAD_POINTER;
	}
}

static void a_full_ring_loses_the_stack(void **state _unused_)
{
	make_php(2);
	fake_kernel.ring_room = 0;
	assert_int_equal(take_and_send(), 0);
	fake_kernel.ring_room = 1; /* that of the function */
	assert_int_equal(take_and_send(), 0);
	fake_kernel.ring_room = FAKE_ALL_FIT;
	take();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_call_of_php_is_a_frame),
		TEST(the_line_of_php_is_that_of_the_register),
		TEST(deep_calls_of_php_have_a_limit),
		TEST(a_stack_without_frames_is_sent),
		TEST(a_method_of_ruby_has_the_line_of_its_registers),
		TEST(a_program_of_perl_is_one_frame),
		TEST(calls_without_a_frame_send_no_function),
		TEST(without_a_layout_there_are_no_frames),
		TEST(unreadable_memory_is_said),
		TEST(a_full_ring_loses_the_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
