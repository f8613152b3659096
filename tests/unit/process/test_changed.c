/*
 * The list of changed images: what puts an image on it, and that it is there once.
 */
#include "process/process_table.h"

#include "base/clock.h"
#include "process_fixture.h"
#include "unit.h"

#define NOTHING UINT32_MAX

/* The id of the image that is taken, or NOTHING. */
static uint32_t take(struct fixture *fixture)
{
	uint32_t id = NOTHING;
	bool is_taken = process_table_take_changed(fixture->table, &id);

	assert_int_equal(is_taken, id != NOTHING);
	return id;
}

static void take_all(struct fixture *fixture)
{
	while (take(fixture) != NOTHING)
		;
}

/* Exactly this one is listed. */
static void assert_takes(struct fixture *fixture, const struct process *process)
{
	assert_int_equal(take(fixture), process->id);
	assert_int_equal(take(fixture), NOTHING);
}

/* A process that is known, and has been taken. */
static const struct process *fork_and_take(struct fixture *fixture, uint64_t time_ns, pid_t pid)
{
	on_fork(fixture, time_ns, pid, 7);
	take_all(fixture);
	return find(fixture, time_ns, pid, NO_GEN);
}

static void at_first_nothing_has_changed(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(take(fixture), NOTHING);
	assert_int_equal(take(fixture), NOTHING);
}

static void every_scanned_process_is_listed(void **state)
{
	struct fixture *fixture = *state;
	uint32_t first;
	uint32_t second;

	add_process(fixture, PID, "a", "1000-2000 r-xp 0 fe:00 12 /no/a\n");
	add_process(fixture, CHILD, "b", "");
	scan(fixture);
	first = take(fixture);
	second = take(fixture);

	assert_int_equal(take(fixture), NOTHING);
	assert_int_equal(first + second, 1);
	assert_int_not_equal(first, second);
}

static void a_process_that_is_scanned_again_is_listed_again(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	add_process(fixture, PID, "a", "1000-2000 r-xp 0 fe:00 12 /no/a\n");
	scan(fixture);
	take_all(fixture);
	add_process(fixture, PID, "a", "3000-4000 r-xp 0 fe:00 13 /no/b\n");
	scan(fixture);

	process = find(fixture, clock_now_ns(), PID, NO_GEN);
	assert_takes(fixture, process);
}

static void a_process_that_a_question_finds_in_proc_is_listed(void **state)
{
	struct fixture *fixture = *state;

	add_process(fixture, PID, "a", "1000-2000 r-xp 0 fe:00 12 /no/a\n");
	assert_takes(fixture, find(fixture, clock_now_ns(), PID, NO_GEN));
}

static void a_process_that_is_gone_when_it_is_asked_for_is_listed(void **state)
{
	struct fixture *fixture = *state;

	assert_takes(fixture, find(fixture, 100, PID, NO_GEN));
}

static void a_fork_lists_the_child(void **state)
{
	struct fixture *fixture = *state;

	fork_and_take(fixture, 100, PID);
	on_fork(fixture, 110, CHILD, PID);
	assert_takes(fixture, find(fixture, 120, CHILD, NO_GEN));
}

static void an_exec_lists_the_new_image(void **state)
{
	struct fixture *fixture = *state;
	const struct process *old = fork_and_take(fixture, 100, PID);
	const struct process *new;

	on_exec(fixture, 110, PID, "ls");
	new = find(fixture, 120, PID, NO_GEN);
	assert_ptr_not_equal(new, old);
	assert_takes(fixture, new);
}

static void a_mapping_lists_its_process(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process = fork_and_take(fixture, 100, PID);

	on_mmap(fixture, 110, PID, 0x1000, 0x2000, "/no/a");
	assert_takes(fixture, process);
}

static void a_mapping_that_is_empty_lists_nothing(void **state)
{
	struct fixture *fixture = *state;

	fork_and_take(fixture, 100, PID);
	on_mmap(fixture, 110, PID, 0x1000, 0x1000, "/no/a");
	assert_int_equal(take(fixture), NOTHING);
}

