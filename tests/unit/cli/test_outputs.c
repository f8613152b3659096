/* Files that are written: formats, names, descriptors, what is left of them. */
#include "cli/files/outputs.h"

#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/confinement.h"
#include "base/log.h"
#include "base/text.h"
#include "caught_output.h"
#include "test_folder.h"
#include "timeline/timeline.h"
#include "viewer/page.h"

static char folder[TEST_PATH_BYTES];
static char first_path[TEST_PATH_BYTES + 32];
static char second_path[TEST_PATH_BYTES + 32];
static struct outputs outputs;
static struct error error;

static int set_up(void **state _unused_)
{
	test_folder_make(folder);
	snprintf(first_path, sizeof(first_path), "%s/a.folded", folder);
	snprintf(second_path, sizeof(second_path), "%s/b.svg", folder);
	log_set_level(LOG_LEVEL_QUIET);
	return 0;
}

static int tear_down(void **state _unused_)
{
	char command[TEST_PATH_BYTES + 16];

	outputs_release(&outputs);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static unsigned int count_files(void)
{
	DIR *stream = opendir(folder);
	struct dirent *entry;
	unsigned int count = 0;

	assert_non_null(stream);
	while ((entry = readdir(stream)))
		count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	closedir(stream);
	return count;
}

static unsigned int count_fds(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 100; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static int open_both(uint32_t number)
{
	const struct output_request requests[] = {{.path = first_path}, {.path = second_path}};
	int err;

	outputs_release(&outputs);
	assert_int_equal(outputs_init(&outputs, requests, 2, &error), 0);
	err = outputs_open(&outputs, requests, number, OUTPUT_MODE, &error);
	return err;
}

static struct profile *make_profile(void)
{
	struct profile *profile = profile_new();
	uint32_t metric;
	uint32_t process;
	uint32_t thread;

	assert_non_null(profile);
	assert_int_equal(profile_add_process(profile, 1, STRING_EMPTY, &process), 0);
	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	assert_int_equal(profile_add_thread(profile, &(struct thread){0}, &thread), 0);
	assert_int_equal(profile_add_sample(profile, thread, STACK_EMPTY, metric, 1), 0);
	return profile;
}

static void all_files_appear_when_they_are_written(void **state _unused_)
{
	unsigned int num_fds = count_fds();
	struct profile *profile = make_profile();
	const struct format_opts opts = {0};

	assert_int_equal(open_both(0), 0);
	assert_int_equal(outputs_fill(&outputs, profile, &opts, &error), 0);
	assert_int_not_equal(access(first_path, F_OK), 0);
	assert_int_equal(outputs_commit(&outputs, &error), 0);
	assert_int_equal(access(first_path, F_OK), 0);
	assert_int_equal(access(second_path, F_OK), 0);
	outputs_release(&outputs);
	assert_int_equal(count_files(), 2);
	assert_int_equal(count_fds(), num_fds);
	profile_free(profile);
}

static void without_a_commit_nothing_is_left(void **state _unused_)
{
	unsigned int num_fds = count_fds();

	assert_int_equal(open_both(0), 0);
	outputs_close(&outputs);
	assert_int_equal(count_fds(), num_fds);
	assert_int_equal(count_files(), 0);
	/* The formats stay. */
	assert_int_equal(outputs.length, 2);
	assert_string_equal(outputs.items[0].format->name, "folded");
	assert_null(outputs.items[0].file);
}

/* Of several, the second one. */
static void one_that_cannot_be_opened_is_an_error(void **state _unused_)
{
	unsigned int num_fds = count_fds();

	snprintf(second_path, sizeof(second_path), "%s/none/b.svg", folder);
	assert_int_equal(open_both(0), -ENOENT);
	assert_non_null(strstr(error.message, second_path));
	outputs_release(&outputs);
	assert_int_equal(count_fds(), num_fds);
	assert_int_equal(count_files(), 0);
}

static void each_file_has_a_descriptor_that_its_writer_needs(void **state _unused_)
{
	struct fd_list fds = {0};

	assert_int_equal(open_both(0), 0);
	outputs_add_fds(&outputs, &fds);
	assert_int_equal(fds.fds.length, 2);
	assert_int_not_equal(fds.fds.items[0], fds.fds.items[1]);
	outputs_close(&outputs);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(fcntl(fds.fds.items[i], F_GETFD), -1);
	fds.fds.length = 0;
	outputs_add_fds(&outputs, &fds); /* none is open */
	assert_int_equal(fds.fds.length, 0);
	fd_list_release(&fds);
}

static void files_can_start_over_and_pipes_cannot(void **state _unused_)
{
	struct profile *profile = make_profile();
	const struct format_opts opts = {0};
	struct stat status;
	int ends[2];

	assert_int_equal(open_both(0), 0);
	assert_true(outputs_can_rewind(&outputs));
	assert_int_equal(output_file_write(outputs.items[0].file, "rubbish", 7), 0);
	assert_int_equal(output_file_write(outputs.items[1].file, "rubbish", 7), 0);
	assert_int_equal(outputs_rewind(&outputs), 0);
	assert_int_equal(outputs_write(&outputs, profile, &opts, &error), 0);
	for (int i = 0; i < 2; i++) {
		char start[8] = "";
		int fd = open(i ? second_path : first_path, O_RDONLY);

		assert_int_equal(fstat(fd, &status), 0);
		assert_true(status.st_size > 0);
		assert_true(read(fd, start, 7) > 0);
		assert_string_not_equal(start, "rubbish");
		close(fd);
	}
	outputs_release(&outputs);
	assert_int_equal(pipe(ends), 0);
	{
		char path[32];
		const struct output_request requests[] = {{.path = first_path},
							  {.path = path, .format = "folded"}};

		snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
		assert_int_equal(outputs_init(&outputs, requests, 2, &error), 0);
		assert_int_equal(outputs_open(&outputs, requests, 0, OUTPUT_MODE, &error), 0);
		assert_false(outputs_can_rewind(&outputs));
		assert_int_equal(outputs_rewind(&outputs), -ESPIPE);
	}
	close(ends[0]);
	close(ends[1]);
	profile_free(profile);
}

static void a_number_comes_before_the_extension(void **state _unused_)
{
	char expected[TEST_PATH_BYTES + 32];
	struct output_file *file;
	char path[TEST_PATH_BYTES + 32];

	assert_int_equal(open_both(2), 0);
	snprintf(expected, sizeof(expected), "%s/a.2.folded", folder);
	assert_string_equal(output_file_get_path(outputs.items[0].file), expected);
	assert_int_equal(open_both(0), 0);
	assert_string_equal(output_file_get_path(outputs.items[0].file), first_path);
	snprintf(path, sizeof(path), "%s/a.folded.zst", folder);
	assert_int_equal(output_file_open_numbered(path, 3, OUTPUT_MODE, &file, &error), 0);
	snprintf(expected, sizeof(expected), "%s/a.3.folded.zst", folder);
	assert_string_equal(output_file_get_path(file), expected);
	output_file_free(file);
	/* Of an extension that no format has, and without one. */
	snprintf(path, sizeof(path), "%s/a.dir", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	strcat(path, "/x.any");
	assert_int_equal(output_file_open_numbered(path, 3, OUTPUT_MODE, &file, &error), 0);
	snprintf(expected, sizeof(expected), "%s/a.dir/x.3.any", folder);
	assert_string_equal(output_file_get_path(file), expected);
	output_file_free(file);
	path[strlen(path) - 4] = '\0';
	assert_int_equal(output_file_open_numbered(path, 3, OUTPUT_MODE, &file, &error), 0);
	snprintf(expected, sizeof(expected), "%s/a.dir/x.3", folder);
	assert_string_equal(output_file_get_path(file), expected);
	output_file_free(file);
}

/* It has no name to number; a file of its own would never be looked for. */
static void standard_output_has_no_number(void **state _unused_)
{
	struct output_file *file;
	char cwd[PATH_MAX];

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(output_file_open_numbered("-", 3, OUTPUT_MODE, &file, &error), 0);
	assert_string_equal(output_file_get_path(file), "-");
	output_file_free(file);
	assert_int_equal(count_files(), 0);
	assert_int_equal(chdir(cwd), 0);
}

static int init_one(const char *path, const char *format)
{
	const struct output_request request = {.path = path, .format = format};

	outputs_release(&outputs);
	return outputs_init(&outputs, &request, 1, &error);
}

static void the_format_is_asked_for_or_that_of_the_extension(void **state _unused_)
{
	assert_int_equal(init_one("x.svg", NULL), 0);
	assert_string_equal(outputs.items[0].format->name, "svg");
	assert_int_equal(init_one("x.svg", "folded"), 0);
	assert_string_equal(outputs.items[0].format->name, "folded");
	assert_int_equal(init_one("-", "folded"), 0);
	assert_int_equal(init_one("-", NULL), -EINVAL);
	assert_non_null(strstr(error.message, "standard output needs a format"));
	assert_int_equal(init_one("x.any", NULL), -EINVAL);
	assert_non_null(strstr(error.message, "'x.any'"));
	assert_int_equal(init_one("x.svg", "no format"), -EINVAL);
	assert_non_null(strstr(error.message, "'no format'"));
	/* One that is only read. */
	assert_int_equal(init_one("x", "jfr"), -EINVAL);
}

static void assert_compressed(const char *path, const char *format, const char *expected_format,
			      enum compression compression)
{
	assert_int_equal(init_one(path, format), 0);
	assert_string_equal(outputs.items[0].format->name, expected_format);
	assert_int_equal(outputs.items[0].compression, compression);
}

static void a_suffix_behind_the_extension_compresses(void **state _unused_)
{
	assert_compressed("x.folded", NULL, "folded", COMPRESSION_NONE);
	assert_compressed("x.folded.gz", NULL, "folded", COMPRESSION_GZIP);
	assert_compressed("x.diff.folded.zst", NULL, "diff.folded", COMPRESSION_ZSTD);
	assert_compressed("x.speedscope.json.zst", NULL, "speedscope", COMPRESSION_ZSTD);
	assert_compressed("x.pftrace.gz", NULL, "pftrace", COMPRESSION_GZIP);
	assert_compressed("x.zst", "json", "json", COMPRESSION_ZSTD);
	assert_compressed("x.txt.gz", "folded", "folded", COMPRESSION_GZIP);
	assert_compressed("-", "folded", "folded", COMPRESSION_NONE);
	assert_int_equal(init_one("x.gz", NULL), -EINVAL);
	assert_int_equal(init_one("x.folded.gz.zst", NULL), -EINVAL);
	assert_int_equal(init_one("x.folded.xz", NULL), -EINVAL);
}

static void compressed_formats_are_not_compressed_again(void **state _unused_)
{
	assert_compressed("x.pb.gz", NULL, "pprof", COMPRESSION_NONE);
	assert_compressed("x.gz", "pprof", "pprof", COMPRESSION_NONE);
	assert_compressed("x.html", NULL, "html", COMPRESSION_NONE);
	assert_int_equal(init_one("x.pb.gz.gz", NULL), -EINVAL);
	assert_non_null(
		strstr(error.message, "pprof are compressed already; end the name in .pb.gz"));
	assert_int_equal(init_one("x.pb.gz.zst", NULL), -EINVAL);
	assert_int_equal(init_one("x.zst", "pprof"), -EINVAL);
	assert_int_equal(init_one("x.html.gz", NULL), -EINVAL);
	assert_int_equal(init_one("x.gz", "html"), -EINVAL);
}

/* A page where the program has one; its name says host and time. */
static void without_a_name_there_is_a_made_up_one(void **state _unused_)
{
	const struct output_request request = {0};
	char cwd[PATH_MAX];
	const char *path;

	assert_int_equal(init_one(NULL, NULL), 0);
	assert_string_equal(outputs.items[0].format->name, viewer_page_exists() ? "html" : "svg");
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(outputs_open(&outputs, &request, 0, OUTPUT_MODE, &error), 0);
	assert_int_equal(chdir(cwd), 0);
	path = output_file_get_path(outputs.items[0].file);
	assert_true(string_starts_with(path, "stackwide-"));
	assert_true(string_ends_with(path, outputs.items[0].format->extension));
	assert_null(strchr(path, '/'));
}

static void formats_say_whether_times_and_metrics_are_shown(void **state _unused_)
{
	assert_int_equal(init_one("a.folded", NULL), 0);
	assert_false(outputs_have_times(&outputs));
	assert_false(outputs_have_timestamps(&outputs));
	assert_false(outputs_have_all_metrics(&outputs)); /* one has to be chosen */
	assert_int_equal(init_one("a.pb.gz", NULL), 0);
	assert_true(outputs_have_all_metrics(&outputs));
	assert_int_equal(init_one("a.pftrace", NULL), 0);
	assert_true(outputs_have_times(&outputs));
	assert_int_equal(init_one("a.html", NULL), 0);
	assert_true(outputs_have_timestamps(&outputs));
	assert_false(outputs_have_times(&outputs));
}

static int write_too_much(const struct profile *profile _unused_, const struct format_opts *opts,
			  const struct sink *sink _unused_)
{
	assert_non_null(opts->ret_num_events);
	*opts->ret_num_events = 20000000;
	return -EOVERFLOW;
}

static int write_not(const struct profile *profile _unused_,
		     const struct format_opts *opts _unused_, const struct sink *sink _unused_)
{
	return -ENOSPC;
}

static void what_a_format_cannot_hold_is_told(void **state _unused_)
{
	struct profile *profile = make_profile();
	const struct format_opts opts = {0};
	struct format format = {.name = "small", .write = write_too_much, .max_metrics = 1};
	struct output output = {.format = &format};
	struct outputs one = {.items = &output, .length = 1};
	struct caught_output caught;
	char message[512];
	uint32_t metric;
	int err;

	assert_int_equal(output_file_open("/dev/null", OUTPUT_MODE, &output.file, NULL), 0);
	assert_int_equal(outputs_fill(&one, profile, &opts, &error), -EOVERFLOW);
	assert_string_equal(error.message,
			    "the sum of the weights exceeds the range of the format small");
	format.write = write_not;
	assert_int_equal(profile_add_metric(profile, "cycles", "count", &metric), 0);
	assert_int_equal(profile_add_metric(profile, "misses", "count", &metric), 0);
	log_set_level(LOG_LEVEL_NORMAL);
	caught = caught_output_start(STDERR_FILENO);
	err = outputs_fill(&one, profile, &opts, &error);
	caught_output_end(&caught, message, sizeof(message));
	assert_int_equal(err, -ENOSPC);
	assert_string_equal(error.message, "cannot write '/dev/null': No space left on device");
	assert_string_equal(
		message,
		"stackwide: warning: the format small holds 1 metrics: cycles and all after it (2 metrics) are skipped\n");
	output_file_free(output.file);
	profile_free(profile);
}

/* Of three outputs the second cannot be written. */
static void others_are_written_if_one_fails(void **state _unused_)
{
	struct profile *profile = make_profile();
	const struct format_opts opts = {0};
	struct format failing = {.name = "small", .write = write_not};
	struct output items[] = {
		{.format = &format_folded}, {.format = &failing}, {.format = &format_folded}};
	struct outputs three = {.items = items, .length = ARRAY_LENGTH(items)};
	struct caught_output caught;
	char message[512];
	size_t num_failed;

	assert_int_equal(output_file_open(first_path, OUTPUT_MODE, &items[0].file, &error), 0);
	assert_int_equal(output_file_open("/dev/null", OUTPUT_MODE, &items[1].file, &error), 0);
	assert_int_equal(output_file_open(second_path, OUTPUT_MODE, &items[2].file, &error), 0);
	log_set_level(LOG_LEVEL_NORMAL);
	caught = caught_output_start(STDERR_FILENO);
	num_failed = outputs_fill_each(&three, profile, &opts);
	caught_output_end(&caught, message, sizeof(message));
	assert_int_equal(num_failed, 1);
	assert_string_equal(message,
			    "stackwide: cannot write '/dev/null': No space left on device\n");
	assert_false(items[0].has_failed);
	assert_true(items[1].has_failed);
	assert_int_equal(outputs_commit(&three, &error), 0);
	assert_int_equal(access(first_path, F_OK), 0);
	assert_int_equal(access(second_path, F_OK), 0);
	outputs_close(&three);
	/* It is skipped, and counts, until all are written anew. */
	items[0].has_failed = true;
	for (size_t i = 0; i < three.length; i++)
		assert_int_equal(output_file_open("/dev/null", OUTPUT_MODE, &items[i].file, &error),
				 0);
	assert_int_equal(outputs_fill_each(&three, profile, &opts), 2);
	outputs_close(&three);
	profile_free(profile);
}

static void a_metric_that_is_missing_is_told(void **state _unused_)
{
	struct profile *profile = make_profile();
	const struct format_opts opts = {0};
	struct format format = {.name = "waits", .metric = "off-cpu"};
	struct output output = {.format = &format};
	struct outputs one = {.items = &output, .length = 1};

	assert_int_equal(outputs_fill(&one, profile, &opts, &error), -ENODATA);
	assert_ptr_equal(outputs_find_metric(&one, "off-cpu"), &format);
	assert_null(outputs_find_metric(&one, "samples"));
	profile_free(profile);
}

/* What was declared and never used can be written. */
static void zones_of_what_has_none_are_refused(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct timeline *timeline = timeline_new();
	const struct format_opts opts = {.timeline = timeline};
	struct output output = {.format = &format_zones};
	struct outputs one = {.items = &output, .length = 1};

	assert_int_equal(outputs_fill(&one, profile, &(struct format_opts){0}, &error), -ENODATA);
	assert_int_equal(outputs_fill(&one, profile, &opts, &error), -ENODATA);
	assert_non_null(strstr(error.message, "holds zones, and the input has none"));
	assert_int_equal(timeline_add_process(timeline, &(struct timeline_process){.pid = 5}, NULL),
			 0);
	assert_int_equal(output_file_open(first_path, OUTPUT_MODE, &output.file, &error), 0);
	assert_int_equal(outputs_fill(&one, profile, &opts, &error), 0);
	outputs_close(&one);
	timeline_free(timeline);
	profile_free(profile);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_files_appear_when_they_are_written),
		TEST(without_a_commit_nothing_is_left),
		TEST(one_that_cannot_be_opened_is_an_error),
		TEST(each_file_has_a_descriptor_that_its_writer_needs),
		TEST(files_can_start_over_and_pipes_cannot),
		TEST(a_number_comes_before_the_extension),
		TEST(standard_output_has_no_number),
		TEST(the_format_is_asked_for_or_that_of_the_extension),
		TEST(a_suffix_behind_the_extension_compresses),
		TEST(compressed_formats_are_not_compressed_again),
		TEST(without_a_name_there_is_a_made_up_one),
		TEST(formats_say_whether_times_and_metrics_are_shown),
		TEST(what_a_format_cannot_hold_is_told),
		TEST(others_are_written_if_one_fails),
		TEST(a_metric_that_is_missing_is_told),
		TEST(zones_of_what_has_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
