/* The walk of Perl's frames in memory that is made here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

#define PERL_INLINE static inline
#include "runtime/perl_walk.h"

/* Memory of a process, and where things lie in it. */
#define MEMORY       0x7f0000000000ull
#define MEMORY_BYTES 0x60000
#define STATE        MEMORY /* PL_curinterp */
#define KEY          (MEMORY + 0x100)
#define THREAD       (MEMORY + 0x1000)
#define INTERPRETER  (MEMORY + 0x2000)
#define OTHER_ONE    (MEMORY + 0x3000) /* interpreter */
#define C_STACK      (MEMORY + 0x4000)
#define OPERATION    (MEMORY + 0x4100) /* on it */
#define STACKS       (MEMORY + 0x5000)
#define CONTEXTS     (MEMORY + 0x6000) /* of the first stack */
#define CONTEXTS_2   (MEMORY + 0x7000) /* of the second one */
#define STATEMENTS   (MEMORY + 0x8000)
#define CODES        (MEMORY + 0x9000)
#define GLOBS        (MEMORY + 0xb000)
#define PACKAGE      (MEMORY + 0xd000)
#define NAMES        (MEMORY + 0xe000)
#define TEXTS        (MEMORY + 0xf000)
#define MANY         (MEMORY + 0x10000)
#define BIT_BUCKET   0x40 /* nothing that can be read */

#define RUNS_STATEMENT 0xaaa0 /* what operations are run by */
#define RUNS_OTHERS    0xbbb0
#define RETURNS        0x500 /* there is an operation to go on with */

struct fake_process {
	struct perl_walk walk; /* first: what the walk hands to perl_read() */
	struct wire_runtime_frame frames[WIRE_MAX_RUNTIME_FRAMES];
	struct wire_script_function function;
	struct wire_perl_layout layout;
	unsigned int num_contexts[2]; /* of each stack */
	uint8_t memory[MEMORY_BYTES];
};

#include "fake_memory.h"
#include "read_string.h"

static int perl_read(struct perl_walk *walk, void *ret, wire_u32 bytes, wire_u64 address)
{
	return read_memory((const struct fake_process *)walk, ret, bytes, address);
}

DEFINE_READ_STRING(perl_read_string, perl_walk, perl_read)

static void put_text(struct fake_process *process, uint64_t address, const char *text)
{
	memcpy(process->memory + (address - MEMORY), text, strlen(text) + 1);
}

/* A name that is told from others by its hash. */
static uint64_t put_name(struct fake_process *process, unsigned int number, const char *text)
{
	uint64_t name = NAMES + number * 0x100;

	put_number(process, name + PERL_NAME_HASH, strlen(text) * 7919 + number, 4);
	put_number(process, name + PERL_NAME_LENGTH, strlen(text), 4);
	put_text(process, name + PERL_NAME_TEXT, text);
	return name;
}

/* The statement of a line, in a file of the text with the number. */
static uint64_t put_statement(struct fake_process *process, unsigned int line, unsigned int file)
{
	uint64_t statement = STATEMENTS + line * 0x40;

	put_word(process, statement + PERL_OPERATION_FUNCTION, RUNS_STATEMENT);
	put_number(process, statement + PERL_STATEMENT_LINE, line, 4);
	put_word(process, statement + PERL_STATEMENT_FILE, TEXTS + file * 0x100);
	return statement;
}

static uint64_t get_statement(unsigned int line)
{
	return STATEMENTS + line * 0x40;
}

static uint64_t get_code(unsigned int number)
{
	return CODES + number * 0x100;
}

static uint64_t get_glob(unsigned int number)
{
	return GLOBS + number * 0x200;
}

/* A subroutine that starts at a line, with a name of its number. */
static uint64_t put_code(struct fake_process *process, unsigned int number, unsigned int line)
{
	uint64_t code = get_code(number);
	uint64_t glob = get_glob(number);

	put_word(process, code + PERL_VALUE_BODY, code + 0x40);
	put_word(process, code + 0x40 + PERL_CODE_GLOB, glob);
	put_word(process, code + 0x40 + PERL_CODE_FIRST, get_statement(line));
	put_number(process, code + 0x40 + PERL_CODE_DEPTH, 1, 4);
	put_word(process, glob + PERL_VALUE_BODY, glob + 0x40);
	put_word(process, glob + 0x40 + PERL_GLOB_NAME, NAMES + number * 0x100);
	put_word(process, glob + 0x40 + PERL_GLOB_PACKAGE, PACKAGE);
	put_word(process, glob + PERL_VALUE_MORE, glob + 0x100);
	put_word(process, glob + 0x100 + PERL_CONTENT_ORIGIN, glob);
	return code;
}

