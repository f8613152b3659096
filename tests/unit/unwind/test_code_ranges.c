/*
 * Where code lies, and which entry points are outermost frames.
 */
#include "unit.h"

#include "objfile/elf_writer.h"
#include "unwind/code_ranges.h"

#define TEXT    0x1000
#define ENTRY   (TEXT + 0x80)
#define DYNAMIC 0x3000

/* Also the string table of .dynamic. */
static const char text[0x100] = "\0linux-vdso.so.1\0ld-linux-x86-64.so.2\0libc.so.6";
#define VDSO_NAME 1
#define LD_NAME   17
#define LIBC_NAME 38

/* What there is to know of a file, after which its ranges are asked for. */
static struct code_ranges read_ranges(uint16_t type, uint64_t entry, const Elf64_Dyn *dynamic,
				      size_t dynamic_size)
{
	struct elf_writer writer = {.type = type};
	struct code_ranges ranges;
	Elf64_Phdr segment;
	Elf64_Ehdr header;
	struct text file;
	Elf *elf;

	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT,
						     .data = text,
						     .size = sizeof(text)});
	elf_writer_add(&writer, (struct elf_section){.name = ".dynamic",
						     .type = SHT_DYNAMIC,
						     .flags = SHF_ALLOC,
						     .address = DYNAMIC,
						     .data = dynamic,
						     .size = dynamic_size});
	file = elf_writer_write(&writer);
	memcpy(&header, file.data, sizeof(header));
	header.e_entry = entry;
	memcpy(file.data, &header, sizeof(header));
	memcpy(&segment, file.data + header.e_phoff + sizeof(segment), sizeof(segment));
	segment.p_type = PT_DYNAMIC;
	memcpy(file.data + header.e_phoff + sizeof(segment), &segment, sizeof(segment));
	elf_version(EV_CURRENT);
	elf = elf_memory(file.data, file.length);
	assert_non_null(elf);
	assert_int_equal(code_ranges_init(&ranges, elf), 0);
	elf_end(elf);
	text_release(&file);
	return ranges;
}

static void assert_entry(uint16_t type, uint64_t entry, const Elf64_Dyn *dynamic,
			 size_t dynamic_size, uint64_t expected)
{
	struct code_ranges ranges = read_ranges(type, entry, dynamic, dynamic_size);

	assert_int_equal(ranges.entry, expected);
	code_ranges_release(&ranges);
}

static const Elf64_Dyn nothing[] = {{.d_tag = DT_NULL}};

static void code_is_what_executable_segments_hold(void **state)
{
	struct code_ranges ranges = read_ranges(ET_DYN, 0, nothing, sizeof(nothing));

	(void)state;
	assert_int_equal(ranges.text_bytes, sizeof(text));
	assert_non_null(range_map_find(&ranges.segments, TEXT));
	assert_non_null(range_map_find(&ranges.segments, TEXT + sizeof(text) - 1));
	assert_null(range_map_find(&ranges.segments, TEXT + sizeof(text)));
	assert_null(range_map_find(&ranges.segments, DYNAMIC));
	code_ranges_release(&ranges);
}

static void the_entry_of_a_program_at_fixed_addresses_is_outermost(void **state)
{
	(void)state;
	assert_entry(ET_EXEC, ENTRY, nothing, sizeof(nothing), ENTRY);
}

static void an_entry_outside_of_the_code_is_none(void **state)
{
	(void)state;
	assert_entry(ET_EXEC, 0, nothing, sizeof(nothing), 0);
	assert_entry(ET_EXEC, DYNAMIC, nothing, sizeof(nothing), 0);
}

static void the_entry_of_a_static_position_independent_program_is_outermost(void **state)
{
	static const Elf64_Dyn dynamic[] = {
		{.d_tag = DT_NEEDED, .d_un.d_val = LD_NAME},
		{.d_tag = DT_FLAGS_1, .d_un.d_val = DF_1_NOW | DF_1_PIE},
		{.d_tag = DT_NULL},
	};

	(void)state;
	assert_entry(ET_DYN, ENTRY, dynamic, sizeof(dynamic), ENTRY);
}

