/*
 * Parses a sample. It has no tags: the bits of sample_type define its parts, their order is fixed
 * (read_data_bits.h), and some parts contain their own length. Unused parts are skipped to get to
 * the next ones; parts that are not known here follow all that are read.
 */
#include <string.h>

#include "formats/perf/data.h"
#include "formats/perf/read_data_bits.h"

#define ABI_64 2 /* of user registers */

#define BRANCH_BYTES 24

#define NUM_REGISTERS 64 /* bits of a mask */

/* As perf numbers them. */
enum register_number {
#define REGISTER_NUMBER(name, NAME, saved, perf, dwarf, context) REGISTER_##name = (perf),
	WIRE_FOR_EACH_REGISTER(REGISTER_NUMBER)
#undef REGISTER_NUMBER
};

/* Step over `count` items; false when there are not so many. */
static bool skip_items(struct bytes *body, uint64_t count, size_t item_bytes)
{
	if (count > bytes_left(body) / item_bytes)
		body->failed = true;
	else
		bytes_skip(body, (size_t)count * item_bytes);
	return !body->failed;
}

/* The counters' values; those of a group are kept. */
static bool read_counters(struct bytes *body, uint64_t format, struct perf_sample *sample)
{
	size_t per_value = 1 + !!(format & PERF_READ_ID) + !!(format & PERF_READ_LOST);
	uint64_t count = format & PERF_READ_GROUP ? bytes_u64(body) : 1;
	size_t start;

	if (!skip_items(body,
			!!(format & PERF_READ_TIME_ENABLED) + !!(format & PERF_READ_TIME_RUNNING),
			8))
		return false;
	start = body->offset;
	if (!skip_items(body, count, 8 * per_value))
		return false;
	if ((format & PERF_READ_GROUP) && (format & PERF_READ_ID)) {
		sample->counters = bytes_of(body->data + start, body->offset - start);
		sample->counter_bytes = 8 * per_value;
	}
	return true;
}

static bool skip_branches(struct bytes *body, uint64_t type)
{
	uint64_t count = bytes_u64(body);

	if (type & PERF_BRANCH_HW_INDEX)
		bytes_skip(body, 8);
	return skip_items(body, count, BRANCH_BYTES) &&
	       (!(type & PERF_BRANCH_COUNTERS) || skip_items(body, count, 8));
}

/* Those that were not recorded have a value that is no address, and no result of a system call. */
static void read_registers(struct bytes *body, uint64_t mask, struct wire_registers *ret)
{
	uint64_t values[NUM_REGISTERS];

	memset(values, 0xff, sizeof(values));
	for (size_t i = 0; i < NUM_REGISTERS; i++)
		if (mask >> i & 1)
			values[i] = bytes_u64(body);
#define GET_REGISTER(name, NAME, saved, perf, ...) ret->name = values[perf];
	WIRE_FOR_EACH_REGISTER(GET_REGISTER)
#undef GET_REGISTER
}

/* Only dynamic_size bytes of the space for the stack were filled. */
static void read_stack(struct bytes *body, struct import_stack *stack)
{
	uint64_t size = bytes_u64(body);
	uint64_t dynamic_size;

	if (!size || size > bytes_left(body)) {
		body->failed |= size != 0;
		return;
	}
	stack->bytes = bytes_take(body, (size_t)size);
	dynamic_size = bytes_u64(body);
	stack->size = (size_t)(dynamic_size < size ? dynamic_size : size);
}

static void read_user_stack(const struct perf_attr *attr, struct bytes *body,
			    struct perf_sample *sample)
{
	uint64_t wanted = 1ull << REGISTER_sp | 1ull << REGISTER_pc;
	uint64_t abi = 0;

	if (attr->sample_type & PERF_SAMPLE_REGS_USER) {
		abi = bytes_u64(body);
		if (abi)
			read_registers(body, attr->user_registers, &sample->stack.registers);
	}
	if (attr->sample_type & PERF_SAMPLE_STACK_USER)
		read_stack(body, &sample->stack);
	sample->has_stack =
		abi == ABI_64 && (attr->user_registers & wanted) == wanted && sample->stack.size;
}

static bool read_chain(struct bytes *body, struct perf_sample *sample)
{
	uint64_t length = bytes_u64(body);

	sample->chain = bytes_of(body->data + body->offset, (size_t)length * 8);
	sample->has_chain = true;
	return skip_items(body, length, 8);
}

/* The weight of a sample without one. perf uses this field even if it is a frequency. */
static uint64_t get_usual_period(const struct perf_attr *attr)
{
	return attr->sample_period ? attr->sample_period : 1;
}

static void read_numbers(const struct perf_attr *attr, struct bytes *body,
			 struct perf_sample *sample)
{
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		bytes_skip(body, 8);
	if (type & PERF_SAMPLE_IP)
		sample->ip = bytes_u64(body);
	if (type & PERF_SAMPLE_TID) {
		sample->pid = bytes_u32(body);
		sample->tid = bytes_u32(body);
	}
	for (uint64_t bit = PERF_SAMPLE_TIME; bit <= PERF_SAMPLE_ADDR; bit <<= 1)
		if (type & bit)
			bytes_skip(body, 8);
	if (type & PERF_SAMPLE_ID)
		bytes_skip(body, 8);
	if (type & PERF_SAMPLE_STREAM_ID)
		bytes_skip(body, 8);
	if (type & PERF_SAMPLE_CPU)
		bytes_skip(body, 8);
	if (type & PERF_SAMPLE_PERIOD)
		sample->period = bytes_u64(body);
	if (!sample->period)
		sample->period = type & PERF_SAMPLE_PERIOD ? 1 : get_usual_period(attr);
}

bool perf_sample_parse(const struct perf_attr *attr, struct bytes body, struct perf_sample *ret)
{
	uint64_t type = attr->sample_type;

	*ret = (struct perf_sample){0};
	read_numbers(attr, &body, ret);
	if ((type & PERF_SAMPLE_READ) && !read_counters(&body, attr->read_format, ret))
		return false;
	if ((type & PERF_SAMPLE_CALLCHAIN) && !read_chain(&body, ret))
		return false;
	if ((type & PERF_SAMPLE_RAW) && !skip_items(&body, bytes_u32(&body), 1))
		return false;
	if ((type & PERF_SAMPLE_BRANCH_STACK) && !skip_branches(&body, attr->branch_sample_type))
		return false;
	read_user_stack(attr, &body, ret);
	return !body.failed;
}
