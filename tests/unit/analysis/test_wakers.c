#include "analysis/wakers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profile_builder.h"

struct fixture {
	struct profile *profile;
	struct frame_tree tree;
	uint32_t metric;
};

static void add(struct fixture *fixture, const char *comm, const char *folded, uint64_t weight)
{
	uint32_t thread = builder_add_thread(fixture->profile, 1, 1, comm);
	uint32_t stack = builder_add_stack(fixture->profile, folded);

	assert_int_equal(
		profile_add_sample(fixture->profile, thread, stack, fixture->metric, weight), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->profile = profile_new();
	assert_int_equal(profile_add_metric(fixture->profile, METRIC_OFFWAKE, "nanoseconds",
					    &fixture->metric),
			 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	frame_tree_release(&fixture->tree);
	profile_free(fixture->profile);
	free(fixture);
	return 0;
}

/* "name total, name total" */
static void assert_threads(struct fixture *fixture, const char *text, const char *expected)
{
	struct wakers_answer answer;
	struct fragment fragment = {0};
	struct wakers_opts opts = {.metric = fixture->metric, .fragment = &fragment};
	struct text out = {0};

	assert_int_equal(fragment_init(&fragment, &fixture->tree, text), 0);
	assert_int_equal(wakers_answer_init(&answer, &fixture->tree, &opts), 0);
	text_append_string(&out, "");
	for (size_t i = 0; i < answer.num_threads; i++)
		text_printf(&out, "%s%s %llu", i ? ", " : "",
			    frame_tree_get_name_text(&fixture->tree, answer.threads[i].frame, NULL),
			    (unsigned long long)answer.threads[i].total);
	assert_string_equal(out.data ? out.data : "", expected);
	text_release(&out);
	fragment_release(&fragment);
	wakers_answer_release(&answer);
}

/* "waiter total: waker ended (frames)", one after the other */
static void assert_chain(struct fixture *fixture, const char *text, const char *expected)
{
	const struct frame_tree *tree = &fixture->tree;
	struct fragment fragment = {0};
	struct wakers_opts opts = {.metric = fixture->metric, .fragment = &fragment};
	struct waker_chain chain;
	struct text out = {0};

	assert_int_equal(fragment_init(&fragment, tree, text), 0);
	assert_int_equal(waker_chain_init(&chain, tree, &opts), 0);
	for (size_t i = 0; i < chain.num_links; i++) {
		const struct waker_link *link = &chain.links[i];

		text_printf(&out, "%s%s %llu: %llu", i ? "; " : "",
			    link->waiter == FRAME_NONE
				    ? text
				    : frame_tree_get_name_text(tree, link->waiter, NULL),
			    (unsigned long long)link->total, (unsigned long long)link->ended);
		for (size_t k = 0; k < link->num_frames; k++)
			text_printf(&out, " %s",
				    frame_tree_get_name_text(tree, link->frames[k], NULL));
		if (link->futex != FRAME_NONE)
			text_printf(&out, " for %s",
				    frame_tree_get_name_text(tree, link->futex, NULL));
	}
	assert_string_equal(out.data ? out.data : "", expected);
	text_release(&out);
	fragment_release(&fragment);
	waker_chain_release(&chain);
}

static void wakers_are_summed_by_name(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "app", "main;lock;[blocked];--;wake;unlock;flush;log", 5);
	add(fixture, "app", "main;lock;[blocked];--;wake;unlock;log", 4);
	add(fixture, "app", "main;lock;[blocked];--;irq;[interrupt]", 9);
	add(fixture, "app", "main;lock;[blocked];--;[unknown waker]", 1);
	add(fixture, "app", "main;read;[blocked];--;write;db", 100);
	assert_int_equal(frame_tree_init(&fixture->tree, fixture->profile), 0);
	assert_threads(fixture, "lock", "[interrupt] 9, log 9, [unknown waker] 1");
	assert_threads(fixture, "main;read", "db 100");
	assert_threads(fixture, "main", "db 100, [interrupt] 9, log 9, [unknown waker] 1");
}

/* The waker was not waiting, and what ends in no waker has none. */
static void a_fragment_is_looked_for_in_what_waits(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "app", "main;lock;[blocked];--;wake;unlock;main;log", 5);
	add(fixture, "app", "main;run", 7);
	assert_int_equal(frame_tree_init(&fixture->tree, fixture->profile), 0);
	assert_threads(fixture, "unlock", "");
	assert_threads(fixture, "run", "");
	assert_threads(fixture, "main", "log 5");
	assert_chain(fixture, "unlock", "");
}

