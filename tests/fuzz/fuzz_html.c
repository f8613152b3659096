/* Our own pages; what is packed in them is left to the targets of inflate and svg. */
#include "import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_import(&format_page, data, size);
}