/* Enter a context of the stack with the number, at a line. */
static uint64_t enter(struct fake_process *process, unsigned int stack, unsigned int type,
		      unsigned int line)
{
	unsigned int number = process->num_contexts[stack]++;
	uint64_t context = (stack ? CONTEXTS_2 : CONTEXTS) + number * PERL_CONTEXT_BYTES;

	put_number(process, context + PERL_CONTEXT_TYPE, type, 1);
	put_word(process, context + PERL_CONTEXT_STATEMENT, get_statement(line));
	put_word(process, context + PERL_CONTEXT_RETURN, RETURNS);
	put_number(process, STACKS + stack * 0x100 + PERL_STACK_INDEX, number, 4);
	return context;
}

static uint64_t enter_sub(struct fake_process *process, unsigned int stack, unsigned int code,
			  unsigned int line)
{
	uint64_t context = enter(process, stack, PERL_SUB, line);

	put_word(process, context + PERL_CONTEXT_CODE, get_code(code));
	return context;
}

/* As C calls it. */
static uint64_t enter_from_c(struct fake_process *process, unsigned int stack, unsigned int code,
			     unsigned int line)
{
	uint64_t context = enter_sub(process, stack, code, line);

	put_word(process, context + PERL_CONTEXT_RETURN, 0);
	return context;
}

static void use_stack(struct fake_process *process, unsigned int stack)
{
	put_word(process, INTERPRETER + process->layout.stack, STACKS + stack * 0x100);
}

static void run_line(struct fake_process *process, unsigned int line)
{
	put_word(process, INTERPRETER + process->layout.statement, get_statement(line));
}

static void run_operation(struct fake_process *process, uint64_t operation, uint64_t run_by)
{
	put_word(process, INTERPRETER + PERL_INTERPRETER_OPERATION, operation);
	put_word(process, operation + PERL_OPERATION_FUNCTION, run_by);
}

static void put_thread(struct fake_process *process)
{
	put_word(process, THREAD + GLIBC_THREAD_SELF, THREAD);
	put_word(process, THREAD + GLIBC_THREAD_SELF_TOO, THREAD);
	put_word(process, THREAD + GLIBC_THREAD_DATA + 3 * 16, 1);
	put_word(process, THREAD + GLIBC_THREAD_DATA + 3 * 16 + 8, INTERPRETER);
	put_word(process, STATE, INTERPRETER);
	put_number(process, KEY, 3, 4);
}

static int set_up(void **state)
{
	struct fake_process *process = calloc(1, sizeof(*process));

	assert_non_null(process);
	*state = process;
	process->layout = (struct wire_perl_layout){.key = KEY - STATE,
						    .statement = 208,
						    .stack = 224,
						    .phase = 2512,
						    .hash_names = 32};
	put_thread(process);
	put_text(process, TEXTS, "/srv/order.pl");
	put_text(process, TEXTS + 0x100, "(eval 1)");
	put_name(process, 0, "total");
	put_name(process, 1, "sum");
	put_name(process, 2, "Order");
	put_word(process, PACKAGE + PERL_VALUE_BODY, PACKAGE + 0x40);
	put_number(process, PACKAGE + PERL_VALUE_FLAGS, PERL_HASH_HAS_NAME, 4);
	put_word(process, PACKAGE + 0x40 + 32 + PERL_NAMES_NAME, NAMES + 2 * 0x100);
	for (unsigned int line = 1; line < 20; line++)
		put_statement(process, line, 0);
	put_code(process, 0, 1);
	put_code(process, 1, 2);
	for (unsigned int i = 0; i < 2; i++) {
		put_word(process, STACKS + i * 0x100 + PERL_STACK_CONTEXTS,
			 i ? CONTEXTS_2 : CONTEXTS);
		put_word(process, STACKS + i * 0x100 + PERL_STACK_PREVIOUS, i ? STACKS : 0);
		put_number(process, STACKS + i * 0x100 + PERL_STACK_INDEX, UINT32_MAX, 4);
		put_number(process, STACKS + i * 0x100 + PERL_STACK_TYPE, i ? 3 : PERL_STACK_MAIN,
			   4);
	}
	use_stack(process, 0);
	put_number(process, INTERPRETER + process->layout.phase, PERL_PHASE_RUN, 4);
	run_line(process, 10);
	run_operation(process, MEMORY + 0x3f00, RUNS_OTHERS);
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

	if (perl_walk_start(&process->walk, &process->layout, STATE, THREAD, C_STACK,
			    process->frames))
		return;
	do
		assert_true(++num_steps <= PERL_MAX_STEPS);
	while (!perl_walk_step(&process->walk, process->frames));
}

