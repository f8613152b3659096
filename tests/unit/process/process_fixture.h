/*
 * A process table on a fake /proc, and events and questions in one line each. Times are in ns;
 * files are at paths that do not exist, because only their names matter here.
 */
#ifndef PROCESS_FIXTURE_H
#define PROCESS_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fake_proc.h"
#include "process/process_table.h"
#include "unit.h"

#define PID         8
#define CHILD       9
#define OLD_PROCESS 1 /* start time in ticks: just after the machine's start */
#define NO_GEN      GENERATION_UNKNOWN

struct fixture {
	struct fake_proc proc;
	struct file_table *files;
	struct process_table *table;
};

static inline int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->proc = fake_proc_new();
	fixture->files = file_table_new(fixture->proc.root, NULL);
	fixture->table = process_table_new(fixture->proc.root, fixture->files);
	*state = fixture;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;

	process_table_free(fixture->table);
	file_table_free(fixture->files);
	fake_proc_remove(&fixture->proc);
	free(fixture);
	return 0;
}

static inline void on_fork(struct fixture *fixture, uint64_t time_ns, pid_t pid, pid_t parent_pid)
{
	assert_int_equal(process_table_on_fork(fixture->table, time_ns, pid, parent_pid), 0);
}

static inline void on_exec(struct fixture *fixture, uint64_t time_ns, pid_t pid, const char *comm)
{
	assert_int_equal(process_table_on_comm(fixture->table, time_ns, pid, comm, true), 0);
}

static inline void on_rename(struct fixture *fixture, uint64_t time_ns, pid_t pid, const char *comm)
{
	assert_int_equal(process_table_on_comm(fixture->table, time_ns, pid, comm, false), 0);
}

static inline void on_mmap(struct fixture *fixture, uint64_t time_ns, pid_t pid, uint64_t start,
			   uint64_t end, const char *path)
{
	struct mapping mapping = {.start = start, .end = end, .file = FILE_NONE};
	struct file_identity identity = {.path = path};

	assert_int_equal(process_table_on_mmap(fixture->table, time_ns, pid, &mapping, &identity),
			 0);
}

static inline void on_exit_of(struct fixture *fixture, uint64_t time_ns, pid_t pid)
{
	assert_int_equal(process_table_on_exit(fixture->table, time_ns, pid), 0);
}

static inline struct process *find_in_exec(struct fixture *fixture, uint64_t time_ns, pid_t pid,
					   uint64_t generation, bool is_in_exec)
{
	struct process *process;
	bool found_in_exec;

	assert_int_equal(process_table_find(fixture->table, time_ns, pid, generation, false,
					    &process, &found_in_exec),
			 0);
	assert_int_equal(found_in_exec, is_in_exec);
	assert_int_equal(process->pid, pid);
	return process;
}

static inline struct process *find(struct fixture *fixture, uint64_t time_ns, pid_t pid,
				   uint64_t generation)
{
	return find_in_exec(fixture, time_ns, pid, generation, false);
}

static inline void scan(struct fixture *fixture)
{
	assert_int_equal(process_table_scan(fixture->table), 0);
}

static inline void add_process(struct fixture *fixture, unsigned pid, const char *comm,
			       const char *maps)
{
	fake_proc_add(&fixture->proc, (struct fake_process){
					      .pid = pid,
					      .parent_pid = 7,
					      .comm = comm,
					      .maps = maps,
					      .start_ticks = OLD_PROCESS,
				      });
}

/* path is NULL where nothing is mapped, and "" for memory. */
static inline void assert_mapped(struct fixture *fixture, const struct process *process,
				 uint64_t pc, const char *path)
{
	const struct mapping *mapping = process_find_mapping(process, pc);

	if (!path) {
		assert_null(mapping);
		return;
	}
	assert_non_null(mapping);
	if (path[0] == '\0')
		assert_int_equal(mapping->file, FILE_NONE);
	else
		assert_string_equal(file_table_get(fixture->files, mapping->file)->path, path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
