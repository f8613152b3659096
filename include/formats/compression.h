/*
 * Compressed files: gzip, zstd, xz, bzip2 and lz4. The program that compressed some bytes is
 * recognised by their start, never by the name of the file.
 *
 * No function here does I/O. An object belongs to one thread at a time.
 */
#ifndef FORMATS_COMPRESSION_H
#define FORMATS_COMPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

enum compression {
	COMPRESSION_NONE,
	COMPRESSION_GZIP,
	COMPRESSION_ZSTD,
	COMPRESSION_XZ,
	COMPRESSION_BZIP2,
	COMPRESSION_LZ4,
};

/* Largest memory that a decompressor allocates for its window, in MB. */
#define DECOMPRESSOR_MAX_MB 128

/* Detected by the first bytes; skippable frames of zstd and lz4 may precede them. */
enum compression compression_detect(const uint8_t *data, size_t size);

/* "gzip": name of the program. "" for COMPRESSION_NONE. */
const char *compression_get_name(enum compression compression);

/*
 * Compression of a file called `path`, by the suffix: ".gz".
 *
 * length      of path, in bytes
 * ret_length  without the suffix
 */
enum compression compression_find_suffix(const char *path, size_t length, size_t *ret_length);

/* ---- decompression ---- */

struct decompressor;

/* Returns 0 or -ENOMEM. */
_must_check_ int decompressor_new(enum compression compression, struct decompressor **ret);
void decompressor_free(struct decompressor *decompressor);
static inline void decompressor_freep(struct decompressor **decompressor)
{
	decompressor_free(*decompressor);
}

/*
 * Decompress until the output is full or the compressed data ends: one frame (stream, member) after
 * the other.
 *
 * compressed  all of it; its offset advances
 * room        of output, in bytes; not 0
 * ret_size    bytes of output; set on failure, too
 *
 * Returns 1 at the end (bytes after the offset are not compressed by this program) and 0 for more.
 * Errors: -EBADMSG (damaged), -ENODATA (truncated), -E2BIG (needs over DECOMPRESSOR_MAX_MB),
 * -ENOTSUP (an unsupported variant: zstd with a dictionary, lz4's legacy format) or -ENOMEM.
 */
_must_check_ int decompressor_read(struct decompressor *decompressor, struct bytes *compressed,
				   void *output, size_t room, size_t *ret_size);

/* ---- compression ---- */

struct sink;
struct compressing_sink;

/*
 * A sink that compresses its bytes for another sink. The same bytes in give the same bytes out, with the
 * same version of the library.
 *
 * compression  COMPRESSION_GZIP, COMPRESSION_ZSTD, or COMPRESSION_NONE: bytes pass unchanged
 * target       borrowed
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int compressing_sink_new(enum compression compression, const struct sink *target,
				      struct compressing_sink **ret);
void compressing_sink_free(struct compressing_sink *compressing);
static inline void compressing_sink_freep(struct compressing_sink **compressing)
{
	compressing_sink_free(*compressing);
}
/* The sink to write to; valid until compressing_sink_free(). */
const struct sink *compressing_sink_get(const struct compressing_sink *compressing);
/* Write the end. Returns 0 or the error of the target. */
_must_check_ int compressing_sink_finish(struct compressing_sink *compressing);

#endif
