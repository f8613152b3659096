/*
 * Samples in a trace of Chrome.
 */
#ifndef FORMATS_CHROME_READ_SAMPLES_H
#define FORMATS_CHROME_READ_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "formats/chrome/cpu_nodes.h"
#include "formats/chrome/read_tracks.h"
#include "formats/signed_sums.h"

/* A CPU profile of V8, split into chunks. */
struct chrome_profile {
	uint64_t pid;
	uint32_t id; /* string */
	uint32_t track;
	struct chrome_cpu_nodes nodes;
};

/* A sample whose stack is among the stack frames, by string; or is built already. */
struct chrome_sample {
	uint64_t weight;
	uint32_t track;
	uint32_t metric;
	uint32_t frame; /* string, or stack of the profile */
	bool has_stack;
	bool is_negative; /* the weight, which is without its sign */
};

struct chrome_samples {
	struct import *import;        /* borrowed */
	struct chrome_tracks *tracks; /* borrowed */
	size_t frames_position;       /* offset of the stack frames; CHROME_NOWHERE */
	size_t samples_position;      /* the same of samples that are not events */
	ARRAY(struct chrome_profile) profiles;
	ARRAY(struct chrome_sample) items;
	struct signed_sums signed_sums;
	ARRAY(struct chrome_sample) instants; /* instants with a stack */
	uint64_t num_instants;                /* of all */
	struct chrome_cpu_nodes frames;       /* by the string that names them */
	bool has_too_many;                    /* profiles: some were left out */
	bool has_decimals;                    /* weights, which were rounded */

	/* State of the current frame or sample. */
	ARRAY(uint32_t) levels; /* locations of a stack trace, innermost first */
	struct text name;
	struct text module;
	struct text id;
};

void chrome_samples_init(struct chrome_samples *samples, struct import *import,
			 struct chrome_tracks *tracks);
void chrome_samples_release(struct chrome_samples *samples);

/* Whether an event of phase P or I is a chunk of a CPU profile of V8. */
bool chrome_is_chunk(const struct chrome_event *event);
_must_check_ int chrome_samples_read_chunk(struct chrome_samples *samples,
					   const struct chrome_event *event);
_must_check_ int chrome_samples_read_event(struct chrome_samples *samples,
					   const struct chrome_event *event);
/* When all is read, and before threads are made: samples that are not events. */
_must_check_ int chrome_samples_read_list(struct chrome_samples *samples);
_must_check_ int chrome_samples_finish(struct chrome_samples *samples);

/* An instant, whose stack makes it a sample if the trace has nothing else that weighs. */
_must_check_ int chrome_samples_read_instant(struct chrome_samples *samples,
					     const struct chrome_event *event);
/* After chrome_samples_finish(), if nothing weighs: instants with a stack become samples. */
_must_check_ int chrome_samples_finish_instants(struct chrome_samples *samples);

#endif
