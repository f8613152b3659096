#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* clang-format off */
#include "unit.h"
#include "objfile/elf_writer.h"
/* clang-format on */

#define TEXT_ADDRESS     0x10000
#define CONSTANT_ADDRESS 0x20000
#define DATA_ADDRESS     0x30000
#define EVALUATION       (TEXT_ADDRESS + 0x100)
#define EVALUATION_BYTES 0x400
#define GLOBALS          (DATA_ADDRESS + 0x40)

/* A file that may be PHP. */
struct fake_file {
	struct text symbols;
	struct text names;
	const char *constants;
};

static void add_symbol(struct fake_file *file, const char *name, uint64_t address, uint64_t size,
		       uint16_t section)
{
	Elf64_Sym symbol = {
		.st_name = (uint32_t)file->names.length,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, section == 1 ? STT_FUNC : STT_OBJECT),
		.st_shndx = section,
		.st_value = address,
		.st_size = size,
	};

	text_append(&file->symbols, &symbol, sizeof(symbol));
	text_append(&file->names, name, strlen(name) + 1);
}

static struct fake_file fake_file(const char *constants)
{
	static const Elf64_Sym null_symbol;
	struct fake_file file = {.constants = constants};

	text_append(&file.symbols, &null_symbol, sizeof(null_symbol));
	text_append_char(&file.names, '\0');
	return file;
}

/* Returns what runtime_find() does; the file is released. */
static int find(struct fake_file *file, struct runtime_build *ret)
{
	struct elf_writer writer = {0};
	uint8_t text[0x1000] = {0};
	uint8_t data[0x800] = {0};
	struct objfile *objfile;
	struct text bytes;
	int err;
	int fd;

	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT_ADDRESS,
						     .data = text,
						     .size = sizeof(text)});
	elf_writer_add(&writer, (struct elf_section){.name = ".rodata",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC,
						     .address = CONSTANT_ADDRESS,
						     .data = file->constants,
						     .size = strlen(file->constants)});
	elf_writer_add(&writer, (struct elf_section){.name = ".data",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_WRITE,
						     .address = DATA_ADDRESS,
						     .data = data,
						     .size = sizeof(data)});
	elf_writer_add_symbols(&writer, file->symbols.data, file->symbols.length, file->names.data,
			       file->names.length);
	bytes = elf_writer_write(&writer);
	fd = open_bytes(bytes.data, bytes.length);
	text_release(&bytes);
	assert_int_equal(objfile_open(fd, "file", NULL, &objfile, NULL), 0);
	close(fd);
	err = runtime_find(objfile, ret);
	objfile_unref(objfile);
	text_release(&file->symbols);
	text_release(&file->names);
	return err;
}

static int find_version(const char *constants, struct runtime_build *ret)
{
	struct fake_file file = fake_file(constants);

	add_symbol(&file, "execute_ex", EVALUATION, EVALUATION_BYTES, 1);
	add_symbol(&file, "executor_globals", GLOBALS, 0x700, 3);
	return find(&file, ret);
}

static void a_version_that_is_known_says_where_its_frames_are(void **state _unused_)
{
	static const struct {
		const char *text;
		unsigned int major;
		unsigned int minor;
		unsigned int current;
		unsigned int file;
	} versions[] = {
		{"7.4.33", 7, 4, 488, 136},         {"8.0.30", 8, 0, 488, 144},
		{"8.1.2-1ubuntu2", 8, 1, 488, 144}, {"8.2.36", 8, 2, 488, 152},
		{"8.3.0", 8, 3, 488, 144},          {"8.4.27", 8, 4, 488, 168},
		{"8.5.7", 8, 5, 512, 168},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
		struct text constants = {0};
		struct runtime_build build;

		text_printf(&constants, "a constant. X-Powered-By: PHP/%s and more",
			    versions[i].text);
		assert_int_equal(find_version(constants.data, &build), 0);
		text_release(&constants);
		assert_int_equal(build.support, SUPPORT_KNOWN);
		assert_int_equal(build.runtime, WIRE_RUNTIME_PHP);
		assert_int_equal(build.major, versions[i].major);
		assert_int_equal(build.minor, versions[i].minor);
		assert_int_equal(build.state, GLOBALS);
		assert_int_equal(build.num_eval_parts, 1);
		assert_int_equal(build.eval_parts[0].start, EVALUATION);
		assert_int_equal(build.eval_parts[0].end, EVALUATION + EVALUATION_BYTES);
		assert_int_equal(build.layout.runtime, WIRE_RUNTIME_PHP);
		assert_int_equal(build.layout.php.current, versions[i].current);
		assert_int_equal(build.layout.php.function_file, versions[i].file);
	}
}

