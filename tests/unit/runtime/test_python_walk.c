#include "runtime/python/layouts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define PYTHON_INLINE static inline
#include "runtime/python_walk.h"

/* Memory of a process, and where things lie in it. */
#define MEMORY       0x7f0000000000ull
#define MEMORY_BYTES 0x20000
#define RUNTIME      MEMORY
#define INTERPRETER  (MEMORY + 0x1000)
#define OTHER        (MEMORY + 0x2000)
#define THREAD       (MEMORY + 0x3000)
#define OTHER_THREAD (MEMORY + 0x3800)
#define CFRAME       (MEMORY + 0x4000)
#define FRAME        (MEMORY + 0x5000)
#define CODE         (MEMORY + 0x6000)
#define NAME         (MEMORY + 0x7000)
#define FILE_NAME    (MEMORY + 0x8000)
#define LINES        (MEMORY + 0x9000)
#define MANY_FRAMES  (MEMORY + 0x10000)
#define FRAME_SPACE  0x50
#define NOWHERE      0x10
#define POINTER      0x7fff12340000ull /* of the thread */

struct fake_process {
	struct python_walk walk; /* first: what the walk hands to python_read() */
	struct wire_runtime_frame frames[WIRE_MAX_RUNTIME_FRAMES];
	struct wire_python_code code;
	struct wire_python_layout layout;
	uint8_t memory[MEMORY_BYTES];
	uint64_t hole; /* the page that cannot be read; 0: none */
	unsigned int num_reads;
	unsigned int num_steps;
};

#include "fake_memory.h"

static int python_read(struct python_walk *walk, void *ret, wire_u32 bytes, wire_u64 address)
{
	struct fake_process *process = (struct fake_process *)walk;

	process->num_reads++;
	if (address < process->hole + PYTHON_PAGE_BYTES && address + bytes > process->hole)
		return -1;
	return read_memory(process, ret, bytes, address);
}

/* A frame that runs the code object at CODE; owner is what the version's byte of it is. */
static void put_frame(struct fake_process *process, uint64_t frame, uint64_t previous,
		      uint64_t instruction, uint8_t owner)
{
	const struct wire_python_layout *layout = &process->layout;

	put_word(process, frame + layout->frame_code, CODE);
	put_word(process, frame + layout->frame_previous, previous);
	put_word(process, frame + layout->frame_instruction,
		 instruction + (layout->instruction == WIRE_PYTHON_POINTER
					? CODE + layout->code_instructions
					: 0));
	if (layout->frame_run != WIRE_PYTHON_NONE)
		put_number(process, frame + layout->frame_run, owner, 1);
}

static void put_text(struct fake_process *process, uint64_t text, uint64_t length, uint32_t kind,
		     bool is_compact, bool is_ascii)
{
	const struct wire_python_layout *layout = &process->layout;

	put_word(process, text + layout->text_length, length);
	put_number(process, text + layout->text_state,
		   kind << layout->text_kind_shift |
			   (uint32_t)is_compact << (layout->text_ascii_shift - 1) |
			   (uint32_t)is_ascii << layout->text_ascii_shift,
		   4);
}

/* One interpreter, one thread, one frame. */
static struct fake_process *fake_process_new(unsigned int minor)
{
	struct fake_process *process = calloc(1, sizeof(*process));
	const struct wire_python_layout *layout;
	uint64_t code_bytes;

	assert_non_null(process);
	assert_int_equal(python_layout_get(minor, &process->layout, &code_bytes), 0);
	layout = &process->layout;
	put_word(process, RUNTIME + layout->interpreters, INTERPRETER);
	put_word(process, RUNTIME + layout->interpreters + 8, INTERPRETER); /* the main one */
	put_word(process, INTERPRETER + layout->interpreter_threads, THREAD);
	put_word(process, THREAD + layout->thread_id, POINTER);
	if (layout->cframe_frame == WIRE_PYTHON_NONE) {
		put_word(process, THREAD + layout->thread_frame, FRAME);
	} else {
		put_word(process, THREAD + layout->thread_frame, CFRAME);
		put_word(process, CFRAME + layout->cframe_frame, FRAME);
	}
	put_frame(process, FRAME, 0, 6, 0);
	put_number(process, CODE + layout->code_first_line, 7, 4);
	put_word(process, CODE + layout->code_name, NAME);
	put_word(process, CODE + layout->code_file, FILE_NAME);
	put_word(process, CODE + layout->code_lines, LINES);
	put_text(process, NAME, 3, 1, true, true);
	put_text(process, FILE_NAME, 3, 1, true, true);
	memcpy(process->memory + (NAME + layout->ascii_text - MEMORY), "sit", 3);
	memcpy(process->memory + (FILE_NAME + layout->ascii_text - MEMORY), "f.x", 3);
	return process;
}

