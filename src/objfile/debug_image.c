#include "objfile/debug_image.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"

#define COMPRESSED_BY_ZSTD 2 /* ELFCOMPRESS_ZSTD, which elf.h may not have yet */
#define SECTION_ALIGN      16
#define SECTION_MAX_BYTES  (2ull << 30)

struct image_section {
	const char *name;
	const Elf_Data *data;       /* as it is in the file */
	Elf64_Shdr header;          /* as written */
	uint64_t decompressed_size; /* 0: not compressed by zstd */
};

struct image_sections {
	ARRAY(struct image_section) items;
};

/* The decompressed size; 0 when it is not compressed by zstd. */
static uint64_t get_decompressed_size(const Elf_Data *data, const GElf_Shdr *header)
{
	Elf64_Chdr chdr;

	if (!(header->sh_flags & SHF_COMPRESSED) || data->d_size < sizeof(chdr))
		return 0;
	memcpy(&chdr, data->d_buf, sizeof(chdr));
	return chdr.ch_type == COMPRESSED_BY_ZSTD ? chdr.ch_size : 0;
}

static int list_sections(Elf *elf, struct image_sections *sections, bool *is_any_compressed)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return 0;
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		struct image_section *section;
		GElf_Shdr header;
		const char *name;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name || (!string_starts_with(name, ".debug_") &&
			      !string_equals(name, ".gnu_debugaltlink")))
			continue;
		data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf)
			continue;
		section = array_add(&sections->items);
		if (!section)
			return -ENOMEM;
		*section = (struct image_section){
			.name = name,
			.data = data,
			.header = header,
			.decompressed_size = get_decompressed_size(data, &header),
		};
		*is_any_compressed |= section->decompressed_size > 0;
	}
	return 0;
}

static void align(struct text *image)
{
	while (image->length % SECTION_ALIGN && !image->failed)
		text_append_char(image, '\0');
}

/* Returns false if it is malformed. */
static bool write_decompressed(struct text *image, const struct image_section *section)
{
	size_t size = section->decompressed_size;
	const char *compressed = (const char *)section->data->d_buf + sizeof(Elf64_Chdr);
	_cleanup_free_ char *decompressed = size <= SECTION_MAX_BYTES ? malloc(size) : NULL;

	if (!decompressed || ZSTD_decompress(decompressed, size, compressed,
					     section->data->d_size - sizeof(Elf64_Chdr)) != size)
		return false;
	text_append(image, decompressed, size);
	return true;
}

static void write_section(struct text *image, struct image_section *section)
{
	Elf64_Shdr *header = &section->header;

	align(image);
	header->sh_offset = image->length;
	header->sh_addr = header->sh_link = header->sh_info = 0;
	if (!section->decompressed_size) {
		text_append(image, section->data->d_buf, section->data->d_size);
		return;
	}
	header->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	header->sh_addralign = 1;
	header->sh_size = section->decompressed_size;
	if (!write_decompressed(image, section))
		*header = (Elf64_Shdr){.sh_name = header->sh_name, .sh_type = SHT_NULL};
}

static void write_image(struct text *image, const GElf_Ehdr *original,
			struct image_sections *sections)
{
	static const Elf64_Shdr null_header;
	_cleanup_(text_release) struct text names = {0};
	Elf64_Shdr names_header = {.sh_type = SHT_STRTAB, .sh_addralign = 1};
	Elf64_Ehdr header = *original;

	text_append(image, &header, sizeof(header));
	text_append_char(&names, '\0');
	array_for_each (&sections->items, section) {
		section->header.sh_name = (uint32_t)names.length;
		text_append(&names, section->name, strlen(section->name) + 1);
		write_section(image, section);
	}
	names_header.sh_name = 0;
	names_header.sh_offset = image->length;
	names_header.sh_size = names.length;
	text_append(image, names.data, names.length);
	align(image);
	header.e_phoff = header.e_phnum = 0;
	header.e_shoff = image->length;
	header.e_shentsize = sizeof(Elf64_Shdr);
	header.e_shnum = (uint16_t)(sections->items.length + 2);
	header.e_shstrndx = (uint16_t)(sections->items.length + 1);
	text_append(image, &null_header, sizeof(null_header));
	array_for_each (&sections->items, section)
		text_append(image, &section->header, sizeof(section->header));
	text_append(image, &names_header, sizeof(names_header));
	if (!image->failed)
		memcpy(image->data, &header, sizeof(header));
}

int debug_image_make(Elf *elf, struct text *ret)
{
	struct image_sections sections = {0};
	bool is_any_compressed = false;
	GElf_Ehdr header;
	int err;

	if (gelf_getclass(elf) != ELFCLASS64 || !gelf_getehdr(elf, &header))
		return -ENOENT;
	err = list_sections(elf, &sections, &is_any_compressed);
	if (!err && (!is_any_compressed || sections.items.length > 1000))
		err = -ENOENT;
	if (!err)
		write_image(ret, &header, &sections);
	array_release(&sections.items);
	if (err)
		return err;
	return ret->failed ? -ENOMEM : 0;
}
