/* Finds the files of a recording's modules on the machine that reads it. */
#ifndef CLI_FILES_CODE_FINDER_H
#define CLI_FILES_CODE_FINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "profile/profile.h"

struct code_finder {
	const char *const *folders; /* of --symbols: searched first, in this order */
	size_t num_folders;
	const char *home; /* holds perf's own store, .debug; NULL: none */
};

/*
 * Open the file of a module. A file is taken when its build ID is that of the module; where the
 * module has none, when it has the module's path.
 *
 * In this order:
 *	FOLDER/.build-id/xx/yyyy, FOLDER/PATH, FOLDER/NAME
 *	PATH; our own vdso for the vdso
 *	HOME/.debug/.build-id/xx/yyyy/elf, where `perf record` keeps copies
 *	what debuginfod servers have, if DEBUGINFOD_URLS names some
 *
 * path         as it was recorded; foreign
 * ret_differs  set when files were found, but none with the build ID
 *
 * Returns the descriptor, which the caller closes, or -1.
 */
int code_finder_open(const struct code_finder *finder, const char *path,
		     const struct module *module, bool *ret_differs);

#endif