struct expected_frame {
	uint64_t code; /* 0: its file */
	uint32_t position;
};

static void expect(struct fake_process *process, const struct expected_frame *frames, size_t count)
{
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(process->frames[i].position, frames[i].position);
		if (frames[i].code)
			assert_int_equal(process->frames[i].code, frames[i].code);
	}
}
#define EXPECT(process, ...)                                          \
	expect(process, (const struct expected_frame[]){__VA_ARGS__}, \
	       sizeof((const struct expected_frame[]){__VA_ARGS__}) / \
		       sizeof(struct expected_frame))

#define CALLED   WIRE_RUNTIME_ENTRY_FRAME /* by C */
#define REPEATED (WIRE_RUNTIME_ENTRY_FRAME | WIRE_SCRIPT_MAY_WAIT)
#define NO_FRAME (WIRE_RUNTIME_ENTRY_FRAME | WIRE_SCRIPT_NO_FRAME)

static void the_program_is_the_outermost_frame(void **state)
{
	struct fake_process *process = *state;

	EXPECT(process, {TEXTS, 10 | CALLED});
	assert_int_not_equal(process->frames[0].fingerprint, 0);
}

static void frames_are_where_they_have_called(void **state)
{
	struct fake_process *process = *state;

	enter_sub(process, 0, 0, 5);
	enter(process, 0, 8, 6); /* a loop */
	enter_sub(process, 0, 1, 7);
	enter(process, 0, 2, 8); /* a block */
	EXPECT(process, {get_code(1), 10}, {get_code(0), 7}, {TEXTS, 5 | CALLED});
}

static void what_c_has_called_starts_a_stack_of_its_own(void **state)
{
	struct fake_process *process = *state;

	enter_sub(process, 0, 0, 5);
	enter_from_c(process, 1, 1, 7);
	use_stack(process, 1);
	EXPECT(process, {get_code(1), 10 | CALLED}, {get_code(0), 7}, {TEXTS, 5 | CALLED});
}

static void the_stack_of_the_program_is_the_last_one(void **state)
{
	struct fake_process *process = *state;

	put_word(process, STACKS + PERL_STACK_PREVIOUS, STACKS);
	EXPECT(process, {TEXTS, 10 | CALLED});
}

static void what_is_called_many_times_in_a_row_may_not_run(void **state)
{
	struct fake_process *process = *state;
	uint64_t context = enter_sub(process, 1, 1, 7);

	put_number(process, context + PERL_CONTEXT_TYPE, PERL_SUB | PERL_SUB_MULTICALL, 1);
	use_stack(process, 1);
	EXPECT(process, {get_code(1), 10 | REPEATED}, {TEXTS, 7 | CALLED});
}

/* Its last operation is followed by none, as that of what C calls. */
static void the_block_of_a_sort_has_no_frame_of_its_own(void **state)
{
	struct fake_process *process = *state;

	enter_sub(process, 0, 0, 5);
	enter(process, 1, PERL_SORT_BLOCK, 7);
	use_stack(process, 1);
	EXPECT(process, {0, NO_FRAME | WIRE_SCRIPT_MAY_WAIT}, {get_code(0), 10},
	       {TEXTS, 5 | CALLED});
	enter_from_c(process, 1, 1, 8);
	EXPECT(process, {get_code(1), 10}, {0, NO_FRAME | WIRE_SCRIPT_MAY_WAIT}, {get_code(0), 8},
	       {TEXTS, 5 | CALLED});
}

static void neither_has_code_in_a_regular_expression(void **state)
{
	struct fake_process *process = *state;
	uint64_t context = enter_sub(process, 1, 0, 7);

	put_number(process, context + PERL_CONTEXT_TYPE,
		   PERL_SUB | PERL_SUB_MULTICALL | PERL_SUB_REGEXP | PERL_SUB_FAKE, 1);
	use_stack(process, 1);
	EXPECT(process, {0, NO_FRAME | WIRE_SCRIPT_MAY_WAIT}, {TEXTS, 10 | CALLED});
	enter_from_c(process, 1, 1, 8);
	EXPECT(process, {get_code(1), 10}, {0, NO_FRAME | WIRE_SCRIPT_MAY_WAIT},
	       {TEXTS, 8 | CALLED});
	/* A regular expression that is quoted has a subroutine. */
	put_number(process, context + PERL_CONTEXT_TYPE,
		   PERL_SUB | PERL_SUB_MULTICALL | PERL_SUB_REGEXP, 1);
	EXPECT(process, {get_code(1), 10}, {get_code(0), 8 | REPEATED}, {TEXTS, 7 | CALLED});
}

