/*
 * Zones in shared memory: what the library writes is what is read, and nothing that it could have
 * been made to hold by somebody else does harm.
 */
#define STACKWIDE_SHARED_BLOCKS 4 /* of a ring, so that it is soon full */
#include <stackwide/zones.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "formats/zones.h"
#include "zones_builder.h"

/* clang-format off */
#include "test_folder.h"
/* clang-format on */

#define HEADER_BYTES (sizeof(struct stackwide_shared_header) + STACKWIDE_DECLARED_BYTES)

static char folder[TEST_PATH_BYTES];
static char ring_path[TEST_PATH_BYTES + 32];

static int open_rings(void **state _unused_)
{
	test_folder_make(folder);
	snprintf(ring_path, sizeof(ring_path), "%s/x.ring", folder);
	return stackwide_zones_open(ring_path);
}

static int close_rings(void **state _unused_)
{
	char command[TEST_PATH_BYTES + 32];

	stackwide_zones_close();
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static struct text load(const char *path)
{
	struct text bytes = {0};

	assert_int_equal(file_read_at(AT_FDCWD, path, 1u << 26, &bytes), 0);
	return bytes;
}

static void read_bytes(const struct text *bytes, struct zones_read_result *ret)
{
	assert_true(zones_is_rings((const uint8_t *)bytes->data, bytes->length));
	if (builder_read(&format_zones, bytes->data, bytes->length, false, ret))
		fail_msg("%s", ret->error.message);
}

static void read_path(const char *path, struct zones_read_result *ret)
{
	struct text bytes = load(path);

	read_bytes(&bytes, ret);
	text_release(&bytes);
}

static const char *name_of(const struct zones_read_result *result, uint32_t zone)
{
	assert_true(zone < timeline_count_zone(result->timeline));
	return timeline_get_string(result->timeline,
				   timeline_get_zone(result->timeline, zone)->name);
}

static void report_zones(int count)
{
	for (int i = 0; i < count; i++) {
		STACKWIDE_ZONE_AS(zone, "many");
		stackwide_zone_integer(&zone, "number", i);
	}
}

static void the_layout_is_the_readers(void **state _unused_)
{
	struct text bytes = load(ring_path);
	struct zones_rings_header header;

	assert_int_equal(sizeof(struct stackwide_shared_header), ZONES_RINGS_HEADER_BYTES);
	assert_int_equal(sizeof(struct stackwide_block), ZONES_RINGS_BLOCK_HEADER);
	assert_int_equal(sizeof(struct stackwide_shared_record), 32);
	assert_int_equal(STACKWIDE_BLOCK_BYTES, ZONES_RINGS_BLOCK_BYTES);
	assert_true(zones_rings_parse_header((const uint8_t *)bytes.data, bytes.length, &header));
	assert_int_equal(header.capacity_bytes, STACKWIDE_DECLARED_BYTES);
	assert_int_equal(header.ring_blocks, STACKWIDE_SHARED_BLOCKS);
	assert_true(header.declared_bytes > 0);
	text_release(&bytes);
}

static void all_that_is_reported_is_read(void **state _unused_)
{
	struct zones_read_result result;
	struct text written;

	stackwide_zones_name_thread("the, \"thread\"");
	{
		STACKWIDE_ZONE_AS(outer, "outer");
		stackwide_zone_text(&outer, "text", "a, \"b\"");
		stackwide_zone_integer(&outer, "integer", -5);
		stackwide_zone_decimal(&outer, "decimal", 0.25);
		stackwide_zone_category(&outer, "io");
		stackwide_zone_flow(&outer, 77);
		{
			STACKWIDE_ZONE_AS(inner, "inner");
			stackwide_zone_rename(&inner, "renamed");
			stackwide_zone_last_flow(&inner, 77);
			STACKWIDE_COUNTER("queue", -3);
		}
	}
	read_path(ring_path, &result);
	assert_string_equal(result.warnings.data, "");
	assert_int_equal(timeline_count_zone(result.timeline), 2);
	assert_string_equal(name_of(&result, 0), "outer");
	assert_string_equal(name_of(&result, 1), "renamed");
	assert_int_equal(timeline_get_zone(result.timeline, 1)->parent, 0);
	assert_int_equal(timeline_get_process(result.timeline, 0)->pid, getpid());
	written = builder_write(&format_zones, &result, (struct format_opts){0});
	assert_non_null(strstr(written.data, ", \"the, \"\"thread\"\"\"\n"));
	assert_non_null(strstr(written.data, ", text, \"a, \"\"b\"\"\"\n"));
	assert_non_null(strstr(written.data, ", integer, -5\n"));
	assert_non_null(strstr(written.data, ", decimal, 0.25\n"));
	assert_non_null(strstr(written.data, ", io\n"));
	assert_non_null(strstr(written.data, "ZONE_FLOW_T"));
	assert_non_null(strstr(written.data, ", -3\n"));
	text_release(&written);
	builder_release(&result);
}

static void a_full_ring_has_the_last_zones_and_how_many_are_lost(void **state _unused_)
{
	struct zones_read_result result;
	uint32_t count;
	char warning[200];

	report_zones(1000);
	read_path(ring_path, &result);
	count = timeline_count_zone(result.timeline);
	/* A zone takes 128 bytes; the oldest block may have lost the start of its first one. */
	assert_in_range(count, 3 * 31, 4 * 32);
	snprintf(
		warning, sizeof(warning),
		"x: %u zones were overwritten before they were read: a ring keeps the last ones of its thread\n",
		1000 - count);
	assert_int_equal(strncmp(result.warnings.data, warning, strlen(warning)), 0);
	/* The last one is the 1000th. */
	assert_int_equal(timeline_next_attribute(result.timeline, count - 1, NULL)->value.i64, 999);
	builder_release(&result);
}

static void a_zone_that_lost_its_start_or_end_does_no_harm(void **state _unused_)
{
	struct zones_read_result result;

	{
		STACKWIDE_ZONE_AS(outer, "outer");
		report_zones(1000);
		stackwide_zone_text(&outer, "text", "late");
	}
	read_path(ring_path, &result);
	assert_non_null(strstr(result.warnings.data, "x: 0 zones lack their end, and "));
	for (uint32_t i = 0; i < timeline_count_zone(result.timeline); i++)
		assert_string_equal(name_of(&result, i), "many");
	builder_release(&result);
}

static void *report_in_thread(void *name)
{
	stackwide_zones_name_thread(name);
	report_zones(3);
	return NULL;
}

static void rings_of_threads_that_have_ended_are_used_again(void **state _unused_)
{
	struct zones_read_result result;
	struct stat status;
	pthread_t thread;

	for (int i = 0; i < 5; i++) {
		char name[32];

		snprintf(name, sizeof(name), "thread %d", i);
		assert_int_equal(pthread_create(&thread, NULL, report_in_thread, name), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
	assert_int_equal(stat(ring_path, &status), 0);
	assert_int_equal(status.st_size, HEADER_BYTES + STACKWIDE_SHARED_BYTES);
	read_path(ring_path, &result);
	/* The fifth one's block took the place of the first one's. */
	assert_int_equal(timeline_count_zone(result.timeline), 4 * 3);
	assert_non_null(strstr(result.warnings.data, "x: 3 zones were overwritten"));
	builder_release(&result);
}

static void a_child_has_a_file_of_its_own(void **state _unused_)
{
	struct zones_read_result result;
	char path[sizeof(ring_path) + 16];
	int status;
	pid_t child;

	report_zones(1);
	child = fork();
	if (child == 0) {
		report_zones(2);
		_exit(0); /* which runs nothing of ours */
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	report_zones(1);
	read_path(ring_path, &result);
	assert_int_equal(timeline_count_zone(result.timeline), 2);
	builder_release(&result);
	snprintf(path, sizeof(path), "%s.%d", ring_path, child);
	read_path(path, &result);
	assert_int_equal(timeline_count_zone(result.timeline), 2);
	assert_int_equal(timeline_get_process(result.timeline, 0)->pid, child);
	builder_release(&result);
}

static void the_name_is_that_of_the_last_run(void **state _unused_)
{
	struct zones_read_result result;
	char path[sizeof(ring_path) + 16];

	report_zones(1);
	stackwide_zones_close();
	assert_int_equal(stackwide_zones_open(ring_path), 0);
	report_zones(2);
	read_path(ring_path, &result);
	assert_int_equal(timeline_count_zone(result.timeline), 2);
	builder_release(&result);
	snprintf(path, sizeof(path), "%s.%d", ring_path, getpid());
	read_path(path, &result);
	assert_int_equal(timeline_count_zone(result.timeline), 1);
	builder_release(&result);
}

/* ---- what somebody else may have written -------------------------------------------------- */

static void assert_refused(struct text *bytes, size_t length, const char *message)
{
	struct zones_read_result result;

	assert_int_equal(builder_read(&format_zones, bytes->data, length, false, &result),
			 -EBADMSG);
	assert_string_equal(result.error.message, message);
	builder_release(&result);
}

static void a_malformed_header_is_refused(void **state _unused_)
{
	struct text bytes = load(ring_path);
	struct stackwide_shared_header *header =
		(struct stackwide_shared_header *)(void *)bytes.data;

	assert_refused(&bytes, 40, "x: at byte 16: expected zones in shared memory of version 1");
	assert_refused(&bytes, HEADER_BYTES - 1,
		       "x: at byte 28: the declarations end beyond the file");
	header->declared_bytes = UINT64_MAX;
	assert_refused(&bytes, bytes.length,
		       "x: at byte 32: expected at most 1048576 bytes of declarations, not "
		       "18446744073709551615");
	header->declared_bytes = 21;
	memcpy(header + 1, "THREAD, 1, a\nWHAT, 2\n", 21);
	assert_refused(&bytes, bytes.length, "x:2: unknown command 'WHAT'");
	header->version = 2;
	assert_refused(&bytes, bytes.length,
		       "x: at byte 16: expected zones in shared memory of version 1");
	text_release(&bytes);
}

/* The first record of the first block. */
static struct stackwide_shared_record *find_record(const struct text *bytes)
{
	return (struct stackwide_shared_record *)(void *)(bytes->data + HEADER_BYTES +
							  sizeof(struct stackwide_block));
}

static void a_malformed_record_ends_its_block(void **state _unused_)
{
	struct zones_read_result result;
	struct stackwide_shared_record good;
	struct stackwide_shared_record bad[6];
	struct text bytes;

	report_zones(100);
	bytes = load(ring_path);
	good = *find_record(&bytes);
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		bad[i] = good;
	bad[0].size = 31;
	bad[1].size = 0;
	bad[2].size = 65504;
	bad[3].type = 99;
	bad[4].text_length = 1;
	bad[5].time_ns = UINT64_MAX;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		*find_record(&bytes) = bad[i];
		read_bytes(&bytes, &result);
		assert_int_equal(timeline_count_zone(result.timeline), 100 - 32);
		assert_non_null(strstr(result.warnings.data, "x: 32 zones were overwritten"));
		assert_non_null(strstr(result.warnings.data, "x: 1 block is malformed"));
		assert_int_equal(result.counts.skipped, 1);
		builder_release(&result);
	}
	text_release(&bytes);
}

static void a_malformed_block_is_left_out(void **state _unused_)
{
	struct zones_read_result result;
	struct stackwide_block *block;
	struct text bytes;

	report_zones(100);
	bytes = load(ring_path);
	block = (struct stackwide_block *)(void *)(bytes.data + HEADER_BYTES);
	block->used = 4097;
	read_bytes(&bytes, &result);
	assert_int_equal(timeline_count_zone(result.timeline), 100 - 32);
	builder_release(&result);
	block->used = 31;
	read_bytes(&bytes, &result);
	assert_int_equal(timeline_count_zone(result.timeline), 100 - 32);
	builder_release(&result);
	block->used = 4096;
	block->ring = UINT32_MAX;
	read_bytes(&bytes, &result);
	assert_int_equal(timeline_count_zone(result.timeline), 100 - 32);
	builder_release(&result);
	/* While a block is made anew, it has no number. */
	block->ring = 0;
	block->sequence = 0;
	read_bytes(&bytes, &result);
	assert_int_equal(timeline_count_zone(result.timeline), 100 - 32);
	assert_null(strstr(result.warnings.data, "malformed"));
	assert_int_equal(result.counts.skipped, 0);
	builder_release(&result);
	text_release(&bytes);
}

/* A reader that copies a ring while it is written has some blocks twice. */
static void of_two_copies_of_a_block_the_fuller_one_counts(void **state _unused_)
{
	struct zones_read_result result;
	struct text bytes;
	struct text again;

	report_zones(3);
	bytes = load(ring_path);
	report_zones(4);
	again = load(ring_path);
	text_append(&bytes, again.data + HEADER_BYTES, STACKWIDE_BLOCK_BYTES);
	read_bytes(&bytes, &result);
	assert_int_equal(timeline_count_zone(result.timeline), 7);
	assert_string_equal(result.warnings.data, "");
	builder_release(&result);
	text_release(&bytes);
	text_release(&again);
}

static void a_location_that_is_not_declared_is_unknown(void **state _unused_)
{
	struct zones_read_result result;
	struct text bytes;

	report_zones(1);
	bytes = load(ring_path);
	find_record(&bytes)->number = 12345;
	read_bytes(&bytes, &result);
	assert_string_equal(name_of(&result, 0), "[unknown]");
	builder_release(&result);
	text_release(&bytes);
}

int main(void)
{
#define RINGS_TEST(name) cmocka_unit_test_setup_teardown(name, open_rings, close_rings)
	const struct CMUnitTest tests[] = {
		RINGS_TEST(the_layout_is_the_readers),
		RINGS_TEST(all_that_is_reported_is_read),
		RINGS_TEST(a_full_ring_has_the_last_zones_and_how_many_are_lost),
		RINGS_TEST(a_zone_that_lost_its_start_or_end_does_no_harm),
		RINGS_TEST(rings_of_threads_that_have_ended_are_used_again),
		RINGS_TEST(a_child_has_a_file_of_its_own),
		RINGS_TEST(the_name_is_that_of_the_last_run),
		RINGS_TEST(a_malformed_header_is_refused),
		RINGS_TEST(a_malformed_record_ends_its_block),
		RINGS_TEST(a_malformed_block_is_left_out),
		RINGS_TEST(of_two_copies_of_a_block_the_fuller_one_counts),
		RINGS_TEST(a_location_that_is_not_declared_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
