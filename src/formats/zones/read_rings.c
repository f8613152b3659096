/*
 * Zones in the shared memory of a program, as include/stackwide/zones_shared.h writes them (it has
 * the layout); or a copy of it that was made while it was written, with any number of blocks.
 *
 * Nothing is trusted: the program may be writing, or may have been killed while it was, and its
 * data may be hostile. A block is copied before it is checked. An error inside a block ends it, and
 * is counted; so are missing blocks. A ring that was overwritten lacks its oldest zones, but other
 * rings may still have their ends. So the builder must know that the records are torn.
 *
 * The input must be in memory as a whole: a ring's blocks are in any order, and the records of all
 * rings are merged by time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/heap.h"
#include "formats/zones.h"
#include "formats/zones/read_lines.h"

#define RECORD_HEADER    32u
#define RECORD_ALIGNMENT 32u
#define MAX_DECLARED     (64u << 20)
#define MAX_RINGS        65536u
#define MAX_WARNINGS     20
#define UNKNOWN_NAME     "[unknown]"

/* As in include/stackwide/zones.h. */
enum ring_record_type {
	RING_START = 1,
	RING_END,
	RING_NAME,
	RING_PARAMETER,
	RING_CATEGORY,
	RING_FLOW,
	RING_LAST_FLOW,
	RING_VALUE,
	RING_INTEGER,
	RING_DECIMAL,
};

/* The place of a block, and its header when it was found. */
struct ring_block {
	uint64_t sequence;
	uint64_t num_started;
	uint64_t offset;
	uint32_t ring;
	uint32_t used;
};

struct ring_record {
	uint64_t offset; /* in the input, for messages */
	uint64_t time_ns;
	uint64_t pointer;
	uint64_t number;
	struct zones_string name; /* both in the ring's copy */
	struct zones_string text;
	uint16_t type;
};

/* The state of a ring while all are merged. */
struct ring_cursor {
	size_t next_block; /* of all blocks */
	size_t end_block;
	struct bytes bytes; /* the rest of the copy */
	uint64_t block_offset;
	uint64_t sequence;    /* of the block; 0 before the first */
	uint64_t num_started; /* that are known of */
	uint32_t tid;
	struct ring_record record; /* the present one */
	uint8_t copy[ZONES_RINGS_BLOCK_BYTES];
};

struct zones_rings {
	struct zones_reader base;
	struct import *import;
	struct zones_builder *builder;
	bool was_lenient;
	struct text copy; /* for an input in several chunks */
	const uint8_t *data;
	size_t size;
	uint64_t blocks_offset;
	uint64_t declared_bytes;
	ARRAY(struct ring_block) blocks; /* by ring, then by sequence */
	struct ring_cursor *cursors;
	size_t num_cursors;
	uint32_t *heap;
	unsigned num_warnings;
	/* Counts to report at the end. */
	uint64_t num_lost;       /* zones that were overwritten before they were read */
	uint64_t num_dropped;    /* records that found no ring */
	uint64_t num_undeclared; /* names that found no room */
	uint64_t num_malformed;  /* blocks */
};

/* ---- blocks ------------------------------------------------------------------------------- */

#define FAIL(rings, offset, ...) import_fail_byte((rings)->import, (offset), __VA_ARGS__)

bool zones_rings_parse_header(const uint8_t *data, size_t size, struct zones_rings_header *ret)
{
	struct bytes bytes = bytes_of(data, size);
	uint32_t version;
	uint32_t block_bytes;

	if (!zones_is_rings(data, size))
		return false;
	bytes_skip(&bytes, ZONES_RINGS_MAGIC_BYTES);
	version = bytes_u32(&bytes);
	(void)bytes_u32(&bytes); /* the pid, which is in the declarations, too */
	block_bytes = bytes_u32(&bytes);
	ret->capacity_bytes = bytes_u32(&bytes);
	ret->declared_bytes = bytes_u64(&bytes);
	ret->num_undeclared = bytes_u64(&bytes);
	ret->num_dropped = bytes_u64(&bytes);
	ret->ring_blocks = bytes_u32(&bytes);
	return !bytes.failed && version == 1 && block_bytes == ZONES_RINGS_BLOCK_BYTES;
}

static int read_header(struct zones_rings *rings)
{
	struct zones_rings_header header;

	if (!zones_rings_parse_header(rings->data, rings->size, &header))
		return FAIL(rings, ZONES_RINGS_MAGIC_BYTES,
			    "expected zones in shared memory of version 1");
	rings->blocks_offset = ZONES_RINGS_HEADER_BYTES + (uint64_t)header.capacity_bytes;
	rings->declared_bytes = header.declared_bytes;
	rings->num_undeclared = header.num_undeclared;
	rings->num_dropped = header.num_dropped;
	if (header.capacity_bytes > MAX_DECLARED || rings->blocks_offset > rings->size)
		return FAIL(rings, ZONES_RINGS_MAGIC_BYTES + 12,
			    "the declarations end beyond the file");
	if (header.declared_bytes > header.capacity_bytes)
		return FAIL(rings, ZONES_RINGS_MAGIC_BYTES + 16,
			    "expected at most %" PRIu32 " bytes of declarations, not %" PRIu64,
			    header.capacity_bytes, header.declared_bytes);
	return 0;
}

