/*
 * Threads that wait, each in a function of its own and in a way of its own:
 * nofp_waits [SECONDS [DIRECT_FILE [SLOW_FILE]]]. When all have waited so long, a line for each says by its own
 * clocks what it was: NAME, ns that it took in all, of these ns off the CPU, of these ns that the kernel says it
 * waited for a CPU, and how often it waited. For the kernel, a thread that was woken uses the CPU a little earlier
 * than it has it, so all that it took is a bound of the time off the CPU, too.
 *
 * DIRECT_FILE is read past the kernel's memory (O_DIRECT), SLOW_FILE is mapped and its pages are touched. Who
 * waits for a file whose name is empty or left out does not run; nor do files go on where they let nobody wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

struct waiter {
	const char *name;
	void (*wait)(struct waiter *waiter);
	const char **path; /* of the file that it waits for; NULL: none */
	pthread_t thread;
	uint64_t start_ns; /* when it began to wait, by the clock and by its CPU time */
	uint64_t start_cpu_ns;
	uint64_t start_queue_ns;
	uint64_t wall_ns;
	uint64_t off_ns;
	uint64_t queue_ns;
	uint64_t num_waits;
};

static uint64_t duration_ns;
static const char *direct_path = "";
static const char *slow_path = "";
static bool is_over; /* nobody need be woken any more */
static int pipe_ends[2];
static int epoll_pipe_ends[2];
static char lock_path[64]; /* of a file without a name */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static uint64_t num_signals;

/* The time in run queues of the calling thread: the second number of its schedstat. */
static uint64_t read_queue_ns(void)
{
	unsigned long long running = 0, queued = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	if (!file || fscanf(file, "%llu %llu", &running, &queued) != 2)
		abort();
	fclose(file);
	return queued;
}

static inline __attribute__((always_inline)) void begin(struct waiter *waiter)
{
	waiter->start_queue_ns = read_queue_ns();
	waiter->start_cpu_ns = read_cpu_ns();
	waiter->start_ns = read_clock_ns(CLOCK_MONOTONIC);
}

/* It has waited once more. Whether it is to go on. */
static inline __attribute__((always_inline)) bool goes_on(struct waiter *waiter)
{
	uint64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
	uint64_t cpu_ns = read_cpu_ns();

	waiter->num_waits++;
	waiter->wall_ns = now_ns - waiter->start_ns;
	cpu_ns -= waiter->start_cpu_ns;
	waiter->off_ns = waiter->wall_ns > cpu_ns ? waiter->wall_ns - cpu_ns : 0;
	if (waiter->off_ns < duration_ns)
		return true;
	waiter->queue_ns = read_queue_ns() - waiter->start_queue_ns;
	return false;
}

#define NOINLINE __attribute__((noinline))

static void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static NOINLINE void wait_futex(struct waiter *waiter)
{
	static const struct timespec timeout = {.tv_nsec = 7 * NS_PER_MS};
	static int word;

	do {
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &timeout, NULL, 0);
	} while (goes_on(waiter));
	__asm__ volatile("");
}

static NOINLINE void wait_condition(struct waiter *waiter)
{
	do {
		uint64_t seen;

		pthread_mutex_lock(&mutex);
		seen = num_signals;
		while (seen == num_signals)
			pthread_cond_wait(&condition, &mutex);
		pthread_mutex_unlock(&mutex);
	} while (goes_on(waiter));
	__asm__ volatile("");
}

static NOINLINE void wait_pipe(struct waiter *waiter)
{
	char byte;

	do {
		if (read(pipe_ends[0], &byte, 1) != 1)
			abort();
	} while (goes_on(waiter));
	__asm__ volatile("");
}

static NOINLINE void wait_epoll(struct waiter *waiter)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN};
	char byte;

	epoll_ctl(epoll, EPOLL_CTL_ADD, epoll_pipe_ends[0], &event);
	do {
		if (epoll_wait(epoll, &event, 1, -1) != 1 ||
		    read(epoll_pipe_ends[0], &byte, 1) != 1)
			abort();
	} while (goes_on(waiter));
	close(epoll);
}

static NOINLINE void wait_sleep(struct waiter *waiter)
{
	do {
		sleep_ns(8 * NS_PER_MS);
	} while (goes_on(waiter));
	__asm__ volatile("");
}

/* Each is shorter than a period of a millisecond. */
static NOINLINE void wait_briefly(struct waiter *waiter)
{
	do {
		sleep_ns(NS_PER_MS / 2);
	} while (goes_on(waiter));
	__asm__ volatile("");
}

static NOINLINE void wait_lock(struct waiter *waiter)
{
	int fd = open(lock_path, O_RDWR | O_CLOEXEC);

	pthread_setname_np(pthread_self(), "locker"); /* for tests that want one thread */
	do {
		if (flock(fd, LOCK_EX) || flock(fd, LOCK_UN))
			abort();
	} while (goes_on(waiter));
	close(fd);
}

static NOINLINE void run_child(void)
{
	sleep_ns(5 * NS_PER_MS);
	_exit(0);
}

/* The parent of a vfork() sleeps so that no signal but a deadly one wakes it. */
static NOINLINE void wait_child(struct waiter *waiter)
{
	do {
		pid_t child = vfork();

		if (!child)
			run_child();
		waitpid(child, NULL, 0);
	} while (goes_on(waiter));
	__asm__ volatile("");
}

