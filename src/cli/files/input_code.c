/*
 * Code of recordings that were made elsewhere or long ago. For each file with unnamed code, the
 * same file is searched here, by build ID if the recording has one, and opened. Then the symbolizer
 * treats it like a file of a running process. Code of missing files is shown as file and offset.
 *
 * The kernel is one more file, but its running image is in no file. It is symbolized only if it is
 * certainly the running kernel, that is, of the same build and loaded at the same address.
 * Otherwise every name would be that of another function.
 */
#include "cli/files/input_code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/array.h"
#include "base/text.h"
#include "cli/files/code_copies.h"
#include "cli/files/code_finder.h"
#include "cli/files/stack_walker.h"
#include "formats/import.h"
#include "objfile/objfile.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"

#define PROC_ROOT       "/proc"
#define NOTES_MAX_BYTES 65536
#define NOTES_ALIGN     4
#define DEBUG_ROOT      "/usr/lib/debug"

/*
 * Modules of the profile and files of the table have the same numbers; list_modules() ensures that.
 */
struct input_code {
	struct import *import;
	struct code_finder finder;
	struct code_copies copies;
	char *debug_root;
	struct file_table *files; /* by module */
	ARRAY(bool) is_sought;    /* by module */
	struct process_table *processes;
	struct stack_walker *walker;
};

static int find_module_file(void *context, uint32_t module);

/* The user's folders precede the system's. */
static char *join_roots(const char *const *folders, size_t num_folders)
{
	_cleanup_(text_release) struct text roots = {0};

	for (size_t i = 0; i < num_folders; i++)
		text_printf(&roots, "%s:", folders[i]);
	text_append_string(&roots, DEBUG_ROOT);
	return roots.failed ? NULL : strdup(roots.data);
}

struct input_code *input_code_new(struct import *import, const char *const *folders,
				  size_t num_folders)
{
	struct input_code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	code->import = import;
	code->copies.import = import;
	code->finder = (struct code_finder){folders, num_folders, getenv("HOME")};
	code->debug_root = join_roots(folders, num_folders);
	code->files = file_table_new(PROC_ROOT, NULL);
	code->processes = code->files ? process_table_new(PROC_ROOT, code->files) : NULL;
	code->walker = code->files ? stack_walker_new(code->files, find_module_file, code) : NULL;
	if (!code->debug_root || !code->processes || !code->walker) {
		input_code_free(code);
		return NULL;
	}
	return code;
}

void input_code_free(struct input_code *code)
{
	if (!code)
		return;
	stack_walker_free(code->walker);
	process_table_free(code->processes);
	file_table_free(code->files);
	array_release(&code->is_sought);
	code_copies_release(&code->copies);
	free(code->debug_root);
	free(code);
}

/* ---- files ---- */

/* Add every module of the profile to the file table, under the same number. */
static int list_modules(struct input_code *code)
{
	const struct profile *profile = code->import->profile;

	while (code->is_sought.length < profile_count_modules(profile)) {
		const struct module *module =
			profile_get_module(profile, (uint32_t)code->is_sought.length);
		struct file_identity identity = {
			.path = profile_get_string(profile, module->path),
			.build_id_size = module->build_id_size,
		};

		memcpy(identity.build_id, module->build_id, module->build_id_size);
		if (!array_add(&code->is_sought))
			return -ENOMEM;
		if (file_table_add_sought(code->files, &identity)) {
			code->is_sought.length--;
			return -ENOMEM;
		}
	}
	return 0;
}

/* Files are searched when needed: a recording maps far more files than it runs. */
static int find_module_file(void *context, uint32_t number)
{
	struct input_code *code = context;
	const struct profile *profile = code->import->profile;
	const struct module *module;
	bool differs = false;
	int err = list_modules(code);
	int fd = -1;

	if (err || code->is_sought.items[number])
		return err;
	code->is_sought.items[number] = true;
	module = profile_get_module(profile, number);
	if (module->copy)
		fd = code_copies_open(&code->copies, profile_get_string(profile, module->copy));
	if (fd < 0)
		fd = code_finder_open(&code->finder, profile_get_string(profile, module->path),
				      module, &differs);
	file_table_set_found(code->files, number, fd, differs);
	return 0;
}

