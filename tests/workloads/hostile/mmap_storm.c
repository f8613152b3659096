/*
 * Maps and unmaps a file as code without end, whose path is as long as paths can be, in folders that it
 * makes below FOLDER: mmap_storm SECONDS FOLDER [PROCESSES]
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Returns a file with a path of nearly PATH_MAX bytes. */
static int make_file(const char *folder)
{
	static const char page[4096] = {1};
	size_t length = strlen(folder);
	char name[201];
	int fd = open(folder, O_PATH | O_DIRECTORY);

	memset(name, 'x', 200);
	name[200] = '\0';
	while (fd >= 0 && length + 402 < PATH_MAX - 16) {
		int next;

		if (mkdirat(fd, name, 0755) && errno != EEXIST)
			return -1;
		next = openat(fd, name, O_PATH | O_DIRECTORY);
		close(fd);
		fd = next;
		length += 201;
	}
	fd = openat(fd, name, O_RDWR | O_CREAT, 0755);
	if (fd >= 0 && write(fd, page, sizeof(page)) != sizeof(page))
		return -1;
	return fd;
}

static void storm(int fd, time_t end)
{
	unsigned long count = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (count % 1024 || time(NULL) < end) {
		void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (code == MAP_FAILED || munmap(code, 4096))
			exit(1);
		count++;
	}
	fprintf(stderr, "%lu mappings\n", count);
	_exit(0);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	int num_processes = argc > 3 ? atoi(argv[3]) : 1;
	int fd = argc > 2 ? make_file(argv[2]) : -1;

	if (fd < 0) {
		perror("make_file");
		return 1;
	}
	puts("mapped");
	fflush(stdout);
	for (int i = 0; i < num_processes; i++)
		if (fork() == 0)
			storm(fd, end);
	while (wait(NULL) > 0)
		;
	return 0;
}
