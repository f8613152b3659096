/*
 * Functions are never removed: a sample may refer to one much later, and reused addresses have
 * another fingerprint.
 */
#include "runtime/script_function.h"

#include <errno.h>
#include <stdlib.h>

#include "base/intern.h"
#include "base/text.h"
#include "base/utf8.h"
#include "profile/string_table.h"
#include "runtime/characters.h"

INTERN_TABLE(script_function_table, struct script_function, pid, generation, address, fingerprint);

struct script_functions {
	struct script_function_table table;
	struct string_table *strings; /* names and files: all functions of a file have its name */
	size_t strings_size;          /* bytes */
	struct text text;             /* a name that is being made */
};

struct script_functions *script_functions_new(void)
{
	struct script_functions *functions = calloc(1, sizeof(*functions));

	if (!functions)
		return NULL;
	functions->strings = string_table_new();
	if (!functions->strings) {
		free(functions);
		return NULL;
	}
	return functions;
}

void script_functions_free(struct script_functions *functions)
{
	if (!functions)
		return;
	script_function_table_release(&functions->table);
	string_table_free(functions->strings);
	text_release(&functions->text);
	free(functions);
}

static bool is_text(const struct wire_script_text *text, size_t max_bytes)
{
	return text->num_bytes <= max_bytes && text->num_bytes <= text->length;
}

static bool is_valid(const struct wire_script_function *record)
{
	return record->code_kind < NUM_WIRE_SCRIPT_CODES &&
	       is_text(&record->class_name, sizeof(record->class_text)) &&
	       is_text(&record->name, sizeof(record->name_text)) &&
	       is_text(&record->file, sizeof(record->file_text));
}

static bool is_utf8(const uint8_t *bytes, size_t num_bytes)
{
	for (size_t i = 0; i < num_bytes;) {
		uint32_t code_point;
		size_t size = utf8_decode((const char *)bytes + i, num_bytes - i, &code_point);

		if (utf8_is_broken(code_point, size))
			return false;
		i += size;
	}
	return true;
}

/* A sent string may end within a character. may_be_latin_1: if it is not UTF-8. */
static void append_string(struct text *text, const struct wire_script_text *string,
			  const uint8_t *bytes, bool may_be_latin_1)
{
	size_t num_bytes = string->num_bytes;

	if (num_bytes < string->length) {
		while (num_bytes && (bytes[num_bytes - 1] & 0xc0) == 0x80)
			num_bytes--;
		if (num_bytes && bytes[num_bytes - 1] >= 0xc0)
			num_bytes--;
	}
	if (may_be_latin_1 && !is_utf8(bytes, num_bytes))
		characters_append_unicode(text, bytes, num_bytes, 1);
	else
		characters_append_utf8(text, bytes, num_bytes);
	if (num_bytes < string->length && string->num_bytes)
		text_append_string(text, "…");
}

static int intern_text(struct script_functions *functions, const char **ret)
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

/*
 * A function without its own name is not named by its class. Perl has names in Latin-1 if that has
 * all of their characters.
 */
static int intern_name(struct script_functions *functions,
		       const struct wire_script_function *record, const char **ret)
{
	bool may_be_latin_1 = record->runtime == WIRE_RUNTIME_PERL;

	text_truncate(&functions->text, 0);
	if (record->name.num_bytes && record->class_name.num_bytes) {
		append_string(&functions->text, &record->class_name, record->class_text,
			      may_be_latin_1);
		text_append_string(&functions->text, "::");
	}
	append_string(&functions->text, &record->name, record->name_text, may_be_latin_1);
	return intern_text(functions, ret);
}

static int intern_file(struct script_functions *functions,
		       const struct wire_script_function *record, const char **ret)
{
	text_truncate(&functions->text, 0);
	append_string(&functions->text, &record->file, record->file_text, false);
	return intern_text(functions, ret);
}

int script_functions_add(struct script_functions *functions,
			 const struct wire_script_function *record)
{
	struct script_function function = {
		.generation = record->generation,
		.address = record->code,
		.pid = record->pid,
		.fingerprint = record->fingerprint,
		.code_kind = (enum wire_script_code)record->code_kind,
	};
	uint32_t number = script_function_table_find(&functions->table, &function);
	struct script_function *known =
		number == HASH_INDEX_NONE ? NULL : &functions->table.items[number];
	int err;

	if (!is_valid(record))
		return -EINVAL;
	if (known && known->name[0] && known->file[0])
		return 0;
	if (functions->table.length >= SCRIPT_FUNCTIONS_MAX ||
	    functions->strings_size >= SCRIPT_FUNCTIONS_TEXT_MAX)
		return -ENOSPC;
	err = intern_name(functions, record, &function.name);
	if (err)
		return err;
	err = intern_file(functions, record, &function.file);
	if (err)
		return err;
	if (!known)
		return script_function_table_add(&functions->table, &function, &number);
	/*
	 * Text that could not be read the first time, as its page was absent, may be in a later
	 * record.
	 */
	if (!known->name[0])
		known->name = function.name;
	if (!known->file[0])
		known->file = function.file;
	return 0;
}

const struct script_function *script_functions_find(const struct script_functions *functions,
						    uint32_t pid, uint64_t generation,
						    uint64_t address, uint32_t fingerprint)
{
	uint32_t number = script_function_table_find(
		&functions->table, &(struct script_function){.pid = pid,
							     .generation = generation,
							     .address = address,
							     .fingerprint = fingerprint});

	return number == HASH_INDEX_NONE ? NULL : &functions->table.items[number];
}
