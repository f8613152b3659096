/*
 * The functions of a file with a given name, and their bytes that can be probed.
 *
 * Not thread-safe, like the objfile.
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
	 * The linker's name, without the version ("@@GLIBC_2.14"). If no function has it, the
	 * demangled name, with or without parameters.
	 */
	const char *name;
	uint64_t offset; /* in bytes, from the start of each function of that name */
};

/*
 * Add the locations of all functions of the name, in the file itself, its .gnu_debugdata and its
 * separate debug file. Local functions of several sources are all added, a function with several
 * names only once. Arguments are unchanged.
 *
 * A demangled name must be of one function: overloads are distinguished by their parameters, and
 * all others, such as compilers' clones, by their mangled names. Spaces that separate no words are
 * ignored.
 *
 * Returns 0 or, with error filled, -ENOENT (no such function, or inlined everywhere), -ENXIO (an
 * IFUNC, chosen at run time), -ERANGE (offset beyond a function), -EILSEQ (offset inside of an
 * instruction, or unknown), -ENOTUNIQ (several demangled names, which error lists), -E2BIG (more
 * than PROBE_MAX_POINTS); or -ENOMEM.
 */
_must_check_ int function_search(struct objfile *objfile, const struct function_query *query,
				 struct probe_point_list *ret, struct error *error);

#endif
