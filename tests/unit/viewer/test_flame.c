#include "viewer/flame.h"

#include <errno.h>
#include <stdlib.h>

#include "viewer/flame_layout.h"
#include "viewer/fragments.h"
#include "viewer_fixture.h"

/* Recursion in all its forms: alternating, direct, none. */
static const char recursive[] = "go;f;g;f;g;f;h 7\n"
				"go;g;f;h 5\n"
				"go;f 3\n"
				"go;f;g 2\n"
				"go;k 4\n";

/* Inclusive, exclusive, callers and callees of a fragment must be these. */
static void check_fragment(const char *fragment, uint64_t inclusive, uint64_t exclusive,
			   const char *callers, const char *callees)
{
	struct session *session = fixture_new(recursive);
	char *listed;

	fixture_query(session, fragment, FLAME_CALLEES, NULL);
	assert_int_equal(fixture_top(session, FLAME_CALLEES)->total, inclusive);
	assert_int_equal(fixture_top(session, FLAME_CALLEES)->self, exclusive);
	assert_int_equal(fixture_top(session, FLAME_CALLERS)->total, inclusive);
	listed = fixture_list(session, FLAME_CALLERS);
	assert_string_equal(listed, callers);
	free(listed);
	listed = fixture_list(session, FLAME_CALLEES);
	assert_string_equal(listed, callees);
	free(listed);
	session_free(session);
}

static void recursive_function_has_the_caller_of_its_first_and_the_callee_of_its_last_call(
	void **state)
{
	(void)state;
	check_fragment("f", 17, 3, "g 5,go 12", "g 2,h 12");
	check_fragment("g", 14, 2, "f 9,go 5", "f 12");
}

static void fragment_counts_a_stack_once_where_it_overlaps_itself(void **state)
{
	(void)state;
	check_fragment("f;g;f", 7, 0, "go 7", "h 7");
	check_fragment("f;g", 9, 2, "go 9", "f 7");
}

static void outermost_function_has_no_caller(void **state)
{
	struct session *session = fixture_new(recursive);

	(void)state;
	fixture_query(session, "go", FLAME_CALLERS, NULL);
	assert_int_equal(fixture_top(session, FLAME_CALLERS)->num_children, 0);
	assert_int_equal(fixture_top(session, FLAME_CALLERS)->self, 21);
	session_free(session);
}

static void fragment_that_is_in_no_stack_weighs_nothing(void **state)
{
	(void)state;
	check_fragment("h;f", 0, 0, "", "");
}

static void nothing_selected_shows_all_stacks_from_either_end(void **state)
{
	struct session *session = fixture_new(recursive);
	char *listed;

	(void)state;
	fixture_query(session, NULL, FLAME_CALLEES, NULL);
	listed = fixture_list(session, FLAME_CALLEES);
	assert_string_equal(listed, "go 21");
	free(listed);
	listed = fixture_list(session, FLAME_CALLERS);
	assert_string_equal(listed, "f 3,g 2,h 12,k 4");
	free(listed);
	session_free(session);
}

/* A name of two programs, of which one calls the other's. */
static const char two_modules[] = "a 1/1 1.0: 5 c:\n\t1 read (/bin/db)\n\t2 main (/bin/db)\n\n"
				  "a 1/1 1.1: 7 c:\n\t1 draw (/bin/web)\n\t2 main (/bin/web)\n\n"
				  "a 1/1 1.2: 2 c:\n\t1 read (/bin/db)\n\t2 main (/bin/db)\n"
				  "\t2 main (/bin/web)\n\n";

/* What the only function of this name and module is as a level of a fragment. */
static uint32_t find_function(const struct graph *graph, const char *name, const char *module)
{
	for (uint32_t i = 0; i < graph->num_functions; i++)
		if (!strcmp(profile_get_string(graph->profile, graph->functions[i].name), name) &&
		    !strcmp(profile_get_string(graph->profile, graph->functions[i].module), module))
			return LEVEL_FUNCTION | i;
	fail_msg("there is no %s in %s", name, module);
	return SYMBOL_NONE;
}

static struct session *new_session_of_two_modules(void)
{
	struct session *session = session_new();
	struct error error = {0};
	uint32_t source;

	assert_int_equal(session_import(session,
					&(struct session_input){"perf.txt", two_modules,
								strlen(two_modules), "perf-script"},
					&source, &error),
			 0);
	assert_int_equal(session_prepare(session, TREE_ROOT_NONE), 0);
	return session;
}

static void check_levels(struct session *session, const uint32_t *levels, uint32_t num_levels,
			 uint64_t inclusive, const char *callers, const char *callees)
{
	struct session_query query = {
		.root = TREE_ROOT_NONE,
		.baseline_metric = METRIC_NONE,
		.fragment = levels,
		.fragment_length = num_levels,
		.order = FLAME_BY_NAME,
	};
	struct error error = {0};
	char *listed;

	assert_int_equal(session_query(session, &query, &error), 0);
	assert_int_equal(fixture_top(session, FLAME_CALLEES)->total, inclusive);
	listed = fixture_list(session, FLAME_CALLERS);
	assert_string_equal(listed, callers);
	free(listed);
	listed = fixture_list(session, FLAME_CALLEES);
	assert_string_equal(listed, callees);
	free(listed);
}

