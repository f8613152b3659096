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
	const char *home; /* contains perf's own store, .debug; NULL: none */
};

/*
 * Open the file of a module. A file is accepted if its build ID is that of the module; if the
 * module has no build ID, its path must match.
 *
 * In this order:
 *	FOLDER/.build-id/xx/yyyy, FOLDER/PATH, FOLDER/NAME
 *	PATH; our own vdso for the vdso
 *	HOME/.debug/.build-id/xx/yyyy/elf, the copies of `perf record`
 *	debuginfod servers, if DEBUGINFOD_URLS names some
 *
 * path         as it was recorded; foreign
 * ret_differs  set if files were found, but with other build IDs
 *
 * Returns the descriptor, which the caller closes, or -1.
 */
int code_finder_open(const struct code_finder *finder, const char *path,
		     const struct module *module, bool *ret_differs);

#endif
