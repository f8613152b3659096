/*
 * Unwind tables. The first byte says what the others are: a whole ELF file, or .eh_frame,
 * .debug_frame or .gopclntab of one that is sound otherwise.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "require.h"
#include "unwind/unwind_table.h"

#define CODE_START 0x1000
#define CODE_END   0x200000000
#define FRAMES     0x200000 /* the address of .eh_frame */

enum kind { WHOLE_FILE, EH_FRAME, DEBUG_FRAME, GO_TABLE, NUM_KINDS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char names[] = "\0.eh_frame\0.debug_frame\0.gopclntab\0.names";
static const uint32_t name_places[NUM_KINDS] = {
	[EH_FRAME] = 1,
	[DEBUG_FRAME] = sizeof("\0.eh_frame"),
	[GO_TABLE] = sizeof("\0.eh_frame\0.debug_frame"),
};

/* A program whose code is anywhere, and which has these bytes as the section. */
static void write_file(struct text *file, enum kind kind, const void *data, size_t size)
{
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_entry = FRAMES + 0x100,
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = sizeof(header) + sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = CODE_START,
		.p_memsz = CODE_END - CODE_START,
	};
	Elf64_Shdr sections[3] = {{0}};
	size_t headers_size = sizeof(header) + sizeof(segment) + sizeof(sections);

	sections[1] = (Elf64_Shdr){
		.sh_name = name_places[kind],
		.sh_type = SHT_PROGBITS,
		.sh_addr = kind == EH_FRAME ? FRAMES : 0,
		.sh_offset = headers_size + sizeof(names),
		.sh_size = size,
	};
	sections[2] = (Elf64_Shdr){
		.sh_name = sizeof("\0.eh_frame\0.debug_frame\0.gopclntab"),
		.sh_type = SHT_STRTAB,
		.sh_offset = headers_size,
		.sh_size = sizeof(names),
	};
	text_append(file, &header, sizeof(header));
	text_append(file, &segment, sizeof(segment));
	text_append(file, sections, sizeof(sections));
	text_append(file, names, sizeof(names));
	text_append(file, data, size);
}

/* A lookup finds the last row at the address or before. */
static void require_page(const struct unwind_table *table, uint32_t page)
{
	uint64_t base = (table->first_page + page) << UNWIND_PAGE_SHIFT;

	for (uint32_t i = 0; i < table->pages[page].num_rows; i++) {
		const struct unwind_row *row = &table->rows[table->pages[page].first_row + i];
		struct unwind_rule rule;
		int err = unwind_table_find(table, base + row->pc_low, &rule);

		require((err != 0) == (row->rule == 0));
		require(err || memcmp(&rule, &table->rules[row->rule], sizeof(rule)) == 0);
	}
}

static void require_table(const struct unwind_table *table)
{
	uint64_t num_unsupported = 0;
	struct unwind_rule rule;

	require(unwind_table_is_valid(table));
	for (uint32_t i = 0; i < table->num_pages; i++)
		require_page(table, i);
	array_for_each (&table->unsupported, unsupported)
		num_unsupported += unsupported->num_rows;
	require(num_unsupported == table->statistics.num_unsupported_rows);
	(void)!unwind_table_find(table, 0, &rule);
	(void)!unwind_table_find(table, UINT64_MAX, &rule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text file = {0};
	struct unwind_table *table;
	struct objfile *objfile;
	enum kind kind;
	int fd;

	if (size < 2)
		return 0;
	kind = data[0] % NUM_KINDS;
	if (kind == WHOLE_FILE)
		text_append(&file, data + 1, size - 1);
	else
		write_file(&file, kind, data + 1, size - 1);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	require(fd >= 0 && write(fd, file.data, file.length) == (ssize_t)file.length);
	if (objfile_open(fd, "/fuzz/file", NULL, &objfile, NULL) == 0) {
		if (unwind_table_new(objfile, &table, NULL) == 0) {
			require_table(table);
			unwind_table_free(table);
		}
		objfile_unref(objfile);
	}
	close(fd);
	text_release(&file);
	return 0;
}
