/* The walk of Ruby's frames in memory that is made here. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

#define RUBY_INLINE static inline
#include "runtime/ruby_walk.h"

/* Memory of a process, and where things lie in it. */
#define MEMORY         0x7f0000000000ull
#define MEMORY_BYTES   0x40000
#define STATE          MEMORY
#define SYMBOLS        (MEMORY + 0x40)
#define THREAD_POINTER (MEMORY + 0x100)
#define VECTOR         (MEMORY + 0x200)
#define BLOCK          (MEMORY + 0x300)
#define CONTEXT        (MEMORY + 0x400)
#define THREAD         (MEMORY + 0x600)
#define METHOD         (MEMORY + 0x700)
#define DEFINITION     (MEMORY + 0x800)
#define NAMES          (MEMORY + 0x900)
#define SOME_NAMES     (MEMORY + 0xa00)
#define NAME_ELEMENTS  (MEMORY + 0x1000)
#define LABEL          (MEMORY + 0x4000)
#define PATH           (MEMORY + 0x4100)
#define PATHS          (MEMORY + 0x4200)
#define C_NAME         (MEMORY + 0x4300)
#define TEXT           (MEMORY + 0x4400)
#define CODE           (MEMORY + 0x5000)
#define OTHER_CODE     (MEMORY + 0x5100)
#define BODY           (MEMORY + 0x5200)
#define OTHER_BODY     (MEMORY + 0x5400)
#define INSTRUCTIONS   (MEMORY + 0x6000)
#define NUM_WORDS      1200
#define LINES          (MEMORY + 0x9000)
#define INDEX          (MEMORY + 0xc000)
#define ENVIRONMENTS   (MEMORY + 0x10000)
#define STACK          (MEMORY + 0x30000)
#define STACK_WORDS    0x2000
#define NOWHERE        0x10

#define MODULE       2
#define OFFSET       0x18
#define NATIVE_START 0x7ffd00010000ull
#define NATIVE_BYTES 0x8000
#define SP           (NATIVE_START - 0x100)
#define SYMBOL       3000

#define KIND_METHOD 0x11110001
#define FLAG_LOCAL  2

struct fake_process {
	struct ruby_walk walk; /* first: what the walk hands to ruby_read() */
	struct wire_runtime_frame frames[WIRE_MAX_RUNTIME_FRAMES];
	struct wire_script_function function;
	struct wire_ruby_layout layout;
	uint64_t sp;
	uint64_t frame_register;
	uint64_t instruction_register;
	unsigned int num_frames;
	uint8_t memory[MEMORY_BYTES];
};

#include "fake_memory.h"

static int ruby_read(struct ruby_walk *walk, void *ret, wire_u32 bytes, wire_u64 address)
{
	return read_memory((const struct fake_process *)walk, ret, bytes, address);
}

static void put_text(struct fake_process *process, uint64_t address, const char *text)
{
	assert_in_range(address, MEMORY, MEMORY + MEMORY_BYTES - strlen(text));
	memcpy(process->memory + (address - MEMORY), text, strlen(text));
}

/* A string that has its text in it. */
static void put_string(struct fake_process *process, uint64_t string, const char *text)
{
	uint64_t flags = RUBY_TYPE_STRING;

	if (process->layout.string_text == RUBY_SHORT_TEXT)
		flags |= strlen(text) << 14;
	else
		put_word(process, string + RUBY_STRING_LENGTH, strlen(text));
	put_word(process, string, flags);
	put_text(process, string + process->layout.string_text, text);
}

static void put_long_string(struct fake_process *process, uint64_t string, uint64_t length,
			    uint64_t text)
{
	put_word(process, string, RUBY_TYPE_STRING | RUBY_FLAG_PLACE);
	put_word(process, string + RUBY_STRING_LENGTH, length);
	put_word(process, string + RUBY_STRING_POINTER, text);
}

