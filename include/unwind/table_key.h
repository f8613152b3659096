/*
 * What an unwind table is known by where its file has no build ID: a hash of what it is made of, which
 * costs a fraction of making it.
 */
#ifndef UNWIND_TABLE_KEY_H
#define UNWIND_TABLE_KEY_H

#include <stdint.h>

#include "base/attributes.h"
#include "objfile/objfile.h"

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

#endif
