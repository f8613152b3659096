/*
 * Folded text and other formats name functions without modules. Compared with a file that has them, each function
 * would be lost on one side and new on the other: then modules are no part of a function.
 */
#include "analysis/normalize.h"

#include <errno.h>
#include <stdlib.h>

/* By stack of the profile, whether a sample of the metric has it, or a stack that it calls. */
static bool *find_stacks(const struct profile *profile, uint32_t metric)
{
	bool *is_used = calloc((size_t)profile_count_stacks(profile) + 1, sizeof(*is_used));

	if (!is_used)
		return NULL;
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		uint32_t stack = sample->stack;

		if (sample->metric != metric || !sample->value)
			continue;
		for (; stack != STACK_EMPTY && !is_used[stack];
		     stack = profile_get_stack_parent(profile, stack))
			is_used[stack] = true;
	}
	return is_used;
}

/* Kernel frames have a module even in folded text, from their mark. */
static bool has_module(const struct profile *profile, uint32_t stack)
{
	const struct location *location =
		profile_get_location(profile, profile_get_stack_location(profile, stack));

	for (uint32_t i = 0; i < location->num_frames; i++) {
		const struct frame *frame = profile_get_frame(profile, location->first_frame + i);

		if (frame->kind != FRAME_KERNEL && frame->module != STRING_EMPTY)
			return true;
	}
	return false;
}

static int find_modules(const struct profile *profile, uint32_t metric, bool *ret)
{
	_cleanup_free_ bool *is_used = find_stacks(profile, metric);

	*ret = false;
	if (!is_used)
		return -ENOMEM;
	for (uint32_t i = 1; i < profile_count_stacks(profile) && !*ret; i++)
		*ret = is_used[i] && has_module(profile, i);
	return 0;
}

int shared_modules_apply(struct profile *profile, uint32_t before, uint32_t after,
			 enum missing_modules *ret)
{
	bool has_before, has_after;
	int err = find_modules(profile, before, &has_before);

	*ret = MODULES_SHARED;
	if (err)
		return err;
	err = find_modules(profile, after, &has_after);
	if (err || has_before == has_after)
		return err;
	*ret = has_after ? MODULES_MISSING_BEFORE : MODULES_MISSING_AFTER;
	for (uint32_t i = 0; i < profile_count_frames(profile); i++)
		if (profile_get_frame(profile, i)->kind != FRAME_KERNEL)
			profile_set_frame_module(profile, i, STRING_EMPTY);
	return 0;
}
