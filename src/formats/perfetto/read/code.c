/*
 * Reading Perfetto traces: mappings, frames and stacks, which are interned (see read/interned.c).
 *
 * A profile has locations, each a code address with the frames of its inlined calls; a trace has
 * one frame for each call, inlined or not. So consecutive frames of one mapping and address are
 * put together again (find_group()).
 *
 *	our own traces       the address becomes the location's, so that a trace read and written
 *	                     again stays the same: a file offset, as in older traces; newer
 *	                     ones have the ELF address and the mapping's load bias
 *	named by others      the address is lost: locations of the same names are one
 *	unsymbolized         the ELF address is kept: symbolization is possible later, with the file
 *
 * Names that `traceconv symbolize` appended to the trace win over those of the producer.
 */
#include "formats/perfetto/read/code.h"

#include <errno.h>
#include <string.h>

#include "formats/reader.h"

/* Limit of the parts of a path; more are of no use. */
#define MAX_PATH_PARTS 64

/* ---- mappings and frames ------------------------------------------------------------------ */

/* A path may be interned in parts, each of them between slashes. */
static void append_path_part(struct perfetto_code *code, const struct perfetto_interned *interned,
			     uint64_t iid, uint32_t *num_parts)
{
	const struct profile *profile = code->trace->import->profile;
	uint32_t part = perfetto_interned_find(interned, PERFETTO_INTERNED_PATH, iid);

	if (part == PERFETTO_NONE || *num_parts == MAX_PATH_PARTS)
		return;
	if ((*num_parts)++)
		text_append_char(&code->text, '/');
	text_append(&code->text, profile_get_string(profile, part),
		    profile_get_string_length(profile, part));
}

static int add_absolute_path(struct perfetto_code *code, uint32_t *ret)
{
	_cleanup_(text_release) struct text path = {0};

	text_append_char(&path, '/');
	text_append(&path, code->text.data, code->text.length);
	return path.failed ? -ENOMEM
			   : perfetto_add_profile_string(code->trace,
							 bytes_of(path.data, path.length), ret);
}

int perfetto_code_read_mapping(struct perfetto_code *code, struct perfetto_interned *interned,
			       struct bytes message)
{
	struct perfetto_mapping *mapping = array_add(&interned->mappings);
	struct protobuf_field field;
	uint32_t num_parts = 0;
	uint64_t iid = 0;
	uint32_t string;
	int err;

	if (!mapping)
		return -ENOMEM;
	text_truncate(&code->text, 0);
	while (protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT) {
			iid = field.value;
		} else if (field.number == 2 && field.type == PROTOBUF_VARINT) {
			string = perfetto_interned_find(interned, PERFETTO_INTERNED_BUILD_ID,
							field.value);
			mapping->build_id = string == PERFETTO_NONE ? STRING_EMPTY : string;
		} else if (field.number == 6 && field.type == PROTOBUF_VARINT) {
			mapping->load_bias = field.value;
			mapping->has_load_bias = true;
		} else if (field.number == 7 && field.type == PROTOBUF_VARINT) {
			append_path_part(code, interned, field.value, &num_parts);
		} else if (field.number == 7 && field.type == PROTOBUF_BYTES) {
			while (bytes_left(&field.body))
				append_path_part(code, interned, protobuf_read_varint(&field.body),
						 &num_parts);
		}
	}
	if (code->text.failed)
		return -ENOMEM;
	/* The parts of an absolute path. A path in one part is as it is: "[vdso]". */
	if (num_parts > 1 && code->text.data[0] != '/')
		err = add_absolute_path(code, &mapping->path);
	else
		err = perfetto_add_profile_string(
			code->trace, bytes_of(code->text.data, code->text.length), &mapping->path);
	if (err)
		return err;
	return perfetto_interned_put(interned, PERFETTO_INTERNED_MAPPING, iid,
				     (uint32_t)(interned->mappings.length - 1));
}

