/* Answers of a process that a file may have taken over: numbers just within their bounds, and just beyond. */
#include "collect/elf/elf_message.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/attributes.h"
#include "unit.h"

static struct elf_answer answer;

static int set_up(void **state _unused_)
{
	memset(&answer, 0, sizeof(answer));
	return 0;
}

static void be(enum elf_request_kind kind)
{
	memset(&answer, 0, sizeof(answer));
	answer.kind = kind;
	if (kind == ELF_IDENTIFY) {
		answer.identity.has_runtime = 1;
		answer.identity.runtime.support = SUPPORT_UNKNOWN_BUILD;
	} else if (kind == ELF_FIND_PROBE) {
		answer.probe.num_points = 1;
		answer.probe.points[0].argument = (struct probe_argument){
			.source = ARGUMENT_REGISTER, .bytes = 8, .index = ARGUMENT_NO_REGISTER};
	} else if (kind == ELF_FIND_ALLOCATOR) {
		answer.allocator.num_functions = 1;
		answer.allocator.functions[0] = (struct allocator_function){
			.point.argument = {.source = ARGUMENT_REGISTER,
					   .bytes = 8,
					   .index = ARGUMENT_NO_REGISTER},
			.free_register = ARGUMENT_NO_REGISTER,
			.pointer_register = ARGUMENT_NO_REGISTER,
			.jump_register = ARGUMENT_NO_REGISTER};
	}
}

static bool is_valid(void)
{
	return elf_answer_is_valid(&answer, elf_answer_get_size(&answer),
				   (enum elf_request_kind)answer.kind);
}

static const enum elf_request_kind kinds[] = {ELF_IDENTIFY,    ELF_PROVE_CALL, ELF_HASH_TABLE,
					      ELF_BUILD_TABLE, ELF_FIND_PROBE, ELF_FIND_ALLOCATOR,
					      ELF_FIND_LIBRARY};

static void an_answer_has_exactly_its_size(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
		size_t size;

		be(kinds[i]);
		size = elf_answer_get_size(&answer);
		assert_true(elf_answer_is_valid(&answer, size, kinds[i]));
		assert_false(elf_answer_is_valid(&answer, size - 1, kinds[i]));
		assert_false(elf_answer_is_valid(&answer, size + 1, kinds[i]));
		assert_false(elf_answer_is_valid(&answer, 0, kinds[i]));
		assert_false(elf_answer_is_valid(&answer, 7, kinds[i]));
	}
}

static void an_answer_is_of_what_was_asked(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++)
		for (size_t j = 0; j < ARRAY_LENGTH(kinds); j++) {
			be(kinds[i]);
			assert_int_equal(elf_answer_is_valid(&answer, elf_answer_get_size(&answer),
							     kinds[j]),
					 i == j);
		}
}

/* Whatever else would be in it. */
static void an_error_has_a_message_that_ends(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
		be(kinds[i]);
		memset(&answer.message, 0xff, sizeof(answer.message));
		answer.err = -EINVAL;
		assert_true(is_valid());
		assert_int_equal(elf_answer_get_size(&answer),
				 offsetof(struct elf_answer, message) + sizeof(answer.message));
		assert_int_equal(answer.message[sizeof(answer.message) - 1], '\0');
		assert_true(answer.message[sizeof(answer.message) - 2] != '\0');
		answer.err = 1;
		assert_false(is_valid());
	}
}

static void numbers_of_an_identity_are_bounded(void **state _unused_)
{
	const struct {
		uint32_t *number;
		uint32_t limit;
	} bounds[] = {
		{&answer.identity.num_segments, ELF_MAX_SEGMENTS},
		{&answer.identity.build_id_size, BUILD_ID_SIZE_MAX},
		{&answer.identity.runtime.num_eval_parts, EVALUATION_MAX_PARTS},
		{&answer.identity.runtime.num_pushes, EVALUATION_MAX_PUSHES},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(bounds); i++) {
		be(ELF_IDENTIFY);
		*bounds[i].number = bounds[i].limit;
		assert_true(is_valid());
		++*bounds[i].number;
		assert_false(is_valid());
	}
}

static void points_and_functions_are_bounded(void **state _unused_)
{
	be(ELF_FIND_PROBE);
	answer.probe.num_points = PROBE_MAX_POINTS;
	for (uint32_t i = 0; i < PROBE_MAX_POINTS; i++)
		answer.probe.points[i] = answer.probe.points[0];
	assert_true(is_valid());
	answer.probe.points[PROBE_MAX_POINTS - 1].argument.bytes = 3;
	assert_false(is_valid());
	answer.probe.num_points = PROBE_MAX_POINTS + 1;
	assert_false(is_valid());
	answer.probe.num_points = 0;
	assert_false(is_valid());
	be(ELF_FIND_ALLOCATOR);
	answer.allocator.num_functions = ALLOCATOR_MAX_FUNCTIONS;
	for (uint32_t i = 0; i < ALLOCATOR_MAX_FUNCTIONS; i++)
		answer.allocator.functions[i] = answer.allocator.functions[0];
	assert_true(is_valid());
	answer.allocator.functions[ALLOCATOR_MAX_FUNCTIONS - 1].jump_register = 200;
	assert_false(is_valid());
	answer.allocator.num_functions = ALLOCATOR_MAX_FUNCTIONS + 1;
	assert_false(is_valid());
	answer.allocator.num_functions = 0;
	assert_false(is_valid());
}

