/*
 * Folded stacks: one line a stack, and how many samples it has. Files of gigabytes are common, so
 * this reader is built for speed.
 *
 * flamegraph.pl's stackcollapse scripts sort their output. In sorted text a line shares a prefix
 * with the one before it, whose frames are still known (`frames`): only the rest of the line is
 * parsed. And the first frame of the rest makes a stack that is new, which needs no search in the
 * stack table, with one exception:
 *
 *     a 1
 *     a b 2
 *     a;x 3
 *
 * ' ' sorts before ';', so the stack a;x continues a line that is not the one before. Lines that
 * are a prefix of the present one are therefore remembered (`outer`); no other line can have a
 * frame that occurs again.
 *
 * Stacks of files that were read before are searched for. Those were settled, that is, put into an
 * order in which a search takes few steps.
 *
 * Text that is not sorted becomes so: from the first line on that is out of order, all lines are
 * noted as the ranks of their labels (label_order.h), sorted (sort.h) and then read like another
 * file. If the first lines are out of order already, that is the whole file.
 *
 * `#` is data, but in austin's text (austin.h).
 *
 * Counts are whole numbers here. If a file has fractions, all of its counts are multiplied by the
 * same power of ten. It becomes known as the file is read, and then the counts added so far are
 * multiplied, which happens FOLDED_MAX_DECIMALS times at most.
 *
 * Counts below 0 are subtracted from their stacks at the end (signed_sums.h).
 *
 * The format has no place for a frame's module or line, and for ';' in a name. A frame's kind comes
 * from the annotations of stackcollapse-perf.pl (profile/frame_kind.h).
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "formats/folded/austin.h"
#include "formats/folded/label_cache.h"
#include "formats/folded/label_order.h"
#include "formats/folded/line.h"
#include "formats/folded/sort.h"
#include "formats/folded/write.h"
#include "formats/reader.h"
#include "formats/signed_sums.h"
#include "formats/slice.h"

#define ADVANCE_BYTES (1u << 20)
/*
 * Lines, blank ones aside, that are checked; for a file to be detected, most of them must look like
 * folded text.
 */
#define DETECT_LINES 16384

/* Lines that are checked to see whether a file is sorted at all. */
#define SORTED_LINES 1024

/* Number of lines to prefetch ahead, and the step in bytes. */
#define AHEAD            8
#define CACHE_LINE_BYTES 64

#define NOT_MADE UINT32_MAX
/* Instead of an error: the line is to be read behind others. */
#define OUT_OF_ORDER 1

/* The first bytes of a line, up to the end of a frame, as a stack of the profile. */
struct outline {
	size_t length; /* in bytes of the line, without the `;` */
	uint32_t stack;
};

struct folded_reader {
	struct import *import;
	size_t num_counts;
	uint32_t metrics[FOLDED_MAX_COUNTS];
	uint32_t thread;
	bool is_austin;   /* whose comments are not stacks */
	uint8_t decimals; /* the most decimals of any count; all counts are multiplied */
	bool is_rounded;  /* one has more than are kept */
	struct signed_sums signed_sums;
	uint64_t line;           /* number of the present line, from 1 */
	uint64_t first_bad_line; /* 0: no bad line */
	uint64_t first_nul;      /* number of the first line with a NUL byte; 0: no such line */
	/* The last stack that was read: its bytes, borrowed from the file, and its frames. */
	const uint8_t *stack;
	size_t length;
	ARRAY(struct outline) frames;
	bool is_repeated;            /* it is the same as the one before it */
	uint32_t first_own;          /* stacks from here on are of this file, or of its rest */
	bool is_rest;                /* stacks before may have samples of this file, too */
	ARRAY(struct outline) outer; /* earlier stacks that are prefixes of it */
	struct label_cache labels;   /* and their locations; or, out of order, their numbers */
	/*
	 * Lines out of order: the numbers of their labels in the table, one line behind the other,
	 * which become ranks; and the counts that an entry has no room for.
	 */
	ARRAY(struct folded_entry) entries;
	struct string_table *label_table;
	ARRAY(uint32_t) ranks;
	ARRAY(struct folded_line) counts;
	ARRAY(uint32_t) locations[NUM_FRAME_MARKS]; /* by mark and name; NOT_MADE */
};

