#include "analysis/wakers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/occurrences.h"
#include "base/text.h"

/* ---- which waits are meant ---------------------------------------------------------------- */

/* The question. */
struct wakers_query {
	const struct frame_tree *tree;
	struct wakers_opts opts;
	uint32_t waiter; /* name of the threads; STRING_NONE: any */
	uint32_t waker;  /* the same */
};

static uint32_t get_node(const struct frame_tree *tree, const struct sample *sample)
{
	return tree->stack_nodes[sample->stack];
}

static bool is_selected(const struct wakers_query *query, uint32_t id)
{
	const struct frame_tree *tree = query->tree;
	const struct sample *sample = profile_get_sample(tree->profile, id);

	if (sample->metric != query->opts.metric ||
	    !selection_contains(query->opts.selection, id) ||
	    !selection_contains(query->opts.waits, id))
		return false;
	if (query->waiter != STRING_NONE &&
	    profile_get_thread(tree->profile, sample->thread)->comm != query->waiter)
		return false;
	return query->waker == STRING_NONE ||
	       frame_tree_get_name(tree, tree->frames[get_node(tree, sample)]) == query->waker;
}

/* The fragment must be in the waiting part of the stack. */
static int select_waits(const struct wakers_query *query, const struct fragment *separator,
			struct selection *ret)
{
	const struct frame_tree *tree = query->tree;
	_cleanup_(occurrences_release) struct occurrences separators = {0};
	_cleanup_(occurrences_release) struct occurrences found = {0};
	int err = selection_init(ret, tree, NULL, 0);

	if (err)
		return err;
	err = fragment_find(separator, tree, &separators);
	if (err)
		return err;
	if (query->opts.fragment) {
		err = fragment_find(query->opts.fragment, tree, &found);
		if (err)
			return err;
	}
	if (query->opts.selection)
		ret->values = query->opts.selection->values;
	for (uint32_t i = 0; i < ret->num_samples; i++) {
		uint32_t node = get_node(tree, profile_get_sample(tree->profile, i));
		uint32_t end = separators.first_ends[node];

		ret->is_selected[i] =
			end && is_selected(query, i) &&
			(!query->opts.fragment || found.first_ends[tree->parents[end]]);
	}
	return 0;
}

/* ---- the answer --------------------------------------------------------------------------- */

/* A frame and a weight for each name. The frame of an absent name is FRAME_NONE. */
static int sum_by_name(const struct frame_tree *tree, const struct selection *waits,
		       uint32_t (*get_frame)(const struct frame_tree *tree, uint32_t node,
					     const void *context),
		       const void *context, struct waker_threads *by_name)
{
	for (uint32_t i = 0; i < tree->num_names; i++)
		by_name[i].frame = FRAME_NONE;
	for (uint32_t i = 0; i < waits->num_samples; i++) {
		const struct sample *sample = profile_get_sample(tree->profile, i);
		struct waker_threads *threads;
		uint32_t frame;

		if (!waits->is_selected[i])
			continue;
		frame = get_frame(tree, get_node(tree, sample), context);
		if (frame == FRAME_NONE)
			continue;
		threads = &by_name[frame_tree_get_name(tree, frame)];
		threads->frame = frame;
		if (__builtin_add_overflow(threads->total,
					   selection_get_value(waits, tree->profile, i),
					   &threads->total))
			return -EOVERFLOW;
	}
	return 0;
}

static int compare_threads(const void *left, const void *right, void *context)
{
	const struct frame_tree *tree = context;
	const struct waker_threads *a = left;
	const struct waker_threads *b = right;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return strcmp(frame_tree_get_name_text(tree, a->frame, NULL),
		      frame_tree_get_name_text(tree, b->frame, NULL));
}

static uint32_t get_waker_frame(const struct frame_tree *tree, uint32_t node,
				const void *context _unused_)
{
	return tree->frames[node];
}

