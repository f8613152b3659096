/*
 * Writing pprof's profile format: mappings, locations and functions. See write.c.
 *
 * Our addresses are relative to a file, pprof's to a process. Each file therefore becomes a mapping
 * of the whole file, from its first byte to behind its last needed address. These are laid out one
 * behind the other in a synthetic address space. Kernel addresses are absolute and stay.
 *
 *	0x1000 |-- a.out --| |-- libc.so.6 --| …   0xffffffff81000000 |-- [kernel] --|
 */
#include <errno.h>
#include <string.h>

#include <pprof.pb-c.h>

#include "formats/pprof/pprof.h"
#include "formats/pprof/write.h"
#include "formats/protobuf_writer.h"

#define PAGE_BYTES 4096u

/* "[kernel]" alone, or with the module that the frame names: see pprof.h. */
static void append_type(struct text *text, const char *type, const char *module)
{
	size_t length = strlen(type);

	if (module[0] == '[' && !strncmp(module + 1, type, length) &&
	    string_equals(module + 1 + length, "]"))
		text_append_string(text, module);
	else
		text_printf(text, "[%s:%s]", type, module);
}

/*
 * File name and build ID of a location's mapping; the name is empty when it has none. The outermost
 * frame of a location names the function whose code it is; the others were inlined into it, and may
 * be of other kinds.
 */
static void describe_mapping(const struct profile *profile, const struct location *location,
			     struct text *name, struct text *build_id)
{
	const struct frame *frame = NULL;
	const char *frame_module = "";

	text_append_string(name, "");
	text_append_string(build_id, "");
	if (location->num_frames) {
		frame = profile_get_frame(profile,
					  location->first_frame + location->num_frames - 1);
		frame_module = profile_get_string(profile, frame->module);
	}
	if (frame && frame->kind != FRAME_USER) {
		append_type(name, frame_kinds[frame->kind].type, frame_module);
	} else if (location_is_in_module(location) &&
		   location->owner < profile_count_modules(profile)) {
		const struct module *module = profile_get_module(profile, location->owner);

		text_append_string(name, profile_get_string(profile, module->path));
		for (size_t i = 0; i < module->build_id_size; i++)
			text_printf(build_id, "%02x", module->build_id[i]);
	} else {
		text_append_string(name, frame_module);
	}
}

/*
 * *ret is the mapping's id, or 0: code without a file's name has none. Files are distinguished by
 * name and build ID, not by our module: code with a type (profile/frame_kind.h) has none.
 */
static int add_mapping(struct pprof_writer *writer, const struct text *name,
		       const struct text *build_id, uint32_t *ret)
{
	struct pprof_mapping mapping = {.low = UINT64_MAX};
	uint32_t index;
	int err = pprof_writer_add_string(writer, name->data, name->length, &mapping.filename);

	if (err)
		return err;
	err = pprof_writer_add_string(writer, build_id->data, build_id->length, &mapping.build_id);
	if (err)
		return err;
	*ret = 0;
	if (mapping.filename == STRING_EMPTY)
		return 0;
	err = pprof_mappings_intern(&writer->mappings, &mapping, &index);
	if (err)
		return err;
	*ret = index + 1;
	return 0;
}

/* ELF addresses do not count: readers take addresses for file offsets plus the mapping's start. */
static bool has_address(const struct location *location)
{
	return location->space == LOCATION_FILE || location->space == LOCATION_KERNEL;
}

/* The mapping of a location. */
static int find_mapping(struct pprof_writer *writer, const struct location *location, uint32_t *ret)
{
	_cleanup_(text_release) struct text name = {0};
	_cleanup_(text_release) struct text build_id = {0};

	describe_mapping(writer->profile, location, &name, &build_id);
	if (name.failed || build_id.failed)
		return -ENOMEM;
	return add_mapping(writer, &name, &build_id, ret);
}

/* Our location that a chain ends with, outermost. */
static const struct location *get_outermost(const struct pprof_writer *writer, uint32_t chain)
{
	return profile_get_location(writer->profile, stack_table_get_level(writer->chains, chain));
}

/* Find all mappings, and how far each reaches. mapping_ids: by chain, to be filled */
static int list_mappings(struct pprof_writer *writer, uint32_t *mapping_ids)
{
	for (uint32_t chain = 1; chain < writer->is_location.length; chain++) {
		const struct location *location;
		struct pprof_mapping *mapping;
		int err;

		if (!writer->is_location.items[chain])
			continue;
		location = get_outermost(writer, chain);
		err = find_mapping(writer, location, &mapping_ids[chain]);
		if (err)
			return err;
		if (!mapping_ids[chain] || !has_address(location))
			continue;
		mapping = &writer->mappings.items[mapping_ids[chain] - 1];
		mapping->is_file = location->space == LOCATION_FILE;
		if (location->address < mapping->low)
			mapping->low = location->address;
		if (location->address > mapping->high)
			mapping->high = location->address;
	}
	return 0;
}

/*
 * Lay the files out one behind the other; files that do not fit have no addresses. The first page
 * stays free, so that no address is 0, which means "unknown". The kernel's mapping starts at its
 * lowest needed address.
 */
