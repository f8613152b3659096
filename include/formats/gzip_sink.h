/*
 * A sink that compresses what it gets with gzip and passes it on to another. The same bytes in give
 * the same bytes out: no time and no name is stored.
 */
#ifndef FORMATS_GZIP_SINK_H
#define FORMATS_GZIP_SINK_H

#include "base/attributes.h"
#include "formats/format.h"

struct gzip_sink;

/* target is borrowed. Returns NULL when out of memory. */
struct gzip_sink *gzip_sink_new(const struct sink *target);
void gzip_sink_free(struct gzip_sink *gzip);
static inline void gzip_sink_freep(struct gzip_sink **gzip)
{
	gzip_sink_free(*gzip);
}

/* What takes the bytes to compress; valid until gzip_sink_free(). */
const struct sink *gzip_sink_get(const struct gzip_sink *gzip);

/* Pass on what is left, and the end mark. Returns 0 or what the target returned. */
_must_check_ int gzip_sink_finish(struct gzip_sink *gzip);

#endif
