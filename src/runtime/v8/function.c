/*
 * Functions are never removed: a sample that refers to one may arrive long after it, and addresses
 * that are reused, as objects are moved, have another fingerprint.
 */
#include "runtime/v8_function.h"

#include <errno.h>
#include <stdlib.h>

#include "base/intern.h"
#include "base/text.h"
#include "profile/string_table.h"
#include "runtime/characters.h"
#include "runtime/v8_source.h"

INTERN_TABLE(v8_function_table, struct v8_function, pid, generation, address, fingerprint);

struct v8_functions {
	struct v8_function_table table;
	struct string_table *strings; /* names and files: all functions of a file have its name */
	size_t strings_size;          /* bytes */
	struct text text;             /* a name that is being made */
};

struct v8_functions *v8_functions_new(void)
{
	struct v8_functions *functions = calloc(1, sizeof(*functions));

	if (!functions)
		return NULL;
	functions->strings = string_table_new();
	if (!functions->strings) {
		free(functions);
		return NULL;
	}
	return functions;
}

void v8_functions_free(struct v8_functions *functions)
{
	if (!functions)
		return;
	v8_function_table_release(&functions->table);
	string_table_free(functions->strings);
	text_release(&functions->text);
	free(functions);
}

/*
 * Whether the record of a string is consistent: it fits its buffer, and consists of whole
 * characters.
 */
static bool is_text(const struct wire_v8_text *text, size_t max_bytes)
{
	return text->is_wide <= 1 && text->num_bytes <= max_bytes &&
	       text->num_bytes % (1u + text->is_wide) == 0 &&
	       text->num_bytes / (1u + text->is_wide) <= text->length;
}

static bool is_valid(const struct wire_v8_function *record)
{
	if (record->num_parts > WIRE_V8_NAME_PARTS ||
	    !is_text(&record->file, sizeof(record->file_text)))
		return false;
	for (size_t i = 0; i < record->num_parts; i++)
		if (!is_text(&record->name[i], sizeof(record->name_text[i])))
			return false;
	return true;
}

/* Returns whether the string is complete. */
static bool append_string(struct text *text, const struct wire_v8_text *string,
			  const uint8_t *bytes)
{
	size_t num_characters = string->num_bytes / (1u + string->is_wide);

	if (string->is_wide)
		characters_append_utf16(text, bytes, num_characters);
	else
		characters_append_unicode(text, bytes, num_characters, 1);
	return num_characters == string->length;
}

static int intern_text(struct v8_functions *functions, const char **ret)
{
	uint32_t num_strings = string_table_get_count(functions->strings);
	const struct text *text = &functions->text;
	uint32_t id;
	int err;

	if (text->failed)
		return -ENOMEM;
	err = string_table_add(functions->strings, text->length ? text->data : "", text->length,
			       &id);
	if (err)
		return err;
	if (id == num_strings)
		functions->strings_size += text->length;
	*ret = string_table_get(functions->strings, id);
	return 0;
}

/* The parts up to the first incomplete one. */
static int intern_name(struct v8_functions *functions, const struct wire_v8_function *record,
		       const char **ret)
{
	bool is_whole = true;

	text_truncate(&functions->text, 0);
	for (size_t i = 0; i < record->num_parts && is_whole; i++)
		is_whole = append_string(&functions->text, &record->name[i], record->name_text[i]);
	if (functions->text.length && (!is_whole || record->has_more))
		text_append_string(&functions->text, "…");
	return intern_text(functions, ret);
}

static int intern_file(struct v8_functions *functions, const struct wire_v8_function *record,
		       const char **ret)
{
	text_truncate(&functions->text, 0);
	if (!append_string(&functions->text, &record->file, record->file_text) &&
	    functions->text.length)
		text_append_string(&functions->text, "…");
	return intern_text(functions, ret);
}

/* Add the position of its start, if that is unknown so far. */
static void add_place(struct v8_function *known, const struct v8_function *function)
{
	if (known->position == WIRE_V8_NO_POSITION)
		known->position = function->position;
	if (!known->line && (function->line || known->source == V8_NO_SOURCE)) {
		known->line = function->line;
		known->source = function->source;
		known->first_line = function->first_line;
	}
}

int v8_functions_add(struct v8_functions *functions, const struct wire_v8_function *record,
		     uint32_t source)
{
	struct v8_function function = {
		.generation = record->generation,
		.address = record->shared,
		.pid = record->pid,
		.fingerprint = record->fingerprint,
		.line = record->line,
		.position = record->position,
		.source = source,
		.first_line = (int32_t)record->first_line,
		.is_builtin = record->is_builtin,
		.is_name_missing = !record->num_parts && record->has_more,
	};
	uint32_t number = v8_function_table_find(&functions->table, &function);
	struct v8_function *known =
		number == HASH_INDEX_NONE ? NULL : &functions->table.items[number];
	int err;

	if (!is_valid(record))
		return -EINVAL;
	if (known)
		add_place(known, &function);
	if (known && !known->is_name_missing && (known->file[0] || known->is_builtin))
		return 0;
	if (functions->table.length >= V8_FUNCTIONS_MAX ||
	    functions->strings_size >= V8_FUNCTIONS_TEXT_MAX)
		return -ENOSPC;
	err = intern_name(functions, record, &function.name);
	if (err)
		return err;
	err = intern_file(functions, record, &function.file);
	if (err)
		return err;
	if (!known)
		return v8_function_table_add(&functions->table, &function, &number);
	/*
	 * Data that was unreadable the first time, since its page was missing, may arrive with a
	 * later record.
	 */
	if (known->is_name_missing) {
		known->name = function.name;
		known->is_name_missing = function.is_name_missing;
	}
	if (!known->file[0])
		known->file = function.file;
	known->is_builtin |= function.is_builtin;
	return 0;
}

const struct v8_function *v8_functions_find(const struct v8_functions *functions, uint32_t pid,
					    uint64_t generation, uint64_t address,
					    uint32_t fingerprint)
{
	uint32_t number = v8_function_table_find(&functions->table,
						 &(struct v8_function){.pid = pid,
								       .generation = generation,
								       .address = address,
								       .fingerprint = fingerprint});

	return number == HASH_INDEX_NONE ? NULL : &functions->table.items[number];
}
