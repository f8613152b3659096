/* Operations of one library for decompressor.c. Each library has a file of its own. */
#ifndef FORMATS_COMPRESSION_CODEC_H
#define FORMATS_COMPRESSION_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct codec_buffers {
	const uint8_t *in; /* next byte of compressed data */
	size_t in_left;
	uint8_t *out; /* next byte of output */
	size_t out_left;
};

static inline void codec_buffers_advance(struct codec_buffers *buffers, size_t in, size_t out)
{
	buffers->in += in;
	buffers->in_left -= in;
	buffers->out += out;
	buffers->out_left -= out;
}

/* Libraries count in 32 bits. */
static inline unsigned int codec_cap(size_t size)
{
	return size > 1u << 30 ? 1u << 30 : (unsigned int)size;
}

struct codec {
	void *(*make)(void); /* NULL: out of memory */
	void (*free)(void *state);
	int (*restart)(void *state); /* before each frame but the first. Returns 0 or -ENOMEM */
	/* Returns 1 at the end of a frame, 0, or as decompressor_read(). Without progress, 0. */
	int (*step)(void *state, struct codec_buffers *buffers);
};

extern const struct codec codec_gzip;
extern const struct codec codec_zstd;
extern const struct codec codec_xz;
extern const struct codec codec_bzip2;
extern const struct codec codec_lz4;

/* Size of the whole skippable frames at the start of some bytes. */
size_t codec_skip_frames(const uint8_t *data, size_t size);
/* Whether a skippable frame starts here. */
bool codec_is_skippable(const uint8_t *data, size_t size);

#endif
