#include "objfile/usdt.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"
#include "objfile/architecture.h"

#define NOTE_TYPE 3
#define NOTE_NAME "stapsdt"
/* Node has a hundred probes, with notes of a hundred bytes each. */
#define NOTES_MAX_BYTES (16u << 20)
#define NOTE_ALIGNMENT  4

/* ---- notes -------------------------------------------------------------------------------- */

static void skip_padding(struct bytes *bytes)
{
	size_t padding = -bytes->offset & (NOTE_ALIGNMENT - 1);

	bytes_skip(bytes, padding < bytes_left(bytes) ? padding : bytes_left(bytes));
}

static bool read_description(struct bytes description, struct usdt_note *ret)
{
	ret->location = bytes_u64(&description);
	ret->base = bytes_u64(&description);
	ret->semaphore = bytes_u64(&description);
	ret->provider = bytes_string(&description);
	ret->name = bytes_string(&description);
	ret->arguments = bytes_string(&description);
	return !description.failed;
}

int usdt_read_notes(const void *notes, size_t size,
		    int (*handle)(const struct usdt_note *note, void *context), void *context)
{
	struct bytes bytes = bytes_of(notes, size);

	while (bytes_left(&bytes) >= sizeof(Elf64_Nhdr)) {
		uint32_t name_size = bytes_u32(&bytes);
		uint32_t description_size = bytes_u32(&bytes);
		uint32_t type = bytes_u32(&bytes);
		const void *name = bytes_take(&bytes, name_size);
		const void *description;
		struct usdt_note note;
		int err;

		skip_padding(&bytes);
		description = bytes_take(&bytes, description_size);
		if (!description)
			return -EINVAL;
		skip_padding(&bytes);
		if (type != NOTE_TYPE || name_size != sizeof(NOTE_NAME) ||
		    memcmp(name, NOTE_NAME, sizeof(NOTE_NAME)) != 0 ||
		    !read_description(bytes_of(description, description_size), &note))
			continue;
		err = handle(&note, context);
		if (err)
			return err;
	}
	return 0;
}

/* ---- arguments ---------------------------------------------------------------------------- */

/* The end of the first argument: a blank, except in brackets. */
static const char *find_end(const char *text)
{
	bool is_inside = false;

	for (; *text && (is_inside || *text != ' '); text++) {
		if (*text == '[')
			is_inside = true;
		else if (*text == ']')
			is_inside = false;
	}
	return text;
}

int usdt_read_argument(const char *arguments, unsigned int number, uint16_t machine,
		       struct probe_argument *ret)
{
	const struct architecture *architecture = architecture_find(machine);
	struct probe_argument argument = {.index = ARGUMENT_NO_REGISTER};
	const char *text = arguments + strspn(arguments, " ");
	const char *end = find_end(text);

	while (--number && *text) {
		text = end + strspn(end, " ");
		end = find_end(text);
	}
	if (!*text)
		return -ENOENT;
	argument.is_signed = *text == '-';
	text += argument.is_signed;
	/* Those of floating-point numbers have an f there. */
	if (!*text || !strchr("1248", *text) || text[1] != '@' || text + 2 == end)
		return -ENOTSUP;
	argument.bytes = (uint8_t)(*text - '0');
	text += 2;
	if (!architecture || !architecture->read_operand(text, end, &argument))
		return -ENOTSUP;
	*ret = argument;
	return 0;
}

int function_argument_get(unsigned int number, uint16_t machine, struct probe_argument *ret)
{
	const struct architecture *architecture = architecture_find(machine);
	struct probe_argument argument = {
		.source = ARGUMENT_REGISTER, .bytes = 8, .index = ARGUMENT_NO_REGISTER};

	if (!architecture || number > architecture->num_arguments)
		return -ENOENT;
	argument.base = number ? architecture->arguments[number - 1] : architecture->result;
	/* A failed function returns a negative value. */
	argument.is_signed = !number;
	*ret = argument;
	return 0;
}

/* ---- points ------------------------------------------------------------------------------- */

