/* SPDX-License-Identifier: MIT */
/*
 * Internals of stackwide/zones.h, third part: zones of a program that a signal ends. Include
 * zones.h instead.
 *
 * The handler writes the buffered records and then takes the original action. It only calls
 * functions that are safe in a handler, except pthread_mutex_trylock(), which is an atomic exchange
 * in all C libraries of Linux. Memory for the output is reserved when a thread's ring is created.
 * The interrupted thread may hold the lock, so the wait for it is limited.
 */
#ifndef STACKWIDE_ZONES_SIGNALS_H
#define STACKWIDE_ZONES_SIGNALS_H

#include <stackwide/zones_writer.h>

#define STACKWIDE_LOCK_TRIES 100 /* of a millisecond each */

/* Writes nothing if the lock cannot be taken in time. */
STACKWIDE_INSIDE void stackwide_zones_write_in_handler(void)
{
	struct timespec nap = {0, 1000000};

	for (int i = 0; i < STACKWIDE_LOCK_TRIES; i++) {
		if (pthread_mutex_trylock(&stackwide_zones_lock) == 0) {
			stackwide_zones_write_all();
			pthread_mutex_unlock(&stackwide_zones_lock);
			return;
		}
		nanosleep(&nap, NULL);
	}
}

/* Make the signal end the program as it would have without our handler. */
STACKWIDE_INSIDE void stackwide_zones_end_by_signal(int number, const siginfo_t *info)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = SIG_DFL;
	sigaction(number, &action, NULL);
	/* A faulting instruction runs and faults again; a signal that was sent is sent again. */
	if (info->si_code <= 0)
		syscall(SYS_tgkill, (long)getpid(), syscall(SYS_gettid), (long)number);
}

STACKWIDE_INSIDE void stackwide_zones_on_signal(int number, siginfo_t *info, void *context)
{
	struct sigaction before = stackwide_zones_state.actions[number];
	int is_end = !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL;
	int error = errno;

	/* The program may go on after its own handler. */
	if (is_end || stackwide_zones_are_due(stackwide_zones_now()))
		stackwide_zones_write_in_handler();
	errno = error;
	if (is_end)
		stackwide_zones_end_by_signal(number, info);
	else if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(number, info, context);
	else
		before.sa_handler(number);
}

/* Under the lock. */
STACKWIDE_INSIDE void stackwide_zones_catch(int number, int is_fault)
{
	struct sigaction *before = &stackwide_zones_state.actions[number];
	struct sigaction action;
	int is_default;
	int is_ignored;

	if (sigaction(number, NULL, before))
		return;
	is_default = !(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_DFL;
	is_ignored = !(before->sa_flags & SA_SIGINFO) && before->sa_handler == SIG_IGN;
	if (is_ignored || (!is_default && !is_fault))
		return;
	/* Keep the flags of the program's own handler. Without one, ask for the alternate stack. */
	action = *before;
	action.sa_flags |= SA_SIGINFO | (is_default ? SA_ONSTACK : 0);
	action.sa_sigaction = stackwide_zones_on_signal;
	sigaction(number, &action, NULL);
}

STACKWIDE_CALLED void stackwide_zones_flush_on_signals(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};
	static const int requests[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};

	pthread_mutex_lock(&stackwide_zones_lock);
	if (!stackwide_zones_state.catches_signals) {
		stackwide_zones_state.catches_signals = 1;
		for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
			stackwide_zones_catch(faults[i], 1);
		for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++)
			stackwide_zones_catch(requests[i], 0);
	}
	pthread_mutex_unlock(&stackwide_zones_lock);
}

#endif
