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
#define TEXT_BYTES       0x6000
#define CONSTANT_ADDRESS 0x20000
#define DATA_ADDRESS     0x30000
#define FRAMES_ADDRESS   0x40000
#define CONTEXT          (DATA_ADDRESS + 0x40)
#define THREAD_INDEX     (DATA_ADDRESS + 0x80)
#define SYMBOLS          (DATA_ADDRESS + 0xc0)

/* Offsets of functions. */
#define ERROR_GETTER  0x100
#define COUNT_GETTER  0x200
#define TABLE_GETTER  0x300
#define EVALUATION    0x400
#define EVALUATION_2  0x600
#define PUSH          0x800
#define PUSH_2        0x840
#define CORE          0x1000
#define CORE_BYTES    0x2400
#define OTHER_CORE    0x3800
#define MAX_FUNCTIONS 8

/* A file that may be Ruby. */
struct fake_file {
	struct text symbols;
	struct text names;
	const char *version;
	uint8_t text[TEXT_BYTES];
	struct {
		uint32_t start;
		uint32_t end;
	} functions[MAX_FUNCTIONS];
	size_t num_functions;
};

static void add_symbol(struct fake_file *file, const char *name, uint64_t address, uint16_t section)
{
	Elf64_Sym symbol = {
		.st_name = (uint32_t)file->names.length,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, section == 1 ? STT_FUNC : STT_OBJECT),
		.st_shndx = section,
		.st_value = address,
		.st_size = 8,
	};

	text_append(&file->symbols, &symbol, sizeof(symbol));
	text_append(&file->names, name, strlen(name) + 1);
}

static void add_function(struct fake_file *file, uint32_t start, uint32_t end)
{
	assert_true(file->num_functions < MAX_FUNCTIONS);
	file->functions[file->num_functions].start = start;
	file->functions[file->num_functions++].end = end;
}

/* An instruction whose last four bytes say how far it is from its end to a target. Returns its end. */
static uint32_t put_relative(struct fake_file *file, uint32_t at, const char *bytes,
			     size_t num_bytes, uint64_t target)
{
	uint32_t end = at + (uint32_t)num_bytes + 4;
	int32_t distance = (int32_t)(target - (TEXT_ADDRESS + end));

	memcpy(file->text + at, bytes, num_bytes);
	memcpy(file->text + at + num_bytes, &distance, sizeof(distance));
	return end;
}

/* It gives the thread's current error. */
static void put_error_getter(struct fake_file *file)
{
	uint32_t at = ERROR_GETTER;

	memcpy(file->text + at, "\xf3\x0f\x1e\xfa\x48\x83\xec\x08", 8);
	at = put_relative(file, at + 8, "\x66\x48\x8d\x3d", 4, THREAD_INDEX);
	put_relative(file, at, "\x66\x66\x48\xe8", 4, TEXT_ADDRESS);
	add_symbol(file, "rb_errinfo", TEXT_ADDRESS + ERROR_GETTER, 1);
}

static void put_count_getter(struct fake_file *file, bool has_mark)
{
	uint32_t at = COUNT_GETTER;

	if (has_mark) {
		memcpy(file->text + at, "\xf3\x0f\x1e\xfa", 4);
		at += 4;
	}
	at = put_relative(file, at, "\x8b\x05", 2, SYMBOLS);
	file->text[at] = 0xc3;
	add_symbol(file, "rb_sym_immortal_count", TEXT_ADDRESS + COUNT_GETTER, 1);
}

/* It asks for the addresses of the instructions. */
static void put_table_getter(struct fake_file *file, uint32_t at, uint32_t core)
{
	uint32_t end;

	memcpy(file->text + at, "\xf3\x0f\x1e\xfa", 4);
	end = put_relative(file, at + 4, "\x31\xff\xe9", 3, TEXT_ADDRESS + core);
	add_function(file, at, end);
}

/* It makes the address of a frame, has the context point to it, writes it, and returns. */
static void put_push(struct fake_file *file, uint8_t frame_bytes)
{
	uint8_t code[] = {0x48, 0x8d, 0x72, (uint8_t)-frame_bytes, /* lea …(%rdx),%rsi */
			  0x48, 0x89, 0x77, 0x10,                  /* mov %rsi,16(%rdi) */
			  0x48, 0x89, 0x5a, (uint8_t)-frame_bytes, /* mov %rbx,…(%rdx) */
			  0xc3};

	memcpy(file->text + PUSH, code, sizeof(code));
}

