#include "objfile/allocator.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "objfile/architecture.h"
#include "objfile/elf_symbols.h"
#include "objfile/go_table.h"
#include "objfile/instruction_flow.h"
#include "objfile/plt.h"

/*
 * The requested size is the argument of a number, or the product of two. Replacements of malloc
 * often have their own "operator new", and so do programs. Those of a C++ library call malloc, and
 * are left to it: two probes for each object would cost more, and change nothing.
 */
static const struct allocating_name {
	const char *name;
	/* Only with its prefix: without it, the name may mean something else. */
	bool is_of_mimalloc;
	/* Numbers of arguments, 0: none. */
	unsigned char size;
	unsigned char factor;
	unsigned char freed;
	unsigned char pointer;
	unsigned char jump; /* it jumps to another one if this is no more than the limit */
	uint64_t jump_limit;
	unsigned char hook; /* called in its place, from 1 on in hooks[]; 0: none */
	bool jumps_in_mimalloc; /* to its own, of the same name with its prefix or another order of arguments */
} names[] = {
	{"malloc", .size = 1, .hook = 1},
	{"calloc", .size = 1, .factor = 2},
	/* Without memory in malloc. */
	{"realloc", .size = 2, .freed = 1, .jump = 1, .hook = 2},
	/* In aligned_alloc (musl), and that, where malloc aligns so anyway, in malloc. */
	{"memalign", .size = 2, .jump = 1, .jump_limit = UINT64_MAX, .hook = 3},
	{"aligned_alloc", .size = 2, .jump = 1, .jump_limit = 16, .jumps_in_mimalloc = true},
	{"posix_memalign", .size = 3, .pointer = 1, .jumps_in_mimalloc = true},
	{"valloc", .size = 1},
	{"pvalloc", .size = 1},
	{"free", .freed = 1},
	{"cfree", .freed = 1},
	{"free_sized", .freed = 1},
	{"free_aligned_sized", .freed = 1},
	/* jemalloc */
	{"mallocx", .size = 1},
	{"rallocx", .size = 2, .freed = 1},
	{"dallocx", .freed = 1},
	{"sdallocx", .freed = 1},
	{"zalloc", true, .size = 1},
	{"malloc_aligned", true, .size = 1},
	{"zalloc_aligned", true, .size = 1},
	{"calloc_aligned", true, .size = 1, .factor = 2},
	{"realloc_aligned", true, .size = 2, .freed = 1},
	{"free_size", true, .freed = 1},
	{"free_aligned", true, .freed = 1},
	{"free_size_aligned", true, .freed = 1},
};

/* Pointers to functions in glibc's library for debugging. glibc exports them, but does not read them. */
static const char *const hooks[] = {"__malloc_hook", "__realloc_hook", "__memalign_hook"};

/* It returns the function that "operator new" calls when memory is exhausted. */
static const char get_new_handler[] = "_ZSt15get_new_handlerv";

/* Operators for arrays and others, with all optional parameters. */
static const char *const operators_new[] = {
	"_Znwm",
	"_Znam",
	"_ZnwmRKSt9nothrow_t",
	"_ZnamRKSt9nothrow_t",
	"_ZnwmSt11align_val_t",
	"_ZnamSt11align_val_t",
	"_ZnwmSt11align_val_tRKSt9nothrow_t",
	"_ZnamSt11align_val_tRKSt9nothrow_t",
	NULL,
};

static const char *const operators_delete[] = {
	"_ZdlPv",
	"_ZdaPv",
	"_ZdlPvm",
	"_ZdaPvm",
	"_ZdlPvRKSt9nothrow_t",
	"_ZdaPvRKSt9nothrow_t",
	"_ZdlPvSt11align_val_t",
	"_ZdaPvSt11align_val_t",
	"_ZdlPvmSt11align_val_t",
	"_ZdaPvmSt11align_val_t",
	"_ZdlPvSt11align_val_tRKSt9nothrow_t",
	"_ZdaPvSt11align_val_tRKSt9nothrow_t",
	NULL,
};

/* Prefixes of builds that do not replace malloc itself. */
static const char *const prefixes[] = {"", "je_", "_rjem_", "mi_", "tc_"};

void allocator_release(struct allocator *allocator)
{
	array_release(&allocator->functions);
}

