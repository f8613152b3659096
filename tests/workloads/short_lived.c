/* Gone after 20 ms of CPU time. */
#include "spin.h"

static __attribute__((noinline)) void short_lived_burn(void)
{
	(void)spin_cpu_ns(20 * NS_PER_MS); /* how much it really was does not matter */
}

int main(void)
{
	short_lived_burn();
	return 0;
}
