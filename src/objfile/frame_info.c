/*
 * Functions by call-frame information (.eh_frame): their bounds, and whether they are the outermost
 * of their thread. Stripped files have it, too.
 *
 * Not thread-safe.
 */
#include "objfile/objfile.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/text.h"
#include "objfile/range_map.h"

/* The part of .eh_frame_hdr that is read: the encodings and the first pointer. */
#define HEADER_BYTES 16
/* Maximum size of .eh_frame if no section header gives its end. */
#define SEGMENT_MAX_BYTES (64u << 20)

/* The bytes of .eh_frame and where they are in memory. */
struct frame_info_section {
	Elf_Data *data; /* NULL: no .eh_frame */
	uint64_t elf_address;
	uint8_t address_size; /* in bytes: 4 or 8 */
};

struct frame_info {
	Elf *elf;
	struct frame_info_section section;
	struct text image; /* a synthetic ELF file with .eh_frame only; see open_image() */
	Elf *image_elf;
	Dwarf_CFI *cfi; /* NULL: none */
	bool are_functions_read;
	struct range_map functions; /* values mean nothing */
};

/* Read one pointer. Encodings that do not occur in linked programs make the reader fail. */
static uint64_t read_pointer(struct bytes *bytes, uint8_t encoding,
			     const struct frame_info_section *section)
{
	uint64_t base = 0;
	uint64_t value;

	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		base = section->elf_address + bytes->offset;
	else if ((encoding & 0x70) != DW_EH_PE_absptr)
		bytes->failed = true;
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
		value = section->address_size == 8 ? bytes_u64(bytes) : bytes_u32(bytes);
		break;
	case DW_EH_PE_udata2:
		value = bytes_u16(bytes);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)(int16_t)bytes_u16(bytes);
		break;
	case DW_EH_PE_udata4:
		value = bytes_u32(bytes);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)(int32_t)bytes_u32(bytes);
		break;
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = bytes_u64(bytes);
		break;
	default:
		bytes->failed = true;
		value = 0;
	}
	value += base;
	return section->address_size == 8 ? value : (uint32_t)value;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Without section headers: PT_GNU_EH_FRAME points at a header, which points at .eh_frame. */
static bool find_by_segment(Elf *elf, struct frame_info_section *ret)
{
	size_t num_segments;
	GElf_Phdr segment;
	Elf_Data *header = NULL;
	uint64_t address;

	if (elf_getphdrnum(elf, &num_segments))
		return false;
	for (size_t i = 0; i < num_segments && !header; i++) {
		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_GNU_EH_FRAME ||
		    segment.p_filesz < 4)
			continue;
		header = elf_getdata_rawchunk(elf, (int64_t)segment.p_offset,
					      smaller(segment.p_filesz, HEADER_BYTES), ELF_T_BYTE);
	}
	if (!header)
		return false;
	struct bytes bytes = bytes_of(header->d_buf, header->d_size);
	struct frame_info_section of_header = {.elf_address = segment.p_vaddr,
					       .address_size = ret->address_size};
	uint8_t version = bytes_u8(&bytes);
	uint8_t encoding = bytes_u8(&bytes);

	bytes_skip(&bytes, 2); /* encodings of the table that we do not read */
	address = read_pointer(&bytes, encoding, &of_header);
	if (bytes.failed || version != 1)
		return false;
	for (size_t i = 0; i < num_segments; i++) {
		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
			continue;
		uint64_t skipped = address - segment.p_vaddr;

		ret->data = elf_getdata_rawchunk(
			elf, (int64_t)(segment.p_offset + skipped),
			smaller(segment.p_filesz - skipped, SEGMENT_MAX_BYTES), ELF_T_BYTE);
		ret->elf_address = address;
		return ret->data != NULL;
	}
	return false;
}

/*
 * Without section headers, libdw finds .eh_frame by PT_GNU_EH_FRAME itself, but reads the whole file
 * into memory for that. So it gets a synthetic file that has the section and nothing else. Returns
 * NULL when it cannot be made.
 */