static void walk(struct fake_process *process, uint64_t thread_state)
{
	process->num_steps = 0;
	if (python_walk_start(&process->walk, &process->layout, RUNTIME, POINTER, thread_state))
		return;
	do
		assert_true(++process->num_steps <= PYTHON_MAX_STEPS);
	while (!python_walk_step(&process->walk, process->frames));
}

static void a_frame_has_its_code_and_instruction(void **state)
{
	static const struct {
		unsigned int minor;
		uint32_t instruction;
	} expected[] = {{8, 6}, {9, 6}, {10, 12}, {11, 6}, {12, 6}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		struct fake_process *process = fake_process_new(expected[i].minor);

		walk(process, 0);
		assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
		assert_int_equal(process->walk.num_frames, 1);
		assert_int_equal(process->walk.thread_state, THREAD);
		assert_int_equal(process->frames[0].code, CODE);
		assert_int_equal(process->frames[0].position & ~WIRE_RUNTIME_ENTRY_FRAME,
				 expected[i].instruction);
		free(process);
	}
}

static void a_frame_that_has_not_started_says_so(void **state)
{
	static const struct {
		unsigned int minor;
		uint64_t instruction;
	} inputs[] = {
		{8, 0xffffffff}, {10, 0xffffffff}, {11, -2ull}, {12, -2ull}, {12, 1ull << 40}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(inputs); i++) {
		struct fake_process *process = fake_process_new(inputs[i].minor);

		put_frame(process, FRAME, 0, inputs[i].instruction, 0);
		walk(process, 0);
		assert_int_equal(process->walk.num_frames, 1);
		assert_int_equal(process->frames[0].position & ~WIRE_RUNTIME_ENTRY_FRAME,
				 WIRE_PYTHON_NOT_STARTED);
		free(process);
	}
}

/* Entry, inner to outer: frame, frame, run, run, frame, run. */
static void a_run_starts_with_the_frame_that_the_c_function_called(void **state)
{
	static const uint8_t owners[] = {0, 1, 3, 4, 2, 3};
	static const bool expected[] = {false, true, true};
	struct fake_process *process = fake_process_new(12);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(owners); i++)
		put_frame(process, FRAME + 0x100 * i,
			  i + 1 < ARRAY_LENGTH(owners) ? FRAME + 0x100 * (i + 1) : 0, 6, owners[i]);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, ARRAY_LENGTH(expected));
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
		assert_int_equal(!!(process->frames[i].position & WIRE_RUNTIME_ENTRY_FRAME),
				 expected[i]);
	free(process);
}

static void tags_are_no_part_of_an_address(void **state)
{
	struct fake_process *process = fake_process_new(12);

	(void)state;
	process->layout.code_tag_bits = 3;
	put_word(process, FRAME + process->layout.frame_code, CODE | 1);
	walk(process, 0);
	assert_int_equal(process->frames[0].code, CODE);
	assert_int_equal(process->frames[0].position, 6);
	free(process);
}

static void a_code_object_that_cannot_be_read_has_no_cookie(void **state)
{
	struct fake_process *process = fake_process_new(9);

	(void)state;
	walk(process, 0);
	assert_int_not_equal(process->frames[0].fingerprint, 0);
	put_word(process, FRAME + process->layout.frame_code, NOWHERE);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->frames[0].code, NOWHERE);
	assert_int_equal(process->frames[0].fingerprint, 0);
	assert_int_not_equal(python_read_code(&process->walk, NOWHERE, &process->code), 0);
	assert_int_equal(process->code.fingerprint, 0);
	free(process);
}

