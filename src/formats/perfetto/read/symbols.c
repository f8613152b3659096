/*
 * Reading Perfetto traces: names that were found after the trace had been taken. `traceconv
 * symbolize` and its kin append them: per file, functions and lines at addresses.
 */
#include "formats/perfetto/read/symbols.h"

#include <errno.h>
#include <string.h>

/* A function and its inlined calls, innermost first. */
static int read_line(struct perfetto_symbols *symbols, struct bytes message)
{
	struct profile *profile = symbols->trace->import->profile;
	struct frame *line = array_add(&symbols->lines);
	struct bytes name = {0};
	struct protobuf_field field;
	int err = 0;

	if (!line)
		return -ENOMEM;
	while (protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_BYTES)
			name = field.body;
		else if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_profile_string(symbols->trace, field.body, &line->file);
		else if (field.number == 3 && field.type == PROTOBUF_VARINT)
			line->line = (uint32_t)field.value;
		if (err)
			return err;
	}
	err = profile_add_frame_name(profile, name.size ? (const char *)name.data : "", name.size,
				     &line->name);
	if (err)
		return err;
	line->full_name = line->name;
	return 0;
}

/* If an address occurs twice, the first names stay. */
static int read_address(struct perfetto_symbols *symbols, uint32_t path, uint32_t build_id,
			struct bytes message)
{
	struct perfetto_symbol symbol = {
		.path = path,
		.build_id = build_id,
		.first_line = (uint32_t)symbols->lines.length,
	};
	struct protobuf_field field;
	uint32_t ignored;
	int err = 0;

	while (protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			symbol.address = field.value;
		else if (field.number == 2 && field.type == PROTOBUF_BYTES &&
			 perfetto_has_room(symbols->trace, symbols->lines.length, 8))
			err = read_line(symbols, field.body);
		if (err)
			return err;
	}
	symbol.num_lines = (uint32_t)symbols->lines.length - symbol.first_line;
	if (!symbol.num_lines || !perfetto_has_room(symbols->trace, symbols->items.length, 16))
		return 0;
	return perfetto_symbol_table_intern(&symbols->items, &symbol, &ignored);
}

int perfetto_symbols_read(struct perfetto_symbols *symbols, struct bytes message)
{
	uint32_t path = STRING_EMPTY;
	uint32_t build_id = STRING_EMPTY;
	struct bytes rest = message;
	struct protobuf_field field;
	int err = 0;

	while (protobuf_next(&rest, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_profile_string(symbols->trace, field.body, &path);
		else if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_profile_string(symbols->trace, field.body, &build_id);
		if (err)
			return err;
	}
	while (protobuf_next(&message, &field)) {
		if (field.number == 3 && field.type == PROTOBUF_BYTES)
			err = read_address(symbols, path, build_id, field.body);
		if (err)
			return err;
	}
	return 0;
}

const struct frame *perfetto_symbols_find(const struct perfetto_symbols *symbols,
					  const struct perfetto_mapping *mapping, uint64_t address,
					  size_t *ret_count)
{
	struct perfetto_symbol key = {
		.path = mapping->path, .build_id = mapping->build_id, .address = address};
	uint32_t found = perfetto_symbol_table_find(&symbols->items, &key);
	const struct perfetto_symbol *symbol;

	if (found == HASH_INDEX_NONE)
		return NULL;
	symbol = &symbols->items.items[found];
	*ret_count = symbol->num_lines;
	return &symbols->lines.items[symbol->first_line];
}

void perfetto_symbols_release(struct perfetto_symbols *symbols)
{
	perfetto_symbol_table_release(&symbols->items);
	array_release(&symbols->lines);
}