static Elf *open_image(struct frame_info *info)
{
	static const char names[] = "\0.eh_frame\0.names";
	const Elf_Data *data = info->section.data;
	Elf64_Shdr sections[3] = {{0}};
	Elf64_Ehdr header;
	GElf_Ehdr original;

	if (info->section.address_size != 8 || !gelf_getehdr(info->elf, &original))
		return NULL;
	header = original;
	header.e_phoff = header.e_phnum = 0;
	header.e_shoff = sizeof(header);
	header.e_shentsize = sizeof(sections[0]);
	header.e_shnum = ARRAY_LENGTH(sections);
	header.e_shstrndx = 2;
	sections[1] = (Elf64_Shdr){
		.sh_name = 1,
		.sh_type = SHT_PROGBITS,
		.sh_addr = info->section.elf_address,
		.sh_offset = sizeof(header) + sizeof(sections) + sizeof(names),
		.sh_size = data->d_size,
	};
	sections[2] = (Elf64_Shdr){
		.sh_name = sizeof("\0.eh_frame"),
		.sh_type = SHT_STRTAB,
		.sh_offset = sizeof(header) + sizeof(sections),
		.sh_size = sizeof(names),
	};
	text_append(&info->image, &header, sizeof(header));
	text_append(&info->image, sections, sizeof(sections));
	text_append(&info->image, names, sizeof(names));
	text_append(&info->image, data->d_buf, data->d_size);
	return info->image.failed ? NULL : elf_memory(info->image.data, info->image.length);
}

int frame_info_new(Elf *elf, struct frame_info **ret)
{
	struct frame_info *info = calloc(1, sizeof(*info));
	GElf_Shdr header;
	Elf_Scn *scn;

	if (!info)
		return -ENOMEM;
	info->elf = elf;
	info->section.address_size = gelf_getclass(elf) == ELFCLASS64 ? 8 : 4;
	scn = elf_section_find(elf, ".eh_frame", &header);
	if (scn) {
		info->section.data = elf_rawdata(scn, NULL);
		info->section.elf_address = header.sh_addr;
		info->cfi = dwarf_getcfi_elf(elf);
	} else if (find_by_segment(elf, &info->section)) {
		info->image_elf = open_image(info);
		info->cfi = info->image_elf ? dwarf_getcfi_elf(info->image_elf) : NULL;
	}
	*ret = info;
	return 0;
}

void frame_info_free(struct frame_info *info)
{
	if (!info)
		return;
	if (info->cfi)
		dwarf_cfi_end(info->cfi);
	elf_end(info->image_elf);
	text_release(&info->image);
	range_map_release(&info->functions);
	free(info);
}

/*
 * The form of the pointers in the entries that belong to one common information entry: the byte of
 * augmentation letter R. Returns false when the letters are unknown.
 */
static bool read_encoding(const Dwarf_CIE *cie, const struct frame_info_section *section,
			  uint8_t *ret)
{
	const char *letters = cie->augmentation;
	struct bytes bytes = bytes_of(cie->augmentation_data, cie->augmentation_data_size);

	*ret = DW_EH_PE_absptr;
	if (*letters == '\0')
		return true;
	if (*letters++ != 'z' || !cie->augmentation_data)
		return false;
	for (; *letters && !bytes.failed; letters++) {
		switch (*letters) {
		case 'R':
			*ret = bytes_u8(&bytes);
			return !bytes.failed;
		case 'L':
			bytes_skip(&bytes, 1);
			break;
		case 'P': {
			/* Only the width matters here, whatever the pointer is relative to. */
			uint8_t encoding = bytes_u8(&bytes);

			(void)read_pointer(&bytes, encoding & 0x0f, section);
			break;
		}
		case 'S':
		case 'B':
		case 'G':
			break;
		default:
			return false;
		}
	}
	return !bytes.failed;
}

