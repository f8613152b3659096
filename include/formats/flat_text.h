/* The flat table as text: the format `text`, and the output of the command `report`. */
#ifndef FORMATS_FLAT_TEXT_H
#define FORMATS_FLAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/flat_table.h"
#include "base/attributes.h"
#include "formats/format.h"

struct flat_text_opts {
	const char *metric_name;
	const char *metric_unit;
	size_t max_rows;    /* 0: all */
	size_t num_columns; /* names are truncated so that lines fit; 0: never */
	bool has_color;     /* for a terminal: the heading is bold */
	const char *note;   /* a line below the sum; NULL: none */
};

/* Returns 0, -ENOMEM, or the error of the sink. */
_must_check_ int flat_text_write(const struct flat_table *table, const struct flat_text_opts *opts,
				 const struct sink *sink);

/* "total: 1,234 samples", or "total: 1,234 bytes (alloc)", the note, and an empty line. */
void flat_text_append_sum(struct text *text, uint64_t sum, const struct flat_text_opts *opts);

#endif
