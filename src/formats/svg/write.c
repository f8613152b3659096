/*
 * The flame graph as a document: heading, buttons, frames, script, profile.
 *
 *	┌──────────────── Flame Graph ────────────────┐  PAD_TOP: title, "Reset Zoom", "Search"
 *	│            ┌─────┐                          │
 *	│   ┌────────┴──┬──┴──────┐                   │  a row of FRAME_HEIGHT for each level;
 *	│┌──┴───────────┴─────────┴──────────────────┐│  inverted: the root's row is the first
 *	│└──────────────────── all ──────────────────┘│
 *	└─────────────────────────────────────────────┘  PAD_BOTTOM: details of the frame, "Matched"
 *
 * Measures, ids, classes and titles are those of flamegraph.pl, so that links into its graphs and
 * programs that read them work with ours. A frame is a group of three:
 *
 *	<g><title>NAME (1,234 samples, 5.67%)</title><rect …/><text …>NAM..</text></g>
 *
 * Two things are added. A frame's exact start and width in units of weight are in data-x and
 * data-w, because pixels are rounded to a tenth: zooming would magnify the error, and searching
 * would sum it up. And the whole profile is in an element that browsers ignore (native.h). So the
 * file can be opened again without loss, with the frames that are too narrow to be drawn and with
 * all metrics.
 *
 * Frames are written as the walk over the layout yields them; only the call tree is in memory.
 */
#include "formats/svg.h"

#include <errno.h>
#include <inttypes.h>

#include "formats/native.h"
#include "formats/reader.h"
#include "formats/svg/colors.h"
#include "formats/svg/layout.h"
#include "formats/svg/script.js.h"
#include "formats/svg/style.css.h"
#include "formats/tree_profile.h"
#include "formats/xml_text.h"

#define DEFAULT_WIDTH    1200
#define FRAME_HEIGHT     16
#define BOX_HEIGHT       "15.0" /* of FRAME_HEIGHT; the rest is between the rows */
#define FONT_SIZE        12
#define CHARACTER_WIDTH  (FONT_SIZE * 0.59) /* on average, in Verdana */
#define MIN_CHARACTERS   3
#define PAD_SIDE         10
#define PAD_TOP          (FONT_SIZE * 3)
#define PAD_BOTTOM       (FONT_SIZE * 2 + 10)
#define SUBTITLE_HEIGHT  (FONT_SIZE * 2)
#define EMPTY_HEIGHT     (FONT_SIZE * 5)
#define MAX_NUMBER_BYTES 32

struct painter {
	const struct call_tree *tree;
	const struct format_opts *format;
	struct svg_opts opts; /* with defaults put in */
	struct svg_layout layout;
	uint64_t whole; /* the base of percentages */
	uint64_t height;
	const struct sink *sink;
	struct text output;
};

/* The place of a frame, in pixels. */
struct painted_box {
	double x;
	double width;
	uint64_t top;
};

/* ---- texts of frames ---------------------------------------------------------------------- */

static void append_count(struct text *output, uint64_t count)
{
	char digits[MAX_NUMBER_BYTES];
	size_t first = sizeof(digits);

	for (unsigned i = 0; i == 0 || count; i++, count /= 10) {
		if (i && i % 3 == 0)
			digits[--first] = ',';
		digits[--first] = (char)('0' + count % 10);
	}
	text_append(output, digits + first, sizeof(digits) - first);
}

/* The change of a node's self weight; is_negated swaps more and less. */
static uint64_t get_change(const struct painter *painter, uint32_t node, bool *ret_is_more)
{
	uint64_t before = call_tree_get_baseline(painter->tree, node);
	uint64_t after = call_tree_get_self(painter->tree, node);

	*ret_is_more = (after > before) != painter->opts.is_negated;
	return after > before ? after - before : before - after;
}

static void append_change(struct painter *painter, uint32_t node)
{
	bool is_more;
	uint64_t change = get_change(painter, node, &is_more);
	double percent = painter->whole ? 100.0 * (double)change / (double)painter->whole : 0;

	text_append_string(&painter->output, !change ? "; " : is_more ? "; +" : "; -");
	text_append_decimal(&painter->output, percent, 2);
	text_append_char(&painter->output, '%');
}