static void the_entry_of_a_library_is_none(void **state)
{
	static const Elf64_Dyn dynamic[] = {
		{.d_tag = DT_NEEDED, .d_un.d_val = LD_NAME},
		{.d_tag = DT_NULL},
		{.d_tag = DT_FLAGS_1, .d_un.d_val = DF_1_PIE}, /* behind the end */
	};

	(void)state;
	assert_entry(ET_DYN, ENTRY, dynamic, sizeof(dynamic), 0);
}

static void the_entry_of_the_dynamic_linker_is_outermost(void **state)
{
	static const Elf64_Dyn dynamic[] = {
		{.d_tag = DT_SONAME, .d_un.d_val = LD_NAME},
		{.d_tag = DT_STRTAB, .d_un.d_ptr = TEXT},
		{.d_tag = DT_NULL},
	};

	(void)state;
	assert_entry(ET_DYN, ENTRY, dynamic, sizeof(dynamic), ENTRY);
}

static void the_entry_of_the_vdso_is_none(void **state)
{
	static const Elf64_Dyn dynamic[] = {
		{.d_tag = DT_SONAME, .d_un.d_val = VDSO_NAME},
		{.d_tag = DT_STRTAB, .d_un.d_ptr = TEXT},
		{.d_tag = DT_NULL},
	};

	(void)state;
	assert_entry(ET_DYN, ENTRY, dynamic, sizeof(dynamic), 0);
}

static void a_name_outside_of_the_file_is_no_harm(void **state)
{
	static const uint64_t places[] = {0, TEXT + 0xf8, UINT64_MAX - 4, DYNAMIC + 0x1000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		const Elf64_Dyn dynamic[] = {
			{.d_tag = DT_SONAME, .d_un.d_val = VDSO_NAME},
			{.d_tag = DT_STRTAB, .d_un.d_ptr = places[i]},
			{.d_tag = DT_NULL},
		};

		assert_entry(ET_DYN, ENTRY, dynamic, sizeof(dynamic), ENTRY);
	}
}

static void assert_may_have_c_library(const Elf64_Dyn *dynamic, size_t dynamic_size, bool expected)
{
	struct code_ranges ranges = read_ranges(ET_DYN, ENTRY, dynamic, dynamic_size);

	assert_int_equal(ranges.may_have_c_library, expected);
	code_ranges_release(&ranges);
}

static void a_file_that_is_named_like_one_has_the_c_library(void **state)
{
	static const Elf64_Dyn dynamic[] = {
		{.d_tag = DT_NEEDED, .d_un.d_val = LD_NAME},
		{.d_tag = DT_SONAME, .d_un.d_val = LIBC_NAME},
		{.d_tag = DT_STRTAB, .d_un.d_ptr = TEXT},
		{.d_tag = DT_NULL},
	};

	(void)state;
	assert_string_equal(text + LIBC_NAME, "libc.so.6");
	assert_may_have_c_library(dynamic, sizeof(dynamic), true);
}

static void a_file_that_needs_no_other_may_have_the_c_library(void **state)
{
	(void)state;
	assert_may_have_c_library(nothing, sizeof(nothing), true);
}

static void a_file_that_needs_others_has_no_c_library(void **state)
{
	static const Elf64_Dyn dynamic[] = {
		{.d_tag = DT_NEEDED, .d_un.d_val = LIBC_NAME},
		{.d_tag = DT_SONAME, .d_un.d_val = LD_NAME},
		{.d_tag = DT_STRTAB, .d_un.d_ptr = TEXT},
		{.d_tag = DT_NULL},
	};

	(void)state;
	assert_may_have_c_library(dynamic, sizeof(dynamic), false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_what_executable_segments_hold),
		cmocka_unit_test(the_entry_of_a_program_at_fixed_addresses_is_outermost),
		cmocka_unit_test(an_entry_outside_of_the_code_is_none),
		cmocka_unit_test(the_entry_of_a_static_position_independent_program_is_outermost),
		cmocka_unit_test(the_entry_of_a_library_is_none),
		cmocka_unit_test(the_entry_of_the_dynamic_linker_is_outermost),
		cmocka_unit_test(the_entry_of_the_vdso_is_none),
		cmocka_unit_test(a_name_outside_of_the_file_is_no_harm),
		cmocka_unit_test(a_file_that_is_named_like_one_has_the_c_library),
		cmocka_unit_test(a_file_that_needs_no_other_may_have_the_c_library),
		cmocka_unit_test(a_file_that_needs_others_has_no_c_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
