#include "objfile/function_search.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/text.h"
#include "objfile/demangle.h"

/* clang-format off */
#include "unit.h"
#include "elf_writer.h"
#include "test_folder.h"
/* clang-format on */

#define TEXT_ADDRESS 0x1000

/* push %rbp; mov %rsp,%rbp; mov $1,%eax; pop %rbp; ret; and one that is no instruction in 64-bit code */
static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xb8, 1, 0, 0, 0, 0x5d, 0xc3, 0x06, 0x90};

struct wanted_symbol {
	const char *name;
	uint64_t offset; /* in the text */
	uint64_t size;
	unsigned char type;
	uint16_t section; /* 0: it is somewhere else */
};

static const struct wanted_symbol symbols[] = {
	{"parse", 0, sizeof(code), STT_FUNC, 1},
	{"parse@@V2", 0, sizeof(code), STT_FUNC, 1},
	{"twin", 0x40, 16, STT_FUNC, 1},
	{"twin", 0x60, 16, STT_FUNC, 1},
	{"alias", 0x60, 16, STT_FUNC, 1},
	{"chosen", 0x80, 16, STT_GNU_IFUNC, 1},
	{"label", 0xa0, 0, STT_NOTYPE, 1},
	{"imported", 0, 0, STT_FUNC, 0},
	{"variable", 0x40, 8, STT_OBJECT, 1},
	{"versioned@@V1", 0xc0, 8, STT_FUNC, 1},
	/* ns::one(int), ns::two(int) and (int, char const*), ns::whole() and a part of it, ns::left() of which a copy
	   is left, a static ns::twin() of two files, ns::Class::Class(), whose two symbols are one function, and two
	   operators. */
	{"_ZN2ns3oneEi", 0x10, 8, STT_FUNC, 1},
	{"_ZN2ns3oneEi.cold", 0xf0, 8, STT_FUNC, 1},
	{"_ZN2ns3twoEi", 0x18, 8, STT_FUNC, 1},
	{"_ZN2ns3twoEiPKc", 0x20, 8, STT_FUNC, 1},
	{"_ZN2ns5wholeEv", 0x28, 8, STT_FUNC, 1},
	{"_ZN2ns5wholeEv.part.0", 0x30, 8, STT_FUNC, 1},
	{"_ZN2ns4leftEv.isra.0", 0x38, 8, STT_FUNC, 1},
	{"_ZN2nsL4twinEv", 0x50, 8, STT_FUNC, 1},
	{"_ZN2nsL4twinEv", 0x58, 8, STT_FUNC, 1},
	{"_ZN2ns5ClassC1Ev", 0x70, 8, STT_FUNC, 1},
	{"_ZN2ns5ClassC2Ev", 0x70, 8, STT_FUNC, 1},
	{"_ZN2ns5ClassplEi", 0x78, 8, STT_FUNC, 1},
	{"_ZN2ns5ClassltERKS0_", 0x90, 8, STT_FUNC, 1},
	{"_ZN2ns5scaleISt6vectorIiSaIiEEEET_S3_", 0x98, 8, STT_FUNC, 1},
	{"_ZN12_GLOBAL__N_16hiddenEv@@V1", 0xa8, 8, STT_FUNC, 1},
	{"_Z5parsei", 0xb0, 8, STT_FUNC, 1},
};

struct file {
	struct objfile *objfile;
	uint64_t text_offset;
	struct probe_point_list found;
	struct error error;
};

static int set_up(void **state)
{
	struct file *file = calloc(1, sizeof(*file));
	struct elf_writer writer = {0};
	struct text bytes = {0};
	struct text names = {0};
	uint8_t text[0x100] = {0};
	Elf64_Sym symbol = {0};
	int fd;

	assert_non_null(file);
	memcpy(text, code, sizeof(code));
	text_append(&bytes, &symbol, sizeof(symbol));
	text_append_char(&names, '\0');
	for (size_t i = 0; i < ARRAY_LENGTH(symbols); i++) {
		symbol = (Elf64_Sym){
			.st_name = (uint32_t)names.length,
			.st_info = ELF64_ST_INFO(STB_LOCAL, symbols[i].type),
			.st_shndx = symbols[i].section,
			.st_value = TEXT_ADDRESS + symbols[i].offset,
			.st_size = symbols[i].size,
		};
		text_append(&bytes, &symbol, sizeof(symbol));
		text_append(&names, symbols[i].name, strlen(symbols[i].name) + 1);
	}
	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT_ADDRESS,
						     .data = text,
						     .size = sizeof(text)});
	elf_writer_add_symbols(&writer, bytes.data, bytes.length, names.data, names.length);
	fd = elf_writer_open(&writer);
	assert_int_equal(objfile_open(fd, "/test", NULL, &file->objfile, NULL), 0);
	close(fd);
	text_release(&bytes);
	text_release(&names);
	file->text_offset = writer.offsets[0];
	*state = file;
	return 0;
}

static int tear_down(void **state)
{
	struct file *file = *state;

	probe_point_list_release(&file->found);
	objfile_unref(file->objfile);
	free(file);
	return 0;
}

