/*
 * Zones as text, see read.c. Declarations first, then everything else in order of time;
 * each process of the timeline is a section of its own. Data without a record type (samples,
 * scheduling) is left out.
 *
 * Starts of zones keep their order in the timeline, even if that is not the order of time. Implicit
 * regions are guessed from pointers in that order: another order could give different ones. So
 * entries are sorted by the latest time up to them.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "formats/zones.h"
#include "timeline/zone_tracker.h"

enum entry_kind { ENTRY_START, ENTRY_END, ENTRY_COUNTER };

/* A record of the second part; those of one moment keep their order. */
struct zones_entry {
	uint64_t time_ns; /* its own, or a later one of an entry that must precede it */
	uint32_t order;
	uint32_t item; /* zone or counter value */
	uint32_t process;
	uint8_t kind; /* enum entry_kind */
};

struct zones_writer {
	const struct timeline *timeline;
	const struct sink *sink;
	ARRAY(struct zones_entry) entries; /* by process, then by time */
	uint64_t *process_latest_ns;       /* of the starts so far */
	uint64_t *region_latest_ns;        /* of the entries so far */
	uint32_t *location_numbers;        /* in the section that is being written; 0: unused */
	struct text output;
	bool has_output; /* something has been written, to the buffer or the sink */
};

static int add_entry(struct zones_writer *writer, enum entry_kind kind, uint32_t process,
		     uint32_t item, uint64_t time_ns)
{
	size_t order = writer->entries.length;
	struct zones_entry *entry = order < UINT32_MAX ? array_add(&writer->entries) : NULL;

	if (!entry)
		return -ENOMEM;
	*entry = (struct zones_entry){.time_ns = time_ns,
				      .order = (uint32_t)order,
				      .item = item,
				      .process = process,
				      .kind = (uint8_t)kind};
	return 0;
}

static uint64_t raise(uint64_t *latest_ns, uint64_t time_ns)
{
	if (time_ns > *latest_ns)
		*latest_ns = time_ns;
	return *latest_ns;
}

/*
 * An entry must follow all entries that must precede it: a start follows the earlier starts of its
 * process (see above), and every entry the earlier ones on its region.
 */
static int add_step(struct zones_writer *writer, const struct zone_step *step)
{
	const struct zone *zone = timeline_get_zone(writer->timeline, step->zone);
	uint32_t process = timeline_get_region(writer->timeline, zone->region)->process;
	uint64_t time_ns = step->time_ns;

	if (!step->is_end)
		time_ns = raise(&writer->process_latest_ns[process], time_ns);
	return add_entry(writer, step->is_end ? ENTRY_END : ENTRY_START, process, step->zone,
			 raise(&writer->region_latest_ns[zone->region], time_ns));
}

static int collect_zones(struct zones_writer *writer)
{
	_cleanup_(zone_walk_release) struct zone_walk walk;
	struct zone_step step;
	int err = zone_walk_init(&walk, writer->timeline);

	if (err)
		return err;
	while (zone_walk_next(&walk, &step)) {
		err = add_step(writer, &step);
		if (err)
			return err;
	}
	return 0;
}

/* Counters have no such order among them; their own time decides. */
static int collect_counters(struct zones_writer *writer)
{
	const struct timeline *timeline = writer->timeline;

	for (uint32_t i = 0; i < timeline_count_counter_value(timeline); i++) {
		const struct counter_value *value = timeline_get_counter_value(timeline, i);
		int err = add_entry(writer, ENTRY_COUNTER,
				    timeline_get_counter_track(timeline, value->track)->process, i,
				    value->time_ns);

		if (err)
			return err;
	}
	return 0;
}

