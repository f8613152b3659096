/* What optimized code of V8 says of itself, as bytes: of real code, and of bytes that are something else. */
#include "runtime/v8/optimized_code.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/attributes.h"

/* clang-format off */
#include "v8_optimized.h"
#include "unit.h"
/* clang-format on */

#define BYTES(array) (&(const struct v8_byte_array){(array), sizeof(array)})

static void expect_translation(enum v8_translations form, const struct v8_byte_array *translations,
			       uint32_t index, const uint32_t *literals, uint32_t num_literals)
{
	uint32_t found[8];
	uint32_t num;

	assert_int_equal(
		v8_translation_read(form, translations, index, found, ARRAY_LENGTH(found), &num),
		0);
	assert_int_equal(num, num_literals);
	assert_memory_equal(found, literals, num * sizeof(*literals));
}

/* Of a version: where the translations start of the calls in outer(), in the two deep(), and of a check in callee(). */
static void expect_version(enum v8_translations form, const struct v8_byte_array *translations,
			   uint32_t own, const uint32_t indices[4])
{
	const uint32_t deep[] = {own, 0, 1};
	const uint32_t callee[] = {own, 2, 3};

	expect_translation(form, translations, indices[0], &own, 1);
	expect_translation(form, translations, indices[1], deep, 3);
	expect_translation(form, translations, indices[2], deep, 3);
	expect_translation(form, translations, indices[3], callee, 3);
}

static void translations_list_the_functions_from_the_outermost_on(void **state _unused_)
{
	expect_version(V8_TRANSLATIONS_PLAIN, BYTES(v8_translations_9_4), 9,
		       (const uint32_t[]){282, 450, 738, 32});
	expect_version(V8_TRANSLATIONS_SHARED, BYTES(v8_translations_11_3), 9,
		       (const uint32_t[]){145, 196, 307, 27});
	expect_version(V8_TRANSLATIONS_FRAMES_FIRST, BYTES(v8_translations_12_4), 9,
		       (const uint32_t[]){145, 198, 309, 27});
	expect_version(V8_TRANSLATIONS_BYTECODE, BYTES(v8_translations_13_6), 4,
		       (const uint32_t[]){154, 209, 326, 28});
}

static void what_is_no_translation_lists_nothing(void **state _unused_)
{
	uint8_t bytes[sizeof(v8_translations_11_3)];
	uint32_t literals[8];
	uint32_t num;

	memcpy(bytes, v8_translations_11_3, sizeof(bytes));
	/* It starts within another one, behind the end, or ends early. */
	assert_int_equal(
		v8_translation_read(V8_TRANSLATIONS_SHARED, BYTES(bytes), 28, literals, 8, &num),
		-EBADMSG);
	assert_int_equal(v8_translation_read(V8_TRANSLATIONS_SHARED, BYTES(bytes), sizeof(bytes),
					     literals, 8, &num),
			 -EBADMSG);
	for (size_t size = 0; size < 58; size++)
		assert_int_equal(v8_translation_read(V8_TRANSLATIONS_SHARED,
						     &(const struct v8_byte_array){bytes, size}, 27,
						     literals, 8, &num),
				 -EBADMSG);
	/* There are more functions than have room. */
	assert_int_equal(
		v8_translation_read(V8_TRANSLATIONS_SHARED, BYTES(bytes), 27, literals, 2, &num),
		-EBADMSG);
	/* The translation that it refers to is none. */
	bytes[28] = 26;
	assert_int_equal(
		v8_translation_read(V8_TRANSLATIONS_SHARED, BYTES(bytes), 27, literals, 8, &num),
		-EBADMSG);
	bytes[28] = 28;
	assert_int_equal(
		v8_translation_read(V8_TRANSLATIONS_SHARED, BYTES(bytes), 27, literals, 8, &num),
		-EBADMSG);
}

static void expect_inlining(uint32_t offset, uint32_t start, int32_t inlining)
{
	uint32_t found_start;
	int32_t found;

	assert_int_equal(v8_positions_find(BYTES(v8_positions_11_3), offset, &found_start, &found),
			 0);
	assert_int_equal(found_start, start);
	assert_int_equal(found, inlining);
}

static void a_position_holds_up_to_the_next_one(void **state _unused_)
{
	expect_inlining(0, 0, V8_NOT_INLINED);
	expect_inlining(0x26, 0, V8_NOT_INLINED);
	expect_inlining(0x9f, 0x27, V8_NOT_INLINED);
	expect_inlining(0xa0, 0xa0, 4);
	expect_inlining(0xd6, 0xd6, 3);
	expect_inlining(0x17e, 0x146, 1);
	expect_inlining(0x1f6, 0x1f6, 0);
	expect_inlining(0x27f, 0x252, V8_NOT_INLINED);
	expect_inlining(0x300, 0x280, V8_NOT_INLINED);
}