/* Where frames come into being: one further in than those before. Returns its address. */
static uint64_t add_frame(struct fake_process *process, uint64_t code, uint64_t instruction,
			  uint64_t flags)
{
	uint64_t environment = ENVIRONMENTS + process->num_frames * 0x20;
	uint64_t frame = STACK + STACK_WORDS * 8 -
			 (uint64_t)++process->num_frames * process->layout.frame_bytes;

	put_word(process, frame + RUBY_FRAME_INSTRUCTION, instruction);
	put_word(process, frame + RUBY_FRAME_CODE, code);
	put_word(process, frame + RUBY_FRAME_ENVIRONMENT, environment + 16);
	put_word(process, environment, METHOD);
	put_word(process, environment + 16, flags);
	put_word(process, CONTEXT + RUBY_CONTEXT_FRAME, frame);
	return frame;
}

/* Before the word with this number. */
static uint64_t add_code(struct fake_process *process, uint64_t code, unsigned int word,
			 uint64_t flags)
{
	return add_frame(process, code, INSTRUCTIONS + (uint64_t)word * 8,
			 KIND_METHOD | FLAG_LOCAL | flags);
}

static void put_code(struct fake_process *process, uint64_t code, uint64_t body, uint64_t label)
{
	uint64_t lines = body + process->layout.body_lines;

	put_word(process, code + RUBY_CODE_BODY, body);
	put_number(process, body + RUBY_BODY_SIZE, NUM_WORDS, 4);
	put_word(process, body + RUBY_BODY_INSTRUCTIONS, INSTRUCTIONS);
	put_word(process, body + RUBY_BODY_PATH, PATH);
	put_word(process, body + RUBY_BODY_LABEL, label);
	put_word(process, lines + RUBY_LINES_ENTRIES, LINES);
	put_number(process, lines + RUBY_LINES_NUM, 1, 4);
}

/*
 * An entry for each of these words, ascending, that start lines 100, 101, …; the index is written as Ruby does.
 */
static void put_lines(struct fake_process *process, const unsigned int *words, size_t num_words)
{
	uint64_t direct[RUBY_INDEX_DIRECT / 9] = {0};
	unsigned int rank = 0;

	put_number(process, BODY + process->layout.body_lines + RUBY_LINES_NUM, num_words, 4);
	put_word(process, BODY + process->layout.body_lines + RUBY_LINES_INDEX, INDEX);
	for (size_t i = 0; i < num_words; i++)
		put_number(process, LINES + i * process->layout.line_bytes, 100 + i, 4);
	for (unsigned int word = 0; word < RUBY_INDEX_DIRECT; word++) {
		rank += rank < num_words && words[rank] == word;
		direct[word / 9] |= (uint64_t)rank << (word % 9 * 7);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(direct); i++)
		put_word(process, INDEX + i * 8, direct[i]);
	for (unsigned int first = RUBY_INDEX_DIRECT; first < NUM_WORDS;
	     first += RUBY_INDEX_BLOCK_BITS) {
		uint64_t block = INDEX + RUBY_INDEX_BLOCKS +
				 (first - RUBY_INDEX_DIRECT) / RUBY_INDEX_BLOCK_BITS *
					 RUBY_INDEX_BLOCK_BYTES;
		unsigned int start = rank;
		uint64_t small_ranks = 0;

		put_number(process, block, rank, 4);
		for (unsigned int small = 0; small < RUBY_INDEX_BLOCK_BITS / 64; small++) {
			uint64_t bits = 0;

			for (unsigned int bit = 0; bit < 64; bit++) {
				unsigned int word = first + small * 64 + bit;

				if (rank < num_words && words[rank] == word) {
					bits |= 1ull << bit;
					rank++;
				}
			}
			put_word(process, block + RUBY_INDEX_BLOCK_VECTOR + small * 8, bits);
			if (small < 7)
				small_ranks |= (uint64_t)(rank - start) << (small * 9);
		}
		put_word(process, block + 8, small_ranks);
	}
}

