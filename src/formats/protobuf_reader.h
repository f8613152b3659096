/*
 * Foreign protobuf messages, field by field, without copies: nothing is allocated, whatever the
 * bytes are.
 *
 * Source: https://protobuf.dev/programming-guides/encoding/.
 */
#ifndef FORMATS_PROTOBUF_READER_H
#define FORMATS_PROTOBUF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum protobuf_type {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_BYTES = 2, /* a message, a string or packed numbers */
	PROTOBUF_FIXED32 = 5,
};

struct protobuf_field {
	uint32_t number;
	uint8_t type;      /* enum protobuf_type */
	uint64_t value;    /* of a number */
	struct bytes body; /* of PROTOBUF_BYTES */
};

/*
 * The wire types that a message's fields may have, by number: a set of them, a bit for each. An
 * empty set: the field is not known.
 */
#define PROTOBUF_SET(type) ((uint8_t)(1u << (type)))
#define PROTOBUF_REPEATED                \
	(PROTOBUF_SET(PROTOBUF_VARINT) | \
	 PROTOBUF_SET(PROTOBUF_BYTES)) /* of numbers: packed or not */

/* False for a known field of a wrong type, which is treated as an unknown one. */
static inline bool protobuf_fits(const struct protobuf_field *field, const uint8_t *types,
				 size_t num_types)
{
	return field->number >= num_types || !types[field->number] ||
	       types[field->number] & PROTOBUF_SET(field->type);
}

/* 0 and bytes->failed when it is truncated or longer than 64 bits. */
static inline uint64_t protobuf_read_varint(struct bytes *bytes)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		uint8_t byte = bytes_u8(bytes);

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return bytes->failed ? 0 : value;
	}
	bytes->failed = true;
	return 0;
}

/*
 * Whether there was a further field. False at the end of the message, or if it is broken
 * (bytes->failed).
 */
static inline bool protobuf_next(struct bytes *bytes, struct protobuf_field *ret)
{
	uint64_t tag;
	uint64_t size;

	if (!bytes_left(bytes))
		return false;
	tag = protobuf_read_varint(bytes);
	*ret = (struct protobuf_field){.number = (uint32_t)(tag >> 3), .type = tag & 7};
	if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
		bytes->failed = true;
	switch (ret->type) {
	case PROTOBUF_VARINT:
		ret->value = protobuf_read_varint(bytes);
		break;
	case PROTOBUF_FIXED64:
		ret->value = bytes_u64(bytes);
		break;
	case PROTOBUF_FIXED32:
		ret->value = bytes_u32(bytes);
		break;
	case PROTOBUF_BYTES:
		size = protobuf_read_varint(bytes);
		if (size > bytes_left(bytes))
			bytes->failed = true;
		else
			ret->body = bytes_of(bytes->data + bytes->offset, (size_t)size);
		bytes_skip(bytes, (size_t)size);
		break;
	default:
		bytes->failed = true;
	}
	return !bytes->failed;
}

#endif
