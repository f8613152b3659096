/* Which image had a pid when, what of it a timeline gets, and how often. */
#include "collect/trace/trace_processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing_memory.h"
#include "unit.h"

#define PID   100
#define CHILD 101

struct fixture {
	struct file_table *files;
	struct process_table *table;
	struct timeline *timeline;
	struct trace_processes *processes;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->files = file_table_new("/nonexistent", NULL);
	fixture->table = process_table_new("/nonexistent", fixture->files);
	fixture->timeline = timeline_new();
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	trace_processes_free(fixture->processes);
	timeline_free(fixture->timeline);
	process_table_free(fixture->table);
	file_table_free(fixture->files);
	free(fixture);
	return 0;
}

static void on_fork(struct fixture *fixture, uint64_t time_ns, pid_t pid, pid_t parent_pid)
{
	assert_int_equal(process_table_on_fork(fixture->table, time_ns, pid, parent_pid), 0);
}

static void on_exec(struct fixture *fixture, uint64_t time_ns, pid_t pid, const char *comm)
{
	assert_int_equal(process_table_on_comm(fixture->table, time_ns, pid, comm, true), 0);
}

static void on_exit_of(struct fixture *fixture, uint64_t time_ns, pid_t pid)
{
	assert_int_equal(process_table_on_exit(fixture->table, time_ns, pid), 0);
}

/* All events have come. */
static void start(struct fixture *fixture)
{
	fixture->processes = trace_processes_new(fixture->table, fixture->timeline);
	assert_non_null(fixture->processes);
}

static uint32_t use(struct fixture *fixture, uint32_t image)
{
	uint32_t process = TIMELINE_NONE;

	assert_int_equal(trace_processes_use(fixture->processes, image, &process), 0);
	assert_true(trace_processes_has(fixture->processes, image));
	assert_int_equal(trace_processes_get(fixture->processes, image), process);
	return process;
}

static const struct timeline_process *get(const struct fixture *fixture, uint32_t process)
{
	return timeline_get_process(fixture->timeline, process);
}

static const char *get_name(const struct fixture *fixture, uint32_t process)
{
	return timeline_get_string(fixture->timeline, get(fixture, process)->name);
}

static void assert_count(const struct fixture *fixture, uint32_t count)
{
	assert_int_equal(timeline_count_process(fixture->timeline), count);
}

static void a_pid_belongs_to_the_latest_image_that_had_started(void **state)
{
	struct fixture *fixture = *state;

	on_fork(fixture, 10, PID, 1);
	on_fork(fixture, 15, CHILD, PID);
	on_exec(fixture, 20, PID, "next");
	on_exit_of(fixture, 30, PID);
	on_fork(fixture, 40, PID, 1);
	start(fixture);
	assert_int_equal(trace_processes_find(fixture->processes, PID, 9), TIMELINE_NONE);
	assert_int_equal(trace_processes_find(fixture->processes, PID, 10), 0);
	assert_int_equal(trace_processes_find(fixture->processes, PID, 19), 0);
	assert_int_equal(trace_processes_find(fixture->processes, PID, 20), 2);
	assert_int_equal(trace_processes_find(fixture->processes, PID, 39), 2);
	assert_int_equal(trace_processes_find(fixture->processes, PID, 40), 3);
	assert_int_equal(trace_processes_find(fixture->processes, CHILD, 40), 1);
	assert_int_equal(trace_processes_find(fixture->processes, CHILD + 1, 40), TIMELINE_NONE);
}

/* An exit is followed by a last moment in the kernel; an image ends before the next one starts. */
static void the_end_of_an_image_is_after_all_that_happened_to_it(void **state)
{
	struct fixture *fixture = *state;
	uint32_t first;

	on_fork(fixture, 10, PID, 1);
	on_exec(fixture, 20, PID, "next");
	on_exit_of(fixture, 30, PID);
	on_fork(fixture, 40, PID, 1);
	start(fixture);
	first = use(fixture, 0);
	assert_int_equal(get(fixture, first)->start_ns, 10);
	assert_int_equal(get(fixture, first)->end_ns, 19);
	assert_int_equal(get(fixture, use(fixture, 1))->start_ns, 20);
	assert_int_equal(get(fixture, use(fixture, 1))->end_ns, 31);
	assert_int_equal(get(fixture, use(fixture, 2))->start_ns, 40);
	assert_int_equal(get(fixture, use(fixture, 2))->end_ns, 0);
}

