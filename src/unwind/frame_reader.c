/*
 * A section is a sequence of entries, each with its length in front:
 *
 *	length  0                 functions' common part (CIE)
 *	length  where its CIE is  start  size  instructions     function (FDE)
 *
 * In .debug_frame a function may precede its common part, so the section is read twice: first the
 * common parts, then the functions. In .eh_frame functions can refer only to entries before them. A
 * function that does not refer to the start of a common part is malformed.
 */
#include "unwind/frame_reader.h"

#include <assert.h>
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/text.h"

#define LENGTH_64_BIT     0xffffffffu
#define LENGTH_RESERVED   0xfffffff0u
#define DEBUG_FRAME_CIE   0xffffffffu
#define ADDRESS_SIZE      8
#define ENCODING_FORM     0x0f
#define ENCODING_RELATIVE 0x70

struct frame_entry {
	struct bytes bytes; /* the section up to the entry's end; the next byte follows the id */
	uint64_t offset;    /* of the entry's length */
	uint64_t cie;       /* offset of the common part, for a function */
	bool is_cie;
	bool is_malformed;
};

void frame_reader_release(struct frame_reader *reader)
{
	array_release(&reader->cies);
	array_release(&reader->functions);
}

static uint64_t read_value(struct bytes *bytes, uint8_t form)
{
	switch (form) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
	case DW_EH_PE_signed:
		return bytes_u64(bytes);
	case DW_EH_PE_uleb128:
		return leb128_read_unsigned(bytes);
	case DW_EH_PE_sleb128:
		return (uint64_t)leb128_read_signed(bytes);
	case DW_EH_PE_udata2:
		return bytes_u16(bytes);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int64_t)(int16_t)bytes_u16(bytes);
	case DW_EH_PE_udata4:
		return bytes_u32(bytes);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int64_t)(int32_t)bytes_u32(bytes);
	default:
		bytes->failed = true;
		return 0;
	}
}

static void skip_to_alignment(struct bytes *bytes, uint64_t elf_address)
{
	bytes_skip(bytes, -(elf_address + bytes->offset) & (ADDRESS_SIZE - 1));
}

static bool get_base(const struct frame_section *section, uint8_t encoding, uint64_t offset,
		     uint64_t *ret)
{
	switch (encoding & ENCODING_RELATIVE) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_aligned:
		*ret = 0;
		return true;
	case DW_EH_PE_pcrel:
		*ret = section->elf_address + offset;
		return true;
	case DW_EH_PE_textrel:
		*ret = section->text_address;
		return section->text_address != 0;
	case DW_EH_PE_datarel:
		*ret = section->data_address;
		return section->data_address != 0;
	default:
		return false;
	}
}

uint64_t frame_reader_read_pointer(struct bytes *bytes, uint8_t encoding,
				   const struct frame_section *section)
{
	uint64_t base;

	if (encoding & DW_EH_PE_indirect || !get_base(section, encoding, bytes->offset, &base)) {
		bytes->failed = true;
		return 0;
	}
	if ((encoding & ENCODING_RELATIVE) == DW_EH_PE_aligned)
		skip_to_alignment(bytes, section->elf_address);
	return read_value(bytes, encoding & ENCODING_FORM) + base;
}

/* Read the field that distinguishes a CIE and an FDE. */
static void read_id(const struct frame_section *section, bool is_64_bit, struct frame_entry *entry)
{
	struct bytes *bytes = &entry->bytes;
	uint64_t offset = bytes->offset;
	uint64_t id;

	if (section->is_debug_frame) {
		id = is_64_bit ? bytes_u64(bytes) : bytes_u32(bytes);
		entry->is_cie = id == (is_64_bit ? UINT64_MAX : DEBUG_FRAME_CIE);
		entry->cie = id;
	} else {
		/* Four bytes even if the length has eight: LSB. */
		id = bytes_u32(bytes);
		entry->is_cie = id == 0;
		entry->cie = offset - id;
		entry->is_malformed = id > offset;
	}
	if (bytes->failed)
		entry->is_malformed = true;
}

