/*
 * The heat maps of async-profiler (version 4 on): every sample with its stack, in steps of 20 ms.
 *
 * Two texts of digits (unpack.h) and a list of strings hold all:
 *
 *   methods     class and name, as numbers of strings; position in the bytecode, line, type
 *   executions  the methods that stacks start with
 *               number of samples of each step of 20 ms, in a Huffman code
 *               synonyms, then chunks: each another chunk and one method more, callers first
 *               synonyms, then the chunks of all samples, one after the other
 *               at the very end: the number of each
 *
 * This is LZ78, the idea behind compress(1), with methods in place of bytes: a sample is
 * a few chunks, each of which was seen before as a whole. There is no mark between samples. A chunk
 * whose first method starts a stack starts the next sample. Synonyms are short numbers for the
 * chunks that are used most, and precede all others.
 *
 * As chunks nest, a page of a megabyte can hold stacks of any size: unfolding is limited.
 *
 * Source: async-profiler, one.heatmap and the script of its page.
 */
#include "formats/async_profiler/read_heatmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/intern.h"
#include "formats/async_profiler/unpack.h"
#include "formats/reader.h"
#include "timeline/timeline.h"

#define STEP_MS         20
#define MAX_START_MS    (1ull << 43) /* the year 2248 */
#define NS_A_MS         1000000
#define DIGITS_OF_COUNT 5
#define NUM_COUNTS      5

/* More than any real page has. */
#define MAX_SYNONYMS      65536
#define MAX_SLICE_NESTING 65536
#define MAX_STEPS         100000000
#define MAX_STACKS        1500000
#define MAX_KNOWN         1000000

#define AT_START UINT32_MAX /* before the first chunk of a stack */
#define STARTS   (1u << 31) /* in a chunk's method: the chunk starts a stack */

struct stack_slice {
	uint32_t parent; /* 0: starts with the method */
	uint32_t method; /* from 1; with STARTS */
};

/* A stack, one chunk, and the stack with the chunk on it: most samples repeat known steps. */
struct heatmap_step {
	uint32_t before; /* the stack; AT_START: the sample starts */
	uint32_t slice;
	uint32_t stack; /* with the chunk */
	uint32_t thread;
};
INTERN_TABLE(heatmap_step_table, struct heatmap_step, before, slice);

struct sample_in_work {
	uint32_t stack;
	uint32_t thread;
	bool is_open;
};

struct async_profiler_heatmap_reader {
	struct import *import;
	struct async_profiler_methods methods;
	ARRAY(uint32_t) synonyms;
	ARRAY(struct stack_slice) slices;
	ARRAY(uint32_t) path;
	struct heatmap_step_table known;
	struct async_profiler_packed data;
	struct async_profiler_code steps;
	uint32_t num_slices, num_steps, num_chunks, num_samples;
	uint64_t start_ms;
	uint64_t step;         /* the next one */
	uint32_t left_in_step; /* samples */
	uint64_t work;
	uint64_t samples_read;
	uint32_t metric;
	uint32_t timeline_process;
};

static int fail(const struct async_profiler_heatmap_reader *reader, const uint8_t *at,
		const char *expected)
{
	return async_profiler_heatmap_fail(reader->import, at, expected);
}

static int fail_here(const struct async_profiler_heatmap_reader *reader, const char *expected)
{
	return fail(reader, reader->data.next, expected);
}

/* ---- executions ---- */

/* They are the last digits, as the writer knows them only after all else. */
static int read_counts(struct async_profiler_heatmap_reader *reader)
{
	uint32_t *const counts[NUM_COUNTS] = {&reader->num_slices, &reader->num_steps, NULL,
					      &reader->num_chunks, &reader->num_samples};
	struct async_profiler_packed tail = reader->data;
	size_t size = NUM_COUNTS * DIGITS_OF_COUNT;
	uint32_t storage;

	if ((size_t)(tail.end - tail.next) < size)
		return fail_here(reader, "the counts");
	tail.next = reader->data.end = tail.end - size;
	for (int i = 0; i < NUM_COUNTS; i++)
		if (!async_profiler_packed_take_bits(&tail, DIGITS_OF_COUNT,
						     counts[i] ? counts[i] : &storage))
			return fail(reader, tail.next, "the counts");
	return 0;
}

