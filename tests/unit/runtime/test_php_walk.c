/* The walk of PHP's frames in memory that is made here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

#define PHP_INLINE static inline
#include "runtime/php_walk.h"

/* Memory of a process, and where things lie in it. */
#define MEMORY       0x7f0000000000ull
#define MEMORY_BYTES 0x40000
#define GLOBALS      MEMORY
#define FRAME        (MEMORY + 0x1000)
#define CALLER       (MEMORY + 0x1100)
#define OUTER        (MEMORY + 0x1200)
#define FUNCTION     (MEMORY + 0x2000)
#define OTHER        (MEMORY + 0x2200)
#define BUILT_IN     (MEMORY + MEMORY_BYTES - PHP_FUNCTION_BYTES) /* nothing follows */
#define FIBER        (MEMORY + 0x2400)
#define CODE         (MEMORY + 0x3000)
#define NUM_CODES    4
#define NAME         (MEMORY + 0x4000)
#define CLASS        (MEMORY + 0x4100)
#define CLASS_NAME   (MEMORY + 0x4200)
#define FILE_NAME    (MEMORY + 0x4300)
#define LONG_NAME    (MEMORY + 0x4400)
#define GENERATORS   (MEMORY + 0x5000)
#define SPACE        0x200
#define MANY_FRAMES  (MEMORY + 0x10000)
#define NOWHERE      0x10

struct fake_process {
	struct php_walk walk; /* first: what the walk hands to php_read() */
	struct wire_runtime_frame frames[WIRE_MAX_RUNTIME_FRAMES];
	struct wire_script_function function;
	struct wire_php_layout layout;
	uint64_t frame_register;
	uint64_t instruction_register;
	uint8_t memory[MEMORY_BYTES];
};

#include "fake_memory.h"

static int php_read(struct php_walk *walk, void *ret, wire_u32 bytes, wire_u64 address)
{
	return read_memory((const struct fake_process *)walk, ret, bytes, address);
}

/* At the instruction with this number. */
static void put_frame(struct fake_process *process, uint64_t frame, uint64_t function,
		      unsigned int instruction, uint64_t previous)
{
	put_word(process, frame + PHP_FRAME_INSTRUCTION,
		 CODE + instruction * PHP_INSTRUCTION_BYTES);
	put_word(process, frame + PHP_FRAME_FUNCTION, function);
	put_word(process, frame + PHP_FRAME_PREVIOUS, previous);
}

static void call_from_c(struct fake_process *process, uint64_t frame)
{
	put_number(process, frame + PHP_FRAME_INFO, PHP_CALL_TOP | 8, 4);
}

static void put_string(struct fake_process *process, uint64_t string, const char *text)
{
	put_word(process, string + PHP_STRING_HASH, strlen(text) * 7919);
	put_word(process, string + PHP_STRING_LENGTH, strlen(text));
	memcpy(process->memory + (string + PHP_STRING_TEXT - MEMORY), text, strlen(text));
}

static void put_function(struct fake_process *process, uint64_t function, uint64_t name)
{
	const struct wire_php_layout *layout = &process->layout;

	put_number(process, function + PHP_FUNCTION_TYPE, 2, 1);
	put_word(process, function + PHP_FUNCTION_NAME, name);
	put_number(process, function + layout->function_num_instructions, NUM_CODES, 4);
	put_word(process, function + layout->function_instructions, CODE);
	put_word(process, function + layout->function_file, FILE_NAME);
}

/* Lines 10, 11, … */
static void put_instructions(struct fake_process *process)
{
	for (unsigned int i = 0; i < NUM_CODES; i++)
		put_number(process, CODE + i * PHP_INSTRUCTION_BYTES + PHP_INSTRUCTION_LINE, 10 + i,
			   4);
}

