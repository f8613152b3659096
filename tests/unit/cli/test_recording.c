/* Which rights a recording keeps, and what it notes of clocks. These and what gives rights up are the test's. */
#include <stdbool.h>

static bool is_administrator;
static unsigned int num_refusals;

static int keep_rights(bool wanted);
static int refuse_calls(void);

#include "base/clock.h"
#include "base/confinement.h"

#define confinement_keep_sampling_rights    keep_rights
#define confinement_refuse_all_but_sampling refuse_calls

static uint64_t boottime_ns, monotonic_ns, realtime_ns;

static uint64_t now_of_test(void)
{
	return boottime_ns;
}

static uint64_t read_clock_of_test(clockid_t clock)
{
	return clock == CLOCK_MONOTONIC ? monotonic_ns : realtime_ns;
}

static int new_error;
static unsigned int num_hints, num_raised;

void raise_priority(void);

#define clock_now_ns                        now_of_test
#define confinement_raise_priority          raise_priority
#define recorder_new                        new_recorder
#define recorder_get_due_ns                 get_due
#define target_hints_warn_of_kernel_threads hint_of_kernel_threads
#define clock_read_ns                       read_clock_of_test
/* cmocka has a macro of this name. */
#define fail fail_recording
#include "cli/record/recording.c"
#undef fail

#include "unit.h"

static uint64_t due_ns;

uint64_t get_due(const struct recorder *recorder _unused_)
{
	return due_ns;
}

static int keep_rights(bool wanted)
{
	is_administrator = wanted;
	return 0;
}

static int refuse_calls(void)
{
	num_refusals++;
	return 0;
}

static bool keeps_all(const struct record_options *options)
{
	const struct recording recording = {.options = options};

	is_administrator = !options->flush_ns;
	num_refusals = 0;
	recording_give_up_rights(&recording);
	assert_int_equal(num_refusals, 1);
	return is_administrator;
}

/* What is loaded once needs no more rights; with every flush it is loaded anew. */
static void rights_of_an_administrator_are_kept_for_what_is_loaded_anew(void **state _unused_)
{
	struct event events[2] = {{.name = (char[]){"a"}}, {.name = (char[]){"b"}}};
	struct record_options options = {0};

	assert_false(keeps_all(&options));
	options.flush_ns = 1;
	assert_false(keeps_all(&options));
	for (int i = 0; i < 3; i++) {
		options.records_schedule = i == 0;
		options.records_off_cpu = i == 1;
		options.events.events.items = events;
		options.events.events.length = 2;
		events[1].probe = i == 2 ? (void *)events : NULL;
		options.flush_ns = 1;
		assert_true(keeps_all(&options));
		options.flush_ns = 0;
		assert_false(keeps_all(&options));
	}
	events[1].probe = NULL;
	options.flush_ns = 1;
	assert_false(keeps_all(&options));
}

/* Readers convert times by the last snapshot: there is one for each jump, and no more. */
static void clocks_are_noted_when_they_jump(void **state _unused_)
{
	struct recording recording = {0};

	boottime_ns = monotonic_ns = realtime_ns = 5 * NS_PER_SECOND;
	recording.start_clocks = read_clocks();
	boottime_ns += NS_PER_SECOND;
	monotonic_ns += NS_PER_SECOND;
	realtime_ns += NS_PER_SECOND;
	compare_clocks(&recording);
	assert_int_equal(recording.later_clocks.length, 0);
	realtime_ns += NS_PER_SECOND; /* somebody has set it */
	compare_clocks(&recording);
	assert_int_equal(recording.later_clocks.length, 1);
	assert_int_equal(recording.later_clocks.items[0].realtime_ns, 7 * NS_PER_SECOND);
	assert_int_equal(recording.later_clocks.items[0].boottime_ns, 6 * NS_PER_SECOND);
	compare_clocks(&recording);
	assert_int_equal(recording.later_clocks.length, 1);
	boottime_ns += NS_PER_SECOND; /* the machine has slept */
	realtime_ns += NS_PER_SECOND;
	compare_clocks(&recording);
	assert_int_equal(recording.later_clocks.length, 2);
	array_release(&recording.later_clocks);
}

