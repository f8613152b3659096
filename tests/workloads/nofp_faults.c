/*
 * Touches new memory, page by page, at a known stack: nofp_faults PAGES [go]. With "go" it waits for a line of
 * standard input first. Prints how many page faults the kernel has counted meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "spin.h"

#define PAGE_BYTES 4096
/* At a time, so that much can be touched on machines with little memory. */
#define CHUNK_PAGES 1024

static long count_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static __attribute__((noinline)) void touch_pages(volatile char *pages, long num_pages)
{
	for (long i = 0; i < num_pages; i++)
		pages[i * PAGE_BYTES] = 1;
	__asm__ volatile("");
}

static __attribute__((noinline)) void touch_chunk(long num_pages)
{
	size_t size = (size_t)num_pages * PAGE_BYTES;
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || madvise(pages, size, MADV_NOHUGEPAGE))
		abort();
	touch_pages(pages, num_pages);
	munmap(pages, size);
}

int main(int argc, char **argv)
{
	long num_pages = argc > 1 ? atol(argv[1]) : 10000;
	long before;

	if (argc > 2)
		(void)getchar();
	before = count_faults();
	for (; num_pages > 0; num_pages -= CHUNK_PAGES)
		touch_chunk(num_pages < CHUNK_PAGES ? num_pages : CHUNK_PAGES);
	printf("%ld\n", count_faults() - before);
	return 0;
}
