#include "unwind/go_runtime.h"

#include <string.h>

#include "base/attributes.h"

static const struct {
	const char *name;
	enum go_role role;
} roles[] = {
	{"runtime.goexit", GO_OUTERMOST},
	{"runtime.mstart", GO_OUTERMOST},
	{"runtime.rt0_go", GO_OUTERMOST},
	{"runtime.asmcgocall", GO_SWITCH},
	{"runtime.clone", GO_SWITCH},
	{"runtime.mcall", GO_SWITCH},
	{"runtime.morestack", GO_SWITCH},
	{"runtime.nanotime1", GO_SWITCH},
	{"runtime.systemstack", GO_SWITCH},
	{"runtime.walltime", GO_SWITCH},
	{"time.now", GO_SWITCH},
	{"runtime.sigreturn", GO_SIGNAL_RETURN},
	{"runtime.sigreturn__sigaction", GO_SIGNAL_RETURN},
};

/* The name may end in a mark of its calling convention: runtime.goexit.abi0. */
static enum go_role get_role_of_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(roles); i++) {
		size_t length = strlen(roles[i].name);

		if (strncmp(name, roles[i].name, length) == 0 &&
		    (!name[length] || strncmp(name + length, ".abi", 4) == 0))
			return roles[i].role;
	}
	return GO_ORDINARY;
}

static void read_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
			 struct go_runtime *ret)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;

	for (size_t i = 0; i < count && ret->num_functions < GO_RUNTIME_FUNCTIONS_MAX; i++) {
		const char *name;
		GElf_Sym symbol;
		enum go_role role;

		if (!gelf_getsym(data, (int)i, &symbol) ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		role = name ? get_role_of_name(name) : GO_ORDINARY;
		if (role != GO_ORDINARY)
			ret->functions[ret->num_functions++] =
				(struct go_function){symbol.st_value, role};
	}
}

void go_runtime_find(Elf *elf, struct go_runtime *ret)
{
	Elf_Scn *symbols = NULL;
	Elf_Scn *section = NULL;
	GElf_Shdr symbols_header = {0};
	bool is_go = false;
	size_t names;

	*ret = (struct go_runtime){0};
	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && (strcmp(name, ".gopclntab") == 0 ||
			     strcmp(name, ".data.rel.ro.gopclntab") == 0))
			is_go = true;
		if (header.sh_type != SHT_SYMTAB)
			continue;
		symbols = section;
		symbols_header = header;
	}
	if (is_go && symbols)
		read_symbols(elf, symbols, &symbols_header, ret);
}

enum go_role go_runtime_get_role(const struct go_runtime *runtime, uint64_t elf_address)
{
	for (unsigned int i = 0; i < runtime->num_functions; i++)
		if (runtime->functions[i].elf_address == elf_address)
			return runtime->functions[i].role;
	return GO_ORDINARY;
}

/* The size of the instruction that begins here if it loads the stack pointer; else 0. */
static size_t get_load_size(const uint8_t *code, size_t size)
{
	const uint8_t saved_sp = 0x38; /* offset of g.sched.sp in the description of a goroutine */

	if (size < 4)
		return 0;
	if ((code[0] == 0x48 || code[0] == 0x49) && code[1] == 0x8b && (code[2] & 0xf8) == 0x60 &&
	    code[2] != 0x64 && code[3] == saved_sp)
		return 4; /* mov 0x38(register),%rsp */
	if ((code[0] == 0x48 || code[0] == 0x4c) && code[1] == 0x89 && (code[2] & 0xc7) == 0xc4)
		return 3; /* mov register,%rsp */
	return 0;
}

bool go_runtime_find_switch(const struct objfile *objfile, uint64_t elf_address, uint64_t size,
			    uint64_t *ret_start, uint64_t *ret_end)
{
	uint8_t code[GO_RUNTIME_SWITCH_MAX_BYTES];
	uint64_t start = 0;

	if (size > sizeof(code) || objfile_read_code(objfile, elf_address, code, size))
		return false;
	for (size_t i = 0; i < size; i++) {
		size_t load_size = get_load_size(code + i, size - i);

		if (!load_size)
			continue;
		i += load_size - 1;
		if (start) {
			*ret_start = start;
			*ret_end = elf_address + i + 1;
			return true;
		}
		start = elf_address + i + 1;
	}
	if (!start)
		return false;
	*ret_start = start;
	*ret_end = elf_address + size;
	return true;
}