static void other_versions_are_said_and_not_guessed(void **state _unused_)
{
	static const char *const constants[] = {
		"X-Powered-By: PHP/8.9.1", "X-Powered-By: PHP/7.3.1", "X-Powered-By: PHP/10.0.0"};
	static const struct wire_runtime_layout none;

	for (size_t i = 0; i < ARRAY_LENGTH(constants); i++) {
		struct runtime_build build;

		assert_int_equal(find_version(constants[i], &build), 0);
		assert_int_equal(build.support, SUPPORT_UNKNOWN_VERSION);
		assert_int_not_equal(build.major, 0);
		assert_memory_equal(&build.layout, &none, sizeof(none));
	}
}

static void without_a_version_it_is_not_known(void **state _unused_)
{
	static const char *const constants[] = {"nothing",
						"X-Powered-By: PHP/",
						"X-Powered-By: PHP/8",
						"X-Powered-By: PHP/8.",
						"X-Powered-By: PHP/8.4",
						"X-Powered-By: PHP/88888.4.1"};

	for (size_t i = 0; i < ARRAY_LENGTH(constants); i++) {
		struct runtime_build build;

		assert_int_equal(find_version(constants[i], &build), 0);
		assert_int_equal(build.support, SUPPORT_UNKNOWN_VERSION);
		assert_int_equal(build.major, 0);
		assert_int_equal(build.minor, 0);
	}
}

static void a_build_for_several_threads_is_not_known(void **state _unused_)
{
	struct fake_file file = fake_file("X-Powered-By: PHP/8.2.1");
	struct runtime_build build;

	add_symbol(&file, "execute_ex", EVALUATION, EVALUATION_BYTES, 1);
	add_symbol(&file, "executor_globals_offset", GLOBALS, 8, 3);
	assert_int_equal(find(&file, &build), 0);
	assert_int_equal(build.support, SUPPORT_UNKNOWN_BUILD);
	assert_int_equal(build.major, 8);
	assert_int_equal(build.minor, 2);
}

static void another_file_is_none(void **state _unused_)
{
	struct fake_file without_globals = fake_file("X-Powered-By: PHP/8.2.1");
	struct fake_file without_code = fake_file("X-Powered-By: PHP/8.2.1");
	struct fake_file with_data = fake_file("X-Powered-By: PHP/8.2.1");
	struct runtime_build build;

	add_symbol(&without_globals, "execute_ex", EVALUATION, EVALUATION_BYTES, 1);
	assert_int_equal(find(&without_globals, &build), -ENOENT);
	add_symbol(&without_code, "executor_globals", GLOBALS, 0x700, 3);
	assert_int_equal(find(&without_code, &build), -ENOENT);
	add_symbol(&with_data, "executor_globals", GLOBALS, 0x700, 3);
	add_symbol(&with_data, "execute_ex", DATA_ADDRESS, 8, 3);
	assert_int_equal(find(&with_data, &build), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_version_that_is_known_says_where_its_frames_are),
		cmocka_unit_test(other_versions_are_said_and_not_guessed),
		cmocka_unit_test(without_a_version_it_is_not_known),
		cmocka_unit_test(a_build_for_several_threads_is_not_known),
		cmocka_unit_test(another_file_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
