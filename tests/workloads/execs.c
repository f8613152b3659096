/* Half a second of its own, then another program under the same pid: execs PROGRAM [ARGUMENT…]. */
#include <unistd.h>

#include "spin.h"

static __attribute__((noinline)) void before_exec(void)
{
	(void)spin_cpu_ns(NS_PER_SECOND / 2); /* how much it really was does not matter */
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	before_exec();
	execv(argv[1], argv + 1);
	return 127;
}