static void another_code_object_has_another_cookie(void **state)
{
	static const size_t fields[] = {
		offsetof(struct wire_python_layout, code_first_line),
		offsetof(struct wire_python_layout, code_name),
		offsetof(struct wire_python_layout, code_file),
		offsetof(struct wire_python_layout, code_lines),
	};
	struct fake_process *process = fake_process_new(12);
	uint32_t fingerprint;

	(void)state;
	walk(process, 0);
	fingerprint = process->frames[0].fingerprint;
	for (size_t i = 0; i < ARRAY_LENGTH(fields); i++) {
		uint16_t offset;
		uint8_t *byte;

		memcpy(&offset, (const char *)&process->layout + fields[i], sizeof(offset));
		byte = process->memory + (CODE + offset - MEMORY) + 1;
		*byte ^= 1;
		walk(process, 0);
		assert_int_not_equal(process->frames[0].fingerprint, fingerprint);
		*byte ^= 1;
	}
	free(process);
}

static void the_interpreters_own_frame_is_hidden(void **state)
{
	struct fake_process *process = fake_process_new(12);

	(void)state;
	put_word(process, CODE + process->layout.code_file, NAME);
	walk(process, 0); /* a file may be called as a function is */
	assert_int_equal(process->walk.num_frames, 1);
	put_number(process, CODE + process->layout.code_first_line, 0, 4);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 0);
	free(process);
}

static void what_cannot_be_read_ends_the_walk(void **state)
{
	struct fake_process *process = fake_process_new(12);

	(void)state;
	put_frame(process, FRAME, NOWHERE, 6, 0);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	assert_int_equal(process->walk.num_frames, 1);

	put_word(process, CFRAME + process->layout.cframe_frame, NOWHERE);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	put_word(process, THREAD + process->layout.thread_frame, NOWHERE);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	put_word(process, INTERPRETER + process->layout.interpreter_threads, NOWHERE);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	put_word(process, RUNTIME + process->layout.interpreters, NOWHERE);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	assert_int_equal(process->walk.num_frames, 0);
	free(process);
}

static void before_its_initialization_no_thread_is_there(void **state)
{
	struct fake_process *process = fake_process_new(12);

	(void)state;
	put_word(process, RUNTIME + process->layout.interpreters, 0);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_NO_THREAD);
	free(process);
}

static void a_thread_between_two_calls_has_no_frames(void **state)
{
	struct fake_process *process = fake_process_new(12);

	(void)state;
	put_word(process, CFRAME + process->layout.cframe_frame, 0);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 0);
	assert_int_equal(process->walk.thread_state, THREAD);
	free(process);
}

/* As after PyGILState_Release() and _Ensure(): what was freed still says whose it was. */
static void a_remembered_state_without_frames_is_looked_for_again(void **state)
{
	struct fake_process *process = fake_process_new(9);

	(void)state;
	put_word(process, OTHER_THREAD + process->layout.thread_id, POINTER);
	walk(process, OTHER_THREAD);
	assert_int_equal(process->walk.thread_state, THREAD);
	assert_int_equal(process->walk.num_frames, 1);
	free(process);
}

/* Of no version is the thread's id so far from its frame that they are not read together. */
static void a_remembered_state_whose_fields_lie_apart_is_looked_for_again(void **state)
{
	struct fake_process *process = fake_process_new(12);
	struct wire_python_layout *layout = &process->layout;

	(void)state;
	layout->thread_id = (wire_u16)(layout->thread_frame + WIRE_PYTHON_OBJECT_BYTES);
	put_word(process, THREAD + layout->thread_id, POINTER);
	walk(process, THREAD);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 1);
	assert_int_equal(process->walk.num_looks, 1);

	layout->thread_id = (wire_u16)(layout->thread_frame + WIRE_PYTHON_OBJECT_BYTES - 8);
	put_word(process, THREAD + layout->thread_id, POINTER);
	walk(process, THREAD);
	assert_int_equal(process->walk.num_frames, 1);
	assert_int_equal(process->walk.num_looks, 0);
	free(process);
}

static void frames_of_two_interpreters_are_the_newer_ones_first(void **state)
{
	struct fake_process *process = fake_process_new(9);
	const struct wire_python_layout *layout = &process->layout;
	uint64_t frame = FRAME + 0x100;

	(void)state;
	put_word(process, RUNTIME + layout->interpreters, OTHER);
	put_word(process, OTHER + layout->interpreter_next, INTERPRETER);
	put_word(process, OTHER + layout->interpreter_threads, OTHER_THREAD);
	put_word(process, OTHER_THREAD + layout->thread_id, POINTER);
	put_word(process, OTHER_THREAD + layout->thread_frame, frame);
	put_frame(process, frame, 0, 8, 0);
	walk(process, THREAD); /* what is remembered is not all */
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, 2);
	assert_int_equal(process->frames[0].position, 8 | WIRE_RUNTIME_ENTRY_FRAME);
	assert_int_equal(process->frames[1].position, 6 | WIRE_RUNTIME_ENTRY_FRAME);
	free(process);
}

