/* Mappings and stacks of gperftools' profiles: see read.c. */
#include "formats/gperftools/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/reader.h"

#define HIDDEN_RUNTIME "[Go runtime]"

uint64_t gperftools_take_hex(struct slice *text, size_t *digits)
{
	uint64_t value = 0;

	if (slice_starts_with(*text, "0x"))
		*text = (struct slice){text->start + 2, text->length - 2};
	for (*digits = 0;
	     *digits < text->length && *digits < 16 && is_hex_digit(text->start[*digits]);
	     ++*digits) {
		char c = text->start[*digits];

		value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	*text = (struct slice){text->start + *digits, text->length - *digits};
	return value;
}

static bool take_char(struct slice *text, char c)
{
	if (!text->length || text->start[0] != c)
		return false;
	*text = (struct slice){text->start + 1, text->length - 1};
	return true;
}

static struct slice take_word(struct slice *text)
{
	struct slice word = *text = slice_trim(*text);

	word.length = 0;
	while (word.length < text->length && !is_blank_char(text->start[word.length]))
		word.length++;
	*text = (struct slice){text->start + word.length, text->length - word.length};
	return word;
}

/* A line of /proc/PID/maps with code of a file. */
static bool parse_mapping(struct slice line, struct gperftools_mapping *ret, struct slice *ret_path)
{
	struct slice rest = slice_trim(line);
	size_t start_digits, end_digits, offset_digits;
	struct slice permissions, offset;

	ret->start = gperftools_take_hex(&rest, &start_digits);
	if (!start_digits || !take_char(&rest, '-'))
		return false;
	ret->end = gperftools_take_hex(&rest, &end_digits);
	permissions = take_word(&rest);
	if (!end_digits || permissions.length != 4 || permissions.start[2] != 'x')
		return false;
	offset = take_word(&rest);
	ret->offset = gperftools_take_hex(&offset, &offset_digits);
	take_word(&rest); /* device */
	take_word(&rest); /* inode */
	*ret_path = slice_trim(rest);
	return offset_digits && ret_path->length && ret_path->start[0] == '/' &&
	       ret->start < ret->end;
}

static int add_mapping(struct gperftools_reader *reader, struct gperftools_mapping mapping,
		       struct slice path)
{
	struct profile *profile = reader->import->profile;
	struct gperftools_mapping *added = array_add(&reader->mappings);
	struct module module = {0};
	int err;

	if (!added)
		return -ENOMEM;
	*added = mapping;
	err = string_table_add(profile_get_strings(profile), path.start, path.length, &module.path);
	return err ? err : reader_find_module(&reader->modules, profile, &module, &added->module);
}

static int compare_mappings(const void *left, const void *right)
{
	const struct gperftools_mapping *a = left;
	const struct gperftools_mapping *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

int gperftools_read_mappings(struct gperftools_reader *reader, struct slice text)
{
	struct lines lines = lines_of(text.start, text.length);
	struct slice line;

	while (lines_take(&lines, &line)) {
		struct gperftools_mapping mapping = {0};
		struct slice path;
		int err;

		if (!parse_mapping(line, &mapping, &path))
			continue;
		err = add_mapping(reader, mapping, path);
		if (err)
			return err;
	}
	if (reader->mappings.length)
		qsort(reader->mappings.items, reader->mappings.length,
		      sizeof(*reader->mappings.items), compare_mappings);
	return 0;
}

static const struct gperftools_mapping *find_mapping(const struct gperftools_reader *reader,
						     uint64_t address)
{
	size_t low = 0;
	size_t high = reader->mappings.length;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reader->mappings.items[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == reader->mappings.length || address < reader->mappings.items[low].start)
		return NULL;
	return &reader->mappings.items[low];
}

static int add_address(struct gperftools_reader *reader, uint64_t address, uint32_t *ret)
{
	const struct gperftools_mapping *mapping = find_mapping(reader, address);
	struct profile *profile = reader->import->profile;

	if (address >> 63)
		return profile_add_location(profile, LOCATION_KERNEL, reader->import->source,
					    address, ret);
	if (!mapping)
		return profile_add_location(profile, LOCATION_PROCESS,
					    profile_get_thread(profile, reader->thread)->process,
					    address, ret);
	return profile_add_location(profile, LOCATION_FILE, mapping->module,
				    address - mapping->start + mapping->offset, ret);
}

static int add_named_frame(struct gperftools_reader *reader, const struct gperftools_name *name,
			   bool is_inlined, uint32_t *stack)
{
	struct profile *profile = reader->import->profile;
	struct frame frame = {.line = name->line, .is_inlined = is_inlined};
	int err = profile_add_frame_name(profile, name->function.start, name->function.length,
					 &frame.name);

	if (err)
		return err;
	frame.full_name = frame.name;
	if (name->file.length)
		err = string_table_add(profile_get_strings(profile), name->file.start,
				       name->file.length, &frame.file);
	if (err)
		return err;
	return profile_extend_stack(profile, &frame, stack);
}

/* Names are printed with the address of the call: that of the stack, or the one before. */
static bool is_named(const struct gperftools_name *name, uint64_t address)
{
	return name->address == address || name->address + 1 == address;
}

/*
 * Names of one address are calls that were inlined there, innermost first. *next_name counts down, as
 * stacks are added from the outermost frame on. An address without a name is looked up in its file; of the frames
 * of a stack Go leaves out those of its runtime alone.
 */
static int add_frame(struct gperftools_reader *reader, uint64_t address, uint64_t code,
		     size_t *next_name, uint32_t *stack)
{
	static const struct gperftools_name hidden = {
		.function = {HIDDEN_RUNTIME, sizeof(HIDDEN_RUNTIME) - 1}};
	struct profile *profile = reader->import->profile;
	const struct gperftools_name *names = reader->names.items;
	size_t end = *next_name;
	size_t start = end;
	uint32_t location;
	int err;

	while (start > 0 && is_named(&names[start - 1], address))
		start--;
	*next_name = start;
	for (size_t i = end; i-- > start;) {
		err = add_named_frame(reader, &names[i], i + 1 < end, stack);
		if (err)
			return err;
	}
	if (start < end)
		return 0;
	if (reader->names.length && !find_mapping(reader, code))
		return add_named_frame(reader, &hidden, false, stack);
	err = add_address(reader, code, &location);
	return err ? err : profile_add_stack(profile, *stack, location, stack);
}

int gperftools_add_stack(struct gperftools_reader *reader, bool is_leaf_exact, uint32_t *ret)
{
	size_t next_name = reader->names.length;

	*ret = STACK_EMPTY;
	for (size_t i = reader->addresses.length; i-- > 0;) {
		uint64_t address = reader->addresses.items[i];
		bool is_exact = !address || (!i && is_leaf_exact);
		int err = add_frame(reader, address, address - !is_exact, &next_name, ret);

		if (err)
			return err;
	}
	return 0;
}
