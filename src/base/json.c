/*
 * The state tells which tokens may follow, the nesting which brackets are open. There is no
 * recursion: a document of a million brackets costs a million bytes and no stack. leave() never
 * finds the nesting empty: json_next() calls it only in a state that enter() has made, or after a
 * value in brackets.
 *
 * A token without escapes is borrowed from the data. Only a string with a backslash is copied, from
 * its start, into one shared buffer: hence "borrowed until the next token".
 *
 * A fault is final. The offset stays at the fault, and every later call fails, so that a reader may
 * check the result once, at the end of its loop.
 *
 * UTF-8 is not checked: names in traces are bytes of a foreign program, and one broken letter is
 * better than a refused file. Writers replace broken bytes (json_append_string()).
 */
#include "base/json.h"

#include <stdio.h>

#include "base/utf8.h"

struct json json_of(const void *data, size_t size)
{
	struct json json = {.data = data, .size = size};

	if (size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
		json.next = 3;
	return json;
}

struct json json_at(const void *data, size_t size, size_t offset)
{
	return (struct json){.data = data, .size = size, .next = offset};
}

void json_release(struct json *json)
{
	array_release(&json->nesting);
	text_release(&json->buffer);
}

static enum json_token refuse(struct json *json, size_t offset, const char *fault)
{
	json->offset = offset;
	json->fault = fault;
	json->state = JSON_HAS_FAILED;
	return JSON_FAILED;
}

static void skip_blanks(struct json *json)
{
	while (json->next < json->size) {
		uint8_t c = json->data[json->next];

		if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
			break;
		json->next++;
	}
}

/* The next byte; 0 at the end, since no token starts with 0. */
static uint8_t peek(const struct json *json)
{
	return json->next < json->size ? json->data[json->next] : 0;
}

static bool enter(struct json *json, char bracket)
{
	char *added = array_add(&json->nesting);

	if (added)
		*added = bracket;
	json->next++;
	json->state = bracket == '{' ? JSON_BEFORE_KEY_OR_END : JSON_BEFORE_VALUE_OR_END;
	return added;
}

static enum json_token leave(struct json *json)
{
	char bracket = json->nesting.items[--json->nesting.length];

	json->next++;
	json->state = JSON_AFTER_VALUE;
	return bracket == '{' ? JSON_OBJECT_END : JSON_ARRAY_END;
}

/* hex_read() stops at the first byte that is no digit, so that fewer than four are a fault. */
static bool parse_hex(const struct json *json, size_t offset, uint32_t *ret)
{
	uint64_t value;

	if (json->size - offset < 4 || hex_read((const char *)json->data + offset, 4, &value) != 4)
		return false;
	*ret = (uint32_t)value;
	return true;
}

/* \uXXXX, or two of them for a surrogate pair; a lone surrogate becomes U+FFFD. */
static bool append_escaped_unit(struct json *json)
{
	uint32_t high;
	uint32_t low;

	if (!parse_hex(json, json->next, &high))
		return false;
	json->next += 4;
	if (high >= 0xd800 && high < 0xdc00 && json->size - json->next >= 6 &&
	    json->data[json->next] == '\\' && json->data[json->next + 1] == 'u' &&
	    parse_hex(json, json->next + 2, &low) && low >= 0xdc00 && low < 0xe000) {
		json->next += 6;
		high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	} else if (high >= 0xd800 && high < 0xe000) {
		high = UTF8_REPLACEMENT_CODE_POINT;
	}
	utf8_append_code_point(&json->buffer, high);
	return true;
}

/* strchr() also finds the NUL at the end, so check for a NUL byte in the data first. */
static bool append_escaped(struct json *json)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char meanings[] = "\"\\/\b\f\n\r\t";
	uint8_t c = peek(json);
	const char *letter = c ? strchr(letters, c) : NULL;

	json->next += json->next < json->size;
	if (c == 'u')
		return append_escaped_unit(json);
	if (letter)
		text_append_char(&json->buffer, meanings[letter - letters]);
	return letter;
}

