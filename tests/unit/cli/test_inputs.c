/* Files, captures and groups become one profile; what is wrong is reported with its place. */
#include "cli/files/inputs.c"

#include <sys/stat.h>

#include "caught_output.h"
#include "profile_builder.h"
#include "test_folder.h"

static char folder[TEST_PATH_BYTES];
static struct profile *profile;
static char message[4096];

static int set_up(void **state _unused_)
{
	test_folder_make(folder);
	profile = profile_new();
	log_set_level(LOG_LEVEL_NORMAL);
	return profile ? 0 : -1;
}

static int tear_down(void **state _unused_)
{
	char command[TEST_PATH_BYTES + 32];

	profile_free(profile);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

/* The path of a file of the folder, which the caller frees. */
static char *path_of(const char *name)
{
	char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	return path;
}

/* The same, once the file has this text. */
static char *make_file(const char *name, const char *text)
{
	char *path = path_of(name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	return path;
}

/* Read one file; the messages are in `message` then. */
static int read_file(const char *path, const struct input_options *options,
		     struct import_counts *counts)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	int status = inputs_read_file(path, options, profile, NULL, counts);

	caught_output_end(&caught, message, sizeof(message));
	return status;
}

static int read_all(char *const *paths, size_t num_paths, const struct input_options *options)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	int status = inputs_read(paths, num_paths, options, profile, NULL);

	caught_output_end(&caught, message, sizeof(message));
	return status;
}

static uint64_t sum_up(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < profile_count_samples(profile); i++)
		sum += profile_get_sample(profile, i)->value;
	return sum;
}

static void assert_has(const char *part)
{
	if (!strstr(message, part))
		fail_msg("no '%s' in: %s", part, message);
}

static void frees(char **paths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(paths[i]);
}

/* Of zones that were there before a recording, also where the file is read from a later section on. */
static void a_line_is_counted_from_the_start_of_the_file(void **state _unused_)
{
	static const char before[] = "#! process 1 old\n"
				     "LOCATION, 1, A, f, a.c, 1\n"
				     "\n";
	struct input_options options = {
		.format = "zones", .may_be_empty = true, .bytes_before = sizeof(before) - 1};
	char text[256];
	_cleanup_free_ char *path = NULL;

	snprintf(text, sizeof(text),
		 "%s#! process 2 new\n"
		 "LOCATION, 1, A, f, a.c, 1\n"
		 "ZONE_STRAT, 0x1000, 2, 10, 1\n",
		 before);
	path = make_file("two.zones", text);
	assert_int_equal(read_file(path, &options, NULL), EXIT_BAD_INPUT);
	assert_has("two.zones:6: ");
	options.bytes_before = 0;
	assert_int_equal(read_file(path, &options, NULL), EXIT_BAD_INPUT);
	assert_has("two.zones:6: ");
}

static void the_incomplete_last_line_of_a_growing_file_is_left_out(void **state _unused_)
{
	struct input_options options = {.format = "folded", .is_growing = true};
	struct import_counts counts;
	_cleanup_free_ char *path = make_file("growing", "main;a 1\nmain;b 2\nmain;c 40");
	_cleanup_free_ char *start = make_file("start", "main;a 1");

	assert_int_equal(read_file(path, &options, &counts), EXIT_DONE);
	assert_int_equal(counts.records, 2);
	assert_int_equal(sum_up(), 3);
	options.is_growing = false;
	assert_int_equal(read_file(path, &options, &counts), EXIT_DONE);
	assert_int_equal(counts.records, 3);
	assert_int_equal(sum_up(), 3 + 43);
	options.is_growing = true;
	options.may_be_empty = true;
	assert_int_equal(read_file(start, &options, &counts), EXIT_DONE);
	assert_int_equal(counts.records, 0);
	assert_string_equal(message, "");
}

