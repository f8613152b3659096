/*
 * The reader of Perfetto traces; the viewer, which has no writer of them and no zlib, brings a
 * format and an unpack function of its own.
 */
#ifndef FORMATS_PERFETTO_READER_H
#define FORMATS_PERFETTO_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/text.h"
#include "formats/import.h"

/*
 * Packets that are packed by zlib, of at most `limit` bytes when unpacked.
 *
 * Returns 0, -ENOMEM, -EBADMSG (damaged) or -EFBIG (more than the limit).
 */
_must_check_ int perfetto_unpack(struct bytes packed, size_t limit, struct text *ret);

int perfetto_read(struct import *import);
enum detection perfetto_detect(const uint8_t *data, size_t size);

#endif