static void put_context(struct fake_process *process)
{
	const struct wire_ruby_layout *layout = &process->layout;
	static const uint64_t states[] = {
		[WIRE_RUBY_CONTEXT_OF_ALL] = CONTEXT,
		[WIRE_RUBY_CONTEXT_BY_INDEX] = MODULE,
		[WIRE_RUBY_CONTEXT_BY_OFFSET] = BLOCK + OFFSET - THREAD_POINTER,
		[WIRE_RUBY_CONTEXT_IN_CODE] = NOWHERE,
	};

	put_word(process, STATE, states[layout->context]);
	put_word(process, STATE + 8, OFFSET);
	put_word(process, THREAD_POINTER + 8, VECTOR);
	put_word(process, VECTOR - 16, MODULE);
	put_word(process, VECTOR + 16 * MODULE, BLOCK);
	put_word(process, BLOCK + OFFSET, CONTEXT);
	put_word(process, CONTEXT + RUBY_CONTEXT_STACK, STACK);
	put_word(process, CONTEXT + RUBY_CONTEXT_STACK_WORDS, STACK_WORDS);
	put_word(process, CONTEXT + layout->context_thread, THREAD);
	put_word(process, CONTEXT + layout->context_native + RUBY_NATIVE_START, NATIVE_START);
	put_word(process, CONTEXT + layout->context_native + RUBY_NATIVE_BYTES, NATIVE_BYTES);
	put_word(process, THREAD + layout->thread_context, CONTEXT);
}

/* Symbols' names: an array with its elements in it, of arrays that have theirs elsewhere. */
static void put_symbols(struct fake_process *process)
{
	put_word(process, SYMBOLS + RUBY_SYMBOLS_NAMES, NAMES);
	put_word(process, NAMES, RUBY_TYPE_ARRAY | RUBY_FLAG_PLACE);
	put_word(process, NAMES + RUBY_ARRAY_ELEMENTS, SOME_NAMES);
	put_word(process, SOME_NAMES, RUBY_TYPE_ARRAY);
	put_word(process, SOME_NAMES + RUBY_ARRAY_POINTER, NAME_ELEMENTS);
	put_word(process, NAME_ELEMENTS + 16ull * (SYMBOL >> RUBY_SYMBOL_SHIFT), C_NAME);
	put_word(process, METHOD, 0x601a);
	put_word(process, METHOD + RUBY_METHOD_DEFINITION, DEFINITION);
	put_word(process, DEFINITION + RUBY_DEFINITION_NAME, SYMBOL);
}

static void start(struct fake_process *process)
{
	memset(process, 0, sizeof(*process));
	process->sp = SP;
	process->layout = (struct wire_ruby_layout){
		.symbols = SYMBOLS - STATE,
		.context = WIRE_RUBY_CONTEXT_BY_INDEX,
		.frame_bytes = 56,
		.line_bytes = 12,
		.string_text = 24,
		.context_thread = 0x30,
		.context_native = 0x98,
		.context_bytes = 0xb0,
		.thread_context = 0x30,
		.body_lines = 112,
	};
}

static void fill(struct fake_process *process)
{
	put_context(process);
	put_symbols(process);
	put_string(process, LABEL, "total");
	put_string(process, PATH, "/srv/order.rb");
	put_string(process, C_NAME, "each");
	put_code(process, CODE, BODY, LABEL);
	put_code(process, OTHER_CODE, OTHER_BODY, LABEL);
	put_number(process, LINES, 100, 4);
	add_frame(process, 0, 0, RUBY_KIND_DUMMY | RUBY_FLAG_FINISH);
}

static int set_up(void **state)
{
	struct fake_process *process = calloc(1, sizeof(*process));

	assert_non_null(process);
	*state = process;
	start(process);
	fill(process);
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

	if (ruby_walk_start(&process->walk, &process->layout, STATE, THREAD_POINTER, process->sp,
			    process->frame_register, process->instruction_register))
		return;
	do
		assert_true(++num_steps <= RUBY_MAX_STEPS);
	while (!ruby_walk_step(&process->walk, process->frames));
}

