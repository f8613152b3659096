/*
 * Who ended the waits of what the page looks at.
 */
#include "viewer/waits.h"

#include <errno.h>

#include "profile_builder.h"
#include "viewer/answers.h"
#include "viewer_fixture.h"

/* Functions of the wait are those of the waker, too; db and log wait themselves. */
static const struct {
	const char *thread;
	const char *stack;
	uint64_t weight;
} waits_of_test[] = {
	{"app", "main;read;[blocked];--;write;main;db", 700},
	{"app", "main;read;[blocked];--;irq;[interrupt]", 200},
	{"app", "main;lock;[blocked];--;unlock;log", 40},
	{"db", "main;read;[blocked];--;unlock;log", 300},
	{"log", "run;[blocked];--;irq;[interrupt]", 60},
};

/* A file whose threads are known: what no folded text has. */
static struct session *open_new(void)
{
	struct session *session = fixture_new("a;b 3\n");
	struct profile *profile = session_get_profile(session);
	uint32_t metric;

	assert_int_equal(profile_add_metric(profile, METRIC_OFFWAKE, "nanoseconds", &metric), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(waits_of_test); i++) {
		uint32_t thread = builder_add_thread(profile, 1, 1, waits_of_test[i].thread);
		uint32_t stack = builder_add_stack(profile, waits_of_test[i].stack);

		assert_int_equal(
			profile_add_sample(profile, thread, stack, metric, waits_of_test[i].weight),
			0);
	}
	return session;
}

/* levels  of the fragment, one of which may be "@THREAD"; NULL ends them */
static void query(struct session *session, const char *const *levels, const char *filters)
{
	uint32_t symbols[8];
	struct session_query query = {
		.baseline_metric = METRIC_NONE, .filters = filters, .fragment = symbols};
	struct error error = {0};

	assert_int_equal(session_prepare(session, TREE_ROOT_COMM), 0);
	for (; levels && *levels; levels++) {
		bool is_thread = **levels == '@';
		const char *name = *levels + is_thread;
		uint32_t symbol = graph_find_symbol(session_get_graph(session), name, strlen(name),
						    is_thread);

		assert_int_not_equal(symbol, SYMBOL_NONE);
		symbols[query.fragment_length++] = symbol;
	}
	assert_int_equal(session_query(session, &query, &error), 0);
}

static struct waits *get_waits(struct session *session)
{
	struct waits *waits;
	struct error error = {0};

	assert_int_equal(session_get_waits(session, 1, &waits, &error), 0);
	return waits;
}

static const char *get_name(const struct waits *waits, uint32_t frame)
{
	uint32_t symbol = waits_get_symbol(waits, frame);

	assert_int_not_equal(symbol, SYMBOL_NONE);
	return graph_get_symbol_name(waits->graph, symbol);
}

/* "inclusive of sum: waker total …; waker of link ended of total …" */
static void assert_waits(struct session *session, const char *const *levels, const char *filters,
			 const char *expected)
{
	_cleanup_(text_release) struct text out = {0};
	const struct waits *waits;

	query(session, levels, filters);
	waits = get_waits(session);
	text_printf(&out, "%" PRIu64 " of %" PRIu64 ":", waits->answer.tree.nodes[0].total,
		    waits->sum);
	for (size_t i = 0; i < waits->answer.num_threads; i++)
		text_printf(&out, " %s %" PRIu64, get_name(waits, waits->answer.threads[i].frame),
			    waits->answer.threads[i].total);
	for (size_t i = 0; i < waits->chain.num_links; i++) {
		const struct waker_link *link = &waits->chain.links[i];

		text_printf(&out, "%s %s %" PRIu64 " of %" PRIu64, i ? "," : ";",
			    get_name(waits, link->frames[link->num_frames - 1]), link->ended,
			    link->total);
	}
	assert_string_equal(out.data, expected);
}

#define LEVELS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void waits_are_those_of_the_fragment_before_the_waker(void **state _unused_)
{
	struct session *session = open_new();

	assert_waits(session, NULL, "",
		     "1300 of 1300: db 700 log 340 [interrupt] 260; "
		     "db 700 of 1300, log 300 of 300, [interrupt] 60 of 60");
	assert_waits(session, LEVELS("read"), "",
		     "1200 of 1300: db 700 log 300 [interrupt] 200; "
		     "db 700 of 1200, log 300 of 300, [interrupt] 60 of 60");
	assert_waits(session, LEVELS("main", "lock"), "",
		     "40 of 1300: log 40; log 40 of 40, [interrupt] 60 of 60");
	assert_waits(session, LEVELS("unlock"), "", "0 of 1300:");
	session_free(session);
}

/* The chain leads to other threads. */
static void a_thread_is_a_level_of_the_fragment(void **state _unused_)
{
	struct session *session = open_new();

	assert_waits(session, LEVELS("@db"), "",
		     "300 of 1300: log 300; log 300 of 300, [interrupt] 60 of 60");
	assert_waits(session, LEVELS("@app", "main"), "",
		     "940 of 1300: db 700 [interrupt] 200 log 40; "
		     "db 700 of 940, log 300 of 300, [interrupt] 60 of 60");
	session_free(session);
}

