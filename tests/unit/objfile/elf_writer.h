/*
 * ELF files (64 bit, position-independent) written by tests, section by section.
 *
 *	struct elf_writer writer = {0};
 *	elf_writer_add(&writer, (struct elf_section){.name = ".text", …});
 *	int fd = elf_writer_open(&writer);
 *
 * Every section with an address gets a PT_LOAD of its own, and its file offset.
 */
#ifndef TESTS_ELF_WRITER_H
#define TESTS_ELF_WRITER_H

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"

#define ELF_WRITER_SECTIONS_MAX 16
#define ELF_WRITER_ID_MAX       32

struct elf_section {
	const char *name;
	uint32_t type;
	uint64_t flags;
	uint64_t address;
	const void *data; /* NULL: zeros */
	size_t size;
	uint32_t link;
	uint64_t entry_size;
};

struct elf_writer {
	struct elf_section sections[ELF_WRITER_SECTIONS_MAX];
	uint16_t num_sections;
	uint16_t type;                             /* 0: ET_DYN */
	uint16_t machine;                          /* 0: EM_X86_64 */
	uint64_t entry;                            /* 0: none */
	uint64_t offsets[ELF_WRITER_SECTIONS_MAX]; /* in the file, known after writing */
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[ELF_WRITER_ID_MAX];
	} build_id;
};

/* Returns the section's number in the file (0 is the null section). */
static inline uint16_t elf_writer_add(struct elf_writer *writer, struct elf_section section)
{
	assert_true(writer->num_sections < ELF_WRITER_SECTIONS_MAX - 1);
	writer->sections[writer->num_sections] = section;
	return ++writer->num_sections;
}

/* The note of a linker; the writer, which holds it, stays where it is. size: a multiple of 4. */
static inline void elf_writer_add_build_id(struct elf_writer *writer, const void *id, uint32_t size)
{
	assert_true(size <= ELF_WRITER_ID_MAX && size % 4 == 0);
	writer->build_id.header = (Elf64_Nhdr){4, size, NT_GNU_BUILD_ID};
	memcpy(writer->build_id.name, ELF_NOTE_GNU, 4);
	memcpy(writer->build_id.id, id, size);
	elf_writer_add(writer, (struct elf_section){.name = ".note.gnu.build-id",
						    .type = SHT_NOTE,
						    .flags = SHF_ALLOC,
						    .data = &writer->build_id,
						    .size = sizeof(Elf64_Nhdr) + 4 + size});
}

static inline void elf_writer_write_segments(struct elf_writer *writer, struct text *file)
{
	for (uint16_t i = 0; i < writer->num_sections; i++) {
		const struct elf_section *section = &writer->sections[i];
		Elf64_Phdr segment = {
			.p_type = section->type == SHT_NOTE
					  ? PT_NOTE
					  : (section->address ? PT_LOAD : PT_NULL),
			.p_flags = PF_R | (section->flags & SHF_EXECINSTR ? PF_X : 0),
			.p_offset = writer->offsets[i],
			.p_vaddr = section->address,
			.p_filesz = section->size,
			.p_memsz = section->size,
			.p_align = section->type == SHT_NOTE ? 4 : 0x1000,
		};

		text_append(file, &segment, sizeof(segment));
	}
}

static inline void elf_writer_write_headers(struct elf_writer *writer, struct text *file,
					    const char *names)
{
	static const Elf64_Shdr null_header;
	const char *name = names + 1;

	text_append(file, &null_header, sizeof(null_header));
	for (uint16_t i = 0; i < writer->num_sections; i++) {
		const struct elf_section *section = &writer->sections[i];
		Elf64_Shdr header = {
			.sh_name = (uint32_t)(name - names),
			.sh_type = section->type,
			.sh_flags = section->flags,
			.sh_addr = section->address,
			.sh_offset = writer->offsets[i],
			.sh_size = section->size,
			.sh_link = section->link,
			.sh_addralign = section->type == SHT_NOTE ? 4 : 1,
			.sh_entsize = section->entry_size,
		};

		text_append(file, &header, sizeof(header));
		name += strlen(name) + 1;
	}
}

/* The bytes of the file; the caller releases them. */
static inline struct text elf_writer_write(struct elf_writer *writer)
{
	struct text file = {0};
	struct text names = {0};
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = writer->type ? writer->type : ET_DYN,
		.e_machine = writer->machine ? writer->machine : EM_X86_64,
		.e_version = EV_CURRENT,
		.e_entry = writer->entry,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	size_t offset;

	text_append_char(&names, '\0');
	for (uint16_t i = 0; i < writer->num_sections; i++)
		text_append(&names, writer->sections[i].name, strlen(writer->sections[i].name) + 1);
	text_append(&names, ".shstrtab", sizeof(".shstrtab"));
	header.e_shstrndx = elf_writer_add(writer, (struct elf_section){.name = ".shstrtab",
									.type = SHT_STRTAB,
									.data = names.data,
									.size = names.length});
	header.e_phnum = writer->num_sections;
	header.e_shnum = writer->num_sections + 1;
	offset = sizeof(header) + writer->num_sections * sizeof(Elf64_Phdr);
	for (uint16_t i = 0; i < writer->num_sections; i++) {
		writer->offsets[i] = offset;
		offset += writer->sections[i].type == SHT_NOBITS ? 0 : writer->sections[i].size;
	}
	header.e_shoff = offset;
	text_append(&file, &header, sizeof(header));
	elf_writer_write_segments(writer, &file);
	for (uint16_t i = 0; i < writer->num_sections; i++) {
		for (size_t j = 0; !writer->sections[i].data && j < writer->sections[i].size; j++)
			text_append_char(&file, '\0');
		if (writer->sections[i].data)
			text_append(&file, writer->sections[i].data, writer->sections[i].size);
	}
	elf_writer_write_headers(writer, &file, names.data);
	text_release(&names);
	assert_false(file.failed);
	return file;
}

/* A file of these bytes in memory; the caller closes it. */
static inline int open_bytes(const void *data, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	return fd;
}

static inline int elf_writer_open(struct elf_writer *writer)
{
	struct text file = elf_writer_write(writer);
	int fd = open_bytes(file.data, file.length);

	text_release(&file);
	return fd;
}

/* The sections .strtab and .symtab: symbols are Elf64_Sym, whose names lie in `names`; both as long as the writer. */
static inline void elf_writer_add_symbols(struct elf_writer *writer, const void *symbols,
					  size_t symbols_size, const void *names, size_t names_size)
{
	uint16_t strings = elf_writer_add(writer, (struct elf_section){.name = ".strtab",
								       .type = SHT_STRTAB,
								       .data = names,
								       .size = names_size});

	elf_writer_add(writer, (struct elf_section){.name = ".symtab",
						    .type = SHT_SYMTAB,
						    .data = symbols,
						    .size = symbols_size,
						    .link = strings,
						    .entry_size = sizeof(Elf64_Sym)});
}

#endif
