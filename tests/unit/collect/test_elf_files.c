#include "collect/elf/elf_files.c"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "failing_memory.h"
#include "hotspot_file.h"

/* Returns what elf_files_read_build_id() does. */
static int ask(struct elf_files *files, int fd)
{
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint8_t size;

	return elf_files_read_build_id(files, fd, build_id, &size);
}

static void a_file_says_where_its_hotspot_describes_itself(void **state)
{
	struct elf_files *files;
	struct mapped_file mapped = {.fd = hotspot_file_open(&hotspot_file_whole)};
	const struct mapped_file unknown = {.fd = -1};
	const struct runtime_build *build;

	(void)state;
	assert_int_equal(elf_files_new(geteuid(), &files), 0);
	assert_null(elf_files_get_runtime(files, &mapped));
	assert_int_equal(ask(files, mapped.fd), -ENODATA);
	build = elf_files_get_runtime(files, &mapped);
	assert_non_null(build);
	assert_int_equal(build->runtime, WIRE_RUNTIME_HOTSPOT);
	assert_int_equal(build->hotspot.structs, 0x20020);
	assert_int_equal(build->hotspot.types, 0x20018);
	assert_int_equal(build->hotspot.int_constants, 0x20010);
	assert_null(elf_files_get_runtime(files, &unknown));
	close(mapped.fd);
	elf_files_free(files);
}

static void another_file_with_its_descriptor_has_none(void **state)
{
	struct elf_files *files;
	struct hotspot_file other = hotspot_file_whole;
	struct mapped_file mapped = {.fd = hotspot_file_open(&hotspot_file_whole)};
	int fd;

	(void)state;
	other.symbols[2].name = "main";
	fd = hotspot_file_open(&other);
	assert_int_equal(elf_files_new(geteuid(), &files), 0);
	assert_int_equal(ask(files, mapped.fd), -ENODATA);
	assert_non_null(elf_files_get_runtime(files, &mapped));
	assert_int_equal(dup2(fd, mapped.fd), mapped.fd);
	assert_int_equal(ask(files, mapped.fd), -ENODATA);
	assert_null(elf_files_get_runtime(files, &mapped));
	close(fd);
	close(mapped.fd);
	elf_files_free(files);
}

static void a_file_has_a_runtime_that_is_known_by_name(void **state)
{
	static const struct hotspot_file file = {
		.symbols = {{"erl_start", 0x20010, 1}, {"enif_make_atom", 0x20018, 1}}};
	struct elf_files *files;
	struct mapped_file mapped = {.fd = hotspot_file_open(&file)};
	const struct mapped_file unknown = {.fd = -1};
	int fd = hotspot_file_open(&hotspot_file_whole);

	(void)state;
	assert_int_equal(elf_files_new(geteuid(), &files), 0);
	assert_null(elf_files_get_runtime(files, &mapped));
	assert_int_equal(ask(files, mapped.fd), -ENODATA);
	assert_null(elf_files_get_runtime(files, &unknown));
	assert_int_equal(elf_files_get_runtime(files, &mapped)->runtime, WIRE_RUNTIME_BEAM);
	assert_int_equal(dup2(fd, mapped.fd), mapped.fd);
	assert_int_equal(ask(files, mapped.fd), -ENODATA);
	assert_int_equal(elf_files_get_runtime(files, &mapped)->runtime, WIRE_RUNTIME_HOTSPOT);
	close(fd);
	close(mapped.fd);
	elf_files_free(files);
}

/* There is room for it, whose memory nobody has written. */
static void a_descriptor_above_all_others_has_no_facts(void **state)
{
	struct elf_files *files;
	int fd = hotspot_file_open(&hotspot_file_whole);
	struct mapped_file mapped = {.fd = fcntl(fd, F_DUPFD_CLOEXEC, 40)};
	const struct objfile_layout *layout;

	(void)state;
	assert_int_equal(elf_files_new(geteuid(), &files), 0);
	assert_int_equal(ask(files, mapped.fd), -ENODATA);
	assert_int_equal(files->facts.length, mapped.fd + 1);
	assert_true(files->facts.capacity > files->facts.length);
	memset(files->facts.items + files->facts.length, 0x5a,
	       (files->facts.capacity - files->facts.length) * sizeof(*files->facts.items));
	assert_int_equal(elf_files_get_layout(files, &mapped, &layout), 0);
	assert_true(layout->segments.length > 0);
	assert_non_null(elf_files_get_runtime(files, &mapped));
	close(mapped.fd++);
	assert_int_equal(elf_files_get_layout(files, &mapped, &layout), -ENOENT);
	assert_null(elf_files_get_runtime(files, &mapped));
	elf_files_free(files);
	close(fd);
}

/* What is known of a file that lacked memory is read again. */
static void a_file_that_lacked_memory_can_be_read_again(void **state)
{
	struct elf_files *files;
	struct mapped_file mapped = {.fd = hotspot_file_open(&hotspot_file_whole)};
	const struct objfile_layout *layout;
	int64_t num_before = 0;

	(void)state;
	for (;; num_before++) {
		int err;
		bool is_short;

		assert_int_equal(elf_files_new(geteuid(), &files), 0);
		failing_memory_start(num_before);
		err = ask(files, mapped.fd);
		is_short = failing_memory_end();
		assert_int_equal(err, is_short ? -ENOMEM : -ENODATA);
		assert_int_equal(ask(files, mapped.fd), -ENODATA);
		assert_int_equal(elf_files_get_layout(files, &mapped, &layout), 0);
		assert_int_equal(layout->segments.length, 1);
		assert_non_null(elf_files_get_runtime(files, &mapped));
		elf_files_free(files);
		if (!is_short)
			break;
	}
	assert_true(num_before > 2);
	close(mapped.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_says_where_its_hotspot_describes_itself),
		cmocka_unit_test(a_file_has_a_runtime_that_is_known_by_name),
		cmocka_unit_test(another_file_with_its_descriptor_has_none),
		cmocka_unit_test(a_descriptor_above_all_others_has_no_facts),
		cmocka_unit_test(a_file_that_lacked_memory_can_be_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
