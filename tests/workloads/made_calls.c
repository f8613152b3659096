/*
 * Makes system calls whose return is unusual, and prints the number of each: calls that return twice, in another
 * program, elsewhere or never, that are interrupted, and that a signal ends.
 */
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMES 10

static char *program;

static void end(void)
{
	_exit(0);
}

/* pid: 0 in the child */
static void end_child(long pid)
{
	if (pid < 0)
		exit(1);
	if (!pid)
		end();
	waitpid((pid_t)pid, NULL, 0);
}

/* In a function of its own: the child uses its caller's variables. */
static __attribute__((noinline)) void run_vfork(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	end_child(pid);
}

static void *end_thread(void *unused)
{
	return unused;
}

static void *execute(void *unused)
{
	execl(program, program, "end", NULL);
	return unused;
}

static void run_thread(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL))
		exit(1);
}

static void ignore(int signal)
{
	(void)signal;
}

/* Wait until a process is in this state, as in /proc/PID/stat. */
static void await_state(pid_t pid, char expected)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (char state = 0; state != expected; usleep(1000)) {
		FILE *stat = fopen(path, "re");

		if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
			exit(1);
		fclose(stat);
	}
}

static void end_by_signal(pid_t pid)
{
	await_state(pid, 'S');
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	struct clone_args arguments = {.exit_signal = SIGCHLD};
	struct timespec hour = {.tv_sec = 3600};
	pid_t pid;

	program = argv[0];
	if (argc > 1)
		end();
	signal(SIGUSR1, ignore);
	for (int i = 0; i < TIMES; i++) {
		end_child(syscall(SYS_fork));
		run_vfork();
		end_child(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
		end_child(syscall(SYS_clone3, &arguments, sizeof(arguments)));
		run_thread(end_thread);
		raise(SIGUSR1);
		execl("/nonexistent", "", NULL);
	}
	/* A thread executes a program: it gets the number of the first one. */
	pid = (pid_t)syscall(SYS_fork);
	if (!pid)
		run_thread(execute);
	waitpid(pid, NULL, 0);
	pid = (pid_t)syscall(SYS_fork);
	if (!pid)
		pause();
	end_by_signal(pid);
	pid = (pid_t)syscall(SYS_fork);
	if (!pid)
		syscall(SYS_nanosleep, &hour, NULL);
	await_state(pid, 'S');
	kill(pid, SIGSTOP);
	await_state(pid, 'T');
	kill(pid, SIGCONT);
	end_by_signal(pid);
	printf("fork %d\nvfork %d\nclone3? %d\nexit %d\nexit_group %d\nrt_sigreturn %d\nexecve %d\n"
	       "pause 1\nrestart_syscall 1\n",
	       TIMES + 3, TIMES, 3 * TIMES + 1, TIMES, 4 * TIMES + 2, TIMES, TIMES + 2);
	fflush(stdout);
	execl(program, program, "end", NULL);
	return 1;
}