static void a_frame_has_its_code_and_line(void **state)
{
	struct fake_process *process = *state;

	add_code(process, CODE, 2, RUBY_FLAG_FINISH);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 1);
	assert_int_equal(process->frames[0].code, CODE);
	assert_int_equal(process->frames[0].position, 100 | WIRE_RUNTIME_ENTRY_FRAME);
	assert_int_not_equal(process->frames[0].fingerprint, 0);
}

static void before_3_0_there_is_one_context(void **state)
{
	struct fake_process *process = *state;

	start(process);
	process->layout.context = WIRE_RUBY_CONTEXT_OF_ALL;
	process->layout.string_text = RUBY_SHORT_TEXT;
	process->layout.line_bytes = 8;
	fill(process);
	add_code(process, CODE, 2, 0);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 1);
	assert_int_equal(ruby_read_function(&process->walk, CODE, &process->function), 0);
	assert_int_equal(process->function.name.length, 5);
	assert_memory_equal(process->function.name_text, "total", 6);
}

static void a_program_has_a_threads_context_at_an_offset(void **state)
{
	static const enum wire_ruby_context contexts[] = {WIRE_RUBY_CONTEXT_BY_OFFSET,
							  WIRE_RUBY_CONTEXT_IN_CODE};
	struct fake_process *process = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(contexts); i++) {
		start(process);
		process->layout.context = (uint8_t)contexts[i];
		if (contexts[i] == WIRE_RUBY_CONTEXT_IN_CODE)
			process->layout.context_offset = BLOCK + OFFSET - THREAD_POINTER;
		fill(process);
		add_code(process, CODE, 2, RUBY_FLAG_FINISH);
		/* The number of a module is not looked for. */
		put_word(process, THREAD_POINTER + 8, NOWHERE);
		walk(process);
		assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
		assert_int_equal(process->walk.num_frames, 1);
		assert_int_equal(process->frames[0].code, CODE);
	}
}

static void frames_come_innermost_first_and_say_which_one_c_has_called(void **state)
{
	struct fake_process *process = *state;

	add_code(process, OTHER_CODE, 1, RUBY_FLAG_FINISH);
	add_frame(process, 0, 0, RUBY_KIND_C | FLAG_LOCAL);
	add_code(process, CODE, 1, RUBY_FLAG_FINISH);
	add_code(process, OTHER_CODE, 1, 0);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 4);
	assert_int_equal(process->frames[0].code, OTHER_CODE);
	assert_int_equal(process->frames[0].position, 100);
	assert_int_equal(process->frames[1].code, CODE);
	assert_int_equal(process->frames[1].position, 100 | WIRE_RUNTIME_ENTRY_FRAME);
	/* What is in C is not evaluated, and has no lines. */
	assert_int_equal(process->frames[2].code, METHOD | RUBY_C_METHOD);
	assert_int_equal(process->frames[2].position, 0);
	assert_int_equal(process->frames[3].position, 100 | WIRE_RUNTIME_ENTRY_FRAME);
}

static void what_ruby_does_not_show_is_left_out(void **state)
{
	struct fake_process *process = *state;

	add_code(process, CODE, 1, RUBY_FLAG_FINISH);
	/* A function in C that is called as a block. */
	add_frame(process, CODE, 0, 0x66660001 | RUBY_FLAG_FINISH);
	add_frame(process, 0, 0, RUBY_KIND_DUMMY | RUBY_FLAG_FINISH);
	add_frame(process, OTHER_CODE, INSTRUCTIONS, RUBY_KIND_DUMMY | RUBY_FLAG_FINISH);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 1);
}

