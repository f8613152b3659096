#include "objfile/elf_file.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"

/* Programs have dozens. */
#define MAX_SECTIONS 65536
#define MAX_SEGMENTS 65535

/* Linkers leave no holes in sections that libelf reads whole. */
#define MAX_HOLE_BYTES (1u << 20)
#define MAX_HOLES      1024

/*
 * A compressing file system stores a file in a fraction of its size; a file written just now may
 * have no disk blocks yet.
 */
#define MAX_EXPANSION 64
#define FREE_BYTES    (64u << 20)

/* Header fields common to both ELF classes. */
struct layout {
	uint64_t section_offset;
	uint64_t num_sections;
	size_t section_bytes; /* of one header */
	uint64_t num_segments;
	uint64_t segment_offset;
	size_t segment_bytes;
};

static int read_at(int fd, void *data, size_t size, uint64_t offset)
{
	ssize_t got;

	do
		got = pread(fd, data, size, (off_t)offset);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EINVAL;
}

static int read_layout(int fd, struct layout *ret)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr small;
		Elf64_Ehdr large;
	} header;
	bool is_large;

	if (read_at(fd, header.ident, EI_NIDENT, 0) || memcmp(header.ident, ELFMAG, SELFMAG) != 0 ||
	    header.ident[EI_DATA] !=
		    (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
		return -ENOEXEC;
	is_large = header.ident[EI_CLASS] == ELFCLASS64;
	if (!is_large && header.ident[EI_CLASS] != ELFCLASS32)
		return -ENOEXEC;
	if (read_at(fd, &header, is_large ? sizeof(header.large) : sizeof(header.small), 0))
		return -ENOEXEC;
	if (is_large)
		*ret = (struct layout){
			.section_offset = header.large.e_shoff,
			.num_sections = header.large.e_shnum,
			.section_bytes = sizeof(Elf64_Shdr),
			.segment_offset = header.large.e_phoff,
			.num_segments = header.large.e_phnum,
			.segment_bytes = sizeof(Elf64_Phdr),
		};
	else
		*ret = (struct layout){
			.section_offset = header.small.e_shoff,
			.num_sections = header.small.e_shnum,
			.section_bytes = sizeof(Elf32_Shdr),
			.segment_offset = header.small.e_phoff,
			.num_segments = header.small.e_phnum,
			.segment_bytes = sizeof(Elf32_Phdr),
		};
	return 0;
}

/* Numbers that do not fit into the file's header are in the first section's. */
static void read_large_numbers(int fd, struct layout *layout)
{
	union {
		Elf32_Shdr small;
		Elf64_Shdr large;
	} first;
	bool is_large = layout->section_bytes == sizeof(first.large);

	if (!layout->section_offset || (layout->num_sections && layout->num_segments != PN_XNUM) ||
	    read_at(fd, &first, layout->section_bytes, layout->section_offset))
		return;
	if (!layout->num_sections)
		layout->num_sections = is_large ? first.large.sh_size : first.small.sh_size;
	if (layout->num_segments == PN_XNUM)
		layout->num_segments = is_large ? first.large.sh_info : first.small.sh_info;
}

static bool fits(uint64_t offset, uint64_t count, size_t size, uint64_t file_size)
{
	return !count || (offset <= file_size && count <= (file_size - offset) / size);
}

/*
 * Number of bytes in holes within a range of the file; 0 if the file system does not report them.
 */
static uint64_t count_hole_bytes(int fd, uint64_t start, uint64_t end)
{
	uint64_t sum = 0;

	/* More holes than that are too many bytes, unless the file changes while we look. */
	for (int i = 0; i < MAX_HOLES && start < end && sum <= MAX_HOLE_BYTES; i++) {
		off_t hole = lseek(fd, (off_t)start, SEEK_HOLE);
		off_t data;

		if (hole < 0 || (uint64_t)hole >= end)
			break;
		data = lseek(fd, hole, SEEK_DATA);
		/* No data after it: ENXIO. */
		start = data < 0 || (uint64_t)data > end ? end : (uint64_t)data;
		sum += start - (uint64_t)hole;
	}
	return sum;
}

uint64_t elf_file_get_allowed_bytes(const struct stat *status)
{
	return MAX_EXPANSION * 512 * (uint64_t)status->st_blocks + FREE_BYTES;
}

/*
 * Loaded sections are read in pieces, except those that describe functions. libelf reads any other
 * section whole on demand.
 */
static bool is_read_whole(const GElf_Shdr *header, const char *name)
{
	static const char *const wholes[] = {".debug",    ".zdebug", ".gnu_debug", ".zgnu_debug",
					     ".eh_frame", ".plt",    ".iplt",      ".gopclntab"};

	if (header->sh_type == SHT_NOBITS || header->sh_type == SHT_NULL)
		return false;
	if (header->sh_type != SHT_PROGBITS || !(header->sh_flags & SHF_ALLOC))
		return true;
	for (size_t i = 0; i < ARRAY_LENGTH(wholes); i++)
		if (name && string_starts_with(name, wholes[i]))
			return true;
	return false;
}

/* Memory that libelf would allocate. */
struct memory {
	uint64_t bytes;
	uint64_t hole_bytes; /* of these, in holes of the file */
};

static int add_section(int fd, const struct stat *status, const GElf_Shdr *header,
		       struct memory *sum)
{
	uint64_t file_size = (uint64_t)status->st_size;

	/* libelf refuses a section that is not in the file. */
	if (header->sh_offset > file_size || header->sh_size > file_size - header->sh_offset)
		return 0;
	sum->bytes += header->sh_size;
	if (sum->bytes > elf_file_get_allowed_bytes(status))
		return -EFBIG;
	sum->hole_bytes +=
		count_hole_bytes(fd, header->sh_offset, header->sh_offset + header->sh_size);
	return sum->hole_bytes > MAX_HOLE_BYTES ? -EFBIG : 0;
}

/* Uses the headers as libelf has read them, once: the owner may write the file at any time. */
static int check_sections(Elf *elf, int fd, const struct stat *status)
{
	struct memory sum = {0};
	GElf_Shdr header;
	size_t names;
	int err;

	/* Section names are read to tell the sections apart. */
	if (elf_getshdrstrndx(elf, &names) || !gelf_getshdr(elf_getscn(elf, names), &header))
		return 0;
	err = add_section(fd, status, &header, &sum);
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn && !err; scn = elf_nextscn(elf, scn))
		if (elf_ndxscn(scn) != names && gelf_getshdr(scn, &header) &&
		    is_read_whole(&header, elf_strptr(elf, names, header.sh_name)))
			err = add_section(fd, status, &header, &sum);
	return err;
}

