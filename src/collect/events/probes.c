/*
 * Probes among events: user-chosen points in programs, libraries and the kernel, at which the
 * kernel runs our BPF program.
 *
 *	uprobe:/usr/bin/x:function+0x10   function or point of a file, or of an ldconfig library
 *	uprobe:/usr/bin/x:ns::f(int)      the same of C++ and Rust, by mangled or demangled name
 *	uretprobe:libc:malloc{retval:By}  where it returns; the return value is a weight
 *	uretprobe:libc:poll{retval:s32}   the same, with a type; a unit may follow: {retval:s32:By}
 *	usdt:/usr/bin/x:provider:name     a probe that the program's author has defined
 *	kprobe:vfs_read{arg3}             a function of the kernel; an argument is a weight
 *	kretprobe:vfs_read
 *	alloc                             functions of all allocators that the target has mapped,
 *	                                  or may load from ldconfig; the requested size is a weight
 *
 * The kernel replaces the instruction in every process that maps the file, and restores it when the
 * recording ends in any way. A probe lives as long as its perf event, or the link of all probes in
 * a file (uprobe_link.h), which is a file descriptor.
 *
 * Not thread-safe.
 */
#include "collect/events.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/near_names.h"
#include "base/text.h"
#include "collect/elf/elf_worker.h"
#include "collect/elf/ld_cache.h"
#include "collect/events/allocator_sites.h"
#include "collect/events/event_device.h"
#include "collect/events/mapped_files.h"
#include "collect/events/owner_shares.h"
#include "collect/events/probe.h"
#include "collect/events/process_answers.h"
#include "collect/kernel/kallsyms.h"
#include "objfile/architecture.h"
#include "process/foreign_file.h"
#include "process/proc_maps.h"
#include "process/slow_opener.h"

#define LIBRARY_CACHE "/etc/ld.so.cache"
/*
 * Limit of files with an allocator. Each needs two descriptors; without links, each of its
 * functions does.
 */
#define MAX_ALLOCATORS 64
/* Words of a command to try: in "env taskset -c 1 ./program" the program is not among the first. */
#define MAX_COMMAND_WORDS 16

struct probe_locator {
	const struct event_paths *paths;
	const struct probe_search *search;
	struct elf_worker *worker;  /* NULL: nothing was read yet */
	struct slow_opener *opener; /* looks at the files of processes */
};

/* ---- requests to the kernel --------------------------------------------------------------- */

/* The error message may contain text from another user's file. */
static void clean(struct error *error)
{
	if (error)
		text_mask_controls(error->message);
}

static int add_site(const struct probe_locator *locator, struct event *event,
		    const struct probe_point *point, struct error *error)
{
	struct probe *probe = event->probe;
	bool is_of_user_mode = probe_is_of_user_mode(probe);
	struct event described = {0};
	char words[64] = "";
	struct probe_site *site;
	int err;

	if (probe->kind == PROBE_URETPROBE || probe->kind == PROBE_KRETPROBE)
		snprintf(words, sizeof(words), "retprobe=1");
	if (point->semaphore_offset)
		snprintf(words, sizeof(words), "ref_ctr_offset=0x%" PRIx64,
			 point->semaphore_offset);
	err = event_device_configure(locator->paths->devices, is_of_user_mode ? "uprobe" : "kprobe",
				     words, &described, error);
	if (err)
		return err;
	site = array_add(&probe->sites);
	if (!site)
		return -ENOMEM;
	event->type = described.type;
	*site = (struct probe_site){
		.config = described.config,
		.offset = point->file_offset,
		.semaphore_offset = point->semaphore_offset,
		.argument = point->argument,
		.free_register = WIRE_NO_REGISTER,
		.fd = probe->fds.length ? probe->fds.items[probe->fds.length - 1] : -1};
	if (probe->argument_bytes) {
		site->argument.bytes = probe->argument_bytes;
		site->argument.is_signed = probe->is_argument_signed;
	}
	return 0;
}

