/*
 * Only as much of ELF as names need, in memory: .symtab and .dynsym of 64-bit little-endian files.
 * The command line does more with libelf, libdw and demanglers (stubs, inlined calls, lines, files
 * of debug information, names as in C++ and Rust), but the page has no room for them.
 *
 * The files are untrusted. Anything that exceeds a file is treated as missing.
 *
 * Source: ELF gABI, "ELF Header", "Sections", "Symbol Table", "Program Header".
 */
#include "viewer/archived_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "formats/tar.h"

#define HEADER_BYTES         64
#define SECTION_HEADER_BYTES 64
#define PROGRAM_HEADER_BYTES 56
#define SYMBOL_BYTES         24
#define SEGMENT_LOADED       1
#define SEGMENT_EXECUTABLE   1

enum section_type { SECTION_SYMBOLS = 2, SECTION_DYNAMIC_SYMBOLS = 11 };
enum symbol_type { SYMBOL_FUNCTION = 2, SYMBOL_IFUNC = 10 };
enum symbol_section { SYMBOL_UNDEFINED = 0, SYMBOL_ABSOLUTE = 0xfff1 };
enum symbol_binding { SYMBOL_GLOBAL = 1, SYMBOL_WEAK = 2, SYMBOL_UNIQUE = 10 };

/*
 * The names of a hostile file may all be ends of one string of megabytes. Comparing them whole
 * would take minutes.
 */
#define COMPARED_BYTES 1024
/*
 * These are searched for every address: no file that runs has as many segments, and no function as
 * many names.
 */
#define MAX_PROGRAMS 256
#define MAX_ALIASES  256

struct archived_function {
	uint64_t start; /* ELF addresses */
	uint64_t end;
	const char *name; /* of the file */
	uint8_t rank;     /* lower is better */
};

struct archived_elf {
	struct bytes file;
	uint64_t programs; /* offset of the program headers */
	uint64_t sections;
	uint16_t num_programs;
	uint16_t num_sections;
	ARRAY(struct archived_function) functions; /* by start, then with the best name first */
};

struct archived_section {
	uint32_t type;
	uint32_t link;
	struct bytes content;
};

/* Empty if it exceeds the file. */
static struct bytes take_slice(const struct archived_elf *elf, uint64_t offset, uint64_t size)
{
	if (offset > elf->file.size || size > elf->file.size - offset)
		return (struct bytes){0};
	return bytes_of(elf->file.data + offset, (size_t)size);
}

static bool read_header(struct archived_elf *elf)
{
	static const uint8_t ident[] = {0x7f, 'E', 'L', 'F', 2, 1};
	struct bytes header = take_slice(elf, 0, HEADER_BYTES);

	if (header.size < HEADER_BYTES || memcmp(header.data, ident, sizeof(ident)) != 0)
		return false;
	header.offset = 32;
	elf->programs = bytes_u64(&header);
	elf->sections = bytes_u64(&header);
	header.offset = 56;
	elf->num_programs = bytes_u16(&header);
	if (elf->num_programs > MAX_PROGRAMS)
		elf->num_programs = MAX_PROGRAMS;
	header.offset = 60;
	elf->num_sections = bytes_u16(&header);
	return true;
}

static struct archived_section read_section(const struct archived_elf *elf, uint32_t index)
{
	struct bytes header = take_slice(
		elf, elf->sections + (uint64_t)index * SECTION_HEADER_BYTES, SECTION_HEADER_BYTES);
	struct archived_section section = {0};
	uint64_t offset;

	if (index >= elf->num_sections)
		return section;
	header.offset = header.size ? 4 : 0;
	section.type = bytes_u32(&header);
	bytes_skip(&header, 16);
	offset = bytes_u64(&header);
	section.content = take_slice(elf, offset, bytes_u64(&header));
	section.link = bytes_u32(&header);
	return section;
}

/* Ranked by binding, as in objfile. */
static uint8_t rank_binding(unsigned int binding)
{
	if (binding == SYMBOL_GLOBAL || binding == SYMBOL_UNIQUE)
		return 0;
	return binding == SYMBOL_WEAK ? 1 : 2;
}

