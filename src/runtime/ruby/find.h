/* Ruby in a file: as script_find(). */
#ifndef RUNTIME_RUBY_FIND_H
#define RUNTIME_RUBY_FIND_H

#include "base/attributes.h"
#include "runtime/script.h"

_must_check_ int ruby_find(struct objfile *objfile, struct script_build *ret);

#endif