/* Eight bytes at a time: most of the time is spent on long common prefixes. */
static size_t get_common_length(const uint8_t *a, const uint8_t *b, size_t length)
{
	size_t common = 0;
	uint64_t word_a;
	uint64_t word_b;

	for (; length - common >= sizeof(word_a); common += sizeof(word_a)) {
		memcpy(&word_a, a + common, sizeof(word_a));
		memcpy(&word_b, b + common, sizeof(word_b));
		if (word_a != word_b)
			return common + (size_t)__builtin_ctzll(word_a ^ word_b) / 8;
	}
	while (common < length && a[common] == b[common])
		common++;
	return common;
}

/* Called for labels that are met for the first time, at least. */
static void note_nul(struct folded_reader *reader, const uint8_t *label, size_t length)
{
	if (memchr(label, '\0', length) && (!reader->first_nul || reader->line < reader->first_nul))
		reader->first_nul = reader->line;
}

/* Locations by name and kind: `read` and `read_[k]` are two. */
static int find_location(struct folded_reader *reader, const uint8_t *label, size_t length,
			 uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	const char *name = (const char *)label;
	struct frame frame = {0};
	size_t mark = FRAME_MARK_NONE;
	uint32_t *location;
	int err;

	note_nul(reader, label, length);
	/* All annotations end like this. */
	if (length && name[length - 1] == ']') {
		err = reader_strip_annotation(profile, name, &length, &frame);
		if (err)
			return err;
		mark = frame_kind_get_mark(frame.kind, frame.is_inlined);
	}
	err = string_table_add(profile_get_strings(profile), name, length, &frame.name);
	if (err)
		return err;
	while (reader->locations[mark].length <= frame.name) {
		location = array_add(&reader->locations[mark]);
		if (!location)
			return -ENOMEM;
		*location = NOT_MADE;
	}
	location = &reader->locations[mark].items[frame.name];
	frame.full_name = frame.name;
	if (*location == NOT_MADE) {
		err = profile_add_frame_location(profile, &frame, location);
		if (err)
			return err;
	}
	*ret = *location;
	return 0;
}

static int add_location(struct folded_reader *reader, const uint8_t *label, size_t length,
			uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	struct cached_label made = label_cache_make(label, length);
	const struct location *location;
	uint32_t name;
	int err;

	if (label_cache_find(&reader->labels, &made, label, ret))
		return 0;
	err = find_location(reader, label, length, ret);
	if (err)
		return err;
	location = profile_get_location(profile, *ret);
	name = profile_get_frame(profile, location->first_frame)->name;
	if (length <= LABEL_MAX_WHOLE || profile_get_string_length(profile, name) == length)
		label_cache_add(&reader->labels, &made, profile_get_string(profile, name), *ret);
	return 0;
}

/* The stack of an earlier line that is the present one's first `length` bytes. */
static uint32_t find_outer(const struct folded_reader *reader, size_t length)
{
	for (size_t i = reader->outer.length; i-- > 0 && reader->outer.items[i].length >= length;)
		if (reader->outer.items[i].length == length)
			return reader->outer.items[i].stack;
	return STACK_EMPTY;
}

/* Only stacks read before this file can equal this one, for the text is sorted. */
static int add_level(struct folded_reader *reader, uint32_t parent, uint32_t location,
		     uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	uint32_t found = STACK_EMPTY;

	if (parent < reader->first_own)
		found = profile_find_stack(profile, parent, location);
	if (found == STACK_EMPTY)
		return profile_add_new_stack(profile, parent, location, ret);
	*ret = found;
	return 0;
}

/* Parse the frames from byte `start` on; there the stack differs from the last one. */
static int add_frames(struct folded_reader *reader, const uint8_t *stack, size_t length,
		      size_t start)
{
	uint32_t id = STACK_EMPTY;
	struct outline *frame;
	uint32_t location;
	bool is_first = true;
	int err;

	if (reader->frames.length)
		id = reader->frames.items[reader->frames.length - 1].stack;
	while (start <= length) {
		const uint8_t *next = memchr(stack + start, ';', length - start);
		size_t end = next ? (size_t)(next - stack) : length;
		uint32_t known = is_first && next ? find_outer(reader, end) : STACK_EMPTY;

		is_first = false;
		if (known != STACK_EMPTY) {
			id = known;
		} else {
			err = add_location(reader, stack + start, end - start, &location);
			if (err)
				return err;
			err = add_level(reader, id, location, &id);
			if (err)
				return err;
		}
		frame = array_add(&reader->frames);
		if (!frame)
			return -ENOMEM;
		*frame = (struct outline){end, id};
		start = end + 1;
	}
	return 0;
}

