/*
 * Records of threads are one stream of bytes: the size of each record, and how long a reader waits.
 * Files and pipes are in the place of the kernel's, and time passes as the test says.
 */
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"

static unsigned int total_reads;
static int step_s; /* by which time passes with each look at the clock; 0: real time */
static uint64_t passed_ns;

static ssize_t counted_read(int fd, void *ret, size_t size)
{
	total_reads++;
	return read(fd, ret, size);
}

static uint64_t read_now(void)
{
	passed_ns += (uint64_t)step_s * NS_PER_SECOND;
	return clock_now_ns() + passed_ns;
}

static int poll_at_once(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	return poll(fds, count, step_s ? 0 : timeout_ms);
}

#define read(fd, ret, size)       counted_read(fd, ret, size)
#define clock_now_ns()            read_now()
#define poll(fds, count, timeout) poll_at_once(fds, count, timeout)
#include "collect/programs/thread_iterator.c"
#undef read
#undef clock_now_ns
#undef poll

#include "base/attributes.h"
#include "unit.h"
#include "wire/wire.h"

#include <fcntl.h>

static const size_t stack_head = offsetof(struct wire_stack, pcs);
static const size_t raw_head = offsetof(struct wire_raw_sample, bytes);

static void a_stack_is_as_long_as_it_has_frames(_unused_ void **state)
{
	struct wire_stack stack = {.type = WIRE_STACK, .num_frames = 3};
	size_t size = stack_head + 3 * sizeof(stack.pcs[0]);

	assert_int_equal(thread_iterator_measure_record(&stack, sizeof(stack)), size);
	assert_int_equal(thread_iterator_measure_record(&stack, size), size);
	stack.num_frames = 0;
	assert_int_equal(thread_iterator_measure_record(&stack, size), stack_head);
}

static void a_sample_has_one_size(_unused_ void **state)
{
	struct wire_sample sample = {.type = WIRE_SAMPLE};

	assert_int_equal(thread_iterator_measure_record(&sample, sizeof(sample)), sizeof(sample));
}

static void a_raw_sample_is_as_long_as_both_parts_of_its_stack(_unused_ void **state)
{
	static struct wire_raw_sample raw = {
		.sample.type = WIRE_RAW_SAMPLE, .num_bytes = 4001, .num_far_bytes = 500};

	assert_int_equal(thread_iterator_measure_record(&raw, sizeof(raw)), raw_head + 4501);
}

/* However much of it is missing. */
static void a_record_that_is_not_whole_has_no_size_yet(_unused_ void **state)
{
	static struct wire_raw_sample raw = {.sample.type = WIRE_RAW_SAMPLE, .num_bytes = 100};
	struct wire_stack stack = {.type = WIRE_STACK, .num_frames = 3};
	struct wire_sample sample = {.type = WIRE_SAMPLE};

	for (size_t size = 0; size < raw_head + 100; size++)
		assert_int_equal(thread_iterator_measure_record(&raw, size), 0);
	for (size_t size = 0; size < stack_head + 3 * sizeof(stack.pcs[0]); size++)
		assert_int_equal(thread_iterator_measure_record(&stack, size), 0);
	for (size_t size = 0; size < sizeof(sample); size++)
		assert_int_equal(thread_iterator_measure_record(&sample, size), 0);
}

static void what_is_no_record_has_no_size(_unused_ void **state)
{
	/* With more bytes behind them than such a record would have. */
	static struct {
		struct wire_raw_sample raw;
		uint64_t more;
	} raw = {.raw = {.sample.type = WIRE_RAW_SAMPLE,
			 .num_bytes = WIRE_RAW_STACK_BYTES,
			 .num_far_bytes = 1}};
	struct {
		struct wire_stack stack;
		uint64_t more;
	} stack = {.stack = {.type = WIRE_STACK, .num_frames = WIRE_MAX_FRAMES + 1}};
	struct wire_sample sample = {.type = 99};

	assert_int_equal(thread_iterator_measure_record(&raw, sizeof(raw)), 0);
	assert_int_equal(thread_iterator_measure_record(&stack, sizeof(stack)), 0);
	assert_int_equal(thread_iterator_measure_record(&sample, sizeof(sample)), 0);
}

static int iterator; /* the file */
static unsigned int num_handled;
static int handle_error;

static int set_up(void **state _unused_)
{
	iterator = -1;
	num_handled = total_reads = 0;
	handle_error = step_s = 0;
	log_set_level(LOG_LEVEL_QUIET);
	return 0;
}

