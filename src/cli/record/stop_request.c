#include "cli/record/stop_request.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/confinement.h"

/*
 * A request may send several signals: timeout(1) signals the program and then its group, systemd
 * may send SIGHUP right after SIGTERM. A person takes longer to press Ctrl-C again.
 */
#define SAME_REQUEST_NS (250 * NS_PER_MS)

/*
 * Signals are received by a thread of their own that waits for them, not by handlers: nothing is
 * interrupted, and the reaction need not be async-signal-safe.
 */
struct stop_request {
	const struct outputs *outputs;
	sigset_t signals;
	sigset_t mask_before;
	struct sigaction pipe_before;
	struct sigaction size_before;
	pthread_t thread;
	int event_fd;
	atomic_int first_signal;
};

/*
 * Die by the signal, so that the parent (a shell) sees it in our exit status, after removing
 * leftovers. kill() is sent while the signal is still blocked, so that it is pending when it is
 * unblocked, and ends the program there.
 */
static void die(const struct stop_request *stop_request, int number)
{
	sigset_t only;

	outputs_abandon(stop_request->outputs);
	signal(number, SIG_DFL);
	kill(getpid(), number);
	sigemptyset(&only);
	sigaddset(&only, number);
	pthread_sigmask(SIG_UNBLOCK, &only, NULL);
	_exit(128 + number);
}

static void *take_signals(void *context)
{
	struct stop_request *stop_request = context;
	uint64_t first_ns = 0;

	/* This thread is older than the command, which keeps all rights. */
	(void)!confinement_keep_sampling_rights(false);
	for (;;) {
		int number = sigwaitinfo(&stop_request->signals, NULL);

		if (number < 0)
			continue;
		if (atomic_load(&stop_request->first_signal)) {
			if (clock_now_ns() - first_ns < SAME_REQUEST_NS)
				continue;
			die(stop_request, number);
		}
		first_ns = clock_now_ns();
		atomic_store(&stop_request->first_signal, number);
		(void)!eventfd_write(stop_request->event_fd,
				     1); /* cannot fail: it is written once */
	}
	return NULL;
}

struct stop_request *stop_request_new(const struct outputs *outputs)
{
	static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct stop_request *stop_request = calloc(1, sizeof(*stop_request));
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	if (!stop_request)
		return NULL;
	stop_request->outputs = outputs;
	sigemptyset(&stop_request->signals);
	for (size_t i = 0; i < ARRAY_LENGTH(stop_signals); i++) {
		struct sigaction before;

		/*
		 * Signals that the parent had ignored (nohup) stay ignored, but SIGINT: shells have
		 * it ignored by each command that a script starts in the background.
		 */
		if (stop_signals[i] == SIGINT ||
		    (!sigaction(stop_signals[i], NULL, &before) && before.sa_handler != SIG_IGN))
			sigaddset(&stop_request->signals, stop_signals[i]);
	}
	/* A closed pipe or the file size limit is a failed write with a message, not the end. */
	sigaction(SIGPIPE, &ignore, &stop_request->pipe_before);
	sigaction(SIGXFSZ, &ignore, &stop_request->size_before);
	pthread_sigmask(SIG_BLOCK, &stop_request->signals, &stop_request->mask_before);
	stop_request->event_fd = eventfd(0, EFD_CLOEXEC);
	if (stop_request->event_fd < 0 ||
	    pthread_create(&stop_request->thread, NULL, take_signals, stop_request)) {
		stop_request_undo_in_child(stop_request);
		if (stop_request->event_fd >= 0)
			close(stop_request->event_fd);
		free(stop_request);
		return NULL;
	}
	return stop_request;
}

void stop_request_free(struct stop_request *stop_request)
{
	if (!stop_request)
		return;
	pthread_cancel(stop_request->thread);
	pthread_join(stop_request->thread, NULL);
	stop_request_undo_in_child(stop_request);
	close(stop_request->event_fd);
	free(stop_request);
}

int stop_request_get_fd(const struct stop_request *stop_request)
{
	return stop_request->event_fd;
}

int stop_request_get_signal(const struct stop_request *stop_request)
{
	return atomic_load(&stop_request->first_signal);
}

/* A mask and SIG_IGN are inherited through exec: the command must start as if we did not exist. */
void stop_request_undo_in_child(const struct stop_request *stop_request)
{
	sigaction(SIGPIPE, &stop_request->pipe_before, NULL);
	sigaction(SIGXFSZ, &stop_request->size_before, NULL);
	pthread_sigmask(SIG_SETMASK, &stop_request->mask_before, NULL);
}
