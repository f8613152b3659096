/* What signal handlers return to where nothing marks a signal frame: which code of a file is taken for it, and its rows. */
#include "unit.h"

#include <stdlib.h>

#include "table_fixture.h"
#include "unwind/x86_64/signal_return.h"

#define BEFORE (TEXT + 0x100) /* a function */
#define START  (TEXT + 0x200)

static const uint8_t mov_rax[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
static const uint8_t mov_eax[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
static const uint8_t endbr64_mov_eax[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};

struct scene {
	uint8_t *text;
	struct table_file file;
	struct unwind_table *table;
};

/* A file with a function of 0x80 bytes at BEFORE. */
static struct scene start_scene(void)
{
	struct scene scene = {.text = calloc(1, TEXT_SIZE), .file = table_file_of_text()};

	assert_non_null(scene.text);
	scene.file.text = scene.text;
	frame_writer_add_cie(&scene.file.eh_frame, &usual_cie);
	frame_writer_add_function(&scene.file.eh_frame, BEFORE, 0x80, CODE(ROW(2)));
	return scene;
}

static void put_code(struct scene *scene, uint64_t address, const void *code, size_t size)
{
	memcpy(scene->text + (address - TEXT), code, size);
}

static void build(struct scene *scene)
{
	scene->table = table_file_build(&scene->file);
}

static void end_scene(struct scene *scene)
{
	unwind_table_free(scene->table);
	table_file_release(&scene->file);
	free(scene->text);
}

/* op and cfa_offset of the rule at the address; UNWIND_CFA_NONE: there is none. */
static void assert_rule(const struct scene *scene, uint64_t address, uint8_t op, int offset)
{
	struct unwind_rule rule = {0};

	if (unwind_table_find(scene->table, address, &rule))
		assert_int_equal(rule.cfa_op, UNWIND_CFA_NONE); /* as it was */
	assert_int_equal(rule.cfa_op, op);
	assert_int_equal(rule.cfa_offset, offset);
}

static void assert_signal_frame(const struct scene *scene, uint64_t start, size_t size)
{
	assert_rule(scene, start - 1, UNWIND_CFA_SIGNAL, 1);
	/* Within the system call a thread is behind it. */
	for (size_t i = 0; i <= size; i++)
		assert_rule(scene, start + i, UNWIND_CFA_SIGNAL, 0);
}

/* ---- Nothing describes it ------------------------------------------------------------------ */

static void assert_found(const uint8_t *code, size_t size)
{
	struct scene scene = start_scene();

	put_code(&scene, START, code, size);
	build(&scene);
	assert_signal_frame(&scene, START, size);
	assert_rule(&scene, START - 2, UNWIND_CFA_NONE, 0);
	assert_rule(&scene, START + size + 1, UNWIND_CFA_NONE, 0);
	end_scene(&scene);
}

static void it_and_the_byte_before_are_a_signal_frame(_unused_ void **state)
{
	assert_found(mov_rax, sizeof(mov_rax));
	assert_found(mov_eax, sizeof(mov_eax));
}

static void it_may_start_with_a_mark_for_indirect_jumps(_unused_ void **state)
{
	assert_found(endbr64_mov_eax, sizeof(endbr64_mov_eax));
}

static void other_code_is_none(_unused_ void **state)
{
	for (size_t i = 0; i < sizeof(mov_rax); i++) {
		struct scene scene = start_scene();
		uint8_t code[sizeof(mov_rax)];

		memcpy(code, mov_rax, sizeof(code));
		code[i] ^= 0x10;
		put_code(&scene, START, code, sizeof(code));
		build(&scene);
		assert_rule(&scene, START, UNWIND_CFA_NONE, 0);
		assert_rule(&scene, START - 1, UNWIND_CFA_NONE, 0);
		end_scene(&scene);
	}
}

static void a_mov_to_r8_is_none(_unused_ void **state)
{
	static const uint8_t mov_r8d[] = {0x41, 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
	struct scene scene = start_scene();

	put_code(&scene, START, mov_r8d, sizeof(mov_r8d));
	build(&scene);
	assert_rule(&scene, START + 1, UNWIND_CFA_NONE, 0);
	end_scene(&scene);
}

static void it_may_be_the_first_that_the_table_has(_unused_ void **state)
{
	struct scene scene = start_scene();

	put_code(&scene, TEXT, mov_rax, sizeof(mov_rax));
	build(&scene);
	assert_rule(&scene, TEXT, UNWIND_CFA_SIGNAL, 0);
	end_scene(&scene);

	scene = start_scene();
	put_code(&scene, TEXT + 1, mov_rax, sizeof(mov_rax));
	build(&scene);
	assert_signal_frame(&scene, TEXT + 1, sizeof(mov_rax));
	end_scene(&scene);
}

static void two_may_be_a_byte_apart_or_adjacent(_unused_ void **state)
{
	for (size_t distance = 0; distance < 3; distance++) {
		struct scene scene = start_scene();
		uint64_t second = START + sizeof(mov_rax) + distance;

		put_code(&scene, START, mov_rax, sizeof(mov_rax));
		put_code(&scene, second, mov_rax, sizeof(mov_rax));
		build(&scene);
		assert_signal_frame(&scene, START, sizeof(mov_rax));
		for (size_t i = 0; i < sizeof(mov_rax); i++)
			assert_rule(&scene, second + i, UNWIND_CFA_SIGNAL, 0);
		if (distance > 1)
			assert_rule(&scene, second - 1, UNWIND_CFA_SIGNAL, 1);
		end_scene(&scene);
	}
}

/* Its address is the first that is not in the function; so it is between functions that lie close together. */
static void it_may_follow_a_function_directly(_unused_ void **state)
{
	static const uint8_t ret = 0xc3;
	struct scene scene = start_scene();
	uint64_t start = BEFORE + 0x80;

	put_code(&scene, start - 1, &ret, 1);
	put_code(&scene, start, mov_rax, sizeof(mov_rax));
	frame_writer_add_function(&scene.file.eh_frame, start + sizeof(mov_rax), 16, CODE(ROW(3)));
	build(&scene);
	assert_rule(&scene, start - 2, UNWIND_CFA_SP, 24);
	assert_signal_frame(&scene, start, sizeof(mov_rax) - 1);
	assert_rule(&scene, start + sizeof(mov_rax), UNWIND_CFA_SP, 32);
	end_scene(&scene);
}

/* GCC aligns behind a call that does not return, and that code is followed. */
static void it_may_follow_padding_that_code_seems_to_lead_to(_unused_ void **state)
{
	static const uint8_t code[] = {0x53, 0x48, 0x85, 0xff, 0x75, 0x02, 0x5b,
				       0xc3, 0xe8, 0,    0,    0,    0,    0x90};
	struct scene scene = start_scene();
	uint64_t start = START + sizeof(code);

	put_code(&scene, START, code, sizeof(code));
	put_code(&scene, start, mov_rax, sizeof(mov_rax));
	build(&scene);
	assert_signal_frame(&scene, start, sizeof(mov_rax));
	end_scene(&scene);
}

/* The end of its displacement and the padding look like the start of another call: ff 90. */
static void it_may_follow_padding_behind_a_call_backwards(_unused_ void **state)
{
	static const uint8_t code[] = {0xe8, 0xc8, 0xe0, 0xff, 0xff, 0x90};
	struct scene scene = start_scene();
	uint64_t start = BEFORE + 0x80;

	put_code(&scene, start - sizeof(code), code, sizeof(code));
	put_code(&scene, start, mov_rax, sizeof(mov_rax));
	build(&scene);
	assert_signal_frame(&scene, start, sizeof(mov_rax));
	end_scene(&scene);
}

static void indirect_calls_keep_their_rule_as_well(_unused_ void **state)
{
	static const struct {
		uint8_t size;
		uint8_t code[7];
	} calls[] = {
		{2, {0xff, 0xd0}},                      /* *%rax */
		{2, {0xff, 0x10}},                      /* *(%rax) */
		{3, {0xff, 0x50, 0x90}},                /* *-0x70(%rax) */
		{3, {0xff, 0x14, 0x90}},                /* *(%rax,%rdx,4) */
		{4, {0xff, 0x54, 0x90, 0x08}},          /* *8(%rax,%rdx,4) */
		{6, {0xff, 0x15, 0, 0, 0, 0x90}},       /* *(%rip) */
		{6, {0xff, 0x90, 0, 0, 0, 0x90}},       /* *(%rax) */
		{7, {0xff, 0x14, 0x25, 0, 0, 0, 0x90}}, /* at an address */
		{7, {0xff, 0x94, 0x90, 0, 0, 0, 0x90}}, /* *(%rax,%rdx,4) */
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct scene scene = start_scene();
		uint64_t start = BEFORE + 0x80;

		put_code(&scene, start - calls[i].size, calls[i].code, calls[i].size);
		put_code(&scene, start, mov_rax, sizeof(mov_rax));
		build(&scene);
		assert_rule(&scene, start - 1, UNWIND_CFA_SP, 24);
		end_scene(&scene);
	}
}

static void a_call_at_the_end_of_the_function_before_keeps_its_rule(_unused_ void **state)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};
	struct scene scene = start_scene();
	uint64_t start = BEFORE + 0x80;

	put_code(&scene, start - sizeof(call), call, sizeof(call));
	put_code(&scene, start, mov_rax, sizeof(mov_rax));
	build(&scene);
	assert_rule(&scene, start - 1, UNWIND_CFA_SP, 24);
	assert_rule(&scene, start, UNWIND_CFA_SIGNAL, 0);
	end_scene(&scene);
}

/* ---- A function is described there ---------------------------------------------------------- */

static void a_function_that_is_not_marked_may_be_it(_unused_ void **state)
{
	struct scene scene = start_scene();

	put_code(&scene, START, mov_eax, sizeof(mov_eax));
	frame_writer_add_function(&scene.file.eh_frame, START, sizeof(mov_eax) + 2, NO_CODE);
	build(&scene);
	assert_signal_frame(&scene, START, sizeof(mov_eax));
	assert_rule(&scene, START + sizeof(mov_eax) + 1, UNWIND_CFA_SP, 8);
	end_scene(&scene);
}

static void it_may_lie_inside_of_a_function(_unused_ void **state)
{
	static const uint8_t jmp[] = {0xeb, sizeof(mov_eax)};
	struct scene scene = start_scene();
	uint64_t start = BEFORE + 0x40;

	put_code(&scene, start - sizeof(jmp), jmp, sizeof(jmp));
	put_code(&scene, start, mov_eax, sizeof(mov_eax));
	build(&scene);
	assert_rule(&scene, start - 2, UNWIND_CFA_SP, 24);
	assert_signal_frame(&scene, start, sizeof(mov_eax));
	assert_rule(&scene, start + sizeof(mov_eax) + 1, UNWIND_CFA_SP, 24);
	end_scene(&scene);
}

static void it_may_lie_behind_the_entry_point(_unused_ void **state)
{
	static const uint8_t jmp[] = {0xeb, 0xfe};
	struct scene scene = start_scene();

	scene.file.entry = START;
	scene.file.type = ET_EXEC;
	put_code(&scene, START + 4, jmp, sizeof(jmp));
	put_code(&scene, START + 6, mov_rax, sizeof(mov_rax));
	build(&scene);
	assert_rule(&scene, START + 5, UNWIND_CFA_STOP, 0);
	assert_rule(&scene, START + 6, UNWIND_CFA_SIGNAL, 0);
	assert_rule(&scene, START + 6 + sizeof(mov_rax) + 2, UNWIND_CFA_NONE, 0);
	end_scene(&scene);
}

/* ---- The search ---------------------------------------------------------------------------- */

static void the_search_goes_on_behind_what_it_found(_unused_ void **state)
{
	uint8_t code[64] = {0};
	size_t start;
	size_t size;

	memcpy(code + 3, mov_eax, sizeof(mov_eax));
	memcpy(code + 64 - sizeof(mov_rax), mov_rax, sizeof(mov_rax));
	assert_true(signal_return_find(code, sizeof(code), 0, &start, &size));
	assert_int_equal(start, 3);
	assert_int_equal(size, sizeof(mov_eax));
	assert_true(signal_return_find(code, sizeof(code), start + size, &start, &size));
	assert_int_equal(start, 64 - sizeof(mov_rax));
	assert_int_equal(size, sizeof(mov_rax));
	assert_false(signal_return_find(code, sizeof(code), start + size, &start, &size));
	assert_false(signal_return_find(code, sizeof(code) - 1, 20, &start, &size));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_and_the_byte_before_are_a_signal_frame),
		cmocka_unit_test(it_may_start_with_a_mark_for_indirect_jumps),
		cmocka_unit_test(other_code_is_none),
		cmocka_unit_test(a_mov_to_r8_is_none),
		cmocka_unit_test(it_may_be_the_first_that_the_table_has),
		cmocka_unit_test(two_may_be_a_byte_apart_or_adjacent),
		cmocka_unit_test(it_may_follow_a_function_directly),
		cmocka_unit_test(it_may_follow_padding_that_code_seems_to_lead_to),
		cmocka_unit_test(it_may_follow_padding_behind_a_call_backwards),
		cmocka_unit_test(indirect_calls_keep_their_rule_as_well),
		cmocka_unit_test(a_call_at_the_end_of_the_function_before_keeps_its_rule),
		cmocka_unit_test(a_function_that_is_not_marked_may_be_it),
		cmocka_unit_test(it_may_lie_inside_of_a_function),
		cmocka_unit_test(it_may_lie_behind_the_entry_point),
		cmocka_unit_test(the_search_goes_on_behind_what_it_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