/* A string with escapes, from the first of them on. */
static enum json_token read_escaped(struct json *json, size_t start, enum json_token token)
{
	text_truncate(&json->buffer, 0);
	text_append(&json->buffer, json->data + start, json->next - start);
	for (;;) {
		size_t plain = json->next;

		while (json->next < json->size && json->data[json->next] != '"' &&
		       json->data[json->next] != '\\' && json->data[json->next] >= ' ')
			json->next++;
		text_append(&json->buffer, json->data + plain, json->next - plain);
		if (peek(json) == '"')
			break;
		if (peek(json) != '\\')
			return refuse(json, json->next, "expected the end of a string");
		json->next++;
		if (!append_escaped(json))
			return refuse(json, json->next, "expected an escaped character");
	}
	json->next++;
	if (json->buffer.failed)
		return refuse(json, start, "out of memory");
	json->text = json->buffer.data;
	json->length = json->buffer.length;
	return token;
}

/*
 * Control characters end the string as a fault (RFC 8259, section 7). So a missing quote is
 * reported on its own line, and not at the next quote.
 */
static enum json_token read_string(struct json *json, enum json_token token)
{
	size_t start = ++json->next;

	while (json->next < json->size && json->data[json->next] >= ' ') {
		uint8_t c = json->data[json->next];

		if (c == '"') {
			json->text = (const char *)json->data + start;
			json->length = json->next++ - start;
			return token;
		}
		if (c == '\\')
			return read_escaped(json, start, token);
		json->next++;
	}
	return refuse(json, json->next, "expected the end of a string");
}

static bool skip_digits(struct json *json)
{
	size_t start = json->next;

	while (peek(json) >= '0' && peek(json) <= '9')
		json->next++;
	return json->next > start;
}

/*
 * The number is kept as text. Trace formats have 64-bit ids and times, which a double would round;
 * callers that want a double ask for one.
 */
static enum json_token read_number(struct json *json)
{
	size_t start = json->next;
	bool good;

	json->next += peek(json) == '-';
	if (peek(json) == '0') {
		json->next++;
		good = true;
	} else {
		good = skip_digits(json);
	}
	if (good && peek(json) == '.') {
		json->next++;
		good = skip_digits(json);
	}
	if (good && (peek(json) | 0x20) == 'e') {
		json->next++;
		json->next += peek(json) == '+' || peek(json) == '-';
		good = skip_digits(json);
	}
	if (!good)
		return refuse(json, json->next, "expected a digit");
	json->text = (const char *)json->data + start;
	json->length = json->next - start;
	return JSON_NUMBER;
}

/* Does not check the byte behind the word: "nullx" is null, and a fault in the next call. */
static enum json_token read_word(struct json *json)
{
	static const struct {
		const char *text;
		enum json_token token;
	} words[] = {{"true", JSON_TRUE}, {"false", JSON_FALSE}, {"null", JSON_NULL}};

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		size_t length = strlen(words[i].text);

		if (json->size - json->next >= length &&
		    memcmp(json->data + json->next, words[i].text, length) == 0) {
			json->next += length;
			return words[i].token;
		}
	}
	return refuse(json, json->next, "expected a value");
}

static enum json_token read_value(struct json *json)
{
	uint8_t c = peek(json);

	if (c == '{' || c == '[') {
		if (!enter(json, (char)c))
			return refuse(json, json->next, "out of memory");
		return c == '{' ? JSON_OBJECT : JSON_ARRAY;
	}
	json->state = JSON_AFTER_VALUE;
	if (c == '"')
		return read_string(json, JSON_STRING);
	if (c == '-' || (c >= '0' && c <= '9'))
		return read_number(json);
	return read_word(json);
}

static enum json_token read_key(struct json *json)
{
	enum json_token token;
	size_t start = json->next;

	if (peek(json) != '"')
		return refuse(json, json->next, "expected a key in quotes");
	token = read_string(json, JSON_KEY);
	if (token == JSON_FAILED)
		return token;
	skip_blanks(json);
	if (peek(json) != ':')
		return refuse(json, json->next, "expected ':' after a key");
	json->next++;
	json->offset = start;
	json->state = JSON_BEFORE_VALUE;
	return token;
}

/* After a value: a comma and the next value, or the end of the array or object. */
static enum json_token read_next(struct json *json)
{
	char bracket;