static void put_evaluation(struct fake_file *file, uint32_t at, uint32_t core)
{
	put_relative(file, at + 0x20, "\xe8", 1, TEXT_ADDRESS + core);
	add_function(file, at, at + 0x100);
}

static struct fake_file *fake_file(const char *version)
{
	static const Elf64_Sym null_symbol;
	struct fake_file *file = calloc(1, sizeof(*file));

	assert_non_null(file);
	file->version = version;
	text_append(&file->symbols, &null_symbol, sizeof(null_symbol));
	text_append_char(&file->names, '\0');
	return file;
}

/* All that a version has. */
static struct fake_file *whole_file(const char *version)
{
	struct fake_file *file = fake_file(version);

	add_symbol(file, "ruby_version", CONSTANT_ADDRESS, 2);
	add_symbol(file, "ruby_current_execution_context_ptr", CONTEXT, 3);
	put_error_getter(file);
	put_count_getter(file, true);
	put_table_getter(file, TABLE_GETTER, CORE);
	put_evaluation(file, EVALUATION, CORE);
	add_function(file, CORE, CORE + CORE_BYTES);
	put_push(file, string_starts_with(version, "3.1") || string_starts_with(version, "3.2")
			       ? 64
			       : 56);
	return file;
}

/* Call-frame information that says no more than where functions start and end. */
static struct text make_frames(const struct fake_file *file)
{
	static const uint8_t common[] = {
		20,   0,   0,   0, 0, 0,    0,  0, /* length; it is a common one */
		1,    'z', 'R', 0, 1, 0x78, 16, 1, /* version, augmentation, alignments */
		0x1b, 0,   0,   0, 0, 0,    0,  0, /* addresses are relative, of 32 bits */
	};
	struct text frames = {0};
	const uint32_t end = 0;

	text_append(&frames, common, sizeof(common));
	for (size_t i = 0; i < file->num_functions; i++) {
		uint32_t start = file->functions[i].start;
		uint32_t at = FRAMES_ADDRESS + (uint32_t)frames.length + 8;
		uint32_t entry[5] = {16, (uint32_t)frames.length + 4, TEXT_ADDRESS + start - at,
				     file->functions[i].end - start, 0};

		text_append(&frames, entry, sizeof(entry));
	}
	text_append(&frames, &end, sizeof(end));
	return frames;
}

static void add_section(struct elf_writer *writer, const char *name, uint64_t flags,
			uint64_t address, const void *data, size_t size)
{
	elf_writer_add(writer, (struct elf_section){.name = name,
						    .type = SHT_PROGBITS,
						    .flags = SHF_ALLOC | flags,
						    .address = address,
						    .data = data,
						    .size = size});
}

/* Returns what runtime_find() does; the file is freed. */
static int find(struct fake_file *file, struct runtime_build *ret)
{
	struct text frames = make_frames(file);
	struct elf_writer writer = {0};
	uint8_t data[0x800] = {0};
	struct objfile *objfile;
	struct text bytes;
	int err;
	int fd;

	add_section(&writer, ".text", SHF_EXECINSTR, TEXT_ADDRESS, file->text, sizeof(file->text));
	add_section(&writer, ".rodata", 0, CONSTANT_ADDRESS, file->version,
		    strlen(file->version) + 1);
	add_section(&writer, ".data", SHF_WRITE, DATA_ADDRESS, data, sizeof(data));
	add_section(&writer, ".eh_frame", 0, FRAMES_ADDRESS, frames.data, frames.length);
	elf_writer_add_symbols(&writer, file->symbols.data, file->symbols.length, file->names.data,
			       file->names.length);
	bytes = elf_writer_write(&writer);
	fd = open_bytes(bytes.data, bytes.length);
	text_release(&bytes);
	assert_int_equal(objfile_open(fd, "file", NULL, &objfile, NULL), 0);
	close(fd);
	err = runtime_find(objfile, ret);
	objfile_unref(objfile);
	text_release(&frames);
	text_release(&file->symbols);
	text_release(&file->names);
	free(file);
	return err;
}

