/*
 * Rules that come from instructions, compared with those of .eh_frame, over the code of libc and of
 * libdw.
 */
#include "unit.h"

#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <gnu/libc-version.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "objfile/objfile.h"
#include "unwind/frame_reader.h"
#include "unwind/unwind_table.h"
#include "unwind/x86_64/code_rules.h"

struct tally {
	size_t num_same;
	size_t num_different;
};

static void compare_rows(const struct unwind_table *table, const struct code_stretches *stretches,
			 struct tally *tally)
{
	array_for_each (&stretches->rows, row) {
		struct unwind_rule rule;

		/* .eh_frame may go by rbp where rsp would do as well. */
		if (unwind_table_find(table, row->elf_address, &rule) ||
		    rule.cfa_op != row->rule.cfa_op)
			continue;
		if (rule.cfa_offset == row->rule.cfa_offset)
			tally->num_same++;
		else
			tally->num_different++;
	}
}

static void compare_section(Elf_Scn *scn, const GElf_Shdr *header,
			    const struct frame_reader *reader, const struct unwind_table *table,
			    struct tally *tally)
{
	struct code_stretches stretches = {0};
	Elf_Data *data = elf_rawdata(scn, NULL);
	struct code_rules *rules;

	assert_non_null(data);
	rules = code_rules_new(data->d_buf, data->d_size, header->sh_addr);
	assert_non_null(rules);
	array_for_each (&reader->functions, function)
		assert_int_equal(code_rules_add_start(rules, function->start, CODE_START_KNOWN), 0);
	assert_int_equal(code_rules_follow(rules), 0);
	assert_int_equal(code_rules_get(rules, &stretches), 0);
	compare_rows(table, &stretches, tally);
	code_rules_free(rules);
	code_stretches_release(&stretches);
}

/* The library that holds the function. */
static void compare_library(uintptr_t function, struct tally *tally)
{
	struct frame_reader reader = {0};
	struct frame_section section;
	struct unwind_table *table;
	struct objfile *objfile;
	struct error error = {0};
	size_t names;
	Dl_info library;
	Elf *elf;
	int fd;

	assert_true(dladdr((void *)function, &library));
	fd = open(library.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(objfile_open(fd, library.dli_fname, NULL, &objfile, &error), 0);
	assert_int_equal(unwind_table_new(objfile, &table, &error), 0);
	elf = objfile_get_elf(objfile);
	assert_int_equal(frame_section_find_eh_frame(elf, &section), 0);
	assert_int_equal(frame_reader_add_section(&reader, &section), 0);
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr header;

		assert_non_null(gelf_getshdr(scn, &header));
		if (strcmp(elf_strptr(elf, names, header.sh_name), ".text") == 0)
			compare_section(scn, &header, &reader, table, tally);
	}
	frame_reader_release(&reader);
	unwind_table_free(table);
	objfile_unref(objfile);
	close(fd);
}

static void rules_are_those_of_eh_frame_in_all_but_one_row_of_a_thousand(void **state)
{
	struct tally tally = {0};

	(void)state;
	compare_library((uintptr_t)gnu_get_libc_version, &tally);
	compare_library((uintptr_t)dwarf_getlocation, &tally);
	assert_true(tally.num_same > 10000);
	/* A few functions of libc that are written by hand are described wrong. */
	assert_true(tally.num_different * 1000 <= tally.num_same);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_those_of_eh_frame_in_all_but_one_row_of_a_thousand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
