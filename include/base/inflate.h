/*
 * Unpacking what DEFLATE packed, for code that must do without zlib: the viewer's module. Natively
 * it serves readers whose result must be the module's to the byte.
 *
 * Pure, no I/O. Every byte may be hostile.
 */
#ifndef BASE_INFLATE_H
#define BASE_INFLATE_H

#include <stddef.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/text.h"

enum inflate_wrapper { INFLATE_RAW, INFLATE_ZLIB, INFLATE_GZIP };

/*
 * Unpack one stream, with the check of its sum. What follows the stream is not looked at.
 *
 * packed  read from its offset on; afterwards the offset is behind the stream, or near what is
 *         wrong
 * limit   the most bytes that may come out
 * ret     replaced by what comes out; the caller releases it
 *
 * Returns 0, -ENOMEM, -EBADMSG (damaged or cut off) or -EFBIG (more than the limit).
 *
 * Source: RFC 1950 (zlib), RFC 1951 (DEFLATE), RFC 1952 (gzip).
 */
_must_check_ int inflate_unpack(struct bytes *packed, enum inflate_wrapper wrapper, size_t limit,
				struct text *ret);

#endif
