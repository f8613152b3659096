/*
 * A location is an address in a mapped file, in the kernel, or in memory of one process. Each is
 * symbolized once, however many stacks contain it. This happens after the recording, so that the
 * recorded machine is not disturbed. Files are read through the descriptors that the file table
 * opened when it saw them mapped: by now a path may lead to another file, or to nothing.
 *
 * Sources of names for code in a file, best first:
 *
 *	debug information             function, inlined calls, lines
 *	symbol tables                 function
 *	call-frame information        start of a function, without a name
 *	the file's own name           with the reason for the missing name
 *
 * The name of the function itself is taken from its symbol, or without one from debug information.
 * So profiles with and without debug files can be compared. An address beyond the end of a symbol
 * does not get that symbol's name: a wrong name is worse than none.
 *
 * Locations are sorted by file, as symbols and debug information are by far the largest data here:
 * one file is open at a time. Within a file with debug information they are sorted by compilation
 * unit.
 *
 * Generated code whose address had another name before already has its frames: the code that adds a
 * sample knows its time. The first name of an address is assigned here, and also applies to earlier
 * times.
 *
 * Limits: kernel code that was unloaded meanwhile has a name only if it was reported by
 * symbolizer_add_kernel_symbol(): BPF programs, not modules.
 */
#include "symbolize/symbolizer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "objfile/demangle.h"
#include "symbolize/code_files.h"
#include "symbolize/inlines.h"
#include "symbolize/kernel_symbols.h"

/* Locations between two calls of progress(). */
#define PROGRESS_STEP 512

/* Code at the entry point of an ELF file that has no call-frame information: ld.so's _start. */
#define ENTRY_CODE_BYTES 64

#define GENERATED_NAME_BYTES (PATH_MAX + 64)

struct symbolizer {
	const struct process_table *processes;
	const struct file_table *files;
	struct symbolizer_opts opts;
	char *proc_root;
	struct code_files *code_files;
	struct kernel_symbols *kernel;
	struct demangler *demangler;
	char *unread_path; /* of struct unread_debug_info */
	bool is_unread_split;
};

struct symbolizer *symbolizer_new(const struct file_table *files,
				  const struct process_table *processes,
				  const struct symbolizer_opts *opts)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
	const char *proc_root = opts && opts->proc_root ? opts->proc_root : "/proc";
	const char *debug_root = opts && opts->debug_root ? opts->debug_root : "/usr/lib/debug";

	if (!symbolizer)
		return NULL;
	symbolizer->files = files;
	symbolizer->processes = processes;
	if (opts)
		symbolizer->opts = *opts;
	symbolizer->proc_root = strdup(proc_root);
	symbolizer->code_files = code_files_new(files, debug_root);
	if (symbolizer->code_files && symbolizer->opts.allows_downloads)
		code_files_allow_downloads(symbolizer->code_files);
	if (symbolizer->code_files)
		code_files_set_opener(symbolizer->code_files, symbolizer->opts.duty.opener);
	symbolizer->kernel = kernel_symbols_new();
	symbolizer->demangler = demangler_new();
	if (!symbolizer->proc_root || !symbolizer->code_files || !symbolizer->kernel ||
	    !symbolizer->demangler) {
		symbolizer_free(symbolizer);
		return NULL;
	}
	return symbolizer;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	code_files_free(symbolizer->code_files);
	kernel_symbols_free(symbolizer->kernel);
	demangler_free(symbolizer->demangler);
	free(symbolizer->unread_path);
	free(symbolizer->proc_root);
	free(symbolizer);
}

int symbolizer_add_kernel_symbol(struct symbolizer *symbolizer, uint64_t start, uint64_t size_bytes,
				 const char *name)
{
	return kernel_symbols_add(symbolizer->kernel, start, size_bytes, name);
}

bool symbolizer_is_kernel_restricted(const struct symbolizer *symbolizer)
{
	return kernel_symbols_is_restricted(symbolizer->kernel);
}

struct unread_debug_info symbolizer_get_unread_debug_info(const struct symbolizer *symbolizer)
{
	return (struct unread_debug_info){symbolizer->unread_path, symbolizer->is_unread_split};
}

/* Remember only the first one. */
static int note_unread(struct symbolizer *symbolizer, const struct objfile *objfile, bool is_split)
{
	if (symbolizer->unread_path)
		return 0;
	symbolizer->unread_path = strdup(objfile_get_path(objfile));
	symbolizer->is_unread_split = is_split;
	return symbolizer->unread_path ? 0 : -ENOMEM;
}

