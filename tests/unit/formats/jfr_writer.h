/*
 * A small flight recording, made by the test: one chunk with the classes that stack traces need,
 * an event class for samples and one with a duration and an amount of data.
 */
#ifndef JFR_WRITER_H
#define JFR_WRITER_H

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

enum jfr_id {
	ID_BOOLEAN = 4,
	ID_INT,
	ID_LONG,
	ID_STRING,
	ID_EVENT_EXECUTION = 20,
	ID_EVENT_PARK,
	ID_EVENT_INFORMATION,
	ID_EVENT_SETTING = 24,
	ID_SYMBOL = 30,
	ID_CLASS,
	ID_METHOD,
	ID_FRAME_TYPE,
	ID_FRAME,
	ID_TRACE,
	ID_THREAD,
	ID_STATE,
	ID_TIMESPAN,
	ID_DATA_AMOUNT,
};

struct jfr_writer {
	struct text chunk;
	size_t checkpoint;
	size_t last_checkpoint;
	size_t metadata;
	size_t event; /* where the open event starts */
};

static inline void jfr_put_bytes(struct jfr_writer *writer, uint64_t value, int width)
{
	while (width--)
		text_append_char(&writer->chunk, (char)(value >> (8 * width)));
}

static inline void jfr_put(struct jfr_writer *writer, uint64_t value)
{
	for (int i = 0; i < 8 && value >= 0x80; i++, value >>= 7)
		text_append_char(&writer->chunk, (char)(0x80 | (value & 0x7f)));
	text_append_char(&writer->chunk, (char)value);
}

static inline void jfr_put_string(struct jfr_writer *writer, const char *string)
{
	text_append_char(&writer->chunk, 3);
	jfr_put(writer, strlen(string));
	text_append_string(&writer->chunk, string);
}

/* Sizes take four bytes, filled in at the end. */
static inline void jfr_start(struct jfr_writer *writer, uint64_t type)
{
	writer->event = writer->chunk.length;
	text_append(&writer->chunk, "\0\0\0\0", 4);
	jfr_put(writer, type);
}

static inline void jfr_end(struct jfr_writer *writer)
{
	size_t size = writer->chunk.length - writer->event;
	char *bytes = writer->chunk.data + writer->event;

	for (int i = 0; i < 4; i++)
		bytes[i] = (char)((size >> (7 * i) & 0x7f) | (i < 3 ? 0x80 : 0));
}

/* "class id=4 name=int {field …}": elements as text, one a line, indented by their depth. */
static const char jfr_metadata[] =
	"root\n"
	" metadata\n"
	"  class id=4 name=boolean\n"
	"  class id=5 name=int\n"
	"  class id=6 name=long\n"
	"  class id=7 name=java.lang.String\n"
	"  class id=30 name=jdk.types.Symbol\n"
	"   field name=string class=7\n"
	"  class id=31 name=java.lang.Class\n"
	"   field name=name class=30 constantPool=true\n"
	"  class id=32 name=jdk.types.Method\n"
	"   field name=type class=31 constantPool=true\n"
	"   field name=name class=30 constantPool=true\n"
	"  class id=33 name=jdk.types.FrameType\n"
	"   field name=description class=7\n"
	"  class id=34 name=jdk.types.StackFrame\n"
	"   field name=method class=32 constantPool=true\n"
	"   field name=lineNumber class=5\n"
	"   field name=type class=33 constantPool=true\n"
	"  class id=35 name=jdk.types.StackTrace\n"
	"   field name=truncated class=4\n"
	"   field name=frames class=34 dimension=1\n"
	"  class id=36 name=java.lang.Thread\n"
	"   field name=osName class=7\n"
	"   field name=osThreadId class=6\n"
	"   field name=javaName class=7\n"
	"  class id=37 name=jdk.types.ThreadState\n"
	"   field name=name class=7\n"
	"  class id=38 name=jdk.jfr.Timespan\n"
	"  class id=39 name=jdk.jfr.DataAmount\n"
	"  class id=20 name=jdk.ExecutionSample superType=jdk.jfr.Event\n"
	"   field name=startTime class=6\n"
	"   field name=sampledThread class=36 constantPool=true\n"
	"   field name=stackTrace class=35 constantPool=true\n"
	"   field name=state class=37 constantPool=true\n"
	"  class id=21 name=app.Park superType=jdk.jfr.Event\n"
	"   field name=startTime class=6\n"
	"   field name=duration class=6\n"
	"    annotation class=38 value=TICKS\n"
	"   field name=eventThread class=36 constantPool=true\n"
	"   field name=stackTrace class=35 constantPool=true\n"
	"   field name=size class=6\n"
	"    annotation class=39 value=BYTES\n"
	"  class id=22 name=jdk.JVMInformation\n"
	"   field name=pid class=6\n"
	"  class id=24 name=jdk.ActiveSetting\n"
	"   field name=startTime class=6\n"
	"   field name=stackTrace class=35 constantPool=true\n"
	"   field name=id class=6\n"
	"   field name=name class=7\n"
	"   field name=value class=7\n";

