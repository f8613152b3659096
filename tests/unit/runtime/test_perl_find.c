#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/runtime.h"

/* clang-format off */
#include "unit.h"
#include "objfile/elf_writer.h"
#include "unwind/frame_writer.h"
/* clang-format on */

#define TEXT_ADDRESS     0x10000
#define CONSTANT_ADDRESS 0x20000
#define DATA_ADDRESS     0x30000
#define FRAMES_ADDRESS   0x40000
#define EVALUATION       (TEXT_ADDRESS + 0x100)
#define EVALUATION_BYTES 0x40
#define OPERATION        0x200 /* in the code */
#define CATCHER          0x300
#define CATCHER_BYTES    0x20
#define RUNNER           2288 /* of 5.36 */
#define INTERPRETER      (DATA_ADDRESS + 0x40)
#define KEY              (DATA_ADDRESS + 0x20)
#define OPTIONS \
	" HAS_TIMES MULTIPLICITY PERLIO_LAYERS USE_64_BIT_ALL USE_64_BIT_INT USE_ITHREADS USE_PERLIO"

/* Constants of a file that is Perl. */
struct fake_constants {
	uint8_t revision;
	uint8_t version;
	uint16_t size;
	uint16_t first_size;
	uint16_t padding;
	char options[256];
};

struct fake_file {
	struct text symbols;
	struct text names;
	struct fake_constants constants;
	uint8_t code[0x1000];
	uint16_t machine; /* 0: x86-64 */
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

static void add_constant(struct fake_file *file, const char *name, size_t offset, size_t size)
{
	add_symbol(file, name, CONSTANT_ADDRESS + offset, size, 2);
}

/* Without what those with threads have. */
static struct fake_file fake_file(unsigned int version, unsigned int size, unsigned int first_size,
				  const char *options)
{
	static const Elf64_Sym null_symbol;
	struct fake_file file = {.constants = {.revision = 5,
					       .version = (uint8_t)version,
					       .size = (uint16_t)size,
					       .first_size = (uint16_t)first_size}};

	text_append(&file.symbols, &null_symbol, sizeof(null_symbol));
	text_append_char(&file.names, '\0');
	memcpy(file.constants.options, options, strlen(options) + 1);
	add_symbol(&file, "Perl_runops_standard", EVALUATION, EVALUATION_BYTES, 1);
	add_constant(&file, "PL_revision", offsetof(struct fake_constants, revision), 1);
	add_constant(&file, "PL_version", offsetof(struct fake_constants, version), 1);
	add_constant(&file, "PL_interp_size", offsetof(struct fake_constants, size), 2);
	add_constant(&file, "PL_interp_size_5_18_0", offsetof(struct fake_constants, first_size),
		     2);
	add_constant(&file, "PL_bincompat_options", offsetof(struct fake_constants, options),
		     strlen(options) + 1);
	return file;
}

static void add_threads(struct fake_file *file)
{
	add_symbol(file, "PL_curinterp", INTERPRETER, 8, 3);
	add_symbol(file, "PL_thr_key", KEY, 4, 3);
}

/* Returns what runtime_find() does; the file is released. */
static int find(struct fake_file *file, struct runtime_build *ret)
{
	struct elf_writer writer = {.machine = file->machine};
	struct frame_writer frames = {.elf_address = FRAMES_ADDRESS};
	uint8_t data[0x800] = {0};
	struct objfile *objfile;
	struct text bytes;
	int err;
	int fd;

	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT_ADDRESS,
						     .data = file->code,
						     .size = sizeof(file->code)});
	elf_writer_add(&writer, (struct elf_section){.name = ".rodata",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC,
						     .address = CONSTANT_ADDRESS,
						     .data = &file->constants,
						     .size = sizeof(file->constants)});
	elf_writer_add(&writer, (struct elf_section){.name = ".data",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_WRITE,
						     .address = DATA_ADDRESS,
						     .data = data,
						     .size = sizeof(data)});
	frame_writer_add_cie(&frames, &usual_cie);
	frame_writer_add_function(&frames, TEXT_ADDRESS + OPERATION, 0x40, NO_CODE);
	frame_writer_add_function(&frames, TEXT_ADDRESS + CATCHER, CATCHER_BYTES, NO_CODE);
	frame_writer_add_terminator(&frames);
	elf_writer_add(&writer, (struct elf_section){.name = ".eh_frame",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC,
						     .address = FRAMES_ADDRESS,
						     .data = frames.bytes.data,
						     .size = frames.bytes.length});
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
	text_release(&frames.bytes);
	return err;
}