static int list_threads(struct wakers_answer *answer, const struct frame_tree *tree,
			const struct selection *waits)
{
	struct waker_threads *threads =
		calloc((size_t)tree->num_names + 1, sizeof(*answer->threads));
	int err;

	answer->threads = threads;
	if (!threads)
		return -ENOMEM;
	err = sum_by_name(tree, waits, get_waker_frame, NULL, threads);
	if (err)
		return err;
	for (uint32_t i = 0; i < tree->num_names; i++)
		if (threads[i].frame != FRAME_NONE)
			threads[answer->num_threads++] = threads[i];
	qsort_r(threads, answer->num_threads, sizeof(*threads), compare_threads,
		(void *)(uintptr_t)tree);
	return 0;
}

static int find_stacks(const struct wakers_query *query, struct selection *ret_waits,
		       struct fragment_tree *ret)
{
	_cleanup_(fragment_release) struct fragment separator = {0};
	int err = fragment_init(&separator, query->tree, WAKER_SEPARATOR);

	if (err)
		return err;
	err = select_waits(query, &separator, ret_waits);
	if (err)
		return err;
	return fragment_tree_init(ret, query->tree, &separator, FRAGMENT_CALLEES,
				  query->opts.metric, ret_waits, 0);
}

static int answer_query(struct wakers_answer *answer, const struct wakers_query *query)
{
	_cleanup_(selection_release) struct selection waits = {0};
	int err;

	*answer = (struct wakers_answer){0};
	err = find_stacks(query, &waits, &answer->tree);
	return err ? err : list_threads(answer, query->tree, &waits);
}

int wakers_answer_init(struct wakers_answer *answer, const struct frame_tree *tree,
		       const struct wakers_opts *opts)
{
	const struct wakers_query query = {tree, *opts, STRING_NONE, STRING_NONE};

	return answer_query(answer, &query);
}

int waker_stacks_init(struct fragment_tree *ret, const struct frame_tree *tree,
		      const struct wakers_opts *opts, uint32_t waker)
{
	const struct wakers_query query = {tree, *opts, STRING_NONE,
					   frame_tree_get_name(tree, waker)};
	_cleanup_(selection_release) struct selection waits = {0};

	*ret = (struct fragment_tree){0};
	return find_stacks(&query, &waits, ret);
}

void wakers_answer_release(struct wakers_answer *answer)
{
	fragment_tree_release(&answer->tree);
	free(answer->threads);
	*answer = (struct wakers_answer){0};
}

/* ---- chains ------------------------------------------------------------------------------- */

/*
 * Waits without a waker, or with an unknown one, are not followed: these names are directly behind
 * the separator.
 */
static bool is_nobody(const struct frame_tree *tree, uint32_t frame)
{
	const char *name = frame_tree_get_name_text(tree, frame, NULL);

	return strcmp(name, WAKER_NOBODY_NAME) == 0 || strcmp(name, WAKER_UNKNOWN_NAME) == 0;
}

/* The heaviest child of the answer's first node that is a waker; 0: none. */
static uint32_t find_heaviest(const struct frame_tree *tree, const struct fragment_tree *answer)
{
	uint32_t node = answer->nodes[0].first_child;

	while (node && is_nobody(tree, answer->nodes[node].frame))
		node = answer->nodes[node].next_sibling;
	return node;
}

/*
 * The path of the heaviest child of each node, starting at one: children are sorted with the
 * heaviest first.
 */
static int take_heaviest_path(const struct fragment_tree *tree, uint32_t node,
			      struct waker_link *link)
{
	size_t depth = 1;

	while (tree->nodes[node].first_child) {
		node = tree->nodes[node].first_child;
		depth++;
	}
	link->total = tree->nodes[0].total;
	link->ended = tree->nodes[node].total;
	link->frames = calloc(depth, sizeof(*link->frames));
	if (!link->frames)
		return -ENOMEM;
	link->num_frames = depth;
	for (; node; node = tree->nodes[node].parent)
		link->frames[--depth] = tree->nodes[node].frame;
	return 0;
}

static bool has_name(const struct frame_tree *tree, uint32_t node, uint32_t frame)
{
	return node &&
	       frame_tree_get_name(tree, tree->frames[node]) == frame_tree_get_name(tree, frame);
}

