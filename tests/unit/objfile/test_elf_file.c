#include "objfile/elf_file.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "base/attributes.h"
#include "unit.h"

#include "elf_writer.h"

#define GIGABYTE (1ull << 30)

/* Where a field is that a test overwrites. */
struct patch {
	uint64_t offset;
	uint64_t value;
	size_t size;
};

/* A file with the section .debug_str, patched, and a hole of that many bytes behind. */
static int try_file(const struct patch *patches, size_t num_patches, uint64_t hole_bytes)
{
	struct elf_writer writer = {0};
	struct text file;
	_cleanup_close_ int fd = -1;
	Elf *elf = NULL;
	int err;

	elf_writer_add(&writer,
		       (struct elf_section){
			       .name = ".debug_str", .type = SHT_PROGBITS, .data = "", .size = 1});
	file = elf_writer_write(&writer);
	for (size_t i = 0; i < num_patches; i++)
		memcpy(file.data + patches[i].offset, &patches[i].value, patches[i].size);
	fd = open_bytes(file.data, file.length);
	assert_int_equal(ftruncate(fd, (off_t)(file.length + hole_bytes)), 0);
	text_release(&file);
	err = elf_file_start(fd, &elf);
	elf_end(elf);
	return err;
}

/* Where the index-th section header is in such a file. */
static uint64_t get_section_offset(unsigned index)
{
	struct elf_writer writer = {0};
	struct text file;
	Elf64_Ehdr header;

	elf_writer_add(&writer,
		       (struct elf_section){
			       .name = ".debug_str", .type = SHT_PROGBITS, .data = "", .size = 1});
	file = elf_writer_write(&writer);
	memcpy(&header, file.data, sizeof(header));
	text_release(&file);
	return header.e_shoff + index * sizeof(Elf64_Shdr);
}

static int try_section_size(uint64_t size, uint64_t hole_bytes)
{
	struct patch patch = {get_section_offset(1) + offsetof(Elf64_Shdr, sh_size), size, 8};

	return try_file(&patch, 1, hole_bytes);
}

static void a_section_that_is_a_hole_is_too_large(void **state _unused_)
{
	assert_int_equal(try_section_size(1, 0), 0);
	/* A page or two of zeros may be left out. */
	assert_int_equal(try_section_size(GIGABYTE / 2048, GIGABYTE), 0);
	assert_int_equal(try_section_size(GIGABYTE, GIGABYTE), -EFBIG);
	/* Nor do many small ones help. */
	assert_int_equal(try_section_size(2 << 20, GIGABYTE), -EFBIG);
	/* What is not in the file takes no memory. */
	assert_int_equal(try_section_size(4 * GIGABYTE, GIGABYTE), 0);
}

static int try_loaded_section(const char *name)
{
	struct elf_writer writer = {0};
	struct text file;
	_cleanup_close_ int fd = -1;
	Elf64_Ehdr header;
	Elf64_Shdr section;
	Elf *elf = NULL;
	int err;

	elf_writer_add(&writer, (struct elf_section){.name = name,
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_WRITE,
						     .data = "",
						     .size = 1});
	file = elf_writer_write(&writer);
	memcpy(&header, file.data, sizeof(header));
	memcpy(&section, file.data + header.e_shoff + sizeof(section), sizeof(section));
	section.sh_size = GIGABYTE;
	memcpy(file.data + header.e_shoff + sizeof(section), &section, sizeof(section));
	fd = open_bytes(file.data, file.length);
	assert_int_equal(ftruncate(fd, 2 * GIGABYTE), 0);
	text_release(&file);
	err = elf_file_start(fd, &elf);
	elf_end(elf);
	return err;
}

static void zeros_of_the_program_itself_are_no_reason(void **state _unused_)
{
	assert_int_equal(try_loaded_section(".data"), 0);
	assert_int_equal(try_loaded_section(".rodata"), 0);
	/* These are read whole, loaded or not. */
	assert_int_equal(try_loaded_section(".debug_info"), -EFBIG);
	assert_int_equal(try_loaded_section(".eh_frame"), -EFBIG);
	assert_int_equal(try_loaded_section(".gnu_debugdata"), -EFBIG);
}

static void as_many_sections_as_fit_into_a_hole_are_too_many(void **state _unused_)
{
	const struct patch patches[] = {
		{offsetof(Elf64_Ehdr, e_shnum), 0, 2},
		{get_section_offset(0) + offsetof(Elf64_Shdr, sh_size), 1 << 20, 8},
	};

	assert_int_equal(try_file(patches, 2, GIGABYTE), -EFBIG);
	assert_int_equal(try_file(patches, 2, 0), -EFBIG);
}

static void segments_beyond_the_file_are_invalid(void **state _unused_)
{
	const struct patch patches[] = {
		{offsetof(Elf64_Ehdr, e_phnum), PN_XNUM, 2},
		{get_section_offset(0) + offsetof(Elf64_Shdr, sh_info), 1 << 20, 4},
	};
	const struct patch many = {offsetof(Elf64_Ehdr, e_phnum), 50000, 2};

	assert_int_equal(try_file(patches, 2, GIGABYTE), -EFBIG);
	assert_int_equal(try_file(&many, 1, 0), -EINVAL);
}

static void what_is_no_elf_file_of_this_machine_is_refused(void **state _unused_)
{
	const struct patch swapped = {EI_DATA, ELFDATA2MSB, 1};
	const struct patch class = {EI_CLASS, 7, 1};
	_cleanup_close_ int text = open_bytes("\177ELF", 4);
	_cleanup_close_ int truncated = open_bytes(ELFMAG "\2\1\1\0\0\0\0\0\0\0\0\0", 16);
	Elf *elf;

	assert_int_equal(try_file(&swapped, 1, 0), -ENOEXEC);
	assert_int_equal(try_file(&class, 1, 0), -ENOEXEC);
	assert_int_equal(elf_file_start(text, &elf), -ENOEXEC);
	assert_int_equal(elf_file_start(truncated, &elf), -ENOEXEC);
}

static void files_of_32_bits_are_looked_at_as_well(void **state _unused_)
{
	struct {
		Elf32_Ehdr header;
		Elf32_Shdr sections[2];
	} file = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_386,
			   .e_version = EV_CURRENT,
			   .e_ehsize = sizeof(Elf32_Ehdr),
			   .e_shoff = sizeof(Elf32_Ehdr),
			   .e_shentsize = sizeof(Elf32_Shdr),
			   .e_shnum = 2},
		.sections[1] = {.sh_type = SHT_STRTAB, .sh_size = 1},
	};
	_cleanup_close_ int good = open_bytes(&file, sizeof(file));
	_cleanup_close_ int bad = -1;
	Elf *elf;

	assert_int_equal(elf_file_start(good, &elf), 0);
	elf_end(elf);
	file.sections[1].sh_size = GIGABYTE;
	bad = open_bytes(&file, sizeof(file));
	assert_int_equal(ftruncate(bad, 2 * GIGABYTE), 0);
	assert_int_equal(elf_file_start(bad, &elf), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_section_that_is_a_hole_is_too_large),
		cmocka_unit_test(zeros_of_the_program_itself_are_no_reason),
		cmocka_unit_test(as_many_sections_as_fit_into_a_hole_are_too_many),
		cmocka_unit_test(segments_beyond_the_file_are_invalid),
		cmocka_unit_test(what_is_no_elf_file_of_this_machine_is_refused),
		cmocka_unit_test(files_of_32_bits_are_looked_at_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
