#include "process/process_table.h"

#include <malloc.h>
#include <poll.h>
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

static void who_ended_without_a_sample_loses_its_mappings(void **state)
{
	struct fixture *fixture = *state;
	const struct process *unsampled;
	const struct process *before_exec;
	const struct process *alive;
	const struct process *sampled;
	uint64_t now_ns;

	for (pid_t pid = PID; pid < PID + 4; pid++) {
		on_fork(fixture, 100, pid, 7);
		on_mmap(fixture, 110, pid, 0x1000, 0x2000, "/lib/a");
	}
	before_exec =
		process_table_get(fixture->table, process_table_get_count(fixture->table) - 3);
	unsampled = process_table_get(fixture->table, before_exec->id - 1);
	sampled = find(fixture, 120, PID + 2, NO_GEN);
	alive = process_table_get(fixture->table, sampled->id + 1);
	on_exit_of(fixture, 130, PID);
	on_exec(fixture, 130, PID + 1, "ls");
	on_exit_of(fixture, 130, PID + 2);
	now_ns = clock_now_ns();

	process_table_trim(fixture->table, now_ns);
	assert_mapped(fixture, unsampled, 0x1000, "/lib/a");
	process_table_trim(fixture->table, now_ns + 3 * NS_PER_SECOND);
	assert_mapped(fixture, unsampled, 0x1000, NULL);
	assert_mapped(fixture, before_exec, 0x1000, NULL);
	assert_mapped(fixture, sampled, 0x1000, "/lib/a");
	assert_mapped(fixture, alive, 0x1000, "/lib/a");
}

static void who_lost_its_mappings_may_get_others(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;
	const struct process *child;

	on_fork(fixture, 100, PID, 7);
	on_mmap(fixture, 110, PID, 0x1000, 0x2000, "/lib/a");
	process = process_table_get(fixture->table, process_table_get_count(fixture->table) - 1);
	on_exit_of(fixture, 120, PID);
	process_table_trim(fixture->table, clock_now_ns() + 3 * NS_PER_SECOND);
	on_fork(fixture, 130, CHILD, PID);
	child = process_table_get(fixture->table, process->id + 1);
	assert_mapped(fixture, child, 0x1000, NULL);
	on_mmap(fixture, 140, PID, 0x5000, 0x6000, "/lib/b");
	assert_mapped(fixture, process, 0x1000, NULL);
	assert_mapped(fixture, process, 0x5000, "/lib/b");
}

static int64_t get_allocated_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return (int64_t)(info.uordblks + info.hblkhd);
}

