#include "viewer/session.h"

#include "formats/format.h"
#include "formats/gprofng_writer.h"
#include "viewer_fixture.h"

/* clang-format off */
#include "objfile/elf_writer.h"
/* clang-format on */

#define TEXT_ADDRESS 0x20000
#define TEXT_BYTES   0x2000

static Elf64_Sym make_symbol(uint32_t name, unsigned char bind, uint64_t start, uint64_t size)
{
	return (Elf64_Sym){
		.st_name = name,
		.st_info = ELF64_ST_INFO(bind, STT_FUNC),
		.st_shndx = 1,
		.st_value = start,
		.st_size = size,
	};
}

/* Names: "_work" at 1, "work" at 7, "_Z3addii" at 12. */
static const char strings[] = "\0_work\0work\0_Z3addii";

/*
 * The archived program: its code starts where the symbols do, at most 0x1000 bytes into the file, so
 * that file offset 0x1010 is in `work`, 0x1100 in the one with the mangled name, 0x1200 in none.
 */
static struct text make_program(const Elf64_Sym *symbols, size_t size)
{
	struct elf_writer writer = {0};

	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT_ADDRESS,
						     .size = TEXT_BYTES});
	elf_writer_add(&writer, (struct elf_section){.name = ".symtab",
						     .type = SHT_SYMTAB,
						     .data = symbols,
						     .size = size,
						     .link = 3,
						     .entry_size = sizeof(Elf64_Sym)});
	elf_writer_add(&writer, (struct elf_section){.name = ".strtab",
						     .type = SHT_STRTAB,
						     .data = strings,
						     .size = sizeof(strings)});
	return elf_writer_write(&writer);
}

/* Where file offset 0x1000 lies, with four sections and their names. */
static uint64_t get_base(void)
{
	return TEXT_ADDRESS + 0x1000 - (sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr));
}

/* An experiment with one stack of three addresses of /bin/work; copy  NULL: it keeps no copies. */
static struct text make_experiment(const struct text *copy)
{
	struct gprofng_writer writer = gprofng_writer_new(GPROFNG_CLOCK_PROFILE("1"), "profile");
	struct text tar = {0};

	gprofng_put_frames(&writer.frames, 1, 1, 0, GPROFNG_WORDS(0x400010, 0x400100, 0x400200));
	gprofng_put_clock(&writer.data, 7, 1, 10, 1);
	if (copy)
		tar_put(&tar, "x.er/archives/work_abcdefghijk", '0', copy->data, copy->length);
	gprofng_finish(&writer, "x.er", &tar);
	tar_finish(&tar);
	return tar;
}

/* The caller frees it; warnings are those of its only file. */
static struct session *open_experiment(const struct text *copy)
{
	struct session *session = session_new();
	struct text tar = make_experiment(copy);
	struct error error = {0};
	uint32_t source;

	assert_non_null(session);
	assert_int_equal(session_import(session,
					&(struct session_input){"x.er", tar.data, tar.length, NULL},
					&source, &error),
			 0);
	text_release(&tar);
	return session;
}

static int append(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

static void assert_stacks(const struct session *session, const char *expected)
{
	struct text text = {0};
	struct sink sink = {.write = append, .context = &text};
	struct format_opts opts = {0};

	assert_int_equal(
		format_find_name("folded")->write(session_get_profile(session), &opts, &sink), 0);
	assert_string_equal(text.data, expected);
	text_release(&text);
}

static const char *get_warnings(struct session *session)
{
	const struct text *warnings = &session_get_source(session, 0)->warnings;

	return warnings->data ? warnings->data : "";
}

static void archived_files_name_their_code(void **state _unused_)
{
	const Elf64_Sym symbols[] = {
		make_symbol(0, 0, 0, 0),
		make_symbol(1, STB_GLOBAL, get_base(), 0x100),
		make_symbol(7, STB_GLOBAL, get_base(), 0x100),
		make_symbol(12, STB_GLOBAL, get_base() + 0x100, 0x100),
	};
	struct text program = make_program(symbols, sizeof(symbols));
	struct session *session = open_experiment(&program);

	assert_stacks(session, "work;work+0x1200;_Z3addii;work 10000000\n");
	assert_string_equal(
		get_warnings(session),
		"x.er: 1 of its addresses have mangled function names here; run 'stackwide "
		"convert x.er -o named.html'\n"
		"x.er: no function names for 1 of its addresses: the page reads no other "
		"files; run 'stackwide convert x.er -o named.html'\n");
	text_release(&program);
	session_free(session);
}

static void experiment_without_copies_says_what_names_its_code(void **state _unused_)
{
	struct session *session = open_experiment(NULL);

	assert_stacks(session, "work;work+0x1200;work+0x1100;work+0x1010 10000000\n");
	assert_string_equal(
		get_warnings(session),
		"x.er: no function names for 3 of its addresses: the page reads no other "
		"files; run 'stackwide convert x.er -o named.html'\n");
	session_free(session);
}

/* Whatever the numbers of the file are, the code keeps its place as its name. */
static void broken_copies_name_nothing(void **state _unused_)
{
	const Elf64_Sym symbols[] = {
		make_symbol(7, STB_GLOBAL, UINT64_MAX - 1, 0x100),
		make_symbol(4000000000u, STB_GLOBAL, get_base(), 0x100),
	};
	struct text whole = make_program(symbols, sizeof(symbols));

	for (size_t length = 0; length <= whole.length; length += length < 400 ? 1 : 499) {
		struct text program = {.data = whole.data, .length = length};
		struct session *session = open_experiment(&program);

		assert_stacks(session, "work;work+0x1200;work+0x1100;work+0x1010 10000000\n");
		session_free(session);
	}
	for (size_t i = 16; i < 64; i++) {
		struct session *session;
		char kept = whole.data[i];

		whole.data[i] = (char)0xff;
		session = open_experiment(&whole);
		assert_stacks(session, "work;work+0x1200;work+0x1100;work+0x1010 10000000\n");
		session_free(session);
		whole.data[i] = kept;
	}
	text_release(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(archived_files_name_their_code),
		cmocka_unit_test(experiment_without_copies_says_what_names_its_code),
		cmocka_unit_test(broken_copies_name_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
