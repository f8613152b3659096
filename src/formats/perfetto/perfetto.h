/*
 * Perfetto traces: the parts of their struct format. perfetto_decompress() is zlib and zstd here,
 * formats/inflate.h in the page (src/formats/without_libraries/perfetto_decompress.c).
 */
#ifndef FORMATS_PERFETTO_PERFETTO_H
#define FORMATS_PERFETTO_PERFETTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/text.h"
#include "formats/format.h"
#include "formats/import.h"

/* As many as a struct timeline_sample can distinguish. */
#define PERFETTO_MAX_METRICS 256

/* See struct format. */
_must_check_ int perfetto_read(struct import *import);
enum detection perfetto_detect(const uint8_t *data, size_t size);
_must_check_ int perfetto_write(const struct profile *profile, const struct format_opts *opts,
				const struct sink *sink);

/*
 * Decompress packets of zlib or zstd, to at most `limit` bytes.
 *
 * Returns 0, -ENOMEM, -EBADMSG (damaged), -EFBIG (more than the limit) or -ENOTSUP (not in the page).
 */
_must_check_ int perfetto_decompress(struct bytes compressed, bool is_zstd, size_t limit,
				     struct text *ret);

#endif
