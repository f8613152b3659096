/*
 * The code in the Firefox Profiler's files. In processed ones a stack is a frame below another
 * stack, and a frame is a function with a line. A function has a name, a source file and a
 * resource, which may be a library. The names of the columns changed with the versions. In raw ones
 * a frame is a text: "name", "name (file:line:column)" or "0xaddress".
 *
 *	stackTable  →  frameTable  →  funcTable  →  stringArray
 *	 prefix         line           resource  →  resourceTable  →  libs (read_libs.c)
 *	                category       source    →  sources
 *
 * Every table refers to the one behind it by index, so they are read from right to left. Each is
 * read into an array of the ids of its rows in the profile. With the tables of the next thread the
 * arrays are filled again; tables shared by all threads (strings, sources) are read once.
 *
 * Functions that are equal are one, and a text is parsed once, however many rows refer to it: many
 * small numbers that refer to a long text must not cost its length each. The result of a text is
 * kept: the name of a frame in processed files, a function in raw ones. A browser's file may hold
 * processes of both kinds.
 */
#include "formats/firefox/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Flags of a row in newer files: its columns that are valid. */
#define FRAME_IS_INLINED   1u
#define FRAME_HAS_CATEGORY 4u
#define FUNC_HAS_RESOURCE  4u

#define RESOURCE_IS_LIBRARY 1
#define MAX_HEX_LENGTH      18
#define MAX_MODULE_LENGTH   4096 /* only shorter ones go into names */

void firefox_code_init(struct firefox_code *code, struct import *import)
{
	code->import = import;
	code->strings_position = JSON_TABLE_NOWHERE;
	code->sources_position = JSON_TABLE_NOWHERE;
}

void firefox_code_release(struct firefox_code *code)
{
	array_release(&code->kinds);
	array_release(&code->libs);
	array_release(&code->strings);
	array_release(&code->sources);
	array_release(&code->modules);
	array_release(&code->resource_libs);
	array_release(&code->funcs);
	array_release(&code->locations);
	array_release(&code->stacks);
	array_release(&code->names);
	array_release(&code->text_funcs);
	firefox_func_table_release(&code->all_funcs);
	text_release(&code->text);
}

static struct json open_json(const struct firefox_code *code, size_t position)
{
	return json_of(code->import->data + position, code->import->size - position);
}

static void open_table(const struct firefox_code *code, struct json_table *table, size_t position,
		       const char *const *names)
{
	json_table_open(table, code->import->data, code->import->size, position, names);
}

/*
 * The item that a cell is the index of; `otherwise` if it is not a valid index. Cells are foreign:
 * a negative number, a text and an index beyond the table are all invalid.
 */
static uint32_t get_item(const struct json_cell *cell, const uint32_t *items, size_t length,
			 uint32_t otherwise)
{
	uint64_t index;

	return json_cell_get_u64(cell, &index) && index < length ? items[index] : otherwise;
}

static uint32_t get_line(const struct json_cell *cell)
{
	uint64_t line;

	return json_cell_get_u64(cell, &line) && line <= UINT32_MAX ? (uint32_t)line : 0;
}

static uint64_t get_flags(const struct json_table *table, size_t column, uint64_t otherwise)
{
	uint64_t flags;

	return json_cell_get_u64(&table->cells[column], &flags) ? flags : otherwise;
}

/* ---- data of a process ---- */

/* "Kernel", or "Kernel (vmlinux)" and the like. */
static enum frame_kind find_kind(const char *category)
{
	if (string_starts_with(category, frame_kinds[FRAME_KERNEL].category))
		return FRAME_KERNEL;
	for (enum frame_kind kind = 0; kind < NUM_FRAME_KINDS; kind++)
		if (string_equals(category, frame_kinds[kind].category))
			return kind;
	return FRAME_USER;
}

static int read_category(struct firefox_code *code, struct json *json)
{
	uint8_t *kind = array_add(&code->kinds);

	if (!kind)
		return -ENOMEM;
	*kind = FRAME_USER;
	while (json_next(json) == JSON_KEY) {
		if (!json_is(json, "name")) {
			json_skip_value(json);
			continue;
		}
		json_take_string(json, &code->text);
		if (code->text.failed)
			return -ENOMEM;
		*kind = find_kind(code->text.data);
	}
	return 0;
}