static void append_title(struct painter *painter, const struct svg_frame *frame)
{
	uint64_t total = call_tree_get_total(painter->tree, frame->node);
	double percent = painter->whole ? 100.0 * (double)total / (double)painter->whole : 0;
	size_t length;
	const char *label = call_tree_get_label(painter->tree, frame->node, &length);
	bool is_root = frame->node == CALL_TREE_ROOT;

	text_append_string(&painter->output, "<title>");
	if (is_root)
		text_append_string(&painter->output, "all");
	else
		xml_append(&painter->output, label, svg_measure_name(label, length));
	text_append_string(&painter->output, " (");
	append_count(&painter->output, total);
	text_append_char(&painter->output, ' ');
	xml_append_string(&painter->output, painter->opts.count_name);
	text_append_string(&painter->output, ", ");
	if (is_root)
		text_append_string(&painter->output, "100");
	else
		text_append_decimal(&painter->output, percent, 2);
	text_append_char(&painter->output, '%');
	if (!is_root && painter->format->tree.has_baseline)
		append_change(painter, frame->node);
	text_append_string(&painter->output, ")</title>");
}

/* The name or, if it has more characters than there is room for, its start and two dots. */
static void append_short_name(struct text *output, const char *name, size_t length, size_t room)
{
	size_t short_length = 0; /* in bytes, before the two dots */
	size_t end = 0;

	for (size_t characters = 0; end < length; characters++) {
		size_t step = xml_measure_character(name + end, length - end);

		if (characters + 2 == room)
			short_length = end;
		if (characters == room) {
			xml_append(output, name, short_length);
			text_append_string(output, "..");
			return;
		}
		end += step ? step : 1;
	}
	xml_append(output, name, length);
}

/* Whether the node is behind WAKER_SEPARATOR: a frame of the waker. */
static bool is_of_waker(const struct call_tree *tree, uint32_t node)
{
	while (node != CALL_TREE_ROOT) {
		size_t length;
		const char *label;

		node = call_tree_get_parent(tree, node);
		label = call_tree_get_label(tree, node, &length);
		if (node != CALL_TREE_ROOT && length == strlen(WAKER_SEPARATOR) &&
		    !memcmp(label, WAKER_SEPARATOR, length))
			return true;
	}
	return false;
}

static struct svg_color get_color(const struct painter *painter, const struct svg_frame *frame)
{
	size_t length;
	const char *label = call_tree_get_label(painter->tree, frame->node, &length);

	if (painter->format->tree.has_baseline) {
		bool is_more;
		uint64_t change = get_change(painter, frame->node, &is_more);

		return svg_get_change_color(is_more, change, painter->layout.largest_change);
	}
	if (frame->node == CALL_TREE_ROOT)
		return svg_get_frame_color(painter->opts.palette, "all", 3);
	if (painter->opts.palette == SVG_PALETTE_CHAIN && is_of_waker(painter->tree, frame->node))
		return svg_get_frame_color(SVG_PALETTE_WAKEUP, label, length);
	/* Names of interpreters' functions look like any other's. */
	if (painter->opts.palette == SVG_PALETTE_JAVA) {
		uint8_t kind = call_tree_get_kind(painter->tree, frame->node);

		if (kind == FRAME_PYTHON || kind == FRAME_PHP || kind == FRAME_RUBY ||
		    kind == FRAME_PERL)
			return svg_get_frame_color(SVG_PALETTE_BLUE, label, length);
		if (kind == FRAME_JAVASCRIPT)
			return svg_get_frame_color(SVG_PALETTE_GREEN, label, length);
		/* Inlined calls have a mark. */
		if (kind == FRAME_JAVA && svg_measure_name(label, length) == length)
			return svg_get_frame_color(SVG_PALETTE_GREEN, label, length);
	}
	return svg_get_frame_color(painter->opts.palette, label, length);
}

/* Black text has too little contrast on the strong blue that large decreases get. */
static const char *choose_text_class(struct svg_color color)
{
	return color.blue == 255 && color.red < 93 ? " class=\"light\"" : "";
}

