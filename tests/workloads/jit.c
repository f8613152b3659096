/* Runs code that it makes in memory, and names it jit_first in its perf-map after DELAY seconds;
   then a second piece, jit_second, named by a line that is added at half time. This one is in a memfd that is
   mapped twice, to be written and to be executed, as .NET has it. The perf-map is removed at the end: jit [SECONDS [DELAY [UID-THAT-OWNS-THE-MAP]]]. */
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

/* NULL: it failed. */
static const unsigned char *make_code(void)
{
	unsigned char *memory =
		mmap(NULL, SPACING, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	memcpy(memory, code, sizeof(code));
	if (mprotect(memory, SPACING, PROT_READ | PROT_EXEC))
		return NULL;
	__builtin___clear_cache((char *)memory, (char *)memory + SPACING);
	return memory;
}

static const unsigned char *make_code_in_memfd(void)
{
	int fd = memfd_create("doublemapper", MFD_CLOEXEC);
	unsigned char *written;
	unsigned char *executed;

	if (fd < 0 || ftruncate(fd, SPACING))
		return NULL;
	written = mmap(NULL, SPACING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	executed = mmap(NULL, SPACING, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	close(fd);
	if (written == MAP_FAILED || executed == MAP_FAILED)
		return NULL;
	memcpy(written, code, sizeof(code));
	__builtin___clear_cache((char *)executed, (char *)executed + SPACING);
	return executed;
}

int main(int argc, char **argv)
{
	uint64_t duration_ns = read_duration_ns(argc, argv, 1, 1);
	uint64_t delay_ns = read_duration_ns(argc, argv, 2, 0);
	uint64_t start_ns = read_cpu_ns();
	const unsigned char *first;
	const unsigned char *second;

	if (sizeof(code) == 1)
		return 77; /* no code for this machine */
	first = make_code();
	second = make_code_in_memfd();
	if (!first || !second)
		return 1;

	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	unlink(map_path);
	run_code(first, start_ns + delay_ns);
	if (name_code(first, "jit_first"))
		return 1;
	if (argc > 3 && chown(map_path, (uid_t)atoi(argv[3]), (gid_t)-1))
		return 1;
	run_code(first, start_ns + duration_ns / 2);
	if (name_code(second, "jit_second"))
		return 1;
	run_code(second, start_ns + duration_ns);
	return unlink(map_path);
}