int firefox_code_read_categories(struct firefox_code *code, struct json *json)
{
	enum json_token token = json_next(json);

	code->kinds.length = 0;
	if (token != JSON_ARRAY) {
		json_skip(json, token);
		return 0;
	}
	while ((token = json_next(json)) == JSON_OBJECT) {
		int err = read_category(code, json);

		if (err)
			return err;
	}
	for (; token != JSON_ARRAY_END && token != JSON_FAILED; token = json_next(json))
		json_skip(json, token);
	return 0;
}

/* ---- strings ---- */

/* Threads of newer files share one list, which is then at the same place. */
static int read_strings(struct firefox_code *code, size_t position)
{
	struct string_table *strings = profile_get_strings(code->import->profile);
	_cleanup_(json_release) struct json json = {0};
	enum json_token token;

	if (position == code->strings_position)
		return 0;
	code->strings_position = position;
	code->strings.length = 0;
	if (position == JSON_TABLE_NOWHERE)
		return 0;
	json = open_json(code, position);
	if (json_next(&json) == JSON_FAILED)
		return 0;
	while ((token = json_next(&json)) != JSON_ARRAY_END && token != JSON_FAILED) {
		uint32_t *string = array_add(&code->strings);

		if (!string)
			return -ENOMEM;
		if (token == JSON_STRING) {
			int err = string_table_add(strings, json.text, json.length, string);

			if (err)
				return err;
		} else {
			json_skip(&json, token);
		}
	}
	return 0;
}

/* The result of a string; if it is 0, the caller computes and sets it. */
static uint32_t *get_made(struct firefox_made *made, uint32_t string)
{
	while (made->length <= string)
		if (!array_add(made))
			return NULL;
	return &made->items[string];
}

/* The name of a frame. */
static int get_name(struct firefox_code *code, uint32_t string, uint32_t *ret)
{
	struct profile *profile = code->import->profile;
	uint32_t *made = get_made(&code->names, string);

	if (!made)
		return -ENOMEM;
	if (!*made) {
		int err = profile_add_frame_name(profile, profile_get_string(profile, string),
						 profile_get_string_length(profile, string), made);

		if (err)
			return err;
	}
	*ret = *made;
	return 0;
}

/* libc.so.6+0x1a40 in place of the address alone, which would be another function elsewhere. */
static int name_address(struct firefox_code *code, uint32_t module, const char *address,
			uint32_t *ret)
{
	struct profile *profile = code->import->profile;

	text_truncate(&code->text, 0);
	text_append(&code->text, profile_get_string(profile, module),
		    profile_get_string_length(profile, module));
	text_printf(&code->text, "+%s", address);
	if (code->text.failed)
		return -ENOMEM;
	return profile_add_frame_name(profile, code->text.data, code->text.length, ret);
}

/* MAX_HEX_LENGTH is "0x" and the 16 digits of 64 bits. */
static bool is_address(const char *text, size_t length)
{
	return length > 2 && length <= MAX_HEX_LENGTH && string_starts_with(text, "0x") &&
	       strspn(text + 2, "0123456789abcdefABCDEF") == length - 2;
}

/* ---- functions ---- */

static int read_sources(struct firefox_code *code, size_t position)
{
	static const char *const names[] = {"filename", NULL};
	_cleanup_(json_table_close) struct json_table table = {0};

	if (position == code->sources_position)
		return 0;
	code->sources_position = position;
	code->sources.length = 0;
	open_table(code, &table, position, names);
	while (json_table_next(&table)) {
		uint32_t *source = array_add(&code->sources);
		uint64_t index;

		if (!source)
			return -ENOMEM;
		if (json_cell_get_u64(&table.cells[0], &index) && index < code->strings.length)
			*source = code->strings.items[index];
	}
	return 0;
}

/* Resources that are not libraries (add-ons, web hosts) name no module. */
static int read_resources(struct firefox_code *code, size_t position)
{
	enum { NAME, TYPE, LIB };
	static const char *const names[] = {"name", "type", "lib", NULL};
	_cleanup_(json_table_close) struct json_table table = {0};

	code->modules.length = 0;
	code->resource_libs.length = 0;
	open_table(code, &table, position, names);
	while (json_table_next(&table)) {
		uint32_t *module = array_add(&code->modules);
		uint32_t *lib = array_add(&code->resource_libs);
		uint64_t index;
		uint64_t type;

		if (!module || !lib)
			return -ENOMEM;
		if (!json_cell_get_u64(&table.cells[TYPE], &type) || type != RESOURCE_IS_LIBRARY)
			continue;
		*module = get_item(&table.cells[NAME], code->strings.items, code->strings.length,
				   STRING_EMPTY);
		if (json_cell_get_u64(&table.cells[LIB], &index) && index < code->libs.length &&
		    !code->are_libs_sorted)
			*lib = (uint32_t)index + 1;
	}
	return 0;
}

