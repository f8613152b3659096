#include "process/process_table.h"

#include <errno.h>

#include "base/clock.h"
#include "process_fixture.h"
#include "unit.h"

static void a_scan_reads_every_process(void **state)
{
	struct fixture *fixture = *state;
	uint64_t before_ns = clock_now_ns();
	struct process *process;

	add_process(fixture, 2, "kthreadd", "");
	add_process(fixture, PID, "server", "1000-2000 r-xp 00003000 fe:00 12 /no/a\n");
	scan(fixture);

	assert_int_equal(process_table_get_count(fixture->table), 2);
	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	assert_string_equal(process->comm, "server");
	assert_int_equal(process->parent_pid, 7);
	assert_true(process->was_scanned);
	assert_true(process->as_of_ns >= before_ns && process->as_of_ns <= clock_now_ns());
	assert_true(process->start_ns < process->as_of_ns);
	assert_false(process->is_exited);
	assert_mapped(fixture, process, 0x1000, "/no/a");
	assert_int_equal(process_find_mapping(process, 0x1000)->file_offset, 0x3000);
	assert_ptr_equal(process_table_get(fixture->table, process->id), process);
}

static void scanning_one_that_is_gone_finds_nothing(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(process_table_scan_pid(fixture->table, PID), -ENOENT);
	assert_int_equal(process_table_get_count(fixture->table), 0);
}

static void scanning_the_same_again_changes_nothing(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;
	uint32_t version;

	add_process(fixture, PID, "a", "1000-2000 r-xp 0 fe:00 12 /no/a\n");
	scan(fixture);
	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	version = process->mappings_version;
	scan(fixture);

	assert_int_equal(process->mappings_version, version);
	assert_int_equal(process_table_get_count(fixture->table), 1);
}

static void scanning_again_takes_what_was_unmapped_away(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;
	uint32_t version;

	add_process(fixture, PID, "a",
		    "1000-2000 r-xp 0 fe:00 12 /no/a\n3000-4000 r-xp 0 fe:00 13 /no/b\n");
	scan(fixture);
	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	version = process->mappings_version;
	add_process(fixture, PID, "b", "1000-2000 r-xp 0 fe:00 12 /no/a\n");
	scan(fixture);

	assert_mapped(fixture, process, 0x3000, NULL);
	assert_int_not_equal(process->mappings_version, version);
	assert_string_equal(process->comm, "b");
}

static void an_ending_process_keeps_its_mappings_in_a_scan(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	add_process(fixture, PID, "a", "1000-2000 r-xp 0 fe:00 12 /no/a\n");
	scan(fixture);
	fake_proc_add(&fixture->proc,
		      (struct fake_process){
			      .pid = PID, .comm = "a", .state = 'Z', .start_ticks = OLD_PROCESS});
	scan(fixture);

	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	assert_true(process->is_exited);
	assert_mapped(fixture, process, 0x1000, "/no/a");
	assert_int_equal(process_table_get_count(fixture->table), 1);
}

static void a_malformed_line_hides_only_what_comes_after_it(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	on_fork(fixture, 100, PID, 7);
	on_mmap(fixture, 110, PID, 0x5000, 0x6000, "/no/b");
	fake_proc_add(&fixture->proc,
		      (struct fake_process){.pid = PID,
					    .comm = "a",
					    .maps = "1000-2000 r-xp 0 fe:00 12 /no/a\nrubbish\n"});
	scan(fixture);

	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	assert_mapped(fixture, process, 0x1000, "/no/a");
	assert_mapped(fixture, process, 0x5000, "/no/b");
}

static void maps_that_cannot_be_read_leave_the_events_valid(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	add_process(fixture, PID, "a", "");
	fake_proc_delete(&fixture->proc, "8/maps");
	scan(fixture);
	on_mmap(fixture, 100, PID, 0x1000, 0x2000, "/no/a");

	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	assert_false(process->was_scanned);
	assert_int_equal(process->as_of_ns, 0);
	assert_string_equal(process->comm, "a");
	assert_mapped(fixture, process, 0x1000, "/no/a");
}

static void a_scan_that_shows_another_process_starts_a_new_image(void **state)
{
	struct fixture *fixture = *state;
	const struct process *old;
	const struct process *new;

	add_process(fixture, PID, "old", "1000-2000 r-xp 0 fe:00 12 /no/a\n");
	scan(fixture);
	old = find(fixture, clock_now_ns(), PID, NO_GEN);
	fake_proc_add(
		&fixture->proc,
		(struct fake_process){.pid = PID, .comm = "new", .start_ticks = OLD_PROCESS + 1});
	scan(fixture);
	new = find(fixture, clock_now_ns(), PID, NO_GEN);

	assert_ptr_not_equal(new, old);
	assert_null(new->previous);
	assert_true(old->is_exited);
	assert_string_equal(old->comm, "old");
	assert_mapped(fixture, old, 0x1000, "/no/a");
	assert_mapped(fixture, new, 0x1000, NULL);
}

