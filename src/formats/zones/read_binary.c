/*
 * Zones in the binary format of profiling-lite's library, `capture.bin-trace`: records that are a
 * byte for the type and packed little-endian fields behind it. Texts follow a 16-bit length, or are
 * named by a number that is a STRING record's; so are locations.
 *
 * A STRING or LOCATION may follow its first use, because the library's writer thread adds it when
 * it meets the use. So there are two passes: over strings and locations (and stacks, as in the
 * text), then over everything else. A capture ends where its program did, maybe inside a record or
 * before a string that was due; the records before it are read all the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/intern.h"
#include "formats/zones.h"
#include "formats/zones/read_lines.h"

#define CAPTURE_INIT 0x00000001464f5250ull /* "PROF" and the version, as one word */
#define MAX_WARNINGS 20
#define UNKNOWN_NAME "[unknown]"

enum record_type {
	RECORD_END = 0,
	RECORD_INIT = 16,
	RECORD_STRING,
	RECORD_LOCATION,
	RECORD_STACK,
	RECORD_THREAD_NAME,
	RECORD_ZONE_START,
	RECORD_ZONE_END,
	RECORD_ZONE_NAME,
	RECORD_BOOL_PARAMETER,
	RECORD_I64_PARAMETER,
	RECORD_U64_PARAMETER,
	RECORD_DOUBLE_PARAMETER,
	RECORD_STRING_PARAMETER,
	RECORD_FLOW,
	RECORD_TERMINATING_FLOW,
	RECORD_CATEGORY,
	RECORD_COUNTER_TRACK,
	RECORD_I64_VALUE,
	RECORD_DOUBLE_VALUE,
};

/* The parts of a record, in this order. */
struct zones_layout {
	uint8_t num_words; /* of 64 bits */
	uint8_t tail_size; /* of a last number, in bytes */
	bool has_text;
};

static const struct zones_layout layouts[] = {
	[RECORD_INIT] = {1, 0, false}, /* magic and version */
	[RECORD_STRING] = {1, 0, true},
	[RECORD_LOCATION] = {4, 4, false},
	[RECORD_STACK] = {2, 0, true},
	[RECORD_THREAD_NAME] = {1, 0, true},
	[RECORD_ZONE_START] = {4, 0, false},
	[RECORD_ZONE_END] = {2, 0, false},
	[RECORD_ZONE_NAME] = {1, 0, true},
	[RECORD_BOOL_PARAMETER] = {2, 1, false},
	[RECORD_I64_PARAMETER] = {3, 0, false},
	[RECORD_U64_PARAMETER] = {3, 0, false},
	[RECORD_DOUBLE_PARAMETER] = {3, 0, false},
	[RECORD_STRING_PARAMETER] = {2, 0, true},
	[RECORD_FLOW] = {2, 0, false},
	[RECORD_TERMINATING_FLOW] = {2, 0, false},
	[RECORD_CATEGORY] = {2, 0, false},
	[RECORD_COUNTER_TRACK] = {1, 0, true},
	[RECORD_I64_VALUE] = {3, 0, false},
	[RECORD_DOUBLE_VALUE] = {3, 0, false},
};

#define MAX_WORDS 4

struct record {
	enum record_type type;
	uint64_t offset;
	uint64_t words[MAX_WORDS];
	uint32_t tail;
	struct zones_string text;
};

struct named_string {
	uint64_t id;
	size_t start; /* in capture->texts */
	size_t length;
};
INTERN_TABLE(named_strings, struct named_string, id);

struct stack_record {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	size_t name; /* in capture->texts */
	size_t name_length;
};

struct location_record {
	uint64_t name;
	uint64_t function;
	uint64_t file;
	uint64_t id;
	uint32_t line;
};

struct zones_capture {
	struct zones_reader base;
	struct import *import;
	struct zones_builder *builder;
	struct record record;
	bool was_lenient; /* the import, which gets it back */
	bool has_ended;   /* the rest is ignored */
	struct text texts;
	ARRAY(struct stack_record) stacks;
	struct named_strings strings;
	ARRAY(struct location_record) locations;
	size_t num_declared; /* of these */
	struct hash_index location_index;
	unsigned num_warnings;
};

/* ---- strings and locations ---------------------------------------------------------------- */

static bool is_location(const void *owner, uint32_t item, const void *key)
{
	return ((const struct zones_capture *)owner)->locations.items[item].id ==
	       *(const uint64_t *)key;
}

