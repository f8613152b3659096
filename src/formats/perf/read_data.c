/*
 * perf.data, in its three forms:
 *
 *	file    header (magic, offsets), attributes, records, features
 *	pipe    magic, and then records only, among them the attributes and the features
 *	dir     such a file, `data`, and with `--threads` a file `data.N` with the records of each
 *	        thread of perf
 *
 * A feature is a section of its own at the end of a file; its header has a bit for each. Records
 * are the kernel's (samples and side band) and perf's own. The kernel's are put into order of time
 * (read_data_queue.c), the rest is taken in order of the file: a mapping must be known before the
 * sample that needs it, and forgotten after the exec that ends it.
 *
 *	attributes, features  →  read_data_meta.c, read_data_attr.c
 *	records               →  queue  →  apply()  →  tasks: threads, programs, mappings
 *	                                            →  samples: parsed, made a stack, added
 *
 * Compressed records hold other records; these join the queue by way of a chunk (decompress). Files of
 * threads are each in order of time already and are merged (read_streams).
 *
 * A damaged file is read up to the damage. Every size in it may be wrong: perf_section_slice() and
 * perf_record_take() are the only ways to its bytes.
 */
#include "formats/perf/data.h"
#include "formats/perf/off_cpu.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/format.h"
#include "formats/import.h"
#include "formats/reader.h"

#define MAGIC             "PERFILE2"
#define FOREIGN_MAGIC     "2ELIFREP" /* of a machine with the other order of bytes */
#define MAGIC_BYTES       8
#define PIPE_HEADER_BYTES 16

/* Records that wait for their order; those of a round are far fewer. */
#define MAX_QUEUED       (1u << 19)
#define MAX_QUEUED_BYTES (16u << 20) /* of decompressed records among them */

/* Limit of the output of compressed records: enough for any real profile, but not for a bomb. */
#define DECOMPRESS_FREE_BYTES (64u << 20)
#define DECOMPRESS_RATIO      100
#define MAX_CHUNK_BYTES       (16u << 20) /* of one compressed record */

#define MEMBER        "data"
#define STREAM_PREFIX "data."
#define KERNEL_COPY   "kcore_dir"

/* The file of a thread of perf: records in order of time. */
struct perf_data_stream {
	struct bytes bytes;
	struct perf_record next;
	uint64_t next_ns;
	bool is_over;
};

struct perf_data_reader {
	struct import *import;
	ARRAY(struct perf_data_stream) streams; /* of a directory */
	struct perf_meta meta;
	struct perf_stacks stacks;
	struct perf_queue queue;
	struct perf_decompressor *decompressor; /* NULL: nothing compressed yet */
	struct bytes leftover;                  /* decompressed: the start of a record; ours */
	uint64_t decompressed_bytes;
	bool is_over;               /* the rest cannot be read */
	uint64_t first_ns, last_ns; /* of samples */
};

static int fail_at(struct perf_data_reader *reader, uint64_t position, const char *reason)
{
	return import_fail_byte(reader->import, position, "%s", reason);
}

/* ---- records ---- */

/* A sample of a group has the counts of each of its events since the last one. */
static int add_group(struct perf_data_reader *reader, const struct perf_record *record,
		     const struct perf_sample *sample, uint32_t thread, uint32_t stack)
{
	struct import *import = reader->import;
	struct bytes counters = sample->counters;
	int err;

	while (bytes_left(&counters)) {
		uint64_t count = bytes_u64(&counters);
		uint64_t id = bytes_u64(&counters);
		struct perf_attr *attr = perf_attrs_count(&reader->meta.attrs, id, count, &count);
		uint32_t metric;

		bytes_skip(&counters, sample->counter_bytes - 16);
		if (!attr || !count)
			continue;
		err = perf_attr_add_metric(attr, import->profile, &metric);
		if (err)
			return err;
		err = reader_add_sample(import, record->position, thread, stack, metric, count);
		if (err)
			return err;
	}
	return 0;
}

