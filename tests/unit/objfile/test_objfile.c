#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"
#include "elf_writer.h"
#include "objfile/objfile.h"

#define TEXT_ADDRESS 0x1000
#define TEXT_SIZE    0x1000

/* One symbol to be written. */
struct wanted_symbol {
	const char *name;
	uint64_t address;
	uint64_t size;
	unsigned char bind;
	unsigned char type;
};

/* A symbol table with its names, in the making. */
struct symbol_bytes {
	struct text symbols;
	struct text names;
};

static void symbol_bytes_release(struct symbol_bytes *bytes)
{
	text_release(&bytes->symbols);
	text_release(&bytes->names);
}

static struct symbol_bytes make_symbols(const struct wanted_symbol *wanted, size_t num_wanted)
{
	struct symbol_bytes bytes = {0};
	Elf64_Sym null_symbol = {0};

	text_append(&bytes.symbols, &null_symbol, sizeof(null_symbol));
	text_append_char(&bytes.names, '\0');
	for (size_t i = 0; i < num_wanted; i++) {
		Elf64_Sym symbol = {
			.st_name = (uint32_t)bytes.names.length,
			.st_info = ELF64_ST_INFO(wanted[i].bind, wanted[i].type),
			.st_shndx = 1,
			.st_value = wanted[i].address,
			.st_size = wanted[i].size,
		};

		text_append(&bytes.symbols, &symbol, sizeof(symbol));
		text_append(&bytes.names, wanted[i].name, strlen(wanted[i].name) + 1);
	}
	return bytes;
}

static void add_text(struct elf_writer *writer)
{
	elf_writer_add(writer, (struct elf_section){.name = ".text",
						    .type = SHT_PROGBITS,
						    .flags = SHF_ALLOC | SHF_EXECINSTR,
						    .address = TEXT_ADDRESS,
						    .size = TEXT_SIZE});
}

static void add_symbols(struct elf_writer *writer, uint32_t type, const struct symbol_bytes *bytes)
{
	uint16_t names = elf_writer_add(writer, (struct elf_section){.name = ".strtab",
								     .type = SHT_STRTAB,
								     .data = bytes->names.data,
								     .size = bytes->names.length});

	elf_writer_add(writer, (struct elf_section){.name = ".symtab",
						    .type = type,
						    .data = bytes->symbols.data,
						    .size = bytes->symbols.length,
						    .link = names,
						    .entry_size = sizeof(Elf64_Sym)});
}

static struct objfile *open_objfile(int fd, const char *path, const char *debug_root)
{
	struct objfile *objfile;

	assert_int_equal(objfile_open(fd, path, debug_root, &objfile, NULL), 0);
	close(fd);
	return objfile;
}

static struct objfile *open_with_symbols(const struct wanted_symbol *wanted, size_t num_wanted)
{
	struct symbol_bytes bytes = make_symbols(wanted, num_wanted);
	struct elf_writer writer = {0};
	struct objfile *objfile;

	add_text(&writer);
	add_symbols(&writer, SHT_SYMTAB, &bytes);
	objfile = open_objfile(elf_writer_open(&writer), "/test", NULL);
	symbol_bytes_release(&bytes);
	return objfile;
}

static const char *name_at(struct objfile *objfile, uint64_t elf_address)
{
	struct symbol symbol;
	int err = objfile_find_symbol(objfile, elf_address, &symbol);

	if (err) {
		assert_int_equal(err, -ENOENT);
		return "";
	}
	return symbol.name;
}