/* Each is a bool, which has two values. */
static void flags_are_zero_or_one(void **state _unused_)
{
	static const size_t flags[] = {
		offsetof(struct elf_answer, identity.runtime.wasm.is_known),
		offsetof(struct elf_answer, identity.runtime.code.is_shared_wrapped),
		offsetof(struct elf_answer, identity.runtime.code.is_known),
		offsetof(struct elf_answer, allocator.functions[0].jumps_in_mimalloc),
		offsetof(struct elf_answer, allocator.functions[0].jumps_out),
		offsetof(struct elf_answer, allocator.functions[0].may_pass_on),
	};

	for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
		be(i < 3 ? ELF_IDENTIFY : ELF_FIND_ALLOCATOR);
		if (i < 3)
			answer.identity.runtime.code = (struct v8_code_layout){
				.exits = 4, .first_deopt = 7, .exit_bytes = 4};
		for (unsigned int value = 0; value < 256; value++) {
			((unsigned char *)&answer)[flags[i]] = (unsigned char)value;
			assert_int_equal(is_valid(), value <= 1);
		}
	}
}

static bool is_argument_taken(struct probe_argument argument)
{
	bool is_of_probe;

	be(ELF_FIND_PROBE);
	answer.probe.points[0].argument = argument;
	is_of_probe = is_valid();
	be(ELF_FIND_ALLOCATOR);
	answer.allocator.functions[0].point.argument = argument;
	assert_int_equal(is_valid(), is_of_probe);
	return is_of_probe;
}

static void arguments_are_what_the_program_can_read(void **state _unused_)
{
	const struct probe_argument good = {
		.source = ARGUMENT_REGISTER, .bytes = 8, .index = ARGUMENT_NO_REGISTER};
	struct probe_argument argument;

	for (unsigned int bytes = 0; bytes < 20; bytes++) {
		argument = good;
		argument.bytes = (uint8_t)bytes;
		assert_int_equal(is_argument_taken(argument),
				 bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
		argument.source = ARGUMENT_NONE;
		assert_true(is_argument_taken(argument));
	}
	argument = good;
	argument.is_signed = 1;
	assert_true(is_argument_taken(argument));
	argument.is_signed = 2;
	assert_false(is_argument_taken(argument));
	argument = good;
	argument.base = ARGUMENT_MAX_REGISTER;
	assert_true(is_argument_taken(argument));
	argument.base++;
	assert_false(is_argument_taken(argument));
	argument = good;
	argument.index = ARGUMENT_MAX_REGISTER;
	assert_true(is_argument_taken(argument));
	argument.index++;
	assert_false(is_argument_taken(argument));
	/* Of a product there are two. */
	argument = good;
	argument.source = ARGUMENT_PRODUCT;
	assert_false(is_argument_taken(argument));
	argument.index = 0;
	assert_true(is_argument_taken(argument));
	argument.source = (enum argument_source)(ARGUMENT_PRODUCT + 1);
	assert_false(is_argument_taken(argument));
}

static void registers_of_an_allocator_are_bounded(void **state _unused_)
{
	struct allocator_function *function = &answer.allocator.functions[0];
	uint64_t *const registers[] = {&function->free_register, &function->pointer_register,
				       &function->jump_register};

	for (size_t i = 0; i < ARRAY_LENGTH(registers); i++) {
		be(ELF_FIND_ALLOCATOR);
		*registers[i] = ARGUMENT_MAX_REGISTER;
		assert_true(is_valid());
		++*registers[i];
		assert_false(is_valid());
	}
}

static void a_proof_is_one_of_three(void **state _unused_)
{
	be(ELF_PROVE_CALL);
	answer.proof = CALL_DISPROVEN;
	assert_true(is_valid());
	answer.proof++;
	assert_false(is_valid());
}

static void a_path_of_a_library_ends(void **state _unused_)
{
	be(ELF_FIND_LIBRARY);
	memset(answer.library, 'x', sizeof(answer.library));
	assert_false(is_valid());
	answer.library[sizeof(answer.library) - 1] = '\0';
	assert_true(is_valid());
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_has_exactly_its_size),
		TEST(an_answer_is_of_what_was_asked),
		TEST(an_error_has_a_message_that_ends),
		TEST(numbers_of_an_identity_are_bounded),
		TEST(points_and_functions_are_bounded),
		TEST(flags_are_zero_or_one),
		TEST(arguments_are_what_the_program_can_read),
		TEST(registers_of_an_allocator_are_bounded),
		TEST(a_proof_is_one_of_three),
		TEST(a_path_of_a_library_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
