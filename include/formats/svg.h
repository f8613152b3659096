/*
 * The flame graph as an SVG file that a browser shows. It has layout, titles, search, zoom and
 * links as in flamegraph.pl. It also holds the whole profile, so that the file can be read again
 * without loss.
 *
 * Written frame by frame from the call tree; memory does not grow with the number of frames.
 */
#ifndef FORMATS_SVG_H
#define FORMATS_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "formats/format.h"

/* The colours of frames, as flamegraph.pl's --color. A name has the same colour in every graph. */
enum svg_palette {
	/*
	 * like java for frames of several kinds (kernel, inlined, JIT, Python, JavaScript, Java);
	 * else hot
	 */
	SVG_PALETTE_AUTO,
	SVG_PALETTE_HOT,
	SVG_PALETTE_MEM,
	SVG_PALETTE_IO,
	SVG_PALETTE_WAKEUP,
	SVG_PALETTE_CHAIN,
	SVG_PALETTE_JAVA,
	SVG_PALETTE_JS,
	SVG_PALETTE_PERL,
	SVG_PALETTE_RED,
	SVG_PALETTE_GREEN,
	SVG_PALETTE_BLUE,
	SVG_PALETTE_AQUA,
	SVG_PALETTE_YELLOW,
	SVG_PALETTE_PURPLE,
	SVG_PALETTE_ORANGE,
};

/* The weight that is a frame's width in a comparison. */
enum svg_width_basis {
	SVG_WIDTH_AFTER, /* its weight after; vanished frames are not seen */
	SVG_WIDTH_MAX,   /* the larger of its weights; more if its callees need it */
};

#define SVG_MIN_WIDTH 100
#define SVG_MAX_WIDTH 100000

/* Strings are borrowed, any bytes, NUL-terminated; NULL: the default. */
struct svg_opts {
	const char *title;
	const char *subtitle;
	const char *notes;      /* not shown: a description within the file */
	const char *count_name; /* unit of the counts: "samples" */
	uint32_t width;         /* of the picture in pixels; 0: 1200 */
	bool has_min_width;     /* else 0.1 pixels */
	bool is_min_width_percent;
	double min_width; /* narrower frames are not drawn; in pixels, or percent of all */
	enum svg_palette palette;
	enum svg_width_basis width_basis;
	bool is_reversed; /* stacks are merged from the innermost frame on */
	bool is_inverted; /* the root is at the top */
	bool is_negated;  /* a comparison shows decreases in red */
	/* the picture alone; reading it again restores only the drawn frames */
	bool has_no_profile;
};

/* "hot" and so on, in the order of the enum; NULL at the end of the list. */
const char *svg_palette_get_name(enum svg_palette palette);
/* Returns 0 or -EINVAL. */
_must_check_ int svg_palette_find(const char *name, enum svg_palette *ret);

/*
 * A frame's title, parsed: `NAME (1,234 samples, 5.67%)`, as flamegraph.pl writes it; in
 * comparisons `NAME (4 samples, 66.67%; +66.67%)`.
 */
struct svg_title {
	size_t name_length; /* bytes at the start of the title */
	uint64_t count;     /* rounded */
	const char *unit;   /* "samples"; part of the title */
	size_t unit_length;
	bool has_change;
	double change_percent; /* of the whole weight after */
};

/* False for any other text. */
bool svg_title_parse(const char *text, size_t length, struct svg_title *ret);

/*
 * A decimal number at the start of the text, `-12.5`.
 *
 * Returns its length in bytes; 0 if not found or beyond 10^18.
 */
size_t svg_parse_number(const char *text, size_t length, double *ret);

#endif
