/*
 * Flame graphs that were saved as SVG, since people keep these and not the data behind them. Ours
 * have the profile in them (native.h), and the picture is ignored. For those of other programs, the
 * call tree is reconstructed from the picture, in three steps:
 *
 *	read_drawing.c   the boxes: position, width, and the title that was meant for people
 *	read_title.c     "NAME (1,234 samples, 5.67%)"
 *	read_linking.c   which box is on which
 *
 * and here every box becomes a stack, whose weight is its count without that of its callees. The
 * limits are those of the picture: frames too narrow to be drawn count for their callers, and there
 * are no threads. Changes in comparisons are rounded to a hundredth of a percent.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "formats/native.h"
#include "formats/reader.h"
#include "formats/svg/read_drawing.h"

#define MAX_PROLOGUE_BYTES 65536

/* ---- detection ---------------------------------------------------------------------------- */

static bool starts_with(const char *data, size_t size, const char *string)
{
	size_t length = strlen(string);

	return size >= length && memcmp(data, string, length) == 0;
}

/* Skip the prologue before the first element. */
static size_t skip_prologue(const char *data, size_t size)
{
	size_t offset = starts_with(data, size, "\xef\xbb\xbf") ? 3 : 0;

	while (offset < size) {
		bool is_comment = starts_with(data + offset, size - offset, "<!--");
		const char *end;

		if (strchr(" \t\r\n", data[offset]) && data[offset]) {
			offset++;
			continue;
		}
		if (!is_comment && !starts_with(data + offset, size - offset, "<?") &&
		    !starts_with(data + offset, size - offset, "<!"))
			return offset;
		end = is_comment ? memmem(data + offset, size - offset, "-->", 3)
				 : memchr(data + offset, '>', size - offset);
		if (!end)
			return size;
		offset = (size_t)(end - data) + (is_comment ? 3 : 1);
	}
	return size;
}

enum detection svg_detect(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	size_t looked_at = size < MAX_PROLOGUE_BYTES ? size : MAX_PROLOGUE_BYTES;
	size_t start = skip_prologue(text, looked_at);

	if (native_is_packed(data, size))
		return DETECTED_SURE;
	if (!starts_with(text + start, looked_at - start, "<svg") || start + 4 >= looked_at ||
	    !strchr(" \t\r\n>", text[start + 4]))
		return DETECTED_NOT;
	return DETECTED_SURE;
}

/* ---- ours --------------------------------------------------------------------------------- */

static bool find_profile(const struct import *import, size_t *ret_start, size_t *ret_end)
{
	const uint8_t *start =
		memmem(import->data, import->size, NATIVE_START, strlen(NATIVE_START));
	const uint8_t *end;

	if (!start)
		return false;
	start += strlen(NATIVE_START);
	end = memmem(start, import->size - (size_t)(start - import->data), NATIVE_END,
		     strlen(NATIVE_END));
	*ret_start = (size_t)(start - import->data);
	*ret_end = end ? (size_t)(end - import->data) : import->size;
	return true;
}

/* ---- others' ------------------------------------------------------------------------------ */

struct filler {
	struct import *import;
	struct svg_drawing *drawing;
	uint32_t thread;
	uint32_t metric;
	uint32_t before;
};

static const char *get_unit(const char *name)
{
	static const char *const units[][2] = {
		{"ns", "nanoseconds"},     {"us", "microseconds"},         {"ms", "milliseconds"},
		{"s", "seconds"},          {"seconds", "seconds"},         {"bytes", "bytes"},
		{"usecs", "microseconds"}, {"nanoseconds", "nanoseconds"},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(units); i++)
		if (string_equals(name, units[i][0]))
			return units[i][1];
	return "count";
}

static int add_metrics(struct filler *filler)
{
	struct profile *profile = filler->import->profile;
	const char *name = filler->drawing->unit.length ? filler->drawing->unit.data : "samples";
	const char *unit = get_unit(name);
	int err;

	if (!filler->drawing->is_comparison)
		return profile_add_metric(profile, name, unit, &filler->metric);
	err = profile_add_metric(profile, METRIC_BEFORE, unit, &filler->before);
	if (err)
		return err;
	return profile_add_metric(profile, METRIC_AFTER, unit, &filler->metric);
}

/* The self weight before, from that of after and the rounded percentage in the title. */
static uint64_t get_before(const struct filler *filler, const struct svg_box *box)
{
	double change = box->change_percent * (double)filler->drawing->total / 100;
	double before = (double)box->rest - change + 0.5;

	if (box->change_percent == 0)
		return box->rest;
	return before < 0 ? 0 : before < 1e18 ? (uint64_t)before : UINT64_MAX / 2;
}

