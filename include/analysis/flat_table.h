/*
 * The flat table: the functions of a profile with their weights, in order.
 *
 * Pure: no I/O. Names are borrowed from the profile.
 */
#ifndef ANALYSIS_FLAT_TABLE_H
#define ANALYSIS_FLAT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/filter.h"
#include "base/attributes.h"
#include "profile/profile.h"

struct flat_row {
	const char *function;
	size_t function_length; /* in bytes; a name may contain a NUL */
	const char *module;     /* may be empty */
	uint64_t self;
	uint64_t total;
};

struct flat_table {
	struct flat_row *rows; /* largest self first; then total, then name */
	size_t num_rows;
	uint64_t sum; /* weight of all samples */
};

/*
 * Table of the selected samples (NULL: all) of one metric; see function_list.h.
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW if the sum exceeds 64 bits. The table may be released in any
 * case.
 */
_must_check_ int flat_table_init(struct flat_table *table, const struct frame_tree *tree,
				 uint32_t metric, const struct selection *selection);
/* The same for a profile that is not used otherwise. */
_must_check_ int flat_table_init_profile(struct flat_table *table, const struct profile *profile,
					 uint32_t metric);
void flat_table_release(struct flat_table *table);

/*
 * A row for weight outside the table's functions, as all self; in order by self. Its name is
 * borrowed. Returns 0, -ENOMEM, or -EOVERFLOW if the sum exceeds 64 bits.
 */
_must_check_ int flat_table_add_row(struct flat_table *table, const char *name, uint64_t weight);

/* Largest total first; then self, then name. */
void flat_table_sort_by_total(struct flat_table *table);

#endif
