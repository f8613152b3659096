/*
 * The unwind tables in BPF maps: rows, rules and pages in memory that is shared with the kernel, and
 * the mappings of every process that refer to them. Written here, read by the sampling program.
 *
 * The sampling program reads without a lock, so data is complete before it is reachable: rows before
 * the pages that refer to them, pages before the mapping's flag, mappings before the process entry.
 * Records of replaced mappings are reused only after a grace period.
 *
 * Not thread-safe, but for unwind_store_prepare().
 */
#ifndef COLLECT_TABLES_UNWIND_STORE_H
#define COLLECT_TABLES_UNWIND_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "collect/kernel/unwind_maps.h"
#include "unwind/unwind_table.h"
#include "wire/runtime_layout.h"
#include "wire/unwind.h"

struct unwind_store;

/* Place of a file's table in the maps. */
struct unwind_placement {
	uint32_t first_page;
	uint32_t num_pages;
	uint32_t base_page;
};

/* A run of mapping records. count 0: none. */
struct unwind_range {
	uint32_t first;
	uint32_t count;
};

/* Returns 0 or negative errno. */
_must_check_ int unwind_store_new(const struct unwind_maps *maps, struct unwind_store **ret);
void unwind_store_free(struct unwind_store *store);

/* See shard_pool_start_maker(). */
void unwind_store_start_maker(struct unwind_store *store);

/*
 * Make room for a table that is about to be added, which takes milliseconds. The only function that
 * any thread may call at any time.
 */
void unwind_store_prepare(struct unwind_store *store, const struct unwind_table *table);

/*
 * Copy a table that was prepared into kernel memory. Returns 0, -ENOSPC (the limits of
 * wire/unwind.h), or another negative errno; on failure nothing refers to the parts that were
 * copied.
 */
_must_check_ int unwind_store_add_table(struct unwind_store *store,
					const struct unwind_table *table,
					struct unwind_placement *ret);

/* Address space of a process, for the sampling program. */
struct unwind_address_space {
	pid_t pid;
	uint64_t generation; /* as struct process has it */
	const struct unwind_mapping *mappings;
	uint32_t num_mappings;
	uint32_t version;              /* of the mappings */
	struct unwind_runtime runtime; /* as struct unwind_process has these three */
	uint64_t hotspot_bias;
	uint32_t hotspot_layout;
};

/*
 * Publish the mappings of a process, and retire the range it had before.
 *
 * Returns 0, -ENOSPC (no room: the process has none now) or another negative errno.
 */
_must_check_ int unwind_store_publish(struct unwind_store *store,
				      const struct unwind_address_space *space, uint64_t now_ns,
				      struct unwind_range *range);
/*
 * Publish the layout of an interpreter's build, once: an equal published one keeps its number. ret:
 * its number plus 1. Returns 0, -ENOSPC (WIRE_MAX_LAYOUTS_EACH of its interpreter are published) or
 * another negative errno.
 */
_must_check_ int unwind_store_add_layout(struct unwind_store *store,
					 const struct wire_runtime_layout *layout, uint32_t *ret);
/* Remove a process's entry and retire its range. */
void unwind_store_remove(struct unwind_store *store, pid_t pid, uint64_t now_ns,
			 struct unwind_range *range);

/* Set the table of a mapping record that is published already. */
void unwind_store_set_table(struct unwind_store *store, uint32_t slot,
			    const struct unwind_mapping *mapping);

/*
 * The rule that the sampling program would find, or NULL; also NULL if its shard cannot be mapped.
 * Borrowed until the next call of a function of this store.
 */
const struct unwind_rule *unwind_store_find_rule(struct unwind_store *store,
						 const struct unwind_mapping *mapping,
						 uint64_t elf_address);

/*
 * No more tables are needed: unmap the kernel memory. Of this store only counts can be read then.
 */
void unwind_store_close(struct unwind_store *store);

/* In kernel memory: rows in use, and bytes of the shards. */
uint64_t unwind_store_get_row_count(const struct unwind_store *store);
uint64_t unwind_store_get_size(const struct unwind_store *store);

#endif