/* Check the headers that elf_begin() itself allocates memory for. */
static int check_counts(int fd, uint64_t file_size)
{
	struct layout layout;
	int err = read_layout(fd, &layout);

	if (err)
		return err;
	read_large_numbers(fd, &layout);
	if (layout.num_sections > MAX_SECTIONS || layout.num_segments > MAX_SEGMENTS)
		return -EFBIG;
	/* Section headers may be truncated: segments are enough. */
	return fits(layout.segment_offset, layout.num_segments, layout.segment_bytes, file_size)
		       ? 0
		       : -EINVAL;
}

static int check_opened(Elf *elf, int fd, const struct stat *status)
{
	off_t position = lseek(fd, 0, SEEK_CUR);
	int err;

	if (elf_kind(elf) != ELF_K_ELF)
		return -ENOEXEC;
	err = check_sections(elf, fd, status);
	if (position >= 0)
		(void)lseek(fd, position, SEEK_SET);
	return err;
}

int elf_file_start(int fd, Elf **ret)
{
	struct stat status;
	Elf *elf;
	int err;

	if (fstat(fd, &status))
		return -errno;
	err = check_counts(fd, (uint64_t)status.st_size);
	if (err)
		return err;
	elf_version(EV_CURRENT);
	/* Not by mmap: the owner may truncate the file at any time, which would be SIGBUS for us. */
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return -EINVAL;
	err = check_opened(elf, fd, &status);
	if (err) {
		elf_end(elf);
		return err;
	}
	*ret = elf;
	return 0;
}