static int add_sites(const struct probe_locator *locator, struct event *event,
		     const struct probe_point_list *found, struct error *error)
{
	array_for_each (&found->points, point) {
		int err = add_site(locator, event, point, error);

		if (err)
			return err;
	}
	return 0;
}

/* ---- files -------------------------------------------------------------------------------- */

static int start_worker(struct probe_locator *locator)
{
	return locator->worker
		       ? 0
		       : elf_worker_new(locator->search->worker_user, false, &locator->worker);
}

/* As the target sees it, else as we do. Returns a descriptor or negative errno. */
static int open_seen(const struct probe_locator *locator, const char *path)
{
	pid_t target = locator->search->target;
	struct foreign_file found;
	char root[64];
	int err;
	int fd;

	if (!target || path[0] != '/')
		return file_open_regular(AT_FDCWD, path, 0, NULL);
	snprintf(root, sizeof(root), "/proc/%d/root", target);
	err = foreign_file_find(locator->opener, target, root, path, 0, &found);
	if (err == -ETIMEDOUT || err == -ENOTSUP)
		return err;
	if (err)
		return file_open_regular(AT_FDCWD, path, 0, NULL);
	fd = file_open_found(found.handle);
	close(found.handle);
	return fd;
}

struct mapped_library {
	const char *name;
	enum library_match match;
	char path[PATH_MAX];
};

static int look_at_mapping(const struct proc_mapping *mapping, void *context)
{
	struct mapped_library *library = context;
	const char *slash = strrchr(mapping->path, '/');
	enum library_match match;

	if (!mapping->is_executable || mapping->is_deleted || mapping->path[0] != '/' ||
	    strlen(mapping->path) >= sizeof(library->path))
		return 0;
	match = library_match_name(slash + 1, library->name);
	if (match <= library->match)
		return 0;
	library->match = match;
	memcpy(library->path, mapping->path, strlen(mapping->path) + 1);
	return 0;
}

/* Find a library that a process has mapped, for any linker configuration, and without a cache. */
static bool find_mapped_library(struct slow_opener *opener, pid_t pid, const char *name,
				char ret[PATH_MAX])
{
	struct mapped_library library = {.name = name};

	if (proc_maps_read(opener, "/proc", pid, look_at_mapping, &library) || !library.match)
		return false;
	memcpy(ret, library.path, sizeof(library.path));
	return true;
}

/* The path of "libc", "libc.so.6" or "pthread". */
static int find_library(struct probe_locator *locator, const char *name, char ret[PATH_MAX],
			struct error *error)
{
	_cleanup_close_ int fd = open_seen(locator, LIBRARY_CACHE);
	struct elf_source_file cache = {.fd = fd, .path = LIBRARY_CACHE};
	int err = start_worker(locator);

	if (err)
		return err;
	if (locator->search->target &&
	    find_mapped_library(locator->opener, locator->search->target, name, ret))
		return 0;
	/* Without a cache only libraries that are already mapped are found. */
	if (fd < 0 && find_mapped_library(NULL, getpid(), name, ret))
		return 0;
	if (fd < 0)
		return error_set(error, -EINVAL,
				 "no library '%s': cannot read " LIBRARY_CACHE
				 " (%s); give its path",
				 name, strerror(-fd));
	cache.owner = file_owner_get(fd);
	err = elf_worker_find_library(locator->worker, &cache, name, ret);
	if (err == -ENOMEM)
		return err;
	return err ? error_set(
			     error, -EINVAL,
			     err == -ENOENT
				     ? "no library '%s' ('ldconfig -p' lists the known ones); give "
				       "other files by their path"
				     : "no library '%s': cannot read " LIBRARY_CACHE
				       "; give its path",
			     name)
		   : 0;
}

static int open_file(struct probe_locator *locator, const struct probe *probe, char path[PATH_MAX],
		     struct error *error)
{
	int err;
	int fd;

