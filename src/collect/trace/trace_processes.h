/*
 * The processes of a recording in its timeline: those in use, the images that replaced them by
 * execs, and their ancestors as far as known.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_TRACE_TRACE_PROCESSES_H
#define COLLECT_TRACE_TRACE_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "process/process_table.h"
#include "timeline/timeline.h"

struct trace_processes;

/* Both are borrowed. NULL when out of memory. */
struct trace_processes *trace_processes_new(const struct process_table *table,
					    struct timeline *timeline);
void trace_processes_free(struct trace_processes *processes);

/*
 * The timeline's process for a process of the table, added with its ancestors and the images that
 * replaced it by execs. Returns 0 or -ENOMEM.
 */
_must_check_ int trace_processes_use(struct trace_processes *processes, uint32_t image,
				     uint32_t *ret);

/* The image that had a pid at a time; TIMELINE_NONE: unknown. */
uint32_t trace_processes_find(const struct trace_processes *processes, uint32_t pid,
			      uint64_t time_ns);

/* The timeline's process for one of the table; TIMELINE_NONE: it has none. */
uint32_t trace_processes_get(const struct trace_processes *processes, uint32_t image);

/* The timeline has it already, as that process. */
void trace_processes_set(struct trace_processes *processes, uint32_t image, uint32_t process);
bool trace_processes_has(const struct trace_processes *processes, uint32_t image);

/* All that the timeline has, by pid and start. */
void trace_processes_adopt(struct trace_processes *processes);

/* The process was there at a time, though its end had been reported. */
void trace_processes_note_alive(const struct trace_processes *processes, uint32_t image,
				uint64_t time_ns);

/* Fill in the data of the table, except pid and name. Returns 0 or -ENOMEM. */
_must_check_ int trace_processes_describe(const struct trace_processes *processes, uint32_t image,
					  struct timeline_process *process);

#endif