static void neither_has_what_is_deferred(void **state)
{
	struct fake_process *process = *state;

	enter(process, 0, PERL_DEFER, 7);
	EXPECT(process, {0, NO_FRAME}, {TEXTS, 10 | CALLED});
	enter_from_c(process, 0, 1, 8);
	EXPECT(process, {get_code(1), 10}, {0, NO_FRAME}, {TEXTS, 8 | CALLED});
}

static void evals_are_frames(void **state)
{
	struct fake_process *process = *state;
	uint64_t required;

	put_statement(process, 11, 1);
	put_statement(process, 12, 1);
	enter(process, 0, PERL_EVAL | PERL_EVAL_TEXT, 5);
	required = enter(process, 0, PERL_EVAL, 11);
	put_word(process, required + PERL_CONTEXT_FILE_NAME, 1);
	enter(process, 0, PERL_EVAL | PERL_EVAL_BLOCK, 12);
	enter(process, 0, PERL_EVAL | PERL_EVAL_TRY, 9);
	EXPECT(process, {TEXTS, 10}, {TEXTS + 0x100, 12}, {TEXTS + 0x100, 11}, {TEXTS, 5 | CALLED});
	assert_int_equal(process->walk.kinds[0], WIRE_SCRIPT_CODE_EVAL);
	assert_int_equal(process->walk.kinds[1], WIRE_SCRIPT_CODE_FILE);
	assert_int_equal(process->walk.kinds[2], WIRE_SCRIPT_CODE_EVAL);
	assert_int_equal(process->walk.kinds[3], WIRE_SCRIPT_CODE_FILE);
	assert_int_not_equal(process->frames[1].fingerprint, process->frames[2].fingerprint);
}

/* It is outside of what was called, and inside of the function in C. */
static void an_eval_that_c_has_made_is_in_the_same_call(void **state)
{
	struct fake_process *process = *state;
	uint64_t context = enter(process, 1, PERL_EVAL | PERL_EVAL_BLOCK, 7);

	put_word(process, context + PERL_CONTEXT_RETURN, 0);
	enter_from_c(process, 1, 1, 8);
	use_stack(process, 1);
	EXPECT(process, {get_code(1), 10}, {TEXTS, 8 | CALLED}, {TEXTS, 7 | CALLED});
}

static void text_that_c_evaluates_is_compiled_first(void **state)
{
	struct fake_process *process = *state;
	uint64_t context = enter(process, 0, PERL_EVAL | PERL_EVAL_TEXT, 7);

	put_word(process, context + PERL_CONTEXT_RETURN, 0);
	EXPECT(process, {TEXTS, 10 | CALLED}, {TEXTS, 7 | CALLED});
	run_operation(process, OPERATION, 0);
	EXPECT(process, {TEXTS, 10}, {TEXTS, 7 | CALLED});
	/* From 5.38 on, that is run as any operation is. */
	run_operation(process, OPERATION, RUNS_OTHERS);
	EXPECT(process, {TEXTS, 10 | CALLED}, {TEXTS, 7 | CALLED});
}

static void what_c_calls_in_c_has_no_frame(void **state)
{
	struct fake_process *process = *state;

	enter_sub(process, 0, 0, 5);
	run_operation(process, OPERATION, RUNS_OTHERS);
	EXPECT(process, {0, NO_FRAME | WIRE_SCRIPT_MAY_WAIT}, {get_code(0), 10},
	       {TEXTS, 5 | CALLED});
	run_operation(process, OPERATION, 0);
	EXPECT(process, {get_code(0), 10}, {TEXTS, 5 | CALLED});
	/* It is not on C's stack. */
	run_operation(process, MEMORY + 0x3f00, RUNS_OTHERS);
	EXPECT(process, {get_code(0), 10}, {TEXTS, 5 | CALLED});
}

