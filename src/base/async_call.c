#include "base/async_call.h"

#include <signal.h>
#include <stddef.h>

static void *run(void *context)
{
	struct async_call *call = context;

	call->result = call->function(call->context);
	return NULL;
}

void async_call_start(struct async_call *call, int (*function)(void *context), void *context)
{
	sigset_t all;
	sigset_t before;

	*call = (struct async_call){.function = function, .context = context};
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	call->has_thread = !pthread_create(&call->thread, NULL, run, call);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int async_call_finish(struct async_call *call)
{
	if (call->has_thread)
		pthread_join(call->thread, NULL);
	else
		run(call);
	return call->result;
}
