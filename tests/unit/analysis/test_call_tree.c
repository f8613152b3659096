#include <errno.h>

#include "analysis/call_tree.h"
#include "profile_builder.h"

static struct call_tree *make_tree(const struct profile *profile)
{
	struct call_tree_opts opts = {.root = TREE_ROOT_NONE};
	struct call_tree *tree = NULL;

	assert_int_equal(call_tree_new(profile, &opts, &tree), 0);
	return tree;
}

static uint32_t find_child(const struct call_tree *tree, uint32_t node, const char *label)
{
	for (uint32_t child = call_tree_get_first_child(tree, node); child != CALL_TREE_NONE;
	     child = call_tree_get_next_sibling(tree, child)) {
		size_t length;

		if (string_equals(call_tree_get_label(tree, child, &length), label))
			return child;
	}
	fail_msg("no child %s", label);
	return CALL_TREE_NONE;
}

static void children_come_in_bytewise_order(void **state _unused_)
{
	static const char *const expected[] = {"", "a", "a b", "ab", "b", "\xc3\xa9"};
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct call_tree *tree;
	uint32_t child;

	builder_add_sample(profile, thread, "\xc3\xa9;x", 1);
	builder_add_sample(profile, thread, "b", 1);
	builder_add_sample(profile, thread, "ab;x", 1);
	builder_add_sample(profile, thread, ";x", 1);
	builder_add_sample(profile, thread, "a b", 1);
	builder_add_sample(profile, thread, "a;x", 1);
	builder_add_sample(profile, thread, "b;y", 1);
	tree = make_tree(profile);
	child = call_tree_get_first_child(tree, CALL_TREE_ROOT);
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		size_t length;

		assert_string_equal(call_tree_get_label(tree, child, &length), expected[i]);
		assert_int_equal(call_tree_get_parent(tree, child), CALL_TREE_ROOT);
		child = call_tree_get_next_sibling(tree, child);
	}
	assert_int_equal(child, CALL_TREE_NONE);
	call_tree_free(tree);
	profile_free(profile);
}

static void totals_hold_the_node_and_all_below(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct call_tree *tree;
	uint32_t a;

	builder_add_sample(profile, thread, "a;x", 1);
	builder_add_sample(profile, thread, "a", 2);
	builder_add_sample(profile, thread, "a;y;z", 4);
	builder_add_sample(profile, thread, "b", 8);
	tree = make_tree(profile);
	a = find_child(tree, CALL_TREE_ROOT, "a");
	assert_int_equal(call_tree_get_total(tree, CALL_TREE_ROOT), 15);
	assert_int_equal(call_tree_get_self(tree, CALL_TREE_ROOT), 0);
	assert_int_equal(call_tree_get_total(tree, a), 7);
	assert_int_equal(call_tree_get_self(tree, a), 2);
	assert_int_equal(call_tree_get_total(tree, find_child(tree, a, "y")), 4);
	assert_false(call_tree_has_samples(tree, find_child(tree, a, "y")));
	assert_false(call_tree_has_overflown_total(tree));
	call_tree_free(tree);
	profile_free(profile);
}

static void a_total_beyond_64_bits_is_reported_and_spoils_no_self_weight(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct call_tree *tree;

	builder_add_sample(profile, thread, "a", UINT64_MAX);
	builder_add_sample(profile, thread, "b", 1);
	tree = make_tree(profile);
	assert_true(call_tree_has_overflown_total(tree));
	assert_int_equal(call_tree_get_self(tree, find_child(tree, CALL_TREE_ROOT, "a")),
			 UINT64_MAX);
	assert_int_equal(call_tree_get_self(tree, find_child(tree, CALL_TREE_ROOT, "b")), 1);
	call_tree_free(tree);
	profile_free(profile);
}