static void after_the_last_operation_a_call_may_be_over(void **state)
{
	struct fake_process *process = *state;

	put_word(process, INTERPRETER + PERL_INTERPRETER_OPERATION, 0);
	EXPECT(process, {0, NO_FRAME | WIRE_SCRIPT_MAY_WAIT}, {TEXTS, 10 | CALLED});
	/* The program does not run. */
	put_number(process, INTERPRETER + process->layout.phase, 1, 4);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 0);
}

static void a_subroutine_that_c_calls_is_entered_before_it_runs(void **state)
{
	struct fake_process *process = *state;

	enter_from_c(process, 0, 1, 10);
	run_operation(process, OPERATION, 0);
	EXPECT(process, {get_code(1), 2}, {TEXTS, 10 | CALLED});
	run_operation(process, OPERATION, RUNS_OTHERS);
	EXPECT(process, {get_code(1), 2 | CALLED}, {TEXTS, 10 | CALLED});
	/* It has run, and calls something in C by what is in C. */
	run_line(process, 11);
	EXPECT(process, {0, NO_FRAME | WIRE_SCRIPT_MAY_WAIT}, {get_code(1), 11 | CALLED},
	       {TEXTS, 10 | CALLED});
	run_operation(process, OPERATION, 0);
	EXPECT(process, {get_code(1), 11 | CALLED}, {TEXTS, 10 | CALLED});
}

static void a_subroutine_that_has_not_started_is_where_it_starts(void **state)
{
	struct fake_process *process = *state;

	enter_sub(process, 0, 0, 5);
	enter_sub(process, 0, 1, 10);
	EXPECT(process, {get_code(1), 2}, {get_code(0), 10}, {TEXTS, 5 | CALLED});
	/* What it starts with need not be a statement. */
	put_word(process, get_statement(2) + PERL_OPERATION_FUNCTION, RUNS_OTHERS);
	EXPECT(process, {get_code(1), 0}, {get_code(0), 10}, {TEXTS, 5 | CALLED});
}

/* It is back from what was called there. */
static void one_that_has_called_itself_may_be_at_that_line(void **state)
{
	struct fake_process *process = *state;

	put_number(process, get_code(1) + 0x40 + PERL_CODE_DEPTH, 2, 4);
	enter_sub(process, 0, 1, 5);
	enter_sub(process, 0, 1, 10);
	EXPECT(process, {get_code(1), 10}, {get_code(1), 10}, {TEXTS, 5 | CALLED});
	enter_sub(process, 0, 0, 6);
	enter_sub(process, 0, 1, 10);
	EXPECT(process, {get_code(1), 2}, {get_code(0), 10}, {get_code(1), 6}, {get_code(1), 10},
	       {TEXTS, 5 | CALLED});
}

static void evals_that_have_not_started_are_none(void **state)
{
	struct fake_process *process = *state;

	enter(process, 0, PERL_EVAL | PERL_EVAL_TEXT, 10);
	EXPECT(process, {TEXTS, 10 | CALLED});
	enter(process, 0, PERL_EVAL | PERL_EVAL_BLOCK, 10);
	EXPECT(process, {TEXTS, 10}, {TEXTS, 10}, {TEXTS, 10 | CALLED});
}

static void a_subroutine_that_is_left_is_no_frame(void **state)
{
	struct fake_process *process = *state;
	uint64_t context = enter_sub(process, 0, 0, 5);

	put_word(process, context + PERL_CONTEXT_CODE, 0);
	EXPECT(process, {TEXTS, 5 | CALLED});
	put_word(process, context + PERL_CONTEXT_RETURN, 0);
	EXPECT(process, {0, NO_FRAME}, {TEXTS, 5 | CALLED});
}

/* While it is compiled, C calls what is to be run then; and so it does at its end. */
static void a_program_that_does_not_run_has_called_nothing(void **state)
{
	struct fake_process *process = *state;
	uint64_t context = enter(process, 1, PERL_EVAL | PERL_EVAL_BLOCK, 7);

	put_word(process, context + PERL_CONTEXT_RETURN, 0);
	enter_from_c(process, 1, 1, 8);
	use_stack(process, 1);
	put_number(process, INTERPRETER + process->layout.phase, 1, 4);
	EXPECT(process, {get_code(1), 10}, {TEXTS, 8}, {TEXTS, 7 | CALLED});
	put_number(process, INTERPRETER + process->layout.phase, PERL_PHASE_END, 4);
	EXPECT(process, {get_code(1), 10}, {TEXTS, 8}, {CONTEXTS, 0 | CALLED});
	use_stack(process, 0);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 0);
}