static int add_sample(struct perf_data_reader *reader, const struct perf_record *record)
{
	struct import *import = reader->import;
	struct perf_attr *attr = perf_attrs_find_record(&reader->meta.attrs, record);
	const struct perf_image *image;
	struct perf_sample sample;
	uint32_t thread, stack, metric;
	uint64_t time_ns;
	int err;

	if (!attr)
		return reader_skip_byte(import, record->position,
					"a sample of an event that the file does not describe");
	if (!perf_sample_parse(attr, record->body, &sample))
		return reader_skip_byte(import, record->position, "a malformed sample");
	/* import->walk() cannot use registers of another machine. */
	sample.has_stack &= !reader->meta.is_foreign;
	time_ns = perf_attr_get_time(attr, record);
	if (!perf_is_time(time_ns))
		time_ns = 0;
	if (time_ns && (!reader->first_ns || time_ns < reader->first_ns))
		reader->first_ns = time_ns;
	if (time_ns > reader->last_ns)
		reader->last_ns = time_ns;
	err = perf_tasks_find(&reader->meta.tasks, sample.pid, sample.tid, &thread, &image);
	if (err)
		return err;
	err = perf_stacks_add(&reader->stacks, image, &sample, record->misc & PERF_MISC_CPU_MODE,
			      &stack);
	if (err)
		return err;
	if (sample.counters.size)
		return add_group(reader, record, &sample, thread, stack);
	err = perf_attr_add_metric(attr, import->profile, &metric);
	if (err)
		return err;
	err = reader_add_sample(import, record->position, thread, stack, metric, sample.period);
	if (err || !time_ns)
		return err;
	return profile_add_timestamp(import->profile, thread, stack, metric, sample.period,
				     time_ns);
}

static int add_lost(struct perf_data_reader *reader, const struct perf_record *record)
{
	struct bytes body = record->body;

	if (record->type == PERF_LOST)
		bytes_skip(&body, 8); /* id */
	reader->import->counts.lost_samples += bytes_u64(&body);
	return body.failed ? -EBADMSG : 0;
}

/* A record of the kernel, in its order. */
static int apply(struct perf_data_reader *reader, const struct perf_record *record)
{
	int err = 0;

	switch (record->type) {
	case PERF_SAMPLE:
		return add_sample(reader, record);
	case PERF_MMAP:
	case PERF_MMAP2:
		err = perf_tasks_on_mmap(&reader->meta.tasks, record);
		break;
	case PERF_COMM:
		err = perf_tasks_on_comm(&reader->meta.tasks, record);
		break;
	case PERF_FORK:
		err = perf_tasks_on_fork(&reader->meta.tasks, record);
		break;
	case PERF_EXIT:
		err = perf_tasks_on_exit(&reader->meta.tasks, record);
		break;
	case PERF_LOST:
	case PERF_LOST_SAMPLES:
		err = add_lost(reader, record);
		break;
	}
	if (err == -EBADMSG)
		return reader_skip_byte(reader->import, record->position, "a malformed record");
	return err;
}

static int deliver(void *context, const struct perf_queued *item)
{
	struct bytes bytes = bytes_of(item->record, UINT16_MAX);
	struct perf_record record;

	if (!perf_record_take(&bytes, 0, &record))
		return 0; /* it could be read when it was queued */
	record.position = item->position;
	return apply(context, &record);
}

/* Bytes before the oldest record in the queue are not needed any more. */
static void advance(struct perf_data_reader *reader, uint64_t position)
{
	struct import *import = reader->import;

	if (!import->advance || import->open_member)
		return;
	array_for_each (&reader->queue.items, item)
		if (item->position < position)
			position = item->position;
	import->advance(import->context, position);
}

static int finish_round(struct perf_data_reader *reader, uint64_t position)
{
	uint64_t limit_ns = perf_queue_finish_round(&reader->queue);
	int err = perf_queue_flush(&reader->queue, limit_ns, SIZE_MAX, deliver, reader);

	if (err)
		return err;
	advance(reader, position);
	return 0;
}

static int queue_record(struct perf_data_reader *reader, const struct perf_record *record,
			struct perf_chunk *chunk)
{
	const struct perf_attr *attr = perf_attrs_find_record(&reader->meta.attrs, record);
	struct perf_queue *queue = &reader->queue;
	struct perf_queued item = {
		.time_ns = attr ? perf_attr_get_time(attr, record) : 0,
		.position = record->position,
		.record = record->body.data - PERF_HEADER_BYTES,
		.chunk = chunk,
	};
	int err;

	/*
	 * Records that perf synthesizes for tasks that ran before it started: no time, and they are
	 * first.
	 */
	if (!item.time_ns)
		return apply(reader, record);
	err = perf_queue_add(queue, &item);
	if (err)
		return err;
	if (queue->items.length < MAX_QUEUED && queue->chunk_bytes < MAX_QUEUED_BYTES)
		return 0;
	/* A file without rounds: the older half goes, which is in order unless a CPU is far behind. */
	return perf_queue_flush(queue, UINT64_MAX, queue->items.length / 2 + 1, deliver, reader);
}