static int read_starts(struct async_profiler_heatmap_reader *reader)
{
	uint32_t count;
	uint32_t method;

	if (!async_profiler_packed_take_number(&reader->data, &count))
		return fail_here(reader, "the number of first methods");
	while (count--) {
		if (!async_profiler_packed_take_number(&reader->data, &method) || !method ||
		    method > reader->methods.items.length)
			return fail_here(reader, "a first method");
		reader->methods.items.items[method - 1].is_start = true;
	}
	return 0;
}

/*
 * Skip the counts of samples by step, and remember where they are. They are decoded a second time
 * along with the samples, as an hour has 180,000 of them, and a damaged page may claim any number.
 */
static int pass_steps(struct async_profiler_heatmap_reader *reader)
{
	int err = async_profiler_code_init(&reader->steps, &reader->data);
	struct async_profiler_code code = reader->steps;
	uint32_t count;

	if (err == -EINVAL)
		return fail_here(reader, "the code");
	if (err || async_profiler_code_is_constant(&code))
		return err;
	for (uint32_t i = 0; i < reader->num_steps; i++)
		if (!async_profiler_code_take(&code, &count))
			return fail(reader, code.words.next, "the numbers of samples");
	reader->data = code.words;
	return 0;
}

static int read_synonyms(struct async_profiler_heatmap_reader *reader)
{
	uint32_t count;

	reader->synonyms.length = 0;
	if (!async_profiler_packed_take_number(&reader->data, &count) || count > MAX_SYNONYMS)
		return fail_here(reader, "the number of synonyms");
	while (count--) {
		uint32_t *synonym = array_add(&reader->synonyms);

		if (!synonym)
			return -ENOMEM;
		if (!async_profiler_packed_take_number(&reader->data, synonym))
			return fail_here(reader, "a synonym");
	}
	return 0;
}

/* A chunk that is there already. */
static bool take_slice(struct async_profiler_heatmap_reader *reader, uint32_t *ret)
{
	size_t num_synonyms = reader->synonyms.length;
	uint32_t number;

	if (!async_profiler_packed_take_number(&reader->data, &number))
		return false;
	if (number < num_synonyms)
		number = reader->synonyms.items[number];
	*ret = number - (uint32_t)num_synonyms;
	return number >= num_synonyms && *ret < reader->slices.length;
}

/* Chunk 0 is empty: the parent of chunks of one method. */
static int read_chunks(struct async_profiler_heatmap_reader *reader)
{
	for (uint32_t i = 0; i < reader->num_slices; i++) {
		struct stack_slice slice = {0};
		struct stack_slice *added;

		if (i) {
			if (!take_slice(reader, &slice.parent) ||
			    !async_profiler_packed_take_number(&reader->data, &slice.method) ||
			    !slice.method || slice.method > reader->methods.items.length)
				return fail_here(reader, "a part of a stack");
			if (slice.parent ? reader->slices.items[slice.parent].method & STARTS
					 : reader->methods.items.items[slice.method - 1].is_start)
				slice.method |= STARTS;
		}
		added = array_add(&reader->slices);
		if (!added)
			return -ENOMEM;
		*added = slice;
	}
	return 0;
}

/* ---- stacks ---- */

/* The methods of a chunk, the last one first. */
static int find_path(struct async_profiler_heatmap_reader *reader, uint32_t slice)
{
	reader->path.length = 0;
	for (; slice; slice = reader->slices.items[slice].parent) {
		uint32_t *method = array_add(&reader->path);

		if (!method)
			return -ENOMEM;
		*method = reader->slices.items[slice].method & ~STARTS;
		if (++reader->work > MAX_STEPS || reader->path.length > MAX_SLICE_NESTING)
			return fail_here(reader, "stacks that are fewer and less deep");
	}
	return 0;
}

