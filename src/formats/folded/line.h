/*
 * One line of folded text taken apart: a stack and its counts.
 */
#ifndef FORMATS_FOLDED_LINE_H
#define FORMATS_FOLDED_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

#define FOLDED_MAX_COUNTS   2
#define FOLDED_MAX_DECIMALS 6

struct folded_line {
	const uint8_t *stack; /* borrowed from the line; frames joined by `;`, outermost first */
	size_t length;        /* in bytes; at least 1 */
	uint64_t counts[FOLDED_MAX_COUNTS];     /* their whole parts */
	uint32_t millionths[FOLDED_MAX_COUNTS]; /* and the rest, below 1000000 */
	bool is_negative[FOLDED_MAX_COUNTS];    /* the count is below 0; counts has its amount */
	uint8_t decimals; /* of the millionths: 1 if they are tenths; 0: no fraction */
	bool is_rounded;  /* there were more than the most */
};

/*
 * White space of ASCII and of Unicode (in UTF-8) is dropped at the edges and before each count;
 * inside the stack it stays. Nothing else need be UTF-8. A count is digits, perhaps with a point
 * and more digits, of which six are kept, and perhaps with a minus sign before them.
 *
 * data, size  the line without its LF
 * num_counts  number of counts at its end
 *
 * Returns 0, -ENODATA (a blank line), -EBADMSG (no such line) or -ERANGE (a count leaves 64 bits).
 */
_must_check_ int folded_line_parse(const uint8_t *data, size_t size, size_t num_counts,
				   struct folded_line *ret);

#endif
