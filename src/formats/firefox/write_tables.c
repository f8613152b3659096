/*
 * The tables of code in the Firefox Profiler's format: stacks, frames, functions, resources, which
 * are modules, and strings.
 *
 * Stacks and locations of the profile are rows of the format as they are: stack n is row n - 1, for
 * the empty stack has none, and location n, which is one frame, is row n. Functions, files, modules
 * and strings are numbered again (firefox_collect), before anything is written. A table is written
 * column by column, each cell by a function that appends the value of a row.
 */
#include "formats/firefox/write.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"

/*
 * Categories decide colours in the Firefox Profiler: "Other", those of the kinds, and that of
 * inlined frames.
 */
#define CATEGORY_OF_KIND 1
#define CATEGORY_INLINED (CATEGORY_OF_KIND + NUM_FRAME_KINDS)

/* ---- tables ---- */

static const struct frame *get_frame(const struct firefox_writer *writer, uint32_t location)
{
	return profile_get_frame(writer->profile,
				 profile_get_location(writer->profile, location)->first_frame);
}

/* Its number in a table. firefox_collect() has put every string there. */
static uint32_t find_string(const struct firefox_writer *writer, const struct string_table *table,
			    uint32_t string)
{
	return string_table_find(table, profile_get_string(writer->profile, string),
				 profile_get_string_length(writer->profile, string));
}

static const struct firefox_func_key *get_func(const struct firefox_writer *writer, uint32_t row)
{
	return &writer->func_keys.items[row];
}

static int collect_func(struct firefox_writer *writer, uint32_t location)
{
	const struct frame *frame = get_frame(writer, location);
	const struct firefox_func_key func = {.name = frame->name,
					      .file = frame->file,
					      .module = frame->module,
					      .is_javascript = frame->kind == FRAME_JAVASCRIPT};
	const struct {
		uint32_t string;
		struct string_table *table;
	} copies[] = {
		{func.name, writer->strings},   {func.file, writer->strings},
		{func.module, writer->strings}, {func.file, writer->files},
		{func.module, writer->modules},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(copies); i++) {
		uint32_t id;
		int err = profile_copy_string(writer->profile, copies[i].string, copies[i].table,
					      &id);

		if (err)
			return err;
	}
	return firefox_func_keys_intern(&writer->func_keys, &func, &writer->funcs[location]);
}

/*
 * Find the file of the original that a module's name means: the first of that name. The profile
 * that is written has modules' base names only, as its locations have no addresses; build IDs are
 * those of the original's files.
 */
