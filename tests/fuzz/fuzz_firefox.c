/* Profiles of the Firefox Profiler, processed and raw. */
#include "import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_import(&format_firefox, data, size);
}
