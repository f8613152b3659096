#include "objfile/x86_64/calls.h"

#include "base/attributes.h"
#include "unit.h"

#define ENDS(...) call_ends((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void direct_calls_are_known(void **state _unused_)
{
	assert_true(ENDS(0xe8, 1, 2, 3, 4));
	assert_true(ENDS(0x90, 0x90, 0xe8, 0, 0, 0, 0));
	assert_false(ENDS(0xe8, 1, 2, 3, 4, 0x90));
}

static void indirect_calls_are_known_in_every_length(void **state _unused_)
{
	assert_true(ENDS(0xff, 0xd0));                   /* call *%rax */
	assert_true(ENDS(0x41, 0xff, 0xd3));             /* call *%r11 */
	assert_true(ENDS(0xff, 0x10));                   /* call *(%rax) */
	assert_true(ENDS(0xff, 0x14, 0xc8));             /* call *(%rax,%rcx,8) */
	assert_true(ENDS(0xff, 0x50, 0x18));             /* call *0x18(%rax) */
	assert_true(ENDS(0xff, 0x54, 0x24, 0x08));       /* call *8(%rsp) */
	assert_true(ENDS(0xff, 0x15, 1, 2, 3, 4));       /* call *x(%rip) */
	assert_true(ENDS(0xff, 0x90, 1, 2, 3, 4));       /* call *x(%rax) */
	assert_true(ENDS(0xff, 0x94, 0x24, 1, 2, 3, 4)); /* call *x(%rsp) */
	assert_true(ENDS(0xff, 0x14, 0xc5, 1, 2, 3, 4)); /* call *x(,%rax,8) */
}

static void other_instructions_are_no_calls(void **state _unused_)
{
	assert_false(ENDS(0xff, 0xe0));             /* jmp *%rax */
	assert_false(ENDS(0x90, 0x90, 0x90, 0x90)); /* nop */
	assert_false(ENDS(0xe9, 1, 2, 3, 4));       /* jmp */
	assert_false(ENDS(0x0f, 0x05));             /* syscall */
	assert_false(ENDS(0xff));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(direct_calls_are_known),
		cmocka_unit_test(indirect_calls_are_known_in_every_length),
		cmocka_unit_test(other_instructions_are_no_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
