#include "objfile/function_search.h"

#include <ctype.h>
#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "objfile/architecture.h"
#include "objfile/demangle.h"
#include "objfile/elf_symbols.h"
#include "objfile/instruction_flow.h"

/* A larger offset into a function is a mistake. */
#define MAX_OFFSET (16u << 20)

/* Size of the text that lists functions of one name; more are only counted. */
#define LIST_BYTES 384

struct named_function {
	const char *symbol; /* borrowed from the objfile */
	uint64_t start;     /* ELF address */
	uint64_t size;      /* 0: unknown */
	bool is_ifunc;
};

struct function_search {
	struct objfile *objfile;
	const struct function_query *query;
	ARRAY(struct named_function) functions;
	struct near_names near;
};

/* "memcpy@@GLIBC_2.14" is memcpy as well. */
static bool is_named(const char *symbol, const char *wanted)
{
	size_t length = strlen(wanted);

	return strncmp(symbol, wanted, length) == 0 &&
	       (symbol[length] == '\0' || symbol[length] == '@');
}

/* ---- demangled names ---------------------------------------------------------------------- */

static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The next character of a name: a space only between words, "char const*" is "char const *". */
static char take_character(const char **at, char last)
{
	const char *next = *at + strspn(*at, " ");
	bool is_space = next > *at && is_of_word(last) && is_of_word(*next);

	*at = is_space || !*next ? next : next + 1;
	return is_space ? ' ' : *next;
}

static bool is_same_name(const char *a, const char *b)
{
	char last = '\0';

	for (;;) {
		char of_a = take_character(&a, last);
		char of_b = take_character(&b, last);

		if (of_a != of_b)
			return false;
		if (!of_a)
			return true;
		last = of_a;
	}
}

/* Returns 1 if it is, 0 or -ENOMEM. near: is shown the name, in the form that the query has; NULL: it is not. */
static int has_demangled_name(const char *symbol, const char *wanted, struct near_names *near)
{
	bool has_parameters = strchr(wanted, '(');
	_cleanup_free_ char *plain = demangle_symbol(symbol, false);
	_cleanup_free_ char *full = has_parameters ? demangle_symbol(symbol, true) : NULL;

	if (!plain || (has_parameters && !full))
		return -ENOMEM;
	/* "a(int)::{lambda()#1}" has parentheses, too. */
	if (is_same_name(plain, wanted) || (full && is_same_name(full, wanted)))
		return 1;
	if (near)
		near_names_compare(near, symbol_is_mangled(wanted) ? symbol
					 : has_parameters          ? full
								   : plain);
	return 0;
}

/* ---- symbols ------------------------------------------------------------------------------ */

static int add_function(struct function_search *search, const char *name, const GElf_Sym *symbol)
{
	bool is_ifunc = GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
	struct named_function *function;

	array_for_each (&search->functions, known) {
		if (known->start != symbol->st_value)
			continue;
		known->is_ifunc |= is_ifunc;
		if (known->size < symbol->st_size)
			known->size = symbol->st_size;
		return 0;
	}
	if (search->functions.length == PROBE_MAX_POINTS)
		return -E2BIG;
	function = array_add(&search->functions);
	if (!function)
		return -ENOMEM;
	*function = (struct named_function){name, symbol->st_value, symbol->st_size, is_ifunc};
	return 0;
}

static int add_if_named(struct function_search *search, const char *name, const GElf_Sym *symbol)
{
	return is_named(name, search->query->name) ? add_function(search, name, symbol) : 0;
}

static int add_if_demangled(struct function_search *search, const char *name,
			    const GElf_Sym *symbol)
{
	int err;

	if (symbol_is_cold_part(name))
		return 0;
	if (!symbol_is_mangled(name)) {
		near_names_compare(&search->near, name);
		return 0;
	}
	err = has_demangled_name(name, search->query->name, &search->near);
	return err > 0 ? add_function(search, name, symbol) : err;
}

/* Is shown the symbols of functions. */
typedef int symbol_handler(struct function_search *search, const char *name,
			   const GElf_Sym *symbol);

/* A search, and the handler of the functions that it finds. */
struct function_pass {
	struct function_search *search;
	symbol_handler *handle;
};

static int visit_symbol(void *context, const char *name, const GElf_Sym *symbol)
{
	const struct function_pass *pass = context;
	unsigned char type = GELF_ST_TYPE(symbol->st_info);

	if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || !*name ||
	    !objfile_is_code(pass->search->objfile, symbol->st_value))
		return 0;
	return pass->handle(pass->search, name, symbol);
}

static int search_files(struct function_search *search, symbol_handler *handle)
{
	struct function_pass pass = {search, handle};
	Elf *elfs[OBJFILE_MAX_SYMBOL_FILES];
	size_t num_elfs = objfile_get_symbol_files(search->objfile, elfs);

	for (size_t i = 0; i < num_elfs; i++) {
		int err = objfile_for_each_symbol(elfs[i], visit_symbol, &pass);

		if (err)
			return err;
	}
	return 0;
}

