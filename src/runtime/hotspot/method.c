/*
 * Methods are never removed: a sample that refers to one may arrive long after it, and reused
 * addresses have another fingerprint.
 */
#include "runtime/hotspot_method.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/text.h"
#include "profile/string_table.h"
#include "runtime/characters.h"
#include "runtime/hotspot/lines.h"

INTERN_TABLE(hotspot_method_table, struct hotspot_method, pid, generation, code, fingerprint);

struct hotspot_methods {
	struct hotspot_method_table table;
	/*
	 * Names, files, and line tables: the same ones are sent for a method, for each compiled
	 * code of it, and for each process.
	 */
	struct string_table *strings;
	size_t strings_size; /* bytes */
	struct text text;    /* a name that is being made */
};

struct hotspot_methods *hotspot_methods_new(void)
{
	struct hotspot_methods *methods = calloc(1, sizeof(*methods));

	if (!methods)
		return NULL;
	methods->strings = string_table_new();
	if (!methods->strings) {
		free(methods);
		return NULL;
	}
	return methods;
}

void hotspot_methods_free(struct hotspot_methods *methods)
{
	if (!methods)
		return;
	hotspot_method_table_release(&methods->table);
	string_table_free(methods->strings);
	text_release(&methods->text);
	free(methods);
}

/*
 * Whether the record of a string is consistent: it fits its buffer, and is not longer than the
 * string.
 */
static bool is_text(const struct wire_hotspot_text *text, size_t max_bytes)
{
	return text->num_bytes <= max_bytes && text->num_bytes <= text->length;
}

static void append_string(struct text *text, const uint8_t *bytes, size_t num_bytes,
			  bool is_truncated)
{
	if (is_truncated)
		num_bytes = characters_trim_modified_utf8(bytes, num_bytes);
	characters_append_modified_utf8(text, bytes, num_bytes);
	if (is_truncated)
		text_append_string(text, "…");
}

/*
 * The suffix of a hidden class's name: an address, as in Main$$Lambda+0x00007f2c18003200.
 *
 * is_truncated  the name is cut off, so part of a suffix counts as one
 *
 * Returns the start of the suffix, or the length of the name.
 */
static size_t find_hidden_suffix(const uint8_t *name, size_t length, bool is_truncated)
{
	const uint8_t *plus = memrchr(name, '+', length);
	size_t start = plus ? (size_t)(plus - name) : length;
	size_t i = start + 1;

	for (const char *prefix = "0x"; i < length && *prefix; i++, prefix++)
		if (name[i] != (uint8_t)*prefix)
			return length;
	while (i < length && is_hex_digit((char)name[i]))
		i++;
	if (i < length || (!is_truncated && length < start + sizeof("+0x")))
		return length;
	return start;
}

static bool has_prefix(const uint8_t *name, size_t length, const char *prefix)
{
	return length >= strlen(prefix) && memcmp(name, prefix, strlen(prefix)) == 0;
}

static bool has_suffix(const uint8_t *name, size_t length, const char *suffix)
{
	return length >= strlen(suffix) &&
	       memcmp(name + length - strlen(suffix), suffix, strlen(suffix)) == 0;
}

/*
 * Find the JDK's counter in the names of generated classes: lambdas up to JDK 20, and classes for
 * reflection up to JDK 21.
 */
static size_t find_counter(const uint8_t *name, size_t length)
{
	size_t start = length;

	while (start && name[start - 1] >= '0' && name[start - 1] <= '9')
		start--;
	if (start == length)
		return length;
	if (has_suffix(name, start, "$$Lambda$"))
		return start - 1;
	if (has_prefix(name, start, "jdk/internal/reflect/Generated") &&
	    has_suffix(name, start, "Accessor"))
		return start;
	return length;
}

static void append_class(struct text *text, const struct wire_hotspot_text *name,
			 const uint8_t *bytes)
{
	bool is_truncated = name->num_bytes < name->length;
	size_t length = find_hidden_suffix(bytes, name->num_bytes, is_truncated);
	size_t start = text->length;

	if (length < name->num_bytes)
		is_truncated = false;
	if (!is_truncated)
		length = find_counter(bytes, length);
	append_string(text, bytes, length, is_truncated);
	for (size_t i = start; i < text->length; i++)
		if (text->data[i] == '/')
			text->data[i] = '.';
}

static int intern_bytes(struct hotspot_methods *methods, const void *bytes, size_t size,
			const char **ret)
{
	uint32_t num_strings = string_table_get_count(methods->strings);
	uint32_t id;
	int err = string_table_add(methods->strings, bytes, size, &id);

	if (err)
		return err;
	if (id == num_strings)
		methods->strings_size += size;
	*ret = string_table_get(methods->strings, id);
	return 0;
}