static void append_color(struct text *output, struct svg_color color)
{
	text_append_string(output, "rgb(");
	text_append_number(output, color.red);
	text_append_char(output, ',');
	text_append_number(output, color.green);
	text_append_char(output, ',');
	text_append_number(output, color.blue);
	text_append_char(output, ')');
}

/* Piece by piece: a picture of 10,000 frames is written in half of the time that printf() takes. */
static void append_box(struct text *output, const struct svg_frame *frame, struct svg_color color,
		       const struct painted_box *box)
{
	text_append_string(output, "<rect x=\"");
	text_append_decimal(output, box->x, 1);
	text_append_string(output, "\" y=\"");
	text_append_number(output, box->top);
	text_append_string(output, "\" width=\"");
	text_append_decimal(output, box->width, 1);
	text_append_string(output, "\" height=\"" BOX_HEIGHT "\" fill=\"");
	append_color(output, color);
	text_append_string(output, "\" rx=\"2\" ry=\"2\" data-x=\"");
	text_append_number(output, frame->start);
	text_append_string(output, "\" data-w=\"");
	text_append_number(output, frame->width);
	text_append_string(output, "\" />\n<text x=\"");
	text_append_decimal(output, box->x + 3, 2);
	text_append_string(output, "\" y=\"");
	text_append_number(output, box->top + 10);
	text_append_string(output, ".5\"");
	text_append_string(output, choose_text_class(color));
	text_append_char(output, '>');
}

static void append_frame(struct painter *painter, const struct svg_frame *frame)
{
	struct text *output = &painter->output;
	uint64_t row = painter->opts.is_inverted ? painter->layout.num_levels - frame->level
						 : frame->level + UINT64_C(1);
	struct painted_box box = {
		.x = PAD_SIDE + (double)frame->start * painter->layout.pixels_per_unit,
		.width = (double)frame->width * painter->layout.pixels_per_unit,
		.top = painter->height - PAD_BOTTOM - row * FRAME_HEIGHT +
		       !painter->opts.is_inverted,
	};
	size_t length;
	const char *label = call_tree_get_label(painter->tree, frame->node, &length);

	text_append_string(output, "<g >\n");
	append_title(painter, frame);
	append_box(output, frame, get_color(painter, frame), &box);
	if (frame->node == CALL_TREE_ROOT) {
		label = "all";
		length = 3;
	}
	if (box.width >= MIN_CHARACTERS * CHARACTER_WIDTH)
		append_short_name(output, label, svg_measure_name(label, length),
				  (size_t)(box.width / CHARACTER_WIDTH));
	text_append_string(output, "</text>\n</g>\n");
}

/* ---- the document ------------------------------------------------------------------------- */

static void append_text(struct painter *painter, const char *id, const char *class, uint64_t x,
			uint64_t y, const char *content)
{
	text_printf(&painter->output, "<text id=\"%s\"%s x=\"%" PRIu64 "\" y=\"%" PRIu64 "\">", id,
		    class, x, y);
	xml_append_string(&painter->output, content);
	text_append_string(&painter->output, "</text>\n");
}

static void append_gradient(struct text *output, const char *id, const char *top,
			    const char *bottom)
{
	text_printf(output,
		    "<linearGradient id=\"%s\" y1=\"0\" y2=\"1\" x1=\"0\" x2=\"0\">\n"
		    "<stop stop-color=\"%s\" offset=\"5%%\" />\n"
		    "<stop stop-color=\"%s\" offset=\"95%%\" />\n</linearGradient>\n",
		    id, top, bottom);
}

