/*
 * Output files that appear whole or not at all: who watches a folder never reads half a profile, and
 * a program that is killed leaves no damaged one.
 *
 * Bytes go to a file without a name (O_TMPFILE) in the target's folder, or, where the file system
 * has none, to a temporary name beside the target; output_file_commit() puts it in the target's
 * place in one step. Only a regular file of our user (with sudo also: of the one who called it) is
 * replaced, and a symbolic link, which is not followed: where others can write to the folder, they
 * would choose what a privileged program overwrites. A terminal, /dev/null and a pipe of ours are
 * written to directly.
 */
#ifndef BASE_OUTPUT_FILE_H
#define BASE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"

/* Modes of files for everybody, and of those that show what other users run. */
#define OUTPUT_MODE         0666
#define OUTPUT_MODE_PRIVATE 0600

struct fd_list;
struct output_file;

/*
 * path  "-", /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N: an open descriptor
 * mode  the file's; the umask is taken from it. What the one that it replaces had does not count
 *
 * Returns 0, or negative errno with the reason in error: -EPERM when another user's file is there,
 * -ENXIO when nobody has read a pipe for 5 s. Nothing is visible yet.
 */
_must_check_ int output_file_open(const char *path, mode_t mode, struct output_file **ret,
				  struct error *error);

/* Returns 0 or negative errno (-ENOSPC, -EPIPE, …). */
_must_check_ int output_file_write(struct output_file *file, const void *data, size_t size);

/* Whether it is no pipe or device, which are written directly. */
bool output_file_can_rewind(const struct output_file *file);

/*
 * Start over, whoever has written to it so far. Returns 0, or negative errno; -ESPIPE for what is
 * written directly.
 */
_must_check_ int output_file_rewind(struct output_file *file);

/* Make the file appear. Returns 0, or negative errno with the reason in error. */
_must_check_ int output_file_commit(struct output_file *file, struct error *error);

/* Free; without a commit before, nothing of the file is left. NULL is fine. */
void output_file_free(struct output_file *file);

/*
 * Remove the temporary name, if there is one, for signal handlers of a program that is about to
 * end. Async-signal-safe; another thread may be writing.
 */
void output_file_abandon(const struct output_file *file);

/* The descriptor that writing and rewinding need (base/confinement.h). */
void output_file_add_fds(const struct output_file *file, struct fd_list *fds);

uint64_t output_file_get_size(const struct output_file *file); /* bytes written so far */
const char *output_file_get_path(const struct output_file *file);

#endif