int input_code_walk(struct input_code *code, const struct import_stack *stack, uint64_t *pcs,
		    size_t max_pcs, size_t *ret_num)
{
	return stack_walker_walk(code->walker, stack, pcs, max_pcs, ret_num);
}

/* ---- the kernel ---- */

/* /sys/kernel/notes has the ELF notes of the running kernel's image; everybody may read it. */
static bool has_running_build_id(const struct import_kernel *kernel)
{
	_cleanup_free_ uint8_t *notes = malloc(NOTES_MAX_BYTES);
	FILE *file = fopen("/sys/kernel/notes", "re");
	uint8_t id[BUILD_ID_SIZE_MAX];
	uint8_t id_size;
	size_t size;

	if (!file)
		return false;
	size = notes ? fread(notes, 1, NOTES_MAX_BYTES, file) : 0;
	fclose(file);
	return size && !build_id_read_notes(notes, size, NOTES_ALIGN, id, &id_size) &&
	       id_size == kernel->build_id_size && !memcmp(id, kernel->build_id, id_size);
}

/* For recordings through a pipe, which have no build ID of the kernel. */
static bool has_running_release(const struct import_kernel *kernel)
{
	struct utsname names;

	return !uname(&names) && kernel->release[0] &&
	       string_equals(names.release, kernel->release);
}

/*
 * With KASLR, the kernel's text address identifies the boot. If addresses are hidden
 * (kptr_restrict), all of them are 0, and no kernel matches.
 */
static bool has_running_address(const struct import_kernel *kernel)
{
	FILE *file = fopen(PROC_ROOT "/kallsyms", "re");
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0;
	bool is_found = false;
	bool is_same = false;

	if (!file)
		return false;
	while (!is_found && getline(&line, &capacity, file) > 0) {
		uint64_t address;
		char name[16];

		/*
		 * Names longer than 15 bytes are truncated, so they never match the two wanted
		 * ones.
		 */
		if (sscanf(line, "%" SCNx64 " %*c %15s", &address, name) != 2)
			continue;
		is_found = string_equals(name, "_text") || string_equals(name, "_stext");
		is_same = is_found && address == kernel->text;
	}
	fclose(file);
	return is_same;
}

static bool is_running_kernel(const struct import_kernel *kernel)
{
	if (!kernel->text || !has_running_address(kernel))
		return false;
	return kernel->build_id_size ? has_running_build_id(kernel) : has_running_release(kernel);
}

static int name_other_kernel(struct import *import)
{
	if (is_running_kernel(&import->kernel))
		return 0;
	import_warn(import, "no kernel symbols: recorded on another kernel, or /proc/kallsyms was "
			    "restricted");
	return unsymbolized_code_name(import, true, UNNAMED_NO_SYMBOL);
}

/* The files of all locations without frames. */
static int find_files(struct input_code *code, bool *ret_has_kernel, bool *ret_has_any)
{
	const struct profile *profile = code->import->profile;
	int err = list_modules(code);

	*ret_has_kernel = *ret_has_any = false;
	if (err)
		return err;
	for (uint32_t i = 0; i < profile_count_locations(profile); i++) {
		const struct location *location = profile_get_location(profile, i);

		if (location->num_frames || location->space == LOCATION_NAMED)
			continue;
		*ret_has_any = true;
		code->import->counts.unnamed_code++;
		if (location->space == LOCATION_KERNEL)
			*ret_has_kernel = true;
		if (!location_is_in_module(location))
			continue;
		err = find_module_file(code, location->owner);
		if (err)
			return err;
	}
	return 0;
}

int input_code_name(struct input_code *code,
		    void (*progress)(uint32_t num_done, uint32_t num_total, void *context),
		    void *context)
{
	struct symbolizer_opts opts = {
		.debug_root = code->debug_root,
		.allows_downloads = true,
		.progress = progress,
		.context = context,
	};
	struct symbolizer *symbolizer;
	bool has_kernel;
	bool has_any;
	int err = find_files(code, &has_kernel, &has_any);

	if (err || !has_any)
		return err;
	if (has_kernel)
		err = name_other_kernel(code->import);
	if (err)
		return err;
	symbolizer = symbolizer_new(code->files, code->processes, &opts);
	if (!symbolizer)
		return -ENOMEM;
	err = symbolizer_name_profile(symbolizer, code->import->profile);
	symbolizer_free(symbolizer);
	return err;
}
