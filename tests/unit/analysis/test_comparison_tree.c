#include <errno.h>

#include "analysis/call_tree.h"
#include "analysis/stripped_name.h"
#include "profile_maker.h"

/* What differs in a comparison from other trees: a baseline that is scaled, names made equal. */

static struct profile *make_profile(void)
{
	struct profile *profile = profile_new();
	uint32_t metric;

	maker_add_thread(profile, 0, 0, "");
	assert_int_equal(profile_add_metric(profile, METRIC_BEFORE, "count", &metric), 0);
	assert_int_equal(profile_add_metric(profile, METRIC_AFTER, "count", &metric), 0);
	return profile;
}

static void add_stack(struct profile *profile, const char *folded, uint64_t before, uint64_t after)
{
	uint32_t stack = maker_add_stack(profile, folded);

	assert_int_equal(profile_add_sample(profile, 0, stack, 0, before), 0);
	assert_int_equal(profile_add_sample(profile, 0, stack, 1, after), 0);
}

static uint32_t find_child(const struct call_tree *tree, uint32_t node, const char *label)
{
	size_t length;

	for (node = call_tree_get_first_child(tree, node); node != CALL_TREE_NONE;
	     node = call_tree_get_next_sibling(tree, node))
		if (string_equals(call_tree_get_label(tree, node, &length), label))
			return node;
	fail_msg("there is no '%s'", label);
	return CALL_TREE_NONE;
}

static const struct call_tree_opts normalizing = {
	.metric = 1, .baseline = 0, .has_baseline = true, .normalizes_baseline = true};
static const struct call_tree_opts stripping = {
	.metric = 1, .baseline = 0, .has_baseline = true, .strips_addresses = true};

static void the_baseline_is_scaled_and_rounded_down_by_stack(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct call_tree *tree;

	add_stack(profile, "a", 1, 1);
	add_stack(profile, "b", 1, 3);
	add_stack(profile, "c", 1, 1);
	assert_int_equal(call_tree_new(profile, &normalizing, &tree), 0);
	assert_int_equal(call_tree_get_baseline(tree, find_child(tree, 0, "a")), 1); /* 5 / 3 */
	assert_int_equal(call_tree_get_baseline_total(tree, CALL_TREE_ROOT), 3);
	assert_int_equal(call_tree_get_total(tree, CALL_TREE_ROOT), 5);
	call_tree_free(tree);
	profile_free(profile);
}

static void what_is_one_label_is_summed_before_it_is_scaled(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct call_tree *tree;

	add_stack(profile, "a", 1, 0); /* two locations, one label */
	add_stack(profile, "a", 1, 3);
	assert_int_equal(call_tree_new(profile, &normalizing, &tree), 0);
	assert_int_equal(call_tree_get_baseline(tree, find_child(tree, 0, "a")), 3);
	call_tree_free(tree);
	profile_free(profile);
}

static void scaling_needs_more_than_64_bits_and_has_them(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct call_tree *tree;

	add_stack(profile, "a", 3, UINT64_MAX / 2);
	add_stack(profile, "b", UINT64_MAX - 3, 1);
	assert_int_equal(call_tree_new(profile, &normalizing, &tree), 0);
	assert_int_equal(call_tree_get_baseline(tree, find_child(tree, 0, "b")),
			 (uint64_t)((unsigned __int128)(UINT64_MAX - 3) * (UINT64_MAX / 2 + 1) /
				    UINT64_MAX));
	call_tree_free(tree);
	profile_free(profile);
}

static void a_baseline_that_weighs_nothing_stays(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct call_tree *tree;

	add_stack(profile, "a", 0, 7);
	assert_int_equal(call_tree_new(profile, &normalizing, &tree), 0);
	assert_int_equal(call_tree_get_baseline_total(tree, CALL_TREE_ROOT), 0);
	call_tree_free(tree);
	profile_free(profile);
}

static void scaling_by_sums_beyond_64_bits_is_an_error(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct call_tree *tree;

	add_stack(profile, "a", 1, UINT64_MAX);
	add_stack(profile, "b", 1, 1);
	assert_int_equal(call_tree_new(profile, &normalizing, &tree), -EOVERFLOW);
	profile_free(profile);
}

static void labels_that_differ_in_an_address_are_one_node(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct call_tree *tree;
	uint32_t node;

	add_stack(profile, "main;f_0x1f_[k]", 1, 0);
	add_stack(profile, "main;f_0xAB_[k]", 0, 2);
	assert_int_equal(call_tree_new(profile, &stripping, &tree), 0);
	node = find_child(tree, find_child(tree, 0, "main"), "f_0x..._[k]");
	assert_int_equal(call_tree_get_baseline(tree, node), 1);
	assert_int_equal(call_tree_get_self(tree, node), 2);
	call_tree_free(tree);
	profile_free(profile);
}

static void assert_stripped(const char *name, const char *wanted)
{
	_cleanup_(text_release) struct text text = {0};

	text_append_string(&text, "");
	stripped_name_append(&text, name, strlen(name));
	assert_string_equal(text.data, wanted);
}

static void only_whole_addresses_are_stripped(void **state _unused_)
{
	assert_stripped("", "");
	assert_stripped("0x1", "0x...");
	assert_stripped("a 0xdeadBEEF+0x10 b", "a 0x...+0x... b");
	assert_stripped("0x", "0x");
	assert_stripped("0xg", "0xg");
	assert_stripped("00x1x", "00x...x");
	assert_stripped("0X1f", "0X1f");
	assert_stripped("0x0x1", "0x...x1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_baseline_is_scaled_and_rounded_down_by_stack),
		cmocka_unit_test(what_is_one_label_is_summed_before_it_is_scaled),
		cmocka_unit_test(scaling_needs_more_than_64_bits_and_has_them),
		cmocka_unit_test(a_baseline_that_weighs_nothing_stays),
		cmocka_unit_test(scaling_by_sums_beyond_64_bits_is_an_error),
		cmocka_unit_test(labels_that_differ_in_an_address_are_one_node),
		cmocka_unit_test(only_whole_addresses_are_stripped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
