#include "runtime/hotspot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "hotspot_file.h"

/* As runtime_find(). */
static int find(const struct hotspot_file *file, struct runtime_build *ret)
{
	struct objfile *objfile;
	int fd = hotspot_file_open(file);
	int err;

	assert_int_equal(objfile_open(fd, "file", NULL, &objfile, NULL), 0);
	close(fd);
	memset(ret, 0xff, sizeof(*ret));
	err = runtime_find(objfile, ret);
	objfile_unref(objfile);
	return err;
}

static void check_found(const struct hotspot_file *file)
{
	struct runtime_build build;

	assert_int_equal(find(file, &build), 0);
	assert_int_equal(build.runtime, WIRE_RUNTIME_HOTSPOT);
	assert_int_equal(build.support, SUPPORT_BY_PROCESS);
	assert_int_equal(build.hotspot.structs, 0x20020);
	assert_int_equal(build.hotspot.types, 0x20018);
	assert_int_equal(build.hotspot.int_constants, 0x20010);
}

static void its_variables_are_found(void **state)
{
	struct hotspot_file file = hotspot_file_whole;

	(void)state;
	check_found(&file);
	/* A launcher that has it linked into it. */
	file.symbols_type = SHT_SYMTAB;
	check_found(&file);
}

static void check_none(const struct hotspot_file *file)
{
	struct runtime_build build;

	assert_int_equal(find(file, &build), -ENOENT);
}

static void without_one_of_them_there_is_none(void **state)
{
	static const struct hotspot_file other = {.symbols = {{"main", 0x20010, 1}}};

	(void)state;
	check_none(&other);
	for (unsigned int i = 0; i < 3; i++) {
		struct hotspot_file file = hotspot_file_whole;

		file.symbols[i].name = "gHotSpotVMOther";
		check_none(&file);
		file = hotspot_file_whole;
		file.symbols[i].address = 0;
		check_none(&file);
	}
}

static void what_asks_for_them_has_none(void **state)
{
	static const uint16_t sections[] = {SHN_UNDEF, SHN_ABS};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(sections); i++) {
		struct hotspot_file file = hotspot_file_whole;

		for (unsigned int j = 0; j < 3; j++)
			file.symbols[j].section = sections[i];
		check_none(&file);
	}
}

static void that_of_another_machine_is_none(void **state)
{
	struct hotspot_file file = hotspot_file_whole;

	(void)state;
	file.machine = EM_AARCH64;
	check_none(&file);
}

static void a_name_that_goes_on_is_another(void **state)
{
	static const struct hotspot_file file = {
		.symbols = {{HOTSPOT_INT_CONSTANTS_NAME, 0x20010, 1},
			    {HOTSPOT_TYPES_NAME, 0x20018, 1},
			    {HOTSPOT_STRUCTS_NAME, 0x20020, 1},
			    {HOTSPOT_STRUCTS_NAME "EntryArrayStride", 0x20028, 1},
			    {HOTSPOT_TYPES_NAME "s", 0x20030, 1},
			    {HOTSPOT_INT_CONSTANTS_NAME "_", 0x20038, 1}},
	};

	(void)state;
	check_found(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_variables_are_found),
		cmocka_unit_test(without_one_of_them_there_is_none),
		cmocka_unit_test(what_asks_for_them_has_none),
		cmocka_unit_test(that_of_another_machine_is_none),
		cmocka_unit_test(a_name_that_goes_on_is_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
