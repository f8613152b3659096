#include "process/process_table.h"

#include "base/clock.h"
#include "failing_memory.h"
#include "jitdump_writer.h"
#include "process_fixture.h"
#include "unit.h"

static void a_fork_copies_the_parent(void **state)
{
	struct fixture *fixture = *state;
	const struct process *parent;
	const struct process *child;

	add_process(fixture, PID, "shell", "1000-2000 r-xp 0 fe:00 12 /no/sh\n");
	scan(fixture);
	parent = find(fixture, clock_now_ns(), PID, 5);
	on_fork(fixture, clock_now_ns(), CHILD, PID);
	child = find(fixture, clock_now_ns(), CHILD, 5);

	assert_ptr_not_equal(child, parent);
	assert_string_equal(child->comm, "shell");
	assert_int_equal(child->parent_pid, PID);
	assert_int_equal(child->generation, 5);
	assert_true(child->was_scanned);
	assert_int_equal(child->as_of_ns, 0);
	assert_int_equal(process_get_code_version(child, UINT64_MAX), 0);
	assert_null(child->previous);
	assert_mapped(fixture, child, 0x1000, "/no/sh");
	on_mmap(fixture, clock_now_ns(), CHILD, 0x1000, 0x2000, "/no/x");
	assert_mapped(fixture, parent, 0x1000, "/no/sh");
}

static void a_child_of_an_unknown_parent_is_read_from_proc(void **state)
{
	struct fixture *fixture = *state;
	const struct process *child;

	add_process(fixture, CHILD, "ls", "1000-2000 r-xp 0 fe:00 12 /no/ls\n");
	on_fork(fixture, 100, CHILD, PID);
	child = find(fixture, 110, CHILD, NO_GEN);

	assert_string_equal(child->comm, "ls");
	assert_mapped(fixture, child, 0x1000, "/no/ls");
}

static void a_child_that_is_gone_is_what_its_unknown_parent_was(void **state)
{
	struct fixture *fixture = *state;
	const struct process *child;

	add_process(fixture, PID, "shell", "1000-2000 r-xp 0 fe:00 12 /no/sh\n");
	on_fork(fixture, 100, CHILD, PID);
	child = find(fixture, 110, CHILD, NO_GEN);

	assert_string_equal(child->comm, "shell");
	assert_int_equal(child->parent_pid, PID);
	assert_mapped(fixture, child, 0x1000, "/no/sh");
}

static void a_child_of_nobody_known_is_empty(void **state)
{
	struct fixture *fixture = *state;
	const struct process *child;

	on_fork(fixture, 100, CHILD, PID);
	child = find(fixture, 110, CHILD, NO_GEN);

	assert_int_equal(child->parent_pid, PID);
	assert_int_equal(child->start_ns, 100);
	assert_false(child->was_scanned);
	assert_int_equal(process_table_get_count(fixture->table), 1);
}

static void an_exec_starts_an_image_without_mappings(void **state)
{
	struct fixture *fixture = *state;
	struct process *old;
	const struct process *new;

	on_fork(fixture, 100, PID, 7);
	on_mmap(fixture, 110, PID, 0x1000, 0x2000, "/no/sh");
	old = find(fixture, 120, PID, NO_GEN);
	on_exec(fixture, 130, PID, "ls");
	on_mmap(fixture, 140, PID, 0x3000, 0x4000, "/no/ls");
	new = find(fixture, 150, PID, NO_GEN);

	assert_ptr_not_equal(new, old);
	assert_ptr_equal(new->previous, old);
	assert_string_equal(new->comm, "ls");
	assert_int_equal(new->parent_pid, 7);
	assert_int_equal(new->start_ns, 130);
	assert_true(new->generation == GENERATION_UNKNOWN);
	assert_mapped(fixture, new, 0x1000, NULL);
	assert_mapped(fixture, new, 0x3000, "/no/ls");
	assert_mapped(fixture, old, 0x1000, "/no/sh");
}

static void an_exec_of_an_unknown_process_that_is_gone_starts_one_image(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	on_exec(fixture, 100, PID, "ls");
	on_mmap(fixture, 110, PID, 0x1000, 0x2000, "/no/ls");
	process = find(fixture, 120, PID, 4);

	assert_string_equal(process->comm, "ls");
	assert_null(process->previous);
	assert_int_equal(process->generation, 4);
	assert_mapped(fixture, process, 0x1000, "/no/ls");
	assert_int_equal(process_table_get_count(fixture->table), 1);
}