static void a_version_that_is_known_says_where_its_frames_are(void **state _unused_)
{
	static const struct {
		unsigned int minor;
		unsigned int size;
		unsigned int first_size;
		unsigned int phase;
	} versions[] = {
		{32, 3792, 2912, 2532}, {34, 3760, 2880, 2512}, {36, 3768, 2880, 2512},
		{38, 3896, 2752, 2336}, {40, 3768, 2624, 2216},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
		struct fake_file file = fake_file(versions[i].minor, versions[i].size,
						  versions[i].first_size, OPTIONS);
		struct runtime_build build;

		add_threads(&file);
		assert_int_equal(find(&file, &build), 0);
		assert_int_equal(build.support, SUPPORT_KNOWN);
		assert_int_equal(build.runtime, WIRE_RUNTIME_PERL);
		assert_int_equal(build.major, 5);
		assert_int_equal(build.minor, versions[i].minor);
		assert_int_equal(build.state, INTERPRETER);
		assert_int_equal(build.num_eval_parts, 1);
		assert_int_equal(build.eval_parts[0].start, EVALUATION);
		assert_int_equal(build.eval_parts[0].end, EVALUATION + EVALUATION_BYTES);
		assert_int_equal(build.layout.runtime, WIRE_RUNTIME_PERL);
		assert_int_equal(build.layout.perl.key, (uint64_t)KEY - INTERPRETER);
		assert_int_equal(build.layout.perl.phase, versions[i].phase);
	}
}

static void expect_unknown(struct fake_file *file, enum runtime_support support)
{
	static const struct wire_runtime_layout none;
	struct runtime_build build;

	assert_int_equal(find(file, &build), 0);
	assert_int_equal(build.support, support);
	assert_int_equal(build.major, 5);
	assert_memory_equal(&build.layout, &none, sizeof(none));
}

static void other_versions_are_said_and_not_guessed(void **state _unused_)
{
	static const unsigned int versions[] = {8, 30, 31, 33, 37, 41, 42};

	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
		struct fake_file file = fake_file(versions[i], 3768, 2880, OPTIONS);

		add_threads(&file);
		expect_unknown(&file, SUPPORT_UNKNOWN_VERSION);
	}
}

static void a_build_without_threads_is_not_known(void **state _unused_)
{
	struct fake_file file = fake_file(36, 3768, 2880, OPTIONS);
	struct fake_file without_option =
		fake_file(36, 3768, 2880, " MULTIPLICITY USE_64_BIT_INT USE_ITHREADS_TOO");

	expect_unknown(&file, SUPPORT_UNKNOWN_BUILD);
	add_threads(&without_option);
	expect_unknown(&without_option, SUPPORT_UNKNOWN_BUILD);
}

static void a_build_of_another_size_is_not_known(void **state _unused_)
{
	struct fake_file longer = fake_file(36, 3776, 2880, OPTIONS);
	struct fake_file other_start = fake_file(36, 3768, 2888, OPTIONS);
	struct fake_file with_long_numbers = fake_file(36, 3768, 2880, OPTIONS " USE_LONG_DOUBLE");

	add_threads(&longer);
	expect_unknown(&longer, SUPPORT_UNKNOWN_BUILD);
	add_threads(&other_start);
	expect_unknown(&other_start, SUPPORT_UNKNOWN_BUILD);
	add_threads(&with_long_numbers);
	expect_unknown(&with_long_numbers, SUPPORT_UNKNOWN_BUILD);
}