static int set_up(void **state)
{
	struct fake_process *process = calloc(1, sizeof(*process));

	assert_non_null(process);
	*state = process;
	process->layout = (struct wire_php_layout){
		.current = 488,
		.function_num_instructions = 80,
		.function_instructions = 88,
		.function_file = 152,
		.function_bytes = 168,
		.generator_frame = 56,
		.generator_parent = 152,
	};
	put_word(process, GLOBALS + process->layout.current, FRAME);
	put_string(process, NAME, "total");
	put_string(process, CLASS_NAME, "Order");
	put_string(process, FILE_NAME, "/srv/order.php");
	put_word(process, CLASS + PHP_CLASS_NAME, CLASS_NAME);
	put_function(process, FUNCTION, NAME);
	put_function(process, OTHER, NAME);
	put_instructions(process);
	put_frame(process, FRAME, FUNCTION, 1, 0);
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void walk(struct fake_process *process)
{
	unsigned int num_steps = 0;

	if (php_walk_start(&process->walk, &process->layout, GLOBALS, process->frame_register,
			   process->instruction_register))
		return;
	do
		assert_true(++num_steps <= PHP_MAX_STEPS);
	while (!php_walk_step(&process->walk, process->frames));
}

static void a_frame_has_its_function_and_line(void **state)
{
	struct fake_process *process = *state;

	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 1);
	assert_int_equal(process->frames[0].code, FUNCTION);
	assert_int_equal(process->frames[0].position, 11);
	assert_int_not_equal(process->frames[0].fingerprint, 0);
}

static void frames_come_innermost_first_and_say_which_one_c_has_called(void **state)
{
	struct fake_process *process = *state;

	put_number(process, BUILT_IN + PHP_FUNCTION_TYPE, PHP_INTERNAL_FUNCTION, 1);
	put_word(process, BUILT_IN + PHP_FUNCTION_NAME, NAME);
	put_frame(process, FRAME, OTHER, 0, CALLER);
	call_from_c(process, FRAME);
	put_frame(process, CALLER, BUILT_IN, 0, OUTER);
	call_from_c(process, CALLER);
	put_frame(process, OUTER, FUNCTION, 3, 0);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 3);
	assert_int_equal(process->frames[0].code, OTHER);
	assert_int_equal(process->frames[0].position, 10 | WIRE_RUNTIME_ENTRY_FRAME);
	/* What is built in is not evaluated, and has no lines. */
	assert_int_equal(process->frames[1].code, BUILT_IN);
	assert_int_equal(process->frames[1].position, 0);
	assert_int_equal(process->frames[2].position, 13);
}

static void no_frame_is_a_whole_stack(void **state)
{
	struct fake_process *process = *state;

	put_word(process, GLOBALS + process->layout.current, 0);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 0);
}

static void the_registers_of_the_evaluation_are_newer_than_the_innermost_frame(void **state)
{
	struct fake_process *process = *state;

	put_frame(process, FRAME, FUNCTION, 1, CALLER);
	put_frame(process, CALLER, OTHER, 0, 0);
	process->frame_register = FRAME;
	process->instruction_register = CODE + 2 * PHP_INSTRUCTION_BYTES;
	walk(process);
	assert_int_equal(process->frames[0].position, 12);
	assert_int_equal(process->frames[1].position, 10);
}

static void registers_with_something_else_are_not_taken(void **state)
{
	struct fake_process *process = *state;
	const struct {
		uint64_t frame;
		uint64_t instruction;
	} others[] = {
		{CALLER, CODE},
		{FRAME, CODE + PHP_INSTRUCTION_BYTES / 2},
		{FRAME, CODE + NUM_CODES * PHP_INSTRUCTION_BYTES},
		{FRAME, CODE - PHP_INSTRUCTION_BYTES},
		{FRAME, NOWHERE},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		process->frame_register = others[i].frame;
		process->instruction_register = others[i].instruction;
		walk(process);
		assert_int_equal(process->frames[0].position, 11);
	}
}

/* As while an exception is thrown, whose instruction is not of the function. */
static void an_instruction_of_another_function_has_no_line(void **state)
{
	struct fake_process *process = *state;

	put_frame(process, FRAME, FUNCTION, NUM_CODES, 0);
	walk(process);
	assert_int_equal(process->walk.num_frames, 1);
	assert_int_equal(process->frames[0].position, 0);
}

