#include "unit.h"

#include <stdlib.h>

#include "objfile/x86_64/code_flow.h"
#include "objfile/x86_64/instruction.h"

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

/* The length of the instruction at the start of the bytes; 0: not known, or not whole. */
static size_t length_of(const uint8_t *bytes, size_t size)
{
	struct instruction instruction;

	return instruction_decode(bytes, size, &instruction) ? instruction.length : 0;
}

static enum instruction_kind kind_of(const uint8_t *bytes, size_t size)
{
	struct instruction instruction;

	assert_true(instruction_decode(bytes, size, &instruction));
	assert_int_equal(instruction.length, size);
	return instruction.kind;
}

static void instructions_are_as_long_as_a_disassembler_says(void **state)
{
	static const struct {
		uint8_t length;
		uint8_t bytes[INSTRUCTION_MAX_BYTES];
	} known[] = {
		{1, {0x55}},                                            /* push %rbp */
		{3, {0x48, 0x89, 0xe5}},                                /* mov %rsp,%rbp */
		{4, {0x48, 0x83, 0xec, 0x08}},                          /* sub $8,%rsp */
		{7, {0x48, 0x81, 0xec, 0, 1, 0, 0}},                    /* sub $256,%rsp */
		{5, {0x66, 0x81, 0xc1, 0, 1}},                          /* add $256,%cx */
		{10, {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}},             /* movabs */
		{5, {0xb8, 1, 0, 0, 0}},                                /* mov $1,%eax */
		{7, {0x48, 0x8d, 0x05, 1, 2, 3, 4}},                    /* lea 1(%rip),%rax */
		{5, {0x48, 0x8b, 0x44, 0x24, 0x08}},                    /* mov 8(%rsp),%rax */
		{8, {0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0}},              /* mov 0,%rax */
		{9, {0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}},     /* mov %fs:40,%rax */
		{3, {0xf6, 0xc1, 0x01}},                                /* test $1,%cl */
		{2, {0xf6, 0xd1}},                                      /* not %cl */
		{6, {0xf7, 0xc1, 1, 0, 0, 0}},                          /* test $1,%ecx */
		{4, {0xc8, 0, 1, 0}},                                   /* enter */
		{4, {0xf3, 0x0f, 0x1e, 0xfa}},                          /* endbr64 */
		{5, {0x66, 0x0f, 0x70, 0xc0, 0x4e}},                    /* pshufd */
		{6, {0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x08}},              /* palignr */
		{5, {0x66, 0x0f, 0x38, 0x00, 0xc1}},                    /* pshufb */
		{3, {0xc5, 0xf8, 0x77}},                                /* vzeroupper */
		{5, {0xc5, 0xf9, 0x70, 0xc0, 0x4e}},                    /* vpshufd */
		{6, {0xc4, 0xe3, 0x7d, 0x46, 0xc1, 0x31}},              /* vperm2i128 */
		{5, {0xc4, 0xe2, 0x7d, 0x00, 0xc1}},                    /* vpshufb */
		{7, {0x62, 0xf1, 0x7c, 0x48, 0x10, 0x47, 0x01}},        /* vmovups 64(%rdi),%zmm0 */
		{10, {0x8f, 0xe8, 0x78, 0x95, 0x05, 1, 2, 3, 4, 0x10}}, /* vpmacsww */
		{2, {0x8f, 0xc0}},                                      /* pop %rax */
		{11, {0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}}, /* nopw */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_int_equal(length_of(known[i].bytes, INSTRUCTION_MAX_BYTES), known[i].length);
		for (size_t size = 0; size < known[i].length; size++)
			assert_int_equal(length_of(known[i].bytes, size), 0);
	}
	assert_int_equal(length_of(BYTES(0x06, 0, 0, 0, 0, 0)), 0);
	assert_int_equal(length_of(BYTES(0x62, 0xf4, 0x7c, 0x48, 0x10, 0x07)), 0);
}

static void instructions_say_whether_execution_goes_on(void **state)
{
	struct instruction instruction;

	(void)state;
	assert_int_equal(kind_of(BYTES(0xc3)), INSTRUCTION_RETURN);
	assert_int_equal(kind_of(BYTES(0xf3, 0xc3)), INSTRUCTION_RETURN);
	assert_int_equal(kind_of(BYTES(0x0f, 0x0b)), INSTRUCTION_END);
	assert_int_equal(kind_of(BYTES(0xe8, 0, 0, 0, 0)), INSTRUCTION_CALL);
	assert_int_equal(kind_of(BYTES(0xff, 0xd0)), INSTRUCTION_CALL);
	assert_int_equal(kind_of(BYTES(0xff, 0xe0)), INSTRUCTION_JUMP);
	assert_int_equal(kind_of(BYTES(0xff, 0x25, 0, 0, 0, 0)), INSTRUCTION_JUMP);
	assert_int_equal(kind_of(BYTES(0xff, 0xc0)), INSTRUCTION_PLAIN);
	assert_int_equal(kind_of(BYTES(0x90)), INSTRUCTION_PADDING);
	assert_int_equal(kind_of(BYTES(0x66, 0x90)), INSTRUCTION_PADDING);
	assert_int_equal(kind_of(BYTES(0xf3, 0x90)), INSTRUCTION_PLAIN); /* pause */
	assert_int_equal(kind_of(BYTES(0x41, 0x90)), INSTRUCTION_PLAIN); /* xchg %r8,%rax */
	assert_true(instruction_decode(BYTES(0x75, 0xfe), &instruction));
	assert_int_equal(instruction.kind, INSTRUCTION_BRANCH);
	assert_int_equal(instruction.distance, -2);
	assert_true(instruction_decode(BYTES(0x0f, 0x84, 0, 1, 0, 0), &instruction));
	assert_int_equal(instruction.kind, INSTRUCTION_BRANCH);
	assert_int_equal(instruction.distance, 256);
}