/*
 * Drop the frames of the last stack beyond the common prefix. A frame that ends right there is
 * dropped, too, if the new line's frame goes on: `ma` is no frame of `main`.
 */
static void keep_common(struct folded_reader *reader, const uint8_t *stack, size_t length,
			size_t common)
{
	const struct outline *frames = reader->frames.items;

	while (reader->frames.length && frames[reader->frames.length - 1].length > common)
		reader->frames.length--;
	if (reader->frames.length && frames[reader->frames.length - 1].length == common &&
	    common < length && stack[common] != ';')
		reader->frames.length--;
	while (reader->outer.length &&
	       reader->outer.items[reader->outer.length - 1].length > common)
		reader->outer.length--;
}

/* Whether a stack sorts before the last one, with which it shares so many bytes. */
static bool is_before(const struct folded_reader *reader, const uint8_t *stack, size_t length,
		      size_t common)
{
	return common < reader->length &&
	       (common == length || stack[common] < reader->stack[common]);
}

static int add_stack(struct folded_reader *reader, const uint8_t *stack, size_t length,
		     uint32_t *ret)
{
	size_t common = get_common_length(reader->stack, stack,
					  length < reader->length ? length : reader->length);
	struct outline *outer;
	size_t start = 0;
	int err;

	if (is_before(reader, stack, length, common))
		return OUT_OF_ORDER;
	reader->is_repeated = common == length && common == reader->length;
	keep_common(reader, stack, length, common);
	if (reader->frames.length)
		start = reader->frames.items[reader->frames.length - 1].length + 1;
	reader->stack = stack;
	reader->length = length;
	err = add_frames(reader, stack, length, start);
	if (err)
		return err;
	*ret = reader->frames.items[reader->frames.length - 1].stack;
	if (reader->is_repeated)
		return 0;
	outer = array_add(&reader->outer);
	if (!outer)
		return -ENOMEM;
	*outer = (struct outline){length, *ret};
	return 0;
}

/* A count of 0 adds no sample, but a stack whose counts are all 0 keeps one, so as not to vanish. */
static int add_samples(struct folded_reader *reader, const struct folded_line *line, uint32_t stack)
{
	int (*add)(struct profile *, uint32_t, uint32_t, uint32_t, uint64_t) =
		(reader->is_rest && stack < reader->first_own) || reader->is_repeated
			? profile_add_sample
			: profile_add_new_sample;
	int err;

	for (size_t i = 0; i < reader->num_counts; i++) {
		bool is_last = i + 1 == reader->num_counts;

		if (!line->counts[i] && (!is_last || line->counts[0]))
			continue;
		err = line->is_negative[i] && line->counts[i]
			      ? signed_sums_subtract(&reader->signed_sums, reader->thread, stack,
						     reader->metrics[i], line->counts[i])
			      : add(reader->import->profile, reader->thread, stack,
				    reader->metrics[i], line->counts[i]);
		if (err == -EOVERFLOW)
			return import_fail_line(
				reader->import, reader->line,
				"the sum of the counts of this stack exceeds 64 bits");
		if (err)
			return err;
	}
	reader->import->counts.records++;
	return 0;
}

static uint64_t get_power_of_ten(uint8_t exponent)
{
	uint64_t power = 1;

	while (exponent--)
		power *= 10;
	return power;
}

/* The earlier counts were multiplied for fewer decimals. Only this reader has the source. */
static int add_decimals(struct folded_reader *reader, uint8_t decimals)
{
	struct import *import = reader->import;
	uint64_t factor = get_power_of_ten((uint8_t)(decimals - reader->decimals));
	int err;

	for (size_t i = 0; i < reader->num_counts; i++) {
		err = profile_multiply_samples(import->profile, reader->metrics[i], import->source,
					       import->source + 1, factor);
		if (!err && !i)
			err = signed_sums_multiply(&reader->signed_sums, factor);
		if (err == -EOVERFLOW)
			return import_fail_line(import, reader->line,
						"the counts before it exceed 64 bits when "
						"multiplied by %" PRIu64,
						get_power_of_ten(decimals));
		if (err)
			return err;
	}
	reader->decimals = decimals;
	return 0;
}

