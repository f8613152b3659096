#include "test_folder.h"
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "symbolize/kernel_symbols.h"

static const char kallsyms[] = "ffffffff81000000 T _stext\n"
			       "ffffffff81000000 T startup_64\n"
			       "ffffffff81000100 T __read\n"
			       "ffffffff81000100 T read\n"
			       "ffffffff81000100 t a\n"
			       "ffffffff81000200 W last_one\n"
			       "ffffffff81001000 T _etext\n"
			       "ffffffff82000000 D data\n"
			       "ffffffff83000000 T _sinittext\n"
			       "ffffffff83000000 t init_one\n"
			       "ffffffff83000100 T _einittext\n"
			       "ffffffffc0001000 t mod_second\t[mod]\n"
			       "ffffffffc0000000 t mod_first\t[mod]\n"
			       "ffffffffc0002000 d mod_data\t[mod]\n"
			       "ffffffffc0100000 t bpf_prog_1\t[bpf]\n"
			       "ffffffffc0200100 t kprobe_page\t[__builtin__kprobes]\n";

static const char modules[] = "mod 16384 0 - Live 0xffffffffc0000000\n"
			      "nameless 8192 1 other, Live 0xffffffffc0300000 (OE)\n";

/* All addresses that these tests ask for, and some more. */
static const uint64_t wanted[] = {
	UINT64_MAX,
	0xffffffff80ffffff,
	0xffffffff81000000,
	0xffffffff81000180,
	0xffffffff81000200,
	0xffffffff81000fff,
	0xffffffff82000000,
	0xffffffff83000050,
	0xffffffffb0000000,
	0xffffffffc0500010,
	0xffffffffc0000010,
	0xffffffffc0000fff,
	0xffffffffc0001fff,
	0xffffffffc0002010,
	0xffffffffc0004000,
	0xffffffffc0300010,
	0xffffffffc0100a05,
	0xffffffffc0100a15,
	0xffffffffc0100abc,
	0xffffffffc0100b00,
	0xffffffffc0200110,
	0xffffffffc0201000,
	0,
};

static struct kernel_symbols *make(void)
{
	struct kernel_symbols *symbols = kernel_symbols_new();

	assert_non_null(symbols);
	for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++)
		assert_int_equal(kernel_symbols_want(symbols, wanted[i]), 0);
	return symbols;
}

static struct kernel_symbols *load(const char *text)
{
	struct kernel_symbols *symbols = make();

	assert_int_equal(
		kernel_symbols_load_text(symbols, text, strlen(text), modules, strlen(modules)), 0);
	return symbols;
}

static void assert_found(struct kernel_symbols *symbols, uint64_t address, const char *name,
			 const char *module)
{
	struct kernel_symbol symbol;

	assert_int_equal(kernel_symbols_find(symbols, address, &symbol), 0);
	if (name)
		assert_string_equal(symbol.name, name);
	else
		assert_null(symbol.name);
	assert_string_equal(symbol.module, module);
}

static void assert_not_found(struct kernel_symbols *symbols, uint64_t address)
{
	struct kernel_symbol symbol;

	assert_int_equal(kernel_symbols_find(symbols, address, &symbol), -ENOENT);
}

static void kernel_text_ends_at_its_bounds(void **state)
{
	struct kernel_symbols *symbols = load(kallsyms);

	(void)state;
	assert_not_found(symbols, 0);
	assert_not_found(symbols, 0xffffffff80ffffff);
	assert_found(symbols, 0xffffffff81000200, "last_one", "[kernel]");
	assert_found(symbols, 0xffffffff81000fff, "last_one", "[kernel]");
	assert_not_found(symbols, 0xffffffff82000000);
	assert_found(symbols, 0xffffffff83000050, "init_one", "[kernel]");
	assert_not_found(symbols, 0xffffffffb0000000);
	assert_not_found(symbols, UINT64_MAX);
	kernel_symbols_free(symbols);
}

