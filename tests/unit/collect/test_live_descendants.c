/* The processes that a target has started and that are alive. */
#include "collect/processes/live_descendants.h"

#include <errno.h>

#include "collect/target.h"
#include "process/process_fixture.h"
#include "unit.h"

static pid_t dead; /* all others are alive */

bool target_is_alive(pid_t pid)
{
	return pid != dead;
}

/* The members as digits, in order. */
static uint64_t list(struct fixture *fixture, const pid_t *pids, size_t num_pids)
{
	uint64_t digits = 0;
	pid_t *members;
	size_t count;

	assert_int_equal(live_descendants_list(fixture->table, pids, num_pids, &members, &count),
			 0);
	for (size_t i = 0; i < count; i++)
		digits = digits * 10 + (uint64_t)members[i];
	free(members);
	return digits;
}

static void children_of_children_are_members(void **state)
{
	static const pid_t first[] = {2};
	static const pid_t both[] = {2, 5, 2};

	dead = 0;
	on_fork(*state, 100, 2, 1);
	on_fork(*state, 101, 3, 2);
	on_fork(*state, 102, 4, 3);
	on_fork(*state, 103, 5, 1);
	on_fork(*state, 104, 6, 5);
	assert_int_equal(list(*state, first, 1), 234);
	assert_int_equal(list(*state, both, 3), 25346);
}

static void ended_processes_are_left_out(void **state)
{
	static const pid_t first[] = {2};

	on_fork(*state, 100, 2, 1);
	on_fork(*state, 101, 3, 2);
	on_fork(*state, 102, 4, 3);
	on_exec(*state, 103, 4, "true");
	dead = 3;
	assert_int_equal(list(*state, first, 1), 24);
	dead = 2;
	assert_int_equal(list(*state, first, 1), 34);
}

static void without_processes_there_is_no_member(void **state)
{
	dead = 0;
	on_fork(*state, 100, 2, 1);
	assert_int_equal(list(*state, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(children_of_children_are_members),
		TEST(ended_processes_are_left_out),
		TEST(without_processes_there_is_no_member),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