static int add_functions(struct archived_elf *elf, struct bytes symbols, struct bytes strings)
{
	const uint8_t *last = strings.size ? memrchr(strings.data, '\0', strings.size) : NULL;
	size_t strings_size = last ? (size_t)(last - strings.data) : 0;

	while (bytes_left(&symbols) >= SYMBOL_BYTES) {
		uint32_t name = bytes_u32(&symbols);
		uint8_t info = bytes_u8(&symbols);
		uint8_t type = info & 15;
		struct archived_function *function;
		uint16_t section;
		uint64_t start;
		uint64_t size;

		bytes_skip(&symbols, 1);
		section = bytes_u16(&symbols);
		start = bytes_u64(&symbols);
		size = bytes_u64(&symbols);
		if ((type != SYMBOL_FUNCTION && type != SYMBOL_IFUNC) ||
		    section == SYMBOL_UNDEFINED || section == SYMBOL_ABSOLUTE || !size ||
		    size > UINT64_MAX - start || name >= strings_size || !strings.data[name])
			continue;
		function = array_add(&elf->functions);
		if (!function)
			return -ENOMEM;
		*function = (struct archived_function){
			.start = start,
			.end = start + size,
			.name = (const char *)strings.data + name,
			.rank = rank_binding(info >> 4),
		};
	}
	return 0;
}

static size_t count_underscores(const char *name)
{
	size_t count = 0;

	while (count < COMPARED_BYTES && name[count] == '_')
		count++;
	return count;
}

/* Compare two names of one function: the better one as in symbol_names_compare() of objfile. */
static int compare_names(const char *a, const char *b)
{
	size_t underscores_a = count_underscores(a);
	size_t underscores_b = count_underscores(b);
	size_t length_a = strnlen(a, COMPARED_BYTES);
	size_t length_b = strnlen(b, COMPARED_BYTES);

	if (underscores_a != underscores_b)
		return underscores_a < underscores_b ? -1 : 1;
	if (length_a != length_b)
		return length_a < length_b ? -1 : 1;
	return strncmp(a, b, COMPARED_BYTES);
}

static int compare_functions(const void *left, const void *right)
{
	const struct archived_function *a = left;
	const struct archived_function *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return compare_names(a->name, b->name);
}

static int read_elf(struct archived_elf *elf)
{
	if (!read_header(elf))
		return 0;
	for (uint32_t i = 0; i < elf->num_sections; i++) {
		struct archived_section section = read_section(elf, i);
		int err;

		if (section.type != SECTION_SYMBOLS && section.type != SECTION_DYNAMIC_SYMBOLS)
			continue;
		err = add_functions(elf, section.content, read_section(elf, section.link).content);
		if (err)
			return err;
	}
	if (elf->functions.length)
		qsort(elf->functions.items, elf->functions.length, sizeof(*elf->functions.items),
		      compare_functions);
	return 0;
}

static void archived_elf_release(struct archived_elf *elf)
{
	array_release(&elf->functions);
}

/* ELF address of a byte of the file, by PT_LOAD; executable segments are preferred. */
static bool get_elf_address(const struct archived_elf *elf, uint64_t file_offset, uint64_t *ret)
{
	bool is_found = false;

	for (uint32_t i = 0; i < elf->num_programs; i++) {
		struct bytes header =
			take_slice(elf, elf->programs + (uint64_t)i * PROGRAM_HEADER_BYTES,
				   PROGRAM_HEADER_BYTES);
		uint32_t type = bytes_u32(&header);
		bool is_executable = bytes_u32(&header) & SEGMENT_EXECUTABLE;
		uint64_t offset = bytes_u64(&header);
		uint64_t address = bytes_u64(&header);
		uint64_t size;

		bytes_skip(&header, 8);
		size = bytes_u64(&header);
		if (type != SEGMENT_LOADED || file_offset < offset ||
		    file_offset - offset >= size || (is_found && !is_executable))
			continue;
		*ret = address + (file_offset - offset);
		is_found = true;
		if (is_executable)
			break;
	}
	return is_found;
}

/* NULL: no name. */
static const char *find_name(const struct archived_elf *elf, uint64_t address)
{
	const struct archived_function *items = elf->functions.items;
	size_t end = array_count_front(&elf->functions, function, function->start <= address);
	size_t first;

	if (!end)
		return NULL;
	first = array_count_front(&elf->functions, function,
				  function->start < items[end - 1].start);
	if (end - first > MAX_ALIASES)
		end = first + MAX_ALIASES;
	for (; first < end; first++)
		if (address < items[first].end)
			return items[first].name;
	return NULL;
}

