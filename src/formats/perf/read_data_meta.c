/*
 * perf's description of the recording: events, build IDs, the machine. In a file it is in sections
 * around the records, in a pipe in records.
 */
#include <errno.h>

#include "formats/perf/data.h"

#define PIPE_HEADER_BYTES  16
#define FEATURE_BITS       256
#define FEATURE_BUILD_ID   2
#define FEATURE_RELEASE    4
#define FEATURE_ARCH       6
#define FEATURE_EVENT_DESC 12
#define UPDATE_NAME        2 /* kind of PERF_EVENT_UPDATE */

/* Attributes whose metrics are put into order. */
#define MAX_ORDERED_ATTRS 16

static int fail_at(struct perf_meta *meta, uint64_t position, const char *reason)
{
	return import_fail_byte(meta->import, position, "%s", reason);
}

/* Cut to the size of the file: an interrupted recording has sections beyond its end. */
struct bytes perf_section_slice(const struct import *import, struct perf_section section)
{
	size_t size = import->size;

	if (section.offset > size)
		return bytes_of(import->data + size, 0);
	if (section.size > size - section.offset)
		section.size = size - section.offset;
	return bytes_of(import->data + section.offset, (size_t)section.size);
}

/* ---- attributes and features ---- */

/* Ids tie samples and records to their event, if there are several (PERF_SAMPLE_IDENTIFIER). */
static int add_attr(struct perf_meta *meta, struct bytes attr, struct bytes ids, uint64_t position)
{
	int err = perf_attrs_add(&meta->attrs, attr);

	if (err == -EBADMSG)
		return fail_at(meta, position, "expected the attributes of an event");
	if (err)
		return err;
	while (bytes_left(&ids) >= 8) {
		err = perf_attrs_add_id(&meta->attrs, bytes_u64(&ids));
		if (err)
			return err;
	}
	return 0;
}

/* A string of a feature: its length, with padding, and its bytes. */
static struct bytes take_string(struct bytes *bytes)
{
	uint32_t size = bytes_u32(bytes);
	const char *text = bytes_take(bytes, size);

	return text ? bytes_of(text, strnlen(text, size)) : bytes_of("", 0);
}

static int set_name(struct perf_meta *meta, struct perf_attr *attr, struct bytes name)
{
	return string_table_add(profile_get_strings(meta->import->profile), (const char *)name.data,
				name.size, &attr->name);
}

/* The names of the events, as the user gave them. */
static int read_descriptions(struct perf_meta *meta, struct bytes bytes)
{
	uint32_t count = bytes_u32(&bytes);
	uint32_t attr_size = bytes_u32(&bytes);

	for (uint32_t i = 0; i < count && bytes_left(&bytes); i++) {
		struct perf_attr *attr = NULL;
		uint32_t num_ids;
		struct bytes name;

		bytes_skip(&bytes, attr_size);
		num_ids = bytes_u32(&bytes);
		name = take_string(&bytes);
		/* The first id leads to the attribute; without ids they are in the same order. */
		if (num_ids)
			attr = perf_attrs_find(&meta->attrs, bytes_u64(&bytes));
		else if (i < meta->attrs.items.length)
			attr = &meta->attrs.items.items[i];
		if (num_ids > 1 && num_ids - 1 > bytes_left(&bytes) / 8)
			return 0;
		if (num_ids > 1)
			bytes_skip(&bytes, (size_t)(num_ids - 1) * 8);
		if (attr && name.size && !bytes.failed) {
			int err = set_name(meta, attr, name);

			if (err)
				return err;
		}
	}
	return 0;
}

