/*
 * The scheduling of a recording: batches of the BPF program, stored unchanged in an anonymous
 * temporary file, and read back CPU by CPU, merged in order of time. Takes memory for names,
 * threads, the offsets of batches (8 bytes for 128 events) and gaps, not for events.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_TRACE_SCHEDULE_STORE_H
#define COLLECT_TRACE_SCHEDULE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "timeline/timeline.h"

struct fd_list;
struct schedule_store;

/* A thread that was scheduled or woken. */
struct scheduled_thread {
	uint32_t pid;
	uint32_t tid;
	uint32_t name;     /* for schedule_store_get_name(): the last one that it had */
	uint64_t named_ns; /* when it had that name; 0: unknown */
};

struct schedule_store_counts {
	uint64_t switches; /* switches kept */
	uint64_t wakeups;
	uint64_t lost_switches; /* not written, as on a full disk */
	uint64_t lost_wakeups;
	uint64_t size_bytes; /* of the file */
};

/*
 * folder  for the temporary file
 *
 * Returns 0, -ENOMEM, or negative errno with the folder and the remedy in error.
 */
_must_check_ int schedule_store_new(const char *folder, struct schedule_store **ret,
				    struct error *error);
void schedule_store_free(struct schedule_store *store);

/* The descriptor that reading needs (base/confinement.h). */
void schedule_store_add_fds(const struct schedule_store *store, struct fd_list *fds);

/* Threads that run at the first events of their CPU have run since this time. */
void schedule_store_set_start(struct schedule_store *store, uint64_t start_ns);

/*
 * Keep a batch; malformed records are ignored. Batches of one CPU must be in order. A batch that
 * cannot be written is counted as lost. Returns 0 or -ENOMEM.
 */
_must_check_ int schedule_store_add(struct schedule_store *store, const void *record, size_t size);

/*
 * Become the timeline's source of events, in order of time. The store must outlive the timeline and
 * serves one at a time. Returns 0 or -ENOMEM.
 */
_must_check_ int schedule_store_give(struct schedule_store *store, struct timeline *timeline);

/* Borrowed until the next batch. */
const struct scheduled_thread *schedule_store_get_threads(const struct schedule_store *store,
							  size_t *ret_count);
/* NUL-terminated, borrowed until schedule_store_free(). */
const char *schedule_store_get_name(const struct schedule_store *store, uint32_t name);
struct schedule_store_counts schedule_store_get_counts(const struct schedule_store *store);

#endif
