/*
 * Lists here are sorted by counting: first the items of each list are counted, which gives its
 * start, and then all are put there, in their previous order. For millions of stacks that is a few
 * passes.
 */
#include "formats/native/stack_order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

struct orderer {
	const struct profile *profile;
	const uint32_t *frames; /* by location */
	uint32_t num_frames;
	uint32_t num_stacks; /* of the profile */
	struct stack_order *order;
	uint32_t *stack_frames;  /* by stack: its innermost; num_frames: it is empty */
	uint8_t *is_used;        /* by stack */
	uint32_t *ranks;         /* by stack */
	uint32_t *first_called;  /* by caller's frame: in called */
	uint64_t *called;        /* frame << 32 | stack */
	uint32_t *counts;        /* by frame: stacks of one caller's list */
	ARRAY(uint64_t) keys;    /* of a list that is being sorted */
	ARRAY(uint32_t) callees; /* becomes order->callees */
};

/*
 * first[i + 2] is the number of items of list i. Afterwards first[i + 1] is the start of list i,
 * and the place of its next item; when all lists are full, it is the start of list i + 1.
 */
static void sum_up(uint32_t *first, uint32_t num_lists)
{
	for (uint32_t i = 2; i <= num_lists + 1; i++)
		first[i] += first[i - 1];
}

static int compare_keys(const void *left, const void *right)
{
	const uint64_t *a = left;
	const uint64_t *b = right;

	return (*a > *b) - (*a < *b);
}

/* Most lists are short. */
static void sort_keys(uint64_t *keys, size_t count)
{
	if (count > 16) {
		qsort(keys, count, sizeof(*keys), compare_keys);
		return;
	}
	for (size_t i = 1; i < count; i++) {
		uint64_t key = keys[i];
		size_t place = i;

		for (; place && keys[place - 1] > key; place--)
			keys[place] = keys[place - 1];
		keys[place] = key;
	}
}

enum sample_key { BY_THREAD, BY_METRIC, BY_STACK };

static uint32_t get_key(const struct sample *sample, enum sample_key key)
{
	switch (key) {
	case BY_THREAD:
		return sample->thread;
	case BY_METRIC:
		return sample->metric;
	case BY_STACK:
		return sample->stack;
	}
	return 0;
}

/*
 * Sort order->samples by one of their numbers; those with the same number keep their order.
 *
 * ret_first  start of each number's list; the caller frees it
 */
static int sort_samples(struct orderer *orderer, enum sample_key key, uint32_t num_lists,
			uint32_t **ret_first)
{
	const struct profile *profile = orderer->profile;
	uint32_t count = profile_count_samples(profile);
	_cleanup_free_ uint32_t *first = calloc((size_t)num_lists + 2, sizeof(*first));
	uint32_t *sorted = calloc((size_t)count + 1, sizeof(*sorted));

	if (!first || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		first[get_key(profile_get_sample(profile, i), key) + 2]++;
	sum_up(first, num_lists);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t id = orderer->order->samples[i];

		sorted[first[get_key(profile_get_sample(profile, id), key) + 1]++] = id;
	}
	free(orderer->order->samples);
	orderer->order->samples = sorted;
	*ret_first = return_ptr(first);
	return 0;
}

static int sort_if_several(struct orderer *orderer, enum sample_key key, uint32_t num_lists)
{
	_cleanup_free_ uint32_t *first = NULL;

	return num_lists > 1 ? sort_samples(orderer, key, num_lists, &first) : 0;
}

/* Sort by the last of three numbers first, as each sorting keeps the order of the one before. */
static int list_samples(struct orderer *orderer)
{
	const struct profile *profile = orderer->profile;
	struct stack_order *order = orderer->order;
	uint32_t count = profile_count_samples(profile);
	_cleanup_free_ uint32_t *first = NULL;
	int err;

	order->samples = calloc((size_t)count + 1, sizeof(*order->samples));
	order->lists = calloc((size_t)orderer->num_stacks + 2, sizeof(*order->lists));
	if (!order->samples || !order->lists)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order->samples[i] = i;
	err = sort_if_several(orderer, BY_THREAD, profile_count_threads(profile));
	if (err)
		return err;
	err = sort_if_several(orderer, BY_METRIC, profile_count_metrics(profile));
	if (err)
		return err;
	err = sort_samples(orderer, BY_STACK, orderer->num_stacks, &first);
	if (err)
		return err;
	for (uint32_t i = 0; i <= orderer->num_stacks; i++)
		order->lists[i].first_sample = first[i];
	return 0;
}

/* Parents have smaller ids than their children. */
static int mark_used(struct orderer *orderer)
{
	const struct profile *profile = orderer->profile;
	const struct stack_lists *lists = orderer->order->lists;
	uint32_t count = orderer->num_stacks;

	orderer->is_used = calloc(count, sizeof(*orderer->is_used));
	orderer->stack_frames = calloc(count, sizeof(*orderer->stack_frames));
	if (!orderer->is_used || !orderer->stack_frames)
		return -ENOMEM;
	orderer->stack_frames[STACK_EMPTY] = orderer->num_frames;
	for (uint32_t i = count - 1; i > 0; i--) {
		orderer->stack_frames[i] = orderer->frames[profile_get_stack_location(profile, i)];
		orderer->is_used[i] |= lists[i + 1].first_sample > lists[i].first_sample;
		if (orderer->is_used[i])
			orderer->is_used[profile_get_stack_parent(profile, i)] = 1;
	}
	return 0;
}

static uint32_t get_caller(const struct orderer *orderer, uint32_t stack)
{
	return orderer->stack_frames[profile_get_stack_parent(orderer->profile, stack)];
}

