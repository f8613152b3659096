/*
 * The stack region of a sample. In this order: declared by the program's zones; the thread's own
 * stack; found by its outermost frame; the VMA reported by the kernel; found by the implicit rule
 * of region_map.h.
 *
 * Memory that is reused by another thread is another region from then on.
 */
#ifndef COLLECT_TRACE_STACK_REGIONS_H
#define COLLECT_TRACE_STACK_REGIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/trace/stack_tops.h"
#include "collect/trace/trace_log.h"
#include "timeline/timeline.h"

struct stack_regions;

/* A region from the kernel, to be named after its thread. */
struct kernel_region {
	uint32_t region;  /* of the timeline */
	uint32_t process; /* of the timeline */
	uint32_t tid;     /* of the owner; 0: no thread */
	enum stack_kind kind;
	uint64_t mapping_start;
};

/*
 * log        borrowed, sorted
 * tops       borrowed for the call; samples are assigned
 * timeline   borrowed; gets the regions. Those that it has already were declared by programs
 *
 * NULL when out of memory.
 */
struct stack_regions *stack_regions_new(const struct trace_log *log, const struct stack_tops *tops,
					struct timeline *timeline);
void stack_regions_free(struct stack_regions *regions);

/* A thread's stack pointer at a time. */
struct stack_pointer {
	uint64_t time_ns;
	uint64_t address;
	uint32_t tid;
};

/*
 * The region that a process's stack pointer is in. Calls must be in order of time.
 *
 * process            id of the process table
 * timeline_process   the same process in the timeline
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int stack_regions_find(struct stack_regions *regions, uint32_t process,
				    uint32_t timeline_process, const struct stack_pointer *pointer,
				    uint32_t *ret);

/* Borrowed until the next find. */
const struct kernel_region *stack_regions_get_all(const struct stack_regions *regions,
						  size_t *ret_count);

#endif
