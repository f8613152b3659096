/*
 * A whole profile as the page carries it: an SVG file without a picture, so that every reader of
 * our SVG files reads it.
 */
#ifndef VIEWER_PACK_H
#define VIEWER_PACK_H

#include "base/attributes.h"
#include "formats/format.h"

/*
 * is_left_out  by source: what is not written; NULL: all is
 *
 * Returns 0, -ENOMEM or what the sink returned.
 */
_must_check_ int pack_write(const struct profile *profile, const uint8_t *is_left_out,
			    const struct sink *sink);

#endif
