/* Threads of a target: who is listed, how often /proc is read again. The test has the threads. */
#define target_for_each_thread for_each_thread_of_test
#define target_is_alive        is_alive_in_test
#define target_get_pid         get_pid_in_test
#include "collect/processes/target_threads.c"

#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#define MAX_ADDED 64

static pid_t alive[8]; /* of processes and threads; 0: none */
static pid_t added[MAX_ADDED];
static size_t num_added;
static int add_error;
static unsigned int num_lists;
static pid_t next_tid; /* each list shows one more thread; 0: no new ones */
static int list_error;
static struct target_threads threads;

static int add_target(void *context _unused_, pid_t tid, struct error *error _unused_)
{
	if (add_error)
		return add_error;
	assert_true(num_added < MAX_ADDED);
	added[num_added++] = tid;
	return 0;
}

int for_each_thread_of_test(pid_t pid, int (*visit)(pid_t tid, void *context), void *context)
{
	num_lists++;
	if (list_error)
		return list_error;
	if (next_tid && visit(next_tid++, context))
		return -ENOMEM;
	return visit(pid, context);
}

bool is_alive_in_test(pid_t id)
{
	for (size_t i = 0; i < ARRAY_LENGTH(alive); i++)
		if (alive[i] == id)
			return true;
	return false;
}

/* Threads above 1,000,000 are of the process they have in the last digits. */
pid_t get_pid_in_test(pid_t tid)
{
	return tid > 1000000 ? tid % 1000000 : tid;
}

static int set_up(void **state _unused_)
{
	memset(alive, 0, sizeof(alive));
	num_added = num_lists = 0;
	add_error = list_error = 0;
	next_tid = 0;
	threads = (struct target_threads){0};
	return 0;
}

static int tear_down(void **state _unused_)
{
	target_threads_release(&threads);
	return 0;
}

static int list(enum target_kind kind, const pid_t *ids, size_t num_ids, bool may_be_gone,
		struct error *error)
{
	const struct target target = {
		.kind = kind, .ids = ids, .num_ids = num_ids, .may_be_gone = may_be_gone};

	return target_threads_list(&threads, &target, error);
}

static void processes_have_all_their_threads(void **state _unused_)
{
	struct error error = {0};

	alive[0] = 500010;
	alive[1] = 1500020;
	next_tid = 900001;
	assert_int_equal(list(TARGET_PROCESSES, alive, 2, false, &error), 0);
	assert_int_equal(threads.pids.length, 2);
	assert_int_equal(threads.pids.items[0].id, 500010);
	assert_int_equal(threads.pids.items[1].id, 500020);
	assert_int_equal(threads.tids.length, 4);
}

static void threads_are_listed_alone(void **state _unused_)
{
	struct error error = {0};

	alive[0] = 500010;
	alive[1] = 500020;
	assert_int_equal(list(TARGET_THREADS, alive, 2, false, &error), 0);
	assert_int_equal(threads.pids.length, 0);
	assert_int_equal(threads.tids.length, 2);
	assert_int_equal(num_lists, 0);
}

static void one_that_is_gone_is_an_error_unless_it_may_be(void **state _unused_)
{
	static const pid_t ids[] = {0x3fffffff, 500010};
	struct error error = {0};

	alive[0] = 500010;
	assert_int_equal(list(TARGET_PROCESSES, ids, 2, false, &error), -ESRCH);
	assert_string_equal(error.message, "no process 1073741823");
	assert_int_equal(list(TARGET_THREADS, ids, 2, false, &error), -ESRCH);
	assert_string_equal(error.message, "no thread 1073741823");
	assert_int_equal(list(TARGET_PROCESSES, ids, 2, true, &error), 0);
	assert_int_equal(threads.pids.length, 1);
	assert_int_equal(threads.pids.items[0].id, 500010);
}