/* The generator with a number, its parent, and its frame at an instruction. */
static uint64_t put_generator(struct fake_process *process, unsigned int number, uint64_t parent,
			      uint64_t function, unsigned int instruction)
{
	uint64_t generator = GENERATORS + number * SPACE;
	uint64_t frame = generator + 0x180;

	put_word(process, generator + process->layout.generator_frame, frame);
	put_word(process, generator + process->layout.generator_parent, parent);
	put_frame(process, frame, function, instruction, NOWHERE);
	call_from_c(process, frame);
	return generator;
}

/* Generator 0 is resumed; it yields from 1, that from 2, which runs. */
static void generators_that_wait_for_another_one_are_among_the_frames(void **state)
{
	static const uint64_t node_bytes[] = {PHP_GENERATOR_NODE_BYTES,
					      PHP_OLD_GENERATOR_NODE_BYTES};
	struct fake_process *process = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(node_bytes); i++) {
		uint64_t inner = put_generator(process, 2, 0, FUNCTION, 0);
		uint64_t middle = put_generator(process, 1, inner, OTHER, 1);
		uint64_t outer = put_generator(process, 0, middle, FUNCTION, 2);
		uint64_t between = outer + process->layout.generator_parent + node_bytes[i];

		put_word(process, GLOBALS + process->layout.current, inner + 0x180);
		put_word(process, inner + 0x180 + PHP_FRAME_PREVIOUS, between);
		put_frame(process, between, 0, 0, CALLER);
		put_word(process, between + PHP_FRAME_THIS, outer);
		put_frame(process, CALLER, OTHER, 3, 0);
		walk(process);
		assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
		assert_int_equal(process->walk.num_frames, 4);
		assert_int_equal(process->frames[0].position, 10 | WIRE_RUNTIME_ENTRY_FRAME);
		assert_int_equal(process->frames[1].code, FUNCTION);
		assert_int_equal(process->frames[1].position, 12 | WIRE_SCRIPT_DELEGATES);
		assert_int_equal(process->frames[2].code, OTHER);
		assert_int_equal(process->frames[2].position, 11 | WIRE_SCRIPT_DELEGATES);
		assert_int_equal(process->frames[3].position, 13);
		memset(process->memory + (GENERATORS - MEMORY), 0, 3 * SPACE);
	}
}

static void generators_in_a_circle_end(void **state)
{
	struct fake_process *process = *state;
	uint64_t first = put_generator(process, 0, GENERATORS + SPACE, FUNCTION, 0);
	uint64_t second = put_generator(process, 1, first, FUNCTION, 0);
	uint64_t between = second + process->layout.generator_parent + PHP_GENERATOR_NODE_BYTES;

	put_word(process, FRAME + PHP_FRAME_PREVIOUS, between);
	put_frame(process, between, 0, 0, CALLER);
	put_word(process, between + PHP_FRAME_THIS, second);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_DEEP);
}

static void a_frame_without_a_function_in_no_generator_is_left_out(void **state)
{
	struct fake_process *process = *state;

	put_frame(process, FRAME, 0, 0, CALLER);
	put_word(process, FRAME + PHP_FRAME_THIS, GENERATORS);
	put_frame(process, CALLER, FUNCTION, 1, 0);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 1);
	assert_int_equal(process->frames[0].position, 11);
}

static void frames_of_who_has_resumed_a_fiber_are_on_another_stack(void **state)
{
	struct fake_process *process = *state;

	put_number(process, FIBER + PHP_FUNCTION_TYPE, PHP_INTERNAL_FUNCTION, 1);
	put_frame(process, FRAME, FUNCTION, 0, CALLER);
	call_from_c(process, FRAME);
	put_frame(process, CALLER, FIBER, 0, OUTER);
	put_frame(process, OUTER, OTHER, 1, 0);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 2);
	assert_int_equal(process->frames[0].position,
			 10 | WIRE_RUNTIME_ENTRY_FRAME | WIRE_SCRIPT_STACK_START);
	assert_int_equal(process->frames[1].position, 11);
}

