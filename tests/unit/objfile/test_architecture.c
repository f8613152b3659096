#include "objfile/architecture.h"

#include <elf.h>

#include "base/attributes.h"
#include "objfile/instruction_flow.h"
#include "unit.h"

#define DECODE(machine, ret, ...)                                                       \
	architecture_decode(architecture_find(machine), (const uint8_t[]){__VA_ARGS__}, \
			    sizeof((const uint8_t[]){__VA_ARGS__}), ret)

static void an_instruction_has_a_length_and_a_target(void **state _unused_)
{
	struct instruction_flow flow;

	assert_true(DECODE(EM_X86_64, &flow, 0xe8, 0x10, 0, 0, 0));
	assert_int_equal(flow.kind, INSTRUCTION_CALL);
	assert_int_equal(flow.length, 5);
	assert_true(flow.is_direct);
	assert_int_equal(flow.distance, 0x10);
	assert_false(flow.is_trap);
	assert_false(DECODE(EM_X86_64, &flow, 0xe8, 0x10));
}

static void only_padding_that_traps_is_not_executed(void **state _unused_)
{
	struct instruction_flow flow;

	assert_true(DECODE(EM_X86_64, &flow, 0xcc)); /* int3 */
	assert_int_equal(flow.kind, INSTRUCTION_PADDING);
	assert_true(flow.is_trap);
	assert_true(DECODE(EM_X86_64, &flow, 0x90)); /* nop */
	assert_int_equal(flow.kind, INSTRUCTION_PADDING);
	assert_false(flow.is_trap);
	assert_true(DECODE(EM_X86_64, &flow, 0x0f, 0x1f, 0)); /* nop */
	assert_int_equal(flow.kind, INSTRUCTION_PADDING);
	assert_false(flow.is_trap);
	assert_true(DECODE(EM_X86_64, &flow, 0xc3)); /* ret */
	assert_false(flow.is_trap);
}

static void code_of_other_architectures_is_not_decoded(void **state _unused_)
{
	struct instruction_flow flow;

	assert_false(DECODE(EM_AARCH64, &flow, 0x90, 0x90, 0x90, 0x90));
	assert_false(DECODE(EM_RISCV, &flow, 0x90, 0x90, 0x90, 0x90));
}

static void only_calls_have_32_bit_machines(void **state _unused_)
{
	assert_null(architecture_find(EM_386));
	assert_ptr_equal(architecture_find_of_any_size(EM_386), architecture_find(EM_X86_64));
	assert_ptr_equal(architecture_find_of_any_size(EM_X86_64), architecture_find(EM_X86_64));
	assert_ptr_equal(architecture_find_of_any_size(EM_AARCH64), architecture_find(EM_AARCH64));
	assert_null(architecture_find_of_any_size(EM_NONE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_instruction_has_a_length_and_a_target),
		cmocka_unit_test(only_padding_that_traps_is_not_executed),
		cmocka_unit_test(code_of_other_architectures_is_not_decoded),
		cmocka_unit_test(only_calls_have_32_bit_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
