#include "objfile/elf_symbols.h"

#include <stdbool.h>
#include <string.h>

/* The names of a symbol table. */
struct string_section {
	const char *data;
	size_t size; /* up to and with the last NUL */
};

static struct string_section open_strings(Elf *elf, size_t index)
{
	Elf_Scn *scn = elf_getscn(elf, index);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	const char *last;

	if (!data || !data->d_buf)
		return (struct string_section){0};
	last = memrchr(data->d_buf, '\0', data->d_size);
	return (struct string_section){
		.data = data->d_buf,
		.size = last ? (size_t)(last - (const char *)data->d_buf) + 1 : 0,
	};
}

static bool has_section(const GElf_Sym *symbol)
{
	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS;
}

static int visit_table(Elf *elf, Elf_Scn *scn, size_t strings_index, bool visits_all,
		       symbol_visitor *visit, void *context)
{
	struct string_section strings = open_strings(elf, strings_index);
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		int err;

		if (symbol.st_name >= strings.size || (!visits_all && !has_section(&symbol)))
			continue;
		err = visit(context, strings.data + symbol.st_name, &symbol);
		if (err)
			return err;
	}
	return 0;
}

int objfile_for_each_symbol(Elf *elf, symbol_visitor *visit, void *context)
{
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr header;
		int err;

		if (!gelf_getshdr(scn, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		err = visit_table(elf, scn, header.sh_link, false, visit, context);
		if (err)
			return err;
	}
	return 0;
}

int objfile_for_each_exported_symbol(Elf *elf, symbol_visitor *visit, void *context)
{
	Elf_Scn *table = NULL;
	GElf_Shdr header = {0};

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn && header.sh_type != SHT_DYNSYM;
	     scn = elf_nextscn(elf, scn)) {
		GElf_Shdr found;

		if (!gelf_getshdr(scn, &found) ||
		    (found.sh_type != SHT_SYMTAB && found.sh_type != SHT_DYNSYM))
			continue;
		table = scn;
		header = found;
	}
	return table ? visit_table(elf, table, header.sh_link, true, visit, context) : 0;
}
