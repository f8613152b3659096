/*
 * Output files that appear whole or not at all: a reader never sees half a profile, and a program
 * that is killed leaves no damaged one.
 *
 * Bytes go to a file without a name (O_TMPFILE) in the target's folder. If the file system has no
 * such files, a temporary name beside the target is used. output_file_commit() puts the file in the
 * target's place in one step. Only a regular file of our user (with sudo also: of the one who
 * called it) is replaced, and a symbolic link, which is not followed. Otherwise anyone who can
 * write to the folder could choose the file that a privileged program overwrites. A terminal,
 * /dev/null and a pipe of ours are written to directly.
 */
#ifndef BASE_OUTPUT_FILE_H
#define BASE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"

/* Modes of files for everybody, and of those that show other users' programs. */
#define OUTPUT_MODE         0666
#define OUTPUT_MODE_PRIVATE 0600

struct fd_list;
struct output_file;

/*
 * path  "-", /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N: an open descriptor
 * mode  the file's, before the umask. The mode of a replaced file does not count
 *
 * Returns 0, or negative errno with the reason in error: -EPERM if another user's file is there,
 * -ENXIO if nobody has read a pipe for 5 s. Nothing is visible yet.
 */
_must_check_ int output_file_open(const char *path, mode_t mode, struct output_file **ret,
				  struct error *error);

/* Returns 0 or negative errno (-ENOSPC, -EPIPE, …). */
_must_check_ int output_file_write(struct output_file *file, const void *data, size_t size);

/* Whether the target is neither pipe nor device, which are written directly. */
bool output_file_can_rewind(const struct output_file *file);

/*
 * Discard everything written so far. Returns 0, or negative errno; -ESPIPE if the target is written
 * directly.
 */
_must_check_ int output_file_rewind(struct output_file *file);

/* Make the file appear. Returns 0, or negative errno with the reason in error. */
_must_check_ int output_file_commit(struct output_file *file, struct error *error);

/* Free; without a commit, nothing of the file remains. NULL is fine. */
void output_file_free(struct output_file *file);

/*
 * Remove the temporary name, if any, for signal handlers of a program that is about to end.
 * Async-signal-safe; another thread may be writing.
 */
void output_file_abandon(const struct output_file *file);

/* The descriptor that writing and rewinding need (base/confinement.h). */
void output_file_add_fds(const struct output_file *file, struct fd_list *fds);

uint64_t output_file_get_size(const struct output_file *file); /* bytes written so far */
const char *output_file_get_path(const struct output_file *file);

#endif