/* The text is copied, as it may change while it is read. */
static int read_declarations(struct zones_rings *rings)
{
	_cleanup_(text_release) struct text copy = {0};
	struct zones_chunk chunk = {.is_last = true};
	struct zones_reader *reader;
	size_t used;
	int err;

	text_append_string(&copy, "");
	text_append(&copy, rings->data + ZONES_RINGS_HEADER_BYTES, (size_t)rings->declared_bytes);
	reader = copy.failed ? NULL : zones_text_reader_new(rings->import);
	if (!reader)
		return -ENOMEM;
	chunk.data = (const uint8_t *)copy.data;
	chunk.size = copy.length;
	err = reader->scan(reader, &chunk, &used);
	err = err ? err : reader->start(reader, rings->builder);
	err = err ? err : reader->read(reader, &chunk, &used);
	reader->free(reader);
	return err;
}

static int compare_blocks(const void *left, const void *right)
{
	const struct ring_block *a = left;
	const struct ring_block *b = right;

	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	if (a->sequence != b->sequence)
		return a->sequence < b->sequence ? -1 : 1;
	return (a->used < b->used) - (a->used > b->used); /* of two copies, the fuller one first */
}

static int find_blocks(struct zones_rings *rings)
{
	for (uint64_t offset = rings->blocks_offset;
	     offset + ZONES_RINGS_BLOCK_BYTES <= rings->size; offset += ZONES_RINGS_BLOCK_BYTES) {
		struct bytes bytes = bytes_of(rings->data + offset, ZONES_RINGS_BLOCK_HEADER);
		struct ring_block block = {.offset = offset};
		struct ring_block *added;

		block.sequence = bytes_u64(&bytes);
		block.num_started = bytes_u64(&bytes);
		block.ring = bytes_u32(&bytes);
		(void)bytes_u32(&bytes); /* tid */
		block.used = bytes_u32(&bytes);
		if (!block.sequence)
			continue;
		if (block.ring >= MAX_RINGS || block.used < ZONES_RINGS_BLOCK_HEADER ||
		    block.used > ZONES_RINGS_BLOCK_BYTES) {
			rings->num_malformed++;
			continue;
		}
		added = array_add(&rings->blocks);
		if (!added)
			return -ENOMEM;
		*added = block;
	}
	if (rings->blocks.length)
		qsort(rings->blocks.items, rings->blocks.length, sizeof(*rings->blocks.items),
		      compare_blocks);
	return 0;
}

static int make_cursors(struct zones_rings *rings)
{
	const struct ring_block *blocks = rings->blocks.items;
	size_t count = 0;

	for (size_t i = 0; i < rings->blocks.length; i++)
		count += !i || blocks[i].ring != blocks[i - 1].ring;
	rings->cursors = calloc(count + 1, sizeof(*rings->cursors));
	rings->heap = calloc(count + 1, sizeof(*rings->heap));
	if (!rings->cursors || !rings->heap)
		return -ENOMEM;
	for (size_t i = 0; i < rings->blocks.length; i++) {
		if (!i || blocks[i].ring != blocks[i - 1].ring)
			rings->cursors[rings->num_cursors++].next_block = i;
		rings->cursors[rings->num_cursors - 1].end_block = i + 1;
	}
	return 0;
}

/* ---- records ------------------------------------------------------------------------------ */

/* Go on to the ring's next block. False if none is left. */
static bool start_block(struct zones_rings *rings, struct ring_cursor *cursor)
{
	while (cursor->next_block < cursor->end_block) {
		const struct ring_block *block = &rings->blocks.items[cursor->next_block++];

		if (block->sequence == cursor->sequence)
			continue;
		memcpy(cursor->copy, rings->data + block->offset, ZONES_RINGS_BLOCK_BYTES);
		cursor->bytes = bytes_of(cursor->copy, block->used);
		/* The program may have started to overwrite it since it was found. */
		if (bytes_u64(&cursor->bytes) != block->sequence) {
			cursor->bytes = bytes_of(NULL, 0);
			continue;
		}
		bytes_skip(&cursor->bytes, 12);
		cursor->tid = bytes_u32(&cursor->bytes);
		bytes_skip(&cursor->bytes, 8);
		cursor->block_offset = block->offset;
		cursor->sequence = block->sequence;
		if (block->num_started > cursor->num_started)
			rings->num_lost += block->num_started - cursor->num_started;
		cursor->num_started = block->num_started;
		return true;
	}
	return false;
}