static void another_thread_has_no_program(void **state)
{
	struct fake_process *process = *state;

	put_word(process, STATE, OTHER_ONE);
	enter_from_c(process, 0, 1, 7);
	EXPECT(process, {get_code(1), 10 | CALLED});
}

static void a_thread_without_an_interpreter_has_no_frames(void **state)
{
	struct fake_process *process = *state;
	const struct {
		uint64_t address;
		uint64_t value;
	} changes[] = {
		{STATE, 0},
		{KEY, GLIBC_THREAD_KEYS},
		{THREAD + GLIBC_THREAD_DATA + 3 * 16, 2},
		{THREAD + GLIBC_THREAD_DATA + 3 * 16 + 8, 0},
		/* Of another C library. */
		{THREAD + GLIBC_THREAD_SELF, THREAD + 8},
		{THREAD + GLIBC_THREAD_SELF_TOO, 0},
		{THREAD + GLIBC_THREAD_SEVERAL, THREAD},
		{INTERPRETER + 224, 0},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(changes); i++) {
		uint64_t before;

		memcpy(&before, process->memory + (changes[i].address - MEMORY), sizeof(before));
		put_word(process, changes[i].address, changes[i].value);
		walk(process);
		assert_int_equal(process->walk.end, WIRE_RUNTIME_NO_THREAD);
		assert_int_equal(process->walk.num_frames, 0);
		put_word(process, changes[i].address, before);
	}
}

static void what_cannot_be_read_ends_the_walk(void **state)
{
	struct fake_process *process = *state;
	uint64_t context = enter_sub(process, 0, 0, 5);

	put_word(process, context + PERL_CONTEXT_CODE, BIT_BUCKET);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	put_word(process, STACKS + PERL_STACK_CONTEXTS, BIT_BUCKET);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	put_number(process, STACKS + PERL_STACK_INDEX, 1u << 30, 4);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	put_word(process, THREAD + GLIBC_THREAD_DATA + 3 * 16 + 8, BIT_BUCKET);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	assert_int_equal(process->walk.num_frames, 0);
}

static void a_statement_that_cannot_be_read_has_no_line(void **state)
{
	struct fake_process *process = *state;

	put_word(process, get_statement(10) + PERL_STATEMENT_FILE, BIT_BUCKET);
	EXPECT(process, {CONTEXTS, 10 | CALLED});
	put_number(process, get_statement(10) + PERL_STATEMENT_LINE, UINT32_MAX, 4);
	EXPECT(process, {CONTEXTS, 0 | CALLED});
	put_word(process, INTERPRETER + process->layout.statement, BIT_BUCKET);
	EXPECT(process, {CONTEXTS, 0 | CALLED});
}

static void outer_frames_of_a_deep_stack_are_left_out(void **state)
{
	struct fake_process *process = *state;
	const unsigned int num_contexts = WIRE_MAX_RUNTIME_FRAMES + 10;

	for (unsigned int i = 0; i < num_contexts; i++) {
		put_number(process, MANY + i * PERL_CONTEXT_BYTES + PERL_CONTEXT_TYPE, PERL_SUB, 1);
		put_word(process, MANY + i * PERL_CONTEXT_BYTES + PERL_CONTEXT_RETURN, RETURNS);
		put_word(process, MANY + i * PERL_CONTEXT_BYTES + PERL_CONTEXT_CODE, get_code(0));
	}
	put_word(process, STACKS + PERL_STACK_CONTEXTS, MANY);
	put_number(process, STACKS + PERL_STACK_INDEX, num_contexts - 1, 4);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_DEEP);
	assert_int_equal(process->walk.num_frames, WIRE_MAX_RUNTIME_FRAMES);
}

static void stacks_in_a_circle_end(void **state)
{
	struct fake_process *process = *state;

	put_word(process, STACKS + 0x100 + PERL_STACK_PREVIOUS, STACKS + 0x100);
	use_stack(process, 1);
	walk(process);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_DEEP);
}

static uint32_t get_fingerprint(struct fake_process *process)
{
	walk(process);
	assert_int_equal(process->walk.num_frames, 2);
	return process->frames[0].fingerprint;
}

