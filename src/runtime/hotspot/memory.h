/* Numbers and bytes in a process's memory. */
#ifndef RUNTIME_HOTSPOT_MEMORY_H
#define RUNTIME_HOTSPOT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "runtime/hotspot.h"

/* Read a number of 1 to 8 bytes. */
_must_check_ static inline int hotspot_read_number(const struct hotspot_memory *memory,
						   uint64_t address, size_t size, uint64_t *ret)
{
	uint64_t number = 0;
	int err = memory->read(memory->context, address, &number, size);

	if (err)
		return err;
	*ret = number;
	return 0;
}

/*
 * Read the bytes before the first unmapped page, at least `least` of them. So a caller that does
 * not know the size may request more.
 *
 * Returns 0 and the number of bytes, or the error of read().
 */
_must_check_ int hotspot_read_some(const struct hotspot_memory *memory, uint64_t address, void *ret,
				   size_t least, size_t size, size_t *ret_size);

#endif
