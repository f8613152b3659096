/*
 * Unwind tables as a whole: which rule an address gets, and how the arrays are laid out.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/hash.h"
#include "table_fixture.h"
#include "unwind/frame_program.h"

#define NO_RULE (-1)
/* This program is smaller, and linked from 0. */
#define OWN_CODE_BYTES (1u << 20)

struct fixture {
	struct table_file file;
	struct unwind_table *table; /* NULL: not built yet */
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->file = table_file_of_text();
	frame_writer_add_cie(&fixture->file.eh_frame, &usual_cie);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unwind_table_free(fixture->table);
	table_file_release(&fixture->file);
	free(fixture);
	return 0;
}

static void add(struct fixture *fixture, uint64_t start, uint64_t size, const uint8_t *code,
		size_t code_size)
{
	frame_writer_add_function(&fixture->file.eh_frame, start, size, code, code_size);
}

static void build(struct fixture *fixture)
{
	fixture->table = table_file_build(&fixture->file);
}

/* Which ROW() the address is in, or NO_RULE. */
static int find_row(const struct unwind_table *table, uint64_t elf_address)
{
	struct unwind_rule rule;

	if (unwind_table_find(table, elf_address, &rule) == -ENOENT)
		return NO_RULE;
	assert_int_equal(rule.cfa_op, UNWIND_CFA_SP);
	return rule.cfa_offset / 8 - 1;
}

static uint8_t find_cfa_op(const struct unwind_table *table, uint64_t elf_address)
{
	struct unwind_rule rule;

	return unwind_table_find(table, elf_address, &rule) ? UNWIND_CFA_NONE : rule.cfa_op;
}

static void a_row_holds_to_the_next_and_the_last_to_the_functions_end(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, TEXT + 0x100, 0x50, CODE(DW_CFA_advance_loc | 8, ROW(1)));
	build(fixture);
	assert_int_equal(find_row(fixture->table, TEXT), NO_RULE);
	assert_int_equal(find_row(fixture->table, TEXT + 0xff), NO_RULE);
	assert_int_equal(find_row(fixture->table, TEXT + 0x100), 0);
	assert_int_equal(find_row(fixture->table, TEXT + 0x107), 0);
	assert_int_equal(find_row(fixture->table, TEXT + 0x108), 1);
	assert_int_equal(find_row(fixture->table, TEXT + 0x14f), 1);
	assert_int_equal(find_row(fixture->table, TEXT + 0x150), NO_RULE);
	assert_int_equal(find_row(fixture->table, TEXT - 1), NO_RULE);
	assert_int_equal(find_row(fixture->table, 0), NO_RULE);
	assert_int_equal(find_row(fixture->table, UINT64_MAX), NO_RULE);
}

static void pages_count_from_the_lowest_function(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, TEXT + 2 * PAGE, 0x10, NO_CODE);
	build(fixture);
	assert_int_equal(fixture->table->first_page, (TEXT + 2 * PAGE) / PAGE);
	assert_int_equal(fixture->table->num_pages, 1);
	assert_int_equal(find_row(fixture->table, TEXT + 2 * PAGE), 0);
}

static void a_function_across_pages_has_a_row_at_the_start_of_each(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, TEXT + 0xfff0, 2 * PAGE + 0x10,
	    CODE(DW_CFA_advance_loc | 8, ROW(1), DW_CFA_advance_loc4, 0x10, 0, 1, 0, ROW(2)));
	build(fixture);
	assert_int_equal(fixture->table->num_pages, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct unwind_page *page = &fixture->table->pages[i];

		assert_true(page->num_rows > 0);
		assert_int_equal(fixture->table->rows[page->first_row].pc_low, 0);
	}
	assert_int_equal(find_row(fixture->table, TEXT + 0xfff0), 0);
	assert_int_equal(find_row(fixture->table, TEXT + 0xfff8), 1);
	assert_int_equal(find_row(fixture->table, TEXT + PAGE), 1);
	assert_int_equal(find_row(fixture->table, TEXT + 2 * PAGE + 7), 1);
	assert_int_equal(find_row(fixture->table, TEXT + 2 * PAGE + 8), 2);
	assert_int_equal(find_row(fixture->table, TEXT + 3 * PAGE - 1), 2);
	assert_int_equal(find_row(fixture->table, TEXT + 3 * PAGE), NO_RULE);
}