/*
 * The address that is a function's name, in its library. In the first processed files the name is
 * the address in the process; a column beside it has the address in the library.
 */
static uint64_t get_address(const struct firefox_code *code, const struct json_cell *cell,
			    const char *name, uint32_t lib)
{
	const struct firefox_lib *mapped = lib ? &code->libs.items[lib - 1] : NULL;
	uint64_t address;

	if (json_cell_get_u64(cell, &address))
		return address;
	address = strtoull(name, NULL, 16);
	if (mapped && mapped->start && address >= mapped->start && address < mapped->end)
		address = address - mapped->start + mapped->offset;
	return address;
}

static int read_func(struct firefox_code *code, const struct json_table *table)
{
	enum { NAME, RESOURCE, SOURCE, FILE_NAME, LINE, FLAGS, ADDRESS };
	struct profile *profile = code->import->profile;
	const struct json_cell *cells = table->cells;
	uint32_t *id = array_add(&code->funcs);
	uint32_t string =
		get_item(&cells[NAME], code->strings.items, code->strings.length, STRING_EMPTY);
	struct firefox_func func = {.line = get_line(&cells[LINE])};
	const char *name = profile_get_string(profile, string);
	bool is_named = !is_address(name, profile_get_string_length(profile, string));
	char address[MAX_HEX_LENGTH + 1];
	int err;

	if (!id)
		return -ENOMEM;
	func.file = get_item(&cells[FILE_NAME], code->strings.items, code->strings.length,
			     STRING_EMPTY);
	if (func.file == STRING_EMPTY)
		func.file = get_item(&cells[SOURCE], code->sources.items, code->sources.length,
				     STRING_EMPTY);
	if (get_flags(table, FLAGS, FUNC_HAS_RESOURCE) & FUNC_HAS_RESOURCE) {
		func.module = get_item(&cells[RESOURCE], code->modules.items, code->modules.length,
				       STRING_EMPTY);
		func.lib = get_item(&cells[RESOURCE], code->resource_libs.items,
				    code->resource_libs.length, 0);
	}
	/* A function with a name needs no library to be looked up in. */
	if (is_named)
		func.lib = 0;
	else
		func.address = get_address(code, &cells[ADDRESS], name, func.lib);
	snprintf(address, sizeof(address), "0x%" PRIx64, func.address);
	if (!is_named && func.module != STRING_EMPTY &&
	    profile_get_string_length(profile, func.module) < MAX_MODULE_LENGTH)
		err = name_address(code, func.module, address, &func.name);
	else
		err = get_name(code, string, &func.name);
	if (err)
		return err;
	return firefox_func_table_intern(&code->all_funcs, &func, id);
}

static int read_funcs(struct firefox_code *code, size_t position)
{
	static const char *const names[] = {"name",       "resource", "source",  "fileName",
					    "lineNumber", "flags",    "address", NULL};
	_cleanup_(json_table_close) struct json_table table = {0};

	code->funcs.length = 0;
	open_table(code, &table, position, names);
	while (json_table_next(&table)) {
		int err = read_func(code, &table);

		if (err)
			return err;
	}
	return 0;
}

/* ---- frames as text ---- */

/* Libraries are in the order of their starts, and do not overlap in a process. */
static int make_address(struct firefox_code *code, uint64_t pc, struct firefox_func *func)
{
	char address[32];
	size_t count = array_count_front(&code->libs, item, item->start <= pc);
	const struct firefox_lib *lib = count ? &code->libs.items[count - 1] : NULL;

	if (lib && pc < lib->end) {
		func->module = lib->name;
		pc = pc - lib->start + lib->offset;
	}
	snprintf(address, sizeof(address), "0x%" PRIx64, pc);
	if (func->module != STRING_EMPTY &&
	    profile_get_string_length(code->import->profile, func->module) < MAX_MODULE_LENGTH)
		return name_address(code, func->module, address, &func->name);
	return profile_add_string(code->import->profile, address, &func->name);
}