static void an_address_between_symbols_has_no_name(void **state)
{
	static const struct wanted_symbol wanted[] = {
		{"first", 0x1000, 0x10, STB_GLOBAL, STT_FUNC},
		{"second", 0x1020, 0x10, STB_LOCAL, STT_FUNC},
	};
	struct objfile *objfile = open_with_symbols(wanted, ARRAY_LENGTH(wanted));

	(void)state;
	assert_string_equal(name_at(objfile, 0xfff), "");
	assert_string_equal(name_at(objfile, 0x1000), "first");
	assert_string_equal(name_at(objfile, 0x100f), "first");
	assert_string_equal(name_at(objfile, 0x1010), "");
	assert_string_equal(name_at(objfile, 0x1020), "second");
	assert_string_equal(name_at(objfile, 0x1030), "");
	objfile_unref(objfile);
}

static void a_symbol_without_size_reaches_to_the_next_or_the_end_of_its_section(void **state)
{
	static const struct wanted_symbol wanted[] = {
		{"label", 0x1000, 0, STB_GLOBAL, STT_NOTYPE},
		{"sized", 0x1100, 0x10, STB_GLOBAL, STT_FUNC},
		{"inside", 0x1108, 0, STB_GLOBAL, STT_NOTYPE},
		{"last", 0x1200, 0, STB_LOCAL, STT_FUNC},
	};
	struct objfile *objfile = open_with_symbols(wanted, ARRAY_LENGTH(wanted));

	(void)state;
	assert_string_equal(name_at(objfile, 0x10ff), "label");
	assert_string_equal(name_at(objfile, 0x110f), "sized");
	assert_string_equal(name_at(objfile, 0x1110), "");
	assert_string_equal(name_at(objfile, 0x1fff), "last");
	assert_string_equal(name_at(objfile, 0x2000), "");
	objfile_unref(objfile);
}

static void the_best_of_several_names_is_chosen(void **state)
{
	static const struct wanted_symbol wanted[] = {
		{"local", 0x1000, 0x10, STB_LOCAL, STT_FUNC},
		{"_weak", 0x1000, 0x10, STB_WEAK, STT_FUNC},
		{"__global", 0x1000, 0x10, STB_GLOBAL, STT_FUNC},
		{"__read", 0x1010, 0x10, STB_GLOBAL, STT_FUNC},
		{"longer", 0x1010, 0x10, STB_GLOBAL, STT_FUNC},
		{"reed", 0x1010, 0x10, STB_GLOBAL, STT_FUNC},
		{"read", 0x1010, 0x10, STB_GLOBAL, STT_FUNC},
	};
	struct objfile *objfile = open_with_symbols(wanted, ARRAY_LENGTH(wanted));

	(void)state;
	assert_string_equal(name_at(objfile, 0x1004), "__global");
	assert_string_equal(name_at(objfile, 0x1014), "read");
	objfile_unref(objfile);
}

static void symbols_that_name_no_function_are_left_out(void **state)
{
	static const struct wanted_symbol wanted[] = {
		{"$x", 0x1000, 0, STB_LOCAL, STT_NOTYPE},
		{".L1", 0x1000, 0, STB_LOCAL, STT_NOTYPE},
		{"", 0x1000, 0x10, STB_GLOBAL, STT_FUNC},
		{"data", 0x1000, 0x10, STB_GLOBAL, STT_OBJECT},
		{"elsewhere", 0x5000, 0x10, STB_GLOBAL, STT_FUNC},
	};
	struct objfile *objfile = open_with_symbols(wanted, ARRAY_LENGTH(wanted));

	(void)state;
	assert_string_equal(name_at(objfile, 0x1000), "");
	assert_string_equal(name_at(objfile, 0x5000), "");
	objfile_unref(objfile);
}

static void a_size_beyond_the_section_is_cut(void **state)
{
	static const struct wanted_symbol wanted[] = {
		{"huge", 0x1f00, UINT64_MAX - 5, STB_GLOBAL, STT_FUNC},
	};
	struct objfile *objfile = open_with_symbols(wanted, ARRAY_LENGTH(wanted));

	(void)state;
	assert_string_equal(name_at(objfile, 0x1fff), "huge");
	assert_string_equal(name_at(objfile, 0x2000), "");
	objfile_unref(objfile);
}