static void the_best_of_several_kernel_names_is_chosen(void **state)
{
	struct kernel_symbols *symbols = load(kallsyms);

	(void)state;
	assert_found(symbols, 0xffffffff81000180, "read", "[kernel]");
	kernel_symbols_free(symbols);
}

static void modules_have_names_and_ends(void **state)
{
	struct kernel_symbols *symbols = load(kallsyms);
	struct kernel_symbol symbol;

	(void)state;
	assert_found(symbols, 0xffffffffc0000fff, "mod_first", "mod");
	assert_found(symbols, 0xffffffffc0001fff, "mod_second", "mod");
	assert_found(symbols, 0xffffffffc0002010, NULL, "mod");
	assert_not_found(symbols, 0xffffffffc0004000);
	assert_int_equal(kernel_symbols_find(symbols, 0xffffffffc0300010, &symbol), 0);
	assert_null(symbol.name);
	assert_string_equal(symbol.module, "nameless");
	assert_int_equal(symbol.offset, 0x10);
	kernel_symbols_free(symbols);
}

static void bpf_programs_and_kernel_pages_are_no_modules(void **state)
{
	struct kernel_symbols *symbols = load(kallsyms);

	(void)state;
	assert_found(symbols, 0xffffffffc0100abc, "bpf_prog_1", "[bpf]");
	assert_found(symbols, 0xffffffffc0200110, "kprobe_page", "[kernel]");
	assert_not_found(symbols, 0xffffffffc0201000);
	kernel_symbols_free(symbols);
}

static void added_symbols_go_first_and_the_latest_wins(void **state)
{
	struct kernel_symbols *symbols = load(kallsyms);

	(void)state;
	assert_int_equal(kernel_symbols_add(symbols, 0xffffffffc0100a00, 0x100, "bpf_prog_2"), 0);
	assert_int_equal(kernel_symbols_add(symbols, 0xffffffffc0100a00, 0x10, "bpf_prog_3"), 0);
	assert_found(symbols, 0xffffffffc0100a05, "bpf_prog_3", "[bpf]");
	assert_found(symbols, 0xffffffffc0100a15, "bpf_prog_2", "[bpf]");
	assert_found(symbols, 0xffffffffc0100b00, "bpf_prog_1", "[bpf]");
	kernel_symbols_free(symbols);
}

static void zero_addresses_mean_restricted(void **state)
{
	struct kernel_symbols *symbols = load("0000000000000000 T _stext\n"
					      "0000000000000000 t x\t[mod]\n");

	(void)state;
	assert_true(kernel_symbols_is_restricted(symbols));
	assert_not_found(symbols, 0);
	kernel_symbols_free(symbols);
	symbols = load(kallsyms);
	assert_false(kernel_symbols_is_restricted(symbols));
	kernel_symbols_free(symbols);
	symbols = load("");
	assert_false(kernel_symbols_is_restricted(symbols));
	kernel_symbols_free(symbols);
}

static void malformed_lines_are_skipped(void **state)
{
	struct kernel_symbols *symbols = load("\n \nxyz\nffffffff81000000\nffffffff81000000 \n"
					      "ffffffff81000000 T\nffffffff81000000 T \n"
					      "ffffffff81000000 T \t[mod]\n"
					      "11112222333344445 T too_long\n"
					      "ffffffff81000000 T good");

	(void)state;
	assert_found(symbols, 0xffffffff81000000, "good", "[kernel]");
	kernel_symbols_free(symbols);
}

static void files_that_are_not_there_name_nothing(void **state)
{
	struct kernel_symbols *symbols = make();

	(void)state;
	assert_int_equal(kernel_symbols_load(symbols, "/nonexistent"), 0);
	assert_not_found(symbols, 0xffffffff81000000);
	assert_false(kernel_symbols_is_restricted(symbols));
	kernel_symbols_free(symbols);
}

