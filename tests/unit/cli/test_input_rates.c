/* Recordings of different rates are merged. */
#include "cli/files/input_rates.h"

#include <string.h>

#include "base/log.h"
#include "caught_output.h"
#include "profile_builder.h"

static struct profile *profile;
static char message[4096];

static int set_up(void **state _unused_)
{
	profile = profile_new();
	log_set_level(LOG_LEVEL_NORMAL);
	return profile ? 0 : -1;
}

static int tear_down(void **state _unused_)
{
	profile_free(profile);
	return 0;
}

/* period_ns  0: unknown */
static void add_input(const char *name, const char *metric_name, uint64_t period_ns)
{
	struct thread thread = {0};
	uint32_t metric;
	uint32_t string;
	uint32_t id;

	assert_int_equal(profile_add_metric(profile, metric_name, "count", &metric), 0);
	assert_int_equal(profile_add_string(profile, name, &string), 0);
	assert_int_equal(profile_add_source(profile, string, &thread.source), 0);
	if (period_ns)
		profile_add_sampling(profile, &(struct sampling){.period_ns = period_ns});
	assert_int_equal(profile_add_process(profile, 1, STRING_EMPTY, &thread.process), 0);
	assert_int_equal(profile_add_thread(profile, &thread, &id), 0);
	assert_int_equal(
		profile_add_sample(profile, id, builder_add_stack(profile, "main"), metric, 1), 0);
}

static void warn(void)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);

	input_rates_warn(profile);
	caught_output_end(&caught, message, sizeof(message));
}

static void different_rates_are_told(void **state _unused_)
{
	add_input("a.html", "samples", 10101010);
	add_input("text", "samples", 0);
	add_input("other", "other", 7);
	add_input("b.html", "samples", 10101010);
	warn();
	assert_string_equal(message, "");
	add_input("c.html", "samples", 1001001);
	add_input("d.html", "samples", 1001002);
	warn();
	assert_string_equal(
		message, "stackwide: warning: a.html has 99 samples per second of CPU time, c.html "
			 "has 999: the samples are added, though each represents another time\n");
}

static void other_metrics_have_no_rate(void **state _unused_)
{
	add_input("a.pb.gz", "cpu", 10101010);
	add_input("b.pb.gz", "cpu", 1001001);
	warn();
	assert_string_equal(message, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(different_rates_are_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_metrics_have_no_rate, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