static void what_cannot_be_read_ends_the_walk(void **state)
{
	struct fake_process *process = *state;

	put_frame(process, FRAME, FUNCTION, 1, NOWHERE);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	assert_int_equal(process->walk.num_frames, 1);
	put_frame(process, FRAME, NOWHERE, 1, 0);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	assert_int_equal(process->walk.num_frames, 0);
}

static void outer_frames_of_a_deep_stack_are_left_out(void **state)
{
	struct fake_process *process = *state;

	put_word(process, GLOBALS + process->layout.current, MANY_FRAMES);
	for (uint64_t i = 0; i < WIRE_MAX_RUNTIME_FRAMES + 10; i++)
		put_frame(process, MANY_FRAMES + i * 0x50, FUNCTION, 0,
			  MANY_FRAMES + (i + 1) * 0x50);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_DEEP);
	assert_int_equal(process->walk.num_frames, WIRE_MAX_RUNTIME_FRAMES);
}

static void frames_in_a_circle_end(void **state)
{
	struct fake_process *process = *state;

	put_frame(process, FRAME, FUNCTION, 0, FRAME);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_DEEP);
	put_frame(process, FRAME, 0, 0, FRAME);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_DEEP);
}

static uint32_t get_fingerprint(struct fake_process *process)
{
	walk(process);
	assert_int_equal(process->walk.num_frames, 1);
	return process->frames[0].fingerprint;
}

/* An address may be another function's after the request it was of. */
static void functions_at_one_address_are_told_apart(void **state)
{
	struct fake_process *process = *state;
	uint32_t fingerprints[6];

	fingerprints[0] = get_fingerprint(process);
	put_string(process, NAME, "other");
	/* Of the same length: by its hash. */
	put_word(process, NAME + PHP_STRING_HASH, 1);
	fingerprints[1] = get_fingerprint(process);
	put_string(process, NAME, "total of all");
	fingerprints[2] = get_fingerprint(process);
	put_word(process, FUNCTION + PHP_FUNCTION_CLASS, CLASS);
	fingerprints[3] = get_fingerprint(process);
	put_number(process, FUNCTION + process->layout.function_file + 8, 12, 4);
	fingerprints[4] = get_fingerprint(process);
	put_word(process, FUNCTION + process->layout.function_file, CLASS_NAME);
	fingerprints[5] = get_fingerprint(process);
	for (size_t i = 0; i < ARRAY_LENGTH(fingerprints); i++)
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(fingerprints[i], fingerprints[j]);
}

static void assert_text(const struct wire_script_text *text, const uint8_t *bytes,
			const char *expected)
{
	assert_int_equal(text->length, strlen(expected));
	assert_int_equal(text->num_bytes, strlen(expected));
	assert_memory_equal(bytes, expected, strlen(expected) + 1);
}

static void a_function_says_its_names(void **state)
{
	struct fake_process *process = *state;
	struct wire_script_function *function = &process->function;

	put_word(process, FUNCTION + PHP_FUNCTION_CLASS, CLASS);
	walk(process);
	assert_int_equal(php_read_function_names(&process->walk, FUNCTION, function), 0);
	assert_int_equal(function->code, FUNCTION);
	assert_int_equal(function->fingerprint, process->frames[0].fingerprint);
	assert_int_equal(function->runtime, WIRE_RUNTIME_PHP);
	assert_int_equal(function->code_kind, WIRE_SCRIPT_CODE_FUNCTION);
	assert_text(&function->class_name, function->class_text, "Order");
	assert_text(&function->name, function->name_text, "total");
	assert_text(&function->file, function->file_text, "/srv/order.php");
}

