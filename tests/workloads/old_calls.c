/*
 * 64-bit code that makes system calls of either table: old_calls NUMBER SECONDS. By the 32-bit table
 * it calls getpid() NUMBER times, whose number is that of writev() in the 64-bit table, and
 * nanosleep() once. By the 64-bit table it calls getppid() half as often. Fails with a signal if the
 * kernel has no 32-bit table.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GETPID_32    20
#define NANOSLEEP_32 162

/* first  its argument, of 32 bits */
static __attribute__((noinline)) int call_32(int number, uint32_t first)
{
	int result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(first), "c"(0)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
}

int main(int argc, char **argv)
{
	int number = argc > 1 ? atoi(argv[1]) : 1000;
	int seconds = argc > 2 ? atoi(argv[2]) : 0;
	/* The time of nanosleep() must be below 4 GiB. */
	int32_t *time = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (time == MAP_FAILED)
		return 1;
	for (int i = 0; i < number; i++)
		if (call_32(GETPID_32, 0) <= 0)
			return 1;
	for (int i = 0; i < number / 2; i++)
		(void)syscall(SYS_getppid);
	time[0] = seconds;
	return call_32(NANOSLEEP_32, (uint32_t)(uintptr_t)time) ? 1 : 0;
}
