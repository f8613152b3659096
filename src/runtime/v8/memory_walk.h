/* v8_walk.h in the memory of another process. */
#ifndef RUNTIME_V8_MEMORY_WALK_H
#define RUNTIME_V8_MEMORY_WALK_H

#include <string.h>

#include "runtime/v8_source.h"

#define V8_INLINE static inline
#include "runtime/v8_walk.h"

struct memory_walk {
	struct v8_walk walk; /* first, so that v8_read() can cast it back */
	const struct v8_memory *memory;
};

static inline int v8_read(struct v8_walk *walk, void *ret, wire_u32 bytes, wire_u64 address)
{
	const struct v8_memory *memory = ((const struct memory_walk *)walk)->memory;

	memset(ret, 0, bytes);
	return memory->read(memory->context, address, ret, bytes);
}

#endif
