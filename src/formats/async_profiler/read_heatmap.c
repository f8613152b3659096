/*
 * The heat maps of async-profiler: every sample with its stack, in steps of 20 ms.
 *
 * Two texts of digits (unpack.h) and a list of strings hold all:
 *
 *   methods     class and name, as numbers of strings; position in the bytecode, line, type
 *   executions  methods that stacks begin with · how many samples each step has, as a code ·
 *               pieces of stacks, each another piece and one method more, callers first ·
 *               the pieces of every sample, one after the other; the numbers of all this
 *
 * A piece that begins with the first method of a stack begins the next sample. Pieces that are used
 * often have short numbers of their own, before all others.
 *
 * Pieces share what they have in common, so that a small page can hold huge stacks: what is
 * unfolded is limited.
 */
#include "formats/async_profiler/read_heatmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "formats/async_profiler/unpack.h"
#include "formats/reader.h"
#include "timeline/timeline.h"

#define STEP_MS         20
#define MAX_START_MS    (1ull << 43) /* the year 2248 */
#define NS_A_MS         1000000
#define DIGITS_OF_COUNT 5
#define NUM_COUNTS      5

/* More than any real page has. */
#define MAX_SYNONYMS    65536
#define MAX_PIECE_DEPTH 65536
#define MAX_STEPS       100000000
#define MAX_STACKS      1500000
#define MAX_KNOWN       1000000

#define AT_START UINT32_MAX /* before the first piece of a stack */
#define STARTS   (1u << 31) /* in a piece's method: the piece begins a stack */

struct piece_of_stack {
	uint32_t parent; /* 0: begins with the method */
	uint32_t method; /* from 1; with STARTS */
};

/* What a piece makes of the stack before it. */
struct known {
	uint32_t before;
	uint32_t piece;
	uint32_t stack;
	uint32_t thread;
};

struct sample_in_work {
	uint32_t stack;
	uint32_t thread;
	bool is_open;
};

