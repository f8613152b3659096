/*
 * The text of `perf script`: for every sample a header line, its stack, innermost frame first, and
 * a blank line.
 *
 *	nginx 812/815 [003] 75695.008865:     250000 cycles:u:
 *		  7f1e214c24d9 memcpy+0x19 (/usr/lib/libc.so.6)
 *		  55d0c0de10a8 main+0x28 (/usr/sbin/nginx)
 *
 * Names are tidied as stackcollapse-perf.pl does, so that the folded text is the same; see
 * frame.c. Unlike there, every event gives a metric of its own, and pid and tid are kept.
 *
 * Unlike there, the last sample needs no blank line after it. If other stacks have one, it may be
 * truncated, with a warning.
 *
 * The kind of a line cannot be seen from the line alone. Names of threads may have blanks, brackets
 * and numbers in them, and `-F` selects which fields are printed. A line after a header is a frame
 * if it looks like one and not like a header even more (looks_like_frame); any other line must be a
 * header. The anchor of a header is its time, because a colon follows it. The ids and the CPU are
 * read from there to the left, and the rest is the name (parse_timed_header). Without a time, the
 * ids are looked for word by word (parse_untimed_header).
 *
 * perf also prints messages between the samples, such as errors of its decoders. Such lines are
 * skipped with one warning.
 *
 * Lines repeat: a stack line without its address is the key to its locations, and the start of a
 * header the key to its thread. Input that has been read is released as it goes.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "formats/format.h"
#include "formats/perf/frame.h"
#include "formats/perf/off_cpu.h"
#include "formats/reader.h"
#include "formats/slice.h"

#define ADVANCE_BYTES     (1u << 20)
#define DETECTION_LINES   1000
#define PERIOD_COLUMN     10u  /* perf prints a period as "%10lu" */
#define MAX_MESSAGE_BYTES 4096 /* of a line before the first sample */
#define MAX_FLAG_WORDS    2
#define MAX_EVENT_WORDS   3

/* Numbers by text. */
struct numbers {
	struct string_table *texts;
	ARRAY(uint32_t) values; /* by id of the text */
};

struct perf_script_reader {
	struct import *import;
	struct lines lines; /* lines not read yet */
	struct perf_frames frames;
	struct numbers threads;   /* by "nginx 812/815", as printed */
	struct numbers processes; /* by pid; by name if the pid is not printed */
	struct numbers metrics;   /* by event */

	/* The sample that is being read. */
	bool is_open;
	uint32_t thread;
	uint32_t metric;
	uint64_t weight;
	bool has_time;
	uint64_t time_ns;
	bool is_java;
	bool has_header_frame;           /* `stack` holds the frame of the header's line */
	ARRAY(struct perf_levels) stack; /* innermost first */

	/* Lines that are neither headers nor frames. */
	uint64_t num_skipped;
	uint64_t first_skipped; /* its number */
	bool has_times;         /* of any header */
	bool has_ends;          /* a blank line has followed a sample */
	bool lacks_ends;        /* a header has followed the stack of another sample */
};

struct header {
	struct slice owner; /* comm and ids */
	struct slice comm;
	struct slice pid; /* empty when only the tid is there */
	struct slice tid;
	struct slice event; /* may be empty */
	bool has_period;
	bool has_time;
	struct slice time; /* "75695.008865:" */
	uint64_t period;
	struct slice rest; /* after the event */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Take the next word off a slice; an empty one at its end. */
static struct slice take_word(struct slice *slice)
{
	struct slice word = *slice = slice_trim(*slice);

	for (word.length = 0; word.length < slice->length; word.length++)
		if (is_blank_char(word.start[word.length]))
			break;
	slice->start += word.length;
	slice->length -= word.length;
	return word;
}

static size_t count_digits(struct slice slice)
{
	size_t count = 0;

	while (count < slice.length && is_digit(slice.start[count]))
		count++;
	return count;
}

/* Take the last word off a slice; an empty one at its start. */
static struct slice take_last_word(struct slice *slice)
{
	struct slice word = *slice = slice_trim(*slice);

