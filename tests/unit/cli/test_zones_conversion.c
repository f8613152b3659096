/*
 * What is converted without being in memory as a whole, and that all passes see the same bytes. The passes are the test's.
 */
#define file_open_anonymous  open_spill
#define file_write_at        write_spill
#define perfetto_write_zones write_zones
#include "cli/files/zones_conversion.c"

#include <string.h>
#include <sys/mman.h>

/* clang-format off */
#include "caught_output.h"
#include "test_folder.h"
/* clang-format on */

#define TEXT "#! process 7 game\nLOCATION, 1, A, f, a.c, 1\nZONE_START, 0x1000, 7, 10, 1\n"

static char folder[TEST_PATH_BYTES], input[TEST_PATH_BYTES + 16], output[TEST_PATH_BYTES + 16];
static struct output items[2];
static struct outputs outputs;
static struct input_options options;
static int pass_error, spill_error;
static bool appends, spills, is_malformed;
static uint64_t num_records;
static char passes[3][1024];
static char message[4096];

static void write_file(const char *path, const char *mode, const char *text)
{
	FILE *file = fopen(path, mode);

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

int open_spill(const char *parent _unused_, struct error *error)
{
	if (spill_error)
		return error_set(error, spill_error, "no spill");
	return memfd_create("spill", MFD_CLOEXEC);
}

int write_spill(int fd, const void *data, size_t size, uint64_t offset)
{
	return pwrite(fd, data, size, (off_t)offset) == (ssize_t)size ? 0 : -EIO;
}

/* Some bytes at a time. */
static int read_pass(const struct zones_source *source, char *ret, size_t size)
{
	size_t length = 0;
	size_t got;
	int err = source->rewind(source->context);

	do {
		if (err)
			return err;
		err = source->read(source->context, ret + length, 100, &got);
		length += err ? 0 : got;
		assert_true(length + 100 < size);
	} while (err || got);
	ret[length] = '\0';
	return 0;
}

/* What comes later is found first. */
static int use_spill(const struct record_store *store)
{
	uint64_t offsets[2];
	char found[8] = "";
	int err = store->append(store->context, "first", 5, &offsets[0]);

	if (err)
		return err;
	err = store->append(store->context, "second", 6, &offsets[1]);
	if (err)
		return err;
	err = store->read(store->context, offsets[1], found, 6);
	assert_string_equal(found, "second");
	err = err ? err : store->read(store->context, offsets[0], found, 5);
	assert_string_equal(found, "firstd");
	return err ? err : store->read(store->context, 1000, found, 5);
}

int write_zones(struct import *import, const struct zones_source *source,
		const struct record_store *store, bool is_compressed, const struct sink *sink)
{
	assert_false(is_compressed);
	for (size_t i = 0; i < ARRAY_LENGTH(passes); i++) {
		int err = read_pass(source, passes[i], sizeof(passes[i]));

		if (err)
			return err;
		if (appends)
			write_file(input, "a", "ZONE_END, 0x1000, 20\n");
	}
	import->counts.records = num_records;
	if (is_malformed)
		return import_fail_line(import, 3, "this is no zone");
	if (spills) {
		int err = use_spill(store);

		if (err)
			return err;
	}
	return pass_error ? pass_error : sink->write(sink->context, "trace", 5);
}

static int set_up(void **state _unused_)
{
	test_folder_make(folder);
	snprintf(input, sizeof(input), "%s/a.zones", folder);
	snprintf(output, sizeof(output), "%s/a.pftrace", folder);
	write_file(input, "w", TEXT);
	memset(items, 0, sizeof(items));
	items[0].format = items[1].format = &format_pftrace;
	outputs = (struct outputs){items, 1};
	options = (struct input_options){0};
	pass_error = spill_error = 0;
	appends = spills = is_malformed = false;
	num_records = 0;
	log_set_level(LOG_LEVEL_NORMAL);
	return 0;
}

static int tear_down(void **state _unused_)
{
	char command[TEST_PATH_BYTES + 32];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

/* Whether it was converted; the status, and the messages in `message`. */
static bool convert_file(const char *path, int *ret_status)
{
	struct caught_output caught;
	bool is_converted;

	assert_int_equal(output_file_open(output, OUTPUT_MODE, &items[0].file, NULL), 0);
	caught = caught_output_start(STDERR_FILENO);
	is_converted = zones_conversion_run(path, &options, &outputs, false, ret_status);
	caught_output_end(&caught, message, sizeof(message));
	output_file_free(items[0].file);
	return is_converted;
}

static void assert_has(const char *part)
{
	if (!strstr(message, part))
		fail_msg("no '%s' in: %s", part, message);
}

static void all_passes_see_the_same_bytes(void **state _unused_)
{
	int status;

	appends = true;
	assert_true(convert_file(input, &status));
	assert_int_equal(status, EXIT_DONE);
	for (size_t i = 0; i < ARRAY_LENGTH(passes); i++)
		assert_string_equal(passes[i], TEXT);
	assert_string_equal(message, "");
	assert_int_equal(access(output, F_OK), 0);
}

static void what_is_wrong_with_the_content_is_bad_input(void **state _unused_)
{
	int status;

	is_malformed = true;
	assert_true(convert_file(input, &status));
	assert_int_equal(status, EXIT_BAD_INPUT);
	assert_has("a.zones:3: this is no zone");
	assert_int_not_equal(access(output, F_OK), 0);
}

static void errors_of_the_system_are_failures(void **state _unused_)
{
	int status;

	pass_error = -ENOMEM;
	assert_true(convert_file(input, &status));
	assert_int_equal(status, EXIT_FAILED);
	assert_has("Cannot allocate memory");
	assert_int_not_equal(access(output, F_OK), 0);
	pass_error = 0;
	spills = true;
	spill_error = -ENOSPC;
	assert_true(convert_file(input, &status));
	assert_int_equal(status, EXIT_FAILED);
	assert_has("no spill");
}

/* The first and the last read of use_spill() are good and bad. */
static void what_is_too_much_for_memory_is_found_again(void **state _unused_)
{
	int status;

	spills = true;
	assert_true(convert_file(input, &status));
	assert_int_equal(status, EXIT_FAILED);
	assert_has("cannot sort in a temporary file in '");
	assert_has("set TMPDIR to a directory with room");
}

static void a_trace_that_is_large_has_a_hint(void **state _unused_)
{
	int status;

	num_records = 20000000;
	assert_true(convert_file(input, &status));
	assert_int_equal(status, EXIT_DONE);
	assert_has("the trace has 20 million events");
	assert_has("a.pftrace'");
}

static void all_else_goes_the_way_of_all_inputs(void **state _unused_)
{
	char other[TEST_PATH_BYTES + 16];
	int status = 77;

	assert_false(convert_file("-", &status));
	assert_false(convert_file(folder, &status));
	assert_false(convert_file("/dev/null", &status));
	snprintf(other, sizeof(other), "%s/gone", folder);
	assert_false(convert_file(other, &status));
	snprintf(other, sizeof(other), "%s/a.folded", folder);
	write_file(other, "w", "main;a 1\n");
	assert_false(convert_file(other, &status));
	snprintf(other, sizeof(other), "%s/b.zones", folder);
	write_file(other, "w", "\037\213\010");
	assert_false(convert_file(other, &status));
	write_file(other, "w", "");
	assert_false(convert_file(other, &status));
	options.metric = "samples";
	assert_false(convert_file(input, &status));
	options.metric = NULL;
	options.format = "folded";
	assert_false(convert_file(input, &status));
	options.format = NULL;
	outputs.length = 2;
	assert_false(convert_file(input, &status));
	outputs.length = 1;
	items[0].format = &format_folded;
	assert_false(convert_file(input, &status));
	assert_int_equal(status, 77);
	assert_string_equal(message, "");
	/* Whoever names the format need not have it recognised. */
	items[0].format = &format_pftrace;
	options.format = "zones";
	snprintf(other, sizeof(other), "%s/c", folder);
	write_file(other, "w", "# nothing yet\n");
	assert_true(convert_file(other, &status));
	assert_int_equal(status, EXIT_DONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_passes_see_the_same_bytes),
		TEST(what_is_wrong_with_the_content_is_bad_input),
		TEST(errors_of_the_system_are_failures),
		TEST(what_is_too_much_for_memory_is_found_again),
		TEST(a_trace_that_is_large_has_a_hint),
		TEST(all_else_goes_the_way_of_all_inputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
