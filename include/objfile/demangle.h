/*
 * Demangling: C++ and both Rust schemes, and the suffixes that compilers give to the parts and
 * copies that they make of a function.
 *
 * Names are untrusted: the result is truncated at DEMANGLED_MAX_BYTES, since a short symbol can
 * expand to gigabytes. Not thread-safe.
 */
#ifndef OBJFILE_DEMANGLE_H
#define OBJFILE_DEMANGLE_H

#include <stdbool.h>

#include "base/attributes.h"

#define DEMANGLED_MAX_BYTES 16384

/* Caches its results, since the same names recur. */
struct demangler;

struct demangled_name {
	const char *name;      /* without parameters, clone suffix, symbol version, Rust hash */
	const char *full_name; /* with parameters and clone suffix */
};

struct demangler *demangler_new(void); /* NULL when out of memory */
void demangler_free(struct demangler *demangler);

/*
 * symbol   as the linker sees it. An unmangled symbol is returned without its suffix; one longer
 *          than any compiler makes is truncated.
 * ret      borrowed until demangler_free()
 *
 * Returns 0 or -ENOMEM.
 *
 * Source: Itanium C++ ABI, section 5.1; Rust RFC 2603.
 */
_must_check_ int demangler_get(struct demangler *demangler, const char *symbol,
			       struct demangled_name *ret);

/* Whether it looks like a mangled C++ or Rust name. */
bool symbol_is_mangled(const char *symbol);

/* Whether it is the rarely executed part of a function, jumped to and never called (".cold"). */
bool symbol_is_clone(const char *symbol);

/*
 * Whether it is the rarely executed part of a function, which is jumped to and never called
 * (".cold").
 */
bool symbol_is_cold_part(const char *symbol);

/*
 * The name, without return type, clone suffix, symbol version and Rust hash. Not cached: for
 * callers that read each symbol of a file once. The caller frees it; NULL when out of memory.
 */
char *demangle_symbol(const char *symbol, bool with_parameters);

#endif