static int unfold_slice(struct async_profiler_heatmap_reader *reader, struct heatmap_step *step)
{
	struct profile *profile = reader->import->profile;
	uint64_t max_stacks = MAX_STACKS + reader->import->size / 8;
	int err = find_path(reader, step->slice);

	step->stack = step->before == AT_START ? STACK_EMPTY : step->before;
	if (err)
		return err;
	for (size_t i = reader->path.length; i; i--) {
		struct async_profiler_method method;

		err = async_profiler_methods_find(&reader->methods, reader->path.items[i - 1],
						  &method);
		if (err)
			return err;
		if (step->before == AT_START && i == reader->path.length)
			step->thread = method.thread;
		if (method.location != ASYNC_PROFILER_NO_LOCATION) {
			err = profile_add_stack(profile, step->stack, method.location,
						&step->stack);
			if (err)
				return err;
		}
		if (profile_count_stacks(profile) > max_stacks)
			return fail_here(reader, "stacks that are fewer and less deep");
	}
	return 0;
}

/* Put a chunk on the sample's stack. */
static int add_chunk(struct async_profiler_heatmap_reader *reader, struct sample_in_work *sample,
		     uint32_t slice)
{
	struct heatmap_step step = {
		.before = sample->is_open ? sample->stack : AT_START,
		.slice = slice,
	};
	uint32_t known = heatmap_step_table_find(&reader->known, &step);
	int err;

	if (known != HASH_INDEX_NONE) {
		step = reader->known.items[known];
	} else {
		err = unfold_slice(reader, &step);
		if (err)
			return err;
		if (reader->known.length < MAX_KNOWN) {
			err = heatmap_step_table_add(&reader->known, &step, &known);
			if (err)
				return err;
		}
	}
	sample->stack = step.stack;
	if (!sample->is_open)
		sample->thread = step.thread;
	sample->is_open = true;
	return 0;
}

/* ---- samples ---- */

/* The time of the next sample: the start of its step, or of the last one when steps run out. */
static uint64_t take_time(struct async_profiler_heatmap_reader *reader)
{
	bool has_samples =
		!async_profiler_code_is_constant(&reader->steps) || reader->steps.values.items[0];

	while (!reader->left_in_step && reader->step < reader->num_steps && has_samples) {
		reader->step++;
		if (!async_profiler_code_take(&reader->steps, &reader->left_in_step))
			reader->left_in_step = 0;
	}
	reader->left_in_step -= reader->left_in_step > 0;
	return (reader->start_ms + (reader->step ? reader->step - 1 : 0) * STEP_MS) * NS_A_MS;
}

static int find_timeline_thread(struct async_profiler_heatmap_reader *reader,
				struct async_profiler_thread *thread)
{
	struct timeline *timeline = reader->import->timeline;
	const struct profile *profile = reader->import->profile;
	struct timeline_thread added = {.tid = thread->tid};
	struct timeline_process process = {0};
	const char *comm =
		profile_get_string(profile, profile_get_thread(profile, thread->profile)->comm);
	int err = 0;

	if (thread->timeline != TIMELINE_NONE)
		return 0;
	if (reader->timeline_process == TIMELINE_NONE)
		err = timeline_add_process(timeline, &process, &reader->timeline_process);
	added.process = reader->timeline_process;
	if (err)
		return err;
	err = timeline_add_string(timeline, comm, &added.name);
	if (err)
		return err;
	return timeline_add_thread(timeline, &added, &thread->timeline);
}