static void what_is_built_in_has_no_file(void **state)
{
	struct fake_process *process = *state;

	put_number(process, FUNCTION + PHP_FUNCTION_TYPE, PHP_INTERNAL_FUNCTION, 1);
	walk(process);
	assert_int_equal(php_read_function_names(&process->walk, FUNCTION, &process->function), 0);
	assert_int_equal(process->function.fingerprint, process->frames[0].fingerprint);
	assert_text(&process->function.name, process->function.name_text, "total");
	assert_int_equal(process->function.file.length, 0);
}

static void code_of_a_file_and_of_a_text_have_no_names(void **state)
{
	struct fake_process *process = *state;

	put_function(process, FUNCTION, 0);
	walk(process);
	assert_int_equal(php_read_function_names(&process->walk, FUNCTION, &process->function), 0);
	assert_int_equal(process->function.code_kind, WIRE_SCRIPT_CODE_FILE);
	put_number(process, FUNCTION + PHP_FUNCTION_TYPE, PHP_EVAL_CODE, 1);
	assert_int_equal(php_read_function_names(&process->walk, FUNCTION, &process->function), 0);
	assert_int_equal(process->function.code_kind, WIRE_SCRIPT_CODE_EVAL);
	assert_int_equal(process->function.name.num_bytes, 0);
	assert_text(&process->function.file, process->function.file_text, "/srv/order.php");
}

static void of_long_names_the_start_is_read(void **state)
{
	struct fake_process *process = *state;
	char name[WIRE_SCRIPT_NAME_BYTES + 2];

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	put_string(process, LONG_NAME, name);
	put_function(process, FUNCTION, LONG_NAME);
	walk(process);
	assert_int_equal(php_read_function_names(&process->walk, FUNCTION, &process->function), 0);
	assert_int_equal(process->function.name.length, WIRE_SCRIPT_NAME_BYTES + 1);
	assert_int_equal(process->function.name.num_bytes, WIRE_SCRIPT_NAME_BYTES);
	put_word(process, LONG_NAME + PHP_STRING_LENGTH, 1ull << 63);
	assert_int_equal(php_read_function_names(&process->walk, FUNCTION, &process->function), 0);
	assert_int_equal(process->function.name.length, 0xffffffff);
}

static void names_that_cannot_be_read_are_empty(void **state)
{
	struct fake_process *process = *state;

	put_function(process, FUNCTION, NOWHERE);
	put_word(process, FUNCTION + PHP_FUNCTION_CLASS, NOWHERE);
	walk(process);
	assert_int_equal(process->walk.num_frames, 1);
	assert_int_equal(php_read_function_names(&process->walk, FUNCTION, &process->function), 0);
	assert_int_equal(process->function.name.num_bytes, 0);
	assert_int_equal(process->function.class_name.num_bytes, 0);
	assert_int_not_equal(php_read_function_names(&process->walk, NOWHERE, &process->function),
			     0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_frame_has_its_function_and_line),
		TEST(frames_come_innermost_first_and_say_which_one_c_has_called),
		TEST(no_frame_is_a_whole_stack),
		TEST(the_registers_of_the_evaluation_are_newer_than_the_innermost_frame),
		TEST(registers_with_something_else_are_not_taken),
		TEST(an_instruction_of_another_function_has_no_line),
		TEST(generators_that_wait_for_another_one_are_among_the_frames),
		TEST(generators_in_a_circle_end),
		TEST(a_frame_without_a_function_in_no_generator_is_left_out),
		TEST(frames_of_who_has_resumed_a_fiber_are_on_another_stack),
		TEST(what_cannot_be_read_ends_the_walk),
		TEST(outer_frames_of_a_deep_stack_are_left_out),
		TEST(frames_in_a_circle_end),
		TEST(functions_at_one_address_are_told_apart),
		TEST(a_function_says_its_names),
		TEST(what_is_built_in_has_no_file),
		TEST(code_of_a_file_and_of_a_text_have_no_names),
		TEST(of_long_names_the_start_is_read),
		TEST(names_that_cannot_be_read_are_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