static void without_a_position_before_it_an_instruction_has_none(void **state _unused_)
{
	uint32_t start;
	int32_t inlining;

	assert_int_equal(v8_positions_find(&(const struct v8_byte_array){v8_positions_11_3, 0}, 0,
					   &start, &inlining),
			 -ENOENT);
	/* A number that does not end. */
	assert_int_equal(
		v8_positions_find(BYTES(((const uint8_t[]){0x83, 0x80})), 0, &start, &inlining),
		-EBADMSG);
}

static void an_inlining_has_its_function_and_the_one_around_it(void **state _unused_)
{
	static const struct {
		uint32_t literal;
		int32_t outer;
	} inlinings[] = {{0, V8_NOT_INLINED}, {1, 0}, {1, 0}, {2, V8_NOT_INLINED}, {3, 3}};
	uint8_t bytes[sizeof(v8_inlinings_11_3)];
	uint32_t literal;
	int32_t outer;

	for (size_t i = 0; i < ARRAY_LENGTH(inlinings); i++) {
		assert_int_equal(
			v8_inlining_get(BYTES(v8_inlinings_11_3), (int32_t)i, &literal, &outer), 0);
		assert_int_equal(literal, inlinings[i].literal);
		assert_int_equal(outer, inlinings[i].outer);
	}
	memcpy(bytes, v8_inlinings_11_3, sizeof(bytes));
	/* A function that is inlined into itself has no literal. */
	memset(bytes + 8, 0xff, 4);
	assert_int_equal(v8_inlining_get(BYTES(bytes), 0, &literal, &outer), 0);
	assert_int_equal(literal, V8_OWN_FUNCTION);
	/* One that is inlined into itself or what comes later is none, nor is one that is not there. */
	memcpy(bytes + 16, bytes + 64, 8);
	assert_int_equal(v8_inlining_get(BYTES(bytes), 1, &literal, &outer), -EBADMSG);
	assert_int_equal(v8_inlining_get(BYTES(bytes), 5, &literal, &outer), -EBADMSG);
	assert_int_equal(v8_inlining_get(BYTES(bytes), -1, &literal, &outer), -EBADMSG);
}

/* Of calls alone there are positions where their arguments are pushed, or they call. */
static void positions_are_detailed_if_a_comparison_has_one(void **state _unused_)
{
	static const struct {
		uint8_t bytes[8];
		bool is_one;
	} comparisons[] = {
		{{0xf6, 0x43, 0x35, 0x01}, true},        /* testb $1,0x35(%rbx) */
		{{0x49, 0x3b, 0x65, 0xa0}, true},        /* cmp -0x60(%r13),%rsp */
		{{0x41, 0x80, 0xfb, 0x01}, true},        /* cmp $1,%r11b */
		{{0x66, 0x41, 0x0f, 0x2e, 0xc1}, true},  /* ucomisd %xmm9,%xmm0 */
		{{0x41, 0x83, 0xe3, 0x07}, false},       /* and $7,%r11d */
		{{0xf7, 0x5d, 0xe0}, false},             /* negl -32(%rbp) */
		{{0x48, 0x8b, 0x59, 0xf8}, false},       /* mov -8(%rcx),%rbx */
		{{0xe8, 1, 2, 3, 4}, false},             /* call */
		{{0xc4, 0xe2, 0x79, 0x2e, 0x00}, false}, /* of another map */
	};
	uint8_t code[0x300];

	memset(code, 0x50, sizeof(code));
	assert_false(v8_positions_are_detailed(BYTES(v8_positions_11_3), BYTES(code)));
	code[0xd7] = 0x3d;
	assert_false(v8_positions_are_detailed(BYTES(v8_positions_11_3), BYTES(code)));
	code[0xd6] = 0x3d;
	assert_true(v8_positions_are_detailed(BYTES(v8_positions_11_3), BYTES(code)));
	for (size_t i = 0; i < ARRAY_LENGTH(comparisons); i++) {
		memcpy(code + 0xd6, comparisons[i].bytes, sizeof(comparisons[i].bytes));
		assert_int_equal(v8_positions_are_detailed(BYTES(v8_positions_11_3), BYTES(code)),
				 comparisons[i].is_one);
	}
}

static void expect_source(const uint8_t *code, size_t size, uint32_t start, uint32_t end,
			  uint32_t source)
{
	uint32_t found;

	assert_int_equal(
		v8_code_find_source(&(const struct v8_byte_array){code, size}, start, end, &found),
		0);
	assert_int_equal(found, source);
}

