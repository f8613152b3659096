/*
 * Speedscope's JSON: a table of frames, and for every thread and metric a profile of samples. Each
 * sample is a list of frames from the outermost in, with a list of weights beside it (read.c shows
 * one).
 *
 * The profiles are written first, frames are numbered as they are met, and the table is last: only
 * the table is in memory, never the samples. Speedscope does not mind the order.
 *
 * Speedscope has units but no names of metrics, and names but no ids of threads; both are in an
 * object `stackwide` of each profile, which it skips. So it does with a frame's `module` and
 * `kind`.
 */
#include <errno.h>
#include <inttypes.h>

#include "analysis/frame_tree.h"
#include "base/array.h"
#include "base/json.h"
#include "formats/format.h"
#include "formats/reader.h"
#include "formats/sample_order.h"
#include "formats/thread_note.h"

#define NO_INDEX UINT32_MAX
#define UNKNOWN  "{\"name\":\"" UNKNOWN_NAME "\"}"

struct speedscope_writer {
	const struct profile *profile;
	const struct format_opts *opts;
	const struct sink *sink;
	ARRAY(uint32_t) frame_indexes; /* by frame of the profile; NO_INDEX: not used yet */
	struct string_table *frames;   /* as JSON; the index is the string's id minus 1 */
	ARRAY(uint32_t) path;          /* stacks, innermost first */
	uint32_t *order;               /* samples by metric and thread */
	uint32_t active;               /* the profile to be shown first */
	struct text text;
};

static void append_string(const struct speedscope_writer *writer, struct text *text,
			  uint32_t string)
{
	json_append_string(text, profile_get_string(writer->profile, string),
			   profile_get_string_length(writer->profile, string));
}

static const char *get_annotation(const struct speedscope_writer *writer, const struct frame *frame)
{
	return writer->opts->tree.no_annotations ? "" : frame_get_annotation(frame);
}

/* Append the properties that the name's annotation lacks. */
static void append_ours(const struct speedscope_writer *writer, struct text *object,
			const struct frame *frame)
{
	const char *module = profile_get_string(writer->profile, frame->module);

	if (frame->kind != FRAME_USER &&
	    (!*get_annotation(writer, frame) ||
	     frame_kind_get_mark(frame->kind, frame->is_inlined) != frame->kind))
		text_printf(object, ",\"kind\":\"%s\"", frame_kinds[frame->kind].type);
	if (string_equals(module, frame->kind == FRAME_KERNEL ? KERNEL_MODULE : ""))
		return;
	text_append_string(object, ",\"module\":");
	append_string(writer, object, frame->module);
}

/* Frames that look the same are one, whatever their addresses were. */
static int add_frame(struct speedscope_writer *writer, const struct frame *frame, uint32_t *ret)
{
	_cleanup_(text_release) struct text name = {0};
	_cleanup_(text_release) struct text object = {0};

	text_append(&name, profile_get_string(writer->profile, frame->name),
		    profile_get_string_length(writer->profile, frame->name));
	text_append_string(&name, get_annotation(writer, frame));
	text_append_string(&object, "{\"name\":");
	json_append_string(&object, name.data, name.length);
	if (frame->file != STRING_EMPTY) {
		text_append_string(&object, ",\"file\":");
		append_string(writer, &object, frame->file);
	}
	if (frame->line)
		text_printf(&object, ",\"line\":%u", frame->line);
	append_ours(writer, &object, frame);
	text_append_char(&object, '}');
	if (name.failed || object.failed)
		return -ENOMEM;
	return string_table_add(writer->frames, object.data, object.length, ret);
}

/*
 * Find the number of a frame. Each frame is turned into text once; frames with the same text have
 * one number.
 *
 * frame  of the profile; NO_INDEX: one without a name
 */
static int use_frame(struct speedscope_writer *writer, uint32_t frame, uint32_t *ret)
{
	uint32_t *index;
	uint32_t id = 0;
	int err;

	if (frame == NO_INDEX) {
		err = string_table_add(writer->frames, UNKNOWN, strlen(UNKNOWN), &id);
		*ret = id - 1;
		return err;
	}
	while (writer->frame_indexes.length <= frame) {
		index = array_add(&writer->frame_indexes);
		if (!index)
			return -ENOMEM;
		*index = NO_INDEX;
	}
	index = &writer->frame_indexes.items[frame];
	if (*index == NO_INDEX) {
		err = add_frame(writer, profile_get_frame(writer->profile, frame), &id);
		if (err)
			return err;
		*index = id - 1;
	}
	*ret = *index;
	return 0;
}

static int append_frame(struct speedscope_writer *writer, uint32_t frame, bool *is_first)
{
	uint32_t index;
	int err = use_frame(writer, frame, &index);

	if (err)
		return err;
	text_printf(&writer->text, "%s%u", *is_first ? "" : ",", index);
	*is_first = false;
	return 0;
}

static int append_stack(struct speedscope_writer *writer, uint32_t stack)
{
	bool is_first = true;

	writer->path.length = 0;
	for (; stack != STACK_EMPTY; stack = profile_get_stack_parent(writer->profile, stack)) {
		uint32_t *level = array_add(&writer->path);

		if (!level)
			return -ENOMEM;
		*level = stack;
	}
	text_append_char(&writer->text, '[');
	while (writer->path.length) {
		uint32_t level = writer->path.items[--writer->path.length];
		const struct location *location = profile_get_location(
			writer->profile, profile_get_stack_location(writer->profile, level));
		int err;

		if (!location->num_frames) {
			err = append_frame(writer, NO_INDEX, &is_first);
			if (err)
				return err;
		}
		for (uint32_t i = location->num_frames; i-- > 0;) {
			err = append_frame(writer, location->first_frame + i, &is_first);
			if (err)
				return err;
		}
	}
	text_append_char(&writer->text, ']');
	return 0;
}