	if (strchr(probe->file, '/')) {
		if (strlen(probe->file) >= PATH_MAX)
			return error_set(error, -EINVAL, "a path is longer than %d bytes",
					 PATH_MAX - 1);
		snprintf(path, PATH_MAX, "%s", probe->file);
	} else {
		err = find_library(locator, probe->file, path, error);
		if (err)
			return err;
	}
	fd = open_seen(locator, path);
	if (fd >= 0)
		return fd;
	if (fd == -ENOENT || fd == -ENOTDIR)
		return error_set(error, -EINVAL, "no file %s", path);
	if (fd == -EACCES || fd == -EPERM)
		return error_set(error, -EACCES,
				 "not permitted to read %s: run as root, or as its owner", path);
	return error_set(error, -EINVAL, "cannot read %s: %s", path,
			 fd == -ENOTSUP ? "it is not a regular file" : strerror(-fd));
}

/* Open the debug file, for names that a stripped file does not export. Returns -1 if not found. */
static int open_debug_file(struct probe_locator *locator, const struct elf_source_file *file)
{
	struct elf_identity identity;
	char path[sizeof("/usr/lib/debug/.build-id/xx/.debug") + 2 * BUILD_ID_SIZE_MAX];
	size_t length;
	int fd;

	if (elf_worker_identify(locator->worker, file, &identity) || identity.build_id_size < 2)
		return -1;
	length = (size_t)snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%02x/",
				  identity.build_id[0]);
	for (uint32_t i = 1; i < identity.build_id_size; i++)
		length += (size_t)snprintf(path + length, sizeof(path) - length, "%02x",
					   identity.build_id[i]);
	snprintf(path + length, sizeof(path) - length, ".debug");
	fd = file_open_regular(AT_FDCWD, path, 0, NULL);
	return fd < 0 ? -1 : fd;
}

/* It is closed with the probe. */
static int keep_file(struct probe *probe, int fd)
{
	int *added = array_add(&probe->fds);

	if (!added) {
		close(fd);
		return -ENOMEM;
	}
	*added = fd;
	return 0;
}

static int locate_in_file(struct probe_locator *locator, struct event *event, struct error *error)
{
	struct probe *probe = event->probe;
	struct elf_probe_query query = {
		.offset = probe->offset,
		.argument = probe->argument,
		.is_weighted = probe->is_weighted,
	};
	_cleanup_(probe_point_list_release) struct probe_point_list found = {0};
	struct elf_source_file file;
	_cleanup_close_ int debug_fd = -1;
	char path[PATH_MAX];
	int fd;
	int err = start_worker(locator);

	if (err)
		return err;
	fd = open_file(locator, probe, path, error);
	if (fd < 0)
		return fd;
	err = keep_file(probe, fd);
	if (err)
		return err;
	file = (struct elf_source_file){.fd = fd, .owner = file_owner_get(fd), .path = path};
	if (!probe->provider)
		debug_fd = open_debug_file(locator, &file);
	snprintf(query.path, sizeof(query.path), "%.*s", (int)sizeof(query.path) - 1, path);
	snprintf(query.provider, sizeof(query.provider), "%s",
		 probe->provider ? probe->provider : "");
	snprintf(query.name, sizeof(query.name), "%s", probe->name);
	err = elf_worker_find_probe(locator->worker, &file, debug_fd, &query, &found, error);
	clean(error);
	if (err)
		return err == -ENOMEM ? err : -EINVAL;
	return add_sites(locator, event, &found, error);
}

/* ---- allocators --------------------------------------------------------------------------- */

struct allocator_search {
	struct probe_locator *locator;
	struct event *event;
	struct error *error;
	struct owner_shares shares; /* files with an allocator */
};

static int add_allocator(const struct allocator_search *search, const struct allocator *allocator,
			 int fd)
{
	struct probe *probe = search->event->probe;

	array_for_each (&allocator->functions, function) {
		struct probe_site *site;

		if (!allocator_site_is_needed(function, probe->allocators.is_live))
			continue;
		site = array_add(&probe->sites);
		if (!site)
			return -ENOMEM;
		*site = allocator_site_describe(allocator, function, &probe->allocators, fd);
	}
	return 0;
}

