#include "runtime/file_data.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

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

bool file_is_x86_64(const struct objfile *objfile)
{
	GElf_Ehdr header;

	return file_is_64_bit_little_endian(objfile) &&
	       gelf_getehdr(objfile_get_elf(objfile), &header) && header.e_machine == EM_X86_64;
}

bool file_has_symbol_name(Elf *elf, const char *name, size_t size)
{
	bool is_dynamic = false;
	bool is_there = false;

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn && !is_dynamic;
	     scn = elf_nextscn(elf, scn)) {
		const Elf_Data *names;
		GElf_Shdr header;

		if (!gelf_getshdr(scn, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		is_dynamic = header.sh_type == SHT_DYNSYM;
		names = elf_getdata(elf_getscn(elf, header.sh_link), NULL);
		is_there = names && names->d_buf && memmem(names->d_buf, names->d_size, name, size);
	}
	return is_there;
}
