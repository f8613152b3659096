#include "process/process_table.h"

#include <stdio.h>

#include "base/clock.h"
#include "process_fixture.h"
#include "unit.h"

static void a_sample_of_an_unknown_process_reads_proc(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	add_process(fixture, PID, "a", "1000-2000 r-xp 0 fe:00 12 /no/a\n");
	process = find(fixture, 100, PID, 3);

	assert_string_equal(process->comm, "a");
	assert_int_equal(process->generation, 3);
	assert_mapped(fixture, process, 0x1000, "/no/a");
}

static void a_sample_of_an_unknown_process_that_is_gone_has_an_empty_image(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process = find(fixture, 100, PID, NO_GEN);

	assert_string_equal(process->comm, "");
	assert_int_equal(process->start_ns, 100);
	assert_mapped(fixture, process, 0x1000, NULL);
	assert_ptr_equal(find(fixture, 110, PID, NO_GEN), process);
}

static void a_sample_with_an_older_generation_was_taken_inside_exec(void **state)
{
	struct fixture *fixture = *state;
	struct process *old;
	struct process *new;

	on_fork(fixture, 100, PID, 7);
	old = find(fixture, 110, PID, 4);
	on_exec(fixture, 120, PID, "ls");

	assert_ptr_equal(find_in_exec(fixture, 130, PID, 4, true), old);
	new = find(fixture, 140, PID, 5);
	assert_ptr_equal(new->previous, old);
	assert_ptr_equal(find(fixture, 150, PID, NO_GEN), new);
	assert_int_equal(process_table_get_stats(fixture->table).missed_execs, 0);
}

static void a_sample_two_execs_old_finds_its_image(void **state)
{
	struct fixture *fixture = *state;
	struct process *old;

	on_fork(fixture, 100, PID, 7);
	old = find(fixture, 110, PID, 4);
	on_exec(fixture, 120, PID, "env");
	on_exec(fixture, 130, PID, "ls");

	assert_ptr_equal(find_in_exec(fixture, 140, PID, 4, true), old);
	assert_ptr_equal(find_in_exec(fixture, 140, PID, 1, true), old);
	assert_string_equal(find_in_exec(fixture, 140, PID, 5, true)->comm, "env");
}

static void inside_exec_without_an_image_before_it_is_the_current_one(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;

	on_fork(fixture, 100, PID, 7);
	process = find(fixture, 110, PID, 4);
	assert_ptr_equal(find_in_exec(fixture, 120, PID, 3, true), process);
}

static void a_newer_generation_tells_of_an_exec_that_nobody_reported(void **state)
{
	struct fixture *fixture = *state;
	struct process *old;
	const struct process *new;

	on_fork(fixture, 100, PID, 7);
	old = find(fixture, 110, PID, 4);
	add_process(fixture, PID, "ls", "1000-2000 r-xp 0 fe:00 12 /no/ls\n");
	new = find(fixture, 120, PID, 6);

	assert_ptr_equal(new->previous, old);
	assert_int_equal(new->generation, 6);
	assert_string_equal(new->comm, "ls");
	assert_true(new->was_scanned);
	assert_mapped(fixture, new, 0x1000, "/no/ls");
	assert_ptr_equal(find(fixture, 130, PID, 6), new);
	assert_int_equal(process_table_get_stats(fixture->table).missed_execs, 1);
}

static void a_missed_exec_of_a_process_that_is_gone_has_an_empty_image(void **state)
{
	struct fixture *fixture = *state;
	const struct process *new;

	on_fork(fixture, 100, PID, 7);
	on_mmap(fixture, 105, PID, 0x1000, 0x2000, "/no/sh");
	(void)find(fixture, 110, PID, 4);
	new = find(fixture, 120, PID, 5);

	assert_mapped(fixture, new, 0x1000, NULL);
	assert_int_equal(new->parent_pid, 7);
}

/* A pid that no machine has, because our own folder for temporary files is looked into, too. */
#define JIT_PID 2000000002

static void a_perf_map_is_looked_for_ten_times_a_second_at_most(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;
	char status[64];

	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\n", getuid());
	on_fork(fixture, 100, JIT_PID, 7);
	process = find(fixture, 110, JIT_PID, NO_GEN);
	process_table_open_perf_map(fixture->table, 120, process->id);
	fake_proc_write(&fixture->proc, "2000000002/status", status);
	fake_proc_write(&fixture->proc, "2000000002/root/tmp/perf-2000000002.map", "");

	process_table_open_perf_map(fixture->table, 119 + 100 * NS_PER_MS, process->id);
	assert_int_equal(process->perf_map_fd, -1);
	process_table_open_perf_map(fixture->table, 120 + 100 * NS_PER_MS, process->id);
	assert_true(process->perf_map_fd >= 0);
}

static void a_late_perf_map_is_found_at_exit_and_at_the_end(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;
	char status[64];

	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\n", getuid());
	on_fork(fixture, 100, JIT_PID, 7);
	process = find(fixture, 110, JIT_PID, NO_GEN);
	process_table_open_perf_map(fixture->table, 120, process->id);
	assert_int_equal(process_table_on_exit(fixture->table, 130, JIT_PID), 0);
	assert_int_equal(process->perf_map_fd, -1);
	fake_proc_write(&fixture->proc, "2000000002/status", status);
	fake_proc_write(&fixture->proc, "2000000002/root/tmp/perf-2000000002.map", "");

	process_table_finish_perf_maps(fixture->table);
	assert_true(process->perf_map_fd >= 0);
}

static void an_image_before_the_exec_gets_no_perf_map(void **state)
{
	struct fixture *fixture = *state;
	const struct process *old;
	char status[64];

	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\n", getuid());
	on_fork(fixture, 100, JIT_PID, 7);
	old = find(fixture, 110, JIT_PID, NO_GEN);
	on_exec(fixture, 120, JIT_PID, "java");
	fake_proc_write(&fixture->proc, "2000000002/status", status);
	fake_proc_write(&fixture->proc, "2000000002/root/tmp/perf-2000000002.map", "");

	process_table_open_perf_map(fixture->table, 130, old->id);
	assert_int_equal(old->perf_map_fd, -1);
}

static void ids_and_pointers_stay_valid(void **state)
{
	struct fixture *fixture = *state;
	const struct process *first = find(fixture, 100, 10, NO_GEN);

	for (pid_t pid = 11; pid < 2000; pid++)
		(void)find(fixture, 100, pid, NO_GEN);

	assert_ptr_equal(find(fixture, 100, 10, NO_GEN), first);
	for (uint32_t id = 0; id < process_table_get_count(fixture->table); id++) {
		assert_int_equal(process_table_get(fixture->table, id)->id, id);
		assert_int_equal(process_table_get(fixture->table, id)->pid, 10 + id);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sample_of_an_unknown_process_reads_proc),
		TEST(a_sample_of_an_unknown_process_that_is_gone_has_an_empty_image),
		TEST(a_sample_with_an_older_generation_was_taken_inside_exec),
		TEST(a_sample_two_execs_old_finds_its_image),
		TEST(inside_exec_without_an_image_before_it_is_the_current_one),
		TEST(a_newer_generation_tells_of_an_exec_that_nobody_reported),
		TEST(a_missed_exec_of_a_process_that_is_gone_has_an_empty_image),
		TEST(a_perf_map_is_looked_for_ten_times_a_second_at_most),
		TEST(a_late_perf_map_is_found_at_exit_and_at_the_end),
		TEST(an_image_before_the_exec_gets_no_perf_map),
		TEST(ids_and_pointers_stay_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