/* The line of each word of the instructions, by asking for what is after it. */
static void lines_are_found_by_each_word(void **state)
{
	/* Of both parts of the index, at the start and the end of blocks and of their words. */
	static const unsigned int words[] = {0,   3,   8,   9,    53,   54,   55,
					     117, 118, 119, 200,  201,  501,  502,
					     565, 566, 567, 1000, 1077, 1078, 1150};
	struct fake_process *process = *state;
	uint64_t frame = add_code(process, CODE, 0, 0);
	size_t num = 0;

	put_lines(process, words, ARRAY_LENGTH(words));
	for (unsigned int word = 0; word < NUM_WORDS; word++) {
		num += num < ARRAY_LENGTH(words) && words[num] == word;
		put_word(process, frame + RUBY_FRAME_INSTRUCTION, INSTRUCTIONS + 8 * (word + 1ull));
		walk(process);
		assert_int_equal(process->frames[0].position, 99 + num);
	}
	/* None has run. */
	put_word(process, frame + RUBY_FRAME_INSTRUCTION, INSTRUCTIONS);
	walk(process);
	assert_int_equal(process->frames[0].position, 100);
}

static void lines_that_are_not_there_are_not_known(void **state)
{
	static const unsigned int words[] = {0, 3};
	struct fake_process *process = *state;
	uint64_t frame = add_code(process, CODE, 4, 0);
	uint64_t lines = BODY + process->layout.body_lines;

	put_lines(process, words, ARRAY_LENGTH(words));
	put_word(process, lines + RUBY_LINES_INDEX, NOWHERE);
	walk(process);
	assert_int_equal(process->frames[0].position, 0);
	put_word(process, lines + RUBY_LINES_INDEX, INDEX);
	put_word(process, INDEX, 0x7f7f7f7f7f7f7f7full);
	walk(process);
	assert_int_equal(process->frames[0].position, 0);
	put_number(process, lines + RUBY_LINES_NUM, 0, 4);
	walk(process);
	assert_int_equal(process->frames[0].position, 0);
	put_number(process, lines + RUBY_LINES_NUM, 1, 4);
	put_number(process, LINES, WIRE_SCRIPT_MAX_LINE + 1, 4);
	walk(process);
	assert_int_equal(process->frames[0].position, 0);
	put_number(process, LINES, WIRE_SCRIPT_MAX_LINE, 4);
	walk(process);
	assert_int_equal(process->frames[0].position, WIRE_SCRIPT_MAX_LINE);
	put_word(process, frame + RUBY_FRAME_INSTRUCTION, INSTRUCTIONS + 8 * (NUM_WORDS + 1));
	walk(process);
	assert_int_equal(process->frames[0].position, 0);
	assert_int_equal(process->walk.num_frames, 1);
}

static void the_registers_of_the_evaluation_are_newer_than_the_innermost_frame(void **state)
{
	static const unsigned int words[] = {0, 3};
	struct fake_process *process = *state;

	add_code(process, CODE, 1, 0);
	process->frame_register = add_code(process, CODE, 1, 0);
	process->instruction_register = INSTRUCTIONS + 8 * 4;
	put_lines(process, words, ARRAY_LENGTH(words));
	walk(process);
	assert_int_equal(process->frames[0].position, 101);
	assert_int_equal(process->frames[1].position, 100);
}

static void registers_with_something_else_are_not_taken(void **state)
{
	static const unsigned int words[] = {0, 3};
	struct fake_process *process = *state;
	uint64_t caller = add_code(process, CODE, 1, 0);
	uint64_t frame = add_code(process, CODE, 1, 0);
	const struct {
		uint64_t frame;
		uint64_t instruction;
	} others[] = {
		{caller, INSTRUCTIONS + 8 * 4},
		{frame, INSTRUCTIONS + 8 * 4 + 4},
		{frame, INSTRUCTIONS + 8 * (NUM_WORDS + 1)},
		{frame, INSTRUCTIONS - 8},
		{frame, NOWHERE},
	};

	put_lines(process, words, ARRAY_LENGTH(words));
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		process->frame_register = others[i].frame;
		process->instruction_register = others[i].instruction;
		walk(process);
		assert_int_equal(process->frames[0].position, 100);
		assert_int_equal(process->frames[1].position, 100);
	}
}

static void expect_no_thread(struct fake_process *process)
{
	process->walk.end = WIRE_RUNTIME_COMPLETE;
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_NO_THREAD);
	assert_int_equal(process->walk.num_frames, 0);
}

