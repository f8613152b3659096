/* Maps code many times and forks without end, 300 times a second: forks_with_maps SECONDS MAPPINGS */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	int num_mappings = argc > 2 ? atoi(argv[2]) : 30000;
	int fd = open("/proc/self/exe", O_RDONLY);
	long num_forks = 0;

	for (int i = 0; i < num_mappings; i++) {
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
			perror("mmap");
			return 1;
		}
	}
	puts("mapped");
	fflush(stdout);
	while (time(NULL) < end) {
		pid_t child = vfork();

		if (child == 0)
			_exit(0);
		num_forks += child > 0;
		waitpid(child, NULL, 0);
		usleep(3000);
	}
	fprintf(stderr, "%ld forks\n", num_forks);
	return 0;
}
