#include "formats/zones.h"
#include "zones_round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What does not start as a program's shared memory does is text, which fuzz_zones is for. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (zones_is_rings(data, size))
		zones_round_trip(data, size, false);
	return 0;
}