static void damaged_captures_are_left_out(void **state _unused_)
{
	struct input_options options = {.is_archive = true};
	char *paths[] = {
		make_file("1.folded", "main;a 1\n"),
		make_file("2.folded", "main;b 18446744073709551615\nmain;b 7\n"),
		path_of("gone.folded"),
		make_file("4.folded", "main;d 8\n"),
	};

	assert_int_equal(read_all(paths, 4, &options), EXIT_DONE);
	assert_has("warning: 2 of 4 captures cannot be read and are skipped\n");
	assert_has("gone.folded': No such file");
	assert_int_equal(sum_up(), 9);
	assert_int_equal(profile_count_sources(profile), 2);
	assert_int_equal(profile_clear(profile), 0);
	assert_int_equal(read_all(paths, 2, &options), EXIT_DONE);
	assert_has("warning: 1 of 2 captures cannot be read and is skipped\n");
	assert_int_equal(sum_up(), 1);
	frees(paths, 4);
}

static void when_all_captures_are_damaged_the_first_one_decides(void **state _unused_)
{
	struct input_options options = {.is_archive = true};
	char *paths[] = {make_file("2.folded", "no count\n"), path_of("gone.folded")};
	char *others[] = {paths[1], paths[0]};

	assert_int_equal(read_all(paths, 2, &options), EXIT_BAD_INPUT);
	assert_null(strstr(message, "left out"));
	assert_int_equal(read_all(others, 2, &options), EXIT_FAILED);
	assert_int_equal(read_all(paths, 0, &options), EXIT_DONE);
	frees(paths, 2);
}

static void a_strict_import_of_captures_ends_at_the_first_damage(void **state _unused_)
{
	struct input_options options = {.is_archive = true, .is_strict = true};
	char *paths[] = {make_file("1.folded", "main;a 1\n"), make_file("2.folded", "no count\n"),
			 make_file("3.folded", "main;c 4\n")};

	assert_int_equal(read_all(paths, 3, &options), EXIT_BAD_INPUT);
	assert_int_equal(sum_up(), 1);
	frees(paths, 3);
}

/* Each count, whatever there is. */
static void counts_of_members_add_up(void **state _unused_)
{
	union {
		struct import_counts counts;
		uint64_t numbers[sizeof(struct import_counts) / sizeof(uint64_t)];
	} sum = {0}, added;

	for (size_t i = 0; i < ARRAY_LENGTH(added.numbers); i++)
		added.numbers[i] = i + 1;
	add_counts(&sum.counts, &added.counts);
	add_counts(&sum.counts, &added.counts);
	for (size_t i = 0; i < ARRAY_LENGTH(added.numbers); i++)
		assert_int_equal(sum.numbers[i], 2 * (i + 1));
}

static void a_group_names_directories_only(void **state _unused_)
{
	static const struct input_options options;
	_cleanup_free_ char *empty = make_file("empty.erg", "#analyzer experiment group\n# none\n");
	_cleanup_free_ char *device =
		make_file("device.erg", "#analyzer experiment group\n/dev/zero\n");
	_cleanup_free_ char *file =
		make_file("file.erg", "#analyzer experiment group\nempty.erg\n");

	assert_int_equal(read_file(empty, &options, NULL), EXIT_BAD_INPUT);
	assert_has("empty.erg: at byte 0: the group lists no experiments");
	assert_int_equal(read_file(device, &options, NULL), EXIT_BAD_INPUT);
	assert_has(
		"device.erg: at byte 0: the group lists '/dev/zero', which is not an experiment");
	assert_int_equal(read_file(file, &options, NULL), EXIT_BAD_INPUT);
	assert_has("empty.erg', which is not an experiment");
}

static void a_directory_is_no_input_of_a_format_of_files(void **state _unused_)
{
	struct input_options options = {.format = "folded"};

	assert_int_equal(read_file(folder, &options, NULL), EXIT_BAD_INPUT);
	assert_has("folded is read from a file, not a directory");
	options.format = NULL;
	assert_int_equal(read_file(folder, &options, NULL), EXIT_BAD_INPUT);
	assert_has("directory without a profile");
	assert_has("name the files in it");
}

