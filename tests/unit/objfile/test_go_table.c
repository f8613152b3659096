/*
 * The functions of Go programs, in the tables of all versions, wherever a linker has put them.
 */
#include "unit.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "elf_writer.h"
#include "go_table_writer.h"
#include "objfile/go_table.h"
#include "objfile/objfile.h"

#define TEXT      0x401000
#define TEXT_SIZE 0x1000
#define GO_START  0x401200 /* C code may come before it */
#define TABLE     0x500000
#define MODULE    0x600000

static const uint8_t pcsp_of_main[] = {2, 4, 0x30, 0x20, 0x2f, 0x1c, 0};
static const uint8_t pcsp_of_run[] = {2, 0x80, 1, 0};

static struct go_table_writer make_writer(enum go_version version)
{
	struct go_table_writer writer = {
		.version = version,
		.text_start = GO_START,
		.header_text_start = GO_START,
		.end = GO_START + 0x100,
	};

	go_table_writer_add(&writer, "main.main", GO_START, pcsp_of_main, sizeof(pcsp_of_main));
	go_table_writer_add(&writer, "main.(*T).Run.func1", GO_START + 0x40, pcsp_of_run,
			    sizeof(pcsp_of_run));
	go_table_writer_add(&writer, "runtime.etext", GO_START + 0xc0, NULL, 0);
	return writer;
}

static void add_text(struct elf_writer *elf)
{
	elf_writer_add(elf, (struct elf_section){.name = ".text",
						 .type = SHT_PROGBITS,
						 .flags = SHF_ALLOC | SHF_EXECINSTR,
						 .address = TEXT,
						 .size = TEXT_SIZE});
}

static void add_data(struct elf_writer *elf, const char *name, uint64_t elf_address,
		     const void *data, size_t size)
{
	elf_writer_add(elf, (struct elf_section){.name = name,
						 .type = SHT_PROGBITS,
						 .flags = SHF_ALLOC,
						 .address = elf_address,
						 .data = data,
						 .size = size});
}

static void add_relocations(struct elf_writer *elf, const Elf64_Rela *relocations, size_t size)
{
	elf_writer_add(elf, (struct elf_section){.name = ".rela.dyn",
						 .type = SHT_RELA,
						 .data = relocations,
						 .size = size,
						 .entry_size = sizeof(*relocations)});
}

/* An open file, and the table that was found in it. */
struct opened {
	struct text bytes;
	Elf *elf;
	struct go_table table;
	bool has_table;
};

static struct opened open_table(struct elf_writer *writer)
{
	struct opened opened = {.bytes = elf_writer_write(writer)};

	elf_version(EV_CURRENT);
	opened.elf = elf_memory(opened.bytes.data, opened.bytes.length);
	assert_non_null(opened.elf);
	opened.has_table = go_table_find(opened.elf, &opened.table);
	return opened;
}

static void close_table(struct opened *opened)
{
	elf_end(opened->elf);
	text_release(&opened->bytes);
}

static void assert_function(const struct go_table *table, uint32_t index, const char *name,
			    uint64_t start, uint64_t end)
{
	struct go_function function;

	assert_true(go_table_read(table, index, &function));
	assert_string_equal(function.name, name);
	assert_int_equal(function.start, start);
	assert_int_equal(function.end, end);
}

/* The functions of make_writer() are found; closes the file. */
static void assert_functions(struct opened opened)
{
	assert_true(opened.has_table);
	assert_int_equal(opened.table.num_functions, 3);
	assert_function(&opened.table, 0, "main.main", GO_START, GO_START + 0x40);
	assert_function(&opened.table, 1, "main.(*T).Run.func1", GO_START + 0x40, GO_START + 0xc0);
	assert_function(&opened.table, 2, "runtime.etext", GO_START + 0xc0, GO_START + 0x100);
	close_table(&opened);
}

static void assert_found(const struct go_table_writer *writer, const char *section)
{
	struct text table = go_table_writer_write(writer);
	struct elf_writer elf = {0};

	add_text(&elf);
	add_data(&elf, section, TABLE, table.data, table.length);
	assert_functions(open_table(&elf));
	text_release(&table);
}

