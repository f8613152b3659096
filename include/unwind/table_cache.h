/*
 * Unwind tables kept on disk from run to run: one file per build ID (or hash that replaces it,
 * below), in a folder of our own.
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
 * The key of an unwind table if its file has no build ID: a hash of the data that the table is
 * built from. Hashing costs a fraction of building.
 */

/*
 * Hash the file's headers, all of its call-frame information, and the function table of Go
 * programs. Code without any of these is not read. So callers that store a table under this hash
 * must also compare the file's size and time.
 *
 * Data read from objfile stays in memory until its last unref.
 *
 * Returns 0 or -ENOENT (no call-frame information: the table would come from code alone).
 */
_must_check_ int table_key_hash(const struct objfile *objfile, uint64_t *ret);

/* Increase whenever the table of an unchanged file would look different. */
#define TABLE_CACHE_VERSION 23

struct table_cache;

/*
 * folder       "/var/cache/stackwide"; created (mode 0700) if missing. Copied
 * limit_bytes  size of all files together; beyond it the least recently used are removed
 *
 * Returns 0, -EPERM (the folder is a symbolic link, has another owner, or is writable by others) or
 * another negative errno.
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
 * Returns 0, -ENOENT (not cached), -EPERM (not our file), -EINVAL (malformed) or another negative
 * errno.
 */
_must_check_ int table_cache_load(const struct table_cache *cache, const uint8_t *build_id,
				  uint8_t build_id_size, struct unwind_table **ret,
				  struct error *error);

/*
 * Store a table. The author of an ELF file chooses its build ID, so only tables of files that only
 * root can write may be stored: others could impersonate libc.
 *
 * Returns 0, -EINVAL (no build ID), -EFBIG (more than the limit), -EPERM (the existing file is not
 * ours) or another negative errno.
 */
_must_check_ int table_cache_store(struct table_cache *cache, const uint8_t *build_id,
				   uint8_t build_id_size, const struct unwind_table *table,
				   struct error *error);

/*
 * The same format in memory (memfd_create(2)), from a process that may have been compromised: the
 * image is copied before it is checked. Both return 0 or negative errno. Reading returns -EINVAL
 * for a truncated or invalid table.
 */
_must_check_ int table_image_write(int fd, const struct unwind_table *table);
_must_check_ int table_image_read(int fd, struct unwind_table **ret);

#endif