static int decompress(struct perf_data_reader *reader, const struct perf_record *record);

/*
 * Read all whole records. -ENODATA: the one at bytes->offset is not whole.
 *
 * chunk  that contains the bytes; NULL: in the file, from `position` on
 */
static int read_records(struct perf_data_reader *reader, struct bytes *bytes, uint64_t position,
			struct perf_chunk *chunk)
{
	int err = 0;

	while (!reader->is_over && bytes_left(bytes)) {
		size_t start = bytes->offset;
		struct perf_record record;

		if (!perf_record_take(bytes, chunk ? 0 : position, &record)) {
			bytes->offset = start;
			return -ENODATA;
		}
		if (chunk)
			record.position = position;
		perf_record_skip_data(&record, bytes);
		if (record.type == PERF_FINISHED_ROUND)
			err = finish_round(reader, record.position);
		else if (record.type == PERF_COMPRESSED || record.type == PERF_COMPRESSED2)
			err = chunk ? 0 : decompress(reader, &record);
		else if (record.type < PERF_USER_TYPES)
			err = queue_record(reader, &record, chunk);
		if (err)
			return err;
	}
	return 0;
}

/* ---- compressed records ---- */

/* Each chunk needs those before it: there is nothing to be read behind one that is lost. */
static int end_at(struct perf_data_reader *reader, uint64_t position, const char *reason)
{
	reader->is_over = true;
	return reader_end_at_byte(reader->import, position, reason);
}

static int keep_leftover(struct perf_data_reader *reader, const struct perf_chunk *chunk,
			 size_t from)
{
	size_t size = chunk->size - from;
	uint8_t *copy = malloc(size + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, chunk->data + from, size);
	reader->leftover = bytes_of(copy, size);
	return 0;
}

static void drop_leftover(struct perf_data_reader *reader)
{
	uint8_t *data;

	memcpy(&data, &reader->leftover.data, sizeof(data)); /* ours, despite its const type */
	free(data);
	reader->leftover = (struct bytes){0};
}

/* The decompressed bytes, behind the leftover of the previous ones. */
static int fill_chunk(struct perf_data_reader *reader, struct bytes compressed,
		      struct perf_chunk *chunk)
{
	chunk->data = malloc(reader->leftover.size + 1);
	if (!chunk->data)
		return -ENOMEM;
	if (reader->leftover.size)
		memcpy(chunk->data, reader->leftover.data, reader->leftover.size);
	chunk->size = reader->leftover.size;
	drop_leftover(reader);
	if (!reader->decompressor) {
		int err = perf_decompressor_new(&reader->decompressor);

		if (err)
			return err;
	}
	return perf_decompressor_add(reader->decompressor, compressed, MAX_CHUNK_BYTES, chunk);
}

static int read_chunk(struct perf_data_reader *reader, uint64_t position, struct perf_chunk *chunk)
{
	struct bytes bytes = bytes_of(chunk->data, chunk->size);
	int err = read_records(reader, &bytes, position, chunk);

	/* The rest of the last record is in the next bytes. */
	if (err == -ENODATA)
		err = keep_leftover(reader, chunk, bytes.offset);
	if (err)
		return err;
	if (reader->leftover.size > UINT16_MAX)
		return end_at(reader, position,
			      "compressed data without records: the rest is lost");
	return 0;
}

/* The reader itself holds the chunk until all of it is read, and then only the queue does. */
static void end_reading(struct perf_chunk **chunk)
{
	if (!*chunk)
		return;
	(*chunk)->is_being_read = false;
	if (!(*chunk)->num_queued)
		perf_chunk_free(*chunk);
}

