/* Detects the program that compressed some bytes. The page has this part, too. */
#include <string.h>

#include "formats/compression.h"
#include "formats/compression/codec.h"

/* zstd, RFC 8878, section 3.1.2, and lz4's frame format: 16 magic numbers, then the size. */
#define SKIPPABLE_MAGIC      0x184d2a50u
#define SKIPPABLE_MAGIC_MASK 0xfffffff0u

#define LZ4_LEGACY_MAGIC "\x02\x21\x4c\x18"

static const struct {
	enum compression compression;
	const char *name;
	const char *suffix;
	const char *magic;
	size_t magic_size;
} kinds[] = {
	{COMPRESSION_GZIP, "gzip", ".gz", "\x1f\x8b\x08", 3},
	{COMPRESSION_ZSTD, "zstd", ".zst", "\x28\xb5\x2f\xfd", 4},
	{COMPRESSION_XZ, "xz", ".xz", "\xfd\x37zXZ", 6},
	{COMPRESSION_BZIP2, "bzip2", ".bz2", "BZh", 3},
	{COMPRESSION_LZ4, "lz4", ".lz4", "\x04\x22\x4d\x18", 4},
};

#define NUM_KINDS (sizeof(kinds) / sizeof(*kinds))

static uint32_t read_u32(const uint8_t *data)
{
	return data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

/*
 * "BZh" and a level, then the first block or the end of an empty file. All of it may be text, as
 * in "BZh9 5": so the block's magic number must be there, as far as the file goes.
 */
static bool is_bzip2(const uint8_t *data, size_t size)
{
	size_t known = size - 4 < 6 ? size - 4 : 6;

	return data[3] >= '1' && data[3] <= '9' &&
	       (!memcmp(data + 4, "1AY&SY", known) ||
		!memcmp(data + 4, "\x17\x72\x45\x38\x50\x90", known));
}

/* Without skippable frames. */
static enum compression detect_frame(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < NUM_KINDS; i++) {
		if (size < kinds[i].magic_size ||
		    memcmp(data, kinds[i].magic, kinds[i].magic_size) != 0)
			continue;
		if (kinds[i].compression == COMPRESSION_BZIP2 &&
		    (size < 4 || !is_bzip2(data, size)))
			continue;
		return kinds[i].compression;
	}
	return size >= 4 && !memcmp(data, LZ4_LEGACY_MAGIC, 4) ? COMPRESSION_LZ4 : COMPRESSION_NONE;
}

size_t codec_skip_frames(const uint8_t *data, size_t size)
{
	size_t at = 0;

	while (size - at >= 8 && (read_u32(data + at) & SKIPPABLE_MAGIC_MASK) == SKIPPABLE_MAGIC &&
	       read_u32(data + at + 4) <= size - at - 8)
		at += 8 + (size_t)read_u32(data + at + 4);
	return at;
}

bool codec_is_skippable(const uint8_t *data, size_t size)
{
	return size >= 4 && (read_u32(data) & SKIPPABLE_MAGIC_MASK) == SKIPPABLE_MAGIC;
}

/* A file of nothing but skippable frames is an empty one, whichever of the two wrote it. */
enum compression compression_detect(const uint8_t *data, size_t size)
{
	size_t skipped = size ? codec_skip_frames(data, size) : 0;
	enum compression found =
		size ? detect_frame(data + skipped, size - skipped) : COMPRESSION_NONE;

	if (!skipped)
		return found != COMPRESSION_NONE || !codec_is_skippable(data, size)
			       ? found
			       : COMPRESSION_ZSTD;
	return found == COMPRESSION_LZ4 ? COMPRESSION_LZ4 : COMPRESSION_ZSTD;
}

const char *compression_get_name(enum compression compression)
{
	for (size_t i = 0; i < NUM_KINDS; i++)
		if (kinds[i].compression == compression)
			return kinds[i].name;
	return "";
}

enum compression compression_find_suffix(const char *path, size_t length, size_t *ret_length)
{
	*ret_length = length;
	for (size_t i = 0; i < NUM_KINDS; i++) {
		size_t suffix = strlen(kinds[i].suffix);

		if (length < suffix || memcmp(path + length - suffix, kinds[i].suffix, suffix) != 0)
			continue;
		*ret_length = length - suffix;
		return kinds[i].compression;
	}
	return COMPRESSION_NONE;
}
