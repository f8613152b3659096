/*
 * Reading pprof's profile format: mappings, locations and functions. See read.c.
 *
 * A location with an address in a file or in the kernel keeps it, so that other tools can look it
 * up in a file that we write. The profile may already have the same address under other names, as
 * when a program was replaced between two captures. Then the location is identified by its names
 * alone.
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "formats/pprof/pprof.h"
#include "formats/pprof/read.h"
#include "formats/reader.h"

/* Larger messages are refused: a short message could name a long one again and again. */
#define MAX_LINES         4096
#define MAX_MESSAGE_BYTES 4096

/* Field numbers of profile.proto, as everywhere below. */
enum mapping_field {
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
};

enum location_field { LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum line_field { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum function_field { FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

struct pprof_source_mapping {
	uint64_t start, limit, file_offset;
	struct bytes filename;
	struct bytes build_id;
	enum frame_kind kind;
	bool has_functions;   /* the producer has looked for names */
	uint32_t module_name; /* string of the profile */
};

/* A location of the file, while it is read. */
struct pprof_code {
	struct pprof_source_mapping mapping;
	bool has_mapping;
	uint64_t address;
	size_t offset; /* in the file */
	enum unnamed_reason reason;
};

/* Strings of the file are slices of it, without NUL. */
static bool starts_with(struct bytes string, const char *prefix)
{
	return string.size >= strlen(prefix) && !memcmp(string.data, prefix, strlen(prefix));
}

static struct bytes slice_bytes(struct bytes string, size_t from, size_t to)
{
	return bytes_of(string.data + from, to - from);
}

static int add_string(struct pprof_reader *reader, struct bytes string, uint32_t *ret)
{
	return string_table_add(profile_get_strings(reader->import->profile),
				string.size ? (const char *)string.data : "", string.size, ret);
}

/*
 * The kind whose type is the start of a name in brackets, followed by one of these characters;
 * FRAME_USER if not found.
 */
static enum frame_kind find_type(struct bytes name, const char *next)
{
	for (enum frame_kind kind = 0; kind < NUM_FRAME_KINDS; kind++) {
		size_t length = strlen(frame_kinds[kind].type);

		if (length && name.size > length + 1 && name.data[0] == '[' &&
		    !memcmp(name.data + 1, frame_kinds[kind].type, length) &&
		    strchr(next, name.data[length + 1]))
			return kind;
	}
	return FRAME_USER;
}

/* nf_tables of "[kernel:nf_tables]", and the last part of a path; other names in brackets and with a scheme stay. */
static struct bytes find_module_name(const struct pprof_source_mapping *mapping)
{
	struct bytes name = mapping->filename;
	enum frame_kind kind = find_type(name, ":");

	if (kind != FRAME_USER && name.data[name.size - 1] == ']')
		return slice_bytes(name, strlen("[") + strlen(frame_kinds[kind].type) + strlen(":"),
				   name.size - 1);
	if (starts_with(name, "[kernel")) /* perf writes [kernel.kallsyms] or [kernel.vmlinux] */
		return bytes_of(PPROF_KERNEL, strlen(PPROF_KERNEL));
	if ((name.size && name.data[0] == '[') ||
	    path_has_scheme((const char *)name.data, name.size))
		return name;
	for (size_t i = name.size; i > 0; i--)
		if (name.data[i - 1] == '/')
			return slice_bytes(name, i, name.size);
	return name;
}

/* The format has no field for it: only the names that producers give to mappings show it. */
static enum frame_kind find_kind(struct bytes filename, uint64_t start)
{
	if (starts_with(filename, "[kernel") || starts_with(filename, "[guest.kernel"))
		return FRAME_KERNEL;
	/* perf's kernel modules: "[nf_tables]", in the upper half of the addresses. */
	if (start >> 63 && starts_with(filename, "[") && !starts_with(filename, "[vsyscall]"))
		return FRAME_KERNEL;
	return find_type(filename, ":]");
}

static int read_mapping(struct pprof_reader *reader, uint64_t id, size_t offset,
			struct pprof_source_mapping *ret)
{
	struct protobuf_field field;
	struct bytes message;
	uint64_t strings[2] = {0};
	uint32_t place;
	int err;

