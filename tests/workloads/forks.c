/* A parent and its child, forked without exec, each in a function of its own; and two children
   that sleep: forks [SECONDS]. */
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

static __attribute__((noinline)) void parent_burn(uint64_t duration_ns)
{
	spin_cpu_ns(duration_ns);
}

static __attribute__((noinline)) void child_burn(uint64_t duration_ns)
{
	spin_cpu_ns(duration_ns);
}

static __attribute__((noinline)) void sleeper_nap(uint64_t duration_ns)
{
	struct timespec duration = {.tv_sec = (time_t)(duration_ns / NS_PER_SECOND),
				    .tv_nsec = (long)(duration_ns % NS_PER_SECOND)};

	nanosleep(&duration, NULL);
}

static void start_child(void (*work)(uint64_t), uint64_t duration_ns)
{
	pid_t child = fork();

	if (child == 0) {
		work(duration_ns);
		_exit(0);
	}
	if (child < 0)
		_exit(1);
}

int main(int argc, char **argv)
{
	uint64_t duration_ns = read_duration_ns(argc, argv, 1, 1);

	start_child(sleeper_nap, duration_ns);
	start_child(sleeper_nap, duration_ns);
	start_child(child_burn, duration_ns);
	parent_burn(duration_ns);
	while (wait(NULL) > 0)
		;
	return 0;
}
