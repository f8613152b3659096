/*
 * An input in memory: a file, standard input, or a folder whose files are opened by name. Compressed
 * data (formats/compression.h) is decompressed, by content; UTF-16 becomes UTF-8.
 */
#ifndef CLI_FILES_INPUT_FILE_H
#define CLI_FILES_INPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

struct input_file;

/*
 * path  "-" is standard input; borrowed
 *
 * Returns 0, or negative errno with the reason in error: -EBADMSG for compressed data that is damaged,
 * truncated or a decompression bomb.
 */
_must_check_ int input_file_open(const char *path, struct input_file **ret, struct error *error);
/* The same for an open file; path is its name in messages. fd is borrowed. */
_must_check_ int input_file_open_fd(int fd, const char *path, struct input_file **ret,
				    struct error *error);
void input_file_free(struct input_file *file);

/* Bytes of a file; NULL and 0 for a folder. Borrowed until input_file_free(). */
const uint8_t *input_file_get_data(const struct input_file *file);
size_t input_file_get_size(const struct input_file *file);

/* Whether it is a folder. */
bool input_file_is_folder(const struct input_file *file);
/*
 * A file below a folder, for `struct import`. Returns 0, -ENOENT, -EINVAL (a path that leads out of
 * the folder) or another negative errno. Borrowed until input_file_free().
 */
_must_check_ int input_file_open_member(struct input_file *file, const char *path,
					const uint8_t **ret_data, size_t *ret_size);

/*
 * The paths of the files below a folder, for `struct import`; links and very deep files are
 * skipped. Borrowed until input_file_free(). Returns 0, or -ENOMEM.
 */
_must_check_ int input_file_list_members(struct input_file *file, const char *const **ret_members,
					 size_t *ret_num);

/* The bytes before `offset` will not be read again: give their memory back. */
void input_file_advance(struct input_file *file, size_t offset);

#endif
