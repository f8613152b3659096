#include "test_folder.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "elf_writer.h"
#include "objfile/objfile.h"

#define PLT_ADDRESS  0x1000
#define SLOT_ADDRESS 0x3000 /* of the first slot */
#define TEXT_ADDRESS 0x2000

/* Relocations of the slots, one a word, and what their symbols are. */
static const char names[] = "\0abs\0_Z3foov\0strlen";
static const Elf64_Sym symbols[] = {
	{0},
	{.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)},
	{.st_name = 5, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)},
	{.st_name = 13,
	 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC),
	 .st_shndx = 1,
	 .st_value = TEXT_ADDRESS,
	 .st_size = 16},
};

static struct objfile *open_file(struct elf_writer *writer)
{
	int fd = elf_writer_open(writer);
	struct objfile *objfile;

	assert_int_equal(objfile_open(fd, "/test", NULL, &objfile, NULL), 0);
	close(fd);
	return objfile;
}

/* A program with these stubs in a section of this name. */
static struct objfile *open_with_stubs(const char *section, uint64_t stub_size, const void *code,
				       size_t size, const Elf64_Rela *relocations,
				       size_t num_relocations, uint16_t machine)
{
	struct elf_writer writer = {.machine = machine};
	uint16_t strings;
	uint16_t dynsym;

	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT_ADDRESS,
						     .size = 0x100});
	strings = elf_writer_add(&writer, (struct elf_section){.name = ".dynstr",
							       .type = SHT_STRTAB,
							       .data = names,
							       .size = sizeof(names)});
	dynsym = elf_writer_add(&writer, (struct elf_section){.name = ".dynsym",
							      .type = SHT_DYNSYM,
							      .data = symbols,
							      .size = sizeof(symbols),
							      .link = strings,
							      .entry_size = sizeof(Elf64_Sym)});
	elf_writer_add(&writer, (struct elf_section){.name = ".rela.plt",
						     .type = SHT_RELA,
						     .flags = SHF_ALLOC,
						     .data = relocations,
						     .size = num_relocations * sizeof(Elf64_Rela),
						     .link = dynsym,
						     .entry_size = sizeof(Elf64_Rela)});
	elf_writer_add(&writer, (struct elf_section){.name = section,
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = PLT_ADDRESS,
						     .data = code,
						     .size = size,
						     .entry_size = stub_size});
	return open_file(&writer);
}

static const Elf64_Rela x86_64_relocations[] = {
	{SLOT_ADDRESS, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0},
	{SLOT_ADDRESS + 8, ELF64_R_INFO(2, R_X86_64_GLOB_DAT), 0},
	{SLOT_ADDRESS + 16, ELF64_R_INFO(0, R_X86_64_IRELATIVE), TEXT_ADDRESS},
	{SLOT_ADDRESS + 24, ELF64_R_INFO(0, R_X86_64_IRELATIVE), TEXT_ADDRESS + 0x40},
	{SLOT_ADDRESS + 32, ELF64_R_INFO(0, R_X86_64_RELATIVE), TEXT_ADDRESS},
	{SLOT_ADDRESS + 40, ELF64_R_INFO(4, R_X86_64_JUMP_SLOT), 0}, /* there is no symbol 4 */
};

static struct objfile *open_x86_64(const char *section, uint64_t stub_size, const void *code,
				   size_t size)
{
	return open_with_stubs(section, stub_size, code, size, x86_64_relocations,
			       ARRAY_LENGTH(x86_64_relocations), EM_X86_64);
}

static const char *name_at(struct objfile *objfile, uint64_t elf_address)
{
	struct symbol symbol;
	int err = objfile_find_symbol(objfile, elf_address, &symbol);

	if (err) {
		assert_int_equal(err, -ENOENT);
		return "";
	}
	assert_true(symbol.is_size_known);
	return symbol.name;
}