static void a_process_younger_than_the_image_of_its_pid_is_another_one(void **state)
{
	struct fixture *fixture = *state;
	const struct process *old;
	const struct process *new;

	on_fork(fixture, 100, PID, 7);
	old = find(fixture, 110, PID, NO_GEN);
	add_process(fixture, PID, "new", "");
	scan(fixture);
	new = find(fixture, clock_now_ns(), PID, NO_GEN);

	assert_ptr_not_equal(new, old);
	assert_null(new->previous);
	assert_true(old->is_exited);
}

static void a_scan_after_an_exit_shows_another_process(void **state)
{
	struct fixture *fixture = *state;
	const struct process *old;

	on_fork(fixture, 100, PID, 7);
	old = find(fixture, 110, PID, NO_GEN);
	on_exit_of(fixture, 120, PID);
	fake_proc_add(&fixture->proc, (struct fake_process){.pid = PID, .comm = "new"});
	scan(fixture);

	assert_ptr_not_equal(find(fixture, clock_now_ns(), PID, NO_GEN), old);
}

static void a_fork_that_the_scan_has_seen_is_ignored(void **state)
{
	struct fixture *fixture = *state;
	const struct process *child;

	add_process(fixture, PID, "shell", "1000-2000 r-xp 0 fe:00 12 /no/sh\n");
	add_process(fixture, CHILD, "ls", "1000-2000 r-xp 0 fe:00 12 /no/ls\n");
	scan(fixture);
	child = find(fixture, clock_now_ns(), CHILD, NO_GEN);
	on_fork(fixture, child->as_of_ns, CHILD, PID);

	assert_ptr_equal(find(fixture, clock_now_ns(), CHILD, NO_GEN), child);
	assert_mapped(fixture, child, 0x1000, "/no/ls");
	assert_int_equal(process_table_get_stats(fixture->table).forks, 1);
}

static void a_fork_after_the_scan_reuses_the_pid(void **state)
{
	struct fixture *fixture = *state;
	const struct process *old;
	const struct process *new;

	add_process(fixture, PID, "shell", "1000-2000 r-xp 0 fe:00 12 /no/sh\n");
	add_process(fixture, CHILD, "ls", "1000-2000 r-xp 0 fe:00 12 /no/ls\n");
	scan(fixture);
	old = find(fixture, clock_now_ns(), CHILD, NO_GEN);
	on_fork(fixture, clock_now_ns() + 1, CHILD, PID);
	new = find(fixture, clock_now_ns() + 2, CHILD, NO_GEN);

	assert_ptr_not_equal(new, old);
	assert_null(new->previous);
	assert_true(old->is_exited);
	assert_mapped(fixture, new, 0x1000, "/no/sh");
}

static void an_exec_that_the_scan_has_seen_is_ignored(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	add_process(fixture, PID, "ls", "1000-2000 r-xp 0 fe:00 12 /no/ls\n");
	scan(fixture);
	process = find(fixture, 100, PID, NO_GEN);
	on_exec(fixture, process->as_of_ns - 2, PID, "stale");
	on_mmap(fixture, process->as_of_ns - 1, PID, 0x1000, 0x2000, "/no/stale");

	assert_ptr_equal(find(fixture, clock_now_ns(), PID, NO_GEN), process);
	assert_string_equal(process->comm, "ls");
	assert_mapped(fixture, process, 0x1000, "/no/ls");
}

static void an_exec_inside_a_later_scan_still_counts_for_the_generation(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	on_fork(fixture, 100, PID, 7);
	process = find(fixture, 110, PID, 5);
	fake_proc_add(&fixture->proc, (struct fake_process){.pid = PID, .comm = "ls"});
	scan(fixture);
	on_exec(fixture, 120, PID, "ls");

	assert_ptr_equal(find(fixture, 130, PID, 6), process);
	assert_int_equal(process_table_get_stats(fixture->table).missed_execs, 0);
}

static void an_exec_after_the_scan_starts_an_image(void **state)
{
	struct fixture *fixture = *state;
	struct process *old;
	const struct process *new;

	add_process(fixture, PID, "sh", "1000-2000 r-xp 0 fe:00 12 /no/sh\n");
	scan(fixture);
	old = find(fixture, clock_now_ns(), PID, NO_GEN);
	on_exec(fixture, old->as_of_ns, PID, "ls");
	new = find(fixture, clock_now_ns(), PID, NO_GEN);

	assert_ptr_equal(new->previous, old);
	assert_mapped(fixture, new, 0x1000, NULL);
}

static void an_exec_of_an_unknown_process_reads_proc(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	add_process(fixture, PID, "ls", "1000-2000 r-xp 0 fe:00 12 /no/ls\n");
	on_exec(fixture, 100, PID, "ls");
	process = find(fixture, 110, PID, NO_GEN);

	assert_null(process->previous);
	assert_mapped(fixture, process, 0x1000, "/no/ls");
	assert_int_equal(process_table_get_count(fixture->table), 1);
}