static bool is_listed(const char *const *list, const char *symbol, size_t length)
{
	for (; *list; list++)
		if (strlen(*list) == length && !strncmp(symbol, *list, length))
			return true;
	return false;
}

/* The operator for arrays jumps to the other one, and both jump to malloc. */
static const struct allocating_name operator_new = {"operator new", .size = 1, .jump = 1,
						    .jump_limit = UINT64_MAX};
static const struct allocating_name operator_delete = {"operator delete", .freed = 1};

static const struct allocating_name *find_name(const char *symbol)
{
	size_t length = strcspn(symbol, "@"); /* a version is not part of the name */

	if (is_listed(operators_new, symbol, length))
		return &operator_new;
	if (is_listed(operators_delete, symbol, length))
		return &operator_delete;
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

/* The register of an argument that may be none. */
static int find_register(unsigned int argument, uint16_t machine, uint64_t *ret)
{
	struct probe_argument found;
	int err = argument ? function_argument_get(argument, machine, &found) : 0;

	if (err)
		return err;
	*ret = argument ? found.base : ARGUMENT_NO_REGISTER;
	return 0;
}

static int describe(const struct allocating_name *name, uint16_t machine,
		    struct allocator_function *ret)
{
	uint64_t factor;
	int err = name->size ? function_argument_get(name->size, machine, &ret->point.argument) : 0;

	if (err)
		return err;
	err = find_register(name->factor, machine, &factor);
	if (err)
		return err;
	if (name->factor) {
		ret->point.argument.source = ARGUMENT_PRODUCT;
		ret->point.argument.index = (uint8_t)factor;
	}
	err = find_register(name->freed, machine, &ret->free_register);
	if (err)
		return err;
	err = find_register(name->pointer, machine, &ret->pointer_register);
	if (err)
		return err;
	ret->jump_limit = name->jump_limit;
	ret->jumps_in_mimalloc = name->jumps_in_mimalloc;
	return find_register(name->jump, machine, &ret->jump_register);
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

/*
 * If the kernel cannot emulate the instruction that a probe has replaced, the CPU executes it and
 * traps again. In a virtual machine this takes ten times as long as all the rest. The probe is then
 * set after such instructions.
 */
static uint64_t skip_slow_start(const struct objfile *objfile, uint64_t elf_address,
				uint16_t machine)
{
	const struct architecture *architecture = architecture_find(machine);
	uint8_t code[5]; /* as many as the slow starts have that are known */

	if (!architecture || !architecture->skip_slow_start ||
	    objfile_read_code(objfile, elf_address, code, sizeof(code)))
		return 0;
	return architecture->skip_slow_start(code, sizeof(code));
}

/* Other names of a known function add nothing. */
static int add_function(const struct allocator_function *function, struct allocator *ret)
{
	uint64_t file_offset = function->point.file_offset;
	size_t index =
		array_count_front(&ret->functions, known, known->point.file_offset < file_offset);
	struct allocator_function *added;

	if (index < ret->functions.length &&
	    ret->functions.items[index].point.file_offset == file_offset)
		return 0;
	if (ret->functions.length == ALLOCATOR_MAX_FUNCTIONS)
		return -E2BIG;
	added = array_insert(&ret->functions, index);
	if (!added)
		return -ENOMEM;
	*added = *function;
	return 0;
}

struct allocator_file {
	struct objfile *objfile;
	uint16_t machine;
	bool has_malloc;
	bool has_chosen_malloc; /* when the program starts (IFUNC) */
	bool has_operator_new;
	bool has_cpp_library;
	uint64_t get_new_handler; /* ELF address of std::get_new_handler(); 0: not in the file */
	bool is_glibc;
	bool is_mimalloc;
	bool has_own_memory; /* it is jemalloc, tcmalloc or mimalloc, or has their names */
	struct allocator found;
	uint64_t hooked[ARRAY_LENGTH(hooks)]; /* ELF addresses of functions with hooks */
	struct plt plt;
};

/* A version is not part of the name. */
static bool is_name(const char *symbol, const char *name)
{
	return string_starts_with(symbol, name) && strcspn(symbol, "@") == strlen(name);
}

static int visit_symbol(void *context, const char *text, const GElf_Sym *symbol)
{
	struct allocator_file *file = context;
	struct allocator_function function = {.bytes = symbol->st_size,
					      .elf_address = symbol->st_value};
	const struct allocating_name *name;
	int err;

	file->has_chosen_malloc |= GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC &&
				   symbol->st_shndx != SHN_UNDEF && is_name(text, "malloc");
	if (GELF_ST_TYPE(symbol->st_info) != STT_FUNC ||
	    !objfile_is_code(file->objfile, symbol->st_value))
		return 0;
	file->is_glibc |= string_starts_with(text, "__libc_malloc");
	file->has_cpp_library |= is_name(text, "__cxa_allocate_exception");
	if (is_name(text, get_new_handler))
		file->get_new_handler = symbol->st_value;
	name = find_name(text);
	if (!name || describe(name, file->machine, &function) ||
	    !find_file_offset(file->objfile, symbol->st_value, &function.point.file_offset))
		return 0;
	if (!name->size)
		function.point.file_offset +=
			skip_slow_start(file->objfile, symbol->st_value, file->machine);
	err = add_function(&function, &file->found);
	if (err)
		return err;
	file->has_malloc |= name == &names[0];
	file->has_operator_new |= name == &operator_new;
	if (name->hook && is_name(text, name->name))
		file->hooked[name->hook - 1] = symbol->st_value;
	file->is_mimalloc |= string_starts_with(text, "mi_");
	file->has_own_memory |= string_starts_with(text, "mi_") ||
				string_starts_with(text, "tc_") || strstr(text, "mallocx");
	return 0;
}

/* A hook of functions that were found. */
static int visit_hook(void *context, const char *text, const GElf_Sym *symbol)
{
	struct allocator_file *file = context;

	if (GELF_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_shndx == SHN_UNDEF)
		return 0;
	for (size_t i = 0; i < ARRAY_LENGTH(hooks); i++) {
		if (!is_name(text, hooks[i]))
			continue;
		array_for_each (&file->found.functions, function)
			if (function->elf_address == file->hooked[i])
				function->hook_address = symbol->st_value;
	}
	return 0;
}

/* How much of a function is searched for jumps, in bytes. */
#define MAX_SEARCHED 4096

/* Code that a function continues in without a call, as compilers make of the last one. */
enum jump_target {
	JUMP_WITHIN = 0,
	JUMP_IN = 1, /* to the start of another function of the file that allocates */
	/*
	 * To another file, through a pointer or a linkage table; or to a helper, or to code that the
	 * compiler has moved away as rarely used.
	 */
	JUMP_OUT = 2,
};

/* Whether a function starts there that allocates. */
static bool is_allocating_function(const struct allocator_file *file, uint64_t elf_address)
{
	array_for_each (&file->found.functions, function)
		if (function->elf_address == elf_address &&
		    function->point.argument.source != ARGUMENT_NONE)
			return true;
	return false;
}

/* The function that a stub leads to; NULL: not a stub. */
static const char *find_stub(const struct allocator_file *file, uint64_t elf_address)
{
	array_for_each (&file->plt.stubs, stub)
		if (elf_address >= stub->start && elf_address < stub->end && stub->symbol)
			return stub->symbol;
	return NULL;
}

/* A stub of a function of that name, in this file or in another one that is first. */
static bool is_stub_of_allocator(const struct allocator_file *file, uint64_t elf_address)
{
	const char *symbol = find_stub(file, elf_address);
	const struct allocating_name *name = symbol ? find_name(symbol) : NULL;

	return name && name->size;
}

/*
 * Returns flags of enum jump_target.
 *
 * next        ELF address behind the instruction
 * ret_helper  ELF address of other code of the file; 0: it does not jump to any
 */
static unsigned int find_targets(const struct allocator_file *file,
				 const struct allocator_function *function,
				 const struct instruction_flow *flow, uint64_t next,
				 uint64_t *ret_helper)
{
	uint64_t target = next + (uint64_t)(int64_t)flow->distance;

	*ret_helper = 0;
	if (flow->kind != INSTRUCTION_JUMP && flow->kind != INSTRUCTION_SHORT_JUMP &&
	    flow->kind != INSTRUCTION_BRANCH)
		return JUMP_WITHIN;
	if (!flow->is_direct)
		return JUMP_OUT;
	if (target - function->elf_address < function->bytes)
		return JUMP_WITHIN;
	if (is_stub_of_allocator(file, target))
		return JUMP_IN | JUMP_OUT;
	if (is_allocating_function(file, target))
		return JUMP_IN;
	if (!find_stub(file, target))
		*ret_helper = target;
	/* Helpers of these call no other allocator, and remembering each call takes time. */
	return file->has_own_memory ? JUMP_WITHIN : JUMP_OUT;
}

/* The code of a function, and the helpers that are found by its jumps. */
struct jump_search {
	const struct allocator_file *file;
	struct allocator_function *function;
	struct code_bounds helpers[ALLOCATOR_MAX_HELPERS];
	size_t num_helpers;
};

static void add_helper(struct jump_search *search, uint64_t elf_address)
{
	struct allocator_function *function = search->function;
	struct frame_info *frame_info;
	struct code_bounds bounds;
	uint64_t file_offset;

	for (size_t i = 0; i < search->num_helpers; i++)
		if (elf_address >= search->helpers[i].start && elf_address < search->helpers[i].end)
			return;
	if (search->num_helpers == ALLOCATOR_MAX_HELPERS ||
	    objfile_get_frame_info(search->file->objfile, &frame_info) ||
	    frame_info_find_bounds(frame_info, elf_address, &bounds) ||
	    !find_file_offset(search->file->objfile, bounds.start, &file_offset)) {
		function->has_other_helpers = true;
		return;
	}
	function->helpers[search->num_helpers] =
		(struct allocator_code_range){file_offset, bounds.end - bounds.start};
	search->helpers[search->num_helpers++] = bounds;
}

/* Returns flags of enum jump_target, of all jumps in the code. */
static unsigned int search_code(struct jump_search *search, uint64_t start, uint64_t size)
{
	const struct architecture *architecture = architecture_find(search->file->machine);
	unsigned int targets = 0;
	struct instruction_flow flow;
	uint8_t code[MAX_SEARCHED];

	if (size > MAX_SEARCHED) {
		search->function->has_other_helpers = true;
		size = MAX_SEARCHED;
	}
	if (!size || objfile_read_code(search->file->objfile, start, code, size))
		return 0;
	for (uint64_t offset = 0;
	     architecture_decode(architecture, code + offset, size - offset, &flow);) {
		uint64_t helper;
		unsigned int found;

		offset += flow.length;
		found = find_targets(search->file, search->function, &flow, start + offset,
				     &helper);
		if (helper && helper - start >= size)
			add_helper(search, helper);
		search->function->has_other_helpers |= found == JUMP_OUT && !flow.is_direct;
		targets |= found;
	}
	return targets;
}

static void find_jumps_of(const struct allocator_file *file, struct allocator_function *function)
{
	struct jump_search search = {.file = file, .function = function};
	unsigned int targets = search_code(&search, function->elf_address, function->bytes);

	function->jumps_out = targets & JUMP_OUT;
	if (targets & JUMP_IN && function->jump_register == ARGUMENT_NO_REGISTER) {
		function->jump_register = function->point.argument.base;
		function->jump_limit = UINT64_MAX;
	}
	for (size_t i = 0; function->jumps_out && i < search.num_helpers; i++)
		(void)search_code(&search, search.helpers[i].start,
				  search.helpers[i].end - search.helpers[i].start);
}

static void find_jumps(struct allocator_file *file)
{
	array_for_each (&file->found.functions, function) {
		if (function->point.argument.source == ARGUMENT_NONE)
			continue;
		function->may_pass_on = true;
		find_jumps_of(file, function);
	}
}

/* Whether a function calls malloc or its kin, and std::get_new_handler(), each directly. */
static bool is_of_cpp_library(const struct allocator_file *file,
			      const struct allocator_function *function)
{
	const struct architecture *architecture = architecture_find(file->machine);
	uint64_t size = function->bytes < MAX_SEARCHED ? function->bytes : MAX_SEARCHED;
	bool calls_allocator = false;
	bool calls_get_handler = false;
	struct instruction_flow flow;
	uint8_t code[MAX_SEARCHED];

	if (!size || objfile_read_code(file->objfile, function->elf_address, code, size))
		return false;
	for (uint64_t offset = 0;
	     architecture_decode(architecture, code + offset, size - offset, &flow);) {
		uint64_t target;
		const char *symbol;

		offset += flow.length;
		if (flow.kind != INSTRUCTION_CALL || !flow.is_direct)
			continue;
		target = function->elf_address + offset + (uint64_t)(int64_t)flow.distance;
		symbol = find_stub(file, target);
		calls_allocator |= is_stub_of_allocator(file, target);
		calls_get_handler |= target == file->get_new_handler ||
				     (symbol && is_name(symbol, get_new_handler));
	}
	return calls_allocator && calls_get_handler;
}

/*
 * Whether "operator new" is that of a C++ library, perhaps linked into a program. A file without
 * such a library has its own.
 */
static bool has_operators_of_library(const struct allocator_file *file)
{
	if (!file->has_cpp_library)
		return false;
	array_for_each (&file->found.functions, function)
		if (is_of_cpp_library(file, function))
			return true;
	return false;
}

/* Static programs that can be anywhere in memory (static PIE) have a dynamic section, as libraries do. */
static bool is_marked_as_program(Elf *elf, const GElf_Phdr *dynamic)
{
	Elf_Data *data =
		elf_getdata_rawchunk(elf, (int64_t)dynamic->p_offset, dynamic->p_filesz, ELF_T_DYN);
	GElf_Dyn entry;

	for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
		if (entry.d_tag == DT_FLAGS_1)
			return entry.d_un.d_val & DF_1_PIE;
	return false;
}

static bool uses_no_libraries(struct objfile *objfile)
{
	Elf *elf = objfile_get_elf(objfile);
	bool is_program = false;
	size_t num_headers;
	GElf_Phdr segment;
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header) || elf_getphdrnum(elf, &num_headers))
		return false;
	is_program = header.e_type == ET_EXEC;
	for (size_t i = 0; i < num_headers && gelf_getphdr(elf, (int)i, &segment); i++) {
		if (segment.p_type == PT_INTERP)
			return false;
		if (segment.p_type == PT_DYNAMIC && header.e_type == ET_DYN)
			is_program = is_marked_as_program(elf, &segment);
	}
	return is_program;
}

