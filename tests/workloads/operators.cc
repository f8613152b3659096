/*
 * Objects from memory of its own: a program with "operator new", as arenas and pools have. Small ones are in a
 * mapping, others have malloc's memory behind a header.
 *
 * usage: operators ROUNDS [wait]   each round: 500 bytes in by_pool, 5000 in by_header, 700 in by_array, and 10 by malloc
 *                                  in by_malloc; and 300 more in by_pool if the round is even, which nobody deletes
 * wait: for a byte of standard input, before anything else.
 */
#include <cstdlib>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

#define POOL_BYTES (1ul << 20)
#define HEADER     64

static char *pool;
static size_t used = POOL_BYTES;

/* Not inlined, and no jump is at its end. */
__attribute__((noinline)) void *operator new(size_t size)
{
	char *memory;

	if (size > 1000) {
		memory = static_cast<char *>(std::malloc(size + HEADER));
		if (!memory)
			throw std::bad_alloc();
		return memory + HEADER;
	}
	if (used + size > POOL_BYTES) {
		pool = static_cast<char *>(mmap(nullptr, POOL_BYTES, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		used = 0;
	}
	memory = pool + used;
	used += (size + 15) & ~15ul;
	return memory;
}

/* The memory of large ones is never freed. */
__attribute__((noinline)) void operator delete(void *) noexcept
{
	__asm__ volatile("" ::: "memory");
}

static void *volatile kept;

static __attribute__((noinline)) void by_pool(long round)
{
	kept = operator new(500);
	operator delete(kept);
	if (round % 2 == 0)
		kept = operator new(300);
}

static __attribute__((noinline)) void by_header()
{
	kept = operator new(5000);
	operator delete(kept);
}

/* Its operator is that of libstdc++, which calls the other one. */
static __attribute__((noinline)) void by_array()
{
	kept = operator new[](700);
	operator delete(kept);
}

static __attribute__((noinline)) void by_malloc()
{
	kept = std::malloc(10);
	std::free(kept);
}

int main(int argc, char **argv)
{
	long num_rounds = argc > 1 ? atol(argv[1]) : 0;
	char byte;

	if (num_rounds <= 0)
		return 2;
	if (argc > 2 && read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	for (long i = 0; i < num_rounds; i++) {
		by_pool(i);
		by_header();
		by_array();
		by_malloc();
	}
	return 0;
}