static void write_proc(const char *folder, const char *name, const char *content)
{
	char path[TEST_PATH_BYTES + 32];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(content, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void remove_folder(const char *folder)
{
	char command[TEST_PATH_BYTES + 32];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
}

/* The list of the kernel is long: it is read again only for other addresses. */
static void lists_are_read_again_for_another_address(void **state)
{
	struct kernel_symbols *symbols = make();
	char folder[TEST_PATH_BYTES];

	(void)state;
	test_folder_make(folder);
	write_proc(folder, "kallsyms", "ffffffff81000000 T first\n");
	write_proc(folder, "modules", modules);
	assert_int_equal(kernel_symbols_load(symbols, folder), 0);
	assert_found(symbols, 0xffffffff81000000, "first", "[kernel]");
	assert_found(symbols, 0xffffffffc0000010, NULL, "mod");
	write_proc(folder, "kallsyms",
		   "ffffffff81000000 T second\nffffffffc0500000 t late_one\t[late]\n");
	write_proc(folder, "modules", "late 4096 0 - Live 0xffffffffc0500000\n");
	assert_int_equal(kernel_symbols_want(symbols, 0xffffffff81000180), 0);
	assert_int_equal(kernel_symbols_load(symbols, folder), 0);
	assert_found(symbols, 0xffffffff81000000, "first", "[kernel]");
	assert_not_found(symbols, 0xffffffffc0500010);
	assert_int_equal(kernel_symbols_want(symbols, 0xffffffff81000111), 0);
	assert_int_equal(kernel_symbols_load(symbols, folder), 0);
	assert_found(symbols, 0xffffffff81000111, "second", "[kernel]");
	assert_found(symbols, 0xffffffff81000000, "second", "[kernel]");
	assert_found(symbols, 0xffffffffc0500010, "late_one", "late");
	assert_not_found(symbols, 0xffffffffc0000010); /* that module is gone */
	kernel_symbols_free(symbols);
	remove_folder(folder);
}

/* The file is read in pieces. */
static void lines_of_all_lengths_are_read(void **state)
{
	struct kernel_symbols *symbols = kernel_symbols_new();
	_cleanup_(text_release) struct text list = {0};
	char folder[TEST_PATH_BYTES];

	(void)state;
	for (uint64_t i = 0; i < 3000; i++) {
		text_printf(&list, "%016" PRIx64 " t f%0*" PRIu64 "\n", 0xffffffff81000000 + 16 * i,
			    (int)(i % 500) + 1, i);
		assert_int_equal(kernel_symbols_want(symbols, 0xffffffff81000003 + 16 * i), 0);
	}
	text_append_string(&list, "ffffffff81000001 t ");
	for (int i = 0; i < 5000; i++)
		text_append_char(&list, 'x');
	text_append_string(&list, "\nffffffff81000002 t end");
	assert_false(list.failed);
	test_folder_make(folder);
	write_proc(folder, "kallsyms", list.data);
	assert_int_equal(kernel_symbols_load(symbols, folder), 0);
	for (uint64_t i = 1; i < 3000; i++) {
		char name[600];

		snprintf(name, sizeof(name), "f%0*" PRIu64, (int)(i % 500) + 1, i);
		assert_found(symbols, 0xffffffff81000003 + 16 * i, name, "[kernel]");
	}
	assert_found(symbols, 0xffffffff81000003, "end", "[kernel]");
	kernel_symbols_free(symbols);
	remove_folder(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_text_ends_at_its_bounds),
		cmocka_unit_test(the_best_of_several_kernel_names_is_chosen),
		cmocka_unit_test(modules_have_names_and_ends),
		cmocka_unit_test(bpf_programs_and_kernel_pages_are_no_modules),
		cmocka_unit_test(added_symbols_go_first_and_the_latest_wins),
		cmocka_unit_test(zero_addresses_mean_restricted),
		cmocka_unit_test(malformed_lines_are_skipped),
		cmocka_unit_test(files_that_are_not_there_name_nothing),
		cmocka_unit_test(lists_are_read_again_for_another_address),
		cmocka_unit_test(lines_of_all_lengths_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