static void a_version_that_is_known_says_where_its_frames_are(void **state _unused_)
{
	static const struct {
		const char *text;
		unsigned int major;
		unsigned int minor;
		unsigned int frame_bytes;
		uint64_t state;
	} versions[] = {
		{"2.7.4", 2, 7, 56, CONTEXT},
		{"3.1.2", 3, 1, 64, THREAD_INDEX},
		{"3.2.2", 3, 2, 64, THREAD_INDEX},
		{"3.3.8", 3, 3, 56, THREAD_INDEX},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
		struct runtime_build build;

		assert_int_equal(find(whole_file(versions[i].text), &build), 0);
		assert_int_equal(build.support, SUPPORT_KNOWN);
		assert_int_equal(build.runtime, WIRE_RUNTIME_RUBY);
		assert_int_equal(build.major, versions[i].major);
		assert_int_equal(build.minor, versions[i].minor);
		assert_int_equal(build.state, versions[i].state);
		assert_int_equal(build.layout.runtime, WIRE_RUNTIME_RUBY);
		assert_int_equal(build.layout.ruby.frame_bytes, versions[i].frame_bytes);
		assert_int_equal(build.layout.ruby.symbols, SYMBOLS - versions[i].state);
		assert_int_equal(build.num_eval_parts, 2);
		assert_int_equal(build.eval_parts[0].start, TEXT_ADDRESS + EVALUATION);
		assert_int_equal(build.eval_parts[0].end, TEXT_ADDRESS + EVALUATION + 0x100);
		assert_false(build.eval_parts[0].is_inner);
		assert_int_equal(build.eval_parts[1].start, TEXT_ADDRESS + CORE);
		assert_int_equal(build.eval_parts[1].end, TEXT_ADDRESS + CORE + CORE_BYTES);
		assert_true(build.eval_parts[1].is_inner);
		assert_int_equal(build.num_pushes, 1);
		assert_int_equal(build.pushes[0].start, TEXT_ADDRESS + PUSH + 8);
		assert_int_equal(build.pushes[0].end, TEXT_ADDRESS + PUSH + 13);
	}
}

static void other_versions_are_said_and_not_guessed(void **state _unused_)
{
	static const char *const versions[] = {"2.6.10", "3.9.0", "4.0.0"};
	static const struct wire_runtime_layout none;

	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
		struct runtime_build build;

		assert_int_equal(find(whole_file(versions[i]), &build), 0);
		assert_int_equal(build.support, SUPPORT_UNKNOWN_VERSION);
		assert_int_equal(build.major, versions[i][0] - '0');
		assert_int_equal(build.minor, versions[i][2] - '0');
		assert_int_equal(build.num_eval_parts, 0);
		assert_memory_equal(&build.layout, &none, sizeof(none));
	}
}

static void what_is_no_version_is_not_known(void **state _unused_)
{
	static const char *const versions[] = {"x.1.2", "31.2.0", "3-1.2", "3.12.0", ""};

	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
		struct runtime_build build;

		assert_int_equal(find(whole_file(versions[i]), &build), 0);
		assert_int_equal(build.support, SUPPORT_UNKNOWN_VERSION);
		assert_int_equal(build.major, 0);
	}
}

static void expect_unknown_build(struct fake_file *file)
{
	static const struct wire_runtime_layout none;
	struct runtime_build build;

	assert_int_equal(find(file, &build), 0);
	assert_int_equal(build.support, SUPPORT_UNKNOWN_BUILD);
	assert_int_equal(build.num_eval_parts, 0);
	assert_memory_equal(&build.layout, &none, sizeof(none));
}

