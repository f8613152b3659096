/* A trace is written without what cannot be had, and says so by its status. Recorder and zones are the test's. */
#define inputs_read_file          read_zones_of_test
#define recorder_build_trace      build_trace
#define recorder_get_event_name   get_event_name
#define recorder_get_trace_losses get_trace_losses
#define uname                     uname_of_test
#define zone_off_cpu_add          add_off_cpu
#define zones_inputs_open         open_zones
#include "cli/record/recorded_trace.c"

/* clang-format off */
#include "caught_output.h"
/* clang-format on */

static struct record_options options;
static struct recording recording;
static struct zones_input zones[2];
static char names[2][16] = {"a.zones", "b.zones"};
static int zones_status[2], build_error, off_cpu_error;
static size_t num_read, num_zones_when_built;
static bool has_uname;
static struct trace_losses losses;
static char message[4096];

int read_zones_of_test(const char *path, const struct input_options *given, struct profile *profile,
		       struct timeline *timeline, struct import_counts *counts)
{
	struct zone zone = {.start_ns = 1, .end_ns = 2};

	assert_non_null(profile);
	assert_null(counts);
	assert_string_equal(path, names[num_read]);
	assert_string_equal(given->format, "zones");
	assert_true(given->is_growing);
	assert_true(given->may_be_empty);
	assert_int_equal(*given->fd, zones[num_read].fd);
	assert_int_equal(given->bytes_before, zones[num_read].bytes_before);
	assert_int_equal(timeline_add_zone(timeline, &zone, &(uint32_t){0}), 0);
	return zones_status[num_read++];
}

int build_trace(const struct recorder *recorder _unused_, struct timeline *timeline)
{
	num_zones_when_built = timeline_count_zone(timeline);
	return build_error;
}

const char *get_event_name(const struct recorder *recorder _unused_)
{
	return "cycles";
}

struct trace_losses get_trace_losses(const struct recorder *recorder _unused_)
{
	return losses;
}

int uname_of_test(struct utsname *ret)
{
	*ret = (struct utsname){.release = "6.1", .version = "#1", .machine = "x86_64"};
	return has_uname ? 0 : -1;
}

int add_off_cpu(struct timeline *timeline _unused_)
{
	return off_cpu_error;
}

void open_zones(struct zones_inputs *inputs _unused_, char *const *paths _unused_,
		size_t num_paths _unused_)
{
}

static int set_up(void **state _unused_)
{
	options = (struct record_options){.frequency_hz = 99};
	recording = (struct recording){.options = &options};
	recording.account.ticks.num_cpus = 3;
	for (size_t i = 0; i < ARRAY_LENGTH(zones); i++)
		zones[i] = (struct zones_input){
			.path = names[i], .fd = 10 + (int)i, .bytes_before = 100 * i};
	recording.zones.opened.items = zones;
	recording.zones.opened.length = ARRAY_LENGTH(zones);
	memset(zones_status, 0, sizeof(zones_status));
	build_error = off_cpu_error = 0;
	num_read = num_zones_when_built = 0;
	losses = (struct trace_losses){0};
	has_uname = true;
	log_set_level(LOG_LEVEL_NORMAL);
	return 0;
}

/* The messages are in `message` then. */
static int make(struct timeline **ret)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	int status;

	*ret = NULL;
	status = recorded_trace_make(&recording, ret);
	caught_output_end(&caught, message, sizeof(message));
	return status;
}

static void assert_has(const char *part)
{
	if (!strstr(message, part))
		fail_msg("no '%s' in: %s", part, message);
}

static void a_whole_trace_has_the_zones_of_all_files(void **state _unused_)
{
	struct timeline *timeline;

	assert_int_equal(make(&timeline), EXIT_DONE);
	assert_non_null(timeline);
	assert_string_equal(message, "");
	assert_int_equal(num_read, 2);
	assert_int_equal(num_zones_when_built, 2);
	timeline_free(timeline);
}

static void zones_that_are_damaged_are_left_out(void **state _unused_)
{
	struct timeline *timeline;

	zones_status[1] = EXIT_BAD_INPUT;
	assert_int_equal(make(&timeline), EXIT_BAD_INPUT);
	assert_non_null(timeline);
	assert_int_equal(num_zones_when_built, 0);
	assert_has("warning: the trace is written without zones");
	timeline_free(timeline);
}

static void zones_that_could_not_be_opened_are_a_failure(void **state _unused_)
{
	struct timeline *timeline;

	recording.zones.is_incomplete = true;
	assert_int_equal(make(&timeline), EXIT_FAILED);
	assert_non_null(timeline);
	timeline_free(timeline);
}

