/*
 * Keeps the kernel's side of unwinding up to date: the mappings of every process as soon as they
 * are known, and their tables when they are built.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_PUBLISHER_H
#define COLLECT_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/recorder.h"
#include "collect/unwind_store.h"
#include "process/file_table.h"
#include "process/process_table.h"
#include "wire/unwind.h"
#include "wire/wire.h"

struct publisher;

/* files and processes are borrowed. Returns 0 or negative errno. */
_must_check_ int publisher_new(const struct unwind_maps *maps, const struct file_table *files,
			       struct process_table *processes,
			       const struct unwind_table_opts *opts, struct publisher **ret);
void publisher_free(struct publisher *publisher);

/* Publish what changed, and tables that are finished. Returns 0 or -ENOMEM. */
_must_check_ int publisher_update(struct publisher *publisher);

/* Readable when tables are finished. */
int publisher_get_fd(const struct publisher *publisher);

/* Wait for one more table and publish it. Returns false when none is being built. */
bool publisher_wait(struct publisher *publisher);

/*
 * Walk a raw stack by the tables that are there by now.
 *
 * ret  filled in but for its type and hash
 *
 * Returns how the walk ended.
 */
enum walk_end publisher_walk(struct publisher *publisher, const struct process *process,
			     const struct wire_raw_sample *raw, struct wire_stack *ret);

struct unwind_table_counts publisher_get_statistics(const struct publisher *publisher);

#endif
