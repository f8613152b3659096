/* Processes whose files in /proc are read too late, and are read again. The test makes answers late. */
#include "late_answers.h"

#define find find_of_opener
#include "process/slow_opener.c"
#undef find
#undef poll

#include "process/process_image.h"

#include "process_fixture.h"

#define MAPS     "10000-20000 r-xp 00000000 08:01 7 /some/program\n"
#define PC       0x10010
#define LATER_NS (clock_now_ns() + 3600 * NS_PER_SECOND)

static int set_up_opener(void **state)
{
	struct fixture *fixture;

	assert_int_equal(set_up(state), 0);
	fixture = *state;
	num_late = 0;
	assert_int_equal(file_table_start_opener(fixture->files), 0);
	add_process(fixture, PID, "some", MAPS);
	return 0;
}

/* Whether a sample that is younger than all before finds the mapping of PC; else it is looked for. */
static bool is_mapped(struct fixture *fixture)
{
	const struct process *process = find(fixture, LATER_NS, PID, NO_GEN);

	if (process_find_mapping(process, PC))
		return true;
	assert_int_equal(process_table_look_for_moved(fixture->table, LATER_NS, process->id), 0);
	return false;
}

static void pass_second(struct fixture *fixture)
{
	struct slow_opener *opener = file_table_get_opener(fixture->files);

	array_for_each (&opener->silent, process)
		process->failed_ns -= NS_PER_SECOND;
}

static void maps_that_are_late_once_are_read_at_once(void **state)
{
	struct fixture *fixture = *state;

	num_late = 1;
	scan(fixture);
	assert_true(is_mapped(fixture));
}

static void maps_that_are_late_twice_are_read_a_second_later(void **state)
{
	struct fixture *fixture = *state;

	num_late = 2;
	scan(fixture);
	assert_false(is_mapped(fixture));
	assert_false(is_mapped(fixture));
	pass_second(fixture);
	assert_false(is_mapped(fixture));
	assert_true(is_mapped(fixture));
	assert_int_equal(num_late, 0);
}

/* Samples ask for maps without end, the opener only some times. */
static void maps_that_never_come_are_asked_for_some_times(void **state)
{
	struct fixture *fixture = *state;
	struct slow_opener *opener = file_table_get_opener(fixture->files);

	num_late = 100;
	scan(fixture);
	for (int i = 0; i < 20; i++) {
		assert_false(is_mapped(fixture));
		pass_second(fixture);
	}
	assert_int_equal(slow_opener_get_counts(opener).num_late, 4);
	assert_int_equal(num_late, 96);
}

/* Each of these takes a while until the next, whatever came before. */
static void the_pause_between_readings_stays_short_while_they_are_late(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;
	const struct process_image *image;

	num_late = 100;
	scan(fixture);
	process = find(fixture, LATER_NS, PID, NO_GEN);
	image = (const struct process_image *)process;
	for (int i = 0; i < 20; i++)
		assert_int_equal(
			process_table_look_for_moved(fixture->table, LATER_NS, process->id), 0);
	assert_in_range(image->code->move_pause_ns, NS_PER_SECOND / 2, NS_PER_SECOND);
	assert_in_range(image->code->next_move_ns, clock_now_ns(), clock_now_ns() + NS_PER_SECOND);
}

#define JAVA_MAPS    "10000-20000 r-xp 00000000 08:01 7 /no/lib/server/libjvm.so\n"
#define JAVA_OPTIONS "JAVA_TOOL_OPTIONS=-XX:+PreserveFramePointer"

static void options_of_a_runtime_that_are_late_are_read_later(void **state)
{
	struct fixture *fixture = *state;
	const struct process *process;
	struct image_code *code;

	add_process(fixture, CHILD, "java", JAVA_MAPS);
	fake_proc_write(&fixture->proc, "9/cmdline", "java");
	fake_proc_write(&fixture->proc, "9/environ", JAVA_OPTIONS);
	scan(fixture);
	process = find(fixture, LATER_NS, CHILD, NO_GEN);
	code = ((const struct process_image *)process)->code;
	num_late = 2;
	assert_false(process_table_keeps_frame_pointers(fixture->table, process->id));
	assert_int_equal(num_late, 0);
	/* It is asked after a pause only. */
	pass_second(fixture);
	assert_false(process_table_keeps_frame_pointers(fixture->table, process->id));
	code->next_runtime_ns = 0;
	assert_true(process_table_keeps_frame_pointers(fixture->table, process->id));
	/* And no more when it is known. */
	code->next_runtime_ns = 0;
	num_late = 2;
	assert_true(process_table_keeps_frame_pointers(fixture->table, process->id));
	assert_int_equal(num_late, 2);
}

#define LATE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_opener, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LATE_TEST(maps_that_are_late_once_are_read_at_once),
		LATE_TEST(maps_that_are_late_twice_are_read_a_second_later),
		LATE_TEST(maps_that_never_come_are_asked_for_some_times),
		LATE_TEST(options_of_a_runtime_that_are_late_are_read_later),
		LATE_TEST(the_pause_between_readings_stays_short_while_they_are_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