static int decompress(struct perf_data_reader *reader, const struct perf_record *record)
{
	struct bytes compressed = record->body;
	_cleanup_(end_reading) struct perf_chunk *chunk = calloc(1, sizeof(*chunk));
	uint64_t limit = (uint64_t)reader->import->size * DECOMPRESS_RATIO + DECOMPRESS_FREE_BYTES;
	uint64_t size = compressed.size;
	int err;

	if (!chunk)
		return -ENOMEM;
	chunk->is_being_read = true;
	if (record->type == PERF_COMPRESSED2)
		size = bytes_u64(&compressed);
	compressed =
		bytes_of(compressed.data + compressed.offset, compressed.size - compressed.offset);
	if (size < compressed.size)
		compressed.size = (size_t)size;
	err = fill_chunk(reader, compressed, chunk);
	reader->decompressed_bytes += chunk->size;
	if (err == -EFBIG || (err == 0 && reader->decompressed_bytes > limit))
		return end_at(reader, record->position,
			      "compressed data expands too much: the rest is lost");
	if (err == -EBADMSG)
		return end_at(reader, record->position,
			      "damaged compressed data: the rest is lost");
	if (err == -ENOTSUP)
		return fail_at(reader, record->position,
			       "the records are compressed: only the command line can read them");
	if (err)
		return err;
	return read_chunk(reader, record->position, chunk);
}

/* ---- files of threads ---- */

/* Go to the next record of a stream. */
static int take_next(struct perf_data_reader *reader, struct perf_data_stream *stream)
{
	const struct perf_attr *attr;
	size_t start = stream->bytes.offset;

	stream->is_over = !bytes_left(&stream->bytes);
	if (stream->is_over)
		return 0;
	if (!perf_record_take(&stream->bytes, 0, &stream->next)) {
		stream->is_over = true;
		return reader_end_at_byte(
			reader->import, start,
			"the record of a thread is truncated or malformed: the rest is lost");
	}
	perf_record_skip_data(&stream->next, &stream->bytes);
	attr = perf_attrs_find_record(&reader->meta.attrs, &stream->next);
	stream->next_ns = attr && stream->next.type < PERF_USER_TYPES
				  ? perf_attr_get_time(attr, &stream->next)
				  : 0;
	return 0;
}

/* The stream whose next record is the earliest; NULL: all are over. */
static struct perf_data_stream *find_earliest(const struct perf_data_reader *reader)
{
	struct perf_data_stream *found = NULL;

	array_for_each (&reader->streams, stream)
		if (!stream->is_over && (!found || stream->next_ns < found->next_ns))
			found = stream;
	return found;
}

/* Merge the files of threads; there are as many as perf had threads, some for each CPU at most. */
static int read_streams(struct perf_data_reader *reader)
{
	struct perf_data_stream *stream;
	int err;

	array_for_each (&reader->streams, each) {
		err = take_next(reader, each);
		if (err)
			return err;
	}
	while (!reader->is_over && (stream = find_earliest(reader))) {
		struct perf_record record = stream->next;

		err = 0;
		if (record.type == PERF_COMPRESSED || record.type == PERF_COMPRESSED2)
			err = decompress(reader, &record);
		else if (record.type < PERF_USER_TYPES)
			err = queue_record(reader, &record, NULL);
		if (err)
			return err;
		err = take_next(reader, stream);
		if (err)
			return err;
	}
	return 0;
}

static int open_streams(struct perf_data_reader *reader)
{
	const struct import *import = reader->import;

	for (size_t i = 0; import->open_member && i < import->num_members; i++) {
		const uint8_t *data;
		struct perf_data_stream *added;
		size_t size;

		if (!string_starts_with(import->members[i], STREAM_PREFIX) ||
		    import->open_member(import->context, import->members[i], &data, &size))
			continue;
		added = array_add(&reader->streams);
		if (!added)
			return -ENOMEM;
		added->bytes = bytes_of(data, size);
	}
	return 0;
}

/* ---- the file ---- */

/* Records before a damage count. */
static int read_area(struct perf_data_reader *reader, struct perf_section area, bool is_truncated)
{
	struct import *import = reader->import;
	struct bytes bytes = perf_section_slice(reader->import, area);
	int err = perf_meta_order_metrics(&reader->meta, area);

	if (err)
		return err;
	err = read_records(reader, &bytes, area.offset, NULL);
	if (err == -ENODATA)
		err = reader_end_at_byte(import, area.offset + bytes.offset,
					 "the record is truncated or malformed: the rest is lost");
	else if (err == 0 && (is_truncated || bytes.failed))
		err = reader_end_at_byte(import, import->size, "the file is truncated");
	if (err)
		return err;
	err = read_streams(reader);
	if (err)
		return err;
	return perf_queue_flush(&reader->queue, UINT64_MAX, SIZE_MAX, deliver, reader);
}