static int compare_entries(const void *left, const void *right)
{
	const struct zones_entry *a = left;
	const struct zones_entry *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/* ---- text --------------------------------------------------------------------------------- */

/* A record is one line: characters that would end it become blanks. */
static char fit_char(char c)
{
	return c == '\n' || c == '\r' ? ' ' : c;
}

static void append_field(struct zones_writer *writer, const char *data, size_t length)
{
	bool needs_quotes = memchr(data, ',', length) || memchr(data, '"', length) ||
			    (length && (zones_is_blank(fit_char(data[0])) ||
					zones_is_blank(fit_char(data[length - 1]))));

	text_append_string(&writer->output, needs_quotes ? ", \"" : ", ");
	for (size_t i = 0; i < length; i++) {
		if (data[i] == '"')
			text_append_char(&writer->output, '"');
		text_append_char(&writer->output, fit_char(data[i]));
	}
	if (needs_quotes)
		text_append_char(&writer->output, '"');
}

static void append_string(struct zones_writer *writer, uint32_t string)
{
	const struct string_table *strings = timeline_get_strings(writer->timeline);

	append_field(writer, string_table_get(strings, string),
		     string_table_get_length(strings, string));
}

/*
 * As short as it can be and still be the same number, no integer, when it is read. 15 digits are
 * always exact in a double, 17 are always enough. ".0" keeps a whole number from being read as an
 * integer.
 */
static void append_double(struct zones_writer *writer, double number)
{
	char digits[40];

	for (int precision = 15; precision <= 17; precision++) {
		snprintf(digits, sizeof(digits), "%.*g", precision, number);
		if (strtod(digits, NULL) == number)
			break;
	}
	text_printf(&writer->output, ", %s%s", digits,
		    isfinite(number) && !strpbrk(digits, ".e") ? ".0" : "");
}

static void append_value(struct zones_writer *writer, const struct zone_attribute *attribute)
{
	switch ((enum value_type)attribute->type) {
	case VALUE_STRING:
		append_string(writer, attribute->value.string);
		break;
	case VALUE_BOOL:
		text_append_string(&writer->output,
				   attribute->value.boolean ? ", true" : ", false");
		break;
	case VALUE_I64:
		text_printf(&writer->output, ", %" PRId64, attribute->value.i64);
		break;
	case VALUE_U64:
		text_printf(&writer->output, ", %" PRIu64, attribute->value.u64);
		break;
	case VALUE_DOUBLE:
		append_double(writer, attribute->value.number);
		break;
	}
}

static void end_line(struct zones_writer *writer)
{
	text_append_char(&writer->output, '\n');
}

/* ---- declarations ------------------------------------------------------------------------- */

/* At the start of the text, a process that no input named needs no mark: the reader assumes it. */
static void append_process(struct zones_writer *writer, uint32_t id)
{
	const struct timeline_process *process = timeline_get_process(writer->timeline, id);
	const struct string_table *strings = timeline_get_strings(writer->timeline);
	const char *name = string_table_get(strings, process->name);
	size_t length = string_table_get_length(strings, process->name);

	if (!writer->has_output && !process->pid && string_equals(name, ZONES_PROCESS_NAME))
		return;
	text_printf(&writer->output, ZONES_PROCESS_MARK "%" PRIu32 " ", process->pid);
	for (size_t i = 0; i < length; i++)
		text_append_char(&writer->output, fit_char(name[i]));
	end_line(writer);
}

static void append_threads(struct zones_writer *writer, uint32_t process)
{
	for (uint32_t i = 0; i < timeline_count_thread(writer->timeline); i++) {
		const struct timeline_thread *thread = timeline_get_thread(writer->timeline, i);

		if (thread->process != process)
			continue;
		text_printf(&writer->output, "THREAD, %" PRIu64, thread->tid);
		append_string(writer, thread->name);
		end_line(writer);
	}
}

/* Implicit regions are restored from their pointers. */
static void append_stacks(struct zones_writer *writer, uint32_t process)
{
	for (uint32_t i = 0; i < timeline_count_region(writer->timeline); i++) {
		const struct stack_region *region = timeline_get_region(writer->timeline, i);

		if (region->process != process || region->kind != REGION_DECLARED)
			continue;
		text_printf(&writer->output, "STACK, %" PRIu64 ", %" PRIu64, region->start,
			    region->end);
		append_string(writer, region->name);
		end_line(writer);
	}
}

/*
 * Locations are numbered anew in each section, because the ids of a section are its own. Only those
 * that its zones use are declared: a timeline of several inputs holds those of all.
 */
static void append_locations(struct zones_writer *writer)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < timeline_count_location(writer->timeline); i++) {
		const struct source_location *location = timeline_get_location(writer->timeline, i);

		if (!writer->location_numbers[i])
			continue;
		writer->location_numbers[i] = ++number;
		text_printf(&writer->output, "LOCATION, %" PRIu32, number);
		append_string(writer, location->name);
		append_string(writer, location->function);
		append_string(writer, location->file);
		text_printf(&writer->output, ", %" PRIu32 "\n", location->line);
	}
}

