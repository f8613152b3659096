/* Folded stacks with two counts. */
#include "folded_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_folded(&format_diff_folded, 2, data, size);
}