/* ---- inlined ------------------------------------------------------------------------------ */

struct inline_search {
	const char *name;
	bool was_found;
};

static int look_at_function(Dwarf_Die *function, void *context)
{
	struct inline_search *search = context;
	const char *name = dwarf_diename(function);
	Dwarf_Attribute attribute;

	if (!dwarf_func_inline(function))
		return DWARF_CB_OK;
	search->was_found = name && string_equals(name, search->name);
	/* For a method, it is in the declaration in its class. */
	if (!search->was_found && dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute)) {
		name = dwarf_formstring(&attribute);
		search->was_found = name && (string_equals(name, search->name) ||
					     has_demangled_name(name, search->name, NULL) > 0);
	}
	return search->was_found ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* Whether debug information has a function of the name that was inlined somewhere. */
static bool was_inlined(struct objfile *objfile, const char *name)
{
	struct inline_search search = {.name = name};
	Dwarf *dwarf = objfile_get_dwarf(objfile);
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	while (dwarf && !search.was_found &&
	       !dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL))
		(void)dwarf_getfuncs(&die, look_at_function, &search,
				     0); /* malformed: no functions */
	return search.was_found;
}

/* "parse.isra.0", "parse.part.0": compilers' versions of parse for some of its callers. */
static bool has_clone(const struct function_search *search)
{
	const char *name = search->query->name;

	for (size_t i = 0; i < search->near.num_found; i++)
		if (string_starts_with(search->near.found[i].name, name) &&
		    search->near.found[i].name[strlen(name)] == '.')
			return true;
	return false;
}

static int refuse_missing(struct function_search *search, struct error *error)
{
	const char *name = search->query->name;
	const char *path = objfile_get_path(search->objfile);
	char names[NEAR_NAMES_TEXT_BYTES];

	if (!has_clone(search) && was_inlined(search->objfile, name))
		return error_set(
			error, -ENOENT,
			"%s: '%s' was inlined at every call: no function is left to probe; "
			"probe one of its callers",
			path, name);
	near_names_format(&search->near, names);
	return error_set(
		error, -ENOENT, "%s has no function '%s'%s", path, name,
		search->near.num_found ? names
		: objfile_has_symtab(search->objfile)
			? ""
			: "; it has no symbol table, only exported symbols (the package with its "
			  "debug symbols has the others)");
}

/* ---- several ------------------------------------------------------------------------------ */

/* "'_Z1fi' (f(int)), '_Z1fl' (f(long)) and 3 more" */
static int list_functions(const struct function_search *search, char ret[LIST_BYTES])
{
	size_t length = 0;

	for (size_t i = 0; i < search->functions.length; i++) {
		const char *symbol = search->functions.items[i].symbol;
		_cleanup_free_ char *full = demangle_symbol(symbol, true);
		char more[32] = "";
		int added;

		if (!full)
			return -ENOMEM;
		added = snprintf(ret + length, LIST_BYTES - length, "%s'%.*s' (%s)", i ? ", " : "",
				 (int)strcspn(symbol, "@"), symbol, full);
		if ((size_t)added + sizeof(more) < LIST_BYTES - length) {
			length += (size_t)added;
			continue;
		}
		snprintf(more, sizeof(more), "%s%zu%s", i ? " and " : "",
			 search->functions.length - i, i ? " more" : " of them");
		snprintf(ret + length, LIST_BYTES - length, "%s", more);
		break;
	}
	return 0;
}

static bool is_same_symbol(const char *a, const char *b)
{
	size_t length = strcspn(a, "@");

	return strcspn(b, "@") == length && memcmp(a, b, length) == 0;
}

/* Functions with the same linker's name cannot be distinguished: all are meant, as in C. */
static int check_demangled(const struct function_search *search, struct error *error)
{
	bool has_clone = false, has_others = false;
	char list[LIST_BYTES];

	array_for_each (&search->functions, function) {
		has_clone |= symbol_is_clone(function->symbol);
		has_others |= !is_same_symbol(function->symbol, search->functions.items[0].symbol);
	}
	if (!has_clone && !has_others)
		return 0;
	if (list_functions(search, list))
		return -ENOMEM;
	return error_set(
		error, -ENOTUNIQ,
		has_others
			? "several functions are called '%s': %s; give the mangled name of one"
			: "'%s' exists only as clones made by the compiler: %s; give the mangled "
			  "name of one",
		search->query->name, list);
}

/* ---- offsets ------------------------------------------------------------------------------ */

/* A function without size ends at the next symbol. */
static uint64_t get_size(struct objfile *objfile, const struct named_function *function)
{
	struct symbol symbol;

	if (function->size)
		return function->size;
	if (objfile_find_symbol(objfile, function->start, &symbol))
		return 0;
	return symbol.end - function->start;
}