static int intern_text(struct hotspot_methods *methods, const char **ret)
{
	const struct text *text = &methods->text;

	if (text->failed)
		return -ENOMEM;
	return intern_bytes(methods, text->length ? text->data : "", text->length, ret);
}

/*
 * A method's name says little without its class, and a class alone is not a method. A stub has no
 * class.
 */
static int intern_name(struct hotspot_methods *methods, const struct wire_hotspot_method *record,
		       const char **ret)
{
	const struct wire_hotspot_text *name = &record->name;

	text_truncate(&methods->text, 0);
	if (record->method && (!record->class_name.num_bytes || !name->num_bytes))
		return intern_text(methods, ret);
	if (record->method) {
		append_class(&methods->text, &record->class_name, record->class_text);
		text_append_char(&methods->text, '.');
	}
	append_string(&methods->text, record->name_text, name->num_bytes,
		      name->num_bytes < name->length);
	return intern_text(methods, ret);
}

static int intern_file(struct hotspot_methods *methods, const struct wire_hotspot_method *record,
		       const char **ret)
{
	const struct wire_hotspot_text *file = &record->file;

	text_truncate(&methods->text, 0);
	if (file->num_bytes)
		append_string(&methods->text, record->file_text, file->num_bytes,
			      file->num_bytes < file->length);
	return intern_text(methods, ret);
}

static bool is_complete(const struct hotspot_method *method)
{
	return method->name[0] && method->file[0] && method->num_line_bytes;
}

/*
 * Data that was unreadable the first time, since its page was missing, may arrive with a later
 * record.
 */
static void complete(struct hotspot_method *known, const struct hotspot_method *method)
{
	if (!known->name[0])
		known->name = method->name;
	if (!known->file[0])
		known->file = method->file;
	if (known->num_line_bytes)
		return;
	known->line_table = method->line_table;
	known->num_line_bytes = method->num_line_bytes;
	known->code_bytes = method->code_bytes;
	known->major = method->major;
	known->first_line = method->first_line;
}

int hotspot_methods_add(struct hotspot_methods *methods, const struct wire_hotspot_method *record)
{
	struct hotspot_method method = {
		.generation = record->generation,
		.code = record->code,
		.pid = record->pid,
		.fingerprint = record->fingerprint,
		.method = record->method,
		.compile_id = record->compile_id,
		.code_bytes = record->code_bytes,
		.major = record->major,
	};
	uint32_t number = hotspot_method_table_find(&methods->table, &method);
	bool is_known = number != HASH_INDEX_NONE;
	const char *lines;
	size_t num_lines;
	int err;

	if (!is_text(&record->class_name, sizeof(record->class_text)) ||
	    !is_text(&record->name, sizeof(record->name_text)) ||
	    !is_text(&record->file, sizeof(record->file_text)) ||
	    record->num_line_bytes > sizeof(record->lines))
		return -EINVAL;
	if (is_known && is_complete(&methods->table.items[number]))
		return 0;
	if ((!is_known && methods->table.length >= HOTSPOT_METHODS_MAX) ||
	    methods->strings_size >= HOTSPOT_METHODS_TEXT_MAX)
		return -ENOSPC;

	err = intern_name(methods, record, &method.name);
	if (err)
		return err;
	err = intern_file(methods, record, &method.file);
	if (err)
		return err;
	/*
	 * Records have room for the longest possible table: bytes after its end would differ each
	 * time.
	 */
	num_lines = hotspot_lines_measure(record->lines, record->num_line_bytes, record->major);
	method.num_line_bytes = num_lines ? (uint16_t)num_lines : record->num_line_bytes;
	err = intern_bytes(methods, record->lines, method.num_line_bytes, &lines);
	if (err)
		return err;
	method.line_table = (const uint8_t *)lines;
	method.first_line = hotspot_method_get_line(&method, 0);
	if (!is_known)
		return hotspot_method_table_add(&methods->table, &method, &number);
	complete(&methods->table.items[number], &method);
	return 0;
}

const struct hotspot_method *hotspot_methods_find(const struct hotspot_methods *methods,
						  uint32_t pid, uint64_t generation, uint64_t code,
						  uint32_t fingerprint)
{
	uint32_t number =
		hotspot_method_table_find(&methods->table, &(struct hotspot_method){
								   .pid = pid,
								   .generation = generation,
								   .code = code,
								   .fingerprint = fingerprint,
							   });

	return number == HASH_INDEX_NONE ? NULL : &methods->table.items[number];
}

uint32_t hotspot_method_get_line(const struct hotspot_method *method, uint32_t bytecode)
{
	if (bytecode >= method->code_bytes)
		return 0;
	return hotspot_lines_find(method->line_table, method->num_line_bytes, method->major,
				  bytecode);
}