static void a_program_has_a_threads_context_at_an_offset(void **state _unused_)
{
	static const struct {
		const char *code;
		size_t num_bytes;
		enum wire_ruby_context context;
		uint64_t offset;
	} ways[] = {
		/* mov $-8,%rax; mov %fs:(%rax),%rax */
		{"\x48\xc7\xc0\xf8\xff\xff\xff\x64\x48\x8b\x00", 11, WIRE_RUBY_CONTEXT_IN_CODE,
		 -8ull},
		/* mov %fs:-16,%rax */
		{"\x64\x48\x8b\x04\x25\xf0\xff\xff\xff", 9, WIRE_RUBY_CONTEXT_IN_CODE, -16ull},
		/* mov 0x100(%rip),%rax; mov %fs:(%rax),%rax */
		{"\x48\x8b\x05\x00\x01\x00\x00\x64\x48\x8b\x00", 11, WIRE_RUBY_CONTEXT_BY_OFFSET,
		 0},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(ways); i++) {
		struct fake_file *file = whole_file("3.3.8");
		bool has_place = ways[i].context == WIRE_RUBY_CONTEXT_BY_OFFSET;
		uint64_t place = has_place ? TEXT_ADDRESS + ERROR_GETTER + 4 + 7 + 0x100 : SYMBOLS;
		struct runtime_build build;

		memset(file->text + ERROR_GETTER + 4, 0x90, 0x40);
		memcpy(file->text + ERROR_GETTER + 4, ways[i].code, ways[i].num_bytes);
		assert_int_equal(find(file, &build), 0);
		assert_int_equal(build.support, SUPPORT_KNOWN);
		assert_int_equal(build.layout.ruby.context, ways[i].context);
		assert_int_equal(build.layout.ruby.context_offset, ways[i].offset);
		assert_int_equal(build.state, place);
		assert_int_equal(build.layout.ruby.symbols, SYMBOLS - place);
	}
}

static void a_thread_that_has_its_context_elsewhere_is_not_known(void **state _unused_)
{
	struct fake_file *file = whole_file("3.3.8");

	memset(file->text + ERROR_GETTER, 0x90, 0x40);
	expect_unknown_build(file);

	/* A place whose value is used for something else. */
	file = whole_file("3.3.8");
	memset(file->text + ERROR_GETTER, 0x90, 0x40);
	memcpy(file->text + ERROR_GETTER, "\x48\x8b\x05\x00\x01\x00\x00\x48\x8b\x00", 10);
	expect_unknown_build(file);

	/* The canary of a function behind it. */
	file = whole_file("3.3.8");
	memset(file->text + ERROR_GETTER, 0x90, 0x40);
	memcpy(file->text + ERROR_GETTER + 0x20, "\x64\x48\x8b\x04\x25\x28\x00\x00\x00", 9);
	expect_unknown_build(file);
}

static void names_of_symbols_that_are_not_found_are_not_known(void **state _unused_)
{
	struct fake_file *file = whole_file("3.3.8");

	file->text[COUNT_GETTER + 10] = 0x90;
	expect_unknown_build(file);
}

static void a_function_may_start_without_a_mark(void **state _unused_)
{
	struct fake_file *file = whole_file("3.1.2");
	struct runtime_build build;

	put_count_getter(file, false);
	assert_int_equal(find(file, &build), 0);
	assert_int_equal(build.support, SUPPORT_KNOWN);
	assert_int_equal(build.layout.ruby.symbols, SYMBOLS - THREAD_INDEX);
}

static void of_two_functions_like_the_one_that_evaluates_none_is_taken(void **state _unused_)
{
	struct fake_file *file = whole_file("3.3.8");

	put_table_getter(file, TABLE_GETTER + 0x40, OTHER_CORE);
	add_function(file, OTHER_CORE, OTHER_CORE + CORE_BYTES);
	expect_unknown_build(file);
}

static void a_small_function_does_not_evaluate(void **state _unused_)
{
	struct fake_file *file = whole_file("3.3.8");
	struct runtime_build build;

	put_table_getter(file, TABLE_GETTER + 0x40, OTHER_CORE);
	add_function(file, OTHER_CORE, OTHER_CORE + 0x100);
	assert_int_equal(find(file, &build), 0);
	assert_int_equal(build.support, SUPPORT_KNOWN);
	assert_int_equal(build.eval_parts[1].start, TEXT_ADDRESS + CORE);
}

static void the_jump_is_all_of_its_function(void **state _unused_)
{
	struct fake_file *file = whole_file("3.3.8");

	file->functions[0].end += 1;
	expect_unknown_build(file);
}

