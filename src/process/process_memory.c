#include "process/process_memory.h"

#include "process/slow_opener.h"

_Static_assert(PROCESS_MEMORY_MAX_BYTES == SLOW_OPENER_MAX_MEMORY_BYTES, "who reads it is asked");

int process_memory_read(void *process_memory, uint64_t address, void *ret, size_t size)
{
	const struct process_memory *memory = process_memory;

	return slow_opener_read_memory(memory->opener, memory->pid, address, ret, size);
}
