/*
 * Scheduling and the work of interrupts, as the kernel has traced them; and the machine.
 */
#ifndef FORMATS_PERFETTO_READ_SCHED_H
#define FORMATS_PERFETTO_READ_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/perfetto/read/sequences.h"
#include "formats/perfetto/read/threads.h"

struct perfetto_sched_event {
	struct schedule_event event;
	size_t order; /* of reading, for events of the same time */
};

/* Kernel work: the last of a kind that started on a CPU, or in a thread. */
struct perfetto_kwork {
	uint32_t kind;  /* enum kwork_kind */
	uint32_t owner; /* the CPU; of an item of a workqueue the thread's tid */
	uint64_t start_ns;
	uint32_t name; /* string of the timeline */
	bool is_open;
};
INTERN_TABLE(perfetto_kworks, struct perfetto_kwork, kind, owner);

#define PERFETTO_MAX_CPUS 65536u

/* Scheduling, until all of it is there and becomes part of the timeline. */
struct perfetto_sched {
	struct perfetto_trace *trace;     /* borrowed */
	struct perfetto_threads *threads; /* borrowed */
	ARRAY(struct perfetto_sched_event) events;
	struct perfetto_kworks kworks;
	uint64_t num_unread; /* other events of the kernel */
};

/* A bundle of the kernel's events; all into the timeline, when all packets are read. */
_must_check_ int perfetto_sched_read(struct perfetto_sched *sched,
				     const struct perfetto_packet *packet, struct bytes message);
_must_check_ int perfetto_sched_finish(struct perfetto_sched *sched);
void perfetto_sched_release(struct perfetto_sched *sched);
/* The machine, into the timeline. */
_must_check_ int perfetto_read_system(struct perfetto_trace *trace, struct bytes message);

#endif
