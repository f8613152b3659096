/*
 * How the HotSpots of processes come to be known. What is in files and in the memory of processes is said by the test, which has the
 * functions that are asked for it, and the clock.
 */
#include "collect/runtimes/hotspot_layouts.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include "base/clock.h"
#include "unit.h"

#define NUM_FILES   4
#define HOTSPOT     1 /* the file that has one */
#define NO_FILE     2 /* whose content nobody can read */
#define OTHER       3 /* has another one */
#define PID         7
#define NUM_PIDS    4
#define START       0x7f0000400000ull
#define ELF_ADDRESS 0x1000

static const struct mapped_file mapped_files[NUM_FILES];
static const struct runtime_build build = {
	.runtime = WIRE_RUNTIME_HOTSPOT, .support = SUPPORT_BY_PROCESS, .hotspot = {1, 2, 3}};
static const struct runtime_build other_build = {.runtime = WIRE_RUNTIME_PERL,
						 .hotspot = {1, 2, 3}};
static struct objfile_segment segment = {.file_offset = 0x1000,
					 .file_size = 0x2000,
					 .elf_address = ELF_ADDRESS,
					 .memory_size = 0x2000,
					 .is_executable = true};
static const struct objfile_layout segments = {
	.segments = {.items = &segment, .length = 1, .capacity = 1}};

/* What the memory says next, and how often it was asked. */
static int error;
static unsigned int num_reads;
static unsigned int major;
static uint64_t now_ns;

int clock_gettime(clockid_t clock _unused_, struct timespec *ret)
{
	ret->tv_sec = (time_t)(now_ns / NS_PER_SECOND);
	ret->tv_nsec = (long)(now_ns % NS_PER_SECOND);
	return 0;
}

const struct mapped_file *file_table_get(const struct file_table *table _unused_, uint32_t file)
{
	assert_true(file < NUM_FILES);
	return &mapped_files[file];
}

struct slow_opener *file_table_get_opener(const struct file_table *table _unused_)
{
	return NULL;
}

const struct mapping *process_get_mappings(const struct process *process _unused_,
					   size_t *ret_count)
{
	*ret_count = 0;
	return NULL;
}

const struct runtime_build *elf_files_get_runtime(const struct elf_files *files _unused_,
						  const struct mapped_file *mapped)
{
	return mapped == &mapped_files[0] ? &other_build : &build;
}

int elf_files_get_layout(const struct elf_files *files _unused_, const struct mapped_file *mapped,
			 const struct objfile_layout **ret)
{
	if (mapped == &mapped_files[NO_FILE])
		return -ETIMEDOUT;
	*ret = &segments;
	return 0;
}

int hotspot_read_layout(const struct hotspot_build *asked, uint64_t bias,
			const struct hotspot_memory *memory, struct hotspot_layout *ret)
{
	num_reads++;
	assert_ptr_equal(asked, &build.hotspot);
	assert_true(bias == START - ELF_ADDRESS);
	assert_non_null(memory->read);
	if (error)
		return error;
	*ret = (struct hotspot_layout){.support = SUPPORT_KNOWN, .major = major};
	return 0;
}

static int set_up(void **state)
{
	*state = hotspot_layouts_new(NULL, NULL);
	assert_non_null(*state);
	error = 0;
	num_reads = 0;
	major = 17;
	now_ns = NS_PER_SECOND;
	return 0;
}

static int tear_down(void **state)
{
	hotspot_layouts_free(*state);
	return 0;
}

static enum hotspot_presence ask_of(struct hotspot_layouts *hotspots, uint32_t process_id,
				    uint32_t file, const struct hotspot_layout **ret)
{
	const struct process process = {.id = process_id, .pid = PID};
	const struct mapping mapping = {
		.start = START, .end = START + 0x2000, .file_offset = 0x1000, .file = file};
	uint64_t bias = 0;
	enum hotspot_presence presence =
		hotspot_layouts_read(hotspots, &process, &mapping, ret, &bias);

	if (presence == HOTSPOT_READ)
		assert_true(bias == START - ELF_ADDRESS);
	return presence;
}

static enum hotspot_presence ask(struct hotspot_layouts *hotspots, uint32_t file,
				 const struct hotspot_layout **ret)
{
	return ask_of(hotspots, 0, file, ret);
}

static void other_files_are_not_asked_for(void **state)
{
	const struct hotspot_layout *layout;

	assert_int_equal(ask(*state, 0, &layout), HOTSPOT_ABSENT);
	assert_int_equal(ask(*state, FILE_NONE, &layout), HOTSPOT_ABSENT);
	assert_int_equal(ask(*state, NO_FILE, &layout), HOTSPOT_ABSENT);
	assert_int_equal(num_reads, 0);
}

static void memory_is_asked_until_it_says_something_and_not_again(void **state)
{
	const struct hotspot_layout *layout = NULL;

	error = -EAGAIN;
	assert_int_equal(ask(*state, HOTSPOT, &layout), HOTSPOT_UNREAD);
	now_ns += NS_PER_SECOND;
	error = -EFAULT;
	assert_int_equal(ask(*state, HOTSPOT, &layout), HOTSPOT_UNREAD);
	assert_null(layout);
	now_ns += NS_PER_SECOND;
	error = 0;
	assert_int_equal(ask(*state, HOTSPOT, &layout), HOTSPOT_READ);
	assert_int_equal(layout->support, SUPPORT_KNOWN);
	assert_int_equal(layout->major, 17);
	assert_int_equal(num_reads, 3);
	now_ns += NS_PER_SECOND;
	error = -EFAULT;
	assert_int_equal(ask(*state, HOTSPOT, &layout), HOTSPOT_READ);
	assert_int_equal(layout->major, 17);
	assert_int_equal(num_reads, 3);
}