static bool is_in_brackets(const char *path, const char *prefix)
{
	path += path[0] == '/' && path[1] == '['; /* as the trace processor shows them */
	return string_starts_with(path, prefix);
}

static int find_module(struct perfetto_code *code, const struct perfetto_interned *interned,
		       uint32_t mapping, struct frame *frame)
{
	struct profile *profile = code->trace->import->profile;
	const char *path;

	if (mapping == PERFETTO_NONE)
		return 0;
	path = profile_get_string(profile, interned->mappings.items[mapping].path);
	if (is_in_brackets(path, "[kernel") || string_equals(path, "kernel")) {
		frame->kind = FRAME_KERNEL;
		path = KERNEL_MODULE;
	}
	return profile_add_string(profile, path_get_module(path), &frame->module);
}

/* Our own names as they were, unless they would break a line. */
static int add_name(struct perfetto_code *code, uint32_t string, bool is_ours, uint32_t *ret)
{
	struct profile *profile = code->trace->import->profile;
	const char *name = profile_get_string(profile, string);
	size_t length = profile_get_string_length(profile, string);

	*ret = string;
	if (is_ours && !memchr(name, ';', length) && !memchr(name, '\n', length))
		return 0;
	return profile_add_frame_name(profile, name, length, ret);
}

/* Unsymbolized code is named by its module and address. */
static int add_unnamed(struct perfetto_code *code, const struct perfetto_frame *frame,
		       uint32_t *ret)
{
	struct profile *profile = code->trace->import->profile;
	const char *module = profile_get_string(profile, frame->frame.module);

	text_truncate(&code->text, 0);
	if (frame->has_address && module[0])
		text_printf(&code->text, "%s+0x%llx", module, (unsigned long long)frame->address);
	if (code->text.failed)
		return -ENOMEM;
	return profile_add_frame_name(profile, code->text.data ? code->text.data : "",
				      code->text.length, ret);
}

/* A frame as in the trace: numbers that refer to other items. */
struct frame_fields {
	uint64_t iid;
	uint64_t function;
	uint64_t short_name;
	uint64_t mapping;
	uint64_t file;
};

static void read_frame_fields(struct bytes message, struct frame_fields *fields,
			      struct perfetto_frame *frame)
{
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		if (field.type != PROTOBUF_VARINT)
			continue;
		switch (field.number) {
		case 1:
			fields->iid = field.value;
			break;
		case 2:
			fields->function = field.value;
			break;
		case 3:
			fields->mapping = field.value;
			break;
		case 4:
			frame->address = field.value;
			frame->has_address = true;
			break;
		case 5:
			fields->file = field.value;
			break;
		case 6:
			frame->frame.line = (uint32_t)field.value;
			break;
		case 7:
			frame->frame.kind = frame_kind_find_perfetto(field.value);
			break;
		case 1000:
			fields->short_name = field.value;
			break;
		case 1001:
			frame->frame.is_inlined = field.value != 0;
			break;
		case 1002:
			frame->is_elf_address = field.value != 0;
			break;
		case 1003:
			if (field.value < NUM_FRAME_KINDS)
				frame->frame.kind = (uint8_t)field.value;
			break;
		}
	}
}

/* An empty name may mean that the producer found no symbol. */
static bool has_no_name(const struct perfetto_code *code, uint32_t function)
{
	return function == PERFETTO_NONE ||
	       !profile_get_string_length(code->trace->import->profile, function);
}

/* Whether its address is in a file, which can be looked into. */
static bool is_in_file(const struct perfetto_interned *interned, const struct perfetto_frame *frame)
{
	return frame->has_address && frame->mapping != PERFETTO_NONE &&
	       frame->frame.kind == FRAME_USER &&
	       interned->mappings.items[frame->mapping].path != STRING_EMPTY;
}

