#include "base/child.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/child_messages.h"
#include "base/clock.h"

uint64_t child_read_cpu_ns(pid_t child)
{
	struct timespec cpu;
	clockid_t clock;

	if (clock_getcpuclockid(child, &clock) || clock_gettime(clock, &cpu))
		return 0;
	return (uint64_t)cpu.tv_sec * NS_PER_SECOND + (uint64_t)cpu.tv_nsec;
}

static uint64_t get_time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * NS_PER_SECOND + (uint64_t)time->tv_usec * 1000;
}

uint64_t child_get_cpu_ns(const struct rusage *usage)
{
	return get_time_ns(&usage->ru_utime) + get_time_ns(&usage->ru_stime);
}

void child_continue(pid_t child)
{
	siginfo_t info = {0};

	if (!waitid(P_PID, (id_t)child, &info, WSTOPPED | WNOHANG) && info.si_pid == child)
		kill(child, SIGCONT);
}

bool child_reap(pid_t child, unsigned int limit_ms, int *ret_wait_status)
{
	struct timespec pause = {.tv_nsec = NS_PER_MS};

	for (unsigned int i = 0;; i++) {
		pid_t ended = waitpid(child, ret_wait_status, WNOHANG);

		if (ended == child) {
			child_messages_print();
			return true;
		}
		/* Somebody else has waited for it. */
		if (ended < 0 && errno != EINTR) {
			*ret_wait_status = 0;
			return true;
		}
		if (i >= limit_ms)
			return false;
		nanosleep(&pause, NULL);
	}
}
