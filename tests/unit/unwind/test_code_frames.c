/* Code that nothing describes, and that is too much to be followed at once. */
#include "unit.h"

#include <stdlib.h>

#include "table_fixture.h"

static const uint8_t function[] = {
	0x53,                   /* push %rbx */
	0x48, 0x83, 0xec, 0x10, /* sub $16,%rsp */
	0x48, 0x83, 0xc4, 0x10, /* add $16,%rsp */
	0x5b,                   /* pop %rbx */
	0xc3,                   /* ret */
};
/* No part of what is followed at once. */
#define SPACING 48

static struct unwind_table *build_of(const uint8_t *text, size_t size)
{
	struct elf_writer writer = {0};
	struct unwind_table *table;
	struct text bytes;

	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT,
						     .data = text,
						     .size = size});
	bytes = elf_writer_write(&writer);
	assert_int_equal(build_table(bytes.data, bytes.length, &table), 0);
	assert_true(unwind_table_is_valid(table));
	text_release(&bytes);
	return table;
}

/* The table of so many such functions, and nothing else. */
static struct unwind_table *build_large(size_t num_functions)
{
	size_t size = num_functions * SPACING;
	uint8_t *text = malloc(size);
	struct unwind_table *table;

	assert_non_null(text);
	memset(text, 0x90, size);
	for (size_t i = 0; i < num_functions; i++)
		memcpy(text + i * SPACING, function, sizeof(function));
	table = build_of(text, size);
	free(text);
	return table;
}

/* Bytes between the stack pointer and the CFA at an address; 0: there is no rule. */
static int find_offset(const struct unwind_table *table, uint64_t address)
{
	struct unwind_rule rule;

	if (unwind_table_find(table, address, &rule))
		return 0;
	assert_int_equal(rule.cfa_op, UNWIND_CFA_SP);
	return rule.cfa_offset;
}

static void functions_of_a_large_gap_have_rules(void **state _unused_)
{
	size_t num_functions = (3u << 20) / SPACING;
	struct unwind_table *table = build_large(num_functions);

	for (size_t i = 0; i < num_functions; i++) {
		uint64_t start = TEXT + i * SPACING;

		assert_int_equal(find_offset(table, start), 8);
		assert_int_equal(find_offset(table, start + 1), 16);
		assert_int_equal(find_offset(table, start + 5), 32);
		assert_int_equal(find_offset(table, start + 9), 16);
		assert_int_equal(find_offset(table, start + 10), 8);
	}
	unwind_table_free(table);
}

/* A function of 100 KiB, longer than what is left at the end of the pieces. */
static void functions_that_pieces_would_cut_have_rules(void **state _unused_)
{
	enum { FUNCTION_BYTES = 100 << 10, NUM_FUNCTIONS = 30 };
	size_t size = (size_t)FUNCTION_BYTES * NUM_FUNCTIONS;
	uint8_t *text = malloc(size);
	struct unwind_table *table;

	assert_non_null(text);
	memset(text, 0x90, size);
	/* Its end is far from its start; amid there is an aligned address behind what looks like a return. */
	for (size_t i = 0; i < NUM_FUNCTIONS; i++) {
		uint8_t *start = text + i * FUNCTION_BYTES;

		for (size_t at = 5; at + 5 <= FUNCTION_BYTES - 32; at += 5)
			memcpy(start + at, "\xb8\x90\x90\x90\xc3", 5); /* mov $…,%eax */
		memcpy(start, function, 5);
		memcpy(start + FUNCTION_BYTES - 32, function + 5, 6);
	}
	table = build_of(text, size);
	for (size_t i = 0; i < NUM_FUNCTIONS; i++) {
		uint64_t start = TEXT + i * FUNCTION_BYTES;

		assert_int_equal(find_offset(table, start + 1), 16);
		assert_int_equal(find_offset(table, start + FUNCTION_BYTES / 2), 32);
		assert_int_equal(find_offset(table, start + FUNCTION_BYTES - 32), 32);
	}
	unwind_table_free(table);
	free(text);
}

static void what_is_larger_than_any_is_not_followed(void **state _unused_)
{
	struct unwind_table *table = build_large((17u << 20) / SPACING);

	assert_int_equal(find_offset(table, TEXT + 1), 0);
	assert_int_equal(find_offset(table, TEXT + (16u << 20)), 0);
	unwind_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_a_large_gap_have_rules),
		cmocka_unit_test(functions_that_pieces_would_cut_have_rules),
		cmocka_unit_test(what_is_larger_than_any_is_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
