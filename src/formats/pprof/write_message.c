/*
 * Writing pprof's profile format: strings by number, and fields as bytes, which all parts need.
 */
#include <errno.h>

#include <pprof.pb-c.h>

#include "base/utf8.h"
#include "formats/pprof/write.h"

struct buffer {
	ProtobufCBuffer base;
	struct text *text;
};

/* protobuf's strings are UTF-8; a parser may refuse the whole message for one that is not. */
int pprof_writer_add_string(struct pprof_writer *writer, const char *string, size_t length,
			    uint32_t *ret)
{
	text_truncate(&writer->scratch, 0);
	utf8_append(&writer->scratch, string, length);
	if (writer->scratch.failed)
		return -ENOMEM;
	return string_table_add(writer->strings, writer->scratch.data, writer->scratch.length, ret);
}

int pprof_writer_copy_string(struct pprof_writer *writer, uint32_t id, uint32_t *ret)
{
	return pprof_writer_add_string(writer, profile_get_string(writer->profile, id),
				       profile_get_string_length(writer->profile, id), ret);
}

static void append_varint(struct text *text, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		text_append_char(text, (char)(value | 0x80));
	text_append_char(text, (char)value);
}

/* The key: the field's number and, in its lowest three bits, the wire type; 0 is a varint. */
void pprof_append_number(struct text *text, uint32_t field, uint64_t value)
{
	append_varint(text, field << 3);
	append_varint(text, value);
}

/* Wire type 2: a length, and so many bytes. */
void pprof_append_bytes(struct text *text, uint32_t field, const void *data, size_t size)
{
	append_varint(text, field << 3 | 2);
	append_varint(text, size);
	text_append(text, data, size);
}

static void append_packed(ProtobufCBuffer *base, size_t size, const uint8_t *data)
{
	text_append(((struct buffer *)base)->text, data, size);
}

/*
 * The profile is one message; a part of it is a field that holds a message, and can be written
 * alone.
 */
int pprof_writer_put(struct pprof_writer *writer, enum pprof_field field,
		     const ProtobufCMessage *message)
{
	struct buffer buffer = {.base = {.append = append_packed}, .text = &writer->output};

	append_varint(&writer->output, (uint64_t)field << 3 | 2);
	append_varint(&writer->output, protobuf_c_message_get_packed_size(message));
	protobuf_c_message_pack_to_buffer(message, &buffer.base);
	return sink_drain(writer->sink, &writer->output);
}
