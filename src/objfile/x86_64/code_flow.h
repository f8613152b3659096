/*
 * Find the ends of functions without a recorded end by following x86-64 instructions. Such
 * functions are hand-written assembly without sizes and call-frame information.
 */
#ifndef OBJFILE_X86_64_CODE_FLOW_H
#define OBJFILE_X86_64_CODE_FLOW_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "objfile/range_map.h"

/* No function is taken to be longer. */
#define CODE_FLOW_MAX_BYTES 16384

/*
 * code      size bytes, the first of a function
 * address   ELF address of the first byte
 *
 * Returns the size of the function in bytes: at least 1, at most size. When in doubt, too small.
 */
size_t code_flow_find_end(const uint8_t *code, size_t size, uint64_t address);

/*
 * Add a range for each function in a block of code; the gaps between them are padding. The caller
 * finishes the map. Returns 0 or -ENOMEM.
 */
_must_check_ int code_flow_split(const uint8_t *code, size_t size, uint64_t address,
				 struct range_map *ret);

#endif