static int check_instructions(struct function_search *search,
			      const struct architecture *architecture,
			      const struct named_function *function, uint64_t size,
			      struct error *error)
{
	uint64_t offset = search->query->offset;
	size_t num_bytes =
		offset + INSTRUCTION_MAX_BYTES < size ? offset + INSTRUCTION_MAX_BYTES : size;
	const char *name = search->query->name;
	_cleanup_free_ uint8_t *code = malloc(num_bytes);
	uint64_t position = 0;

	if (!code)
		return -ENOMEM;
	if (objfile_read_code(search->objfile, function->start, code, num_bytes))
		return error_set(error, -EILSEQ, "%s: the code of '%s' is not in the file",
				 objfile_get_path(search->objfile), name);
	for (;;) {
		struct instruction_flow instruction;

		/* A breakpoint inside of an instruction changes it into another one. */
		if (!architecture_decode(architecture, code + position, num_bytes - position,
					 &instruction))
			return error_set(error, -EILSEQ,
					 "%s+0x%" PRIx64
					 ": unknown whether an instruction starts there: "
					 "cannot decode the one at +0x%" PRIx64,
					 name, offset, position);
		if (position == offset)
			return 0;
		if (position + instruction.length > offset)
			return error_set(
				error, -EILSEQ,
				"%s+0x%" PRIx64 " is in the middle of an instruction, which "
				"starts at +0x%" PRIx64 "; the next one starts at +0x%" PRIx64,
				name, offset, position, position + instruction.length);
		position += instruction.length;
	}
}

static int check_offset(struct function_search *search, const struct named_function *function,
			struct error *error)
{
	uint64_t size = get_size(search->objfile, function);
	uint64_t offset = search->query->offset;
	const struct architecture *architecture = objfile_get_architecture(search->objfile);

	if (!offset)
		return 0;
	if (offset >= size || offset > MAX_OFFSET)
		return error_set(error, -ERANGE,
				 "%s+0x%" PRIx64 " is beyond the function, which has 0x%" PRIx64
				 " bytes",
				 search->query->name, offset, size);
	if (architecture && !architecture->instruction_bytes)
		return check_instructions(search, architecture, function, size, error);
	if (offset % sizeof(uint32_t))
		return error_set(error, -EILSEQ,
				 "%s+0x%" PRIx64 " is in the middle of an instruction: these start "
				 "at multiples of 4",
				 search->query->name, offset);
	return 0;
}

static int add_point(struct function_search *search, const struct named_function *function,
		     struct probe_point_list *ret, struct error *error)
{
	uint64_t elf_address = function->start + search->query->offset;
	int err = check_offset(search, function, error);

	if (err)
		return err;
	array_for_each (&objfile_get_layout(search->objfile)->segments, segment) {
		uint64_t offset = elf_address - segment->elf_address;
		struct probe_point point = {.file_offset = segment->file_offset + offset};

		if (!segment->is_executable || elf_address < segment->elf_address ||
		    offset >= segment->file_size)
			continue;
		return probe_point_list_add(ret, &point);
	}
	return error_set(error, -ERANGE, "%s: the code of '%s' is not in the file",
			 objfile_get_path(search->objfile), search->query->name);
}

/* The called function has another name, and this one does not lead to it. */
static int refuse_ifunc(const struct function_search *search, struct error *error)
{
	return error_set(error, -ENXIO,
			 "%s: '%s' is resolved when a program starts (IFUNC), to one of several "
			 "functions; a profile of the program shows which",
			 objfile_get_path(search->objfile), search->query->name);
}

static int add_points(struct function_search *search, struct probe_point_list *ret,
		      struct error *error)
{
	if (!search->functions.length)
		return refuse_missing(search, error);
	array_for_each (&search->functions, function) {
		int err;

		if (function->is_ifunc)
			return refuse_ifunc(search, error);
		err = add_point(search, function, ret, error);
		if (err)
			return err;
	}
	return 0;
}

/* A linker's name takes precedence over functions with the same demangled name. */
static int find(struct function_search *search, struct error *error)
{
	int err = search_files(search, add_if_named);

	if (err || search->functions.length)
		return err;
	err = search_files(search, add_if_demangled);
	return err ? err : check_demangled(search, error);
}

static void search_release(struct function_search *search)
{
	array_release(&search->functions);
}

int function_search(struct objfile *objfile, const struct function_query *query,
		    struct probe_point_list *ret, struct error *error)
{
	_cleanup_(search_release) struct function_search search = {
		.objfile = objfile, .query = query, .near = {.word = query->name}};
	int err = find(&search, error);

	if (err == -E2BIG)
		return error_set(error, err, "%s: more than %d functions are called '%s'",
				 objfile_get_path(objfile), PROBE_MAX_POINTS, query->name);
	return err ? err : add_points(&search, ret, error);
}
