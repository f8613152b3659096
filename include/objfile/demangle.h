/*
 * Demangling: C++ and both Rust schemes, and the suffixes that compilers give to the parts and
 * copies that they make of a function.
 *
 * Names are untrusted: the result is truncated at DEMANGLED_MAX_BYTES, since a short symbol can
 * stand for gigabytes. Not thread-safe.
 */
#ifndef OBJFILE_DEMANGLE_H
#define OBJFILE_DEMANGLE_H

#include "base/attributes.h"

#define DEMANGLED_MAX_BYTES 16384

/* Caches its results: the same names come again and again. */
struct demangler;

struct demangled_name {
	const char *name;      /* without parameters, clone suffix, symbol version, Rust hash */
	const char *full_name; /* with parameters and clone suffix */
};

struct demangler *demangler_new(void); /* NULL when out of memory */
void demangler_free(struct demangler *demangler);

/*
 * symbol   as the linker sees it; one that is not mangled is returned without its suffix
 * ret      borrowed until demangler_free()
 *
 * Returns 0 or -ENOMEM.
 *
 * Source: Itanium C++ ABI, section 5.1; Rust RFC 2603.
 */
_must_check_ int demangler_get(struct demangler *demangler, const char *symbol,
			       struct demangled_name *ret);

#endif