static void calls_and_jumps_say_whether_they_name_their_target(void **state)
{
	static const uint8_t direct[][6] = {
		{0xe8, 0xf0, 0xff, 0xff, 0xff}, /* call */
		{0x48, 0xe8, 0xf0, 0xff, 0xff, 0xff},
		{0xe9, 0xf0, 0xff, 0xff, 0xff}, /* jmp */
		{0xeb, 0xf0},
		{0x0f, 0x85, 0xf0, 0xff, 0xff, 0xff}, /* jne */
	};
	struct instruction instruction;

	(void)state;
	for (size_t i = 0; i < sizeof(direct) / sizeof(direct[0]); i++) {
		assert_true(instruction_decode(direct[i], sizeof(direct[i]), &instruction));
		assert_true(instruction.is_direct);
		assert_int_equal(instruction.distance, -16);
	}
	assert_true(instruction_decode(BYTES(0xff, 0xd0), &instruction));
	assert_false(instruction.is_direct);
	assert_true(instruction_decode(BYTES(0xff, 0x25, 0, 0, 0, 0), &instruction));
	assert_false(instruction.is_direct);
	assert_true(instruction_decode(BYTES(0xb8, 1, 0, 0, 0), &instruction));
	assert_false(instruction.is_direct);
}

static void a_function_ends_behind_its_last_return(void **state)
{
	(void)state;
	assert_int_equal(code_flow_find_end(BYTES(0xc3, 0x31, 0xc0), 0x1000), 1);
	/* One that a branch leads behind is not the last. */
	assert_int_equal(code_flow_find_end(BYTES(0x74, 0x01, 0xc3, 0xc3, 0x55), 0x1000), 4);
	assert_int_equal(
		code_flow_find_end(BYTES(0xeb, 0x01, 0xc3, 0x75, 0xfd, 0xc3, 0x55), 0x1000), 6);
	/* Nor does anything lead behind a jump back. */
	assert_int_equal(code_flow_find_end(BYTES(0x31, 0xc0, 0xeb, 0xfc, 0x55), 0x1000), 4);
}

static void a_branch_leads_over_padding_but_not_out_of_reach(void **state)
{
	static const uint8_t code[] = {
		0x74, 0x0e,                            /* je 1010 */
		0xc3,                                  /* ret */
		0x0f, 0x1f, 0x80, 0,    0,    0,    0, /* nop */
		0x66, 0x0f, 0x1f, 0x44, 0,    0,       /* nop */
		0xe9, 0xeb, 0xff, 0xff, 0xff, 0x55,    /* 1010: jmp 1000 */
	};

	(void)state;
	assert_int_equal(code_flow_find_end(code, sizeof(code), 0x1000), 21);
	/* A branch to what is not there leads to another function. */
	assert_int_equal(code_flow_find_end(code, 16, 0x1000), 3);
}

static void a_function_ends_behind_a_call_that_does_not_return(void **state)
{
	static const uint8_t code[] = {0xe8, 0,    0,    0,    0,    0xcc, 0xcc, 0xcc, 0xcc,
				       0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0x55};

	(void)state;
	assert_int_equal(code_flow_find_end(code, sizeof(code), 0x1000), 5);
}

static void bytes_that_are_no_code_have_an_end(void **state)
{
	const uint8_t junk[] = {0x06, 0x06, 0x06, 0x06, 0x06, 0x06, 0x06, 0x06, 0x06,
				0x06, 0x06, 0x06, 0x06, 0x06, 0x06, 0x06, 0x06, 0x06};

	(void)state;
	assert_int_equal(code_flow_find_end(junk, sizeof(junk), 0x1000), 16);
	assert_int_equal(code_flow_find_end(junk, 3, 0x1000), 3);
}

static void code_is_split_into_functions_and_padding(void **state)
{
	static const uint8_t code[] = {0x90, 0xc3, 0xcc, 0xcc, 0x31, 0xc0, 0xc3, 0x00, 0x55, 0xc3};
	struct range_map map = {0};

	(void)state;
	assert_int_equal(code_flow_split(code, sizeof(code), 0x1000, &map), 0);
	assert_int_equal(range_map_finish(&map), 0);
	assert_int_equal(map.ranges.length, 3);
	/* A function may start with a nop, for somebody to patch. */
	assert_int_equal(range_map_find(&map, 0x1001)->start, 0x1000);
	assert_null(range_map_find(&map, 0x1002));
	assert_int_equal(range_map_find(&map, 0x1006)->start, 0x1004);
	assert_int_equal(range_map_find(&map, 0x1009)->start, 0x1008);
	range_map_release(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_are_as_long_as_a_disassembler_says),
		cmocka_unit_test(instructions_say_whether_execution_goes_on),
		cmocka_unit_test(calls_and_jumps_say_whether_they_name_their_target),
		cmocka_unit_test(a_function_ends_behind_its_last_return),
		cmocka_unit_test(a_branch_leads_over_padding_but_not_out_of_reach),
		cmocka_unit_test(a_function_ends_behind_a_call_that_does_not_return),
		cmocka_unit_test(bytes_that_are_no_code_have_an_end),
		cmocka_unit_test(code_is_split_into_functions_and_padding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