static void filters_and_files_that_are_off_leave_waits_out(void **state _unused_)
{
	struct session *session = open_new();

	assert_waits(session, NULL, "-thread:app",
		     "360 of 360: log 300 [interrupt] 60; log 300 of 360, [interrupt] 60 of 60");
	assert_waits(session, LEVELS("read"), "+function:main\n-thread:db",
		     "900 of 940: db 700 [interrupt] 200; db 700 of 900");
	session_get_source(session, 0)->side = SIDE_OFF;
	assert_waits(session, NULL, "", "0 of 0:");
	session_free(session);
}

static void of_a_wait_what_a_filter_by_time_lets_pass_counts(void **state _unused_)
{
	struct session *session = open_new();
	struct profile *profile = session_get_profile(session);

	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		uint64_t part = sample->value / 4;

		assert_int_equal(profile_add_timestamp(profile, sample->thread, sample->stack,
						       sample->metric, part, 1000000000),
				 0);
		assert_int_equal(profile_add_timestamp(profile, sample->thread, sample->stack,
						       sample->metric, sample->value - part,
						       2000000000),
				 0);
	}
	assert_waits(session, LEVELS("@app"), "+time:0-500",
		     "235 of 325: db 175 [interrupt] 50 log 10; "
		     "db 175 of 235, log 75 of 75, [interrupt] 15 of 15");
	assert_waits(session, NULL, "+time:5000-6000", "0 of 0:");
	session_free(session);
}

static void a_waker_opens_to_what_it_did(void **state _unused_)
{
	struct session *session = open_new();
	struct error error = {0};
	_cleanup_(text_release) struct text text = {0};
	_cleanup_(text_release) struct text expected = {0};
	const struct fragment_tree *stacks;
	struct waits *waits;

	query(session, LEVELS("read"), "");
	waits = get_waits(session);
	assert_int_equal(waits_get_stacks(waits, 0, &stacks), 0);
	assert_int_equal(stacks->num_nodes, 4);
	assert_string_equal(get_name(waits, stacks->nodes[1].frame), "write");
	assert_int_equal(stacks->nodes[1].total, 700);
	assert_int_equal(answer_waker_stacks(waits, 0, 0, &text, &error), 0);
	text_printf(&expected, "[{\"node\":1,\"symbol\":%" PRIu32 ",\"total\":\"700\"}]",
		    waits_get_symbol(waits, stacks->nodes[1].frame));
	assert_string_equal(text.data, expected.data);
	/* The waker's name, which comes last, is the row's own. */
	text_truncate(&text, 0);
	assert_int_equal(answer_waker_stacks(waits, 0, 2, &text, &error), 0);
	assert_string_equal(text.data, "[]");
	assert_int_equal(answer_waker_stacks(waits, 0, 4, &text, &error), -EINVAL);
	assert_int_equal(answer_waker_stacks(waits, 3, 0, &text, &error), -EINVAL);
	session_free(session);
}

static void numbers_and_names_are_in_the_answer(void **state _unused_)
{
	struct session *session = open_new();
	_cleanup_(text_release) struct text text = {0};
	_cleanup_(text_release) struct text expected = {0};
	const struct graph *graph;

	query(session, LEVELS("main", "lock"), "-thread:log");
	answer_waits(get_waits(session), &text);
	graph = session_get_graph(session);
	text_printf(
		&expected,
		"{\"sum\":\"1240\",\"inclusive\":\"40\",\"wakers\":[{\"symbol\":%" PRIu32
		",\"total\":\"40\"}],\"chain\":[{\"waiter\":null,\"futex\":null,\"total\":\"40\","
		"\"ended\":\"40\",\"frames\":[%" PRIu32 ",%" PRIu32 "]}]}",
		graph_find_symbol(graph, "log", 3, false),
		graph_find_symbol(graph, "unlock", 6, false),
		graph_find_symbol(graph, "log", 3, false));
	assert_string_equal(text.data, expected.data);
	session_free(session);
}

static void what_was_read_since_has_to_be_prepared(void **state _unused_)
{
	struct session *session = open_new();
	struct error error = {0};
	struct waits *waits;

	query(session, NULL, "");
	get_waits(session);
	fixture_open(session, "a.folded", "a;b 3\n");
	assert_int_equal(session_get_waits(session, 1, &waits, &error), -EINVAL);
	assert_string_equal(error.message, "the view belongs to another profile");
	query(session, NULL, "");
	assert_int_equal(get_waits(session)->sum, 1300);
	/* Nobody is known to have ended waits of this metric. */
	assert_int_equal(session_get_waits(session, 0, &waits, &error), 0);
	assert_int_equal(waits->sum, 6);
	assert_int_equal(waits->answer.num_threads, 0);
	session_free(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_are_those_of_the_fragment_before_the_waker),
		cmocka_unit_test(a_thread_is_a_level_of_the_fragment),
		cmocka_unit_test(filters_and_files_that_are_off_leave_waits_out),
		cmocka_unit_test(of_a_wait_what_a_filter_by_time_lets_pass_counts),
		cmocka_unit_test(a_waker_opens_to_what_it_did),
		cmocka_unit_test(numbers_and_names_are_in_the_answer),
		cmocka_unit_test(what_was_read_since_has_to_be_prepared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
