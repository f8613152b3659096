/*
 * Samples of CPUs and their stacks, into the profile at once.
 */
#ifndef FORMATS_PERFETTO_READ_SAMPLES_H
#define FORMATS_PERFETTO_READ_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/perfetto/read_sequences.h"
#include "formats/perfetto/read_threads.h"

struct perfetto_samples {
	struct perfetto_trace *trace;     /* borrowed */
	struct perfetto_threads *threads; /* borrowed */
	uint32_t num_metrics;
	uint64_t num_stackless;   /* samples whose stack was not interned */
	struct sampling sampling; /* of our recording: sums, and what its samples have in common */
	uint64_t first_ns;        /* of the recording's samples */
	uint64_t last_ns;
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
 * The profile's stack of a number; STACK_EMPTY, which is counted, where the sequence has not interned
 * of it.
 */
uint32_t perfetto_samples_find_stack(struct perfetto_samples *samples,
				     const struct perfetto_sequence *sequence, uint64_t iid);

/* How our own recording was made, into the profile, when all packets are read. */
void perfetto_samples_finish(struct perfetto_samples *samples);

/*
 * An event with a stack, that a thread was in at the time: a sample of a metric of the event's name.
 */
_must_check_ int perfetto_samples_add_event(struct perfetto_samples *samples, uint32_t name,
					    uint32_t thread, uint32_t stack, uint64_t time_ns);

#endif
