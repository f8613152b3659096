/* Which code of which file has probes, of which event, and when. The files are memory of the test. */
#include "collect/events/allocator_code.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "collect/events/probe.h"
#include "unit.h"

#define EVENT 3

struct fixture {
	struct allocator_code *code;
	/*
	 * With code from 0xf00 to 0x1200, and from 0x3000 to 0x3010, and one that frees at 0x4000. The
	 * second one may jump to helpers at 0x5000 and 0x6000.
	 */
	struct probe_site sites[3];
	struct code_place place;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct stat status;

	fixture->code = allocator_code_new();
	fixture->sites[0] = (struct probe_site){.offset = 0xf00, .function_bytes = 0x300};
	fixture->sites[1] = (struct probe_site){.offset = 0x3000, .function_bytes = 0x10};
	fixture->sites[1].helpers[0] = (struct allocator_code_range){0x5000, 0x20};
	fixture->sites[1].helpers[1] = (struct allocator_code_range){0x6000, 0x10};
	fixture->sites[2] = (struct probe_site){.offset = 0x4000, .function_bytes = 0x10};
	fixture->sites[0].argument.source = fixture->sites[1].argument.source = ARGUMENT_REGISTER;
	fixture->sites[0].fd = memfd_create("file", MFD_CLOEXEC);
	assert_int_equal(fstat(fixture->sites[0].fd, &status), 0);
	fixture->place = (struct code_place){.device = status.st_dev, .inode = status.st_ino};
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	close(fixture->sites[0].fd);
	allocator_code_free(fixture->code);
	free(fixture);
	return 0;
}

static bool has(struct fixture *fixture, uint64_t offset, uint64_t time_ns)
{
	fixture->place.offset = offset;
	return allocator_code_find(fixture->code, EVENT, &fixture->place, time_ns) ==
	       ALLOCATOR_FUNCTION;
}

static int add(struct fixture *fixture, size_t event, uint64_t since_ns)
{
	return allocator_code_add(fixture->code, event, fixture->sites,
				  ARRAY_LENGTH(fixture->sites), since_ns);
}

static void code_is_known_by_file_and_offset(void **state)
{
	struct fixture *fixture = *state;

	assert_false(has(fixture, 0x1000, 5));
	assert_int_equal(add(fixture, EVENT, 0), 0);
	assert_false(has(fixture, 0xeff, 5));
	assert_true(has(fixture, 0xf00, 5));
	assert_true(has(fixture, 0x11ff, 5));
	assert_false(has(fixture, 0x1200, 5));
	assert_true(has(fixture, 0x300f, 5));
	assert_false(has(fixture, 0x3010, 5));
	assert_false(has(fixture, 0x4000, 5));
	assert_int_equal(allocator_code_find(fixture->code, EVENT, &fixture->place, 5),
			 ALLOCATOR_FILE);
	fixture->place.inode++;
	assert_false(has(fixture, 0x1000, 5));
	assert_int_equal(allocator_code_find(fixture->code, EVENT, &fixture->place, 5),
			 ALLOCATOR_NONE);
	fixture->place.inode--;
	fixture->place.device++;
	assert_false(has(fixture, 0x1000, 5));
}

static enum allocator_part find(struct fixture *fixture, uint64_t offset)
{
	fixture->place.offset = offset;
	return allocator_code_find(fixture->code, EVENT, &fixture->place, 5);
}

static void helpers_are_part_of_it(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(add(fixture, EVENT, 0), 0);
	assert_int_equal(find(fixture, 0x4fff), ALLOCATOR_FILE);
	assert_int_equal(find(fixture, 0x5000), ALLOCATOR_HELPER);
	assert_int_equal(find(fixture, 0x501f), ALLOCATOR_HELPER);
	assert_int_equal(find(fixture, 0x5020), ALLOCATOR_FILE);
	assert_int_equal(find(fixture, 0x600f), ALLOCATOR_HELPER);
	assert_int_equal(find(fixture, 0x3000), ALLOCATOR_FUNCTION);
}

/* One function jumps through a pointer. */
static void any_code_of_the_file_may_be_a_helper(void **state)
{
	struct fixture *fixture = *state;

	fixture->sites[0].has_other_helpers = true;
	assert_int_equal(add(fixture, EVENT, 0), 0);
	assert_int_equal(find(fixture, 0x7000), ALLOCATOR_HELPER);
	assert_int_equal(find(fixture, 0xf00), ALLOCATOR_FUNCTION);
}

/* What another event does not count is not part of a call that it counts. */
static void each_event_has_its_own(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(add(fixture, EVENT + 1, 0), 0);
	assert_false(has(fixture, 0x1000, 5));
	assert_int_equal(add(fixture, EVENT, 0), 0);
	allocator_code_end(fixture->code, EVENT + 1, fixture->place.device, fixture->place.inode,
			   1);
	assert_true(has(fixture, 0x1000, 5));
}

static void code_has_probes_for_a_time(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(add(fixture, EVENT, 10), 0);
	assert_false(has(fixture, 0x1000, 9));
	assert_true(has(fixture, 0x1000, 10));
	allocator_code_end(fixture->code, EVENT, fixture->place.device, fixture->place.inode + 1,
			   15);
	allocator_code_end(fixture->code, EVENT, fixture->place.device, fixture->place.inode, 20);
	assert_true(has(fixture, 0x1000, 19));
	assert_false(has(fixture, 0x1000, 20));
	/* The file was overwritten, and is followed again. */
	assert_int_equal(add(fixture, EVENT, 30), 0);
	assert_false(has(fixture, 0x1000, 29));
	assert_true(has(fixture, 0x1000, 30));
	allocator_code_end(fixture->code, EVENT, fixture->place.device, fixture->place.inode, 40);
	assert_false(has(fixture, 0x1000, 25));
}

static void a_file_that_is_not_open_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	struct probe_site site = fixture->sites[0];

	site.fd = -1;
	assert_int_equal(allocator_code_add(fixture->code, EVENT, &site, 1, 0), -EBADF);
	allocator_code_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(code_is_known_by_file_and_offset),
		TEST(helpers_are_part_of_it),
		TEST(any_code_of_the_file_may_be_a_helper),
		TEST(each_event_has_its_own),
		TEST(code_has_probes_for_a_time),
		TEST(a_file_that_is_not_open_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
