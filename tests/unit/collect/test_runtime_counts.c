/* Samples and processes by version of their interpreter; versions are bounded. Mappings are the test's. */
#define process_find_mapping find_mapping_of_test
#include "collect/runtimes/runtime_stacks.c"
#undef process_find_mapping

#include "unit.h"

#define MAX_VERSIONS (RECORDER_MAX_RUNTIMES - NUM_WIRE_RUNTIMES)

static struct runtime_stacks stacks;

static int tear_down(void **state _unused_)
{
	array_release(&stacks.counts);
	array_release(&stacks.is_counted);
	mapped_runtime_table_release(&stacks.images);
	stacks = (struct runtime_stacks){0};
	return 0;
}

static struct runtime_counts *count(enum wire_runtime runtime, uint16_t major, uint16_t minor)
{
	const struct process_runtime version = {.runtime = runtime, .major = major, .minor = minor};
	struct runtime_counts *counts = find_counts(&stacks, &version);

	assert_non_null(counts);
	counts->samples++;
	return counts;
}

static void each_version_has_its_counts(void **state _unused_)
{
	count(WIRE_RUNTIME_PYTHON, 3, 11);
	count(WIRE_RUNTIME_PYTHON, 3, 12);
	count(WIRE_RUNTIME_PYTHON, 4, 11);
	count(WIRE_RUNTIME_RUBY, 3, 11);
	assert_int_equal(count(WIRE_RUNTIME_PYTHON, 3, 11)->samples, 2);
	assert_int_equal(stacks.counts.length, 4);
}

static void versions_beyond_the_bound_are_counted_together(void **state _unused_)
{
	for (uint16_t minor = 1; minor <= MAX_VERSIONS; minor++)
		assert_int_equal(count(WIRE_RUNTIME_PYTHON, 3, minor)->minor, minor);
	assert_int_equal(stacks.counts.length, MAX_VERSIONS);
	assert_int_equal(count(WIRE_RUNTIME_PYTHON, 3, MAX_VERSIONS + 1)->major, 0);
	assert_int_equal(count(WIRE_RUNTIME_PYTHON, 3, MAX_VERSIONS + 2)->samples, 2);
	assert_int_equal(count(WIRE_RUNTIME_RUBY, 3, 1)->samples, 1);
	/* Those that have counts keep them. */
	assert_int_equal(count(WIRE_RUNTIME_PYTHON, 3, 1)->samples, 2);
	for (enum wire_runtime runtime = 0; runtime < NUM_WIRE_RUNTIMES; runtime++)
		count(runtime, 9, 9);
	assert_true(stacks.counts.length <= RECORDER_MAX_RUNTIMES);
}

static void a_process_is_counted_once(void **state _unused_)
{
	struct process process = {.id = 5};

	assert_true(is_new(&stacks, &process));
	assert_false(is_new(&stacks, &process));
	process.id = 4;
	assert_true(is_new(&stacks, &process));
	process.id = 6;
	assert_true(is_new(&stacks, &process));
	assert_false(is_new(&stacks, &process));
}

#define RUNTIME_START 0x10000 /* of the runtime's file, which ends where another one starts */
#define RUNTIME_END   0x20000
#define OTHER_END     0x30000
enum { RUNTIME_FILE = 3, OTHER_FILE };

const struct mapping *find_mapping_of_test(const struct process *process _unused_, uint64_t pc)
{
	static const struct mapping mappings[] = {
		{.start = RUNTIME_START, .end = RUNTIME_END, .file = RUNTIME_FILE},
		{.start = RUNTIME_END, .end = OTHER_END, .file = OTHER_FILE},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(mappings); i++)
		if (pc >= mappings[i].start && pc < mappings[i].end)
			return &mappings[i];
	return NULL;
}

static enum wire_runtime find_named(bool is_library)
{
	for (enum wire_runtime i = NUM_WIRE_INTERPRETERS; i < NUM_WIRE_RUNTIMES; i++)
		if (runtime_get(i)->is_library == is_library)
			return i;
	fail_msg("there is no such runtime");
	return NUM_WIRE_RUNTIMES;
}

/* A process that has mapped a runtime. */
static struct process run(uint32_t id, enum wire_runtime runtime, bool is_known)
{
	struct mapped_runtime image = {
		.process = id,
		.mappings_version = 1,
		.runtime = {.is_there = true,
			    .is_known = is_known,
			    .runtime = runtime,
			    .file = RUNTIME_FILE},
	};
	uint32_t item;

	assert_int_equal(mapped_runtime_table_add(&stacks.images, &image, &item), 0);
	return (struct process){.id = id, .mappings_version = 1};
}

static uint64_t count_samples(void)
{
	uint64_t sum = 0;

	array_for_each (&stacks.counts, counts)
		sum += counts->samples;
	return sum;
}