static void level_may_stand_for_the_function_of_one_module(void **state)
{
	struct session *session = new_session_of_two_modules();
	const struct graph *graph = session_get_graph(session);
	uint32_t symbol = graph_find_symbol(graph, "main", 4, false);
	uint32_t web = find_function(graph, "main", "web");
	uint32_t db = find_function(graph, "main", "db");

	(void)state;
	check_levels(session, &symbol, 1, 14, "", "draw 7,read 7");
	check_levels(session, &web, 1, 9, "", "draw 7,main 2");
	check_levels(session, &db, 1, 7, "main 2", "read 7");
	assert_int_equal(fixture_top(session, FLAME_CALLEES)->function, db & ~LEVEL_FUNCTION);
	check_levels(session, (uint32_t[]){symbol, db}, 2, 2, "", "read 2");
	check_levels(session, (uint32_t[]){db, symbol}, 2, 0, "", "");
	session_free(session);
}

static void level_of_another_graph_is_refused(void **state)
{
	struct session *session = new_session_of_two_modules();
	uint32_t beyond = LEVEL_FUNCTION | session_get_graph(session)->num_functions;
	struct session_query query = {
		.baseline_metric = METRIC_NONE, .fragment = &beyond, .fragment_length = 1};
	struct error error = {0};

	(void)state;
	assert_int_equal(session_query(session, &query, &error), -EINVAL);
	session_free(session);
}

/* ---- random stacks -------------------------------------------------------------------------- */

#define NUM_STACKS 60
#define MAX_DEPTH  9

struct stack {
	char frames[MAX_DEPTH + 1]; /* a letter each */
	uint64_t weight;
};

struct sums {
	uint64_t inclusive;
	uint64_t exclusive;
	uint64_t callers[128];
	uint64_t callees[128];
};

/* By the definition, one stack after the other. */
static struct sums count_by_definition(const struct stack *stacks, const char *fragment)
{
	struct sums sums = {0};
	size_t length = strlen(fragment);

	for (int i = 0; i < NUM_STACKS; i++) {
		const char *frames = stacks[i].frames;
		const char *first = strstr(frames, fragment);
		const char *last = first;

		if (!first)
			continue;
		for (const char *next = first; next; next = strstr(next + 1, fragment))
			last = next;
		sums.inclusive += stacks[i].weight;
		if (first > frames)
			sums.callers[(int)first[-1]] += stacks[i].weight;
		if (last[length])
			sums.callees[(int)last[length]] += stacks[i].weight;
		else
			sums.exclusive += stacks[i].weight;
	}
	return sums;
}

static void make_stacks(struct stack *stacks, struct text *folded)
{
	for (int i = 0; i < NUM_STACKS; i++) {
		int depth = 1 + rand() % MAX_DEPTH;

		memset(stacks[i].frames, 0, sizeof(stacks[i].frames));
		for (int k = 0; k < depth; k++) {
			stacks[i].frames[k] = (char)('a' + rand() % 3);
			text_printf(folded, "%s%c", k ? ";" : "", stacks[i].frames[k]);
		}
		stacks[i].weight = (uint64_t)(1 + rand() % 50);
		text_printf(folded, " %" PRIu64 "\n", stacks[i].weight);
	}
}

static void check_list(struct session *session, enum flame_direction direction,
		       const uint64_t *wanted)
{
	struct flame *flame = session_get_flame(session, direction);
	uint64_t seen[128] = {0};
	const struct flame_node *top;

	assert_int_equal(flame_expand(flame, flame_get_top(flame)), 0);
	top = flame_get_node(flame, flame_get_top(flame));
	for (uint32_t i = 0; i < top->num_children; i++) {
		const struct flame_node *node = flame_get_node(flame, top->first_child + i);

		seen[(int)*graph_get_symbol_name(session_get_graph(session), node->symbol)] +=
			node->total;
	}
	assert_memory_equal(seen, wanted, sizeof(seen));
}

static void every_fragment_of_random_stacks_is_as_defined(void **state)
{
	static const char *const fragments[] = {"a",     "b",   "a;a",   "a;b",     "b;a",
						"a;b;a", "c;c", "a;a;a", "a;b;a;b", "c;a"};
	struct stack stacks[NUM_STACKS];

	(void)state;
	srand(7);
	for (int round = 0; round < 40; round++) {
		struct text folded = {0};
		struct session *session;

		make_stacks(stacks, &folded);
		session = fixture_new(folded.data);
		for (size_t i = 0; i < ARRAY_LENGTH(fragments); i++) {
			char plain[16] = "";
			struct sums sums;

			for (const char *c = fragments[i]; *c; c += c[1] ? 2 : 1)
				strncat(plain, c, 1);
			sums = count_by_definition(stacks, plain);
			fixture_query(session, fragments[i], FLAME_CALLEES, NULL);
			assert_int_equal(fixture_top(session, FLAME_CALLEES)->total,
					 sums.inclusive);
			assert_int_equal(fixture_top(session, FLAME_CALLEES)->self, sums.exclusive);
			check_list(session, FLAME_CALLERS, sums.callers);
			check_list(session, FLAME_CALLEES, sums.callees);
		}
		session_free(session);
		text_release(&folded);
	}
}