static void tables_of_all_versions_are_read(_unused_ void **state)
{
	for (enum go_version version = GO_1_2; version <= GO_1_20; version++) {
		struct go_table_writer writer = make_writer(version);

		assert_found(&writer, ".gopclntab");
		assert_found(&writer, ".data.rel.ro.gopclntab");
	}
}

static void a_depth_holds_up_to_an_address(_unused_ void **state)
{
	static const struct {
		uint64_t end;
		int64_t sp_delta;
	} expected[] = {{GO_START + 4, 0}, {GO_START + 0x24, 0x18}, {GO_START + 0x40, 0}};
	struct go_table_writer writer = make_writer(GO_1_18);
	struct text table = go_table_writer_write(&writer);
	struct elf_writer elf = {0};
	struct go_function function;
	struct go_pcsp pcsp;
	struct opened opened;

	add_text(&elf);
	add_data(&elf, ".gopclntab", TABLE, table.data, table.length);
	opened = open_table(&elf);
	assert_true(go_table_read(&opened.table, 0, &function));
	pcsp = go_pcsp_start(&opened.table, function.start, function.pcsp_offset);
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		assert_true(go_pcsp_next(&pcsp));
		assert_int_equal(pcsp.end, expected[i].end);
		assert_int_equal(pcsp.sp_delta, expected[i].sp_delta);
	}
	assert_false(go_pcsp_next(&pcsp));
	assert_true(go_table_read(&opened.table, 2, &function));
	assert_int_equal(function.pcsp_offset, 0);
	close_table(&opened);
	text_release(&table);
}

/* C linkers merge sections, and leave the start of the text to the dynamic linker. */
static void a_table_among_other_data_is_found_and_relocated(_unused_ void **state)
{
	const Elf64_Rela relocations[] = {
		{.r_offset = TABLE + 8, .r_info = 8, .r_addend = 0x1111},
		{.r_offset = TABLE + 64 + 24, .r_info = 8, .r_addend = GO_START},
	};
	struct go_table_writer writer = make_writer(GO_1_20);
	struct elf_writer elf = {0};
	struct text data = {0};
	struct text table;

	writer.header_text_start = 0;
	table = go_table_writer_write(&writer);
	for (int i = 0; i < 64; i++)
		text_append_char(&data, (char)i);
	text_append(&data, table.data, table.length);
	add_text(&elf);
	add_data(&elf, ".data.rel.ro", TABLE, data.data, data.length);
	add_data(&elf, ".go.buildinfo", MODULE, "info", 4);
	add_relocations(&elf, relocations, sizeof(relocations));
	assert_functions(open_table(&elf));
	text_release(&data);
	text_release(&table);
}

static void go_1_26_says_in_the_module_where_its_text_starts(_unused_ void **state)
{
	const Elf64_Rela relocation = {.r_offset = MODULE + 176, .r_info = 8, .r_addend = GO_START};
	struct go_table_writer writer = make_writer(GO_1_20);
	uint64_t module[32] = {[22] = GO_START};
	struct elf_writer relocated = {0};
	struct elf_writer elf = {0};
	struct text table;

	writer.header_text_start = 0;
	table = go_table_writer_write(&writer);
	add_text(&elf);
	add_data(&elf, ".gopclntab", TABLE, table.data, table.length);
	add_data(&elf, ".go.module", MODULE, module, sizeof(module));
	assert_functions(open_table(&elf));
	module[22] = 0;
	add_text(&relocated);
	add_data(&relocated, ".gopclntab", TABLE, table.data, table.length);
	add_data(&relocated, ".go.module", MODULE, module, sizeof(module));
	add_relocations(&relocated, &relocation, sizeof(relocation));
	assert_functions(open_table(&relocated));
	text_release(&table);
}

