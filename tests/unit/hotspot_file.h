/* A file that may have HotSpot in it: its symbols, for tests of what is found by them. */
#ifndef HOTSPOT_FILE_H
#define HOTSPOT_FILE_H

#include <string.h>

#include "base/text.h"

/* clang-format off */
#include "unit.h"
#include "objfile/elf_writer.h"
/* clang-format on */

#define HOTSPOT_STRUCTS_NAME       "gHotSpotVMStructs"
#define HOTSPOT_TYPES_NAME         "gHotSpotVMTypes"
#define HOTSPOT_INT_CONSTANTS_NAME "gHotSpotVMIntConstants"

struct hotspot_symbol {
	const char *name; /* NULL: there are no more */
	uint64_t address;
	uint16_t section;
};

struct hotspot_file {
	struct hotspot_symbol symbols[8];
	uint32_t symbols_type; /* 0: SHT_DYNSYM */
	uint16_t machine;      /* 0: x86-64 */
};

static const struct hotspot_file hotspot_file_whole = {
	.symbols = {{HOTSPOT_INT_CONSTANTS_NAME, 0x20010, 1},
		    {HOTSPOT_TYPES_NAME, 0x20018, 1},
		    {HOTSPOT_STRUCTS_NAME, 0x20020, 1}},
};

/* Returns a descriptor, which the caller closes. */
static inline int hotspot_file_open(const struct hotspot_file *file)
{
	static const Elf64_Sym null_symbol;
	struct elf_writer writer = {.machine = file->machine};
	struct text symbols = {0};
	struct text names = {0};
	struct text bytes;
	uint16_t strings;
	int fd;

	text_append(&symbols, &null_symbol, sizeof(null_symbol));
	text_append_char(&names, '\0');
	for (const struct hotspot_symbol *symbol = file->symbols; symbol->name; symbol++) {
		Elf64_Sym entry = {
			.st_name = (uint32_t)names.length,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			.st_shndx = symbol->section,
			.st_value = symbol->address,
			.st_size = 8,
		};

		text_append(&symbols, &entry, sizeof(entry));
		text_append(&names, symbol->name, strlen(symbol->name) + 1);
	}
	elf_writer_add(&writer, (struct elf_section){.name = ".data",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_WRITE,
						     .address = 0x20000,
						     .size = 0x100});
	strings = elf_writer_add(&writer, (struct elf_section){.name = ".strings",
							       .type = SHT_STRTAB,
							       .data = names.data,
							       .size = names.length});
	elf_writer_add(&writer, (struct elf_section){.name = ".symbols",
						     .type = file->symbols_type ? file->symbols_type
										: SHT_DYNSYM,
						     .data = symbols.data,
						     .size = symbols.length,
						     .link = strings,
						     .entry_size = sizeof(Elf64_Sym)});
	bytes = elf_writer_write(&writer);
	fd = open_bytes(bytes.data, bytes.length);
	text_release(&bytes);
	text_release(&symbols);
	text_release(&names);
	return fd;
}

#endif
