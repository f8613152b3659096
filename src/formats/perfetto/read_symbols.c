/*
 * Reading Perfetto traces: names that were found after the trace had been taken. `traceconv
 * symbolize` and its kin append them: per file, functions and lines at addresses.
 */
#include <errno.h>
#include <string.h>

#include "formats/perfetto_reader.h"

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
	const struct perfetto_reader *reader = owner;
	const struct perfetto_symbol *symbol = &reader->symbols.items[item];
	const struct perfetto_symbol_key *wanted = key;

	return symbol->path == wanted->path && symbol->build_id == wanted->build_id &&
	       symbol->address == wanted->address;
}

/* A function and what was inlined into it, innermost first. */
static int read_line(struct perfetto_reader *reader, struct bytes message)
{
	struct profile *profile = reader->trace.import->profile;
	struct frame *line = array_add(&reader->symbol_lines);
	struct bytes name = {0};
	struct protobuf_field field;
	int err = 0;

	if (!line)
		return -ENOMEM;
	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_BYTES)
			name = field.body;
		else if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_profile_string(&reader->trace, field.body, &line->file);
		else if (field.number == 3 && field.type == PROTOBUF_VARINT)
			line->line = (uint32_t)field.value;
	}
	if (!err)
		err = profile_add_frame_name(profile, name.size ? (const char *)name.data : "",
					     name.size, &line->name);
	line->full_name = line->name;
	return err;
}

static int read_address(struct perfetto_reader *reader, uint32_t path, uint32_t build_id,
			struct bytes message)
{
	struct perfetto_symbol_key key = {.path = path, .build_id = build_id};
	size_t first_line = reader->symbol_lines.length;
	struct perfetto_symbol *symbol;
	struct protobuf_field field;
	int err = 0;

	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			key.address = field.value;
		else if (field.number == 2 && field.type == PROTOBUF_BYTES &&
			 perfetto_has_room(&reader->trace, reader->symbol_lines.length, 8))
			err = read_line(reader, field.body);
	}
	if (err || reader->symbol_lines.length == first_line ||
	    !perfetto_has_room(&reader->trace, reader->symbols.length, 16))
		return err;
	symbol = array_add(&reader->symbols);
	if (!symbol)
		return -ENOMEM;
	*symbol = (struct perfetto_symbol){
		.path = path,
		.build_id = build_id,
		.address = key.address,
		.first_line = (uint32_t)first_line,
		.num_lines = (uint32_t)(reader->symbol_lines.length - first_line),
	};
	if (hash_index_find(&reader->symbol_index, hash_key(&key), is_symbol, reader, &key) !=
	    HASH_INDEX_NONE)
		return 0;
	return hash_index_add(&reader->symbol_index, hash_key(&key),
			      (uint32_t)(reader->symbols.length - 1));
}

int perfetto_read_symbols(struct perfetto_reader *reader, struct bytes message)
{
	uint32_t path = STRING_EMPTY;
	uint32_t build_id = STRING_EMPTY;
	struct bytes rest = message;
	struct protobuf_field field;
	int err = 0;

	while (!err && protobuf_next(&rest, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_profile_string(&reader->trace, field.body, &path);
		else if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_profile_string(&reader->trace, field.body, &build_id);
	}
	while (!err && protobuf_next(&message, &field))
		if (field.number == 3 && field.type == PROTOBUF_BYTES)
			err = read_address(reader, path, build_id, field.body);
	return err;
}

int perfetto_find_symbol(struct perfetto_reader *reader, const struct perfetto_mapping *mapping,
			 const struct perfetto_frame *frame)
{
	struct perfetto_symbol_key key = {mapping->path, mapping->build_id, frame->address};
	const struct perfetto_symbol *symbol;
	uint32_t found;

	found = hash_index_find(&reader->symbol_index, hash_key(&key), is_symbol, reader, &key);
	if (found == HASH_INDEX_NONE)
		return -ENOENT;
	symbol = &reader->symbols.items[found];
	reader->frames.length = 0;
	for (uint32_t i = 0; i < symbol->num_lines; i++) {
		struct frame *added = array_add(&reader->frames);

		if (!added)
			return -ENOMEM;
		*added = reader->symbol_lines.items[symbol->first_line + i];
		added->module = frame->frame.module;
		added->kind = frame->frame.kind;
		added->is_inlined = i + 1 < symbol->num_lines;
	}
	return 0;
}
