/*
 * The levels of a graph.
 */
#include "viewer/graph.h"

#include <string.h>

#include "profile_builder.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static void assert_thread(struct profile *profile, enum tree_root root, const char *label)
{
	struct graph *graph = graph_new(profile, root);

	assert_non_null(graph);
	if (graph_find_symbol(graph, label, strlen(label), true) == SYMBOL_NONE)
		fail_msg("no thread is called %s", label);
	graph_free(graph);
}

static void threads_are_called_as_the_report_calls_them(void **state _unused_)
{
	struct profile *profile = profile_new();

	builder_add_sample(profile, builder_add_thread(profile, 0, 0, "java"), "a;b", 1);
	builder_add_sample(profile, builder_add_thread(profile, 7, 8, "nginx"), "a;c", 2);
	builder_add_sample(profile, builder_add_thread(profile, 9, 9, ""), "a", 4);
	assert_thread(profile, TREE_ROOT_COMM, "java");
	assert_thread(profile, TREE_ROOT_PID, "java-?");
	assert_thread(profile, TREE_ROOT_TID, "java-?/0");
	assert_thread(profile, TREE_ROOT_TID, "nginx-7/8");
	assert_thread(profile, TREE_ROOT_PID, "[unknown]-9");
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_called_as_the_report_calls_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
