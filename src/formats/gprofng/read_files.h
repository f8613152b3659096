/*
 * The files of Oracle Studio or gprofng experiments: those below a directory, or those in a tar
 * archive.
 *
 * Nothing outside of the input is ever opened.
 */
#ifndef FORMATS_GPROFNG_READ_FILES_H
#define FORMATS_GPROFNG_READ_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "formats/import.h"
#include "formats/tar.h"

struct gprofng_file {
	const char *path; /* below the input; borrowed */
	const uint8_t *data;
	size_t size;
};

struct gprofng_files {
	struct import *import;
	struct tar tar;
	ARRAY(struct gprofng_file) items; /* sorted by path, each path once */
};

/*
 * List the files of the import. If an archive is damaged, lists those before the damage, with a
 * warning. Returns 0, -ENOMEM, or -EBADMSG with the reason in the import. Release in any case.
 */
_must_check_ int gprofng_files_init(struct gprofng_files *files, struct import *import);
void gprofng_files_release(struct gprofng_files *files);

/*
 * The content of folder/name; folder is "" or ends in a slash, folder_length bytes of it count.
 * A file that cannot be read is reported, and counts as missing.
 *
 * ret  borrowed until gprofng_files_release()
 *
 * Returns 0, -ENOENT or -ENOMEM.
 */
_must_check_ int gprofng_files_open(struct gprofng_files *files, const char *folder,
				    size_t folder_length, const char *name,
				    struct gprofng_file *ret);

/* The first path that is not less than folder/name: the start of the paths with this prefix. */
size_t gprofng_files_find(const struct gprofng_files *files, const char *folder,
			  size_t folder_length, const char *name);

/* Whether the tar archive that the bytes are holds an experiment. */
bool gprofng_files_detect(const uint8_t *data, size_t size);

#endif