static void a_mapping_with_the_time_of_the_exec_belongs_to_the_new_program(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	on_fork(fixture, 100, PID, 7);
	on_mmap(fixture, 110, PID, 0x1000, 0x2000, "/no/sh");
	on_mmap(fixture, 130, PID, 0x3000, 0x4000, "/no/ls");
	on_mmap(fixture, 130, PID, 0x5000, 0x6000, "/no/ld.so");
	on_exec(fixture, 130, PID, "ls");
	process = find(fixture, 140, PID, NO_GEN);

	assert_mapped(fixture, process, 0x1000, NULL);
	assert_mapped(fixture, process, 0x3000, "/no/ls");
	assert_mapped(fixture, process, 0x5000, "/no/ld.so");
}

static void a_vfork_and_exec_leave_the_parent_alone(void **state)
{
	struct fixture *fixture = *state;
	const struct process *parent;
	const struct process *child;

	on_fork(fixture, 100, PID, 7);
	on_mmap(fixture, 110, PID, 0x1000, 0x2000, "/no/sh");
	parent = find(fixture, 120, PID, 3);
	on_fork(fixture, 130, CHILD, PID);
	assert_mapped(fixture, find(fixture, 135, CHILD, 3), 0x1000, "/no/sh");
	on_exec(fixture, 140, CHILD, "ls");
	on_mmap(fixture, 150, CHILD, 0x1000, 0x2000, "/no/ls");
	child = find(fixture, 160, CHILD, 4);

	assert_ptr_equal(find(fixture, 170, PID, 3), parent);
	assert_mapped(fixture, parent, 0x1000, "/no/sh");
	assert_mapped(fixture, child, 0x1000, "/no/ls");
	assert_mapped(fixture, child->previous, 0x1000, "/no/sh");
}

/* The thread that execs takes the place of the first one, which is reported to exit before. */
static void an_exec_of_another_thread_comes_after_an_exit(void **state)
{
	struct fixture *fixture = *state;
	struct process *old;
	const struct process *new;

	on_fork(fixture, 100, PID, 7);
	old = find(fixture, 110, PID, 1);
	on_exit_of(fixture, 120, PID);
	on_exec(fixture, 130, PID, "ls");
	new = find(fixture, 140, PID, 2);

	assert_ptr_equal(new->previous, old);
	assert_false(new->is_exited);
}

static void an_exited_process_keeps_answering(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	on_fork(fixture, 100, PID, 7);
	on_mmap(fixture, 110, PID, 0x1000, 0x2000, "/no/a");
	process = find(fixture, 120, PID, NO_GEN);
	on_exit_of(fixture, 130, PID);

	assert_true(process->is_exited);
	assert_ptr_equal(find(fixture, 140, PID, NO_GEN), process);
	on_mmap(fixture, 150, PID, 0x3000, 0x4000, "/no/b");
	on_rename(fixture, 150, PID, "late");
	assert_mapped(fixture, process, 0x1000, "/no/a");
	assert_mapped(fixture, process, 0x3000, "/no/b");
	assert_string_equal(process->comm, "late");
	assert_int_equal(process_table_get_count(fixture->table), 1);
}

/* The event comes before the kernel counts the exec; its process may be gone when it is read. */
static void a_sample_between_the_event_of_an_exec_and_its_counting_hides_no_mappings(void **state)
{
	struct fixture *fixture = *state;
	struct process *early;
	struct process *process;
	bool is_in_exec;

	on_fork(fixture, 90, 7, 1);
	on_fork(fixture, 100, PID, 7);
	on_exec(fixture, 110, PID, "ls");
	assert_int_equal(process_table_find(fixture->table, 111, PID, 5, true, &early, &is_in_exec),
			 0);
	on_mmap(fixture, 120, PID, 0x1000, 0x2000, "/no/ls");
	process = find(fixture, 130, PID, 6);

	assert_string_equal(process->comm, "ls");
	assert_int_equal(process->generation, 6);
	assert_mapped(fixture, process, 0x1000, "/no/ls");
}

/* As the kernel reports it of an exec that raises privileges. */
static void an_exec_whose_process_exits_and_maps_goes_on(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	on_fork(fixture, 100, PID, 7);
	on_mmap(fixture, 110, PID, 0x1000, 0x2000, "/no/sh");
	on_exec(fixture, 120, PID, "su");
	on_exit_of(fixture, 121, PID);
	on_mmap(fixture, 122, PID, 0x3000, 0x4000, "/no/su");
	process = find(fixture, 130, PID, NO_GEN);

	assert_false(process->is_exited);
	assert_string_equal(process->comm, "su");
	assert_mapped(fixture, process, 0x3000, "/no/su");
	on_exit_of(fixture, 140, PID);
	assert_true(process->is_exited);
}

