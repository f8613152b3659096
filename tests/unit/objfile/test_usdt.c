#include "objfile/usdt.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/text.h"

/* clang-format off */
#include "unit.h"
#include "elf_writer.h"
/* clang-format on */

#define TEXT_ADDRESS 0x1000
#define DATA_ADDRESS 0x5000
#define BASE_ADDRESS 0x3000

struct wanted_note {
	uint64_t location;
	uint64_t semaphore;
	const char *provider;
	const char *name;
	const char *arguments;
};

static void append_padding(struct text *text)
{
	while (text->length % 4)
		text_append_char(text, '\0');
}

static void append_number(struct text *text, uint64_t number, size_t size)
{
	text_append(text, &number, size);
}

static void append_note(struct text *text, const struct wanted_note *note, uint64_t base)
{
	struct text description = {0};

	append_number(&description, note->location, 8);
	append_number(&description, base, 8);
	append_number(&description, note->semaphore, 8);
	text_append(&description, note->provider, strlen(note->provider) + 1);
	text_append(&description, note->name, strlen(note->name) + 1);
	text_append(&description, note->arguments, strlen(note->arguments) + 1);
	append_number(text, sizeof("stapsdt"), 4);
	append_number(text, description.length, 4);
	append_number(text, 3, 4);
	text_append(text, "stapsdt", sizeof("stapsdt"));
	append_padding(text);
	text_append(text, description.data, description.length);
	append_padding(text);
	text_release(&description);
}

struct file {
	struct objfile *objfile;
	uint64_t text_offset;
	uint64_t data_offset;
};

/* base: of .stapsdt.base when the notes were written */
static struct file open_with(const struct wanted_note *notes, size_t num_notes, uint64_t base)
{
	struct elf_writer writer = {0};
	struct text bytes = {0};
	struct file file;
	int fd;

	for (size_t i = 0; i < num_notes; i++)
		append_note(&bytes, &notes[i], base);
	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT_ADDRESS,
						     .size = 0x100});
	elf_writer_add(&writer, (struct elf_section){.name = ".probes",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_WRITE,
						     .address = DATA_ADDRESS,
						     .size = 0x10});
	elf_writer_add(&writer, (struct elf_section){.name = ".stapsdt.base",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC,
						     .address = BASE_ADDRESS,
						     .size = 1});
	elf_writer_add(&writer, (struct elf_section){.name = ".note.stapsdt",
						     .type = SHT_NOTE,
						     .data = bytes.data,
						     .size = bytes.length});
	fd = elf_writer_open(&writer);
	assert_int_equal(objfile_open(fd, "/test", NULL, &file.objfile, NULL), 0);
	close(fd);
	text_release(&bytes);
	file.text_offset = writer.offsets[0];
	file.data_offset = writer.offsets[1];
	return file;
}

static const struct wanted_note some_notes[] = {
	{TEXT_ADDRESS + 0x10, DATA_ADDRESS + 2, "server", "request", "8@%rdi -4@16(%rsp)"},
	{TEXT_ADDRESS + 0x20, 0, "server", "answer", ""},
	{TEXT_ADDRESS + 0x30, DATA_ADDRESS + 2, "server", "request", "8@%rbx -4@$7"},
	{TEXT_ADDRESS + 0x40, 0, "client", "request", "8@%rbx"},
};

static void all_points_of_a_probe_are_found(void **state _unused_)
{
	struct file file = open_with(some_notes, ARRAY_LENGTH(some_notes), BASE_ADDRESS);
	struct probe_point_list found = {0};

	assert_int_equal(usdt_find(file.objfile, "server", "request", 2, &found, NULL), 0);
	assert_int_equal(found.points.length, 2);
	assert_int_equal(found.points.items[0].file_offset, file.text_offset + 0x10);
	assert_int_equal(found.points.items[0].semaphore_offset, file.data_offset + 2);
	assert_int_equal(found.points.items[0].argument.source, ARGUMENT_MEMORY);
	assert_int_equal(found.points.items[1].file_offset, file.text_offset + 0x30);
	assert_int_equal(found.points.items[1].argument.source, ARGUMENT_CONSTANT);
	assert_int_equal(found.points.items[1].argument.displacement, 7);
	probe_point_list_release(&found);
	objfile_unref(file.objfile);
}