	while (slice->length && !is_blank_char(slice->start[slice->length - 1]))
		slice->length--;
	word.start += slice->length;
	word.length -= slice->length;
	return word;
}

/* "812" or "812/815"; perf prints -1 for a thread that it does not know. */
static bool parse_ids(struct slice word, struct header *header)
{
	size_t digits = count_digits(word);
	struct slice tid = {word.start + digits + 1, word.length - digits - 1};

	header->pid = (struct slice){word.start, 0};
	header->tid = word;
	if (slice_equals(word, "-1") || slice_equals(word, "-1/-1")) {
		header->pid.length = word.length > 2 ? 2 : 0;
		header->tid = (struct slice){word.start + word.length - 2, 2};
		return true;
	}
	if (!digits || digits == word.length)
		return digits;
	header->pid.length = digits;
	header->tid = tid;
	return word.start[digits] == '/' && tid.length && count_digits(tid) == tid.length;
}

static bool is_time(struct slice word)
{
	size_t digits = count_digits(word);
	struct slice rest = {word.start + digits + 1, word.length - digits - 1};

	if (!digits || digits == word.length || word.start[word.length - 1] != ':')
		return false;
	return digits == word.length - 1 ||
	       (word.start[digits] == '.' && count_digits(rest) == rest.length - 1);
}

/* Seconds, and digits of their fraction. False when it is beyond 64 bits of nanoseconds. */
static bool parse_time(struct slice word, uint64_t *ret_ns)
{
	uint64_t time_ns = 0;
	uint64_t digit_ns = 1000000000;
	size_t digits = count_digits(word);

	if (!parse_u64(word.start, digits, &time_ns) ||
	    __builtin_mul_overflow(time_ns, digit_ns, &time_ns))
		return false;
	for (size_t i = digits + 1; i < word.length && is_digit(word.start[i]); i++)
		if (__builtin_add_overflow(
			    time_ns, (uint64_t)(word.start[i] - '0') * (digit_ns /= 10), &time_ns))
			return false;
	*ret_ns = time_ns;
	return true;
}

/*
 * Parse the text after the ids: [003] flags 75695.008865: 250000 cycles:u: and text of the event.
 */
static bool parse_event(struct slice rest, struct header *header)
{
	int others = 0;

	header->has_period = header->has_time = false;
	header->event = (struct slice){rest.start, 0};
	for (;;) {
		struct slice word = take_word(&rest);

		if (!word.length || header->event.length)
			return false;
		if (word.start[0] == '[' && word.start[word.length - 1] == ']') {
			if (header->has_period || header->has_time)
				return false;
		} else if (!header->has_time && !header->has_period && is_time(word)) {
			header->has_time = true;
			header->time = word;
		} else if (count_digits(word) == word.length) {
			if (header->has_period ||
			    !parse_u64(word.start, word.length, &header->period))
				return false;
			header->has_period = true;
		} else if (word.length > 1 && word.start[word.length - 1] == ':' &&
			   word.start[0] != '[') {
			header->event = (struct slice){word.start, word.length - 1};
			header->rest = slice_trim(rest);
			return true;
		} else if (header->has_period || is_digit(word.start[0]) || ++others > 2) {
			return false;
		}
	}
}

/* The time of perf: microseconds or, with --ns, nanoseconds. */
static bool is_full_time(struct slice word)
{
	size_t digits = count_digits(word);

	return is_time(word) && word.length > digits && word.start[digits] == '.' &&
	       (word.length - digits == sizeof(".123456:") - 1 ||
		word.length - digits == sizeof(".123456789:") - 1);
}

static bool is_number(struct slice word)
{
	return word.length && count_digits(word) == word.length;
}

/* Parse the text before the time, from the right: flags, [003], ids; the rest is the comm. */
static bool parse_owner(struct slice before, struct header *ret)
{
	const char *start;
	struct slice word;

	before = slice_trim(before);
	start = before.start;
	word = take_last_word(&before);
	for (int i = 0; i < MAX_FLAG_WORDS && word.length && !is_digit(word.start[0]) &&
			word.start[0] != '-' && word.start[0] != '[';
	     i++)
		word = take_last_word(&before);
	if (word.length > 2 && word.start[0] == '[' && word.start[word.length - 1] == ']' &&
	    is_number((struct slice){word.start + 1, word.length - 2}))
		word = take_last_word(&before);
	if (!word.length || !parse_ids(word, ret))
		return false;
	ret->comm = slice_trim(before);
	ret->owner = (struct slice){start, (size_t)(word.start + word.length - start)};
	return ret->comm.length || ret->pid.length;
}

/*
 * The event of a text, which ends in a colon: "cycles:u:", "raw 0x1a8:". A user-defined name may
 * have blanks.
 */
static bool parse_event_name(struct slice text, struct header *ret)
{
	struct slice rest = text;
	struct slice word = take_word(&rest);
	const char *start = word.start;

	if (is_number(word))
		return false;
	for (int i = 0; i < MAX_EVENT_WORDS && word.length; i++) {
		const char *end = word.start + word.length;

		if (end[-1] == ':' && end - start > 1) {
			ret->event = (struct slice){start, (size_t)(end - start) - 1};
			ret->rest = slice_trim(rest);
			return !is_number(ret->event);
		}
		word = take_word(&rest);
	}
	return false;
}

static bool has_pc(struct slice text)
{
	return perf_frame_has_pc(text.start, text.length);
}

/*
 * Parse the text after the time: a period, the event and its text, or a frame; any may be missing.
 */
static bool parse_measure(struct slice after, struct header *ret)
{
	struct slice behind = after;
	struct slice word = take_word(&behind);

	after = slice_trim(after);
	behind = slice_trim(behind);
	ret->event = (struct slice){after.start, 0};
	ret->rest = after;
	ret->has_period = false;
	if (!is_number(word) || !parse_u64(word.start, word.length, &ret->period))
		return !after.length || (has_pc(after) && slice_ends_with(after, ")")) ||
		       parse_event_name(after, ret) || has_pc(after);
	ret->rest = behind;
	ret->has_period = !behind.length || has_pc(behind) || parse_event_name(behind, ret);
	if (ret->has_period)
		return true;
	ret->rest = after; /* a pc without letters */
	return true;
}

/* The first time between something that may be a thread and something that may be an event. */
static bool parse_timed_header(struct slice line, struct header *ret)
{
	struct slice rest = slice_trim(line);
	const char *start = rest.start;
	struct slice word = take_word(&rest);

	for (; word.length; word = take_word(&rest)) {
		struct slice before = {start, (size_t)(word.start - start)};

		if (!is_time(word) || !memchr(word.start, '.', word.length) ||
		    !parse_owner(before, ret) || !parse_measure(rest, ret))
			continue;
		ret->has_time = true;
		ret->time = word;
		return true;
	}
	return false;
}

/* A line without an event: the ids are followed by the CPU, a frame, or nothing. */
static bool is_bare(struct slice rest)
{
	struct slice after = rest;
	struct slice word = take_word(&after);

	if (word.length > 2 && word.start[0] == '[' && word.start[word.length - 1] == ']' &&
	    is_number((struct slice){word.start + 1, word.length - 2}))
		rest = after;
	rest = slice_trim(rest);
	return !rest.length ||
	       (perf_frame_has_pc(rest.start, rest.length) && slice_ends_with(rest, ")"));
}

/* Whether a number is in perf's column for periods. */
static bool is_in_period_column(const char *ids_end, struct slice number)
{
	size_t width = (size_t)(number.start + number.length - ids_end) - 1;

	return width >= PERIOD_COLUMN;
}

/*
 * A name may hold blanks and numbers. Without a time, two numbers before the event are ids and a
 * period, if the second one is in perf's column for periods or the ids are "812/815"; else the
 * first one belongs to the name. Without an event, the ids are the first number that a CPU, a frame
 * or nothing follows. A blank follows them even if nothing else is printed.
 */
static bool parse_untimed_header(struct slice line, struct header *ret)
{
	struct slice rest = slice_trim(line);
	const char *start = rest.start;
	struct slice word = take_word(&rest);
	struct header found = {0};
	bool ends_with_blank = line.length && is_blank_char(line.start[line.length - 1]);
	bool has_event = false;
	bool is_bare_found = false;

	for (const char *comm_end = word.start + word.length; rest.length;
	     comm_end = word.start + word.length) {
		struct header next = {0};

		word = take_word(&rest);
		if (!parse_ids(word, &next) || (!rest.length && !ends_with_blank))
			continue;
		next.comm = (struct slice){start, (size_t)(comm_end - start)};
		next.owner = (struct slice){start, (size_t)(word.start + word.length - start)};
		if (parse_event(rest, &next)) {
			struct slice after = rest;
			struct slice period = take_word(&after);

			has_event = true;
			found = next;
			if (!next.has_period || next.pid.length || !is_number(period) ||
			    is_in_period_column(word.start + word.length, period))
				break;
		} else if (!has_event && !is_bare_found && is_bare(rest)) {
			is_bare_found = true;
			next.event = (struct slice){rest.start, 0};
			next.has_period = next.has_time = false;
			next.rest = slice_trim(rest);
			found = next;
		}
	}
	*ret = found;
	return has_event || is_bare_found;
}

static bool parse_header(struct slice line, struct header *ret)
{
	return parse_timed_header(line, ret) || parse_untimed_header(line, ret);
}

/*
 * Whether a line after a header may be a frame. Frames are indented, except in old texts and in
 * those that lost their blanks: there a frame has its pc in front, and its file at the end or else
 * nothing of a header. A comm may look like a pc:
 * "  cc1 10730/10730 [000] 39209.1: sched:sched_switch: ...".
 */
static bool looks_like_frame(struct slice line)
{
	struct header header = {0};
	bool is_indented = is_blank_char(line.start[0]);

	if (is_indented && line.start[0] != ' ')
		return true;
	if (!is_indented && !perf_frame_has_pc(line.start, line.length))
		return false;
	if (!parse_header(line, &header))
		return true;
	if (is_indented)
		return !header.has_time || !header.event.length;
	return !header.event.length && slice_ends_with(line, ")");
}

/* ---- threads and metrics ---- */

/*
 * The number of a text: *ret points at it, until the next call; *ret_is_new: the text has none yet
 * and the caller gives it one.
 */
static int numbers_find(struct numbers *numbers, struct slice text, uint32_t **ret,
			bool *ret_is_new)
{
	uint32_t id;
	int err = string_table_add(numbers->texts, text.start, text.length, &id);

	if (err)
		return err;
	*ret_is_new = id >= numbers->values.length;
	while (id >= numbers->values.length)
		if (!array_add(&numbers->values))
			return -ENOMEM;
	*ret = &numbers->values.items[id];
	return 0;
}

static int add_string(struct perf_script_reader *reader, struct slice slice, uint32_t *ret)
{
	return string_table_add(profile_get_strings(reader->import->profile), slice.start,
				slice.length, ret);
}

/* stackcollapse-perf.pl writes the blanks of a name as `_`, and so do all tools after it. */
static int add_comm(struct perf_script_reader *reader, struct slice slice, uint32_t *ret)
{
	char comm[256];

	if (slice.length > sizeof(comm))
		slice.length = sizeof(comm);
	memcpy(comm, slice.start, slice.length);
	for (size_t i = 0; i < slice.length; i++)
		if (is_blank_char(comm[i]))
			comm[i] = '_';
	return add_string(reader, (struct slice){comm, slice.length}, ret);
}

static int find_process(struct perf_script_reader *reader, const struct header *header,
			uint32_t pid, uint32_t comm, uint32_t *ret)
{
	struct slice key = header->pid.length ? header->pid : header->comm;
	uint32_t *process;
	bool is_new;
	int err = numbers_find(&reader->processes, key, &process, &is_new);

	if (err)
		return err;
	if (is_new) {
		err = profile_add_process(reader->import->profile, pid, comm, process);
		if (err)
			return err;
	}
	*ret = *process;
	return 0;
}

static int find_thread(struct perf_script_reader *reader, const struct header *header)
{
	struct profile *profile = reader->import->profile;
	struct thread thread = {.source = reader->import->source};
	uint64_t pid = 0;
	uint64_t tid = 0;
	uint32_t *known;
	bool is_new;
	int err = numbers_find(&reader->threads, header->owner, &known, &is_new);

	if (err)
		return err;
	if (is_new) {
		/* Ids too large for a thread count as 0. */
		if (!parse_u64(header->pid.start, header->pid.length, &pid) || pid > UINT32_MAX)
			pid = 0;
		if (!parse_u64(header->tid.start, header->tid.length, &tid) || tid > UINT32_MAX)
			tid = 0;
		thread.tid = (uint32_t)tid;
		err = add_comm(reader, header->comm, &thread.comm);
		if (err)
			return err;
		err = find_process(reader, header, (uint32_t)pid, thread.comm, &thread.process);
		if (err)
			return err;
		if (pid && pid == tid)
			profile_set_process_comm(profile, thread.process, thread.comm);
		err = profile_add_thread(profile, &thread, known);
		if (err)
			return err;
	}
	reader->thread = *known;
	return 0;
}

/* The periods of the clocks, and of time off the CPU, are nanoseconds. */
static bool is_clock(struct slice event)
{
	const char *colon = memchr(event.start, ':', event.length);

	if (colon)
		event.length = (size_t)(colon - event.start);
	return slice_equals(event, "cpu-clock") || slice_equals(event, "task-clock") ||
	       slice_equals(event, PERF_OFF_CPU_EVENT);
}

static int find_metric(struct perf_script_reader *reader, const struct header *header)
{
	struct profile *profile = reader->import->profile;
	struct slice event = header->event;
	bool is_time = header->has_period && is_clock(event);
	uint32_t *known;
	uint32_t name;
	bool is_new;
	int err;

	if (!event.length)
		event = (struct slice){"samples", strlen("samples")};
	err = numbers_find(&reader->metrics, event, &known, &is_new);
	if (err)
		return err;
	if (is_new) {
		err = add_string(reader, event, &name);
		if (err)
			return err;
		err = profile_add_metric(profile, profile_get_string(profile, name),
					 is_time ? "nanoseconds" : "count", known);
		if (err)
			return err;
	}
	reader->metric = *known;
	return 0;
}

/* ---- samples ---- */

static uint64_t get_offset(const struct perf_script_reader *reader)
{
	return (uint64_t)(reader->lines.next - (const char *)reader->import->data);
}

/* Whether the open sample has frames on lines of their own. */
static bool has_stack(const struct perf_script_reader *reader)
{
	return reader->stack.length && !reader->has_header_frame;
}

static int finish_sample(struct perf_script_reader *reader)
{
	struct import *import = reader->import;
	uint32_t stack = STACK_EMPTY;
	int err;

	if (!reader->is_open)
		return 0;
	reader->is_open = false;
	while (reader->stack.length) {
		struct perf_levels levels = reader->stack.items[--reader->stack.length];

		for (uint32_t i = 0; i < levels.count; i++) {
			err = profile_add_stack(import->profile, stack,
						reader->frames.locations.items[levels.first + i],
						&stack);
			if (err)
				return err;
		}
	}
	err = reader_add_sample(import, get_offset(reader), reader->thread, stack, reader->metric,
				reader->weight);
	if (err || !reader->has_time)
		return err;
	return profile_add_timestamp(import->profile, reader->thread, stack, reader->metric,
				     reader->weight, reader->time_ns);
}

static int add_frame(struct perf_script_reader *reader, struct slice line, bool *ret_is_frame)
{
	struct perf_levels levels;
	struct perf_levels *added;
	int err = perf_frames_find(&reader->frames, line.start, line.length, reader->is_java,
				   &levels);

	*ret_is_frame = err != -EINVAL;
	if (err == -EINVAL)
		return 0;
	if (err || !levels.count)
		return err;
	/* Frames have lines of their own: the text of the header's line was not a frame. */
	if (reader->has_header_frame)
		reader->stack.length = 0;
	reader->has_header_frame = false;
	added = array_add(&reader->stack);
	if (!added)
		return -ENOMEM;
	*added = levels;
	return 0;
}

/* Side-band records, which perf script prints on request, are not samples. */
static bool is_side_band(struct perf_script_reader *reader, struct slice line)
{
	const char *lost = memmem(line.start, line.length, "PERF_RECORD_LOST", 16);
	uint64_t count;

	if (!memmem(line.start, line.length, ": PERF_RECORD_", 14))
		return false;
	if (lost) {
		const char *number = line.start + line.length;

		while (number > lost && is_digit(number[-1]))
			number--;
		if (parse_u64(number, (size_t)(line.start + line.length - number), &count))
			reader->import->counts.lost_samples += count;
	}
	return true;
}

/* Without call chains a sample is one line, and its frame follows the event. */
static int read_frame_of_header(struct perf_script_reader *reader, struct slice rest)
{
	bool is_frame;
	int err;

	if (rest.length < 6 || rest.start[rest.length - 1] != ')' ||
	    !perf_frame_has_pc(rest.start, rest.length))
		return 0;
	err = add_frame(reader, rest, &is_frame);
	reader->has_header_frame = !err && is_frame;
	return err;
}

/* If other headers have a time, a line without one is a message, unless a frame follows. */
static bool may_lack_time(const struct perf_script_reader *reader)
{
	struct lines lines = reader->lines;
	struct slice next;

	return !reader->has_times ||
	       (lines_take(&lines, &next) && next.length && is_blank_char(next.start[0]) &&
		perf_frame_has_pc(next.start, next.length));
}

static int read_header(struct perf_script_reader *reader, struct slice line, bool *ret_is_header)
{
	struct header header = {0};
	bool is_other = is_side_band(reader, line);
	int err;

	*ret_is_header = is_other || parse_timed_header(line, &header) ||
			 (may_lack_time(reader) && parse_untimed_header(line, &header));
	if (!*ret_is_header)
		return 0;
	reader->lacks_ends |= reader->is_open && has_stack(reader);
	err = finish_sample(reader);
	if (err || is_other)
		return err;
	err = find_thread(reader, &header);
	if (err)
		return err;
	err = find_metric(reader, &header);
	if (err)
		return err;
	reader->is_java = header.comm.length >= 4 && memcmp(header.comm.start, "java", 4) == 0;
	reader->weight = header.has_period && header.period ? header.period : 1;
	reader->has_time = header.has_time && parse_time(header.time, &reader->time_ns) &&
			   (!reader->time_ns || perf_is_time(reader->time_ns));
	reader->has_times |= header.has_time && memchr(header.time.start, '.', header.time.length);
	reader->has_header_frame = false;
	reader->is_open = true;
	return read_frame_of_header(reader, header.rest);
}

/*
 * With srcline, every frame is followed by a line such as "  nginx.c:812" or
 * "  nginx.c:812 (discriminator 3)"; without debug information by "  nginx[1a8]".
 */
static bool is_source_line(struct slice line)
{
	static const char discriminator[] = " (discriminator ";
	const char *found = memmem(line.start, line.length, discriminator, strlen(discriminator));
	size_t length = found ? (size_t)(found - line.start) : line.length;
	size_t digits = 0;

	if (length && line.start[length - 1] == ']') {
		for (length--; length && is_hex_digit(line.start[length - 1]); length--)
			digits++;
		return digits && length > 1 && line.start[length - 1] == '[' &&
		       !is_blank_char(line.start[length - 2]);
	}
	while (digits < length && is_digit(line.start[length - 1 - digits]))
		digits++;
	return digits && digits < length && line.start[length - 1 - digits] == ':';
}

/* perf may print a message between any two samples: one warning for all. */
static int skip_line(struct perf_script_reader *reader)
{
	if (reader->import->is_strict)
		return import_fail_line(reader->import, reader->lines.number,
					"neither the header nor a frame of a sample");
	if (!reader->num_skipped++)
		reader->first_skipped = reader->lines.number;
	reader->import->counts.skipped++;
	return 0;
}

static void report_skipped(const struct perf_script_reader *reader)
{
	if (reader->num_skipped)
		import_warn(reader->import,
			    "%" PRIu64 " %s of a sample, skipping; the first is line %" PRIu64,
			    reader->num_skipped,
			    reader->num_skipped == 1 ? "line is neither the header nor a frame"
						     : "lines are neither headers nor frames",
			    reader->first_skipped);
}

static int read_line(struct perf_script_reader *reader, struct slice line)
{
	struct header header;
	bool is_known = false;
	int err;

	/* "(discriminator 3)" is not a file. A thread's name is printed with blanks before it. */
	if (reader->is_open && is_blank_char(line.start[0]) &&
	    !perf_frame_has_pc(line.start, line.length) && is_source_line(line) &&
	    !parse_timed_header(line, &header))
		return 0;
	if (reader->is_open && looks_like_frame(line)) {
		err = add_frame(reader, line, &is_known);
		if (err || is_known)
			return err;
	}
	err = read_header(reader, line, &is_known);
	if (err || is_known || is_source_line(line))
		return err;
	return skip_line(reader);
}

/*
 * A stack ends in a blank line. Without stacks perf prints no blank lines, and a sample is one line;
 * other tools may drop them.
 */
static bool is_last_sample_unended(const struct perf_script_reader *reader)
{
	return reader->is_open && !reader->lacks_ends && (reader->has_ends || has_stack(reader));
}

static int read_lines(struct perf_script_reader *reader)
{
	struct import *import = reader->import;
	size_t advanced = 0;
	struct slice line;
	bool is_unended;
	int err;

	while (lines_take(&reader->lines, &line)) {
		err = 0;
		if (!line.length) {
			reader->has_ends |= reader->is_open;
			err = finish_sample(reader);
		} else if (line.start[0] != '#')
			err = read_line(reader, line);
		if (err)
			return err;
		if (import->advance && get_offset(reader) - advanced >= ADVANCE_BYTES) {
			advanced = get_offset(reader);
			import->advance(import->context, advanced);
		}
	}
	is_unended = is_last_sample_unended(reader);
	err = finish_sample(reader);
	if (err)
		return err;
	if (!import->counts.records)
		return import_fail_line(import, reader->lines.number ? reader->lines.number : 1,
					"no sample found; expected the output of 'perf script'");
	report_skipped(reader);
	reader_report_damage(import, &reader->lines);
	if (is_unended)
		import_warn(import,
			    "no blank line follows the last sample, at line %" PRIu64
			    ": its stack may be truncated",
			    reader->lines.number);
	return 0;
}

static void release_reader(struct perf_script_reader *reader)
{
	struct numbers *all[] = {&reader->threads, &reader->processes, &reader->metrics};

	for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
		string_table_free(all[i]->texts);
		array_release(&all[i]->values);
	}
	perf_frames_release(&reader->frames);
	array_release(&reader->stack);
}

