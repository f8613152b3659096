/*
 * Processes and threads, as descriptors declare them, and as ids name them at a time.
 */
#ifndef FORMATS_PERFETTO_READ_THREADS_H
#define FORMATS_PERFETTO_READ_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/intern.h"
#include "formats/perfetto/read/trace.h"

struct perfetto_process {
	uint32_t pid;
	uint32_t name;     /* string of the timeline */
	uint64_t since_ns; /* from when on the pid means this one */
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t parent_pid;
	uint32_t command_line; /* string of the timeline */
	uint32_t uid;
	bool has_uid;
	bool is_group;    /* ours: no process, but the place of the threads of others */
	bool is_grouped;  /* ours: one of these others */
	uint32_t order;   /* in the file */
	uint32_t process; /* of the timeline; TIMELINE_NONE before it is used */
};

struct perfetto_thread {
	uint32_t pid;
	uint32_t grouped_pid; /* of its process, if pid is a group's; 0: not in a group */
	uint32_t tid;
	uint32_t name; /* string of the timeline */
	uint64_t since_ns;
	uint32_t order;
	bool has_name;       /* may be an empty one */
	uint32_t first_name; /* its earlier names: index, and how many */
	uint32_t num_names;
	uint32_t thread; /* of the timeline; TIMELINE_NONE before it is used */
};

struct perfetto_earlier_name {
	uint32_t name; /* string of the timeline */
	uint64_t until_ns;
};

/* A range of them. */
struct perfetto_thread_names {
	uint32_t first;
	uint32_t count;
};

/* A process or thread that nothing describes. */
struct perfetto_unknown {
	uint32_t pid;
	uint32_t tid; /* of a thread */
	bool is_thread;
	uint32_t item; /* of the timeline */
};
INTERN_TABLE(perfetto_unknown_table, struct perfetto_unknown, is_thread, pid, tid);

/* Processes and threads. */
struct perfetto_threads {
	struct perfetto_trace *trace;             /* borrowed */
	ARRAY(struct perfetto_process) processes; /* by pid and time, once all are there */
	ARRAY(struct perfetto_thread) items;      /* by pid, tid and time */
	ARRAY(struct perfetto_earlier_name) earlier_names;
	ARRAY(struct perfetto_thread_names) thread_names; /* by thread of the timeline */
	struct perfetto_unknown_table unknown;
	ARRAY(uint32_t) profile_threads; /* by thread of the timeline; their ids plus one */
	ARRAY(uint32_t) profile_processes;
};

/* Descriptors, in the first round. ret  its place, or PERFETTO_NONE: too many */
_must_check_ int perfetto_threads_read_process(struct perfetto_threads *threads,
					       struct bytes message, uint64_t since_ns,
					       uint32_t *ret);
_must_check_ int perfetto_threads_read_thread(struct perfetto_threads *threads,
					      struct bytes message, uint64_t since_ns,
					      uint32_t *ret);
/* A process of ours that readers have as threads of a group. */
_must_check_ int perfetto_threads_read_grouped(struct perfetto_threads *threads,
					       struct bytes message);
_must_check_ int perfetto_threads_read_tree(struct perfetto_threads *threads, struct bytes message,
					    uint64_t since_ns);
/*
 * Sort by number, then by time. Writes the new places, indexed by the old ones: as many as there
 * are processes and threads.
 */
void perfetto_threads_sort(struct perfetto_threads *threads, uint32_t *process_places,
			   uint32_t *thread_positions);
/* The timeline's process or thread for a described one, or for ids at a time. */
_must_check_ int perfetto_threads_use_process(struct perfetto_threads *threads,
					      struct perfetto_process *known, uint32_t *ret);
_must_check_ int perfetto_threads_use(struct perfetto_threads *threads,
				      struct perfetto_thread *known, uint64_t time_ns,
				      uint32_t *ret);
_must_check_ int perfetto_threads_find_process(struct perfetto_threads *threads, uint32_t pid,
					       uint64_t time_ns, uint32_t *ret);
_must_check_ int perfetto_threads_find(struct perfetto_threads *threads, uint32_t pid, uint32_t tid,
				       uint64_t time_ns, uint32_t *ret);
/* A thread of the timeline that nothing describes. */
_must_check_ int perfetto_threads_add(struct perfetto_threads *threads, uint32_t process,
				      uint32_t tid, uint32_t name, uint32_t *ret);
/* The profile's thread for one of the timeline, with its name at that time. */
_must_check_ int perfetto_threads_get_profile_id(struct perfetto_threads *threads, uint32_t thread,
						 uint64_t time_ns, uint32_t *ret);
void perfetto_threads_release(struct perfetto_threads *threads);

#endif
