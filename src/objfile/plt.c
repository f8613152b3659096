#include "objfile/plt.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"
#include "objfile/objfile.h"

/* A word that the dynamic linker writes a function's address to. */
struct plt_slot {
	uint64_t address;
	const char *symbol;
	uint64_t resolver;
};

struct plt_slots {
	ARRAY(struct plt_slot) items;
	ARRAY(struct plt_slot) lazy; /* those of .rela.plt, in its order */
};

void plt_release(struct plt *plt)
{
	array_release(&plt->stubs);
}

enum slot_kind { SLOT_OTHER, SLOT_OF_SYMBOL, SLOT_OF_RESOLVER };

static enum slot_kind classify(uint16_t machine, uint64_t type)
{
	bool is_x86_64 = machine == EM_X86_64;

	if (type == (is_x86_64 ? R_X86_64_JUMP_SLOT : R_AARCH64_JUMP_SLOT) ||
	    type == (is_x86_64 ? R_X86_64_GLOB_DAT : R_AARCH64_GLOB_DAT))
		return SLOT_OF_SYMBOL;
	return type == (is_x86_64 ? R_X86_64_IRELATIVE : R_AARCH64_IRELATIVE) ? SLOT_OF_RESOLVER
									      : SLOT_OTHER;
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

static int add_slots(struct plt_slots *slots, uint16_t machine, Elf *elf, Elf_Scn *scn,
		     bool is_lazy)
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

		switch (classify(machine, GELF_R_TYPE(relocation.r_info))) {
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

static int read_slots(struct plt_slots *slots, uint16_t machine, Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *lazy = elf_section_find(elf, ".rela.plt", &header);

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		int err;

		/* Without SHF_ALLOC they are for the linker, and do not describe slots. */
		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_RELA ||
		    !(header.sh_flags & SHF_ALLOC))
			continue;
		err = add_slots(slots, machine, elf, scn, scn == lazy);
		if (err)
			return err;
	}
	if (slots->items.length)
		qsort(slots->items.items, slots->items.length, sizeof(*slots->items.items),
		      compare_slots);
	return 0;
}

static const struct plt_slot *find_slot(const struct plt_slots *slots, uint64_t address)
{
	size_t count = array_count_front(&slots->items, slot, slot->address <= address);
	const struct plt_slot *last = count ? &slots->items.items[count - 1] : NULL;

	return last && last->address == address ? last : NULL;
}

static int add_stub(struct plt *plt, uint64_t start, uint64_t size, const struct plt_slot *slot)
{
	struct plt_stub *stub;

	if (!slot || (!slot->symbol && !slot->resolver))
		return 0;
	stub = array_add(&plt->stubs);
	if (!stub)
		return -ENOMEM;
	*stub = (struct plt_stub){
		.start = start,
		.end = start + size,
		.symbol = slot->symbol,
		.resolver = slot->resolver,
	};
	return 0;
}

static bool skip_prefix(struct bytes *code, const char *prefix, size_t size)
{
	if (bytes_left(code) < size || memcmp(code->data + code->offset, prefix, size) != 0)
		return false;
	bytes_skip(code, size);
	return true;
}

/*
 * The slot of one stub, or NULL:
 *
 *	[endbr64]  [mov $NUMBER, %r11d]  [bnd] jmp *SLOT(%rip)     mold has the mov
 *	[endbr64]  push $NUMBER  [bnd] jmp FIRST                   of .plt, beside .plt.sec
 */