static void an_image_brings_all_that_execs_made_of_it_once(void **state)
{
	struct fixture *fixture = *state;

	on_fork(fixture, 10, PID, 1);
	on_exec(fixture, 20, PID, "second");
	on_exec(fixture, 30, PID, "third");
	start(fixture);
	assert_false(trace_processes_has(fixture->processes, 0));
	assert_int_equal(trace_processes_get(fixture->processes, 0), TIMELINE_NONE);
	use(fixture, 1);
	assert_count(fixture, 2);
	use(fixture, 1);
	assert_count(fixture, 2);
	use(fixture, 0);
	assert_count(fixture, 3);
	for (uint32_t image = 0; image < 3; image++)
		assert_int_equal(get(fixture, use(fixture, image))->start_ns, 10 * (image + 1));
	assert_string_equal(get_name(fixture, use(fixture, 1)), "second");
	assert_string_equal(get_name(fixture, use(fixture, 2)), "third");
	assert_count(fixture, 3);
}

/* The pid of the parent is another process's by now. */
static void the_parent_is_the_one_that_forked(void **state)
{
	struct fixture *fixture = *state;

	on_fork(fixture, 10, PID, 1);
	on_fork(fixture, 20, CHILD, PID);
	on_exit_of(fixture, 30, PID);
	on_fork(fixture, 40, PID, 1);
	start(fixture);
	use(fixture, 1);
	assert_count(fixture, 2);
	assert_true(trace_processes_has(fixture->processes, 0));
	assert_false(trace_processes_has(fixture->processes, 2));
	assert_int_equal(get(fixture, use(fixture, 1))->parent_pid, PID);
}

static void siblings_share_their_ancestors(void **state)
{
	struct fixture *fixture = *state;

	on_fork(fixture, 10, PID, 1);
	on_fork(fixture, 20, CHILD, PID);
	on_fork(fixture, 30, CHILD + 1, PID);
	start(fixture);
	use(fixture, 1);
	use(fixture, 2);
	assert_count(fixture, 3);
}

/* More ancestors than any process has: pids that went round. */
static void a_line_of_ancestors_ends_after_64(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 70; i++)
		on_fork(fixture, 10 + (uint64_t)i, PID + i, PID + i - 1);
	start(fixture);
	use(fixture, 63);
	assert_count(fixture, 64);
	assert_true(trace_processes_has(fixture->processes, 0));
	trace_processes_free(fixture->processes);
	start(fixture);
	use(fixture, 64);
	assert_count(fixture, 64 + 64);
	assert_false(trace_processes_has(fixture->processes, 0));
}

static struct process *find_known(struct fixture *fixture, uint64_t time_ns, pid_t pid)
{
	struct process *process;
	bool is_in_exec;

	assert_int_equal(process_table_find(fixture->table, time_ns, pid, GENERATION_UNKNOWN, false,
					    &process, &is_in_exec),
			 0);
	return process;
}

static void user_and_command_line_go_along(void **state)
{
	struct fixture *fixture = *state;
	struct timeline_process described = {.pid = 5, .name = 6};
	struct process *process;
	uint32_t used;

	on_fork(fixture, 10, PID, 1);
	process = find_known(fixture, 10, PID);
	process->has_uid = true;
	process->uid = 1000;
	start(fixture);
	assert_int_equal(trace_processes_describe(fixture->processes, 0, &described), 0);
	assert_int_equal(described.uid, 1000);
	assert_true(described.has_uid);
	assert_int_equal(described.parent_pid, 1);
	assert_int_equal(described.start_ns, 10);
	assert_string_equal(timeline_get_string(fixture->timeline, described.command_line), "");
	assert_int_equal(described.pid, 5);
	assert_int_equal(described.name, 6);
	process->command_line = "game --fast";
	used = use(fixture, 0);
	process->command_line = NULL;
	assert_int_equal(get(fixture, used)->uid, 1000);
	assert_string_equal(
		timeline_get_string(fixture->timeline, get(fixture, used)->command_line),
		"game --fast");
}

/* Two processes may have the same pid, one after the other: the start tells them apart. */
static void the_timelines_own_processes_are_adopted_by_pid_and_start(void **state)
{
	struct fixture *fixture = *state;
	const struct timeline_process known[] = {
		{.pid = PID, .start_ns = 15},       /* between the two */
		{.pid = PID, .start_ns = 40},       /* the later one */
		{.pid = CHILD, .start_ns = 0},      /* before it started */
		{.pid = CHILD + 1, .start_ns = 10}, /* nobody */
	};

	on_fork(fixture, 10, PID, 1);
	on_fork(fixture, 20, CHILD, PID);
	on_exit_of(fixture, 30, PID);
	on_fork(fixture, 40, PID, 1);
	for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
		assert_int_equal(timeline_add_process(fixture->timeline, &known[i], NULL), 0);
	start(fixture);
	trace_processes_adopt(fixture->processes);
	assert_false(trace_processes_has(fixture->processes, 0));
	assert_false(trace_processes_has(fixture->processes, 1));
	assert_int_equal(trace_processes_get(fixture->processes, 2), 1);
	assert_int_equal(use(fixture, 2), 1);
	assert_count(fixture, ARRAY_LENGTH(known));
	assert_int_equal(use(fixture, 0), ARRAY_LENGTH(known));
}

