/*
 * Code objects are never removed: a sample that refers to one may arrive long after it, and reused
 * addresses have another fingerprint.
 */
#include "runtime/python_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/text.h"
#include "profile/string_table.h"
#include "runtime/characters.h"
#include "runtime/python/lines.h"

INTERN_TABLE(python_code_table, struct python_code, pid, generation, address, fingerprint);

struct python_codes {
	struct python_code_table table;
	/*
	 * Names, files, and line tables: the same ones are sent for each forked process, and files
	 * for every function.
	 */
	struct string_table *strings;
	size_t strings_size; /* bytes */
	struct text text;    /* a name that is being made */
};

struct python_codes *python_codes_new(void)
{
	struct python_codes *codes = calloc(1, sizeof(*codes));

	if (!codes)
		return NULL;
	codes->strings = string_table_new();
	if (!codes->strings) {
		free(codes);
		return NULL;
	}
	return codes;
}

void python_codes_free(struct python_codes *codes)
{
	if (!codes)
		return;
	python_code_table_release(&codes->table);
	string_table_free(codes->strings);
	text_release(&codes->text);
	free(codes);
}

/*
 * Whether the record of a string is consistent: it fits its buffer, and consists of whole
 * characters.
 */
static bool is_text(const struct wire_python_text *text, size_t max_bytes)
{
	if (text->num_bytes > max_bytes)
		return false;
	return !text->num_bytes || text->kind == 1 || text->kind == 2 || text->kind == 4;
}

static void append_string(struct text *text, const struct wire_python_text *string,
			  const uint8_t *bytes)
{
	size_t num_characters = string->num_bytes ? string->num_bytes / string->kind : 0;

	if (num_characters > string->length)
		num_characters = string->length;
	characters_append_unicode(text, bytes, num_characters, string->kind);
	if (num_characters && num_characters < string->length)
		text_append_string(text, "…");
}

static int intern_bytes(struct python_codes *codes, const void *bytes, size_t size,
			const char **ret)
{
	uint32_t num_strings = string_table_get_count(codes->strings);
	uint32_t id;
	int err = string_table_add(codes->strings, bytes, size, &id);

	if (err)
		return err;
	if (id == num_strings)
		codes->strings_size += size;
	*ret = string_table_get(codes->strings, id);
	return 0;
}

static int intern_string(struct python_codes *codes, const struct wire_python_text *string,
			 const uint8_t *bytes, const char **ret)
{
	text_truncate(&codes->text, 0);
	append_string(&codes->text, string, bytes);
	if (codes->text.failed)
		return -ENOMEM;
	return intern_bytes(codes, codes->text.length ? codes->text.data : "", codes->text.length,
			    ret);
}

static bool is_complete(const struct python_code *code)
{
	return code->name[0] && code->file[0] && code->num_line_bytes;
}

/*
 * Data that was unreadable the first time, since its page was missing, may arrive with a later
 * record.
 */
static void complete(struct python_code *known, const struct python_code *code)
{
	if (!known->name[0])
		known->name = code->name;
	if (!known->file[0])
		known->file = code->file;
	if (!known->num_line_bytes) {
		known->line_table = code->line_table;
		known->num_line_bytes = code->num_line_bytes;
		known->is_line_table_cut = code->is_line_table_cut;
	}
}

int python_codes_add(struct python_codes *codes, const struct wire_python_code *record)
{
	struct python_code code = {
		.generation = record->generation,
		.address = record->code,
		.pid = record->pid,
		.fingerprint = record->fingerprint,
		.first_line = record->first_line <= INT32_MAX ? record->first_line : 0,
		.num_line_bytes = record->num_line_bytes,
		.is_line_table_cut = record->line_bytes > record->num_line_bytes,
		.minor = record->minor <= UINT8_MAX ? (uint8_t)record->minor : UINT8_MAX,
	};
	uint32_t number = python_code_table_find(&codes->table, &code);
	const char *lines;
	int err;

	if (!is_text(&record->name, sizeof(record->name_text)) ||
	    !is_text(&record->file, sizeof(record->file_text)) ||
	    record->num_line_bytes > sizeof(record->lines))
		return -EINVAL;
	if (number != HASH_INDEX_NONE && is_complete(&codes->table.items[number]))
		return 0;
	if (codes->table.length >= PYTHON_CODES_MAX || codes->strings_size >= PYTHON_CODES_TEXT_MAX)
		return -ENOSPC;

	err = intern_string(codes, &record->name, record->name_text, &code.name);
	if (err)
		return err;
	err = intern_string(codes, &record->file, record->file_text, &code.file);
	if (err)
		return err;
	err = intern_bytes(codes, record->lines, record->num_line_bytes, &lines);
	if (err)
		return err;
	code.line_table = (const uint8_t *)lines;
	if (number == HASH_INDEX_NONE)
		return python_code_table_add(&codes->table, &code, &number);
	complete(&codes->table.items[number], &code);
	return 0;
}

const struct python_code *python_codes_find(const struct python_codes *codes, uint32_t pid,
					    uint64_t generation, uint64_t address,
					    uint32_t fingerprint)
{
	uint32_t number = python_code_table_find(&codes->table,
						 &(struct python_code){.pid = pid,
								       .generation = generation,
								       .address = address,
								       .fingerprint = fingerprint});

	return number == HASH_INDEX_NONE ? NULL : &codes->table.items[number];
}

uint32_t python_code_get_line(const struct python_code *code, uint32_t instruction)
{
	struct python_line_table table = {
		.bytes = code->line_table,
		.num_bytes = code->num_line_bytes,
		.first_line = code->first_line,
		.minor = code->minor,
		.is_cut = code->is_line_table_cut,
	};

	if (instruction & WIRE_PYTHON_NOT_STARTED)
		return code->first_line;
	return python_line_table_find(&table, instruction & ~WIRE_RUNTIME_ENTRY_FRAME);
}