static int leave_out(const struct allocator_search *search)
{
	if (search->shares.is_shared) {
		search->event->num_left_out++;
		return 0;
	}
	return error_set(search->error, -EINVAL,
			 "%s: more than %d files have an allocator of their own; record fewer "
			 "processes (-p)",
			 search->event->name, MAX_ALLOCATORS);
}

/* A file without allocator, or an unreadable one, is skipped. */
static int look_into_file(int fd, const char *path, void *context)
{
	struct allocator_search *search = context;
	struct probe *probe = search->event->probe;
	struct elf_source_file file = {.fd = fd, .owner = file_owner_get(fd), .path = path};
	struct allocator found = {0};
	int has_room;
	int err = elf_worker_find_allocator(search->locator->worker, &file, &found);

	if (err == -ENODATA || (!err && found.has_unknown))
		err = mapped_files_remember(&probe->unknown, fd) == -ENOMEM ? -ENOMEM : err;
	search->event->num_too_large += err == -E2BIG;
	if (err) {
		allocator_release(&found);
		close(fd);
		return err == -ENOMEM ? err : 0;
	}
	has_room = owner_shares_take(&search->shares, file.owner, 1);
	if (has_room > 0) {
		err = keep_file(probe, fd);
		if (!err)
			err = add_allocator(search, &found, fd);
	} else {
		close(fd);
		err = has_room < 0 ? has_room : leave_out(search);
	}
	allocator_release(&found);
	return err;
}

/* A missing file is not used. */
static int look_at_path(struct mapped_files *files, const char *path)
{
	const struct allocator_search *search = files->context;
	int fd = open_seen(search->locator, path);

	return fd < 0 ? 0 : mapped_files_add(files, fd, path);
}

/* Libraries that programs may load during the recording. */
static int look_at_libraries(struct mapped_files *files)
{
	static const char *const libraries[] = {"libc.so.6", "jemalloc", "tcmalloc",
						"tcmalloc_minimal", "mimalloc"};
	const struct allocator_search *search = files->context;
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LENGTH(libraries); i++) {
		int err = find_library(search->locator, libraries[i], path, NULL);

		if (err == -ENOMEM)
			return err;
		err = err ? 0 : look_at_path(files, path);
		if (err)
			return err;
	}
	return look_at_path(files, architecture_here()->musl_path);
}

/* Find a program as a shell would. */
static int look_at_program(struct mapped_files *files, const char *name)
{
	const char *folders = getenv("PATH");

	while (folders && *folders) {
		size_t length = strcspn(folders, ":");
		char path[PATH_MAX];

		if (snprintf(path, sizeof(path), "%.*s/%s", (int)length, folders, name) <
			    (int)sizeof(path) &&
		    !access(path, X_OK))
			return look_at_path(files, path);
		folders += length + (folders[length] == ':');
	}
	return 0;
}

static int look_at_command(struct mapped_files *files, char *const *words)
{
	for (size_t i = 0; i < MAX_COMMAND_WORDS && words[i]; i++) {
		int err = 0;

		if (strchr(words[i], '/'))
			err = access(words[i], X_OK) ? 0 : look_at_path(files, words[i]);
		else if (!i)
			err = look_at_program(files, words[i]);
		if (err)
			return err;
	}
	return 0;
}

/* The files of the target's processes, of the command, and the C library of this machine. */
static int look_at_all(struct probe_locator *locator, struct mapped_files *files)
{
	const struct target *target = locator->search->allocating;
	int err = start_worker(locator);

	if (err)
		return err;
	err = target ? mapped_files_find(files, target) : 0;
	if (err)
		return err;
	err = locator->search->command ? look_at_command(files, locator->search->command) : 0;
	return err ? err : look_at_libraries(files);
}

static int describe_probes(const struct probe_locator *locator, struct event *event,
			   struct error *error)
{
	struct allocator_probes *probes = &event->probe->allocators;
	struct event described = {0};
	int err = event_device_configure(locator->paths->devices, "uprobe", "", &described, error);

