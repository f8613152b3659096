#include "objfile/dwarf_source.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "objfile/debug_image.h"
#include "objfile/elf_file.h"

/* libdw keeps every debug section in memory: beyond this, lines and inlined calls go missing. */
#define MAX_BYTES (2ull << 30)

/* Debug information compresses to a third or a quarter; a much higher ratio is an attack. */
#define FREE_BYTES       (1u << 20)
#define MAX_UNPACK_RATIO 32

/*
 * Header of a section as older compilers compressed it: "ZLIB", then the size, most significant
 * byte first.
 */
#define OLD_HEADER_BYTES 12

/* Sum of sections. */
struct debug_size {
	bool is_found;
	bool has_old_compression;
	uint64_t file_bytes;
	uint64_t memory_bytes;
};

/* The name after ".debug_" or ".zdebug_"; NULL for any section that libdw does not decompress. */
static const char *get_debug_name(Elf *elf, size_t names, const GElf_Shdr *header)
{
	const char *name = elf_strptr(elf, names, header->sh_name);

	if (name && string_starts_with(name, ".debug_"))
		return name + strlen(".debug_");
	if (name && string_starts_with(name, ".zdebug_"))
		return name + strlen(".zdebug_");
	if (name &&
	    (string_starts_with(name, ".gnu_debug") || string_starts_with(name, ".zgnu_debug")))
		return "link";
	return NULL;
}

/*
 * libdw reads and decompresses all debug sections at once. Those that names and lines do not need,
 * such as lists of locations, are a fifth of it: libdw skips sections without bytes.
 */
static void hide_unused(Elf *elf, size_t names)
{
	static const char *const used[] = {"info",   "types",    "abbrev",      "line",
					   "str",    "line_str", "str_offsets", "addr",
					   "ranges", "rnglists", "link"};

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		bool is_used = false;
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(scn, &header))
			continue;
		name = get_debug_name(elf, names, &header);
		for (size_t i = 0; i < ARRAY_LENGTH(used) && name && !is_used; i++)
			is_used = string_equals(name, used[i]);
		if (!name || is_used)
			continue;
		header.sh_type = SHT_NOBITS;
		(void)gelf_update_shdr(scn, &header); /* only in memory */
	}
}

/* The size that a section of the old kind of compression has in memory. */
static uint64_t get_old_decompressed_size(Elf *elf, const GElf_Shdr *header)
{
	const Elf_Data *data =
		elf_getdata_rawchunk(elf, (int64_t)header->sh_offset, OLD_HEADER_BYTES, ELF_T_BYTE);
	const uint8_t *bytes = data ? data->d_buf : NULL;
	uint64_t decompressed = 0;

	if (!bytes || memcmp(bytes, "ZLIB", 4) != 0)
		return header->sh_size;
	for (size_t i = 4; i < OLD_HEADER_BYTES; i++)
		decompressed = decompressed << 8 | bytes[i];
	return decompressed;
}

/* Without overflow. */
static void add_size(uint64_t *sum, uint64_t size)
{
	*sum = size > UINT64_MAX - *sum ? UINT64_MAX : *sum + size;
}

static struct debug_size measure(Elf *elf, size_t names)
{
	struct debug_size sum = {0};

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr header;
		GElf_Chdr chdr;
		const char *name;
		uint64_t decompressed;

		if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = get_debug_name(elf, names, &header);
		if (!name)
			continue;
		if (header.sh_flags & SHF_COMPRESSED)
			decompressed = gelf_getchdr(scn, &chdr) ? chdr.ch_size : UINT64_MAX;
		else
			decompressed = get_old_decompressed_size(elf, &header);
		sum.has_old_compression |=
			decompressed != header.sh_size && !(header.sh_flags & SHF_COMPRESSED);
		add_size(&sum.file_bytes, header.sh_size);
		add_size(&sum.memory_bytes, decompressed);
		/* A file of common parts (dwz) may have nothing but strings. */
		sum.is_found |= header.sh_size &&
				(string_equals(name, "info") || string_equals(name, "str"));
	}
	return sum;
}

/* libdw searches for the end of a string in such a section, even past the section's end. */
static bool are_strings_ended(Elf *elf, size_t names)
{
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		const Elf_Data *data;
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = get_debug_name(elf, names, &header);
		if (!name || (!string_equals(name, "str") && !string_equals(name, "line_str")))
			continue;
		data = elf_getdata(scn, NULL);
		if (data && data->d_size && ((const char *)data->d_buf)[data->d_size - 1])
			return false;
	}
	return true;
}

static int open_dwarf(const char *path, struct dwarf_source *source)
{
	struct debug_size size;
	Elf *elf = source->elf;
	size_t names;
	int err;

	if (elf_getshdrstrndx(elf, &names))
		return -ENODATA;
	hide_unused(elf, names);
	size = measure(elf, names);
	if (!size.is_found)
		return -ENODATA;
	if (size.memory_bytes > MAX_BYTES ||
	    (size.memory_bytes > FREE_BYTES &&
	     size.memory_bytes / MAX_UNPACK_RATIO > size.file_bytes)) {
		log_debug("%s: debug information is too large, skipping", path);
		return -EFBIG;
	}
	source->size = size.memory_bytes;
	/* libdw would decompress such sections again. */
	source->keeps_dwarf = size.has_old_compression;
	err = debug_image_make(elf, &source->decompressed);
	if (!err) {
		elf = source->decompressed_elf =
			elf_memory(source->decompressed.data, source->decompressed.length);
		if (!elf || elf_getshdrstrndx(elf, &names))
			return -EINVAL;
	}
	/* Decompresses, too. */
	source->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!source->dwarf)
		return -EINVAL;
	if (!are_strings_ended(elf, names)) {
		log_debug("%s: debug information with an unterminated string, skipping", path);
		return -EINVAL;
	}
	return 0;
}

int dwarf_source_open(int fd, const char *path, struct dwarf_source *ret)
{
	struct dwarf_source source = {0};
	int err = elf_file_start(fd, &source.elf);

	if (err)
		return err;
	err = open_dwarf(path, &source);
	if (err) {
		dwarf_source_close(&source);
		return err;
	}
	*ret = source;
	return 0;
}

int dwarf_source_drop(struct dwarf_source *source)
{
	if (!source->dwarf || source->keeps_dwarf)
		return 0;
	dwarf_end(source->dwarf);
	source->dwarf =
		dwarf_begin_elf(source->decompressed_elf ? source->decompressed_elf : source->elf,
				DWARF_C_READ, NULL);
	return source->dwarf ? 0 : -ENOMEM;
}

void dwarf_source_close(struct dwarf_source *source)
{
	if (source->dwarf)
		dwarf_end(source->dwarf);
	elf_end(source->decompressed_elf);
	text_release(&source->decompressed);
	elf_end(source->elf);
	*source = (struct dwarf_source){0};
}