static int set_name(struct profile *profile, uint32_t id, const char *name)
{
	const struct location *location = profile_get_location(profile, id);
	uint32_t path = profile_get_module(profile, location->owner)->path;
	const char *version = strchr(name + 1, '@'); /* memcpy@@GLIBC_2.14 */
	size_t length = version ? (size_t)(version - name) : strlen(name);
	struct frame frame = {0};
	int err = profile_add_frame_name(profile, name, length, &frame.name);

	if (err)
		return err;
	err = profile_add_string(profile, path_get_module(profile_get_string(profile, path)),
				 &frame.module);
	if (err)
		return err;
	frame.full_name = frame.name;
	return profile_set_frames(profile, id, &frame, 1, UNNAMED_NOT);
}

static bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

static int name_location(struct profile *profile, uint32_t id, const struct archived_elf *elf,
			 uint32_t *num_mangled)
{
	const struct location *location = profile_get_location(profile, id);
	uint64_t address = location->address;
	const char *name;

	if (location->space == LOCATION_FILE && !get_elf_address(elf, address, &address))
		return 0;
	name = find_name(elf, address);
	if (!name)
		return 0;
	*num_mangled += is_mangled(name);
	return set_name(profile, id, name);
}

/* Code that a copy may have names for. */
struct unnamed_code {
	uint32_t module;
	uint32_t location;
};

struct unnamed_codes {
	ARRAY(struct unnamed_code) items; /* by module */
};

static void unnamed_codes_release(struct unnamed_codes *codes)
{
	array_release(&codes->items);
}

static int compare_codes(const void *left, const void *right)
{
	const struct unnamed_code *a = left;
	const struct unnamed_code *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->location < b->location ? -1 : a->location > b->location;
}

static int list_codes(const struct profile *profile, struct unnamed_codes *codes)
{
	for (uint32_t i = 0; i < profile_count_locations(profile); i++) {
		const struct location *location = profile_get_location(profile, i);
		struct unnamed_code *added;

		if (location->num_frames || !location_is_in_module(location) ||
		    profile_get_module(profile, location->owner)->copy == STRING_EMPTY)
			continue;
		added = array_add(&codes->items);
		if (!added)
			return -ENOMEM;
		*added = (struct unnamed_code){.module = location->owner, .location = i};
	}
	if (codes->items.length)
		qsort(codes->items.items, codes->items.length, sizeof(*codes->items.items),
		      compare_codes);
	return 0;
}

static struct bytes find_file(const struct import *import, const struct tar *tar, const char *path)
{
	struct bytes found = {0};

	/* A later file replaces an earlier one. */
	array_for_each (&tar->files, file)
		if (string_equals(tar_get_path(tar, file), path))
			found = bytes_of(import->data + file->offset, file->size);
	return found;
}

static int name_by_copies(struct import *import, const struct tar *tar)
{
	struct profile *profile = import->profile;
	_cleanup_(unnamed_codes_release) struct unnamed_codes codes = {0};
	uint32_t num_mangled = 0;
	int err = list_codes(profile, &codes);

	if (err)
		return err;
	for (size_t i = 0; i < codes.items.length;) {
		_cleanup_(archived_elf_release) struct archived_elf elf = {0};
		uint32_t module = codes.items.items[i].module;
		uint32_t copy = profile_get_module(profile, module)->copy;

		elf.file = find_file(import, tar, profile_get_string(profile, copy));
		err = read_elf(&elf);
		for (; !err && i < codes.items.length && codes.items.items[i].module == module; i++)
			err = name_location(profile, codes.items.items[i].location, &elf,
					    &num_mangled);
		if (err)
			return err;
	}
	if (num_mangled)
		import_warn(import,
			    "%" PRIu32 " of its addresses have mangled function names here; run "
			    "'stackwide convert %s -o named.html'",
			    num_mangled, import->name);
	return 0;
}

int archived_names_add(struct import *import)
{
	_cleanup_(tar_release) struct tar tar = {0};
	int err = tar_read(&tar, import->data, import->size);

	if (err)
		return err;
	err = name_by_copies(import, &tar);
	return err ? err : unsymbolized_code_name(import, false, UNNAMED_NO_SYMBOL);
}
