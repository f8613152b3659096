/* Calls in a thread of their own, and without one. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

static int create_thread_of_test(pthread_t *thread, const pthread_attr_t *attributes,
				 void *(*function)(void *), void *context);

#define pthread_create create_thread_of_test
#include "base/async_call.c"
#undef pthread_create

#include "unit.h"

static bool has_threads;

static int create_thread_of_test(pthread_t *thread, const pthread_attr_t *attributes,
				 void *(*function)(void *), void *context)
{
	return has_threads ? pthread_create(thread, attributes, function, context) : EAGAIN;
}

struct seen {
	pthread_t thread;
	sigset_t blocked;
	int num_calls;
};

static int look(void *context)
{
	struct seen *seen = context;

	seen->thread = pthread_self();
	pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked);
	return -seen->num_calls++ - 7;
}

static void a_call_has_a_thread_without_signals(void **state _unused_)
{
	struct async_call call;
	struct seen seen = {0};
	sigset_t blocked;

	has_threads = true;
	async_call_start(&call, look, &seen);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	assert_false(sigismember(&blocked, SIGTERM));
	assert_int_equal(async_call_finish(&call), -7);
	assert_int_equal(seen.num_calls, 1);
	assert_false(pthread_equal(seen.thread, pthread_self()));
	assert_true(sigismember(&seen.blocked, SIGTERM));
	assert_true(sigismember(&seen.blocked, SIGINT));
}

static void without_a_thread_it_is_made_at_the_end(void **state _unused_)
{
	struct async_call call;
	struct seen seen = {0};

	has_threads = false;
	async_call_start(&call, look, &seen);
	assert_int_equal(seen.num_calls, 0);
	assert_int_equal(async_call_finish(&call), -7);
	assert_int_equal(seen.num_calls, 1);
	assert_true(pthread_equal(seen.thread, pthread_self()));
	assert_false(sigismember(&seen.blocked, SIGTERM));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_has_a_thread_without_signals),
		cmocka_unit_test(without_a_thread_it_is_made_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
