/*
 * The boxes of a picture, tag by tag. Programs and their versions differ in where they put a
 * frame's title and extent; each <rect> takes the values of the tags before it:
 *
 *	<g …><title>NAME (N samples, P%)</title><rect x= y= width= …/>    flamegraph.pl, inferno
 *	<g … onmouseover="s('NAME (N samples, P%)')" …><rect …/>          older ones
 *	<rect … onmouseover="s('…')" …/>                                  the oldest
 *
 * Places may be in pixels, in percent (inferno) or, in data-x or fg:x, exact in units of weight. A
 * page that was saved while zoomed in has the true positions in _orig_x.
 */
#include "formats/svg/read_drawing.h"

#include <errno.h>
#include <string.h>

#include "formats/svg.h"
#include "formats/xml_scanner.h"

/* The state between tags: known values of the next <rect>. */
struct svg_drawing_reader {
	struct svg_drawing *drawing;
	struct import *import;
	struct text text;       /* decoded title or handler */
	struct svg_title title; /* points into text */
	bool has_title;         /* text and title are of the present group */
	bool has_plain_title;   /* text is a title without a count: --nameattr can replace titles */
	bool is_graph;          /* an id or class was seen that only flame graphs have */
	bool expects_name;      /* the last box gets its name from the <text> that follows */
};

void svg_drawing_release(struct svg_drawing *drawing)
{
	array_release(&drawing->boxes);
	text_release(&drawing->unit);
}

static void forget_title(struct svg_drawing_reader *reader)
{
	reader->has_title = false;
	reader->has_plain_title = false;
	reader->expects_name = false;
}

static void take_title(struct svg_drawing_reader *reader, struct xml_slice slice)
{
	text_truncate(&reader->text, 0);
	xml_decode(&reader->text, slice);
	if (!reader->text.length)
		return;
	reader->has_title = svg_title_parse(reader->text.data, reader->text.length, &reader->title);
	reader->has_plain_title = !reader->has_title && reader->is_graph;
}

/* onmouseover="s('NAME (N samples, P%)')", where \' is a quote. s(this) has no title. */
static bool take_handler(struct svg_drawing_reader *reader, const struct xml_tag *tag)
{
	struct xml_slice value;
	size_t length = 0;

	if (!xml_find_attribute(tag, "onmouseover", &value) || value.length < 5 ||
	    memcmp(value.data, "s('", 3) != 0 ||
	    memcmp(value.data + value.length - 2, "')", 2) != 0)
		return false;
	take_title(reader, (struct xml_slice){value.data + 3, value.length - 5});
	if (!reader->has_title || reader->text.failed)
		return false;
	for (size_t i = 0; i < reader->text.length; i++) {
		if (reader->text.data[i] == '\\' && i + 1 < reader->text.length)
			i++;
		reader->text.data[length++] = reader->text.data[i];
	}
	text_truncate(&reader->text, length);
	reader->has_title = svg_title_parse(reader->text.data, reader->text.length, &reader->title);
	return reader->has_title;
}

/* The first of these attributes that is there and is a number, perhaps with a percent sign. */
static bool find_number(const struct xml_tag *tag, const char *const *names, double *ret)
{
	struct xml_slice value;

	for (; *names; names++)
		if (xml_find_attribute(tag, *names, &value) &&
		    svg_parse_number(value.data, value.length, ret))
			return true;
	return false;
}

/* `all`; `all samples` in 2013's comparisons */
static bool is_root_name(const char *name, size_t length)
{
	return (length == 3 && memcmp(name, "all", 3) == 0) ||
	       (length == 11 && memcmp(name, "all samples", 11) == 0);
}

/* The first box decides whether the extents of all are exact: the two cannot be mixed. */
static bool read_extent(struct svg_drawing_reader *reader, const struct xml_tag *tag,
			struct svg_box *box)
{
	static const char *const exact_x[] = {"data-x", "fg:x", NULL};
	static const char *const exact_width[] = {"data-w", "fg:w", NULL};
	static const char *const x[] = {"_orig_x", "fg:orig_x", "x", NULL};
	static const char *const width[] = {"_orig_width", "fg:orig_width", "width", NULL};
	static const char *const y[] = {"y", NULL};
	bool is_exact =
		find_number(tag, exact_x, &box->x) && find_number(tag, exact_width, &box->width);

	if (!reader->drawing->boxes.length)
		reader->drawing->is_exact = is_exact;
	if (!find_number(tag, y, &box->y))
		return false;
	if (is_exact && reader->drawing->is_exact)
		return true;
	return !reader->drawing->is_exact && find_number(tag, x, &box->x) &&
	       find_number(tag, width, &box->width);
}

/* Names are from folded text, so they need no cleaning, unless something else wrote the file. */
static int add_name(struct svg_drawing_reader *reader, const char *name, size_t length,
		    uint32_t *ret)
{
	for (size_t i = 0; i < length; i++)
		if (name[i] == ';' || (name[i] >= 0 && name[i] < ' '))
			return profile_add_frame_name(reader->import->profile, name, length, ret);
	return string_table_add(profile_get_strings(reader->import->profile), name, length, ret);
}

