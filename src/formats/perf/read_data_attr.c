/*
 * Attributes, one for each event that perf opened, and the search for the attribute of a record.
 *
 * A record does not name its attribute but has the id of a counter. There is one counter for each
 * event and CPU or thread. The place of the id depends on the sample_type of the attribute, which
 * is not known yet. perf therefore ensures that all attributes of a file put it at the same place,
 * which the first of them defines. A file with one attribute needs no ids.
 */
#include <errno.h>

#include "base/array.h"
#include "base/text.h"
#include "formats/perf/data.h"
#include "formats/perf/off_cpu.h"
#include "formats/perf/read_data_bits.h"

/* Size of the first version of struct perf_event_attr. */
#define ATTR_MIN_BYTES 64

#define FLAG_FREQUENCY (1ull << 10)
#define FLAG_ID_ALL    (1ull << 18)

#define TYPE_HARDWARE 0
#define TYPE_SOFTWARE 1

void perf_attrs_release(struct perf_attrs *attrs)
{
	array_release(&attrs->items);
	perf_attr_ids_release(&attrs->ids);
}

int perf_attrs_add(struct perf_attrs *attrs, struct bytes bytes)
{
	struct perf_attr attr = {.name = STRING_NONE, .metric = METRIC_NONE};
	struct perf_attr *added;
	uint64_t flags;

	if (bytes.size < ATTR_MIN_BYTES)
		return -EBADMSG;
	attr.type = bytes_u32(&bytes);
	bytes_skip(&bytes, 4); /* its size */
	attr.config = bytes_u64(&bytes);
	attr.sample_period = bytes_u64(&bytes);
	attr.sample_type = bytes_u64(&bytes);
	attr.read_format = bytes_u64(&bytes);
	flags = bytes_u64(&bytes);
	attr.is_frequency = flags & FLAG_FREQUENCY;
	attr.has_trailers = flags & FLAG_ID_ALL;
	bytes_skip(&bytes, 24); /* wakeup, breakpoint type, two more configs */
	/* Older versions end before one of these: then they are 0. */
	attr.branch_sample_type = bytes_u64(&bytes);
	attr.user_registers = bytes_u64(&bytes);
	added = array_add(&attrs->items);
	if (!added)
		return -ENOMEM;
	*added = attr;
	return 0;
}

static uint32_t find_id(const struct perf_attrs *attrs, uint64_t id)
{
	return perf_attr_ids_find(&attrs->ids, &(struct perf_attr_id){.id = id});
}

int perf_attrs_add_id(struct perf_attrs *attrs, uint64_t id)
{
	struct perf_attr_id wanted = {.id = id, .attr = (uint32_t)(attrs->items.length - 1)};
	uint32_t item;

	return perf_attr_ids_intern(&attrs->ids, &wanted, &item);
}

struct perf_attr *perf_attrs_find(const struct perf_attrs *attrs, uint64_t id)
{
	uint32_t item = find_id(attrs, id);

	return item == HASH_INDEX_NONE ? NULL : &attrs->items.items[attrs->ids.items[item].attr];
}

struct perf_attr *perf_attrs_count(struct perf_attrs *attrs, uint64_t id, uint64_t count,
				   uint64_t *ret)
{
	uint32_t item = find_id(attrs, id);
	struct perf_attr_id *found;

	if (item == HASH_INDEX_NONE)
		return NULL;
	found = &attrs->ids.items[item];
	*ret = count > found->count ? count - found->count : 0;
	found->count = count;
	return &attrs->items.items[found->attr];
}

static size_t count_bits(uint64_t bits)
{
	return (size_t)__builtin_popcountll(bits);
}

/* Offset of a sample's id, in bytes: the parts before it have 8 bytes each. SIZE_MAX: no id. */
static size_t find_id_offset(uint64_t sample_type)
{
	uint64_t before = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;

	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	return sample_type & PERF_SAMPLE_ID ? 8 * count_bits(sample_type & before) : SIZE_MAX;
}

