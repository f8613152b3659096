/*
 * The key of an unwind table if its file has no build ID: a hash of the data that the table is
 * built from. Hashing costs a fraction of building.
 */
#include "unwind/table_cache.h"

#include <errno.h>

#include "base/hash.h"
#include "objfile/go_table.h"
#include "unwind/frame_section.h"

static uint64_t add(uint64_t hash, const void *data, size_t size)
{
	return hash_mix(hash, hash_bytes(data, size));
}

static uint64_t add_headers(uint64_t hash, Elf *elf)
{
	GElf_Ehdr header;
	GElf_Phdr segment;
	GElf_Shdr section;
	size_t count;

	if (gelf_getehdr(elf, &header))
		hash = add(hash, &header, sizeof(header));
	if (!elf_getphdrnum(elf, &count))
		for (size_t i = 0; i < count; i++)
			if (gelf_getphdr(elf, (int)i, &segment))
				hash = add(hash, &segment, sizeof(segment));
	for (Elf_Scn *next = elf_nextscn(elf, NULL); next; next = elf_nextscn(elf, next))
		if (gelf_getshdr(next, &section))
			hash = add(hash, &section, sizeof(section));
	return hash;
}

static uint64_t add_frame_section(uint64_t hash, const struct frame_section *section)
{
	hash = hash_mix(hash, section->elf_address);
	hash = hash_mix(hash, section->text_address);
	hash = hash_mix(hash, section->data_address);
	return add(hash, section->data, section->size);
}

int table_key_hash(const struct objfile *objfile, uint64_t *ret)
{
	Elf *elf = objfile_get_elf(objfile);
	uint64_t hash = add_headers(0, elf);
	struct frame_section section;
	struct go_table go;
	bool is_described = false;

	if (!frame_section_find_eh_frame(elf, &section)) {
		hash = add_frame_section(hash, &section);
		is_described = true;
	}
	if (!frame_section_find_debug_frame(elf, &section)) {
		hash = add_frame_section(hash, &section);
		is_described = true;
	}
	if (go_table_find(elf, &go)) {
		hash = add(hash_mix(hash, go.text_start), go.names.data, go.names.size);
		is_described = true;
	}
	if (!is_described)
		return -ENOENT;
	*ret = hash;
	return 0;
}