static int read_body(struct perf_data_reader *reader)
{
	struct import *import = reader->import;
	struct bytes header = bytes_of(import->data, import->size);
	struct perf_section area = {0};
	uint64_t header_size;
	bool is_truncated;
	int err;

	bytes_skip(&header, MAGIC_BYTES);
	header_size = bytes_u64(&header);
	if (header.failed)
		return fail_at(reader, 0, "the header is truncated");
	if (header_size == PIPE_HEADER_BYTES) {
		area = (struct perf_section){PIPE_HEADER_BYTES, import->size - PIPE_HEADER_BYTES};
		err = perf_meta_read_records(&reader->meta, area);
	} else {
		err = perf_meta_read_header(&reader->meta, &area);
	}
	if (err)
		return err;
	/* perf writes the size of the records at its end: if it was killed, the size is missing. */
	is_truncated =
		!area.size || area.size > import->size || area.offset > import->size - area.size;
	if (!area.size)
		area.size = import->size;
	return read_area(reader, area, is_truncated);
}

/* Returns 0, or the error of the importer. */
static int finish(struct perf_data_reader *reader)
{
	struct import *import = reader->import;
	struct import_counts *counts = &import->counts;
	struct sampling sampling = {
		.duration_ns = reader->last_ns - reader->first_ns,
		.complete_stacks = reader->stacks.num_complete,
		.truncated_stacks = counts->truncated_stacks,
		.lost_samples = counts->lost_samples,
	};

	if (!counts->records)
		return fail_at(reader, import->size, "no sample found");
	if (counts->lost_samples)
		import_warn_counted(import, counts->lost_samples,
				    "{sample or other record was|samples or other records were} "
				    "lost while recording");
	profile_add_sampling(import->profile, &sampling);
	return import->will_name_code ? 0
				      : unsymbolized_code_name(import, false, UNNAMED_NO_SYMBOL);
}

static void release_reader(struct perf_data_reader *reader)
{
	perf_queue_release(&reader->queue);
	drop_leftover(reader);
	perf_decompressor_free(reader->decompressor);
	perf_stacks_release(&reader->stacks);
	perf_tasks_release(&reader->meta.tasks);
	perf_attrs_release(&reader->meta.attrs);
	array_release(&reader->streams);
}

static int read_file(struct import *import)
{
	_cleanup_(release_reader) struct perf_data_reader reader = {
		.import = import, .meta.import = import, .stacks.import = import};
	int err;

	if (import->size < MAGIC_BYTES)
		return import_fail_byte(import, 0, "expected " MAGIC);
	if (!memcmp(import->data, FOREIGN_MAGIC, MAGIC_BYTES))
		return import_fail_byte(import, 0,
					"recorded on a machine with the other byte order; convert "
					"it there with 'perf script'");
	if (memcmp(import->data, MAGIC, MAGIC_BYTES) != 0)
		return import_fail_byte(import, 0, "expected " MAGIC);
	perf_tasks_init(&reader.meta.tasks, import);
	err = open_streams(&reader);
	if (err)
		return err;
	err = read_body(&reader);
	if (err)
		return err;
	return finish(&reader);
}

static int read_perf_data(struct import *import)
{
	const uint8_t *data = import->data;
	size_t size = import->size;
	int err;

	if (!import->open_member)
		return read_file(import);
	if (import->open_member(import->context, MEMBER, &import->data, &import->size))
		return import_fail_byte(import, 0, "expected a file '" MEMBER "' in the directory");
	err = read_file(import);
	import->data = data;
	import->size = size;
	return err;
}

static bool detect_members(const char *const *members, size_t num_members)
{
	bool is_found = false;

	for (size_t i = 0; i < num_members; i++) {
		if (string_equals(members[i], MEMBER))
			is_found = true;
		else if (!string_starts_with(members[i], STREAM_PREFIX) &&
			 !string_starts_with(members[i], KERNEL_COPY))
			return false;
	}
	return is_found;
}

static enum detection detect(const uint8_t *data, size_t size)
{
	if (size < MAGIC_BYTES)
		return DETECTED_NOT;
	return !memcmp(data, MAGIC, MAGIC_BYTES) || !memcmp(data, FOREIGN_MAGIC, MAGIC_BYTES)
		       ? DETECTED_SURE
		       : DETECTED_NOT;
}

const struct format format_perf_data = {
	.name = "perf-data",
	.extension = "",
	.summary = "perf.data of 'perf record', with addresses",
	.producers = "perf 6.1",
	.detect = detect,
	.detect_members = detect_members,
	.read = read_perf_data,
};
