#include <errno.h>

#include "formats/format.h"
#include "profile_builder.h"

static int append(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

static int refuse(void *context _unused_, const void *data _unused_, size_t size _unused_)
{
	return -ENOSPC;
}

static void assert_folded(const struct profile *profile, struct call_tree_opts tree,
			  const char *expected)
{
	struct format_opts opts = {.tree = tree};
	struct text written = {0};
	struct sink sink = {.write = append, .context = &written};

	text_append_string(&written, "");
	assert_int_equal(format_folded.write(profile, &opts, &sink), 0);
	assert_string_equal(written.data, expected);
	text_release(&written);
}

static const struct call_tree_opts no_root = {.root = TREE_ROOT_NONE};

static void lines_are_sorted_bytewise_by_stack(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");

	/* A blank sorts before the `;` of the stacks that go on, and that before letters. */
	builder_add_sample(profile, thread, "a;x", 1);
	builder_add_sample(profile, thread, "ab", 2);
	builder_add_sample(profile, thread, "a b", 3);
	builder_add_sample(profile, thread, "a", 4);
	builder_add_sample(profile, thread, "a b;c", 5);
	builder_add_sample(profile, thread, "a\xc3\xa9", 6);
	builder_add_sample(profile, thread, "a;x;y", 7);
	assert_folded(profile, no_root, "a 4\na b 3\na b;c 5\na;x 1\na;x;y 7\nab 2\na\xc3\xa9 6\n");
	profile_free(profile);
}

static void times_are_microseconds_where_a_recording_is_written(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct format_opts opts = {.tree = no_root, .folds_microseconds = true};
	struct text written = {0};
	struct sink sink = {.write = append, .context = &written};
	uint32_t samples;

	builder_add_sample(profile, thread, "a", 1234567);
	samples = profile_get_sample(profile, 0)->metric;
	assert_int_equal(profile_add_metric(profile, "wall", "nanoseconds", &opts.tree.metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, profile_get_sample(profile, 0)->stack,
					    opts.tree.metric, 7654321),
			 0);
	assert_int_equal(format_folded.write(profile, &opts, &sink), 0);
	opts.folds_microseconds = false;
	assert_int_equal(format_folded.write(profile, &opts, &sink), 0);
	opts.folds_microseconds = true;
	opts.tree.metric = samples;
	assert_int_equal(format_folded.write(profile, &opts, &sink), 0);
	assert_string_equal(written.data, "a 7654\na 7654321\na 1234567\n");
	text_release(&written);
	profile_free(profile);
}

/* Both weights of a comparison have the unit, or none is divided. */
static void times_of_a_comparison_are_microseconds_too(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct format_opts opts = {.tree = no_root, .folds_microseconds = true};
	struct text written = {0};
	struct sink sink = {.write = append, .context = &written};
	uint32_t stack = builder_add_stack(profile, "a");

	opts.tree.has_baseline = true;
	assert_int_equal(
		profile_add_metric(profile, METRIC_BEFORE, "nanoseconds", &opts.tree.baseline), 0);
	assert_int_equal(
		profile_add_metric(profile, METRIC_AFTER, "nanoseconds", &opts.tree.metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, opts.tree.baseline, 1234567),
			 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, opts.tree.metric, 7654321), 0);
	assert_int_equal(format_diff_folded.write(profile, &opts, &sink), 0);
	assert_int_equal(profile_rename_metric(profile, opts.tree.baseline, METRIC_BEFORE, "count"),
			 0);
	assert_int_equal(format_diff_folded.write(profile, &opts, &sink), 0);
	assert_string_equal(written.data, "a 1234 7654\na 1234567 7654321\n");
	text_release(&written);
	profile_free(profile);
}

static void stacks_of_equal_names_are_one_line(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t a = builder_add_thread(profile, 1, 1, "t");
	uint32_t b = builder_add_thread(profile, 1, 2, "t");

	builder_add_sample(profile, a, "main;f", 1);
	builder_add_sample(profile, a, "main;f", 2);
	builder_add_sample(profile, b, "main;f", 4);
	assert_folded(profile, (struct call_tree_opts){0}, "t;main;f 7\n");
	profile_free(profile);
}