/* A copy, because the chunk of a record goes away. */
static int keep_text(struct zones_capture *capture, struct zones_string string, size_t *ret)
{
	*ret = capture->texts.length;
	text_append(&capture->texts, string.data, string.length);
	return capture->texts.failed ? -ENOMEM : 0;
}

static struct zones_string get_text(const struct zones_capture *capture, size_t start,
				    size_t length)
{
	return (struct zones_string){length ? capture->texts.data + start : "", length};
}

/* A truncated capture may lack a string that was due. */
static struct zones_string find_string(const struct zones_capture *capture, uint64_t id)
{
	uint32_t found = named_strings_find(&capture->strings, &(struct named_string){.id = id});

	if (found == HASH_INDEX_NONE)
		return (struct zones_string){UNKNOWN_NAME, strlen(UNKNOWN_NAME)};
	return get_text(capture, capture->strings.items[found].start,
			capture->strings.items[found].length);
}

static bool has_location(const struct zones_capture *capture, uint64_t id)
{
	return hash_index_find(&capture->location_index, hash_mix(0, id), is_location, capture,
			       &id) != HASH_INDEX_NONE;
}

/* The first one of an id counts. */
static int add_string(struct zones_capture *capture, uint64_t id, struct zones_string string)
{
	struct named_string added = {.id = id, .length = string.length};
	uint32_t ignored;

	if (named_strings_find(&capture->strings, &added) != HASH_INDEX_NONE)
		return 0;
	if (keep_text(capture, string, &added.start))
		return -ENOMEM;
	return named_strings_add(&capture->strings, &added, &ignored);
}

static int add_location(struct zones_capture *capture, const struct location_record *location)
{
	uint32_t item = (uint32_t)capture->locations.length;
	struct location_record *added;

	if (has_location(capture, location->id))
		return 0;
	added = array_add(&capture->locations);
	if (!added)
		return -ENOMEM;
	*added = *location;
	return hash_index_add(&capture->location_index, hash_mix(0, location->id), item);
}

static int add_stack(struct zones_capture *capture, const struct record *record)
{
	struct stack_record stack = {.start = record->words[0],
				     .end = record->words[1],
				     .offset = record->offset,
				     .name_length = record->text.length};
	struct stack_record *added =
		keep_text(capture, record->text, &stack.name) ? NULL : array_add(&capture->stacks);

	if (!added)
		return -ENOMEM;
	*added = stack;
	return 0;
}

/* Locations that an earlier pass made up, as they were not declared, are forgotten. */
static int declare_locations(struct zones_capture *capture)
{
	while (capture->locations.length > capture->num_declared) {
		uint32_t last = (uint32_t)--capture->locations.length;
		uint64_t id = capture->locations.items[last].id;

		hash_index_remove(&capture->location_index, hash_mix(0, id), last);
	}
	for (size_t i = 0; i < capture->locations.length; i++) {
		const struct location_record *location = &capture->locations.items[i];
		int err = zones_builder_add_location(
			capture->builder, location->id, find_string(capture, location->name),
			find_string(capture, location->function),
			find_string(capture, location->file), location->line);

		if (err)
			return err;
	}
	return 0;
}

/* ---- records ------------------------------------------------------------------------------ */

#define FAIL(capture, ...) \
	import_fail_byte((capture)->import, (capture)->record.offset, __VA_ARGS__)

/*
 * The next record; *ret_is_end if no record is left. A truncated one is an end, too. Returns 0 or
 * -EBADMSG. A record has no length: one of an unknown type ends the reading, for the start of the
 * next one is unknown.
 */
static int take_record(struct zones_capture *capture, struct bytes *bytes, uint64_t offset,
		       bool *ret_is_end)
{
	struct record *record = &capture->record;
	const struct zones_layout *layout;
	size_t length;

	record->offset = offset + bytes->offset;
	record->type = (enum record_type)bytes_u8(bytes);
	*ret_is_end = bytes->failed || record->type == RECORD_END;
	if (*ret_is_end)
		return 0;
	if (record->type >= ARRAY_LENGTH(layouts) || !layouts[record->type].num_words)
		return FAIL(capture, "expected the type of a record, not %u", record->type);
	layout = &layouts[record->type];
	for (size_t i = 0; i < layout->num_words; i++)
		record->words[i] = bytes_u64(bytes);
	if (layout->tail_size)
		record->tail = layout->tail_size == 1 ? bytes_u8(bytes) : bytes_u32(bytes);
	length = layout->has_text ? bytes_u16(bytes) : 0;
	record->text.data = length ? bytes_take(bytes, length) : "";
	record->text.length = length;
	*ret_is_end = bytes->failed;
	return 0;
}

