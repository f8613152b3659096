#include "formats/compression.h"

#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "compressed_text.h"
#include "formats/format.h"

#define TEXT  "main;read_all;read 5\nmain;read_all;parse 6\nmain;write 2\n"
#define OTHER "other;text 1\n"
#define ROOM  4096

/* Decompress all, `step` bytes of output at a time. Returns as decompressor_read(). */
static int decompress(enum compression compression, const uint8_t *data, size_t size, size_t step,
		      struct text *ret, size_t *ret_offset)
{
	struct decompressor *decompressor;
	struct bytes compressed = bytes_of(data, size);
	uint8_t chunk[ROOM];
	int result = 0;

	text_truncate(ret, 0);
	assert_int_equal(decompressor_new(compression, &decompressor), 0);
	while (!result) {
		size_t got = SIZE_MAX;

		result = decompressor_read(decompressor, &compressed, chunk, step, &got);
		assert_true(got <= step);
		assert_true(got || result);
		text_append(ret, chunk, got);
	}
	decompressor_free(decompressor);
	*ret_offset = compressed.offset;
	return result;
}

static void assert_holds(enum compression compression, const uint8_t *data, size_t size,
			 const char *text, size_t offset)
{
	static const size_t steps[] = {1, 7, ROOM};
	struct text found = {0};

	assert_int_equal(compression_detect(data, size), compression);
	for (size_t i = 0; i < ARRAY_LENGTH(steps); i++) {
		size_t end;

		assert_int_equal(decompress(compression, data, size, steps[i], &found, &end), 1);
		assert_int_equal(found.length, strlen(text));
		assert_memory_equal(found.length ? found.data : "", text, strlen(text));
		assert_int_equal(end, offset);
	}
	text_release(&found);
}

static void each_library_reads_what_it_wrote(void **state _unused_)
{
	for (size_t i = 0; i < NUM_COMPRESSED_KINDS; i++) {
		const struct compressed_kind *kind = &compressed_kinds[i];
		uint8_t data[ROOM];
		size_t size = kind->compress(TEXT, strlen(TEXT), data, sizeof(data));

		assert_true(size > 0);
		assert_holds(kind->compression, data, size, TEXT, size);
		size = kind->compress("", 0, data, sizeof(data));
		assert_true(size > 0);
		assert_holds(kind->compression, data, size, "", size);
	}
}

static void frames_one_after_the_other_are_one_text(void **state _unused_)
{
	for (size_t i = 0; i < NUM_COMPRESSED_KINDS; i++) {
		const struct compressed_kind *kind = &compressed_kinds[i];
		uint8_t data[ROOM];
		size_t size = kind->compress(TEXT, strlen(TEXT), data, sizeof(data));

		size += kind->compress("", 0, data + size, sizeof(data) - size);
		size += kind->compress(OTHER, strlen(OTHER), data + size, sizeof(data) - size);
		assert_holds(kind->compression, data, size, TEXT OTHER, size);
	}
}

static void bytes_behind_the_frames_are_left(void **state _unused_)
{
	for (size_t i = 0; i < NUM_COMPRESSED_KINDS; i++) {
		const struct compressed_kind *kind = &compressed_kinds[i];
		uint8_t data[ROOM];
		size_t size = kind->compress(TEXT, strlen(TEXT), data, sizeof(data));

		memcpy(data + size, "rubbish", 7);
		assert_holds(kind->compression, data, size + 7, TEXT, size);
		/* A frame of another program is none of this one. */
		memcpy(data + size, "\x1f\x8b\x08\x28\xb5\x2f\xfd", 7);
		if (kind->compression != COMPRESSION_GZIP)
			assert_holds(kind->compression, data, size + 7, TEXT, size);
	}
}

static void data_that_ends_early_is_truncated(void **state _unused_)
{
	struct text found = {0};

	for (size_t i = 0; i < NUM_COMPRESSED_KINDS; i++) {
		const struct compressed_kind *kind = &compressed_kinds[i];
		uint8_t data[ROOM];
		size_t size = kind->compress(TEXT, strlen(TEXT), data, sizeof(data));
		size_t first = size;
		size_t end;

		for (size_t length = 6; length < size; length++) {
			assert_int_equal(compression_detect(data, length), kind->compression);
			assert_int_equal(
				decompress(kind->compression, data, length, ROOM, &found, &end),
				-ENODATA);
		}
		/* The second frame, too. */
		size += kind->compress(OTHER, strlen(OTHER), data + size, sizeof(data) - size);
		for (size_t length = first + 6; length < size; length++)
			assert_int_equal(
				decompress(kind->compression, data, length, 3, &found, &end),
				-ENODATA);
	}
	text_release(&found);
}