/* If some counts have decimals: scale the line's numbers to integers, as the earlier ones were. */
static int scale_counts(struct folded_reader *reader, struct folded_line *line)
{
	uint64_t factor;
	uint32_t part;
	int err;

	if (line->decimals > reader->decimals) {
		err = add_decimals(reader, line->decimals);
		if (err)
			return err;
	}
	factor = get_power_of_ten(reader->decimals);
	part = (uint32_t)(get_power_of_ten(FOLDED_MAX_DECIMALS) / factor);
	for (size_t i = 0; i < reader->num_counts; i++)
		if (__builtin_mul_overflow(line->counts[i], factor, &line->counts[i]) ||
		    __builtin_add_overflow(line->counts[i], line->millionths[i] / part,
					   &line->counts[i]))
			return import_fail_line(
				reader->import, reader->line,
				"a count exceeds 64 bits when it is multiplied by %" PRIu64,
				factor);
	return 0;
}

static int skip_line(struct folded_reader *reader)
{
	if (!reader->first_bad_line)
		reader->first_bad_line = reader->line;
	return reader_skip_line(reader->import, reader->line, "malformed");
}

/* A line without a stack, or a bad one that is skipped, has the length 0. */
static int parse_line(struct folded_reader *reader, const uint8_t *data, size_t size,
		      struct folded_line *ret)
{
	int err = reader->is_austin && austin_is_metadata(data, size)
			  ? -ENODATA
			  : folded_line_parse(data, size, reader->num_counts, ret);

	if (err)
		*ret = (struct folded_line){0};
	if (err == -EBADMSG)
		return skip_line(reader);
	if (err == -ERANGE)
		return import_fail_line(reader->import, reader->line, "a count exceeds 64 bits");
	return 0;
}

static int prepare_counts(struct folded_reader *reader, struct folded_line *line)
{
	reader->is_rounded |= line->is_rounded;
	return line->decimals || reader->decimals ? scale_counts(reader, line) : 0;
}

/* May return OUT_OF_ORDER, with nothing added. */
static int add_line(struct folded_reader *reader, struct folded_line *line)
{
	uint32_t stack;
	int err = prepare_counts(reader, line);

	if (err)
		return err;
	err = add_stack(reader, line->stack, line->length, &stack);
	return err ? err : add_samples(reader, line, stack);
}

/* Report progress, and let go of the file up to `done` bytes. */
static void advance(const struct import *import, size_t done, size_t *reported)
{
	if (import->advance && done - *reported >= ADVANCE_BYTES) {
		import->advance(import->context, done);
		*reported = done;
	}
}

/* The start of the text, behind a byte order mark. */
static size_t get_start(const uint8_t *data, size_t size)
{
	const size_t mark = strlen(BYTE_ORDER_MARK);

	return size >= mark && !memcmp(data, BYTE_ORDER_MARK, mark) ? mark : 0;
}

/* The line at an offset, without its LF: its size. */
static size_t find_end(const struct import *import, size_t start)
{
	const uint8_t *data = import->data + start;
	const uint8_t *newline = memchr(data, '\n', import->size - start);

	return newline ? (size_t)(newline - data) : import->size - start;
}

/* Whether the first lines are in order; bad lines are reported later. */
static bool starts_sorted(const struct folded_reader *reader, size_t start)
{
	const struct import *import = reader->import;
	struct folded_reader last = {0};

	for (size_t i = 0; i < SORTED_LINES && start < import->size; i++) {
		size_t size = find_end(import, start);
		struct folded_line line;
		size_t shorter;

		if (!folded_line_parse(import->data + start, size, reader->num_counts, &line)) {
			shorter = line.length < last.length ? line.length : last.length;
			if (is_before(&last, line.stack, line.length,
				      get_common_length(last.stack, line.stack, shorter)))
				return false;
			last.stack = line.stack;
			last.length = line.length;
		}
		start += size + 1;
	}
	return true;
}

/* ---- lines out of order ---------------------------------------------------------------------- */

/* Counts that are more than one small whole number are kept as they are. */
static int note_counts(struct folded_reader *reader, const struct folded_line *line,
		       struct folded_entry *entry)
{
	struct folded_line *added;

	if (reader->num_counts == 1 && line->counts[0] <= UINT32_MAX && !line->decimals &&
	    !line->is_rounded && !line->is_negative[0]) {
		entry->count = (uint32_t)line->counts[0];
		return 0;
	}
	added = array_add(&reader->counts);
	if (!added)
		return -ENOMEM;
	*added = *line;
	entry->counts = (uint32_t)reader->counts.length;
	return 0;
}

