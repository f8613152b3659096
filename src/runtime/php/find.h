/* PHP in a file: as script_find(). */
#ifndef RUNTIME_PHP_FIND_H
#define RUNTIME_PHP_FIND_H

#include "base/attributes.h"
#include "runtime/script.h"

_must_check_ int php_find(struct objfile *objfile, struct script_build *ret);

#endif
