/*
 * A compressed file is a sequence of frames: `cat a.gz b.gz`, `zstd` of several files, the parts of a
 * parallel compressor. Each ends where its library finds its end. Between frames there may be
 * skippable frames (zstd, lz4) and zeros (xz: padding, a multiple of 4 bytes).
 */
#include "formats/compression.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/compression/codec.h"

struct decompressor {
	enum compression compression;
	const struct codec *codec;
	void *state;
	bool is_in_frame;
	bool has_started;
	bool has_ended;
};

static const struct codec *get_codec(enum compression compression)
{
	switch (compression) {
	case COMPRESSION_NONE:
		break;
	case COMPRESSION_GZIP:
		return &codec_gzip;
	case COMPRESSION_ZSTD:
		return &codec_zstd;
	case COMPRESSION_XZ:
		return &codec_xz;
	case COMPRESSION_BZIP2:
		return &codec_bzip2;
	case COMPRESSION_LZ4:
		return &codec_lz4;
	}
	return NULL;
}

int decompressor_new(enum compression compression, struct decompressor **ret)
{
	const struct codec *codec = get_codec(compression);
	struct decompressor *decompressor = codec ? calloc(1, sizeof(*decompressor)) : NULL;

	if (!decompressor)
		return -ENOMEM;
	decompressor->compression = compression;
	decompressor->codec = codec;
	decompressor->state = codec->make();
	if (!decompressor->state) {
		free(decompressor);
		return -ENOMEM;
	}
	*ret = decompressor;
	return 0;
}

void decompressor_free(struct decompressor *decompressor)
{
	if (!decompressor)
		return;
	decompressor->codec->free(decompressor->state);
	free(decompressor);
}

static void skip_padding(enum compression compression, struct codec_buffers *buffers)
{
	size_t size = 0;

	switch (compression) {
	case COMPRESSION_XZ:
		while (buffers->in_left - size >= 4 && bytes_are_zero(buffers->in + size, 4))
			size += 4;
		break;
	case COMPRESSION_ZSTD:
	case COMPRESSION_LZ4:
		size = buffers->in_left ? codec_skip_frames(buffers->in, buffers->in_left) : 0;
		break;
	case COMPRESSION_NONE:
	case COMPRESSION_GZIP:
	case COMPRESSION_BZIP2:
		break;
	}
	codec_buffers_advance(buffers, size, 0);
}

/* Returns 0, 1 when there is no further frame, or negative errno. */
static int start_frame(struct decompressor *decompressor, struct codec_buffers *buffers)
{
	enum compression compression = decompressor->compression;
	const uint8_t *start = buffers->in;
	int err;

	skip_padding(compression, buffers);
	if ((compression == COMPRESSION_ZSTD || compression == COMPRESSION_LZ4) &&
	    codec_is_skippable(buffers->in, buffers->in_left))
		return -ENODATA;
	if (!buffers->in_left || compression_detect(buffers->in, buffers->in_left) != compression) {
		if (!decompressor->has_started && buffers->in == start)
			return -EBADMSG;
		decompressor->has_ended = true;
		return 1;
	}
	err = decompressor->has_started ? decompressor->codec->restart(decompressor->state) : 0;
	if (err)
		return err;
	decompressor->has_started = true;
	decompressor->is_in_frame = true;
	return 0;
}

/* Returns 0 or negative errno. A step that moves nothing has nothing left to read. */
static int read_frame(struct decompressor *decompressor, struct codec_buffers *buffers)
{
	size_t in_before = buffers->in_left;
	size_t out_before = buffers->out_left;
	int result = decompressor->codec->step(decompressor->state, buffers);

	if (result < 0)
		return result;
	if (result)
		decompressor->is_in_frame = false;
	else if (buffers->in_left == in_before && buffers->out_left == out_before)
		return in_before ? -EBADMSG : -ENODATA;
	return 0;
}

int decompressor_read(struct decompressor *decompressor, struct bytes *compressed, void *output,
		      size_t room, size_t *ret_size)
{
	struct codec_buffers buffers = {compressed->data + compressed->offset,
					bytes_left(compressed), output, room};
	int err = 0;

	while (!err && buffers.out_left && !decompressor->has_ended)
		err = decompressor->is_in_frame ? read_frame(decompressor, &buffers)
						: start_frame(decompressor, &buffers);
	compressed->offset = compressed->size - buffers.in_left;
	*ret_size = room - buffers.out_left;
	return err ? err : decompressor->has_ended;
}
