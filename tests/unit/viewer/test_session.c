#include "viewer/session.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/format.h"
#include "viewer/answers.h"
#include "viewer/extract.h"
#include "viewer/tables.h"
#include "viewer_fixture.h"

static uint64_t get_sum(struct session *session)
{
	fixture_query(session, NULL, FLAME_CALLEES, NULL);
	return session_get_weights(session)->sum;
}

static void files_add_up_and_each_can_be_switched_off(void **state)
{
	struct session *session = fixture_new("a;b 3\n");
	uint32_t second = fixture_open(session, "b.folded", "a;b 4\na;c 1\n");

	(void)state;
	assert_int_equal(get_sum(session), 8);
	session_get_source(session, second)->side = SIDE_OFF;
	assert_int_equal(get_sum(session), 3);
	session_get_source(session, second)->side = SIDE_SHOWN;
	session_get_source(session, 0)->is_gone = true;
	assert_int_equal(get_sum(session), 5);
	session_free(session);
}

static void counts_with_decimals_weigh_as_much_as_others(void **state)
{
	struct session *session = fixture_new("a;b 3\n");
	uint32_t second = fixture_open(session, "b.folded", "a;b 4.5\n");

	(void)state;
	assert_int_equal(get_sum(session), 75);
	fixture_open(session, "c.folded", "a;b 1\n");
	assert_int_equal(get_sum(session), 85);
	session_get_source(session, second)->side = SIDE_OFF;
	assert_int_equal(get_sum(session), 40);
	session_free(session);
}

static void file_that_cannot_be_read_says_where_and_does_no_harm(void **state)
{
	static const char text[] = "{\"name\":\"all\",\"value\":1,\"children\":[{]}";
	struct session *session = fixture_new("a;b 3\n");
	struct error error = {0};
	uint32_t source;

	(void)state;
	assert_int_equal(
		session_import(session,
			       &(struct session_input){"bad.json", text, strlen(text), "json"},
			       &source, &error),
		-EBADMSG);
	assert_non_null(strstr(error.message, "bad.json: at byte "));
	assert_true(session_get_source(session, 1)->is_gone);
	assert_int_equal(get_sum(session), 3);
	session_free(session);
}

static void bytes_of_no_known_format_are_refused(void **state)
{
	struct session *session = session_new();
	struct error error = {0};
	uint32_t source;

	(void)state;
	assert_int_equal(session_import(session,
					&(struct session_input){"x.bin", "\1\2\3", 3, NULL},
					&source, &error),
			 -EINVAL);
	assert_string_equal(error.message, "x.bin: at byte 0: unrecognized format");
	assert_int_equal(session_import(session,
					&(struct session_input){"a.folded.zst",
								"\x28\xb5\x2f\xfd\x04", 5, NULL},
					&source, &error),
			 -EBADMSG);
	assert_string_equal(
		error.message,
		"a.folded.zst: at byte 0: compressed by zstd: decompress it first, or use the command line");
	session_free(session);
}

static void comparison_holds_both_sides_of_every_node(void **state)
{
	struct session *session = fixture_new("a;gone 3\na;same 5\n");
	const struct flame_node *top;
	struct flame *flame;

	(void)state;
	fixture_open(session, "after.folded", "a;same 5\na;new 5\n");
	session_get_source(session, 0)->side = SIDE_BASELINE;
	fixture_query(session, NULL, FLAME_CALLEES, NULL);
	flame = session_get_flame(session, FLAME_CALLEES);
	assert_int_equal(flame_expand(flame, 0), 0);
	assert_int_equal(flame_expand(flame, 1), 0);
	top = flame_get_node(flame, 1);
	assert_int_equal(top->num_children, 3);
	assert_int_equal(top->total, 10);
	assert_int_equal(top->baseline_total, 8);
	/* What has vanished is as wide as half its share was. */
	assert_float_equal(flame_get_node(flame, top->first_child)->width, 3.0 / 8 / 2, 1e-9);
	session_free(session);
}

/* ---- filters -------------------------------------------------------------------------------- */

static const char some[] = "main;read;copy 4\nmain;write;copy 2\nmain;idle 1\n";