/* A machine may start thousands in a second, for hours. */
static void who_ended_without_a_sample_takes_less_than_160_bytes(void **state)
{
	const uint32_t count = 20000;
	struct fixture *fixture = *state;
	int64_t before;

	on_fork(fixture, 100, PID, 7);
	on_mmap(fixture, 110, PID, 0x1000, 0x2000, "/lib/a");
	before = get_allocated_bytes();
	for (uint32_t i = 0; i < count; i++) {
		on_fork(fixture, 200 + i, CHILD, PID);
		on_mmap(fixture, 200 + i, CHILD, 0x5000, 0x6000, "/lib/b");
		on_exit_of(fixture, 200 + i, CHILD);
		process_table_trim(fixture->table, clock_now_ns() + 3 * NS_PER_SECOND);
	}
	assert_true(process_table_get_count(fixture->table) >= count);
	assert_true(get_allocated_bytes() - before < count * 160);
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

static void a_newer_generation_shows_an_exec_that_nobody_reported(void **state)
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

static void look_for_moved(struct fixture *fixture, uint64_t time_ns, const struct process *process)
{
	assert_int_equal(process_table_look_for_moved(fixture->table, time_ns, process->id), 0);
}

static void mappings_that_were_moved_are_found_where_nothing_was_known(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;
	uint64_t later_ns;

	on_fork(fixture, 100, PID, 7);
	on_mmap(fixture, 105, PID, 0x1000, 0x3000, "/no/a");
	add_process(fixture, PID, "a",
		    "1000-2000 r-xp 0 fe:00 13 /no/b\n"
		    "2800-4000 r-xp 0 fe:00 13 /no/b\n"
		    "5000-6000 r-xp 0 fe:00 12 /no/a\n");
	process = find(fixture, 110, PID, NO_GEN);
	look_for_moved(fixture, 110, process);
	/* Not yet, as the sample is older than the maps. */
	assert_mapped(fixture, find(fixture, 120, PID, NO_GEN), 0x5000, NULL);
	later_ns = clock_now_ns();
	assert_ptr_equal(find(fixture, later_ns, PID, NO_GEN), process);
	assert_mapped(fixture, process, 0x5000, "/no/a");
	assert_mapped(fixture, process, 0x1000, "/no/a");
	assert_mapped(fixture, process, 0x2800, "/no/a");
	assert_mapped(fixture, process, 0x3000, NULL);
	assert_int_equal(process->mappings_version, 2);
}

static void moved_mappings_of_the_next_program_are_not_taken(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;

	on_fork(fixture, 100, PID, 7);
	process = find(fixture, 110, PID, NO_GEN);
	add_process(fixture, PID, "b", "5000-6000 r-xp 0 fe:00 12 /no/b\n");
	look_for_moved(fixture, 110, process);
	on_exec(fixture, 120, PID, "b");
	assert_ptr_not_equal(find(fixture, clock_now_ns(), PID, NO_GEN), process);
	assert_mapped(fixture, process, 0x5000, NULL);
}

static void moved_mappings_are_looked_for_less_and_less_often(void **state)
{
	struct fixture *fixture = *state;
	uint64_t now_ns = clock_now_ns();
	const struct process *process;

	add_process(fixture, PID, "a", "1000-2000 r-xp 0 fe:00 12 /no/a\n");
	process = find(fixture, now_ns, PID, NO_GEN);
	look_for_moved(fixture, now_ns, process);
	add_process(fixture, PID, "a", "5000-6000 r-xp 0 fe:00 12 /no/a\n");
	look_for_moved(fixture, now_ns + 50 * NS_PER_MS, process);
	now_ns += 60 * NS_PER_SECOND;
	assert_mapped(fixture, find(fixture, now_ns, PID, NO_GEN), 0x5000, NULL);
	look_for_moved(fixture, now_ns, process);
	assert_mapped(fixture, find(fixture, now_ns, PID, NO_GEN), 0x5000, "/no/a");
}

/* A pid that no machine has, because our own folder for temporary files is looked into, too. */
#define JIT_PID 2000000002
#define JIT_MAP "2000000002/root/tmp/perf-2000000002.map"

static void follow_code(struct fixture *fixture, uint64_t time_ns, uint32_t process)
{
	assert_int_equal(process_table_follow_code(fixture->table, time_ns, process), 0);
}

static void a_perf_map_is_looked_for_ten_times_a_second_at_most(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;
	char status[64];

	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\n", getuid());
	on_fork(fixture, 100, JIT_PID, 7);
	process = find(fixture, 110, JIT_PID, NO_GEN);
	follow_code(fixture, 120, process->id);
	fake_proc_write(&fixture->proc, "2000000002/status", status);
	fake_proc_write(&fixture->proc, JIT_MAP, "1000 10 compiled\n");

	follow_code(fixture, 119 + 100 * NS_PER_MS, process->id);
	assert_null(process_find_first_code(process, 0x1000));
	follow_code(fixture, 120 + 100 * NS_PER_MS, process->id);
	assert_string_equal(process_find_first_code(process, 0x1000), "compiled");
}

static void a_late_perf_map_is_found_at_exit_and_at_the_end(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;
	char status[64];

	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\n", getuid());
	on_fork(fixture, 100, JIT_PID, 7);
	process = find(fixture, 110, JIT_PID, NO_GEN);
	follow_code(fixture, 120, process->id);
	assert_int_equal(process_table_on_exit(fixture->table, 130, JIT_PID), 0);
	assert_null(process_find_first_code(process, 0x1000));
	fake_proc_write(&fixture->proc, "2000000002/status", status);
	fake_proc_write(&fixture->proc, JIT_MAP, "1000 10 compiled\n");

	assert_int_equal(process_table_finish_code(fixture->table), 0);
	assert_string_equal(process_find_first_code(process, 0x1000), "compiled");
}

/* The first name counts for the time before it, too. */
static void code_has_the_name_of_its_time(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;
	uint64_t first_version;
	uint64_t now_ns;
	char status[64];

	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\n", getuid());
	fake_proc_write(&fixture->proc, "2000000002/status", status);
	fake_proc_write(&fixture->proc, JIT_MAP, "1000 10 first\n2000 10 other\n");
	on_fork(fixture, 100, JIT_PID, 7);
	process = find(fixture, 110, JIT_PID, NO_GEN);
	assert_int_equal(process_get_code_version(process, 120), 0);
	follow_code(fixture, 120, process->id);
	now_ns = clock_now_ns();
	first_version = process_get_code_version(process, now_ns);
	assert_int_not_equal(first_version, 0);

	fake_proc_append(&fixture->proc, JIT_MAP, "1000 10 second\n3000 10 other\n");
	assert_int_equal(process_table_read_code(fixture->table, now_ns), 0);

	assert_string_equal(process_find_first_code(process, 0x1000), "first");
	assert_string_equal(process_find_code(process, 0x1000, 0), "first");
	assert_string_equal(process_find_code(process, 0x1000, clock_now_ns()), "second");
	assert_int_not_equal(process_get_code_version(process, clock_now_ns()), first_version);
	assert_null(process_find_code(process, 0x3000, 0));
	assert_string_equal(process_find_first_code(process, 0x3000), "other");
}

static void a_watched_perf_map_is_read_when_it_grows(void **state)
{
	struct fixture *fixture = *state;
	int fd = process_table_watch_code(fixture->table);
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	const struct process *process;
	char status[64];

	assert_true(fd >= 0);
	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\n", getuid());
	fake_proc_write(&fixture->proc, "2000000002/status", status);
	fake_proc_write(&fixture->proc, JIT_MAP, "1000 10 a\n");
	on_fork(fixture, 100, JIT_PID, 7);
	process = find(fixture, 110, JIT_PID, NO_GEN);
	follow_code(fixture, 120, process->id);
	assert_int_equal(process_table_read_code(fixture->table, 130), 0);
	assert_int_equal(poll(&polled, 1, 0), 0);

	fake_proc_append(&fixture->proc, JIT_MAP, "1000 10 b\n");
	assert_int_equal(poll(&polled, 1, 0), 1);
	/* Long before it would be asked for without a watch. */
	assert_int_equal(process_table_read_code(fixture->table, 140), 0);
	assert_string_equal(process_find_code(process, 0x1000, clock_now_ns()), "b");
	assert_int_equal(poll(&polled, 1, 0), 0);
}

/* A process of the user with a perf-map of so many lines. */
static const struct process *add_generating(struct fixture *fixture, pid_t pid, uid_t user,
					    unsigned num_lines)
{
	_cleanup_(text_release) struct text map = {0};
	_cleanup_(text_release) struct text full = {0};
	const struct process *process;
	char path[64];
	char status[64];

	for (unsigned i = 0; i < num_lines; i++)
		text_printf(&map, "%x 10 f%u\n", (i + 1) << 12, i);
	snprintf(path, sizeof(path), "%d/status", pid);
	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\n", user);
	fake_proc_write(&fixture->proc, path, status);
	snprintf(path, sizeof(path), "%d/root/tmp/perf-%d.map", pid, pid);
	fake_proc_write(&fixture->proc, path, map.data);
	full = fake_proc_path(&fixture->proc, path);
	if (user != getuid())
		assert_int_equal(chown(full.data, user, user), 0);
	on_fork(fixture, 100, pid, 7);
	process = find(fixture, 110, pid, NO_GEN);
	follow_code(fixture, 120, process->id);
	return process;
}

static void names_beyond_the_limit_of_all_are_lost_by_who_has_the_most(void **state)
{
	struct fixture *fixture = *state;
	const struct process *small;
	const struct process *hoarders[3];
	struct process_table_stats stats;
	unsigned num_named = 0;

	if (getuid() != 0)
		skip();
	process_table_limit_code(fixture->table, 1 << 20);
	small = add_generating(fixture, JIT_PID, 0, 3000);
	for (unsigned i = 0; i < 3; i++)
		hoarders[i] = add_generating(fixture, JIT_PID + 1 + (pid_t)i, 65534, 2000);

	/* The user's are smaller each, and more together. */
	assert_string_equal(process_find_first_code(small, 0x1000), "f0");
	for (unsigned i = 0; i < 3; i++)
		num_named += process_find_first_code(hoarders[i], 0x1000) != NULL;
	assert_in_range(num_named, 1, 2);
	stats = process_table_get_stats(fixture->table);
	assert_int_equal(stats.truncated_code_maps, 3 - num_named);
	assert_true(stats.first_truncated_pid > JIT_PID);
}

static void a_process_that_lost_its_names_is_not_read_again(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	process_table_limit_code(fixture->table, 1000);
	process = add_generating(fixture, JIT_PID, getuid(), 1000);
	assert_null(process_find_first_code(process, 0x1000));
	assert_int_equal(process_get_code_version(process, UINT64_MAX), 0);
	follow_code(fixture, 200 * NS_PER_MS, process->id);
	assert_int_equal(process_table_finish_code(fixture->table), 0);
	assert_null(process_find_first_code(process, 0x1000));
	assert_int_equal(process_table_get_stats(fixture->table).truncated_code_maps, 1);
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
	fake_proc_write(&fixture->proc, JIT_MAP, "1000 10 compiled\n");

	follow_code(fixture, 130, old->id);
	assert_null(process_find_first_code(old, 0x1000));
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

/* Each look stands for itself; of maps with a bad line, what is before it counts. */
static void moved_mappings_are_those_of_the_last_look(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	on_fork(fixture, 100, PID, 7);
	process = find(fixture, 110, PID, NO_GEN);
	add_process(fixture, PID, "a", "5000-6000 r-xp 0 fe:00 12 /no/a\n");
	look_for_moved(fixture, 110, process);
	add_process(fixture, PID, "a", "7000-8000 r-xp 0 fe:00 12 /no/a\nrubbish\n");
	look_for_moved(fixture, clock_now_ns() + 60 * NS_PER_SECOND, process);
	assert_ptr_equal(find(fixture, clock_now_ns(), PID, NO_GEN), process);
	assert_mapped(fixture, process, 0x5000, NULL);
	assert_mapped(fixture, process, 0x7000, "/no/a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sample_of_an_unknown_process_reads_proc),
		TEST(a_sample_of_an_unknown_process_that_is_gone_has_an_empty_image),
		TEST(a_sample_with_an_older_generation_was_taken_inside_exec),
		TEST(a_sample_two_execs_old_finds_its_image),
		TEST(inside_exec_without_an_image_before_it_is_the_current_one),
		TEST(a_newer_generation_shows_an_exec_that_nobody_reported),
		TEST(a_missed_exec_of_a_process_that_is_gone_has_an_empty_image),
		TEST(mappings_that_were_moved_are_found_where_nothing_was_known),
		TEST(moved_mappings_of_the_next_program_are_not_taken),
		TEST(moved_mappings_are_looked_for_less_and_less_often),
		TEST(moved_mappings_are_those_of_the_last_look),
		TEST(a_perf_map_is_looked_for_ten_times_a_second_at_most),
		TEST(a_late_perf_map_is_found_at_exit_and_at_the_end),
		TEST(code_has_the_name_of_its_time),
		TEST(a_watched_perf_map_is_read_when_it_grows),
		TEST(names_beyond_the_limit_of_all_are_lost_by_who_has_the_most),
		TEST(a_process_that_lost_its_names_is_not_read_again),
		TEST(an_image_before_the_exec_gets_no_perf_map),
		TEST(who_ended_without_a_sample_loses_its_mappings),
		TEST(who_lost_its_mappings_may_get_others),
		TEST(who_ended_without_a_sample_takes_less_than_160_bytes),
		TEST(ids_and_pointers_stay_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