static void a_page_between_functions_has_no_rows(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, TEXT + 0x100, 0x10, NO_CODE);
	add(fixture, TEXT + 3 * PAGE + 0x100, 0x10, CODE(ROW(1)));
	build(fixture);
	assert_int_equal(fixture->table->num_pages, 4);
	assert_int_equal(fixture->table->pages[1].num_rows, 0);
	assert_int_equal(fixture->table->pages[2].num_rows, 0);
	assert_int_equal(find_row(fixture->table, TEXT + 2 * PAGE), NO_RULE);
	assert_int_equal(find_row(fixture->table, TEXT + 3 * PAGE + 0xff), NO_RULE);
	assert_int_equal(find_row(fixture->table, TEXT + 3 * PAGE + 0x100), 1);
}

static void padding_up_to_64_bytes_keeps_the_rule_before_it(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, TEXT, 0x10, CODE(ROW(1)));
	add(fixture, TEXT + 0x10 + 64, 0x10, CODE(ROW(2)));
	add(fixture, TEXT + 0x20 + 64 + 65, 0x10, CODE(ROW(3)));
	build(fixture);
	assert_int_equal(find_row(fixture->table, TEXT + 0x10), 1);
	assert_int_equal(find_row(fixture->table, TEXT + 0x10 + 63), 1);
	assert_int_equal(find_row(fixture->table, TEXT + 0x10 + 64), 2);
	assert_int_equal(find_row(fixture->table, TEXT + 0x20 + 64), NO_RULE);
	assert_int_equal(find_row(fixture->table, TEXT + 0x20 + 64 + 65), 3);
}

/* Such code may be V8's, which keeps registers for its garbage collector: 33 bytes of assembly. Nothing leads to it here. */
static void short_code_between_two_functions_is_no_padding(void **state)
{
	static const uint8_t code[] = {
		0x55,                         /* push %rbp */
		0x48, 0x89, 0xe5,             /* mov %rsp,%rbp */
		0x53, 0x41, 0x54, 0x41, 0x55, /* push %rbx, %r12, %r13 */
		0x41, 0xff, 0xd0,             /* call *%r8 */
		0x48, 0x83, 0xc4, 0x18,       /* add $0x18,%rsp */
		0x5d, 0xc3,                   /* pop %rbp; ret */
	};
	struct fixture *fixture = *state;
	uint8_t *text = calloc(1, TEXT_SIZE);

	assert_non_null(text);
	memcpy(text + 6, code, sizeof(code));
	memset(text + 0x40, 0x90, 0x20); /* nop */
	fixture->file.text = text;
	add(fixture, TEXT, 6, CODE(ROW(1)));
	add(fixture, TEXT + 0x30, 0x10, CODE(ROW(2)));
	add(fixture, TEXT + 0x60, 0x10, CODE(ROW(3)));
	build(fixture);
	assert_int_equal(find_row(fixture->table, TEXT + 5), 1);
	assert_int_equal(find_row(fixture->table, TEXT + 6), NO_RULE);
	assert_int_equal(find_row(fixture->table, TEXT + 6 + 11), NO_RULE);
	assert_int_equal(find_row(fixture->table, TEXT + 0x30), 2);
	assert_int_equal(find_row(fixture->table, TEXT + 0x4f), 2);
	assert_int_equal(find_row(fixture->table, TEXT + 0x60), 3);
	free(text);
}

static void equal_neighbours_are_one_row(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, TEXT, 0x10, CODE(DW_CFA_advance_loc | 4, ROW(0)));
	add(fixture, TEXT + 0x10, 0x10, NO_CODE);
	add(fixture, TEXT + 0x30, 0x10, NO_CODE);
	build(fixture);
	assert_int_equal(fixture->table->num_rows, 2); /* the rule, and none */
	assert_int_equal(fixture->table->statistics.num_functions, 3);
	assert_int_equal(fixture->table->statistics.covered_bytes, 0x30);
	assert_int_equal(fixture->table->statistics.text_bytes, TEXT_SIZE);
}

