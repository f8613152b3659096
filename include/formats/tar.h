/*
 * The files in a tar archive, as slices of it: nothing is copied but their names. Reads the
 * variants of GNU tar, BSD tar and POSIX (ustar, pax, long names); links, devices and sparse files
 * are skipped.
 *
 * Source: POSIX.1-2017, pax, "ustar Interchange Format"; GNU tar manual, "Basic Tar Format".
 */
#ifndef FORMATS_TAR_H
#define FORMATS_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/text.h"

struct tar_file {
	size_t name;   /* start of the path in tar.names */
	size_t offset; /* of the content in the archive; all of it is there */
	size_t size;   /* in bytes */
};

/* Zeroed at first. */
struct tar {
	ARRAY(struct tar_file) files; /* in archive order; later ones replace earlier ones */
	struct text names;            /* relative paths without `.` and `..`, each with its NUL */
	size_t fault_offset;
	const char *fault; /* why reading ended early, at fault_offset; NULL: it did not */
};

/* Whether the bytes start with the header of a tar archive. */
bool tar_detect(const uint8_t *data, size_t size);

/*
 * List the files of an archive. Damage or truncation ends the list and sets `fault`. Returns 0 or
 * -ENOMEM; release in any case.
 */
_must_check_ int tar_read(struct tar *tar, const uint8_t *data, size_t size);
void tar_release(struct tar *tar);

static inline const char *tar_get_path(const struct tar *tar, const struct tar_file *file)
{
	return tar->names.data + file->name;
}

#endif
