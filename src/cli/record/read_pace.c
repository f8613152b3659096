#include "cli/record/read_pace.h"

uint64_t read_pace_get_next_ns(const struct read_pace *pace, uint64_t now_ns)
{
	const uint64_t burst_ns = (READ_BURST - 1) * READ_DISTANCE_NS;
	uint64_t next_ns = now_ns + READ_GATHER_NS;

	return pace->paid_until_ns > next_ns + burst_ns ? pace->paid_until_ns - burst_ns : next_ns;
}

void read_pace_add(struct read_pace *pace, uint64_t now_ns)
{
	if (pace->paid_until_ns < now_ns)
		pace->paid_until_ns = now_ns;
	pace->paid_until_ns += READ_DISTANCE_NS;
}
