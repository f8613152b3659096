/*
 * A stack of the profile is one location and the stack that called it. Its path is the path of the
 * caller and the location's levels. So it is enough to walk up to the first caller with a known
 * path. Below another thread level the same stack is another path. Known paths are therefore stored
 * with their root, and samples are processed root by root, so that a known path stays valid while
 * it is needed.
 */
#include "analysis/stack_paths.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define UNKNOWN UINT32_MAX

/* The path of a stack below one root. */
struct known_path {
	uint32_t root; /* UNKNOWN: not yet below any */
	uint32_t path;
};

struct path_finder {
	const struct profile *profile;
	const struct stack_paths_steps *steps;
	uint32_t *roots;          /* by thread; UNKNOWN: no sample is taken */
	struct known_path *known; /* by stack */
	ARRAY(uint32_t) pending;  /* stacks from the innermost to the outermost */
};

static void path_finder_release(struct path_finder *finder)
{
	free(finder->roots);
	free(finder->known);
	array_release(&finder->pending);
}

static bool is_taken(const struct path_finder *finder, const struct sample *sample)
{
	return !finder->steps->takes || finder->steps->takes(finder->steps->context, sample);
}

/* *ret_end: one more than the largest root. */
static int find_roots(struct path_finder *finder, uint32_t *ret_end)
{
	uint32_t num_threads = profile_count_threads(finder->profile);

	*ret_end = STACK_PATHS_ROOT + 1;
	finder->roots = malloc(((size_t)num_threads + 1) * sizeof(*finder->roots));
	if (!finder->roots)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_threads; i++)
		finder->roots[i] = UNKNOWN;
	for (uint32_t i = 0; i < profile_count_samples(finder->profile); i++) {
		const struct sample *sample = profile_get_sample(finder->profile, i);
		uint32_t *root = &finder->roots[sample->thread];
		int err;

		if (*root != UNKNOWN || !is_taken(finder, sample))
			continue;
		*root = STACK_PATHS_ROOT;
		err = finder->steps->add_thread(finder->steps->context, sample->thread, root);
		if (err)
			return err;
		if (*root >= *ret_end)
			*ret_end = *root + 1;
	}
	return 0;
}

/*
 * The taken samples, grouped by root, in their order below each: a counting sort, as roots are the
 * first paths that were made.
 */
static uint32_t *order_samples(const struct path_finder *finder, uint32_t end_of_roots,
			       uint32_t *ret_num)
{
	uint32_t count = profile_count_samples(finder->profile);
	_cleanup_free_ uint32_t *order = malloc(((size_t)count + 1) * sizeof(*order));
	_cleanup_free_ uint32_t *starts = calloc((size_t)end_of_roots + 1, sizeof(*starts));

	if (!order || !starts)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		const struct sample *sample = profile_get_sample(finder->profile, i);

		if (is_taken(finder, sample))
			starts[finder->roots[sample->thread] + 1]++;
	}
	for (uint32_t i = 0; i < end_of_roots; i++)
		starts[i + 1] += starts[i];
	*ret_num = starts[end_of_roots];
	for (uint32_t i = 0; i < count; i++) {
		const struct sample *sample = profile_get_sample(finder->profile, i);

		if (is_taken(finder, sample))
			order[starts[finder->roots[sample->thread]]++] = i;
	}
	return return_ptr(order);
}

static int find_path(struct path_finder *finder, uint32_t root, uint32_t stack, uint32_t *ret)
{
	uint32_t path;

	finder->pending.length = 0;
	while (stack != STACK_EMPTY && finder->known[stack].root != root) {
		uint32_t *pending = array_add(&finder->pending);

		if (!pending)
			return -ENOMEM;
		*pending = stack;
		stack = profile_get_stack_parent(finder->profile, stack);
	}
	path = stack == STACK_EMPTY ? root : finder->known[stack].path;
	while (finder->pending.length) {
		int err;

		stack = finder->pending.items[--finder->pending.length];
		err = finder->steps->add_location(
			finder->steps->context, profile_get_stack_location(finder->profile, stack),
			&path);
		if (err)
			return err;
		finder->known[stack] = (struct known_path){root, path};
	}
	*ret = path;
	return 0;
}

int stack_paths_find(const struct profile *profile, const struct stack_paths_steps *steps,
		     uint32_t **ret)
{
	_cleanup_(path_finder_release) struct path_finder finder = {
		.profile = profile,
		.steps = steps,
	};
	uint32_t num_stacks = profile_count_stacks(profile);
	_cleanup_free_ uint32_t *paths =
		calloc((size_t)profile_count_samples(profile) + 1, sizeof(*paths));
	_cleanup_free_ uint32_t *order = NULL;
	uint32_t end_of_roots;
	uint32_t num_taken;
	int err;

	finder.known = malloc(((size_t)num_stacks + 1) * sizeof(*finder.known));
	if (!paths || !finder.known)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_stacks; i++)
		finder.known[i].root = UNKNOWN;
	err = find_roots(&finder, &end_of_roots);
	if (err)
		return err;
	order = order_samples(&finder, end_of_roots, &num_taken);
	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_taken; i++) {
		const struct sample *sample = profile_get_sample(profile, order[i]);

		err = find_path(&finder, finder.roots[sample->thread], sample->stack,
				&paths[order[i]]);
		if (err)
			return err;
	}
	*ret = return_ptr(paths);
	return 0;
}
