#include "cli/record/zones_collector.h"

#define STACKWIDE_SHARED_BLOCKS 4 /* of a ring, so that it is soon full */
#include <stackwide/zones.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "formats/zones_builder.h"

/* clang-format off */
#include "test_folder.h"
/* clang-format on */

static char folder[TEST_PATH_BYTES];
static char ring_path[TEST_PATH_BYTES + 32];

static int open_rings(void **state _unused_)
{
	test_folder_make(folder);
	snprintf(ring_path, sizeof(ring_path), "%s/x.ring", folder);
	log_set_level(LOG_LEVEL_QUIET);
	return stackwide_zones_open(ring_path);
}

static int close_rings(void **state _unused_)
{
	char command[TEST_PATH_BYTES + 32];

	stackwide_zones_close();
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static void report_zones(int count)
{
	for (int i = 0; i < count; i++) {
		STACKWIDE_ZONE_AS(zone, "many");
		stackwide_zone_integer(&zone, "number", i);
	}
}

static struct zones_collector *make_collector(void)
{
	struct zones_collector *collector;
	struct stat status;
	int fd = open(ring_path, O_RDONLY);

	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(zones_collector_new(fd, &status, &collector), 0);
	assert_true(zones_collector_is_of(collector, &status));
	return collector;
}

/* How many zones the copy has; warnings go to ret. */
static uint32_t count_zones(struct zones_collector *collector, struct text *ret)
{
	struct zones_read_result result;
	struct text bytes = {0};
	uint32_t count;
	int fd = zones_collector_finish(collector);

	assert_true(fd >= 0);
	assert_int_equal(file_read_fd(fd, 1u << 26, &bytes), 0);
	if (builder_read(&format_zones, bytes.data, bytes.length, false, &result))
		fail_msg("%s", result.error.message);
	text_append_string(ret, result.warnings.data);
	count = timeline_count_zone(result.timeline);
	text_release(&bytes);
	builder_release(&result);
	return count;
}

static void what_is_collected_in_time_is_whole(void **state _unused_)
{
	struct zones_collector *collector = make_collector();
	struct text warnings = {0};

	for (int i = 0; i < 40; i++) {
		report_zones(50);
		zones_collector_collect(collector);
	}
	assert_int_equal(count_zones(collector, &warnings), 40 * 50);
	assert_string_equal(warnings.data, "");
	text_release(&warnings);
	zones_collector_free(collector);
}

static void what_was_overwritten_before_is_counted(void **state _unused_)
{
	struct zones_collector *collector = make_collector();
	struct text warnings = {0};
	char warning[100];
	uint32_t count;

	report_zones(90);
	zones_collector_collect(collector);
	report_zones(1000); /* the ring goes round many times */
	zones_collector_collect(collector);
	report_zones(50);
	zones_collector_collect(collector);
	count = count_zones(collector, &warnings);
	/* Two whole blocks of the first; of the others all three that the ring still had, and those since. */
	assert_int_equal(count, 2 * 31 + 5 * 32);
	snprintf(warning, sizeof(warning), "x: %u zones were overwritten", 90 + 1000 + 50 - count);
	assert_int_equal(strncmp(warnings.data, warning, strlen(warning)), 0);
	text_release(&warnings);
	zones_collector_free(collector);
}

static void a_ring_that_is_not_full_is_read_from_the_file_itself(void **state _unused_)
{
	struct zones_collector *collector = make_collector();

	report_zones(5);
	zones_collector_collect(collector);
	assert_int_equal(zones_collector_finish(collector), -1);
	zones_collector_free(collector);
}

static void a_file_that_somebody_truncates_or_overwrites_does_no_harm(void **state _unused_)
{
	static const uint64_t sequences[] = {0, 1, 3, UINT64_MAX, UINT64_MAX - 1, 1ull << 63};
	struct zones_collector *collector = make_collector();
	int fd = open(ring_path, O_RDWR);

	report_zones(100);
	zones_collector_collect(collector);
	for (size_t i = 0; i < ARRAY_LENGTH(sequences); i++) {
		for (off_t block = 0; block < 4; block++)
			assert_int_equal(pwrite(fd, &sequences[i], sizeof(uint64_t),
						(off_t)(sizeof(struct stackwide_shared_header) +
							STACKWIDE_DECLARED_BYTES) +
							block * 4096),
					 sizeof(uint64_t));
		zones_collector_collect(collector);
	}
	/* The program must not touch what is gone. */
	stackwide_zones_close();
	assert_int_equal(ftruncate(fd, 5000), 0);
	zones_collector_collect(collector);
	assert_int_equal(zones_collector_finish(collector), -1);
	close(fd);
	zones_collector_free(collector);
}

static void what_is_no_shared_memory_is_refused(void **state _unused_)
{
	struct zones_collector *collector;
	struct stat status = {0};
	int fd = open("/proc/self/comm", O_RDONLY);

	assert_int_equal(zones_collector_new(fd, &status, &collector), -EINVAL);
	close(fd);
}

int main(void)
{
#define RINGS_TEST(name) cmocka_unit_test_setup_teardown(name, open_rings, close_rings)
	const struct CMUnitTest tests[] = {
		RINGS_TEST(what_is_collected_in_time_is_whole),
		RINGS_TEST(what_was_overwritten_before_is_counted),
		RINGS_TEST(a_ring_that_is_not_full_is_read_from_the_file_itself),
		RINGS_TEST(a_file_that_somebody_truncates_or_overwrites_does_no_harm),
		RINGS_TEST(what_is_no_shared_memory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
