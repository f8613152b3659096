/* Folded stacks. */
#include "folded_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_folded(&format_folded, 1, data, size);
}
