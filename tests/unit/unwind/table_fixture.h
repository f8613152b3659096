/*
 * Unwind tables of files that tests write: text, and call-frame information for it.
 *
 *	struct table_file file = table_file_of_text();
 *	frame_writer_add_cie(&file.eh_frame, &usual_cie);
 *	frame_writer_add_function(&file.eh_frame, TEXT, …);
 *	struct unwind_table *table = table_file_build(&file);
 *	…
 *	unwind_table_free(table);
 *	table_file_release(&file);
 */
#ifndef TESTS_TABLE_FIXTURE_H
#define TESTS_TABLE_FIXTURE_H

#include "frame_writer.h"
#include "objfile/elf_writer.h"
#include "unwind/unwind_table.h"

#define TEXT      0x400000 /* the start of a page of the table */
#define TEXT_SIZE 0x60000
#define PAGE      0x10000

/* A row that differs from all others: CFA = rsp + 8 * (n + 1). */
#define ROW(n) DW_CFA_def_cfa_offset, 8 * ((n) + 1)

struct table_file {
	struct frame_writer eh_frame;
	struct frame_writer debug_frame;
	const uint8_t *text; /* TEXT_SIZE bytes; NULL: zeros */
	uint64_t entry;
	uint64_t memory_size; /* of the text's segment, when it is larger than in the file */
	uint16_t type;        /* 0: ET_DYN */
	uint16_t machine;     /* 0: x86-64 */
};

static inline struct table_file table_file_of_text(void)
{
	return (struct table_file){
		.eh_frame = {.elf_address = 0x10000000},
		.debug_frame = {.is_debug_frame = true},
	};
}

static inline void table_file_release(struct table_file *file)
{
	text_release(&file->eh_frame.bytes);
	text_release(&file->debug_frame.bytes);
}

/* The whole ELF file; the caller releases it. */
static inline struct text table_file_write(const struct table_file *file)
{
	struct elf_writer writer = {.type = file->type};
	Elf64_Phdr segment;
	Elf64_Ehdr header;
	struct text bytes;

	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT,
						     .data = file->text,
						     .size = TEXT_SIZE});
	if (file->eh_frame.bytes.length)
		elf_writer_add(&writer, (struct elf_section){.name = ".eh_frame",
							     .type = SHT_PROGBITS,
							     .flags = SHF_ALLOC,
							     .address = file->eh_frame.elf_address,
							     .data = file->eh_frame.bytes.data,
							     .size = file->eh_frame.bytes.length});
	if (file->debug_frame.bytes.length)
		elf_writer_add(&writer,
			       (struct elf_section){.name = ".debug_frame",
						    .type = SHT_PROGBITS,
						    .data = file->debug_frame.bytes.data,
						    .size = file->debug_frame.bytes.length});
	bytes = elf_writer_write(&writer);
	memcpy(&header, bytes.data, sizeof(header));
	header.e_entry = file->entry;
	if (file->machine)
		header.e_machine = file->machine;
	memcpy(bytes.data, &header, sizeof(header));
	memcpy(&segment, bytes.data + header.e_phoff, sizeof(segment));
	if (file->memory_size)
		segment.p_memsz = file->memory_size;
	memcpy(bytes.data + header.e_phoff, &segment, sizeof(segment));
	return bytes;
}

static inline int build_table(const void *elf, size_t size, struct unwind_table **ret)
{
	_cleanup_close_ int fd = open_bytes(elf, size);
	struct objfile *objfile;
	struct error error = {{0}};
	int err;

	assert_int_equal(objfile_open(fd, "/test/file", NULL, &objfile, &error), 0);
	err = unwind_table_new(objfile, ret, &error);
	assert_true(!err == !error.message[0]);
	objfile_unref(objfile);
	return err;
}

static inline struct unwind_table *table_file_build(const struct table_file *file)
{
	struct text bytes = table_file_write(file);
	struct unwind_table *table;

	assert_int_equal(build_table(bytes.data, bytes.length, &table), 0);
	assert_true(unwind_table_is_valid(table));
	text_release(&bytes);
	return table;
}

#endif