/*
 * The next entry at or after *offset. Terminators (a length of 0) are skipped: ld.so and crtend.o
 * contain them, and linkers put more entries after them. Returns false at the end; *is_truncated is
 * set if the last entry extends beyond it.
 */
static bool next_entry(const struct frame_section *section, uint64_t *offset,
		       struct frame_entry *ret, bool *is_truncated)
{
	struct bytes bytes = bytes_of(section->data, section->size);
	uint64_t length = 0;
	bool is_64_bit;

	*is_truncated = false;
	for (bytes.offset = *offset; !length && bytes_left(&bytes); length = bytes_u32(&bytes))
		*offset = bytes.offset;
	if (!length && !bytes.failed)
		return false;
	is_64_bit = length == LENGTH_64_BIT;
	if (is_64_bit)
		length = bytes_u64(&bytes);
	else if (length >= LENGTH_RESERVED)
		bytes.failed = true;
	if (bytes.failed || length > bytes_left(&bytes)) {
		*is_truncated = true;
		return false;
	}
	*ret = (struct frame_entry){.bytes = bytes, .offset = *offset};
	ret->bytes.size = bytes.offset + length;
	*offset = ret->bytes.size;
	read_id(section, is_64_bit, ret);
	return true;
}

/* Read the augmentation data of a "z…" augmentation, letter by letter. */
static bool read_augmentation(struct frame_cie *cie, const char *letters, struct bytes *bytes,
			      const struct frame_section *section)
{
	for (; *letters && !bytes->failed; letters++) {
		switch (*letters) {
		case 'R':
			cie->encoding = bytes_u8(bytes);
			break;
		case 'L':
			bytes_skip(bytes, 1);
			break;
		case 'P': {
			/* The personality routine; only its width matters. */
			uint8_t encoding = bytes_u8(bytes);

			if ((encoding & ENCODING_RELATIVE) == DW_EH_PE_aligned)
				skip_to_alignment(bytes, section->elf_address);
			(void)read_value(bytes, encoding & ENCODING_FORM);
			break;
		}
		case 'S':
			cie->is_signal_frame = true;
			break;
		case 'B': /* arm64: return addresses are signed */
		case 'G': /* arm64: memory tagging */
			break;
		default:
			return false;
		}
	}
	return !bytes->failed;
}

/* The part behind the version. Returns false for an unknown augmentation. */
static bool read_cie_body(struct frame_cie *cie, uint8_t version, struct bytes *bytes,
			  const struct frame_section *section)
{
	const char *letters = bytes_string(bytes);
	struct bytes data;
	uint64_t size;

	if (!letters || (version != 1 && version != 3 && version != 4))
		return false;
	if (string_equals(letters, "eh")) {
		bytes_skip(bytes, ADDRESS_SIZE); /* GCC 2 */
		letters += 2;
	}
	if (version == 4 && (bytes_u8(bytes) != ADDRESS_SIZE || bytes_u8(bytes) != 0))
		return false;
	cie->code_align = leb128_read_unsigned(bytes);
	cie->data_align = leb128_read_signed(bytes);
	cie->ra_register = version == 1 ? bytes_u8(bytes) : leb128_read_unsigned(bytes);
	if (*letters == 'z') {
		cie->has_sizes = true;
		size = leb128_read_unsigned(bytes);
		data = *bytes;
		bytes_skip(bytes, size);
		if (bytes->failed)
			return false;
		data.size = bytes->offset;
		return read_augmentation(cie, letters + 1, &data, section);
	}
	return *letters == '\0' && !bytes->failed;
}

static int add_cie(struct frame_reader *reader, struct frame_entry *entry)
{
	struct frame_cie *cie = array_add(&reader->cies);
	struct bytes *bytes = &entry->bytes;
	uint8_t version;

	if (!cie)
		return -ENOMEM;
	cie->offset = (uint32_t)entry->offset;
	cie->section = reader->num_sections - 1;
	cie->encoding = DW_EH_PE_absptr;
	version = bytes_u8(bytes);
	cie->is_usable = read_cie_body(cie, version, bytes, &reader->sections[cie->section]);
	if (!cie->is_usable) {
		reader->num_malformed++;
		return 0;
	}
	cie->program_offset = (uint32_t)bytes->offset;
	cie->program_size = (uint32_t)bytes_left(bytes);
	return 0;
}