static uint64_t filter(struct session *session, const char *filters)
{
	fixture_query(session, NULL, FLAME_CALLEES, filters);
	return session_get_weights(session)->sum;
}

static void filters_let_in_or_out_and_all_must_hold(void **state)
{
	struct session *session = fixture_new(some);

	(void)state;
	assert_int_equal(filter(session, "+function:copy"), 6);
	assert_int_equal(filter(session, "-function:copy"), 1);
	assert_int_equal(filter(session, "+function:copy\n-function:write"), 4);
	assert_int_equal(filter(session, "+fragment:read;copy"), 4);
	assert_int_equal(filter(session, "-fragment:read;copy"), 3);
	assert_int_equal(filter(session, "+function:/^(read|idle)$/"), 5);
	assert_int_equal(filter(session, "+file:a.folded"), 7);
	assert_int_equal(filter(session, "-file:a.folded"), 0);
	assert_int_equal(filter(session, "+function:nowhere"), 0);
	session_free(session);
}

static void filter_that_cannot_be_understood_is_refused(void **state)
{
	struct session *session = fixture_new(some);
	struct session_query query = {.baseline_metric = METRIC_NONE, .filters = "+function:/(/"};
	struct error error = {0};

	(void)state;
	assert_int_equal(session_prepare(session, TREE_ROOT_COMM), 0);
	assert_int_equal(session_query(session, &query, &error), -EINVAL);
	assert_int_not_equal(error.message[0], 0);
	query.filters = "+colour:red";
	assert_int_equal(session_query(session, &query, &error), -EINVAL);
	session_free(session);
}

/* ---- tables --------------------------------------------------------------------------------- */

static void recursive_function_is_in_the_table_once_for_every_stack(void **state)
{
	struct session *session = fixture_new("f;g;f 5\nf 2\n");
	struct table_row *rows;
	size_t count;

	(void)state;
	fixture_query(session, NULL, FLAME_CALLEES, NULL);
	assert_int_equal(table_of_functions(session_get_graph(session),
					    session_get_weights(session), &rows, &count),
			 0);
	assert_int_equal(count, 2);
	assert_int_equal(rows[0].self, 7);
	assert_int_equal(rows[0].total, 7);
	assert_int_equal(rows[1].self, 0);
	assert_int_equal(rows[1].total, 5);
	free(rows);
	session_free(session);
}

/* ---- the view as a profile ------------------------------------------------------------------ */

