/* A section by its name, among the sections of an ELF file that has bytes of it. */
#include "objfile/objfile.h"

#include "base/text.h"

Elf_Scn *elf_section_find(Elf *elf, const char *wanted, GElf_Shdr *ret)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name || !string_equals(name, wanted))
			continue;
		*ret = header;
		return scn;
	}
	return NULL;
}
