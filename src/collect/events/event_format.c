#include "collect/events/event_format.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The kernel keeps records in a page. */
#define MAX_RECORD_BYTES 4096

void event_format_release(struct event_format *format)
{
	array_release(&format->fields);
}

static bool has(const char *text, size_t length, const char *word)
{
	return memmem(text, length, word, strlen(word));
}

static size_t count(const char *text, size_t length, char c)
{
	size_t found = 0;

	for (size_t i = 0; i < length; i++)
		found += text[i] == c;
	return found;
}

/*
 * The kernel distinguishes text from numbers by the words of the type, too: an array of char is
 * text, and a pointer to char points to text. Other arrays with the size of a number are compared
 * as a number: "__u8 saddr[4]".
 */
static enum field_kind find_kind(const char *type, size_t length, bool is_array, size_t size)
{
	bool is_char = has(type, length, "char");
	size_t num_stars = count(type, length, '*');

	if (has(type, length, "__data_loc"))
		return is_char ? FIELD_DATA_LOC : FIELD_OTHER;
	if (has(type, length, "__rel_loc"))
		return is_char ? FIELD_REL_LOC : FIELD_OTHER;
	if (is_char && is_array)
		return FIELD_ARRAY;
	if (is_char && num_stars)
		return num_stars == 1 && size == 8 ? FIELD_POINTER : FIELD_OTHER;
	return size == 1 || size == 2 || size == 4 || size == 8 ? FIELD_NUMBER : FIELD_OTHER;
}

/*
 * A declaration: the name is its last word, without the brackets of an array. False when it has
 * none.
 */
static bool parse_declaration(const char *declaration, size_t length, struct event_field *field)
{
	bool is_array = memchr(declaration, '[', length);
	size_t end = length;
	size_t start;

	if (end && declaration[end - 1] == ']')
		while (end && declaration[end] != '[')
			end--;
	start = end;
	while (start &&
	       (isalnum((unsigned char)declaration[start - 1]) || declaration[start - 1] == '_'))
		start--;
	if (start == end || !start)
		return false;
	field->name = declaration + start;
	field->name_length = end - start;
	field->kind = find_kind(declaration, start, is_array, field->size);
	field->is_amount =
		field->kind == FIELD_NUMBER && !is_array && !memchr(declaration, '*', length);
	return true;
}

int event_format_parse(const char *text, struct event_format *ret)
{
	const char *line = text;

	while ((line = strstr(line, "field:"))) {
		const char *declaration = line + strlen("field:");
		size_t length = strcspn(declaration, ";\n");
		unsigned offset, size, is_signed;
		struct event_field field;
		struct event_field *added;

		line = declaration + length;
		if (sscanf(line, "; offset:%u; size:%u; signed:%u;", &offset, &size, &is_signed) !=
			    3 ||
		    offset > MAX_RECORD_BYTES || size > MAX_RECORD_BYTES)
			continue;
		field = (struct event_field){
			.offset = (uint16_t)offset, .size = (uint16_t)size, .is_signed = is_signed};
		if (!parse_declaration(declaration, length, &field))
			continue;
		added = array_add(&ret->fields);
		if (!added)
			return -ENOMEM;
		*added = field;
	}
	return 0;
}

const struct event_field *event_format_find(const struct event_format *format, const char *name,
					    size_t name_length)
{
	array_for_each (&format->fields, field)
		if (field->name_length == name_length && !memcmp(field->name, name, name_length))
			return field;
	return NULL;
}
