/*
 * Samples in a trace of Chrome.
 */
#ifndef FORMATS_CHROME_READ_SAMPLES_H
#define FORMATS_CHROME_READ_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "formats/chrome/cpu_nodes.h"
#include "formats/chrome/read_event.h"

/* A CPU profile of V8, which comes in chunks. */
struct chrome_profile {
	uint64_t pid;
	uint32_t id; /* string */
	uint32_t track;
	struct chrome_cpu_nodes nodes;
};

/* A sample whose stack stands among the stack frames, by string; or is placed already. */
struct chrome_sample {
	uint64_t weight;
	uint32_t track;
	uint32_t metric;
	uint32_t frame; /* string, or stack of the profile */
	bool is_placed;
};

struct chrome_reader;

/* Whether an event of phase P or I is a piece of a CPU profile of V8. */
bool chrome_is_chunk(const struct chrome_reader *reader);
_must_check_ int chrome_read_chunk(struct chrome_reader *reader, const struct chrome_event *event);
_must_check_ int chrome_read_sample(struct chrome_reader *reader, const struct chrome_event *event);
/* When all is read, and before threads are made: samples that are no events. */
_must_check_ int chrome_read_samples(struct chrome_reader *reader);
_must_check_ int chrome_finish_samples(struct chrome_reader *reader);

#endif
