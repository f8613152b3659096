#include "objfile/dwarf_source.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/attributes.h"
#include "unit.h"

#include "elf_writer.h"

/* A file with debug information that is nothing but these strings. */
static int open_strings(const char *name, uint64_t flags, const void *data, size_t size)
{
	struct elf_writer writer = {0};

	elf_writer_add(&writer,
		       (struct elf_section){
			       .name = ".debug_info", .type = SHT_PROGBITS, .data = "", .size = 1});
	elf_writer_add(&writer, (struct elf_section){.name = name,
						     .type = SHT_PROGBITS,
						     .flags = flags,
						     .data = data,
						     .size = size});
	return elf_writer_open(&writer);
}

static int try_strings(const char *name, uint64_t flags, const void *data, size_t size)
{
	_cleanup_close_ int fd = open_strings(name, flags, data, size);
	struct dwarf_source source = {0};
	int err = dwarf_source_open(fd, "file", &source);

	dwarf_source_close(&source);
	return err;
}

/* A section as compressed data, which claims to have `claimed` bytes. The caller releases it. */
static struct text make_compressed(const void *data, size_t size, uint64_t claimed)
{
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = claimed, .ch_addralign = 1};
	uLongf compressed_size = compressBound(size);
	_cleanup_free_ Bytef *compressed = malloc(compressed_size);
	struct text section = {0};

	assert_int_equal(compress(compressed, &compressed_size, data, size), Z_OK);
	text_append(&section, &header, sizeof(header));
	text_append(&section, compressed, compressed_size);
	return section;
}

static void strings_without_an_end_are_refused(void **state _unused_)
{
	assert_int_equal(try_strings(".debug_line_str", 0, "a\0b", 4), 0);
	assert_int_equal(try_strings(".debug_line_str", 0, "a\0b", 3), -EINVAL);
	assert_int_equal(try_strings(".debug_str", 0, "a\0b", 3), -EINVAL);
	assert_int_equal(try_strings(".debug_line_str", 0, "", 0), 0);
}

static void compressed_strings_without_an_end_are_refused(void **state _unused_)
{
	_cleanup_(text_release) struct text ended = make_compressed("a\0b", 4, 4);
	_cleanup_(text_release) struct text open = make_compressed("a\0b", 3, 3);

	assert_int_equal(try_strings(".debug_str", SHF_COMPRESSED, ended.data, ended.length), 0);
	assert_int_equal(try_strings(".debug_str", SHF_COMPRESSED, open.data, open.length),
			 -EINVAL);
}

static void what_unpacks_out_of_proportion_is_refused(void **state _unused_)
{
	_cleanup_(text_release) struct text bomb = make_compressed("", 1, 1u << 30);
	_cleanup_(text_release) struct text endless = make_compressed("", 1, UINT64_MAX);
	/* As older compilers did it: 1 GiB. */
	const char old[] = "ZLIB\0\0\0\0\x40\0\0\0xx";

	assert_int_equal(try_strings(".debug_str", SHF_COMPRESSED, bomb.data, bomb.length), -EFBIG);
	/* libdw decompresses the link to common parts, too. */
	assert_int_equal(try_strings(".gnu_debugaltlink", SHF_COMPRESSED, bomb.data, bomb.length),
			 -EFBIG);
	assert_int_equal(try_strings(".debug_str", SHF_COMPRESSED, endless.data, endless.length),
			 -EFBIG);
	assert_int_equal(try_strings(".zdebug_str", 0, old, sizeof(old)), -EFBIG);
}

static void closing_gives_back_what_was_unpacked(void **state _unused_)
{
	const size_t size = 900u << 10;
	_cleanup_free_ char *zeros = calloc(1, size);
	_cleanup_(text_release) struct text compressed = make_compressed(zeros, size, size);
	_cleanup_close_ int fd =
		open_strings(".debug_str", SHF_COMPRESSED, compressed.data, compressed.length);
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	struct dwarf_source source;

	assert_int_equal(dwarf_source_open(fd, "file", &source), 0);
	assert_int_equal(source.size, size + 1);
	dwarf_source_close(&source);
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < before + (64u << 10));
}

static void libdw_can_start_again(void **state _unused_)
{
	_cleanup_(text_release) struct text compressed = make_compressed("a\0b", 4, 4);
	_cleanup_close_ int fd =
		open_strings(".debug_str", SHF_COMPRESSED, compressed.data, compressed.length);
	struct dwarf_source source;

	assert_int_equal(dwarf_source_open(fd, "file", &source), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(dwarf_source_drop(&source), 0);
		assert_non_null(source.dwarf);
		assert_string_equal(dwarf_getstring(source.dwarf, 2, NULL), "b");
	}
	dwarf_source_close(&source);
	assert_int_equal(dwarf_source_drop(&source), 0); /* closed: nothing to drop */
	assert_null(source.dwarf);
}

static void a_file_without_debug_information_has_none(void **state _unused_)
{
	struct dwarf_source source;
	struct elf_writer writer = {0};
	_cleanup_close_ int fd = elf_writer_open(&writer);
	_cleanup_close_ int other = open_bytes("text", 4);

	assert_int_equal(dwarf_source_open(fd, "file", &source), -ENODATA);
	assert_int_equal(dwarf_source_open(other, "file", &source), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_without_an_end_are_refused),
		cmocka_unit_test(compressed_strings_without_an_end_are_refused),
		cmocka_unit_test(what_unpacks_out_of_proportion_is_refused),
		cmocka_unit_test(closing_gives_back_what_was_unpacked),
		cmocka_unit_test(libdw_can_start_again),
		cmocka_unit_test(a_file_without_debug_information_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
