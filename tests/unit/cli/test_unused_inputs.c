/* Inputs of several tools are merged, and one of them has no weight in the metric that is written. */
#include "cli/files/unused_inputs.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "caught_output.h"
#include "cli/files/outputs.h"
#include "cli/files/unused_inputs.h"
#include "profile_builder.h"
#include "test_folder.h"

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

static uint32_t add_metric(const char *name)
{
	uint32_t metric;

	assert_int_equal(profile_add_metric(profile, name, "count", &metric), 0);
	return metric;
}

/* A source with a weight in a metric. */
static uint32_t add_input(const char *name, uint32_t metric, uint64_t weight)
{
	struct thread thread = {0};
	uint32_t string;
	uint32_t id;

	assert_int_equal(profile_add_string(profile, name, &string), 0);
	assert_int_equal(profile_add_source(profile, string, &thread.source), 0);
	assert_int_equal(profile_add_process(profile, 1, STRING_EMPTY, &thread.process), 0);
	assert_int_equal(profile_add_thread(profile, &thread, &id), 0);
	assert_int_equal(
		profile_add_sample(profile, id, builder_add_stack(profile, "main"), metric, weight),
		0);
	return id;
}

static void warn(uint32_t metric, uint32_t baseline)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);

	unused_inputs_warn(profile, metric, baseline, "written");
	caught_output_end(&caught, message, sizeof(message));
}

static void an_input_without_the_metric_is_told_with_its_own(void **state _unused_)
{
	uint32_t samples = add_metric("samples");
	uint32_t cpu = add_metric("cpu");
	uint32_t alloc = add_metric("alloc");
	uint32_t thread;

	add_input("a.folded", samples, 3);
	thread = add_input("b.pb", cpu, 5);
	warn(samples, METRIC_NONE);
	assert_string_equal(message,
			    "stackwide: warning: b.pb adds nothing: it has the metric cpu, and "
			    "samples is written; --metric selects another\n");
	assert_int_equal(profile_add_sample(profile, thread, STACK_EMPTY, alloc, 1), 0);
	warn(samples, METRIC_NONE);
	assert_non_null(strstr(message, "b.pb adds nothing: it has the metrics cpu, alloc, and"));
	warn(cpu, METRIC_NONE);
	assert_non_null(strstr(message, "a.folded adds nothing: it has the metric samples, and "
					"cpu is written"));
	assert_null(strstr(message, "b.pb"));
}

/* A weight of 0 adds nothing, and an input that has no other is no loss. */
static void inputs_without_weight_are_not_told(void **state _unused_)
{
	uint32_t samples = add_metric("samples");
	uint32_t cpu = add_metric("cpu");
	uint32_t thread = add_input("a.folded", samples, 3);

	add_input("b.pb", cpu, 0);
	warn(samples, METRIC_NONE);
	assert_string_equal(message, "");
	assert_int_equal(profile_add_sample(profile, thread, STACK_EMPTY, cpu, 1), 0);
	warn(samples, METRIC_NONE);
	assert_string_equal(message, "");
}

static void one_input_is_never_told(void **state _unused_)
{
	uint32_t samples = add_metric("samples");

	add_input("a.pb", add_metric("cpu"), 1);
	warn(samples, METRIC_NONE);
	assert_string_equal(message, "");
}

static void both_sides_of_a_comparison_count(void **state _unused_)
{
	uint32_t before = add_metric(METRIC_BEFORE);
	uint32_t after = add_metric(METRIC_AFTER);

	add_input("a", before, 1);
	add_input("b", after, 1);
	warn(after, before);
	assert_string_equal(message, "");
}

static void many_inputs_are_counted(void **state _unused_)
{
	uint32_t samples = add_metric("samples");
	uint32_t cpu = add_metric("cpu");

	add_input("a", samples, 1);
	for (size_t i = 0; i < 8; i++)
		add_input("b", cpu, 1);
	warn(samples, METRIC_NONE);
	assert_non_null(strstr(message, "stackwide: warning: 3 more inputs add nothing\n"));
}

/* Once for all outputs of that metric, and not for those that hold all. */
static void outputs_with_one_metric_warn(void **state _unused_)
{
	static const struct {
		const char *names[2];
		size_t num_warnings;
	} cases[] = {
		{{"a.folded", "b.json"}, 1},
		{{"a.speedscope.json", "b.pb.gz"}, 0},
		{{"a.speedscope.json", "b.folded"}, 1},
	};
	uint32_t samples = add_metric("samples");
	char folder[TEST_PATH_BYTES];
	char command[TEST_PATH_BYTES + 16];

	test_folder_make(folder);
	add_input("a.folded", samples, 3);
	add_input("b.pb", add_metric("cpu"), 5);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char paths[2][TEST_PATH_BYTES + 32];
		const struct output_request requests[] = {{.path = paths[0]}, {.path = paths[1]}};
		const struct format_opts opts = {0};
		struct outputs outputs;
		struct error error = {0};
		struct caught_output caught;
		size_t num_warnings = 0;

		for (size_t k = 0; k < 2; k++)
			snprintf(paths[k], sizeof(paths[k]), "%s/%s", folder, cases[i].names[k]);
		assert_int_equal(outputs_init(&outputs, requests, 2, &error), 0);
		assert_int_equal(outputs_open(&outputs, requests, 0, OUTPUT_MODE, &error), 0);
		caught = caught_output_start(STDERR_FILENO);
		assert_int_equal(outputs_write(&outputs, profile, &opts, &error), 0);
		caught_output_end(&caught, message, sizeof(message));
		for (const char *found = message; (found = strstr(found, "adds nothing")); found++)
			num_warnings++;
		assert_int_equal(num_warnings, cases[i].num_warnings);
		outputs_release(&outputs);
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_input_without_the_metric_is_told_with_its_own,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(inputs_without_weight_are_not_told, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(one_input_is_never_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(both_sides_of_a_comparison_count, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(many_inputs_are_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(outputs_with_one_metric_warn, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
