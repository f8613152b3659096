/* Mostly kernel time: large reads of /dev/zero: syscalls [SECONDS]. */
#include <fcntl.h>
#include <unistd.h>

#include "spin.h"

static char buffer[4 << 20];

/* The C library's read() has no frame of its own, so a walk by frame pointers loses its caller:
   this function, which is here to be lost. */
static __attribute__((noinline)) ssize_t read_zeros(int fd)
{
	return read(fd, buffer, sizeof(buffer));
}

static __attribute__((noinline)) int hammer_kernel(int fd, uint64_t duration_ns)
{
	uint64_t end_ns = read_cpu_ns() + duration_ns;

	while (read_cpu_ns() < end_ns)
		if (read_zeros(fd) < 0)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	return fd < 0 || hammer_kernel(fd, read_duration_ns(argc, argv, 1, 1));
}
