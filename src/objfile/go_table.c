/*
 * pclntab, Go's table of functions. It starts with a header, whose layout depends on the version:
 *
 *	Go 1.2    magic  number of functions  index…          offsets count from the section's start
 *	Go 1.16   magic  number of functions  number of files  5 offsets: names … SP deltas, functions
 *	Go 1.18   magic  number of functions  number of files  start of text  5 offsets
 *	Go 1.20   the same
 *
 * From 1.16 on the index is at the start of the descriptions. From 1.18 on addresses count from the
 * start of the text, in 4 bytes. From 1.26 on the header has 0 there, and only the description of
 * the program (moduledata) contains the start of the text.
 */
#include "objfile/go_table.h"

#include <gelf.h>

#include "base/bytes.h"
#include "objfile/objfile.h"

#define MAGIC_1_2  0xfffffffbu
#define MAGIC_1_16 0xfffffffau
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

#define ADDRESS_BYTES      8
#define TEXT_START_OFFSET  24  /* in the header */
#define MODULE_TEXT_OFFSET 176 /* in the program's description */
/* In a function's description (_func), between nameOff and pcsp. */
#define BEFORE_DEPTHS_BYTES 8
/* The linker puts the table at a multiple of 32. */
#define TABLE_ALIGN 32

/* Tables of large programs have some dozens of megabytes. */
#define SECTION_MAX_BYTES (256u << 20)

/* A section with an address, and its bytes. */
struct go_section {
	struct bytes bytes;
	uint64_t elf_address;
};

static bool read_section(Elf_Scn *scn, const GElf_Shdr *header, struct go_section *ret)
{
	Elf_Data *data =
		scn && header->sh_size <= SECTION_MAX_BYTES ? elf_rawdata(scn, NULL) : NULL;

	if (!data || !data->d_buf || (header->sh_flags & SHF_COMPRESSED))
		return false;
	*ret = (struct go_section){bytes_of(data->d_buf, data->d_size), header->sh_addr};
	return true;
}

static bool find_section(Elf *elf, const char *name, struct go_section *ret)
{
	GElf_Shdr header;

	return read_section(elf_section_find(elf, name, &header), &header, ret);
}

/* A cursor that starts at the offset; failed if that is outside. */
static struct bytes bytes_from(const struct bytes *bytes, uint64_t offset)
{
	struct bytes from = bytes_of(bytes->data, bytes->size);

	bytes_skip(&from, offset);
	return from.failed ? from : bytes_of(from.data + offset, from.size - offset);
}

static uint64_t read_number(struct bytes *bytes, uint8_t size)
{
	return size == 4 ? bytes_u32(bytes) : bytes_u64(bytes);
}

static bool has_magic(const struct bytes *bytes)
{
	struct bytes header = *bytes;
	uint32_t magic = bytes_u32(&header);
	uint16_t padding = bytes_u16(&header);
	uint8_t code_align = bytes_u8(&header);
	uint8_t address_size = bytes_u8(&header);

	return !header.failed && magic >= MAGIC_1_18 && padding == 0 && code_align > 0 &&
	       code_align <= 4 && address_size == ADDRESS_BYTES;
}

/* C linkers put the table of a position-independent program among other data. */
static bool find_among_data(Elf *elf, struct go_section *ret)
{
	struct go_section data;
	struct go_section unused;

	if (!find_section(elf, ".go.buildinfo", &unused) ||
	    !find_section(elf, ".data.rel.ro", &data))
		return false;
	for (uint64_t offset = -data.elf_address % TABLE_ALIGN; offset < data.bytes.size;
	     offset += TABLE_ALIGN) {
		*ret = (struct go_section){bytes_from(&data.bytes, offset),
					   data.elf_address + offset};
		if (has_magic(&ret->bytes))
			return true;
	}
	return false;
}

static bool find_table(Elf *elf, struct go_section *ret)
{
	return ((find_section(elf, ".gopclntab", ret) ||
		 find_section(elf, ".data.rel.ro.gopclntab", ret)) &&
		has_magic(&ret->bytes)) ||
	       find_among_data(elf, ret);
}

/* The address that the dynamic linker relocates this word to; 0 if it does not. */
static uint64_t find_relocation(Elf *elf, uint64_t elf_address)
{
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		Elf_Data *data;
		GElf_Shdr header;
		GElf_Rela relocation;

		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_RELA)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getrela(data, i, &relocation); i++)
			if (relocation.r_offset == elf_address &&
			    GELF_R_SYM(relocation.r_info) == 0)
				return (uint64_t)relocation.r_addend;
	}
	return 0;
}