struct async_profiler_heatmap_reader {
	struct import *import;
	struct async_profiler_methods methods;
	ARRAY(uint32_t) synonyms;
	ARRAY(struct piece_of_stack) pieces;
	ARRAY(uint32_t) path;
	ARRAY(struct known) known;
	struct hash_index known_index;
	struct async_profiler_packed data;
	struct async_profiler_code steps;
	uint32_t num_pieces, num_steps, num_chunks, num_samples;
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

/* The last digits say how much there is. */
static int read_counts(struct async_profiler_heatmap_reader *reader)
{
	uint32_t *const counts[NUM_COUNTS] = {&reader->num_pieces, &reader->num_steps, NULL,
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

/* They are read again when the samples are: not to keep them is what bounds the memory. */
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

/* A piece that is there already. */
static bool take_piece(struct async_profiler_heatmap_reader *reader, uint32_t *ret)
{
	size_t num_synonyms = reader->synonyms.length;
	uint32_t number;

	if (!async_profiler_packed_take_number(&reader->data, &number))
		return false;
	if (number < num_synonyms)
		number = reader->synonyms.items[number];
	*ret = number - (uint32_t)num_synonyms;
	return number >= num_synonyms && *ret < reader->pieces.length;
}

/* The first one is none, which those that begin with their method have as their parent. */
static int read_pieces(struct async_profiler_heatmap_reader *reader)
{
	for (uint32_t i = 0; i < reader->num_pieces; i++) {
		struct piece_of_stack piece = {0};
		struct piece_of_stack *added;

		if (i) {
			if (!take_piece(reader, &piece.parent) ||
			    !async_profiler_packed_take_number(&reader->data, &piece.method) ||
			    !piece.method || piece.method > reader->methods.items.length)
				return fail_here(reader, "a piece of a stack");
			if (piece.parent ? reader->pieces.items[piece.parent].method & STARTS
					 : reader->methods.items.items[piece.method - 1].is_start)
				piece.method |= STARTS;
		}
		added = array_add(&reader->pieces);
		if (!added)
			return -ENOMEM;
		*added = piece;
	}
	return 0;
}

/* ---- stacks ---- */

static bool is_known(const void *owner, uint32_t item, const void *key)
{
	const struct known *a =
		&((const struct async_profiler_heatmap_reader *)owner)->known.items[item];
	const struct known *b = key;

	return a->before == b->before && a->piece == b->piece;
}

static uint64_t hash_known(const struct known *known)
{
	return hash_mix(hash_mix(0, known->before), known->piece);
}

/* The methods of a piece, the last one first. */
static int find_path(struct async_profiler_heatmap_reader *reader, uint32_t piece)
{
	reader->path.length = 0;
	for (; piece; piece = reader->pieces.items[piece].parent) {
		uint32_t *method = array_add(&reader->path);

		if (!method)
			return -ENOMEM;
		*method = reader->pieces.items[piece].method & ~STARTS;
		if (++reader->work > MAX_STEPS || reader->path.length > MAX_PIECE_DEPTH)
			return fail_here(reader, "stacks that are fewer and less deep");
	}
	return 0;
}

static int unfold_piece(struct async_profiler_heatmap_reader *reader, struct known *known)
{
	struct profile *profile = reader->import->profile;
	uint64_t max_stacks = MAX_STACKS + reader->import->size / 8;
	int err = find_path(reader, known->piece);

	known->stack = known->before == AT_START ? STACK_EMPTY : known->before;
	for (size_t i = reader->path.length; !err && i; i--) {
		struct async_profiler_method method;

		err = async_profiler_methods_find(&reader->methods, reader->path.items[i - 1],
						  &method);
		if (!err && known->before == AT_START && i == reader->path.length)
			known->thread = method.thread;
		if (!err && method.location != ASYNC_PROFILER_NO_LOCATION)
			err = profile_add_stack(profile, known->stack, method.location,
						&known->stack);
		if (!err && profile_count_stacks(profile) > max_stacks)
			err = fail_here(reader, "stacks that are fewer and less deep");
	}
	return err;
}

static int add_known(struct async_profiler_heatmap_reader *reader, const struct known *known)
{
	struct known *added;

	if (reader->known.length >= MAX_KNOWN)
		return 0;
	added = array_add(&reader->known);
	if (!added)
		return -ENOMEM;
	*added = *known;
	return hash_index_add(&reader->known_index, hash_known(known),
			      (uint32_t)(reader->known.length - 1));
}

/* Put a piece on the sample's stack. */
static int add_piece(struct async_profiler_heatmap_reader *reader, struct sample_in_work *sample,
		     uint32_t piece)
{
	struct known known = {.before = sample->is_open ? sample->stack : AT_START, .piece = piece};
	uint32_t found =
		hash_index_find(&reader->known_index, hash_known(&known), is_known, reader, &known);
	int err = 0;

	if (found != HASH_INDEX_NONE) {
		known = reader->known.items[found];
	} else {
		err = unfold_piece(reader, &known);
		if (!err)
			err = add_known(reader, &known);
	}
	sample->stack = known.stack;
	if (!sample->is_open)
		sample->thread = known.thread;
	sample->is_open = true;
	return err;
}

/* ---- samples ---- */

/* The time of the next sample; the last step's when the steps do not have so many. */
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
	if (!err)
		err = timeline_add_string(timeline, comm, &added.name);
	return err ? err : timeline_add_thread(timeline, &added, &thread->timeline);
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

	if (!err)
		err = profile_add_moment(reader->import->profile, thread->profile, sample->stack,
					 reader->metric, 1, timed.time_ns);
	reader->samples_read++;
	if (err || !reader->import->timeline || reader->metric > UINT8_MAX)
		return err;
	err = find_timeline_thread(reader, thread);
	timed.thread = thread->timeline;
	return err ? err : timeline_add_sample(reader->import->timeline, &timed, NULL);
}

static int read_samples(struct async_profiler_heatmap_reader *reader)
{
	struct sample_in_work sample = {0};
	uint32_t piece;
	int err = 0;

	for (uint32_t i = 0; !err && i < reader->num_chunks; i++) {
		if (!take_piece(reader, &piece) || !piece)
			return fail_here(reader, "a piece of a sample");
		if (sample.is_open && reader->pieces.items[piece].method & STARTS) {
			err = add_sample(reader, &sample);
			sample.is_open = false;
		}
		if (!err)
			err = add_piece(reader, &sample, piece);
	}
	if (!err && sample.is_open)
		err = add_sample(reader, &sample);
	return err;
}

static int read_executions(struct async_profiler_heatmap_reader *reader)
{
	int err = async_profiler_methods_find_digits(&reader->methods, ASYNC_PROFILER_HEATMAP_MARK,
						     &reader->data);

	if (!err)
		err = read_counts(reader);
	if (!err)
		err = read_starts(reader);
	if (!err)
		err = pass_steps(reader);
	if (!err)
		err = read_synonyms(reader);
	if (!err)
		err = read_pieces(reader);
	if (!err)
		err = read_synonyms(reader);
	return err ? err : read_samples(reader);
}

/* let startMs = 1700000000000; */
static void read_start(struct async_profiler_heatmap_reader *reader)
{
	struct piece text;

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

	if (!err)
		err = async_profiler_methods_init(&reader->methods, reader->import);
	if (err)
		return err;
	read_start(reader);
	err = read_executions(reader);
	if (!err && reader->start_ms) /* its times are the calendar's */
		err = profile_set_clock(reader->import->profile, reader->import->source, 0);
	if (!err && reader->samples_read != reader->num_samples)
		import_warn(reader->import, "the page tells of %lu samples and holds %lu",
			    (unsigned long)reader->num_samples,
			    (unsigned long)reader->samples_read);
	return err;
}

int async_profiler_read_heatmap(struct import *import)
{
	struct async_profiler_heatmap_reader reader = {
		.import = import,
		.timeline_process = TIMELINE_NONE,
	};
	int err = read_page(&reader);

	array_release(&reader.synonyms);
	array_release(&reader.pieces);
	array_release(&reader.path);
	array_release(&reader.known);
	hash_index_release(&reader.known_index);
	async_profiler_code_release(&reader.steps);
	async_profiler_methods_release(&reader.methods);
	return err;
}