static void what_cannot_be_built_is_no_trace(void **state _unused_)
{
	struct timeline *timeline;

	build_error = -EIO;
	assert_int_equal(make(&timeline), EXIT_FAILED);
	assert_null(timeline);
	assert_has("cannot make the trace: Input/output error");
	build_error = 0;
	off_cpu_error = -ENOMEM;
	num_read = 0;
	assert_int_equal(make(&timeline), EXIT_FAILED);
	assert_null(timeline);
	assert_has("cannot make the trace: Cannot allocate memory");
}

/* The trace is there; what it lacks is counted, each by its name. */
static void what_found_no_room_is_counted(void **state _unused_)
{
	struct timeline *timeline;

	losses = (struct trace_losses){.error = ENOSPC,
				       .num_samples = 100,
				       .lost_samples = 1,
				       .lost_waits = 2,
				       .lost_occupancies = 3,
				       .lost_fills = 4,
				       .lost_task_events = 5};
	assert_int_equal(make(&timeline), EXIT_FAILED);
	assert_non_null(timeline);
	assert_has("the trace lacks 1 of 100 samples, 2 slices of waits, 3 slices of stacks, 4 "
		   "values of stack fill, 5 events of threads, which could not be stored");
	assert_has("No space left on device; set TMPDIR");
	timeline_free(timeline);
	/* Only what is missing is told. */
	losses = (struct trace_losses){
		.error = ENOSPC, .num_samples = 100, .lost_waits = 2, .lost_fills = 1};
	num_read = 0;
	assert_int_equal(make(&timeline), EXIT_FAILED);
	assert_has("the trace lacks 2 slices of waits, 1 values of stack fill, which could");
	timeline_free(timeline);
	/* Without any sample there is no trace. */
	losses = (struct trace_losses){.error = ENOSPC, .num_samples = 100, .lost_samples = 100};
	num_read = 0;
	assert_int_equal(make(&timeline), EXIT_FAILED);
	assert_null(timeline);
	/* Names alone are no failure; damaged zones are the first one. */
	losses = (struct trace_losses){.lost_renames = 6};
	num_read = 0;
	assert_int_equal(make(&timeline), EXIT_DONE);
	assert_has("warning: the trace lacks 6 name changes of threads");
	timeline_free(timeline);
	losses.error = EIO;
	zones_status[0] = EXIT_BAD_INPUT;
	num_read = 0;
	assert_int_equal(make(&timeline), EXIT_BAD_INPUT);
	timeline_free(timeline);
}

static const char *get_string(const struct timeline *timeline, uint32_t string)
{
	return timeline_get_string(timeline, string);
}

static void the_machine_is_told_and_what_was_sampled(void **state _unused_)
{
	struct timeline *timeline;
	const struct timeline_system *system;

	assert_int_equal(make(&timeline), EXIT_DONE);
	system = timeline_get_system(timeline);
	assert_int_equal(system->num_cpus, 3);
	assert_int_equal(system->sample_frequency, 99);
	assert_string_equal(get_string(timeline, system->sample_metric), "cycles");
	assert_string_equal(get_string(timeline, system->kernel_release), "6.1");
	assert_string_equal(get_string(timeline, system->kernel_version), "#1");
	assert_string_equal(get_string(timeline, system->machine), "x86_64");
	timeline_free(timeline);
	/* Each event says its own type. */
	recording.account.num_events = 1;
	has_uname = false;
	num_read = 0;
	assert_int_equal(make(&timeline), EXIT_DONE);
	system = timeline_get_system(timeline);
	assert_int_equal(system->sample_frequency, 0);
	assert_string_equal(get_string(timeline, system->sample_metric), "");
	assert_string_equal(get_string(timeline, system->kernel_release), "");
	timeline_free(timeline);
}

static void clocks_come_in_order_of_time(void **state _unused_)
{
	struct clock_snapshot *later;
	struct timeline *timeline;

	recording.start_clocks = (struct clock_snapshot){.boottime_ns = 5};
	later = array_add(&recording.later_clocks);
	assert_non_null(later);
	*later = (struct clock_snapshot){.boottime_ns = 9};
	assert_int_equal(make(&timeline), EXIT_DONE);
	assert_int_equal(timeline_count_clock(timeline), 2);
	assert_int_equal(timeline_get_clock(timeline, 0)->boottime_ns, 5);
	assert_int_equal(timeline_get_clock(timeline, 1)->boottime_ns, 9);
	timeline_free(timeline);
	array_release(&recording.later_clocks);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_whole_trace_has_the_zones_of_all_files),
		TEST(zones_that_are_damaged_are_left_out),
		TEST(zones_that_could_not_be_opened_are_a_failure),
		TEST(what_cannot_be_built_is_no_trace),
		TEST(what_found_no_room_is_counted),
		TEST(the_machine_is_told_and_what_was_sampled),
		TEST(clocks_come_in_order_of_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
