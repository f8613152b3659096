/*
 * Separate debug files: what `strip` took away, kept in a file of its own.
 *
 * A file is taken only when its build ID, or the checksum in the link to it, says that it belongs
 * to the program. Names come from untrusted files: only regular files are ever opened, so that
 * no device or pipe is touched.
 */
#ifndef OBJFILE_DEBUG_FILE_H
#define OBJFILE_DEBUG_FILE_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/* All borrowed. */
struct debug_file_query {
	Elf *elf;               /* the stripped program */
	int fd;                 /* the same */
	const char *path;       /* where the program lies: a link is searched beside it */
	const char *debug_root; /* "/usr/lib/debug"; several have `:` between them */
	const uint8_t *build_id;
	uint8_t build_id_size; /* 0: it has none */
};

/*
 * Find DEBUG_ROOT/.build-id/xx/yyyy.debug; then the file of .gnu_debuglink beside the program, in
 * .debug beside it, below DEBUG_ROOT and in it; then what has the program's path or name below
 * DEBUG_ROOT, also with .debug behind, if it has its build ID and a symbol table.
 *
 * ret   open for reading; the caller closes it
 *
 * Returns 0 or -ENOENT.
 *
 * Source: GDB manual, "Debugging Information in Separate Files".
 */
_must_check_ int debug_file_open(const struct debug_file_query *query, int *ret);

/* Whether an open ELF file is only a debug file: its code is elsewhere. */
bool debug_file_is_one(int fd);

/*
 * The file that .gnu_debugaltlink names (what dwz found common to several debug files), below
 * debug_root only. Returns 0, -ENODATA (there is no link) or -ENOENT.
 */
_must_check_ int debug_file_open_alternate(Dwarf *dwarf, const char *debug_root, int *ret);

#endif