/* As when fibers are being switched, or another thread has the interpreter. */
static void a_context_whose_native_stack_does_not_run_is_not_taken(void **state)
{
	struct fake_process *process = *state;

	add_code(process, CODE, 1, 0);
	process->sp = NATIVE_START - NATIVE_BYTES - 8;
	expect_no_thread(process);
	process->sp = NATIVE_START + 8;
	expect_no_thread(process);
	process->sp = NATIVE_START - NATIVE_BYTES;
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
}

static void a_thread_may_have_no_context(void **state)
{
	struct fake_process *process = *state;

	add_code(process, CODE, 1, 0);
	put_word(process, BLOCK + OFFSET, 0);
	expect_no_thread(process);
	put_word(process, BLOCK + OFFSET, CONTEXT);
	/* Not the one that it runs; none that has a stack yet. */
	put_word(process, THREAD + process->layout.thread_context, BLOCK);
	expect_no_thread(process);
	put_word(process, THREAD + process->layout.thread_context, CONTEXT);
	put_word(process, CONTEXT + RUBY_CONTEXT_FRAME, 0);
	expect_no_thread(process);
}

static void a_thread_may_have_no_thread_local_storage_of_the_library(void **state)
{
	struct fake_process *process = *state;

	add_code(process, CODE, 1, 0);
	put_word(process, VECTOR + 16 * MODULE, ~0ull);
	expect_no_thread(process);
	put_word(process, VECTOR + 16 * MODULE, 0);
	expect_no_thread(process);
	put_word(process, VECTOR + 16 * MODULE, BLOCK);
	put_word(process, VECTOR - 16, MODULE - 1);
	expect_no_thread(process);
	put_word(process, VECTOR - 16, MODULE);
	put_word(process, STATE, 0); /* nothing is relocated yet */
	expect_no_thread(process);
	put_word(process, STATE, MODULE);
	put_word(process, THREAD_POINTER + 8, NOWHERE);
	expect_no_thread(process);
}

static void what_cannot_be_read_ends_the_walk(void **state)
{
	struct fake_process *process = *state;

	add_code(process, CODE, 1, 0);
	add_code(process, NOWHERE, 1, 0);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	assert_int_equal(process->walk.num_frames, 0);
	put_word(process, CONTEXT + RUBY_CONTEXT_FRAME, NOWHERE);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	put_word(process, BLOCK + OFFSET, NOWHERE);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
}

static void what_is_no_method_ends_the_walk(void **state)
{
	struct fake_process *process = *state;

	add_frame(process, 0, 0, RUBY_KIND_C);
	put_word(process, METHOD, RUBY_TYPE_STRING);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	assert_int_equal(process->walk.num_frames, 0);
}

static void outer_frames_of_a_deep_stack_are_left_out(void **state)
{
	struct fake_process *process = *state;

	for (unsigned int i = 0; i < WIRE_MAX_RUNTIME_FRAMES + 10; i++)
		add_code(process, CODE, 1, 0);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_DEEP);
	assert_int_equal(process->walk.num_frames, WIRE_MAX_RUNTIME_FRAMES);
}

static void as_many_frames_as_are_kept_are_a_whole_stack(void **state)
{
	struct fake_process *process = *state;

	process->num_frames = 0;
	for (unsigned int i = 0; i < WIRE_MAX_RUNTIME_FRAMES; i++)
		add_code(process, CODE, 1, 0);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, WIRE_MAX_RUNTIME_FRAMES);
}

static void frames_without_an_end_end(void **state)
{
	struct fake_process *process = *state;

	process->layout.frame_bytes = 0;
	put_word(process, CONTEXT + RUBY_CONTEXT_FRAME, STACK);
	put_word(process, STACK + RUBY_FRAME_ENVIRONMENT, ENVIRONMENTS + 16);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_DEEP);
}

static uint32_t get_fingerprint(struct fake_process *process)
{
	walk(process);
	assert_int_equal(process->walk.num_frames, 1);
	return process->frames[0].fingerprint;
}