/*
 * The library checks nothing, and the original reader accepts repeated declarations; so do we, with
 * a warning.
 */
static int report_problem(struct zones_capture *capture, int err)
{
	const char *problem = capture->builder ? zones_builder_get_problem(capture->builder) : "";

	if (!problem[0])
		return err;
	if (err)
		return FAIL(capture, "%s", problem);
	if (++capture->num_warnings <= MAX_WARNINGS)
		import_warn(capture->import, "at byte %" PRIu64 ": %s", capture->record.offset,
			    problem);
	return 0;
}

/* If the library declares a stack again, when its memory is reused, the first one stays. */
static int declare_stacks(struct zones_capture *capture)
{
	for (size_t i = 0; i < capture->stacks.length; i++) {
		const struct stack_record *stack = &capture->stacks.items[i];
		int err;

		capture->record.offset = stack->offset;
		err = zones_builder_add_stack(capture->builder, stack->start, stack->end,
					      get_text(capture, stack->name, stack->name_length));
		err = report_problem(capture, err == -EBADMSG ? 0 : err);
		if (err)
			return err;
	}
	return 0;
}

static int read_declaration(struct zones_capture *capture)
{
	const struct record *record = &capture->record;
	struct location_record location = {.id = record->words[0],
					   .name = record->words[1],
					   .function = record->words[2],
					   .file = record->words[3],
					   .line = record->tail};

	if (record->type == RECORD_INIT && record->words[0] != CAPTURE_INIT)
		return FAIL(capture, "expected a capture of version 1");
	if (record->type == RECORD_STRING)
		return add_string(capture, record->words[0], record->text);
	if (record->type == RECORD_LOCATION)
		return add_location(capture, &location);
	if (record->type == RECORD_STACK)
		return add_stack(capture, record);
	return 0;
}

/* A truncated capture may lack a location that its zone needs. */
static int start_zone(struct zones_capture *capture, const uint64_t *words)
{
	struct location_record unknown = {.id = words[3]};
	struct zones_string name = {UNKNOWN_NAME, strlen(UNKNOWN_NAME)};
	struct zones_string empty = {"", 0};
	int err;

	if (!has_location(capture, unknown.id)) {
		err = add_location(capture, &unknown);
		if (err)
			return err;
		err = zones_builder_add_location(capture->builder, unknown.id, name, empty, empty,
						 0);
		if (err)
			return err;
	}
	return zones_builder_start(capture->builder, words[0], words[1], words[2], unknown.id);
}

static int add_parameter(struct zones_capture *capture, enum value_type type)
{
	const struct record *record = &capture->record;
	struct zone_attribute attribute = {.type = (uint8_t)type};

	if (type == VALUE_BOOL)
		attribute.value.boolean = record->tail;
	else /* or as many bits of another type */
		attribute.value.u64 = record->words[2];
	return zones_builder_add_parameter(capture->builder, record->words[0],
					   find_string(capture, record->words[1]), &attribute);
}

static int add_counter_value(struct zones_capture *capture, enum value_type type)
{
	const uint64_t *words = capture->record.words;
	struct counter_value value = {.time_ns = words[1], .type = (uint8_t)type};

	/* Signed, or a double: 64 bits in any case. */
	memcpy(&value.value, &words[2], sizeof(words[2]));
	if (type == VALUE_DOUBLE && !isfinite(value.value.number))
		return FAIL(capture, "expected a finite number");
	return zones_builder_add_counter_value(capture->builder, words[0], &value);
}

