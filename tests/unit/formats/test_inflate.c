#include "formats/inflate.h"

#include <errno.h>
#include <stdlib.h>

#include <zlib.h>

#include "unit.h"

/* zlib's windowBits for each wrapper. */
static int get_window(enum inflate_wrapper wrapper)
{
	return wrapper == INFLATE_RAW ? -15 : wrapper == INFLATE_ZLIB ? 15 : 15 + 16;
}

/* By zlib. The caller releases it. */
static struct text make_compressed(const struct text *plain, enum inflate_wrapper wrapper,
				   int level, int strategy)
{
	z_stream stream = {.next_in = (unsigned char *)plain->data,
			   .avail_in = (uInt)plain->length};
	struct text compressed = {0};
	static unsigned char room[1 << 21];

	assert_int_equal(deflateInit2(&stream, level, Z_DEFLATED, get_window(wrapper), 9, strategy),
			 Z_OK);
	stream.next_out = room;
	stream.avail_out = sizeof(room);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	text_append(&compressed, room, stream.total_out);
	deflateEnd(&stream);
	return compressed;
}

/* Something like stacks, then noise that cannot be compressed. */
static struct text make_plain(void)
{
	struct text plain = {0};
	uint32_t noise = 1;

	for (int i = 0; i < 20000; i++)
		text_printf(&plain, "%d %d\n", i % 97, i * i % 1009);
	for (int i = 0; i < 70000; i++) {
		noise = noise * 1664525 + 1013904223;
		text_append_char(&plain, (char)(noise >> 24));
	}
	return plain;
}

static void assert_decompresses(const struct text *compressed, enum inflate_wrapper wrapper,
				const struct text *wanted)
{
	struct bytes bytes = bytes_of(compressed->data, compressed->length);
	struct text plain = {0};

	assert_int_equal(inflate_decompress(&bytes, wrapper, 1 << 22, &plain), 0);
	assert_int_equal(plain.length, wanted->length);
	assert_memory_equal(plain.data, wanted->data, wanted->length);
	assert_int_equal(bytes.offset, compressed->length);
	text_release(&plain);
}

static void decompresses_whatever_zlib_compresses(void **state)
{
	struct text plain = make_plain();

	(void)state;
	for (int wrapper = INFLATE_RAW; wrapper <= INFLATE_GZIP; wrapper++)
		for (int level = 0; level <= 9; level += 3)
			for (int strategy = Z_DEFAULT_STRATEGY; strategy <= Z_FIXED; strategy++) {
				struct text compressed = make_compressed(
					&plain, (enum inflate_wrapper)wrapper, level, strategy);

				assert_decompresses(&compressed, (enum inflate_wrapper)wrapper,
						    &plain);
				text_release(&compressed);
			}
	text_release(&plain);
}

static void decompresses_nothing(void **state)
{
	struct text plain = {0};
	struct text compressed = make_compressed(&plain, INFLATE_GZIP, 6, Z_DEFAULT_STRATEGY);

	(void)state;
	text_append_string(&plain, "");
	assert_decompresses(&compressed, INFLATE_GZIP, &plain);
	text_release(&plain);
	text_release(&compressed);
}

static void steps_over_the_names_in_a_gzip_header(void **state)
{
	struct text plain = {0};
	struct text compressed;
	struct text named = {0};

	(void)state;
	text_append_string(&plain, "main;a 1\n");
	compressed = make_compressed(&plain, INFLATE_GZIP, 6, Z_DEFAULT_STRATEGY);
	text_append(&named, compressed.data, 10);
	named.data[3] = 2 | 4 | 8 | 16;
	text_append(&named, "\3\0abcname\0comment\0\1\2", 3 + 2 + 5 + 8 + 2);
	text_append(&named, compressed.data + 10, compressed.length - 10);
	assert_decompresses(&named, INFLATE_GZIP, &plain);
	text_release(&plain);
	text_release(&compressed);
	text_release(&named);
}

static int decompress_part(const struct text *compressed, size_t size, size_t limit)
{
	struct bytes bytes = bytes_of(compressed->data, size);
	struct text plain = {0};
	int err = inflate_decompress(&bytes, INFLATE_GZIP, limit, &plain);

	text_release(&plain);
	return err;
}