/* Strip a number after a colon off the end and return it, or 0. */
static uint64_t strip_number(const char *text, size_t *length)
{
	size_t start = *length;
	uint64_t number = 0;

	while (start && text[start - 1] >= '0' && text[start - 1] <= '9')
		start--;
	if (start == *length || start < 2 || text[start - 1] != ':' ||
	    !parse_u64(text + start, *length - start, &number))
		return 0;
	*length = start - 1;
	return number;
}

/* name (file:line:column), name (file:line), name (in module), or a name alone */
static int make_text(struct firefox_code *code, const char *text, size_t length,
		     struct firefox_func *func)
{
	struct string_table *strings = profile_get_strings(code->import->profile);
	const char *open = length && text[length - 1] == ')' ? memrchr(text, '(', length) : NULL;
	int err = 0;

	if (open && open - text >= 2 && open[-1] == ' ') {
		const char *location = open + 1;
		size_t location_length = (size_t)(text + length - 1 - location);
		uint64_t last = strip_number(location, &location_length);
		uint64_t line = last ? strip_number(location, &location_length) : 0;

		if (!line)
			line = last; /* there was no column */
		if (line) {
			err = string_table_add(strings, location, location_length, &func->file);
			func->line = line <= UINT32_MAX ? (uint32_t)line : 0;
			length = (size_t)(open - 1 - text);
		} else if (location_length > 3 && memcmp(location, "in ", 3) == 0) {
			err = string_table_add(strings, location + 3, location_length - 3,
					       &func->module);
			length = (size_t)(open - 1 - text);
		}
	}
	if (err)
		return err;
	return profile_add_frame_name(code->import->profile, text, length, &func->name);
}

static int make_func(struct firefox_code *code, uint32_t string, uint32_t *ret)
{
	const char *text = profile_get_string(code->import->profile, string);
	size_t length = profile_get_string_length(code->import->profile, string);
	struct firefox_func func = {0};
	uint32_t *made;
	int err;

	if (is_address(text, length)) { /* it means something else in each process */
		err = make_address(code, strtoull(text, NULL, 16), &func);
		if (err)
			return err;
		return firefox_func_table_intern(&code->all_funcs, &func, ret);
	}
	made = get_made(&code->text_funcs, string);
	if (!made)
		return -ENOMEM;
	if (!*made) {
		err = make_text(code, text, length, &func);
		if (err)
			return err;
		err = firefox_func_table_intern(&code->all_funcs, &func, made);
		if (err)
			return err;
		++*made;
	}
	*ret = *made - 1;
	return 0;
}

int firefox_code_add_text(struct firefox_code *code, uint32_t line, uint32_t *ret)
{
	struct frame frame = {0};
	struct firefox_func func;
	uint32_t string, id;
	int err = string_table_add(profile_get_strings(code->import->profile), code->text.data,
				   code->text.length, &string);

	if (err)
		return err;
	err = make_func(code, string, &id);
	if (err)
		return err;
	func = code->all_funcs.items[id];
	frame.name = frame.full_name = func.name;
	frame.file = func.file;
	frame.module = func.module;
	frame.line = line ? line : func.line;
	return profile_add_frame_location(code->import->profile, &frame, ret);
}

/* ---- frames and stacks ---- */

static int add_location(struct firefox_code *code, const struct json_table *table, uint32_t id,
			uint32_t *ret)
{
	enum { FUNC, LINE, CATEGORY, INLINE_DEPTH, FLAGS };
	const struct json_cell *cells = table->cells;
	struct firefox_func func = code->all_funcs.items[id];
	struct frame frame = {.name = func.name, .file = func.file, .module = func.module};
	uint64_t flags = get_flags(table, FLAGS, FRAME_HAS_CATEGORY);
	uint64_t depth;
	uint64_t category;

	frame.full_name = frame.name;
	frame.line = get_line(&cells[LINE]);
	if (!frame.line)
		frame.line = func.line;
	if (flags & FRAME_HAS_CATEGORY && json_cell_get_u64(&cells[CATEGORY], &category) &&
	    category < code->kinds.length)
		frame.kind = code->kinds.items[category];
	frame.is_inlined = flags & FRAME_IS_INLINED ||
			   (json_cell_get_u64(&cells[INLINE_DEPTH], &depth) && depth);
	if (func.lib && frame.kind == FRAME_USER && code->import->will_name_code)
		return firefox_code_add_address(code, func.lib - 1, func.address, ret);
	return profile_add_frame_location(code->import->profile, &frame, ret);
}

