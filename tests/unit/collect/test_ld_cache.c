#include "collect/elf/ld_cache.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/text.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

#if defined(__x86_64__)
#define OURS   0x0303
#define OTHERS 0x0803 /* of 32 bits */
#else
#define OURS   0x0a03
#define OTHERS 0x0903
#endif

#define HEADER_BYTES 48
#define ENTRY_BYTES  24

static const struct {
	uint32_t flags;
	const char *library;
	const char *path;
} libraries[] = {
	{OTHERS, "libc.so.6", "/lib32/libc.so.6"},
	{OURS, "libz.so.1", "/lib/libz.so.1"},
	{OURS, "libpthread.so.0", "/lib/libpthread.so.0"},
	{OURS, "libc.so.6", "/lib/libc.so.6"},
	{OURS, "libcrypto.so.3", "/lib/libcrypto.so.3"},
	{OURS, "libcrypto.so.1.1", "/lib/libcrypto.so.1.1"},
	{OURS, "ld-linux.so.2", "/lib/ld-linux.so.2"},
};

static void append_number(struct text *text, uint32_t number)
{
	text_append(text, &number, sizeof(number));
}

static struct text write_cache(void)
{
	size_t offset = HEADER_BYTES + ARRAY_LENGTH(libraries) * ENTRY_BYTES;
	struct text strings = {0};
	struct text cache = {0};

	text_append_string(&cache, "glibc-ld.so.cache1.1");
	append_number(&cache, ARRAY_LENGTH(libraries));
	while (cache.length < HEADER_BYTES)
		text_append_char(&cache, '\0');
	for (size_t i = 0; i < ARRAY_LENGTH(libraries); i++) {
		append_number(&cache, libraries[i].flags);
		append_number(&cache, (uint32_t)(offset + strings.length));
		text_append(&strings, libraries[i].library, strlen(libraries[i].library) + 1);
		append_number(&cache, (uint32_t)(offset + strings.length));
		text_append(&strings, libraries[i].path, strlen(libraries[i].path) + 1);
		for (int j = 0; j < 3; j++)
			append_number(&cache, 0);
	}
	text_append(&cache, strings.data, strings.length);
	text_release(&strings);
	return cache;
}

static void libraries_are_found_as_people_call_them(void **state _unused_)
{
	static const char *const cases[][2] = {
		{"libc", "/lib/libc.so.6"},
		{"c", "/lib/libc.so.6"},
		{"libc.so.6", "/lib/libc.so.6"},
		{"pthread", "/lib/libpthread.so.0"},
		{"z", "/lib/libz.so.1"},
		{"libcrypto", "/lib/libcrypto.so.3"},
		{"libcrypto.so.1.1", "/lib/libcrypto.so.1.1"},
		{"ld-linux", "/lib/ld-linux.so.2"},
	};
	struct text cache = write_cache();

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const char *path;

		assert_int_equal(ld_cache_find(cache.data, cache.length, cases[i][0], &path), 0);
		assert_string_equal(path, cases[i][1]);
	}
	text_release(&cache);
}

static void others_are_not(void **state _unused_)
{
	static const char *const names[] = {"lib", "cryp", "libc.so.5", "libcrypt", "linux", ""};
	struct text cache = write_cache();
	const char *path;

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		assert_int_equal(ld_cache_find(cache.data, cache.length, names[i], &path), -ENOENT);
	text_release(&cache);
}

/* An older format comes first, whose size differs. */
static void offsets_are_from_the_start_of_the_newer_format(void **state _unused_)
{
	struct text cache = write_cache();
	struct text both = {0};
	const char *path;

	text_append_string(&both, "ld.so-1.7.0 and what belongs to it");
	text_append(&both, cache.data, cache.length);
	assert_int_equal(ld_cache_find(both.data, both.length, "libc", &path), 0);
	assert_string_equal(path, "/lib/libc.so.6");
	text_release(&both);
	text_release(&cache);
}

static void a_truncated_cache_is_refused(void **state _unused_)
{
	struct text cache = write_cache();
	const char *path;

	for (size_t size = 0; size < HEADER_BYTES + 3 * ENTRY_BYTES; size++)
		assert_int_equal(ld_cache_find(cache.data, size, "libc", &path), -EINVAL);
	text_release(&cache);
}

static void libraries_are_known_by_parts_of_their_names(void **state _unused_)
{
	assert_int_equal(library_match_name("libc.so.6", "libc.so.6"), LIBRARY_IS_IT);
	assert_int_equal(library_match_name("libc.so.6", "libc"), LIBRARY_HAS_NAME);
	assert_int_equal(library_match_name("libc.so.6", "c"), LIBRARY_HAS_NAME);
	assert_int_equal(library_match_name("libcap.so.2", "c"), LIBRARY_IS_OTHER);
	assert_int_equal(library_match_name("libc.so.6", "libc.so"), LIBRARY_IS_OTHER);
	/* musl's */
	assert_int_equal(library_match_name("ld-musl-x86_64.so.1", "libc"), LIBRARY_HAS_NAME);
	assert_int_equal(library_match_name("ld-musl-x86_64.so.1", "libcap"), LIBRARY_IS_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libraries_are_known_by_parts_of_their_names),
		cmocka_unit_test(libraries_are_found_as_people_call_them),
		cmocka_unit_test(others_are_not),
		cmocka_unit_test(offsets_are_from_the_start_of_the_newer_format),
		cmocka_unit_test(a_truncated_cache_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
