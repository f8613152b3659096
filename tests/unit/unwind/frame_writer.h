/*
 * Call-frame information written by tests, entry by entry.
 *
 *	struct frame_writer writer = {.elf_address = 0x100000};
 *	frame_writer_add_cie(&writer, &usual_cie);
 *	frame_writer_add_function(&writer, 0x1000, 0x100, CODE(DW_CFA_advance_loc | 1, …));
 *	struct frame_section section = frame_writer_get_section(&writer);
 *	…
 *	text_release(&writer.bytes);
 */
#ifndef TESTS_FRAME_WRITER_H
#define TESTS_FRAME_WRITER_H

#include <dwarf.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "unwind/frame_section.h"

/* Bytes and how many: two arguments. */
#define CODE(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define NO_CODE   NULL, 0

struct frame_writer_cie {
	const char *augmentation;
	uint8_t version;
	uint8_t encoding;    /* DW_EH_PE_…, written when the augmentation has an R */
	const uint8_t *code; /* initial instructions */
	size_t code_size;
	bool is_64_bit; /* with a length of 8 bytes */
};

struct frame_writer {
	struct text bytes;
	uint64_t elf_address;
	bool is_debug_frame;
	const struct frame_writer_cie *cie; /* of the functions to come */
	size_t cie_offset;
};

/* CFA = rsp + 8, return address at CFA - 8: as every compiler starts. */
static const uint8_t usual_code[] = {DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1};

static const struct frame_writer_cie usual_cie = {
	.augmentation = "zR",
	.version = 1,
	.encoding = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
	.code = usual_code,
	.code_size = sizeof(usual_code),
};

static inline void frame_writer_add_u8(struct frame_writer *writer, uint8_t value)
{
	text_append(&writer->bytes, &value, sizeof(value));
}

static inline void frame_writer_add_u32(struct frame_writer *writer, uint32_t value)
{
	text_append(&writer->bytes, &value, sizeof(value));
}

static inline void frame_writer_add_u64(struct frame_writer *writer, uint64_t value)
{
	text_append(&writer->bytes, &value, sizeof(value));
}

static inline void frame_writer_add_uleb128(struct frame_writer *writer, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		frame_writer_add_u8(writer, (uint8_t)(value | 0x80));
	frame_writer_add_u8(writer, (uint8_t)value);
}

/* Returns where the length is to be written when the entry is complete. */
static inline size_t frame_writer_start(struct frame_writer *writer, bool is_64_bit)
{
	if (is_64_bit) {
		frame_writer_add_u32(writer, UINT32_MAX);
		frame_writer_add_u64(writer, 0);
		return writer->bytes.length - 8;
	}
	frame_writer_add_u32(writer, 0);
	return writer->bytes.length - 4;
}

static inline void frame_writer_end(struct frame_writer *writer, size_t length_offset,
				    bool is_64_bit)
{
	size_t width = is_64_bit ? 8 : 4;
	uint64_t length;

	while (writer->bytes.length % 4)
		frame_writer_add_u8(writer, DW_CFA_nop);
	length = writer->bytes.length - length_offset - width;
	memcpy(writer->bytes.data + length_offset, &length, width);
}

static inline void frame_writer_add_pointer(struct frame_writer *writer, uint8_t encoding,
					    uint64_t value)
{
	if ((encoding & 0x70) == DW_EH_PE_aligned)
		while ((writer->elf_address + writer->bytes.length) % 8)
			frame_writer_add_u8(writer, 0);
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		value -= writer->elf_address + writer->bytes.length;
	switch (encoding & 0x0f) {
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		text_append(&writer->bytes, &value, 2);
		break;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		text_append(&writer->bytes, &value, 4);
		break;
	case DW_EH_PE_uleb128:
		frame_writer_add_uleb128(writer, value);
		break;
	case DW_EH_PE_sleb128: /* ten bytes hold any value */
		for (int i = 0; i < 9; i++, value = (uint64_t)((int64_t)value >> 7))
			frame_writer_add_u8(writer, (uint8_t)(value | 0x80));
		frame_writer_add_u8(writer, value & 0x7f);
		break;
	default:
		text_append(&writer->bytes, &value, 8);
	}
}

