/*
 * JSON as a stream of tokens, and strings written as JSON.
 *
 *	struct json json = json_of(data, size);
 *	enum json_token token;
 *	while ((token = json_next(&json)) != JSON_END && token != JSON_FAILED) …
 *	json_release(&json);
 *
 * The grammar of RFC 8259 is checked on the way; nesting is not limited and needs a byte per level.
 * No token is kept: a document of any size is read in the memory of its longest escaped string.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/text.h"

enum json_token {
	JSON_END,    /* after the document's only value; also at each later call */
	JSON_FAILED, /* see `fault` and `offset`; also at each later call */
	JSON_OBJECT,
	JSON_OBJECT_END,
	JSON_ARRAY,
	JSON_ARRAY_END,
	JSON_KEY, /* in an object, before each value; text */
	JSON_STRING,
	JSON_NUMBER, /* text, as it is written */
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL,
};

enum json_state {
	JSON_BEFORE_VALUE,
	JSON_BEFORE_VALUE_OR_END, /* in a new array */
	JSON_BEFORE_KEY,
	JSON_BEFORE_KEY_OR_END, /* in a new object */
	JSON_AFTER_VALUE,
	JSON_HAS_FAILED,
};

struct json {
	/* Position of the last token, or of the failure, in bytes. */
	size_t offset;
	/* Borrowed until the next token; unescaped; may contain NUL bytes and broken UTF-8. */
	const char *text;
	size_t length;
	const char *fault; /* "expected …", or "out of memory" */

	/* Private. */
	const uint8_t *data;
	size_t size;
	size_t next;
	enum json_state state;
	ARRAY(char) nesting; /* '{' or '[' */
	struct text buffer;
};

/* The data is borrowed. A UTF-8 byte order mark is skipped. */
struct json json_of(const void *data, size_t size);
/* Read a single value at an offset; offsets still count from the start of the data. */
struct json json_at(const void *data, size_t size, size_t offset);
void json_release(struct json *json);

enum json_token json_next(struct json *json);

/* After JSON_OBJECT or JSON_ARRAY: go to its end. After any other token: nothing. */
void json_skip(struct json *json, enum json_token token);
/* After JSON_KEY: skip its value. */
void json_skip_value(struct json *json);

/* After JSON_KEY: replace the text by the value, a string; empty for a value of another type. */
void json_take_string(struct json *json, struct text *text);
/* After JSON_KEY: the value, an integer from 0 to 2^64 - 1, perhaps in quotes; 0 for any other. */
uint64_t json_take_u64(struct json *json);

/* Number of open objects and arrays. */
static inline size_t json_get_depth(const struct json *json)
{
	return json->nesting.length;
}

/* Whether a value is a number, or a string that contains only one: some producers quote them. */
bool json_is_number(const struct json *json, enum json_token token);

/* Whether a JSON_KEY or JSON_STRING is this text. */
bool json_is(const struct json *json, const char *text);

/* Only if json_is_number(). False: not an integer from 0 to 2^64 - 1. */
bool json_get_u64(const struct json *json, uint64_t *ret);
double json_get_double(const struct json *json);

/* Append a string in quotes; bytes that are not UTF-8 become U+FFFD. */
void json_append_string(struct text *text, const char *string, size_t length);

#endif