static void a_circle_of_frames_is_deep(void **state)
{
	struct fake_process *process = fake_process_new(12);

	(void)state;
	put_frame(process, FRAME, FRAME, 6, 0);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_DEEP);
	assert_int_equal(process->walk.num_frames, WIRE_MAX_RUNTIME_FRAMES);

	put_frame(process, FRAME, FRAME, 6, 3); /* of which none is one of Python */
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_DEEP);
	assert_int_equal(process->walk.num_frames, 0);
	free(process);
}

static void put_many_frames(struct fake_process *process, size_t num_frames)
{
	put_word(process, CFRAME + process->layout.cframe_frame, MANY_FRAMES);
	for (size_t i = 0; i < num_frames; i++)
		put_frame(process, MANY_FRAMES + FRAME_SPACE * i,
			  MANY_FRAMES + FRAME_SPACE * (i + 1), 6, 0);
	put_frame(process, MANY_FRAMES + FRAME_SPACE * num_frames, 0, 6, 3);
}

/* Innermost first, each below the last one, as callers lie; the last one starts where the pages do that can be read. */
static void callers_are_read_with_a_frame(void **state)
{
	static const unsigned int minors[] = {11, 12};
	const size_t num_frames = 20;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(minors); i++) {
		struct fake_process *process = fake_process_new(minors[i]);

		process->hole = MANY_FRAMES - PYTHON_PAGE_BYTES;
		put_word(process, CFRAME + process->layout.cframe_frame,
			 MANY_FRAMES + FRAME_SPACE * (num_frames - 1));
		for (size_t j = 0; j < num_frames; j++)
			put_frame(process, MANY_FRAMES + FRAME_SPACE * j,
				  j ? MANY_FRAMES + FRAME_SPACE * (j - 1) : 0, 2 * j, 0);
		walk(process, 0);
		assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
		assert_int_equal(process->walk.num_frames, num_frames);
		for (size_t j = 0; j < num_frames; j++) {
			assert_int_equal(process->frames[j].code, CODE);
			assert_int_equal(process->frames[j].position, 2 * (num_frames - 1 - j));
		}
		/* Each code object, and what leads to the frames. */
		assert_true(process->num_reads < num_frames + num_frames / 2);
		free(process);
	}
}

static void as_many_frames_as_are_kept_are_all(void **state)
{
	struct fake_process *process = fake_process_new(12);

	(void)state;
	put_many_frames(process, WIRE_MAX_RUNTIME_FRAMES);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(process->walk.num_frames, WIRE_MAX_RUNTIME_FRAMES);
	assert_int_equal(process->frames[WIRE_MAX_RUNTIME_FRAMES - 1].position,
			 6 | WIRE_RUNTIME_ENTRY_FRAME);

	put_many_frames(process, WIRE_MAX_RUNTIME_FRAMES + 1);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_DEEP);
	assert_int_equal(process->walk.num_frames, WIRE_MAX_RUNTIME_FRAMES);
	free(process);
}

static void circles_of_threads_and_interpreters_have_an_end(void **state)
{
	struct fake_process *process = fake_process_new(12);
	const struct wire_python_layout *layout = &process->layout;

	(void)state;
	put_word(process, THREAD + layout->thread_id, POINTER + 8);
	put_word(process, THREAD + layout->thread_next, THREAD);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_NO_THREAD);

	put_word(process, THREAD + layout->thread_next, 0);
	put_word(process, RUNTIME + layout->interpreters + 8, OTHER);
	put_word(process, INTERPRETER + layout->interpreter_next, INTERPRETER);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_NO_THREAD);

	/* The frames are found again and again, until there are too many. */
	put_word(process, THREAD + layout->thread_id, POINTER);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_DEEP);
	assert_int_equal(process->walk.num_frames, WIRE_MAX_RUNTIME_FRAMES);

	/* Without frames the search ends before it has seen all. */
	put_word(process, CFRAME + layout->cframe_frame, 0);
	walk(process, 0);
	assert_int_equal(process->walk.end, WIRE_RUNTIME_UNREADABLE);
	free(process);
}

