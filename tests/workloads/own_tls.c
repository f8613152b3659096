/*
 * A thread that no C library made: what its thread pointer points to lies above its stack, in the same mapping, and is nothing
 * of a C library's, as that of Go's threads. It runs for a second.
 */
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MEMORY_BYTES (1 << 20)
#define STACK_END    (MEMORY_BYTES / 2)
#define TLS          (MEMORY_BYTES / 4 * 3)

static volatile int is_over;
static volatile int child_tid;
static volatile unsigned long sum;

/* Calls nothing that would look for something of its own in the thread. */
static int run(void *unused)
{
	(void)unused;
	syscall(SYS_prctl, PR_SET_NAME, "without_libc", 0, 0, 0);
	while (!is_over)
		sum += sum * 31 + 1;
	return 0;
}

int main(void)
{
	const struct timespec second = {.tv_sec = 1};
	char *memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	int tid;

	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	child_tid = 1;
	tid = clone(run, memory + STACK_END,
		    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			    CLONE_SYSVSEM | CLONE_SETTLS | CLONE_CHILD_CLEARTID,
		    NULL, NULL, memory + TLS, &child_tid);
	if (tid < 0) {
		perror("clone");
		return 1;
	}
	nanosleep(&second, NULL);
	is_over = 1;
	while (child_tid)
		syscall(SYS_futex, &child_tid, FUTEX_WAIT, 1, NULL, NULL, 0);
	printf("0x%lx 0x%lx\n", (unsigned long)memory, (unsigned long)(memory + STACK_END));
	return 0;
}