static void the_root_frame_names_thread_process_or_nothing(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 812, 815, "nginx");

	builder_add_sample(profile, thread, "main", 1);
	assert_folded(profile, (struct call_tree_opts){.root = TREE_ROOT_COMM}, "nginx;main 1\n");
	assert_folded(profile, (struct call_tree_opts){.root = TREE_ROOT_PID},
		      "nginx-812;main 1\n");
	assert_folded(profile, (struct call_tree_opts){.root = TREE_ROOT_TID},
		      "nginx-812/815;main 1\n");
	assert_folded(profile, no_root, "main 1\n");
	profile_free(profile);
}

static void kernel_inlined_and_jit_frames_are_marked(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");

	builder_add_sample(profile, thread, "jit_[j];in_[i];sys_[k]", 1);
	assert_folded(profile, no_root, "jit_[j];in_[i];sys_[k] 1\n");
	assert_folded(profile,
		      (struct call_tree_opts){.root = TREE_ROOT_NONE, .no_annotations = true},
		      "jit;in;sys 1\n");
	profile_free(profile);
}

static void names_cannot_break_the_line(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "a;b\n");

	builder_add_sample(profile, thread, "x\ny;\tpadded ; ;;z", 1);
	assert_folded(profile, (struct call_tree_opts){0}, "a:b ;x y;\tpadded ; ;;z 1\n");
	profile_free(profile);
}

static void a_sample_without_stack_is_its_thread(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "kworker/0:1");

	builder_add_sample(profile, thread, "", 3);
	assert_folded(profile, (struct call_tree_opts){0}, "kworker/0:1 3\n");
	profile_free(profile);
}

static void an_empty_profile_is_an_empty_file(void **state _unused_)
{
	struct profile *profile = profile_new();

	assert_folded(profile, no_root, "");
	profile_free(profile);
}

static void a_deep_stack_is_written_whole(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct text deep = {0};

	for (int i = 0; i < 100000; i++)
		text_printf(&deep, "%sf", i ? ";" : "");
	builder_add_sample(profile, thread, deep.data, 1);
	text_append_string(&deep, " 1\n");
	assert_folded(profile, no_root, deep.data);
	text_release(&deep);
	profile_free(profile);
}

static void a_full_disk_is_reported(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct format_opts opts = {0};
	struct sink sink = {.write = refuse};

	builder_add_sample(profile, thread, "main", 1);
	assert_int_equal(format_folded.write(profile, &opts, &sink), -ENOSPC);
	assert_int_equal(format_text.write(profile, &opts, &sink), -ENOSPC);
	profile_free(profile);
}

static void formats_are_found_by_name_and_by_longest_extension(void **state _unused_)
{
	assert_ptr_equal(format_find_name("folded"), &format_folded);
	assert_null(format_find_name("Folded"));
	assert_ptr_equal(format_find_path("a/b.folded"), &format_folded);
	assert_ptr_equal(format_find_path("x.txt"), &format_text);
	assert_null(format_find_path("x.foldedx"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_sorted_bytewise_by_stack),
		cmocka_unit_test(times_of_a_comparison_are_microseconds_too),
		cmocka_unit_test(stacks_of_equal_names_are_one_line),
		cmocka_unit_test(times_are_microseconds_where_a_recording_is_written),
		cmocka_unit_test(the_root_frame_names_thread_process_or_nothing),
		cmocka_unit_test(kernel_inlined_and_jit_frames_are_marked),
		cmocka_unit_test(names_cannot_break_the_line),
		cmocka_unit_test(a_sample_without_stack_is_its_thread),
		cmocka_unit_test(an_empty_profile_is_an_empty_file),
		cmocka_unit_test(a_deep_stack_is_written_whole),
		cmocka_unit_test(a_full_disk_is_reported),
		cmocka_unit_test(formats_are_found_by_name_and_by_longest_extension),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
