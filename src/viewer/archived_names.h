/* Names for the code of an experiment, from its copies of files. */
#ifndef VIEWER_ARCHIVED_NAMES_H
#define VIEWER_ARCHIVED_NAMES_H

#include "base/attributes.h"
#include "formats/import.h"

/*
 * After an import of a tar archive with will_name_code: give frames to the remaining locations,
 * from the symbol tables of the copies (struct module), else by file and offset. Warns of names
 * that stay mangled. Returns 0 or -ENOMEM.
 */
_must_check_ int archived_names_add(struct import *import);

#endif