static void a_machine_or_a_group_is_of_many_users(void **state _unused_)
{
	static const struct {
		enum target_kind kind;
		bool is_of_many;
	} cases[] = {{TARGET_SYSTEM, true},
		     {TARGET_CGROUP, true},
		     {TARGET_PROCESSES, false},
		     {TARGET_THREADS, false}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_int_equal(is_of_many_users(&(struct target){.kind = cases[i].kind}),
				 cases[i].is_of_many);
}

static void the_cache_is_the_first_directory_of_the_service(void **state _unused_)
{
	char *found;

	unsetenv("CACHE_DIRECTORY");
	assert_null(find_cache_folder());
	setenv("CACHE_DIRECTORY", "", 1);
	assert_null(find_cache_folder());
	setenv("CACHE_DIRECTORY", "/no/directory:/", 1);
	assert_null(find_cache_folder());
	setenv("CACHE_DIRECTORY", "/proc/self/root:/no/directory", 1);
	found = find_cache_folder();
	assert_string_equal(found, "/"); /* whatever links lead there */
	free(found);
	unsetenv("CACHE_DIRECTORY");
}

static void what_is_not_permitted_has_a_status_of_its_own(void **state _unused_)
{
	const struct error error = {.message = "test"};

	assert_int_equal(fail_recording(-EPERM, &error), EXIT_NOT_PERMITTED);
	assert_int_equal(fail_recording(-ENOTSUP, &error), EXIT_NOT_PERMITTED);
	assert_int_equal(fail_recording(-ESRCH, &error), EXIT_FAILED);
	assert_int_equal(fail_recording(-ENOMEM, &error), EXIT_FAILED);
}

void raise_priority(void)
{
	num_raised++;
}

int new_recorder(const struct recorder_opts *opts, struct recorder **ret, struct error *error)
{
	assert_int_equal(opts->frequency_hz, 99);
	assert_int_equal(opts->target.kind, TARGET_PROCESSES);
	*ret = NULL;
	return new_error ? error_set(error, new_error, "test") : 0;
}

void hint_of_kernel_threads(const struct record_options *options _unused_)
{
	num_hints++;
}

/* Not again with each flush, whose target may be gone. */
static void kernel_threads_are_told_once(void **state _unused_)
{
	struct record_options options = {.frequency_hz = 99};
	struct outputs outputs = {0};
	struct recording recording = {.options = &options, .outputs = &outputs};
	struct target target = {.kind = TARGET_PROCESSES};

	num_hints = num_raised = 0;
	assert_int_equal(recording_set_up(&recording, &target), 0);
	assert_int_equal(num_hints, 1);
	assert_int_equal(num_raised, 1);
	assert_int_equal(recording.output_mode, OUTPUT_MODE);
	target.may_be_gone = true;
	assert_int_equal(recording_set_up(&recording, &target), 0);
	assert_int_equal(num_hints, 1);
	target.may_be_gone = false;
	new_error = -EPERM;
	assert_int_equal(recording_set_up(&recording, &target), EXIT_NOT_PERMITTED);
	new_error = 0;
	assert_int_equal(num_hints, 1);
}

/* Mappings that were read are published as soon as they are due, unless that is too often. */
static void a_wait_ends_when_mappings_are_due(void **state _unused_)
{
	const uint64_t now_ns = 1000 * NS_PER_SECOND;
	const uint64_t end_ns = now_ns + NS_PER_SECOND;
	struct recording recording = {0};

	due_ns = UINT64_MAX;
	assert_int_equal(get_wait_end_ns(&recording, now_ns, end_ns), now_ns + READ_INTERVAL_NS);
	assert_int_equal(get_wait_end_ns(&recording, now_ns, now_ns + 5), now_ns + 5);
	due_ns = now_ns + 3 * NS_PER_MS;
	assert_int_equal(get_wait_end_ns(&recording, now_ns, end_ns), due_ns);
	assert_int_equal(get_wait_end_ns(&recording, now_ns, now_ns + 5), now_ns + 5);
	due_ns = now_ns;
	assert_int_equal(get_wait_end_ns(&recording, now_ns, end_ns), now_ns + READ_GATHER_NS);
	for (int i = 0; i < READ_BURST; i++)
		read_pace_add(&recording.pace, now_ns);
	assert_int_equal(get_wait_end_ns(&recording, now_ns, end_ns), now_ns + READ_DISTANCE_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_ends_when_mappings_are_due),
		cmocka_unit_test(rights_of_an_administrator_are_kept_for_what_is_loaded_anew),
		cmocka_unit_test(clocks_are_noted_when_they_jump),
		cmocka_unit_test(kernel_threads_are_told_once),
		cmocka_unit_test(a_machine_or_a_group_is_of_many_users),
		cmocka_unit_test(the_cache_is_the_first_directory_of_the_service),
		cmocka_unit_test(what_is_not_permitted_has_a_status_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
