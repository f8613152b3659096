/*
 * Coroutines on stacks of makecontext(): two of a pair switch to each other, and two threads take
 * turns in running four pairs. After each pair a thread runs a coroutine of its own, which has no C library
 * below it: its stack is prepared with the address of its function and 0 for a return address:
 * nofp_coroutine [SECONDS].
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

/* Saves what a function has to keep, and goes on where the other stack was left. */
#if defined(__x86_64__)
void switch_stack(void **left, void *entered);
__asm__(".text\n"
	".type switch_stack,@function\n"
	"switch_stack:\n"
	"push %rbp\n"
	"push %rbx\n"
	"push %r12\n"
	"push %r13\n"
	"push %r14\n"
	"push %r15\n"
	"mov %rsp,(%rdi)\n"
	"mov %rsi,%rsp\n"
	"pop %r15\n"
	"pop %r14\n"
	"pop %r13\n"
	"pop %r12\n"
	"pop %rbx\n"
	"pop %rbp\n"
	"ret\n"
	".size switch_stack,.-switch_stack\n");
#define NUM_SAVED 6

struct bare_coroutine {
	void *sp;
	void *thread_sp;
	void *stack[STACK_BYTES / sizeof(void *)] __attribute__((aligned(16)));
};

static __thread struct bare_coroutine bare;

static void run_bare(void)
{
	for (;;) {
		burn_down(2);
		switch_stack(&bare.sp, bare.thread_sp);
	}
}

static void make_bare(void)
{
	void **top = (void **)((char *)bare.stack + sizeof(bare.stack));

	top[-2] = (void *)run_bare;
	bare.sp = top - 2 - NUM_SAVED;
}

static void enter_bare(void)
{
	switch_stack(&bare.thread_sp, bare.sp);
}
#else
static void make_bare(void)
{
}

static void enter_bare(void)
{
}
#endif

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
	make_bare();
	for (int number = *(int *)first; read_cpu_ns() < end_ns; number++) {
		struct pair *pair = &pairs[number % NUM_PAIRS];

		if (pthread_mutex_trylock(&pair->is_running))
			continue;
		swapcontext(&pair->thread, &pair->ping);
		pthread_mutex_unlock(&pair->is_running);
		enter_bare();
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
