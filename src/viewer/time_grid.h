/*
 * The heatmap of time: weight by column, a second or more, and by row, a fiftieth of it.
 *
 * It shows the samples of the current fragment that pass all filters except those by time. So a
 * range can be seen within the whole. In a comparison it shows the shown side, not the baseline.
 * Pure, no I/O.
 */
#ifndef VIEWER_TIME_GRID_H
#define VIEWER_TIME_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "viewer/session.h"

#define TIME_GRID_ROWS 50

struct time_grid {
	uint64_t row_ms; /* a column is TIME_GRID_ROWS of them */
	uint32_t num_columns;
	uint64_t span_ms;  /* from the first sample to the end of the last one's millisecond */
	uint64_t start_ms; /* CLOCK_REALTIME at 0; 0: not known, or of several files */
	uint64_t timeless; /* selected weight without a time */
	/* [column * TIME_GRID_ROWS + row], from the first sample of each file on. */
	uint64_t *cells;
};

/*
 * Made from the view of the last session_query(). If the shown files have no times, there are no
 * columns.
 *
 * max_columns  at least 1; a longer time gets columns of more seconds
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int time_grid_init(struct time_grid *grid, const struct session *session,
				uint32_t max_columns);
void time_grid_release(struct time_grid *grid);

#endif
