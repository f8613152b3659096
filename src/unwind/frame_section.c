/*
 * .eh_frame is loaded with the program, so it can be found even if section headers were stripped:
 * PT_GNU_EH_FRAME leads to .eh_frame_hdr, and that to .eh_frame. Neither contains the end of
 * .eh_frame, but the header's search table refers to the last function, and a terminator follows
 * that.
 */
#include "unwind/frame_section.h"

#include <dwarf.h>
#include <errno.h>

#include "base/bytes.h"
#include "objfile/objfile.h"
#include "unwind/frame_reader.h"

/* Bytes read for the last entry, whose size is not known in advance. */
#define LAST_ENTRY_MAX_BYTES (1u << 20)
/*
 * Maximum size read from a segment: it does not describe its contents, and may be a hole of a
 * sparse file.
 */
#define SEGMENT_MAX_BYTES (64u << 20)

static bool is_readable(Elf *elf)
{
	const char *ident = elf_getident(elf, NULL);

	return ident && ident[EI_CLASS] == ELFCLASS64 && ident[EI_DATA] == ELFDATA2LSB;
}

static int take_data(const Elf_Data *data, struct frame_section *ret)
{
	if (!data || !data->d_buf || !data->d_size || data->d_size > FRAME_SECTION_MAX_BYTES)
		return -ENOENT;
	ret->data = data->d_buf;
	ret->size = data->d_size;
	return 0;
}

/* Contents of .eh_frame_hdr. */
struct frame_header {
	uint64_t eh_frame;   /* its ELF address */
	uint64_t last_entry; /* ELF address of the last function's entry; 0: no search table */
};

static bool read_frame_header(Elf *elf, const GElf_Phdr *segment, struct frame_header *ret)
{
	Elf_Data *data = segment->p_filesz > SEGMENT_MAX_BYTES
				 ? NULL
				 : elf_getdata_rawchunk(elf, (int64_t)segment->p_offset,
							segment->p_filesz, ELF_T_BYTE);

	if (!data || !data->d_buf)
		return false;
	struct bytes bytes = bytes_of(data->d_buf, data->d_size);
	const struct frame_section section = {.elf_address = segment->p_vaddr};
	struct frame_header header = {0};
	uint8_t version = bytes_u8(&bytes);
	uint8_t address_encoding = bytes_u8(&bytes);
	uint8_t count_encoding = bytes_u8(&bytes);
	uint8_t table_encoding = bytes_u8(&bytes);

	header.eh_frame = frame_reader_read_pointer(&bytes, address_encoding, &section);
	if (bytes.failed || version != 1)
		return false;
	if (count_encoding == DW_EH_PE_udata4 &&
	    table_encoding == (DW_EH_PE_datarel | DW_EH_PE_sdata4)) {
		for (uint32_t left = bytes_u32(&bytes); left && bytes_left(&bytes) >= 8; left--) {
			bytes_skip(&bytes, 4); /* start of the function */
			uint64_t entry = segment->p_vaddr + (uint64_t)(int32_t)bytes_u32(&bytes);

			if (entry > header.last_entry)
				header.last_entry = entry;
		}
	}
	*ret = header;
	return true;
}

/*
 * The end of .eh_frame in a segment that continues with other data: the first terminator after the
 * last function.
 */
static size_t find_end(const void *data, size_t size, uint64_t last_entry)
{
	struct bytes bytes = bytes_of(data, size);

	while (bytes_left(&bytes) >= 4) {
		size_t offset = bytes.offset;
		uint64_t length = bytes_u32(&bytes);

		if (!length && offset > last_entry)
			return offset;
		if (length == UINT32_MAX)
			length = bytes_u64(&bytes);
		bytes_skip(&bytes, length);
		if (bytes.failed)
			return offset;
	}
	return size;
}

static int read_from_segments(Elf *elf, size_t num_segments, const struct frame_header *header,
			      struct frame_section *ret)
{
	uint64_t last_entry =
		header->last_entry > header->eh_frame ? header->last_entry - header->eh_frame : 0;

	for (size_t i = 0; i < num_segments; i++) {
		GElf_Phdr segment;
		uint64_t skipped = header->eh_frame;
		uint64_t size;
		int err;

		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    header->eh_frame < segment.p_vaddr ||
		    header->eh_frame - segment.p_vaddr >= segment.p_filesz)
			continue;
		skipped -= segment.p_vaddr;
		size = segment.p_filesz - skipped;
		/* The segment may go on with much that is not wanted. */
		if (last_entry && last_entry < size && size - last_entry > LAST_ENTRY_MAX_BYTES)
			size = last_entry + LAST_ENTRY_MAX_BYTES;
		if (size > SEGMENT_MAX_BYTES)
			return -ENOENT;
		err = take_data(elf_getdata_rawchunk(elf, (int64_t)(segment.p_offset + skipped),
						     size, ELF_T_BYTE),
				ret);
		if (err)
			return err;
		ret->elf_address = header->eh_frame;
		ret->size = find_end(ret->data, ret->size, last_entry);
		return 0;
	}
	return -ENOENT;
}

static int find_by_segment(Elf *elf, struct frame_section *ret)
{
	size_t num_segments;

	if (elf_getphdrnum(elf, &num_segments))
		return -ENOENT;
	for (size_t i = 0; i < num_segments; i++) {
		struct frame_header header;
		GElf_Phdr segment;

		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_GNU_EH_FRAME)
			return read_frame_header(elf, &segment, &header)
				       ? read_from_segments(elf, num_segments, &header, ret)
				       : -ENOENT;
	}
	return -ENOENT;
}

int frame_section_find_eh_frame(Elf *elf, struct frame_section *ret)
{
	struct frame_section section = {0};
	GElf_Shdr header;
	Elf_Scn *scn;
	int err;

	if (!is_readable(elf))
		return -ENOENT;
	scn = elf_section_find(elf, ".eh_frame", &header);
	if (scn) {
		section.elf_address = header.sh_addr;
		err = header.sh_size > FRAME_SECTION_MAX_BYTES
			      ? -ENOENT
			      : take_data(elf_rawdata(scn, NULL), &section);
		/* Bases that addresses in the section may be relative to. */
		if (elf_section_find(elf, ".text", &header))
			section.text_address = header.sh_addr;
		if (elf_section_find(elf, ".got", &header))
			section.data_address = header.sh_addr;
	} else {
		err = find_by_segment(elf, &section);
	}
	if (err)
		return err;
	*ret = section;
	return 0;
}

int frame_section_find_debug_frame(Elf *elf, struct frame_section *ret)
{
	struct frame_section section = {.is_debug_frame = true};
	GElf_Shdr header;
	GElf_Chdr compression;
	Elf_Scn *scn;
	int err;

	if (!is_readable(elf))
		return -ENOENT;
	scn = elf_section_find(elf, ".debug_frame", &header);
	if (!scn || header.sh_size > FRAME_SECTION_MAX_BYTES)
		return -ENOENT;
	if (header.sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(scn, &compression) ||
		    compression.ch_size > FRAME_SECTION_MAX_BYTES || elf_compress(scn, 0, 0) < 0)
			return -ENOENT;
	}
	err = take_data(elf_rawdata(scn, NULL), &section);
	if (err)
		return err;
	*ret = section;
	return 0;
}