static void a_fork_after_an_exit_reuses_the_pid(void **state)
{
	struct fixture *fixture = *state;
	const struct process *old;
	const struct process *new;

	on_fork(fixture, 90, 7, 1);
	on_fork(fixture, 100, PID, 7);
	on_mmap(fixture, 110, PID, 0x1000, 0x2000, "/no/a");
	old = find(fixture, 120, PID, 6);
	on_exit_of(fixture, 130, PID);
	on_fork(fixture, 140, PID, 7);
	new = find(fixture, 150, PID, 2);

	assert_ptr_not_equal(new, old);
	assert_null(new->previous);
	assert_false(new->is_exited);
	assert_int_equal(new->generation, 2);
	assert_mapped(fixture, new, 0x1000, NULL);
}

static void an_exit_of_nobody_known_does_nothing(void **state)
{
	struct fixture *fixture = *state;

	on_exit_of(fixture, 100, PID);
	assert_int_equal(process_table_get_count(fixture->table), 0);
	assert_int_equal(process_table_get_stats(fixture->table).exits, 1);
}

static void a_rename_changes_only_the_name(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	on_fork(fixture, 100, PID, 7);
	process = find(fixture, 110, PID, NO_GEN);
	on_rename(fixture, 120, PID, "a name of more than 15 bytes");

	assert_ptr_equal(find(fixture, 130, PID, NO_GEN), process);
	assert_string_equal(process->comm, "a name of more ");
	assert_int_equal(process_table_get_stats(fixture->table).execs, 0);
}

static void a_mapping_of_an_unknown_process_that_is_gone_counts(void **state)
{
	struct fixture *fixture = *state;

	on_mmap(fixture, 100, PID, 0x3000, 0x4000, "/no/b");
	assert_mapped(fixture, find(fixture, 110, PID, NO_GEN), 0x3000, "/no/b");
}

static void a_library_at_the_place_of_another_replaces_it(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;
	uint32_t version;

	on_fork(fixture, 100, PID, 7);
	on_mmap(fixture, 110, PID, 0x1000, 0x4000, "/no/a");
	process = find(fixture, 120, PID, NO_GEN);
	version = process->mappings_version;
	on_mmap(fixture, 130, PID, 0x1000, 0x3000, "/no/b");

	assert_mapped(fixture, process, 0x1000, "/no/b");
	assert_mapped(fixture, process, 0x3000, "/no/a");
	assert_int_equal(process->mappings_version, version + 1);
}

static void an_empty_mapping_is_ignored(void **state)
{
	struct fixture *fixture = *state;

	on_mmap(fixture, 100, PID, 0x1000, 0x1000, "/no/a");
	on_mmap(fixture, 100, PID, 0x2000, 0x1000, "/no/a");
	assert_int_equal(find(fixture, 110, PID, NO_GEN)->mappings_version, 0);
}

static void events_are_counted(void **state)
{
	struct fixture *fixture = *state;
	struct process_table_stats stats;

	on_fork(fixture, 100, PID, 7);
	on_fork(fixture, 110, CHILD, PID);
	on_exec(fixture, 120, CHILD, "ls");
	on_exit_of(fixture, 130, CHILD);
	stats = process_table_get_stats(fixture->table);

	assert_int_equal(stats.forks, 2);
	assert_int_equal(stats.execs, 1);
	assert_int_equal(stats.exits, 1);
}

static void write_details(struct fixture *fixture, unsigned pid, const char *comm, unsigned uid,
			  const char *command)
{
	char path[64];
	char text[64];

	snprintf(path, sizeof(path), "%u/status", pid);
	snprintf(text, sizeof(text), "Name:\t%s\nUid:\t%u\t%u\t%u\t%u\n", comm, uid, uid, uid, uid);
	fake_proc_write(&fixture->proc, path, text);
	snprintf(path, sizeof(path), "%u/cmdline", pid);
	fake_proc_write(&fixture->proc, path, command);
}

