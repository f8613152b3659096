/*
 * Coroutines as QEMU makes them with sigaltstack: a signal handler runs on the coroutine's stack and is left; later the
 * thread jumps back into it by siglongjmp, and the stack is no longer one for signal handlers:
 * nofp_altstack [SECONDS].
 *
 * Meanwhile other functions use the part of the thread's stack that the signal has interrupted: it holds zeros, other
 * bytes, return addresses, or all that was there.
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "spin.h"

#define STACK_BYTES (64 << 10)
#define NOINLINE    __attribute__((noinline))

static sigjmp_buf to_trampoline;
static sigjmp_buf to_maker;
static sigjmp_buf to_thread;
static sigjmp_buf to_coroutine;
static volatile int num_returns;

static NOINLINE void burn_in_coroutine(void)
{
	spin_cpu_ns(3 * NS_PER_MS);
	num_returns++;
}

static NOINLINE void run_coroutine(void)
{
	for (;;) {
		burn_in_coroutine();
		if (!sigsetjmp(to_coroutine, 0))
			siglongjmp(to_thread, 1);
	}
}

static NOINLINE void bootstrap(void)
{
	if (!sigsetjmp(to_coroutine, 0))
		siglongjmp(to_maker, 1);
	run_coroutine();
	num_returns++;
}

static void trampoline(int number)
{
	(void)number;
	if (!sigsetjmp(to_trampoline, 0))
		return;
	bootstrap();
	num_returns++;
}

static NOINLINE int make_coroutine(void)
{
	stack_t stack = {.ss_size = STACK_BYTES};
	stack_t before;
	struct sigaction action = {.sa_handler = trampoline, .sa_flags = SA_ONSTACK};

	stack.ss_sp =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, &before) ||
	    sigaction(SIGUSR2, &action, NULL) || raise(SIGUSR2))
		return 1;
	stack.ss_flags = SS_DISABLE;
	if (sigaltstack(&stack, NULL) ||
	    (!(before.ss_flags & SS_DISABLE) && sigaltstack(&before, NULL)))
		return 1;
	if (!sigsetjmp(to_maker, 0))
		siglongjmp(to_trampoline, 1);
	return 0;
}

static NOINLINE void resume(void)
{
	if (!sigsetjmp(to_thread, 0))
		siglongjmp(to_coroutine, 1);
	num_returns++;
}

static NOINLINE void resume_above_bytes(int byte)
{
	char bytes[400];

	memset(bytes, byte, sizeof(bytes));
	__asm__ volatile("" ::"r"(bytes) : "memory");
	resume();
	num_returns++;
}

static NOINLINE void resume_above_addresses(void)
{
	void *addresses[60];

	for (int i = 0; i < 60; i++)
		addresses[i] = __builtin_return_address(0);
	__asm__ volatile("" ::"r"(addresses) : "memory");
	resume();
	num_returns++;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);

	if (make_coroutine())
		return 1;
	while (read_cpu_ns() < end_ns) {
		resume();
		resume_above_bytes(0);
		resume_above_bytes(0x41);
		resume_above_addresses();
	}
	return 0;
}
