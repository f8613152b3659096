/* The part of a clone() function that only the new thread executes: which code is taken for it, and its rows. */
#include "unit.h"

#include <stdlib.h>

#include "table_fixture.h"
#include "unwind/x86_64/clone_child.h"

#define CLONE (TEXT + 0x200)

/* musl's __clone. */
static const uint8_t musl[] = {
	0x31, 0xc0,                   /* xor %eax,%eax */
	0xb0, 0x38,                   /* mov $56,%al */
	0x49, 0x89, 0xfb,             /* mov %rdi,%r11 */
	0x48, 0x89, 0xd7,             /* mov %rdx,%rdi */
	0x4c, 0x89, 0xc2,             /* mov %r8,%rdx */
	0x4d, 0x89, 0xc8,             /* mov %r9,%r8 */
	0x4c, 0x8b, 0x54, 0x24, 0x08, /* mov 8(%rsp),%r10 */
	0x4d, 0x89, 0xd9,             /* mov %r11,%r9 */
	0x48, 0x83, 0xe6, 0xf0,       /* and $-16,%rsi */
	0x48, 0x83, 0xee, 0x08,       /* sub $8,%rsi */
	0x48, 0x89, 0x0e,             /* mov %rcx,(%rsi) */
	0x0f, 0x05,                   /* syscall */
	0x85, 0xc0,                   /* 25: test %eax,%eax */
	0x75, 0x0f,                   /* 27: jne 38 */
	0x31, 0xed,                   /* 29: xor %ebp,%ebp */
	0x5f,                         /* 2b: pop %rdi */
	0x41, 0xff, 0xd1,             /* 2c: call *%r9 */
	0x89, 0xc7,                   /* 2f: mov %eax,%edi */
	0x31, 0xc0,                   /* 31: xor %eax,%eax */
	0xb0, 0x3c,                   /* 33: mov $60,%al */
	0x0f, 0x05,                   /* 35: syscall */
	0xf4,                         /* 37: hlt */
	0xc3,                         /* 38: ret */
};
enum { CALL_END = 0x25, CHILD = 0x29, CHILD_CALL = 0x2c, CHILD_END = 0x38 };

static bool is_found(const uint8_t *code, size_t size)
{
	struct clone_child found;

	return clone_child_find(code, size, 0, &found);
}

static void it_is_between_the_branch_and_the_exit(void **state _unused_)
{
	struct clone_child found;

	assert_true(clone_child_find(musl, sizeof(musl), 0, &found));
	assert_int_equal(found.call_end, CALL_END);
	assert_int_equal(found.test_end, CHILD);
	assert_int_equal(found.start, CHILD);
	assert_int_equal(found.end, CHILD_END);
	assert_false(clone_child_find(musl, sizeof(musl), CALL_END, &found));
}

/* Assembly of programs: the parent jumps over it or returns before it, the exit is the last instruction. */
static void other_code_of_this_form_is_found(void **state _unused_)
{
	static const uint8_t without_halt[] = {
		0xb8, 0x38, 0,    0, 0,    /* mov $56,%eax */
		0x0f, 0x05,                /* syscall */
		0x48, 0x85, 0xc0,          /* test %rax,%rax */
		0x0f, 0x85, 0x0d, 0, 0, 0, /* jne … */
		0x48, 0x31, 0xed,          /* xor %rbp,%rbp */
		0xe8, 0,    0,    0, 0,    /* call … */
		0x6a, 0x3c, 0x58,          /* push $60; pop %rax */
		0x31, 0xff,                /* xor %edi,%edi */
		0x0f, 0x05,                /* syscall */
		0xc3,                      /* ret */
	};
	static const uint8_t behind_return[] = {
		0xb8, 0xb3, 0x01, 0,    0,       /* mov $435,%eax: clone3 */
		0x0f, 0x05,                      /* syscall */
		0x48, 0x85, 0xc0,                /* test %rax,%rax */
		0x7c, 0x03,                      /* jl … */
		0x74, 0x01,                      /* je 1 */
		0xc3,                            /* ret */
		0x58, 0x5f,                      /* 1: pop %rax; pop %rdi */
		0xff, 0xd0,                      /* call *%rax */
		0x48, 0xc7, 0xc0, 0x3c, 0, 0, 0, /* mov $60,%rax */
		0x0f, 0x05,                      /* syscall */
		0x0f, 0x0b,                      /* ud2 */
	};
	struct clone_child found;

	assert_true(clone_child_find(without_halt, sizeof(without_halt), 0, &found));
	assert_int_equal(found.start, 16);
	assert_int_equal(found.end, sizeof(without_halt) - 1);
	assert_true(clone_child_find(behind_return, sizeof(behind_return), 0, &found));
	assert_int_equal(found.test_end, 14);
	assert_int_equal(found.start, 15);
	assert_int_equal(found.end, sizeof(behind_return));
}