static void functions_may_come_in_any_order(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned int i = 0; i < 64; i++)
		add(fixture, TEXT + 0x40 * (i * 37 % 64), 0x40, CODE(ROW(i % 7)));
	build(fixture);
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(find_row(fixture->table, TEXT + 0x40 * (i * 37 % 64) + 0x20),
				 i % 7);
}

static void a_later_start_ends_the_function_before(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, TEXT, 0x300, CODE(ROW(1), DW_CFA_advance_loc1, 0x80, ROW(2)));
	add(fixture, TEXT + 0x40, 0x20, CODE(ROW(3)));
	build(fixture);
	assert_int_equal(find_row(fixture->table, TEXT + 0x3f), 1);
	assert_int_equal(find_row(fixture->table, TEXT + 0x40), 3);
	assert_int_equal(find_row(fixture->table, TEXT + 0x60), NO_RULE);
	assert_int_equal(find_row(fixture->table, TEXT + 0x80), NO_RULE);
}

static void of_two_functions_with_one_start_the_first_of_the_file_stays(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, TEXT + 0x100, 0x10, NO_CODE);
	add(fixture, TEXT, 0x10, CODE(ROW(1)));
	add(fixture, TEXT, 0x40, CODE(ROW(2)));
	build(fixture);
	assert_int_equal(find_row(fixture->table, TEXT), 1);
	assert_int_equal(find_row(fixture->table, TEXT + 0x10), NO_RULE);
}

static void debug_frame_fills_what_eh_frame_leaves_open(void **state)
{
	struct fixture *fixture = *state;
	struct frame_writer_cie cie = usual_cie;

	cie.augmentation = "";
	cie.version = 4;
	add(fixture, TEXT + 0x100, 0x100, CODE(ROW(1)));
	frame_writer_add_cie(&fixture->file.debug_frame, &cie);
	frame_writer_add_function(&fixture->file.debug_frame, TEXT, 0x180, CODE(ROW(2)));
	frame_writer_add_function(&fixture->file.debug_frame, TEXT + 0x100, 0x100, CODE(ROW(3)));
	frame_writer_add_function(&fixture->file.debug_frame, TEXT + 0x180, 0x100, CODE(ROW(4)));
	frame_writer_add_function(&fixture->file.debug_frame, TEXT + 0x300, 0x100, CODE(ROW(5)));
	build(fixture);
	assert_int_equal(find_row(fixture->table, TEXT), 2);
	assert_int_equal(find_row(fixture->table, TEXT + 0xff), 2);
	assert_int_equal(find_row(fixture->table, TEXT + 0x100), 1);
	assert_int_equal(find_row(fixture->table, TEXT + 0x1ff), 1);
	assert_int_equal(find_row(fixture->table, TEXT + 0x200), NO_RULE);
	assert_int_equal(find_row(fixture->table, TEXT + 0x300), 5);
	assert_int_equal(fixture->table->statistics.num_functions, 3);
}

static void functions_outside_of_the_code_are_left_out(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, TEXT - 0x100, 0x10, NO_CODE);
	add(fixture, TEXT + TEXT_SIZE, 0x10, NO_CODE);
	add(fixture, TEXT + TEXT_SIZE - 0x10, 0x1000, NO_CODE);
	build(fixture);
	assert_int_equal(fixture->table->statistics.num_outside, 2);
	assert_int_equal(fixture->table->statistics.covered_bytes, 0x10);
	assert_int_equal(find_row(fixture->table, TEXT + TEXT_SIZE), NO_RULE);
}

/* A file whose text has room for far functions, and entries that reach them. */
static void add_wide_cie(struct fixture *fixture)
{
	static const struct frame_writer_cie cie = {
		.augmentation = "zR",
		.version = 1,
		.encoding = DW_EH_PE_absptr,
		.code = usual_code,
		.code_size = sizeof(usual_code),
	};

	fixture->file.memory_size = 1ull << 34;
	frame_writer_add_cie(&fixture->file.eh_frame, &cie);
}

static void what_lies_more_than_4_gib_behind_the_first_function_is_left_out(void **state)
{
	struct fixture *fixture = *state;
	uint64_t limit = TEXT + (1ull << 32);

	add_wide_cie(fixture);
	add(fixture, TEXT, 0x10, NO_CODE);
	add(fixture, limit - 0x10, 0x10, CODE(ROW(1)));
	add(fixture, limit, 0x10, CODE(ROW(2)));
	build(fixture);
	assert_int_equal(fixture->table->num_pages, UNWIND_TABLE_MAX_PAGES);
	assert_int_equal(fixture->table->statistics.num_outside, 1);
	assert_int_equal(find_row(fixture->table, limit - 1), 1);
	assert_int_equal(find_row(fixture->table, limit), NO_RULE);
}