static int find_label(struct folded_reader *reader, const uint8_t *label, size_t length,
		      uint32_t *ret)
{
	struct cached_label made = label_cache_make(label, length);
	int err;

	if (label_cache_find(&reader->labels, &made, label, ret))
		return 0;
	note_nul(reader, label, length);
	err = string_table_add(reader->label_table, (const char *)label, length, ret);
	if (!err)
		label_cache_add(&reader->labels, &made, string_table_get(reader->label_table, *ret),
				*ret);
	return err;
}

static int note_labels(struct folded_reader *reader, const uint8_t *stack, size_t length)
{
	for (size_t start = 0; start <= length;) {
		const uint8_t *next = memchr(stack + start, ';', length - start);
		size_t end = next ? (size_t)(next - stack) : length;
		uint32_t *added = array_add(&reader->ranks);
		int err;

		if (!added)
			return -ENOMEM;
		err = find_label(reader, stack + start, end - start, added);
		if (err)
			return err;
		start = end + 1;
	}
	return 0;
}

static int note_line(struct folded_reader *reader, const uint8_t *data, size_t size)
{
	struct folded_entry *added;
	struct folded_line line;
	size_t first = reader->ranks.length;
	int err = parse_line(reader, data, size, &line);

	if (err || !line.length)
		return err;
	if (size > UINT32_MAX / sizeof(uint32_t) || reader->line >= UINT32_MAX)
		return import_fail_line(
			reader->import, reader->line,
			"a line of more than 1 GiB, or too many lines, out of order");
	added = array_add(&reader->entries);
	if (!added)
		return -ENOMEM;
	*added = (struct folded_entry){.line = (uint32_t)reader->line};
	err = note_counts(reader, &line, added);
	if (err)
		return err;
	err = note_labels(reader, line.stack, line.length);
	added->length = (uint32_t)((reader->ranks.length - first) * sizeof(uint32_t));
	return err;
}

/* Most files have few labels: their ranks take two bytes instead of four. */
static uint32_t get_rank_bytes(const struct label_order *order)
{
	return order->num_ranks <= UINT16_MAX ? sizeof(uint16_t) : sizeof(uint32_t);
}

static uint8_t *put_rank(uint8_t *target, uint32_t rank, uint32_t rank_bytes)
{
	uint16_t narrow = htobe16((uint16_t)rank);
	uint32_t wide = htobe32(rank);

	return rank_bytes == sizeof(narrow) ? mempcpy(target, &narrow, sizeof(narrow))
					    : mempcpy(target, &wide, sizeof(wide));
}

/* Ranks take the place of labels. Their bytes are in the order of their values. */
static void rank_entries(struct folded_reader *reader, const struct label_order *order)
{
	const uint32_t *label = reader->ranks.items;
	uint8_t *target = (uint8_t *)reader->ranks.items;
	uint32_t rank_bytes = get_rank_bytes(order);

	array_for_each (&reader->entries, entry) {
		uint32_t num_labels = entry->length / (uint32_t)sizeof(*label);

		entry->stack = target;
		entry->length = num_labels * rank_bytes;
		for (; num_labels > 1; num_labels--)
			target = put_rank(target, order->ranks[*label++].inner, rank_bytes);
		target = put_rank(target, order->ranks[*label++].last, rank_bytes);
	}
}

/* A stack that ended in a line before, as long as the lines of its callees may follow. */
struct ended_stack {
	uint32_t depth; /* of its innermost frame; 0 is the outermost */
	uint32_t inner; /* rank of that one with callees */
	uint32_t stack;
};

/* State while entries are read. */
struct ranked_reader {
	struct folded_reader *reader;
	struct label_order order;
	uint32_t rank_bytes;
	uint32_t *locations;             /* by label; NOT_MADE */
	const struct folded_entry *last; /* NULL: no entry yet */
	ARRAY(uint32_t) stacks;          /* of the last entry, by depth */
	ARRAY(struct ended_stack) ended;
};

static void ranked_reader_release(struct ranked_reader *ranked)
{
	label_order_release(&ranked->order);
	free(ranked->locations);
	array_release(&ranked->stacks);
	array_release(&ranked->ended);
}

