/*
 * What perf record writes: a file, or a folder of several.
 */
#include "folder_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_folder(&format_perf_data, data, size);
}
