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

/* How well a library matches a name; larger is better. */
enum library_match {
	LIBRARY_IS_OTHER,
	LIBRARY_HAS_NAME, /* and more around it */
	LIBRARY_IS_IT,
};

/*
 * library  the name of its file: "libc.so.6"
 * name     the same, or without prefix and suffix: "libc", "c". musl's C library has the name of
 *          its dynamic linker.
 */
enum library_match library_match_name(const char *library, const char *name);

/*
 * The path of a library of this machine: "libc.so.6", or without prefix and suffix, "libc" or "c"
 * ("pthread", "z"). If there are several versions, the first in the cache wins, which is the
 * latest.
 *
 * ret  borrowed from the cache
 *
 * Returns 0, -ENOENT or -EINVAL (not such a cache).
 */
_must_check_ int ld_cache_find(const void *cache, size_t size, const char *name, const char **ret);

#endif