#define COUNT(process, ...)                                                                   \
	runtime_stacks_count(&stacks, process, (struct runtime_verdict){.fit = RUNTIME_NONE}, \
			     (const uint64_t[]){__VA_ARGS__},                                 \
			     sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Most programs that have it do other things. */
static void samples_of_a_library_have_a_frame_in_its_file(void **state _unused_)
{
	struct process process = run(1, find_named(true), false);

	assert_true(runtime_stacks_counts_by_file(&stacks, &process));
	COUNT(&process, RUNTIME_END + 8, RUNTIME_END + 16, 8);
	COUNT(&process, RUNTIME_END);
	runtime_stacks_count(&stacks, &process, (struct runtime_verdict){.fit = RUNTIME_NONE}, NULL,
			     0);
	assert_int_equal(stacks.counts.length, 0);
	COUNT(&process, RUNTIME_START);
	assert_int_equal(count_samples(), 1);
	COUNT(&process, RUNTIME_END + 8, RUNTIME_END + 16, RUNTIME_START + 8);
	assert_int_equal(count_samples(), 2);
	assert_int_equal(stacks.counts.items[0].processes, 1);
	assert_int_equal(stacks.counts.items[0].fits[RUNTIME_UNKNOWN], 2);
}

/* How the walk came to a frame does not matter. */
static void marked_frames_are_frames_of_the_file(void **state _unused_)
{
	static const uint64_t marks[] = {WIRE_PC_EXACT, WIRE_PC_FP_STEP, WIRE_PC_ENTRY_STEP,
					 WIRE_PC_MARKS};
	struct process process = run(1, find_named(true), false);

	for (size_t i = 0; i < ARRAY_LENGTH(marks); i++) {
		COUNT(&process, marks[i] | (RUNTIME_START + 8));
		COUNT(&process, RUNTIME_END + 8, marks[i] | (RUNTIME_START + 8));
	}
	assert_int_equal(count_samples(), 2 * ARRAY_LENGTH(marks));
	COUNT(&process, RUNTIME_END | WIRE_PC_FP_STEP, (RUNTIME_END + 8) | WIRE_PC_FP_STEP);
	assert_int_equal(count_samples(), 2 * ARRAY_LENGTH(marks));
}

/* The last call of a file may not return. */
static void the_call_counts_and_not_where_it_returns_to(void **state _unused_)
{
	struct process process = run(1, find_named(true), false);

	COUNT(&process, RUNTIME_END + 8, RUNTIME_START);
	assert_int_equal(count_samples(), 0);
	COUNT(&process, RUNTIME_END + 8, RUNTIME_END);
	assert_int_equal(count_samples(), 1);
	COUNT(&process, RUNTIME_END + 8, RUNTIME_END | WIRE_PC_EXACT);
	assert_int_equal(count_samples(), 1);
}

static void samples_of_other_runtimes_count_wherever_they_are(void **state _unused_)
{
	struct process named = run(1, find_named(false), false);
	struct process python = run(2, WIRE_RUNTIME_PYTHON, true);
	struct process ruby = run(3, WIRE_RUNTIME_RUBY, false);
	struct mapped_runtime none = {.process = 4, .mappings_version = 1};
	struct process native = {.id = 4, .mappings_version = 1};
	uint32_t item;

	assert_int_equal(mapped_runtime_table_add(&stacks.images, &none, &item), 0);
	assert_false(runtime_stacks_counts_by_file(&stacks, &named));
	assert_false(runtime_stacks_counts_by_file(&stacks, &python));
	assert_false(runtime_stacks_counts_by_file(&stacks, &native));
	runtime_stacks_count(&stacks, &named, (struct runtime_verdict){.fit = RUNTIME_NONE}, NULL,
			     0);
	runtime_stacks_count(&stacks, &python, (struct runtime_verdict){.fit = RUNTIME_NONE}, NULL,
			     0);
	runtime_stacks_count(&stacks, &python, (struct runtime_verdict){.fit = RUNTIME_FITS}, NULL,
			     0);
	runtime_stacks_count(&stacks, &ruby, (struct runtime_verdict){.fit = RUNTIME_FITS}, NULL,
			     0);
	runtime_stacks_count(&stacks, &native, (struct runtime_verdict){.fit = RUNTIME_NONE}, NULL,
			     0);
	assert_int_equal(stacks.counts.length, 3);
	assert_int_equal(stacks.counts.items[0].fits[RUNTIME_UNKNOWN], 1);
	assert_int_equal(stacks.counts.items[1].processes, 1);
	assert_int_equal(stacks.counts.items[1].samples, 2);
	assert_int_equal(stacks.counts.items[1].fits[RUNTIME_EARLY], 1);
	assert_int_equal(stacks.counts.items[1].fits[RUNTIME_FITS], 1);
	assert_int_equal(stacks.counts.items[2].fits[RUNTIME_UNKNOWN], 1);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_version_has_its_counts),
		TEST(versions_beyond_the_bound_are_counted_together),
		TEST(a_process_is_counted_once),
		TEST(samples_of_a_library_have_a_frame_in_its_file),
		TEST(marked_frames_are_frames_of_the_file),
		TEST(the_call_counts_and_not_where_it_returns_to),
		TEST(samples_of_other_runtimes_count_wherever_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
