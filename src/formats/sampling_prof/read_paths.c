/*
 * Stacks from counts: an element with several callers has a stack for each path to it.
 *
 * Callers are handled before callees. The samples that reach an element on one path are divided
 * among its callees and the element itself. The proportion is that of the whole element in the
 * file. Parts are rounded so that the sums of each path and of each callee stay exact: totals and
 * calls are those of the file. The file does not tell which caller of a caller a sample had; the
 * proportion is the likely answer.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/sampling_prof/read.h"

/* Beyond these, one stack for each element has to do. */
#define MAX_WAYS  (1u << 20)
#define MAX_STEPS (1u << 26)

#define NO_WAY UINT32_MAX

/* The samples that reach an element by one stack. */
struct way {
	uint64_t weight;
	uint32_t stack;
	uint32_t next; /* of the same element */
};

struct paths {
	struct sampling_prof_reader *reader;
	ARRAY(struct way) ways;
	uint32_t *first_ways;  /* by element */
	uint32_t *num_callers; /* by element: calls that have not been followed yet */
	uint32_t *ready;       /* elements without any */
	uint32_t num_ready;
	ARRAY(uint64_t) left; /* of one element, by callee, itself last */
	ARRAY(struct way) samples;
	uint64_t num_steps;
};

static void paths_release(struct paths *paths)
{
	array_release(&paths->ways);
	array_release(&paths->left);
	array_release(&paths->samples);
	free(paths->first_ways);
	free(paths->num_callers);
	free(paths->ready);
}

/* Whether the samples that reach each element equal its total, and so do those that leave it. */
static bool fits(const struct sampling_prof_reader *reader, uint64_t *come, uint64_t *gone)
{
	array_for_each (&reader->calls, call) {
		if (__builtin_add_overflow(come[call->to], call->count, &come[call->to]))
			return false;
		if (call->from != NO_CALLER &&
		    __builtin_add_overflow(gone[call->from], call->count, &gone[call->from]))
			return false;
	}
	for (size_t i = 0; i < reader->elements.length; i++) {
		const struct sampling_prof_element *element = &reader->elements.items[i];

		if (__builtin_add_overflow(gone[i], element->self, &gone[i]) ||
		    come[i] != element->total || gone[i] != element->total ||
		    (element->recursions && element->recursions != element->total))
			return false;
	}
	return true;
}

static int find_fit(const struct sampling_prof_reader *reader, bool *ret)
{
	_cleanup_free_ uint64_t *come = calloc(reader->elements.length + 1, sizeof(*come));
	_cleanup_free_ uint64_t *gone = calloc(reader->elements.length + 1, sizeof(*gone));

	if (!come || !gone)
		return -ENOMEM;
	*ret = fits(reader, come, gone);
	return 0;
}

static int add_way(struct paths *paths, uint32_t id, uint32_t parent, uint64_t weight)
{
	struct profile *profile = paths->reader->import->profile;
	const struct sampling_prof_element *element = &paths->reader->elements.items[id];
	struct way *added = array_add(&paths->ways);
	int err;

	if (!added)
		return -ENOMEM;
	*added = (struct way){.weight = weight, .next = paths->first_ways[id]};
	paths->first_ways[id] = (uint32_t)(paths->ways.length - 1);
	err = profile_add_stack(profile, parent, element->location, &added->stack);
	if (err || !element->recursions)
		return err;
	return profile_add_stack(profile, added->stack, element->location, &added->stack);
}

static int add_sample(struct paths *paths, uint32_t stack, uint64_t weight)
{
	struct way *added = array_add(&paths->samples);

	if (!added)
		return -ENOMEM;
	*added = (struct way){.stack = stack, .weight = weight};
	return 0;
}

/* When its last call was followed, an element has all its samples. */
static void follow(struct paths *paths, const struct call *call)
{
	if (!--paths->num_callers[call->to])
		paths->ready[paths->num_ready++] = call->to;
}