static int add_weight(struct filler *filler, const struct svg_box *box)
{
	struct import *import = filler->import;
	size_t offset = filler->drawing->start;
	uint64_t before = filler->drawing->is_comparison ? get_before(filler, box) : 0;
	int err;

	if (!box->rest && !before)
		return 0;
	err = reader_add_sample(import, offset, filler->thread, box->stack, filler->metric,
				box->rest);
	if (err)
		return err;
	if (filler->drawing->is_comparison)
		err = reader_add_sample(import, offset, filler->thread, box->stack, filler->before,
					before);
	return err;
}

/* inferno and older versions of flamegraph.pl keep annotations, as _[k], in titles. */
static int add_location(struct filler *filler, uint32_t name, uint32_t *ret)
{
	struct profile *profile = filler->import->profile;
	const char *string = profile_get_string(profile, name);
	size_t length = profile_get_string_length(profile, name);
	struct frame frame = {0};
	int err = reader_strip_annotation(profile, string, &length, &frame);

	if (err)
		return err;
	err = string_table_add(profile_get_strings(profile), string, length, &frame.name);
	frame.full_name = frame.name;
	if (err)
		return err;
	return profile_add_frame_location(profile, &frame, ret);
}

/* Samples of `all` itself need a frame: a stack without any cannot be written as folded text. */
static int name_root(struct filler *filler, struct svg_box *root)
{
	uint32_t name;
	uint32_t location;
	int err = profile_add_string(filler->import->profile, UNKNOWN_NAME, &name);

	if (err)
		return err;
	err = add_location(filler, name, &location);
	if (err)
		return err;
	return profile_add_stack(filler->import->profile, STACK_EMPTY, location, &root->stack);
}

static int add_boxes(struct filler *filler)
{
	struct svg_box *boxes = filler->drawing->boxes.items;
	size_t count = filler->drawing->boxes.length;
	bool has_root = boxes[0].is_root && (count == 1 || boxes[1].y != boxes[0].y);
	int err;

	for (size_t i = 0; i < count; i++) {
		uint32_t location;

		boxes[i].stack = boxes[i].caller == SVG_NO_FRAME ? STACK_EMPTY
								 : boxes[boxes[i].caller].stack;
		if (i == 0 && has_root)
			/* it represents all, and needs a name only for samples that end there */
			continue;
		err = add_location(filler, boxes[i].name, &location);
		if (err)
			return err;
		err = profile_add_stack(filler->import->profile, boxes[i].stack, location,
					&boxes[i].stack);
		if (err)
			return err;
		err = add_weight(filler, &boxes[i]);
		if (err)
			return err;
	}
	if (!has_root || !boxes[0].rest)
		return 0;
	err = name_root(filler, &boxes[0]);
	if (err)
		return err;
	return add_weight(filler, &boxes[0]);
}

static void report_pruned(struct import *import, const struct svg_drawing *drawing)
{
	import->counts.pruned_weight += drawing->pruned;
	if (drawing->pruned)
		import_warn(import,
			    "at least %.2f %% of the weight was in frames too narrow to be drawn; "
			    "it counts for their callers",
			    100.0 * (double)drawing->pruned / (double)drawing->total);
}

static int fill_profile(struct filler *filler)
{
	int err = svg_drawing_link(filler->drawing);

	if (err)
		return err;
	err = add_metrics(filler);
	if (err)
		return err;
	err = reader_add_anonymous_thread(filler->import, &filler->thread);
	if (err)
		return err;
	return add_boxes(filler);
}

static int read_drawing(struct import *import)
{
	_cleanup_(svg_drawing_release) struct svg_drawing drawing = {0};
	struct filler filler = {.import = import, .drawing = &drawing};
	int err = svg_drawing_read(&drawing, import);

	if (err)
		return err;
	err = fill_profile(&filler);
	if (err == -EOVERFLOW)
		return error_set(&import->error, err,
				 "%.200s: at byte %zu: the weights overflow 64 bits", import->name,
				 drawing.start);
	if (err)
		return err;
	report_pruned(import, &drawing);
	return 0;
}

int svg_read(struct import *import)
{
	size_t start;
	size_t end;

	if (native_is_packed(import->data, import->size))
		return native_read_packed(import);
	if (find_profile(import, &start, &end)) {
		if (memmem(import->data + end, import->size - end, NATIVE_START,
			   strlen(NATIVE_START)))
			return import_fail_byte(import, end,
						"another picture follows: use a file for each");
		return native_read(import, start, end);
	}
	return read_drawing(import);
}
