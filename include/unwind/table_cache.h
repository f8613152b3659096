/*
 * Unwind tables kept on disk from run to run: one file per build ID in a folder of our own.
 *
 * The cache is an aid: every failure means only that the table must be built. A file is believed
 * when nobody else can have written it, its checksum is right, and its content could not make a
 * walk misbehave.
 *
 * Any number of threads may use one cache, but only one at a time for the same build ID.
 */
#ifndef UNWIND_TABLE_CACHE_H
#define UNWIND_TABLE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "unwind/unwind_table.h"

/* To be raised whenever a table of the same file would look different. */
#define TABLE_CACHE_VERSION 8

struct table_cache;

/*
 * folder       "/var/cache/stackwide"; made (mode 0700) when it is missing. Copied
 * limit_bytes  size of all files together; beyond it those that were not used for longest go
 *
 * Returns 0, -EPERM (the folder is a symbolic link, belongs to somebody else, or others may write
 * to it) or another negative errno.
 */
_must_check_ int table_cache_open(const char *folder, uint64_t limit_bytes,
				  struct table_cache **ret, struct error *error);
void table_cache_free(struct table_cache *cache); /* NULL is fine; the files stay */

/*
 * ret   the caller frees it. Its list of unsupported functions is empty.
 *
 * Returns 0, -ENOENT (not there), -EPERM (not our file), -EINVAL (broken) or another negative
 * errno.
 */
_must_check_ int table_cache_load(const struct table_cache *cache, const uint8_t *build_id,
				  uint8_t build_id_size, struct unwind_table **ret,
				  struct error *error);

/*
 * Keep a table. Whoever writes an ELF file chooses its build ID: only tables of files that no
 * ordinary user can write may be kept, else he could give them to everybody else's processes.
 *
 * Returns 0, -EINVAL (no build ID), -EFBIG (more than the limit), -EPERM (what is in its place is
 * not our file) or another negative errno.
 */
_must_check_ int table_cache_store(struct table_cache *cache, const uint8_t *build_id,
				   uint8_t build_id_size, const struct unwind_table *table,
				   struct error *error);

#endif
