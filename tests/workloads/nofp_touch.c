/*
 * Touches 64 MiB of new memory at a known stack, with huge pages where the kernel has them: `nofp_touch`; and `nofp_touch
 * FILE`, each page of a mapped file. Prints the number of page faults that the kernel has counted meanwhile.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define PAGE_BYTES 4096
#define HUGE_BYTES (2l << 20)
#define SIZE_BYTES (64l << 20)

static long count_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static __attribute__((noinline)) void touch_pages(volatile char *pages, long size, int writes)
{
	for (long i = 0; i < size; i += PAGE_BYTES)
		if (writes)
			pages[i] = 1;
		else
			(void)pages[i];
	__asm__ volatile("");
}

static char *map_memory(void)
{
	char *pages = mmap(NULL, SIZE_BYTES + HUGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		abort();
	pages += HUGE_BYTES - (long)((uintptr_t)pages % HUGE_BYTES);
	(void)madvise(pages, SIZE_BYTES, MADV_HUGEPAGE);
	return pages;
}

static char *map_file(const char *path, long *ret_size)
{
	int fd = open(path, O_RDONLY);
	struct stat status;
	char *pages;

	if (fd < 0 || fstat(fd, &status))
		abort();
	pages = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (pages == MAP_FAILED)
		abort();
	*ret_size = status.st_size;
	return pages;
}

int main(int argc, char **argv)
{
	long size = SIZE_BYTES;
	char *pages = argc > 1 ? map_file(argv[1], &size) : map_memory();
	long before = count_faults();

	touch_pages(pages, size, argc == 1);
	printf("%ld\n", count_faults() - before);
	return 0;
}