static void user_and_command_line_are_kept_where_they_are_wanted(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	add_process(fixture, PID, "server", "");
	write_details(fixture, PID, "server", 1000, "/bin/server -v");
	scan(fixture);
	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	assert_false(process->has_uid);
	assert_null(process->command_line);
	process_table_keep_details(fixture->table);
	scan(fixture);
	assert_true(process->has_uid);
	assert_int_equal(process->uid, 1000);
	assert_string_equal(process->command_line, "/bin/server -v");
	/* It sets a title. */
	write_details(fixture, PID, "server", 1000, "server: idle");
	assert_int_equal(process_table_refresh_details(fixture->table), 0);
	assert_string_equal(process->command_line, "server: idle");
}

static void a_child_has_its_parents_command_line_and_another_program_has_its_own(void **state)
{
	struct fixture *fixture = *state;
	const struct process *child;
	const struct process *program;

	process_table_keep_details(fixture->table);
	add_process(fixture, PID, "sh", "");
	write_details(fixture, PID, "sh", 1000, "/bin/sh");
	scan(fixture);
	on_fork(fixture, clock_now_ns(), CHILD, PID);
	child = find(fixture, clock_now_ns(), CHILD, NO_GEN);
	assert_int_equal(child->uid, 1000);
	assert_string_equal(child->command_line, "/bin/sh");
	on_exec(fixture, clock_now_ns(), CHILD, "ls");
	program = find(fixture, clock_now_ns(), CHILD, NO_GEN);
	assert_true(program->has_uid);
	assert_int_equal(program->uid, 1000);
	assert_null(program->command_line);
	assert_string_equal(child->command_line, "/bin/sh");
}

/* A build forks compilers with pages of options. */
static void a_command_line_is_shared_until_it_changes(void **state)
{
	struct fixture *fixture = *state;
	const struct process *parent;
	const struct process *child;

	process_table_keep_details(fixture->table);
	add_process(fixture, PID, "sh", "");
	write_details(fixture, PID, "sh", 1000, "/bin/sh");
	scan(fixture);
	on_fork(fixture, clock_now_ns(), CHILD, PID);
	child = find(fixture, clock_now_ns(), CHILD, NO_GEN);
	parent = process_table_get(fixture->table, child->id - 1);
	assert_ptr_equal(child->command_line, parent->command_line);
	assert_int_equal(process_table_refresh_details(fixture->table), 0);
	assert_ptr_equal(child->command_line, parent->command_line);
	write_details(fixture, PID, "sh", 1000, "sh: idle");
	assert_int_equal(process_table_refresh_details(fixture->table), 0);
	assert_string_equal(parent->command_line, "sh: idle");
	assert_string_equal(child->command_line, "/bin/sh");
}

/* The second one is read at its first sample. */
static void the_command_line_is_read_with_the_first_sample(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	process_table_keep_details(fixture->table);
	on_fork(fixture, 100, PID, 7);
	on_exec(fixture, 110, PID, "ls");
	add_process(fixture, PID, "ls", "");
	write_details(fixture, PID, "ls", 0, "ls -l");
	process = find(fixture, 120, PID, NO_GEN);
	assert_string_equal(process->command_line, "ls -l");
	assert_true(process->has_uid);
	assert_int_equal(process->uid, 0);
}

/* Its sample comes late: it has called exec meanwhile. */
static void the_command_line_of_the_next_program_is_not_taken(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	process_table_keep_details(fixture->table);
	on_fork(fixture, 100, PID, 7);
	on_exec(fixture, 110, PID, "sh");
	add_process(fixture, PID, "ls", "");
	write_details(fixture, PID, "ls", 0, "ls -l");
	process = find(fixture, 120, PID, NO_GEN);
	assert_null(process->command_line);
}

/* With single blanks between the words, which become NULs. */
static void write_words(struct fixture *fixture, unsigned pid, const char *comm, const char *line)
{
	_cleanup_(text_release) struct text path = {0};
	_cleanup_(text_release) struct text words = {0};
	FILE *file;

	write_details(fixture, pid, comm, 0, "");
	text_printf(&path, "%s/%u/cmdline", fixture->proc.root, pid);
	text_append(&words, line, strlen(line) + 1);
	for (size_t i = 0; i < words.length; i++)
		if (words.data[i] == ' ')
			words.data[i] = '\0';
	file = fopen(path.data, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(words.data, 1, words.length, file), words.length);
	assert_int_equal(fclose(file), 0);
}