static void a_mapping_that_the_scan_has_seen_lists_nothing(void **state)
{
	struct fixture *fixture = *state;

	add_process(fixture, PID, "a", "1000-2000 r-xp 0 fe:00 12 /no/a\n");
	scan(fixture);
	take_all(fixture);
	on_mmap(fixture, 1, PID, 0x1000, 0x2000, "/no/a");
	assert_int_equal(take(fixture), NOTHING);
}

static void an_exit_lists_its_process(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process = fork_and_take(fixture, 100, PID);

	on_exit_of(fixture, 110, PID);
	assert_takes(fixture, process);
	assert_true(process->is_exited);
}

static void an_exit_of_nobody_known_lists_nothing(void **state)
{
	struct fixture *fixture = *state;

	on_exit_of(fixture, 100, PID);
	assert_int_equal(take(fixture), NOTHING);
}

static void a_rename_lists_nothing(void **state)
{
	struct fixture *fixture = *state;

	fork_and_take(fixture, 100, PID);
	on_rename(fixture, 110, PID, "worker");
	assert_int_equal(take(fixture), NOTHING);
}

static void the_first_generation_that_a_sample_brings_lists_its_process(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process = fork_and_take(fixture, 100, PID);

	find(fixture, 110, PID, 3);
	assert_takes(fixture, process);
	assert_int_equal(process->generation, 3);
}

static void the_same_generation_again_lists_nothing(void **state)
{
	struct fixture *fixture = *state;

	fork_and_take(fixture, 100, PID);
	find(fixture, 110, PID, 3);
	take_all(fixture);
	find(fixture, 120, PID, 3);
	find(fixture, 130, PID, NO_GEN);
	assert_int_equal(take(fixture), NOTHING);
}

static void an_older_generation_lists_nothing(void **state)
{
	struct fixture *fixture = *state;

	fork_and_take(fixture, 100, PID);
	find(fixture, 110, PID, 3);
	take_all(fixture);
	find_in_exec(fixture, 120, PID, 2, true);
	assert_int_equal(take(fixture), NOTHING);
}

static void an_exec_that_only_a_sample_shows_lists_the_new_image(void **state)
{
	struct fixture *fixture = *state;

	fork_and_take(fixture, 100, PID);
	find(fixture, 110, PID, 3);
	take_all(fixture);
	assert_takes(fixture, find(fixture, 120, PID, 4));
}

static void an_image_that_changes_often_is_listed_once(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;

	on_fork(fixture, 100, PID, 7);
	on_mmap(fixture, 110, PID, 0x1000, 0x2000, "/no/a");
	on_mmap(fixture, 120, PID, 0x3000, 0x4000, "/no/b");
	process = find(fixture, 130, PID, 3);
	on_exit_of(fixture, 140, PID);
	assert_takes(fixture, process);
}

static void images_are_taken_in_the_order_of_their_first_change(void **state)
{
	struct fixture *fixture = *state;
	const struct process *first = fork_and_take(fixture, 100, PID);
	const struct process *second = fork_and_take(fixture, 110, CHILD);

	on_mmap(fixture, 120, CHILD, 0x1000, 0x2000, "/no/b");
	on_mmap(fixture, 130, PID, 0x1000, 0x2000, "/no/a");
	on_mmap(fixture, 140, CHILD, 0x3000, 0x4000, "/no/c");
	assert_int_equal(take(fixture), second->id);
	assert_int_equal(take(fixture), first->id);
	assert_int_equal(take(fixture), NOTHING);
}

static void an_image_that_changes_after_it_was_taken_comes_again_at_the_end(void **state)
{
	struct fixture *fixture = *state;
	const struct process *first = fork_and_take(fixture, 100, PID);
	const struct process *second = fork_and_take(fixture, 110, CHILD);

	on_mmap(fixture, 120, PID, 0x1000, 0x2000, "/no/a");
	on_mmap(fixture, 130, CHILD, 0x1000, 0x2000, "/no/b");
	assert_int_equal(take(fixture), first->id);
	on_mmap(fixture, 140, PID, 0x3000, 0x4000, "/no/c");
	assert_int_equal(take(fixture), second->id);
	assert_int_equal(take(fixture), first->id);
	assert_int_equal(take(fixture), NOTHING);
}

