/* PHP in the symbols of a file, and its version in the file's data. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/file_data.h"
#include "runtime/finder.h"

enum { EVALUATION, GLOBALS, GLOBALS_OFFSET, NUM_NAMES };

/*
 * A build for several threads exports the offset of its globals in a thread's memory instead of the
 * globals.
 */
static const char *const names[NUM_NAMES] = {
	[EVALUATION] = "execute_ex",
	[GLOBALS] = "executor_globals",
	[GLOBALS_OFFSET] = "executor_globals_offset",
};

/* A header of HTTP that each build can send, with its version. */
#define VERSION_START "X-Powered-By: PHP/"

/*
 * Source: Zend/zend_compile.h (_zend_op_array), zend_globals.h (_zend_executor_globals) and zend_generators.h of each version, whose layout its
 * releases keep, as extensions are compiled for it.
 */
static const struct known_version {
	unsigned int major;
	unsigned int minor;
	struct wire_php_layout layout;
} known_versions[] = {
#define VERSION(version_major, version_minor, current_frame, num_instructions, instructions, file, \
		generator)                                                                         \
	{                                                                                          \
		version_major, version_minor,                                                      \
		{                                                                                  \
			.current = (current_frame),                                                \
			.function_num_instructions = (num_instructions),                           \
			.function_instructions = (instructions), .function_file = (file),          \
			.function_bytes = (file) + 16, .generator_frame = (generator),             \
			.generator_parent = (generator) + 96                                       \
		}                                                                                  \
	}
	VERSION(7, 4, 488, 60, 64, 136, 64),  VERSION(8, 0, 488, 68, 72, 144, 56),
	VERSION(8, 1, 488, 68, 72, 144, 56),  VERSION(8, 2, 488, 80, 88, 152, 56),
	VERSION(8, 3, 488, 76, 80, 144, 56),  VERSION(8, 4, 488, 96, 104, 168, 56),
	VERSION(8, 5, 512, 96, 104, 168, 56),
#undef VERSION
};

/* Parse the version: "8.2.36". Returns false if it is not one. */
static bool parse_version(const char *text, const char *end, struct runtime_build *build)
{
	unsigned int numbers[2] = {0};

	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
		const char *digits = text;

		while (text < end && *text >= '0' && *text <= '9' && text - digits < 3)
			numbers[i] = numbers[i] * 10 + (unsigned int)(*text++ - '0');
		if (text == digits || text == end || *text++ != '.')
			return false;
	}
	build->major = numbers[0];
	build->minor = numbers[1];
	return true;
}

/* It is among the constants. */
static void find_version(struct objfile *objfile, struct runtime_build *build)
{
	Elf *elf = objfile_get_elf(objfile);

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		const char *found;
		const char *end;
		Elf_Data *data;
		GElf_Shdr header;

		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_PROGBITS ||
		    (header.sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) != SHF_ALLOC)
			continue;
		data = elf_getdata(scn, NULL);
		if (!data || !data->d_buf)
			continue;
		end = (const char *)data->d_buf + data->d_size;
		found = memmem(data->d_buf, data->d_size, VERSION_START, strlen(VERSION_START));
		if (found && parse_version(found + strlen(VERSION_START), end, build))
			return;
	}
}

static enum runtime_support find_layout(struct runtime_build *build)
{
	for (size_t i = 0; i < ARRAY_LENGTH(known_versions); i++) {
		if (known_versions[i].major != build->major ||
		    known_versions[i].minor != build->minor)
			continue;
		build->layout.php = known_versions[i].layout;
		return SUPPORT_KNOWN;
	}
	return SUPPORT_UNKNOWN_VERSION;
}

int php_find(struct objfile *objfile, struct runtime_build *build)
{
	struct file_symbol symbols[NUM_NAMES];
	const struct file_symbol *evaluation = &symbols[EVALUATION];

	file_find_symbols(objfile, names, NUM_NAMES, symbols);
	if (!objfile_is_code(objfile, evaluation->address) || !evaluation->size ||
	    evaluation->size > UINT64_MAX - evaluation->address ||
	    (!symbols[GLOBALS].is_there && !symbols[GLOBALS_OFFSET].is_there))
		return -ENOENT;
	build->state = symbols[GLOBALS].address;
	build->num_eval_parts = 1;
	build->eval_parts[0] = (struct evaluation_part){
		.start = evaluation->address, .end = evaluation->address + evaluation->size};
	find_version(objfile, build);
	build->support = SUPPORT_UNKNOWN_BUILD;
	if (symbols[GLOBALS].is_there && file_is_64_bit_little_endian(objfile))
		build->support = find_layout(build);
	return 0;
}