/* Returns its index; UINT32_MAX when no common part starts there. */
static uint32_t find_cie(const struct frame_reader *reader, size_t first, uint64_t offset)
{
	size_t place = first + count_front(reader->cies.items + first, reader->cies.length - first,
					   cie, cie->offset < offset);

	if (place == reader->cies.length || reader->cies.items[place].offset != offset)
		return UINT32_MAX;
	return (uint32_t)place;
}

static int add_function(struct frame_reader *reader, struct frame_entry *entry, uint32_t cie_index)
{
	const struct frame_cie *cie = &reader->cies.items[cie_index];
	const struct frame_section *section = &reader->sections[cie->section];
	struct bytes *bytes = &entry->bytes;
	struct frame_function *function;
	uint64_t start;
	uint64_t size;

	if (!cie->is_usable)
		bytes->failed = true;
	start = frame_reader_read_pointer(bytes, cie->encoding, section);
	size = read_value(bytes, cie->encoding & ENCODING_FORM);
	if (cie->has_sizes)
		bytes_skip(bytes, leb128_read_unsigned(bytes));
	if (bytes->failed || size > UINT32_MAX || start > UINT64_MAX - size) {
		reader->num_malformed++;
		return 0;
	}
	if (!start || !size)
		return 0;
	function = array_add(&reader->functions);
	if (!function)
		return -ENOMEM;
	*function = (struct frame_function){
		.start = start,
		.size = (uint32_t)size,
		.cie = cie_index,
		.program_offset = (uint32_t)bytes->offset,
		.program_size = (uint32_t)bytes_left(bytes),
	};
	return 0;
}

/* The state of one pass over a section. */
struct pass {
	const struct frame_section *section;
	bool wants_cies;
	bool wants_functions;
	size_t first_cie;      /* of the section */
	uint64_t known_offset; /* of the common part of the function before */
	uint32_t known_cie;    /* its index */
};

static int add_function_of(struct frame_reader *reader, struct pass *pass,
			   struct frame_entry *entry)
{
	if (entry->cie != pass->known_offset) {
		pass->known_offset = entry->cie;
		pass->known_cie = find_cie(reader, pass->first_cie, entry->cie);
	}
	if (pass->known_cie != UINT32_MAX)
		return add_function(reader, entry, pass->known_cie);
	reader->num_malformed++;
	return 0;
}

static int read_entries(struct frame_reader *reader, struct pass *pass)
{
	struct frame_entry entry;
	uint64_t offset = 0;
	bool is_truncated;

	while (next_entry(pass->section, &offset, &entry, &is_truncated)) {
		int err = 0;

		if (entry.is_malformed)
			reader->num_malformed += pass->wants_cies;
		else if (entry.is_cie)
			err = pass->wants_cies ? add_cie(reader, &entry) : 0;
		else if (pass->wants_functions)
			err = add_function_of(reader, pass, &entry);
		if (err)
			return err;
	}
	reader->num_malformed += is_truncated && pass->wants_cies;
	return 0;
}

int frame_reader_add_section(struct frame_reader *reader, const struct frame_section *section)
{
	struct pass pass = {
		.section = section,
		.wants_cies = true,
		.wants_functions = !section->is_debug_frame,
		.first_cie = reader->cies.length,
		.known_offset = UINT64_MAX,
	};
	int err;

	assert(reader->num_sections < FRAME_READER_SECTIONS_MAX);
	assert(section->size <= FRAME_SECTION_MAX_BYTES);
	reader->sections[reader->num_sections++] = *section;
	err = read_entries(reader, &pass);
	if (err || pass.wants_functions)
		return err;
	pass.wants_cies = false;
	pass.wants_functions = true;
	return read_entries(reader, &pass);
}
