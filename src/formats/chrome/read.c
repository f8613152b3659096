/*
 * Traces in the JSON that Chrome's tracing introduced and many programs write: a list of events,
 * alone or as `traceEvents` of an object. These phases are read:
 *
 *	B, E, X     a slice of a thread: start, end, or whole, with its duration
 *	b, e, S, F  one of an operation, which its id and category identify
 *	i, I, R, n  an instant; those with stacks are samples, if the trace has nothing else
 *	s, t, f     a flow, which joins slices
 *	C           values of counters
 *	P, I        `Profile`, `ProfileChunk`, `CpuProfile`: V8's CPU profile; see cpu_nodes.h
 *	P           other samples, with their stack
 *	M           names of processes and threads
 *
 * A list may end without its bracket, as the format allows for writers that die.
 *
 * Operations get a thread of their own in their process, because they overlap the slices of
 * threads.
 *
 * Events may be in any order, and names of threads may follow the events of the threads. Therefore,
 * while the text is read, an event only becomes an entry in a list of slices or of samples, with
 * its track (read_tracks.c). When all is read, slices are sorted and nested (read_slices.c),
 * samples get their stacks (read_samples.c), and threads their names. Arguments are not kept, only
 * the event's offset: they are read again from the input if a timeline needs them.
 *
 * Source: "Trace Event Format", the document of Chrome's trace viewer.
 */
#include <errno.h>
#include <string.h>

#include "formats/chrome/read_event.h"
#include "formats/chrome/read_samples.h"
#include "formats/chrome/read_slices.h"
#include "formats/chrome/read_timeline.h"
#include "formats/chrome/read_tracks.h"
#include "formats/reader.h"

#define DETECTION_TOKENS 100000
#define US_DECIMALS      3 /* from microseconds to nanoseconds */

struct chrome_reader {
	struct import *import;
	struct chrome_tracks tracks;
	struct chrome_samples samples;
	struct chrome_slices slices;
	struct chrome_timeline *timeline; /* NULL: not requested */
	uint64_t num_items;               /* of the list */
	bool has_phase;                   /* of any event */
	uint64_t shift_ns;                /* is added to the times of events: none is before 0 */
	struct chrome_event event;
	struct text phase;
};

/* ---- events ---- */

static bool take_duration(struct json *json, uint64_t *ret)
{
	enum json_token token = json_next(json);
	struct json_cell cell = {.token = JSON_NUMBER, .text = json->text, .length = json->length};
	bool is_good = json_is_number(json, token) && json_cell_get_scaled(&cell, US_DECIMALS, ret);

	json_skip(json, token);
	return is_good;
}

/* The digits behind a minus, or 0. */
static uint64_t read_negative(const char *text, const char *end)
{
	struct json_cell cell = {.token = JSON_NUMBER, .text = text};
	uint64_t time_ns;

	while (text + cell.length < end && strchr("0123456789.", text[cell.length]) &&
	       text[cell.length])
		cell.length++;
	return cell.length && json_cell_get_scaled(&cell, US_DECIMALS, &time_ns) ? time_ns : 0;
}

/*
 * Bazel's clock starts when its server is asked, and earlier events have negative times. Ours have
 * no sign, so that all of them are shifted by the earliest. It must be known before the first event
 * is read. A search for the bytes is much faster than another pass over the JSON. A match inside a
 * string only shifts all times.
 */
static uint64_t find_shift(const struct import *import)
{
	static const char *const marks[] = {"\"ts\":-", "\"ts\": -"};
	const char *end = (const char *)import->data + import->size;
	uint64_t shift_ns = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(marks); i++) {
		const char *position = (const char *)import->data;

		while (position && position < end) {
			uint64_t time_ns;

			position = memmem(position, (size_t)(end - position), marks[i],
					  strlen(marks[i]));
			if (!position)
				break;
			position += strlen(marks[i]);
			time_ns = read_negative(position, end);
			if (time_ns > shift_ns && time_ns <= INT64_MAX)
				shift_ns = time_ns;
		}
	}
	return shift_ns;
}