/* fork(), a child that returns, one that keeps its parent's stack, or one that runs on. */
static void any_other_child_may_have_callers(void **state _unused_)
{
	static const struct {
		uint8_t offset;
		uint8_t bytes[3];
		uint8_t size;
	} changes[] = {
		{0x03, {57}, 1},               /* fork */
		{0x03, {58}, 1},               /* vfork */
		{0x26, {0xc9}, 1},             /* test %ecx,%ecx */
		{0x27, {0x79}, 1},             /* jns */
		{0x29, {0x31, 0xdb, 0x50}, 3}, /* xor %ebx,%ebx; push %rax */
		{0x2c, {0x0f, 0x1f, 0xc0}, 3}, /* nop: no call */
		{0x2c, {0x90, 0xff, 0xe1}, 3}, /* jmp *%rcx */
		{0x33, {0xb0, 0x3b}, 2},       /* execve */
		{0x33, {0xb1, 0x3c}, 2},       /* mov $60,%cl */
		{0x33, {0x75, 0x00}, 2},       /* jne */
		{0x35, {0xc3}, 1},             /* ret */
	};

	for (size_t i = 0; i < ARRAY_LENGTH(changes); i++) {
		uint8_t code[sizeof(musl)];

		memcpy(code, musl, sizeof(code));
		memcpy(code + changes[i].offset, changes[i].bytes, changes[i].size);
		assert_false(is_found(code, sizeof(code)));
	}
	for (size_t size = 0; size < 0x37; size++)
		assert_false(is_found(musl, size));
}

struct scene {
	uint8_t *text;
	struct table_file file;
	struct unwind_table *table;
};

/* A file with this code at CLONE, and a function elsewhere. */
static struct scene start_scene(const uint8_t *code, size_t size)
{
	struct scene scene = {.text = calloc(1, TEXT_SIZE), .file = table_file_of_text()};

	assert_non_null(scene.text);
	memcpy(scene.text + (CLONE - TEXT), code, size);
	scene.file.text = scene.text;
	frame_writer_add_cie(&scene.file.eh_frame, &usual_cie);
	frame_writer_add_function(&scene.file.eh_frame, TEXT + 0x100, 0x80, CODE(ROW(2)));
	return scene;
}

static void end_scene(struct scene *scene)
{
	unwind_table_free(scene->table);
	table_file_release(&scene->file);
	free(scene->text);
}

static void assert_rule(const struct scene *scene, uint64_t offset, uint8_t op, int cfa_offset)
{
	struct unwind_rule rule = {0};

	if (unwind_table_find(scene->table, CLONE + offset, &rule))
		assert_int_equal(rule.cfa_op, UNWIND_CFA_NONE); /* as it was */
	assert_int_equal(rule.cfa_op, op);
	assert_int_equal(rule.cfa_offset, cfa_offset);
}

static void assert_rows_of_both(const struct scene *scene)
{
	assert_rule(scene, CALL_END - 1, UNWIND_CFA_SP, 8);
	assert_rule(scene, CALL_END, UNWIND_CFA_CLONE, 8);
	assert_rule(scene, CHILD - 1, UNWIND_CFA_CLONE, 8);
	assert_rule(scene, CHILD, UNWIND_CFA_STOP, 0);
	assert_rule(scene, CHILD_CALL, UNWIND_CFA_STOP, 0);
	assert_rule(scene, CHILD_END - 1, UNWIND_CFA_STOP, 0);
	assert_rule(scene, CHILD_END, UNWIND_CFA_SP, 8);
}

/* Builds of musl with debug information describe it as a function of the creating thread. */
static void it_is_outermost_whatever_describes_the_function(void **state _unused_)
{
	struct scene scene = start_scene(musl, sizeof(musl));

	frame_writer_add_function(&scene.file.eh_frame, CLONE, sizeof(musl), NO_CODE);
	scene.table = table_file_build(&scene.file);
	assert_rows_of_both(&scene);
	end_scene(&scene);
}

static void it_is_outermost_in_a_function_that_nothing_describes(void **state _unused_)
{
	struct scene scene = start_scene(musl, sizeof(musl));

	scene.table = table_file_build(&scene.file);
	assert_rows_of_both(&scene);
	end_scene(&scene);
}

/* The code before it is not understood. */
static void it_is_outermost_by_itself(void **state _unused_)
{
	uint8_t code[sizeof(musl)];
	struct scene scene;

	memcpy(code, musl, sizeof(code));
	code[4] = 0x06; /* an unknown instruction */
	code[CHILD_END] = 0x06;
	scene = start_scene(code, sizeof(code));
	scene.table = table_file_build(&scene.file);
	assert_rule(&scene, CHILD_CALL, UNWIND_CFA_STOP, 0);
	assert_rule(&scene, CHILD_END - 1, UNWIND_CFA_STOP, 0);
	assert_rule(&scene, CHILD_END, UNWIND_CFA_NONE, 0);
	end_scene(&scene);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_between_the_branch_and_the_exit),
		cmocka_unit_test(other_code_of_this_form_is_found),
		cmocka_unit_test(any_other_child_may_have_callers),
		cmocka_unit_test(it_is_outermost_whatever_describes_the_function),
		cmocka_unit_test(it_is_outermost_in_a_function_that_nothing_describes),
		cmocka_unit_test(it_is_outermost_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
