/* PHP in the symbols of a file, and its version in what it says of itself. */
#include "runtime/php/find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/file_data.h"

/* Of one thread; of a build for several ones there is their offset in a thread's memory instead. */
#define GLOBALS_NAME        "executor_globals"
#define GLOBALS_OFFSET_NAME "executor_globals_offset"
#define EVALUATION_NAME     "execute_ex" /* with its end */
/* A header of HTTP that each build can send, with its version. */
#define VERSION_BEGIN "X-Powered-By: PHP/"

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

struct markers {
	bool has_globals;
	bool has_offset;
	bool has_evaluation;
};

static void take_symbol(struct objfile *objfile, const char *name, const GElf_Sym *symbol,
			struct markers *markers, struct script_build *build)
{
	if (string_equals(name, GLOBALS_OFFSET_NAME)) {
		markers->has_offset = true;
	} else if (string_equals(name, GLOBALS_NAME)) {
		markers->has_globals = true;
		build->state = symbol->st_value;
	} else if (string_equals(name, EVALUATION_NAME) && !markers->has_evaluation &&
		   objfile_is_code(objfile, symbol->st_value) && symbol->st_size &&
		   symbol->st_size <= UINT64_MAX - symbol->st_value) {
		markers->has_evaluation = true;
		build->eval_parts[0] = (struct evaluation_part){
			.start = symbol->st_value, .end = symbol->st_value + symbol->st_size};
		build->num_eval_parts = 1;
	}
}

static void search_symbols(struct objfile *objfile, struct markers *markers,
			   struct script_build *build)
{
	Elf *elf = objfile_get_elf(objfile);

	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		Elf_Data *data;
		GElf_Shdr header;
		GElf_Sym symbol;

		if (!gelf_getshdr(scn, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			const char *name;

			if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS)
				continue;
			name = elf_strptr(elf, header.sh_link, symbol.st_name);
			if (name && string_starts_with(name, "exec"))
				take_symbol(objfile, name, &symbol, markers, build);
		}
	}
}

/* The version behind its begin: "8.2.36". Returns false for what is none. */
static bool parse_version(const char *text, const char *end, struct script_build *build)
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
static void find_version(struct objfile *objfile, struct script_build *build)
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
		found = memmem(data->d_buf, data->d_size, VERSION_BEGIN, strlen(VERSION_BEGIN));
		if (found && parse_version(found + strlen(VERSION_BEGIN), end, build))
			return;
	}
}

static enum script_support find_layout(struct script_build *build)
{
	for (size_t i = 0; i < ARRAY_LENGTH(known_versions); i++) {
		if (known_versions[i].major != build->major ||
		    known_versions[i].minor != build->minor)
			continue;
		build->layout.runtime = WIRE_RUNTIME_PHP;
		build->layout.php = known_versions[i].layout;
		return SCRIPT_KNOWN;
	}
	return SCRIPT_UNKNOWN_VERSION;
}

int php_find(struct objfile *objfile, struct script_build *ret)
{
	struct script_build found = {.runtime = WIRE_RUNTIME_PHP, .support = SCRIPT_UNKNOWN_BUILD};
	struct markers markers = {0};

	if (!file_has_symbol_name(objfile_get_elf(objfile), EVALUATION_NAME,
				  sizeof(EVALUATION_NAME)))
		return -ENOENT;
	search_symbols(objfile, &markers, &found);
	if (!markers.has_evaluation || (!markers.has_globals && !markers.has_offset))
		return -ENOENT;
	find_version(objfile, &found);
	if (markers.has_globals && file_is_64_bit_little_endian(objfile))
		found.support = find_layout(&found);
	*ret = found;
	return 0;
}