static void directories_with_symbols_are_bounded(void **state _unused_)
{
	struct input_options options = {0};
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	int first_err = 0;
	int err;

	for (size_t i = 0; i < 16; i++)
		first_err |= input_options_handle(&options, OPTION_SYMBOLS, folder);
	err = input_options_handle(&options, OPTION_SYMBOLS, folder);
	caught_output_end(&caught, message, sizeof(message));
	assert_int_equal(first_err, 0);
	assert_int_equal(err, -EINVAL);
	assert_int_equal(options.num_symbols, 16);
	assert_has("--symbols can be given 16 times");
	options.num_symbols = 0;
	caught = caught_output_start(STDERR_FILENO);
	err = input_options_handle(&options, OPTION_SYMBOLS, "/dev/null");
	caught_output_end(&caught, message, sizeof(message));
	assert_int_equal(err, -EINVAL);
	assert_has("'/dev/null' is not a directory");
	assert_int_equal(options.num_symbols, 0);
}

static void only_a_format_that_is_read_can_be_chosen(void **state _unused_)
{
	struct input_options options = {0};
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	int unknown = input_options_handle(&options, OPTION_FROM, "foldet");
	int written = input_options_handle(&options, OPTION_FROM, "text");
	int known = input_options_handle(&options, OPTION_FROM, "folded");

	caught_output_end(&caught, message, sizeof(message));
	assert_int_equal(unknown, -EINVAL);
	assert_int_equal(written, -EINVAL);
	assert_int_equal(known, 0);
	assert_string_equal(options.format, "folded");
	assert_has("unknown input format 'foldet'");
	assert_has("unknown input format 'text'");
}

/* Returns the status; messages as above. */
static int choose_metric(const struct input_options *options, struct call_tree_opts *tree)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	int status;

	*tree = (struct call_tree_opts){0};
	status = inputs_choose_metric(profile, options, tree);
	caught_output_end(&caught, message, sizeof(message));
	return status;
}

static void the_metric_is_chosen_with_a_word(void **state _unused_)
{
	struct input_options options = {0};
	struct call_tree_opts tree;
	uint32_t metric;

	assert_int_equal(profile_add_metric(profile, "cycles", "count", &metric), 0);
	assert_int_equal(choose_metric(&options, &tree), EXIT_DONE);
	assert_string_equal(message, "");
	assert_int_equal(profile_add_metric(profile, "faults", "count", &metric), 0);
	assert_int_equal(choose_metric(&options, &tree), EXIT_DONE);
	assert_int_equal(tree.metric, 0);
	assert_has("several metrics (cycles, faults): using cycles; --metric selects another");
	options.takes_all_metrics = true;
	assert_int_equal(choose_metric(&options, &tree), EXIT_DONE);
	assert_string_equal(message, "");
	options.metric = "faults";
	assert_int_equal(choose_metric(&options, &tree), EXIT_DONE);
	assert_int_equal(tree.metric, 1);
	options.metric = "misses";
	assert_int_equal(choose_metric(&options, &tree), EXIT_USAGE);
	assert_has("no metric 'misses' in the input; it has: cycles, faults");
}

static void add_sample(uint32_t metric, uint64_t weight)
{
	assert_int_equal(profile_add_sample(profile, builder_add_thread(profile, 1, 1, "x"),
					    builder_add_stack(profile, "main"), metric, weight),
			 0);
}