int perfetto_code_read_frame(struct perfetto_code *code, const struct perfetto_sequence *sequence,
			     struct bytes message)
{
	struct perfetto_interned *interned = sequence->interned;
	struct perfetto_frame *frame = array_add(&interned->frames);
	struct frame_fields fields = {0};
	uint32_t function, short_name, file;
	int err;

	if (!frame)
		return -ENOMEM;
	read_frame_fields(message, &fields, frame);
	frame->mapping =
		perfetto_interned_find(interned, PERFETTO_INTERNED_MAPPING, fields.mapping);
	function = perfetto_interned_find(interned, PERFETTO_INTERNED_FUNCTION, fields.function);
	short_name = fields.short_name
			     ? perfetto_interned_find(interned, PERFETTO_INTERNED_FUNCTION,
						      fields.short_name)
			     : perfetto_interned_find(interned, PERFETTO_INTERNED_SHORT_NAME,
						      fields.function);
	file = perfetto_interned_find(interned, PERFETTO_INTERNED_SOURCE_PATH, fields.file);
	frame->frame.file = file == PERFETTO_NONE ? STRING_EMPTY : file;
	err = find_module(code, interned, frame->mapping, &frame->frame);
	if (err)
		return err;
	if (has_no_name(code, function)) {
		function = PERFETTO_NONE;
		frame->is_unsymbolized = !sequence->is_ours && is_in_file(interned, frame);
		err = add_unnamed(code, frame, &frame->frame.name);
	} else {
		err = add_name(code, short_name == PERFETTO_NONE ? function : short_name,
			       sequence->is_ours, &frame->frame.name);
	}
	if (err)
		return err;
	frame->frame.full_name = function == PERFETTO_NONE ? frame->frame.name : function;
	return perfetto_interned_put(interned, PERFETTO_INTERNED_FRAME, fields.iid,
				     (uint32_t)(interned->frames.length - 1));
}

/* ---- stacks ------------------------------------------------------------------------------- */

static int add_module(struct perfetto_code *code, const struct perfetto_mapping *mapping,
		      uint32_t *ret)
{
	struct profile *profile = code->trace->import->profile;
	struct module module = {.path = mapping->path};
	size_t size = profile_get_string_length(profile, mapping->build_id);

	if (size <= BUILD_ID_MAX_BYTES) {
		module.build_id_size = (uint8_t)size;
		memcpy(module.build_id, profile_get_string(profile, mapping->build_id), size);
	}
	return reader_find_module(&code->modules, profile, &module, ret);
}

static int add_address(struct perfetto_code *code, const struct perfetto_interned *interned,
		       const struct perfetto_frame *frame, enum location_space space, uint32_t *ret)
{
	const struct perfetto_mapping *mapping = &interned->mappings.items[frame->mapping];
	struct profile *profile = code->trace->import->profile;
	bool has_elf_address = space == LOCATION_FILE && mapping->has_load_bias;
	uint64_t address = frame->address;
	uint32_t module = 0;
	int err = 0;

	if (space != LOCATION_KERNEL)
		err = add_module(code, mapping, &module);
	if (err)
		return err;
	if (has_elf_address)
		address -= mapping->load_bias;
	err = profile_add_location(profile, space, module, address, ret);
	if (!err && has_elf_address)
		profile_set_elf_address(profile, *ret, frame->address);
	return err;
}

/* The location of code->frames by its address. -EEXIST when that has other frames. */
static int add_at_address(struct perfetto_code *code, const struct perfetto_interned *interned,
			  const struct perfetto_frame *frame, uint32_t *ret)
{
	struct profile *profile = code->trace->import->profile;
	const struct location *location;
	int err = add_address(code, interned, frame,
			      frame->frame.kind == FRAME_KERNEL ? LOCATION_KERNEL
			      : frame->is_elf_address           ? LOCATION_ELF
								: LOCATION_FILE,
			      ret);

	if (err)
		return err;
	location = profile_get_location(profile, *ret);
	if (location->num_frames)
		return reader_has_frames(code->trace->import->profile, location, code->frames.items,
					 code->frames.length)
			       ? 0
			       : -EEXIST;
	return profile_set_frames(profile, *ret, code->frames.items, code->frames.length,
				  UNNAMED_NOT);
}

