/*
 * A process that turns non-dumpable while it runs: undumpable BEFORE AFTER [PROGRAM [ARGUMENT…]].
 * It works for BEFORE seconds; then, non-dumpable, for AFTER seconds, lets a child work as long, and
 * executes the program.
 */
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

static __attribute__((noinline)) void while_dumpable(uint64_t duration_ns)
{
	(void)spin_cpu_ns(duration_ns);
}

static __attribute__((noinline)) void while_undumpable(uint64_t duration_ns)
{
	(void)spin_cpu_ns(duration_ns);
}

static __attribute__((noinline)) void in_child(uint64_t duration_ns)
{
	(void)spin_cpu_ns(duration_ns);
}

int main(int argc, char **argv)
{
	uint64_t duration_ns = read_duration_ns(argc, argv, 2, 0.3);
	pid_t child;

	while_dumpable(read_duration_ns(argc, argv, 1, 0.3));
	if (prctl(PR_SET_DUMPABLE, 0))
		return 1;
	while_undumpable(duration_ns);
	child = fork();
	if (child == 0) {
		in_child(duration_ns);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) < 0)
		return 1;
	if (argc < 4)
		return 0;
	execv(argv[3], argv + 3);
	return 127;
}
