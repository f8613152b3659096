/*
 * Zones as text; see zones_round_trip.h.
 */
#include "zones_round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	zones_round_trip(data, size, false);
	zones_round_trip(data, size, true);
	return 0;
}