/* The same in the trailer of another record, from its end. */
static size_t find_id_trailer(uint64_t sample_type)
{
	uint64_t from = PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;

	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		return 8;
	return sample_type & PERF_SAMPLE_ID ? 8 * count_bits(sample_type & from) : SIZE_MAX;
}

/* The number at an offset; 0 beyond the end of the record. */
static uint64_t read_at(struct bytes body, size_t offset)
{
	if (offset > body.size)
		return 0;
	body.offset = offset;
	return bytes_u64(&body);
}

struct perf_attr *perf_attrs_find_record(const struct perf_attrs *attrs,
					 const struct perf_record *record)
{
	struct perf_attr *first = attrs->items.items;
	bool is_sample = record->type == PERF_SAMPLE;
	struct perf_attr *found;
	size_t offset;

	if (attrs->items.length < 2)
		return attrs->items.length ? first : NULL;
	if (!is_sample && !first->has_trailers)
		return first;
	offset = is_sample ? find_id_offset(first->sample_type)
			   : find_id_trailer(first->sample_type);
	if (offset == SIZE_MAX || offset > record->body.size)
		return is_sample ? NULL : first;
	if (!is_sample)
		offset = record->body.size - offset;
	found = perf_attrs_find(attrs, read_at(record->body, offset));
	/* Records that perf synthesizes for tasks that ran before it started have no id. */
	return found || is_sample ? found : first;
}

uint64_t perf_attr_get_time(const struct perf_attr *attr, const struct perf_record *record)
{
	uint64_t before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	uint64_t from = PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
			PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	size_t trailer = 8 * count_bits(attr->sample_type & from);
	uint64_t time_ns;

	if (!(attr->sample_type & PERF_SAMPLE_TIME))
		return 0;
	if (record->type == PERF_SAMPLE)
		time_ns = read_at(record->body, 8 * count_bits(attr->sample_type & before));
	else if (attr->has_trailers && trailer <= record->body.size)
		time_ns = read_at(record->body, record->body.size - trailer);
	else
		time_ns = 0;
	return time_ns == UINT64_MAX ? 0 : time_ns;
}

/* perf's name of an event, if the file has none. Source: perf_event.h. */
static void print_name(const struct perf_attr *attr, struct text *name)
{
	static const char *const hardware[] = {
		"cycles",
		"instructions",
		"cache-references",
		"cache-misses",
		"branches",
		"branch-misses",
		"bus-cycles",
		"stalled-cycles-frontend",
		"stalled-cycles-backend",
		"ref-cycles",
	};
	static const char *const software[] = {
		"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
	};

	if (attr->type == TYPE_HARDWARE && attr->config < ARRAY_LENGTH(hardware))
		text_append_string(name, hardware[attr->config]);
	else if (attr->type == TYPE_SOFTWARE && attr->config < ARRAY_LENGTH(software))
		text_append_string(name, software[attr->config]);
	else
		text_printf(name, "event-%u-%llu", attr->type, (unsigned long long)attr->config);
}

/* The periods of the clocks, and of time off the CPU, are nanoseconds. */
static bool is_clock(const char *name)
{
	static const char *const clocks[] = {"cpu-clock", "task-clock", PERF_OFF_CPU_EVENT};
	size_t length = strcspn(name, ":");

	for (size_t i = 0; i < ARRAY_LENGTH(clocks); i++)
		if (length == strlen(clocks[i]) && !memcmp(name, clocks[i], length))
			return true;
	return false;
}

int perf_attr_add_metric(struct perf_attr *attr, struct profile *profile, uint32_t *ret)
{
	_cleanup_(text_release) struct text name = {0};
	int err;

	if (attr->metric == METRIC_NONE) {
		if (attr->name != STRING_NONE)
			text_append_string(&name, profile_get_string(profile, attr->name));
		else
			print_name(attr, &name);
		if (name.failed)
			return -ENOMEM;
		err = profile_add_metric(profile, name.data,
					 is_clock(name.data) ? "nanoseconds" : "count",
					 &attr->metric);
		if (err)
			return err;
	}
	*ret = attr->metric;
	return 0;
}