/* Returns 0 (it is an allocator), -ENOENT or -ENODATA. */
static int check_kind(struct allocator_file *file)
{
	struct go_table go;

	file->found.has_unknown = go_table_find(objfile_get_elf(file->objfile), &go) ||
				  (!file->has_malloc &&
				   (file->has_chosen_malloc || uses_no_libraries(file->objfile)));
	if (file->has_malloc || (file->has_operator_new && !has_operators_of_library(file)))
		return 0;
	return file->found.has_unknown ? -ENODATA : -ENOENT;
}

/* Its functions are wrappers of each other, which end in a jump. */
static void set_jumps_of_mimalloc(struct allocator *allocator)
{
	array_for_each (&allocator->functions, function) {
		if (!function->jumps_in_mimalloc)
			continue;
		function->jump_register = function->point.argument.base;
		function->jump_limit = UINT64_MAX;
	}
}

int allocator_find(struct objfile *objfile, uint16_t machine, struct allocator *ret)
{
	Elf *elfs[OBJFILE_MAX_SYMBOL_FILES];
	size_t num_elfs = objfile_get_symbol_files(objfile, elfs);
	struct allocator_file file = {.objfile = objfile, .machine = machine};
	int err = 0;

	for (size_t i = 0; i < num_elfs && !err; i++)
		err = objfile_for_each_symbol(elfs[i], visit_symbol, &file);
	if (!err && file.found.functions.length && !file.is_glibc)
		err = plt_read(objfile_get_elf(objfile), &file.plt);
	if (!err)
		err = check_kind(&file);
	for (size_t i = 0; i < num_elfs && !err; i++)
		err = file.is_glibc ? 0 : objfile_for_each_symbol(elfs[i], visit_hook, &file);
	if (file.is_mimalloc)
		set_jumps_of_mimalloc(&file.found);
	if (!err && !file.is_glibc)
		find_jumps(&file);
	plt_release(&file.plt);
	if (err)
		allocator_release(&file.found);
	else
		*ret = file.found;
	return err;
}