static bool take_time(const struct chrome_reader *reader, struct json *json, uint64_t *ret)
{
	enum json_token token = json_next(json);
	bool is_negative = token == JSON_NUMBER && json->text[0] == '-';
	struct json_cell cell = {.token = JSON_NUMBER,
				 .text = json->text + is_negative,
				 .length = json->length - is_negative};
	bool is_good = json_is_number(json, token) && json_cell_get_scaled(&cell, US_DECIMALS, ret);

	json_skip(json, token);
	if (!is_good)
		return false;
	if (!is_negative)
		return !__builtin_add_overflow(*ret, reader->shift_ns, ret);
	return !__builtin_sub_overflow(reader->shift_ns, *ret, ret);
}

/* {"local": "0x1"} or {"global": "0x1"} */
static void take_scoped_id(struct json *json, struct chrome_event *event)
{
	enum json_token token = json_next(json);

	if (token != JSON_OBJECT) {
		json_skip(json, token);
		return;
	}
	while (json_next(json) == JSON_KEY) {
		event->has_local_id = json_is(json, "local");
		chrome_take_id(json, &event->id);
	}
}

static int read_member(struct chrome_reader *reader, struct json *json)
{
	struct chrome_event *event = &reader->event;

	if (json_is(json, "ph")) {
		json_take_string(json, &reader->phase);
		event->phase = reader->phase.length == 1 ? reader->phase.data[0] : 0;
	} else if (json_is(json, "name")) {
		json_take_string(json, &event->name);
	} else if (json_is(json, "cat")) {
		json_take_string(json, &event->category);
	} else if (json_is(json, "ts")) {
		event->has_ts = take_time(reader, json, &event->ts_ns);
	} else if (json_is(json, "dur")) {
		event->has_bad_dur = !take_duration(json, &event->dur_ns);
	} else if (json_is(json, "pid")) {
		return chrome_take_number(reader->import->profile, json, &event->pid);
	} else if (json_is(json, "tid")) {
		return chrome_take_number(reader->import->profile, json, &event->tid);
	} else if (json_is(json, "id")) {
		chrome_take_id(json, &event->id);
	} else if (json_is(json, "id2")) {
		take_scoped_id(json, event);
	} else if (json_is(json, "bp")) {
		enum json_token token = json_next(json);

		event->is_in_slice = token == JSON_STRING && json_is(json, "e");
		json_skip(json, token);
	} else if (json_is(json, "sf")) {
		chrome_take_id(json, &event->frame);
	} else if (json_is(json, "stack")) {
		json_take_position(json, 0, &event->stack);
	} else if (json_is(json, "args")) {
		json_take_position(json, 0, &event->args);
	} else {
		json_skip_value(json);
	}
	return 0;
}

static int add_instant(struct chrome_reader *reader)
{
	int err = chrome_samples_read_instant(&reader->samples, &reader->event);

	if (err)
		return err;
	return chrome_slices_add(&reader->slices, &reader->event, CHROME_INSTANT, false);
}

/* The phases are listed in the table at the top. Those of an operation are asynchronous. */
static int handle_event(struct chrome_reader *reader)
{
	const struct chrome_event *event = &reader->event;

	switch (event->phase) {
	case 'B':
		return chrome_slices_add(&reader->slices, event, CHROME_START, false);
	case 'E':
		return chrome_slices_add(&reader->slices, event, CHROME_END, false);
	case 'X':
		if (event->has_bad_dur)
			return reader_skip_byte(reader->import, event->offset,
						"a slice whose duration is not a number");
		return chrome_slices_add(&reader->slices, event, CHROME_WHOLE, false);
	case 'b':
	case 'S':
		return chrome_slices_add(&reader->slices, event, CHROME_START, true);
	case 'e':
	case 'F':
		return chrome_slices_add(&reader->slices, event, CHROME_END, true);
	case 'n':
		return chrome_slices_add(&reader->slices, event, CHROME_INSTANT, true);
	case 'I':
	case 'P':
		if (chrome_is_chunk(event))
			return chrome_samples_read_chunk(&reader->samples, event);
		if (event->phase == 'P')
			return chrome_samples_read_event(&reader->samples, event);
		return add_instant(reader);
	case 'i':
	case 'R':
		return add_instant(reader);
	case 's':
	case 't':
		return chrome_slices_add_flow(&reader->slices, event, CHROME_FLOW);
	case 'f':
		return chrome_slices_add_flow(&reader->slices, event,
					      event->is_in_slice ? CHROME_FLOW_END
								 : CHROME_FLOW_END_NEXT);
	case 'C':
		return reader->timeline ? chrome_timeline_add_counters(reader->timeline, event) : 0;
	case 'M':
		return chrome_tracks_read_name(&reader->tracks, event);
	}
	reader->import->counts.unknown_events++;
	return 0;
}

