/*
 * Reading Perfetto traces: the items that packets refer to by number.
 *
 * A message may refer to later items of the same packet, so kinds are read one after the other,
 * those without references first. The parts of a stack go into the profile at once: only numbers
 * are kept, in the table of read/interned_table.c.
 */
#include "formats/perfetto/read/interned.h"

#include <errno.h>

/* ---- strings ------------------------------------------------------------------------------ */

/* Our writer marks the part of a function's name without parameters. */
static int put_short_name(struct perfetto_code *code, struct perfetto_interned *interned,
			  uint64_t iid, struct bytes function, uint64_t start, uint64_t length)
{
	uint32_t value;
	int err;

	if (!length || start > function.size || length > function.size - start)
		return 0;
	err = perfetto_add_profile_string(code->trace, bytes_of(function.data + start, length),
					  &value);
	if (err)
		return err;
	return perfetto_interned_put(interned, PERFETTO_INTERNED_SHORT_NAME, iid, value);
}

/* Names of events go to the timeline, names of code to the profile. */
static int read_string(struct perfetto_code *code, struct perfetto_interned *interned,
		       enum perfetto_interned_kind kind, struct bytes message)
{
	bool is_of_timeline =
		kind == PERFETTO_INTERNED_CATEGORY || kind == PERFETTO_INTERNED_EVENT_NAME ||
		kind == PERFETTO_INTERNED_ANNOTATION_NAME ||
		kind == PERFETTO_INTERNED_STRING_VALUE || kind == PERFETTO_INTERNED_KERNEL_SYMBOL;
	struct bytes string = bytes_of("", 0);
	struct protobuf_field field;
	uint64_t short_start = 0;
	uint64_t short_length = 0;
	uint64_t iid = 0;
	uint32_t value;
	int err;

	while (protobuf_next(&message, &field)) {
		if (field.number == 2 && field.type == PROTOBUF_BYTES)
			string = field.body;
		else if (field.number == 1 && field.type == PROTOBUF_VARINT)
			iid = field.value;
		else if (field.number == 1000 && field.type == PROTOBUF_VARINT)
			short_start = field.value;
		else if (field.number == 1001 && field.type == PROTOBUF_VARINT)
			short_length = field.value;
	}
	err = kind == PERFETTO_INTERNED_FUNCTION
		      ? put_short_name(code, interned, iid, string, short_start, short_length)
		      : 0;
	if (err)
		return err;
	err = is_of_timeline ? perfetto_add_string(code->trace, string, &value)
			     : perfetto_add_profile_string(code->trace, string, &value);
	if (err)
		return err;
	return perfetto_interned_put(interned, kind, iid, value);
}

static int read_source(struct perfetto_code *code, struct perfetto_interned *interned,
		       struct bytes message)
{
	struct perfetto_source *source = array_add(&interned->sources);
	struct protobuf_field field;
	uint64_t iid = 0;
	int err = 0;

	if (!source)
		return -ENOMEM;
	while (protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			iid = field.value;
		else if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_string(code->trace, field.body, &source->file);
		else if (field.number == 3 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_string(code->trace, field.body, &source->function);
		else if (field.number == 4 && field.type == PROTOBUF_VARINT)
			source->line = (uint32_t)field.value;
		if (err)
			return err;
	}
	return perfetto_interned_put(interned, PERFETTO_INTERNED_SOURCE_LOCATION, iid,
				     (uint32_t)(interned->sources.length - 1));
}

/* ---- all ---------------------------------------------------------------------------------- */

static int read_kind(struct perfetto_code *code, const struct perfetto_sequence *sequence,
		     enum perfetto_interned_kind kind, struct bytes message)
{
	switch (kind) {
	case PERFETTO_INTERNED_CATEGORY:
	case PERFETTO_INTERNED_EVENT_NAME:
	case PERFETTO_INTERNED_ANNOTATION_NAME:
	case PERFETTO_INTERNED_STRING_VALUE:
	case PERFETTO_INTERNED_KERNEL_SYMBOL:
	case PERFETTO_INTERNED_FUNCTION:
	case PERFETTO_INTERNED_BUILD_ID:
	case PERFETTO_INTERNED_PATH:
	case PERFETTO_INTERNED_SOURCE_PATH:
		return read_string(code, sequence->interned, kind, message);
	case PERFETTO_INTERNED_SOURCE_LOCATION:
		return read_source(code, sequence->interned, message);
	case PERFETTO_INTERNED_MAPPING:
		return perfetto_code_read_mapping(code, sequence->interned, message);
	case PERFETTO_INTERNED_FRAME:
		return perfetto_code_read_frame(code, sequence, message);
	case PERFETTO_INTERNED_CALLSTACK:
		return perfetto_code_read_callstack(code, sequence, message);
	default: /* unknown, or a kind of our own */
		return 0;
	}
}

/* The pass over the message that reads a kind: after those that it refers to. */
static unsigned int get_pass(enum perfetto_interned_kind kind)
{
	switch (kind) {
	case PERFETTO_INTERNED_MAPPING:
		return 2;
	case PERFETTO_INTERNED_FRAME:
		return 3;
	case PERFETTO_INTERNED_CALLSTACK:
		return 4;
	default:
		return 1;
	}
}

static int prepare(struct perfetto_sequence *sequence)
{
	if (!sequence->interned)
		sequence->interned = perfetto_interned_new();
	return sequence->interned ? 0 : -ENOMEM;
}

int perfetto_read_interned(struct perfetto_code *code, struct perfetto_sequence *sequence,
			   struct bytes message)
{
	int err = prepare(sequence);

	if (err)
		return err;
	for (unsigned int pass = 1; pass <= 4; pass++) {
		struct bytes rest = message;
		struct protobuf_field field;

		while (protobuf_next(&rest, &field)) {
			enum perfetto_interned_kind kind =
				(enum perfetto_interned_kind)field.number;

			if (field.type == PROTOBUF_BYTES && get_pass(kind) == pass)
				err = read_kind(code, sequence, kind, field.body);
			if (err)
				return err;
		}
	}
	return 0;
}

/* Fields of ProfilePacket, in the order of reading; strings are of any kind. */
static const struct {
	uint32_t field;
	enum perfetto_interned_kind kind;
} heap_kinds[] = {
	{1, PERFETTO_INTERNED_FUNCTION}, {1, PERFETTO_INTERNED_BUILD_ID},
	{1, PERFETTO_INTERNED_PATH},     {4, PERFETTO_INTERNED_MAPPING},
	{2, PERFETTO_INTERNED_FRAME},    {3, PERFETTO_INTERNED_CALLSTACK},
};

int perfetto_read_interned_of_heap(struct perfetto_code *code, struct perfetto_sequence *sequence,
				   struct bytes message)
{
	int err = prepare(sequence);

	if (err)
		return err;
	for (size_t i = 0; i < ARRAY_LENGTH(heap_kinds); i++) {
		struct bytes rest = message;
		struct protobuf_field field;

		while (protobuf_next(&rest, &field)) {
			if (field.number == heap_kinds[i].field && field.type == PROTOBUF_BYTES)
				err = read_kind(code, sequence, heap_kinds[i].kind, field.body);
			if (err)
				return err;
		}
	}
	return 0;
}
