/*
 * The kernel's own work in a recording: interrupts, softirqs and items of workqueues, kept in a temporary file
 * as the scheduling program emits them, and read back in order of time. Takes memory for names, not for
 * the work.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_TRACE_KWORK_STORE_H
#define COLLECT_TRACE_KWORK_STORE_H

#include <stddef.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/spool.h"
#include "timeline/timeline.h"

struct kwork_store;

/*
 * folder  for the temporary file
 *
 * Returns 0, -ENOMEM, or negative errno with the folder and the remedy in error.
 */
_must_check_ int kwork_store_new(const char *folder, struct kwork_store **ret, struct error *error);
void kwork_store_free(struct kwork_store *store);

/* The descriptors that reading it needs. */
void kwork_store_add_fds(const struct kwork_store *store, struct fd_list *fds);

/*
 * Keep a batch; malformed records are ignored. A batch that cannot be written is counted as lost.
 * Returns 0 or -ENOMEM.
 */
_must_check_ int kwork_store_add(struct kwork_store *store, const void *record, size_t size);

/*
 * Become the timeline's source of such work. The store must outlive the timeline, and serves one
 * timeline at a time.
 *
 * kallsyms  for the names of functions of workqueues; NULL: no names
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int kwork_store_give(struct kwork_store *store, FILE *kallsyms,
				  struct timeline *timeline);

/* Losses are known after everything was read. */
struct spool_counts kwork_store_get_counts(const struct kwork_store *store);

#endif
