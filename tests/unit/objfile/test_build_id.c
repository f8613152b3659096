#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "elf_writer.h"
#include "objfile/objfile.h"

static const uint8_t build_id_note[] = {4, 0, 0,   0,   3,   0, 0,    0,    3,    0,
					0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef, 0};
static const uint8_t other_note[] = {4, 0, 0,   0,   1,   0, 0, 0, 1, 0,
				     0, 0, 'G', 'N', 'U', 0, 9, 0, 0, 0};

static void the_build_id_note_is_found(void **state)
{
	uint8_t id[BUILD_ID_SIZE_MAX];
	uint8_t size;

	(void)state;
	assert_int_equal(build_id_read_notes(build_id_note, sizeof(build_id_note), 4, id, &size),
			 0);
	assert_int_equal(size, 3);
	assert_memory_equal(id, "\xab\xcd\xef", 3);
}

static void other_notes_are_stepped_over(void **state)
{
	uint8_t notes[sizeof(other_note) + sizeof(build_id_note)];
	uint8_t id[BUILD_ID_SIZE_MAX];
	uint8_t size;

	(void)state;
	memcpy(notes, other_note, sizeof(other_note));
	memcpy(notes + sizeof(other_note), build_id_note, sizeof(build_id_note));
	assert_int_equal(build_id_read_notes(notes, sizeof(notes), 4, id, &size), 0);
	assert_int_equal(size, 3);
}

static void notes_of_eight_byte_alignment_are_read(void **state)
{
	uint8_t notes[24 + sizeof(build_id_note)] = {0};
	uint8_t id[BUILD_ID_SIZE_MAX];
	uint8_t size;

	(void)state;
	memcpy(notes, other_note, sizeof(other_note));
	memcpy(notes + 24, build_id_note, sizeof(build_id_note));
	assert_int_equal(build_id_read_notes(notes, sizeof(notes), 8, id, &size), 0);
	assert_int_equal(size, 3);
}

static void padding_may_lack_at_the_end(void **state)
{
	uint8_t id[BUILD_ID_SIZE_MAX];
	uint8_t size;

	(void)state;
	assert_int_equal(
		build_id_read_notes(build_id_note, sizeof(build_id_note) - 1, 4, id, &size), 0);
	assert_int_equal(size, 3);
}

static void a_long_build_id_is_truncated(void **state)
{
	uint8_t note[16 + 32] = {4, 0, 0, 0, 32, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
	uint8_t id[BUILD_ID_SIZE_MAX];
	uint8_t size;

	(void)state;
	assert_int_equal(build_id_read_notes(note, sizeof(note), 4, id, &size), 0);
	assert_int_equal(size, BUILD_ID_SIZE_MAX);
}

static void notes_without_a_build_id_say_so(void **state)
{
	uint8_t id[BUILD_ID_SIZE_MAX];
	uint8_t size;

	(void)state;
	assert_int_equal(build_id_read_notes(other_note, sizeof(other_note), 4, id, &size),
			 -ENODATA);
	assert_int_equal(build_id_read_notes(other_note, 0, 4, id, &size), -ENODATA);
}

static void sizes_beyond_the_end_are_malformed(void **state)
{
	uint8_t note[sizeof(build_id_note)];
	uint8_t id[BUILD_ID_SIZE_MAX];
	uint8_t size;

	(void)state;
	memcpy(note, build_id_note, sizeof(note));
	memset(note, 0xff, 4);
	assert_int_equal(build_id_read_notes(note, sizeof(note), 4, id, &size), -EINVAL);
	memcpy(note, build_id_note, sizeof(note));
	memset(note + 4, 0xff, 4);
	assert_int_equal(build_id_read_notes(note, sizeof(note), 4, id, &size), -EINVAL);
	assert_int_equal(build_id_read_notes(note, sizeof(note), 16, id, &size), -EINVAL);
}

static int open_elf_with_note(void)
{
	struct elf_writer writer = {0};

	elf_writer_add(&writer, (struct elf_section){.name = ".note.gnu.build-id",
						     .type = SHT_NOTE,
						     .flags = SHF_ALLOC,
						     .data = build_id_note,
						     .size = sizeof(build_id_note)});
	return elf_writer_open(&writer);
}

static void the_build_id_of_a_file_is_read_and_its_position_stays(void **state)
{
	uint8_t id[BUILD_ID_SIZE_MAX];
	uint8_t size;
	int fd = open_elf_with_note();

	(void)state;
	assert_int_equal(lseek(fd, 7, SEEK_SET), 7);
	assert_int_equal(build_id_read_fd(fd, id, &size), 0);
	assert_int_equal(size, 3);
	assert_memory_equal(id, "\xab\xcd\xef", 3);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 7);
	close(fd);
}

static void a_relocatable_file_has_its_note_in_a_section_only(void **state)
{
	uint8_t id[BUILD_ID_SIZE_MAX];
	uint8_t size;
	int fd = open_elf_with_note();
	uint16_t no_segments = 0;

	(void)state;
	assert_int_equal(pwrite(fd, &no_segments, 2, offsetof(Elf64_Ehdr, e_phnum)), 2);
	assert_int_equal(build_id_read_fd(fd, id, &size), 0);
	assert_int_equal(size, 3);
	close(fd);
}

static void a_file_that_is_not_elf_is_refused(void **state)
{
	uint8_t id[BUILD_ID_SIZE_MAX];
	uint8_t size;
	int fd = open_bytes("#!/bin/sh\n", 10);

	(void)state;
	assert_int_equal(build_id_read_fd(fd, id, &size), -ENOEXEC);
	close(fd);
	fd = open_bytes("", 0);
	assert_int_equal(build_id_read_fd(fd, id, &size), -ENOEXEC);
	close(fd);
}

static void headers_that_point_outside_the_file_are_invalid(void **state)
{
	uint8_t id[BUILD_ID_SIZE_MAX];
	uint8_t size;
	int fd = open_elf_with_note();

	(void)state;
	assert_int_equal(ftruncate(fd, sizeof(Elf64_Ehdr) + 10), 0);
	assert_int_equal(build_id_read_fd(fd, id, &size), -EINVAL);
	assert_int_equal(ftruncate(fd, 20), 0);
	assert_int_equal(build_id_read_fd(fd, id, &size), -ENOEXEC);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_build_id_note_is_found),
		cmocka_unit_test(other_notes_are_stepped_over),
		cmocka_unit_test(notes_of_eight_byte_alignment_are_read),
		cmocka_unit_test(padding_may_lack_at_the_end),
		cmocka_unit_test(a_long_build_id_is_truncated),
		cmocka_unit_test(notes_without_a_build_id_say_so),
		cmocka_unit_test(sizes_beyond_the_end_are_malformed),
		cmocka_unit_test(the_build_id_of_a_file_is_read_and_its_position_stays),
		cmocka_unit_test(a_relocatable_file_has_its_note_in_a_section_only),
		cmocka_unit_test(a_file_that_is_not_elf_is_refused),
		cmocka_unit_test(headers_that_point_outside_the_file_are_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
