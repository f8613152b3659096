/*
 * The interface between the files of the writer of our own format: write.c, write_stacks.c,
 * write_column.c.
 */
#ifndef FORMATS_NATIVE_WRITE_H
#define FORMATS_NATIVE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/text.h"
#include "formats/format.h"
#include "formats/native/column.h"
#include "formats/native/stack_order.h"

struct native_writer {
	const struct profile *profile;
	const struct sink *sink;
	struct gzip_sink *gzip;    /* owner of the sink; NULL: it is another sink */
	ARRAY(uint32_t) numbers;   /* by string: its number in the file; 0: it is not written */
	ARRAY(uint32_t) sources;   /* by source: its number in the file, from 1; 0: no thread's */
	uint32_t *frames;          /* by location: the number of its frame */
	uint32_t *frame_locations; /* by number: the location */
	struct stack_order order;
	uint64_t *steps;               /* by metric: the common divisor of its weights */
	struct timestamps *timestamps; /* NULL: no times, or not wanted */
	ARRAY(uint64_t) starts;        /* by source: the first of its timestamps; NO_START */
	size_t *first_timestamps;      /* by sample */
	bool has_intervals;            /* of timestamps */
};

/* Whether the next bytes contain repetitions; see gzip_sink_set_repetitive(). */
_must_check_ int native_writer_set_repetitive(struct native_writer *writer, bool is_repetitive);

/*
 * Write a column and release it; see column_write(). Returns 0, -ENOMEM or the error of the sink.
 */
_must_check_ int native_writer_put_column(struct native_writer *writer, struct column *column,
					  bool is_whole);

/* Stacks, samples and times, once writer->order is made. Returns the same. */
_must_check_ int native_write_stacks(struct native_writer *writer);

#endif
