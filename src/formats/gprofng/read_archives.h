/*
 * Copies of programs and libraries that an experiment keeps in its directory archives/.
 */
#ifndef FORMATS_GPROFNG_READ_ARCHIVES_H
#define FORMATS_GPROFNG_READ_ARCHIVES_H

#include "base/attributes.h"
#include "formats/gprofng/read_files.h"
#include "formats/gprofng/read_map.h"
#include "profile/profile.h"

/*
 * Tell the modules the places of their copies: by archive.log, else by their names. Returns 0 or
 * -ENOMEM.
 */
_must_check_ int gprofng_archives_find(struct gprofng_files *files, struct profile *profile,
				       const struct gprofng_modules *modules);

#endif