	if (!json->nesting.length)
		return json->next == json->size
			       ? JSON_END
			       : refuse(json, json->next, "expected the end of the text");
	bracket = json->nesting.items[json->nesting.length - 1];
	if (peek(json) == (bracket == '{' ? '}' : ']'))
		return leave(json);
	if (peek(json) != ',')
		return refuse(json, json->next,
			      bracket == '{' ? "expected ',' or '}'" : "expected ',' or ']'");
	json->next++;
	skip_blanks(json);
	json->offset = json->next;
	return bracket == '{' ? read_key(json) : read_value(json);
}

enum json_token json_next(struct json *json)
{
	skip_blanks(json);
	if (json->state != JSON_HAS_FAILED)
		json->offset = json->next;
	switch (json->state) {
	case JSON_BEFORE_VALUE_OR_END:
		return peek(json) == ']' ? leave(json) : read_value(json);
	case JSON_BEFORE_VALUE:
		return read_value(json);
	case JSON_BEFORE_KEY_OR_END:
		return peek(json) == '}' ? leave(json) : read_key(json);
	case JSON_BEFORE_KEY:
		return read_key(json);
	case JSON_AFTER_VALUE:
		return read_next(json);
	case JSON_HAS_FAILED:
		break;
	}
	return JSON_FAILED;
}

/* The depth counts the value's own bracket: it has ended when fewer are open. */
void json_skip(struct json *json, enum json_token token)
{
	size_t depth = json->nesting.length;

	if (token != JSON_OBJECT && token != JSON_ARRAY)
		return;
	while (json->nesting.length >= depth && token != JSON_FAILED)
		token = json_next(json);
}

void json_skip_value(struct json *json)
{
	json_skip(json, json_next(json));
}

/*
 * The empty string is appended so that there is a NUL to point at, also in a text that was never
 * written to.
 */
void json_take_string(struct json *json, struct text *text)
{
	enum json_token token = json_next(json);

	text_truncate(text, 0);
	text_append_string(text, "");
	if (token == JSON_STRING)
		text_append(text, json->text, json->length);
	else
		json_skip(json, token);
}

bool json_is_number(const struct json *json, enum json_token token)
{
	struct json quoted;

	if (token != JSON_STRING)
		return token == JSON_NUMBER;
	quoted = json_at(json->text, json->length, 0);
	return json->length && read_number(&quoted) == JSON_NUMBER && quoted.next == quoted.size;
}

/* json_skip() does nothing for a number, so that its text may be looked at afterwards. */
uint64_t json_take_u64(struct json *json)
{
	enum json_token token = json_next(json);
	uint64_t value = 0;

	json_skip(json, token);
	return json_is_number(json, token) && json_get_u64(json, &value) ? value : 0;
}

bool json_is(const struct json *json, const char *text)
{
	return json->length == strlen(text) && memcmp(json->text, text, json->length) == 0;
}

/* Refuses "-1", "1.0" and "1e3", too: only digits are allowed. */
bool json_get_u64(const struct json *json, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < json->length; i++) {
		unsigned int digit = (unsigned char)json->text[i] - (unsigned int)'0';

		if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*ret = value;
	return true;
}

double json_get_double(const struct json *json)
{
	char number[64];
	size_t length = json->length < sizeof(number) ? json->length : sizeof(number) - 1;

	/* More digits than a double holds do no harm, but those before the point count. */
	memcpy(number, json->text, length);
	number[length] = '\0';
	return strtod(number, NULL);
}

void json_append_string(struct text *text, const char *string, size_t length)
{
	size_t plain = 0; /* from here on nothing is written yet */

	text_append_char(text, '"');
	for (size_t i = 0; i < length;) {
		uint32_t code_point;
		size_t size = utf8_decode(string + i, length - i, &code_point);
		bool is_broken = utf8_is_broken(code_point, size);

		if (is_broken || code_point < ' ' || code_point == '"' || code_point == '\\') {
			text_append(text, string + plain, i - plain);
			if (is_broken)
				text_append_string(text, UTF8_REPLACEMENT);
			else if (code_point < ' ')
				text_printf(text, "\\u%04x", code_point);
			else
				text_printf(text, "\\%c", string[i]);
			plain = i + size;
		}
		i += size;
	}
	text_append(text, string + plain, length - plain);
	text_append_char(text, '"');
}
