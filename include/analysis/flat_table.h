/*
 * The flat table: for every function, the weight of the samples it was running in (self) and of
 * those it was on the stack of (total). A recursive function counts once per sample.
 *
 * A function is a name in a module. Pure: no I/O. Names are borrowed from the profile.
 */
#ifndef ANALYSIS_FLAT_TABLE_H
#define ANALYSIS_FLAT_TABLE_H

#include <stdint.h>

#include "base/attributes.h"
#include "profile/profile.h"

struct flat_row {
	const char *function;
	const char *module; /* may be empty */
	uint64_t self;
	uint64_t total;
};

struct flat_table {
	struct flat_row *rows; /* largest self first; then total, then name */
	size_t num_rows;
	uint64_t sum; /* weight of all samples */
};

/* Of the samples of one metric. Returns 0 or -ENOMEM. */
_must_check_ int flat_table_init(struct flat_table *table, const struct profile *profile,
				 uint32_t metric);
void flat_table_release(struct flat_table *table);

/* Largest total first; then self, then name. */
void flat_table_sort_by_total(struct flat_table *table);

#endif