	*ret = (struct pprof_source_mapping){0};
	if (!pprof_table_find(&reader->index.mappings, id, &place))
		return import_fail_byte(reader->import, offset, "no mapping %llu",
					(unsigned long long)id);
	offset = reader->index.mappings.offsets[place];
	message = pprof_index_get_field(&reader->index, offset).body;
	/*
	 * A mapping is read anew for each of its locations: with a long one, the time would be the
	 * product of both.
	 */
	if (message.size > MAX_MESSAGE_BYTES)
		return import_fail_byte(reader->import, offset, "a mapping of %zu bytes",
					message.size);
	while (protobuf_next(&message, &field)) {
		if (field.type != PROTOBUF_VARINT)
			continue;
		if (field.number == MAPPING_START)
			ret->start = field.value;
		else if (field.number == MAPPING_LIMIT)
			ret->limit = field.value;
		else if (field.number == MAPPING_OFFSET)
			ret->file_offset = field.value;
		else if (field.number == MAPPING_HAS_FUNCTIONS)
			ret->has_functions = field.value;
		else if (field.number == MAPPING_FILENAME || field.number == MAPPING_BUILD_ID)
			strings[field.number == MAPPING_BUILD_ID] = field.value;
	}
	err = pprof_index_get_string(&reader->index, strings[0], "a mapping's file name", offset,
				     &ret->filename);
	if (err)
		return err;
	err = pprof_index_get_string(&reader->index, strings[1], "a build ID", offset,
				     &ret->build_id);
	if (err)
		return err;
	ret->kind = find_kind(ret->filename, ret->start);
	return add_string(reader, find_module_name(ret), &ret->module_name);
}

/*
 * The name for folded text: our own as it was, unless it would break a line. A writer of ours puts
 * the name for folded text into system_name and the full one into name; other writers have the
 * mangled name in system_name (_Z C++, _R Rust), and the one to be shown in name.
 */
static int add_name(struct pprof_reader *reader, struct bytes name, struct bytes system_name,
		    uint32_t *ret)
{
	bool has_own = reader->is_ours && !starts_with(system_name, "_Z") &&
		       !starts_with(system_name, "_R") && (system_name.size || !name.size);

	if (has_own && (!system_name.size || (!memchr(system_name.data, ';', system_name.size) &&
					      !memchr(system_name.data, '\n', system_name.size))))
		return add_string(reader, system_name, ret);
	if (has_own || !name.size)
		name = system_name;
	return profile_add_frame_name(reader->import->profile,
				      name.size ? (const char *)name.data : "", name.size, ret);
}

/* Once for each function, however many locations name it. */
static int read_function(struct pprof_reader *reader, uint32_t place, struct pprof_names *ret)
{
	size_t offset = reader->index.functions.offsets[place];
	struct bytes message = pprof_index_get_field(&reader->index, offset).body;
	uint64_t strings[FUNCTION_FILE + 1] = {0};
	struct bytes name = {0}, system_name = {0}, file = {0};
	struct protobuf_field field;
	int err;

	while (protobuf_next(&message, &field))
		if (field.type == PROTOBUF_VARINT && field.number <= FUNCTION_FILE)
			strings[field.number] = field.value;
	err = pprof_index_get_string(&reader->index, strings[FUNCTION_NAME], "a function's name",
				     offset, &name);
	if (err)
		return err;
	err = pprof_index_get_string(&reader->index, strings[FUNCTION_SYSTEM_NAME],
				     "a function's system name", offset, &system_name);
	if (err)
		return err;
	err = pprof_index_get_string(&reader->index, strings[FUNCTION_FILE], "a source file",
				     offset, &file);
	if (err)
		return err;
	err = add_name(reader, name, system_name, &ret->name);
	if (err)
		return err;
	ret->full_name = ret->name;
	if (name.size) {
		err = add_string(reader, name, &ret->full_name);
		if (err)
			return err;
	}
	err = add_string(reader, file, &ret->file);
	if (err)
		return err;
	ret->is_known = true;
	return 0;
}

static int add_frame(struct pprof_reader *reader, const struct pprof_code *code, struct bytes line)
{
	struct frame *frame = array_add(&reader->frames);
	struct protobuf_field field;
	struct pprof_names *names;
	uint64_t function = 0;
	uint64_t number = 0;
	uint32_t place;

	if (!frame)
		return -ENOMEM;
	while (protobuf_next(&line, &field)) {
		if (field.type == PROTOBUF_VARINT && field.number == LINE_FUNCTION)
			function = field.value;
		else if (field.type == PROTOBUF_VARINT && field.number == LINE_NUMBER)
			number = field.value;
	}
	if (line.failed)
		return import_fail_byte(reader->import, code->offset, "a broken line");
	/* The field is signed, 64 bits; a number that cannot be a line counts as unknown. */
	frame->line = number <= UINT32_MAX ? (uint32_t)number : 0;
	/* A line without function is a position in a file and nothing more. */
	if (!function)
		return profile_add_frame_name(reader->import->profile, "", 0, &frame->name);
	if (!pprof_table_find(&reader->index.functions, function, &place))
		return import_fail_byte(reader->import, code->offset, "no function %llu",
					(unsigned long long)function);
	names = &reader->names[place];
	if (!names->is_known) {
		int err = read_function(reader, place, names);

		if (err)
			return err;
	}
	frame->name = names->name;
	frame->full_name = names->full_name;
	frame->file = names->file;
	return 0;
}

/* Unsymbolized code is named after its module. */
static int add_unnamed_frame(struct pprof_reader *reader, struct pprof_code *code)
{
	struct profile *profile = reader->import->profile;
	_cleanup_(text_release) struct text name = {0};
	struct frame *frame = array_add(&reader->frames);
	const char *module = profile_get_string(profile, code->mapping.module_name);

	if (!frame)
		return -ENOMEM;
	code->reason = code->has_mapping ? UNNAMED_NO_SYMBOL : UNNAMED_NO_MAPPING;
	if (*module)
		text_printf(&name, module[0] == '[' ? "%s" : "[%s]", module);
	if (name.failed)
		return -ENOMEM;
	return profile_add_frame_name(profile, *module ? name.data : "", name.length, &frame->name);
}

/* Whether the address leads to a byte of a file or of the kernel. */
static bool has_file_address(const struct pprof_code *code)
{
	const struct pprof_source_mapping *mapping = &code->mapping;

	return code->has_mapping && mapping->filename.size &&
	       (mapping->kind == FRAME_USER || mapping->kind == FRAME_KERNEL) &&
	       code->address >= mapping->start && code->address < mapping->limit;
}

/*
 * Code without any attempt at symbolization: it can be symbolized with its file. has_functions
 * means that it was attempted; a path that is not absolute leads to no file.
 */
static bool is_to_be_named(const struct pprof_code *code)
{
	return has_file_address(code) && !code->mapping.has_functions &&
	       code->mapping.kind == FRAME_USER && code->mapping.filename.data[0] == '/';
}

/* num_dropped  the first lines, which are left out */
static int read_lines(struct pprof_reader *reader, struct pprof_code *code, struct bytes message,
		      uint32_t num_dropped)
{
	struct protobuf_field field;
	int err;

	reader->frames.length = 0;
	while (protobuf_next(&message, &field)) {
		if (field.number != LOCATION_LINE || field.type != PROTOBUF_BYTES)
			continue;
		if (num_dropped) {
			num_dropped--;
			continue;
		}
		if (reader->frames.length == MAX_LINES)
			return import_fail_byte(reader->import, code->offset,
						"a location with more than %d lines", MAX_LINES);
		err = add_frame(reader, code, field.body);
		if (err)
			return err;
	}
	if (!reader->frames.length && !is_to_be_named(code)) {
		err = add_unnamed_frame(reader, code);
		if (err)
			return err;
	}
	array_for_each (&reader->frames, frame) {
		if (!frame->full_name)
			frame->full_name = frame->name;
		frame->module = code->mapping.module_name;
		frame->kind = (uint8_t)code->mapping.kind;
		/* All but the last, the outermost, are inlined into the next. */
		frame->is_inlined = frame + 1 < reader->frames.items + reader->frames.length;
	}
	return 0;
}

/* The field is any string; a build ID as Linux has it is an even number of hexadecimal digits. */
static int read_build_id(struct bytes text, struct module *module)
{
	size_t size = text.size / 2;

	if (text.size % 2 || size > BUILD_ID_MAX_BYTES)
		return -EINVAL;
	for (size_t i = 0; i < text.size; i++) {
		uint32_t digit = hex_digit_value((char)text.data[i]);

		if (digit > 15)
			return -EINVAL;
		module->build_id[i / 2] = (uint8_t)(module->build_id[i / 2] << 4 | digit);
	}
	module->build_id_size = (uint8_t)size;
	return 0;
}

/* A build ID of another kind than Linux has is dropped, and the path alone identifies the file. */
static int add_module(struct pprof_reader *reader, const struct pprof_source_mapping *mapping,
		      uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	struct module module = {0};
	int err = add_string(reader, mapping->filename, &module.path);

	if (err)
		return err;
	if (read_build_id(mapping->build_id, &module))
		module = (struct module){.path = module.path}; /* not of the kind that Linux has */
	return reader_find_module(&reader->modules, profile, &module, ret);
}

/* A location by its address. -EEXIST when that has other frames. */
static int add_at_address(struct pprof_reader *reader, const struct pprof_code *code, uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	const struct location *location;
	uint32_t module;
	int err;

	if (code->mapping.kind == FRAME_KERNEL) {
		err = profile_add_location(profile, LOCATION_KERNEL, 0, code->address, ret);
	} else {
		err = add_module(reader, &code->mapping, &module);
		if (err)
			return err;
		err = profile_add_location(
			profile, LOCATION_FILE, module,
			/*
			 * Wraps around if a mapping contradicts itself, and is a number like any
			 * other then.
			 */
			code->address - code->mapping.start + code->mapping.file_offset, ret);
	}
	if (err)
		return err;
	location = profile_get_location(profile, *ret);
	if (!reader->frames.length)
		return 0;
	if (!location->num_frames)
		return profile_set_frames(profile, *ret, reader->frames.items,
					  reader->frames.length, code->reason);
	return reader_has_frames(profile, location, reader->frames.items, reader->frames.length)
		       ? 0
		       : -EEXIST;
}

/* A location by its frames alone. */
static int add_by_name(struct pprof_reader *reader, uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	int err;

	if (reader->frames.length == 1)
		return profile_add_frame_location(profile, reader->frames.items, ret);
	/* Several frames have no key that would find them again: the address is a fresh number. */
	err = profile_add_location(profile, LOCATION_NAMED, 0, profile_count_locations(profile),
				   ret);
	if (err)
		return err;
	return profile_set_frames(profile, *ret, reader->frames.items, reader->frames.length,
				  UNNAMED_NOT);
}

static int read_location(struct pprof_reader *reader, uint32_t place, uint32_t *ret)
{
	struct pprof_code code = {.offset = reader->index.locations.offsets[place]};
	struct bytes message = pprof_index_get_field(&reader->index, code.offset).body;
	struct bytes rest = message;
	struct protobuf_field field;
	uint64_t mapping_id = 0;
	int err;

	while (protobuf_next(&rest, &field)) {
		if (field.type == PROTOBUF_VARINT && field.number == LOCATION_MAPPING)
			mapping_id = field.value;
		else if (field.type == PROTOBUF_VARINT && field.number == LOCATION_ADDRESS)
			code.address = field.value;
	}
	if (rest.failed)
		return import_fail_byte(reader->import, code.offset, "a broken location");
	code.has_mapping = mapping_id != 0;
	if (mapping_id) {
		err = read_mapping(reader, mapping_id, code.offset, &code.mapping);
		if (err)
			return err;
	}
	err = read_lines(reader, &code, message, pprof_reader_count_pruned_lines(reader, place));
	if (err)
		return err;
	if (has_file_address(&code)) {
		err = add_at_address(reader, &code, ret);
		if (err != -EEXIST)
			return err;
	}
	return add_by_name(reader, ret);
}

int pprof_reader_prepare_code(struct pprof_reader *reader)
{
	reader->location_ids =
		calloc((size_t)reader->index.locations.count + 1, sizeof(*reader->location_ids));
	reader->names = calloc((size_t)reader->index.functions.count + 1, sizeof(*reader->names));
	if (!reader->location_ids || !reader->names)
		return -ENOMEM;
	return 0;
}

void pprof_reader_release_code(struct pprof_reader *reader)
{
	free(reader->location_ids);
	free(reader->names);
	hash_index_release(&reader->modules);
	array_release(&reader->frames);
}

int pprof_reader_add_location(struct pprof_reader *reader, uint64_t id, size_t offset,
			      uint32_t *ret)
{
	uint32_t place;
	int err;

	if (!pprof_table_find(&reader->index.locations, id, &place))
		return import_fail_byte(reader->import, offset, "no location %llu",
					(unsigned long long)id);
	if (!reader->location_ids[place]) {
		err = read_location(reader, place, ret);
		if (err)
			return err;
		reader->location_ids[place] = *ret + 1;
	}
	*ret = reader->location_ids[place] - 1;
	return 0;
}