/* Stacks by the frame that calls their innermost one. */
static int list_called(struct orderer *orderer)
{
	uint32_t num_callers = orderer->num_frames + 1;
	uint32_t *first = calloc((size_t)num_callers + 2, sizeof(*first));

	orderer->first_called = first;
	orderer->called = calloc(orderer->num_stacks, sizeof(*orderer->called));
	if (!first || !orderer->called)
		return -ENOMEM;
	for (uint32_t i = 1; i < orderer->num_stacks; i++)
		if (orderer->is_used[i])
			first[get_caller(orderer, i) + 2]++;
	sum_up(first, num_callers);
	for (uint32_t i = 1; i < orderer->num_stacks; i++)
		if (orderer->is_used[i])
			orderer->called[first[get_caller(orderer, i) + 1]++] =
				(uint64_t)orderer->stack_frames[i] << 32 | i;
	return 0;
}

/*
 * The callees of one caller, the most frequent first, and their ranks. Callees of similar frequency
 * are sorted by number: the distances, which are written, are then smaller.
 */
static int rank_callees(struct orderer *orderer, uint32_t caller)
{
	const uint64_t *called = orderer->called + orderer->first_called[caller];
	uint32_t count = orderer->first_called[caller + 1] - orderer->first_called[caller];

	orderer->keys.length = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t frame = (uint32_t)(called[i] >> 32);
		uint64_t *key;

		if (orderer->counts[frame]++)
			continue;
		key = array_add(&orderer->keys);
		if (!key)
			return -ENOMEM;
		*key = frame;
	}
	array_for_each (&orderer->keys, key)
		*key |= (uint64_t)__builtin_clz(orderer->counts[*key]) << 32;
	sort_keys(orderer->keys.items, orderer->keys.length);
	/* From here on counts[] is the rank. */
	for (uint32_t i = 0; i < orderer->keys.length; i++) {
		uint32_t *added = array_add(&orderer->callees);

		if (!added)
			return -ENOMEM;
		*added = (uint32_t)orderer->keys.items[i];
		orderer->counts[*added] = i;
	}
	for (uint32_t i = 0; i < count; i++)
		orderer->ranks[(uint32_t)called[i]] = orderer->counts[called[i] >> 32];
	array_for_each (&orderer->keys, key)
		orderer->counts[(uint32_t)*key] = 0;
	return 0;
}

static int rank_all(struct orderer *orderer)
{
	struct stack_order *order = orderer->order;
	uint32_t num_callers = orderer->num_frames + 1;

	orderer->counts = calloc(num_callers, sizeof(*orderer->counts));
	orderer->ranks = calloc(orderer->num_stacks, sizeof(*orderer->ranks));
	order->first_callee = calloc((size_t)num_callers + 1, sizeof(*order->first_callee));
	if (!orderer->counts || !orderer->ranks || !order->first_callee)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_callers; i++) {
		int err = rank_callees(orderer, i);

		if (err)
			return err;
		order->first_callee[i + 1] = (uint32_t)orderer->callees.length;
	}
	order->callees = orderer->callees.items;
	orderer->callees.items = NULL;
	return 0;
}

static void list_children(struct orderer *orderer)
{
	const struct profile *profile = orderer->profile;
	struct stack_order *order = orderer->order;
	struct stack_lists *lists = order->lists;
	uint32_t count = orderer->num_stacks;

	order->num_stacks = 1; /* STACK_EMPTY */
	for (uint32_t i = 1; i < count; i++) {
		lists[profile_get_stack_parent(profile, i) + 2].first_child += orderer->is_used[i];
		order->num_stacks += orderer->is_used[i];
	}
	for (uint32_t i = 2; i <= count + 1; i++)
		lists[i].first_child += lists[i - 1].first_child;
	for (uint32_t i = 1; i < count; i++) {
		uint32_t *next = &lists[profile_get_stack_parent(profile, i) + 1].first_child;

		if (orderer->is_used[i])
			order->children[(*next)++] = (uint64_t)orderer->ranks[i] << 32 | i;
	}
	for (uint32_t i = 0; i < count; i++)
		sort_keys(order->children + lists[i].first_child,
			  lists[i + 1].first_child - lists[i].first_child);
}

static int make(struct orderer *orderer)
{
	int err = list_samples(orderer);

	if (err)
		return err;
	err = mark_used(orderer);
	if (err)
		return err;
	err = list_called(orderer);
	if (err)
		return err;
	err = rank_all(orderer);
	if (err)
		return err;
	/* Not needed any more, and as large as the list of children. */
	orderer->order->children = return_ptr(orderer->called);
	list_children(orderer);
	return 0;
}

static void orderer_release(struct orderer *orderer)
{
	free(orderer->stack_frames);
	free(orderer->is_used);
	free(orderer->ranks);
	free(orderer->first_called);
	free(orderer->called);
	free(orderer->counts);
	array_release(&orderer->keys);
	array_release(&orderer->callees);
}

int stack_order_make(const struct profile *profile, const uint32_t *frames, uint32_t num_frames,
		     struct stack_order *ret)
{
	_cleanup_(orderer_release) struct orderer orderer = {
		.profile = profile,
		.frames = frames,
		.num_frames = num_frames,
		.num_stacks = profile_count_stacks(profile),
		.order = ret,
	};

	*ret = (struct stack_order){0};
	return make(&orderer);
}

void stack_order_release(struct stack_order *order)
{
	free(order->lists);
	free(order->children);
	free(order->samples);
	free(order->first_callee);
	free(order->callees);
	*order = (struct stack_order){0};
}