static void a_file_that_was_moved_has_its_probes_elsewhere(void **state _unused_)
{
	const struct wanted_note note = {TEXT_ADDRESS + 0x10 - 0x800, DATA_ADDRESS + 4 - 0x800, "p",
					 "n", ""};
	struct file file = open_with(&note, 1, BASE_ADDRESS - 0x800);
	struct probe_point_list found = {0};

	assert_int_equal(usdt_find(file.objfile, "p", "n", 0, &found, NULL), 0);
	assert_int_equal(found.points.items[0].file_offset, file.text_offset + 0x10);
	assert_int_equal(found.points.items[0].semaphore_offset, file.data_offset + 4);
	assert_int_equal(found.points.items[0].argument.source, ARGUMENT_NONE);
	probe_point_list_release(&found);
	objfile_unref(file.objfile);
}

static void what_there_is_not_is_distinguished_from_what_is_broken(void **state _unused_)
{
	const struct wanted_note outside = {0x9000, 0, "p", "n", ""};
	struct file file = open_with(some_notes, ARRAY_LENGTH(some_notes), BASE_ADDRESS);
	struct near_names near = {.word = "server:reqest"};
	struct probe_point_list found = {0};
	char names[NEAR_NAMES_TEXT_BYTES];

	assert_int_equal(usdt_find(file.objfile, "server", "reqest", 0, &found, &near), -ENOENT);
	near_names_format(&near, names);
	assert_string_equal(names, "; did you mean 'server:request'?");
	assert_int_equal(usdt_find(file.objfile, "server", "request", 3, &found, NULL), -EDOM);
	objfile_unref(file.objfile);
	file = open_with(&outside, 1, BASE_ADDRESS);
	assert_int_equal(usdt_find(file.objfile, "p", "n", 0, &found, NULL), -EINVAL);
	assert_int_equal(found.points.length, 0);
	objfile_unref(file.objfile);
}

static int count(const struct usdt_note *note _unused_, void *context)
{
	++*(int *)context;
	return 0;
}

static void truncated_notes_are_refused(void **state _unused_)
{
	struct text bytes = {0};
	int num_notes = 0;

	append_note(&bytes, &some_notes[0], 0);
	for (size_t size = 0; size < bytes.length; size++) {
		int err;

		num_notes = 0;
		err = usdt_read_notes(bytes.data, size, count, &num_notes);
		assert_true(err == 0 || err == -EINVAL);
		/* But for padding, nothing of it is left out. */
		assert_int_equal(num_notes, size + 3 >= bytes.length && !err);
	}
	num_notes = 0;
	assert_int_equal(usdt_read_notes(bytes.data, bytes.length, count, &num_notes), 0);
	assert_int_equal(num_notes, 1);
	text_release(&bytes);
}

