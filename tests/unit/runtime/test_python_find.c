#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/python/layouts.h"

/* clang-format off */
#include "unit.h"
#include "objfile/elf_writer.h"
/* clang-format on */

#define TEXT_ADDRESS   0x10000
#define TEXT_BYTES     0x1000
#define DATA_ADDRESS   0x20000
#define FRAMES_ADDRESS 0x30000
#define RUNTIME        (DATA_ADDRESS + 0x100)
#define VERSION        (DATA_ADDRESS + 0x800)
#define CODE_TYPE      (DATA_ADDRESS + 0x900)
#define COOKIE         0x7970677562656478ull
/* Offset of the function that evaluates frames. */
#define EVALUATION 0x100
/* Bytes of code objects in CODE_TYPE: 3.8 to 3.10. */
#define CODE_BYTES 176

/* A file that may be CPython. */
struct fake_file {
	struct text symbols;
	struct text names;
	struct text frames;       /* call-frame information, at FRAMES_ADDRESS */
	uint8_t text[TEXT_BYTES]; /* at TEXT_ADDRESS */
	uint8_t data[0x1000];     /* at DATA_ADDRESS */
};

static void put(struct fake_file *file, uint64_t address, uint64_t value)
{
	memcpy(file->data + (address - DATA_ADDRESS), &value, sizeof(value));
}

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

static void add_function(struct fake_file *file, const char *name)
{
	add_symbol(file, name, TEXT_ADDRESS, 0x10, 1);
}

/* What every version has. */
static struct fake_file *fake_file_new(void)
{
	static const Elf64_Sym null_symbol;
	struct fake_file *file = calloc(1, sizeof(*file));

	assert_non_null(file);
	text_append(&file->symbols, &null_symbol, sizeof(null_symbol));
	text_append_char(&file->names, '\0');
	add_symbol(file, "_PyRuntime", RUNTIME, 0x600, 2);
	add_symbol(file, "_PyEval_EvalFrameDefault", TEXT_ADDRESS + EVALUATION, 0x80, 1);
	add_symbol(file, "PyCode_Type", CODE_TYPE, 0x198, 2);
	put(file, CODE_TYPE + 32, CODE_BYTES);
	return file;
}

static void set_version(struct fake_file *file, uint64_t hex)
{
	add_symbol(file, "Py_Version", VERSION, 8, 2);
	put(file, VERSION, hex);
	put(file, RUNTIME, COOKIE);
	put(file, RUNTIME + 8, hex);
}

/* Call-frame information that says no more of a function than where it starts and ends: offsets into the text. */
static void add_frames(struct fake_file *file, uint32_t start, uint32_t end)
{
	static const uint8_t common[] = {
		20,   0,   0,   0, 0, 0,    0,  0, /* length; it is a common one */
		1,    'z', 'R', 0, 1, 0x78, 16, 1, /* version, augmentation, alignments */
		0x1b, 0,   0,   0, 0, 0,    0,  0, /* addresses are relative, of 32 bits */
	};
	uint32_t entry[5] = {16, 0, 0, end - start, 0};

	if (!file->frames.length)
		text_append(&file->frames, common, sizeof(common));
	entry[1] = (uint32_t)file->frames.length + 4;
	entry[2] = TEXT_ADDRESS + start - (FRAMES_ADDRESS + entry[1] + 4);
	text_append(&file->frames, entry, sizeof(entry));
}

/* An instruction whose last four bytes say how far it is from its end to a target. Returns its end. */
static uint32_t put_relative(struct fake_file *file, uint32_t at, const char *bytes,
			     size_t num_bytes, uint32_t target)
{
	uint32_t end = at + (uint32_t)num_bytes + 4;
	int32_t distance = (int32_t)(target - end);

	memcpy(file->text + at, bytes, num_bytes);
	memcpy(file->text + at + num_bytes, &distance, sizeof(distance));
	return end;
}

/* Returns what runtime_find() does; the file is released. */
static int find(struct fake_file *file, struct runtime_build *ret)
{
	static const uint32_t end_of_frames;
	struct elf_writer writer = {0};
	struct objfile *objfile;
	struct text bytes;
	int err;
	int fd;

	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT_ADDRESS,
						     .data = file->text,
						     .size = sizeof(file->text)});
	elf_writer_add(&writer, (struct elf_section){.name = ".data",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_WRITE,
						     .address = DATA_ADDRESS,
						     .data = file->data,
						     .size = sizeof(file->data)});
	text_append(&file->frames, &end_of_frames, sizeof(end_of_frames));
	elf_writer_add(&writer, (struct elf_section){.name = ".eh_frame",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC,
						     .address = FRAMES_ADDRESS,
						     .data = file->frames.data,
						     .size = file->frames.length});
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
	text_release(&file->frames);
	free(file);
	return err;
}

