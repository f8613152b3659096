/*
 * Output files that are there whole or not at all.
 *
 * Bytes go to a file without a name (O_TMPFILE) in the target's folder, or, where the file system
 * has none, to a temporary name beside the target; output_file_commit() puts it in the target's
 * place in one step. What exists and is no regular file (a terminal, a pipe, /dev/null) is written
 * to directly.
 */
#ifndef BASE_OUTPUT_FILE_H
#define BASE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

struct output_file;

/*
 * path  "-" is standard output
 * Returns 0, or negative errno with the reason in error. Nothing is visible yet.
 */
_must_check_ int output_file_open(const char *path, struct output_file **ret, struct error *error);

/* Returns 0 or negative errno (-ENOSPC, -EPIPE, …). */
_must_check_ int output_file_write(struct output_file *file, const void *data, size_t size);

/* Make the file appear. Returns 0, or negative errno with the reason in error. */
_must_check_ int output_file_commit(struct output_file *file, struct error *error);

/* Free; without a commit before, nothing of the file is left. NULL is fine. */
void output_file_free(struct output_file *file);

/*
 * Remove the temporary name, if there is one. Async-signal-safe; may be called while another thread
 * writes and the program is about to end.
 */
void output_file_abandon(const struct output_file *file);

uint64_t output_file_get_size(const struct output_file *file); /* bytes written so far */
const char *output_file_get_path(const struct output_file *file);

#endif
