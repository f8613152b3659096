/*
 * Allocates known amounts at known places.
 *
 * usage: allocations ROUNDS [wait]   each round: 6000 bytes in parse, 3000 in index_words, 1000 in log_line, all by malloc
 *        allocations each ROUNDS [wait]   each round: one call of each function, in by_FUNCTION
 *        allocations leak ROUNDS [wait]   each round: as the first, and 2000 bytes in leak that are never freed; what is kept
 *                                         in by_cache (64 of 1000 bytes), by_growth (64 times the round) and
 *                                         by_aligned_cache (1400 bytes) takes the place of what was
 *        allocations fail ROUNDS [wait]   each round: 500 bytes in by_failure that realloc() fails to free, 300 in by_array from
 *                                         reallocarray(), and by_release and by_move, which keep nothing
 *        allocations share ROUNDS [wait]   each round: 600 bytes in by_child, a child of vfork(), and 400 bytes in by_parent; the
 *                                          other process frees them, in the same memory
 *        allocations site ROUNDS [wait]   each round: 100 bytes by malloc() and 10000 by pool_alloc(), a function of another file,
 *                                         both from one place in by_site
 *        allocations hook ROUNDS [wait]   each round: 1000 bytes in by_pool, of a hook for malloc() with memory of its own, and
 *                                         2000 in by_switch, of one that calls malloc() without the hook
 *        allocations signal ROUNDS [wait]   each round: 3000 bytes in by_interrupted, while a signal that wrapper.c raises in
 *                                         malloc() has 50 in by_handler
 *        allocations load LIBRARY   loads it after a byte of standard input, and has 1000 bytes in by_loaded from its malloc()
 *                                   every ms, until another byte or the end; then it prints their number
 *
 * wait: for a byte of standard input, before anything else.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is in it is not known to the compiler, so that it leaves no call out and makes no last one a jump. */
static void *volatile kept;

static void drop(void)
{
	free(kept);
	kept = NULL;
}

static __attribute__((noinline)) void parse(void)
{
	for (int i = 0; i < 10; i++) {
		kept = malloc(600);
		drop();
	}
}

static __attribute__((noinline)) void index_words(void)
{
	kept = malloc(3000);
	drop();
}

static __attribute__((noinline)) void log_line(void)
{
	kept = malloc(1000);
	drop();
}

static __attribute__((noinline)) void by_malloc(void)
{
	kept = malloc(1000);
	drop();
}

static __attribute__((noinline)) void by_calloc(void)
{
	kept = calloc(11, 100);
	drop();
}

/* Which goes on in malloc. */
static __attribute__((noinline)) void by_first_realloc(void)
{
	kept = realloc(kept, 1200);
}

static __attribute__((noinline)) void by_realloc(void)
{
	kept = realloc(kept, 1300);
	drop();
}

static __attribute__((noinline)) void by_posix_memalign(void)
{
	void *memory;

	if (posix_memalign(&memory, 64, 1400))
		abort();
	kept = memory;
	drop();
}

static __attribute__((noinline)) void by_aligned_alloc(void)
{
	kept = aligned_alloc(64, 1536);
	drop();
}

/* As malloc aligns anyway. */
static __attribute__((noinline)) void by_memalign(void)
{
	kept = memalign(16, 1600);
	drop();
}

/* Both are jumps, where the compiler can be told so, and so are calls from one place. */
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("optimize-sibling-calls")))
#endif
static __attribute__((noinline)) void *
grow(void *memory, size_t size)
{
	return memory ? realloc(memory, size) : malloc(size);
}

static __attribute__((noinline)) void by_wrapper(void)
{
	static volatile int num_growths = 2;

	for (int i = 0; i < num_growths; i++)
		kept = grow(kept, 1700);
	drop();
}

/* More than a heap has: memory of its own. */
static __attribute__((noinline)) void by_large_malloc(void)
{
	kept = malloc(1 << 20);
	drop();
}