/* ---- layout --------------------------------------------------------------------------------- */

static void layout_leaves_out_what_is_too_narrow_or_out_of_sight(void **state)
{
	struct session *session = fixture_new("a;wide 900\na;thin 1\nb;far 99\n");
	struct flame_viewport viewport = {0, 0.5, 100, 0.5};
	struct flame_layout layout = {0};

	(void)state;
	fixture_query(session, NULL, FLAME_CALLEES, NULL);
	assert_int_equal(
		flame_layout_make(&layout, session_get_flame(session, FLAME_CALLEES), &viewport),
		0);
	/* All, a, and wide; thin is 0.2 pixels wide, b lies right of what is shown. */
	assert_int_equal(layout.boxes.length, 3);
	assert_float_equal(layout.boxes.items[1].width_px, 2 * 90.1, 0.01);
	assert_float_equal(layout.boxes.items[2].x_px, 2 * 0.1, 0.01);
	/* The next layout has nothing of this one. */
	viewport.from = 0.95;
	viewport.to = 1;
	assert_int_equal(
		flame_layout_make(&layout, session_get_flame(session, FLAME_CALLEES), &viewport),
		0);
	assert_int_equal(layout.boxes.length, 3); /* all, b, and far */
	assert_float_equal(layout.boxes.items[2].width_px, 99 * 2.0, 0.01);
	viewport.to = viewport.from;
	assert_int_equal(
		flame_layout_make(&layout, session_get_flame(session, FLAME_CALLEES), &viewport),
		0);
	assert_int_equal(layout.boxes.length, 0);
	flame_layout_release(&layout);
	session_free(session);
}

static void heaviest_child_comes_first_unless_names_decide(void **state)
{
	struct session *session = fixture_new("a;x 1\na;y 2\n");
	struct flame_opts opts = {.direction = FLAME_CALLEES, .order = FLAME_BY_WEIGHT};
	struct flame *flame;
	const struct flame_node *first;

	(void)state;
	fixture_query(session, NULL, FLAME_CALLEES, NULL);
	flame = flame_new(session_get_graph(session), session_get_weights(session), &opts);
	assert_non_null(flame);
	assert_int_equal(flame_expand(flame, 0), 0);
	assert_int_equal(flame_expand(flame, 1), 0);
	first = flame_get_node(flame, flame_get_node(flame, 1)->first_child);
	assert_string_equal(graph_get_symbol_name(session_get_graph(session), first->symbol), "y");
	flame_free(flame);
	session_free(session);
}

/* ---- search --------------------------------------------------------------------------------- */

static uint64_t measure(struct session *session, const char *name, enum flame_direction direction)
{
	const struct graph *graph = session_get_graph(session);
	uint8_t *is_match = calloc(graph->num_symbols, 1);
	uint64_t weight;

	assert_non_null(is_match);
	is_match[graph_find_symbol(graph, name, strlen(name), false)] = 1;
	assert_int_equal(
		flame_measure_matches(session_get_flame(session, direction), is_match, &weight), 0);
	free(is_match);
	return weight;
}

static void match_counts_a_stack_once_and_only_where_it_is_drawn(void **state)
{
	struct session *session = fixture_new(recursive);

	(void)state;
	fixture_query(session, NULL, FLAME_CALLEES, NULL);
	assert_int_equal(measure(session, "f", FLAME_CALLEES), 17);
	assert_int_equal(measure(session, "f", FLAME_CALLERS), 17);
	/* Above the last f, only one stack has a g. */
	fixture_query(session, "f", FLAME_CALLEES, NULL);
	assert_int_equal(measure(session, "g", FLAME_CALLEES), 2);
	/* Below the first f, another one has. */
	assert_int_equal(measure(session, "g", FLAME_CALLERS), 5);
	assert_int_equal(measure(session, "f", FLAME_CALLERS), 17);
	session_free(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			recursive_function_has_the_caller_of_its_first_and_the_callee_of_its_last_call),
		cmocka_unit_test(fragment_counts_a_stack_once_where_it_overlaps_itself),
		cmocka_unit_test(outermost_function_has_no_caller),
		cmocka_unit_test(fragment_that_is_in_no_stack_weighs_nothing),
		cmocka_unit_test(level_may_stand_for_the_function_of_one_module),
		cmocka_unit_test(level_of_another_graph_is_refused),
		cmocka_unit_test(nothing_selected_shows_all_stacks_from_either_end),
		cmocka_unit_test(every_fragment_of_random_stacks_is_as_defined),
		cmocka_unit_test(layout_leaves_out_what_is_too_narrow_or_out_of_sight),
		cmocka_unit_test(heaviest_child_comes_first_unless_names_decide),
		cmocka_unit_test(match_counts_a_stack_once_and_only_where_it_is_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