/* An address may be another one's when what was evaluated is gone. */
static void codes_at_one_address_are_told_apart(void **state)
{
	struct fake_process *process = *state;
	uint32_t fingerprints[5];

	add_code(process, CODE, 0, 0);
	fingerprints[0] = get_fingerprint(process);
	put_string(process, LABEL, "other");
	fingerprints[1] = get_fingerprint(process);
	put_string(process, LABEL, "total of all");
	fingerprints[2] = get_fingerprint(process);
	put_word(process, BODY + RUBY_BODY_PATH, PATHS);
	fingerprints[3] = get_fingerprint(process);
	put_word(process, BODY + RUBY_BODY_INSTRUCTIONS, INSTRUCTIONS - 8);
	fingerprints[4] = get_fingerprint(process);
	for (size_t i = 0; i < ARRAY_LENGTH(fingerprints); i++)
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(fingerprints[i], fingerprints[j]);
}

static void methods_at_one_address_are_told_apart(void **state)
{
	struct fake_process *process = *state;
	uint32_t fingerprint;

	add_frame(process, 0, 0, RUBY_KIND_C);
	fingerprint = get_fingerprint(process);
	put_word(process, DEFINITION + RUBY_DEFINITION_NAME, SYMBOL + 16);
	assert_int_not_equal(get_fingerprint(process), fingerprint);
}

static void assert_text(const struct wire_script_text *text, const uint8_t *bytes,
			const char *expected)
{
	assert_int_equal(text->length, strlen(expected));
	assert_int_equal(text->num_bytes, strlen(expected));
	assert_memory_equal(bytes, expected, strlen(expected) + 1);
}

static void code_says_its_label_and_path(void **state)
{
	struct fake_process *process = *state;
	struct wire_script_function *function = &process->function;

	add_code(process, CODE, 1, 0);
	walk(process);
	assert_int_equal(ruby_read_function(&process->walk, CODE, function), 0);
	assert_int_equal(function->code, CODE);
	assert_int_equal(function->fingerprint, process->frames[0].fingerprint);
	assert_int_equal(function->runtime, WIRE_RUNTIME_RUBY);
	assert_int_equal(function->code_kind, WIRE_SCRIPT_CODE_FUNCTION);
	assert_int_equal(function->class_name.num_bytes, 0);
	assert_text(&function->name, function->name_text, "total");
	assert_text(&function->file, function->file_text, "/srv/order.rb");
}

static void of_a_path_and_a_real_path_the_first_one_is_said(void **state)
{
	struct fake_process *process = *state;

	put_word(process, PATHS, RUBY_TYPE_ARRAY | RUBY_FLAG_PLACE);
	put_word(process, PATHS + RUBY_ARRAY_ELEMENTS, PATH);
	put_word(process, PATHS + RUBY_ARRAY_ELEMENTS + 8, LABEL);
	put_word(process, BODY + RUBY_BODY_PATH, PATHS);
	add_code(process, CODE, 1, 0);
	walk(process);
	assert_int_equal(ruby_read_function(&process->walk, CODE, &process->function), 0);
	assert_int_equal(process->function.fingerprint, process->frames[0].fingerprint);
	assert_text(&process->function.file, process->function.file_text, "/srv/order.rb");
}

static void a_method_in_c_has_the_name_of_its_symbol_and_no_file(void **state)
{
	struct fake_process *process = *state;
	struct wire_script_function *function = &process->function;

	add_frame(process, 0, 0, RUBY_KIND_C);
	walk(process);
	assert_int_equal(ruby_read_function(&process->walk, process->frames[0].code, function), 0);
	assert_int_equal(function->code, METHOD | RUBY_C_METHOD);
	assert_int_equal(function->fingerprint, process->frames[0].fingerprint);
	assert_text(&function->name, function->name_text, "each");
	assert_int_equal(function->file.length, 0);
}