static int read_event(struct chrome_reader *reader, struct json *json)
{
	const struct chrome_event *event = &reader->event;
	enum json_token token;

	chrome_event_start(&reader->event, json->offset);
	while ((token = json_next(json)) == JSON_KEY) {
		int err = read_member(reader, json);

		if (err)
			return err;
	}
	if (event->name.failed || event->category.failed || event->id.failed ||
	    event->frame.failed || reader->phase.failed)
		return -ENOMEM;
	reader->has_phase |= event->phase != 0;
	/*
	 * An event that is truncated by the end of the text may lack anything: it does not count.
	 */
	return token == JSON_OBJECT_END ? handle_event(reader) : 0;
}

/* ---- the list ---- */

/*
 * A list that ends between two events is as good as one with its bracket, which programs that append
 * to a trace leave out. Or it is truncated.
 *
 * depth  of the list that may end so; 0: none
 */
static int report_broken(struct chrome_reader *reader, const struct json *json, size_t depth)
{
	struct import *import = reader->import;

	if (string_equals(json->fault, "out of memory"))
		return -ENOMEM;
	if (json->offset >= import->size && json_get_depth(json) == depth && depth) {
		import_warn(import,
			    "at byte %zu: the list of events has no end: the trace may be "
			    "truncated",
			    import->size);
		return 0;
	}
	if (import->is_strict || !reader->tracks.items.length)
		return reader_fail_json(import, json, 0);
	return reader_end_at_byte(import, json->offset,
				  "cannot read the rest of the events, skipping");
}

/* After the bracket. *ret_broke: the rest cannot be read. */
static int read_events(struct chrome_reader *reader, struct json *json, bool *ret_broke)
{
	size_t depth = json_get_depth(json);
	enum json_token token = JSON_FAILED;
	int err = 0;

	while ((token = json_next(json)) != JSON_ARRAY_END) {
		if (token == JSON_FAILED) {
			*ret_broke = true;
			return report_broken(reader, json, depth);
		}
		reader->num_items++;
		if (token == JSON_OBJECT)
			err = read_event(reader, json);
		else
			json_skip(json, token);
		if (err)
			return err;
	}
	return 0;
}

/* {"traceEvents": […], "stackFrames": {…}, …} */
static int read_object(struct chrome_reader *reader, struct json *json, bool *ret_broke)
{
	bool has_events = false;
	enum json_token token;

	while ((token = json_next(json)) == JSON_KEY) {
		if (json_is(json, "stackFrames")) {
			json_take_position(json, 0, &reader->samples.frames_position);
		} else if (json_is(json, "samples")) {
			json_take_position(json, 0, &reader->samples.samples_position);
		} else if (!json_is(json, "traceEvents")) {
			json_skip_value(json);
		} else if ((token = json_next(json)) == JSON_ARRAY) {
			int err = read_events(reader, json, ret_broke);

			if (err || *ret_broke)
				return err;
			has_events = true;
		} else {
			json_skip(json, token);
		}
	}
	if (!has_events && token != JSON_FAILED)
		return import_fail_byte(reader->import, 0, "expected a list of events");
	*ret_broke = token == JSON_FAILED;
	return *ret_broke ? report_broken(reader, json, 1) : 0;
}

