/*
 * A call that runs in a thread of its own while its caller does something else.
 *
 *	async_call_start(&call, function, context) → async_call_finish(&call)
 */
#ifndef BASE_ASYNC_CALL_H
#define BASE_ASYNC_CALL_H

#include <pthread.h>
#include <stdbool.h>

#include "base/attributes.h"

struct async_call {
	int (*function)(void *context);
	void *context; /* borrowed */
	pthread_t thread;
	bool has_thread;
	int result;
};

/*
 * Start the call. If the kernel gives no thread, async_call_finish() makes the call. Signals are
 * blocked in the thread.
 *
 * call  stays where it is until async_call_finish()
 */
void async_call_start(struct async_call *call, int (*function)(void *context), void *context);

/* Wait for the end of the call, once. Returns the function's result. */
_must_check_ int async_call_finish(struct async_call *call);

#endif
