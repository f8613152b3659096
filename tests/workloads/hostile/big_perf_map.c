/*
 * Runs code that it makes in memory, and names it in its perf-map, before lines for code that is not
 * there: big_perf_map SECONDS MEGABYTES. The perf-map is removed at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../generated_code.h"
#include "../spin.h"

static char map_path[64];

/* As many lines as a few bytes each can make, at addresses that have nothing in common. */
static int write_map(const unsigned char *start, unsigned long num_bytes)
{
	FILE *map = fopen(map_path, "w");
	unsigned long written;

	if (!map)
		return -1;
	written = (unsigned long)fprintf(map, "%lx %zx jit_true\n", (unsigned long)start,
					 sizeof(code));
	for (unsigned long i = 1; written < num_bytes; i++)
		written += (unsigned long)fprintf(map, "%lx 1 n%lx\n", i << 12, i);
	return fclose(map);
}

int main(int argc, char **argv)
{
	uint64_t duration_ns = read_duration_ns(argc, argv, 1, 1);
	unsigned long num_megabytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 200;
	uint64_t end_ns;
	void (*count_down)(long);
	unsigned char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	count_down = (void (*)(long))(uintptr_t)memory;
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	if (write_map(memory, num_megabytes << 20))
		return 1;
	puts("written");
	fflush(stdout);
	end_ns = read_cpu_ns() + duration_ns;
	while (read_cpu_ns() < end_ns)
		count_down(100000);
	unlink(map_path);
	return 0;
}