static bool take_record(struct ring_cursor *cursor)
{
	struct ring_record *record = &cursor->record;
	struct bytes *bytes = &cursor->bytes;
	uint16_t size;
	uint16_t name_length;
	uint16_t text_length;
	size_t rest;

	record->offset = cursor->block_offset + bytes->offset;
	size = bytes_u16(bytes);
	record->type = bytes_u16(bytes);
	name_length = bytes_u16(bytes);
	text_length = bytes_u16(bytes);
	record->time_ns = bytes_u64(bytes);
	record->pointer = bytes_u64(bytes);
	record->number = bytes_u64(bytes);
	if (bytes->failed || size % RECORD_ALIGNMENT || size < RECORD_HEADER ||
	    size - RECORD_HEADER > bytes_left(bytes) || record->time_ns > INT64_MAX ||
	    record->type < RING_START || record->type > RING_DECIMAL)
		return false;
	rest = size - RECORD_HEADER;
	if ((size_t)name_length + text_length > rest)
		return false;
	record->name = (struct zones_string){name_length ? bytes_take(bytes, name_length) : "",
					     name_length};
	record->text = (struct zones_string){text_length ? bytes_take(bytes, text_length) : "",
					     text_length};
	bytes_skip(bytes, rest - name_length - text_length);
	cursor->num_started += record->type == RING_START;
	return true;
}

/* False at the ring's end. */
static bool advance(struct zones_rings *rings, struct ring_cursor *cursor)
{
	for (;;) {
		if (!bytes_left(&cursor->bytes) && !start_block(rings, cursor))
			return false;
		if (!bytes_left(&cursor->bytes))
			continue;
		if (take_record(cursor))
			return true;
		rings->num_malformed++;
		cursor->bytes = bytes_of(NULL, 0);
	}
}

static bool is_before(const void *owner, uint32_t a, uint32_t b)
{
	const struct zones_rings *rings = owner;
	uint64_t time_a = rings->cursors[a].record.time_ns;
	uint64_t time_b = rings->cursors[b].record.time_ns;

	return time_a < time_b || (time_a == time_b && a < b);
}

/* A location that found no room among the declarations. */
static int start_zone(struct zones_rings *rings, const struct ring_cursor *cursor)
{
	const struct ring_record *record = &cursor->record;
	struct zones_string name = {UNKNOWN_NAME, strlen(UNKNOWN_NAME)};
	struct zones_string empty = {"", 0};
	int err = 0;

	if (!zones_builder_has_location(rings->builder, record->number))
		err = zones_builder_add_location(rings->builder, record->number, name, empty, empty,
						 0);
	return err ? err
		   : zones_builder_start(rings->builder, record->pointer, cursor->tid,
					 record->time_ns, record->number);
}

static int add_number(struct zones_rings *rings, const struct ring_record *record,
		      enum value_type type)
{
	struct zone_attribute attribute = {.type = (uint8_t)type};

	attribute.value.u64 = record->number; /* or as many bits of another type */
	return zones_builder_add_parameter(rings->builder, record->pointer, record->name,
					   &attribute);
}

static int add_value(struct zones_rings *rings, const struct ring_record *record)
{
	struct counter_value value = {.time_ns = record->time_ns, .type = VALUE_I64};

	value.value.i64 = (int64_t)record->pointer;
	return zones_builder_add_counter_value(rings->builder, record->number, &value);
}

static int apply(struct zones_rings *rings, const struct ring_cursor *cursor)
{
	struct zones_builder *builder = rings->builder;
	const struct ring_record *record = &cursor->record;

	switch ((enum ring_record_type)record->type) {
	case RING_START:
		return start_zone(rings, cursor);
	case RING_END:
		return zones_builder_end(builder, record->pointer, record->time_ns);
	case RING_NAME:
		return zones_builder_set_name(builder, record->pointer, record->text);
	case RING_PARAMETER:
		return zones_builder_add_string_parameter(builder, record->pointer, record->name,
							  record->text);
	case RING_CATEGORY:
		return zones_builder_add_category(builder, record->pointer, record->text);
	case RING_FLOW:
	case RING_LAST_FLOW:
		return zones_builder_add_flow(builder, record->pointer, record->number,
					      record->type == RING_LAST_FLOW);
	case RING_VALUE:
		return add_value(rings, record);
	case RING_INTEGER:
		return add_number(rings, record, VALUE_I64);
	case RING_DECIMAL:
		return add_number(rings, record, VALUE_DOUBLE);
	}
	return 0;
}