static void an_operator_is_numbered_as_its_token(void **state)
{
	struct fake_process *process = *state;

	put_word(process, DEFINITION + RUBY_DEFINITION_NAME, 135);
	put_word(process, NAME_ELEMENTS + 16 * 135, C_NAME);
	put_string(process, C_NAME, "<=>");
	add_frame(process, 0, 0, RUBY_KIND_C);
	walk(process);
	assert_int_equal(
		ruby_read_function(&process->walk, METHOD | RUBY_C_METHOD, &process->function), 0);
	assert_int_equal(process->function.name.num_bytes, 3);
	assert_memory_equal(process->function.name_text, "<=>", 3);
}

static void of_long_names_the_start_is_read(void **state)
{
	struct fake_process *process = *state;

	memset(process->memory + (TEXT - MEMORY), 'n', 2ull * WIRE_SCRIPT_NAME_BYTES);
	put_long_string(process, LABEL, WIRE_SCRIPT_NAME_BYTES + 1, TEXT);
	walk(process);
	assert_int_equal(ruby_read_function(&process->walk, CODE, &process->function), 0);
	assert_int_equal(process->function.name.length, WIRE_SCRIPT_NAME_BYTES + 1);
	assert_int_equal(process->function.name.num_bytes, WIRE_SCRIPT_NAME_BYTES);
	put_long_string(process, LABEL, 1ull << 63, TEXT);
	assert_int_equal(ruby_read_function(&process->walk, CODE, &process->function), 0);
	assert_int_equal(process->function.name.length, 0xffffffff);
}

static void names_that_cannot_be_read_are_empty(void **state)
{
	struct fake_process *process = *state;

	put_long_string(process, LABEL, 5, NOWHERE);
	put_word(process, PATH, RUBY_TYPE_ARRAY + 1);
	put_word(process, SOME_NAMES, RUBY_TYPE_STRING);
	add_frame(process, 0, 0, RUBY_KIND_C);
	walk(process);
	assert_int_equal(ruby_read_function(&process->walk, CODE, &process->function), 0);
	assert_int_equal(process->function.name.num_bytes, 0);
	assert_int_equal(process->function.file.num_bytes, 0);
	assert_int_equal(
		ruby_read_function(&process->walk, METHOD | RUBY_C_METHOD, &process->function), 0);
	assert_int_equal(process->function.name.num_bytes, 0);
	assert_int_not_equal(ruby_read_function(&process->walk, NOWHERE, &process->function), 0);
	assert_int_not_equal(
		ruby_read_function(&process->walk, NOWHERE | RUBY_C_METHOD, &process->function), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_frame_has_its_code_and_line),
		TEST(before_3_0_there_is_one_context),
		TEST(a_program_has_a_threads_context_at_an_offset),
		TEST(frames_come_innermost_first_and_say_which_one_c_has_called),
		TEST(what_ruby_does_not_show_is_left_out),
		TEST(lines_are_found_by_each_word),
		TEST(lines_that_are_not_there_are_not_known),
		TEST(the_registers_of_the_evaluation_are_newer_than_the_innermost_frame),
		TEST(registers_with_something_else_are_not_taken),
		TEST(a_context_whose_native_stack_does_not_run_is_not_taken),
		TEST(a_thread_may_have_no_context),
		TEST(a_thread_may_have_no_thread_local_storage_of_the_library),
		TEST(what_cannot_be_read_ends_the_walk),
		TEST(what_is_no_method_ends_the_walk),
		TEST(outer_frames_of_a_deep_stack_are_left_out),
		TEST(as_many_frames_as_are_kept_are_a_whole_stack),
		TEST(frames_without_an_end_end),
		TEST(codes_at_one_address_are_told_apart),
		TEST(methods_at_one_address_are_told_apart),
		TEST(code_says_its_label_and_path),
		TEST(of_a_path_and_a_real_path_the_first_one_is_said),
		TEST(a_method_in_c_has_the_name_of_its_symbol_and_no_file),
		TEST(an_operator_is_numbered_as_its_token),
		TEST(of_long_names_the_start_is_read),
		TEST(names_that_cannot_be_read_are_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