/* Numbers from 1 through all processes: unlike those of locations they need no translation. */
static void append_counter_tracks(struct zones_writer *writer, uint32_t process)
{
	for (uint32_t i = 0; i < timeline_count_counter_track(writer->timeline); i++) {
		const struct counter_track *track = timeline_get_counter_track(writer->timeline, i);

		if (track->process != process)
			continue;
		text_printf(&writer->output, "COUNTER_TRACK, %" PRIu32, i + 1);
		append_string(writer, track->name);
		end_line(writer);
	}
}

/* ---- items with a time -------------------------------------------------------------------- */

static void append_attribute(struct zones_writer *writer, const struct zone *zone,
			     const struct zone_attribute *attribute)
{
	static const char *const commands[] = {
		[ATTRIBUTE_PARAMETER] = "ZONE_PARAM",
		[ATTRIBUTE_CATEGORY] = "ZONE_CATEGORY",
		[ATTRIBUTE_FLOW] = "ZONE_FLOW",
		[ATTRIBUTE_TERMINATING_FLOW] = "ZONE_FLOW_T",
	};

	text_printf(&writer->output, "%s, %" PRIu64, commands[attribute->kind], zone->pointer);
	switch ((enum attribute_kind)attribute->kind) {
	case ATTRIBUTE_PARAMETER:
		append_string(writer, attribute->name);
		append_value(writer, attribute);
		break;
	case ATTRIBUTE_CATEGORY:
		append_string(writer, attribute->value.string);
		break;
	case ATTRIBUTE_FLOW:
	case ATTRIBUTE_TERMINATING_FLOW:
		text_printf(&writer->output, ", %" PRIu64, attribute->value.u64);
		break;
	}
	end_line(writer);
}

static void append_start(struct zones_writer *writer, uint32_t id)
{
	const struct timeline *timeline = writer->timeline;
	const struct zone *zone = timeline_get_zone(timeline, id);
	const struct zone_attribute *attribute = NULL;

	text_printf(&writer->output,
		    "ZONE_START, %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu32 "\n",
		    zone->pointer, timeline_get_thread(timeline, zone->thread)->tid, zone->start_ns,
		    writer->location_numbers[zone->location]);
	if (zone->name != timeline_get_location(timeline, zone->location)->name) {
		text_printf(&writer->output, "ZONE_NAME, %" PRIu64, zone->pointer);
		append_string(writer, zone->name);
		end_line(writer);
	}
	while ((attribute = timeline_next_attribute(timeline, id, attribute)))
		append_attribute(writer, zone, attribute);
}

static void append_counter_value(struct zones_writer *writer, const struct counter_value *value)
{
	text_printf(&writer->output, "COUNTER_VALUE, %" PRIu32 ", %" PRIu64, value->track + 1,
		    value->time_ns);
	if (value->type == VALUE_DOUBLE)
		append_double(writer, value->value.number);
	else
		text_printf(&writer->output, ", %" PRId64, value->value.i64);
	end_line(writer);
}

