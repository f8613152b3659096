#include "base/attributes.h"
#include "base/bytes.h"
#include "unit.h"

static void numbers_are_read_in_little_endian(void **state _unused_)
{
	static const uint8_t data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	struct bytes bytes = bytes_of(data, sizeof(data));

	assert_int_equal(bytes_u8(&bytes), 1);
	assert_int_equal(bytes_u16(&bytes), 0x0302);
	assert_int_equal(bytes_u32(&bytes), 0x07060504);
	assert_true(bytes_u64(&bytes) == 0x0f0e0d0c0b0a0908ull);
	assert_false(bytes.failed);
	assert_int_equal(bytes_left(&bytes), 0);
}

static void reading_past_the_end_fails_for_good(void **state _unused_)
{
	static const uint8_t data[] = {1, 2, 3};
	struct bytes bytes = bytes_of(data, sizeof(data));

	assert_int_equal(bytes_u32(&bytes), 0);
	assert_true(bytes.failed);
	assert_int_equal(bytes_u8(&bytes), 0);
	assert_int_equal(bytes_left(&bytes), 0);
}

static void a_huge_skip_does_not_wrap(void **state _unused_)
{
	static const uint8_t data[] = {1, 2, 3};
	struct bytes bytes = bytes_of(data, sizeof(data));

	bytes_skip(&bytes, 1);
	bytes_skip(&bytes, SIZE_MAX);
	assert_true(bytes.failed);
}

static void a_string_needs_its_nul(void **state _unused_)
{
	struct bytes bytes = bytes_of("ab\0cd", 5);

	assert_string_equal(bytes_string(&bytes), "ab");
	assert_null(bytes_string(&bytes));
	assert_true(bytes.failed);
}

static void an_empty_buffer_gives_nothing(void **state _unused_)
{
	struct bytes bytes = bytes_of(NULL, 0);

	assert_null(bytes_string(&bytes));
	assert_int_equal(bytes_u64(&bytes), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_read_in_little_endian),
		cmocka_unit_test(reading_past_the_end_fails_for_good),
		cmocka_unit_test(a_huge_skip_does_not_wrap),
		cmocka_unit_test(a_string_needs_its_nul),
		cmocka_unit_test(an_empty_buffer_gives_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