/* The frames of a location, while they are being collected. */
struct collected_frames {
	struct symbolizer *symbolizer;
	struct profile *profile;
	const char *module; /* borrowed */
	enum frame_kind kind;
	struct frame frames[SOURCE_FRAMES_MAX];
	size_t num_frames;
	enum unnamed_reason reason;
	bool is_sizeless; /* the symbol of the function has no size */
	bool has_elf_address;
	uint64_t elf_address; /* for code in a file */
};

/* Add the next outer frame. */
static int add_frame(struct collected_frames *collected, const char *name, const char *full_name)
{
	struct frame *frame = &collected->frames[collected->num_frames++];

	*frame = (struct frame){.kind = (uint8_t)collected->kind};
	return profile_name_frame(collected->profile, name, full_name, collected->module, frame);
}

static int add_symbol_frame(struct collected_frames *collected, const char *symbol)
{
	struct demangled_name demangled;
	int err = demangler_get(collected->symbolizer->demangler, symbol, &demangled);

	if (err)
		return err;
	return add_frame(collected, demangled.name, demangled.full_name);
}

static _printf_(2, 3) int add_generated_frame(struct collected_frames *collected,
					      const char *format, ...)
{
	char name[GENERATED_NAME_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(name, sizeof(name), format, arguments);
	va_end(arguments);
	return add_frame(collected, name, name);
}

/* A frame named "[MODULE]", for lack of a function. "[vdso]" has its brackets already. */
static int add_unnamed_frame(struct collected_frames *collected, enum unnamed_reason reason)
{
	collected->reason = reason;
	return add_generated_frame(collected, collected->module[0] == '[' ? "%s" : "[%s]",
				   collected->module);
}

/*
 * The name of the function itself, after the calls inlined into it. debug_name may be NULL.
 */
static int add_function_frame(struct collected_frames *collected, struct objfile *objfile,
			      uint64_t elf_address, const char *debug_name)
{
	struct symbol symbol;
	uint64_t start;
	int err = objfile_find_symbol(objfile, elf_address, &symbol);

	if (err == -ENOMEM)
		return err;
	if (!err) {
		collected->is_sizeless = !symbol.is_size_known;
		return add_symbol_frame(collected, symbol.name);
	}
	if (debug_name)
		return add_symbol_frame(collected, debug_name);
	err = objfile_find_function(objfile, elf_address, &start);
	if (err == -ENOMEM)
		return err;
	if (err)
		return add_unnamed_frame(collected, UNNAMED_NO_SYMBOL);
	return add_generated_frame(collected, "%s+0x%" PRIx64, collected->module, start);
}

static enum symbolizer_caution get_caution(const struct symbolizer *symbolizer, uint32_t file)
{
	const struct symbolizer_duty *duty = &symbolizer->opts.duty;

	return duty->cautions && file < duty->num_cautions
		       ? (enum symbolizer_caution)duty->cautions[file]
		       : READ_ALL;
}

static int name_code(struct collected_frames *collected, struct code_file *code_file,
		     uint64_t elf_address, enum symbolizer_caution caution)
{
	struct objfile *objfile = code_file_get_objfile(code_file);
	struct inlines *inlines = NULL;
	struct source_frames source;
	int err;

	if (!collected->symbolizer->opts.no_inlines && caution == READ_ALL) {
		err = code_file_get_inlines(code_file, &inlines);
		if (err)
			return err;
	}
	err = inlines ? inlines_find(inlines, elf_address, &source) : -ENOENT;
	if (err && err != -ENOENT)
		return err;
	if ((!err && source.is_split) || (!inlines && objfile_lacks_alternate(objfile))) {
		int note_err = note_unread(collected->symbolizer, objfile, !err);

		if (note_err)
			return note_err;
	}
	if (err) {
		source.length = 1;
		source.items[0] = (struct source_frame){0};
	}
	for (size_t i = 0; i < source.length; i++) {
		const struct source_frame *call = &source.items[i];
		bool is_inlined = i + 1 < source.length;
		struct frame *frame = &collected->frames[collected->num_frames];

		if (!is_inlined)
			err = add_function_frame(collected, objfile, elf_address, call->name);
		else if (call->name)
			err = add_symbol_frame(collected, call->name);
		else
			err = add_frame(collected, "[inlined]", "[inlined]");
		if (err)
			return err;
		frame->is_inlined = is_inlined;
		frame->line = call->line;
		if (call->file) {
			err = profile_add_string(collected->profile, call->file, &frame->file);
			if (err)
				return err;
		}
	}
	return 0;
}

/* ELF address of a location in a module. Returns 0 or -ENOENT. */
static int get_elf_address(const struct objfile *objfile, const struct location *location,
			   uint64_t *ret)
{
	if (location->space == LOCATION_FILE)
		return objfile_get_elf_address(objfile, location->address, ret);
	*ret = location->address;
	if (!objfile_is_code(objfile, *ret))
		*ret += objfile_get_base(objfile);
	return objfile_is_code(objfile, *ret) ? 0 : -ENOENT;
}

static int name_in_file(struct collected_frames *collected, const struct location *location)
{
	struct symbolizer *symbolizer = collected->symbolizer;
	const struct mapped_file *mapped;
	struct code_file *code_file;
	uint64_t elf_address;
	int err;

	if (location->owner >= file_table_get_count(symbolizer->files)) {
		collected->module = "[unknown]";
		return add_unnamed_frame(collected, UNNAMED_NO_FILE);
	}
	mapped = file_table_get(symbolizer->files, location->owner);
	collected->module = path_basename(mapped->path);
	if (mapped->build_id_differs)
		return add_unnamed_frame(collected, UNNAMED_BUILD_ID_DIFFERS);
	if (mapped->fd < 0)
		return add_unnamed_frame(collected, UNNAMED_NO_FILE);
	err = code_files_get(symbolizer->code_files, location->owner, &code_file);
	if (err == -ESTALE)
		return add_unnamed_frame(collected, UNNAMED_BUILD_ID_DIFFERS);
	if (err && err != -ENOENT)
		return err;
	if (err || get_elf_address(code_file_get_objfile(code_file), location, &elf_address))
		return add_unnamed_frame(collected, UNNAMED_NO_SYMBOL);
	collected->has_elf_address = location->space == LOCATION_FILE;
	collected->elf_address = elf_address;
	err = name_code(collected, code_file, elf_address,
			get_caution(symbolizer, location->owner));
	if (err || code_file_is_unchanged(code_file))
		return err;
	/* The file was overwritten meanwhile: these names may be those of another content. */
	collected->num_frames = 0;
	collected->is_sizeless = false;
	collected->has_elf_address = false;
	return add_unnamed_frame(collected, UNNAMED_BUILD_ID_DIFFERS);
}

/* Whether a location is to be given frames. */
static bool is_unnamed(const struct symbolizer *symbolizer, const struct profile *profile,
		       uint32_t id)
{
	const struct symbolizer_opts *opts = &symbolizer->opts;
	const struct location *location = profile_get_location(profile, id);

	return !location->num_frames && location->space != LOCATION_NAMED &&
	       !(opts->duty.is_named && opts->duty.is_named(id, opts->context));
}

static int want_kernel(struct symbolizer *symbolizer, const struct profile *profile)
{
	for (uint32_t i = 0; i < profile_count_locations(profile); i++) {
		const struct location *location = profile_get_location(profile, i);
		int err;

		if (location->space != LOCATION_KERNEL || !is_unnamed(symbolizer, profile, i))
			continue;
		err = kernel_symbols_want(symbolizer->kernel, location->address);
		if (err)
			return err;
	}
	return 0;
}

int symbolizer_read_kernel(struct symbolizer *symbolizer, const struct profile *profile)
{
	int err = want_kernel(symbolizer, profile);

	return err ? err : kernel_symbols_load(symbolizer->kernel, symbolizer->proc_root);
}

static int name_in_kernel(struct collected_frames *collected, const struct location *location)
{
	struct symbolizer *symbolizer = collected->symbolizer;
	struct kernel_symbol symbol;

	collected->kind = FRAME_KERNEL;
	collected->module = "[kernel]";
	if (kernel_symbols_find(symbolizer->kernel, location->address, &symbol))
		return add_unnamed_frame(collected, UNNAMED_NO_SYMBOL);
	collected->module = symbol.module;
	if (symbol.name)
		return add_symbol_frame(collected, symbol.name);
	return add_generated_frame(collected, "%s+0x%" PRIx64, symbol.module, symbol.offset);
}

static int name_in_process(struct collected_frames *collected, const struct location *location)
{
	struct symbolizer *symbolizer = collected->symbolizer;
	const struct process *process = NULL;
	const struct mapping *mapping;
	const char *name = NULL;

	if (location->owner < process_table_get_count(symbolizer->processes)) {
		process = process_table_get(symbolizer->processes, location->owner);
		name = process_find_first_code(process, location->address);
	}
	if (name) {
		collected->kind = FRAME_JIT;
		collected->module = JIT_MODULE;
		return add_frame(collected, name, name);
	}
	mapping = process ? process_find_mapping(process, location->address) : NULL;
	if (mapping) {
		bool is_in_file = mapping->file < file_table_get_count(symbolizer->files);

		/* Not an ELF file: named memory of a JIT compiler. */
		collected->module =
			is_in_file ? path_basename(
					     file_table_get(symbolizer->files, mapping->file)->path)
				   : "[anon]";
		return add_unnamed_frame(collected, UNNAMED_NO_SYMBOL);
	}
	collected->module = "[unknown]";
	return add_unnamed_frame(collected, UNNAMED_NO_MAPPING);
}

static int name_location(struct symbolizer *symbolizer, struct profile *profile, uint32_t id)
{
	struct location location = *profile_get_location(profile, id);
	struct collected_frames collected;
	int err = 0;

	collected.symbolizer = symbolizer;
	collected.profile = profile;
	collected.module = "";
	collected.kind = FRAME_USER;
	collected.num_frames = 0;
	collected.reason = UNNAMED_NOT;
	collected.is_sizeless = false;
	collected.has_elf_address = false;
	switch ((enum location_space)location.space) {
	case LOCATION_NAMED:
		return 0;
	case LOCATION_FILE:
	case LOCATION_ELF:
		err = name_in_file(&collected, &location);
		break;
	case LOCATION_KERNEL:
		err = name_in_kernel(&collected, &location);
		break;
	case LOCATION_PROCESS:
		err = name_in_process(&collected, &location);
		break;
	}
	if (err)
		return err;
	err = profile_set_frames(profile, id, collected.frames, collected.num_frames,
				 collected.reason);
	if (err)
		return err;
	if (collected.is_sizeless)
		profile_mark_sizeless(profile, id);
	if (collected.has_elf_address)
		profile_set_elf_address(profile, id, collected.elf_address);
	return symbolizer->opts.duty.named
		       ? symbolizer->opts.duty.named(id, symbolizer->opts.context)
		       : 0;
}

/* A location to symbolize; sorted by file. */
struct task {
	uint32_t location;
	uint32_t file; /* the first file that is merged with the owner; else the owner */
	uint32_t unit; /* compilation unit, when the file is open */
	uint32_t owner;
	uint64_t address;
	uint8_t space;
	bool is_in_module;
};

static int compare_tasks(const void *left, const void *right)
{
	const struct task *a = left;
	const struct task *b = right;

	/* Kernel and generated code first: its names are certain, and quick to find. */
	if (a->space != b->space)
		return a->space > b->space ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

/* Every location without frames. Returns NULL when out of memory; the caller frees it. */
static struct task *list_tasks(struct symbolizer *symbolizer, const struct profile *profile,
			       size_t *ret_num)
{
	uint32_t num_locations = profile_count_locations(profile);
	_cleanup_free_ struct task *tasks = calloc((size_t)num_locations + 1, sizeof(*tasks));
	size_t num_tasks = 0;

	if (!tasks)
		return NULL;
	for (uint32_t i = 0; i < num_locations; i++) {
		const struct location *location = profile_get_location(profile, i);
		uint32_t file = location->owner;

		if (!is_unnamed(symbolizer, profile, i))
			continue;
		if (location_is_in_module(location) &&
		    get_caution(symbolizer, location->owner) == READ_NOTHING)
			continue;
		if (location_is_in_module(location) &&
		    code_files_get_first(symbolizer->code_files, location->owner, &file))
			return NULL;
		tasks[num_tasks++] = (struct task){
			.location = i,
			.file = file,
			.owner = location->owner,
			.address = location->address,
			.space = location->space,
			.is_in_module = location_is_in_module(location),
		};
	}
	qsort(tasks, num_tasks, sizeof(*tasks), compare_tasks);
	*ret_num = num_tasks;
	return return_ptr(tasks);
}

static void start(const struct symbolizer *symbolizer, uint32_t file)
{
	const struct symbolizer_opts *opts = &symbolizer->opts;

	if (opts->duty.start)
		opts->duty.start(file, opts->context);
}

/* The number of tasks at the front that are of one file, or of one owner that is no file. */
static size_t count_of_file(const struct task *tasks, size_t num_tasks)
{
	size_t count = 1;

	while (count < num_tasks && tasks[count].space == tasks->space &&
	       tasks[count].file == tasks->file)
		count++;
	return count;
}

/* Debug information is dropped after each unit. Returns 0 or -ENOMEM. */
static int sort_by_unit(struct symbolizer *symbolizer, const struct profile *profile,
			struct task *tasks, size_t num_tasks)
{
	struct code_file *code_file;
	struct inlines *inlines;
	int err;

	if (symbolizer->opts.no_inlines || get_caution(symbolizer, tasks->owner) != READ_ALL)
		return 0;
	err = code_files_get(symbolizer->code_files, tasks->owner, &code_file);
	if (!err)
		err = code_file_get_inlines(code_file, &inlines);
	if (err)
		return err == -ENOMEM ? err : 0;
	if (!inlines)
		return 0;
	for (size_t i = 0; i < num_tasks; i++) {
		uint64_t elf_address;

		tasks[i].unit = INLINES_NO_UNIT;
		if (!get_elf_address(code_file_get_objfile(code_file),
				     profile_get_location(profile, tasks[i].location),
				     &elf_address))
			tasks[i].unit = inlines_get_unit(inlines, elf_address);
	}
	qsort(tasks, num_tasks, sizeof(*tasks), compare_tasks);
	return 0;
}

int symbolizer_name_profile(struct symbolizer *symbolizer, struct profile *profile)
{
	const struct symbolizer_opts *opts = &symbolizer->opts;
	size_t num_tasks;
	_cleanup_free_ struct task *tasks = list_tasks(symbolizer, profile, &num_tasks);
	int kernel_err = symbolizer_read_kernel(symbolizer, profile);
	size_t end_of_file = 0;

	if (!tasks || kernel_err)
		return -ENOMEM;
	for (size_t i = 0; i < num_tasks; i++) {
		struct task *task = &tasks[i];
		int err = 0;

		if (i == end_of_file) {
			end_of_file += count_of_file(task, num_tasks - i);
			start(symbolizer, task->is_in_module ? task->owner : FILE_NONE);
			if (task->is_in_module)
				err = sort_by_unit(symbolizer, profile, task, end_of_file - i);
		}
		/* Merged files are blamed one by one. */
		if (task->is_in_module)
			start(symbolizer, task->owner);
		if (!err)
			err = name_location(symbolizer, profile, task->location);
		if (err)
			return err;
		if (opts->progress && ((i + 1) % PROGRESS_STEP == 0 || i + 1 == num_tasks))
			opts->progress((uint32_t)(i + 1), (uint32_t)num_tasks, opts->context);
	}
	code_files_close(symbolizer->code_files);
	return 0;
}

bool symbolizer_is_outermost(struct symbolizer *symbolizer, const struct profile *profile,
			     uint32_t id)
{
	const struct location *location = profile_get_location(profile, id);
	struct code_file *code_file;
	struct frame_info *frame_info;
	struct objfile *objfile;
	uint64_t elf_address;
	uint64_t entry;

	if (!location_is_in_module(location) ||
	    get_caution(symbolizer, location->owner) == READ_NOTHING)
		return false;
	start(symbolizer, location->owner);
	if (code_files_get(symbolizer->code_files, location->owner, &code_file))
		return false;
	objfile = code_file_get_objfile(code_file);
	if (get_elf_address(objfile, location, &elf_address) ||
	    objfile_get_frame_info(objfile, &frame_info) || !code_file_is_unchanged(code_file))
		return false;
	switch (frame_info_is_outermost(frame_info, elf_address)) {
	case FRAME_IS_OUTERMOST:
		return true;
	case FRAME_HAS_CALLER:
		return false;
	case FRAME_NOT_DESCRIBED:
		break;
	}
	entry = objfile_get_entry(objfile);
	return entry && elf_address >= entry && elf_address - entry < ENTRY_CODE_BYTES;
}