static void a_file_without_the_runtime_is_no_python(void **state)
{
	struct fake_file *file = fake_file_new();
	struct runtime_build build;

	(void)state;
	/* The executable beside libpython only refers to it. */
	file->symbols.length = sizeof(Elf64_Sym);
	add_symbol(file, "_PyRuntime", 0, 0, SHN_UNDEF);
	add_symbol(file, "_PyEval_EvalFrameDefault", 0, 0, SHN_UNDEF);
	assert_int_equal(find(file, &build), -ENOENT);

	file = fake_file_new();
	file->symbols.length = 2 * sizeof(Elf64_Sym); /* none of the functions */
	assert_int_equal(find(file, &build), -ENOENT);
}

static void older_versions_are_known_by_their_functions(void **state)
{
	static const char *const functions[] = {NULL, "PyCode_NewWithPosOnlyArgs",
						"PyFrame_GetBack", "Py_Is"};
	struct runtime_build build;

	(void)state;
	for (size_t num_functions = 1; num_functions <= ARRAY_LENGTH(functions); num_functions++) {
		struct fake_file *file = fake_file_new();
		unsigned int minor = 6 + (unsigned int)num_functions;

		for (size_t i = 1; i < num_functions; i++)
			add_function(file, functions[i]);
		assert_int_equal(find(file, &build), 0);
		assert_int_equal(build.minor, minor);
		assert_int_equal(build.support,
				 minor == 7 ? SUPPORT_UNKNOWN_VERSION : SUPPORT_KNOWN);
		assert_int_equal(build.layout.python.minor, minor == 7 ? 0 : minor);
		assert_int_equal(build.state, RUNTIME);
		assert_int_equal(build.state_bytes, 0x600);
	}
}

static void a_build_of_other_sizes_is_not_known(void **state)
{
	struct fake_file *file = fake_file_new();
	struct runtime_build build;

	(void)state;
	add_function(file, "PyCode_NewWithPosOnlyArgs");
	put(file, CODE_TYPE + 32, CODE_BYTES + 16); /* --with-trace-refs */
	assert_int_equal(find(file, &build), 0);
	assert_int_equal(build.support, SUPPORT_UNKNOWN_BUILD);
	assert_int_equal(build.minor, 8);
	assert_int_equal(build.layout.python.minor, 0);
}

static void cold_parts_belong_to_the_evaluation(void **state)
{
	struct fake_file *file = fake_file_new();
	struct runtime_build build;

	(void)state;
	add_symbol(file, "_PyEval_EvalFrameDefault.cold", TEXT_ADDRESS + 0x300, 0x20, 1);
	add_symbol(file, "_PyEval_EvalFrameDefault.cold.5", TEXT_ADDRESS + 0x400, 0x30, 1);
	add_symbol(file, "_PyEval_EvalFrameDefault.cold.5", TEXT_ADDRESS + 0x400, 0x30, 1);
	add_symbol(file, "_PyEval_EvalFrameDefault.cold.6", DATA_ADDRESS, 0x30, 2); /* no code */
	assert_int_equal(find(file, &build), 0);
	assert_int_equal(build.num_eval_parts, 3);
	assert_int_equal(build.eval_parts[0].start, TEXT_ADDRESS + 0x100);
	assert_int_equal(build.eval_parts[0].end, TEXT_ADDRESS + 0x180);
	assert_int_equal(build.eval_parts[1].start, TEXT_ADDRESS + 0x300);
	assert_int_equal(build.eval_parts[2].start, TEXT_ADDRESS + 0x400);
	assert_int_equal(build.eval_parts[2].end, TEXT_ADDRESS + 0x430);

	file = fake_file_new();
	for (uint64_t i = 0; i < 2 * EVALUATION_MAX_PARTS; i++)
		add_symbol(file, "_PyEval_EvalFrameDefault.cold", TEXT_ADDRESS + 0x300 + 8 * i, 8,
			   1);
	assert_int_equal(find(file, &build), 0);
	assert_int_equal(build.num_eval_parts, EVALUATION_MAX_PARTS);
}