static int read_event(struct zones_capture *capture)
{
	struct zones_builder *builder = capture->builder;
	const struct record *record = &capture->record;
	const uint64_t *words = record->words;

	switch (record->type) {
	case RECORD_THREAD_NAME:
		return zones_builder_add_thread(builder, words[0], record->text);
	case RECORD_ZONE_START:
		return start_zone(capture, words);
	case RECORD_ZONE_END:
		return zones_builder_end(builder, words[0], words[1]);
	case RECORD_ZONE_NAME:
		return zones_builder_set_name(builder, words[0], record->text);
	case RECORD_BOOL_PARAMETER:
		return add_parameter(capture, VALUE_BOOL);
	case RECORD_I64_PARAMETER:
		return add_parameter(capture, VALUE_I64);
	case RECORD_U64_PARAMETER:
		return add_parameter(capture, VALUE_U64);
	case RECORD_DOUBLE_PARAMETER:
		return add_parameter(capture, VALUE_DOUBLE);
	case RECORD_STRING_PARAMETER:
		return zones_builder_add_string_parameter(
			builder, words[0], find_string(capture, words[1]), record->text);
	case RECORD_FLOW:
	case RECORD_TERMINATING_FLOW:
		return zones_builder_add_flow(builder, words[0], words[1],
					      record->type == RECORD_TERMINATING_FLOW);
	case RECORD_CATEGORY:
		return zones_builder_add_category(builder, words[0],
						  find_string(capture, words[1]));
	case RECORD_COUNTER_TRACK:
		return zones_builder_add_counter(builder, words[0], record->text);
	case RECORD_I64_VALUE:
		return add_counter_value(capture, VALUE_I64);
	case RECORD_DOUBLE_VALUE:
		return add_counter_value(capture, VALUE_DOUBLE);
	case RECORD_END:
	case RECORD_INIT:
	case RECORD_STRING:
	case RECORD_LOCATION:
	case RECORD_STACK:
		break;
	}
	return 0;
}

static int read_records(struct zones_capture *capture, const struct zones_chunk *chunk,
			int (*read)(struct zones_capture *capture), size_t *ret_used)
{
	struct bytes bytes = bytes_of(chunk->data, chunk->size);
	struct import *import = capture->import;
	size_t reported = 0;
	bool is_end = capture->has_ended;

	while (!is_end) {
		int err = take_record(capture, &bytes, chunk->offset, &is_end);

		if (err)
			return err;
		err = is_end ? 0 : report_problem(capture, read(capture));
		if (err)
			return err;
		if (import->advance && read == read_event &&
		    bytes.offset - reported >= ZONES_ADVANCE_BYTES) {
			import->advance(import->context, capture->record.offset);
			reported = bytes.offset;
		}
	}
	/* An END record, not the end of the chunk. */
	capture->has_ended |= is_end && !bytes.failed;
	*ret_used = bytes.failed && !chunk->is_last
			    ? (size_t)(capture->record.offset - chunk->offset)
			    : chunk->size;
	return 0;
}

static int scan_chunk(struct zones_reader *base, const struct zones_chunk *chunk, size_t *ret_used)
{
	struct zones_capture *capture = (struct zones_capture *)base;
	int err = read_records(capture, chunk, read_declaration, ret_used);

	capture->num_declared = capture->locations.length;
	return err;
}

static int start_events(struct zones_reader *base, struct zones_builder *builder)
{
	struct zones_capture *capture = (struct zones_capture *)base;
	int err;

	capture->builder = builder;
	capture->has_ended = false;
	err = declare_stacks(capture);
	if (err)
		return err;
	return declare_locations(capture);
}

static int read_chunk(struct zones_reader *base, const struct zones_chunk *chunk, size_t *ret_used)
{
	struct zones_capture *capture = (struct zones_capture *)base;
	bool had_ended = capture->has_ended;
	int err = read_records(capture, chunk, read_event, ret_used);

	if (err)
		return err;
	if (chunk->is_last && !had_ended && !capture->has_ended &&
	    capture->record.offset < chunk->offset + chunk->size)
		import_warn(capture->import,
			    "at byte %" PRIu64 ": the capture ends inside a record",
			    capture->record.offset);
	return 0;
}

static void free_capture(struct zones_reader *base)
{
	struct zones_capture *capture = (struct zones_capture *)base;

	capture->import->is_lenient = capture->was_lenient;
	text_release(&capture->texts);
	array_release(&capture->stacks);
	named_strings_release(&capture->strings);
	array_release(&capture->locations);
	hash_index_release(&capture->location_index);
	free(capture);
}

struct zones_reader *zones_capture_reader_new(struct import *import)
{
	struct zones_capture *capture = calloc(1, sizeof(*capture));

	if (!capture)
		return NULL;
	capture->base = (struct zones_reader){scan_chunk, start_events, read_chunk, free_capture};
	capture->import = import;
	capture->was_lenient = import->is_lenient;
	import->is_lenient = true;
	return &capture->base;
}

bool zones_is_capture(const uint8_t *data, size_t size)
{
	return size >= 5 && memcmp(data, "\x10PROF", 5) == 0;
}
