/*
 * A file that another process appends to, and that is read while it grows. It may also be written
 * anew, without ever being shorter, or another file may take its place. Its inode shows that, or
 * the first and last bytes that were read of it. The bytes between them are compared by hashes of
 * blocks, whenever the file was modified. Limit: after the first GROWING_FILE_COMPARED_BYTES these
 * comparisons wait for time to pass, so that a change in the middle of a large file is seen later.
 */
#ifndef PROCESS_GROWING_FILE_H
#define PROCESS_GROWING_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/attributes.h"
#include "process/file_version.h"

#define GROWING_FILE_MARK_BYTES  4096
#define GROWING_FILE_BLOCK_BYTES (16u << 10)
/* Limit of comparing at once, and in each later second. */
#define GROWING_FILE_COMPARED_BYTES (8ull << 20)

/* Hash of a sequence of bytes that is added in pieces. All 0: no bytes. */
struct growing_hash {
	uint64_t num_bytes;
	uint64_t hash;
	uint64_t word; /* the bytes after the last whole word */
};

/* All 0: nothing was read. */
struct growing_file {
	dev_t device;
	ino_t inode;
	struct file_version version; /* when it was checked last */
	bool is_settled;             /* a later write would have changed the version */
	uint64_t end;                /* of the bytes that were read */
	ARRAY(uint64_t) blocks;      /* hashes of these bytes, up to the first skipped ones */
	struct growing_hash last;    /* of the bytes after the last whole block */
	size_t next_block;           /* to compare */
	size_t num_uncompared;       /* blocks, since the latest modification */
	uint64_t compared_bytes;     /* by hash; decreases with time */
	uint64_t compared_ns;        /* when it was decreased */
	size_t head_bytes;
	size_t tail_bytes;
	char head[GROWING_FILE_MARK_BYTES]; /* at the start of the file */
	char tail[GROWING_FILE_MARK_BYTES]; /* before the end */
};

void growing_file_release(struct growing_file *file);

/*
 * Check it before reading on.
 *
 * ret_is_new   the file no longer has the bytes that were read: all of it is to be read again
 * ret_bytes    its size
 *
 * Returns 0 or negative errno.
 */
_must_check_ int growing_file_check(struct growing_file *file, int fd, bool *ret_is_new,
				    uint64_t *ret_bytes);

/* Note bytes that were read, which are at this offset. Returns 0 or -ENOMEM: nothing is noted. */
_must_check_ int growing_file_note(struct growing_file *file, uint64_t offset, const void *bytes,
				   size_t size);

#endif