/* Each of code->frames as a level of its own. */
static int add_by_name(struct perfetto_code *code, uint32_t *stack)
{
	struct profile *profile = code->trace->import->profile;

	for (size_t i = code->frames.length; i-- > 0;) {
		int err = profile_extend_stack(profile, &code->frames.items[i], stack);

		if (err)
			return err;
	}
	return 0;
}

static const struct perfetto_frame *get_frame(const struct perfetto_code *code,
					      const struct perfetto_interned *interned,
					      size_t level)
{
	return &interned->frames.items[code->stack.items[level]];
}

/*
 * The number of frames from this level on with the same address: a function and its inlined calls.
 * The same frame again is a call of its own.
 */
static size_t find_group(const struct perfetto_code *code, const struct perfetto_interned *interned,
			 size_t first)
{
	const struct perfetto_frame *outer = get_frame(code, interned, first);
	size_t end = first + 1;

	if (!outer->has_address || !outer->address || outer->mapping == PERFETTO_NONE ||
	    outer->is_unsymbolized)
		return 1;
	for (; end < code->stack.length; end++) {
		const struct perfetto_frame *inner = get_frame(code, interned, end);

		if (inner->mapping != outer->mapping || inner->address != outer->address ||
		    !inner->has_address || inner->is_unsymbolized || inner == outer)
			break;
		if (inner == get_frame(code, interned, end - 1))
			break;
	}
	return end - first;
}

/* Fill code->frames from the appended symbols, or return -ENOENT. */
static int add_symbol(struct perfetto_code *code, const struct perfetto_interned *interned,
		      const struct perfetto_frame *frame)
{
	size_t count = 0;
	const struct frame *lines = perfetto_symbols_find(
		code->symbols, &interned->mappings.items[frame->mapping], frame->address, &count);

	if (!lines)
		return -ENOENT;
	code->frames.length = 0;
	for (size_t i = 0; i < count; i++) {
		struct frame *added = array_add(&code->frames);

		if (!added)
			return -ENOMEM;
		*added = lines[i];
		added->module = frame->frame.module;
		added->kind = frame->frame.kind;
		added->is_inlined = i + 1 < count;
	}
	return 0;
}

/* Fill code->frames as the producer named them: one for each level. */
static int add_emitted_names(struct perfetto_code *code, const struct perfetto_sequence *sequence,
			     size_t first, size_t count)
{
	code->frames.length = 0;
	for (size_t i = count; i-- > 0;) {
		struct frame *added = array_add(&code->frames);

		if (!added)
			return -ENOMEM;
		*added = get_frame(code, sequence->interned, first + i)->frame;
		added->is_inlined |= i > 0;
	}
	return 0;
}

static int add_group(struct perfetto_code *code, const struct perfetto_sequence *sequence,
		     size_t first, size_t count, uint32_t *stack)
{
	struct perfetto_interned *interned = sequence->interned;
	const struct perfetto_frame *outer = get_frame(code, interned, first);
	bool is_at_address = sequence->is_ours && outer->has_address &&
			     outer->mapping != PERFETTO_NONE && outer->frame.kind != FRAME_JIT;
	uint32_t location;
	int err = -ENOENT;

	if (!sequence->is_ours && is_in_file(interned, outer))
		err = add_symbol(code, interned, outer);
	if (err == -ENOENT && outer->is_unsymbolized) {
		err = add_address(code, interned, outer, LOCATION_ELF, &location);
		if (err)
			return err;
		return profile_add_stack(code->trace->import->profile, *stack, location, stack);
	}
	if (err == -ENOENT)
		err = add_emitted_names(code, sequence, first, count);
	if (err)
		return err;
	if (!is_at_address)
		return add_by_name(code, stack);
	err = add_at_address(code, interned, outer, &location);
	if (err == -EEXIST)
		return add_by_name(code, stack);
	if (err)
		return err;
	return profile_add_stack(code->trace->import->profile, *stack, location, stack);
}