static int find_modules(struct firefox_writer *writer)
{
	uint32_t count = string_table_get_count(writer->modules);

	writer->module_of = malloc(count * sizeof(*writer->module_of));
	if (!writer->module_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		writer->module_of[i] = UINT32_MAX;
	for (uint32_t id = 0; id < profile_count_modules(writer->original); id++) {
		const struct module *module = profile_get_module(writer->original, id);
		const char *name =
			path_get_module(profile_get_string(writer->original, module->path));
		uint32_t found = string_table_find(writer->modules, name, strlen(name));

		if (found != STRING_NONE && writer->module_of[found] == UINT32_MAX)
			writer->module_of[found] = id;
	}
	return 0;
}

int firefox_collect(struct firefox_writer *writer)
{
	uint32_t count = profile_count_locations(writer->profile);
	int err;

	writer->funcs = calloc(count ? count : 1, sizeof(*writer->funcs));
	if (!writer->funcs)
		return -ENOMEM;
	for (uint32_t location = 0; location < count; location++) {
		err = collect_func(writer, location);
		if (err)
			return err;
	}
	return find_modules(writer);
}

/* ---- columns ---- */

int firefox_write_column(struct firefox_writer *writer, uint32_t count,
			 const struct firefox_column *column)
{
	text_printf(&writer->text, "\"%s\":[", column->name);
	for (uint32_t row = 0; row < count; row++) {
		int err;

		if (row)
			text_append_char(&writer->text, ',');
		column->append(writer, row);
		err = sink_drain(writer->sink, &writer->text);
		if (err)
			return err;
	}
	text_append_string(&writer->text, "],\n");
	return 0;
}

int firefox_write_columns(struct firefox_writer *writer, uint32_t count,
			  const struct firefox_column *columns, size_t num_columns)
{
	for (size_t i = 0; i < num_columns; i++) {
		int err = firefox_write_column(writer, count, &columns[i]);

		if (err)
			return err;
	}
	text_printf(&writer->text, "\"length\":%u},\n", count);
	return 0;
}

static void append_null(struct firefox_writer *writer, uint32_t row _unused_)
{
	text_append_string(&writer->text, "null");
}

static void append_false(struct firefox_writer *writer, uint32_t row _unused_)
{
	text_append_string(&writer->text, "false");
}

static void append_minus_one(struct firefox_writer *writer, uint32_t row _unused_)
{
	text_append_string(&writer->text, "-1");
}

static void append_zero(struct firefox_writer *writer, uint32_t row _unused_)
{
	text_append_char(&writer->text, '0');
}

static void append_one(struct firefox_writer *writer, uint32_t row _unused_)
{
	text_append_char(&writer->text, '1');
}

static void append_stack_frame(struct firefox_writer *writer, uint32_t row)
{
	text_append_number(&writer->text, profile_get_stack_location(writer->profile, row + 1));
}

static void append_stack_prefix(struct firefox_writer *writer, uint32_t row)
{
	uint32_t parent = profile_get_stack_parent(writer->profile, row + 1);

	if (parent == STACK_EMPTY)
		append_null(writer, row);
	else
		text_append_number(&writer->text, parent - 1);
}

static void append_inline_depth(struct firefox_writer *writer, uint32_t row)
{
	text_append_char(&writer->text, get_frame(writer, row)->is_inlined ? '1' : '0');
}

static void append_category(struct firefox_writer *writer, uint32_t row)
{
	const struct frame *frame = get_frame(writer, row);
	bool is_plain = frame->kind == FRAME_USER;

	text_append_number(&writer->text, is_plain && frame->is_inlined
						  ? CATEGORY_INLINED
						  : CATEGORY_OF_KIND + frame->kind);
}

static void append_frame_func(struct firefox_writer *writer, uint32_t row)
{
	text_append_number(&writer->text, writer->funcs[row]);
}

static void append_frame_line(struct firefox_writer *writer, uint32_t row)
{
	uint32_t line = get_frame(writer, row)->line;

	if (line)
		text_append_number(&writer->text, line);
	else
		append_null(writer, row);
}

static void append_is_javascript(struct firefox_writer *writer, uint32_t row)
{
	text_append_string(&writer->text, get_func(writer, row)->is_javascript ? "true" : "false");
}

static void append_func_name(struct firefox_writer *writer, uint32_t row)
{
	text_append_number(&writer->text,
			   find_string(writer, writer->strings, get_func(writer, row)->name));
}

/*
 * Append the number of a string, or `none` if it is empty. Number 0 of each table is the empty
 * string, which is no row.
 */
static void append_index(struct firefox_writer *writer, const struct string_table *table,
			 uint32_t string, const char *none)
{
	if (string == STRING_EMPTY)
		text_append_string(&writer->text, none);
	else
		text_append_number(&writer->text, find_string(writer, table, string) - 1);
}

static void append_func_resource(struct firefox_writer *writer, uint32_t row)
{
	append_index(writer, writer->modules, get_func(writer, row)->module, "-1");
}

static void append_func_source(struct firefox_writer *writer, uint32_t row)
{
	append_index(writer, writer->files, get_func(writer, row)->file, "null");
}

/* A module, or a file, as a string of the format. */
static void append_of_table(struct firefox_writer *writer, const struct string_table *table,
			    uint32_t row)
{
	text_append_number(&writer->text,
			   string_table_find(writer->strings, string_table_get(table, row + 1),
					     string_table_get_length(table, row + 1)));
}

static void append_resource_name(struct firefox_writer *writer, uint32_t row)
{
	append_of_table(writer, writer->modules, row);
}

static void append_row(struct firefox_writer *writer, uint32_t row)
{
	text_append_number(&writer->text, row);
}

static void append_file(struct firefox_writer *writer, uint32_t row)
{
	append_of_table(writer, writer->files, row);
}

static void append_string(struct firefox_writer *writer, uint32_t row)
{
	json_append_string(&writer->text, string_table_get(writer->strings, row),
			   string_table_get_length(writer->strings, row));
}

int firefox_write_shared(struct firefox_writer *writer)
{
	static const struct firefox_column stacks[] = {{"frame", append_stack_frame},
						       {"prefix", append_stack_prefix}};
	static const struct firefox_column frames[] = {
		{"address", append_minus_one},  {"inlineDepth", append_inline_depth},
		{"category", append_category},  {"subcategory", append_zero},
		{"func", append_frame_func},    {"nativeSymbol", append_null},
		{"innerWindowID", append_zero}, {"line", append_frame_line},
		{"column", append_null}};
	static const struct firefox_column funcs[] = {
		{"name", append_func_name},      {"isJS", append_is_javascript},
		{"relevantForJS", append_false}, {"resource", append_func_resource},
		{"source", append_func_source},  {"lineNumber", append_null},
		{"columnNumber", append_null}};
	static const struct firefox_column resources[] = {{"lib", append_row},
							  {"name", append_resource_name},
							  {"host", append_null},
							  {"type", append_one}};
	static const struct firefox_column symbols[] = {{"libIndex", append_row},
							{"address", append_zero},
							{"name", append_zero},
							{"functionSize", append_null}};
	static const struct firefox_column sources[] = {{"uuid", append_null},
							{"filename", append_file}};
	static const struct firefox_column strings = {"stringArray", append_string};
	const struct {
		const char *name;
		uint32_t count;
		const struct firefox_column *columns;
		size_t num_columns;
	} tables[] = {
		{"stackTable", profile_count_stacks(writer->profile) - 1, stacks,
		 ARRAY_LENGTH(stacks)},
		{"frameTable", profile_count_locations(writer->profile), frames,
		 ARRAY_LENGTH(frames)},
		{"funcTable", (uint32_t)writer->func_keys.length, funcs, ARRAY_LENGTH(funcs)},
		{"resourceTable", string_table_get_count(writer->modules) - 1, resources,
		 ARRAY_LENGTH(resources)},
		/* The table must be there, if empty. */
		{"nativeSymbols", 0, symbols, ARRAY_LENGTH(symbols)},
		{"sources", string_table_get_count(writer->files) - 1, sources,
		 ARRAY_LENGTH(sources)},
	};
	int err;

	text_append_string(&writer->text, "\"shared\":{");
	for (size_t i = 0; i < ARRAY_LENGTH(tables); i++) {
		text_printf(&writer->text, "\"%s\":{", tables[i].name);
		err = firefox_write_columns(writer, tables[i].count, tables[i].columns,
					    tables[i].num_columns);
		if (err)
			return err;
	}
	err = firefox_write_column(writer, string_table_get_count(writer->strings), &strings);
	if (err)
		return err;
	text_truncate(&writer->text, writer->text.length - strlen(",\n"));
	text_append_string(&writer->text, "},\n");
	return 0;
}

static void append_category_of(const char *name, const char *color, struct text *text)
{
	text_printf(text, "{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}", name,
		    color);
}

void firefox_append_categories(struct text *text)
{
	text_append_string(text, "\"categories\":[");
	append_category_of("Other", "grey", text);
	for (enum frame_kind kind = 0; kind < NUM_FRAME_KINDS; kind++) {
		text_append_char(text, ',');
		append_category_of(frame_kinds[kind].category, frame_kinds[kind].color, text);
	}
	text_append_char(text, ',');
	append_category_of("Inlined", "lightblue", text);
	text_append_string(text, "],\n");
}
