/* Runs code that it makes in memory, and names it jit_first in its perf-map after DELAY seconds;
   then a second piece, jit_second, named by a line that is added at half time. The perf-map is
   removed at the end: jit [SECONDS [DELAY [UID-THAT-OWNS-THE-MAP]]]. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

/* A function that counts its argument down to 0, with a frame. */
#if defined(__x86_64__)
static const unsigned char code[] = {
	0x55,             /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0x48, 0xff, 0xcf, /* 1: dec %rdi */
	0x75, 0xfb,       /* jne 1b */
	0x5d,             /* pop %rbp */
	0xc3,             /* ret */
};
#elif defined(__aarch64__)
static const unsigned char code[] = {
	0xfd, 0x7b, 0xbf, 0xa9, /* stp x29, x30, [sp, #-16]! */
	0xfd, 0x03, 0x00, 0x91, /* mov x29, sp */
	0x00, 0x04, 0x00, 0xf1, /* 1: subs x0, x0, #1 */
	0xe1, 0xff, 0xff, 0x54, /* b.ne 1b */
	0xfd, 0x7b, 0xc1, 0xa8, /* ldp x29, x30, [sp], #16 */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
};
#else
static const unsigned char code[1];
#endif

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

	while (read_clock_ns(CLOCK_MONOTONIC) < end_ns)
		count_down(100000);
}

int main(int argc, char **argv)
{
	uint64_t duration_ns = read_duration_ns(argc, argv, 1, 1);
	uint64_t delay_ns = read_duration_ns(argc, argv, 2, 0);
	uint64_t start_ns = read_clock_ns(CLOCK_MONOTONIC);
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