static int append(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

static void check_extract(struct session *session, const char *fragment,
			  enum flame_direction direction, const char *wanted)
{
	struct format_opts opts = {0};
	struct text text = {0};
	struct sink sink = {append, &text};
	struct profile *profile;

	fixture_query(session, fragment, direction, NULL);
	assert_int_equal(extract_view(session, &profile), 0);
	assert_int_equal(format_folded.write(profile, &opts, &sink), 0);
	assert_string_equal(text.data, wanted);
	text_release(&text);
	profile_free(profile);
}

static void view_is_written_as_it_is_drawn(void **state)
{
	struct session *session = fixture_new("main;a;b;a;c 5\nmain;a_[k] 2\nmain;x 4\n");

	(void)state;
	check_extract(session, NULL, FLAME_CALLEES, "main;a;b;a;c 5\nmain;a_[k] 2\nmain;x 4\n");
	check_extract(session, "a", FLAME_CALLEES, "a;c 5\na_[k] 2\n");
	check_extract(session, "a", FLAME_CALLERS, "main;a 5\nmain;a_[k] 2\n");
	check_extract(session, "b;a", FLAME_CALLERS, "main;a;b;a 5\n");
	session_free(session);
}

/* Two threads of one process are of one process afterwards. */
static void view_has_the_processes_that_it_was_made_of(void **state)
{
	static const char text[] = "web 100/101 1.0: 5 cycles:\n\t1 a (/bin/web)\n\n"
				   "web 100/102 1.1: 6 cycles:\n\t1 a (/bin/web)\n\n"
				   "db 200/200 1.2: 7 cycles:\n\t2 b (/bin/db)\n\n";
	struct session *session = session_new();
	struct error error = {0};
	struct profile *profile;
	uint32_t source;

	(void)state;
	assert_int_equal(session_import(session,
					&(struct session_input){"perf.txt", text, strlen(text),
								"perf-script"},
					&source, &error),
			 0);
	fixture_query(session, NULL, FLAME_CALLEES, NULL);
	assert_int_equal(extract_view(session, &profile), 0);
	assert_int_equal(profile_count_threads(profile), 3);
	assert_int_equal(profile_count_processes(profile), 2);
	profile_free(profile);
	session_free(session);
}

/* ---- changes -------------------------------------------------------------------------------- */

/* Of the function of this name: enum change_flag. */
static uint32_t get_change(struct session *session, const char *name)
{
	const struct graph *graph = session_get_graph(session);
	uint32_t symbol = graph_find_symbol(graph, name, strlen(name), false);
	const struct changes *changes;
	struct error error = {0};

	assert_int_not_equal(symbol, SYMBOL_NONE);
	assert_int_equal(session_get_changes(session, &changes, &error), 0);
	return changes->items[graph->symbols[symbol].function].flags;
}

static void only_what_chance_does_not_explain_has_changed(void **state)
{
	struct session *session = fixture_new("main;a 500\nmain;b 500\nmain;c 20\n");

	(void)state;
	fixture_open(session, "b.folded", "main;a 500\nmain;b;new 500\nmain;c 25\n");
	session_get_source(session, 0)->side = SIDE_BASELINE;
	fixture_query(session, NULL, FLAME_CALLEES, NULL);
	assert_int_equal(get_change(session, "a"), 0);
	assert_int_equal(get_change(session, "c"), 0);
	assert_int_equal(get_change(session, "b"), CHANGE_OF_SELF);
	assert_int_equal(get_change(session, "new"), CHANGE_OF_SELF | CHANGE_OF_TOTAL);
	assert_int_equal(get_change(session, "main"), 0);
	/* Filtered: all of what is left is as before. */
	fixture_query(session, NULL, FLAME_CALLEES, "-function:b");
	assert_int_equal(get_change(session, "a"), 0);
	assert_int_equal(get_change(session, "b"), 0);
	session_free(session);
}

/* 30 milliseconds of 10 each are three samples: three of three and none of three may be chance. */
static void time_is_as_sure_as_the_samples_behind_it(void **state)
{
	static const char before[] = "w 1/1 1.0: 10000000 cpu-clock:ppp:\n\t1 a (w)\n\n";
	struct session *session = session_new();

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct error error = {0};
		struct text text = {0};
		uint32_t source;

		for (int n = 0; n < 3; n++)
			text_append_string(&text, before);
		if (i)
			for (size_t at = 0; at + 1 < text.length; at++)
				if (text.data[at] == 'a' && text.data[at + 1] == ' ')
					text.data[at] = 'b';
		assert_int_equal(
			session_import(session,
				       &(struct session_input){i ? "after" : "before", text.data,
							       text.length, "perf-script"},
				       &source, &error),
			0);
		text_release(&text);
	}
	session_get_source(session, 0)->side = SIDE_BASELINE;
	fixture_query(session, NULL, FLAME_CALLEES, NULL);
	assert_int_equal(get_change(session, "a"), 0);
	assert_int_equal(get_change(session, "b"), 0);
	session_free(session);
}

static void append_event(struct text *text, const char *event, const char *function, int count)
{
	while (count--)
		text_printf(text, "w 1/1 1.0: 10000000 %s:\n\t1 %s (w)\n\n", event, function);
}

/* Two of one metric are two, however many another metric of the file has. */
static void each_side_is_as_sure_as_its_own_metric(void **state)
{
	struct session *session = session_new();
	struct session_query query = {.filters = "", .order = FLAME_BY_NAME};
	struct error error = {0};
	struct text text = {0};
	uint32_t source;

	(void)state;
	append_event(&text, "cycles", "a", 30);
	append_event(&text, "cycles", "b", 270);
	append_event(&text, "instructions", "a", 1);
	append_event(&text, "instructions", "b", 1);
	assert_int_equal(session_import(session,
					&(struct session_input){"both", text.data, text.length,
								"perf-script"},
					&source, &error),
			 0);
	assert_int_equal(session_prepare(session, TREE_ROOT_COMM), 0);
	query.metric = 0;
	query.baseline_metric = 1;
	assert_int_equal(session_query(session, &query, &error), 0);
	assert_int_equal(get_change(session, "a"), 0);
	text_release(&text);
	session_free(session);
}

