/*
 * Finds the local file that matches a file of a recording. The user's folders are searched first,
 * by build ID and then by path, whole or its last part. Then follow the path itself on this
 * machine, perf's cache of files (~/.debug), and a debuginfod server, if the environment names one.
 *
 * If the recording has a build ID, only a file with that ID is accepted. Otherwise the path must
 * do. Recorded paths are foreign: they may only lead to a regular file.
 */
#include "cli/files/code_finder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "objfile/debug_file.h"
#include "objfile/objfile.h"
#include "process/file_opener.h"

struct code_search {
	const struct code_finder *finder;
	const char *path; /* recorded */
	const struct module *module;
	bool differs;
	char hex[2 * BUILD_ID_MAX_BYTES + 1];
};

/*
 * Only regular files: a recording may name a device, and opening one may have effects. So may
 * reading files of /proc and /sys, which are regular but have size 0.
 */
static int open_regular(const char *path)
{
	struct stat status;
	int fd = file_open_regular(AT_FDCWD, path, 0, &status);

	if (fd < 0 || status.st_size)
		return fd;
	close(fd);
	return -ENODATA;
}

static bool has_build_id(int fd, const struct module *module)
{
	uint8_t found[BUILD_ID_SIZE_MAX];
	uint8_t size;

	if (build_id_read_fd(fd, found, &size))
		return false;
	return size == module->build_id_size && !memcmp(found, module->build_id, size);
}

/*
 * Takes ownership of fd. A debug file with the program's name is refused: it has the right build
 * ID, and symbols, but not the program's code.
 */
static int take_if_matching(struct code_search *search, int fd)
{
	bool is_debug_file = fd >= 0 && debug_file_is_one(fd);

	if (fd < 0 || (!is_debug_file &&
		       (!search->module->build_id_size || has_build_id(fd, search->module))))
		return fd;
	search->differs |= !is_debug_file;
	close(fd);
	return -1;
}

static _printf_(2, 3) int try_path(struct code_search *search, const char *format, ...)
{
	_cleanup_free_ char *path = NULL;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&path, format, arguments);
	va_end(arguments);
	if (length < 0) {
		path = NULL;
		return -1;
	}
	return take_if_matching(search, open_regular(path));
}

/* Recorded paths are untrusted: "../" must not lead out of a folder. */
static bool leads_out(const char *path)
{
	return strstr(path, "/../") || string_ends_with(path, "/..");
}

static int search_folder(struct code_search *search, const char *folder)
{
	int fd = -1;

	if (search->hex[0])
		fd = try_path(search, "%s/.build-id/%.2s/%s", folder, search->hex, search->hex + 2);
	if (fd < 0 && search->path[0] == '/' && !leads_out(search->path))
		fd = try_path(search, "%s%s", folder, search->path);
	if (fd < 0 && *path_basename(search->path) && !leads_out(search->path))
		fd = try_path(search, "%s/%s", folder, path_basename(search->path));
	return fd;
}

static int search_here(struct code_search *search)
{
	const char *home = search->finder->home;
	int fd = -1;

	/* The vdso has no path: ours is compared like any other file. */
	if (string_equals(search->path, "[vdso]") && file_opener_open_vdso(&fd))
		fd = -1;
	if (fd >= 0)
		fd = take_if_matching(search, fd);
	else if (search->path[0] == '/')
		fd = try_path(search, "%s", search->path);
	if (fd < 0 && home && search->hex[0])
		fd = try_path(search, "%s/.debug/.build-id/%.2s/%s/elf", home, search->hex,
			      search->hex + 2);
	if (fd < 0 && search->hex[0] && debuginfod_is_enabled() &&
	    debuginfod_find_program(search->module->build_id, search->module->build_id_size, &fd))
		fd = -1;
	return fd;
}

int code_finder_open(const struct code_finder *finder, const char *path,
		     const struct module *module, bool *ret_differs)
{
	struct code_search search = {.finder = finder, .path = path, .module = module};
	int fd = -1;

	for (size_t i = 0; i < module->build_id_size; i++)
		sprintf(search.hex + 2 * i, "%02x", module->build_id[i]);
	for (size_t i = 0; fd < 0 && i < finder->num_folders; i++)
		fd = search_folder(&search, finder->folders[i]);
	if (fd < 0)
		fd = search_here(&search);
	/*
	 * Only wrong files were found: the message then reports a difference, not a missing file.
	 */
	*ret_differs = fd < 0 && search.differs;
	return fd;
}
