/*
 * Keeps the BPF maps that unwinding needs up to date: the mappings of every process as soon as they
 * are known, and their tables when they are built.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_TABLES_PUBLISHER_H
#define COLLECT_TABLES_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/account.h"
#include "collect/runtimes/process_runtime.h"
#include "collect/tables/unwind_store.h"
#include "collect/user_stacks.h"
#include "process/file_table.h"
#include "process/process_table.h"
#include "wire/unwind.h"
#include "wire/wire.h"

struct publisher;

/*
 * Open the cache of tables; nothing is published before publisher_start(). The processes and all
 * that the sources point to are borrowed. Returns 0 or -ENOMEM.
 */
_must_check_ int publisher_new(const struct runtime_sources *sources,
			       struct process_table *processes,
			       const struct unwind_table_opts *opts, struct publisher **ret);
/* Start the processes that build tables. Returns 0 or negative errno. */
_must_check_ int publisher_start(struct publisher *publisher, const struct unwind_maps *maps);
void publisher_free(struct publisher *publisher);

/* Publish mappings that changed, and tables that are finished. Returns 0 or -ENOMEM. */
_must_check_ int publisher_update(struct publisher *publisher);

/*
 * When to call publisher_update() next, though nothing has changed: a HotSpot that is not
 * initialized yet may be by then. UINT64_MAX: no process has one.
 */
uint64_t publisher_get_look_ns(const struct publisher *publisher);

/* Readable when tables are finished. */
int publisher_get_fd(const struct publisher *publisher);

/*
 * Wait for another table until this moment (clock_now_ns()), and publish it. Returns false if no
 * table is being built, or none was ready in time.
 */
bool publisher_wait(struct publisher *publisher, uint64_t until_ns);

/*
 * Walk a raw stack by the tables that are ready now.
 *
 * ret               filled in but for its type and hash
 * ret_outermost_sp  as replay_walk() has it
 *
 * Returns how the walk ended.
 */
enum walk_end publisher_walk(struct publisher *publisher, const struct process *process,
			     const struct wire_raw_sample *raw, struct wire_stack *ret,
			     uint64_t *ret_outermost_sp);

/*
 * Number of files whose table is ready or will never be: a walk that lacked a table gets further
 * only when this grows.
 */
uint64_t publisher_get_taken_count(const struct publisher *publisher);

/* No more tables are needed. Of this publisher only counts can be read then. */
void publisher_finish(struct publisher *publisher);

struct unwind_table_counts publisher_get_statistics(const struct publisher *publisher);

#endif