static int read_perf_script(struct import *import)
{
	_cleanup_(release_reader) struct perf_script_reader reader = {
		.import = import,
		.lines = lines_of(import->data, import->size),
		.threads.texts = string_table_new(),
		.processes.texts = string_table_new(),
		.metrics.texts = string_table_new(),
	};
	int err = perf_frames_init(&reader.frames, import->profile);

	if (err)
		return err;
	if (!reader.threads.texts || !reader.processes.texts || !reader.metrics.texts)
		return -ENOMEM;
	return read_lines(&reader);
}

/* A header with a name and with a time as perf prints it. ret_has_cpu  and a CPU and an event */
static bool is_sure_header(struct slice line, bool *ret_has_cpu)
{
	struct header header = {0};
	struct slice between;

	if (!parse_timed_header(line, &header) || !header.comm.length || !is_full_time(header.time))
		return false;
	between.start = header.owner.start + header.owner.length;
	between.length = (size_t)(header.time.start - between.start);
	between = slice_trim(between);
	*ret_has_cpu = header.event.length && between.length && between.start[0] == '[';
	return true;
}

/*
 * After messages of perf: a header that nothing else would print, with a CPU or followed by an
 * indented frame. A text of another format may contain such lines.
 */
static enum detection detect_after_messages(struct lines lines, struct slice line)
{
	bool has_cpu;

