/*
 * A value is a letter and its data. Numbers of lengths are packed: one byte -5…5 off, or so
 * many bytes, little-endian. Repeated symbols and objects are named by their number, in the order of
 * the first time: a symbol's text is kept, and the place of an object's JSON.
 *
 * Source: Ruby's doc/marshal.rdoc.
 */
#include "formats/stackprof/marshal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/json.h"

#define MAX_DEPTH 32
/* Objects that are named again and again make little of much: real dumps are doubled at most. */
#define MAX_JSON_RATIO  64
#define FREE_JSON_BYTES (1u << 20)

struct marshal_symbol {
	const char *text; /* borrowed */
	size_t length;
};

struct marshal_object {
	size_t start, end; /* of its JSON */
};

struct marshal {
	struct bytes bytes;
	struct text *json;
	size_t json_start;
	ARRAY(struct marshal_symbol) symbols;
	ARRAY(struct marshal_object) objects;
	const char *reason;
};

static int fail(struct marshal *marshal, const char *reason)
{
	marshal->reason = reason;
	return -EBADMSG;
}

static int64_t take_number(struct marshal *marshal)
{
	int8_t first = (int8_t)bytes_u8(&marshal->bytes);
	int count = first < 0 ? -first : first;
	uint64_t value = 0;

	if (!first)
		return 0;
	if (count > 4)
		return first < 0 ? first + 5 : first - 5;
	for (int i = 0; i < count; i++)
		value |= (uint64_t)bytes_u8(&marshal->bytes) << (8 * i);
	return first < 0 ? (int64_t)(value | ~0ull << (8 * count)) : (int64_t)value;
}

/* A length that the rest of the input may have. */
static int take_length(struct marshal *marshal, size_t *ret)
{
	int64_t length = take_number(marshal);

	if (marshal->bytes.failed || length < 0 || (uint64_t)length > bytes_left(&marshal->bytes))
		return fail(marshal, "expected a length within the file");
	*ret = (size_t)length;
	return 0;
}

static int take_bytes(struct marshal *marshal, struct marshal_symbol *ret)
{
	int err = take_length(marshal, &ret->length);

	if (err)
		return err;
	ret->text = bytes_take(&marshal->bytes, ret->length);
	return 0;
}

static int take_symbol(struct marshal *marshal, char type, struct marshal_symbol *ret)
{
	struct marshal_symbol *added;
	int err;

	if (type == ';') {
		int64_t number = take_number(marshal);

		if (number < 0 || (uint64_t)number >= marshal->symbols.length)
			return fail(marshal, "expected the number of a symbol");
		*ret = marshal->symbols.items[number];
		return 0;
	}
	err = take_bytes(marshal, ret);
	if (err)
		return err;
	added = array_add(&marshal->symbols);
	if (!added)
		return -ENOMEM;
	*added = *ret;
	return 0;
}

/* Objects are numbered in the order of their starts. */
static int start_object(struct marshal *marshal, size_t *ret)
{
	struct marshal_object *added = array_add(&marshal->objects);

	if (!added)
		return -ENOMEM;
	*added = (struct marshal_object){marshal->json->length, 0};
	*ret = marshal->objects.length - 1;
	return 0;
}

static int end_object(struct marshal *marshal, size_t object)
{
	size_t length = marshal->json->length;

	marshal->objects.items[object].end = length;
	if (marshal->json->failed)
		return -ENOMEM;
	return length - marshal->json_start > FREE_JSON_BYTES + marshal->bytes.size * MAX_JSON_RATIO
		       ? fail(marshal, "objects that come again too often")
		       : 0;
}

static int add_value(struct marshal *marshal, bool is_key, size_t depth);

static void append_number(struct marshal *marshal, bool is_key, bool is_negative, uint64_t value)
{
	text_printf(marshal->json, "%s%s%" PRIu64 "%s", is_key ? "\"" : "", is_negative ? "-" : "",
		    value, is_key ? "\"" : "");
}

static int add_integer(struct marshal *marshal, bool is_key)
{
	int64_t value = take_number(marshal);

	append_number(marshal, is_key, value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value);
	return 0;
}

/* A sign, then words of 16 bits. */
static int add_bignum(struct marshal *marshal, bool is_key)
{
	char sign = (char)bytes_u8(&marshal->bytes);
	int64_t num_words = take_number(marshal);
	uint64_t value = 0;
	size_t object;
	int err = start_object(marshal, &object);

	if (err)
		return err;
	if (num_words < 0 || num_words > 4)
		return fail(marshal, "expected a number of 64 bits");
	for (int64_t i = 0; i < num_words; i++)
		value |= (uint64_t)bytes_u16(&marshal->bytes) << (16 * i);
	append_number(marshal, is_key, sign == '-', value);
	return end_object(marshal, object);
}

/* Ruby writes "1.5", "1e100" and "-3", and "inf", "-inf" and "nan". */
static bool is_json_number(struct marshal_symbol digits)
{
	struct json json = json_of(digits.text, digits.length);
	bool is_number =
		digits.length && json_next(&json) == JSON_NUMBER && json_next(&json) == JSON_END;

	json_release(&json);
	return is_number;
}

/* Decimal text; infinity and NaN become null. */
static int add_float(struct marshal *marshal)
{
	struct marshal_symbol digits = {0};
	size_t object;
	int err = start_object(marshal, &object);

	if (err)
		return err;
	err = take_bytes(marshal, &digits);
	if (err)
		return err;
	if (is_json_number(digits))
		text_append(marshal->json, digits.text, digits.length);
	else
		text_append_string(marshal->json, "null");
	return end_object(marshal, object);
}

