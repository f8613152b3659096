/*
 * Machine code: it is split into functions.
 */
#include <stdbool.h>
#include <stdint.h>

#include "objfile/x86_64/code_flow.h"
#include "objfile/x86_64/instruction.h"
#include "require.h"

#define ADDRESS 0x1008

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct range_map map = {0};
	struct instruction instruction;
	uint64_t end = ADDRESS;

	if (instruction_decode(data, size, &instruction))
		require(instruction.length > 0 && instruction.length <= size &&
			instruction.length <= INSTRUCTION_MAX_BYTES);
	require(code_flow_split(data, size, ADDRESS, &map) == 0);
	require(range_map_finish(&map) == 0);
	array_for_each (&map.ranges, range) {
		require(range->start >= end && range->end > range->start);
		require(range->end - range->start <= CODE_FLOW_MAX_BYTES);
		end = range->end;
	}
	require(end <= ADDRESS + size);
	range_map_release(&map);
	return 0;
}
