/* Run a program again and again, one after the other: spawn SECONDS PROGRAM [ARGUMENT…].
   Prints how often. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

int main(int argc, char **argv)
{
	uint64_t end_ns = read_clock_ns(CLOCK_MONOTONIC) + read_duration_ns(argc, argv, 1, 1);
	int num_runs = 0;

	if (argc < 3)
		return 2;
	while (read_clock_ns(CLOCK_MONOTONIC) < end_ns) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			execv(argv[2], argv + 2);
			_exit(127);
		}
		if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
			return 1;
		num_runs++;
	}
	printf("%d\n", num_runs);
	return 0;
}