/* What was at an address is freed, and another one comes there. */
static void subroutines_at_one_address_are_told_apart(void **state)
{
	struct fake_process *process = *state;
	uint32_t fingerprints[8];

	enter_sub(process, 0, 0, 5);
	fingerprints[0] = get_fingerprint(process);
	put_name(process, 0, "other");
	put_number(process, NAMES + PERL_NAME_HASH, 1, 4);
	fingerprints[1] = get_fingerprint(process);
	put_word(process, get_glob(0) + 0x40 + PERL_GLOB_NAME, NAMES + 0x100);
	fingerprints[2] = get_fingerprint(process);
	put_word(process, get_glob(0) + 0x40 + PERL_GLOB_PACKAGE, 0);
	fingerprints[3] = get_fingerprint(process);
	put_text(process, TEXTS, "(eval 1)");
	fingerprints[4] = get_fingerprint(process);
	put_text(process, TEXTS, "(eval 2)");
	fingerprints[5] = get_fingerprint(process);
	put_text(process, TEXTS, "/usr/share/perl5/one/Common.pm");
	fingerprints[6] = get_fingerprint(process);
	put_text(process, TEXTS, "/usr/share/perl5/two/Common.pm");
	fingerprints[7] = get_fingerprint(process);
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

static const struct wire_script_function *read_names(struct fake_process *process)
{
	walk(process);
	assert_true(process->walk.num_frames > 0);
	perl_read_function_names(&process->walk, 0, &process->frames[0], &process->function);
	assert_int_equal(process->function.code, process->frames[0].code);
	assert_int_equal(process->function.fingerprint, process->frames[0].fingerprint);
	assert_int_equal(process->function.runtime, WIRE_RUNTIME_PERL);
	return &process->function;
}

static void a_subroutine_says_its_names(void **state)
{
	struct fake_process *process = *state;
	const struct wire_script_function *function;

	enter_sub(process, 0, 0, 5);
	function = read_names(process);
	assert_int_equal(function->code_kind, WIRE_SCRIPT_CODE_FUNCTION);
	assert_text(&function->class_name, function->class_text, "Order");
	assert_text(&function->name, function->name_text, "total");
	assert_text(&function->file, function->file_text, "/srv/order.pl");
}

static void one_without_a_glob_has_its_name_itself(void **state)
{
	struct fake_process *process = *state;
	uint64_t body = get_code(0) + 0x40;
	const struct wire_script_function *function;

	enter_sub(process, 0, 0, 5);
	put_word(process, body + PERL_CODE_GLOB, NAMES + 0x100);
	put_word(process, body + PERL_CODE_PACKAGE, PACKAGE);
	put_number(process, body + PERL_CODE_FLAGS, PERL_CODE_HAS_NAME, 4);
	function = read_names(process);
	assert_text(&function->class_name, function->class_text, "Order");
	assert_text(&function->name, function->name_text, "sum");
	/* `my sub` is in no package. */
	put_number(process, body + PERL_CODE_FLAGS, PERL_CODE_HAS_NAME | PERL_CODE_LEXICAL, 4);
	function = read_names(process);
	assert_int_equal(function->class_name.num_bytes, 0);
	assert_text(&function->name, function->name_text, "sum");
}

static void a_glob_may_have_been_made_for_another_name(void **state)
{
	struct fake_process *process = *state;
	const struct wire_script_function *function;

	enter_sub(process, 0, 0, 5);
	put_word(process, get_glob(0) + 0x100 + PERL_CONTENT_ORIGIN, get_glob(1));
	function = read_names(process);
	assert_text(&function->name, function->name_text, "sum");
	put_word(process, get_glob(0) + PERL_VALUE_MORE, 0);
	function = read_names(process);
	assert_text(&function->name, function->name_text, "total");
}

static void a_package_may_have_several_names(void **state)
{
	struct fake_process *process = *state;
	const struct wire_script_function *function;

	enter_sub(process, 0, 0, 5);
	put_word(process, PACKAGE + 0x40 + 32 + PERL_NAMES_NAME, PACKAGE + 0x200);
	put_number(process, PACKAGE + 0x40 + 32 + PERL_NAMES_COUNT, UINT32_MAX, 4);
	put_word(process, PACKAGE + 0x200, NAMES + 2 * 0x100);
	function = read_names(process);
	assert_text(&function->class_name, function->class_text, "Order");
	put_number(process, PACKAGE + PERL_VALUE_FLAGS, 0, 4);
	function = read_names(process);
	assert_int_equal(function->class_name.num_bytes, 0);
}

/* Up to 5.34. */
static void names_of_a_package_may_be_behind_its_buckets(void **state)
{
	struct fake_process *process = *state;
	const struct wire_script_function *function;

	process->layout.hash_names = 0;
	enter_sub(process, 0, 0, 5);
	put_word(process, PACKAGE + 0x40 + PERL_BUCKETS_LAST, 7);
	put_word(process, PACKAGE + PERL_VALUE_MORE, PACKAGE + 0x300);
	put_word(process, PACKAGE + 0x300 + 8 * 8 + PERL_NAMES_NAME, NAMES + 2 * 0x100);
	function = read_names(process);
	assert_text(&function->class_name, function->class_text, "Order");
}

static void evals_have_no_names(void **state)
{
	struct fake_process *process = *state;
	const struct wire_script_function *function;

	put_statement(process, 10, 1);
	enter(process, 0, PERL_EVAL | PERL_EVAL_TEXT, 5);
	function = read_names(process);
	assert_int_equal(function->code_kind, WIRE_SCRIPT_CODE_EVAL);
	assert_int_equal(function->name.num_bytes, 0);
	assert_text(&function->file, function->file_text, "(eval 1)");
}

static void of_long_names_the_start_is_read(void **state)
{
	struct fake_process *process = *state;
	const struct wire_script_function *function;
	char file[WIRE_SCRIPT_FILE_BYTES + 2];

	memset(file, 'f', sizeof(file));
	file[sizeof(file) - 1] = '\0';
	put_text(process, TEXTS, file);
	put_number(process, NAMES + PERL_NAME_LENGTH, WIRE_SCRIPT_NAME_BYTES + 1, 4);
	enter_sub(process, 0, 0, 5);
	function = read_names(process);
	assert_int_equal(function->name.length, WIRE_SCRIPT_NAME_BYTES + 1);
	assert_int_equal(function->name.num_bytes, WIRE_SCRIPT_NAME_BYTES);
	assert_int_equal(function->file.length, WIRE_SCRIPT_FILE_BYTES);
	assert_int_equal(function->file.num_bytes, WIRE_SCRIPT_FILE_BYTES - 1);
}

static void names_that_cannot_be_read_are_empty(void **state)
{
	struct fake_process *process = *state;
	const struct wire_script_function *function;

	put_word(process, get_glob(0) + 0x40 + PERL_GLOB_NAME, BIT_BUCKET);
	put_word(process, get_glob(0) + 0x40 + PERL_GLOB_PACKAGE, BIT_BUCKET);
	enter_sub(process, 0, 0, 5);
	function = read_names(process);
	assert_int_equal(function->name.num_bytes, 0);
	assert_int_equal(function->class_name.num_bytes, 0);
	put_word(process, get_code(0) + 0x40 + PERL_CODE_GLOB, 0);
	function = read_names(process);
	assert_int_equal(function->name.num_bytes, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_program_is_the_outermost_frame),
		TEST(frames_are_where_they_have_called),
		TEST(what_c_has_called_starts_a_stack_of_its_own),
		TEST(the_stack_of_the_program_is_the_last_one),
		TEST(what_is_called_many_times_in_a_row_may_not_run),
		TEST(the_block_of_a_sort_has_no_frame_of_its_own),
		TEST(neither_has_code_in_a_regular_expression),
		TEST(neither_has_what_is_deferred),
		TEST(evals_are_frames),
		TEST(an_eval_that_c_has_made_is_in_the_same_call),
		TEST(text_that_c_evaluates_is_compiled_first),
		TEST(what_c_calls_in_c_has_no_frame),
		TEST(after_the_last_operation_a_call_may_be_over),
		TEST(a_subroutine_that_c_calls_is_entered_before_it_runs),
		TEST(a_subroutine_that_has_not_started_is_where_it_starts),
		TEST(one_that_has_called_itself_may_be_at_that_line),
		TEST(evals_that_have_not_started_are_none),
		TEST(a_subroutine_that_is_left_is_no_frame),
		TEST(a_program_that_does_not_run_has_called_nothing),
		TEST(another_thread_has_no_program),
		TEST(a_thread_without_an_interpreter_has_no_frames),
		TEST(what_cannot_be_read_ends_the_walk),
		TEST(a_statement_that_cannot_be_read_has_no_line),
		TEST(outer_frames_of_a_deep_stack_are_left_out),
		TEST(stacks_in_a_circle_end),
		TEST(subroutines_at_one_address_are_told_apart),
		TEST(a_subroutine_says_its_names),
		TEST(one_without_a_glob_has_its_name_itself),
		TEST(a_glob_may_have_been_made_for_another_name),
		TEST(a_package_may_have_several_names),
		TEST(names_of_a_package_may_be_behind_its_buckets),
		TEST(evals_have_no_names),
		TEST(of_long_names_the_start_is_read),
		TEST(names_that_cannot_be_read_are_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
