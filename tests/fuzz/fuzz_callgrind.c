/* Profiles of callgrind. The reader itself asserts that no cost is lost. */
#include "import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_import(&format_callgrind, data, size);
}