static int add_function(struct frame_info *info, const struct frame_info_section *section,
			const Dwarf_FDE *fde, uint8_t encoding)
{
	const uint8_t *start = section->data->d_buf;
	struct bytes bytes = bytes_of(start, (size_t)(fde->end - start));
	uint64_t address;
	uint64_t size;
	uint64_t end;

	bytes.offset = (size_t)(fde->start - start);
	address = read_pointer(&bytes, encoding, section);
	size = read_pointer(&bytes, encoding & 0x0f, section);
	if (bytes.failed || __builtin_add_overflow(address, size, &end))
		return 0;
	/* A linker that dropped a function may leave its entry behind, with address 0. */
	return address ? range_map_add(&info->functions, address, end, 0) : 0;
}

/* Read the next entry by libdw, and the offset of the one after it. */
static bool next_entry(Elf *elf, const struct frame_info_section *section, Dwarf_Off *offset,
		       Dwarf_CFI_Entry *ret)
{
	const char *ident = elf_getident(elf, NULL);
	Dwarf_Off next;

	if (dwarf_next_cfi((const unsigned char *)ident, section->data, true, *offset, &next,
			   ret) ||
	    next <= *offset)
		return false;
	*offset = next;
	return true;
}

static int read_functions(struct frame_info *info)
{
	const struct frame_info_section *section = &info->section;
	Dwarf_Off offset = 0;
	Dwarf_Off known_cie = UINT64_MAX; /* the one whose encoding we hold */
	uint8_t encoding = DW_EH_PE_omit;
	Dwarf_CFI_Entry entry;
	int err;

	if (!section->data || !section->data->d_buf)
		return 0;
	while (next_entry(info->elf, section, &offset, &entry)) {
		Dwarf_CFI_Entry cie;
		Dwarf_Off cie_offset;

		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (entry.fde.CIE_pointer != known_cie) {
			cie_offset = known_cie = entry.fde.CIE_pointer;
			if (!next_entry(info->elf, section, &cie_offset, &cie) ||
			    !dwarf_cfi_cie_p(&cie) || !read_encoding(&cie.cie, section, &encoding))
				encoding = DW_EH_PE_omit;
		}
		if (encoding == DW_EH_PE_omit)
			continue;
		err = add_function(info, section, &entry.fde, encoding);
		if (err)
			return err;
	}
	return range_map_finish(&info->functions);
}

int frame_info_find_bounds(struct frame_info *info, uint64_t elf_address, struct code_bounds *ret)
{
	const struct range *next;
	const struct range *last;

	if (!info->are_functions_read) {
		int err = read_functions(info);

		if (err)
			return err;
		info->are_functions_read = true;
	}
	last = range_map_find_last(&info->functions, elf_address);
	if (last && elf_address < last->end) {
		*ret = (struct code_bounds){last->start, last->end};
		return 0;
	}
	next = range_map_find_next(&info->functions, elf_address);
	ret->start = last ? last->end : 0;
	ret->end = next ? next->start : UINT64_MAX;
	return -ENOENT;
}

int frame_info_find_function(struct frame_info *info, uint64_t elf_address, uint64_t *ret_start)
{
	struct code_bounds bounds;
	int err = frame_info_find_bounds(info, elf_address, &bounds);

	if (err)
		return err;
	*ret_start = bounds.start;
	return 0;
}

enum frame_outermost frame_info_is_outermost(struct frame_info *info, uint64_t elf_address)
{
	enum frame_outermost result = FRAME_HAS_CALLER;
	Dwarf_Frame *frame = NULL;
	Dwarf_Op memory[3];
	Dwarf_Op *ops;
	size_t num_ops;
	int return_register;

	if (!info->cfi || dwarf_cfi_addrframe(info->cfi, elf_address, &frame))
		return FRAME_NOT_DESCRIBED;
	return_register = dwarf_frame_info(frame, NULL, NULL, NULL);
	/* libdw's representation of "undefined" ("same value" would be ops == NULL). */
	if (return_register >= 0 &&
	    dwarf_frame_register(frame, return_register, memory, &ops, &num_ops) == 0 &&
	    num_ops == 0 && ops == memory)
		result = FRAME_IS_OUTERMOST;
	free(frame);
	return result;
}
