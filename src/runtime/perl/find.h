/* Perl in a file: as script_find(). */
#ifndef RUNTIME_PERL_FIND_H
#define RUNTIME_PERL_FIND_H

#include "base/attributes.h"
#include "runtime/script.h"

_must_check_ int perl_find(struct objfile *objfile, struct script_build *ret);

#endif
