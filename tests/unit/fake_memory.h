/*
 * The memory of a process that a test makes. Before it includes this, the test defines MEMORY, which is the address where that starts,
 * MEMORY_BYTES, and struct fake_process with a member `uint8_t memory[MEMORY_BYTES]`.
 */
#ifndef FAKE_MEMORY_H
#define FAKE_MEMORY_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unit.h"

/* Returns 0, or -EFAULT if not all of it is there. */
static inline int read_memory(const struct fake_process *process, void *ret, size_t size,
			      uint64_t address)
{
	if (address < MEMORY || size > MEMORY_BYTES || address - MEMORY > MEMORY_BYTES - size)
		return -EFAULT;
	memcpy(ret, process->memory + (address - MEMORY), size);
	return 0;
}

static inline void put(struct fake_process *process, uint64_t address, const void *bytes,
		       size_t size)
{
	assert_in_range(address, MEMORY, MEMORY + MEMORY_BYTES - size);
	memcpy(process->memory + (address - MEMORY), bytes, size);
}

/* The lower bytes of a number. */
static inline void put_number(struct fake_process *process, uint64_t address, uint64_t value,
			      size_t num_bytes)
{
	put(process, address, &value, num_bytes);
}

static inline void put_word(struct fake_process *process, uint64_t address, uint64_t value)
{
	put(process, address, &value, sizeof(value));
}

#endif