/* struct perf_event_header: type, misc, size; the size is that of the whole record. */
bool perf_record_take(struct bytes *bytes, uint64_t position, struct perf_record *ret)
{
	uint16_t size;

	ret->position = position + bytes->offset;
	ret->type = bytes_u32(bytes);
	ret->misc = bytes_u16(bytes);
	size = bytes_u16(bytes);
	if (bytes->failed || size < PERF_HEADER_BYTES)
		return false;
	ret->body = bytes_of(bytes->data + bytes->offset, size - PERF_HEADER_BYTES);
	return bytes_take(bytes, size - PERF_HEADER_BYTES) != NULL;
}

/* Two kinds of records have data behind them that their size does not count. */
void perf_record_skip_data(const struct perf_record *record, struct bytes *bytes)
{
	struct bytes body = record->body;

	if (record->type == PERF_TRACING_DATA)
		bytes_skip(bytes, (bytes_u32(&body) + 7ull) & ~7ull);
	else if (record->type == PERF_AUXTRACE)
		bytes_skip(bytes, bytes_u64(&body));
}

static int read_build_ids(struct perf_meta *meta, struct bytes bytes, uint64_t position)
{
	struct perf_record record;

	while (bytes_left(&bytes) && perf_record_take(&bytes, position, &record)) {
		int err = perf_tasks_add_build_id(&meta->tasks, &record);

		if (err)
			return err;
	}
	return 0;
}

static int read_feature(struct perf_meta *meta, uint64_t feature, struct bytes bytes,
			uint64_t position)
{
	struct import_kernel *kernel = &meta->import->kernel;
	struct bytes text;

	switch (feature) {
	case FEATURE_BUILD_ID:
		return read_build_ids(meta, bytes, position);
	case FEATURE_EVENT_DESC:
		return read_descriptions(meta, bytes);
	case FEATURE_RELEASE:
		text = take_string(&bytes);
		if (text.size < sizeof(kernel->release))
			memcpy(kernel->release, text.data, text.size);
		return 0;
	/* Addresses and registers of another architecture must not be unwound. */
	case FEATURE_ARCH:
		text = take_string(&bytes);
		meta->is_foreign =
			text.size && (text.size != strlen(WIRE_MACHINE_NAME) ||
				      memcmp(text.data, WIRE_MACHINE_NAME, text.size) != 0);
		return 0;
	}
	return 0;
}

/*
 * Behind the records of a file, for each bit of the header: the offset of the feature. The sections
 * of the features have no names: the n-th belongs to the n-th bit that is set.
 */
static int read_features(struct perf_meta *meta, struct perf_section records, struct bytes bits)
{
	struct perf_section table = {records.offset + records.size, FEATURE_BITS * 16};
	struct bytes sections = perf_section_slice(meta->import, table);

	if (!records.size || table.offset < records.offset)
		return 0;
	for (size_t i = 0; i < FEATURE_BITS; i++) {
		struct perf_section section;
		int err;

		if (!(bits.data[i / 8] >> i % 8 & 1))
			continue;
		section.offset = bytes_u64(&sections);
		section.size = bytes_u64(&sections);
		if (sections.failed)
			return 0;
		err = read_feature(meta, i, perf_section_slice(meta->import, section),
				   section.offset);
		if (err)
			return err;
	}
	return 0;
}

static int read_meta(struct perf_meta *meta, const struct perf_record *record)
{
	struct bytes body = record->body;
	struct perf_attr *attr;
	uint64_t kind;

	switch (record->type) {
	case PERF_HEADER_ATTR: {
		struct bytes size = body;
		uint32_t attr_size;

		bytes_skip(&size, 4);
		attr_size = bytes_u32(&size);
		if (!attr_size || attr_size > body.size)
			return fail_at(meta, record->position,
				       "expected the attributes of an event");
		return add_attr(meta, bytes_of(body.data, attr_size),
				bytes_of(body.data + attr_size, body.size - attr_size),
				record->position);
	}
	case PERF_BUILD_ID:
		return perf_tasks_add_build_id(&meta->tasks, record);
	case PERF_HEADER_FEATURE:
		kind = bytes_u64(&body);
		return read_feature(meta, kind,
				    bytes_of(body.data + body.offset, body.size - body.offset),
				    record->position + PERF_HEADER_BYTES + body.offset);
	case PERF_EVENT_UPDATE:
		kind = bytes_u64(&body);
		attr = perf_attrs_find(&meta->attrs, bytes_u64(&body));
		if (kind != UPDATE_NAME || !attr || !bytes_left(&body))
			return 0;
		body = bytes_of(body.data + body.offset, body.size - body.offset);
		body.size = strnlen((const char *)body.data, body.size);
		return body.size ? set_name(meta, attr, body) : 0;
	}
	return 0;
}

