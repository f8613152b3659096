/* A profile of one source that is read keeps the name of the file that it is read from. */
#include "formats/native/read.h"
#include "profile/profile.h"

int native_forget_single_source(struct import *import, const uint32_t *sources, size_t count)
{
	struct profile *profile = import->profile;
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	uint64_t zero_ns;
	int err;

	if (count != 1)
		return 0;
	err = provenance_hand_over(profile_get_provenance(profile), sources[0], import->source);
	if (err || !timestamps || !timestamps_find_clock(timestamps, sources[0], &zero_ns))
		return err;
	return profile_set_clock(profile, import->source, zero_ns);
}
