/*
 * Names for the code of an experiment, by the copies of its files that it keeps.
 */
#ifndef VIEWER_ARCHIVED_NAMES_H
#define VIEWER_ARCHIVED_NAMES_H

#include "base/attributes.h"
#include "formats/import.h"

/*
 * After an import of a tar archive with will_name_code: give frames to the locations that are left
 * without, by the symbol tables of the copies (struct module), else by their places in the files.
 * Warns of names that stay as linkers have them.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int archived_names_add(struct import *import);

#endif
