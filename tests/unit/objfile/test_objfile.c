#include "test_folder.h"
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
struct symbol_key {
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

static struct symbol_bytes make_symbols(const struct symbol_key *wanted, size_t num_wanted)
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

static struct objfile *open_with_symbols(const struct symbol_key *wanted, size_t num_wanted)
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
	static const struct symbol_key wanted[] = {
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
	static const struct symbol_key wanted[] = {
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

/* Machine code at the start of .text; behind it come instructions that lead nowhere. */
static void add_code(struct elf_writer *writer, uint8_t *text, const uint8_t *code, size_t size)
{
	memset(text, 0xf4, TEXT_SIZE); /* hlt */
	memcpy(text, code, size);
	elf_writer_add(writer, (struct elf_section){.name = ".text",
						    .type = SHT_PROGBITS,
						    .flags = SHF_ALLOC | SHF_EXECINSTR,
						    .address = TEXT_ADDRESS,
						    .data = text,
						    .size = TEXT_SIZE});
}

/* Call-frame information of one function, by absolute addresses. */
static struct text make_eh_frame(uint64_t start, uint64_t size)
{
	static const uint8_t common[] = {12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0, 0, 0};
	static const uint8_t entry[] = {20, 0, 0, 0, sizeof(common) + 4, 0, 0, 0};
	static const uint8_t end[4];
	struct text bytes = {0};

	text_append(&bytes, common, sizeof(common));
	text_append(&bytes, entry, sizeof(entry));
	text_append(&bytes, &start, sizeof(start));
	text_append(&bytes, &size, sizeof(size));
	text_append(&bytes, end, sizeof(end));
	return bytes;
}

static uint64_t function_at(struct objfile *objfile, uint64_t elf_address)
{
	uint64_t start;
	int err = objfile_find_function(objfile, elf_address, &start);

	if (err) {
		assert_int_equal(err, -ENOENT);
		return 0;
	}
	return start;
}

static void a_symbol_without_size_ends_with_the_function_that_holds_it(void **state)
{
	static const struct symbol_key wanted[] = {
		{"label", 0x1010, 0, STB_GLOBAL, STT_NOTYPE},
		{"other", 0x1200, 0, STB_GLOBAL, STT_NOTYPE},
	};
	static const uint8_t code[0x40] = {0x90};
	struct symbol_bytes bytes = make_symbols(wanted, ARRAY_LENGTH(wanted));
	struct text eh_frame = make_eh_frame(0x1000, 0x40);
	struct elf_writer writer = {0};
	uint8_t text[TEXT_SIZE];
	struct objfile *objfile;

	(void)state;
	add_code(&writer, text, code, sizeof(code));
	add_symbols(&writer, SHT_SYMTAB, &bytes);
	elf_writer_add(&writer, (struct elf_section){.name = ".eh_frame",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC,
						     .address = 0x3000,
						     .data = eh_frame.data,
						     .size = eh_frame.length});
	objfile = open_objfile(elf_writer_open(&writer), "/test", NULL);
	assert_string_equal(name_at(objfile, 0x100f), "");
	assert_string_equal(name_at(objfile, 0x1010), "label");
	assert_string_equal(name_at(objfile, 0x103f), "label");
	assert_string_equal(name_at(objfile, 0x1040), "");
	assert_string_equal(name_at(objfile, 0x11ff), "");
	assert_int_equal(function_at(objfile, 0x103f), 0x1000);
	objfile_unref(objfile);
	text_release(&eh_frame);
	symbol_bytes_release(&bytes);
}

static void a_trampoline_is_described_from_the_byte_before_it(void **state)
{
	static const struct symbol_key wanted[] = {
		{"before", 0x1000, 0x8, STB_GLOBAL, STT_FUNC},
		{"__restore_rt", 0x1010, 0x9, STB_LOCAL, STT_NOTYPE},
	};
	struct symbol_bytes bytes = make_symbols(wanted, ARRAY_LENGTH(wanted));
	struct text eh_frame = make_eh_frame(0x100f, 0xa);
	struct elf_writer writer = {0};
	struct objfile *objfile;

	(void)state;
	add_text(&writer);
	add_symbols(&writer, SHT_SYMTAB, &bytes);
	elf_writer_add(&writer, (struct elf_section){.name = ".eh_frame",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC,
						     .address = 0x3000,
						     .data = eh_frame.data,
						     .size = eh_frame.length});
	objfile = open_objfile(elf_writer_open(&writer), "/test", NULL);
	assert_string_equal(name_at(objfile, 0x100f), "__restore_rt");
	assert_string_equal(name_at(objfile, 0x1010), "__restore_rt");
	assert_string_equal(name_at(objfile, 0x100e), "");
	objfile_unref(objfile);
	text_release(&eh_frame);
	symbol_bytes_release(&bytes);
}

static void a_symbol_without_size_ends_where_its_instructions_do(void **state)
{
	static const struct symbol_key wanted[] = {
		{"small", 0x1000, 0, STB_GLOBAL, STT_NOTYPE},
	};
	static const uint8_t code[] = {
		0x74, 0x01,                         /* 1000: je 1003 */
		0xc3,                               /* ret */
		0xf3, 0x0f, 0x1e, 0xfa,             /* 1003: endbr64 */
		0xe9, 0x00, 0x10, 0x00, 0x00,       /* jmp 200c */
		0x0f, 0x1f, 0x40, 0x00,             /* 100c: nop */
		0x0f, 0x05, 0xc3,                   /* 1010: syscall; ret */
		0xe8, 0x00, 0x00, 0x00, 0x00, 0xf4, /* 1013: call; hlt */
	};
	struct symbol_bytes bytes = make_symbols(wanted, ARRAY_LENGTH(wanted));
	struct elf_writer writer = {0};
	uint8_t text[TEXT_SIZE];
	struct objfile *objfile;
	struct symbol symbol;

	(void)state;
	add_code(&writer, text, code, sizeof(code));
	add_symbols(&writer, SHT_DYNSYM, &bytes);
	objfile = open_objfile(elf_writer_open(&writer), "/test", NULL);
	assert_string_equal(name_at(objfile, 0x1000), "small");
	assert_string_equal(name_at(objfile, 0x100b), "small");
	assert_string_equal(name_at(objfile, 0x1010), "");
	assert_string_equal(name_at(objfile, 0x1fff), "");
	assert_int_equal(objfile_find_symbol(objfile, 0x1003, &symbol), 0);
	assert_false(symbol.is_size_known);
	/* What follows is known by where it starts. */
	assert_int_equal(function_at(objfile, 0x100b), 0x1000);
	assert_int_equal(function_at(objfile, 0x100c), 0);
	assert_int_equal(function_at(objfile, 0x1012), 0x1010);
	assert_int_equal(function_at(objfile, 0x1017), 0x1013);
	objfile_unref(objfile);
	symbol_bytes_release(&bytes);
}

/* Functions of 64 bytes with a frame, each with padding behind it; returns the code's size. */
static size_t make_padded_functions(uint8_t *code, size_t num_functions, uint8_t padding)
{
	static const uint8_t start[] = {0x55, 0x48, 0x89, 0xe5};

	memset(code, 0x50, num_functions * 64); /* push %rax */
	for (size_t i = 0; i < num_functions; i++) {
		memcpy(code + i * 64, start, sizeof(start));
		code[i * 64 + 58] = 0xc3;
		memset(code + i * 64 + 59, padding, 5);
	}
	return num_functions * 64;
}

static void functions_without_description_start_behind_padding(void **state)
{
	static const struct symbol_key wanted[] = {
		{"known", 0x1180, 0x10, STB_GLOBAL, STT_FUNC},
	};
	struct symbol_bytes bytes = make_symbols(wanted, ARRAY_LENGTH(wanted));
	struct elf_writer writer = {0};
	uint8_t text[TEXT_SIZE];
	uint8_t code[16 * 64];
	size_t size = make_padded_functions(code, 16, 0xcc);
	struct objfile *objfile;

	(void)state;
	memset(code + 2 * 64, 0x51, 4); /* without frame, behind padding */
	memset(code + 2 * 64 + 59, 0x50, 4);
	code[2 * 64 + 63] = 0xc3;       /* no padding, but a frame behind it */
	code[4 * 64 + 15] = 0xcc;       /* the last byte of an instruction */
	memset(code + 6 * 64, 0x51, 4); /* where the symbol is */
	add_code(&writer, text, code, size);
	add_symbols(&writer, SHT_DYNSYM, &bytes);
	objfile = open_objfile(elf_writer_open(&writer), "/test", NULL);
	assert_int_equal(function_at(objfile, 0x1000), 0); /* what comes before is not known */
	assert_int_equal(function_at(objfile, 0x1040), 0x1040);
	assert_int_equal(function_at(objfile, 0x107a), 0x1040);
	assert_int_equal(function_at(objfile, 0x1081), 0x1080);
	assert_int_equal(function_at(objfile, 0x10c4), 0x10c0);
	assert_int_equal(function_at(objfile, 0x1115), 0x1100);
	/* Behind the end of a function that has one. */
	assert_int_equal(function_at(objfile, 0x1194), 0);
	objfile_unref(objfile);
	symbol_bytes_release(&bytes);
}

static void without_padding_nothing_is_said_about_functions(void **state)
{
	struct elf_writer writer = {0};
	uint8_t text[TEXT_SIZE];
	uint8_t code[16 * 64];
	size_t size = make_padded_functions(code, 16, 0x90);
	struct objfile *objfile;

	(void)state;
	memset(code + 59, 0xcc, 5);
	add_code(&writer, text, code, size);
	objfile = open_objfile(elf_writer_open(&writer), "/test", NULL);
	assert_int_equal(function_at(objfile, 0x1044), 0);
	assert_int_equal(function_at(objfile, 0x1084), 0);
	objfile_unref(objfile);
}

static void the_best_of_several_names_is_chosen(void **state)
{
	static const struct symbol_key wanted[] = {
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
	static const struct symbol_key wanted[] = {
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

/* Compared whole, they would take hours. */
static void names_that_are_ends_of_one_long_string_are_sorted(void **state)
{
	enum { NUM_NAMES = 100000, NUM_BYTES = 16 << 20 };
	struct symbol_bytes bytes = {0};
	struct elf_writer writer = {0};
	struct objfile *objfile;

	(void)state;
	for (uint32_t i = 0; i < NUM_BYTES; i++)
		text_append_char(&bytes.names, i + 1 < NUM_BYTES ? 'a' : '\0');
	for (uint32_t i = 0; i < NUM_NAMES; i++) {
		Elf64_Sym symbol = {.st_name = i,
				    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				    .st_shndx = 1,
				    .st_value = TEXT_ADDRESS,
				    .st_size = 16};

		text_append(&bytes.symbols, &symbol, sizeof(symbol));
	}
	add_text(&writer);
	add_symbols(&writer, SHT_SYMTAB, &bytes);
	objfile = open_objfile(elf_writer_open(&writer), "/test", NULL);
	assert_int_equal(name_at(objfile, TEXT_ADDRESS)[0], 'a');
	objfile_unref(objfile);
	symbol_bytes_release(&bytes);
}

static void a_size_beyond_the_section_is_truncated(void **state)
{
	static const struct symbol_key wanted[] = {
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
	static const struct symbol_key wanted[] = {
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

/* A section that becomes a segment. */
static void add_segment(struct elf_writer *writer, const char *name, uint64_t flags,
			uint64_t address, size_t size)
{
	elf_writer_add(writer, (struct elf_section){.name = name,
						    .type = SHT_PROGBITS,
						    .flags = SHF_ALLOC | flags,
						    .address = address,
						    .size = size});
}

/* The ELF address that a mapping of a part of the file is found to start at. */
static uint64_t address_of_mapping(const struct objfile *objfile, uint64_t file_offset,
				   uint64_t size)
{
	const uint64_t start = 0x7f0000000000;
	const struct objfile_mapping mapping = {start, start + size, file_offset};
	uint64_t bias;

	assert_int_equal(objfile_get_bias(objfile, &mapping, &bias), 0);
	return start - bias;
}

static void code_between_data_in_one_page_gets_its_own_bias(void **state)
{
	struct elf_writer writer = {0};
	struct objfile *objfile;

	(void)state;
	add_segment(&writer, ".rodata", 0, 0x200, 0x300);
	add_segment(&writer, ".text", SHF_EXECINSTR, 0x1500, 0x100);
	add_segment(&writer, ".data", 0, 0x2600, 0x2000);
	objfile = open_objfile(elf_writer_open(&writer), "/test", NULL);
	assert_true(writer.offsets[2] < 0x1000);
	assert_int_equal(address_of_mapping(objfile, 0, 0x1000), 0x1500 - writer.offsets[1]);
	/* Where there is no code, data decides. */
	assert_int_equal(address_of_mapping(objfile, 0x1000, 0x1000),
			 0x2600 - writer.offsets[2] + 0x1000);
	objfile_unref(objfile);
}

static void code_that_ends_in_the_page_where_other_code_starts_keeps_its_bias(void **state)
{
	struct elf_writer writer = {0};
	struct objfile *objfile;
	uint64_t first;
	uint64_t second;

	(void)state;
	add_segment(&writer, ".text", SHF_EXECINSTR, 0x1100, 0x1e00);
	add_segment(&writer, ".fast", SHF_EXECINSTR, 0x8f00, 0x10);
	objfile = open_objfile(elf_writer_open(&writer), "/test", NULL);
	first = 0x1100 - writer.offsets[0];
	second = 0x8f00 - writer.offsets[1];
	assert_int_equal(writer.offsets[1] / 0x1000, 1);
	assert_int_equal(address_of_mapping(objfile, 0, 0x2000), first);
	assert_int_equal(address_of_mapping(objfile, 0x1000, 0x1000), second + 0x1000);
	objfile_unref(objfile);
}

static void a_mapping_of_no_segment_has_no_bias(void **state)
{
	static const struct objfile_mapping mapping = {0x10000, 0x11000, 0x100000};
	struct elf_writer writer = {0};
	struct objfile *objfile;
	uint64_t bias;

	(void)state;
	add_text(&writer);
	objfile = open_objfile(elf_writer_open(&writer), "/test", NULL);
	assert_int_equal(objfile_get_bias(objfile, &mapping, &bias), -ENOENT);
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

static void a_truncated_file_loses_its_symbols_only(void **state)
{
	static const struct symbol_key wanted[] = {
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

static void compressed_symbols_are_read_where_there_is_no_symtab(void **state)
{
	static const struct symbol_key wanted[] = {
		{"packed", 0x1000, 0x10, STB_LOCAL, STT_FUNC},
	};
	static const struct symbol_key dynamic[] = {
		{"exported", 0x1010, 0x10, STB_GLOBAL, STT_FUNC},
	};
	struct symbol_bytes inner_bytes = make_symbols(wanted, ARRAY_LENGTH(wanted));
	struct symbol_bytes bytes = make_symbols(dynamic, ARRAY_LENGTH(dynamic));
	struct elf_writer inner_writer = {0};
	struct elf_writer writer = {0};
	struct text inner;
	uint8_t compressed[65536];
	size_t compressed_size = 0;
	struct objfile *objfile;

	(void)state;
	add_text(&inner_writer);
	add_symbols(&inner_writer, SHT_SYMTAB, &inner_bytes);
	inner = elf_writer_write(&inner_writer);
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL,
						 (const uint8_t *)inner.data, inner.length,
						 compressed, &compressed_size, sizeof(compressed)),
			 LZMA_OK);
	add_text(&writer);
	add_symbols(&writer, SHT_DYNSYM, &bytes);
	elf_writer_add(&writer, (struct elf_section){.name = ".gnu_debugdata",
						     .type = SHT_PROGBITS,
						     .data = compressed,
						     .size = compressed_size});
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
	char path[TEST_PATH_BYTES + 16];

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
	static const struct symbol_key wanted[] = {
		{"linked", 0x1000, 0x10, STB_LOCAL, STT_FUNC},
	};
	struct symbol_bytes bytes = make_symbols(wanted, ARRAY_LENGTH(wanted));
	char folder[TEST_PATH_BYTES];
	struct elf_writer writer = {0};
	struct objfile *objfile;
	struct text debug;
	char path[TEST_PATH_BYTES + 16];

	(void)state;
	test_folder_make(folder);
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
	/* Nor is one of another user. */
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		objfile = open_linked(folder, lzma_crc32((uint8_t *)debug.data, debug.length, 0));
		assert_string_equal(name_at(objfile, 0x1000), "");
		objfile_unref(objfile);
	}
	/* A hole of terabytes is not read to its end. */
	assert_int_equal(truncate(path, 4ll << 40), 0);
	objfile = open_linked(folder, 12345);
	assert_string_equal(name_at(objfile, 0x1000), "");
	objfile_unref(objfile);

	unlink(path);
	rmdir(folder);
	text_release(&debug);
	symbol_bytes_release(&bytes);
}

/* Has a build ID, and symbols where `wanted` is not NULL. */
static struct text write_with_build_id(const char *id, const struct symbol_key *wanted)
{
	struct symbol_bytes bytes = make_symbols(wanted, wanted ? 1 : 0);
	struct elf_writer writer = {0};
	struct text file;

	add_text(&writer);
	elf_writer_add_build_id(&writer, id, 4);
	if (wanted)
		add_symbols(&writer, SHT_SYMTAB, &bytes);
	file = elf_writer_write(&writer);
	symbol_bytes_release(&bytes);
	return file;
}

static void a_debug_file_with_the_programs_name_needs_its_build_id(void **state)
{
	static const struct symbol_key wanted = {"named", 0x1000, 0x10, STB_LOCAL, STT_FUNC};
	struct text program = write_with_build_id("IDAA", NULL);
	struct text right = write_with_build_id("IDAA", &wanted);
	struct text wrong = write_with_build_id("IDBB", &wanted);
	char folder[TEST_PATH_BYTES];
	struct objfile *objfile;
	char path[TEST_PATH_BYTES + 16];

	(void)state;
	test_folder_make(folder);
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
	char folder[TEST_PATH_BYTES];
	struct objfile *objfile;
	char path[TEST_PATH_BYTES + 16];

	(void)state;
	test_folder_make(folder);
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
		cmocka_unit_test(a_symbol_without_size_ends_with_the_function_that_holds_it),
		cmocka_unit_test(a_trampoline_is_described_from_the_byte_before_it),
		cmocka_unit_test(a_symbol_without_size_ends_where_its_instructions_do),
		cmocka_unit_test(functions_without_description_start_behind_padding),
		cmocka_unit_test(without_padding_nothing_is_said_about_functions),
		cmocka_unit_test(the_best_of_several_names_is_chosen),
		cmocka_unit_test(symbols_that_name_no_function_are_left_out),
		cmocka_unit_test(names_that_are_ends_of_one_long_string_are_sorted),
		cmocka_unit_test(a_size_beyond_the_section_is_truncated),
		cmocka_unit_test(names_that_do_not_end_are_left_out),
		cmocka_unit_test(file_offsets_become_elf_addresses_by_segment),
		cmocka_unit_test(code_between_data_in_one_page_gets_its_own_bias),
		cmocka_unit_test(code_that_ends_in_the_page_where_other_code_starts_keeps_its_bias),
		cmocka_unit_test(a_mapping_of_no_segment_has_no_bias),
		cmocka_unit_test(code_is_read_as_far_as_its_segment_goes),
		cmocka_unit_test(a_truncated_file_loses_its_symbols_only),
		cmocka_unit_test(an_error_names_the_file),
		cmocka_unit_test(compressed_symbols_are_read_where_there_is_no_symtab),
		cmocka_unit_test(a_linked_debug_file_is_taken_only_with_the_right_checksum),
		cmocka_unit_test(a_debug_file_with_the_programs_name_needs_its_build_id),
		cmocka_unit_test(a_debug_file_that_is_a_pipe_is_not_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