/* The data of augmentation z: as many bytes as the letters after it want. */
static inline void frame_writer_add_augmentation(struct frame_writer *writer,
						 const struct frame_writer_cie *cie)
{
	struct frame_writer data = {.elf_address = writer->elf_address};

	for (const char *letter = cie->augmentation + 1; *letter; letter++) {
		if (*letter == 'R')
			frame_writer_add_u8(&data, cie->encoding);
		if (*letter == 'L')
			frame_writer_add_u8(&data, DW_EH_PE_udata4);
		if (*letter == 'P') {
			frame_writer_add_u8(&data,
					    DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4);
			frame_writer_add_u32(&data, 0x1234);
		}
	}
	frame_writer_add_uleb128(writer, data.bytes.length);
	text_append(&writer->bytes, data.bytes.data, data.bytes.length);
	text_release(&data.bytes);
}

static inline void frame_writer_add_cie(struct frame_writer *writer,
					const struct frame_writer_cie *cie)
{
	size_t start = writer->bytes.length;
	size_t length_offset = frame_writer_start(writer, cie->is_64_bit);

	writer->cie = cie;
	writer->cie_offset = start;
	if (writer->is_debug_frame && cie->is_64_bit)
		frame_writer_add_u64(writer, UINT64_MAX);
	else
		frame_writer_add_u32(writer, writer->is_debug_frame ? UINT32_MAX : 0);
	frame_writer_add_u8(writer, cie->version);
	text_append(&writer->bytes, cie->augmentation, strlen(cie->augmentation) + 1);
	if (string_equals(cie->augmentation, "eh"))
		frame_writer_add_u64(writer, 0);
	if (cie->version == 4) {
		frame_writer_add_u8(writer, 8);
		frame_writer_add_u8(writer, 0);
	}
	frame_writer_add_u8(writer, 1);    /* code alignment */
	frame_writer_add_u8(writer, 0x78); /* data alignment: -8 */
	frame_writer_add_u8(writer, 16);   /* return address */
	if (cie->augmentation[0] == 'z')
		frame_writer_add_augmentation(writer, cie);
	text_append(&writer->bytes, cie->code, cie->code_size);
	frame_writer_end(writer, length_offset, cie->is_64_bit);
}

/* Of the CIE that was added last. */
static inline void frame_writer_add_function(struct frame_writer *writer, uint64_t start,
					     uint64_t size, const uint8_t *code, size_t code_size)
{
	const struct frame_writer_cie *cie = writer->cie;
	size_t length_offset = frame_writer_start(writer, cie->is_64_bit);
	bool has_encoding = strchr(cie->augmentation, 'R');
	uint8_t encoding = has_encoding ? cie->encoding : DW_EH_PE_absptr;

	if (writer->is_debug_frame && cie->is_64_bit)
		frame_writer_add_u64(writer, writer->cie_offset);
	else
		frame_writer_add_u32(
			writer, (uint32_t)(writer->is_debug_frame
						   ? writer->cie_offset
						   : writer->bytes.length - writer->cie_offset));
	frame_writer_add_pointer(writer, encoding, start);
	frame_writer_add_pointer(writer, encoding & 0x0f, size);
	if (cie->augmentation[0] == 'z')
		frame_writer_add_uleb128(writer, 0);
	if (code_size)
		text_append(&writer->bytes, code, code_size);
	frame_writer_end(writer, length_offset, cie->is_64_bit);
}

/* The zero that ends .eh_frame, or what was meant to be its end. */
static inline void frame_writer_add_terminator(struct frame_writer *writer)
{
	frame_writer_add_u32(writer, 0);
}

/* Borrowed from the writer until it changes. */
static inline struct frame_section frame_writer_get_section(const struct frame_writer *writer)
{
	return (struct frame_section){
		.data = writer->bytes.data,
		.size = writer->bytes.length,
		.elf_address = writer->elf_address,
		.is_debug_frame = writer->is_debug_frame,
	};
}

#endif
