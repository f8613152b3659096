/* Runs code that it makes in memory, and names it jit_first in its perf-map after DELAY seconds;
   then a second piece, jit_second, named by a line that is added at half time. The perf-map is
   removed at the end: jit [SECONDS [DELAY [UID-THAT-OWNS-THE-MAP]]]. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "generated_code.h"
#include "spin.h"

#define SPACING 4096

static char map_path[64];

static int name_code(const unsigned char *start, const char *name)
{
	FILE *map = fopen(map_path, "a");

	if (!map)
		return -1;
	fprintf(map, "%lx %zx %s\n", (unsigned long)start, sizeof(code), name);
	return fclose(map);
}

static __attribute__((noinline)) void run_code(const unsigned char *start, uint64_t end_ns)
{
	void (*count_down)(long) = (void (*)(long))(uintptr_t)start;

	while (read_cpu_ns() < end_ns)
		count_down(100000);
}

int main(int argc, char **argv)
{
	uint64_t duration_ns = read_duration_ns(argc, argv, 1, 1);
	uint64_t delay_ns = read_duration_ns(argc, argv, 2, 0);
	uint64_t start_ns = read_cpu_ns();
	unsigned char *memory;

	if (sizeof(code) == 1)
		return 77; /* no code for this machine */
	memory =
		mmap(NULL, 2 * SPACING, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	memcpy(memory + SPACING, code, sizeof(code));
	if (mprotect(memory, 2 * SPACING, PROT_READ | PROT_EXEC))
		return 1;
	__builtin___clear_cache((char *)memory, (char *)memory + 2 * SPACING);

	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	unlink(map_path);
	run_code(memory, start_ns + delay_ns);
	if (name_code(memory, "jit_first"))
		return 1;
	if (argc > 3 && chown(map_path, (uid_t)atoi(argv[3]), (gid_t)-1))
		return 1;
	run_code(memory, start_ns + duration_ns / 2);
	if (name_code(memory + SPACING, "jit_second"))
		return 1;
	run_code(memory + SPACING, start_ns + duration_ns);
	return unlink(map_path);
}