static void a_chain_follows_who_ended_the_most(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "app", "main;lock;[blocked];--;wake;unlock;log", 6);
	add(fixture, "app", "main;lock;[blocked];--;wake;other;log", 5);
	add(fixture, "app", "main;lock;[blocked];--;irq;[interrupt]", 1);
	add(fixture, "log", "run;read;[blocked];--;write;send;db", 30);
	add(fixture, "log", "run;sleep;[blocked];--;timer;[interrupt]", 20);
	add(fixture, "db", "serve;[blocked];--;disk;[interrupt]", 8);
	assert_int_equal(frame_tree_init(&fixture->tree, fixture->profile), 0);
	assert_chain(fixture, "main;lock",
		     "main;lock 12: 6 wake unlock log; log 50: 30 write send db; "
		     "db 8: 8 disk [interrupt]");
}

/* Of the futexes that a path has let go of, the one that was waited for the most; those of other paths do not count. */
static void a_chain_says_which_futex_it_was(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "app", "main;lock;[blocked];[futex 0x30];--;wake;unlock;log", 20);
	add(fixture, "app", "main;lock;[blocked];[futex 0x10];--;wake;unlock;flush;log", 5);
	add(fixture, "app", "main;lock;[blocked];[futex 0x20];--;wake;unlock;flush;log", 6);
	add(fixture, "app", "main;try;[blocked];[futex 0x10];--;wake;unlock;flush;log", 4);
	add(fixture, "app", "main;read;[blocked];--;wake;unlock;flush;log", 50);
	assert_int_equal(frame_tree_init(&fixture->tree, fixture->profile), 0);
	assert_chain(fixture, "main", "main 85: 65 wake unlock flush log for [futex 0x10]");
	assert_chain(fixture, "main;lock", "main;lock 31: 20 wake unlock log for [futex 0x30]");
	assert_chain(fixture, "main;read", "main;read 50: 50 wake unlock flush log");
}

static void waits_that_nobody_ended_are_not_followed(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "app", "main;read;[blocked];--;[not woken]", 60);
	add(fixture, "app", "main;read;[blocked];--;[unknown waker]", 50);
	add(fixture, "app", "main;read;[blocked];--;write;db", 5);
	add(fixture, "db", "serve;[blocked];--;[not woken]", 8);
	assert_int_equal(frame_tree_init(&fixture->tree, fixture->profile), 0);
	assert_chain(fixture, "read", "read 115: 5 write db");
}

static void a_chain_ends_where_it_comes_back(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "ping", "main;read;[blocked];--;write;pong", 6);
	add(fixture, "pong", "main;read;[blocked];--;write;ping", 5);
	assert_int_equal(frame_tree_init(&fixture->tree, fixture->profile), 0);
	assert_chain(fixture, "read",
		     "read 11: 6 write pong; pong 5: 5 write ping; ping 6: 6 write pong");
}

static void a_wait_whose_waker_has_no_frame_ends_the_chain(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "app", "main;--", 6);
	assert_int_equal(frame_tree_init(&fixture->tree, fixture->profile), 0);
	assert_chain(fixture, "main", "");
}

/* "depth name total, …" of the tree behind its first node, depth-first */
static void append_stacks(struct text *out, const struct fixture *fixture,
			  const struct fragment_tree *stacks, uint32_t node, int depth)
{
	for (node = stacks->nodes[node].first_child; node;
	     node = stacks->nodes[node].next_sibling) {
		text_printf(
			out, "%s%d %s %llu", out->length ? ", " : "", depth,
			frame_tree_get_name_text(&fixture->tree, stacks->nodes[node].frame, NULL),
			(unsigned long long)stacks->nodes[node].total);
		append_stacks(out, fixture, stacks, node, depth + 1);
	}
}

