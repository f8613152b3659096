/*
 * Tables of functions as the linkers of Go write them (.gopclntab), made by tests.
 *
 *	struct go_table_writer writer = {.version = GO_1_18, .text_start = 0x1000, .end = 0x1100};
 *	go_table_writer_add(&writer, "main.main", 0x1000, pcsp, sizeof(pcsp));
 *	struct text bytes = go_table_writer_write(&writer);
 *	…
 *	text_release(&bytes);
 */
#ifndef TESTS_GO_TABLE_WRITER_H
#define TESTS_GO_TABLE_WRITER_H

#include <stdint.h>
#include <string.h>

#include "base/text.h"

#define GO_TABLE_WRITER_FUNCTIONS_MAX 8

enum go_version { GO_1_2, GO_1_16, GO_1_18, GO_1_20 };

struct go_table_writer_function {
	const char *name;
	uint64_t start;
	const uint8_t *pcsp; /* as in the file: changes and distances, and a 0; borrowed */
	size_t pcsp_size;    /* 0: none are known */
};

struct go_table_writer {
	enum go_version version;
	uint64_t text_start;        /* 0: addresses count from 0 before Go 1.18 */
	uint64_t header_text_start; /* what the header says from Go 1.18 on */
	struct go_table_writer_function functions[GO_TABLE_WRITER_FUNCTIONS_MAX];
	size_t num_functions;
	uint64_t end; /* of the last function */
};

static inline void go_table_writer_add(struct go_table_writer *writer, const char *name,
				       uint64_t start, const uint8_t *pcsp, size_t pcsp_size)
{
	assert_true(writer->num_functions < GO_TABLE_WRITER_FUNCTIONS_MAX);
	writer->functions[writer->num_functions++] =
		(struct go_table_writer_function){name, start, pcsp, pcsp_size};
}

/* size  in bytes, at most 8 */
static inline void go_table_append(struct text *text, uint64_t value, size_t size)
{
	text_append(text, &value, size);
}

/* Parts of the table; offsets in it count from where a part starts, plus the base. */
struct go_table_parts {
	struct text names;
	struct text pcsp;
	struct text index; /* with the descriptions behind it */
};

static inline void go_table_describe(struct go_table_parts *parts, size_t address_size,
				     const struct go_table_writer_function *function,
				     uint64_t address, uint64_t names_base, uint64_t pcsp_base)
{
	go_table_append(&parts->index, address, address_size);
	go_table_append(&parts->index, names_base + parts->names.length, 4);
	go_table_append(&parts->index, 0, 8);
	go_table_append(&parts->index, function->pcsp_size ? pcsp_base + parts->pcsp.length : 0, 4);
	for (int i = 0; i < 3; i++)
		go_table_append(&parts->index, 0, 8); /* what we do not read */
	text_append(&parts->names, function->name, strlen(function->name) + 1);
	text_append(&parts->pcsp, function->pcsp, function->pcsp_size);
}

static inline struct go_table_parts go_table_make_parts(const struct go_table_writer *writer,
							size_t address_size, uint64_t index_base,
							uint64_t names_base, uint64_t pcsp_base)
{
	uint64_t text_start = address_size == 4 ? writer->text_start : 0;
	size_t index_size = (2 * writer->num_functions + 1) * address_size;
	size_t description_size = address_size + 40;
	struct go_table_parts parts = {0};

	text_append_char(&parts.pcsp, '\0');
	for (size_t i = 0; i < writer->num_functions; i++) {
		go_table_append(&parts.index, writer->functions[i].start - text_start,
				address_size);
		go_table_append(&parts.index, index_base + index_size + i * description_size,
				address_size);
	}
	go_table_append(&parts.index, writer->end - text_start, address_size);
	for (size_t i = 0; i < writer->num_functions; i++)
		go_table_describe(&parts, address_size, &writer->functions[i],
				  writer->functions[i].start - text_start, names_base, pcsp_base);
	return parts;
}

static inline struct text go_table_writer_write(const struct go_table_writer *writer)
{
	static const uint32_t magics[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};
	size_t address_size = writer->version >= GO_1_18 ? 4 : 8;
	size_t index_size = (2 * writer->num_functions + 1) * address_size +
			    writer->num_functions * (address_size + 40);
	/* Go 1.2 has one base for all offsets; names and SP deltas then lie at fixed offsets. */
	bool is_old = writer->version == GO_1_2;
	uint64_t pcsp_offset = 16 + index_size;
	uint64_t names_offset = pcsp_offset + 256;
	struct go_table_parts parts =
		is_old ? go_table_make_parts(writer, address_size, 16, names_offset, pcsp_offset)
		       : go_table_make_parts(writer, address_size, 0, 0, 0);
	struct text bytes = {0};
	size_t header_size = writer->version >= GO_1_18 ? 72 : 64;

	go_table_append(&bytes, magics[writer->version], 4);
	go_table_append(&bytes, 0x08010000, 4);
	go_table_append(&bytes, writer->num_functions, 8);
	if (is_old) {
		text_append(&bytes, parts.index.data, parts.index.length);
		text_append(&bytes, parts.pcsp.data, parts.pcsp.length);
		while (bytes.length < names_offset)
			text_append_char(&bytes, '\0');
		text_append(&bytes, parts.names.data, parts.names.length);
	} else {
		go_table_append(&bytes, 0, 8);
		if (writer->version >= GO_1_18)
			go_table_append(&bytes, writer->header_text_start, 8);
		go_table_append(&bytes, header_size, 8);
		go_table_append(&bytes, 0, 8);
		go_table_append(&bytes, 0, 8);
		go_table_append(&bytes, header_size + parts.names.length, 8);
		go_table_append(&bytes, header_size + parts.names.length + parts.pcsp.length, 8);
		text_append(&bytes, parts.names.data, parts.names.length);
		text_append(&bytes, parts.pcsp.data, parts.pcsp.length);
		text_append(&bytes, parts.index.data, parts.index.length);
	}
	text_release(&parts.names);
	text_release(&parts.pcsp);
	text_release(&parts.index);
	assert_false(bytes.failed);
	return bytes;
}

#endif
