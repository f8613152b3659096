/*
 * Libraries by name, and /etc/ld.so.cache: where the dynamic linker finds them, as ldconfig has written it.
 *
 * Thread-safe: there is no state.
 *
 * Source: glibc, sysdeps/generic/dl-cache.h (the format "glibc-ld.so.cache1.1").
 */
#ifndef COLLECT_ELF_LD_CACHE_H
#define COLLECT_ELF_LD_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* A machine has some thousand libraries, with paths of a hundred bytes. */
#define LD_CACHE_MAX_BYTES (16u << 20)

/* How well a library is what is meant by a name; the larger, the better. */
enum library_match {
	LIBRARY_IS_OTHER,
	LIBRARY_HAS_NAME, /* and more around it */
	LIBRARY_IS_IT,
};

/*
 * library  the name of its file: "libc.so.6"
 * name     the same, or without what is around it: "libc", "c". musl's C library is called as the linker that it is
 */
enum library_match library_match_name(const char *library, const char *name);

/*
 * The path of a library of this machine: "libc.so.6", or without what is around its name, "libc" or "c" ("pthread",
 * "z"). Of several versions the first that is listed, which is the latest.
 *
 * ret  borrowed from the cache
 *
 * Returns 0, -ENOENT or -EINVAL (it is no such cache).
 */
_must_check_ int ld_cache_find(const void *cache, size_t size, const char *name, const char **ret);

#endif
