/* Processes and threads of this test itself, as they are found where memory is short. */
#include "collect/target.h"

#include <errno.h>

#include "failing_memory.h"
#include "unit.h"

static int get_pid(void *context)
{
	pid_t pid = target_get_pid(getpid());

	(void)context;
	assert_true(pid < 0 || pid == getpid());
	return pid < 0 ? pid : 0;
}

static void a_process_is_there_also_without_memory(void **state _unused_)
{
	failing_memory_try_all(get_pid, NULL);
}

static int read_state(void *context)
{
	struct target_state state;
	int err = target_read_state(getpid(), &state);

	(void)context;
	if (!err) {
		assert_int_equal(state.letter, 'R');
		assert_int_equal(state.parent_pid, getppid());
	}
	return err;
}

static void a_state_that_lacks_memory_is_no_missing_process(void **state _unused_)
{
	failing_memory_try_all(read_state, NULL);
	for (int64_t num_before = 0; num_before < 4; num_before++) {
		failing_memory_start(num_before);
		assert_true(target_is_alive(getpid()));
		(void)failing_memory_end();
	}
}

/* No process has this number: it is above the kernel's largest. */
static void a_missing_process_is_told(void **state _unused_)
{
	struct target_state target;

	assert_int_equal(target_get_pid(1 << 23), -ESRCH);
	assert_int_equal(target_read_state(1 << 23, &target), -ESRCH);
	assert_false(target_is_alive(1 << 23));
}

static int read_cpus(void *context)
{
	bool cpus[1024];
	int num_online = target_read_online_cpus(cpus, sizeof(cpus));
	int num_set = 0;

	(void)context;
	if (num_online < 0)
		return num_online;
	for (size_t i = 0; i < sizeof(cpus); i++)
		num_set += cpus[i];
	assert_int_equal(num_set, num_online);
	return 0;
}

static void cpus_that_lack_memory_are_not_missing(void **state _unused_)
{
	failing_memory_try_all(read_cpus, NULL);
}

/* Where cgroup2 is mounted, the reason is another one. */
static void a_cgroup_that_lacks_memory_is_no_missing_mount(void **state _unused_)
{
	struct error error = {0};
	int without_failure = target_open_cgroup("no such cgroup", &error);

	assert_true(without_failure == -ENOENT || without_failure == -ENOTSUP);
	if (without_failure == -ENOTSUP)
		skip();
	for (int64_t num_before = 0;; num_before++) {
		int err;
		bool is_short;

		failing_memory_start(num_before);
		err = target_open_cgroup("no such cgroup", &error);
		is_short = failing_memory_end();
		assert_int_equal(err, is_short ? -ENOMEM : -ENOENT);
		if (!is_short)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_there_also_without_memory),
		cmocka_unit_test(a_state_that_lacks_memory_is_no_missing_process),
		cmocka_unit_test(a_missing_process_is_told),
		cmocka_unit_test(cpus_that_lack_memory_are_not_missing),
		cmocka_unit_test(a_cgroup_that_lacks_memory_is_no_missing_mount),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