static void a_zombie_is_told(void **state _unused_)
{
	struct error error = {0};
	siginfo_t info;
	pid_t child = fork();
	char expected[32];

	assert_true(child >= 0);
	if (!child)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(list(TARGET_PROCESSES, &child, 1, false, &error), -ESRCH);
	snprintf(expected, sizeof(expected), "process %d (", child);
	assert_true(strstr(error.message, expected) == error.message);
	assert_non_null(strstr(error.message, "is a zombie"));
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void add_to_sampler(const struct target *target, int expected)
{
	struct error error = {0};

	assert_int_equal(target_threads_add(&threads, target, add_target, NULL, &error), expected);
}

/* Of a list that has grown since, all are added, each once. */
static void proc_is_read_again_until_nobody_is_new(void **state _unused_)
{
	const struct target target = {
		.kind = TARGET_PROCESSES, .ids = alive, .num_ids = 1, .leaves_children_out = true};
	struct error error = {0};

	alive[0] = 500010;
	assert_int_equal(target_threads_list(&threads, &target, &error), 0);
	add_to_sampler(&target, 0);
	assert_int_equal(num_added, 1);
	assert_int_equal(num_lists, 2);
}

static void where_threads_start_all_the_time_reading_ends(void **state _unused_)
{
	const struct target target = {
		.kind = TARGET_PROCESSES, .ids = alive, .num_ids = 1, .leaves_children_out = true};
	struct error error = {0};

	alive[0] = 500010;
	next_tid = 900001;
	assert_int_equal(target_threads_list(&threads, &target, &error), 0);
	add_to_sampler(&target, 0);
	/* The process, one thread that was listed, and one more in each pass. */
	assert_int_equal(num_lists, 1 + 16);
	assert_int_equal(num_added, 2 + 16);
	for (size_t i = 0; i < num_added; i++)
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(added[i], added[k]);
}

static void who_ends_meanwhile_is_no_error(void **state _unused_)
{
	const struct target target = {
		.kind = TARGET_PROCESSES, .ids = alive, .num_ids = 1, .leaves_children_out = true};
	struct error error = {0};

	alive[0] = 500010;
	assert_int_equal(target_threads_list(&threads, &target, &error), 0);
	list_error = -ESRCH;
	add_to_sampler(&target, 0);
	list_error = -ENOMEM;
	num_added = 0;
	add_to_sampler(&target, -ENOMEM);
}

static void a_full_filter_is_an_error(void **state _unused_)
{
	const struct target target = {.kind = TARGET_THREADS, .ids = alive, .num_ids = 1};
	struct error error = {0};

	alive[0] = 500010;
	assert_int_equal(target_threads_list(&threads, &target, &error), 0);
	add_error = -E2BIG;
	add_to_sampler(&target, -E2BIG);
}

/* A command that waits for its exec, and its child; we are nobody's. */
static void descendants_are_processes_of_the_target(void **state _unused_)
{
	struct target target = {.kind = TARGET_PROCESSES, .ids = alive, .num_ids = 1};
	struct error error = {0};
	pid_t parent;
	pid_t child;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (!parent) {
		child = fork();
		if (child > 0 && write(ends[1], &child, sizeof(child)) != sizeof(child))
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], &child, sizeof(child)), sizeof(child));
	alive[0] = parent;
	assert_int_equal(target_threads_list(&threads, &target, &error), 0);
	target.starts_on_exec = true;
	add_to_sampler(&target, 0);
	assert_int_equal(threads.pids.length, 1);
	target.starts_on_exec = false;
	add_to_sampler(&target, 0);
	assert_int_equal(threads.pids.length, 2);
	assert_int_equal(threads.pids.items[1].id, child);
	/* Ours are no descendants of our own. */
	tear_down(NULL);
	set_up(NULL);
	alive[0] = getppid();
	assert_int_equal(target_threads_list(&threads, &target, &error), 0);
	assert_int_equal(target_threads_add_descendants(&threads), 0);
	assert_false(has_pid(&threads, getpid()));
	assert_false(has_pid(&threads, parent));
	kill(child, SIGKILL);
	kill(parent, SIGKILL);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	close(ends[0]);
	close(ends[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(processes_have_all_their_threads),
		TEST(threads_are_listed_alone),
		TEST(one_that_is_gone_is_an_error_unless_it_may_be),
		TEST(a_zombie_is_told),
		TEST(proc_is_read_again_until_nobody_is_new),
		TEST(where_threads_start_all_the_time_reading_ends),
		TEST(who_ends_meanwhile_is_no_error),
		TEST(a_full_filter_is_an_error),
		TEST(descendants_are_processes_of_the_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