static void a_first_function_that_needs_too_many_pages_is_left_out(void **state)
{
	struct fixture *fixture = *state;

	add_wide_cie(fixture);
	add(fixture, TEXT + 0x8000, UINT32_MAX, NO_CODE);
	build(fixture);
	assert_int_equal(fixture->table->num_pages, 0);
	assert_int_equal(fixture->table->statistics.num_outside, 1);
}

static void the_entry_of_a_program_is_outermost_where_nothing_describes_it(void **state)
{
	struct fixture *fixture = *state;

	fixture->file.type = ET_EXEC;
	fixture->file.entry = TEXT + 0x200;
	add(fixture, TEXT, 0x10, NO_CODE);
	build(fixture);
	assert_int_equal(find_cfa_op(fixture->table, TEXT + 0x1ff), UNWIND_CFA_NONE);
	assert_int_equal(find_cfa_op(fixture->table, TEXT + 0x200), UNWIND_CFA_STOP);
	assert_int_equal(find_cfa_op(fixture->table, TEXT + 0x23f), UNWIND_CFA_STOP);
	assert_int_equal(find_cfa_op(fixture->table, TEXT + 0x240), UNWIND_CFA_NONE);
	assert_int_equal(fixture->table->statistics.num_functions, 1);
}

static void the_next_function_ends_the_rule_of_the_entry(void **state)
{
	struct fixture *fixture = *state;

	fixture->file.type = ET_EXEC;
	fixture->file.entry = TEXT + 0x200;
	add(fixture, TEXT + 0x220, 0x10, NO_CODE);
	build(fixture);
	assert_int_equal(find_cfa_op(fixture->table, TEXT + 0x21f), UNWIND_CFA_STOP);
	assert_int_equal(find_cfa_op(fixture->table, TEXT + 0x220), UNWIND_CFA_SP);
	assert_int_equal(find_cfa_op(fixture->table, TEXT + 0x230), UNWIND_CFA_NONE);
}

static void an_entry_that_is_described_keeps_its_rule(void **state)
{
	struct fixture *fixture = *state;

	fixture->file.type = ET_EXEC;
	fixture->file.entry = TEXT + 0x10;
	add(fixture, TEXT, 0x100, NO_CODE);
	build(fixture);
	assert_int_equal(find_cfa_op(fixture->table, TEXT + 0x10), UNWIND_CFA_SP);
}

static void the_entry_of_a_library_and_of_an_object_means_nothing(void **state)
{
	static const uint16_t types[] = {ET_DYN, ET_REL};
	struct fixture *fixture = *state;

	fixture->file.entry = TEXT + 0x200;
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		fixture->file.type = types[i];
		unwind_table_free(fixture->table);
		build(fixture);
		assert_int_equal(find_cfa_op(fixture->table, TEXT + 0x200), UNWIND_CFA_NONE);
	}
}

static void an_entry_outside_of_the_code_means_nothing(void **state)
{
	struct fixture *fixture = *state;

	fixture->file.type = ET_EXEC;
	fixture->file.entry = TEXT + TEXT_SIZE;
	build(fixture);
	assert_int_equal(fixture->table->num_pages, 0);
}

static void a_file_without_call_frame_information_has_an_empty_table(void **state)
{
	struct fixture *fixture = *state;

	text_truncate(&fixture->file.eh_frame.bytes, 0);
	build(fixture);
	assert_false(unwind_table_has_rows(fixture->table));
	assert_int_equal(fixture->table->num_pages, 0);
	assert_int_equal(fixture->table->num_rows, 0);
	assert_int_equal(find_row(fixture->table, TEXT), NO_RULE);
}

static void another_architecture_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_table *table;
	struct text bytes;

	fixture->file.machine = EM_AARCH64;
	bytes = table_file_write(&fixture->file);
	assert_int_equal(build_table(bytes.data, bytes.length, &table), -ENOTSUP);
	text_release(&bytes);
}

