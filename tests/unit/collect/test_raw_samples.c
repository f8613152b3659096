/* Raw stacks wait for unwind tables, up to a bound of memory. The test replaces the walk and the ingest of samples. */
#include "collect/stacks/raw_samples.c"

#include "process/process_image.h"
#include "unit.h"

#define RECORD_BYTES(stack_bytes) (offsetof(struct wire_raw_sample, bytes) + (stack_bytes))

static struct wire_raw_sample record;
static struct process_image *image; /* of all samples; NULL: none */
static uint32_t walked_file;        /* what was mapped in the last walk */
static enum walk_end walk_end;      /* of the next walks */
static uint64_t num_taken;          /* tables */
static int find_error;
static int add_error;
static uint64_t num_walks;
static struct wire_sample added[8]; /* the last ones */
static uint64_t num_added;
static uint64_t expected_wakeup;

enum walk_end publisher_walk(struct publisher *publisher _unused_, const struct process *process,
			     const struct wire_raw_sample *raw _unused_, struct wire_stack *ret,
			     uint64_t *ret_outermost_sp)
{
	const struct mapping *mapping =
		process ? mapping_list_find(&process_image_get_code(image)->mappings, 0x1000)
			: NULL;

	num_walks++;
	walked_file = mapping ? mapping->file : FILE_NONE;
	ret->num_frames = 3;
	*ret_outermost_sp = 77;
	return walk_end;
}

uint64_t publisher_get_taken_count(const struct publisher *publisher _unused_)
{
	return num_taken;
}

int process_table_find(struct process_table *table _unused_, uint64_t time_ns _unused_,
		       pid_t pid _unused_, uint64_t generation _unused_, bool is_in_exec,
		       struct process **ret, bool *ret_in_exec)
{
	*ret = image ? &image->process : NULL;
	*ret_in_exec = is_in_exec;
	return find_error;
}

void sample_ingest_expect_waker(struct sample_ingest *ingest _unused_, uint64_t wakeup)
{
	expected_wakeup = wakeup;
}

bool sample_ingest_expects_waker(const struct sample_ingest *ingest _unused_,
				 const struct wire_sample *sample)
{
	return sample->flags & WIRE_SAMPLE_OFF_CPU && expected_wakeup &&
	       sample->wakeup == expected_wakeup;
}

int sample_ingest_add_recovered(struct sample_ingest *ingest _unused_,
				const struct wire_sample *sample,
				const struct process *process _unused_, bool is_in_exec _unused_,
				struct wire_stack *stack)
{
	assert_true(!stack || stack->type == WIRE_STACK);
	assert_true(!stack || stack->num_frames == 3);
	if (sample->flags & WIRE_SAMPLE_WAKER)
		expected_wakeup = 0;
	added[num_added++ % ARRAY_LENGTH(added)] = *sample;
	return add_error;
}

static struct raw_samples *samples;

static int set_up(void **state _unused_)
{
	record = (struct wire_raw_sample){.sample.type = WIRE_RAW_SAMPLE, .num_bytes = 64};
	walk_end = WALK_COMPLETE;
	num_taken = num_walks = num_added = 0;
	find_error = add_error = 0;
	expected_wakeup = 0;
	image = NULL;
	samples = raw_samples_new(NULL, NULL, NULL);
	assert_non_null(samples);
	return 0;
}

static int tear_down(void **state _unused_)
{
	raw_samples_free(samples);
	process_image_free(image);
	return 0;
}

static int add(uint32_t tid)
{
	record.sample.tid = tid;
	return raw_samples_add(samples, 1, &record, RECORD_BYTES(record.num_bytes));
}

static void a_stack_whose_tables_exist_is_added_at_once(void **state _unused_)
{
	assert_int_equal(add(1), 0);
	assert_int_equal(num_added, 1);
	assert_int_equal(added[0].type, WIRE_SAMPLE);
	assert_int_equal(added[0].walk_end, WALK_COMPLETE);
	assert_int_equal(added[0].outermost_sp, 77);
	assert_int_equal(raw_samples_get_count(samples), 0);
}

