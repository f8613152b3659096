/*
 * Protobuf messages, appended to a text field by field. The bytes are those of protobuf-c if the
 * fields are in the order of their numbers. For messages that a file has by the thousand; the
 * others are left to protobuf-c.
 *
 * Source: https://protobuf.dev/programming-guides/encoding/.
 */
#ifndef FORMATS_PROTOBUF_WRITER_H
#define FORMATS_PROTOBUF_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* Largest size of a number, and of a field's number with its wire type and a number. */
#define PROTOBUF_NUMBER_BYTES 10
#define PROTOBUF_FIELD_BYTES  16

/* Base 128, the lowest 7 bits first. Returns the end. */
static inline uint8_t *protobuf_encode(uint8_t *end, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		*end++ = (uint8_t)(value | 0x80);
	*end++ = (uint8_t)value;
	return end;
}

static inline void protobuf_put_number(struct text *text, uint32_t field, uint64_t value)
{
	uint8_t bytes[PROTOBUF_FIELD_BYTES];
	const uint8_t *end = protobuf_encode(protobuf_encode(bytes, (uint64_t)field << 3), value);

	text_append(text, bytes, (size_t)(end - bytes));
}

/* A number of proto3, which 0 leaves out. */
static inline void protobuf_put_nonzero(struct text *text, uint32_t field, uint64_t value)
{
	if (value)
		protobuf_put_number(text, field, value);
}

/* value: 8 bytes, little endian */
static inline void protobuf_put_fixed64(struct text *text, uint32_t field, const void *value)
{
	uint8_t bytes[PROTOBUF_FIELD_BYTES];
	uint8_t *end = protobuf_encode(bytes, (uint64_t)field << 3 | 1);

	memcpy(end, value, sizeof(uint64_t));
	text_append(text, bytes, (size_t)(end - bytes) + sizeof(uint64_t));
}

static inline void protobuf_put_bytes(struct text *text, uint32_t field, const void *data,
				      size_t size)
{
	uint8_t bytes[PROTOBUF_FIELD_BYTES];
	const uint8_t *end =
		protobuf_encode(protobuf_encode(bytes, (uint64_t)field << 3 | 2), size);

	text_append(text, bytes, (size_t)(end - bytes));
	text_append(text, data, size);
}

/*
 * A message inside of another one, or packed numbers: start it, put its fields, end it. Its size is put before it at the end,
 * so short ones are cheapest. Returns a mark for the end.
 */
static inline size_t protobuf_start(struct text *text, uint32_t field)
{
	uint8_t bytes[PROTOBUF_FIELD_BYTES];
	uint8_t *end = protobuf_encode(bytes, (uint64_t)field << 3 | 2);

	*end++ = 0; /* the size, if it takes one byte */
	text_append(text, bytes, (size_t)(end - bytes));
	return text->length;
}

static inline void protobuf_end(struct text *text, size_t mark)
{
	uint8_t bytes[PROTOBUF_NUMBER_BYTES];
	size_t size = text->length - mark;
	size_t more;

	if (text->failed)
		return;
	more = (size_t)(protobuf_encode(bytes, size) - bytes) - 1;
	if (more) {
		text_append(text, bytes, more); /* makes room */
		if (text->failed)
			return;
		memmove(text->data + mark + more, text->data + mark, size);
	}
	memcpy(text->data + mark - 1, bytes, more + 1);
}

/* A number of packed ones. */
static inline void protobuf_put_packed(struct text *text, uint64_t value)
{
	uint8_t bytes[PROTOBUF_NUMBER_BYTES];

	text_append(text, bytes, (size_t)(protobuf_encode(bytes, value) - bytes));
}

#endif
