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

/* ---- modules with another name ------------------------------------------------------------ */

static struct moved_modules match(void)
{
	struct moved_modules moved;

	assert_int_equal(moved_modules_match(profile, 0, 1, &moved), 0);
	return moved;
}

static void functions_of_renamed_modules_are_one(void **state _unused_)
{
	uint32_t old = add("main", "app-1", FRAME_USER, 5, 0);
	uint32_t new = add("main", "app-2", FRAME_USER, 0, 5);
	uint32_t gone = add("old", "app-1", FRAME_USER, 5, 0);
	struct moved_modules moved = match();

	assert_int_equal(moved.num_functions, 1);
	assert_string_equal(moved.before, "app-1");
	assert_string_equal(moved.after, "app-2");
	assert_string_equal(get_module(old), "app-2");
	assert_string_equal(get_module(new), "app-2");
	assert_string_equal(get_module(gone), "app-1");
}

/* foo.constprop.0 is matched with foo.constprop.1 later on: then it must have its module. */
static void clones_have_the_module_of_their_function(void **state _unused_)
{
	uint32_t old = add("foo.constprop.0", "app-1", FRAME_USER, 5, 0);

	add("foo.constprop.1", "app-2", FRAME_USER, 0, 5);
	assert_int_equal(match().num_functions, 1);
	assert_string_equal(get_module(old), "app-2");
}

static void functions_of_several_modules_stay(void **state _unused_)
{
	uint32_t first = add("init", "liba-1", FRAME_USER, 5, 0);
	uint32_t second = add("init", "libb-1", FRAME_USER, 5, 0);

	add("init", "liba-2", FRAME_USER, 0, 5);
	assert_int_equal(match().num_functions, 0);
	assert_string_equal(get_module(first), "liba-1");
	assert_string_equal(get_module(second), "libb-1");
}

/* A module that both sides have is itself, even where a function of it is on one side alone. */
static void modules_that_both_sides_have_are_not_renamed(void **state _unused_)
{
	uint32_t old = add("main", "a", FRAME_USER, 5, 0);

	add("other", "a", FRAME_USER, 0, 5);
	add("main", "b", FRAME_USER, 0, 5);
	add("more", "c", FRAME_USER, 5, 0);
	assert_int_equal(match().num_functions, 0);
	assert_string_equal(get_module(old), "a");
}

static void what_has_no_name_or_is_the_kernels_stays(void **state _unused_)
{
	uint32_t unknown = add("[unknown]", "a", FRAME_USER, 5, 0);
	uint32_t kernel = add("probe", "[e1000]", FRAME_KERNEL, 5, 0);

	add("[unknown]", "b", FRAME_USER, 0, 5);
	add("probe", "[igb]", FRAME_KERNEL, 0, 5);
	assert_int_equal(match().num_functions, 0);
	assert_string_equal(get_module(unknown), "a");
	assert_string_equal(get_module(kernel), "[e1000]");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(modules_of_one_side_are_taken_away),
		TEST(either_side_may_lack_them),
		TEST(modules_of_both_sides_stay),
		TEST(modules_of_no_weight_do_not_count),
		TEST(the_kernel_alone_is_no_module),
		TEST(functions_of_renamed_modules_are_one),
		TEST(clones_have_the_module_of_their_function),
		TEST(functions_of_several_modules_stay),
		TEST(modules_that_both_sides_have_are_not_renamed),
		TEST(what_has_no_name_or_is_the_kernels_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