/* Records come in the order of their times. */
static int take_record(const void *record, size_t size _unused_, void *context)
{
	const struct wire_sample *sample = record;

	assert_ptr_equal(context, &num_handled);
	if (sample->type == WIRE_SAMPLE)
		assert_int_equal(sample->time_ns, num_handled);
	num_handled++;
	return handle_error;
}

/* A file with so many records, of which every second one is a stack, and so many bytes of the next one. */
static int make_file(uint64_t num_records, size_t more_bytes)
{
	FILE *file = tmpfile();
	int fd;

	assert_non_null(file);
	for (uint64_t i = 0; i < num_records; i++) {
		struct wire_sample sample = {.type = WIRE_SAMPLE, .time_ns = i};
		struct wire_stack stack = {.type = WIRE_STACK, .num_frames = 1};

		if (i % 2)
			fwrite(&stack, 1, stack_head + sizeof(stack.pcs[0]), file);
		else
			fwrite(&sample, 1, sizeof(sample), file);
	}
	for (size_t i = 0; i < more_bytes; i++)
		fputc(WIRE_SAMPLE, file);
	assert_int_equal(fflush(file), 0);
	fd = dup(fileno(file));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	fclose(file);
	return fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void all_records_of_a_file_are_handled(_unused_ void **state)
{
	static const uint64_t counts[] = {0, 1, 2, 3, 1001, 5000};

	for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
		uint64_t num_samples = 99;
		int fd = make_file(counts[i], 0);

		set_up(NULL);
		iterator = fd;
		assert_int_equal(
			thread_iterator_read(&iterator, take_record, &num_handled, &num_samples),
			0);
		assert_int_equal(num_handled, counts[i]);
		assert_int_equal(num_samples, (counts[i] + 1) / 2);
		assert_false(is_open(fd));
		/* It was read. */
		assert_int_equal(
			thread_iterator_read(&iterator, take_record, &num_handled, &num_samples),
			0);
		assert_int_equal(num_samples, 0);
		assert_int_equal(num_handled, counts[i]);
	}
}

static void a_record_that_is_cut_is_not_handled(_unused_ void **state)
{
	uint64_t num_samples;

	iterator = make_file(3, 10);
	assert_int_equal(thread_iterator_read(&iterator, take_record, &num_handled, &num_samples),
			 0);
	assert_int_equal(num_handled, 3);
	assert_int_equal(num_samples, 2);
}

static void an_error_ends_the_reading(_unused_ void **state)
{
	uint64_t num_samples;
	int fd = make_file(5, 0);

	iterator = fd;
	handle_error = -ENOMEM;
	assert_int_equal(thread_iterator_read(&iterator, take_record, &num_handled, &num_samples),
			 -ENOMEM);
	assert_int_equal(num_handled, 1);
	assert_false(is_open(fd));
	assert_int_equal(iterator, -1);
}

/* A thread's memory is of a file system that does not answer. */
static void what_hangs_is_left_after_five_seconds(_unused_ void **state)
{
	uint64_t num_samples;
	uint64_t started_ns;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	iterator = ends[0];
	step_s = 1;
	started_ns = passed_ns;
	assert_int_equal(thread_iterator_read(&iterator, take_record, &num_handled, &num_samples),
			 0);
	assert_in_range(passed_ns - started_ns, 5 * NS_PER_SECOND, 7 * NS_PER_SECOND);
	assert_int_equal(num_samples, 0);
	assert_false(is_open(ends[0]));
	close(ends[1]);
}

/* The kernel asks now and then whether to go on. */
static void a_program_without_records_is_read_on_up_to_a_limit(_unused_ void **state)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	iterator = dup(ends[0]);
	assert_int_equal(thread_iterator_run(&iterator), -EAGAIN);
	assert_int_equal(total_reads, 64);
	assert_int_equal(iterator, -1);
	assert_int_equal(thread_iterator_run(&iterator), -EALREADY);
	iterator = ends[0];
	close(ends[1]); /* end of file */
	total_reads = 0;
	assert_int_equal(thread_iterator_run(&iterator), 0);
	assert_int_equal(total_reads, 1);
	assert_int_equal(iterator, -1);
	assert_false(is_open(ends[0]));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_is_as_long_as_it_has_frames),
		cmocka_unit_test(a_sample_has_one_size),
		cmocka_unit_test(a_raw_sample_is_as_long_as_both_parts_of_its_stack),
		cmocka_unit_test(a_record_that_is_not_whole_has_no_size_yet),
		cmocka_unit_test(what_is_no_record_has_no_size),
		TEST(all_records_of_a_file_are_handled),
		TEST(a_record_that_is_cut_is_not_handled),
		TEST(an_error_ends_the_reading),
		TEST(what_hangs_is_left_after_five_seconds),
		TEST(a_program_without_records_is_read_on_up_to_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