/* Forget stacks whose callees cannot follow; the one that ends in this frame, or STACK_EMPTY. */
static uint32_t take_ended(struct ranked_reader *ranked, uint32_t depth, uint32_t rank)
{
	while (ranked->ended.length) {
		struct ended_stack ended = ranked->ended.items[ranked->ended.length - 1];

		if (ended.depth < depth || (ended.depth == depth && ended.inner > rank))
			break;
		ranked->ended.length--;
		if (ended.depth == depth && ended.inner == rank)
			return ended.stack;
	}
	return STACK_EMPTY;
}

static int add_ranked_level(struct ranked_reader *ranked, uint32_t parent, uint32_t rank,
			    uint32_t *ret)
{
	struct folded_reader *reader = ranked->reader;
	uint32_t label = ranked->order.labels[rank];
	uint32_t *location = &ranked->locations[label];
	int err;

	if (*location == NOT_MADE) {
		err = find_location(reader,
				    (const uint8_t *)string_table_get(reader->label_table, label),
				    string_table_get_length(reader->label_table, label), location);
		if (err)
			return err;
	}
	return add_level(reader, parent, *location, ret);
}

static uint32_t get_rank(const struct ranked_reader *ranked, const struct folded_entry *entry,
			 uint32_t i)
{
	const uint8_t *bytes = entry->stack + (size_t)i * ranked->rank_bytes;
	uint16_t narrow;
	uint32_t wide;

	if (ranked->rank_bytes == sizeof(narrow)) {
		memcpy(&narrow, bytes, sizeof(narrow));
		return be16toh(narrow);
	}
	memcpy(&wide, bytes, sizeof(wide));
	return be32toh(wide);
}

/* The number of outer frames that an entry shares with the last one. */
static uint32_t count_common(const struct ranked_reader *ranked, const struct folded_entry *entry)
{
	const struct folded_entry *last = ranked->last;

	if (!last)
		return 0;
	return (uint32_t)get_common_length(last->stack, entry->stack,
					   last->length < entry->length ? last->length
									: entry->length) /
	       ranked->rank_bytes;
}

/* The stack of an entry, which shares its outer frames with the last one. */
static int add_ranked_stack(struct ranked_reader *ranked, const struct folded_entry *entry,
			    uint32_t *ret)
{
	uint32_t num_ranks = entry->length / ranked->rank_bytes;
	uint32_t common = count_common(ranked, entry);
	uint32_t stack = common ? ranked->stacks.items[common - 1] : STACK_EMPTY;
	struct ended_stack *ended;
	uint32_t rank = 0;

	ranked->reader->is_repeated = common == num_ranks;
	*ret = stack;
	if (ranked->reader->is_repeated)
		return 0;
	ranked->stacks.length = common;
	for (uint32_t i = common; i < num_ranks; i++) {
		uint32_t *added = array_add(&ranked->stacks);
		uint32_t known = STACK_EMPTY;
		int err;

		if (!added)
			return -ENOMEM;
		rank = get_rank(ranked, entry, i);
		if (i == common)
			known = take_ended(ranked, i, rank);
		err = known ? 0 : add_ranked_level(ranked, stack, rank, &known);
		if (err)
			return err;
		*added = stack = known;
	}
	ended = array_add(&ranked->ended);
	if (!ended)
		return -ENOMEM;
	*ended = (struct ended_stack){
		.depth = num_ranks - 1,
		.inner = ranked->order.ranks[ranked->order.labels[rank]].inner,
		.stack = stack,
	};
	ranked->last = entry;
	*ret = stack;
	return 0;
}

static int read_entry(struct ranked_reader *ranked, const struct folded_entry *entry)
{
	struct folded_reader *reader = ranked->reader;
	struct folded_line line = {.counts = {entry->count}};
	uint32_t stack;
	int err;

	reader->line = entry->line;
	if (entry->counts)
		line = reader->counts.items[entry->counts - 1];
	err = prepare_counts(reader, &line);
	if (err)
		return err;
	err = add_ranked_stack(ranked, entry, &stack);
	return err ? err : add_samples(reader, &line, stack);
}

static int init_ranked_reader(struct ranked_reader *ranked)
{
	const struct string_table *labels = ranked->reader->label_table;
	uint32_t count = string_table_get_count(labels);

	ranked->locations = malloc(count * sizeof(*ranked->locations));
	if (!ranked->locations)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		ranked->locations[i] = NOT_MADE;
	return label_order_init(&ranked->order, labels);
}

