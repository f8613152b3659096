/* The limit of the stack: raised for us, as before for what we start. */
#include "base/stack_limit.h"

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a process of its own, as a hard limit cannot be raised again. */
static void run(void (*test)(void))
{
	pid_t child = fork();
	int wait_status;

	assert_true(child >= 0);
	if (!child) {
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &wait_status, 0), child);
	assert_int_equal(wait_status, 0);
}

static void require(bool condition)
{
	if (!condition)
		_exit(1);
}

static void *use_stack(void *context)
{
	volatile char used[1 << 20];

	for (size_t i = 0; i < sizeof(used); i += 4096)
		used[i] = 1;
	return context;
}

static void raise_and_restore(void)
{
	struct rlimit limit = {65536, RLIM_INFINITY};
	struct error error;
	pthread_t thread;

	require(!setrlimit(RLIMIT_STACK, &limit));
	require(!stack_limit_raise(&error));
	require(!getrlimit(RLIMIT_STACK, &limit));
	require(limit.rlim_cur == 8 << 20 && limit.rlim_max == RLIM_INFINITY);
	require(!pthread_create(&thread, NULL, use_stack, NULL));
	require(!pthread_join(thread, NULL));
	(void)use_stack(NULL);
	stack_limit_restore();
	require(!getrlimit(RLIMIT_STACK, &limit));
	require(limit.rlim_cur == 65536 && limit.rlim_max == RLIM_INFINITY);
}

static void refuse(void)
{
	struct rlimit limit = {65536, 512 << 10};
	struct error error;

	require(!setrlimit(RLIMIT_STACK, &limit));
	require(stack_limit_raise(&error) == -ENOMEM);
	require(!strcmp(
		error.message,
		"the stack limit is 512 KB, 1024 KB are needed: raise the hard limit (ulimit -Hs)"));
}

static void leave(void)
{
	struct rlimit limit = {9 << 20, RLIM_INFINITY};
	struct error error;

	require(!setrlimit(RLIMIT_STACK, &limit));
	require(!stack_limit_raise(&error));
	stack_limit_restore();
	require(!getrlimit(RLIMIT_STACK, &limit));
	require(limit.rlim_cur == 9 << 20);
}

/* What is allowed, though it is less than usual. */
static void raise_to_the_hard_limit(void)
{
	struct rlimit limit = {65536, 1 << 20};
	struct error error;

	require(!setrlimit(RLIMIT_STACK, &limit));
	require(!stack_limit_raise(&error));
	require(!getrlimit(RLIMIT_STACK, &limit));
	require(limit.rlim_cur == 1 << 20 && limit.rlim_max == 1 << 20);
	stack_limit_restore();
	require(!getrlimit(RLIMIT_STACK, &limit));
	require(limit.rlim_cur == 65536 && limit.rlim_max == 1 << 20);
}

static void refuse_a_byte_less(void)
{
	struct rlimit limit = {65536, (1 << 20) - 1};
	struct error error;

	require(!setrlimit(RLIMIT_STACK, &limit));
	require(stack_limit_raise(&error) == -ENOMEM);
	require(!getrlimit(RLIMIT_STACK, &limit));
	require(limit.rlim_cur == 65536);
	/* Nothing was raised. */
	limit.rlim_cur = 70000;
	require(!setrlimit(RLIMIT_STACK, &limit));
	stack_limit_restore();
	require(!getrlimit(RLIMIT_STACK, &limit));
	require(limit.rlim_cur == 70000);
}

static void leave_the_usual_one(void)
{
	struct rlimit limit = {8 << 20, 9 << 20};
	struct error error;

	require(!setrlimit(RLIMIT_STACK, &limit));
	require(!stack_limit_raise(&error));
	limit.rlim_cur = 65536;
	require(!setrlimit(RLIMIT_STACK, &limit));
	stack_limit_restore();
	require(!getrlimit(RLIMIT_STACK, &limit));
	require(limit.rlim_cur == 65536);
}

static void a_hard_limit_of_a_mib_is_enough(void **state _unused_)
{
	run(raise_to_the_hard_limit);
	run(refuse_a_byte_less);
	run(leave_the_usual_one);
}

static void a_low_limit_is_raised_and_restored(void **state _unused_)
{
	run(raise_and_restore);
}

static void a_low_hard_limit_is_refused(void **state _unused_)
{
	run(refuse);
}

static void a_high_limit_stays(void **state _unused_)
{
	run(leave);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_low_limit_is_raised_and_restored),
		cmocka_unit_test(a_low_hard_limit_is_refused),
		cmocka_unit_test(a_high_limit_stays),
		cmocka_unit_test(a_hard_limit_of_a_mib_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