static void a_stack_without_table_waits_for_it(void **state _unused_)
{
	walk_end = WALK_NO_TABLE;
	assert_int_equal(add(1), 0);
	assert_int_equal(add(2), 0);
	record.sample.tid = 99; /* the ring is written again */
	assert_int_equal(raw_samples_get_count(samples), 2);
	assert_int_equal(num_added, 0);
	/* Nothing is walked before a table is there. */
	assert_int_equal(raw_samples_retry(samples, false), 0);
	assert_int_equal(num_walks, 2);
	num_taken = 1;
	assert_int_equal(raw_samples_retry(samples, false), 0);
	assert_int_equal(num_walks, 4);
	assert_int_equal(raw_samples_get_count(samples), 2);
	num_taken = 2;
	walk_end = WALK_COMPLETE;
	assert_int_equal(raw_samples_retry(samples, false), 0);
	assert_int_equal(raw_samples_get_count(samples), 0);
	assert_int_equal(samples->pending_bytes, 0);
	assert_int_equal(num_added, 2);
	assert_int_equal(added[0].tid, 1);
	assert_int_equal(added[1].tid, 2);
}

static void at_the_end_all_are_added_as_they_are(void **state _unused_)
{
	walk_end = WALK_NO_TABLE;
	assert_int_equal(add(1), 0);
	assert_int_equal(raw_samples_retry(samples, true), 0);
	assert_int_equal(num_added, 1);
	assert_int_equal(added[0].walk_end, WALK_NO_TABLE);
	assert_int_equal(raw_samples_get_count(samples), 0);
}

static void the_memory_of_waiting_stacks_is_bounded(void **state _unused_)
{
	walk_end = WALK_NO_TABLE;
	samples->pending_bytes = MAX_PENDING_BYTES - 1;
	assert_int_equal(add(1), 0);
	assert_int_equal(raw_samples_get_count(samples), 1);
	assert_int_equal(samples->pending_bytes, MAX_PENDING_BYTES - 1 + RECORD_BYTES(64));
	/* Beyond it a sample is added with a truncated stack. */
	assert_int_equal(add(2), 0);
	assert_int_equal(raw_samples_get_count(samples), 1);
	assert_int_equal(num_added, 1);
	assert_int_equal(added[0].tid, 2);
	assert_int_equal(added[0].walk_end, WALK_NO_TABLE);
	assert_int_equal(raw_samples_retry(samples, true), 0);
	assert_int_equal(samples->pending_bytes, MAX_PENDING_BYTES - 1);
}

static void map(uint64_t time_ns, uint32_t file)
{
	const struct mapping mapping = {.start = 0x1000, .end = 0x2000, .file = file};

	assert_int_equal(process_image_map(image, time_ns, &mapping), 0);
}

static void a_stack_is_walked_by_the_mappings_of_its_time(void **state _unused_)
{
	image = process_image_new(0, 7, 1);
	map(1, 3);
	walk_end = WALK_NO_TABLE;
	record.sample.mappings_version = 1;
	assert_int_equal(add(1), 0);
	assert_int_equal(add(2), 0);
	assert_int_equal(walked_file, 3);
	assert_int_equal(samples->pending_bytes, 2 * RECORD_BYTES(64) + sizeof(struct mapping));
	map(2, 4);
	assert_int_equal(add(3), 0);
	assert_int_equal(walked_file, 4);
	assert_int_equal(samples->pending_bytes, 3 * RECORD_BYTES(64) + 2 * sizeof(struct mapping));
	map(3, 5);
	num_taken++;
	assert_int_equal(raw_samples_retry(samples, false), 0);
	assert_int_equal(walked_file, 4);
	release(&samples->pending.items[--samples->pending.length]);
	num_taken++;
	walk_end = WALK_COMPLETE;
	assert_int_equal(raw_samples_retry(samples, false), 0);
	assert_int_equal(walked_file, 3);
	assert_int_equal(num_added, 2);
	/* User space has walked it. */
	assert_int_equal(added[0].mappings_version, 0);
	/* The process is as it was. */
	assert_int_equal(image->process.mappings_version, 3);
	assert_int_equal(add(4), 0);
	assert_int_equal(walked_file, 5);
}

static int start(uint32_t tid, uint64_t request_ns)
{
	record.sample.type = WIRE_RAW_REQUEST;
	record.sample.tid = tid;
	record.sample.request_ns = request_ns;
	return raw_samples_add_request(samples, 1, &record, RECORD_BYTES(record.num_bytes));
}