static void parts_without_a_symbol_are_known_by_jumps_into_their_middle_and_back(void **state)
{
	struct fake_file *file = fake_file_new();
	struct runtime_build build;
	uint32_t at = EVALUATION;

	(void)state;
	add_frames(file, EVALUATION, EVALUATION + 0x80);
	add_frames(file, 0x300, 0x320);
	add_frames(file, 0x400, 0x420);
	add_frames(file, 0x500, 0x520);
	add_frames(file, 0x600, 0x620);
	add_frames(file, 0x700, 0x740);
	put_relative(file, 0x302, "\xe9", 1, EVALUATION + 0x20);
	put_relative(file, 0x512, "\xe9", 1, EVALUATION + 0x20);
	put_relative(file, 0x602, "\xe9", 1, EVALUATION + 0x20);
	put_relative(file, 0x72a, "\xe9", 1, 0x700);
	at = put_relative(file, at, "\x0f\x84", 2, EVALUATION + 0x40); /* je */
	at = put_relative(file, at, "\x0f\x84", 2, 0x300);
	at = put_relative(file, at, "\x0f\x84", 2, 0x310);
	at = put_relative(file, at, "\xe9", 1, 0x31f);    /* jmp */
	at = put_relative(file, at, "\xe9", 1, 0x400);    /* another function, instead of a call */
	at = put_relative(file, at, "\xe8", 1, 0x510);    /* call */
	at = put_relative(file, at, "\xe9", 1, 0x580);    /* of nothing that is known */
	at = put_relative(file, at, "\xe9", 1, 0x710);    /* an entry of a linkage table */
	put_relative(file, at, "\x48\x8d\x05", 3, 0x610); /* lea …(%rip),%rax */
	assert_int_equal(find(file, &build), 0);
	assert_int_equal(build.num_eval_parts, 2);
	assert_int_equal(build.eval_parts[1].start, TEXT_ADDRESS + 0x300);
	assert_int_equal(build.eval_parts[1].end, TEXT_ADDRESS + 0x320);
	assert_false(build.eval_parts[1].is_inner || build.eval_parts[1].goes_on);

	/* Its symbol is of the same one. */
	file = fake_file_new();
	add_frames(file, 0x300, 0x320);
	put_relative(file, EVALUATION, "\xe9", 1, 0x310);
	put_relative(file, 0x310, "\xe9", 1, EVALUATION + 5);
	add_symbol(file, "_PyEval_EvalFrameDefault.cold", TEXT_ADDRESS + 0x300, 0x20, 1);
	assert_int_equal(find(file, &build), 0);
	assert_int_equal(build.num_eval_parts, 2);
}

static void what_is_not_known_is_said(void **state)
{
	static const struct {
		uint64_t version;
		uint64_t free_threaded;
		uint64_t cookie;
		unsigned int minor;
		enum runtime_support support;
	} inputs[] = {
		{0x031000f0, 0, COOKIE, 16, SUPPORT_UNKNOWN_VERSION},
		{0x030d00f0, 1, COOKIE, 13, SUPPORT_FREE_THREADED},
		{0x030f00f0, 1, COOKIE, 15, SUPPORT_FREE_THREADED},
		{0x030e00a7, 0, COOKIE, 14, SUPPORT_UNKNOWN_VERSION}, /* an alpha */
		{0x030d00f0, 0, 0, 13, SUPPORT_UNKNOWN_BUILD},
		{0x030d00f0, 0, COOKIE, 13, SUPPORT_UNKNOWN_BUILD}, /* all offsets are 0 */
	};
	struct runtime_build build;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(inputs); i++) {
		struct fake_file *file = fake_file_new();

		set_version(file, inputs[i].version);
		put(file, RUNTIME, inputs[i].cookie);
		put(file, RUNTIME + 16, inputs[i].free_threaded);
		assert_int_equal(find(file, &build), 0);
		assert_int_equal(build.minor, inputs[i].minor);
		assert_int_equal(build.support, inputs[i].support);
		assert_int_equal(build.layout.python.minor, 0);
	}
}

/* Words of the tables, as the members follow each other in struct _Py_DebugOffsets. */
struct offset_words {
	unsigned int minor;
	uint64_t version;
	unsigned int head, next, threads;
	unsigned int thread_next, thread_frame, thread_id;
	unsigned int previous, executable, instruction, owner;
	unsigned int file, name, lines, first_line, instructions;
	unsigned int bytes_length, bytes_content;
	unsigned int state, length, ascii;
};