static void what_interpreters_run_is_kept_where_it_is_wanted(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;
	const struct process *other;

	add_process(fixture, PID, "python3", "");
	write_words(fixture, PID, "python3", "python3 -u /srv/manage.py");
	add_process(fixture, CHILD, "cat", "");
	write_words(fixture, CHILD, "cat", "cat x");
	scan(fixture);
	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	other = find(fixture, clock_now_ns(), CHILD, NO_GEN);
	assert_string_equal(process_get_script(process), "");
	process_table_keep_scripts(fixture->table);
	scan(fixture);
	assert_string_equal(process_get_script(process), "manage.py");
	assert_string_equal(process_get_script(other), "");
	assert_false(process->has_uid); /* that is another question */
	/* It sets a title. */
	write_details(fixture, PID, "python3", 0, "worker: idle");
	scan(fixture);
	assert_string_equal(process_get_script(process), "manage.py");
}

static void what_is_run_stays_with_the_command_line(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	process_table_keep_scripts(fixture->table);
	process_table_keep_details(fixture->table);
	add_process(fixture, PID, "node", "");
	write_words(fixture, PID, "node", "node server.js");
	scan(fixture);
	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	assert_string_equal(process_get_script(process), "server.js");
	assert_string_equal(process->command_line, "node server.js");
	write_words(fixture, PID, "node", "web");
	assert_int_equal(process_table_refresh_details(fixture->table), 0);
	assert_string_equal(process_get_script(process), "server.js");
	assert_string_equal(process->command_line, "web");
}

static void a_fork_runs_what_its_parent_runs_until_it_calls_exec(void **state)
{
	struct fixture *fixture = *state;
	const struct process *child;
	const struct process *next;

	process_table_keep_scripts(fixture->table);
	add_process(fixture, PID, "bash", "");
	write_words(fixture, PID, "bash", "bash backup.sh");
	scan(fixture);
	on_fork(fixture, clock_now_ns(), CHILD, PID);
	child = find(fixture, clock_now_ns(), CHILD, NO_GEN);
	assert_string_equal(process_get_script(child), "backup.sh");
	on_exec(fixture, clock_now_ns(), CHILD, "python3");
	next = find(fixture, clock_now_ns(), CHILD, NO_GEN);
	assert_ptr_not_equal(next, child);
	assert_string_equal(process_get_script(next), "");
	assert_string_equal(process_get_script(child), "backup.sh");
}

static void what_was_read_at_an_exec_stays_when_the_process_is_gone(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text script = {0};

	process_table_keep_scripts(fixture->table);
	on_fork(fixture, 100, PID, 7);
	add_process(fixture, PID, "python3", "");
	write_words(fixture, PID, "python3", "python3 short.py");
	process_table_read_script(fixture->table, PID, "python3", &script);
	assert_string_equal(script.data, "short.py");
	write_details(fixture, PID, "other", 0, "");
	on_exec(fixture, 110, PID, "python3");
	assert_int_equal(process_table_set_script(fixture->table, 110, PID, script.data), 0);
	assert_string_equal(process_get_script(find(fixture, 120, PID, NO_GEN)), "short.py");
}

/* Between its exec and our reading it has called exec again. */
static void what_the_next_program_runs_is_not_taken(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text script = {0};

	process_table_keep_scripts(fixture->table);
	add_process(fixture, PID, "python3", "");
	write_words(fixture, PID, "python3", "python3 a.py");
	process_table_read_script(fixture->table, PID, "sh", &script);
	assert_int_equal(script.length, 0);
	process_table_read_script(fixture->table, PID, "cat", &script);
	process_table_read_script(fixture->table, CHILD, "python3", &script);
	assert_int_equal(script.length, 0);
}

static void news_that_are_older_than_the_scan_are_ignored(void **state)
{
	struct fixture *fixture = *state;

	process_table_keep_scripts(fixture->table);
	add_process(fixture, PID, "python3", "");
	write_words(fixture, PID, "python3", "python3 now.py");
	scan(fixture);
	assert_int_equal(process_table_set_script(fixture->table, 1, PID, "then.py"), 0);
	assert_int_equal(process_table_set_script(fixture->table, 1, CHILD, "nobody.py"), 0);
	assert_string_equal(process_get_script(find(fixture, clock_now_ns(), PID, NO_GEN)),
			    "now.py");
}

static void a_process_ends_with_its_last_thread_or_with_an_exec(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;
	const struct process *next;

	on_fork(fixture, 100, PID, 7);
	process = find(fixture, 105, PID, NO_GEN);
	assert_int_equal(process->end_ns, 0);
	on_exec(fixture, 110, PID, "ls");
	next = find(fixture, 115, PID, NO_GEN);
	assert_int_equal(process->end_ns, 110);
	process_table_on_thread_exit(fixture->table, 120, PID);
	assert_int_equal(next->end_ns, 0);
	on_exit_of(fixture, 130, PID);
	assert_int_equal(next->end_ns, 130);
	process_table_on_thread_exit(fixture->table, 140, PID);
	assert_int_equal(next->end_ns, 140);
	on_mmap(fixture, 150, PID, 0x1000, 0x2000, "/no/x");
	assert_int_equal(next->end_ns, 0);
}