/* A changed byte is found, or is in a part that has no meaning, as a gzip header's time. */
static void damage_is_found(void **state _unused_)
{
	struct text found = {0};

	for (size_t i = 0; i < NUM_COMPRESSED_KINDS; i++) {
		const struct compressed_kind *kind = &compressed_kinds[i];
		uint8_t data[ROOM];
		size_t size = kind->compress(TEXT, strlen(TEXT), data, sizeof(data));
		unsigned int num_found = 0;

		for (size_t at = 0; at < size; at++) {
			size_t end;
			int result;

			data[at] ^= 0x55;
			result = decompress(kind->compression, data, size, ROOM, &found, &end);
			assert_true(result == 1 || result == -EBADMSG || result == -ENODATA ||
				    result == -E2BIG || result == -ENOTSUP);
			num_found += result != 1;
			assert_true(result != 1 || end < size ||
				    (found.length == strlen(TEXT) &&
				     !memcmp(found.data, TEXT, found.length)));
			data[at] ^= 0x55;
		}
		assert_true(num_found > size / 2);
	}
	text_release(&found);
}

static void skippable_frames_are_skipped(void **state _unused_)
{
	static const struct compressed_kind *const skipping[] = {&compressed_kinds[1],
								 &compressed_kinds[4]};
	struct text found = {0};

	for (size_t i = 0; i < ARRAY_LENGTH(skipping); i++) {
		static const uint8_t skippable[] = {0x5f, 0x2a, 0x4d, 0x18, 3,  0,
						    0,    0,    'a',  'b',  'c'};
		const struct compressed_kind *kind = skipping[i];
		uint8_t data[ROOM];
		size_t size = 0;
		size_t end;

		for (int times = 0; times < 2; times++, size += sizeof(skippable))
			memcpy(data + size, skippable, sizeof(skippable));
		size += kind->compress(TEXT, strlen(TEXT), data + size, sizeof(data) - size);
		memcpy(data + size, skippable, sizeof(skippable));
		size += sizeof(skippable);
		size += kind->compress(OTHER, strlen(OTHER), data + size, sizeof(data) - size);
		memcpy(data + size, skippable, sizeof(skippable));
		size += sizeof(skippable);
		assert_holds(kind->compression, data, size, TEXT OTHER, size);
		for (size_t cut = 1; cut < sizeof(skippable) - 4; cut++)
			assert_int_equal(
				decompress(kind->compression, data, size - cut, ROOM, &found, &end),
				-ENODATA);
		assert_holds(COMPRESSION_ZSTD, data, 2 * sizeof(skippable), "",
			     2 * sizeof(skippable));
		assert_int_equal(compression_detect(data, 6), COMPRESSION_ZSTD);
		assert_int_equal(decompress(COMPRESSION_ZSTD, data, 6, ROOM, &found, &end),
				 -ENODATA);
	}
	text_release(&found);
}

static void padding_of_xz_is_skipped(void **state _unused_)
{
	uint8_t data[ROOM];
	size_t size = compress_xz(TEXT, strlen(TEXT), data, sizeof(data));

	memset(data + size, 0, 8);
	size += 8;
	size += compress_xz(OTHER, strlen(OTHER), data + size, sizeof(data) - size);
	assert_holds(COMPRESSION_XZ, data, size, TEXT OTHER, size);
}

/* A window of 256 MB, a dictionary as large, lz4's legacy format. */
static void what_takes_too_much_memory_is_refused(void **state _unused_)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	lzma_options_lzma options;
	lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
	struct text found = {0};
	uint8_t data[ROOM];
	ZSTD_inBuffer in = {TEXT, strlen(TEXT), 0};
	ZSTD_outBuffer out = {data, sizeof(data), 0};
	size_t size = 0;
	size_t end;

	/* Of a stream whose size is unknown at first, so that the window is not made smaller. */
	assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 28)));
	assert_false(ZSTD_isError(ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush)));
	assert_int_equal(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end), 0);
	ZSTD_freeCCtx(context);
	assert_int_equal(decompress(COMPRESSION_ZSTD, data, out.pos, ROOM, &found, &end), -E2BIG);

	assert_false(lzma_lzma_preset(&options, 0));
	options.dict_size = 256u << 20;
	assert_int_equal(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL,
						   (const uint8_t *)TEXT, strlen(TEXT), data, &size,
						   sizeof(data)),
			 LZMA_OK);
	assert_int_equal(decompress(COMPRESSION_XZ, data, size, ROOM, &found, &end), -E2BIG);
	text_release(&found);
}

static void variants_that_are_not_read_are_refused(void **state _unused_)
{
	struct text found = {0};
	size_t end;

	assert_int_equal(compression_detect((const uint8_t *)"\x02\x21\x4c\x18\x05", 5),
			 COMPRESSION_LZ4);
	assert_int_equal(decompress(COMPRESSION_LZ4,
				    (const uint8_t *)"\x02\x21\x4c\x18\5\0\0\0\x40hello", 14, ROOM,
				    &found, &end),
			 -ENOTSUP);
	/* A zstd frame of one empty block, with the number of a dictionary. */
	assert_int_equal(decompress(COMPRESSION_ZSTD,
				    (const uint8_t *)"\x28\xb5\x2f\xfd\x21\x07\x00\x01\x00\x00", 10,
				    ROOM, &found, &end),
			 -ENOTSUP);
	text_release(&found);
}

