/*
 * Children that live on their parent's stack: they burn CPU for 2 ms and are gone, while the parent
 * waits inside vfork(); and children that are gone at once, so that the parent is mostly at work in
 * vfork(): nofp_vfork [SECONDS].
 */
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

static volatile int num_children;

static __attribute__((noinline)) void child_burn(void)
{
	spin_cpu_ns(2 * NS_PER_MS);
	num_children++;
}

static __attribute__((noinline)) void start_child(void)
{
	pid_t child = vfork();

	if (child == 0) {
		child_burn();
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

static __attribute__((noinline)) void start_idle_child(void)
{
	pid_t child = vfork();

	if (child == 0)
		_exit(0);
	if (child > 0)
		waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);

	while (read_cpu_ns() < end_ns) {
		start_child();
		for (int i = 0; i < 60; i++)
			start_idle_child();
	}
	return num_children == 0;
}
