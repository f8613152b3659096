/* Build IDs: a hash that the linker puts into a note, and that identifies the code of a file. */
#include "objfile/objfile.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "objfile/elf_file.h"

/* Notes are tens of bytes; a larger segment is damaged or hostile. */
#define NOTES_MAX_BYTES (1u << 20)

static bool is_build_id(uint32_t type, const void *name, uint32_t name_size)
{
	return type == NT_GNU_BUILD_ID && name && name_size == sizeof(ELF_NOTE_GNU) &&
	       memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0;
}

/* Skip the padding after a note's name or descriptor; the last note may lack it. */
static void skip_padding(struct bytes *bytes, size_t align)
{
	size_t padding = -bytes->offset & (align - 1);

	bytes_skip(bytes, padding < bytes_left(bytes) ? padding : bytes_left(bytes));
}

int build_id_read_notes(const void *notes, size_t size, size_t align, uint8_t *ret,
			uint8_t *ret_size)
{
	struct bytes bytes = bytes_of(notes, size);

	/* Producers write 0, 1 and 4 alike for notes of 4-byte words. */
	if (align <= 4)
		align = 4;
	else if (align != 8)
		return -EINVAL;
	while (bytes_left(&bytes) >= sizeof(Elf32_Nhdr)) {
		uint32_t name_size = bytes_u32(&bytes);
		uint32_t id_size = bytes_u32(&bytes);
		uint32_t type = bytes_u32(&bytes);
		const void *name = bytes_take(&bytes, name_size);
		const void *id;

		skip_padding(&bytes, align);
		id = bytes_take(&bytes, id_size);
		if (!id)
			return -EINVAL;
		skip_padding(&bytes, align);
		if (!is_build_id(type, name, name_size) || !id_size)
			continue;
		*ret_size = id_size < BUILD_ID_SIZE_MAX ? (uint8_t)id_size : BUILD_ID_SIZE_MAX;
		memcpy(ret, id, *ret_size);
		return 0;
	}
	return -ENODATA;
}

static int read_range(Elf *elf, uint64_t offset, uint64_t size, uint64_t align, uint8_t *ret,
		      uint8_t *ret_size)
{
	Elf_Data *data;

	if (size > NOTES_MAX_BYTES || offset > INT64_MAX)
		return -EINVAL;
	if (!size)
		return -ENODATA;
	data = elf_getdata_rawchunk(elf, (int64_t)offset, (size_t)size, ELF_T_BYTE);
	if (!data)
		return -EINVAL;
	return build_id_read_notes(data->d_buf, data->d_size, align, ret, ret_size);
}

static int read_segments(Elf *elf, uint8_t *ret, uint8_t *ret_size)
{
	int result = -ENODATA;
	size_t num_segments;
	GElf_Ehdr header;

	/* libelf counts only headers inside the file. */
	if (!gelf_getehdr(elf, &header) || elf_getphdrnum(elf, &num_segments) ||
	    (header.e_phnum != PN_XNUM && header.e_phnum != num_segments))
		return -EINVAL;
	for (size_t i = 0; i < num_segments; i++) {
		GElf_Phdr segment;
		int err;

		if (!gelf_getphdr(elf, (int)i, &segment))
			return -EINVAL;
		if (segment.p_type != PT_NOTE)
			continue;
		err = read_range(elf, segment.p_offset, segment.p_filesz, segment.p_align, ret,
				 ret_size);
		if (!err)
			return 0;
		if (err != -ENODATA)
			result = err;
	}
	return result;
}

/* Kernel modules and other relocatable files have sections only. */
static int read_sections(Elf *elf, uint8_t *ret, uint8_t *ret_size)
{
	int result = -ENODATA;

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr section;
		int err;

		if (!gelf_getshdr(scn, &section))
			return -EINVAL;
		if (section.sh_type != SHT_NOTE)
			continue;
		err = read_range(elf, section.sh_offset, section.sh_size, section.sh_addralign, ret,
				 ret_size);
		if (!err)
			return 0;
		if (err != -ENODATA)
			result = err;
	}
	return result;
}

int build_id_read_elf(Elf *elf, uint8_t *ret, uint8_t *ret_size)
{
	int err = read_segments(elf, ret, ret_size);

	if (!err)
		return 0;
	if (!read_sections(elf, ret, ret_size))
		return 0;
	return err;
}

int build_id_read_fd(int fd, uint8_t *ret, uint8_t *ret_size)
{
	Elf *elf;
	int err = elf_file_start(fd, &elf);

	if (err)
		return err;
	err = build_id_read_elf(elf, ret, ret_size);
	elf_end(elf);
	return err;
}
