/*
 * What a format says that its files keep comes back of a file that was written, and nothing else does.
 */
#include "cli/files/format_list.h"

#include "../formats/import_fixture.h"
#include "../formats/pprof_fixture.h"
#include "timeline/timeline.h"

#define ADDRESS 0x1234
#define LINE    7
#define TIME_NS 5000000

static uint32_t add_string(struct profile *profile, const char *string)
{
	uint32_t id;

	assert_int_equal(profile_add_string(profile, string, &id), 0);
	return id;
}

/*
 * One stack of one location, on a thread that is not the first of its process, in two metrics.
 *
 * metric  name of the first one
 */
static struct profile *make_profile(const char *metric)
{
	struct profile *profile = profile_new();
	struct module module = {.build_id = {0xab, 0xcd}, .build_id_size = 2};
	struct frame frame = {.line = LINE};
	uint32_t source, process, thread, module_id, location, stack, metrics[2];

	assert_non_null(profile);
	assert_int_equal(profile_keep_timestamps(profile), 0);
	assert_int_equal(profile_add_source(profile, add_string(profile, "x"), &source), 0);
	assert_int_equal(profile_add_process(profile, 8, add_string(profile, "work"), &process), 0);
	assert_int_equal(profile_add_thread(profile,
					    &(struct thread){.process = process,
							     .tid = 9,
							     .comm = add_string(profile, "worker"),
							     .source = source},
					    &thread),
			 0);
	module.path = add_string(profile, "/bin/work");
	assert_int_equal(profile_add_module(profile, &module, &module_id), 0);
	assert_int_equal(
		profile_add_location(profile, LOCATION_FILE, module_id, ADDRESS, &location), 0);
	frame.name = frame.full_name = add_string(profile, "run");
	frame.module = add_string(profile, "work");
	frame.file = add_string(profile, "/src/work.c");
	assert_int_equal(profile_set_frames(profile, location, &frame, 1, UNNAMED_NOT), 0);
	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
	assert_int_equal(profile_add_metric(profile, metric, "count", &metrics[0]), 0);
	assert_int_equal(profile_add_metric(profile, "heap", "bytes", &metrics[1]), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(profile_add_sample(profile, thread, stack, metrics[i], 3 + i), 0);
		assert_int_equal(
			profile_add_timestamp(profile, thread, stack, metrics[i], 3 + i, TIME_NS),
			0);
	}
	return profile;
}

static bool has_thread(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile_count_threads(profile); i++)
		if (profile_get_thread(profile, i)->tid == 9)
			return true;
	return false;
}

static bool has_line(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile_count_frames(profile); i++)
		if (profile_get_frame(profile, i)->line == LINE)
			return true;
	return false;
}

static bool has_address(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile_count_locations(profile); i++) {
		const struct location *location = profile_get_location(profile, i);

		if (location_is_in_module(location) && location->address == ADDRESS &&
		    profile_get_module(profile, location->owner)->build_id[1] == 0xcd)
			return true;
	}
	return false;
}

static uint64_t sum_weights(const struct profile *profile, uint32_t metric)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < profile_count_samples(profile); i++)
		if (profile_get_sample(profile, i)->metric == metric)
			sum += profile_get_sample(profile, i)->value;
	return sum;
}

/* Of what was written with the second metric as the chosen one: both, by their names, or that one, or the format's own. */
static void check_metrics(const struct format *format, const struct profile *imported)
{
	if (format->has_all_metrics) {
		assert_int_equal(sum_weights(imported, profile_find_metric(imported, "samples")),
				 3);
		assert_int_equal(sum_weights(imported, profile_find_metric(imported, "heap")), 4);
	} else {
		assert_int_equal(profile_count_metrics(imported), 1);
		assert_int_equal(sum_weights(imported, 0), format->metric ? 3 : 4);
	}
}

static void check_what_is_kept(const struct format *format, void *context)
{
	struct imported imported = {0};
	_cleanup_(profile_freep) struct profile *profile = NULL;
	_cleanup_(text_release) struct text written = {0};
	struct sink sink = {.write = imported_append, .context = &written};
	size_t *num_checked = context;

	/* A comparison is no profile, tables of functions have no stacks, zones no samples. */
	if (!format->write || !format->read || format == &format_diff_folded ||
	    format == &format_sampling_prof || format == &format_zones)
		return;
	profile = make_profile(format->metric ? format->metric : "samples");
	imported.profile = profile_new();
	assert_non_null(imported.profile);
	assert_int_equal(profile_keep_timestamps(imported.profile), 0);
	assert_int_equal(format->write(profile, &(struct format_opts){.tree.metric = 1}, &sink), 0);
	if (format == &format_pprof)
		written = fixture_gunzip(written);
	print_message("%s\n", format->name);
	if (imported_read(&imported, format, written.data, written.length))
		fail_msg("%s", imported.import.error.message);
	check_metrics(format, imported.profile);
	assert_int_equal(has_thread(imported.profile), format->has_threads);
	assert_int_equal(has_line(imported.profile), format->has_lines);
	assert_int_equal(has_address(imported.profile), format->has_addresses);
	imported_release(&imported);
	++*num_checked;
}

static void files_keep_what_their_format_says(void **state _unused_)
{
	size_t num_checked = 0;

	format_list_for_each(check_what_is_kept, &num_checked);
	assert_true(num_checked >= 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_keep_what_their_format_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