static void a_stripped_program_has_the_names_of_its_table(_unused_ void **state)
{
	struct go_table_writer writer = make_writer(GO_1_18);
	struct text table = go_table_writer_write(&writer);
	struct elf_writer elf = {0};
	struct objfile *objfile;
	struct error error;
	struct symbol symbol;
	struct text bytes;
	int fd;

	add_text(&elf);
	add_data(&elf, ".gopclntab", TABLE, table.data, table.length);
	bytes = elf_writer_write(&elf);
	fd = open_bytes(bytes.data, bytes.length);
	assert_int_equal(objfile_open(fd, "/test/file", NULL, &objfile, &error), 0);
	close(fd);
	assert_int_equal(objfile_find_symbol(objfile, GO_START + 0x50, &symbol), 0);
	assert_string_equal(symbol.name, "main.(*T).Run.func1");
	assert_int_equal(symbol.start, GO_START + 0x40);
	assert_int_equal(objfile_find_symbol(objfile, GO_START - 1, &symbol), -ENOENT);
	objfile_unref(objfile);
	text_release(&bytes);
	text_release(&table);
}

/* Whether go_table_find() takes the first `length` bytes with this byte changed. */
static bool is_table_taken(const struct text *table, size_t length, size_t place, uint8_t value)
{
	struct elf_writer elf = {0};
	struct text broken = {0};
	struct opened opened;

	text_append(&broken, table->data, length);
	if (place < length)
		broken.data[place] = (char)value;
	add_text(&elf);
	add_data(&elf, ".gopclntab", TABLE, broken.data, broken.length);
	opened = open_table(&elf);
	close_table(&opened);
	text_release(&broken);
	return opened.has_table;
}

static void other_forms_are_refused(_unused_ void **state)
{
	struct go_table_writer writer = make_writer(GO_1_18);
	struct text table = go_table_writer_write(&writer);

	assert_true(is_table_taken(&table, table.length, SIZE_MAX, 0));
	assert_false(is_table_taken(&table, table.length, 0, 0xf2));  /* version */
	assert_false(is_table_taken(&table, table.length, 4, 1));     /* padding */
	assert_false(is_table_taken(&table, table.length, 6, 0));     /* alignment of code */
	assert_false(is_table_taken(&table, table.length, 7, 4));     /* bytes of a pointer */
	assert_false(is_table_taken(&table, table.length, 8, 0));     /* number of functions */
	assert_false(is_table_taken(&table, table.length, 12, 1));    /* likewise */
	assert_false(is_table_taken(&table, table.length, 10, 1));    /* likewise */
	assert_false(is_table_taken(&table, table.length, 67, 0xff)); /* offset of the index */
	assert_false(is_table_taken(&table, 71, SIZE_MAX, 0));
	assert_false(is_table_taken(&table, 7, SIZE_MAX, 0));
	text_release(&table);
}

/* Reading says no, or something sane, wherever a table ends and whatever byte is changed. */
static void broken_tables_are_read_within_their_bytes(_unused_ void **state)
{
	for (enum go_version version = GO_1_2; version <= GO_1_20; version++) {
		struct go_table_writer writer = make_writer(version);
		struct text table = go_table_writer_write(&writer);

		for (size_t i = 0; i < table.length; i++) {
			struct elf_writer elf = {0};
			struct opened opened;

			table.data[i] ^= (char)0xa5;
			add_text(&elf);
			add_data(&elf, ".gopclntab", TABLE, table.data, table.length - i % 3);
			opened = open_table(&elf);
			for (uint32_t j = 0; opened.has_table && j < opened.table.num_functions;
			     j++) {
				struct go_function function;

				if (go_table_read(&opened.table, j, &function))
					assert_true(function.start < function.end);
			}
			close_table(&opened);
			table.data[i] ^= (char)0xa5;
		}
		text_release(&table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_of_all_versions_are_read),
		cmocka_unit_test(a_depth_holds_up_to_an_address),
		cmocka_unit_test(a_table_among_other_data_is_found_and_relocated),
		cmocka_unit_test(go_1_26_says_in_the_module_where_its_text_starts),
		cmocka_unit_test(a_stripped_program_has_the_names_of_its_table),
		cmocka_unit_test(other_forms_are_refused),
		cmocka_unit_test(broken_tables_are_read_within_their_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
