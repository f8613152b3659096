/*
 * Labels by rank. Lines of folded text that are not sorted become sequences of ranks, which compare
 * as the lines do, and are shorter.
 *
 * A label has two ranks: `inner` if `;` follows it, `last` if it ends the stack. Other labels may
 * sort between the two, since ' ' and ':' are below ';':
 *
 *	label       last  inner
 *	main           1      4
 *	main::run      2      3
 *	start          5      6
 */
#ifndef FORMATS_FOLDED_LABEL_ORDER_H
#define FORMATS_FOLDED_LABEL_ORDER_H

#include <stdint.h>

#include "base/attributes.h"
#include "profile/string_table.h"

/* From 1. */
struct label_ranks {
	uint32_t last;
	uint32_t inner;
};

struct label_order {
	struct label_ranks *ranks; /* by label */
	uint32_t *labels;          /* by rank */
	uint32_t num_ranks;
};

/*
 * labels  none may contain `;`
 *
 * Returns 0 or -ENOMEM; the order is to be released in either case.
 */
_must_check_ int label_order_init(struct label_order *order, const struct string_table *labels);
void label_order_release(struct label_order *order);

#endif
