#include "cli/stopper.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

struct stopper {
	const struct outputs *outputs;
	sigset_t signals;
	sigset_t mask_before;
	struct sigaction pipe_before;
	pthread_t thread;
	int event_fd;
	atomic_int first_signal;
};

/* Die as the signal's default action would have it, so that a shell sees it. */
static void die(const struct stopper *stopper, int number)
{
	sigset_t only;

	outputs_abandon(stopper->outputs);
	signal(number, SIG_DFL);
	kill(getpid(), number);
	sigemptyset(&only);
	sigaddset(&only, number);
	pthread_sigmask(SIG_UNBLOCK, &only, NULL);
	_exit(128 + number);
}

static void *take_signals(void *context)
{
	struct stopper *stopper = context;

	for (;;) {
		int number = sigwaitinfo(&stopper->signals, NULL);

		if (number < 0)
			continue;
		if (atomic_load(&stopper->first_signal))
			die(stopper, number);
		atomic_store(&stopper->first_signal, number);
		(void)!eventfd_write(stopper->event_fd, 1); /* cannot fail: it is written once */
	}
	return NULL;
}

struct stopper *stopper_new(const struct outputs *outputs)
{
	static const int wanted[] = {SIGINT, SIGTERM, SIGHUP};
	struct stopper *stopper = calloc(1, sizeof(*stopper));
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	if (!stopper)
		return NULL;
	stopper->outputs = outputs;
	sigemptyset(&stopper->signals);
	for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++) {
		struct sigaction before;

		if (!sigaction(wanted[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaddset(&stopper->signals, wanted[i]);
	}
	/* A reader that goes away is a failed write, told as such. */
	sigaction(SIGPIPE, &ignore, &stopper->pipe_before);
	pthread_sigmask(SIG_BLOCK, &stopper->signals, &stopper->mask_before);
	stopper->event_fd = eventfd(0, EFD_CLOEXEC);
	if (stopper->event_fd < 0 ||
	    pthread_create(&stopper->thread, NULL, take_signals, stopper)) {
		stopper_undo_in_child(stopper);
		if (stopper->event_fd >= 0)
			close(stopper->event_fd);
		free(stopper);
		return NULL;
	}
	return stopper;
}

void stopper_free(struct stopper *stopper)
{
	if (!stopper)
		return;
	pthread_cancel(stopper->thread);
	pthread_join(stopper->thread, NULL);
	stopper_undo_in_child(stopper);
	close(stopper->event_fd);
	free(stopper);
}

int stopper_get_fd(const struct stopper *stopper)
{
	return stopper->event_fd;
}

int stopper_get_signal(const struct stopper *stopper)
{
	return atomic_load(&stopper->first_signal);
}

void stopper_undo_in_child(const struct stopper *stopper)
{
	sigaction(SIGPIPE, &stopper->pipe_before, NULL);
	pthread_sigmask(SIG_SETMASK, &stopper->mask_before, NULL);
}
