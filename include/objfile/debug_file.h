/*
 * Separate debug files: symbols and debug information that were stripped from a program and are
 * shipped in a file of their own.
 *
 * A file is taken only when its build ID, or the checksum in the link to it, proves that it belongs
 * to the program. Names come from untrusted files: only regular files are ever opened, so that no
 * device or pipe is touched.
 */
#ifndef OBJFILE_DEBUG_FILE_H
#define OBJFILE_DEBUG_FILE_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/*
 * Opens files on behalf of a sandboxed process that may not open any itself. Results are treated as
 * untrusted.
 */
struct debug_opener {
	/* An absolute path. Returns a descriptor, which the caller closes, or negative errno. */
	int (*open)(void *context, const char *path);
	void *context;
};

/* All borrowed. */
struct debug_file_query {
	Elf *elf;               /* the stripped program */
	int fd;                 /* open descriptor of the same program */
	const char *path;       /* path of the program; .gnu_debuglink is searched for beside it */
	const char *debug_root; /* "/usr/lib/debug"; several have `:` between them */
	const uint8_t *build_id;
	uint8_t build_id_size;             /* 0: no build ID */
	const struct debug_opener *opener; /* NULL: open files directly */
};

/*
 * Find DEBUG_ROOT/.build-id/xx/yyyy.debug; then the file of .gnu_debuglink beside the program, in
 * .debug beside it, below DEBUG_ROOT and in it. Last, find a file with the program's path or name
 * (also with .debug appended) below DEBUG_ROOT; it must have the same build ID and a symbol table.
 * Files beside the program must be owned by root, by us, or by the program's owner on the same file
 * system.
 *
 * ret   open for reading; the caller closes it
 *
 * Returns 0 or -ENOENT.
 *
 * Source: GDB manual, "Debugging Information in Separate Files".
 */
_must_check_ int debug_file_open(const struct debug_file_query *query, int *ret);

/* Whether an open ELF file is only a debug file, without code. */
bool debug_file_is_one(int fd);

/*
 * The alternate file of .gnu_debugaltlink, where dwz puts data that several debug files share. It
 * is opened only below debug_root or below the folder of the program (its path and descriptor),
 * under the same ownership rule. Only path, fd, debug_root and opener of the query are used.
 * Returns 0, -ENODATA (no link) or -ENOENT.
 */
_must_check_ int debug_file_open_alternate(Dwarf *dwarf, const struct debug_file_query *query,
					   int *ret);

/*
 * Files from debuginfod servers, through libdw, which loads the client if it is installed.
 *
 * This goes to the network: only commands that a person waits for may do it, and only if the person
 * has configured servers.
 */

/* Whether servers are configured (DEBUGINFOD_URLS). */
bool debuginfod_is_enabled(void);

/*
 * The program or library with a build ID, and its separate debug information.
 *
 * ret   open for reading; the caller closes it
 *
 * Returns 0 or -ENOENT.
 *
 * Source: debuginfod_find_debuginfo(3), elfutils/libdwfl.h.
 */
_must_check_ int debuginfod_find_program(const uint8_t *build_id, uint8_t build_id_size, int *ret);
_must_check_ int debuginfod_find_debug_file(const uint8_t *build_id, uint8_t build_id_size,
					    int *ret);

#endif
