/* Maps files as code and waits: map_files SECONDS FILE... */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY);

		if (fd < 0 ||
		    mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
			perror(argv[i]);
			return 1;
		}
		close(fd);
	}
	puts("mapped");
	fflush(stdout);
	sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
	return 0;
}
