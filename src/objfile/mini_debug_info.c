#include "objfile/mini_debug_info.h"

#include <errno.h>
#include <lzma.h>
#include <stdint.h>

#include "objfile/objfile.h"

/* A symbol table of a few megabytes is large: this is against decompression bombs. */
#define DECOMPRESSED_MAX_BYTES (256u << 20)
#define DECODER_MAX_BYTES      (128u << 20)

static int decompress(lzma_stream *stream, struct text *ret)
{
	uint8_t chunk[65536];
	size_t before = ret->length;
	lzma_ret status;

	do {
		stream->next_out = chunk;
		stream->avail_out = sizeof(chunk);
		status = lzma_code(stream, LZMA_FINISH);
		if (ret->length - before > DECOMPRESSED_MAX_BYTES)
			return -EINVAL;
		text_append(ret, chunk, sizeof(chunk) - stream->avail_out);
		if (ret->failed)
			return -ENOMEM;
	} while (status == LZMA_OK);
	return status == LZMA_STREAM_END ? 0 : -EINVAL;
}

int mini_debug_info_read(Elf *elf, struct text *ret)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t before = ret->length;
	GElf_Shdr header;
	Elf_Scn *scn = elf_section_find(elf, ".gnu_debugdata", &header);
	Elf_Data *compressed = scn ? elf_rawdata(scn, NULL) : NULL;
	int err;

	if (!compressed || !compressed->d_buf || !compressed->d_size)
		return -ENODATA;
	if (lzma_stream_decoder(&stream, DECODER_MAX_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = compressed->d_buf;
	stream.avail_in = compressed->d_size;
	err = decompress(&stream, ret);
	lzma_end(&stream);
	if (err)
		text_truncate(ret, before);
	return err;
}