	do {
		struct slice next;

		if (line.length > MAX_MESSAGE_BYTES || memchr(line.start, '\0', line.length))
			return DETECTED_NOT;
		if (!is_sure_header(line, &has_cpu))
			continue;
		if (has_cpu)
			return DETECTED_MAYBE;
		if (lines_take(&lines, &next) && next.length && is_blank_char(next.start[0]) &&
		    perf_frame_has_pc(next.start, next.length))
			return DETECTED_MAYBE;
	} while (lines.number < DETECTION_LINES && lines_take(&lines, &line));
	return DETECTED_NOT;
}

/* A header, which may lack the event, followed by a frame; messages may precede it. */
static enum detection detect(const uint8_t *data, size_t size)
{
	struct lines lines = lines_of(data, size);
	struct slice line;
	bool was_header = false;
	bool has_event = false;

	while (lines.number < DETECTION_LINES && lines_take(&lines, &line)) {
		struct header header = {0};

		if (!line.length || line.start[0] == '#')
			continue;
		if (was_header && perf_frame_has_pc(line.start, line.length) &&
		    (is_blank_char(line.start[0]) || (has_event && slice_ends_with(line, ")"))))
			return DETECTED_SURE;
		if (was_header && !has_event)
			return detect_after_messages(lines, line);
		was_header = parse_header(line, &header);
		has_event = header.event.length;
		if (!was_header)
			return detect_after_messages(lines, line);
		if (has_event && header.has_time)
			return DETECTED_SURE;
	}
	return was_header && has_event ? DETECTED_MAYBE : DETECTED_NOT;
}

const struct format format_perf_script = {
	.name = "perf-script",
	.extension = "",
	.summary = "text output of 'perf script'",
	.producers = "perf 3.2, 3.13, 4.13 and 6.1",
	.detect = detect,
	.read = read_perf_script,
};