/* Whether the stack of the request was kept. */
static bool end(uint32_t tid, uint64_t request_ns)
{
	const struct wire_sample sample = {.type = WIRE_SAMPLE,
					   .tid = tid,
					   .request_ns = request_ns,
					   .walk_end = WALK_NO_TABLE,
					   .weight = 100 + request_ns};
	bool is_known;

	assert_int_equal(raw_samples_add_plain(samples, 1, &sample, &is_known), 0);
	return is_known;
}

static void the_stack_of_a_request_is_added_when_it_ends(void **state _unused_)
{
	assert_int_equal(start(1, 5), 0);
	assert_int_equal(start(2, 5), 0);
	assert_int_equal(start(1, 6), 0);
	assert_int_equal(num_walks, 0);
	assert_int_equal(raw_samples_get_count(samples), 0); /* the stop does not wait for it */
	assert_true(end(1, 6));
	assert_true(end(2, 5));
	assert_int_equal(num_added, 2);
	assert_int_equal(added[0].tid, 1);
	assert_int_equal(added[0].weight, 106);
	assert_int_equal(added[0].type, WIRE_SAMPLE);
	assert_int_equal(added[0].walk_end, WALK_COMPLETE);
	assert_int_equal(added[1].tid, 2);
	assert_int_equal(added[1].weight, 105);
	/* Each ends once, and others are not theirs. */
	assert_false(end(1, 6));
	assert_false(end(3, 5));
	record.sample.event = 1;
	assert_int_equal(start(4, 7), 0);
	assert_false(end(4, 7));
	assert_int_equal(num_added, 2);
	assert_true(end(1, 5));
	assert_int_equal(samples->requests.length, 1);
	assert_int_equal(samples->request_bytes, RECORD_BYTES(64));
}

static void a_request_that_has_ended_waits_for_its_table(void **state _unused_)
{
	walk_end = WALK_NO_TABLE;
	assert_int_equal(start(1, 5), 0);
	record.num_bytes = 0; /* the ring is written again */
	assert_true(end(1, 5));
	assert_int_equal(num_added, 0);
	assert_int_equal(raw_samples_get_count(samples), 1);
	assert_int_equal(samples->pending_bytes, RECORD_BYTES(64));
	walk_end = WALK_COMPLETE;
	num_taken++;
	assert_int_equal(raw_samples_retry(samples, false), 0);
	assert_int_equal(num_added, 1);
	assert_int_equal(added[0].weight, 105);
	/* Unless too much waits already. */
	walk_end = WALK_NO_TABLE;
	record.num_bytes = 64;
	assert_int_equal(start(1, 6), 0);
	samples->pending_bytes = MAX_PENDING_BYTES;
	assert_true(end(1, 6));
	assert_int_equal(num_added, 2);
	assert_int_equal(added[1].walk_end, WALK_NO_TABLE);
}

static void the_memory_of_requests_is_bounded(void **state _unused_)
{
	record.num_bytes = 64;
	for (uint64_t ns = 1; ns <= 3; ns++)
		assert_int_equal(start(1, ns), 0);
	samples->request_bytes = MAX_REQUEST_BYTES + RECORD_BYTES(64);
	assert_int_equal(start(1, 4), 0);
	/* The oldest ones made room. */
	assert_int_equal(samples->requests.length, 2);
	assert_int_equal(samples->request_bytes, MAX_REQUEST_BYTES);
	assert_false(end(1, 1));
	assert_false(end(1, 2));
	assert_true(end(1, 3));
	assert_true(end(1, 4));
	for (size_t size = 0; size < RECORD_BYTES(64); size++)
		assert_int_equal(raw_samples_add_request(samples, 1, &record, size), 0);
	assert_int_equal(samples->requests.length, 0);
	find_error = -ENOMEM;
	assert_int_equal(start(1, 5), -ENOMEM);
}

/* Whether it waits. */
static bool add_wait_for(uint64_t wakeup)
{
	const struct wire_sample sample = {.type = WIRE_SAMPLE,
					   .tid = 50,
					   .flags = WIRE_SAMPLE_BLOCKED,
					   .user_stack = 3,
					   .wakeup = wakeup,
					   .walk_end = WALK_COMPLETE};
	bool is_taken;

	assert_int_equal(raw_samples_add_plain(samples, 1, &sample, &is_taken), 0);
	return is_taken;
}

