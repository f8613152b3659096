/* HotSpot in the symbols of a file: the variables that its debugger begins with. */
#include "runtime/hotspot.h"

#include <errno.h>

#include "base/text.h"
#include "runtime/file_data.h"

#define STRUCTS       "gHotSpotVMStructs"
#define TYPES         "gHotSpotVMTypes"
#define INT_CONSTANTS "gHotSpotVMIntConstants"

static void take_symbol(const char *name, uint64_t address, struct hotspot_build *build)
{
	if (string_equals(name, STRUCTS))
		build->structs = address;
	else if (string_equals(name, TYPES))
		build->types = address;
	else if (string_equals(name, INT_CONSTANTS))
		build->int_constants = address;
}

int hotspot_find(struct objfile *objfile, struct hotspot_build *ret)
{
	Elf *elf = objfile_get_elf(objfile);
	struct hotspot_build found = {0};

	/* What is known of frames and of code is what this machine has. */
	if (!file_has_symbol_name(elf, STRUCTS, sizeof(STRUCTS)) || !file_is_x86_64(objfile))
		return -ENOENT;
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		Elf_Data *data;
		GElf_Shdr header;
		GElf_Sym symbol;

		if (!gelf_getshdr(scn, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);

			/* A debugger that is linked against it has the names, too, and not the tables. */
			if (name && symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS)
				take_symbol(name, symbol.st_value, &found);
		}
	}
	if (!found.structs || !found.types || !found.int_constants)
		return -ENOENT;
	*ret = found;
	return 0;
}
