/*
 * Example of zones on fibers: two threads go on with fibers by turns, each fiber on a stack of its
 * own, so that a zone begins on one thread and ends on the other.
 *
 * usage: zones_fibers [FIBERS [STEPS [MICROSECONDS]]]     with STACKWIDE_ZONES=FILE in the
 *                                                         environment
 *
 * A fiber marks where it goes on: that tells which thread it is on, and the flow of its own draws
 * the arrow from where it was before. MICROSECONDS is how long each step keeps its CPU busy.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include <stackwide/zones.h>

#define NUM_THREADS 2
#define STACK_BYTES 65536

struct fiber {
	ucontext_t context;
	ucontext_t *scheduler; /* of the thread that it is on */
	unsigned int number;
	unsigned int num_steps;
	int is_done;
	struct fiber *next;
};

/* A fiber that yields on one thread waits for the other. */
struct queue {
	struct fiber *first;
	struct fiber **end;
};

static struct queue queues[NUM_THREADS];
static unsigned int num_left;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long step_us;
static unsigned int num_steps = 20;

static void push(struct queue *queue, struct fiber *fiber)
{
	pthread_mutex_lock(&lock);
	fiber->next = NULL;
	*queue->end = fiber;
	queue->end = &fiber->next;
	pthread_mutex_unlock(&lock);
}

/* NULL when there is none now; *are_all_done: and there will be none any more. */
static struct fiber *pop(struct queue *queue, int *are_all_done)
{
	struct fiber *fiber;

	pthread_mutex_lock(&lock);
	fiber = queue->first;
	if (fiber) {
		queue->first = fiber->next;
		if (!queue->first)
			queue->end = &queue->first;
	}
	*are_all_done = num_left == 0;
	pthread_mutex_unlock(&lock);
	return fiber;
}

static __attribute__((noinline)) void keep_busy(long us)
{
	struct timespec start;
	struct timespec now;

	/* CPU time: as many samples on a busy machine as on an idle one. */
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < us);
}

/* Let the thread do something else; another one may go on with the fiber. */
static void yield(struct fiber *fiber)
{
	swapcontext(&fiber->context, fiber->scheduler);
	STACKWIDE_MARK("goes on", fiber->number + 1);
}

static void inner_step(struct fiber *fiber, unsigned int step)
{
	STACKWIDE_ZONE_AS(zone, "inner");

	stackwide_zone_integer(&zone, "step", step);
	keep_busy(step_us);
	yield(fiber);
}

static void outer_step(struct fiber *fiber, unsigned int step)
{
	STACKWIDE_ZONE_AS(zone, "outer");

	stackwide_zone_integer(&zone, "fiber", fiber->number);
	inner_step(fiber, step);
	yield(fiber);
}

static void run_fiber(unsigned int low, unsigned int high)
{
	struct fiber *fiber = (struct fiber *)(uintptr_t)((uint64_t)high << 32 | low);

	for (unsigned int step = 0; step < num_steps; step++)
		outer_step(fiber, step);
	fiber->is_done = 1;
	swapcontext(&fiber->context, fiber->scheduler);
}

static int make_fiber(struct fiber *fiber, unsigned int number)
{
	char name[32];
	void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED)
		return -1;
	snprintf(name, sizeof(name), "fiber %u", number);
	stackwide_zones_add_stack(stack, STACK_BYTES, name);
	fiber->number = number;
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = stack;
	fiber->context.uc_stack.ss_size = STACK_BYTES;
	makecontext(&fiber->context, (void (*)(void))run_fiber, 2, (unsigned int)(uintptr_t)fiber,
		    (unsigned int)((uint64_t)(uintptr_t)fiber >> 32));
	push(&queues[number % NUM_THREADS], fiber);
	return 0;
}

static void run_thread(unsigned int number)
{
	struct queue *other = &queues[(number + 1) % NUM_THREADS];
	ucontext_t scheduler;
	int are_all_done;

	for (;;) {
		struct fiber *fiber = pop(&queues[number], &are_all_done);

		if (are_all_done)
			return;
		if (!fiber) {
			sched_yield();
			continue;
		}
		fiber->scheduler = &scheduler;
		swapcontext(&scheduler, &fiber->context);
		if (!fiber->is_done) {
			push(other, fiber);
			continue;
		}
		pthread_mutex_lock(&lock);
		num_left--;
		pthread_mutex_unlock(&lock);
	}
}

static void *run_left(void *unused)
{
	stackwide_zones_name_thread("left");
	run_thread(0);
	return unused;
}

static void *run_right(void *unused)
{
	stackwide_zones_name_thread("right");
	run_thread(1);
	return unused;
}

int main(int argc, char **argv)
{
	unsigned int num_fibers = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 4;
	struct fiber *fibers = calloc(num_fibers, sizeof(*fibers));
	pthread_t left;
	pthread_t right;

	if (argc > 2)
		num_steps = (unsigned int)strtoul(argv[2], NULL, 10);
	if (argc > 3)
		step_us = strtol(argv[3], NULL, 10);
	if (!fibers)
		return 1;
	num_left = num_fibers;
	for (int i = 0; i < NUM_THREADS; i++)
		queues[i].end = &queues[i].first;
	for (unsigned int i = 0; i < num_fibers; i++)
		if (make_fiber(&fibers[i], i))
			return 1;
	if (pthread_create(&left, NULL, run_left, NULL) ||
	    pthread_create(&right, NULL, run_right, NULL))
		return 1;
	pthread_join(left, NULL);
	pthread_join(right, NULL);
	printf("%u fibers, %u zones\n", num_fibers, num_fibers * num_steps * 4);
	free(fibers);
	return 0;
}