static uint64_t read_address(Elf *elf, const struct go_section *section, uint64_t offset)
{
	struct bytes bytes = bytes_from(&section->bytes, offset);
	uint64_t address = bytes_u64(&bytes);

	return address ? address : find_relocation(elf, section->elf_address + offset);
}

static uint64_t find_text_start(Elf *elf, const struct go_section *table)
{
	uint64_t start = read_address(elf, table, TEXT_START_OFFSET);
	struct go_section module;
	struct go_section text;

	if (!start && find_section(elf, ".go.module", &module))
		start = read_address(elf, &module, MODULE_TEXT_OFFSET);
	if (!start && find_section(elf, ".text", &text))
		start = text.elf_address;
	return start;
}

static void read_header_of_1_2(const struct bytes *section, struct go_table *ret)
{
	struct bytes header = bytes_from(section, 8);
	uint64_t num_functions = bytes_u64(&header);

	ret->num_functions = num_functions > UINT32_MAX ? 0 : (uint32_t)num_functions;
	ret->address_size = ADDRESS_BYTES;
	ret->index = bytes_from(section, 16);
	ret->functions = *section;
	ret->names = *section;
	ret->pcsp = *section;
}

static void read_header(const struct bytes *section, bool has_text_start, struct go_table *ret)
{
	struct bytes header = bytes_from(section, 8);
	uint64_t num_functions = bytes_u64(&header);

	ret->num_functions = num_functions > UINT32_MAX ? 0 : (uint32_t)num_functions;
	ret->address_size = has_text_start ? 4 : ADDRESS_BYTES;
	bytes_skip(&header, has_text_start ? 16 : 8);
	ret->names = bytes_from(section, bytes_u64(&header));
	bytes_skip(&header, 16);
	ret->pcsp = bytes_from(section, bytes_u64(&header));
	ret->functions = bytes_from(section, bytes_u64(&header));
	ret->index = ret->functions;
	if (header.failed)
		ret->num_functions = 0;
}

bool go_table_find(Elf *elf, struct go_table *ret)
{
	struct go_section table;
	struct bytes magic;
	uint64_t index_size;

	if (gelf_getclass(elf) != ELFCLASS64 || !find_table(elf, &table))
		return false;
	*ret = (struct go_table){.size = table.bytes.size, .code_align = table.bytes.data[6]};
	magic = table.bytes;
	switch (bytes_u32(&magic)) {
	case MAGIC_1_2:
		read_header_of_1_2(&table.bytes, ret);
		break;
	case MAGIC_1_16:
		read_header(&table.bytes, false, ret);
		break;
	case MAGIC_1_18:
	case MAGIC_1_20:
		read_header(&table.bytes, true, ret);
		ret->text_start = find_text_start(elf, &table);
		break;
	default:
		return false;
	}
	index_size = (2 * (uint64_t)ret->num_functions + 1) * ret->address_size;
	return ret->num_functions && index_size <= bytes_left(&ret->index);
}

bool go_table_read(const struct go_table *table, uint32_t index, struct go_function *ret)
{
	struct bytes entry = bytes_from(&table->index, 2ull * index * table->address_size);
	uint64_t start = read_number(&entry, table->address_size);
	uint64_t function_offset = read_number(&entry, table->address_size);
	uint64_t end = read_number(&entry, table->address_size);
	struct bytes function = bytes_from(&table->functions, function_offset);
	struct bytes name;

	bytes_skip(&function, table->address_size);
	name = bytes_from(&table->names, bytes_u32(&function));
	bytes_skip(&function, BEFORE_DEPTHS_BYTES);
	*ret = (struct go_function){
		.name = bytes_string(&name),
		.start = table->text_start + start,
		.end = table->text_start + end,
		.pcsp_offset = bytes_u32(&function),
	};
	return !entry.failed && !function.failed && ret->name && ret->start < ret->end;
}

struct go_pcsp go_pcsp_start(const struct go_table *table, uint64_t start, uint32_t pcsp_offset)
{
	return (struct go_pcsp){
		.bytes = bytes_from(&table->pcsp, pcsp_offset),
		.end = start,
		.sp_delta = -1,
		.code_align = table->code_align,
	};
}

bool go_pcsp_next(struct go_pcsp *pcsp)
{
	uint64_t change = leb128_read_unsigned(&pcsp->bytes);
	uint64_t distance = leb128_read_unsigned(&pcsp->bytes);

	/* The change is 0 at the end, but the first one may be 0 as well. */
	if (pcsp->bytes.failed || (pcsp->is_started && change == 0) || distance == 0 ||
	    distance > UINT32_MAX)
		return false;
	pcsp->is_started = true;
	pcsp->sp_delta += (int32_t)(change & 1 ? ~(change >> 1) : change >> 1);
	pcsp->end += distance * pcsp->code_align;
	return true;
}