/* Counted in the headers of 3.13.0, of 3.14.0, whose table has 95 words, and of 3.15.2, whose one has 111. */
static const struct offset_words offset_words[] = {
	{13, 0x030d00f0, 5,  8,  9,  21, 23, 24, 29, 30, 31,
	 33, 35,         37, 38, 39, 43, 65, 66, 68, 69, 70},
	{14, 0x030e00f0, 5,  8,  9,  24, 26, 27, 32, 33, 34,
	 36, 40,         42, 43, 44, 48, 75, 76, 78, 79, 80},
	{15, 0x030f00f0, 5,  8,  9,  24, 26, 30, 40, 41, 42,
	 44, 48,         50, 51, 52, 56, 87, 88, 90, 91, 92},
};

/* With offsets as a version might have them, each another one. */
static void fill_table(const struct offset_words *table, uint64_t *words)
{
	words[table->head] = 896;
	words[table->next] = 7264;
	words[table->threads] = 7344;
	words[table->thread_next] = 8;
	words[table->thread_frame] = 72;
	words[table->thread_id] = 152;
	words[table->previous] = 16;
	words[table->executable] = 0;
	words[table->instruction] = 56;
	words[table->owner] = 74;
	words[table->file] = 112;
	words[table->name] = 128;
	words[table->lines] = 136;
	words[table->first_line] = 68;
	words[table->instructions] = 202;
	words[table->bytes_length] = 24;
	words[table->bytes_content] = 40;
	words[table->state] = 32;
	words[table->length] = 16;
	words[table->ascii] = 48;
}

static void a_table_of_offsets_is_the_layout(void **state)
{
	struct runtime_build build;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(offset_words); i++) {
		struct fake_file *file = fake_file_new();
		uint64_t words[PYTHON_MAX_OFFSET_WORDS] = {0};
		const struct wire_python_layout *layout = &build.layout.python;

		fill_table(&offset_words[i], words);
		for (size_t j = 3; j < ARRAY_LENGTH(words); j++)
			put(file, RUNTIME + 8 * j, words[j]);
		set_version(file, offset_words[i].version);
		assert_int_equal(find(file, &build), 0);
		assert_int_equal(build.support, SUPPORT_KNOWN);
		assert_int_equal(layout->minor, offset_words[i].minor);
		assert_int_equal(layout->runs, WIRE_PYTHON_RUN_OWNER);
		assert_int_equal(layout->run_owner, 3);
		assert_int_equal(layout->instruction, WIRE_PYTHON_POINTER);
		assert_int_equal(layout->code_tag_bits, offset_words[i].minor == 13 ? 0 : 3);
		assert_int_equal(layout->interpreters, 896);
		assert_int_equal(layout->interpreter_next, 7264);
		assert_int_equal(layout->interpreter_threads, 7344);
		assert_int_equal(layout->thread_next, 8);
		assert_int_equal(layout->thread_id, 152);
		assert_int_equal(layout->thread_frame, 72);
		assert_int_equal(layout->cframe_frame, WIRE_PYTHON_NONE);
		assert_int_equal(layout->frame_code, 0);
		assert_int_equal(layout->frame_previous, 16);
		assert_int_equal(layout->frame_instruction, 56);
		assert_int_equal(layout->frame_run, 74);
		assert_int_equal(layout->frame_bytes, 80);
		assert_int_equal(layout->code_first_line, 68);
		assert_int_equal(layout->code_name, 128);
		assert_int_equal(layout->code_file, 112);
		assert_int_equal(layout->code_lines, 136);
		assert_int_equal(layout->code_instructions, 202);
		assert_int_equal(layout->code_start, 64);
		assert_int_equal(layout->code_bytes, 144 - 64);
		assert_int_equal(layout->text_length, 16);
		assert_int_equal(layout->text_state, 32);
		assert_int_equal(layout->ascii_text, 48);
		assert_int_equal(layout->other_text, 64);
		assert_int_equal(layout->bytes_length, 24);
		assert_int_equal(layout->bytes_content, 40);
	}
}

