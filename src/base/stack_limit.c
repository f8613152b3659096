#include "base/stack_limit.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

/* The default of the kernel, and the tested size. */
#define USUAL_BYTES (8u << 20)
/* Less than this, some command needs more. */
#define NEEDED_BYTES (1u << 20)

static struct rlimit before;
static bool is_raised;

/* The C library has taken the size of threads from the limit before main(). */
static int set_thread_size(size_t size)
{
	pthread_attr_t attributes;
	int err = pthread_attr_init(&attributes);

	if (err)
		return -err;
	err = pthread_attr_setstacksize(&attributes, size);
	if (!err)
		err = pthread_setattr_default_np(&attributes);
	pthread_attr_destroy(&attributes);
	return -err;
}

int stack_limit_raise(struct error *error)
{
	struct rlimit limit;
	int err;

	if (getrlimit(RLIMIT_STACK, &limit))
		return error_set(error, -errno, "cannot read the stack limit: %s", strerror(errno));
	if (limit.rlim_cur >= USUAL_BYTES)
		return 0;
	if (limit.rlim_max < NEEDED_BYTES)
		return error_set(
			error, -ENOMEM,
			"the stack limit is %llu KB, %u KB are needed: raise the hard limit "
			"(ulimit -Hs)",
			(unsigned long long)limit.rlim_max >> 10, NEEDED_BYTES >> 10);
	before = limit;
	limit.rlim_cur = limit.rlim_max < USUAL_BYTES ? limit.rlim_max : USUAL_BYTES;
	if (setrlimit(RLIMIT_STACK, &limit))
		return error_set(error, -errno, "cannot raise the stack limit: %s",
				 strerror(errno));
	is_raised = true;
	err = set_thread_size(limit.rlim_cur);
	return err ? error_set(error, err, "cannot give threads larger stacks: %s", strerror(-err))
		   : 0;
}

void stack_limit_restore(void)
{
	if (is_raised)
		(void)setrlimit(RLIMIT_STACK, &before);
}
