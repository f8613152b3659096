/* How each runtime is found in the symbols of a file; asked by find.c, one row there each. */
#ifndef RUNTIME_FINDER_H
#define RUNTIME_FINDER_H

#include "base/attributes.h"
#include "objfile/objfile.h"
#include "runtime/runtime.h"

/*
 * Describe the build in a file that has one of the finder's symbols.
 *
 * build  its runtime is set, all else is 0; not used unless 0 is returned. The caller sets the
 *        layout's tag.
 *
 * Returns 0, also for an unknown build, or -ENOENT (the file contains no such runtime).
 */
typedef int runtime_finder(struct objfile *objfile, struct runtime_build *build);

runtime_finder python_find;
runtime_finder v8_find;
runtime_finder hotspot_find;
runtime_finder php_find;
runtime_finder ruby_find;
runtime_finder perl_find;

#endif
