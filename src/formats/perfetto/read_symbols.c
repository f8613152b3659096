/*
 * Reading Perfetto traces: names that were found after the trace had been taken. `traceconv
 * symbolize` and its kin append them: per file, functions and lines at addresses.
 */
#include <errno.h>
#include <string.h>

#include "formats/perfetto/read.h"

struct perfetto_symbol_key {
	uint32_t path;
	uint32_t build_id;
	uint64_t address;
};

static uint64_t hash_key(const struct perfetto_symbol_key *key)
{
	return hash_mix(hash_mix(key->path, key->build_id), key->address);
}

static bool is_symbol(const void *owner, uint32_t item, const void *key)
{
	const struct perfetto_symbols *symbols = owner;
	const struct perfetto_symbol *symbol = &symbols->items.items[item];
	const struct perfetto_symbol_key *wanted = key;

	return symbol->path == wanted->path && symbol->build_id == wanted->build_id &&
	       symbol->address == wanted->address;
}

/* A function and what was inlined into it, innermost first. */
static int read_line(struct perfetto_symbols *symbols, struct bytes message)
{
	struct profile *profile = symbols->trace->import->profile;
	struct frame *line = array_add(&symbols->lines);
	struct bytes name = {0};
	struct protobuf_field field;
	int err = 0;

	if (!line)
		return -ENOMEM;
	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_BYTES)
			name = field.body;
		else if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_profile_string(symbols->trace, field.body, &line->file);
		else if (field.number == 3 && field.type == PROTOBUF_VARINT)
			line->line = (uint32_t)field.value;
	}
	if (!err)
		err = profile_add_frame_name(profile, name.size ? (const char *)name.data : "",
					     name.size, &line->name);
	line->full_name = line->name;
	return err;
}

static int read_address(struct perfetto_symbols *symbols, uint32_t path, uint32_t build_id,
			struct bytes message)
{
	struct perfetto_symbol_key key = {.path = path, .build_id = build_id};
	size_t first_line = symbols->lines.length;
	struct perfetto_symbol *symbol;
	struct protobuf_field field;
	int err = 0;

	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			key.address = field.value;
		else if (field.number == 2 && field.type == PROTOBUF_BYTES &&
			 perfetto_has_room(symbols->trace, symbols->lines.length, 8))
			err = read_line(symbols, field.body);
	}
	if (err || symbols->lines.length == first_line ||
	    !perfetto_has_room(symbols->trace, symbols->items.length, 16))
		return err;
	symbol = array_add(&symbols->items);
	if (!symbol)
		return -ENOMEM;
	*symbol = (struct perfetto_symbol){
		.path = path,
		.build_id = build_id,
		.address = key.address,
		.first_line = (uint32_t)first_line,
		.num_lines = (uint32_t)(symbols->lines.length - first_line),
	};
	if (hash_index_find(&symbols->index, hash_key(&key), is_symbol, symbols, &key) !=
	    HASH_INDEX_NONE)
		return 0;
	return hash_index_add(&symbols->index, hash_key(&key),
			      (uint32_t)(symbols->items.length - 1));
}

int perfetto_symbols_read(struct perfetto_symbols *symbols, struct bytes message)
{
	uint32_t path = STRING_EMPTY;
	uint32_t build_id = STRING_EMPTY;
	struct bytes rest = message;
	struct protobuf_field field;
	int err = 0;

	while (!err && protobuf_next(&rest, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_profile_string(symbols->trace, field.body, &path);
		else if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_profile_string(symbols->trace, field.body, &build_id);
	}
	while (!err && protobuf_next(&message, &field))
		if (field.number == 3 && field.type == PROTOBUF_BYTES)
			err = read_address(symbols, path, build_id, field.body);
	return err;
}

const struct frame *perfetto_symbols_find(const struct perfetto_symbols *symbols,
					  const struct perfetto_mapping *mapping, uint64_t address,
					  size_t *ret_count)
{
	struct perfetto_symbol_key key = {mapping->path, mapping->build_id, address};
	uint32_t found = hash_index_find(&symbols->index, hash_key(&key), is_symbol, symbols, &key);
	const struct perfetto_symbol *symbol;

	if (found == HASH_INDEX_NONE)
		return NULL;
	symbol = &symbols->items.items[found];
	*ret_count = symbol->num_lines;
	return &symbols->lines.items[symbol->first_line];
}

void perfetto_symbols_release(struct perfetto_symbols *symbols)
{
	array_release(&symbols->items);
	array_release(&symbols->lines);
	hash_index_release(&symbols->index);
}
