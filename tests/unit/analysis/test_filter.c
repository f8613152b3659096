#include "analysis/filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profile_builder.h"

/* Two inputs, three threads, frames of every kind. Weights are powers of two, so that the weight
   of a selection says which samples are in it. */
static struct profile *make_profile(void)
{
	struct profile *profile = profile_new();
	struct thread thread = {.tid = 815, .source = 1};
	uint32_t id;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			profile_add_string(profile, i ? "/data/b.folded" : "a.folded", &id), 0);
		assert_int_equal(profile_add_source(profile, id, &id), 0);
	}
	builder_add_thread(profile, 812, 812, "nginx");
	builder_add_thread(profile, 0, 0, "");
	assert_int_equal(profile_add_string(profile, "nginx", &id), 0);
	assert_int_equal(profile_add_process(profile, 812, id, &thread.process), 0);
	assert_int_equal(profile_add_string(profile, "worker", &thread.comm), 0);
	assert_int_equal(profile_add_thread(profile, &thread, &id), 0);
	builder_add_sample(profile, 0, "main;serve;read_[k]", 1);
	builder_add_sample(profile, 0, "main;serve;serve_one;log", 2);
	builder_add_sample(profile, 1, "main;log", 4);
	builder_add_sample(profile, 2, "work;serve;log", 8);
	return profile;
}

#define ALL_WEIGHT 15

static uint64_t select_weight(const struct profile *profile, struct filter **filters, size_t count)
{
	struct selection selection;
	struct frame_tree tree;
	uint64_t weight = 0;

	assert_int_equal(frame_tree_init(&tree, profile), 0);
	assert_int_equal(selection_init(&selection, &tree, filters, count), 0);
	for (uint32_t i = 0; i < profile_count_samples(profile); i++)
		if (selection_contains(&selection, i))
			weight += profile_get_sample(profile, i)->value;
	selection_release(&selection);
	frame_tree_release(&tree);
	return weight;
}

static struct filter *make_filter(const char *text, bool excludes)
{
	struct filter *filter = NULL;
	struct error error = {0};
	int err = filter_new(text, excludes, &filter, &error);

	if (err)
		fail_msg("%s: %s", text, error.message);
	return filter;
}

static uint64_t include(const struct profile *profile, const char *text)
{
	struct filter *filter = make_filter(text, false);
	uint64_t weight = select_weight(profile, &filter, 1);

	filter_free(filter);
	return weight;
}

static void assert_includes(const char *text, uint64_t weight)
{
	struct profile *profile = make_profile();

	assert_int_equal(include(profile, text), weight);
	profile_free(profile);
}

static void a_function_is_any_frame_of_that_name(void **state _unused_)
{
	assert_includes("function:log", 14);
	assert_includes("function:serve", 11);
	assert_includes("function:lo", 0);
	assert_includes("function:/^serve/", 11);
	assert_includes("function:/erve_/", 2);
}

static void a_function_is_found_with_or_without_its_mark(void **state _unused_)
{
	assert_includes("function:read", 1);
	assert_includes("function:read_[k]", 1);
	assert_includes("function:read_[j]", 0);
	assert_includes("function:/_\\[k]$/", 1);
}

/* Elements of Ruby and others: file, line and function. */
static void a_function_is_found_behind_its_file_and_line(void **state _unused_)
{
	static const struct {
		const char *name;
		const char *filter;
		bool is_found;
	} cases[] = {
		{"a.rb:5:fib", "function:fib", true},
		{"a.rb:5:fib", "function:/^fib$/", true},
		{"a.rb:5:fib", "function:a.rb:5:fib", true},
		{"a.rb:5:fib", "function:5:fib", false},
		{"a.rb:5:fib", "function:a.rb", false},
		{"a.rb::fib", "function:fib", false},
		{"a::fib", "function:fib", false},
		{":5:fib", "function:fib", false},
		{"5:fib", "function:fib", false},
		{"a.rb:5:", "function:x", false},
		{"a:b5:fib", "function:fib", false},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct filter *filter = make_filter(cases[i].filter, false);

		assert_int_equal(filter_matches_function(filter, cases[i].name, ""),
				 cases[i].is_found);
		assert_int_equal(filter_matches_text(filter, cases[i].name), i == 2);
		filter_free(filter);
	}
}

static void a_fragment_is_a_stretch_of_frames(void **state _unused_)
{
	assert_includes("fragment:serve;log", 8);
	assert_includes("fragment:main;serve", 3);
	assert_includes("fragment:main", 7);
	assert_includes("fragment:main;log;x", 0);
}

static void a_fragment_may_start_with_a_thread(void **state _unused_)
{
	assert_includes("fragment:nginx;main;serve", 3);
	assert_includes("fragment:nginx;main;serve;read", 1);
	assert_includes("fragment:nginx;main;serve;read_[k]", 1);
	assert_includes("fragment:nginx;main;serve;read_[j]", 0);
	assert_includes("fragment:nginx-812;main", 3);
	assert_includes("fragment:worker-812/815;work;serve", 8);
	assert_includes("fragment:worker", 8);
	/* The thread calls the outermost frame, and no other. */
	assert_includes("fragment:nginx;serve", 0);
	assert_includes("fragment:worker;main", 0);
	assert_includes("fragment:nginx;main;serve;read;more", 0);
	assert_includes("fragment:nginx;main;absent", 0);
	assert_includes("fragment:;main", 0);
	assert_includes("fragment:[unknown];main", 0);
}

