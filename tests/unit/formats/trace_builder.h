/*
 * Perfetto traces by hand, packet by packet, as other tools write them.
 */
#ifndef TRACE_BUILDER_H
#define TRACE_BUILDER_H

#include <string.h>

#include "base/text.h"
#include "formats/protobuf_reader.h"

static inline void put_varint(struct text *text, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		text_append_char(text, (char)(value | 0x80));
	text_append_char(text, (char)value);
}

static inline void put(struct text *text, uint32_t field, uint64_t value)
{
	put_varint(text, (uint64_t)field << 3);
	put_varint(text, value);
}

static inline void put_bytes(struct text *text, uint32_t field, const void *data, size_t size)
{
	put_varint(text, (uint64_t)field << 3 | PROTOBUF_BYTES);
	put_varint(text, size);
	text_append(text, data, size);
}

static inline void put_string(struct text *text, uint32_t field, const char *string)
{
	put_bytes(text, field, string, strlen(string));
}

/* The message is emptied. */
static inline void put_message(struct text *text, uint32_t field, struct text *message)
{
	put_bytes(text, field, message->data ? message->data : "", message->length);
	text_release(message);
}

/* A packet of a sequence, which holds a message of a kind. */
static inline void put_packet(struct text *trace, uint32_t sequence, uint32_t flags, uint64_t time,
			      uint32_t kind, struct text *message)
{
	struct text packet = {0};

	put(&packet, 8, time);
	put(&packet, 10, sequence);
	put(&packet, 13, flags);
	put_message(&packet, kind, message);
	put_message(trace, 1, &packet);
}

enum { CLEARED = 1, NEEDED = 2 };
enum {
	SNAPSHOT = 6,
	EVENT = 11,
	INTERNED = 12,
	HEAP = 37,
	COMPRESSED = 50,
	ZSTD_COMPRESSED = 133,
	DEFAULTS = 59,
	TRACK = 60,
	SYMBOLS = 61,
	SAMPLE = 66
};

static inline void put_event(struct text *trace, uint64_t time, uint64_t track, const char *name)
{
	struct text event = {0};

	put(&event, 9, name ? 1 : 2);
	put(&event, 11, track);
	if (name)
		put_string(&event, 23, name);
	put_packet(trace, 1, 0, time, EVENT, &event);
}

/* A track that is the thread 7 of process 5, `name`. */
static inline void put_thread(struct text *trace, uint64_t uuid, const char *name, uint64_t time)
{
	struct text track = {0};
	struct text thread = {0};

	put(&thread, 1, 5);
	put(&thread, 2, 7);
	put_string(&thread, 5, name);
	put(&track, 1, uuid);
	put_message(&track, 4, &thread);
	put_packet(trace, 2, 0, time, TRACK, &track);
}

/* The function `name` as number 1, alone in frame 1, alone in stack 1. */
static inline void put_stack(struct text *trace, uint32_t sequence, uint32_t flags,
			     const char *name)
{
	struct text data = {0};
	struct text item = {0};

	put(&item, 1, 1);
	put(&item, 2, 1);
	put_message(&data, 7, &item);
	put(&item, 1, 1);
	put(&item, 2, 1);
	put_message(&data, 6, &item);
	put(&item, 1, 1);
	put_string(&item, 2, name);
	put_message(&data, 5, &item);
	put_packet(trace, sequence, flags, 1, INTERNED, &data);
}

static inline void put_sample(struct text *trace, uint32_t sequence, uint64_t time)
{
	struct text sample = {0};

	put(&sample, 2, 5);
	put(&sample, 3, 7);
	put(&sample, 4, 1);
	put(&sample, 6, 1000); /* a counter that runs on, for all we know */
	put_packet(trace, sequence, NEEDED, time, SAMPLE, &sample);
}

static inline void put_numbered(struct text *data, uint32_t field, uint64_t iid, const char *string)
{
	struct text item = {0};

	put(&item, 1, iid);
	put_string(&item, 2, string);
	put_message(data, field, &item);
}

/*
 * A sample whose stack is the function `main` and above it two addresses in /opt/app/libx.so that
 * have no name; the second frame says so by an empty one, as heapprofd does.
 */
static inline struct text make_anonymous(void)
{
	static const char *const parts[] = {"opt", "app", "libx.so"};
	struct text trace = {0};
	struct text data = {0};
	struct text item = {0};

	put_numbered(&data, 5, 1, "main");
	put_numbered(&data, 5, 2, "");
	put_numbered(&data, 16, 1, "\xab\xcd");
	put(&item, 1, 1);
	put(&item, 2, 1);
	put(&item, 4, 0x400000);
	put(&item, 6, 0x1000); /* load_bias */
	put(&item, 8, 0x2000); /* exact_offset */
	for (uint64_t i = 0; i < 3; i++) {
		put_numbered(&data, 17, i + 1, parts[i]);
		put(&item, 7, i + 1);
	}
	put_message(&data, 19, &item);
	for (uint64_t i = 0; i < 3; i++) {
		put(&item, 1, i + 1);
		if (i < 2)
			put(&item, 2, i + 1);
		put(&item, 3, 1);
		put(&item, 4, 0x1230 + i);
		put_message(&data, 6, &item);
	}
	put(&item, 1, 1);
	for (uint64_t i = 0; i < 3; i++)
		put(&item, 2, i + 1);
	put_message(&data, 7, &item);
	put_packet(&trace, 1, CLEARED, 1, INTERNED, &data);
	put_sample(&trace, 1, 2);
	return trace;
}

#endif
