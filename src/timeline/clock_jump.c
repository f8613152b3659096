/* Detects whether a clock was set meanwhile. */
#include "timeline/timeline.h"

/* Clocks are read one after the other, and something may happen in between. */
#define TOLERANCE_NS 10000000

static bool differ(uint64_t passed, uint64_t expected)
{
	int64_t difference = (int64_t)(passed - expected);

	return difference > TOLERANCE_NS || difference < -TOLERANCE_NS;
}

bool clock_has_jumped(const struct clock_snapshot *before, const struct clock_snapshot *after)
{
	uint64_t passed_ns = after->boottime_ns - before->boottime_ns;

	return differ(after->monotonic_ns - before->monotonic_ns, passed_ns) ||
	       differ(after->realtime_ns - before->realtime_ns, passed_ns);
}
