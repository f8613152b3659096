/*
 * Decompression of DEFLATE, for code that has no zlib: the viewer's WebAssembly module. The native
 * program uses it if both must give the same result and the same errors for every input.
 *
 * Pure, no I/O. Every byte may be hostile.
 */
#ifndef FORMATS_INFLATE_H
#define FORMATS_INFLATE_H

#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/text.h"

enum inflate_wrapper { INFLATE_RAW, INFLATE_ZLIB, INFLATE_GZIP };

/*
 * Decompress one stream and check its checksum. Bytes behind the stream are not read.
 *
 * compressed  read from its offset on; afterwards the offset is behind the stream, or near the
 *             damage
 * limit       of the decompressed size, in bytes
 * ret         replaced by the decompressed bytes; the caller releases it
 *
 * Returns 0, -ENOMEM, -EBADMSG (damaged or truncated) or -EFBIG (more than the limit).
 *
 * Source: RFC 1950 (zlib), RFC 1951 (DEFLATE), RFC 1952 (gzip).
 */
_must_check_ int inflate_decompress(struct bytes *compressed, enum inflate_wrapper wrapper,
				    size_t limit, struct text *ret);

#endif