static void append_entry(struct zones_writer *writer, const struct zones_entry *entry)
{
	const struct timeline *timeline = writer->timeline;
	const struct zone *zone;

	switch ((enum entry_kind)entry->kind) {
	case ENTRY_START:
		append_start(writer, entry->item);
		break;
	case ENTRY_END:
		zone = timeline_get_zone(timeline, entry->item);
		text_printf(&writer->output, "ZONE_END, %" PRIu64 ", %" PRIu64 "\n", zone->pointer,
			    zone->end_ns);
		break;
	case ENTRY_COUNTER:
		append_counter_value(writer, timeline_get_counter_value(timeline, entry->item));
		break;
	}
}

/* ---- the whole ---------------------------------------------------------------------------- */

/* Mark the locations of the process's zones, whose entries start at `first`. */
static void mark_locations(struct zones_writer *writer, uint32_t process, size_t first)
{
	const struct zones_entry *entries = writer->entries.items;

	memset(writer->location_numbers, 0,
	       timeline_count_location(writer->timeline) * sizeof(*writer->location_numbers));
	for (size_t i = first; i < writer->entries.length && entries[i].process == process; i++) {
		const struct zone *zone;

		if (entries[i].kind != ENTRY_START)
			continue;
		zone = timeline_get_zone(writer->timeline, entries[i].item);
		writer->location_numbers[zone->location] = 1;
	}
}

static int write_process(struct zones_writer *writer, uint32_t process, size_t *next)
{
	const struct zones_entry *entries = writer->entries.items;
	size_t end = *next;

	mark_locations(writer, process, *next);
	while (end < writer->entries.length && entries[end].process == process)
		end++;
	append_process(writer, process);
	append_threads(writer, process);
	append_stacks(writer, process);
	append_locations(writer);
	append_counter_tracks(writer, process);
	for (; *next < end; (*next)++) {
		int err;

		append_entry(writer, &entries[*next]);
		writer->has_output = true;
		err = sink_drain(writer->sink, &writer->output);
		if (err)
			return err;
	}
	writer->has_output |= writer->output.length > 0;
	return 0;
}

static int writer_init(struct zones_writer *writer)
{
	const struct timeline *timeline = writer->timeline;

	writer->process_latest_ns = calloc(timeline_count_process(timeline) + 1u, sizeof(uint64_t));
	writer->region_latest_ns = calloc(timeline_count_region(timeline) + 1u, sizeof(uint64_t));
	writer->location_numbers = calloc(timeline_count_location(timeline) + 1u, sizeof(uint32_t));
	if (!writer->process_latest_ns || !writer->region_latest_ns || !writer->location_numbers)
		return -ENOMEM;
	return 0;
}

static int write_timeline(struct zones_writer *writer)
{
	size_t next = 0;
	int err = writer_init(writer);

	if (err)
		return err;
	err = collect_zones(writer);
	if (err)
		return err;
	err = collect_counters(writer);
	if (err)
		return err;
	if (writer->entries.length)
		qsort(writer->entries.items, writer->entries.length, sizeof(struct zones_entry),
		      compare_entries);
	for (uint32_t i = 0; i < timeline_count_process(writer->timeline); i++) {
		err = write_process(writer, i, &next);
		if (err)
			return err;
	}
	return sink_flush(writer->sink, &writer->output);
}

static int write_zones(const struct profile *profile _unused_, const struct format_opts *opts,
		       const struct sink *sink)
{
	struct zones_writer writer = {.timeline = opts->timeline, .sink = sink};
	int err = opts->timeline ? write_timeline(&writer) : 0;

	array_release(&writer.entries);
	free(writer.process_latest_ns);
	free(writer.region_latest_ns);
	free(writer.location_numbers);
	text_release(&writer.output);
	return err;
}

const struct format format_zones = {
	.name = "zones",
	.extension = ".zones",
	.summary = "zones that programs report, with stacks and counters",
	.has_times_alone = true,
	.write = write_zones,
	.detect = zones_detect,
	.read = zones_read,
};