/* Two of them share a CPU. */
static NOINLINE void wait_preempted(struct waiter *waiter)
{
	cpu_set_t cpus;
	int cpu = 0;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus); /* waits here, too, to get to the CPU */
	spin_cpu_ns(duration_ns / 2);
	(void)goes_on(waiter);
	waiter->queue_ns = read_queue_ns() - waiter->start_queue_ns;
}

#define DIRECT_BYTES (1u << 20)

/* It takes too long to wait for a file that does not let anybody wait. */
static bool is_quick(const struct waiter *waiter)
{
	return waiter->wall_ns > 4 * duration_ns;
}

static NOINLINE void wait_direct(struct waiter *waiter)
{
	int fd = open(direct_path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	void *data = aligned_alloc(4096, DIRECT_BYTES);
	off_t offset = 0;
	ssize_t got;

	do {
		got = pread(fd, data, DIRECT_BYTES, offset);
		offset = got == DIRECT_BYTES ? offset + got : 0;
	} while (got >= 0 && goes_on(waiter) && !is_quick(waiter));
	free(data);
	close(fd);
}

/* Each page but once: then the kernel has it. */
static NOINLINE void wait_fault(struct waiter *waiter)
{
	int fd = open(slow_path, O_RDONLY | O_CLOEXEC);
	volatile char *page, *end;
	struct stat status;
	void *pages;

	if (fd < 0 || fstat(fd, &status))
		abort();
	pages = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (pages == MAP_FAILED || madvise(pages, (size_t)status.st_size, MADV_RANDOM))
		abort();
	page = pages;
	end = page + status.st_size;
	do {
		(void)*page;
		page += 4096;
	} while (goes_on(waiter) && page < end && !is_quick(waiter));
	close(fd);
}

static struct waiter waiters[] = {
	{.name = "futex", .wait = wait_futex},
	{.name = "condition", .wait = wait_condition},
	{.name = "pipe", .wait = wait_pipe},
	{.name = "epoll", .wait = wait_epoll},
	{.name = "sleep", .wait = wait_sleep},
	{.name = "briefly", .wait = wait_briefly},
	{.name = "lock", .wait = wait_lock},
	{.name = "child", .wait = wait_child},
	{.name = "direct", .wait = wait_direct, .path = &direct_path},
	{.name = "fault", .wait = wait_fault, .path = &slow_path},
	{.name = "preempted", .wait = wait_preempted},
	{.name = "preempted", .wait = wait_preempted},
};
#define NUM_WAITERS (sizeof(waiters) / sizeof(waiters[0]))

static void *run_waiter(void *context)
{
	struct waiter *waiter = context;

	begin(waiter);
	waiter->wait(waiter);
	return NULL;
}

static bool runs(const struct waiter *waiter)
{
	return !waiter->path || **waiter->path;
}

/* Wakes those who wait for somebody. */
static NOINLINE void *wake_others(void *context)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
		sleep_ns(5 * NS_PER_MS);
		pthread_mutex_lock(&mutex);
		num_signals++;
		pthread_cond_broadcast(&condition);
		pthread_mutex_unlock(&mutex);
		if (write(pipe_ends[1], "", 1) != 1 || write(epoll_pipe_ends[1], "", 1) != 1)
			abort();
	}
	return context;
}

/* Has the lock nearly all of the time. */
static NOINLINE void *hold_lock(void *context)
{
	int fd = open(lock_path, O_RDWR | O_CLOEXEC);

	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
		if (flock(fd, LOCK_EX))
			abort();
		sleep_ns(9 * NS_PER_MS);
		flock(fd, LOCK_UN);
	}
	close(fd);
	return context;
}

int main(int argc, char **argv)
{
	char name[] = "/tmp/nofp_waits.XXXXXX";
	int lock = mkstemp(name);
	pthread_t helpers[2];

	unlink(name);
	snprintf(lock_path, sizeof(lock_path), "/proc/self/fd/%d", lock);
	duration_ns = read_duration_ns(argc, argv, 1, 1);
	if (argc > 2)
		direct_path = argv[2];
	if (argc > 3)
		slow_path = argv[3];
	if (lock < 0 || pipe(pipe_ends) || pipe(epoll_pipe_ends) ||
	    pthread_create(&helpers[0], NULL, wake_others, NULL) ||
	    pthread_create(&helpers[1], NULL, hold_lock, NULL))
		return 1;
	for (size_t i = 0; i < NUM_WAITERS; i++)
		if (runs(&waiters[i]) &&
		    pthread_create(&waiters[i].thread, NULL, run_waiter, &waiters[i]))
			return 1;
	for (size_t i = 0; i < NUM_WAITERS; i++)
		if (runs(&waiters[i]))
			pthread_join(waiters[i].thread, NULL);
	__atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
	pthread_join(helpers[0], NULL);
	pthread_join(helpers[1], NULL);
	for (size_t i = 0; i < NUM_WAITERS; i++)
		if (runs(&waiters[i]))
			printf("%s %llu %llu %llu %llu\n", waiters[i].name,
			       (unsigned long long)waiters[i].wall_ns,
			       (unsigned long long)waiters[i].off_ns,
			       (unsigned long long)waiters[i].queue_ns,
			       (unsigned long long)waiters[i].num_waits);
	return 0;
}