static void a_wait_comes_after_its_waker(void **state _unused_)
{
	walk_end = WALK_NO_TABLE;
	record.sample.flags = WIRE_SAMPLE_WAKER;
	record.sample.wakeup = 8;
	assert_int_equal(add(1), 0);
	assert_int_equal(expected_wakeup, 8);
	/* A wait without a copy, one with a copy, and those of others. */
	assert_true(add_wait_for(8));
	walk_end = WALK_COMPLETE;
	record.sample.flags = WIRE_SAMPLE_BLOCKED;
	assert_int_equal(add(2), 0);
	assert_int_equal(num_added, 0);
	assert_false(add_wait_for(9));
	assert_false(add_wait_for(0));
	assert_int_equal(raw_samples_get_count(samples), 3);
	assert_int_equal(samples->pending_bytes, 2 * RECORD_BYTES(64) + RECORD_BYTES(0));
	num_taken++;
	assert_int_equal(raw_samples_retry(samples, false), 0);
	assert_int_equal(num_added, 3);
	assert_int_equal(added[0].tid, 1);
	assert_int_equal(added[1].tid, 50);
	assert_int_equal(added[1].user_stack, 3);
	assert_int_equal(added[1].type, WIRE_SAMPLE);
	assert_int_equal(added[2].tid, 2);
	assert_int_equal(samples->pending_bytes, 0);
	/* The waker is there: nothing waits for it. */
	assert_false(add_wait_for(8));
}

static void at_the_end_a_wait_does_not_wait_for_its_waker(void **state _unused_)
{
	expected_wakeup = 8; /* which was lost */
	assert_true(add_wait_for(8));
	num_taken++;
	assert_int_equal(raw_samples_retry(samples, false), 0);
	assert_int_equal(raw_samples_get_count(samples), 1);
	assert_int_equal(raw_samples_retry(samples, true), 0);
	assert_int_equal(num_added, 1);
	assert_int_equal(num_walks, 0);
	/* Nor if too much waits already. */
	samples->pending_bytes = MAX_PENDING_BYTES;
	assert_false(add_wait_for(8));
}

static void an_error_ends_the_retry_and_frees_the_others(void **state _unused_)
{
	walk_end = WALK_NO_TABLE;
	for (uint32_t tid = 1; tid <= 3; tid++)
		assert_int_equal(add(tid), 0);
	walk_end = WALK_COMPLETE;
	add_error = -ENOMEM;
	assert_int_equal(raw_samples_retry(samples, true), -ENOMEM);
	assert_int_equal(num_added, 1);
	assert_int_equal(raw_samples_get_count(samples), 0);
	assert_int_equal(samples->pending_bytes, 0);
	assert_int_equal(add(1), -ENOMEM);
	find_error = -ENOMEM;
	assert_int_equal(add(1), -ENOMEM);
	assert_int_equal(num_added, 2);
}

static void incomplete_records_are_ignored(void **state _unused_)
{
	for (size_t size = 0; size < RECORD_BYTES(64); size++)
		assert_int_equal(raw_samples_add(samples, 1, &record, size), 0);
	assert_int_equal(num_walks, 0);
	assert_int_equal(raw_samples_add(samples, 1, &record, RECORD_BYTES(64)), 0);
	assert_int_equal(num_walks, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stack_whose_tables_exist_is_added_at_once),
		TEST(a_stack_without_table_waits_for_it),
		TEST(at_the_end_all_are_added_as_they_are),
		TEST(the_memory_of_waiting_stacks_is_bounded),
		TEST(a_stack_is_walked_by_the_mappings_of_its_time),
		TEST(the_stack_of_a_request_is_added_when_it_ends),
		TEST(a_request_that_has_ended_waits_for_its_table),
		TEST(the_memory_of_requests_is_bounded),
		TEST(a_wait_comes_after_its_waker),
		TEST(at_the_end_a_wait_does_not_wait_for_its_waker),
		TEST(an_error_ends_the_retry_and_frees_the_others),
		TEST(incomplete_records_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
