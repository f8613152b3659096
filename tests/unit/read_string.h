/* Reading text of a process that a test or a fuzz target makes, for the walks of interpreters. */
#ifndef READ_STRING_H
#define READ_STRING_H

#include <stdint.h>

#include "wire/types.h"

/*
 * Defines name(walk, ret, size, address): as the kernel reads a string of user space, byte by byte with
 * read(walk, ret, num_bytes, address), but the terminating zero is not counted.
 */
#define DEFINE_READ_STRING(name, walk_type, read)                                                  \
	static inline int name(struct walk_type *walk, void *ret, wire_u32 size, wire_u64 address) \
	{                                                                                          \
		uint8_t *bytes = ret;                                                              \
                                                                                                   \
		for (wire_u32 i = 0; i < size; i++) {                                              \
			if (read(walk, bytes + i, 1, address + i))                                 \
				return -1;                                                         \
			if (!bytes[i])                                                             \
				return (int)i;                                                     \
		}                                                                                  \
		bytes[size - 1] = '\0';                                                            \
		return (int)size - 1;                                                              \
	}

#endif
