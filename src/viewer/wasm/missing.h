/* Parts of glibc that WASI's C library lacks; included before every source of the module. */
#ifndef VIEWER_WASM_MISSING_H
#define VIEWER_WASM_MISSING_H

#include <errno.h>
#include <stddef.h>

#ifndef ENODATA
#define ENODATA 200 /* any number without another meaning */
#endif

void qsort_r(void *items, size_t count, size_t item_size,
	     int (*compare)(const void *a, const void *b, void *context), void *context);

#endif
