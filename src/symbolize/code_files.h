/*
 * The ELF files of a file table, one open at a time: the symbols and the debug information of some
 * hundreds would take too much memory. Files with equal build ID and (known) owner are merged: they
 * share symbols and debug information, and one with a symbol table is used for all. Not thread-safe.
 */
#ifndef SYMBOLIZE_CODE_FILES_H
#define SYMBOLIZE_CODE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "objfile/objfile.h"
#include "process/file_table.h"
#include "symbolize/inlines.h"

struct code_files;
struct code_file;

/*
 * files       borrowed, must outlive the result
 * debug_root  as in objfile_open(); copied
 *
 * Returns NULL when out of memory.
 */
struct code_files *code_files_new(const struct file_table *files, const char *debug_root);
/* Allow downloads of debug files from servers, as objfile_allow_downloads() does. */
void code_files_allow_downloads(struct code_files *code_files);
/* As objfile_set_opener(). */
void code_files_set_opener(struct code_files *code_files, const struct debug_opener *opener);
void code_files_free(struct code_files *code_files);

/*
 * The lowest number of the files merged with this one. A caller that goes through the files
 * in the order of these numbers opens each of them once. Returns 0 or -ENOMEM.
 */
_must_check_ int code_files_get_first(struct code_files *code_files, uint32_t file, uint32_t *ret);

/*
 * Closes the file that was open, unless it is merged with this one.
 *
 * ret   borrowed until the next call, or code_files_close()
 *
 * Returns 0, -ENOENT (not opened by the file table, or not ELF), -ESTALE (overwritten: the content
 * that was mapped is gone) or -ENOMEM.
 */
_must_check_ int code_files_get(struct code_files *code_files, uint32_t file,
				struct code_file **ret);

/* Close the file that is open, if any. */
void code_files_close(struct code_files *code_files);

/* Whether its content is still the one that it was opened with. Asked after reading from it. */
bool code_file_is_unchanged(const struct code_file *code_file);

/* Borrowed from the file. */
struct objfile *code_file_get_objfile(const struct code_file *code_file);

/*
 * ret   borrowed from the file; NULL without debug information
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int code_file_get_inlines(struct code_file *code_file, struct inlines **ret);

#endif