static void every_truncation_is_damage(void **state)
{
	struct text plain = {0};
	struct text compressed;

	(void)state;
	for (int i = 0; i < 300; i++)
		text_printf(&plain, "main;f%d %d\n", i, i % 7);
	compressed = make_compressed(&plain, INFLATE_GZIP, 6, Z_DEFAULT_STRATEGY);
	for (size_t size = 0; size < compressed.length; size++)
		assert_int_equal(decompress_part(&compressed, size, SIZE_MAX), -EBADMSG);
	text_release(&plain);
	text_release(&compressed);
}

static void every_flipped_byte_of_the_data_is_damage(void **state)
{
	struct text plain = {0};
	struct text compressed;

	(void)state;
	for (int i = 0; i < 300; i++)
		text_printf(&plain, "main;f%d %d\n", i, i % 7);
	compressed = make_compressed(&plain, INFLATE_GZIP, 6, Z_DEFAULT_STRATEGY);
	for (size_t at = 10; at < compressed.length; at++) {
		compressed.data[at] ^= 0x55;
		assert_int_equal(decompress_part(&compressed, compressed.length, 1 << 20),
				 -EBADMSG);
		compressed.data[at] ^= 0x55;
	}
	text_release(&plain);
	text_release(&compressed);
}

/* Bits of a stream that zlib would not write, the first one lowest. */
struct bit_writer {
	struct text bytes;
	unsigned int num_bits;
};

static void put_bit(struct bit_writer *writer, unsigned int bit)
{
	if (writer->num_bits++ % 8 == 0)
		text_append_char(&writer->bytes, '\0');
	writer->bytes.data[writer->bytes.length - 1] |= (char)(bit << (writer->num_bits - 1) % 8);
}

/* Codes are written from their highest bit on. */
static void put_code(struct bit_writer *writer, unsigned int code, unsigned int num_bits)
{
	while (num_bits--)
		put_bit(writer, code >> num_bits & 1);
}

/* "abc" and then a match of three bytes, in a block of the fixed codes (RFC 1951, section 3.2.6). */
static int decompress_match(unsigned int distance, struct text *plain)
{
	struct bit_writer writer = {0};
	struct bytes bytes;
	int err;

	put_bit(&writer, 1);     /* the last block */
	put_code(&writer, 2, 2); /* BTYPE 01, which is a number: lowest bit first */
	for (const char *c = "abc"; *c; c++)
		put_code(&writer, 0x30u + (unsigned char)*c, 8);
	put_code(&writer, 257 - 256, 7);
	put_code(&writer, distance - 1, 5); /* without extra bits, up to 4 */
	put_code(&writer, 0, 7);            /* the end of the block */
	bytes = bytes_of(writer.bytes.data, writer.bytes.length);
	err = inflate_decompress(&bytes, INFLATE_RAW, SIZE_MAX, plain);
	text_release(&writer.bytes);
	return err;
}

static void a_match_starts_in_the_output_and_not_before_it(void **state)
{
	struct text plain = {0};

	(void)state;
	assert_int_equal(decompress_match(3, &plain), 0);
	assert_int_equal(plain.length, 6);
	assert_memory_equal(plain.data, "abcabc", 6);
	text_release(&plain);
	assert_int_equal(decompress_match(4, &plain), -EBADMSG);
	text_release(&plain);
}

static void the_limit_stops_it(void **state)
{
	struct text plain = make_plain();
	struct text compressed = make_compressed(&plain, INFLATE_GZIP, 6, Z_DEFAULT_STRATEGY);

	(void)state;
	assert_int_equal(decompress_part(&compressed, compressed.length, plain.length), 0);
	assert_int_equal(decompress_part(&compressed, compressed.length, plain.length - 1), -EFBIG);
	assert_int_equal(decompress_part(&compressed, compressed.length, 0), -EFBIG);
	text_release(&plain);
	text_release(&compressed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decompresses_whatever_zlib_compresses),
		cmocka_unit_test(decompresses_nothing),
		cmocka_unit_test(steps_over_the_names_in_a_gzip_header),
		cmocka_unit_test(every_truncation_is_damage),
		cmocka_unit_test(every_flipped_byte_of_the_data_is_damage),
		cmocka_unit_test(a_match_starts_in_the_output_and_not_before_it),
		cmocka_unit_test(the_limit_stops_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