static void equal_stacks_of_two_threads_may_not_leave_64_bits(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t one = builder_add_thread(profile, 1, 1, "t");
	uint32_t two = builder_add_thread(profile, 1, 2, "t");
	struct call_tree *tree = NULL;

	builder_add_sample(profile, one, "a", UINT64_MAX);
	builder_add_sample(profile, two, "a", 1);
	assert_int_equal(call_tree_new(profile, NULL, &tree), -EOVERFLOW);
	assert_null(tree);
	profile_free(profile);
}

static void a_comparison_holds_both_sides(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct call_tree_opts opts = {.root = TREE_ROOT_NONE, .has_baseline = true};
	struct call_tree *tree;
	uint32_t a;

	builder_add_sample(profile, thread, "a;x", 1);
	builder_add_sample(profile, thread, "a;y", 2);
	assert_int_equal(profile_add_metric(profile, METRIC_BEFORE, "count", &opts.baseline), 0);
	assert_int_equal(profile_add_sample(profile, thread, profile_get_sample(profile, 0)->stack,
					    opts.baseline, 4),
			 0);
	assert_int_equal(call_tree_new(profile, &opts, &tree), 0);
	a = find_child(tree, CALL_TREE_ROOT, "a");
	assert_int_equal(call_tree_get_total(tree, a), 3);
	assert_int_equal(call_tree_get_baseline_total(tree, a), 4);
	assert_int_equal(call_tree_get_baseline(tree, find_child(tree, a, "x")), 4);
	assert_int_equal(call_tree_get_baseline(tree, find_child(tree, a, "y")), 0);
	call_tree_free(tree);
	profile_free(profile);
}

static void samples_of_another_metric_are_not_in_the_tree(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct call_tree_opts opts = {.root = TREE_ROOT_NONE};
	struct call_tree *tree;

	builder_add_sample(profile, thread, "a;x", 1);
	builder_add_sample(profile, thread, "b", 2);
	assert_int_equal(profile_add_metric(profile, "other", "count", &opts.metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, profile_get_sample(profile, 0)->stack,
					    opts.metric, 4),
			 0);
	assert_int_equal(call_tree_new(profile, &opts, &tree), 0);
	assert_int_equal(call_tree_get_total(tree, CALL_TREE_ROOT), 4);
	assert_int_equal(call_tree_get_next_sibling(tree, find_child(tree, CALL_TREE_ROOT, "a")),
			 CALL_TREE_NONE);
	call_tree_free(tree);
	profile_free(profile);
}

static void a_label_has_the_kind_of_its_first_frame(void **state _unused_)
{
	static const struct {
		const char *label;
		uint8_t kind;
	} expected[] = {{"a", FRAME_USER},
			{"b", FRAME_PYTHON},
			{"c_[j]", FRAME_JIT},
			{"c_[k]", FRAME_KERNEL},
			{"t", FRAME_USER}};
	const struct call_tree_opts opts = {.root = TREE_ROOT_NONE, .keeps_kinds = true};
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct call_tree *tree = NULL;

	builder_add_sample(profile, thread, "a", 1);
	builder_add_sample(profile, thread, "a_[py]", 1);
	builder_add_sample(profile, thread, "b_[py]", 1);
	builder_add_sample(profile, thread, "b", 1);
	builder_add_sample(profile, thread, "c_[j]", 1);
	builder_add_sample(profile, thread, "c_[k]", 1);
	builder_add_sample(profile, thread, "t", 1);
	assert_int_equal(call_tree_new(profile, &opts, &tree), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		uint32_t node = find_child(tree, CALL_TREE_ROOT, expected[i].label);

		assert_int_equal(call_tree_get_kind(tree, node), expected[i].kind);
	}
	call_tree_free(tree);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_come_in_bytewise_order),
		cmocka_unit_test(a_label_has_the_kind_of_its_first_frame),
		cmocka_unit_test(totals_hold_the_node_and_all_below),
		cmocka_unit_test(a_total_beyond_64_bits_is_reported_and_spoils_no_self_weight),
		cmocka_unit_test(equal_stacks_of_two_threads_may_not_leave_64_bits),
		cmocka_unit_test(a_comparison_holds_both_sides),
		cmocka_unit_test(samples_of_another_metric_are_not_in_the_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
