/* The colours of a flame graph: by name, by kind of frame, or by change of weight. */
#ifndef FORMATS_SVG_COLORS_H
#define FORMATS_SVG_COLORS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/svg.h"

struct svg_color {
	uint8_t red;
	uint8_t green;
	uint8_t blue;
};

/* The background, from top to bottom; light, and a dark variant. */
struct svg_background {
	const char *top;
	const char *bottom;
	const char *dark_top;
	const char *dark_bottom;
};

/*
 * A frame's colour. The same for equal labels anywhere.
 *
 * palette  not SVG_PALETTE_AUTO
 * label    with its annotation: "do_idle_[k]"
 */
struct svg_color svg_get_frame_color(enum svg_palette palette, const char *label, size_t length);

/* The colour of a change: red for more, blue for less, white for none. Full at `largest`. */
struct svg_color svg_get_change_color(bool is_more, uint64_t change, uint64_t largest);

struct svg_background svg_get_background(enum svg_palette palette);

/* The length of a label without its annotation: _[k] _[w] _[i] _[j]. */
size_t svg_measure_name(const char *label, size_t length);

#endif
