#include "formats/base64.h"

#include <errno.h>

#include "unit.h"

static void assert_both_ways(const char *bytes, const char *base64)
{
	struct base64_encoder encoder = {0};
	struct text encoded = {0};
	struct text decoded = {0};

	base64_encode(&encoder, bytes, strlen(bytes), &encoded);
	base64_finish(&encoder, &encoded);
	assert_string_equal(encoded.length ? encoded.data : "", base64);
	assert_int_equal(base64_decode(base64, strlen(base64), &decoded, NULL), 0);
	assert_string_equal(decoded.length ? decoded.data : "", bytes);
	text_release(&encoded);
	text_release(&decoded);
}

/* RFC 4648, section 10. */
static void what_the_standard_gives_is_given(void **state _unused_)
{
	assert_both_ways("", "");
	assert_both_ways("f", "Zg==");
	assert_both_ways("fo", "Zm8=");
	assert_both_ways("foo", "Zm9v");
	assert_both_ways("foob", "Zm9vYg==");
	assert_both_ways("fooba", "Zm9vYmE=");
	assert_both_ways("foobar", "Zm9vYmFy");
	assert_both_ways("\xfb\xff\xbf", "+/+/");
}

static void pieces_give_the_same_as_the_whole(void **state _unused_)
{
	static const char bytes[] = "How the pieces are cut makes no difference.";

	for (size_t piece = 1; piece < 8; piece++) {
		struct base64_encoder encoder = {0};
		struct text encoded = {0};

		for (size_t at = 0; at < strlen(bytes); at += piece)
			base64_encode(&encoder, bytes + at,
				      strlen(bytes) - at < piece ? strlen(bytes) - at : piece,
				      &encoded);
		base64_finish(&encoder, &encoded);
		assert_string_equal(encoded.data,
				    "SG93IHRoZSBwaWVjZXMgYXJlIGN1dCBtYWtlcyBubyBkaWZmZXJlbmNlLg==");
		text_release(&encoded);
	}
}

static void long_text_has_lines(void **state _unused_)
{
	struct base64_encoder encoder = {0};
	struct text encoded = {0};
	struct text decoded = {0};
	char bytes[1000] = {0};

	base64_encode(&encoder, bytes, sizeof(bytes), &encoded);
	base64_finish(&encoder, &encoded);
	assert_int_equal(encoded.data[960], '\n');
	assert_int_equal(base64_decode(encoded.data, encoded.length, &decoded, NULL), 0);
	assert_int_equal(decoded.length, sizeof(bytes));
	text_release(&encoded);
	text_release(&decoded);
}

static void what_is_no_base64_is_refused_by_its_position(void **state _unused_)
{
	struct text decoded = {0};
	size_t offset = 0;

	assert_int_equal(base64_decode("Zm9\r\nv Yg<", 11, &decoded, &offset), -EBADMSG);
	assert_int_equal(offset, 9);
	assert_int_equal(base64_decode("Zm\0v", 4, &decoded, &offset), -EBADMSG);
	assert_int_equal(offset, 2);
	text_release(&decoded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_standard_gives_is_given),
		cmocka_unit_test(pieces_give_the_same_as_the_whole),
		cmocka_unit_test(long_text_has_lines),
		cmocka_unit_test(what_is_no_base64_is_refused_by_its_position),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