static int add_level(struct perfetto_code *code, struct perfetto_interned *interned, uint64_t iid)
{
	uint32_t frame = perfetto_interned_find(interned, PERFETTO_INTERNED_FRAME, iid);
	uint32_t *added = array_add(&code->stack);

	if (!added)
		return -ENOMEM;
	if (frame == PERFETTO_NONE) { /* never interned: a frame without a name */
		struct perfetto_frame *unknown = array_add(&interned->frames);

		if (!unknown)
			return -ENOMEM;
		unknown->mapping = PERFETTO_NONE;
		frame = (uint32_t)(interned->frames.length - 1);
		if (profile_add_frame_name(code->trace->import->profile, "", 0,
					   &unknown->frame.name) ||
		    perfetto_interned_put(interned, PERFETTO_INTERNED_FRAME, iid, frame))
			return -ENOMEM;
		unknown->frame.full_name = unknown->frame.name;
	}
	*added = frame;
	return 0;
}

static int read_named_frame(struct perfetto_code *code, struct bytes message, struct frame *ret)
{
	struct profile *profile = code->trace->import->profile;
	struct bytes name = bytes_of("", 0);
	struct protobuf_field field;
	int err = 0;

	*ret = (struct frame){.kind = FRAME_USER};
	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_BYTES)
			name = field.body;
		else if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_profile_string(code->trace, field.body, &ret->file);
		else if (field.number == 3 && field.type == PROTOBUF_VARINT)
			ret->line = (uint32_t)field.value;
	}
	if (err)
		return err;
	err = perfetto_add_profile_string(code->trace, name, &ret->full_name);
	if (err)
		return err;
	return profile_add_frame_name(profile, name.size ? (const char *)name.data : "", name.size,
				      &ret->name);
}

int perfetto_code_read_named_stack(struct perfetto_code *code, struct bytes message, uint32_t *ret)
{
	struct profile *profile = code->trace->import->profile;
	uint32_t stack = STACK_EMPTY;
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		struct frame frame;
		int err;

		if (field.number != 1 || field.type != PROTOBUF_BYTES)
			continue;
		err = read_named_frame(code, field.body, &frame);
		if (err)
			return err;
		err = profile_extend_stack(profile, &frame, &stack);
		if (err)
			return err;
	}
	*ret = stack;
	return 0;
}

int perfetto_code_read_callstack(struct perfetto_code *code,
				 const struct perfetto_sequence *sequence, struct bytes message)
{
	uint32_t stack = STACK_EMPTY;
	struct protobuf_field field;
	uint64_t iid = 0;
	int err;

	code->stack.length = 0;
	while (protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT) {
			iid = field.value;
		} else if (field.number == 2 && field.type == PROTOBUF_VARINT) {
			err = add_level(code, sequence->interned, field.value);
			if (err)
				return err;
		} else if (field.number == 2 && field.type == PROTOBUF_BYTES) {
			while (bytes_left(&field.body)) {
				err = add_level(code, sequence->interned,
						protobuf_read_varint(&field.body));
				if (err)
					return err;
			}
		}
	}
	for (size_t i = 0; i < code->stack.length;) {
		size_t count = find_group(code, sequence->interned, i);

		err = add_group(code, sequence, i, count, &stack);
		i += count;
		if (err)
			return err;
	}
	return perfetto_interned_put(sequence->interned, PERFETTO_INTERNED_CALLSTACK, iid, stack);
}

void perfetto_code_release(struct perfetto_code *code)
{
	hash_index_release(&code->modules);
	array_release(&code->stack);
	array_release(&code->frames);
	text_release(&code->text);
}