/* The units of speedscope's schema; other units become its "none". */
static const char *get_unit(const struct speedscope_writer *writer, uint32_t metric)
{
	static const char *const known[] = {"nanoseconds", "microseconds", "milliseconds",
					    "seconds", "bytes"};
	const char *unit = format_get_metric_unit(writer->profile, metric);

	for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
		if (string_equals(unit, known[i]))
			return known[i];
	return "none";
}

static void append_name(struct speedscope_writer *writer, const struct thread *thread, uint32_t pid)
{
	_cleanup_(text_release) struct text name = {0};

	text_append(&name, profile_get_string(writer->profile, thread->comm),
		    profile_get_string_length(writer->profile, thread->comm));
	if (pid || thread->tid)
		text_printf(&name, "-%u/%u", pid, thread->tid);
	json_append_string(&writer->text, name.length ? name.data : "all",
			   name.length ? name.length : 3);
	writer->text.failed |= name.failed;
}

/*
 * The samples order[first] to order[end - 1], which are of one thread and metric. The sum of all
 * weights precedes them in the file, so it is computed first.
 */
static int write_profile(struct speedscope_writer *writer, uint32_t first, uint32_t end)
{
	const struct profile *profile = writer->profile;
	const struct sample *sample = profile_get_sample(profile, writer->order[first]);
	const struct thread *thread = profile_get_thread(profile, sample->thread);
	uint64_t total = 0;
	int err;

	for (uint32_t i = first; i < end; i++)
		if (__builtin_add_overflow(
			    total, profile_get_sample(profile, writer->order[i])->value, &total))
			return -EOVERFLOW;
	text_append_string(&writer->text, "{\"type\":\"sampled\",\"name\":");
	append_name(writer, thread, profile_get_process(profile, thread->process)->pid);
	text_printf(&writer->text, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",",
		    get_unit(writer, sample->metric), total);
	thread_note_append(&writer->text, profile, sample);
	text_append_string(&writer->text, ",\n\"samples\":[");
	for (uint32_t i = first; i < end; i++) {
		if (i > first)
			text_append_char(&writer->text, ',');
		err = append_stack(writer, profile_get_sample(profile, writer->order[i])->stack);
		if (err)
			return err;
		err = sink_drain(writer->sink, &writer->text);
		if (err)
			return err;
	}
	text_append_string(&writer->text, "],\n\"weights\":[");
	for (uint32_t i = first; i < end; i++) {
		text_printf(&writer->text, "%s%" PRIu64, i > first ? "," : "",
			    profile_get_sample(profile, writer->order[i])->value);
		err = sink_drain(writer->sink, &writer->text);
		if (err)
			return err;
	}
	text_append_string(&writer->text, "]}");
	return 0;
}

static int write_profiles(struct speedscope_writer *writer)
{
	uint32_t count = profile_count_samples(writer->profile);
	uint32_t num_profiles = 0;
	bool has_active = false;
	int err;

	for (uint32_t first = 0; first < count;) {
		uint32_t end = sample_order_find_end(writer->profile, writer->order, first);

		/* The metric of --metric is shown first. */
		if (!has_active &&
		    profile_get_sample(writer->profile, writer->order[first])->metric ==
			    writer->opts->tree.metric) {
			writer->active = num_profiles;
			has_active = true;
		}
		text_append_string(&writer->text, num_profiles++ ? ",\n" : "\n");
		err = write_profile(writer, first, end);
		if (err)
			return err;
		first = end;
	}
	return 0;
}

static int write_frames(struct speedscope_writer *writer)
{
	uint32_t count = string_table_get_count(writer->frames);

	text_append_string(&writer->text, "],\n\"shared\":{\"frames\":[");
	for (uint32_t id = 1; id < count; id++) {
		int err;

		text_append_string(&writer->text, id > 1 ? ",\n" : "\n");
		text_append(&writer->text, string_table_get(writer->frames, id),
			    string_table_get_length(writer->frames, id));
		err = sink_drain(writer->sink, &writer->text);
		if (err)
			return err;
	}
	text_printf(&writer->text, "]},\n\"activeProfileIndex\":%u}\n", writer->active);
	return 0;
}

static int write_all(struct speedscope_writer *writer)
{
	int err = sample_order_new(writer->profile, &writer->order);

	if (err)
		return err;
	text_append_string(&writer->text,
			   "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
			   "\"exporter\":\"stackwide@" STACKWIDE_VERSION "\",\n\"profiles\":[");
	err = write_profiles(writer);
	if (err)
		return err;
	err = write_frames(writer);
	if (err)
		return err;
	return sink_flush(writer->sink, &writer->text);
}

static int speedscope_write(const struct profile *profile, const struct format_opts *opts,
			    const struct sink *sink)
{
	struct speedscope_writer writer = {
		.profile = profile, .opts = opts, .sink = sink, .frames = string_table_new()};
	int err = writer.frames ? write_all(&writer) : -ENOMEM;

	array_release(&writer.frame_indexes);
	string_table_free(writer.frames);
	array_release(&writer.path);
	free(writer.order);
	text_release(&writer.text);
	return err;
}

const struct format format_speedscope = {
	.name = "speedscope",
	.extension = ".speedscope.json",
	.summary = "profiles for speedscope: all threads and metrics",
	.producers = "speedscope 0.6",
	.has_all_metrics = true,
	.has_threads = true,
	.has_lines = true,
	.write = speedscope_write,
	.detect = speedscope_detect,
	.read = speedscope_read,
};
