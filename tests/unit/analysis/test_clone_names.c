#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/normalize.h"
#include "profile_builder.h"

static void assert_base(const char *name, const char *expected)
{
	struct text text = {0};

	text_append_string(&text, "");
	clone_base_append(&text, name, strlen(name));
	assert_string_equal(text.data, expected);
	text_release(&text);
}

static void assert_same(const char *name)
{
	assert_base(name, name);
}

static void suffixes_of_gcc_and_llvm_are_stripped(void **state _unused_)
{
	assert_base("foo.constprop.0", "foo");
	assert_base("foo.constprop.12.isra.0", "foo");
	assert_base("foo.isra.0.part.2", "foo");
	assert_base("foo.part.0.cold", "foo");
	assert_base("foo.cold.1", "foo");
	assert_base("foo.lto_priv.0", "foo");
	assert_base("foo.lto_priv.0.lto_priv.1", "foo");
	assert_base("foo.llvm.1234567890", "foo");
	assert_base("foo.__uniq.123456", "foo");
	assert_base("inner.1234", "inner");
	assert_base("_ZN1a1bEv.constprop.0", "_ZN1a1bEv");
	assert_base("a::b(int) [clone .constprop.0]", "a::b(int)");
	assert_base("a::b(int) [clone .part.0] [clone .isra.1]", "a::b(int)");
	assert_base("a::b(int) (.cold)", "a::b(int)");
	assert_base("a::b(int) (.llvm.123)", "a::b(int)");
}

static void hashes_and_closures_of_rust_are_stripped(void **state _unused_)
{
	assert_base("core::fmt::write::h0123456789abcdef", "core::fmt::write");
	assert_base("a::b::h0123456789abcdef.llvm.99", "a::b");
	assert_base("a::main::{closure#2}", "a::main::{closure}");
	assert_base("<a::B as a::C>::d::{closure#0}::{closure#1}",
		    "<a::B as a::C>::d::{closure}::{closure}");
	assert_same("a::b::h0123456789abcde");
	assert_same("a::b::h0123456789abcdeg");
	assert_same("::h0123456789abcdef");
}

static void numbers_of_lambdas_are_stripped(void **state _unused_)
{
	assert_base("f()::{lambda(int)#2}::operator()(int) const",
		    "f()::{lambda(int)}::operator()(int) const");
	assert_base("f::{lambda#1}", "f::{lambda}");
	assert_base("f::{unnamed type#1}::g", "f::{unnamed type}::g");
	assert_base("f()::'lambda0'(int)::operator()(int)", "f()::'lambda'(int)::operator()(int)");
	assert_base("f::$_0::operator()", "f::$_::operator()");
	assert_base("Main.lambda$run$0", "Main.lambda$run$");
	assert_base("Outer$1.run", "Outer$.run");
	assert_base("Outer$1$2.run", "Outer$$.run");
	assert_same("Outer$1st.run");
	assert_same("a#1");
	assert_same("$1");
}

static void numbers_of_closures_of_go_are_stripped(void **state _unused_)
{
	assert_base("main.run.func1", "main.run.func");
	assert_base("main.run.func1.2", "main.run.func");
	assert_base("main.run.func1.func3", "main.run.func.func");
	assert_base("main.(*T).Run.gowrap2", "main.(*T).Run.gowrap");
	assert_base("main.run.deferwrap1", "main.run.deferwrap");
	assert_base("main.run-range1", "main.run-range");
	assert_base("main.glob..func12", "main.glob..func");
	assert_base("main.init.0", "main.init");
	assert_same("main.run.func1a");
	assert_same("main.function1");
}