	if (err)
		return err;
	event->type = described.type;
	probes->config = described.config;
	probes->is_live = event->is_live;
	probes->lacks_callers = locator->search->lacks_callers;
	if (!event->is_live)
		return 0;
	described = (struct event){0};
	err = event_device_configure(locator->paths->devices, "uprobe", "retprobe=1", &described,
				     error);
	probes->return_config = described.config;
	return err;
}

static int locate_allocators(struct probe_locator *locator, struct event *event,
			     struct error *error)
{
	const struct target *target = locator->search->allocating;
	struct allocator_search search = {
		.locator = locator,
		.event = event,
		.error = error,
		.shares = {.room = MAX_ALLOCATORS,
			   .room_of_users = MAX_ALLOCATORS,
			   .is_shared = target && !target_is_of_threads(target)},
	};
	struct mapped_files *files = &event->probe->looked_at;
	int err = describe_probes(locator, event, error);

	if (err)
		return err;
	files->opener = locator->opener;
	files->handle = look_into_file;
	files->context = &search;
	err = look_at_all(locator, files);
	files->opener = NULL;
	files->context = NULL;
	owner_shares_release(&search.shares);
	clean(error);
	if (files->num_unreadable || files->num_left_out)
		log_debug("%s: %u files of processes could not be opened and %u were skipped: "
			  "allocators in them are not probed",
			  event->name, files->num_unreadable, files->num_left_out);
	if (err || event->probe->sites.length)
		return err;
	if (files->num_unreadable)
		return error_set(error, -EACCES,
				 "%s: not permitted to read the programs' files: run as root",
				 event->name);
	return error_set(error, -EINVAL,
			 "%s: no program has malloc; probe the functions of other allocators: "
			 "uprobe:PATH:FUNCTION{arg1:By}",
			 event->name);
}

/* ---- the kernel --------------------------------------------------------------------------- */

struct kernel_functions {
	struct probe_point_list found;   /* at their addresses; hidden addresses are 0 */
	uint64_t ends[PROBE_MAX_POINTS]; /* start of the next symbol after each */
	struct near_names near;
};

static void kernel_functions_release(struct kernel_functions *functions)
{
	probe_point_list_release(&functions->found);
}

static int look_at_symbol(struct kernel_functions *functions, const struct kallsyms_symbol *symbol)
{
	struct probe_point point = {.file_offset = symbol->address};
	size_t num_before = functions->found.points.length;
	int err;

	for (size_t i = 0; i < num_before; i++)
		if (symbol->address > functions->found.points.items[i].file_offset &&
		    symbol->address < functions->ends[i])
			functions->ends[i] = symbol->address;
	if (!string_equals(symbol->name, functions->near.word)) {
		near_names_compare(&functions->near, symbol->name);
		return 0;
	}
	err = probe_point_list_add(&functions->found, &point);
	if (err)
		return err;
	if (functions->found.points.length > num_before)
		functions->ends[num_before] = UINT64_MAX;
	return 0;
}

/*
 * Symbols are in order of address, modules after the kernel, so the end of a function is known at
 * the next symbol.
 */
static int read_kernel_functions(const char *path, struct kernel_functions *ret,
				 struct error *error)
{
	FILE *file = fopen(path, "re");
	struct kallsyms_symbol symbol;
	int err = 0;

	if (!file)
		return error_set(error, -ENOTSUP, "cannot read the kernel's functions: %s: %s",
				 path, strerror(errno));
	while (!err && kallsyms_next(file, &symbol))
		err = look_at_symbol(ret, &symbol);
	fclose(file);
	return err == -E2BIG ? error_set(error, -EINVAL,
					 "more than %d functions of the kernel are called '%s'",
					 PROBE_MAX_POINTS, ret->near.word)
			     : err;
}

static int find_kernel_functions(const char *path, const struct probe *probe,
				 struct kernel_functions *ret, struct error *error)
{
	char names[NEAR_NAMES_TEXT_BYTES];
	int err = read_kernel_functions(path, ret, error);