static void an_exit_older_than_the_scan_ends_a_zombie(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	add_process(fixture, PID, "a", "");
	scan(fixture);
	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	on_exit_of(fixture, process->as_of_ns - 1, PID);
	assert_true(process->is_exited);
}

/* Such as the one that the kernel reports of a set-user-id program which it starts. */
static void an_exit_older_than_the_scan_does_not_end_who_has_mappings(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	add_process(fixture, PID, "a", "1000-2000 r-xp 0 fe:00 12 /no/a\n");
	scan(fixture);
	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	on_exit_of(fixture, process->as_of_ns - 1, PID);
	assert_false(process->is_exited);
	on_exit_of(fixture, process->as_of_ns, PID);
	assert_true(process->is_exited);
}

static void an_exit_of_the_process_before_does_not_end_the_scanned_one(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	add_process(fixture, PID, "a", "1000-2000 r-xp 0 fe:00 12 /no/a\n");
	scan(fixture);
	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	on_exit_of(fixture, process->start_ns - 2, PID);
	on_fork(fixture, process->start_ns - 1, PID, 7);

	assert_false(process->is_exited);
	assert_ptr_equal(find(fixture, clock_now_ns(), PID, NO_GEN), process);
}

static void a_mapping_of_an_unknown_process_reads_proc_first(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	add_process(fixture, PID, "a", "1000-2000 r-xp 0 fe:00 12 /no/a\n");
	on_mmap(fixture, clock_now_ns() + NS_PER_SECOND, PID, 0x3000, 0x4000, "/no/b");
	process = find(fixture, clock_now_ns() + NS_PER_SECOND, PID, NO_GEN);

	assert_mapped(fixture, process, 0x1000, "/no/a");
	assert_mapped(fixture, process, 0x3000, "/no/b");
}

static void what_the_scan_has_seen_changes_nothing_when_an_event_reports_it(void **state)
{
	struct fixture *fixture = *state;
	struct file_identity identity = {.path = "/no/a", .dev_major = 0xfe, .inode = 12};
	struct mapping mapping = {
		.start = 0x1000, .end = 0x2000, .file_offset = 0x3000, .file = FILE_NONE};
	const struct process *process;
	uint32_t version;

	add_process(fixture, PID, "a", "1000-2000 r-xp 00003000 fe:00 12 /no/a\n");
	scan(fixture);
	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	version = process->mappings_version;
	assert_int_equal(
		process_table_on_mmap(fixture->table, clock_now_ns(), PID, &mapping, &identity), 0);
	assert_int_equal(process->mappings_version, version);
}

static void memory_is_the_same_in_events_and_scans(void **state)
{
	struct fixture *fixture = *state;
	struct file_identity identity = {.path = "//anon"};
	struct mapping mapping = {
		.start = 0x1000, .end = 0x2000, .file_offset = 0x1000, .file = FILE_NONE};
	const struct process *process;
	uint32_t version;

	add_process(fixture, PID, "jit", "1000-2000 rwxp 00000000 00:00 0 \n");
	scan(fixture);
	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	version = process->mappings_version;
	assert_int_equal(
		process_table_on_mmap(fixture->table, clock_now_ns(), PID, &mapping, &identity), 0);
	assert_int_equal(process->mappings_version, version);
	assert_mapped(fixture, process, 0x1000, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_scan_reads_every_process),
		TEST(scanning_one_that_is_gone_finds_nothing),
		TEST(scanning_the_same_again_changes_nothing),
		TEST(scanning_again_takes_what_was_unmapped_away),
		TEST(an_ending_process_keeps_its_mappings_in_a_scan),
		TEST(a_malformed_line_hides_only_what_comes_after_it),
		TEST(maps_that_cannot_be_read_leave_the_events_valid),
		TEST(a_scan_that_shows_another_process_starts_a_new_image),
		TEST(a_process_younger_than_the_image_of_its_pid_is_another_one),
		TEST(a_scan_after_an_exit_shows_another_process),
		TEST(a_fork_that_the_scan_has_seen_is_ignored),
		TEST(a_fork_after_the_scan_reuses_the_pid),
		TEST(an_exec_that_the_scan_has_seen_is_ignored),
		TEST(an_exec_inside_a_later_scan_still_counts_for_the_generation),
		TEST(an_exec_after_the_scan_starts_an_image),
		TEST(an_exec_of_an_unknown_process_reads_proc),
		TEST(an_exit_older_than_the_scan_ends_a_zombie),
		TEST(an_exit_older_than_the_scan_does_not_end_who_has_mappings),
		TEST(an_exit_of_the_process_before_does_not_end_the_scanned_one),
		TEST(a_mapping_of_an_unknown_process_reads_proc_first),
		TEST(what_the_scan_has_seen_changes_nothing_when_an_event_reports_it),
		TEST(memory_is_the_same_in_events_and_scans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