static const struct plt_slot *read_x86_64_stub(const struct plt_slots *slots, struct bytes code,
					       uint64_t elf_address)
{
	(void)skip_prefix(&code, "\xf3\x0f\x1e\xfa", 4);
	if (skip_prefix(&code, "\x68", 1)) {
		uint32_t number = bytes_u32(&code);

		return !code.failed && number < slots->lazy.length ? &slots->lazy.items[number]
								   : NULL;
	}
	if (skip_prefix(&code, "\x41\xbb", 2))
		bytes_skip(&code, 4);
	(void)skip_prefix(&code, "\xf2", 1);
	if (skip_prefix(&code, "\xff\x25", 2)) {
		int32_t distance = (int32_t)bytes_u32(&code);

		return code.failed ? NULL
				   : find_slot(slots, elf_address + code.offset +
							      (uint64_t)(int64_t)distance);
	}
	return NULL;
}

/*
 * .plt.got of GNU ld and mold has stubs of 8 bytes, without endbr64. mold leaves the size of stubs out, as
 * lld does, whose stubs are longer: then the padding up to 8 bytes shows it.
 */
static size_t get_x86_64_size(const struct bytes *code, const GElf_Shdr *header)
{
	if (code->size < 8 || memcmp(code->data, "\xff\x25", 2) != 0)
		return 16;
	if (!header->sh_entsize && (memcmp(code->data + 6, "\xcc\xcc", 2) == 0 ||
				    memcmp(code->data + 6, "\x66\x90", 2) == 0))
		return 8;
	return header->sh_entsize == 8 ? 8 : 16;
}

static int read_x86_64(struct plt *plt, const struct plt_slots *slots, struct bytes code,
		       const GElf_Shdr *header)
{
	size_t size = get_x86_64_size(&code, header);

	for (size_t offset = 0; offset + size <= code.size; offset += size) {
		uint64_t start = header->sh_addr + offset;
		int err = add_stub(
			plt, start, size,
			read_x86_64_stub(slots, bytes_of(code.data + offset, size), start));

		if (err)
			return err;
	}
	return 0;
}

#define AARCH64_BTI    0xd503245f /* bti c */
#define AARCH64_BRANCH 0xd61f0220 /* br x17 */

/* [bti c]  adrp x16, PAGE  ldr x17, [x16, OFFSET]  add x16, x16, OFFSET  br x17 */
static int read_aarch64(struct plt *plt, const struct plt_slots *slots, struct bytes code,
			const GElf_Shdr *header)
{
	uint32_t previous = 0;

	for (size_t offset = 0; offset + 16 <= code.size; offset += 4) {
		struct bytes stub = bytes_of(code.data + offset, 16);
		uint64_t start = header->sh_addr + offset;
		uint32_t page = bytes_u32(&stub);
		uint32_t load = bytes_u32(&stub);
		bool has_bti = previous == AARCH64_BTI;
		uint64_t address;
		int64_t pages;
		int err;

		previous = page;
		bytes_skip(&stub, 4);
		if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211 ||
		    bytes_u32(&stub) != AARCH64_BRANCH)
			continue;
		/* 19 bits and below them 2 more, signed */
		pages = (int64_t)((int32_t)(((page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3))
					    << 11) >>
				  11);
		address = (start & ~0xfffull) + ((uint64_t)pages << 12) + (load >> 10 & 0xfff) * 8;
		err = add_stub(plt, start - 4 * has_bti, 16 + 4 * has_bti,
			       find_slot(slots, address));
		if (err)
			return err;
	}
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

static int read_stubs(struct plt *plt, const struct plt_slots *slots, uint16_t machine, Elf *elf)
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
		err = machine == EM_X86_64 ? read_x86_64(plt, slots, code, &header)
					   : read_aarch64(plt, slots, code, &header);
		if (err)
			return err;
	}
	return 0;
}

int plt_read(Elf *elf, struct plt *plt)
{
	struct plt_slots slots = {0};
	GElf_Ehdr header;
	int err;

	if (!gelf_getehdr(elf, &header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64))
		return 0;
	err = read_slots(&slots, header.e_machine, elf);
	if (!err)
		err = read_stubs(plt, &slots, header.e_machine, elf);
	array_release(&slots.items);
	array_release(&slots.lazy);
	return err;
}