static void offsets_that_no_build_has_are_refused(void **state)
{
	static const uint64_t offsets[] = {UINT64_MAX, 1ull << 63, 0xffff, 0x10008, 0xfff8};
	struct wire_python_layout layout;
	uint64_t words[PYTHON_MAX_OFFSET_WORDS] = {0};
	const struct offset_words *table = &offset_words[0];

	(void)state;
	fill_table(table, words);
	assert_int_equal(python_layout_read(13, words, ARRAY_LENGTH(words), &layout), 0);
	assert_int_equal(python_layout_read(13, words, 72, &layout), -EINVAL);
	assert_int_equal(python_layout_read(12, words, ARRAY_LENGTH(words), &layout), -ENOENT);
	for (size_t i = 0; i < ARRAY_LENGTH(offsets); i++) {
		words[table->owner] = offsets[i];
		assert_int_equal(python_layout_read(13, words, ARRAY_LENGTH(words), &layout),
				 -EINVAL);
		words[table->owner] = 74;
		words[table->threads] = offsets[i];
		assert_int_equal(python_layout_read(13, words, ARRAY_LENGTH(words), &layout),
				 -EINVAL);
		words[table->threads] = 7344;
	}
	words[table->name] = 129; /* it would lie in two words */
	assert_int_equal(python_layout_read(13, words, ARRAY_LENGTH(words), &layout), -EINVAL);
	words[table->name] = WIRE_PYTHON_OBJECT_BYTES - 8;
	assert_int_equal(python_layout_read(13, words, ARRAY_LENGTH(words), &layout), 0);
	assert_int_equal(layout.code_start + layout.code_bytes, WIRE_PYTHON_OBJECT_BYTES);
	words[table->name] = WIRE_PYTHON_OBJECT_BYTES;
	assert_int_equal(python_layout_read(13, words, ARRAY_LENGTH(words), &layout), -EINVAL);
}

/* ---- Versions before 3.7 -------------------------------------------------------------------- */

/* With these functions besides the one that evaluates frames, and PyCode_Type. Returns major * 100 + minor; 0: it is none. */
static unsigned int find_old_version(const char *const *functions, size_t num_functions)
{
	static const Elf64_Sym null_symbol;
	struct fake_file *file = calloc(1, sizeof(*file));
	struct runtime_build build;

	assert_non_null(file);
	text_append(&file->symbols, &null_symbol, sizeof(null_symbol));
	text_append_char(&file->names, '\0');
	add_symbol(file, "PyCode_Type", CODE_TYPE, 0x188, 2);
	for (size_t i = 0; i < num_functions; i++)
		add_function(file, functions[i]);
	if (find(file, &build))
		return 0;
	assert_int_equal(build.support, SUPPORT_UNKNOWN_VERSION);
	assert_int_equal(build.state, 0);
	assert_int_equal(build.num_eval_parts, 0);
	return build.major * 100 + build.minor;
}
#define OLD_VERSION(...)                                     \
	find_old_version((const char *const[]){__VA_ARGS__}, \
			 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
#define OLD_EVAL "PyEval_EvalFrameEx"

static void a_version_without_the_runtime_is_there_and_not_known(void **state _unused_)
{
	assert_int_equal(OLD_VERSION(OLD_EVAL, "PyString_FromString", "PyCapsule_New"), 207);
	assert_int_equal(OLD_VERSION(OLD_EVAL, "PyString_FromString"), 206);
	assert_int_equal(OLD_VERSION(OLD_EVAL, "PyCapsule_New"), 301);
	assert_int_equal(OLD_VERSION(OLD_EVAL, "PyErr_NewExceptionWithDoc"), 302);
	assert_int_equal(OLD_VERSION(OLD_EVAL, "PyErr_NewExceptionWithDoc", "PyUnicode_AsUTF8"),
			 303);
	assert_int_equal(OLD_VERSION(OLD_EVAL, "PyUnicode_AsUTF8", "PyType_GetSlot"), 304);
	assert_int_equal(OLD_VERSION(OLD_EVAL, "PyType_GetSlot", "PyCoro_New"), 305);
	assert_int_equal(OLD_VERSION(OLD_EVAL, "PyCoro_New", "_PyEval_EvalFrameDefault"), 306);
}

static void what_only_calls_an_old_version_is_none(void **state _unused_)
{
	assert_int_equal(OLD_VERSION("PyEval_EvalFrame", "PyCapsule_New"), 0);
	assert_int_equal(OLD_VERSION("__pyx_PyEval_EvalFrameEx"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_without_the_runtime_is_no_python),
		cmocka_unit_test(older_versions_are_known_by_their_functions),
		cmocka_unit_test(a_build_of_other_sizes_is_not_known),
		cmocka_unit_test(cold_parts_belong_to_the_evaluation),
		cmocka_unit_test(
			parts_without_a_symbol_are_known_by_jumps_into_their_middle_and_back),
		cmocka_unit_test(what_is_not_known_is_said),
		cmocka_unit_test(a_table_of_offsets_is_the_layout),
		cmocka_unit_test(offsets_that_no_build_has_are_refused),
		cmocka_unit_test(a_version_without_the_runtime_is_there_and_not_known),
		cmocka_unit_test(what_only_calls_an_old_version_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