static void names_that_do_not_end_are_left_out(void **state)
{
	static const struct wanted_symbol wanted[] = {
		{"good", 0x1000, 0x10, STB_GLOBAL, STT_FUNC},
		{"endless", 0x1010, 0x10, STB_GLOBAL, STT_FUNC},
	};
	struct symbol_bytes bytes = make_symbols(wanted, ARRAY_LENGTH(wanted));
	struct elf_writer writer = {0};
	struct objfile *objfile;

	(void)state;
	bytes.names.length--;
	add_text(&writer);
	add_symbols(&writer, SHT_SYMTAB, &bytes);
	objfile = open_objfile(elf_writer_open(&writer), "/test", NULL);
	assert_string_equal(name_at(objfile, 0x1000), "good");
	assert_string_equal(name_at(objfile, 0x1010), "");
	objfile_unref(objfile);
	symbol_bytes_release(&bytes);
}

static void file_offsets_become_elf_addresses_by_segment(void **state)
{
	struct elf_writer writer = {0};
	struct objfile *objfile;
	uint64_t address;

	(void)state;
	add_text(&writer);
	objfile = open_objfile(elf_writer_open(&writer), "/test", NULL);
	assert_int_equal(objfile_get_elf_address(objfile, writer.offsets[0] + 0x123, &address), 0);
	assert_int_equal(address, TEXT_ADDRESS + 0x123);
	assert_int_equal(objfile_get_elf_address(objfile, 0, &address), -ENOENT);
	assert_true(objfile_is_code(objfile, TEXT_ADDRESS));
	assert_false(objfile_is_code(objfile, TEXT_ADDRESS + TEXT_SIZE));
	objfile_unref(objfile);
}

static void code_is_read_as_far_as_its_segment_goes(void **state)
{
	static const uint8_t text[] = {1, 2, 3, 4, 5};
	struct elf_writer writer = {0};
	struct objfile *objfile;
	uint8_t code[2];

	(void)state;
	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT_ADDRESS,
						     .data = text,
						     .size = sizeof(text)});
	elf_writer_add(&writer, (struct elf_section){.name = ".rodata",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC,
						     .address = TEXT_ADDRESS + 0x1000,
						     .data = text,
						     .size = sizeof(text)});
	objfile = open_objfile(elf_writer_open(&writer), "/test", NULL);
	assert_int_equal(objfile_read_code(objfile, TEXT_ADDRESS + 3, code, 2), 0);
	assert_memory_equal(code, text + 3, 2);
	assert_int_equal(objfile_read_code(objfile, TEXT_ADDRESS + 4, code, 2), -ENOENT);
	assert_int_equal(objfile_read_code(objfile, TEXT_ADDRESS - 1, code, 2), -ENOENT);
	assert_int_equal(objfile_read_code(objfile, UINT64_MAX, code, 2), -ENOENT);
	assert_int_equal(objfile_read_code(objfile, TEXT_ADDRESS + 0x1000, code, 2), -ENOENT);
	objfile_unref(objfile);
}