static int start(struct paths *paths)
{
	const struct sampling_prof_reader *reader = paths->reader;
	size_t count = reader->elements.length;

	paths->first_ways = malloc((count + 1) * sizeof(*paths->first_ways));
	paths->num_callers = calloc(count + 1, sizeof(*paths->num_callers));
	paths->ready = calloc(count + 1, sizeof(*paths->ready));
	if (!paths->first_ways || !paths->num_callers || !paths->ready)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		paths->first_ways[i] = NO_WAY;
	array_for_each (&reader->calls, call)
		paths->num_callers[call->to]++;
	for (uint32_t id = 0; id < count; id++)
		if (!paths->num_callers[id])
			paths->ready[paths->num_ready++] = id;
	for (size_t i = reader->first_root; i < reader->calls.length; i++) {
		const struct call *call = &reader->calls.items[i];
		int err = call->count ? add_way(paths, call->to, STACK_EMPTY, call->count) : 0;

		if (err)
			return err;
		follow(paths, call);
	}
	return 0;
}

/* The callees of an element are calls[first] to calls[ret - 1]. */
static size_t find_end(const struct sampling_prof_reader *reader, uint32_t id, size_t first)
{
	while (first < reader->calls.length && reader->calls.items[first].from == id)
		first++;
	return first;
}

/*
 * Divide the samples of one way in the proportion of the remainders for all: differences of rounded
 * sums, which add up to the way's weight and never exceed one's remainder.
 */
static int divide_way(struct paths *paths, const struct way *way, size_t first, uint64_t *all_left)
{
	const struct sampling_prof_reader *reader = paths->reader;
	uint64_t before = 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < paths->left.length; i++) {
		uint64_t *left = &paths->left.items[i];
		uint64_t until;
		uint64_t share;
		int err;

		sum += *left;
		until = (uint64_t)((unsigned __int128)sum * way->weight / *all_left);
		share = until - before;
		before = until;
		*left -= share;
		if (!share)
			continue;
		err = i + 1 < paths->left.length
			      ? add_way(paths, reader->calls.items[first + i].to, way->stack, share)
			      : add_sample(paths, way->stack, share);
		if (err)
			return err;
	}
	*all_left -= way->weight;
	return 0;
}

/* The element has all its samples. Returns 1 if there are too many. */
static int divide(struct paths *paths, uint32_t id)
{
	const struct sampling_prof_reader *reader = paths->reader;
	const struct sampling_prof_element *element = &reader->elements.items[id];
	size_t first = element->first_call;
	size_t end = find_end(reader, id, first);
	uint64_t all_left = element->total;

	paths->left.length = 0;
	if (array_reserve(&paths->left, end - first + 1))
		return -ENOMEM;
	for (size_t i = first; i < end; i++)
		*array_add(&paths->left) = reader->calls.items[i].count;
	*array_add(&paths->left) = element->self;
	for (uint32_t i = paths->first_ways[id]; i != NO_WAY;) {
		struct way way = paths->ways.items[i];
		int err;

		paths->num_steps += paths->left.length;
		if (paths->num_steps > MAX_STEPS || paths->ways.length > MAX_WAYS)
			return 1;
		err = divide_way(paths, &way, first, &all_left);
		if (err)
			return err;
		i = way.next;
	}
	for (size_t i = first; i < end; i++)
		follow(paths, &reader->calls.items[i]);
	return 0;
}

int sampling_prof_add_paths(struct sampling_prof_reader *reader, bool *ret_is_done)
{
	_cleanup_(paths_release) struct paths paths = {.reader = reader};
	int err = find_fit(reader, ret_is_done);

	if (err || !*ret_is_done)
		return err;
	err = start(&paths);
	for (uint32_t i = 0; !err && i < paths.num_ready; i++)
		err = divide(&paths, paths.ready[i]);
	/* An element in a circle is never ready. */
	*ret_is_done = !err && paths.num_ready == reader->elements.length;
	if (err)
		return err < 0 ? err : 0;
	if (!*ret_is_done)
		return 0;
	array_for_each (&paths.samples, sample) {
		err = reader_add_sample(reader->import, 0, reader->thread, sample->stack,
					reader->metric, sample->weight);
		if (err)
			return err;
	}
	return 0;
}