static void unsupported_rows_are_listed_by_function(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, TEXT, 0x10, NO_CODE);
	add(fixture, TEXT + 0x100, 0x80,
	    CODE(DW_CFA_def_cfa, 8, 8, DW_CFA_advance_loc | 4, DW_CFA_def_cfa, 7, 8,
		 DW_CFA_advance_loc | 4, DW_CFA_def_cfa, 1, 8));
	build(fixture);
	assert_int_equal(find_cfa_op(fixture->table, TEXT + 0x100), UNWIND_CFA_UNSUPPORTED);
	assert_int_equal(find_cfa_op(fixture->table, TEXT + 0x104), UNWIND_CFA_SP);
	assert_int_equal(fixture->table->statistics.num_unsupported_rows, 2);
	assert_int_equal(fixture->table->unsupported.length, 1);
	assert_int_equal(fixture->table->unsupported.items[0].elf_address, TEXT + 0x100);
	assert_int_equal(fixture->table->unsupported.items[0].num_rows, 2);
}

/* This program itself; with or without its section headers. */
static struct unwind_table *build_own_table(bool has_sections)
{
	_cleanup_(text_release) struct text bytes = {0};
	struct unwind_table *table;
	Elf64_Ehdr header;

	assert_int_equal(file_read_at(AT_FDCWD, "/proc/self/exe", 1u << 30, &bytes), 0);
	if (!has_sections) {
		memcpy(&header, bytes.data, sizeof(header));
		header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
		memcpy(bytes.data, &header, sizeof(header));
	}
	assert_int_equal(build_table(bytes.data, bytes.length, &table), 0);
	return table;
}

static void section_headers_are_not_needed(void **state)
{
	struct unwind_table *with = build_own_table(true);
	struct unwind_table *without = build_own_table(false);
	size_t num_found = 0;

	(void)state;
	assert_true(unwind_table_has_rows(with));
	assert_int_equal(without->statistics.num_malformed, 0);
	assert_int_equal(without->statistics.num_outside, 0);
	assert_true(with->num_rows >= without->num_rows);
	/* Code that .eh_frame does not describe is found by sections only. */
	for (uint64_t address = 0; address < OWN_CODE_BYTES; address++) {
		struct unwind_rule expected;
		struct unwind_rule found;

		if (unwind_table_find(without, address, &expected))
			continue;
		num_found++;
		assert_int_equal(unwind_table_find(with, address, &found), 0);
		assert_memory_equal(&found, &expected, sizeof(found));
	}
	assert_true(num_found > 1000);
	unwind_table_free(with);
	unwind_table_free(without);
}

struct random_function {
	uint64_t start;
	uint64_t size;
	uint8_t steps[12]; /* bytes to each next row; the rows are ROW(first), ROW(first + 1), … */
	uint8_t num_steps;
	uint8_t first;
};

static uint64_t draw(uint64_t *seed, uint64_t limit)
{
	*seed = hash_mix(*seed, 0x9e37);
	return (*seed >> 16) % limit;
}

static struct random_function draw_function(uint64_t *seed)
{
	struct random_function function = {
		.start = TEXT + draw(seed, draw(seed, 4) ? 0x3000 : TEXT_SIZE - 0x21000) + 1,
		.size = draw(seed, 16) ? 1 + draw(seed, 0x200) : draw(seed, 0x20000) + 1,
		.num_steps = (uint8_t)draw(seed, 13),
		.first = (uint8_t)draw(seed, 3),
	};

	if (draw(seed, 8) == 0)
		function.start &= ~(uint64_t)(PAGE - 1);
	for (uint8_t i = 0; i < function.num_steps; i++)
		function.steps[i] = (uint8_t)draw(seed, 63) + 1;
	return function;
}

static void add_random_function(struct fixture *fixture, const struct random_function *function)
{
	uint8_t code[2 + 3 * 12] = {ROW(function->first)};
	size_t size = 2;

	for (uint8_t i = 0; i < function->num_steps; i++, size += 3) {
		code[size] = DW_CFA_advance_loc | function->steps[i];
		code[size + 1] = DW_CFA_def_cfa_offset;
		code[size + 2] = (uint8_t)(8 * (function->first + i + 2));
	}
	add(fixture, function->start, function->size, code, size);
}

