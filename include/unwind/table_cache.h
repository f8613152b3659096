/*
 * Unwind tables kept on disk from run to run: one file per build ID, or what stands in for one
 * (below), in a folder of our own.
 *
 * The cache is optional: every failure only means that the table must be built. A file is used if
 * nobody else can have written it, its checksum is right, and its content is valid.
 *
 * Any number of threads may use one cache, but only one at a time for the same build ID.
 */
#ifndef UNWIND_TABLE_CACHE_H
#define UNWIND_TABLE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "objfile/objfile.h"
#include "unwind/unwind_table.h"

/*
 * What an unwind table is known by where its file has no build ID: a hash of what it is made of, which
 * costs a fraction of making it.
 */

/*
 * Of the file's headers, all of its call-frame information, and the table that Go programs carry. Code
 * that nothing of these describes is not read: whoever keeps a table by this hash compares the file's
 * size and time, too.
 *
 * What is read of objfile stays in memory until its last unref.
 *
 * Returns 0 or -ENOENT (there is no call-frame information: all would be in the code).
 */
_must_check_ int table_key_hash(const struct objfile *objfile, uint64_t *ret);

/* To be raised whenever a table of the same file would look different. */
#define TABLE_CACHE_VERSION 20

struct table_cache;

/*
 * folder       "/var/cache/stackwide"; made (mode 0700) when it is missing. Copied
 * limit_bytes  size of all files together; beyond it the least recently used are removed
 *
 * Returns 0, -EPERM (the folder is a symbolic link, belongs to somebody else, or others may write
 * to it) or another negative errno.
 */
_must_check_ int table_cache_open(const char *folder, uint64_t limit_bytes,
				  struct table_cache **ret, struct error *error);
void table_cache_free(struct table_cache *cache); /* NULL is fine; the files stay */
static inline void table_cache_freep(struct table_cache **cache)
{
	table_cache_free(*cache);
}

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
 * Store a table. Whoever writes an ELF file chooses its build ID, so only tables of files that just
 * root can write may be stored: others could impersonate libc.
 *
 * Returns 0, -EINVAL (no build ID), -EFBIG (more than the limit), -EPERM (what is in its place is
 * not our file) or another negative errno.
 */
_must_check_ int table_cache_store(struct table_cache *cache, const uint8_t *build_id,
				   uint8_t build_id_size, const struct unwind_table *table,
				   struct error *error);

/*
 * The same form in memory (memfd_create(2)), from a process that may have been taken over: what it
 * wrote is copied before it is looked at. Both return 0 or negative errno; reading -EINVAL (not a
 * whole and valid table).
 */
_must_check_ int table_image_write(int fd, const struct unwind_table *table);
_must_check_ int table_image_read(int fd, struct unwind_table **ret);

#endif
