/* Calls the kernel so often, at a known stack: nofp_calls [CALLS]. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static __attribute__((noinline)) void call_kernel(long num_calls)
{
	for (long i = 0; i < num_calls; i++)
		syscall(SYS_getppid);
	__asm__ volatile("");
}

static __attribute__((noinline)) void call_often(long num_calls)
{
	call_kernel(num_calls);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	call_often(argc > 1 ? atol(argv[1]) : 1000000);
	return 0;
}