static int add_string(struct marshal *marshal)
{
	struct marshal_symbol string = {0};
	size_t object;
	int err = start_object(marshal, &object);

	if (err)
		return err;
	err = take_bytes(marshal, &string);
	if (err)
		return err;
	json_append_string(marshal->json, string.text, string.length);
	return end_object(marshal, object);
}

/* Skip the instance variables of an object, such as the encoding of a string. */
static int skip_variables(struct marshal *marshal, size_t depth)
{
	size_t length = marshal->json->length;
	size_t num_objects = marshal->objects.length;
	size_t count;
	int err = take_length(marshal, &count);

	if (err)
		return err;
	for (size_t i = 0; i < 2 * count; i++) {
		err = add_value(marshal, false, depth);
		if (err)
			return err;
	}
	text_truncate(marshal->json, length);
	/* Objects among them keep their numbers, but their JSON is gone. */
	for (size_t i = num_objects; i < marshal->objects.length; i++)
		marshal->objects.items[i].end = 0;
	return 0;
}

static int add_array(struct marshal *marshal, size_t depth)
{
	size_t object, count;
	int err = start_object(marshal, &object);

	if (err)
		return err;
	err = take_length(marshal, &count);
	if (err)
		return err;
	text_append_char(marshal->json, '[');
	for (size_t i = 0; i < count; i++) {
		if (i)
			text_append_char(marshal->json, ',');
		err = add_value(marshal, false, depth);
		if (err)
			return err;
	}
	text_append_char(marshal->json, ']');
	return end_object(marshal, object);
}

static int add_hash(struct marshal *marshal, size_t depth)
{
	size_t object, count;
	int err = start_object(marshal, &object);

	if (err)
		return err;
	err = take_length(marshal, &count);
	if (err)
		return err;
	text_append_char(marshal->json, '{');
	for (size_t i = 0; i < count; i++) {
		if (i)
			text_append_char(marshal->json, ',');
		err = add_value(marshal, true, depth);
		if (err)
			return err;
		text_append_char(marshal->json, ':');
		err = add_value(marshal, false, depth);
		if (err)
			return err;
	}
	text_append_char(marshal->json, '}');
	return end_object(marshal, object);
}

/* An object that is not ended yet contains itself. */
static int add_link(struct marshal *marshal, bool is_key)
{
	int64_t number = take_number(marshal);
	const struct marshal_object *object;
	size_t length = marshal->json->length;

	if (number < 0 || (uint64_t)number >= marshal->objects.length)
		return fail(marshal, "expected the number of an object");
	object = &marshal->objects.items[number];
	if (object->end &&
	    object->end - object->start > FREE_JSON_BYTES + marshal->bytes.size * MAX_JSON_RATIO)
		return fail(marshal, "objects that come again too often");
	if (!object->end || (is_key && marshal->json->data[object->start] != '"'))
		return fail(marshal, "expected another object");
	/* The text may move while it is appended to. */
	for (size_t i = object->start; i < object->end && !marshal->json->failed; i++)
		text_append_char(marshal->json, marshal->json->data[i]);
	if (marshal->json->failed)
		return -ENOMEM;
	return length - marshal->json_start > FREE_JSON_BYTES + marshal->bytes.size * MAX_JSON_RATIO
		       ? fail(marshal, "objects that come again too often")
		       : 0;
}

static int add_symbol(struct marshal *marshal, char type)
{
	struct marshal_symbol symbol = {0};
	int err = take_symbol(marshal, type, &symbol);

	if (err)
		return err;
	json_append_string(marshal->json, symbol.text ? symbol.text : "", symbol.length);
	return 0;
}

/* is_key  of a hash: JSON takes strings alone */
static int add_value(struct marshal *marshal, bool is_key, size_t depth)
{
	char type = (char)bytes_u8(&marshal->bytes);
	int err;

	if (marshal->bytes.failed)
		return fail(marshal, "unexpected end");
	if (depth > MAX_DEPTH)
		return fail(marshal, "nested too deep");
	if (is_key && !strchr("il\":;@I", type))
		return fail(marshal, "expected a name or a number as key");
	switch (type) {
	case '0':
	case 'T':
	case 'F':
		text_append_string(marshal->json, type == '0'   ? "null"
						  : type == 'T' ? "true"
								: "false");
		return 0;
	case 'i':
		return add_integer(marshal, is_key);
	case 'l':
		return add_bignum(marshal, is_key);
	case 'f':
		return add_float(marshal);
	case '"':
		return add_string(marshal);
	case ':':
	case ';':
		return add_symbol(marshal, type);
	case '@':
		return add_link(marshal, is_key);
	case '[':
		return add_array(marshal, depth + 1);
	case '{':
		return add_hash(marshal, depth + 1);
	case 'I':
		err = add_value(marshal, is_key, depth + 1);
		return err ? err : skip_variables(marshal, depth + 1);
	}
	return fail(marshal, "expected a value of plain data");
}

bool marshal_detect(const uint8_t *data, size_t size)
{
	return size > 3 && data[0] == 4 && data[1] == 8 && data[2] == '{';
}

int marshal_to_json(const uint8_t *data, size_t size, struct text *json, size_t *ret_offset,
		    const char **ret_reason)
{
	struct marshal marshal = {
		.bytes = bytes_of(data, size), .json = json, .json_start = json->length};
	int err;

	bytes_skip(&marshal.bytes, 2); /* the version */
	err = add_value(&marshal, false, 0);
	if (!err && marshal.bytes.failed)
		err = fail(&marshal, "unexpected end");
	if (json->failed)
		err = -ENOMEM;
	*ret_offset = marshal.bytes.offset;
	*ret_reason = marshal.reason;
	array_release(&marshal.symbols);
	array_release(&marshal.objects);
	return err;
}