static void assign_address(struct pprof_mapping *mapping, uint64_t *next_start)
{
	uint64_t start = mapping->is_file ? *next_start : 0;
	uint64_t limit;

	if (mapping->low > mapping->high || __builtin_add_overflow(start, mapping->high, &limit) ||
	    __builtin_add_overflow(limit, PAGE_BYTES, &limit))
		return;
	mapping->limit = limit / PAGE_BYTES * PAGE_BYTES;
	mapping->start = mapping->is_file ? start : mapping->low / PAGE_BYTES * PAGE_BYTES;
	if (mapping->is_file)
		*next_start = mapping->limit;
}

static int write_mappings(struct pprof_writer *writer)
{
	uint64_t next_start = PAGE_BYTES;

	for (uint32_t i = 0; i < writer->mappings.length; i++) {
		struct pprof_mapping *mapping = &writer->mappings.items[i];
		Pprof__Mapping message = PPROF__MAPPING__INIT;
		int err;

		assign_address(mapping, &next_start);
		message.id = i + 1;
		message.memory_start = mapping->start;
		message.memory_limit = mapping->limit;
		message.filename = mapping->filename;
		message.build_id = mapping->build_id;
		/*
		 * Otherwise pprof would look for the files and symbolize again, with the files of
		 * its own machine.
		 */
		message.has_functions = message.has_filenames = true;
		message.has_line_numbers = message.has_inline_frames = true;
		err = pprof_writer_put(writer, PPROF_FIELD_MAPPING, &message.base);
		if (err)
			return err;
	}
	return 0;
}

static int add_function(struct pprof_writer *writer, const struct frame *frame, uint32_t *ret)
{
	struct pprof_function function;
	uint32_t full_name = frame->full_name ? frame->full_name : frame->name;
	uint32_t index;
	int err = pprof_writer_copy_string(writer, full_name, &function.name);

	if (err)
		return err;
	err = pprof_writer_copy_string(writer, frame->name, &function.system_name);
	if (err)
		return err;
	err = pprof_writer_copy_string(writer, frame->file, &function.filename);
	if (err)
		return err;
	err = pprof_functions_intern(&writer->functions, &function, &index);
	if (err)
		return err;
	*ret = index + 1;
	return 0;
}

static int write_line(struct pprof_writer *writer, uint32_t frame_id)
{
	const struct frame *frame = profile_get_frame(writer->profile, frame_id);
	uint32_t function;
	size_t mark;
	int err = add_function(writer, frame, &function);

	if (err)
		return err;
	mark = protobuf_start(&writer->output, PPROF_LOCATION_LINE);
	protobuf_put_nonzero(&writer->output, PPROF_LINE_FUNCTION, function);
	protobuf_put_nonzero(&writer->output, PPROF_LINE_LINE, frame->line);
	protobuf_end(&writer->output, mark);
	return 0;
}

/* The lines of a chain, innermost first. Recursive, but no deeper than MAX_CHAIN. */
static int write_lines(struct pprof_writer *writer, uint32_t chain)
{
	const struct location *location = get_outermost(writer, chain);
	uint32_t inner = stack_table_get_parent(writer->chains, chain);
	int err;

	if (inner != STACK_EMPTY) {
		err = write_lines(writer, inner);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < location->num_frames; i++) {
		err = write_line(writer, location->first_frame + i);
		if (err)
			return err;
	}
	return 0;
}

static int write_location(struct pprof_writer *writer, uint32_t chain, uint32_t mapping_id)
{
	const struct location *location = get_outermost(writer, chain);
	const struct pprof_mapping *mapping =
		mapping_id ? &writer->mappings.items[mapping_id - 1] : NULL;
	struct text *output = &writer->output;
	size_t mark = protobuf_start(output, PPROF_FIELD_LOCATION);
	int err;

	protobuf_put_nonzero(output, PPROF_LOCATION_ID, chain);
	protobuf_put_nonzero(output, PPROF_LOCATION_MAPPING, mapping_id);
	if (has_address(location) && mapping && mapping->limit)
		protobuf_put_nonzero(output, PPROF_LOCATION_ADDRESS,
				     location->address + (location->space == LOCATION_FILE
								  ? mapping->start
								  : 0));
	err = write_lines(writer, chain);
	if (err)
		return err;
	protobuf_end(output, mark);
	return sink_drain(writer->sink, output);
}

static int write_locations(struct pprof_writer *writer)
{
	size_t count = writer->is_location.length;
	_cleanup_free_ uint32_t *mapping_ids = calloc(count + 1, sizeof(*mapping_ids));
	int err;

	if (!mapping_ids)
		return -ENOMEM;
	err = list_mappings(writer, mapping_ids);
	if (err)
		return err;
	err = write_mappings(writer);
	if (err)
		return err;
	for (uint32_t chain = 1; chain < count; chain++) {
		if (!writer->is_location.items[chain])
			continue;
		err = write_location(writer, chain, mapping_ids[chain]);
		if (err)
			return err;
	}
	return 0;
}

static int write_functions(struct pprof_writer *writer)
{
	for (uint32_t i = 0; i < writer->functions.length; i++) {
		const struct pprof_function *function = &writer->functions.items[i];
		Pprof__Function message = PPROF__FUNCTION__INIT;
		int err;

		message.id = i + 1;
		message.name = function->name;
		message.system_name = function->system_name;
		message.filename = function->filename;
		err = pprof_writer_put(writer, PPROF_FIELD_FUNCTION, &message.base);
		if (err)
			return err;
	}
	return 0;
}

int pprof_writer_put_code(struct pprof_writer *writer)
{
	int err = write_locations(writer);

	if (err)
		return err;
	return write_functions(writer);
}
