#include "analysis/normalize.h"
#include "profile_builder.h"

static struct profile *profile;

static int set_up(void **state _unused_)
{
	profile = builder_new_comparison();
	return 0;
}

static int tear_down(void **state _unused_)
{
	profile_free(profile);
	return 0;
}

/* A stack of one frame. Returns the frame. */
static uint32_t add(const char *name, const char *module, enum frame_kind kind, uint64_t before,
		    uint64_t after)
{
	struct frame frame = {.kind = (uint8_t)kind};
	uint32_t location, stack;

	assert_int_equal(profile_add_string(profile, name, &frame.name), 0);
	assert_int_equal(profile_add_string(profile, module, &frame.module), 0);
	frame.full_name = frame.name;
	assert_int_equal(profile_add_location(profile, LOCATION_NAMED, 0,
					      profile_count_locations(profile), &location),
			 0);
	assert_int_equal(profile_set_frames(profile, location, &frame, 1, UNNAMED_NOT), 0);
	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
	assert_int_equal(profile_add_sample(profile, 0, stack, 0, before), 0);
	assert_int_equal(profile_add_sample(profile, 0, stack, 1, after), 0);
	return profile_count_frames(profile) - 1;
}

static const char *get_module(uint32_t frame)
{
	return profile_get_string(profile, profile_get_frame(profile, frame)->module);
}

static enum missing_modules apply(void)
{
	enum missing_modules missing;

	assert_int_equal(shared_modules_apply(profile, 0, 1, &missing), 0);
	return missing;
}

static void modules_of_one_side_are_taken_away(void **state _unused_)
{
	uint32_t with = add("main", "a", FRAME_USER, 5, 0);
	uint32_t kernel = add("read", "[kernel]", FRAME_KERNEL, 1, 1);

	add("main", "", FRAME_USER, 0, 5);
	assert_int_equal(apply(), MODULES_MISSING_AFTER);
	assert_string_equal(get_module(with), "");
	assert_string_equal(get_module(kernel), "[kernel]");
}

static void either_side_may_lack_them(void **state _unused_)
{
	uint32_t with = add("main", "a", FRAME_USER, 0, 5);

	add("main", "", FRAME_USER, 5, 0);
	assert_int_equal(apply(), MODULES_MISSING_BEFORE);
	assert_string_equal(get_module(with), "");
}

static void modules_of_both_sides_stay(void **state _unused_)
{
	uint32_t first = add("main", "a", FRAME_USER, 5, 0);
	uint32_t second = add("main", "b", FRAME_USER, 0, 5);

	add("other", "", FRAME_USER, 3, 3);
	assert_int_equal(apply(), MODULES_SHARED);
	assert_string_equal(get_module(first), "a");
	assert_string_equal(get_module(second), "b");
}

/* What has no weight on a side is not there. */
static void modules_of_no_weight_do_not_count(void **state _unused_)
{
	uint32_t with = add("main", "a", FRAME_USER, 5, 0);

	add("main", "b", FRAME_USER, 0, 0);
	add("main", "", FRAME_USER, 0, 5);
	assert_int_equal(apply(), MODULES_MISSING_AFTER);
	assert_string_equal(get_module(with), "");
}

static void the_kernel_alone_is_no_module(void **state _unused_)
{
	add("main", "", FRAME_USER, 5, 0);
	add("read", "[kernel]", FRAME_KERNEL, 1, 0);
	add("main", "", FRAME_USER, 0, 5);
	assert_int_equal(apply(), MODULES_SHARED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(modules_of_one_side_are_taken_away), TEST(either_side_may_lack_them),
		TEST(modules_of_both_sides_stay),         TEST(modules_of_no_weight_do_not_count),
		TEST(the_kernel_alone_is_no_module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
