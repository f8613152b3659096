#include "objfile/allocator.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

/*
 * What is asked for is the argument of a number, or the product of two. What libstdc++ calls "operator new" calls malloc;
 * those who replace malloc often have one of their own, which does not: so these count where malloc is in the same
 * file, and where they do call it, that call is one from within the allocator.
 */
static const struct allocating_name {
	const char *name;
	unsigned char argument;
	unsigned char factor;        /* 0: none */
	bool is_of_mimalloc;         /* with its prefix alone: others may mean something else */
	unsigned char jump_argument; /* 0: it jumps to no other */
	uint64_t jump_limit;
} names[] = {
	{"malloc", 1, 0, false, 0, 0},
	{"calloc", 1, 2, false, 0, 0},
	{"realloc", 2, 0, false, 1, 0},           /* without memory to malloc */
	{"memalign", 2, 0, false, 1, UINT64_MAX}, /* to aligned_alloc (musl) */
	{"aligned_alloc", 2, 0, false, 1, 16},    /* as malloc aligns, to malloc */
	{"posix_memalign", 3, 0, false, 0, 0},
	{"valloc", 1, 0, false, 0, 0},
	{"pvalloc", 1, 0, false, 0, 0},
	{"mallocx", 1, 0, false, 0, 0}, /* jemalloc */
	{"rallocx", 2, 0, false, 0, 0}, /* likewise */
	{"zalloc", 1, 0, true, 0, 0},
	{"malloc_aligned", 1, 0, true, 0, 0},
	{"zalloc_aligned", 1, 0, true, 0, 0},
	{"calloc_aligned", 1, 2, true, 0, 0},
	{"realloc_aligned", 2, 0, true, 0, 0},
};

static const char *const operators[] = {
	"_Znwm",
	"_Znam",
	"_ZnwmRKSt9nothrow_t",
	"_ZnamRKSt9nothrow_t",
	"_ZnwmSt11align_val_t",
	"_ZnamSt11align_val_t",
	"_ZnwmSt11align_val_tRKSt9nothrow_t",
	"_ZnamSt11align_val_tRKSt9nothrow_t",
};

/* Of builds that leave malloc itself to others. */
static const char *const prefixes[] = {"", "je_", "_rjem_", "mi_", "tc_"};

void allocator_release(struct allocator *allocator)
{
	array_release(&allocator->functions);
}

static const struct allocating_name *find_name(const char *symbol)
{
	/* That of arrays to the other one, and either to malloc. */
	static const struct allocating_name operator_new = {"operator new", 1, 0,
							    false,          1, UINT64_MAX};
	size_t length = strcspn(symbol, "@"); /* a version is no part of the name */

	for (size_t i = 0; i < ARRAY_LENGTH(operators); i++)
		if (strlen(operators[i]) == length && !strncmp(symbol, operators[i], length))
			return &operator_new;
	for (size_t i = 0; i < ARRAY_LENGTH(prefixes); i++) {
		size_t prefix = strlen(prefixes[i]);

		if (!string_starts_with(symbol, prefixes[i]))
			continue;
		for (size_t j = 0; j < ARRAY_LENGTH(names); j++)
			if ((!names[j].is_of_mimalloc || string_equals(prefixes[i], "mi_")) &&
			    strlen(names[j].name) == length - prefix &&
			    !strncmp(symbol + prefix, names[j].name, length - prefix))
				return &names[j];
	}
	return NULL;
}

static int describe(const struct allocating_name *name, uint16_t machine,
		    struct allocator_function *ret)
{
	struct probe_argument *size = &ret->place.argument;
	struct probe_argument other;
	int err = function_argument_get(name->argument, machine, size);

	if (err)
		return err;
	if (name->factor) {
		err = function_argument_get(name->factor, machine, &other);
		if (err)
			return err;
		size->source = ARGUMENT_PRODUCT;
		size->index = other.base;
	}
	ret->jump_register = ARGUMENT_NO_REGISTER;
	if (name->jump_argument) {
		err = function_argument_get(name->jump_argument, machine, &other);
		if (err)
			return err;
		ret->jump_register = other.base;
		ret->jump_limit = name->jump_limit;
	}
	return 0;
}

static bool find_file_offset(struct objfile *objfile, uint64_t elf_address, uint64_t *ret)
{
	array_for_each (&objfile_get_layout(objfile)->segments, segment) {
		uint64_t offset = elf_address - segment->elf_address;

		if (!segment->is_executable || elf_address < segment->elf_address ||
		    offset >= segment->file_size)
			continue;
		*ret = segment->file_offset + offset;
		return true;
	}
	return false;
}

/* Other names of a function that is known already tell nothing new. */
static int add_function(const struct allocator_function *function, struct allocator *ret)
{
	uint64_t file_offset = function->place.file_offset;
	size_t index =
		array_count_front(&ret->functions, known, known->place.file_offset < file_offset);
	struct allocator_function *added;

	if (index < ret->functions.length &&
	    ret->functions.items[index].place.file_offset == file_offset)
		return 0;
	if (ret->functions.length == ALLOCATOR_MAX_FUNCTIONS)
		return -E2BIG;
	added = array_insert(&ret->functions, index);
	if (!added)
		return -ENOMEM;
	*added = *function;
	return 0;
}

static int search_section(struct objfile *objfile, Elf *elf, Elf_Scn *scn, uint16_t machine,
			  bool *has_malloc, struct allocator *ret)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Shdr header;
	GElf_Sym symbol;

	if (!gelf_getshdr(scn, &header) ||
	    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
		return 0;
	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const struct allocating_name *name;
		struct allocator_function function = {.bytes = symbol.st_size};
		const char *text;
		int err;

		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_shndx == SHN_ABS || !objfile_is_code(objfile, symbol.st_value))
			continue;
		text = elf_strptr(elf, header.sh_link, symbol.st_name);
		name = text ? find_name(text) : NULL;
		if (!name || describe(name, machine, &function) ||
		    !find_file_offset(objfile, symbol.st_value, &function.place.file_offset))
			continue;
		err = add_function(&function, ret);
		if (err)
			return err;
		*has_malloc |= name == &names[0];
	}
	return 0;
}

int allocator_find(struct objfile *objfile, uint16_t machine, struct allocator *ret)
{
	Elf *elfs[OBJFILE_MAX_SYMBOL_FILES];
	size_t num_elfs = objfile_get_symbol_files(objfile, elfs);
	struct allocator found = {0};
	bool has_malloc = false;
	int err = 0;

	for (size_t i = 0; i < num_elfs && !err; i++)
		for (Elf_Scn *scn = elf_nextscn(elfs[i], NULL); scn && !err;
		     scn = elf_nextscn(elfs[i], scn))
			err = search_section(objfile, elfs[i], scn, machine, &has_malloc, &found);
	if (!err && !has_malloc)
		err = -ENOENT;
	if (err) {
		allocator_release(&found);
		return err;
	}
	*ret = found;
	return 0;
}