static void a_comparison_is_shown_alone(void **state _unused_)
{
	struct input_options options = {0};
	struct call_tree_opts tree;
	uint32_t other, before, after;

	assert_int_equal(profile_add_metric(profile, "cycles", "count", &other), 0);
	assert_int_equal(profile_add_metric(profile, METRIC_BEFORE, "count", &before), 0);
	assert_int_equal(profile_add_metric(profile, METRIC_AFTER, "count", &after), 0);
	add_sample(before, 1);
	add_sample(after, 2);
	assert_int_equal(choose_metric(&options, &tree), EXIT_DONE);
	assert_string_equal(message, "");
	assert_true(tree.has_baseline);
	assert_int_equal(tree.baseline, before);
	assert_int_equal(tree.metric, after);
	add_sample(other, 3);
	assert_int_equal(choose_metric(&options, &tree), EXIT_DONE);
	assert_has("other metrics (cycles): their 1 stacks are skipped");
}

static int fail_with(int err, const char *reason)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	int status = inputs_fail(profile, err, reason);

	caught_output_end(&caught, message, sizeof(message));
	return status;
}

static void the_input_that_goes_too_far_is_named(void **state _unused_)
{
	static const struct input_options options;
	char *paths[] = {make_file("small.folded", "main;a 1\n"),
			 make_file("large.folded", "main;b 9223372036854775807\n"),
			 make_file("last.folded", "main;c 9223372036854775807\n")};

	assert_int_equal(read_all(paths, 2, &options), EXIT_DONE);
	/* Of 64 bits with a sign, as pprof has. */
	assert_int_equal(fail_with(-EOVERFLOW, "too much"), EXIT_BAD_INPUT);
	assert_has("large.folded: too much\n");
	assert_int_equal(read_all(paths + 2, 1, &options), EXIT_DONE);
	assert_int_equal(fail_with(-EOVERFLOW, NULL), EXIT_BAD_INPUT);
	/* The sum is UINT64_MAX, and not above. */
	assert_has("large.folded: the sum of the weights exceeds 64 bits\n");
	assert_int_equal(read_all(paths, 1, &options), EXIT_DONE);
	assert_int_equal(fail_with(-EOVERFLOW, NULL), EXIT_BAD_INPUT);
	assert_has("small.folded: the sum of the weights");
	assert_int_equal(fail_with(-ENOMEM, NULL), EXIT_FAILED);
	assert_has("out of memory");
	assert_int_equal(fail_with(-EIO, NULL), EXIT_FAILED);
	assert_has("Input/output error");
	frees(paths, 3);
}

static bool has_frame(const char *name)
{
	for (uint32_t i = 0; i < profile_count_frames(profile); i++)
		if (string_equals(profile_get_string(profile, profile_get_frame(profile, i)->name),
				  name))
			return true;
	return false;
}

static void names_become_common_in_the_file_that_was_read(void **state _unused_)
{
	struct input_options options = {0};
	char *paths[] = {make_file("1.folded", "main;a.B$$Lambda$7.run 1\n"),
			 make_file("2.folded", "main;a.B$$Lambda$14.run 1\n")};

	assert_int_equal(read_all(paths, 1, &options), EXIT_DONE);
	options.has_canonical_names = true;
	assert_int_equal(read_all(paths + 1, 1, &options), EXIT_DONE);
	assert_true(has_frame("a.B$$Lambda$7.run"));
	assert_true(has_frame("a.B$$Lambda.run"));
	assert_false(has_frame("a.B$$Lambda$14.run"));
	frees(paths, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_is_counted_from_the_start_of_the_file),
		TEST(the_incomplete_last_line_of_a_growing_file_is_left_out),
		TEST(damaged_captures_are_left_out),
		TEST(when_all_captures_are_damaged_the_first_one_decides),
		TEST(a_strict_import_of_captures_ends_at_the_first_damage),
		TEST(counts_of_members_add_up),
		TEST(a_group_names_directories_only),
		TEST(a_directory_is_no_input_of_a_format_of_files),
		TEST(directories_with_symbols_are_bounded),
		TEST(only_a_format_that_is_read_can_be_chosen),
		TEST(the_metric_is_chosen_with_a_word),
		TEST(a_comparison_is_shown_alone),
		TEST(the_input_that_goes_too_far_is_named),
		TEST(names_become_common_in_the_file_that_was_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