static int read_json_text(struct chrome_reader *reader)
{
	struct import *import = reader->import;
	_cleanup_(json_release) struct json json = json_of(import->data, import->size);
	enum json_token token = json_next(&json);
	bool broke = false;
	int err = 0;

	if (token == JSON_ARRAY)
		err = read_events(reader, &json, &broke);
	else if (token == JSON_OBJECT)
		err = read_object(reader, &json, &broke);
	else if (token != JSON_FAILED)
		return import_fail_byte(import, json.offset, "expected a list of events");
	if (err || broke)
		return err;
	return json_next(&json) == JSON_END ? 0 : report_broken(reader, &json, 0);
}

static int read_trace(struct chrome_reader *reader)
{
	uint32_t num_before = profile_count_samples(reader->import->profile);
	int err = read_json_text(reader);

	if (err)
		return err;
	if (reader->num_items && !reader->has_phase)
		return import_fail_byte(reader->import, 0, "expected events with a phase");
	err = chrome_samples_read_list(&reader->samples);
	if (err)
		return err;
	err = chrome_samples_finish(&reader->samples);
	if (err)
		return err;
	err = chrome_slices_finish(&reader->slices);
	if (err)
		return err;
	err = signed_sums_apply(&reader->samples.signed_sums, reader->import);
	if (err)
		return err;
	if (profile_count_samples(reader->import->profile) == num_before) {
		err = chrome_samples_finish_instants(&reader->samples);
		if (err)
			return err;
	}
	err = reader->timeline ? chrome_timeline_finish(reader->timeline) : 0;
	if (err)
		return err;
	if (reader->tracks.has_too_many || reader->slices.has_too_many ||
	    reader->samples.has_too_many)
		import_warn(reader->import,
			    "more threads or slices than a genuine file of this size can hold: "
			    "some are skipped");
	return 0;
}

static void release_reader(struct chrome_reader *reader)
{
	chrome_slices_release(&reader->slices);
	chrome_samples_release(&reader->samples);
	chrome_timeline_free(reader->timeline);
	chrome_tracks_release(&reader->tracks);
	chrome_event_release(&reader->event);
	text_release(&reader->phase);
}

static int read_chrome_trace(struct import *import)
{
	_cleanup_(release_reader) struct chrome_reader reader = {.import = import,
								 .shift_ns = find_shift(import)};

	chrome_tracks_init(&reader.tracks, import);
	chrome_samples_init(&reader.samples, import, &reader.tracks);
	if (import->timeline) {
		reader.timeline = chrome_timeline_new(import, &reader.tracks);
		if (!reader.timeline)
			return -ENOMEM;
	}
	chrome_slices_init(&reader.slices, import, &reader.tracks, reader.timeline);
	return read_trace(&reader);
}

/* Detects a list of objects whose first has a phase, or an object with such a list. */
static enum detection detect(const uint8_t *data, size_t size)
{
	_cleanup_(json_release) struct json json = json_of(data, size);
	bool is_list = json_next(&json) == JSON_ARRAY;

	for (int i = 0; i < DETECTION_TOKENS; i++) {
		enum json_token token = json_next(&json);

		if (token == JSON_FAILED || token == JSON_END)
			return DETECTED_NOT;
		if (is_list && json_get_depth(&json) < 2 && token != JSON_OBJECT)
			return DETECTED_NOT; /* the first object has ended */
		if (token != JSON_KEY)
			continue;
		if ((is_list && json_get_depth(&json) == 2 && json_is(&json, "ph")) ||
		    (!is_list && json_get_depth(&json) == 1 && json_is(&json, "traceEvents")))
			return DETECTED_SURE;
	}
	return DETECTED_NOT;
}

const struct format format_chrome_trace = {
	.name = "chrome-trace",
	.extension = "",
	.summary = "traces in Chrome's JSON: slices, counters, CPU profiles",
	.producers = "Node.js 20",
	.detect = detect,
	.read = read_chrome_trace,
};