static void another_machine_is_not_known(void **state _unused_)
{
	struct fake_file file = fake_file(36, 3768, 2880, OPTIONS);

	file.machine = EM_AARCH64;
	add_threads(&file);
	expect_unknown(&file, SUPPORT_UNKNOWN_BUILD);
}

/* Code of 5.36 in which an operation hands itself over: displacement of its lea, how it calls, and what is run there. */
static struct fake_file fake_code(int32_t displacement, uint8_t call, const uint8_t *catcher,
				  size_t catcher_size)
{
	struct fake_file file = fake_file(36, 3768, 2880, OPTIONS);
	const uint8_t lea[] = {0x53, 0x48, 0x89, 0xfb, 0x48, 0x8d, 0x35};
	const int32_t distance = CATCHER - (OPERATION + 17);

	add_threads(&file);
	memcpy(file.code + OPERATION, lea, sizeof(lea));
	memcpy(file.code + OPERATION + 7, &displacement, 4);
	file.code[OPERATION + 11] = 0x5b;
	file.code[OPERATION + 12] = call;
	memcpy(file.code + OPERATION + 13, &distance, 4);
	memcpy(file.code + CATCHER + 9, catcher, catcher_size);
	return file;
}

static void expect_catcher(struct fake_file file, bool is_there)
{
	struct runtime_build build;

	assert_int_equal(find(&file, &build), 0);
	assert_int_equal(build.support, SUPPORT_KNOWN);
	assert_int_equal(build.num_eval_parts, 1 + is_there);
	assert_int_equal(build.eval_parts[0].goes_on, 0);
	if (!is_there)
		return;
	assert_int_equal(build.eval_parts[1].start, TEXT_ADDRESS + CATCHER);
	assert_int_equal(build.eval_parts[1].end, TEXT_ADDRESS + CATCHER + CATCHER_BYTES);
	assert_int_equal(build.eval_parts[1].goes_on, 1);
}

/* call *RUNNER(%rbx), call *RUNNER(%r12); others. */
#define RUNS      CODE(0xff, 0x93, RUNNER & 0xff, RUNNER >> 8, 0, 0)
#define RUNS_R12  CODE(0x41, 0xff, 0x94, 0x24, RUNNER & 0xff, RUNNER >> 8, 0, 0)
#define RUNS_ELSE CODE(0xff, 0x93, RUNNER & 0xff, RUNNER >> 8, 1, 0)
#define JUMPS     CODE(0xff, 0xa3, RUNNER & 0xff, RUNNER >> 8, 0, 0)

static void what_operations_hand_themselves_over_to_goes_on_with_their_frames(void **state _unused_)
{
	expect_catcher(fake_code(-11, 0xe9, RUNS), true);
	expect_catcher(fake_code(-11, 0xe8, RUNS_R12), true);
	/* Another function does not run operations; or is handed over another one; or is none. */
	expect_catcher(fake_code(-11, 0xe9, RUNS_ELSE), false);
	expect_catcher(fake_code(-11, 0xe9, JUMPS), false);
	expect_catcher(fake_code(0x100, 0xe9, RUNS), false);
	expect_catcher(fake_code(-0x10000, 0xe9, RUNS), false);
	expect_catcher(fake_code(-11, 0x90, RUNS), false);
}

static void another_file_is_none(void **state _unused_)
{
	static const Elf64_Sym null_symbol;
	struct fake_file with_function = {0};
	struct runtime_build build;

	text_append(&with_function.symbols, &null_symbol, sizeof(null_symbol));
	text_append_char(&with_function.names, '\0');
	add_symbol(&with_function, "Perl_runops_standard", EVALUATION, EVALUATION_BYTES, 1);
	assert_int_equal(find(&with_function, &build), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_version_that_is_known_says_where_its_frames_are),
		cmocka_unit_test(other_versions_are_said_and_not_guessed),
		cmocka_unit_test(a_build_without_threads_is_not_known),
		cmocka_unit_test(a_build_of_another_size_is_not_known),
		cmocka_unit_test(another_machine_is_not_known),
		cmocka_unit_test(what_operations_hand_themselves_over_to_goes_on_with_their_frames),
		cmocka_unit_test(another_file_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