/* Its first thread has ended, and others go on. */
static void a_process_that_proc_still_shows_has_not_ended(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	process_table_keep_details(fixture->table);
	add_process(fixture, PID, "server", "");
	scan(fixture);
	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	on_exit_of(fixture, clock_now_ns(), PID);
	assert_int_not_equal(process->end_ns, 0);
	assert_int_equal(process_table_refresh_details(fixture->table), 0);
	assert_int_equal(process->end_ns, 0);
}

/* Nobody has asked for its exit status, or another process has its pid. */
static void a_process_stays_ended_whatever_proc_shows_by_its_pid(void **state)
{
	struct fixture *fixture = *state;
	struct fake_process shown[] = {
		{.start_ticks = OLD_PROCESS, .state = 'Z'},
		{.start_ticks = OLD_PROCESS + 1},
	};
	const struct process *process;
	uint64_t end_ns;

	process_table_keep_details(fixture->table);
	add_process(fixture, PID, "server", "");
	scan(fixture);
	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	end_ns = clock_now_ns();
	on_exit_of(fixture, end_ns, PID);
	for (size_t i = 0; i < ARRAY_LENGTH(shown); i++) {
		shown[i].pid = PID;
		shown[i].parent_pid = 7;
		shown[i].comm = "server";
		shown[i].maps = "";
		fake_proc_add(&fixture->proc, shown[i]);
		assert_int_equal(process_table_refresh_details(fixture->table), 0);
		assert_int_equal(process->end_ns, end_ns);
	}
}

/* Processes that live, fork, call exec, map, are sampled, name their code, and end. */
static int run_events(struct fixture *fixture)
{
	struct process_table *table = fixture->table;
	const struct mapping library = {.start = 0x1000, .end = 0x4000, .file = FILE_NONE};
	const struct mapping memory = {.start = 0x2000, .end = 0x3000, .file = FILE_NONE};
	const struct file_identity file = {.path = "/no/lib.so"};
	const struct file_identity none = {.path = "//anon"};
	uint64_t now_ns;
	struct process *process = NULL;
	bool is_in_exec;
	int err = process_table_scan(table);

	now_ns = clock_now_ns();
	err = err ? err : process_table_on_fork(table, now_ns, CHILD, PID);
	err = err ? err : process_table_on_comm(table, now_ns + 1, CHILD, "node", true);
	err = err ? err : process_table_on_mmap(table, now_ns + 2, CHILD, &library, &file);
	err = err ? err : process_table_on_mmap(table, now_ns + 3, CHILD, &memory, &none);
	err = err ? err : process_table_set_script(table, now_ns + 4, CHILD, "a.js");
	err = err ? err
		  : process_table_find(table, now_ns + 5, CHILD, 5, false, &process, &is_in_exec);
	err = err ? err
		  : process_table_find(table, now_ns + 6, CHILD, 6, false, &process, &is_in_exec);
	err = err ? err
		  : process_table_find(table, now_ns + 7, PID, 1, false, &process, &is_in_exec);
	err = err ? err : process_table_look_for_moved(table, now_ns + 8, process->id);
	now_ns = clock_now_ns();
	err = err ? err : process_table_find(table, now_ns, PID, 1, false, &process, &is_in_exec);
	err = err ? err : process_table_follow_code(table, now_ns, process->id);
	err = err ? err : process_table_read_code(table, now_ns + NS_PER_SECOND);
	err = err ? err : process_table_on_exit(table, now_ns + 1, PID);
	err = err ? err : process_table_refresh_details(table);
	return err ? err : process_table_finish_code(table);
}

/* What a table remembers of processes that end, and of pids that others have, may be missing without memory; here there is some. */
static void prepare(struct fixture *fixture)
{
	on_fork(fixture, 100, 1000, 1001);
	on_exit_of(fixture, 110, 1000);
	process_table_keep_details(fixture->table);
	process_table_keep_scripts(fixture->table);
}

