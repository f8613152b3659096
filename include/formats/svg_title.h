/*
 * What a flame graph says about a frame: `NAME (1,234 samples, 5.67%)`, as written by
 * flamegraph.pl and those that follow it. Of a comparison: `NAME (4 samples, 66.67%; +66.67%)`.
 */
#ifndef FORMATS_SVG_TITLE_H
#define FORMATS_SVG_TITLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct svg_title {
	size_t name_length; /* the name is at the beginning */
	uint64_t count;     /* rounded */
	const char *unit;   /* "samples"; part of the title */
	size_t unit_length;
	bool has_change;
	double change_percent; /* of what is the whole afterwards */
};

/* False when the text is something else. */
bool svg_title_parse(const char *text, size_t length, struct svg_title *ret);

/*
 * A decimal number at the beginning, `-12.5`.
 *
 * Returns how many bytes it has; 0 when there is none or it is beyond 10^18.
 */
size_t svg_parse_number(const char *text, size_t length, double *ret);

#endif