static void the_regular_expression_of_a_fragment_sees_the_whole_stack(void **state _unused_)
{
	assert_includes("fragment:/^main;.*log$/", 6);
	assert_includes("fragment:/serve(_one)?;log/", 10);
}

static void threads_and_processes_are_known_by_name_or_id(void **state _unused_)
{
	assert_includes("thread:nginx", 3);
	assert_includes("thread:815", 8);
	assert_includes("thread:/^work/", 8);
	assert_includes("thread:worker-812", 8);
	assert_includes("thread:worker-812/815", 8);
	assert_includes("thread:nginx-815", 0);
	assert_includes("process:nginx", 11);
	assert_includes("process:812", 11);
	assert_includes("process:0", 0);
}

static void a_file_is_an_input_by_path_or_base_name(void **state _unused_)
{
	assert_includes("file:a.folded", 7);
	assert_includes("file:b.folded", 8);
	assert_includes("file:/data/b.folded", 8);
	assert_includes("file:/^b/", 8);
}

static void a_file_is_the_source_file_of_a_frame_too(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct frame frame = {0};
	uint32_t location;
	uint32_t stack;

	assert_int_equal(profile_add_string(profile, "/src/log.c", &frame.file), 0);
	assert_int_equal(profile_add_frame_location(profile, &frame, &location), 0);
	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
	assert_int_equal(profile_add_sample(profile, 1, stack, 0, 16), 0);
	assert_int_equal(include(profile, "file:log.c"), 16);
	assert_int_equal(include(profile, "file:/src/log.c"), 16);
	profile_free(profile);
}

static void a_module_is_that_of_any_frame_by_path_or_base_name(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct module module = {0};
	struct frame frame = {0};
	uint32_t location;
	uint32_t stack;
	uint32_t owner;

	assert_int_equal(profile_add_string(profile, "/lib/libc.so.6", &module.path), 0);
	assert_int_equal(profile_add_string(profile, "libc.so.6", &frame.module), 0);
	assert_int_equal(profile_add_module(profile, &module, &owner), 0);
	assert_int_equal(profile_add_location(profile, LOCATION_FILE, owner, 4096, &location), 0);
	assert_int_equal(profile_set_frames(profile, location, &frame, 1, UNNAMED_NOT), 0);
	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
	assert_int_equal(profile_add_stack(profile, stack, location, &stack), 0);
	assert_int_equal(profile_add_sample(profile, 1, stack, 0, 16), 0);
	assert_int_equal(include(profile, "module:libc.so.6"), 16);
	assert_int_equal(include(profile, "module:/lib/libc.so.6"), 16);
	assert_int_equal(include(profile, "module:/^libc/"), 16);
	assert_int_equal(include(profile, "module:libm.so.6"), 0);
	profile_free(profile);
}

static void what_is_filtered_in_and_what_is_filtered_out_are_all(void **state _unused_)
{
	static const char *const texts[] = {
		"function:log",    "function:/s/", "function:absent", "fragment:serve;log",
		"fragment:/e.*l/", "thread:nginx", "process:812",     "file:a.folded",
		"module:",         "module:/x/",
	};
	struct profile *profile = make_profile();

	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct filter *out = make_filter(texts[i], true);

		assert_int_equal(include(profile, texts[i]) + select_weight(profile, &out, 1),
				 ALL_WEIGHT);
		filter_free(out);
	}
	profile_free(profile);
}

static void filters_chain_by_and(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct filter *filters[] = {make_filter("function:log", false),
				    make_filter("function:serve", false),
				    make_filter("thread:815", true)};

	assert_int_equal(select_weight(profile, filters, 0), ALL_WEIGHT);
	assert_int_equal(select_weight(profile, filters, 2), 10);
	assert_int_equal(select_weight(profile, filters, 3), 2);
	for (size_t i = 0; i < ARRAY_LENGTH(filters); i++)
		filter_free(filters[i]);
	profile_free(profile);
}

static void assert_refused(const char *text, const char *reason)
{
	struct filter *filter;
	struct error error = {0};

	assert_int_equal(filter_new(text, false, &filter, &error), -EINVAL);
	if (!strstr(error.message, reason))
		fail_msg("'%s' does not say '%s'", error.message, reason);
}

static void what_is_no_filter_is_refused_with_the_reason(void **state _unused_)
{
	assert_refused("main", "expected KIND:PATTERN");
	assert_refused("func:main", "unknown filter kind 'func'");
	assert_refused(":main", "unknown filter kind ''");
	assert_refused("function:/a(/", "is not valid");
	assert_refused("function://", "is missing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_any_frame_of_that_name),
		cmocka_unit_test(a_function_is_found_with_or_without_its_mark),
		cmocka_unit_test(a_function_is_found_behind_its_file_and_line),
		cmocka_unit_test(a_fragment_is_a_stretch_of_frames),
		cmocka_unit_test(a_fragment_may_start_with_a_thread),
		cmocka_unit_test(the_regular_expression_of_a_fragment_sees_the_whole_stack),
		cmocka_unit_test(threads_and_processes_are_known_by_name_or_id),
		cmocka_unit_test(a_file_is_an_input_by_path_or_base_name),
		cmocka_unit_test(a_file_is_the_source_file_of_a_frame_too),
		cmocka_unit_test(a_module_is_that_of_any_frame_by_path_or_base_name),
		cmocka_unit_test(what_is_filtered_in_and_what_is_filtered_out_are_all),
		cmocka_unit_test(filters_chain_by_and),
		cmocka_unit_test(what_is_no_filter_is_refused_with_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
