/*
 * Threads whose stacks share a mapping with other memory: own_stacks touching|upper|both|heap
 * [SECONDS]. touching: two threads without a guard. upper: one thread on the upper half of a mapping.
 * both: a second thread is on most of the lower half. heap: a thread on memory of the heap.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "spin.h"

#define FRAME_BYTES 4096
#define HALF_BYTES  (256ul << 10)
#define LESS_BYTES  (HALF_BYTES - (64ul << 10))

struct thread {
	const char *name;
	int depth;
	char *stack; /* NULL: the library provides it */
	size_t bytes;
	pthread_t id;
};

static uint64_t duration_ns;
static pthread_barrier_t all_run;

static __attribute__((noinline)) void go_deeper(int depth)
{
	volatile char frame[FRAME_BYTES];

	frame[0] = 0;
	if (depth)
		go_deeper(depth - 1);
	else
		spin_cpu_ns(duration_ns);
	frame[sizeof(frame) - 1] = 0;
}

static void *run_thread(void *argument)
{
	const struct thread *thread = argument;

	prctl(PR_SET_NAME, thread->name);
	pthread_barrier_wait(&all_run);
	spin_cpu_ns(50 * NS_PER_MS);
	go_deeper(thread->depth);
	return NULL;
}

static void run(struct thread *threads, unsigned count)
{
	pthread_barrier_init(&all_run, NULL, count);
	for (unsigned i = 0; i < count; i++) {
		pthread_attr_t attributes;

		if (pthread_attr_init(&attributes) ||
		    (threads[i].stack
			     ? pthread_attr_setstack(&attributes, threads[i].stack,
						     threads[i].bytes)
			     : (pthread_attr_setguardsize(&attributes, 0) ||
				pthread_attr_setstacksize(&attributes, threads[i].bytes))) ||
		    pthread_create(&threads[i].id, &attributes, run_thread, &threads[i]))
			exit(1);
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i].id, NULL);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "touching";
	char *memory = mmap(NULL, 2 * HALF_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct thread touching[] = {{.name = "first", .depth = 50, .bytes = 1 << 20},
				    {.name = "second", .depth = 100, .bytes = 1 << 20}};
	struct thread halves[] = {
		{.name = "upper", .depth = 30, .stack = memory + HALF_BYTES, .bytes = HALF_BYTES},
		{.name = "lower", .depth = 40, .stack = memory, .bytes = LESS_BYTES}};
	struct thread inner = {.name = "inner", .depth = 20, .bytes = LESS_BYTES};

	if (memory == MAP_FAILED)
		return 1;
	duration_ns = read_duration_ns(argc, argv, 2, 0.25);
	if (!strcmp(kind, "touching")) {
		run(touching, 2);
		return 0;
	}
	if (!strcmp(kind, "heap")) {
		char *heap = sbrk(HALF_BYTES);

		if (heap == (char *)-1)
			return 1;
		inner.stack = heap + (-(uintptr_t)heap & 63);
		run(&inner, 1);
		return 0;
	}
	run(halves, strcmp(kind, "both") ? 1 : 2);
	return 0;
}
