/*
 * Allocates, frees half of it and is busy, and so does a child of it: allocates [SECONDS].
 */
#include "spin.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

int main(int argc, char **argv)
{
	uint64_t duration_ns = read_duration_ns(argc, argv, 1, 1);
	pid_t child = fork();

	for (size_t i = 0; i < 1000; i++) {
		kept = malloc(1000 + i);
		if (i % 2)
			free(kept);
	}
	spin_cpu_ns(duration_ns);
	return child > 0 && waitpid(child, NULL, 0) != child;
}