static void append_heading(struct painter *painter)
{
	struct text *output = &painter->output;
	struct svg_background background = svg_get_background(painter->opts.palette);
	uint32_t width = painter->opts.width;

	text_printf(output,
		    "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		    "<svg version=\"1.1\" width=\"%u\" height=\"%" PRIu64
		    "\" viewBox=\"0 0 %u %" PRIu64 "\" xmlns=\"http://www.w3.org/2000/svg\" "
		    "xmlns:xlink=\"http://www.w3.org/1999/xlink\">\n"
		    "<!-- Flame graph, written by stackwide " STACKWIDE_VERSION ". -->\n<defs>\n",
		    width, painter->height, width, painter->height);
	append_gradient(output, "background", background.top, background.bottom);
	append_gradient(output, "background-dark", background.dark_top, background.dark_bottom);
	text_append_string(output, "</defs>\n<style type=\"text/css\">\n<![CDATA[\n");
	text_append_string(output, svg_style_css);
	text_append_string(output, "]]>\n</style>\n");
	if (painter->opts.notes) {
		text_append_string(output, "<desc id=\"notes\">");
		xml_append_string(output, painter->opts.notes);
		text_append_string(output, "</desc>\n");
	}
	text_printf(output,
		    "<rect id=\"canvas\" x=\"0\" y=\"0\" width=\"%u\" height=\"%" PRIu64
		    "\" fill=\"url(#background)\" />\n",
		    width, painter->height);
}

static void append_controls(struct painter *painter)
{
	uint64_t width = painter->opts.width;
	uint64_t bottom = painter->height - PAD_BOTTOM / 2;
	uint64_t right = width - PAD_SIDE;

	append_text(painter, "title", "", width / 2, FONT_SIZE * 2, painter->opts.title);
	if (painter->opts.subtitle)
		append_text(painter, "subtitle", "", width / 2, FONT_SIZE * 4,
			    painter->opts.subtitle);
	if (!painter->layout.total) {
		append_text(painter, "details", "", PAD_SIDE, bottom, "No samples.");
		return;
	}
	append_text(painter, "details", "", PAD_SIDE, bottom, " ");
	append_text(painter, "unzoom", " class=\"hide\"", PAD_SIDE, FONT_SIZE * 2, "Reset Zoom");
	append_text(painter, "search", "", right - 100, FONT_SIZE * 2, "Search");
	append_text(painter, "ignorecase", "", right - 16, FONT_SIZE * 2, "ic");
	append_text(painter, "matched", "", right - 100, bottom, " ");
}

static int append_frames(struct painter *painter)
{
	struct svg_walk walk = {.layout = &painter->layout};
	struct svg_frame frame;
	int found = 0;

	text_printf(&painter->output, "<g id=\"frames\"%s>\n",
		    painter->opts.is_inverted ? " class=\"inverted\"" : "");
	while (painter->layout.total && (found = svg_walk_next(&walk, &frame)) > 0) {
		append_frame(painter, &frame);
		found = sink_drain(painter->sink, &painter->output);
		if (found)
			break;
	}
	svg_walk_release(&walk);
	text_append_string(&painter->output, "</g>\n");
	return found;
}

static int write_document(struct painter *painter, const struct profile *profile)
{
	int err;

	append_heading(painter);
	append_controls(painter);
	err = append_frames(painter);
	if (err)
		return err;
	text_append_string(&painter->output, "<script type=\"text/ecmascript\">\n<![CDATA[\n");
	text_append_string(&painter->output, svg_script_js);
	text_append_string(&painter->output, "]]>\n</script>\n");
	err = sink_flush(painter->sink, &painter->output);
	if (err)
		return err;
	err = painter->opts.has_no_profile ? 0 : native_write_element(profile, painter->sink);
	text_append_string(&painter->output, "</svg>\n");
	if (err)
		return err;
	return sink_flush(painter->sink, &painter->output);
}

/* ---- settings ----------------------------------------------------------------------------- */

static bool has_kinds(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile_count_locations(profile); i++) {
		const struct location *location = profile_get_location(profile, i);

		for (uint32_t k = 0; k < location->num_frames; k++) {
			const struct frame *frame =
				profile_get_frame(profile, location->first_frame + k);

			if (frame->kind != FRAME_USER || frame->is_inlined)
				return true;
		}
	}
	return false;
}

/* The unit of titles: that of the metric; for mere counts, the metric's name. */
static const char *choose_count_name(const struct profile *profile,
				     const struct format_opts *format)
{
	const char *name = format_get_metric_name(profile, format->tree.metric);
	const char *unit = format_get_metric_unit(profile, format->tree.metric);

	if (unit[0] && !string_equals(unit, "count"))
		return unit;
	return name[0] && !format->tree.has_baseline ? name : "samples";
}

