/*
 * Coroutines on stacks of makecontext(): two of a pair switch to each other, and two threads take
 * turns in running four pairs: nofp_coroutine [SECONDS].
 */
#include <pthread.h>
#include <ucontext.h>

#include "spin.h"

#define NUM_PAIRS   4
#define STACK_BYTES (64 << 10)

struct pair {
	ucontext_t ping;
	ucontext_t pong;
	ucontext_t thread; /* that runs the pair at present */
	pthread_mutex_t is_running;
	char stacks[2][STACK_BYTES];
};

static struct pair pairs[NUM_PAIRS];
static uint64_t end_ns;
static volatile int num_turns;

static __attribute__((noinline)) void burn_down(int level)
{
	if (level == 0) {
		spin_once();
		num_turns++;
		return;
	}
	burn_down(level - 1);
	num_turns++;
}

/* The number of a pair is the only argument: makecontext() hands on ints. */
static void run_ping(int number)
{
	for (;;) {
		burn_down(3);
		swapcontext(&pairs[number].ping, &pairs[number].pong);
	}
}

static void run_pong(int number)
{
	for (;;) {
		burn_down(5);
		swapcontext(&pairs[number].pong, &pairs[number].thread);
	}
}

static void make(ucontext_t *context, char *stack, void (*run)(int), int number)
{
	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK_BYTES;
	context->uc_link = &pairs[number].thread;
	makecontext(context, (void (*)(void))run, 1, number);
}

static void *run_pairs(void *first)
{
	for (int number = *(int *)first; read_cpu_ns() < end_ns; number++) {
		struct pair *pair = &pairs[number % NUM_PAIRS];

		if (pthread_mutex_trylock(&pair->is_running))
			continue;
		swapcontext(&pair->thread, &pair->ping);
		pthread_mutex_unlock(&pair->is_running);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int first[2] = {0, 1};
	pthread_t thread;

	end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);
	for (int number = 0; number < NUM_PAIRS; number++) {
		struct pair *pair = &pairs[number];

		pthread_mutex_init(&pair->is_running, NULL);
		make(&pair->ping, pair->stacks[0], run_ping, number);
		make(&pair->pong, pair->stacks[1], run_pong, number);
	}
	if (pthread_create(&thread, NULL, run_pairs, &first[0]))
		return 1;
	run_pairs(&first[1]);
	pthread_join(thread, NULL);
	return num_turns == 0;
}