/* The first that has the file mapped may be anybody. */
static void each_process_says_its_own(void **state)
{
	const struct hotspot_layout *first = NULL;
	const struct hotspot_layout *second = NULL;

	assert_int_equal(ask_of(*state, 0, HOTSPOT, &first), HOTSPOT_READ);
	error = -EAGAIN;
	assert_int_equal(ask_of(*state, 1, HOTSPOT, &second), HOTSPOT_UNREAD);
	assert_null(second);
	now_ns += NS_PER_SECOND;
	error = 0;
	major = 21;
	assert_int_equal(ask_of(*state, 1, HOTSPOT, &second), HOTSPOT_READ);
	assert_int_equal(second->major, 21);
	assert_int_equal(first->major, 17);
	assert_int_equal(ask_of(*state, 0, HOTSPOT, &second), HOTSPOT_READ);
	assert_ptr_equal(second, first);
}

static void a_process_runs_the_one_that_says_something(void **state)
{
	const struct hotspot_layout *layout = NULL;

	assert_int_equal(ask(*state, HOTSPOT, &layout), HOTSPOT_READ);
	now_ns += NS_PER_SECOND;
	assert_int_equal(ask(*state, OTHER, &layout), HOTSPOT_ABSENT);
	assert_int_equal(num_reads, 1);
	assert_int_equal(ask(*state, HOTSPOT, &layout), HOTSPOT_READ);
}

/* As the other one never starts. */
static void files_are_not_in_each_others_way(void **state)
{
	const struct hotspot_layout *layout = NULL;

	error = -EAGAIN;
	assert_int_equal(ask(*state, HOTSPOT, &layout), HOTSPOT_UNREAD);
	assert_int_equal(ask(*state, HOTSPOT, &layout), HOTSPOT_UNREAD);
	assert_int_equal(num_reads, 1);
	error = 0;
	assert_int_equal(ask(*state, OTHER, &layout), HOTSPOT_READ);
	assert_int_equal(num_reads, 2);
}

/* Its pid may be that of another one. */
static void what_has_ended_is_not_read(void **state)
{
	const struct process exited = {.id = 0, .pid = PID, .is_exited = true};
	const struct process image = {.id = 1, .pid = PID, .end_ns = now_ns};
	const struct mapping mapping = {
		.start = START, .end = START + 0x2000, .file_offset = 0x1000, .file = HOTSPOT};
	const struct hotspot_layout *layout;
	uint64_t bias;

	assert_int_equal(hotspot_layouts_read(*state, &exited, &mapping, &layout, &bias),
			 HOTSPOT_UNREAD);
	assert_int_equal(hotspot_layouts_read(*state, &image, &mapping, &layout, &bias),
			 HOTSPOT_UNREAD);
	assert_int_equal(num_reads, 0);
}

/* Each sample of a process may ask. */
static void nothing_is_read_between_two_attempts(void **state)
{
	const struct hotspot_layout *layout;

	error = -EAGAIN;
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(ask(*state, HOTSPOT, &layout), HOTSPOT_UNREAD);
		now_ns += 1000;
	}
	assert_int_equal(num_reads, 1);
	error = 0;
	assert_int_equal(ask_of(*state, 1, HOTSPOT, &layout), HOTSPOT_READ);
	assert_int_equal(num_reads, 2);
}

/* With a clock that goes on for a millisecond at a time, which is when something asks. */
static uint64_t ask_until_it_is_given_up(struct hotspot_layouts *hotspots, uint32_t process_id)
{
	const struct hotspot_layout *layout;
	uint64_t start_ns = now_ns;

	while (ask_of(hotspots, process_id, HOTSPOT, &layout) == HOTSPOT_UNREAD) {
		now_ns += NS_PER_MS;
		assert_true(now_ns - start_ns < 3600 * NS_PER_SECOND);
	}
	assert_int_equal(ask_of(hotspots, process_id, HOTSPOT, &layout), HOTSPOT_UNREADABLE);
	return (now_ns - start_ns) / NS_PER_SECOND;
}

static void a_start_may_take_minutes_and_is_seldom_asked_for(void **state)
{
	error = -EAGAIN;
	assert_true(ask_until_it_is_given_up(*state, 0) > 300);
	assert_in_range(num_reads, 2, 100);
}

static void what_is_given_up_is_in_nobody_elses_way(void **state)
{
	const struct hotspot_layout *layout;

	error = -EPERM;
	for (uint32_t i = 0; i < NUM_PIDS; i++)
		ask_until_it_is_given_up(*state, i);
	error = 0;
	assert_int_equal(ask_of(*state, 0, HOTSPOT, &layout), HOTSPOT_UNREADABLE);
	assert_int_equal(ask_of(*state, NUM_PIDS, HOTSPOT, &layout), HOTSPOT_READ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(other_files_are_not_asked_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			memory_is_asked_until_it_says_something_and_not_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_process_says_its_own, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_process_runs_the_one_that_says_something, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(files_are_not_in_each_others_way, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_has_ended_is_not_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_read_between_two_attempts, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_start_may_take_minutes_and_is_seldom_asked_for,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_given_up_is_in_nobody_elses_way, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
