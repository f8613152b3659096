/*
 * Copies its own text to anonymous memory, or to a memfd, and puts that in the place of the file's pages,
 * as programs do that want their text in huge pages; then burns CPU there: nofp_remap [SECONDS [memfd]].
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

extern char etext[];

static volatile int num_returns;

static __attribute__((noinline)) void burn_down(int level)
{
	if (level > 0)
		burn_down(level - 1);
	else
		spin_once();
	num_returns++;
}

/* Pages from that of main to the end of the text, which no other function is called in. */
static __attribute__((noinline)) int remap_text(char *start, size_t size)
{
	char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return 1;
	memcpy(copy, start, size);
	if (mprotect(copy, size, PROT_READ | PROT_EXEC))
		return 1;
	return mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start) != start;
}

static __attribute__((noinline)) int remap_text_to_file(char *start, size_t size)
{
	int fd = memfd_create("text", 0);

	if (fd < 0 || write(fd, start, size) != (ssize_t)size)
		return 1;
	return mmap(start, size, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0) != start;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);
	uintptr_t start = (uintptr_t)burn_down & ~4095ul;
	uintptr_t end = ((uintptr_t)etext + 4095) & ~4095ul;

	if ((argc > 2 ? remap_text_to_file : remap_text)((char *)start, end - start))
		return 1;
	while (read_cpu_ns() < end_ns)
		burn_down(8);
	return num_returns == 0;
}
