#include "viewer/filters.h"

#include <errno.h>
#include <string.h>

#include "viewer/flame.h"
#include "viewer_fixture.h"

/* Threads are known; read is a function of the program, of the kernel and of a library. */
static const char script[] =
	"reader 7/8 1.0: 1 cycles:\n\t1 read (/bin/a)\n\t2 main (/bin/a)\n\n"
	"reader 7/8 1.1: 2 cycles:\n\t1 read ([kernel.kallsyms])\n\t2 main (/bin/a)\n\n"
	"other 9/9 1.2: 4 cycles:\n\t1 Read (/bin/b)\n\t2 main (/bin/b)\n\n"
	"other 9/9 1.3: 8 cycles:\n\t1 lock ([kernel.kallsyms])\n\t2 do_read ([kernel.kallsyms])\n\n";

static struct session *open_script(void)
{
	struct session *session = session_new();
	struct error error = {0};
	uint32_t source;

	assert_non_null(session);
	assert_int_equal(session_import(session,
					&(struct session_input){"a.txt", script, strlen(script),
								"perf-script"},
					&source, &error),
			 0);
	return session;
}

static uint64_t search(struct session *session, const char *pattern, const char *symbol,
		       bool is_thread, bool *ret_is_found)
{
	const struct graph *graph = session_get_graph(session);
	uint8_t marks[64];
	struct error error = {0};
	uint64_t weight;
	uint32_t number = graph_find_symbol(graph, symbol, strlen(symbol), is_thread);

	assert_in_range(graph->num_symbols, 1, sizeof(marks));
	assert_int_not_equal(number, SYMBOL_NONE);
	assert_int_equal(filters_match_symbols(graph, pattern, marks, &error), 0);
	assert_int_equal(
		flame_measure_matches(session_get_flame(session, FLAME_CALLEES), marks, &weight),
		0);
	*ret_is_found = marks[number] != 0;
	return weight;
}

static uint64_t filter(const struct session *session, const char *pattern)
{
	struct text filters = {0};
	struct frame_tree tree;
	struct selection selection;
	struct error error = {0};
	const struct profile *profile = session_get_profile(session);
	uint64_t weight = 0;

	text_printf(&filters, "+function:%s", pattern);
	assert_int_equal(frame_tree_init(&tree, profile), 0);
	assert_int_equal(filters_apply(&tree, filters.data, &selection, &error), 0);
	for (uint32_t i = 0; i < selection.num_samples; i++)
		weight += selection.is_selected[i] * profile_get_sample(profile, i)->value;
	selection_release(&selection);
	frame_tree_release(&tree);
	text_release(&filters);
	return weight;
}

static void assert_weight(struct session *session, const char *pattern, uint64_t weight)
{
	bool is_found;

	assert_int_equal(search(session, pattern, "main", false, &is_found), weight);
	assert_int_equal(filter(session, pattern), weight);
}

static void a_search_weighs_what_the_filter_leaves(void **state _unused_)
{
	struct session *session = open_script();

	fixture_query(session, NULL, FLAME_CALLEES, NULL);
	assert_weight(session, "/read/", 11);
	assert_weight(session, "/^read$/", 3);
	assert_weight(session, "/(?i)^read$/", 7);
	assert_weight(session, "/^read_\\[k]$/", 2);
	assert_weight(session, "/_\\[k\\]$/", 10);
	assert_weight(session, "/\\bread\\b/", 3);
	assert_weight(session, "read_[k]", 2);
	assert_weight(session, "read", 3);
	assert_weight(session, "/\\d/", 0);
	session_free(session);
}

/* They are one box of the flame, but not one function to a filter. */
static void a_function_that_was_inlined_at_one_place_only_is_told_apart(void **state _unused_)
{
	struct session *session = fixture_new("main;foo;a 1\nmain;foo_[i];a 2\nmain;foo_[j];a 4\n");
	char *list;

	fixture_query(session, NULL, FLAME_CALLEES, NULL);
	assert_weight(session, "/foo/", 7);
	assert_weight(session, "/_\\[i\\]$/", 2);
	assert_weight(session, "/foo_\\[[ij]]/", 6);
	fixture_query(session, "main", FLAME_CALLEES, NULL);
	list = fixture_list(session, FLAME_CALLEES);
	assert_string_equal(list, "foo 7");
	free(list);
	session_free(session);
}

static void threads_are_found_by_their_label_and_do_not_count(void **state _unused_)
{
	struct session *session = open_script();
	bool is_found;

	fixture_query(session, NULL, FLAME_CALLEES, NULL);
	assert_int_equal(search(session, "/^reader$/", "reader", true, &is_found), 0);
	assert_true(is_found);
	assert_int_equal(search(session, "/^read/", "other", true, &is_found), 3);
	assert_false(is_found);
	session_free(session);
}

static void a_wrong_expression_is_reported_as_on_the_command_line(void **state _unused_)
{
	struct session *session = open_script();
	struct error error = {0};
	struct filter *filter;
	uint8_t marks[64];
	char message[sizeof(error.message)];

	fixture_query(session, NULL, FLAME_CALLEES, NULL);
	assert_int_equal(
		filters_match_symbols(session_get_graph(session), "/a(?=b)/", marks, &error),
		-EINVAL);
	assert_string_equal(error.message, "the regular expression /a(?=b)/ is not valid: at "
					   "character 2: look-ahead, (?=…), is not supported");
	strcpy(message, error.message);
	assert_int_equal(filter_new("function:/a(?=b)/", false, &filter, &error), -EINVAL);
	assert_string_equal(error.message, message);
	session_free(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_search_weighs_what_the_filter_leaves),
		cmocka_unit_test(a_function_that_was_inlined_at_one_place_only_is_told_apart),
		cmocka_unit_test(threads_are_found_by_their_label_and_do_not_count),
		cmocka_unit_test(a_wrong_expression_is_reported_as_on_the_command_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
