/*
 * The Java methods of an experiment, by number: jclasses.
 */
#ifndef FORMATS_GPROFNG_READ_JAVA_H
#define FORMATS_GPROFNG_READ_JAVA_H

#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/text.h"
#include "formats/gprofng/read_files.h"
#include "formats/gprofng/read_log.h"
#include "profile/profile.h"

struct gprofng_method {
	uint64_t id;
	uint32_t number;     /* order in the file */
	uint32_t class_name; /* offset in the file of "Lcom/example/Class;"; 0: not known */
	uint32_t name;       /* offset in the file */
};

/* Zeroed at first. */
struct gprofng_java {
	struct gprofng_file file;
	ARRAY(struct gprofng_method) methods; /* sorted by id; the last one of a number counts */
	struct text text;
};

/*
 * The file is borrowed. Damage ends a block of it, with a warning. Returns 0, -ENOMEM, or -EBADMSG
 * if the import is strict. Release in any case.
 */
_must_check_ int gprofng_java_read(struct gprofng_java *java, struct import *import,
				   const struct gprofng_log *log, const struct gprofng_file *file);
void gprofng_java_release(struct gprofng_java *java);

/* The location of a method: class, dot, method; [unknown] for a number that is not known. */
_must_check_ int gprofng_java_find(struct gprofng_java *java, struct profile *profile, uint64_t id,
				   uint32_t *ret);

#endif