static int read_frames(struct firefox_code *code, size_t position)
{
	static const char *const processed[] = {"func",        "line",  "category",
						"inlineDepth", "flags", NULL};
	static const char *const raw[] = {"location", "line", "category", NULL};
	_cleanup_(json_table_close) struct json_table table = {0};

	code->locations.length = 0;
	open_table(code, &table, position, code->is_raw ? raw : processed);
	while (json_table_next(&table)) {
		uint32_t *location = array_add(&code->locations);
		uint32_t func = code->is_raw ? get_item(&table.cells[0], code->strings.items,
							code->strings.length, FIREFOX_NONE)
					     : get_item(&table.cells[0], code->funcs.items,
							code->funcs.length, FIREFOX_NONE);
		int err;

		if (!location)
			return -ENOMEM;
		/*
		 * A row that cannot be read stays in its place, so that the indexes of the others
		 * are right.
		 */
		*location = FIREFOX_NONE;
		if (func == FIREFOX_NONE)
			continue;
		if (code->is_raw) { /* it is a string until now */
			err = make_func(code, func, &func);
			if (err)
				return err;
		}
		err = add_location(code, &table, func, location);
		if (err)
			return err;
	}
	return 0;
}

/*
 * The caller of the new stack: by its index, or by its distance back in the table. A caller always
 * precedes, so that there can be no cycle.
 */
static bool find_parent(const struct firefox_code *code, const struct json_table *table,
			size_t index, uint32_t *ret)
{
	enum { FRAME, PREFIX, PREFIX_OFFSET };
	uint64_t prefix;

	*ret = STACK_EMPTY;
	if (json_cell_get_u64(&table->cells[PREFIX_OFFSET], &prefix)) {
		if (!prefix)
			return true;
		if (prefix > index)
			return false;
		prefix = index - prefix;
	} else if (!json_cell_get_u64(&table->cells[PREFIX], &prefix)) {
		return table->cells[PREFIX].token == JSON_NULL ||
		       table->cells[PREFIX].token == JSON_NUMBER; /* -1 */
	}
	if (prefix >= index)
		return false;
	*ret = code->stacks.items[prefix];
	return *ret != FIREFOX_NONE;
}

static int read_stacks(struct firefox_code *code, size_t position)
{
	static const char *const names[] = {"frame", "prefix", "prefixOffset", NULL};
	_cleanup_(json_table_close) struct json_table table = {0};

	code->stacks.length = 0;
	open_table(code, &table, position, names);
	while (json_table_next(&table)) {
		uint32_t *stack = array_add(&code->stacks);
		uint32_t parent;
		uint32_t location = get_item(&table.cells[0], code->locations.items,
					     code->locations.length, FIREFOX_NONE);
		int err;

		if (!stack)
			return -ENOMEM;
		*stack = FIREFOX_NONE;
		if (location != FIREFOX_NONE &&
		    find_parent(code, &table, code->stacks.length - 1, &parent))
			err = profile_add_stack(code->import->profile, parent, location, stack);
		else
			err = reader_skip_byte(code->import, table.cells[0].offset,
					       "a stack whose frame or caller is missing");
		if (err)
			return err;
	}
	return 0;
}

/* Frames of raw files are texts, and those of processed ones functions. */
static bool has_raw_frames(const struct firefox_code *code, size_t position)
{
	enum { LOCATION, FUNC };
	static const char *const names[] = {"location", "func", NULL};
	_cleanup_(json_table_close) struct json_table table = {0};

	open_table(code, &table, position, names);
	return json_table_has(&table, LOCATION) && !json_table_has(&table, FUNC);
}

int firefox_code_read(struct firefox_code *code, const struct firefox_positions *positions)
{
	int err = read_strings(code, positions->strings);

	if (err)
		return err;
	code->is_raw = has_raw_frames(code, positions->frames);
	if (code->is_raw)
		firefox_code_sort_libs(code);
	err = read_sources(code, positions->sources);
	if (err)
		return err;
	err = read_resources(code, positions->resources);
	if (err)
		return err;
	err = read_funcs(code, positions->funcs);
	if (err)
		return err;
	err = read_frames(code, positions->frames);
	if (err)
		return err;
	return read_stacks(code, positions->stacks);
}