static int search(struct file *file, const char *name, uint64_t offset)
{
	struct function_query query = {.name = name, .offset = offset};

	probe_point_list_release(&file->found);
	file->found = (struct probe_point_list){0};
	file->error.message[0] = '\0';
	return function_search(file->objfile, &query, &file->found, &file->error);
}

static void expect_points(struct file *file, size_t num_points, uint64_t first, uint64_t last)
{
	assert_int_equal(file->found.points.length, num_points);
	assert_int_equal(file->found.points.items[0].file_offset, file->text_offset + first);
	assert_int_equal(file->found.points.items[num_points - 1].file_offset,
			 file->text_offset + last);
}

static void expect_said(struct file *file, const char *text)
{
	if (!strstr(file->error.message, text))
		fail_msg("said: %s", file->error.message);
}

static void functions_of_one_name_are_all_found_and_aliases_once(void **state)
{
	struct file *file = *state;

	assert_int_equal(search(file, "twin", 0), 0);
	expect_points(file, 2, 0x40, 0x60);
	assert_int_equal(search(file, "alias", 0), 0);
	expect_points(file, 1, 0x60, 0x60);
	assert_int_equal(search(file, "parse", 0), 0);
	expect_points(file, 1, 0, 0);
}

static void a_version_is_no_part_of_the_name(void **state)
{
	struct file *file = *state;

	assert_int_equal(search(file, "versioned", 0), 0);
	expect_points(file, 1, 0xc0, 0xc0);
	assert_int_equal(search(file, "label", 0), 0);
	expect_points(file, 1, 0xa0, 0xa0);
}

static void what_is_no_function_here_is_not_found(void **state)
{
	struct file *file = *state;

	assert_int_equal(search(file, "imported", 0), -ENOENT);
	assert_int_equal(search(file, "variable", 0), -ENOENT);
	assert_int_equal(search(file, "pars", 0), -ENOENT);
	expect_said(file, "/test has no function 'pars'; did you mean 'parse'");
}

static void what_is_chosen_at_run_time_cannot_be_probed(void **state)
{
	struct file *file = *state;

	assert_int_equal(search(file, "chosen", 0), -ENXIO);
	expect_said(file, "IFUNC");
}

static void an_offset_is_where_an_instruction_starts(void **state)
{
	static const uint64_t starts[] = {0, 1, 4, 9, 10};
	struct file *file = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(starts); i++) {
		assert_int_equal(search(file, "parse", starts[i]), 0);
		expect_points(file, 1, starts[i], starts[i]);
	}
	for (uint64_t offset = 5; offset < 9; offset++)
		assert_int_equal(search(file, "parse", offset), -EILSEQ);
	expect_said(
		file,
		"parse+0x8 is in the middle of an instruction, which starts at +0x4; the next one starts at +0x9");
	assert_int_equal(search(file, "parse", 11), -EILSEQ);
	assert_int_equal(search(file, "parse", 12), -EILSEQ);
	expect_said(file, "cannot decode the one at +0xb");
}

static void an_offset_is_within_the_function(void **state)
{
	struct file *file = *state;

	assert_int_equal(search(file, "parse", sizeof(code)), -ERANGE);
	expect_said(file, "parse+0xd is beyond the function, which has 0xd bytes");
	assert_int_equal(search(file, "parse", UINT64_MAX), -ERANGE);
	assert_int_equal(search(file, "twin", 16), -ERANGE);
}

/* ---- C++ ---------------------------------------------------------------------------------- */

static void a_demangled_name_is_found_with_parameters_and_without(void **state)
{
	static const struct {
		const char *name;
		uint64_t offset;
	} cases[] = {
		{"_ZN2ns3oneEi", 0x10},
		{"ns::one", 0x10},
		{"ns::one(int)", 0x10},
		{"ns::two(int)", 0x18},
		{"ns::two(int, char const*)", 0x20},
		{"ns::two(int,char const *)", 0x20},
		{"ns::Class::Class", 0x70},
		{"ns::Class::Class()", 0x70},
		{"ns::Class::operator+", 0x78},
		{"ns::Class::operator+(int)", 0x78},
		{"ns::Class::operator<", 0x90},
		{"ns::Class::operator<(ns::Class const&)", 0x90},
		{"ns::scale<std::vector<int, std::allocator<int>>>", 0x98},
		{"ns::scale<std::vector<int, std::allocator<int> > >(std::vector<int, std::allocator<int> >)",
		 0x98},
		{"(anonymous namespace)::hidden", 0xa8},
		{"(anonymous namespace)::hidden()", 0xa8},
		{"parse", 0}, /* and not parse(int), as the linker knows one of that name */
		{"parse(int)", 0xb0},
	};
	struct file *file = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		if (search(file, cases[i].name, 0))
			fail_msg("%s: %s", cases[i].name, file->error.message);
		expect_points(file, 1, cases[i].offset, cases[i].offset);
	}
	assert_int_equal(search(file, "ns::twin", 0), 0);
	expect_points(file, 2, 0x50, 0x58);
}

