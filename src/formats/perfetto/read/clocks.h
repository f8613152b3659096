/*
 * Times of packets, on whatever clock, as nanoseconds of CLOCK_BOOTTIME.
 */
#ifndef FORMATS_PERFETTO_READ_CLOCKS_H
#define FORMATS_PERFETTO_READ_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/perfetto/read/sequences.h"

/* Those of all sequences. */
struct perfetto_clocks {
	struct perfetto_trace *trace; /* borrowed */
	ARRAY(struct perfetto_clock) items;
};

/* The sequence may be NULL. */
_must_check_ int perfetto_clocks_read_snapshot(struct perfetto_clocks *clocks,
					       struct perfetto_sequence *sequence,
					       struct bytes message);
/* As nanoseconds of CLOCK_BOOTTIME; clock 0 is that one. An incremental clock moves on. */
uint64_t perfetto_clocks_convert(struct perfetto_clocks *clocks, struct perfetto_sequence *sequence,
				 uint64_t clock, uint64_t time);
void perfetto_clocks_release(struct perfetto_clocks *clocks);

#endif
