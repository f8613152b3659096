#include "runtime/file_data.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "objfile/architecture.h"
#include "objfile/elf_symbols.h"

int file_data_read(const struct objfile *objfile, uint64_t elf_address, void *ret, size_t size)
{
	array_for_each (&objfile_get_layout(objfile)->segments, segment) {
		uint64_t skipped = elf_address - segment->elf_address;

		if (elf_address < segment->elf_address || skipped > segment->file_size ||
		    size > segment->file_size - skipped)
			continue;
		return pread(objfile_get_fd(objfile), ret, size,
			     (off_t)(segment->file_offset + skipped)) == (ssize_t)size
			       ? 0
			       : -ENOENT;
	}
	return -ENOENT;
}

bool file_data_is_zeroed(const struct objfile *objfile, uint64_t elf_address, size_t size)
{
	array_for_each (&objfile_get_layout(objfile)->segments, segment) {
		uint64_t skipped = elf_address - segment->elf_address;

		if (elf_address >= segment->elf_address && skipped >= segment->file_size &&
		    skipped <= segment->memory_size && size <= segment->memory_size - skipped)
			return true;
	}
	return false;
}

bool file_data_get_next_code(Elf *elf, Elf_Scn **scn, struct code_section *ret)
{
	while ((*scn = elf_nextscn(elf, *scn))) {
		Elf_Data *data;
		GElf_Shdr header;

		if (!gelf_getshdr(*scn, &header) || header.sh_type != SHT_PROGBITS ||
		    !(header.sh_flags & SHF_EXECINSTR))
			continue;
		data = elf_getdata(*scn, NULL);
		if (!data || !data->d_buf)
			continue;
		*ret = (struct code_section){data->d_buf, data->d_size, header.sh_addr};
		return true;
	}
	return false;
}

bool file_is_64_bit_little_endian(const struct objfile *objfile)
{
	const char *ident = elf_getident(objfile_get_elf(objfile), NULL);

	return ident && ident[EI_CLASS] == ELFCLASS64 && ident[EI_DATA] == ELFDATA2LSB;
}

bool file_has_known_code(const struct objfile *objfile)
{
	const struct architecture *architecture = objfile_get_architecture(objfile);

	return file_is_64_bit_little_endian(objfile) && architecture &&
	       architecture->has_unwind_tables;
}

struct symbol_search {
	const char *const *names;
	size_t num_names;
	struct file_symbol *found;
};

static int visit_symbol(void *context, const char *name, const GElf_Sym *symbol)
{
	const struct symbol_search *search = context;

	for (size_t i = 0; i < search->num_names; i++)
		if (!search->found[i].is_there && string_equals(name, search->names[i]))
			search->found[i] =
				(struct file_symbol){true, symbol->st_value, symbol->st_size};
	return 0;
}

void file_find_symbols(const struct objfile *objfile, const char *const *names, size_t num_names,
		       struct file_symbol *ret)
{
	struct symbol_search search = {names, num_names, ret};

	memset(ret, 0, num_names * sizeof(*ret));
	(void)!objfile_for_each_symbol(objfile_get_elf(objfile), visit_symbol, &search);
}