struct jfr_words {
	ARRAY(char *) items;
};

static inline uint64_t jfr_word(struct jfr_words *words, const char *start, size_t length)
{
	char **added;

	for (size_t i = 0; i < words->items.length; i++)
		if (strlen(words->items.items[i]) == length &&
		    memcmp(words->items.items[i], start, length) == 0)
			return i;
	added = array_add(&words->items);
	*added = strndup(start, length);
	return words->items.length - 1;
}

static inline size_t jfr_indent(const char *line)
{
	return strspn(line, " ");
}

static inline const char *jfr_next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}

/* An element with its attributes and children; returns what follows. */
static inline const char *jfr_put_element(struct jfr_writer *writer, struct jfr_words *words,
					  const char *line)
{
	size_t indent = jfr_indent(line);
	const char *next = jfr_next_line(line);
	const char *word = line + indent;
	size_t length = strcspn(word, " \n");
	uint64_t count = 0;

	jfr_put(writer, jfr_word(words, word, length));
	for (const char *c = word; c < next; c++)
		count += *c == '=';
	jfr_put(writer, count);
	for (word += length; *word == ' '; word += length) {
		size_t key = strcspn(++word, "=");

		length = strcspn(word, " \n");
		jfr_put(writer, jfr_word(words, word, key));
		jfr_put(writer, jfr_word(words, word + key + 1, length - key - 1));
	}
	count = 0;
	for (const char *c = next; *c && jfr_indent(c) > indent; c = jfr_next_line(c))
		count += jfr_indent(c) == indent + 1;
	jfr_put(writer, count);
	while (*next && jfr_indent(next) == indent + 1)
		next = jfr_put_element(writer, words, next);
	return next;
}

static inline void jfr_put_metadata(struct jfr_writer *writer, const char *elements)
{
	struct jfr_words words = {0};
	struct jfr_writer tree = {0};

	jfr_put_element(&tree, &words, elements);
	writer->metadata = writer->chunk.length;
	jfr_start(writer, 0);
	for (int i = 0; i < 3; i++)
		jfr_put(writer, 0);
	jfr_put(writer, words.items.length);
	array_for_each (&words.items, word)
		jfr_put_string(writer, *word);
	text_append(&writer->chunk, tree.chunk.data, tree.chunk.length);
	jfr_end(writer);
	array_for_each (&words.items, word)
		free(*word);
	array_release(&words.items);
	text_release(&tree.chunk);
}

static inline struct jfr_writer jfr_writer_new(const char *elements)
{
	struct jfr_writer writer = {0};

	text_append(&writer.chunk, "FLR\0\0\2\0\1", 8);
	for (int i = 0; i < 60; i++)
		text_append_char(&writer.chunk, '\0');
	jfr_put_metadata(&writer, elements);
	return writer;
}

/* Every checkpoint leads to the one before. */
static inline void jfr_start_checkpoint(struct jfr_writer *writer, uint64_t num_pools)
{
	size_t previous = writer->last_checkpoint;

	writer->last_checkpoint = writer->chunk.length;
	jfr_start(writer, 1);
	jfr_put(writer, 0);
	jfr_put(writer, 0);
	jfr_put(writer, previous ? previous - writer->last_checkpoint : 0);
	text_append_char(&writer->chunk, 1);
	jfr_put(writer, num_pools);
}

static inline void jfr_start_pool(struct jfr_writer *writer, uint64_t type, uint64_t count)
{
	jfr_put(writer, type);
	jfr_put(writer, count);
}