static void short_memory_is_an_error_and_what_comes_again_is_taken(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text map = {0};
	_cleanup_(text_release) struct text maps = {0};
	_cleanup_(text_release) struct text dump_path = {0};
	struct jitdump_writer dump = {.pid = PID};
	bool has_failed = true;
	unsigned long inode;
	FILE *file;

	text_printf(&map, "%u/root/tmp/perf-%u.map", PID, PID);
	jitdump_put_header(&dump, 0);
	jitdump_put_load(&dump, 1, 0x3100, 0x10, "second");
	text_printf(&maps, "%u/root/tmp/jit-%u.dump", PID, PID);
	dump_path = fake_proc_path(&fixture->proc, maps.data);
	file = fopen(dump_path.data, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(dump.text.data, 1, dump.text.length, file), dump.text.length);
	assert_int_equal(fclose(file), 0);
	text_release(&dump.text);
	inode = fake_proc_get_inode(&fixture->proc, maps.data);
	text_truncate(&maps, 0);
	text_printf(&maps,
		    "1000-2000 r-xp 0 fe:00 12 /no/node\n"
		    "3000-4000 r-xp 0 00:00 0 \n"
		    "5000-6000 r-xp 0 fe:00 %lu /tmp/jit-%u.dump\n",
		    inode, PID);
	fake_proc_add(&fixture->proc, (struct fake_process){.pid = PID,
							    .parent_pid = 7,
							    .comm = "node",
							    .maps = maps.data,
							    .start_ticks = OLD_PROCESS});
	write_details(fixture, PID, "node", getuid(), "node server.js");
	fake_proc_write(&fixture->proc, map.data, "3000 100 first\n");
	for (int64_t num_before = 0; has_failed; num_before++) {
		struct fixture fresh = {.proc = fixture->proc};
		const struct process *process;

		fresh.files = file_table_new(fresh.proc.root, NULL);
		fresh.table = process_table_new(fresh.proc.root, fresh.files);
		prepare(&fresh);
		failing_memory_start(num_before);
		has_failed = failing_memory_end_with(run_events(&fresh));
		/* It goes on. */
		assert_int_equal(run_events(&fresh), 0);
		process = find(&fresh, clock_now_ns(), PID, NO_GEN);
		assert_string_equal(process->comm, "node");
		assert_mapped(&fresh, process, 0x1000, "/no/node");
		assert_mapped(&fresh, process, 0x3000, "");
		assert_string_equal(process->command_line, "node server.js");
		assert_string_equal(process_find_code(process, 0x3000, UINT64_MAX), "first");
		assert_string_equal(process_find_code(process, 0x3100, UINT64_MAX), "second");
		process = find(&fresh, clock_now_ns(), CHILD, NO_GEN);
		assert_non_null(process->previous);
		process_table_free(fresh.table);
		file_table_free(fresh.files);
	}
}

static void a_table_without_memory_is_none(void **state)
{
	struct fixture *fixture = *state;

	for (int64_t num_before = 0; num_before < 2; num_before++) {
		failing_memory_start(num_before);
		assert_null(process_table_new("/proc", fixture->files));
		assert_true(failing_memory_end());
	}
}

/* Of what has scripts, by its whole name, and where scripts are wanted. */
static void a_script_is_read_where_it_is_wanted_and_of_no_one_else(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text script = {0};
	const struct process *process;

	add_process(fixture, PID, "python3", "");
	write_words(fixture, PID, "python3", "python3 a.py");
	process_table_read_script(fixture->table, PID, "python3", &script);
	assert_int_equal(script.length, 0);
	process_table_keep_scripts(fixture->table);
	process_table_read_script(fixture->table, PID, "", &script);
	assert_int_equal(script.length, 0);
	process_table_read_script(fixture->table, PID, "python3", &script);
	assert_string_equal(script.data, "a.py");
	/* The scan is younger. */
	scan(fixture);
	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	assert_int_equal(process_table_set_script(fixture->table, process->as_of_ns - 1, PID, "b"),
			 0);
	assert_string_equal(process_get_script(process), "a.py");
	assert_int_equal(process_table_set_script(fixture->table, process->as_of_ns, PID, "b"), 0);
	assert_string_equal(process_get_script(process), "b");
	assert_int_equal(process_table_set_script(fixture->table, UINT64_MAX, CHILD, "b"), 0);
}

