/*
 * A signal handler on a stack of its own, which interrupts a function wherever it happens to be:
 * nofp_signal [SECONDS].
 */
#include <signal.h>
#include <sys/time.h>

#include "spin.h"

static volatile int num_signals;
static char handler_stack[64 * 1024];

static __attribute__((noinline)) void handler_burn(void)
{
	spin_cpu_ns(5 * NS_PER_MS);
	num_signals++;
}

static void on_timer(int number)
{
	(void)number;
	handler_burn();
	num_signals++;
}

static __attribute__((noinline)) unsigned interrupted(unsigned seed)
{
	for (int i = 0; i < 100000; i++)
		seed = seed * 31 + (unsigned)num_signals;
	return seed;
}

static __attribute__((noinline)) unsigned work(unsigned seed)
{
	return interrupted(seed) + 1;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);
	stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)};
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_ONSTACK | SA_RESTART};
	struct itimerval timer = {.it_interval.tv_usec = 10000, .it_value.tv_usec = 200};
	unsigned seed = 1;

	if (sigaltstack(&stack, NULL) || sigaction(SIGALRM, &action, NULL) ||
	    setitimer(ITIMER_REAL, &timer, NULL))
		return 1;
	while (read_cpu_ns() < end_ns)
		seed = work(seed);
	/* A handler that interrupts exit() would not come from main. */
	timer = (struct itimerval){0};
	if (setitimer(ITIMER_REAL, &timer, NULL))
		return 1;
	return num_signals == 0 && seed == 0;
}