static int report_problem(struct zones_rings *rings, const struct ring_record *record, int err)
{
	const char *problem = zones_builder_get_problem(rings->builder);

	if (!problem[0])
		return err;
	if (err)
		return FAIL(rings, record->offset, "%s", problem);
	if (++rings->num_warnings <= MAX_WARNINGS)
		import_warn(rings->import, "at byte %" PRIu64 ": %s", record->offset, problem);
	return 0;
}

static int merge(struct zones_rings *rings)
{
	struct import *import = rings->import;
	uint64_t num_records = 0;
	size_t length = 0;

	for (uint32_t i = 0; i < rings->num_cursors; i++)
		if (advance(rings, &rings->cursors[i]))
			rings->heap[length++] = i;
	heap_heapify(rings->heap, length, is_before, rings);
	while (length) {
		struct ring_cursor *cursor = &rings->cursors[rings->heap[0]];
		int err = report_problem(rings, &cursor->record, apply(rings, cursor));

		if (err)
			return err;
		/* Blocks are read in the order of time, not of the file: nothing is read for good. */
		if (import->advance && ++num_records % (1u << 16) == 0)
			import->advance(import->context, 0);
		if (!advance(rings, cursor))
			rings->heap[0] = rings->heap[--length];
		heap_sift_down(rings->heap, length, is_before, rings);
	}
	return 0;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static void warn_of_losses(const struct zones_rings *rings)
{
	struct zones_torn_counts torn = zones_builder_get_torn_counts(rings->builder);
	struct import *import = rings->import;

	if (rings->num_lost)
		import_warn_counted(import, rings->num_lost,
				    "{zone was overwritten before it was|zones were overwritten "
				    "before they were} read: a ring keeps the last ones of its "
				    "thread");
	if (torn.lost_ends || torn.lost_starts)
		import_warn(import, "%" PRIu64 " zones lack their end, and %" PRIu64 " their start",
			    torn.lost_ends, torn.lost_starts);
	if (rings->num_dropped)
		import_warn(import,
			    "the program dropped %" PRIu64
			    " records of threads for which there was no ring",
			    rings->num_dropped);
	if (rings->num_undeclared)
		import_warn(import, "the program had no room for %" PRIu64 " names",
			    rings->num_undeclared);
	if (rings->num_malformed)
		import_warn_counted(import, rings->num_malformed,
				    "{block is|blocks are} malformed, skipping");
	import->counts.skipped += rings->num_malformed;
}

static void forget(struct zones_rings *rings)
{
	array_release(&rings->blocks);
	free(rings->cursors);
	free(rings->heap);
	rings->cursors = NULL;
	rings->heap = NULL;
	rings->num_cursors = 0;
	rings->num_lost = rings->num_malformed = 0;
}

static int read_all(struct zones_rings *rings)
{
	int err = read_header(rings);

	if (err)
		return err;
	err = read_declarations(rings);
	if (err)
		return err;
	err = find_blocks(rings);
	if (err)
		return err;
	err = make_cursors(rings);
	if (err)
		return err;
	zones_builder_set_torn(rings->builder);
	err = merge(rings);
	if (err)
		return err;
	warn_of_losses(rings);
	return 0;
}

/* A single chunk need not be copied. */
static int take_chunk(struct zones_reader *base, const struct zones_chunk *chunk, size_t *ret_used)
{
	struct zones_rings *rings = (struct zones_rings *)base;

	*ret_used = chunk->size;
	rings->data = chunk->data;
	rings->size = chunk->size;
	if (chunk->is_last && !chunk->offset)
		return 0;
	text_append(&rings->copy, chunk->data, chunk->size);
	rings->data = (const uint8_t *)rings->copy.data;
	rings->size = rings->copy.length;
	return rings->copy.failed ? -ENOMEM : 0;
}

static int start_rings(struct zones_reader *base, struct zones_builder *builder)
{
	((struct zones_rings *)base)->builder = builder;
	return 0;
}

static int read_rings(struct zones_reader *base, const struct zones_chunk *chunk, size_t *ret_used)
{
	struct zones_rings *rings = (struct zones_rings *)base;
	int err;

	*ret_used = chunk->size;
	if (!chunk->is_last)
		return 0;
	err = read_all(rings);
	forget(rings);
	return err;
}

static void free_rings(struct zones_reader *base)
{
	struct zones_rings *rings = (struct zones_rings *)base;

	rings->import->is_lenient = rings->was_lenient;
	forget(rings);
	text_release(&rings->copy);
	free(rings);
}

/* Repeated declarations are no reason to refuse the data of a program. */
struct zones_reader *zones_rings_reader_new(struct import *import)
{
	struct zones_rings *rings = calloc(1, sizeof(*rings));

	if (!rings)
		return NULL;
	rings->base = (struct zones_reader){take_chunk, start_rings, read_rings, free_rings};
	rings->import = import;
	rings->was_lenient = import->is_lenient;
	import->is_lenient = true;
	return &rings->base;
}