static void allocate_by_each(void)
{
	by_malloc();
	by_calloc();
	by_first_realloc();
	by_realloc();
	by_posix_memalign();
	by_aligned_alloc();
	by_memalign();
	by_wrapper();
	by_large_malloc();
}

static __attribute__((noinline)) void leak(void)
{
	kept = malloc(2000);
	kept = NULL;
}

static __attribute__((noinline)) void by_cache(long round)
{
	static void *volatile cache[64];

	free(cache[round % 64]);
	cache[round % 64] = malloc(1000);
}

/* At first in malloc, and then in place, or somewhere else. */
static __attribute__((noinline)) void by_growth(long round)
{
	static void *volatile grown;

	grown = realloc(grown, (size_t)(round + 1) * 64);
}

static __attribute__((noinline)) void by_aligned_cache(void)
{
	static void *volatile aligned;
	void *memory;

	free(aligned);
	if (posix_memalign(&memory, 64, 1400))
		abort();
	aligned = memory;
}

static __attribute__((noinline)) void by_failure(void)
{
	static volatile size_t too_much = (size_t)1 << 62;

	kept = malloc(500);
	if (realloc(kept, too_much) || reallocarray(kept, too_much, 2) ||
	    reallocarray(kept, too_much, 8))
		abort();
	kept = NULL;
}

static __attribute__((noinline)) void by_array(void)
{
	kept = malloc(100);
	kept = reallocarray(kept, 10, 30);
	kept = NULL;
}

static __attribute__((noinline)) void by_release(void)
{
	static volatile size_t nothing;

	kept = malloc(700);
	kept = realloc(kept, nothing);
	drop();
}

static __attribute__((noinline)) void by_move(void)
{
	void *volatile wall;

	kept = malloc(24);
	wall = malloc(24);
	kept = realloc(kept, 100000);
	free(wall);
	drop();
}