void probe_point_list_release(struct probe_point_list *list)
{
	array_release(&list->points);
}

int probe_point_list_add(struct probe_point_list *list, const struct probe_point *point)
{
	struct probe_point *added;

	array_for_each (&list->points, other)
		if (other->file_offset == point->file_offset)
			return 0;
	if (list->points.length == PROBE_MAX_POINTS)
		return -E2BIG;
	added = array_add(&list->points);
	if (!added)
		return -ENOMEM;
	*added = *point;
	return 0;
}

struct usdt_search {
	const struct objfile *objfile;
	const char *provider;
	const char *name;
	unsigned int argument;
	uint16_t machine;
	uint64_t base; /* actual address of .stapsdt.base; 0: missing */
	struct probe_point_list *ret;
	struct near_names *near;
};

static void compare_with(struct near_names *near, const struct usdt_note *note)
{
	char name[NEAR_NAMES_MAX_BYTES];
	int length = snprintf(name, sizeof(name), "%s:%s", note->provider, note->name);

	if (length > 0 && (size_t)length < sizeof(name))
		near_names_compare(near, name);
}

/* File offset of a byte in a loaded segment. */
static bool find_file_offset(const struct objfile *objfile, uint64_t elf_address, bool is_code,
			     uint64_t *ret)
{
	array_for_each (&objfile_get_layout(objfile)->segments, segment) {
		uint64_t offset = elf_address - segment->elf_address;

		if (elf_address < segment->elf_address || offset >= segment->file_size ||
		    (is_code && !segment->is_executable))
			continue;
		*ret = segment->file_offset + offset;
		return true;
	}
	return false;
}

static int add_note(const struct usdt_note *note, void *context)
{
	struct usdt_search *search = context;
	struct probe_point point = {0};
	/* Notes are not changed when a file is moved to another address (prelink). */
	uint64_t moved = search->base && note->base ? search->base - note->base : 0;
	int err;

	if (!string_equals(note->provider, search->provider) ||
	    !string_equals(note->name, search->name)) {
		if (search->near)
			compare_with(search->near, note);
		return 0;
	}
	if (!find_file_offset(search->objfile, note->location + moved, true, &point.file_offset) ||
	    (note->semaphore && !find_file_offset(search->objfile, note->semaphore + moved, false,
						  &point.semaphore_offset)))
		return -EINVAL;
	if (search->argument) {
		err = usdt_read_argument(note->arguments, search->argument, search->machine,
					 &point.argument);
		if (err)
			return err == -ENOENT ? -EDOM : err;
	}
	return probe_point_list_add(search->ret, &point);
}

int usdt_find(struct objfile *objfile, const char *provider, const char *name,
	      unsigned int argument, struct probe_point_list *ret, struct near_names *near)
{
	struct usdt_search search = {.objfile = objfile,
				     .provider = provider,
				     .name = name,
				     .argument = argument,
				     .ret = ret,
				     .near = near};
	Elf *elf = objfile_get_elf(objfile);
	size_t num_before = ret->points.length;
	GElf_Ehdr file;
	GElf_Shdr header;
	Elf_Data *data;
	Elf_Scn *notes;
	int err;

	if (!gelf_getehdr(elf, &file) || file.e_ident[EI_CLASS] != ELFCLASS64)
		return -EINVAL;
	search.machine = file.e_machine;
	if (elf_section_find(elf, ".stapsdt.base", &header))
		search.base = header.sh_addr;
	notes = elf_section_find(elf, ".note.stapsdt", &header);
	if (!notes)
		return -ENOENT;
	if (header.sh_size > NOTES_MAX_BYTES || header.sh_offset > INT64_MAX)
		return -EINVAL;
	data = elf_getdata_rawchunk(elf, (int64_t)header.sh_offset, header.sh_size, ELF_T_BYTE);
	if (!data)
		return -EINVAL;
	err = usdt_read_notes(data->d_buf, data->d_size, add_note, &search);
	if (err)
		return err;
	return ret->points.length > num_before ? 0 : -ENOENT;
}