static int add_sample(struct async_profiler_heatmap_reader *reader,
		      const struct sample_in_work *sample)
{
	struct async_profiler_thread *thread = &reader->methods.threads.items[sample->thread];
	struct timeline_sample timed = {.time_ns = take_time(reader),
					.weight = 1,
					.stack = sample->stack,
					.metric = (uint8_t)reader->metric};
	int err = reader_add_sample(reader->import,
				    (uint64_t)(reader->data.next - reader->import->data),
				    thread->profile, sample->stack, reader->metric, 1);

	if (err)
		return err;
	err = profile_add_timestamp(reader->import->profile, thread->profile, sample->stack,
				    reader->metric, 1, timed.time_ns);
	if (err)
		return err;
	reader->samples_read++;
	if (!reader->import->timeline || reader->metric > UINT8_MAX)
		return 0;
	err = find_timeline_thread(reader, thread);
	if (err)
		return err;
	timed.thread = thread->timeline;
	return timeline_add_sample(reader->import->timeline, &timed, NULL);
}

static int read_samples(struct async_profiler_heatmap_reader *reader)
{
	struct sample_in_work sample = {0};
	uint32_t slice;
	int err;

	for (uint32_t i = 0; i < reader->num_chunks; i++) {
		if (!take_slice(reader, &slice) || !slice)
			return fail_here(reader, "a part of a sample");
		if (sample.is_open && reader->slices.items[slice].method & STARTS) {
			err = add_sample(reader, &sample);
			if (err)
				return err;
			sample.is_open = false;
		}
		err = add_chunk(reader, &sample, slice);
		if (err)
			return err;
	}
	return sample.is_open ? add_sample(reader, &sample) : 0;
}

static int read_executions(struct async_profiler_heatmap_reader *reader)
{
	int err = async_profiler_methods_find_digits(&reader->methods, ASYNC_PROFILER_HEATMAP_MARK,
						     &reader->data);

	if (err)
		return err;
	err = read_counts(reader);
	if (err)
		return err;
	err = read_starts(reader);
	if (err)
		return err;
	err = pass_steps(reader);
	if (err)
		return err;
	err = read_synonyms(reader);
	if (err)
		return err;
	err = read_chunks(reader);
	if (err)
		return err;
	err = read_synonyms(reader);
	if (err)
		return err;
	return read_samples(reader);
}

/* let startMs = 1700000000000; */
static void read_start(struct async_profiler_heatmap_reader *reader)
{
	struct slice text;

	if (async_profiler_find_after(reader->methods.page, "let startMs = ", &text)) {
		size_t digits = 0;

		while (digits < text.length && text.start[digits] >= '0' &&
		       text.start[digits] <= '9')
			digits++;
		if (!parse_u64(text.start, digits, &reader->start_ms) ||
		    reader->start_ms > MAX_START_MS)
			reader->start_ms = 0;
	}
}

static int read_page(struct async_profiler_heatmap_reader *reader)
{
	int err = profile_add_metric(reader->import->profile, "samples", "count", &reader->metric);

	if (err)
		return err;
	err = async_profiler_methods_init(&reader->methods, reader->import);
	if (err)
		return err;
	read_start(reader);
	err = read_executions(reader);
	if (err)
		return err;
	if (reader->start_ms) { /* its times are the calendar's */
		err = profile_set_clock(reader->import->profile, reader->import->source, 0);
		if (err)
			return err;
	}
	if (reader->samples_read != reader->num_samples)
		import_warn(reader->import, "the page announces %lu samples but holds %lu",
			    (unsigned long)reader->num_samples,
			    (unsigned long)reader->samples_read);
	return 0;
}

int async_profiler_read_heatmap(struct import *import)
{
	struct async_profiler_heatmap_reader reader = {
		.import = import,
		.timeline_process = TIMELINE_NONE,
	};
	int err = read_page(&reader);

	array_release(&reader.synonyms);
	array_release(&reader.slices);
	array_release(&reader.path);
	heatmap_step_table_release(&reader.known);
	async_profiler_code_release(&reader.steps);
	async_profiler_methods_release(&reader.methods);
	return err;
}
