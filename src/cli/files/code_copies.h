/* Copies of programs and libraries inside an input, as in gprofng's archives/. */
#ifndef CLI_FILES_CODE_COPIES_H
#define CLI_FILES_CODE_COPIES_H

#include <stdbool.h>

#include "formats/import.h"
#include "formats/tar.h"

/* Zeroed at first, except the import. */
struct code_copies {
	const struct import *import; /* borrowed */
	struct tar tar;              /* of an input that is an archive */
	bool is_listed;              /* the tar has been read */
};

void code_copies_release(struct code_copies *copies);

/*
 * Open a copy by its path in the input. Returns a descriptor, which the caller closes, or -1 if
 * there is no copy, or no memory for it.
 */
int code_copies_open(struct code_copies *copies, const char *path);

#endif