static void expect_no_source(const uint8_t *code, size_t size, uint32_t start, uint32_t end)
{
	uint32_t found;

	assert_int_equal(
		v8_code_find_source(&(const struct v8_byte_array){code, size}, start, end, &found),
		-ENOENT);
}

static void instructions_without_a_jump_between_have_one_source(void **state _unused_)
{
	/* cmp $1,%r11b; jne; call; nop */
	static const uint8_t code[] = {0x41, 0x80, 0xfb, 0x01, 0x0f, 0x85, 1, 2,
				       3,    0,    0xe8, 1,    2,    3,    4, 0x90};

	expect_source(code, sizeof(code), 0, sizeof(code), sizeof(code));
	expect_source(code, sizeof(code), 0, 4, 4);
	expect_source(code, sizeof(code), 4, 4, 4);
	/* It ends within an instruction. */
	expect_no_source(code, sizeof(code), 0, 7);
	expect_no_source(code, sizeof(code), 0, sizeof(code) + 1);
}

static void what_follows_a_jump_has_the_only_jump_to_it_as_its_source(void **state _unused_)
{
	/* jae to the call; push; ret; push; mov; call; jmp back */
	uint8_t code[] = {0x73, 3,    0x50, 0xc3, 0x50, 0xba, 1,    0,   0,
			  0,    0xe8, 1,    2,    3,    4,    0xeb, 0xf1};
	const uint32_t end = 15;

	expect_source(code, sizeof(code), 2, 2, 2);
	/* It leads into the block, and not to its start. */
	expect_no_source(code, sizeof(code), 2, end);
	code[1] = 2;
	expect_source(code, sizeof(code), 2, end, 0);
	/* Nothing leads there, or two jumps do. */
	code[1] = 0;
	expect_no_source(code, sizeof(code), 2, end);
	code[1] = 2;
	code[16] = (uint8_t)(4 - 17);
	expect_no_source(code, sizeof(code), 2, end);
	/* A jump through a table may lead anywhere: jmp *%rax */
	code[15] = 0xff;
	code[16] = 0xe0;
	expect_no_source(code, sizeof(code), 2, end);
	/* int3 is not executed. */
	code[15] = code[16] = 0x90;
	code[3] = 0xcc;
	expect_source(code, sizeof(code), 2, end, 0);
	/* A jump within the block leads to its start. */
	code[1] = 0;
	code[4] = 0x73;
	code[5] = 0xfe;
	expect_no_source(code, sizeof(code), 2, 6);
}

/* As Maglev has it: two calls, of which the first one has no deoptimization, and the other one an exit. */
static void a_safepoint_has_the_number_of_its_deoptimization(void **state _unused_)
{
	/* Numbers of two bytes for a pc, one for a deoptimization, and one for registers. */
	static const uint8_t table[] = {
		9,    0,    0, 0,    2,    0, 0, 0, 0xa3, 0, 0, 0, 4, 0, 0, 0, /* */
		0x10, 0x01, 0, 0x00, 0x00, 1, 2,                               /* 0x110 */
		0x34, 0x02, 7, 0x57, 0x03, 1, 2,                               /* 0x234, 6, 0x356 */
	};
	uint32_t deopt = 0;

	assert_int_equal(v8_maglev_safepoint_find(BYTES(table), 16, 0x110, &deopt), -ENOENT);
	assert_int_equal(v8_maglev_safepoint_find(BYTES(table), 16, 0x234, &deopt), 0);
	assert_int_equal(deopt, 6);
	assert_int_equal(v8_maglev_safepoint_find(BYTES(table), 16, 0x356, &deopt), -ENOENT);
	assert_int_equal(v8_maglev_safepoint_find(BYTES(table), 16, 0x235, &deopt), -ENOENT);
	for (size_t size = 0; size < sizeof(table) - 2; size++)
		assert_int_equal(
			v8_maglev_safepoint_find(&(const struct v8_byte_array){table, size}, 16,
						 0x234, &deopt),
			-ENOENT);
	assert_int_equal(v8_maglev_safepoint_find(BYTES(table), 0, 0x234, &deopt), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(translations_list_the_functions_from_the_outermost_on),
		cmocka_unit_test(what_is_no_translation_lists_nothing),
		cmocka_unit_test(a_position_holds_up_to_the_next_one),
		cmocka_unit_test(without_a_position_before_it_an_instruction_has_none),
		cmocka_unit_test(an_inlining_has_its_function_and_the_one_around_it),
		cmocka_unit_test(positions_are_detailed_if_a_comparison_has_one),
		cmocka_unit_test(instructions_without_a_jump_between_have_one_source),
		cmocka_unit_test(what_follows_a_jump_has_the_only_jump_to_it_as_its_source),
		cmocka_unit_test(a_safepoint_has_the_number_of_its_deoptimization),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
