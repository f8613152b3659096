/*
 * The functions of a file that have a name, and which of their bytes can be probed.
 *
 * Not thread-safe, as the objfile.
 */
#ifndef OBJFILE_FUNCTION_SEARCH_H
#define OBJFILE_FUNCTION_SEARCH_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/near_names.h"
#include "objfile/objfile.h"
#include "objfile/usdt.h"

struct function_query {
	/*
	 * As the linker sees it, without the version ("@@GLIBC_2.14"); if there is none, demangled, with parameters or
	 * without them.
	 */
	const char *name;
	uint64_t offset; /* in bytes, from the begin of each function of that name */
};

/*
 * Add where all functions of the name lie, of the file itself, its .gnu_debugdata and its separate debug file: local
 * ones of several sources, and one of several names only once. Arguments are left as they are.
 *
 * A demangled name is of one function: overloads are told apart by their parameters, and all others, as the clones
 * that compilers make, by their mangled names. Spaces that separate no words make no difference.
 *
 * Returns 0; -ENOENT (there is none, or it was inlined everywhere), -ENXIO (what it does is chosen at run time, an
 * IFUNC), -ERANGE (the offset is beyond a function), -EILSEQ (it is inside of an instruction, or nobody knows whether
 * it is), -ENOTUNIQ (the demangled name is of several, which error lists), -E2BIG (more than PROBE_MAX_POINTS), all with error filled; or -ENOMEM.
 */
_must_check_ int function_search(struct objfile *objfile, const struct function_query *query,
				 struct probe_point_list *ret, struct error *error);

#endif