static __attribute__((noinline)) void by_child(void)
{
	kept = malloc(600);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void by_parent(void)
{
	kept = malloc(400);
	__asm__ volatile("" ::: "memory");
}

static void share(void)
{
	pid_t child = vfork();

	if (!child) {
		by_child();
		_exit(0);
	}
	drop();
	by_parent();
	child = vfork();
	if (!child) {
		drop();
		_exit(0);
	}
}

typedef void *(*malloc_type)(size_t);

static __attribute__((noinline)) void by_site(const malloc_type *functions, const size_t *sizes)
{
	for (int i = 0; i < 2; i++)
		kept = functions[i](sizes[i]);
	__asm__ volatile("" ::: "memory");
}

static int allocate_at_one_site(long num_rounds)
{
	static const size_t sizes[] = {100, 10000};
	malloc_type functions[] = {malloc, (malloc_type)dlsym(RTLD_DEFAULT, "pool_alloc")};

	if (!functions[1])
		return 1;
	for (long i = 0; i < num_rounds; i++)
		by_site(functions, sizes);
	return 0;
}

typedef void *(*hook_type)(size_t, const void *);

static hook_type volatile *hook;
static char pool[1 << 20];
static size_t pool_used;

static void *have_pool(size_t size, const void *caller)
{
	void *memory = pool + pool_used;

	(void)caller;
	pool_used += size;
	return memory;
}

static void *switch_hook_off(size_t size, const void *caller)
{
	void *memory;

	(void)caller;
	*hook = NULL;
	memory = malloc(size);
	*hook = switch_hook_off;
	return memory;
}

static __attribute__((noinline)) void by_pool(long num_rounds)
{
	*hook = have_pool;
	for (long i = 0; i < num_rounds; i++)
		kept = malloc(1000);
	*hook = NULL;
}

static __attribute__((noinline)) void by_switch(long num_rounds)
{
	*hook = switch_hook_off;
	for (long i = 0; i < num_rounds; i++)
		kept = malloc(2000);
	*hook = NULL;
}

static int allocate_by_hooks(long num_rounds)
{
	hook = dlvsym(RTLD_DEFAULT, "__malloc_hook", "GLIBC_2.2.5");
	if (!hook || (size_t)num_rounds > sizeof(pool) / 1000)
		return 1;
	/* The hook that the library starts with removes itself. */
	kept = malloc(1);
	by_pool(num_rounds);
	by_switch(num_rounds);
	return 0;
}

static __attribute__((noinline)) void by_handler(int number)
{
	(void)number;
	kept = malloc(50);
	__asm__ volatile("" ::: "memory");
}

static void interrupt(void)
{
	raise(SIGUSR1);
}

static __attribute__((noinline)) void by_interrupted(void)
{
	kept = malloc(3000);
	__asm__ volatile("" ::: "memory");
}

/* Half of the handlers have a stack of their own. It is static, so below that of the thread. */
static int allocate_in_signals(long num_rounds)
{
	static char memory[64 << 10];
	const stack_t own = {.ss_sp = memory, .ss_size = sizeof(memory)};
	void (**interruption)(void) = dlsym(RTLD_DEFAULT, "wrapper_interruption");
	struct sigaction action = {.sa_handler = by_handler};

	if (!interruption || sigaltstack(&own, NULL))
		return 1;
	*interruption = interrupt;
	for (long i = 0; i < num_rounds; i++) {
		action.sa_flags = i % 2 ? SA_ONSTACK : 0;
		sigaction(SIGUSR1, &action, NULL);
		by_interrupted();
	}
	*interruption = NULL;
	return 0;
}

static void *(*loaded_malloc)(size_t);

static __attribute__((noinline)) void by_loaded(void)
{
	kept = loaded_malloc(1000);
	drop();
}

/* Nothing else allocates meanwhile. */
static int allocate_by(const char *path)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	long num_bytes = 0;
	void *library;
	char byte;

	if (read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	library = dlopen(path, RTLD_NOW);
	loaded_malloc = library ? (void *(*)(size_t))dlsym(library, "malloc") : NULL;
	if (!loaded_malloc)
		return 1;
	while (!poll(&input, 1, 1)) {
		by_loaded();
		num_bytes += 1000;
	}
	printf("%ld\n", num_bytes);
	return 0;
}

int main(int argc, char **argv)
{
	int is_each = argc > 1 && strcmp(argv[1], "each") == 0;
	int is_leak = argc > 1 && strcmp(argv[1], "leak") == 0;
	int is_failing = argc > 1 && strcmp(argv[1], "fail") == 0;
	int is_sharing = argc > 1 && strcmp(argv[1], "share") == 0;
	int is_site = argc > 1 && strcmp(argv[1], "site") == 0;
	int is_hook = argc > 1 && strcmp(argv[1], "hook") == 0;
	int is_signal = argc > 1 && strcmp(argv[1], "signal") == 0;
	int first = 1 + (is_each || is_leak || is_failing || is_sharing || is_site || is_hook ||
			 is_signal);
	char byte;
	long num_rounds = argc > first ? atol(argv[first]) : 0;

	if (argc > 2 && strcmp(argv[1], "load") == 0)
		return allocate_by(argv[2]);
	if (num_rounds <= 0)
		return 2;
	/* Not by stdio, which allocates. */
	if (argc > first + 1 && read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	if (is_site)
		return allocate_at_one_site(num_rounds);
	if (is_hook)
		return allocate_by_hooks(num_rounds);
	if (is_signal)
		return allocate_in_signals(num_rounds);
	for (long i = 0; i < num_rounds; i++) {
		if (is_each) {
			allocate_by_each();
			continue;
		}
		if (is_failing) {
			by_failure();
			by_array();
			by_release();
			by_move();
			continue;
		}
		if (is_sharing) {
			share();
			continue;
		}
		parse();
		index_words();
		log_line();
		if (!is_leak)
			continue;
		leak();
		by_cache(i);
		by_growth(i);
		by_aligned_cache();
	}
	return 0;
}