static void what_was_emptied_fills_again(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process = fork_and_take(fixture, 100, PID);

	for (uint64_t i = 1; i <= 100; i++) {
		on_mmap(fixture, 100 + i, PID, i << 16, (i << 16) + 0x1000, "/no/a");
		assert_takes(fixture, process);
	}
}

static void mappings_are_given_by_address(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process = fork_and_take(fixture, 100, PID);
	const struct mapping *mappings;
	size_t count;

	on_mmap(fixture, 110, PID, 0x5000, 0x6000, "/no/c");
	on_mmap(fixture, 120, PID, 0x1000, 0x2000, "/no/a");
	on_mmap(fixture, 130, PID, 0x3000, 0x4000, "/no/b");
	mappings = process_get_mappings(process, &count);

	assert_int_equal(count, 3);
	for (size_t i = 0; i < count; i++) {
		assert_true(mappings[i].start == 0x1000 + 0x2000 * i);
		assert_true(mappings[i].end == mappings[i].start + 0x1000);
		assert_ptr_equal(process_find_mapping(process, mappings[i].start), &mappings[i]);
	}
}

static void a_process_without_mappings_gives_none(void **state)
{
	struct fixture *fixture = *state;
	size_t count = 1;

	process_get_mappings(fork_and_take(fixture, 100, PID), &count);
	assert_int_equal(count, 0);
}

static void an_exec_that_the_scan_has_seen_lists_its_image_for_the_generation(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;
	uint32_t id;

	add_process(fixture, PID, "a", "1000-2000 r-xp 0 fe:00 12 /no/a\n");
	scan(fixture);
	process = find(fixture, clock_now_ns(), PID, 3);
	take_all(fixture);
	on_exec(fixture, process->as_of_ns - 1, PID, "ls");

	assert_int_equal(process->generation, 4);
	assert_true(process_table_take_changed(fixture->table, &id));
	assert_int_equal(id, process->id);
}

static void a_process_whose_pid_is_used_again_is_listed_as_ended(void **state)
{
	struct fixture *fixture = *state;
	const struct process *old;
	uint32_t id;
	bool is_listed = false;

	on_fork(fixture, 100, PID, 7);
	old = find(fixture, 110, PID, NO_GEN);
	take_all(fixture);
	on_fork(fixture, 120, PID, 7);

	assert_true(old->is_exited);
	while (process_table_take_changed(fixture->table, &id))
		is_listed |= id == old->id;
	assert_true(is_listed);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(an_exec_that_the_scan_has_seen_lists_its_image_for_the_generation),
		TEST(a_process_whose_pid_is_used_again_is_listed_as_ended),
		TEST(at_first_nothing_has_changed),
		TEST(every_scanned_process_is_listed),
		TEST(a_process_that_is_scanned_again_is_listed_again),
		TEST(a_process_that_a_question_finds_in_proc_is_listed),
		TEST(a_process_that_is_gone_when_it_is_asked_for_is_listed),
		TEST(a_fork_lists_the_child),
		TEST(an_exec_lists_the_new_image),
		TEST(a_mapping_lists_its_process),
		TEST(a_mapping_that_is_empty_lists_nothing),
		TEST(a_mapping_that_the_scan_has_seen_lists_nothing),
		TEST(an_exit_lists_its_process),
		TEST(an_exit_of_nobody_known_lists_nothing),
		TEST(a_rename_lists_nothing),
		TEST(the_first_generation_that_a_sample_brings_lists_its_process),
		TEST(the_same_generation_again_lists_nothing),
		TEST(an_older_generation_lists_nothing),
		TEST(an_exec_that_only_a_sample_shows_lists_the_new_image),
		TEST(an_image_that_changes_often_is_listed_once),
		TEST(images_are_taken_in_the_order_of_their_first_change),
		TEST(an_image_that_changes_after_it_was_taken_comes_again_at_the_end),
		TEST(what_was_emptied_fills_again),
		TEST(mappings_are_given_by_address),
		TEST(a_process_without_mappings_gives_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