/* The futex of the wait, if the link's path ended it: the frame before the separator. */
static uint32_t get_futex_frame(const struct frame_tree *tree, uint32_t node, const void *context)
{
	const struct waker_link *link = context;
	const char *name;

	for (size_t i = link->num_frames; i-- > 0; node = tree->parents[node])
		if (!has_name(tree, node, link->frames[i]))
			return FRAME_NONE;
	node = tree->parents[node];
	if (!node)
		return FRAME_NONE;
	name = frame_tree_get_name_text(tree, tree->frames[node], NULL);
	return string_equals(name, WAKER_FUTEX_NAME) || string_starts_with(name, WAKER_FUTEX_START)
		       ? tree->frames[node]
		       : FRAME_NONE;
}

static int find_futex(const struct frame_tree *tree, const struct selection *waits,
		      struct waker_link *link)
{
	_cleanup_free_ struct waker_threads *futexes =
		calloc((size_t)tree->num_names + 1, sizeof(*futexes));
	const struct waker_threads *heaviest = NULL;
	int err;

	if (!futexes)
		return -ENOMEM;
	err = sum_by_name(tree, waits, get_futex_frame, link, futexes);
	if (err)
		return err;
	for (uint32_t i = 0; i < tree->num_names; i++)
		if (futexes[i].frame != FRAME_NONE &&
		    (!heaviest ||
		     compare_threads(&futexes[i], heaviest, (void *)(uintptr_t)tree) < 0))
			heaviest = &futexes[i];
	link->futex = heaviest ? heaviest->frame : FRAME_NONE;
	return 0;
}

static uint32_t get_waker(const struct waker_link *link)
{
	return link->frames[link->num_frames - 1];
}

static bool is_thread(const struct frame_tree *tree, uint32_t waker)
{
	return strcmp(frame_tree_get_name_text(tree, waker, NULL), WAKER_INTERRUPT_NAME) != 0;
}

/* Whether the chain continues with the waker of the last link's waits. */
static bool goes_on(const struct waker_chain *chain, const struct frame_tree *tree)
{
	uint32_t waker = get_waker(&chain->links[chain->num_links - 1]);

	if (chain->num_links == MAX_WAKER_LINKS || !is_thread(tree, waker))
		return false;
	for (size_t i = 1; i < chain->num_links; i++)
		if (frame_tree_get_name(tree, chain->links[i].waiter) ==
		    frame_tree_get_name(tree, waker))
			return false;
	return true;
}

static int add_link(struct waker_chain *chain, const struct wakers_query *query, uint32_t waiter)
{
	struct waker_link *link = &chain->links[chain->num_links];
	_cleanup_(selection_release) struct selection waits = {0};
	_cleanup_(fragment_tree_release) struct fragment_tree stacks = {0};
	int err = find_stacks(query, &waits, &stacks);
	uint32_t node;

	if (err)
		return err;
	node = find_heaviest(query->tree, &stacks);
	if (!node)
		return 0;
	*link = (struct waker_link){.waiter = waiter};
	chain->num_links++;
	err = take_heaviest_path(&stacks, node, link);
	return err ? err : find_futex(query->tree, &waits, link);
}

int waker_chain_init(struct waker_chain *chain, const struct frame_tree *tree,
		     const struct wakers_opts *opts)
{
	struct wakers_query query = {tree, *opts, STRING_NONE, STRING_NONE};
	uint32_t waiter = FRAME_NONE;
	size_t before;
	int err;

	*chain = (struct waker_chain){0};
	do {
		before = chain->num_links;
		err = add_link(chain, &query, waiter);
		if (err || chain->num_links == before)
			return err;
		waiter = get_waker(&chain->links[before]);
		query.opts.fragment = NULL;
		query.opts.waits = NULL;
		query.waiter =
			waiter == FRAME_NONE ? STRING_NONE : frame_tree_get_name(tree, waiter);
	} while (goes_on(chain, tree));
	return 0;
}

void waker_chain_release(struct waker_chain *chain)
{
	for (size_t i = 0; i < chain->num_links; i++)
		free(chain->links[i].frames);
	*chain = (struct waker_chain){0};
}
