#include "objfile/plt.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"
#include "objfile/architecture.h"
#include "objfile/objfile.h"

enum slot_kind { SLOT_OTHER, SLOT_OF_SYMBOL, SLOT_OF_RESOLVER };

static enum slot_kind classify(const struct architecture *architecture, uint64_t type)
{
	if (type == architecture->relocations.jump_slot ||
	    type == architecture->relocations.glob_dat)
		return SLOT_OF_SYMBOL;
	return type == architecture->relocations.irelative ? SLOT_OF_RESOLVER : SLOT_OTHER;
}

/* Symbols that a section of relocations refers to. */
struct plt_symbols {
	Elf *elf;
	Elf_Data *data; /* NULL: none */
	size_t names;   /* number of their string section */
};

static struct plt_symbols open_symbols(Elf *elf, size_t section)
{
	struct plt_symbols symbols = {.elf = elf};
	Elf_Scn *scn = section ? elf_getscn(elf, section) : NULL;
	GElf_Shdr header;

	if (!scn || !gelf_getshdr(scn, &header) ||
	    (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
		return symbols;
	symbols.data = elf_getdata(scn, NULL);
	symbols.names = header.sh_link;
	return symbols;
}

static const char *get_name(const struct plt_symbols *symbols, uint64_t index)
{
	const char *name;
	GElf_Sym symbol;

	if (!symbols->data || !index || index > INT32_MAX ||
	    !gelf_getsym(symbols->data, (int)index, &symbol))
		return NULL;
	name = elf_strptr(symbols->elf, symbols->names, symbol.st_name);
	return name && *name ? name : NULL;
}

static int add_slots(struct plt_slots *slots, const struct architecture *architecture, Elf *elf,
		     Elf_Scn *scn, bool is_lazy)
{
	struct plt_symbols symbols;
	GElf_Shdr header;
	GElf_Rela relocation;
	Elf_Data *data;

	if (!gelf_getshdr(scn, &header))
		return 0;
	symbols = open_symbols(elf, header.sh_link);
	data = elf_getdata(scn, NULL);
	for (int i = 0; data && gelf_getrela(data, i, &relocation); i++) {
		struct plt_slot slot = {.address = relocation.r_offset};
		struct plt_slot *new;

		switch (classify(architecture, GELF_R_TYPE(relocation.r_info))) {
		case SLOT_OF_SYMBOL:
			slot.symbol = get_name(&symbols, GELF_R_SYM(relocation.r_info));
			break;
		case SLOT_OF_RESOLVER:
			slot.resolver = (uint64_t)relocation.r_addend;
			break;
		case SLOT_OTHER:
			break;
		}
		if (is_lazy) {
			new = array_add(&slots->lazy);
			if (!new)
				return -ENOMEM;
			*new = slot;
		}
		if (!slot.symbol && !slot.resolver)
			continue;
		new = array_add(&slots->items);
		if (!new)
			return -ENOMEM;
		*new = slot;
	}
	return 0;
}

static int compare_slots(const void *left, const void *right)
{
	const struct plt_slot *a = left;
	const struct plt_slot *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static int read_slots(struct plt_slots *slots, const struct architecture *architecture, Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *lazy = elf_section_find(elf, ".rela.plt", &header);

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		int err;

		/* Without SHF_ALLOC they are for the linker, and do not describe slots. */
		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_RELA ||
		    !(header.sh_flags & SHF_ALLOC))
			continue;
		err = add_slots(slots, architecture, elf, scn, scn == lazy);
		if (err)
			return err;
	}
	if (slots->items.length)
		qsort(slots->items.items, slots->items.length, sizeof(*slots->items.items),
		      compare_slots);
	return 0;
}

static bool is_plt(Elf *elf, const GElf_Shdr *header)
{
	size_t names;
	const char *name;

	if (header->sh_type != SHT_PROGBITS || !(header->sh_flags & SHF_EXECINSTR) ||
	    elf_getshdrstrndx(elf, &names))
		return false;
	name = elf_strptr(elf, names, header->sh_name);
	return name && (string_starts_with(name, ".plt") || string_starts_with(name, ".iplt"));
}

static int read_stubs(struct plt *plt, const struct plt_slots *slots,
		      const struct architecture *architecture, Elf *elf)
{
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		struct bytes code;
		GElf_Shdr header;
		Elf_Data *data;
		int err;

		if (!gelf_getshdr(scn, &header) || !is_plt(elf, &header))
			continue;
		data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf)
			continue;
		code = bytes_of(data->d_buf, data->d_size);
		err = architecture->read_stubs(plt, slots, code, header.sh_addr, header.sh_entsize);
		if (err)
			return err;
	}
	return 0;
}

int plt_read(Elf *elf, struct plt *plt)
{
	const struct architecture *architecture;
	struct plt_slots slots = {0};
	GElf_Ehdr header;
	int err;

	if (!gelf_getehdr(elf, &header) || header.e_ident[EI_CLASS] != ELFCLASS64)
		return 0;
	architecture = architecture_find(header.e_machine);
	if (!architecture)
		return 0;
	err = read_slots(&slots, architecture, elf);
	if (!err)
		err = read_stubs(plt, &slots, architecture, elf);
	array_release(&slots.items);
	array_release(&slots.lazy);
	return err;
}