static void other_names_stay(void **state _unused_)
{
	static const char *const names[] = {
		"",
		"a",
		"main",
		".cold",
		".0",
		"1.5",
		"x86_64",
		"sha256",
		"python3.11",
		"[libc.so.6]",
		"foo.avx2",
		"[clone .cold]",
		"foo.coldest",
		"foo (.cold",
		"foo .cold]",
		"a.b",
		"foo.",
		"main.rs:12",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		assert_same(names[i]);
}

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

/* Returns the frame of the innermost function. */
static uint32_t add(const char *folded, uint64_t before, uint64_t after)
{
	uint32_t stack = builder_add_stack(profile, folded);

	assert_int_equal(profile_add_sample(profile, 0, stack, 0, before), 0);
	assert_int_equal(profile_add_sample(profile, 0, stack, 1, after), 0);
	return profile_count_frames(profile) - 1;
}

static void assert_name(uint32_t frame, const char *expected)
{
	const struct frame *found = profile_get_frame(profile, frame);

	assert_string_equal(profile_get_string(profile, found->name), expected);
	assert_string_equal(profile_get_string(profile, found->full_name), expected);
}

static struct clone_matches match(void)
{
	struct clone_matches matches;

	assert_int_equal(clone_names_match(profile, 0, 1, &matches), 0);
	return matches;
}

static void clones_of_one_side_match_those_of_the_other(void **state _unused_)
{
	uint32_t old = add("main;bar.constprop.0", 300, 0);
	uint32_t new = add("main;bar.constprop.1", 0, 300);
	uint32_t outlined = add("foo;foo.cold", 0, 10);
	uint32_t whole = add("foo", 100, 90);
	struct clone_matches matches = match();

	assert_name(old, "bar");
	assert_name(new, "bar");
	assert_name(outlined, "foo");
	assert_name(whole, "foo");
	assert_int_equal(matches.num_names, 3);
	assert_string_equal(matches.examples[0], "bar.constprop.0");
	assert_string_equal(matches.examples[1], "bar.constprop.1");
	assert_string_equal(matches.examples[2], "foo.cold");
}

/* A third closure must not hide what happened to two others. */
static void a_new_clone_leaves_those_of_both_sides_alone(void **state _unused_)
{
	uint32_t first = add("main.run.func1", 500, 100);
	uint32_t second = add("main.run.func2", 100, 500);
	uint32_t third = add("main.run.func3", 0, 1);

	assert_int_equal(match().num_names, 0);
	assert_name(first, "main.run.func1");
	assert_name(second, "main.run.func2");
	assert_name(third, "main.run.func3");
}

static void clones_of_both_sides_stay_while_others_match(void **state _unused_)
{
	uint32_t both = add("bar.part.0", 300, 200);
	uint32_t before = add("bar.constprop.0", 100, 0);
	uint32_t after = add("bar.constprop.1", 0, 100);

	assert_int_equal(match().num_names, 2);
	assert_name(both, "bar.part.0");
	assert_name(before, "bar");
	assert_name(after, "bar");
}

static void clones_of_both_sides_stay_apart(void **state _unused_)
{
	uint32_t first = add("bar.constprop.0", 300, 200);
	uint32_t second = add("bar.constprop.1", 100, 200);

	assert_int_equal(match().num_names, 0);
	assert_name(first, "bar.constprop.0");
	assert_name(second, "bar.constprop.1");
}

/* A count of 0 is no weight: folded text of two columns has such lines. */
static void a_clone_without_counterpart_keeps_its_name(void **state _unused_)
{
	uint32_t alone = add("alone.cold", 5, 0);
	uint32_t other = add("other.cold", 0, 0);
	uint32_t both = add("both.cold", 5, 5);

	assert_int_equal(match().num_names, 0);
	assert_name(alone, "alone.cold");
	assert_name(other, "other.cold");
	assert_name(both, "both.cold");
}

/* Returns the stack. */
static uint32_t add_in_module(const char *name, const char *module)
{
	struct frame frame = {0};
	uint32_t location, stack;

	assert_int_equal(profile_add_string(profile, name, &frame.name), 0);
	frame.full_name = frame.name;
	assert_int_equal(profile_add_string(profile, module, &frame.module), 0);
	assert_int_equal(profile_add_location(profile, LOCATION_NAMED, 0,
					      profile_count_locations(profile), &location),
			 0);
	assert_int_equal(profile_set_frames(profile, location, &frame, 1, UNNAMED_NOT), 0);
	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
	return stack;
}

static void functions_of_other_modules_are_no_clones(void **state _unused_)
{
	uint32_t before = add_in_module("foo.cold.1", "a.so");
	uint32_t after = add_in_module("foo.cold.2", "b.so");

	assert_int_equal(profile_add_sample(profile, 0, before, 0, 5), 0);
	assert_int_equal(profile_add_sample(profile, 0, after, 1, 5), 0);
	assert_int_equal(match().num_names, 0);
	assert_name(0, "foo.cold.1");
	assert_name(1, "foo.cold.2");
}

/* It would take minutes if each digit were the start of a number. */
static void a_name_of_a_million_digits_is_read_once(void **state _unused_)
{
	char *name = malloc(1000001);

	assert_non_null(name);
	memset(name, '1', 1000000);
	name[0] = '#';
	name[1000000] = '\0';
	assert_same(name);
	free(name);
}

static void a_side_beyond_64_bits_is_an_error(void **state _unused_)
{
	struct clone_matches matches;

	add("a.cold", UINT64_MAX, 0);
	add("b", 1, 0);
	assert_int_equal(clone_names_match(profile, 0, 1, &matches), -EOVERFLOW);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suffixes_of_gcc_and_llvm_are_stripped),
		cmocka_unit_test(hashes_and_closures_of_rust_are_stripped),
		cmocka_unit_test(numbers_of_lambdas_are_stripped),
		cmocka_unit_test(numbers_of_closures_of_go_are_stripped),
		cmocka_unit_test(other_names_stay),
		cmocka_unit_test(a_name_of_a_million_digits_is_read_once),
		TEST(clones_of_one_side_match_those_of_the_other),
		TEST(a_new_clone_leaves_those_of_both_sides_alone),
		TEST(clones_of_both_sides_stay_while_others_match),
		TEST(clones_of_both_sides_stay_apart),
		TEST(a_clone_without_counterpart_keeps_its_name),
		TEST(functions_of_other_modules_are_no_clones),
		TEST(a_side_beyond_64_bits_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
