#include "collect/kernel/close_together.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/attributes.h"

/* They only wait. More of them would wait for locks of the kernel. */
#define MAX_THREADS 32

struct closing {
	const int *fds;
	atomic_size_t num_taken;
	size_t count;
};

static void *close_rest(void *context)
{
	struct closing *closing = context;
	size_t taken;

	while ((taken = atomic_fetch_add(&closing->num_taken, 1)) < closing->count)
		close(closing->fds[closing->count - 1 - taken]);
	return NULL;
}

void close_together(const int *fds, size_t count)
{
	struct closing closing = {.fds = fds, .count = count};
	pthread_t threads[MAX_THREADS];
	size_t num_threads = 0;
	sigset_t all;
	sigset_t before;

	/* Signals are handled by other threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (num_threads < ARRAY_LENGTH(threads) && num_threads + 1 < count &&
	       !pthread_create(&threads[num_threads], NULL, close_rest, &closing))
		num_threads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	/* Also where no thread could be made. */
	close_rest(&closing);
	while (num_threads)
		pthread_join(threads[--num_threads], NULL);
}