static void a_file_cut_short_loses_its_symbols_only(void **state)
{
	static const struct wanted_symbol wanted[] = {
		{"first", 0x1000, 0x10, STB_GLOBAL, STT_FUNC},
	};
	struct symbol_bytes bytes = make_symbols(wanted, ARRAY_LENGTH(wanted));
	struct elf_writer writer = {0};
	struct objfile *objfile;
	int fd;

	(void)state;
	add_text(&writer);
	add_symbols(&writer, SHT_SYMTAB, &bytes);
	fd = elf_writer_open(&writer);
	assert_int_equal(objfile_open(fd, "/test", NULL, &objfile, NULL), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_string_equal(name_at(objfile, 0x1000), "");
	objfile_unref(objfile);
	close(fd);
	symbol_bytes_release(&bytes);
}

static void an_error_names_the_file(void **state)
{
	struct objfile *objfile;
	struct error error;
	int fd = open_bytes("text", 4);

	(void)state;
	assert_int_equal(objfile_open(fd, "/some/file", NULL, &objfile, &error), -ENOEXEC);
	assert_string_equal(error.message, "/some/file: at byte 0: expected an ELF header");
	close(fd);
}

static void packed_symbols_are_read_where_there_is_no_symtab(void **state)
{
	static const struct wanted_symbol wanted[] = {
		{"packed", 0x1000, 0x10, STB_LOCAL, STT_FUNC},
	};
	static const struct wanted_symbol dynamic[] = {
		{"exported", 0x1010, 0x10, STB_GLOBAL, STT_FUNC},
	};
	struct symbol_bytes inner_bytes = make_symbols(wanted, ARRAY_LENGTH(wanted));
	struct symbol_bytes bytes = make_symbols(dynamic, ARRAY_LENGTH(dynamic));
	struct elf_writer inner_writer = {0};
	struct elf_writer writer = {0};
	struct text inner;
	uint8_t packed[65536];
	size_t packed_size = 0;
	struct objfile *objfile;

	(void)state;
	add_text(&inner_writer);
	add_symbols(&inner_writer, SHT_SYMTAB, &inner_bytes);
	inner = elf_writer_write(&inner_writer);
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL,
						 (const uint8_t *)inner.data, inner.length, packed,
						 &packed_size, sizeof(packed)),
			 LZMA_OK);
	add_text(&writer);
	add_symbols(&writer, SHT_DYNSYM, &bytes);
	elf_writer_add(&writer, (struct elf_section){.name = ".gnu_debugdata",
						     .type = SHT_PROGBITS,
						     .data = packed,
						     .size = packed_size});
	objfile = open_objfile(elf_writer_open(&writer), "/test", NULL);
	assert_false(objfile_has_symtab(objfile));
	assert_string_equal(name_at(objfile, 0x1000), "packed");
	assert_string_equal(name_at(objfile, 0x1010), "exported");
	objfile_unref(objfile);
	text_release(&inner);
	symbol_bytes_release(&inner_bytes);
	symbol_bytes_release(&bytes);
}

static void write_debug_file(const char *path, struct text *bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes->data, bytes->length), (ssize_t)bytes->length);
	close(fd);
}

/* A stripped file with a link to "x.debug" with this checksum. */
static struct objfile *open_linked(const char *folder, uint32_t checksum)
{
	struct {
		char name[8];
		uint32_t checksum;
	} link = {"x.debug", checksum};
	struct elf_writer writer = {0};
	char path[256];

	snprintf(path, sizeof(path), "%s/program", folder);
	add_text(&writer);
	elf_writer_add(&writer, (struct elf_section){.name = ".gnu_debuglink",
						     .type = SHT_PROGBITS,
						     .data = &link,
						     .size = sizeof(link)});
	return open_objfile(elf_writer_open(&writer), path, "/nowhere");
}

static void a_linked_debug_file_is_taken_only_with_the_right_checksum(void **state)
{
	static const struct wanted_symbol wanted[] = {
		{"linked", 0x1000, 0x10, STB_LOCAL, STT_FUNC},
	};
	struct symbol_bytes bytes = make_symbols(wanted, ARRAY_LENGTH(wanted));
	char folder[] = "/tmp/stackwide-test-XXXXXX";
	struct elf_writer writer = {0};
	struct objfile *objfile;
	struct text debug;
	char path[256];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/x.debug", folder);
	add_text(&writer);
	add_symbols(&writer, SHT_SYMTAB, &bytes);
	debug = elf_writer_write(&writer);
	write_debug_file(path, &debug);

	/* The same checksum as xz's CRC32, which is not the code under test. */
	objfile = open_linked(folder, lzma_crc32((uint8_t *)debug.data, debug.length, 0));
	assert_string_equal(name_at(objfile, 0x1000), "linked");
	objfile_unref(objfile);
	objfile = open_linked(folder, 12345);
	assert_string_equal(name_at(objfile, 0x1000), "");
	objfile_unref(objfile);

	unlink(path);
	rmdir(folder);
	text_release(&debug);
	symbol_bytes_release(&bytes);
}

