/*
 * Function bounds of .eh_frame, compared with the symbol table of a program compiled here and now.
 */
#include "objfile/objfile.h"
#include "test_folder.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "elf_writer.h"

static const char source[] =
	"#include <stdio.h>\\n"
	"__attribute__((noinline)) int twice(int x) { return printf(\"%d\", x) * 2; }\\n"
	"__attribute__((noinline)) int thrice(int x) { return twice(x) + twice(x + 1); }\\n"
	"int main(int argc, char **argv) { (void)argv; return thrice(argc); }\\n";

struct program {
	int fd;
	Elf *elf;
};

static int set_up(void **state)
{
	struct program *program = calloc(1, sizeof(*program));
	char path[TEST_PATH_BYTES];
	char command[1024];
	int fd;

	snprintf(path, sizeof(path), "%s/program-XXXXXX", test_parent_folder());
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command),
		 "printf '%%b' '%s' | sed 's/%%d/%%d/' | cc -O1 -fasynchronous-unwind-tables -x c "
		 "-o %s - 2>/dev/null",
		 source, path);
	program->fd = system(command) == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	unlink(path);
	elf_version(EV_CURRENT);
	program->elf = program->fd >= 0 ? elf_begin(program->fd, ELF_C_READ, NULL) : NULL;
	*state = program;
	return 0;
}

static int tear_down(void **state)
{
	struct program *program = *state;

	elf_end(program->elf);
	close(program->fd);
	free(program);
	return 0;
}

static struct program *need_program(void **state)
{
	struct program *program = *state;

	if (!program->elf) {
		print_message("needs a C compiler\n");
		skip();
	}
	return program;
}

static GElf_Sym find_symbol(Elf *elf, const char *name)
{
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr header;
		GElf_Sym symbol;

		assert_non_null(gelf_getshdr(scn, &header));
		if (header.sh_type != SHT_SYMTAB)
			continue;
		for (int i = 0; gelf_getsym(elf_getdata(scn, NULL), i, &symbol); i++)
			if (string_equals(elf_strptr(elf, header.sh_link, symbol.st_name), name))
				return symbol;
	}
	fail_msg("no symbol %s", name);
	return (GElf_Sym){0};
}

static void assert_starts(struct frame_info *info, const GElf_Sym *symbol)
{
	uint64_t start;

	for (uint64_t i = 0; i < symbol->st_size; i++) {
		assert_int_equal(frame_info_find_function(info, symbol->st_value + i, &start), 0);
		assert_int_equal(start, symbol->st_value);
	}
}

static void functions_start_where_their_symbols_do(void **state)
{
	static const char *const names[] = {"main", "twice", "thrice", "_start"};
	struct program *program = need_program(state);
	struct frame_info *info;

	assert_int_equal(frame_info_new(program->elf, &info), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		GElf_Sym symbol = find_symbol(program->elf, names[i]);

		assert_starts(info, &symbol);
	}
	frame_info_free(info);
}

static void an_address_outside_of_code_is_in_no_function(void **state)
{
	struct program *program = need_program(state);
	struct frame_info *info;
	uint64_t start;

	assert_int_equal(frame_info_new(program->elf, &info), 0);
	assert_int_equal(frame_info_find_function(info, 0, &start), -ENOENT);
	assert_int_equal(frame_info_find_function(info, UINT64_MAX, &start), -ENOENT);
	assert_int_equal(frame_info_is_outermost(info, 0), FRAME_NOT_DESCRIBED);
	frame_info_free(info);
}

static void start_is_outermost_and_main_is_not(void **state)
{
	struct program *program = need_program(state);
	GElf_Sym start = find_symbol(program->elf, "_start");
	GElf_Sym main_symbol = find_symbol(program->elf, "main");
	struct frame_info *info;

	assert_int_equal(frame_info_new(program->elf, &info), 0);
	assert_int_equal(frame_info_is_outermost(info, start.st_value + start.st_size - 1),
			 FRAME_IS_OUTERMOST);
	assert_int_equal(frame_info_is_outermost(info, main_symbol.st_value), FRAME_HAS_CALLER);
	frame_info_free(info);
}

static void section_headers_are_not_needed(void **state)
{
	struct program *program = need_program(state);
	GElf_Sym main_symbol = find_symbol(program->elf, "main");
	GElf_Sym start = find_symbol(program->elf, "_start");
	_cleanup_(text_release) struct text bytes = {0};
	struct frame_info *info;
	Elf64_Ehdr header;
	Elf *elf;

	assert_int_equal(lseek(program->fd, 0, SEEK_SET), 0);
	assert_int_equal(file_read_fd(program->fd, 64u << 20, &bytes), 0);
	memcpy(&header, bytes.data, sizeof(header));
	header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
	memcpy(bytes.data, &header, sizeof(header));
	elf = elf_memory(bytes.data, bytes.length);
	assert_int_equal(frame_info_new(elf, &info), 0);
	assert_starts(info, &main_symbol);
	assert_int_equal(frame_info_is_outermost(info, start.st_value + start.st_size - 1),
			 FRAME_IS_OUTERMOST);
	frame_info_free(info);
	elf_end(elf);
}

static void a_file_without_call_frame_information_has_no_functions(void **state)
{
	struct elf_writer writer = {0};
	struct text bytes = elf_writer_write(&writer);
	Elf *elf = elf_memory(bytes.data, bytes.length);
	struct frame_info *info;
	uint64_t start;

	(void)state;
	assert_int_equal(frame_info_new(elf, &info), 0);
	assert_int_equal(frame_info_find_function(info, 0x1000, &start), -ENOENT);
	assert_int_equal(frame_info_is_outermost(info, 0x1000), FRAME_NOT_DESCRIBED);
	frame_info_free(info);
	elf_end(elf);
	text_release(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_start_where_their_symbols_do),
		cmocka_unit_test(an_address_outside_of_code_is_in_no_function),
		cmocka_unit_test(start_is_outermost_and_main_is_not),
		cmocka_unit_test(section_headers_are_not_needed),
		cmocka_unit_test(a_file_without_call_frame_information_has_no_functions),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
