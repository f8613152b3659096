/*
 * CPU profiles of gperftools: words of the machine that wrote them, 4 or 8 bytes each, in either order.
 *
 *	0 3 0 PERIOD 0              header: its words, the version, microseconds between samples
 *	COUNT DEPTH PC…             a stack, innermost first
 *	0 1 0                       the end; then the text of /proc/PID/maps
 *
 * Source: gperftools, doc "CPU Profiler's binary data file format".
 */
#include "formats/gperftools/read.h"

#include <errno.h>
#include <inttypes.h>

#include "formats/reader.h"

#define NS_PER_US 1000u

struct cpu_words {
	const uint8_t *data;
	size_t size;
	size_t offset;
	size_t width; /* in bytes, 4 or 8 */
	bool is_big_endian;
	bool failed; /* a word beyond the end was asked for */
};

static uint64_t take(struct cpu_words *words)
{
	uint64_t value = 0;

	if (words->size - words->offset < words->width) {
		words->failed = true;
		return 0;
	}
	for (size_t i = 0; i < words->width; i++) {
		size_t byte = words->is_big_endian ? words->width - 1 - i : i;

		value |= (uint64_t)words->data[words->offset + byte] << (8 * i);
	}
	words->offset += words->width;
	return value;
}

/* The four widths and byte orders give different headers. */
static bool read_header(const uint8_t *data, size_t size, struct cpu_words *ret,
			uint64_t *ret_period_us)
{
	for (int way = 0; way < 4; way++) {
		struct cpu_words words = {.data = data,
					  .size = size,
					  .width = way & 1 ? 4 : 8,
					  .is_big_endian = way & 2};
		uint64_t start = take(&words);
		uint64_t num_words = take(&words);
		uint64_t version = take(&words);
		uint64_t period_us = take(&words);

		if (take(&words) || words.failed || start || num_words < 3 || num_words > 16 ||
		    version || !period_us || period_us > 1000000000)
			continue;
		for (uint64_t i = 3; i < num_words; i++)
			(void)take(&words);
		*ret = words;
		*ret_period_us = period_us;
		return true;
	}
	return false;
}

bool gperftools_is_cpu_profile(const uint8_t *data, size_t size)
{
	struct cpu_words words;
	uint64_t period_us;

	return read_header(data, size, &words, &period_us) && !words.failed;
}

/*
 * The signal handler may find the interrupted code twice: by the signal's context, and by the walk as a
 * return address.
 */
static void drop_second_leaf(struct gperftools_reader *reader)
{
	uint64_t *addresses = reader->addresses.items;

	if (reader->addresses.length < 2 || addresses[0] != addresses[1])
		return;
	memmove(addresses + 1, addresses + 2, (reader->addresses.length - 2) * sizeof(*addresses));
	reader->addresses.length--;
}

static int add_sample(struct gperftools_reader *reader, uint64_t offset, uint64_t count,
		      uint64_t period_us, const uint32_t *metrics)
{
	struct import *import = reader->import;
	uint64_t time_ns;
	uint32_t stack;
	int err;

	if (__builtin_mul_overflow(count, period_us * NS_PER_US, &time_ns))
		return import_fail_byte(import, offset, "the time of a stack exceeds 64 bits");
	drop_second_leaf(reader);
	err = gperftools_add_stack(reader, true, &stack);
	if (err)
		return err;
	err = reader_add_sample(import, offset, reader->thread, stack, metrics[0], time_ns);
	if (err)
		return err;
	err = profile_add_sample(import->profile, reader->thread, stack, metrics[1], count);
	return err == -EOVERFLOW
		       ? import_fail_byte(import, offset, "the samples of a stack exceed 64 bits")
		       : err;
}

static int read_addresses(struct gperftools_reader *reader, struct cpu_words *words, uint64_t depth)
{
	reader->addresses.length = 0;
	for (uint64_t i = 0; i < depth; i++) {
		uint64_t *added = array_add(&reader->addresses);

		if (!added)
			return -ENOMEM;
		*added = take(words);
	}
	return 0;
}

/* words  behind the header. ret_end  of the samples; the file's end if it was cut off */
static int read_samples(struct gperftools_reader *reader, struct cpu_words words,
			uint64_t period_us, const uint32_t *metrics, size_t *ret_end)
{
	struct import *import = reader->import;

	for (;;) {
		size_t offset = words.offset;
		uint64_t count = take(&words);
		uint64_t depth = take(&words);
		int err;

		if (words.failed || depth > (words.size - words.offset) / words.width) {
			*ret_end = words.size;
			import_warn(import, "at byte %zu: the profile is truncated", offset);
			return 0;
		}
		if (depth > GPERFTOOLS_MAX_FRAMES)
			return import_fail_byte(import, offset, "a stack of %" PRIu64 " frames",
						depth);
		err = read_addresses(reader, &words, depth);
		if (err)
			return err;
		if (!count && depth == 1 && !reader->addresses.items[0]) {
			*ret_end = words.offset;
			return 0;
		}
		if (!metrics || !count)
			continue;
		err = add_sample(reader, offset, count, period_us, metrics);
		if (err)
			return err;
	}
}

/* The end of the samples. The mappings start there, which the samples need. */
static int find_end(struct gperftools_reader *reader, struct cpu_words words, size_t *ret)
{
	uint64_t counted = reader->import->counts.warnings;
	void (*warn)(void *, const char *) = reader->import->warn;
	int err;

	reader->import->warn = NULL; /* the second pass warns */
	err = read_samples(reader, words, 0, NULL, ret);
	reader->import->warn = warn;
	reader->import->counts.warnings = counted;
	return err;
}

int gperftools_read_cpu_profile(struct gperftools_reader *reader)
{
	struct import *import = reader->import;
	struct cpu_words words;
	uint32_t metrics[2];
	uint64_t period_us;
	size_t end;
	int err;

	if (!read_header(import->data, import->size, &words, &period_us) || words.failed)
		return import_fail_byte(import, 0, "expected a CPU profile of gperftools");
	err = find_end(reader, words, &end);
	if (err)
		return err;
	err = gperftools_read_mappings(
		reader, (struct slice){(const char *)import->data + end, import->size - end});
	if (err)
		return err;
	err = profile_add_metric(import->profile, "cpu", "nanoseconds", &metrics[0]);
	if (err)
		return err;
	err = profile_add_metric(import->profile, "samples", "count", &metrics[1]);
	return err ? err : read_samples(reader, words, period_us, metrics, &end);
}
