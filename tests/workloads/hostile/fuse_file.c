/*
 * A FUSE file system with one file, "program", which is said to be root's:
 * fuse_file FOLDER CONTENT [SECONDS [DELAY_MS [USER]]]. CONTENT is the path of what the file holds; what is said of
 * the file holds for so many seconds (60); whoever reads it waits for the delay (0). With a user's number nobody but that user
 * may read it, else everybody may. Ends when it is unmounted. While it is stopped (SIGSTOP), it does not answer.
 */
#include <stdlib.h>
#include <time.h>

#include "fuse_server.h"

#define NOBODY 65534

static int content;
static struct timespec delay;

static uint32_t get_open_flags(uint32_t flags)
{
	(void)flags;
	return FOPEN_KEEP_CACHE;
}

static ssize_t read_content(void *data, size_t size, uint64_t offset)
{
	ssize_t got = pread(content, data, size, (off_t)offset);

	nanosleep(&delay, NULL);
	return got;
}

int main(int argc, char **argv)
{
	struct fuse_server server = {.file_name = "program",
				     .valid_s = 60,
				     .user = NOBODY,
				     .get_open_flags = get_open_flags,
				     .read = read_content};
	struct stat status;
	int mounted;

	if (argc < 3)
		return 2;
	if (argc > 3)
		server.valid_s = (uint64_t)atoi(argv[3]);
	if (argc > 4)
		delay.tv_nsec = atol(argv[4]) * 1000000;
	if (argc > 5) {
		server.user = (uid_t)strtoul(argv[5], NULL, 10);
		server.is_private = true;
	}
	content = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (content < 0 || fstat(content, &status))
		return 77;
	server.file_bytes = (uint64_t)status.st_size;
	mounted = fuse_server_mount(&server, argv[1]);
	return mounted ? mounted : fuse_server_run(&server);
}