/* Symbols 1 … n, given by their texts. */
static inline void jfr_put_symbols(struct jfr_writer *writer, int count, ...)
{
	va_list args;

	jfr_start_pool(writer, ID_SYMBOL, (uint64_t)count);
	va_start(args, count);
	for (int i = 1; i <= count; i++) {
		jfr_put(writer, (uint64_t)i);
		jfr_put_string(writer, va_arg(args, const char *));
	}
	va_end(args);
}

/*
 * Two methods, org/App.main and org/App.work, and three stacks: 1 main;work, 2 main truncated,
 * 3 main with work inlined and compiled. Thread 1 is "worker", 815.
 */
static inline void jfr_put_constants(struct jfr_writer *writer)
{
	static const char *const types[] = {"Interpreted", "JIT compiled", "Inlined"};
	static const uint8_t frames[3][2][2] = {
		{{2, 0}, {1, 0}}, {{1, 0}, {0, 0}}, {{2, 2}, {1, 1}}};

	jfr_start_checkpoint(writer, 6);
	jfr_put_symbols(writer, 3, "org/App", "main", "work");
	jfr_start_pool(writer, ID_CLASS, 1);
	jfr_put(writer, 1);
	jfr_put(writer, 1);
	jfr_start_pool(writer, ID_METHOD, 2);
	for (uint64_t method = 1; method <= 2; method++) {
		jfr_put(writer, method);
		jfr_put(writer, 1);
		jfr_put(writer, method + 1);
	}
	jfr_start_pool(writer, ID_FRAME_TYPE, 3);
	for (uint64_t type = 0; type < 3; type++) {
		jfr_put(writer, type);
		jfr_put_string(writer, types[type]);
	}
	jfr_start_pool(writer, ID_TRACE, 3);
	for (uint64_t trace = 1; trace <= 3; trace++) {
		uint64_t count = trace == 2 ? 1 : 2;

		jfr_put(writer, trace);
		text_append_char(&writer->chunk, trace == 2);
		jfr_put(writer, count);
		for (uint64_t i = 0; i < count; i++) {
			jfr_put(writer, frames[trace - 1][i][0]);
			jfr_put(writer, 10 + i);
			jfr_put(writer, frames[trace - 1][i][1]);
		}
	}
	jfr_start_pool(writer, ID_THREAD, 1);
	jfr_put(writer, 1);
	jfr_put_string(writer, "java");
	jfr_put(writer, 815);
	jfr_put_string(writer, "worker");
	jfr_end(writer);
}

static inline void jfr_put_execution(struct jfr_writer *writer, uint64_t trace, uint64_t state)
{
	jfr_start(writer, ID_EVENT_EXECUTION);
	jfr_put(writer, 1000);
	jfr_put(writer, 1);
	jfr_put(writer, trace);
	jfr_put(writer, state);
	jfr_end(writer);
}

static inline void jfr_put_park(struct jfr_writer *writer, uint64_t trace, uint64_t ticks,
				uint64_t size)
{
	jfr_start(writer, ID_EVENT_PARK);
	jfr_put(writer, 1000);
	jfr_put(writer, ticks);
	jfr_put(writer, 1);
	jfr_put(writer, trace);
	jfr_put(writer, size);
	jfr_end(writer);
}

/* What the recorder was asked for. */
static inline void jfr_put_setting(struct jfr_writer *writer, const char *name, const char *value)
{
	jfr_start(writer, ID_EVENT_SETTING);
	jfr_put(writer, 1000);
	jfr_put(writer, 0);
	jfr_put(writer, ID_EVENT_EXECUTION);
	jfr_put_string(writer, name);
	jfr_put_string(writer, value);
	jfr_end(writer);
}

/* Fill in the header. A tick is half a nanosecond. */
static inline void jfr_finish(struct jfr_writer *writer)
{
	struct jfr_writer header = {0};

	jfr_put_bytes(&header, writer->chunk.length, 8);
	jfr_put_bytes(&header, writer->last_checkpoint, 8);
	jfr_put_bytes(&header, writer->metadata, 8);
	for (int i = 0; i < 3; i++)
		jfr_put_bytes(&header, 0, 8);
	jfr_put_bytes(&header, 2000000000, 8);
	jfr_put_bytes(&header, 1, 4);
	memcpy(writer->chunk.data + 8, header.chunk.data, header.chunk.length);
	text_release(&header.chunk);
}

#endif