static void read_code(struct fake_process *process)
{
	memset(&process->code, 0xff, sizeof(process->code));
	walk(process, 0);
	assert_int_equal(python_read_code(&process->walk, CODE, &process->code), 0);
}

static void lengths_are_bounded(void **state)
{
	static const uint64_t lengths[] = {1ull << 63, UINT64_MAX, 1ull << 62, 257, 1ull << 32};
	struct fake_process *process = fake_process_new(12);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		uint64_t length = lengths[i];

		for (uint32_t kind = 1; kind <= 4; kind *= 2) {
			put_text(process, NAME, length, kind, true, false);
			put_word(process, LINES + process->layout.bytes_length, length);
			read_code(process);
			assert_int_equal(process->code.name.num_bytes, WIRE_PYTHON_NAME_BYTES);
			assert_int_equal(process->code.name.length,
					 length > UINT32_MAX ? UINT32_MAX : length);
			assert_int_equal(process->code.num_line_bytes,
					 length == 257 ? 257 : WIRE_PYTHON_LINE_BYTES);
			assert_int_equal(process->code.line_bytes,
					 length > UINT32_MAX ? UINT32_MAX : length);
		}
	}
	free(process);
}

static void check_no_name(struct fake_process *process)
{
	read_code(process);
	assert_int_equal(process->code.name.kind, 0);
	assert_int_equal(process->code.name.num_bytes, 0);
	assert_int_equal(process->code.name.length, 0);
	for (size_t i = 0; i < WIRE_PYTHON_NAME_BYTES; i++)
		assert_int_equal(process->code.name_text[i], 0);
	assert_int_equal(process->code.file.num_bytes, 3);
	assert_memory_equal(process->code.file_text, "f.x\0", 4);
}

static void what_is_no_string_has_no_characters(void **state)
{
	struct fake_process *process = fake_process_new(12);

	(void)state;
	read_code(process);
	assert_int_equal(process->code.name.num_bytes, 3);
	assert_memory_equal(process->code.name_text, "sit\0", 4);
	for (uint32_t kind = 0; kind < 8; kind++) {
		if (kind == 1 || kind == 2 || kind == 4)
			continue;
		put_text(process, NAME, 3, kind, true, true);
		check_no_name(process);
	}
	put_text(process, NAME, 3, 1, false, true);
	check_no_name(process);
	put_text(process, NAME, 3, 1, true, true);
	put_word(process, CODE + process->layout.code_name, NOWHERE);
	check_no_name(process);
	put_word(process, CODE + process->layout.code_name, 0);
	check_no_name(process);
	/* Its end lies on a page that is not there. */
	put_text(process, MEMORY + MEMORY_BYTES - 64, 40, 1, true, true);
	put_word(process, CODE + process->layout.code_name, MEMORY + MEMORY_BYTES - 64);
	check_no_name(process);
	free(process);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_has_its_code_and_instruction),
		cmocka_unit_test(a_frame_that_has_not_started_says_so),
		cmocka_unit_test(a_run_starts_with_the_frame_that_the_c_function_called),
		cmocka_unit_test(tags_are_no_part_of_an_address),
		cmocka_unit_test(a_code_object_that_cannot_be_read_has_no_cookie),
		cmocka_unit_test(another_code_object_has_another_cookie),
		cmocka_unit_test(the_interpreters_own_frame_is_hidden),
		cmocka_unit_test(what_cannot_be_read_ends_the_walk),
		cmocka_unit_test(before_its_initialization_no_thread_is_there),
		cmocka_unit_test(a_thread_between_two_calls_has_no_frames),
		cmocka_unit_test(a_remembered_state_without_frames_is_looked_for_again),
		cmocka_unit_test(a_remembered_state_whose_fields_lie_apart_is_looked_for_again),
		cmocka_unit_test(frames_of_two_interpreters_are_the_newer_ones_first),
		cmocka_unit_test(a_circle_of_frames_is_deep),
		cmocka_unit_test(callers_are_read_with_a_frame),
		cmocka_unit_test(as_many_frames_as_are_kept_are_all),
		cmocka_unit_test(circles_of_threads_and_interpreters_have_an_end),
		cmocka_unit_test(lengths_are_bounded),
		cmocka_unit_test(what_is_no_string_has_no_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