int perf_meta_read_records(struct perf_meta *meta, struct perf_section area)
{
	struct bytes bytes = perf_section_slice(meta->import, area);
	struct perf_record record;

	while (bytes_left(&bytes) && perf_record_take(&bytes, area.offset, &record)) {
		int err;

		perf_record_skip_data(&record, &bytes);
		err = read_meta(meta, &record);
		if (err)
			return err;
	}
	return 0;
}

int perf_meta_read_header(struct perf_meta *meta, struct perf_section *ret)
{
	struct bytes header = bytes_of(meta->import->data, meta->import->size);
	struct perf_section attrs;
	uint64_t attr_size;
	const uint8_t *bits;
	struct bytes bytes;
	int err;

	bytes_skip(&header, PIPE_HEADER_BYTES);
	attr_size = bytes_u64(&header);
	attrs.offset = bytes_u64(&header);
	attrs.size = bytes_u64(&header);
	ret->offset = bytes_u64(&header);
	ret->size = bytes_u64(&header);
	bytes_skip(&header, 16); /* names of events, of old */
	bits = bytes_take(&header, FEATURE_BITS / 8);
	if (!bits)
		return fail_at(meta, 0, "the header is truncated");
	if (attr_size <= 16)
		return fail_at(meta, PIPE_HEADER_BYTES, "expected the size of attributes");
	bytes = perf_section_slice(meta->import, attrs);
	/* Each is followed by the place of its ids. */
	while (bytes_left(&bytes) >= attr_size) {
		uint64_t position = attrs.offset + bytes.offset;
		struct bytes attr =
			bytes_of(bytes_take(&bytes, (size_t)attr_size - 16), attr_size - 16);
		struct perf_section ids = {.offset = bytes_u64(&bytes)};

		ids.size = bytes_u64(&bytes);
		err = add_attr(meta, attr, perf_section_slice(meta->import, ids), position);
		if (err)
			return err;
	}
	return read_features(meta, *ret, bytes_of(bits, FEATURE_BITS / 8));
}

/*
 * Events without samples get no metric. Reading stops when all have been met, which is mostly soon.
 */
int perf_meta_order_metrics(struct perf_meta *meta, struct perf_section area)
{
	struct perf_attrs *attrs = &meta->attrs;
	struct bytes bytes = perf_section_slice(meta->import, area);
	bool is_met[MAX_ORDERED_ATTRS] = {false};
	size_t num_missing = attrs->items.length;
	struct perf_record record;

	if (num_missing < 2 || num_missing > MAX_ORDERED_ATTRS)
		return 0;
	while (num_missing && bytes_left(&bytes) && perf_record_take(&bytes, 0, &record)) {
		const struct perf_attr *attr;

		perf_record_skip_data(&record, &bytes);
		attr = record.type == PERF_SAMPLE ? perf_attrs_find_record(attrs, &record) : NULL;
		if (!attr || is_met[attr - attrs->items.items])
			continue;
		is_met[attr - attrs->items.items] = true;
		num_missing--;
	}
	for (size_t i = 0; i < attrs->items.length; i++) {
		uint32_t metric;
		int err;

		if (!is_met[i])
			continue;
		err = perf_attr_add_metric(&attrs->items.items[i], meta->import->profile, &metric);
		if (err)
			return err;
	}
	return 0;
}