static const char *choose_title(const struct painter *painter)
{
	if (painter->format->tree.has_baseline)
		return "Differential Flame Graph";
	return painter->opts.is_inverted ? "Icicle Graph" : "Flame Graph";
}

static void put_defaults(struct painter *painter, const struct profile *profile)
{
	struct svg_opts *opts = &painter->opts;

	if (painter->format->svg)
		*opts = *painter->format->svg;
	if (!opts->width)
		opts->width = DEFAULT_WIDTH;
	if (!opts->title)
		opts->title = choose_title(painter);
	if (!opts->count_name)
		opts->count_name = choose_count_name(profile, painter->format);
	if (opts->palette == SVG_PALETTE_AUTO)
		opts->palette = !painter->format->tree.no_annotations && has_kinds(profile)
					? SVG_PALETTE_JAVA
					: SVG_PALETTE_HOT;
}

static int paint(struct painter *painter, const struct profile *profile)
{
	int err = svg_layout_init(&painter->layout, painter->tree, &painter->opts,
				  painter->format->tree.has_baseline);

	if (err)
		return err;
	painter->whole = call_tree_get_total(painter->tree, CALL_TREE_ROOT);
	if (!painter->whole)
		painter->whole = painter->layout.total;
	painter->height = PAD_TOP + PAD_BOTTOM +
			  painter->layout.num_levels * (uint64_t)FRAME_HEIGHT +
			  (painter->opts.subtitle ? SUBTITLE_HEIGHT : 0);
	return write_document(painter, profile);
}

/* Draw a tree, which need not be that of the embedded profile's stacks. */
static int draw(struct painter *painter, const struct call_tree *tree,
		const struct profile *embedded)
{
	int err;

	if (call_tree_has_overflown_total(tree))
		return -EOVERFLOW;
	painter->tree = tree;
	err = paint(painter, embedded);
	svg_layout_release(&painter->layout);
	text_release(&painter->output);
	return err;
}

/* Only the picture is reversed: the embedded profile keeps the stacks as they were. */
static int draw_reversed(struct painter *painter, const struct call_tree *tree,
			 const struct profile *profile)
{
	const struct call_tree_opts *tree_opts = &painter->format->tree;
	_cleanup_(profile_freep) struct profile *reversed = NULL;
	_cleanup_(call_tree_freep) struct call_tree *reversed_tree = NULL;
	struct tree_profile_opts opts = {
		.tree = *tree_opts,
		.unit = format_get_metric_unit(profile, tree_opts->metric),
	};
	struct call_tree_opts reversed_opts;
	int err;

	opts.tree.keeps_kinds = true;
	err = tree_profile_new(tree, &opts, &reversed, &reversed_opts);
	if (err)
		return err;
	err = call_tree_new(reversed, &reversed_opts, &reversed_tree);
	if (err)
		return err;
	return draw(painter, reversed_tree, profile);
}

static int svg_write(const struct profile *profile, const struct format_opts *opts,
		     const struct sink *sink)
{
	_cleanup_(call_tree_freep) struct call_tree *tree = NULL;
	struct painter painter = {.format = opts, .sink = sink};
	struct call_tree_opts tree_opts = opts->tree;
	int err;

	tree_opts.keeps_kinds = true;
	err = call_tree_new(profile, &tree_opts, &tree);
	if (err)
		return err;
	put_defaults(&painter, profile);
	return painter.opts.is_reversed ? draw_reversed(&painter, tree, profile)
					: draw(&painter, tree, profile);
}

const struct format format_svg = {
	.name = "svg",
	.extension = ".svg",
	.summary = "flame graph for the browser, with the whole profile",
	.producers = "flamegraph.pl, async-profiler 1.2",
	.has_all_metrics = true,
	.holds_comparison = true,
	.has_threads = true,
	.has_lines = true,
	.shows_one_metric = true,
	.write = svg_write,
	.detect = svg_detect,
	.read = svg_read,
};