static enum compression detect(const char *text)
{
	return compression_detect((const uint8_t *)text, strlen(text));
}

static void text_is_not_compressed(void **state _unused_)
{
	assert_int_equal(compression_detect(NULL, 0), COMPRESSION_NONE);
	assert_int_equal(detect("a"), COMPRESSION_NONE);
	assert_int_equal(detect("BZh"), COMPRESSION_NONE);
	assert_int_equal(detect("BZh9 5\n"), COMPRESSION_NONE);
	assert_int_equal(detect("BZh9;1AY&SY 5\n"), COMPRESSION_NONE);
	assert_int_equal(detect("BZh0"
				"1AY&SY"),
			 COMPRESSION_NONE);
	assert_int_equal(detect("BZh9"
				"1AY&SY"),
			 COMPRESSION_BZIP2);
	assert_int_equal(detect("BZh1"
				"1AY"),
			 COMPRESSION_BZIP2);
	assert_int_equal(detect("\x1f\x8b"), COMPRESSION_NONE);
}

static void a_file_is_called_by_its_program(void **state _unused_)
{
	size_t length;

	assert_int_equal(compression_find_suffix("x.folded.zst", 12, &length), COMPRESSION_ZSTD);
	assert_int_equal(length, 8);
	assert_int_equal(compression_find_suffix("x.folded.zst", 8, &length), COMPRESSION_NONE);
	assert_int_equal(length, 8);
	assert_int_equal(compression_find_suffix("gz", 2, &length), COMPRESSION_NONE);
	assert_string_equal(compression_get_name(COMPRESSION_BZIP2), "bzip2");
	assert_string_equal(compression_get_name(COMPRESSION_NONE), "");
}

static int take(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

/* Twice the same, larger than the libraries' buffers. */
static void what_a_sink_compressed_is_read_again(void **state _unused_)
{
	static const enum compression written[] = {COMPRESSION_GZIP, COMPRESSION_ZSTD};
	struct text plain = {0};

	for (uint32_t i = 0, number = 1; i < 100000; i++, number = number * 1664525 + 1013904223)
		text_append(&plain, &number, sizeof(number));
	for (size_t i = 0; i < ARRAY_LENGTH(written); i++) {
		struct text outputs[2] = {0};
		struct text found = {0};
		size_t end;

		for (int time = 0; time < 2; time++) {
			const struct sink target = {take, &outputs[time]};
			struct compressing_sink *compressing;
			const struct sink *sink;

			assert_int_equal(compressing_sink_new(written[i], &target, &compressing),
					 0);
			sink = compressing_sink_get(compressing);
			assert_int_equal(sink->write(sink->context, plain.data, 1), 0);
			assert_int_equal(sink->write(sink->context, plain.data, 0), 0);
			assert_int_equal(
				sink->write(sink->context, plain.data + 1, plain.length - 1), 0);
			assert_int_equal(compressing_sink_finish(compressing), 0);
			compressing_sink_free(compressing);
		}
		assert_int_equal(outputs[0].length, outputs[1].length);
		assert_memory_equal(outputs[0].data, outputs[1].data, outputs[0].length);
		assert_int_equal(decompress(written[i], (uint8_t *)outputs[0].data,
					    outputs[0].length, ROOM, &found, &end),
				 1);
		assert_int_equal(found.length, plain.length);
		assert_memory_equal(found.data, plain.data, plain.length);
		text_release(&outputs[0]);
		text_release(&outputs[1]);
		text_release(&found);
	}
	text_release(&plain);
}

static int refuse(void *context _unused_, const void *data _unused_, size_t size _unused_)
{
	return -ENOSPC;
}

static void a_full_disk_is_reported(void **state _unused_)
{
	const struct sink target = {refuse, NULL};

	for (enum compression i = COMPRESSION_NONE; i <= COMPRESSION_ZSTD; i++) {
		struct compressing_sink *compressing;
		const struct sink *sink;
		int err;

		assert_int_equal(compressing_sink_new(i, &target, &compressing), 0);
		sink = compressing_sink_get(compressing);
		err = sink->write(sink->context, "a", 1);
		if (!err)
			err = compressing_sink_finish(compressing);
		assert_int_equal(err, -ENOSPC);
		compressing_sink_free(compressing);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_library_reads_what_it_wrote),
		cmocka_unit_test(frames_one_after_the_other_are_one_text),
		cmocka_unit_test(bytes_behind_the_frames_are_left),
		cmocka_unit_test(data_that_ends_early_is_truncated),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(skippable_frames_are_skipped),
		cmocka_unit_test(padding_of_xz_is_skipped),
		cmocka_unit_test(what_takes_too_much_memory_is_refused),
		cmocka_unit_test(variants_that_are_not_read_are_refused),
		cmocka_unit_test(text_is_not_compressed),
		cmocka_unit_test(a_file_is_called_by_its_program),
		cmocka_unit_test(what_a_sink_compressed_is_read_again),
		cmocka_unit_test(a_full_disk_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
