/* Allocators share a limit of files; the code of an allocator is described in stretches. */
#include "collect/events/probes.c"

#include "unit.h"

#define USER_A 20001
#define USER_B 20002

static char event_name[] = "alloc";
static struct probe probe;
static struct event event;
static struct error error;
static struct allocator_search search;

static int set_up(void **state _unused_)
{
	probe = (struct probe){0};
	event = (struct event){.name = event_name, .probe = &probe};
	error = (struct error){0};
	search = (struct allocator_search){.event = &event, .error = &error, .is_shared = true};
	return 0;
}

static int tear_down(void **state _unused_)
{
	array_release(&probe.fds);
	array_release(&search.owners);
	return 0;
}

/* Files of a user until there is no room. Returns their number. */
static size_t take_all(uid_t owner)
{
	size_t count = 0;

	while (take_room(&search, owner) > 0) {
		assert_non_null(array_add(&probe.fds));
		count++;
	}
	return count;
}

static void a_user_takes_no_more_than_is_left(void **state _unused_)
{
	assert_int_equal(take_all(USER_A), MAX_ALLOCATORS / 2);
	assert_int_equal(take_room(&search, USER_A), 0);
	assert_int_equal(take_all(USER_B), MAX_ALLOCATORS / 4);
	assert_int_equal(take_all(0), MAX_ALLOCATORS / 4); /* root's are trusted */
	assert_int_equal(take_room(&search, 0), 0);
	assert_int_equal(take_room(&search, USER_B), 0);
}

static void without_other_users_there_is_one_limit(void **state _unused_)
{
	search.is_shared = false;
	assert_int_equal(take_all(USER_A), MAX_ALLOCATORS);
	assert_int_equal(search.owners.length, 0);
}

static void files_left_out_are_counted_or_refused(void **state _unused_)
{
	assert_int_equal(leave_out(&search), 0);
	assert_int_equal(leave_out(&search), 0);
	assert_int_equal(event.num_left_out, 2);
	search.is_shared = false;
	assert_int_equal(leave_out(&search), -EINVAL);
	assert_int_equal(event.num_left_out, 2);
	assert_non_null(strstr(error.message, "64 files"));
}

static void add_function(struct allocator *allocator, uint64_t offset, uint64_t bytes,
			 enum argument_source source)
{
	struct allocator_function *function = array_add(&allocator->functions);

	assert_non_null(function);
	function->point.file_offset = offset;
	function->point.argument.source = source;
	function->bytes = bytes;
}

static void own_code_is_described_relative_to_the_point(void **state _unused_)
{
	struct allocator allocator = {0};
	struct wire_own_code own = {0};

	add_function(&allocator, 0x1000, 0x100, ARGUMENT_REGISTER);
	add_function(&allocator, 0x1100 + MAX_OWN_GAP, 0x40, ARGUMENT_REGISTER);
	add_function(&allocator, 0x1180, 0, ARGUMENT_REGISTER);  /* unknown size */
	add_function(&allocator, 0x1190, 0x4000, ARGUMENT_NONE); /* frees */
	add_function(&allocator, 0x1141 + 2 * MAX_OWN_GAP, 0x20, ARGUMENT_REGISTER);
	describe_own_code(&allocator, 0x1100, &own);
	assert_true(own.offsets[0] == (uint64_t)-0x100);
	assert_int_equal(own.bytes[0], 0x140 + MAX_OWN_GAP);
	assert_int_equal(own.offsets[1], 0x41 + 2 * MAX_OWN_GAP);
	assert_int_equal(own.bytes[1], 0x20);
	assert_int_equal(own.bytes[2], 0);
	allocator_release(&allocator);
}

static void the_number_of_stretches_is_bounded(void **state _unused_)
{
	struct {
		struct wire_own_code own;
		uint64_t behind;
	} ret = {.behind = 7};
	struct allocator allocator = {0};

	for (uint64_t i = 0; i < WIRE_MAX_OWN_CODE + 3; i++)
		add_function(&allocator, 0x1000 * (i + 1), 0x10, ARGUMENT_REGISTER);
	describe_own_code(&allocator, 0, &ret.own);
	for (uint64_t i = 0; i < WIRE_MAX_OWN_CODE; i++) {
		assert_int_equal(ret.own.offsets[i], 0x1000 * (i + 1));
		assert_int_equal(ret.own.bytes[i], 0x10);
	}
	assert_int_equal(ret.own.jump_register, 0);
	assert_int_equal(ret.behind, 7);
	allocator_release(&allocator);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_user_takes_no_more_than_is_left),
		TEST(without_other_users_there_is_one_limit),
		TEST(files_left_out_are_counted_or_refused),
		TEST(own_code_is_described_relative_to_the_point),
		TEST(the_number_of_stretches_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