static void several_of_a_demangled_name_are_listed(void **state)
{
	struct file *file = *state;

	assert_int_equal(search(file, "ns::two", 0), -ENOTUNIQ);
	expect_said(file,
		    "several functions are called 'ns::two': '_ZN2ns3twoEi' (ns::two(int)), "
		    "'_ZN2ns3twoEiPKc' (ns::two(int, char const*)); give the mangled name of one");
	assert_int_equal(search(file, "ns::whole()", 0), -ENOTUNIQ);
	expect_said(file, "'_ZN2ns5wholeEv' (ns::whole()), '_ZN2ns5wholeEv.part.0' (ns::whole())");
	assert_int_equal(search(file, "_ZN2ns5wholeEv.part.0", 0), 0);
	expect_points(file, 1, 0x30, 0x30);
	assert_int_equal(search(file, "ns::left", 0), -ENOTUNIQ);
	expect_said(file, "'ns::left' exists only as clones made by the compiler: "
			  "'_ZN2ns4leftEv.isra.0' (ns::left())");
}

static void names_that_come_near_are_demangled(void **state)
{
	struct file *file = *state;

	assert_int_equal(search(file, "ns::onne", 0), -ENOENT);
	expect_said(file, "did you mean 'ns::one'");
	assert_int_equal(search(file, "ns::two(int, char*)", 0), -ENOENT);
	assert_int_equal(search(file, "ns::one(in)", 0), -ENOENT);
	expect_said(file, "did you mean 'ns::one(int)'");
	assert_int_equal(search(file, "_ZN2ns3onEi", 0), -ENOENT);
	expect_said(file, "did you mean '_ZN2ns3oneEi'");
}

/* A program that a compiler has just made. The caller closes it. */
static int compile(const char *folder, const char *source)
{
	char file[] = __FILE__;
	char *here = realpath(dirname(file), NULL);
	char command[2048];
	char path[TEST_PATH_BYTES + 16];
	int fd;

	if (system("command -v g++ >/dev/null")) {
		print_message("needs g++\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/program", folder);
	snprintf(command, sizeof(command), "g++ -std=c++17 -O2 -g -o %s %s/../../workloads/%s",
		 path, here, source);
	free(here);
	assert_int_equal(system(command), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	return fd;
}

static size_t search_all_symbols(struct file *file, Elf *elf, bool with_parameters)
{
	size_t num_found = 0;

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr header;
		GElf_Sym symbol;

		assert_non_null(gelf_getshdr(scn, &header));
		for (int i = 0; header.sh_type == SHT_SYMTAB &&
				gelf_getsym(elf_getdata(scn, NULL), i, &symbol);
		     i++) {
			const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
			_cleanup_free_ char *demangled = demangle_symbol(name, with_parameters);
			int err;

			if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol_is_mangled(name))
				continue;
			assert_string_not_equal(demangled, name);
			err = search(file, demangled, 0);
			if (symbol_is_clone(name) || (err == -ENOTUNIQ && !with_parameters)) {
				assert_int_equal(err, -ENOTUNIQ);
				expect_said(file, name);
				continue;
			}
			if (err || file->found.points.length != 1 ||
			    file->found.points.items[0].file_offset != symbol.st_value)
				fail_msg("%s: %d: %s", demangled, err, file->error.message);
			num_found++;
		}
	}
	return num_found;
}

/* Code is in the file where it is in memory, as linkers lay it out. */
static void every_function_of_a_cxx_program_is_found_by_its_demangled_name(void **state)
{
	struct file *file = *state;
	char folder[TEST_PATH_BYTES];
	int fd;

	test_folder_make(folder);
	fd = compile(folder, "overloads.cc");
	objfile_unref(file->objfile);
	assert_int_equal(objfile_open(fd, "/test", folder, &file->objfile, NULL), 0);
	close(fd);
	assert_true(search_all_symbols(file, objfile_get_elf(file->objfile), true) >= 9);
	assert_true(search_all_symbols(file, objfile_get_elf(file->objfile), false) >= 7);
	assert_int_equal(search(file, "shop::pay", 0), -ENOTUNIQ);
	expect_said(file, "'_ZN4shop3payEi' (shop::pay(int))");
	assert_int_equal(search(file, "use", 0), -ENOENT);
	expect_said(file, "'use' was inlined at every call");
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(functions_of_one_name_are_all_found_and_aliases_once),
		TEST(a_version_is_no_part_of_the_name),
		TEST(what_is_no_function_here_is_not_found),
		TEST(what_is_chosen_at_run_time_cannot_be_probed),
		TEST(an_offset_is_where_an_instruction_starts),
		TEST(an_offset_is_within_the_function),
		TEST(a_demangled_name_is_found_with_parameters_and_without),
		TEST(several_of_a_demangled_name_are_listed),
		TEST(names_that_come_near_are_demangled),
		TEST(every_function_of_a_cxx_program_is_found_by_its_demangled_name),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