/* It is so in each process that has mapped it, at these addresses only. */
static void a_file_that_is_overwritten_is_another_one_in_its_mappings(void **state)
{
	struct fixture *fixture = *state;
	struct written_file written = {0};
	struct process *process;
	uint64_t start_ns;
	uint32_t version;

	fake_proc_write(&fixture->proc, "8/root/lib/a.so", "\177ELF");
	start_ns = clock_now_ns();
	on_fork(fixture, start_ns, PID, 7);
	on_mmap(fixture, start_ns, PID, 0x1000, 0x3000, "/lib/a.so");
	on_mmap(fixture, start_ns, PID, 0x5000, 0x6000, "/lib/b.so");
	on_fork(fixture, start_ns, CHILD, PID);
	on_exit_of(fixture, start_ns, PID);
	process = find(fixture, start_ns, CHILD, NO_GEN);
	version = process->mappings_version;
	written.file = process_find_mapping(process, 0x1000)->file;
	assert_true(file_table_get(fixture->files, written.file)->fd >= 0);
	for (size_t i = 0; i < 2; i++) {
		const struct mapping *mapping;

		written.time_ns = start_ns + 1 + i;
		written.is_complete = i > 0;
		assert_int_equal(
			process_table_on_written(fixture->table, written.time_ns, &written), 0);
		mapping = process_find_mapping(process, 0x2fff);
		assert_int_equal(mapping->start, 0x1000);
		assert_int_equal(mapping->file == written.file, i);
		assert_int_equal(file_table_get(fixture->files, mapping->file)->build_id_differs,
				 !i);
		assert_true(process->mappings_version > version);
		version = process->mappings_version;
		assert_int_equal(process_get_replacing_version(process), version);
		assert_mapped(fixture, process, 0x1000, "/lib/a.so");
		assert_mapped(fixture, process, 0x5000, "/lib/b.so");
	}
	/* It has it already. */
	assert_int_equal(process_table_on_written(fixture->table, start_ns + 3, &written), 0);
	assert_int_equal(process->mappings_version, version);
	process = find(fixture, start_ns + 3, PID, NO_GEN);
	assert_int_equal(process_find_mapping(process, 0x1000)->file, written.file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_fork_copies_the_parent),
		TEST(a_child_of_an_unknown_parent_is_read_from_proc),
		TEST(a_child_that_is_gone_is_what_its_unknown_parent_was),
		TEST(a_child_of_nobody_known_is_empty),
		TEST(an_exec_starts_an_image_without_mappings),
		TEST(an_exec_of_an_unknown_process_that_is_gone_starts_one_image),
		TEST(a_sample_between_the_event_of_an_exec_and_its_counting_hides_no_mappings),
		TEST(a_mapping_with_the_time_of_the_exec_belongs_to_the_new_program),
		TEST(a_vfork_and_exec_leave_the_parent_alone),
		TEST(an_exec_of_another_thread_comes_after_an_exit),
		TEST(an_exited_process_keeps_answering),
		TEST(an_exec_whose_process_exits_and_maps_goes_on),
		TEST(a_fork_after_an_exit_reuses_the_pid),
		TEST(an_exit_of_nobody_known_does_nothing),
		TEST(a_rename_changes_only_the_name),
		TEST(a_mapping_of_an_unknown_process_that_is_gone_counts),
		TEST(a_library_at_the_place_of_another_replaces_it),
		TEST(an_empty_mapping_is_ignored),
		TEST(a_file_that_is_overwritten_is_another_one_in_its_mappings),
		TEST(events_are_counted),
		TEST(user_and_command_line_are_kept_where_they_are_wanted),
		TEST(a_child_has_its_parents_command_line_and_another_program_has_its_own),
		TEST(a_command_line_is_shared_until_it_changes),
		TEST(the_command_line_is_read_with_the_first_sample),
		TEST(the_command_line_of_the_next_program_is_not_taken),
		TEST(what_interpreters_run_is_kept_where_it_is_wanted),
		TEST(what_is_run_stays_with_the_command_line),
		TEST(a_fork_runs_what_its_parent_runs_until_it_calls_exec),
		TEST(what_was_read_at_an_exec_stays_when_the_process_is_gone),
		TEST(what_the_next_program_runs_is_not_taken),
		TEST(a_script_is_read_where_it_is_wanted_and_of_no_one_else),
		TEST(news_that_are_older_than_the_scan_are_ignored),
		TEST(a_process_ends_with_its_last_thread_or_with_an_exec),
		TEST(a_process_that_proc_still_shows_has_not_ended),
		TEST(a_process_stays_ended_whatever_proc_shows_by_its_pid),
		TEST(short_memory_is_an_error_and_what_comes_again_is_taken),
		TEST(a_table_without_memory_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
