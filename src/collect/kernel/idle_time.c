#include "collect/kernel/idle_time.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/clock.h"

uint64_t idle_time_parse_ns(const char *text)
{
	long ticks_per_second = sysconf(_SC_CLK_TCK);
	uint64_t idle;
	uint64_t waiting;

	/* user, nice, system, idle, iowait */
	if (ticks_per_second <= 0 ||
	    sscanf(text, "cpu %*u %*u %*u %" SCNu64 " %" SCNu64, &idle, &waiting) != 2)
		return 0;
	return (idle + waiting) * (NS_PER_SECOND / (uint64_t)ticks_per_second);
}

uint64_t idle_time_read_ns(void)
{
	char start[256]; /* of the file; its first line is the sum */
	_cleanup_close_ int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, start, sizeof(start) - 1);

	if (size <= 0)
		return 0;
	start[size] = '\0';
	return idle_time_parse_ns(start);
}