static void stubs_are_named_by_the_slot_they_jump_through(void **state)
{
	static const uint8_t code[] = {
		/* 1000: push 0x2fea(%rip); jmp *0x2fec(%rip): the first, which is no stub */
		0xff, 0x35, 0xea, 0x2f, 0, 0, 0xff, 0x25, 0xec, 0x2f, 0, 0, 0x0f, 0x1f, 0x40, 0,
		/* 1010: jmp *3000; push $0; jmp 1000 */
		0xff, 0x25, 0xea, 0x1f, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff,
		/* 1020: jmp *3008 */
		0xff, 0x25, 0xe2, 0x1f, 0, 0, 0x68, 1, 0, 0, 0, 0xe9, 0xd0, 0xff, 0xff, 0xff,
		/* 1030: jmp *3010, 1040: jmp *3018 */
		0xff, 0x25, 0xda, 0x1f, 0, 0, 0x68, 2, 0, 0, 0, 0xe9, 0xc0, 0xff, 0xff, 0xff, 0xff,
		0x25, 0xd2, 0x1f, 0, 0, 0x68, 3, 0, 0, 0, 0xe9, 0xb0, 0xff, 0xff, 0xff,
		/* 1050: jmp *3020, 1060: jmp *3028: no function */
		0xff, 0x25, 0xca, 0x1f, 0, 0, 0x68, 4, 0, 0, 0, 0xe9, 0xa0, 0xff, 0xff, 0xff, 0xff,
		0x25, 0xc2, 0x1f, 0, 0, 0x68, 5, 0, 0, 0, 0xe9, 0x90, 0xff, 0xff, 0xff};
	struct objfile *objfile = open_x86_64(".plt", 0, code, sizeof(code));

	(void)state;
	assert_string_equal(name_at(objfile, 0x100f), "");
	assert_string_equal(name_at(objfile, 0x1010), "abs@plt");
	assert_string_equal(name_at(objfile, 0x101f), "abs@plt");
	assert_string_equal(name_at(objfile, 0x1020), "_Z3foov@plt");
	assert_string_equal(name_at(objfile, 0x1030), "strlen@plt");
	assert_string_equal(name_at(objfile, 0x1040), "*ABS*+0x2040@plt");
	assert_string_equal(name_at(objfile, 0x1050), "");
	assert_string_equal(name_at(objfile, 0x1060), "");
	objfile_unref(objfile);
}

static void stubs_for_indirect_branch_tracking_are_read(void **state)
{
	static const uint8_t code[] = {
		/* 1000: endbr64; bnd jmp *3000 */
		0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xf5, 0x1f, 0, 0, 0x0f, 0x1f, 0x44, 0, 0,
		/* 1010: endbr64; jmp *3008 */
		0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xee, 0x1f, 0, 0, 0x66, 0x0f, 0x1f, 0x44, 0, 0,
		/* 1020: endbr64; mov $2, %r11d; jmp *3010 */
		0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, 2, 0, 0, 0, 0xff, 0x25, 0xe0, 0x1f, 0, 0,
		/* 1030: endbr64; push $1; jmp elsewhere, 1040: with a number that is too high */
		0xf3, 0x0f, 0x1e, 0xfa, 0x68, 1, 0, 0, 0, 0xe9, 0xe2, 0xff, 0xff, 0xff, 0x66, 0x90,
		0xf3, 0x0f, 0x1e, 0xfa, 0x68, 6, 0, 0, 0, 0xe9, 0xe2, 0xff, 0xff, 0xff, 0x66, 0x90};
	struct objfile *objfile = open_x86_64(".plt.sec", 16, code, sizeof(code));

	(void)state;
	assert_string_equal(name_at(objfile, 0x1004), "abs@plt");
	assert_string_equal(name_at(objfile, 0x1014), "_Z3foov@plt");
	assert_string_equal(name_at(objfile, 0x102a), "strlen@plt");
	assert_string_equal(name_at(objfile, 0x1039), "_Z3foov@plt");
	assert_string_equal(name_at(objfile, 0x1049), "");
	objfile_unref(objfile);
}

static void short_stubs_are_read(void **state)
{
	/* 1000: jmp *3000, 1008: jmp *3008, 1010: truncated */
	static const uint8_t code[] = {0xff, 0x25, 0xfa, 0x1f, 0,    0,    0x66, 0x90, 0xff, 0x25,
				       0xfa, 0x1f, 0,    0,    0x66, 0x90, 0xff, 0x25, 0xf2};
	struct objfile *objfile = open_x86_64(".plt.got", 8, code, sizeof(code));

	(void)state;
	assert_string_equal(name_at(objfile, 0x1000), "abs@plt");
	assert_string_equal(name_at(objfile, 0x1008), "_Z3foov@plt");
	assert_string_equal(name_at(objfile, 0x1010), "");
	objfile_unref(objfile);
}

/* As mold 2.37 writes them, without their size: the second is not named by the first. */
static void short_stubs_of_untold_size_are_read(void **state)
{
	static const uint8_t code[] = {0xff, 0x25, 0xfa, 0x1f, 0, 0, 0xcc, 0xcc,
				       0xff, 0x25, 0xfa, 0x1f, 0, 0, 0xcc, 0xcc};
	struct objfile *objfile = open_x86_64(".plt.got", 0, code, sizeof(code));

	(void)state;
	assert_string_equal(name_at(objfile, 0x1000), "abs@plt");
	assert_string_equal(name_at(objfile, 0x1008), "_Z3foov@plt");
	objfile_unref(objfile);
}

static void code_elsewhere_is_no_stub(void **state)
{
	static const uint8_t code[16] = {0xff, 0x25, 0xfa, 0x1f};
	struct objfile *objfile = open_x86_64(".fast", 16, code, sizeof(code));

	(void)state;
	assert_string_equal(name_at(objfile, 0x1000), "");
	objfile_unref(objfile);
}