static int read_entries(struct folded_reader *reader)
{
	_cleanup_(ranked_reader_release) struct ranked_reader ranked = {.reader = reader};
	struct profile *profile = reader->import->profile;
	int err = init_ranked_reader(&ranked);

	if (err)
		return err;
	ranked.rank_bytes = get_rank_bytes(&ranked.order);
	rank_entries(reader, &ranked.order);
	folded_sort(reader->entries.items, reader->entries.length);
	err = profile_settle_stacks(profile);
	if (err)
		return err;
	reader->first_own = profile_count_stacks(profile);
	reader->is_rest = reader->length;
	array_for_each (&reader->entries, entry) {
		/* Ranks may be anywhere in memory; they take a cache line or two. */
		if (reader->entries.items + reader->entries.length - entry > AHEAD)
			for (uint32_t i = 0; i < entry[AHEAD].length; i += CACHE_LINE_BYTES)
				__builtin_prefetch(entry[AHEAD].stack + i);
		err = read_entry(&ranked, entry);
		if (err)
			return err;
	}
	return 0;
}

/* Sort the lines from an offset on, and read them. */
static int read_sorted(struct folded_reader *reader, size_t start)
{
	const struct import *import = reader->import;
	size_t reported = start;
	uint64_t num_lines;
	int err;

	label_cache_release(&reader->labels);
	reader->label_table = string_table_new();
	if (!reader->label_table)
		return -ENOMEM;
	while (start < import->size) {
		size_t size = find_end(import, start);

		reader->line++;
		err = note_line(reader, import->data + start, size);
		if (err)
			return err;
		start += size + 1;
		advance(import, start < import->size ? start : import->size, &reported);
	}
	num_lines = reader->line;
	err = read_entries(reader);
	reader->line = num_lines;
	return err;
}

static int read_in_order(struct folded_reader *reader, size_t start)
{
	const struct import *import = reader->import;
	size_t reported = 0;

	while (start < import->size) {
		size_t size = find_end(import, start);
		struct folded_line line;
		int err;

		reader->line++;
		err = parse_line(reader, import->data + start, size, &line);
		if (err)
			return err;
		err = line.length ? add_line(reader, &line) : 0;
		if (err == OUT_OF_ORDER) {
			reader->line--;
			return read_sorted(reader, start);
		}
		if (err)
			return err;
		start += size + 1;
		/* The bytes of the last stack are still needed. */
		if (reader->length)
			advance(import, (size_t)(reader->stack - import->data), &reported);
	}
	return 0;
}

static void report_damage(const struct folded_reader *reader)
{
	const struct import *import = reader->import;
	struct lines lines = {
		.number = reader->line,
		.first_nul = reader->first_nul,
		.is_unended = import->size && import->data[import->size - 1] != '\n',
	};

	reader_report_damage(reader->import, &lines);
}

static int read_lines(struct folded_reader *reader)
{
	struct import *import = reader->import;
	size_t start = get_start(import->data, import->size);
	int err;

	reader->is_austin = reader->num_counts == 1 && import->size > start &&
			    austin_detect(import->data + start, import->size - start);
	err = starts_sorted(reader, start) ? read_in_order(reader, start)
					   : read_sorted(reader, start);
	if (err)
		return err;
	if (reader->first_bad_line && !import->counts.records)
		return import_fail_line(reader->import, reader->first_bad_line,
					"malformed, as every line: expected a stack and %s",
					reader->num_counts == 1 ? "a count" : "two counts");
	report_damage(reader);
	import->decimals = reader->decimals;
	if (reader->decimals || reader->is_rounded)
		import_warn(import,
			    "some counts have decimals: all are multiplied by %" PRIu64 "%s",
			    get_power_of_ten(reader->decimals),
			    reader->is_rounded ? ", and rounded" : "");
	return signed_sums_apply(&reader->signed_sums, import);
}

static int prepare(struct folded_reader *reader, const char *const *metrics, const char *unit)
{
	struct profile *profile = reader->import->profile;
	int err = reader_add_anonymous_thread(reader->import, &reader->thread);

	if (err)
		return err;
	for (size_t i = 0; i < reader->num_counts; i++) {
		err = profile_add_metric(profile, metrics[i], unit, &reader->metrics[i]);
		if (err)
			return err;
	}
	err = profile_settle_stacks(profile);
	if (err)
		return err;
	reader->first_own = profile_count_stacks(profile);
	return 0;
}