static void arguments_are_where_the_assembler_had_them(void **state _unused_)
{
	static const struct {
		const char *text;
		struct probe_argument argument;
		uint16_t machine;
	} cases[] = {
		{"8@%rdi", {ARGUMENT_REGISTER, 8, 0, 14, 255, 0, 0}, EM_X86_64},
		{"-4@%r9d", {ARGUMENT_REGISTER, 4, 1, 8, 255, 0, 0}, EM_X86_64},
		{"1@%al", {ARGUMENT_REGISTER, 1, 0, 10, 255, 0, 0}, EM_X86_64},
		{"-8@$-5", {ARGUMENT_CONSTANT, 8, 1, 0, 255, 0, -5}, EM_X86_64},
		{"2@-0x10(%rbp)", {ARGUMENT_MEMORY, 2, 0, 4, 255, 0, -16}, EM_X86_64},
		{"8@(%rax)", {ARGUMENT_MEMORY, 8, 0, 10, 255, 0, 0}, EM_X86_64},
		{"8@8(%rax,%rcx,4)", {ARGUMENT_MEMORY, 8, 0, 10, 11, 4, 8}, EM_X86_64},
		{"8@(%rax,%rcx)", {ARGUMENT_MEMORY, 8, 0, 10, 11, 1, 0}, EM_X86_64},
		{"-4@w3", {ARGUMENT_REGISTER, 4, 1, 3, 255, 0, 0}, EM_AARCH64},
		{"8@[sp, 16]", {ARGUMENT_MEMORY, 8, 0, 31, 255, 0, 16}, EM_AARCH64},
		{"8@[x21]", {ARGUMENT_MEMORY, 8, 0, 21, 255, 0, 0}, EM_AARCH64},
		{"-4@-1", {ARGUMENT_CONSTANT, 4, 1, 0, 255, 0, -1}, EM_AARCH64},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct probe_argument *wanted = &cases[i].argument;
		struct probe_argument found;

		assert_int_equal(usdt_read_argument(cases[i].text, 1, cases[i].machine, &found), 0);
		assert_int_equal(found.source, wanted->source);
		assert_int_equal(found.bytes, wanted->bytes);
		assert_int_equal(found.is_signed, wanted->is_signed);
		assert_int_equal(found.base, wanted->base);
		assert_int_equal(found.index, wanted->index);
		assert_int_equal(found.scale, wanted->scale);
		assert_int_equal(found.displacement, wanted->displacement);
	}
}

static void an_argument_that_cannot_be_read_is_refused(void **state _unused_)
{
	static const char *const texts[] = {
		"8f@%xmm0",
		"16@%rax",
		"8@%ah",
		"8@counter(%rip)",
		"8@",
		"8",
		"@%rax",
		"8@%",
		"8@(rax)",
		"8@8(%rax",
		"8@(%rax,%rcx,3)",
		"8@(%rax,rcx)",
		"8@$",
		"8@$x",
		"8@4",
		"8@$99999999999999999999999",
		"8@(%rax,%rcx,8",
		"3@%rax",
	};
	struct probe_argument found;

	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		assert_int_equal(usdt_read_argument(texts[i], 1, EM_X86_64, &found), -ENOTSUP);
	}
	assert_int_equal(usdt_read_argument("8@[x0", 1, EM_AARCH64, &found), -ENOTSUP);
	assert_int_equal(usdt_read_argument("8@x31", 1, EM_AARCH64, &found), -ENOTSUP);
	assert_int_equal(usdt_read_argument("8@%eax", 1, EM_386, &found), -ENOTSUP);
	assert_int_equal(usdt_read_argument("8@%rax  4@%ebx ", 2, EM_X86_64, &found), 0);
	assert_int_equal(found.base, 5);
	assert_int_equal(usdt_read_argument("8@%rax  4@%ebx ", 3, EM_X86_64, &found), -ENOENT);
	assert_int_equal(usdt_read_argument("8@[sp, 8] 4@w1", 2, EM_AARCH64, &found), 0);
	assert_int_equal(found.base, 1);
}

static void a_functions_arguments_are_in_registers(void **state _unused_)
{
	struct probe_argument found;

	assert_int_equal(function_argument_get(3, EM_X86_64, &found), 0);
	assert_int_equal(found.base, 12); /* rdx */
	assert_false(found.is_signed);
	assert_int_equal(function_argument_get(0, EM_X86_64, &found), 0);
	assert_int_equal(found.base, 10); /* rax */
	assert_true(found.is_signed);
	assert_int_equal(function_argument_get(7, EM_X86_64, &found), -ENOENT);
	assert_int_equal(function_argument_get(8, EM_AARCH64, &found), 0);
	assert_int_equal(found.base, 7);
	assert_int_equal(function_argument_get(1, EM_RISCV, &found), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_points_of_a_probe_are_found),
		cmocka_unit_test(a_file_that_was_moved_has_its_probes_elsewhere),
		cmocka_unit_test(what_there_is_not_is_distinguished_from_what_is_broken),
		cmocka_unit_test(truncated_notes_are_refused),
		cmocka_unit_test(arguments_are_where_the_assembler_had_them),
		cmocka_unit_test(an_argument_that_cannot_be_read_is_refused),
		cmocka_unit_test(a_functions_arguments_are_in_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