static void stubs_of_aarch64_are_read(void **state)
{
	static const Elf64_Rela relocations[] = {
		{0x3008, ELF64_R_INFO(1, R_AARCH64_JUMP_SLOT), 0},
		{0x0ff8, ELF64_R_INFO(2, R_AARCH64_JUMP_SLOT), 0},
	};
	static const uint32_t code[] = {
		/* 1000: adrp x16, 3000; ldr x17, [x16, #8]; add x16, x16, #8; br x17 */
		0xd0000010, 0xf9400611, 0x91002210, 0xd61f0220,
		/* 1010: bti c; adrp x16, 0; ldr x17, [x16, #4088]; add; br x17; nop */
		0xd503245f, 0xf0fffff0, 0xf947fe11, 0x913fe210, 0xd61f0220, 0xd503201f};
	struct objfile *objfile = open_with_stubs(".plt", 0, code, sizeof(code), relocations,
						  ARRAY_LENGTH(relocations), EM_AARCH64);

	(void)state;
	assert_string_equal(name_at(objfile, 0x1000), "abs@plt");
	assert_string_equal(name_at(objfile, 0x100c), "abs@plt");
	assert_string_equal(name_at(objfile, 0x1010), "_Z3foov@plt");
	assert_string_equal(name_at(objfile, 0x1020), "_Z3foov@plt");
	assert_string_equal(name_at(objfile, 0x1024), "");
	objfile_unref(objfile);
}

/* "0000000000001030 <puts@plt>:" */
static unsigned int compare_with_objdump(const char *program)
{
	unsigned int num_stubs = 0;
	struct objfile *objfile;
	char line[4096];
	FILE *output;
	int fd = open(program, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(objfile_open(fd, program, NULL, &objfile, NULL), 0);
	close(fd);
	snprintf(line, sizeof(line), "objdump -d -j .plt -j .plt.sec -j .plt.got %s 2>/dev/null",
		 program);
	output = popen(line, "r");
	assert_non_null(output);
	while (fgets(line, sizeof(line), output)) {
		char name[1024];
		uint64_t address;

		if (sscanf(line, "%lx <%1023[^>]>:", &address, name) != 2 || strlen(name) < 5 ||
		    strcmp(name + strlen(name) - 4, "@plt") != 0)
			continue;
		num_stubs++;
		if (strncmp(name, "*ABS*", 5) == 0) /* ours may be better */
			assert_string_not_equal(name_at(objfile, address + 2), "");
		else
			assert_string_equal(name_at(objfile, address + 2), name);
	}
	assert_true(pclose(output) >= 0);
	objfile_unref(objfile);
	return num_stubs;
}

static void every_linkers_stubs_have_the_names_that_objdump_gives_them(void **state)
{
	static const char *const linkers[] = {"bfd", "gold", "lld", "mold"};
	static const char *const options[] = {"-Wl,-z,lazy", "-Wl,-z,now", "-Wl,-z,lazy,-z,ibtplt",
					      "-static", "-shared -fPIC -fno-plt"};
	char folder[TEST_PATH_BYTES];
	char command[2048];
	unsigned int num_stubs = 0;

	(void)state;
	if (system("command -v objdump cc >/dev/null") != 0) {
		print_message("needs objdump and cc\n");
		skip();
	}
	test_folder_make(folder);
	for (size_t i = 0; i < ARRAY_LENGTH(linkers) * ARRAY_LENGTH(options); i++) {
		char program[TEST_PATH_BYTES + 16];

		snprintf(program, sizeof(program), "%s/program", folder);
		snprintf(
			command, sizeof(command),
			"echo 'int abs(int); int puts(const char *); void *malloc(unsigned long);"
			" void *keep = malloc; int main(int n) { return abs(n) + puts(malloc(n)); }' |"
			" cc -O1 -fno-builtin -w -fuse-ld=%s %s -x c - -o %s 2>/dev/null",
			linkers[i / ARRAY_LENGTH(options)], options[i % ARRAY_LENGTH(options)],
			program);
		if (system(command) == 0)
			num_stubs += compare_with_objdump(program);
	}
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
	assert_true(num_stubs >= 4);
	print_message("%u stubs compared\n", num_stubs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stubs_are_named_by_the_slot_they_jump_through),
		cmocka_unit_test(stubs_for_indirect_branch_tracking_are_read),
		cmocka_unit_test(short_stubs_are_read),
		cmocka_unit_test(short_stubs_of_untold_size_are_read),
		cmocka_unit_test(code_elsewhere_is_no_stub),
		cmocka_unit_test(stubs_of_aarch64_are_read),
		cmocka_unit_test(every_linkers_stubs_have_the_names_that_objdump_gives_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