static void one_that_is_given_is_not_added(void **state)
{
	struct fixture *fixture = *state;
	uint32_t given;

	on_fork(fixture, 10, PID, 1);
	on_exec(fixture, 20, PID, "next");
	start(fixture);
	assert_int_equal(timeline_add_process(fixture->timeline,
					      &(struct timeline_process){.pid = PID}, &given),
			 0);
	trace_processes_set(fixture->processes, 1, given);
	use(fixture, 0);
	assert_count(fixture, 2);
	assert_int_equal(use(fixture, 1), given);
}

/* Zones have brought it, and nothing of its family. */
static void one_that_is_given_comes_with_its_family(void **state)
{
	struct fixture *fixture = *state;

	on_fork(fixture, 10, PID, 1);
	on_fork(fixture, 20, CHILD, PID);
	on_exec(fixture, 30, CHILD, "given");
	on_exec(fixture, 40, CHILD, "next");
	assert_int_equal(timeline_add_process(fixture->timeline,
					      &(struct timeline_process){.pid = CHILD}, NULL),
			 0);
	start(fixture);
	trace_processes_set(fixture->processes, 2, 0);
	assert_int_equal(use(fixture, 2), 0);
	assert_true(trace_processes_has(fixture->processes, 0));
	assert_true(trace_processes_has(fixture->processes, 3));
	assert_count(fixture, 3);
	/* The image before it is its family as little as anybody else's. */
	assert_false(trace_processes_has(fixture->processes, 1));
	use(fixture, 1);
	assert_count(fixture, 4);
}

static void what_happens_after_the_end_delays_it(void **state)
{
	struct fixture *fixture = *state;

	on_fork(fixture, 10, PID, 1);
	on_exec(fixture, 20, PID, "next");
	on_exit_of(fixture, 30, PID);
	on_fork(fixture, 40, CHILD, 1);
	start(fixture);
	/* Not in the timeline: nothing to change. */
	trace_processes_note_alive(fixture->processes, 1, 100);
	use(fixture, 0);
	use(fixture, 2);
	assert_int_equal(get(fixture, 1)->end_ns, 31);
	trace_processes_note_alive(fixture->processes, 1, 30);
	assert_int_equal(get(fixture, 1)->end_ns, 31);
	trace_processes_note_alive(fixture->processes, 1, 31);
	assert_int_equal(get(fixture, 1)->end_ns, 32);
	trace_processes_note_alive(fixture->processes, 1, 50);
	assert_int_equal(get(fixture, 1)->end_ns, 51);
	/* A sample from inside the exec. */
	trace_processes_note_alive(fixture->processes, 0, 25);
	assert_int_equal(get(fixture, 0)->end_ns, 19);
	/* It has not ended. */
	trace_processes_note_alive(fixture->processes, 2, 60);
	assert_int_equal(get(fixture, 2)->end_ns, 0);
}

static int use_anew(void *context)
{
	struct fixture *fixture = context;
	struct timeline *timeline = timeline_new();
	struct trace_processes *processes =
		timeline ? trace_processes_new(fixture->table, timeline) : NULL;
	uint32_t count = process_table_get_count(fixture->table);
	uint32_t process;
	int err = processes ? 0 : -ENOMEM;

	while (count-- && !err)
		err = trace_processes_use(processes, count, &process);
	trace_processes_free(processes);
	timeline_free(timeline);
	return err;
}

static void short_memory_is_an_error(void **state)
{
	static char line[100000]; /* more than strings have room for so far */
	struct fixture *fixture = *state;
	struct process *process;
	char comm[COMM_SIZE];

	on_fork(fixture, 10, PID, 1);
	on_fork(fixture, 30, CHILD, PID);
	for (uint64_t i = 0; i < 300; i++) { /* as many names */
		snprintf(comm, sizeof(comm), "program-%07d", (int)i);
		on_exec(fixture, 40 + i, PID, comm);
	}
	process = find_known(fixture, 30, CHILD);
	memset(line, 'x', sizeof(line) - 1);
	process->command_line = line;
	failing_memory_try_all(use_anew, fixture);
	process->command_line = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pid_belongs_to_the_latest_image_that_had_started),
		TEST(the_end_of_an_image_is_after_all_that_happened_to_it),
		TEST(an_image_brings_all_that_execs_made_of_it_once),
		TEST(the_parent_is_the_one_that_forked),
		TEST(siblings_share_their_ancestors),
		TEST(a_line_of_ancestors_ends_after_64),
		TEST(user_and_command_line_go_along),
		TEST(the_timelines_own_processes_are_adopted_by_pid_and_start),
		TEST(one_that_is_given_is_not_added),
		TEST(one_that_is_given_comes_with_its_family),
		TEST(what_happens_after_the_end_delays_it),
		TEST(short_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
