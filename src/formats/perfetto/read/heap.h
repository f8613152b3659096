/*
 * Heap profiles: the last dump of each stack, into the profile at the end.
 */
#ifndef FORMATS_PERFETTO_READ_HEAP_H
#define FORMATS_PERFETTO_READ_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/perfetto/read/code.h"
#include "formats/perfetto/read/samples.h"

/* The allocations of a process at a stack, by the last dump. */
struct perfetto_heap_stack {
	uint32_t pid;
	uint32_t heap;  /* string of the profile */
	uint32_t stack; /* of the profile */
	uint32_t dump;  /* number of the last one that had it */
	uint64_t time_ns;
	uint64_t values[6]; /* by metric */
};
INTERN_TABLE(perfetto_heap_stacks, struct perfetto_heap_stack, pid, heap, stack);

struct perfetto_heaps {
	struct perfetto_trace *trace;     /* borrowed */
	struct perfetto_samples *samples; /* borrowed: counts stacks that are not there */
	struct perfetto_code *code;       /* borrowed */
	struct perfetto_threads *threads; /* borrowed */
	struct perfetto_heap_stacks stacks;
	uint32_t num_dumps; /* dumps started */
	uint64_t num_truncated;
	struct text text;
};

_must_check_ int perfetto_heaps_read(struct perfetto_heaps *heaps,
				     const struct perfetto_packet *packet, struct bytes message);
/* Into the profile, when all packets are read. */
_must_check_ int perfetto_heaps_finish(struct perfetto_heaps *heaps);
void perfetto_heaps_release(struct perfetto_heaps *heaps);

#endif