static void stacks_of_a_waker_are_of_what_it_ended_only(void **state)
{
	struct fixture *fixture = *state;
	struct wakers_opts opts = {.metric = fixture->metric};
	_cleanup_(wakers_answer_release) struct wakers_answer answer = {0};
	_cleanup_(fragment_tree_release) struct fragment_tree stacks = {0};
	_cleanup_(text_release) struct text out = {0};

	add(fixture, "app", "main;lock;[blocked];--;wake;unlock;log", 5);
	add(fixture, "app", "main;read;[blocked];--;wake;write;log", 4);
	add(fixture, "app", "main;lock;[blocked];--;wake;unlock;db", 9);
	assert_int_equal(frame_tree_init(&fixture->tree, fixture->profile), 0);
	assert_int_equal(wakers_answer_init(&answer, &fixture->tree, &opts), 0);
	assert_int_equal(answer.num_threads, 2);
	assert_string_equal(frame_tree_get_name_text(&fixture->tree, answer.threads[1].frame, NULL),
			    "log");
	assert_int_equal(waker_stacks_init(&stacks, &fixture->tree, &opts, answer.threads[1].frame),
			 0);
	assert_int_equal(stacks.nodes[0].total, 9);
	append_stacks(&out, fixture, &stacks, 0, 0);
	assert_string_equal(out.data, "0 wake 9, 1 unlock 5, 2 log 5, 1 write 4, 2 log 4");
}

static void what_is_selected_of_a_sample_counts(void **state)
{
	struct fixture *fixture = *state;
	uint8_t all[] = {1, 1, 1};
	uint64_t values[] = {5, 2, 7};
	struct selection selection = {all, 3, values};
	struct wakers_opts opts = {.metric = fixture->metric, .selection = &selection};
	_cleanup_(wakers_answer_release) struct wakers_answer answer = {0};
	_cleanup_(waker_chain_release) struct waker_chain chain = {0};

	add(fixture, "app", "main;lock;[blocked];--;unlock;log", 50);
	add(fixture, "app", "main;read;[blocked];--;write;log", 60);
	add(fixture, "app", "main;read;[blocked];--;write;db", 10);
	assert_int_equal(frame_tree_init(&fixture->tree, fixture->profile), 0);
	assert_int_equal(wakers_answer_init(&answer, &fixture->tree, &opts), 0);
	assert_int_equal(answer.tree.nodes[0].total, 14);
	assert_int_equal(answer.threads[0].total, 7);
	assert_int_equal(answer.threads[1].total, 7);
	assert_int_equal(waker_chain_init(&chain, &fixture->tree, &opts), 0);
	assert_int_equal(chain.links[0].total, 14);
	assert_int_equal(chain.links[0].ended, 7);
}

/* Who ended these waits has waits of its own, which are not among them. */
static void a_chain_starts_among_the_waits_that_are_meant(void **state)
{
	struct fixture *fixture = *state;
	uint8_t first[] = {1, 0, 0};
	struct selection waits = {.is_selected = first, .num_samples = 3};
	struct wakers_opts opts = {.metric = fixture->metric, .waits = &waits};
	_cleanup_(wakers_answer_release) struct wakers_answer answer = {0};
	_cleanup_(waker_chain_release) struct waker_chain chain = {0};

	add(fixture, "app", "main;[blocked];--;wake;log", 6);
	add(fixture, "app", "main;[blocked];--;wake;db", 60);
	add(fixture, "log", "run;[blocked];--;write;db", 30);
	assert_int_equal(frame_tree_init(&fixture->tree, fixture->profile), 0);
	assert_int_equal(wakers_answer_init(&answer, &fixture->tree, &opts), 0);
	assert_int_equal(answer.tree.nodes[0].total, 6);
	assert_int_equal(waker_chain_init(&chain, &fixture->tree, &opts), 0);
	assert_int_equal(chain.num_links, 2);
	assert_int_equal(chain.links[0].total, 6);
	assert_int_equal(chain.links[1].total, 30);
}

#define fixture_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(wakers_are_summed_by_name),
		fixture_test(a_fragment_is_looked_for_in_what_waits),
		fixture_test(a_chain_follows_who_ended_the_most),
		fixture_test(a_chain_says_which_futex_it_was),
		fixture_test(waits_that_nobody_ended_are_not_followed),
		fixture_test(a_chain_ends_where_it_comes_back),
		fixture_test(a_wait_whose_waker_has_no_frame_ends_the_chain),
		fixture_test(stacks_of_a_waker_are_of_what_it_ended_only),
		fixture_test(what_is_selected_of_a_sample_counts),
		fixture_test(a_chain_starts_among_the_waits_that_are_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