static void without_a_caller_nothing_evaluates(void **state _unused_)
{
	struct fake_file *file = whole_file("3.3.8");

	file->text[EVALUATION + 0x20] = 0x90;
	expect_unknown_build(file);
}

static void each_caller_evaluates(void **state _unused_)
{
	struct fake_file *file = whole_file("3.3.8");
	struct runtime_build build;

	put_evaluation(file, EVALUATION_2, CORE);
	put_relative(file, EVALUATION + 0x40, "\xe8", 1, TEXT_ADDRESS + CORE);
	assert_int_equal(find(file, &build), 0);
	assert_int_equal(build.support, SUPPORT_KNOWN);
	assert_int_equal(build.num_eval_parts, 3);
	assert_int_equal(build.eval_parts[1].start, TEXT_ADDRESS + EVALUATION_2);
	assert_false(build.eval_parts[1].is_inner);
	assert_true(build.eval_parts[2].is_inner);
}

static void frames_are_pushed_by_any_registers(void **state _unused_)
{
	static const uint8_t code[] = {
		0x49, 0x8d, 0x54, 0x24, 0xc8,    /* lea -56(%r12),%rdx */
		0x4c, 0x89, 0x43, 0x10,          /* mov %r8,16(%rbx): not that address */
		0x74, 0x10,                      /* je */
		0x49, 0x89, 0x54, 0x24, 0x10,    /* mov %rdx,16(%r12) */
		0x90, 0xe8, 0,    0,    0,    0, /* nop; call */
	};
	struct fake_file *file = whole_file("3.3.8");
	struct runtime_build build;

	memcpy(file->text + PUSH_2, code, sizeof(code));
	assert_int_equal(find(file, &build), 0);
	assert_int_equal(build.num_pushes, 2);
	assert_int_equal(build.pushes[1].start, TEXT_ADDRESS + PUSH_2 + 16);
	assert_int_equal(build.pushes[1].end, TEXT_ADDRESS + PUSH_2 + 22);
}

static void where_no_frame_is_pushed_nothing_is_known_of_them(void **state _unused_)
{
	static const uint8_t others[][4] = {
		{0x48, 0x89, 0x77, 0x18}, /* not where the innermost frame is */
		{0x48, 0x8b, 0x77, 0x10}, /* read, not written */
		{0x48, 0x89, 0x7f, 0x10}, /* another register */
		{0xc3, 0x89, 0x77, 0x10}, /* never come to */
	};

	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		struct fake_file *file = whole_file("3.3.8");

		memcpy(file->text + PUSH + 4, others[i], sizeof(others[i]));
		expect_unknown_build(file);
	}
}

static void another_file_is_none(void **state _unused_)
{
	struct fake_file *without_version = fake_file("3.3.8");
	struct fake_file *without_code = fake_file("3.3.8");
	struct runtime_build build;

	put_error_getter(without_version);
	assert_int_equal(find(without_version, &build), -ENOENT);
	add_symbol(without_code, "ruby_version", CONSTANT_ADDRESS, 2);
	assert_int_equal(find(without_code, &build), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_version_that_is_known_says_where_its_frames_are),
		cmocka_unit_test(other_versions_are_said_and_not_guessed),
		cmocka_unit_test(what_is_no_version_is_not_known),
		cmocka_unit_test(a_program_has_a_threads_context_at_an_offset),
		cmocka_unit_test(a_thread_that_has_its_context_elsewhere_is_not_known),
		cmocka_unit_test(names_of_symbols_that_are_not_found_are_not_known),
		cmocka_unit_test(a_function_may_start_without_a_mark),
		cmocka_unit_test(of_two_functions_like_the_one_that_evaluates_none_is_taken),
		cmocka_unit_test(a_small_function_does_not_evaluate),
		cmocka_unit_test(the_jump_is_all_of_its_function),
		cmocka_unit_test(without_a_caller_nothing_evaluates),
		cmocka_unit_test(each_caller_evaluates),
		cmocka_unit_test(frames_are_pushed_by_any_registers),
		cmocka_unit_test(where_no_frame_is_pushed_nothing_is_known_of_them),
		cmocka_unit_test(another_file_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
