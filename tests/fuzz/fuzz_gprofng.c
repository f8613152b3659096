/*
 * Experiments of gprofng. An input is a folder; what is none is read as a tar archive.
 */
#include "folder_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_folder(&format_gprofng, data, size);
}