static int get_row_of(const struct random_function *function, uint64_t elf_address)
{
	uint64_t at = function->start;
	int row = function->first;

	for (uint8_t i = 0; i < function->num_steps; i++, row++) {
		at += function->steps[i];
		if (at > elf_address)
			break;
	}
	return row;
}

/*
 * What the header promises, by looking at all functions: the last one that starts at the address or
 * before has it, the first of the file where several do; also the padding behind it.
 */
static int expect_row(const struct random_function *functions, size_t num_functions,
		      uint64_t elf_address)
{
	const struct random_function *found = NULL;
	uint64_t next = UINT64_MAX;
	uint64_t end;

	for (size_t i = 0; i < num_functions; i++) {
		const struct random_function *function = &functions[i];

		if (function->start <= elf_address && (!found || function->start > found->start))
			found = function;
		if (function->start > elf_address && function->start < next)
			next = function->start;
	}
	if (!found)
		return NO_RULE;
	end = found->start + found->size;
	if (elf_address < end)
		return get_row_of(found, elf_address);
	return next != UINT64_MAX && next - end <= 64 ? get_row_of(found, end - 1) : NO_RULE;
}

static void check_around(const struct unwind_table *table, const struct random_function *functions,
			 size_t num_functions, uint64_t elf_address)
{
	for (uint64_t at = elf_address - 1; at <= elf_address + 1; at++)
		assert_int_equal(find_row(table, at), expect_row(functions, num_functions, at));
}

static void check_random_table(struct fixture *fixture, uint64_t *seed)
{
	struct random_function functions[40];
	size_t num_functions = 1 + draw(seed, ARRAY_LENGTH(functions));

	for (size_t i = 0; i < num_functions; i++) {
		functions[i] = draw_function(seed);
		add_random_function(fixture, &functions[i]);
	}
	build(fixture);
	for (size_t i = 0; i < num_functions; i++) {
		uint64_t at = functions[i].start;

		check_around(fixture->table, functions, num_functions, at);
		check_around(fixture->table, functions, num_functions, at + functions[i].size);
		for (uint8_t j = 0; j < functions[i].num_steps; j++) {
			at += functions[i].steps[j];
			check_around(fixture->table, functions, num_functions, at);
		}
	}
	for (uint64_t at = TEXT; at <= TEXT + TEXT_SIZE; at += PAGE)
		check_around(fixture->table, functions, num_functions, at);
}

static void every_address_of_random_files_has_the_rule_of_its_function(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 300; i++) {
		void *fixture;

		set_up(&fixture);
		check_random_table(fixture, &seed);
		tear_down(&fixture);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_row_holds_to_the_next_and_the_last_to_the_functions_end),
		TEST(pages_count_from_the_lowest_function),
		TEST(a_function_across_pages_has_a_row_at_the_start_of_each),
		TEST(a_page_between_functions_has_no_rows),
		TEST(padding_up_to_64_bytes_keeps_the_rule_before_it),
		TEST(short_code_between_two_functions_is_no_padding),
		TEST(equal_neighbours_are_one_row),
		TEST(functions_may_come_in_any_order),
		TEST(a_later_start_ends_the_function_before),
		TEST(of_two_functions_with_one_start_the_first_of_the_file_stays),
		TEST(debug_frame_fills_what_eh_frame_leaves_open),
		TEST(functions_outside_of_the_code_are_left_out),
		TEST(what_lies_more_than_4_gib_behind_the_first_function_is_left_out),
		TEST(a_first_function_that_needs_too_many_pages_is_left_out),
		TEST(the_entry_of_a_program_is_outermost_where_nothing_describes_it),
		TEST(the_next_function_ends_the_rule_of_the_entry),
		TEST(an_entry_that_is_described_keeps_its_rule),
		TEST(the_entry_of_a_library_and_of_an_object_means_nothing),
		TEST(an_entry_outside_of_the_code_means_nothing),
		TEST(a_file_without_call_frame_information_has_an_empty_table),
		TEST(another_architecture_is_refused),
		TEST(unsupported_rows_are_listed_by_function),
		cmocka_unit_test(section_headers_are_not_needed),
		cmocka_unit_test(every_address_of_random_files_has_the_rule_of_its_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