static void folded_reader_release(struct folded_reader *reader)
{
	array_release(&reader->frames);
	array_release(&reader->outer);
	array_release(&reader->entries);
	array_release(&reader->ranks);
	array_release(&reader->counts);
	string_table_free(reader->label_table);
	signed_sums_release(&reader->signed_sums);
	label_cache_release(&reader->labels);
	for (size_t i = 0; i < NUM_FRAME_MARKS; i++)
		array_release(&reader->locations[i]);
}

static int read_metrics(struct import *import, const char *const *metrics, size_t num_metrics,
			const char *unit)
{
	_cleanup_(folded_reader_release) struct folded_reader reader = {.import = import,
									.num_counts = num_metrics};
	int err = prepare(&reader, metrics, unit);

	if (err)
		return err;
	return read_lines(&reader);
}

int folded_read(struct import *import)
{
	static const char *const metrics[] = {"samples"};

	return read_metrics(import, metrics, ARRAY_LENGTH(metrics), "count");
}

int diff_folded_read(struct import *import)
{
	static const char *const metrics[] = {METRIC_BEFORE, METRIC_AFTER};

	return read_metrics(import, metrics, ARRAY_LENGTH(metrics), "count");
}

int offwake_read(struct import *import)
{
	static const char *const metrics[] = {METRIC_OFFWAKE};

	return read_metrics(import, metrics, ARRAY_LENGTH(metrics), "microseconds");
}

/*
 * Most lines must be stacks, not all: a program may have printed lines before them. If there are as
 * many others, the last line decides. Text of other tools has numbers at the ends of lines, too;
 * but no profile consists of stacks without any caller.
 */
enum detection folded_detect(const uint8_t *data, size_t size)
{
	struct folded_line line;
	size_t start = get_start(data, size);
	size_t num_lines = 0;
	size_t num_stacks = 0;
	bool has_caller = false;
	bool is_stack = false;

	if (size > start && austin_detect(data + start, size - start))
		return DETECTED_MAYBE;
	while (start < size && num_lines < DETECT_LINES) {
		const uint8_t *newline = memchr(data + start, '\n', size - start);
		size_t end = newline ? (size_t)(newline - data) : size;
		int err = folded_line_parse(data + start, end - start, 1, &line);

		start = end + 1;
		if (err == -ENODATA)
			continue;
		is_stack = !err;
		has_caller |= is_stack && memchr(line.stack, ';', line.length);
		num_stacks += is_stack;
		num_lines++;
	}
	return has_caller && 2 * num_stacks + is_stack > num_lines ? DETECTED_MAYBE
								   : DETECTED_BY_NAME;
}

/*
 * Whether a line that is not part of a comparison is a stack of a list, with a caller and one
 * count.
 */
static bool is_listed_stack(const uint8_t *line, size_t size)
{
	struct folded_line stack;

	return !folded_line_parse(line, size, 1, &stack) && memchr(stack.stack, ';', stack.length);
}

/*
 * Detects the output of difffolded.pl. Every checked stack with a caller has two counts: a stack
 * may end in a number, but not all of them do. Lines that programs have printed in between are less
 * than half.
 */
enum detection diff_folded_detect(const uint8_t *data, size_t size)
{
	struct folded_line line;
	size_t start = get_start(data, size);
	size_t num_lines = 0;
	size_t num_stacks = 0;
	bool has_caller = false;

	while (start < size && num_lines < DETECT_LINES) {
		const uint8_t *newline = memchr(data + start, '\n', size - start);
		size_t end = newline ? (size_t)(newline - data) : size;
		int err = folded_line_parse(data + start, end - start, 2, &line);
		size_t line_start = start;

		start = end + 1;
		if (err == -ENODATA)
			continue;
		num_lines++;
		if (!err && (line.is_negative[0] || line.is_negative[1]))
			return DETECTED_BY_NAME;
		if (err && is_listed_stack(data + line_start, end - line_start))
			return DETECTED_BY_NAME;
		if (err)
			continue;
		has_caller |= memchr(line.stack, ';', line.length) != NULL;
		num_stacks++;
	}
	return has_caller && 2 * num_stacks > num_lines ? DETECTED_MAYBE : DETECTED_BY_NAME;
}
