/*
 * Zones as profiling-lite's library writes them: the bytes behind the record that every capture
 * starts with.
 */
#include "zones_round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t init[] = {16, 'P', 'R', 'O', 'F', 1, 0, 0, 0};
	uint8_t *capture = malloc(sizeof(init) + size);

	require(capture);
	memcpy(capture, init, sizeof(init));
	if (size)
		memcpy(capture + sizeof(init), data, size);
	zones_round_trip(capture, sizeof(init) + size, false);
	free(capture);
	return 0;
}