static int add_box(struct svg_drawing_reader *reader, const struct xml_tag *tag)
{
	struct svg_drawing *drawing = reader->drawing;
	struct svg_box box = {.caller = SVG_NO_FRAME, .has_count = reader->has_title};
	size_t name_length = reader->has_title ? reader->title.name_length : reader->text.length;
	struct svg_box *added;
	int err;

	if (!read_extent(reader, tag, &box))
		return 0;
	if (reader->text.failed)
		return -ENOMEM;
	box.is_root = is_root_name(reader->text.data, name_length);
	err = add_name(reader, reader->text.data, name_length, &box.name);
	if (err)
		return err;
	if (reader->has_title) {
		box.count = reader->title.count;
		box.change_percent = reader->title.has_change ? reader->title.change_percent : 0;
		drawing->is_comparison |= reader->title.has_change;
		if (!drawing->unit.length)
			text_append(&drawing->unit, reader->title.unit, reader->title.unit_length);
	}
	if (drawing->boxes.length == SVG_NO_FRAME)
		return import_fail_byte(reader->import, tag->offset, "too many frames");
	added = array_add(&drawing->boxes);
	if (!added)
		return -ENOMEM;
	*added = box;
	reader->expects_name = !reader->has_title;
	reader->has_title = false;
	reader->has_plain_title = false;
	return 0;
}

/* A box with a plain title has its name in its <text>, unless that ends in the dots of a truncated one. */
static int rename_last(struct svg_drawing_reader *reader, struct xml_slice slice)
{
	struct svg_drawing *drawing = reader->drawing;

	reader->expects_name = false;
	text_truncate(&reader->text, 0);
	xml_decode(&reader->text, slice);
	if (reader->text.failed)
		return -ENOMEM;
	if (!reader->text.length || string_ends_with(reader->text.data, ".."))
		return 0;
	return add_name(reader, reader->text.data, reader->text.length,
			&drawing->boxes.items[drawing->boxes.length - 1].name);
}

static bool has_attribute(const struct xml_tag *tag, const char *name, const char *wanted)
{
	struct xml_slice value;

	return xml_find_attribute(tag, name, &value) && xml_slice_equals(value, wanted);
}

static void open_group(struct svg_drawing_reader *reader, const struct xml_tag *tag)
{
	forget_title(reader);
	if (has_attribute(tag, "id", "frames") || has_attribute(tag, "class", "func_g"))
		reader->is_graph = true;
	(void)take_handler(reader, tag); /* most have none */
}

static int read_tag(struct svg_drawing_reader *reader, const struct xml_tag *tag)
{
	if (tag->is_closing) {
		if (xml_slice_equals(tag->name, "title"))
			take_title(reader, tag->before);
		else if (xml_slice_equals(tag->name, "g"))
			forget_title(reader);
		else if (xml_slice_equals(tag->name, "text") && reader->expects_name)
			return rename_last(reader, tag->before);
		return 0;
	}
	if (xml_slice_equals(tag->name, "g")) {
		open_group(reader, tag);
	} else if (xml_slice_equals(tag->name, "svg")) {
		reader->is_graph |= has_attribute(tag, "id", "frames");
	} else if (xml_slice_equals(tag->name, "rect")) {
		(void)take_handler(reader, tag); /* else the title is that of the group */
		if (reader->has_title || reader->has_plain_title)
			return add_box(reader, tag);
	}
	return 0;
}

static void svg_drawing_reader_release(struct svg_drawing_reader *reader)
{
	text_release(&reader->text);
}

int svg_drawing_read(struct svg_drawing *drawing, struct import *import)
{
	_cleanup_(svg_drawing_reader_release) struct svg_drawing_reader reader = {
		.drawing = drawing, .import = import};
	struct xml_scanner scanner = xml_scan(import->data, import->size);
	struct xml_tag tag;
	bool is_svg = false;
	bool is_whole = false;
	int64_t depth = 0;
	int err;

	while (xml_next_tag(&scanner, &tag)) {
		if (!is_svg && xml_slice_equals(tag.name, "svg"))
			drawing->start = tag.offset;
		/* Pictures may be in a picture. */
		if (xml_slice_equals(tag.name, "svg")) {
			if (is_svg && depth <= 0 && !tag.is_closing)
				return import_fail_byte(
					import, tag.offset,
					"another picture follows: use a file for each");
			is_svg = true;
			depth += tag.is_closing ? -1 : 1;
		}
		is_whole = tag.is_closing && xml_slice_equals(tag.name, "svg");
		err = read_tag(&reader, &tag);
		if (err)
			return err;
	}
	if (reader.text.failed || drawing->unit.failed)
		return -ENOMEM;
	if (!is_svg)
		return import_fail_byte(import, 0, "expected an SVG picture");
	/* The weight of frames that are missing would count for their callers. */
	if (!is_whole)
		return import_fail_byte(import, import->size, "the SVG is truncated");
	if (!drawing->boxes.length)
		return import_fail_byte(
			import, drawing->start,
			"this SVG is not a known kind of flame graph: no title 'NAME (COUNT "
			"samples, PERCENT%%)'");
	return 0;
}