/* Has a build ID, and symbols where `wanted` is not NULL. */
static struct text write_with_build_id(const char *id, const struct wanted_symbol *wanted)
{
	struct {
		uint32_t name_size, id_size, type;
		char name[4];
		char id[4];
	} note = {4, 4, NT_GNU_BUILD_ID, "GNU", ""};
	struct symbol_bytes bytes = make_symbols(wanted, wanted ? 1 : 0);
	struct elf_writer writer = {0};
	struct text file;

	memcpy(note.id, id, sizeof(note.id));
	add_text(&writer);
	elf_writer_add(&writer, (struct elf_section){.name = ".note.gnu.build-id",
						     .type = SHT_NOTE,
						     .flags = SHF_ALLOC,
						     .data = &note,
						     .size = sizeof(note)});
	if (wanted)
		add_symbols(&writer, SHT_SYMTAB, &bytes);
	file = elf_writer_write(&writer);
	symbol_bytes_release(&bytes);
	return file;
}

static void a_debug_file_with_the_programs_name_needs_its_build_id(void **state)
{
	static const struct wanted_symbol wanted = {"named", 0x1000, 0x10, STB_LOCAL, STT_FUNC};
	struct text program = write_with_build_id("IDAA", NULL);
	struct text right = write_with_build_id("IDAA", &wanted);
	struct text wrong = write_with_build_id("IDBB", &wanted);
	char folder[] = "/tmp/stackwide-test-XXXXXX";
	struct objfile *objfile;
	char path[256];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/program.debug", folder);
	write_debug_file(path, &wrong);
	objfile = open_objfile(open_bytes(program.data, program.length), "/gone/program", folder);
	assert_string_equal(name_at(objfile, 0x1000), "");
	objfile_unref(objfile);
	write_debug_file(path, &right);
	objfile = open_objfile(open_bytes(program.data, program.length), "/gone/program", folder);
	assert_string_equal(name_at(objfile, 0x1000), "named");
	objfile_unref(objfile);

	unlink(path);
	rmdir(folder);
	text_release(&program);
	text_release(&right);
	text_release(&wrong);
}

static void a_debug_file_that_is_a_pipe_is_not_opened(void **state)
{
	char folder[] = "/tmp/stackwide-test-XXXXXX";
	struct objfile *objfile;
	char path[256];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/x.debug", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	objfile = open_linked(folder, 12345);
	assert_string_equal(name_at(objfile, 0x1000), "");
	objfile_unref(objfile);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_between_symbols_has_no_name),
		cmocka_unit_test(
			a_symbol_without_size_reaches_to_the_next_or_the_end_of_its_section),
		cmocka_unit_test(the_best_of_several_names_is_chosen),
		cmocka_unit_test(symbols_that_name_no_function_are_left_out),
		cmocka_unit_test(a_size_beyond_the_section_is_cut),
		cmocka_unit_test(names_that_do_not_end_are_left_out),
		cmocka_unit_test(file_offsets_become_elf_addresses_by_segment),
		cmocka_unit_test(code_is_read_as_far_as_its_segment_goes),
		cmocka_unit_test(a_file_cut_short_loses_its_symbols_only),
		cmocka_unit_test(an_error_names_the_file),
		cmocka_unit_test(packed_symbols_are_read_where_there_is_no_symtab),
		cmocka_unit_test(a_linked_debug_file_is_taken_only_with_the_right_checksum),
		cmocka_unit_test(a_debug_file_with_the_programs_name_needs_its_build_id),
		cmocka_unit_test(a_debug_file_that_is_a_pipe_is_not_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