	if (err)
		return err;
	if (!ret->found.points.length) {
		near_names_format(&ret->near, names);
		return error_set(error, -EINVAL, "the kernel has no function '%s'%s", probe->name,
				 ret->near.num_found ? names
						     : " (it may be inlined at every call)");
	}
	for (size_t i = 0; i < ret->found.points.length; i++) {
		uint64_t start = ret->found.points.items[i].file_offset;

		if (start && probe->offset >= ret->ends[i] - start)
			return error_set(error, -EINVAL,
					 "%s+0x%" PRIx64
					 " is beyond the function, which has 0x%" PRIx64 " bytes",
					 probe->name, probe->offset, ret->ends[i] - start);
	}
	return 0;
}

static int locate_in_kernel(struct probe_locator *locator, struct event *event, struct error *error)
{
	struct probe *probe = event->probe;
	_cleanup_(kernel_functions_release) struct kernel_functions functions = {
		.near = {.word = probe->name}};
	const char *kallsyms = locator->search->kallsyms;
	struct probe_argument argument = {0};
	int err = find_kernel_functions(kallsyms ? kallsyms : "/proc/kallsyms", probe, &functions,
					error);

	if (err)
		return err;
	if (probe->is_weighted &&
	    function_argument_get(probe->argument, architecture_here()->machine, &argument))
		return error_set(
			error, -EINVAL,
			"argument %u of '%s' is passed in memory: only arguments in registers "
			"can be read",
			probe->argument, probe->name);
	/* A unique function is probed by name: addresses may be hidden. */
	probe->are_addresses = functions.found.points.length > 1;
	array_for_each (&functions.found.points, point) {
		point->argument = argument;
		point->file_offset =
			probe->are_addresses ? point->file_offset + probe->offset : probe->offset;
	}
	return add_sites(locator, event, &functions.found, error);
}

static int check_kernel(const struct event_paths *paths, const struct event *event,
			struct error *error)
{
	bool is_of_user_mode = probe_is_of_user_mode(event->probe);
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", paths->devices,
		 is_of_user_mode ? "uprobe" : "kprobe");
	if (!access(path, F_OK))
		return 0;
	return error_set(
		error, -ENOTSUP,
		is_of_user_mode ? "%s: this kernel has no probes of programs (CONFIG_UPROBE_EVENTS)"
				: "%s: this kernel has no probes of its own code "
				  "(CONFIG_KPROBE_EVENTS); tracepoints may be near: 'stackwide "
				  "events' lists them",
		event->name);
}

static int locate(struct probe_locator *locator, struct event_list *events, struct error *error)
{
	array_for_each (&events->events, event) {
		int err;

		if (!event->probe)
			continue;
		err = check_kernel(locator->paths, event, error);
		if (err)
			return err;
		err = event->probe->kind == PROBE_ALLOCATOR
			      ? locate_allocators(locator, event, error)
		      : probe_is_of_user_mode(event->probe)
			      ? locate_in_file(locator, event, error)
			      : locate_in_kernel(locator, event, error);
		if (err)
			return err;
	}
	return 0;
}

/* ---- all ---------------------------------------------------------------------------------- */

static bool has_probes_of_programs(const struct event_list *events)
{
	array_for_each (&events->events, event)
		if (event->probe &&
		    (event->probe->kind == PROBE_ALLOCATOR || probe_is_of_user_mode(event->probe)))
			return true;
	return false;
}

int probes_locate(const struct event_paths *paths, const struct probe_search *search,
		  struct event_list *events, struct error *error)
{
	struct probe_locator locator = {.paths = paths, .search = search};
	bool needs_opener = has_probes_of_programs(events);
	int err = needs_opener ? slow_opener_new(&locator.opener) : 0;

	if (err)
		return err;
	err = locate(&locator, events, error);
	if (!err && needs_opener)
		err = process_answers_check(locator.opener, error);
	slow_opener_free(locator.opener);
	elf_worker_free(locator.worker);
	return err;
}
