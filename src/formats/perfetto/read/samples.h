/*
 * Samples of CPUs and their stacks, into the profile at once.
 */
#ifndef FORMATS_PERFETTO_READ_SAMPLES_H
#define FORMATS_PERFETTO_READ_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/perfetto/read/sequences.h"
#include "formats/perfetto/read/threads.h"
#include "formats/perfetto/read/timed_waits.h"

/* Metrics of waits in our own recordings. */
#define PERFETTO_MAX_WAIT_METRICS 4

struct perfetto_samples {
	struct perfetto_trace *trace;     /* borrowed */
	struct perfetto_threads *threads; /* borrowed */
	uint32_t num_metrics;
	uint64_t num_stackless; /* samples whose stack was not interned */
	/* of our recording: sums, and the common properties of its samples */
	struct sampling sampling;
	uint64_t first_ns; /* of the recording's samples */
	uint64_t last_ns;
	/* Metrics of the profile for the sums of a recording of waits. */
	uint32_t clock_metric; /* if sampling counts any */
	uint32_t wait_metrics[PERFETTO_MAX_WAIT_METRICS];
	size_t num_wait_metrics;
	bool has_woken_metric; /* the next one is set: waits with their wakers */
	uint32_t woken_metric;
	uint64_t num_waits; /* samples */
	struct perfetto_timed_waits timed_waits;
	bool has_wait_slices;   /* set by the reader of slices: only recordings have them */
	bool has_other_metrics; /* of ours, such as METRIC_WALL itself */
};

_must_check_ int perfetto_samples_read(struct perfetto_samples *samples,
				       const struct perfetto_packet *packet, struct bytes message);
_must_check_ int perfetto_samples_read_streamed(struct perfetto_samples *samples,
						const struct perfetto_packet *packet,
						struct bytes message);
_must_check_ int perfetto_read_sample_defaults(struct perfetto_trace *trace,
					       struct perfetto_sequence *sequence,
					       struct bytes message);

/*
 * The profile's stack of a number; STACK_EMPTY, which is counted, if the sequence has not interned
 * it.
 */
uint32_t perfetto_samples_find_stack(struct perfetto_samples *samples,
				     const struct perfetto_sequence *sequence, uint64_t iid);

void perfetto_samples_release(struct perfetto_samples *samples);
/*
 * When all packets are read: how our own recording was made, into the profile, and the sums of a
 * recording of waits, which its trace does not contain: "cpu" and METRIC_WALL.
 *
 * first_wait  of the timeline, that is this trace's
 *
 * Returns 0, -ENOMEM, or -EBADMSG with the import's error.
 */
_must_check_ int perfetto_samples_finish(struct perfetto_samples *samples, uint32_t first_wait);

/*
 * An event with a stack, that a thread was in at the time: a sample of a metric of the event's name.
 */
_must_check_ int perfetto_samples_add_event(struct perfetto_samples *samples, uint32_t name,
					    uint32_t thread, uint32_t stack, uint64_t time_ns);

#endif
