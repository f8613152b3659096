/*
 * Writing pprof's profile format: strings by number, and fields as bytes, which all parts need.
 */
#include <errno.h>

#include <pprof.pb-c.h>

#include "base/utf8.h"
#include "formats/pprof/write.h"
#include "formats/protobuf_writer.h"

struct buffer {
	ProtobufCBuffer base;
	struct text *text;
};

/* protobuf's strings are UTF-8; a parser may refuse a whole message for an invalid one. */
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

	size_t mark = protobuf_start(&writer->output, field);

	protobuf_c_message_pack_to_buffer(message, &buffer.base);
	protobuf_end(&writer->output, mark);
	return sink_drain(writer->sink, &writer->output);
}