/* A fifth of 600 and none of 12 may be chance. A fifth of 12 and none of 600 would not be. */
static void metrics_are_as_sure_as_their_own_numbers_of_samples(void **state)
{
	struct session *session = session_new();
	struct session_query query = {
		.filters = "", .order = FLAME_BY_NAME, .metric = 1, .baseline_metric = 0};
	struct error error = {0};
	struct text text = {0};
	uint32_t source;

	(void)state;
	append_event(&text, "cycles", "a", 120);
	append_event(&text, "cycles", "b", 480);
	append_event(&text, "instructions", "b", 12);
	assert_int_equal(session_import(session,
					&(struct session_input){"both", text.data, text.length,
								"perf-script"},
					&source, &error),
			 0);
	assert_int_equal(session_prepare(session, TREE_ROOT_COMM), 0);
	assert_int_equal(session_query(session, &query, &error), 0);
	assert_int_equal(get_change(session, "a"), 0);
	query.metric = 0;
	query.baseline_metric = 1;
	assert_int_equal(session_query(session, &query, &error), 0);
	assert_int_equal(get_change(session, "a"), 0);
	text_release(&text);
	session_free(session);
}

/* ---- answers -------------------------------------------------------------------------------- */

static void overview_names_files_and_metrics(void **state)
{
	struct session *session = fixture_new("a;b 3\n");
	struct text text = {0};

	(void)state;
	assert_int_equal(session_rename_source(session, 0, "a \"quoted\" name"), 0);
	answer_overview(session, &text);
	assert_non_null(strstr(text.data, "\"name\":\"a \\\"quoted\\\" name\""));
	assert_non_null(strstr(text.data, "\"metrics\":[{\"name\":\"samples\",\"unit\":\"count\","
					  "\"total\":\"3\"}]"));
	text_release(&text);
	session_free(session);
}

static bool shows_sleepers(struct session *session)
{
	_cleanup_(text_release) struct text text = {0};

	answer_overview(session, &text);
	assert_false(text.failed);
	return strstr(text.data, "\"sleepers\":\"0\"}");
}

static void overview_shows_sleepers_of_files_that_are_shown(void **state)
{
	struct session *session = fixture_new("a;b 3\n");
	uint32_t second = fixture_open(session, "b.folded", "web;[slept throughout];poll 4\n");

	(void)state;
	assert_true(shows_sleepers(session));
	session_get_source(session, second)->side = SIDE_OFF;
	assert_false(shows_sleepers(session));
	session_free(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_add_up_and_each_can_be_switched_off),
		cmocka_unit_test(counts_with_decimals_weigh_as_much_as_others),
		cmocka_unit_test(file_that_cannot_be_read_says_where_and_does_no_harm),
		cmocka_unit_test(bytes_of_no_known_format_are_refused),
		cmocka_unit_test(comparison_holds_both_sides_of_every_node),
		cmocka_unit_test(filters_let_in_or_out_and_all_must_hold),
		cmocka_unit_test(filter_that_cannot_be_understood_is_refused),
		cmocka_unit_test(recursive_function_is_in_the_table_once_for_every_stack),
		cmocka_unit_test(view_is_written_as_it_is_drawn),
		cmocka_unit_test(view_has_the_processes_that_it_was_made_of),
		cmocka_unit_test(only_what_chance_does_not_explain_has_changed),
		cmocka_unit_test(time_is_as_sure_as_the_samples_behind_it),
		cmocka_unit_test(each_side_is_as_sure_as_its_own_metric),
		cmocka_unit_test(metrics_are_as_sure_as_their_own_numbers_of_samples),
		cmocka_unit_test(overview_names_files_and_metrics),
		cmocka_unit_test(overview_shows_sleepers_of_files_that_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
