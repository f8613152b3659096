#include "analysis/sleepers.h"

#include <errno.h>
#include <string.h>

/* Whether a stack contains the frame, by stack. In folded text the thread may be outside of it. */
static uint8_t *mark_stacks(const struct profile *profile)
{
	uint32_t count = profile_count_stacks(profile);
	uint8_t *is_slept = calloc((size_t)count + 1, sizeof(*is_slept));

	/* Callers precede their callees. */
	for (uint32_t i = STACK_EMPTY + 1; is_slept && i < count; i++)
		is_slept[i] =
			is_slept[profile_get_stack_parent(profile, i)] ||
			profile_is_slept_frame(profile, profile_get_stack_location(profile, i));
	return is_slept;
}

struct counter {
	const struct profile *profile;
	uint8_t *is_counted; /* by thread */
	bool has_unnumbered; /* threads without an id, perhaps several */
};

/* Count each thread once, however many stacks it has. */
static void count_thread(struct counter *counter, uint32_t thread, struct sleepers *sleepers)
{
	if (counter->is_counted[thread])
		return;
	counter->is_counted[thread] = true;
	counter->has_unnumbered |= !profile_get_thread(counter->profile, thread)->tid;
	sleepers->num_threads++;
}

static int find(struct counter *counter, const uint8_t *is_slept, uint32_t metric,
		const struct selection *selection, struct sleepers *ret)
{
	for (uint32_t i = 0; i < profile_count_samples(counter->profile); i++) {
		const struct sample *sample = profile_get_sample(counter->profile, i);

		if (!selection_contains(selection, i))
			continue;
		ret->awake.is_selected[i] = !is_slept[sample->stack];
		if (!is_slept[sample->stack] || sample->metric != metric)
			continue;
		ret->exist = true;
		count_thread(counter, sample->thread, ret);
		if (__builtin_add_overflow(ret->weight, sample->value, &ret->weight))
			return -EOVERFLOW;
	}
	if (counter->has_unnumbered)
		ret->num_threads = 0;
	return 0;
}

int sleepers_find(const struct profile *profile, uint32_t metric, const struct selection *selection,
		  struct sleepers *ret)
{
	uint32_t num_samples = profile_count_samples(profile);
	_cleanup_free_ uint8_t *is_slept = NULL;
	_cleanup_free_ uint8_t *is_counted = NULL;
	struct counter counter = {.profile = profile};

	*ret = (struct sleepers){0};
	if (profile_find_string(profile, SLEPT_FRAME_NAME, strlen(SLEPT_FRAME_NAME)) == STRING_NONE)
		return 0;
	is_slept = mark_stacks(profile);
	is_counted = calloc((size_t)profile_count_threads(profile) + 1, sizeof(*is_counted));
	ret->awake.num_samples = num_samples;
	ret->awake.is_selected = calloc((size_t)num_samples + 1, 1);
	if (!is_slept || !is_counted || !ret->awake.is_selected)
		return -ENOMEM;
	counter.is_counted = is_counted;
	return find(&counter, is_slept, metric, selection, ret);
}

int sleepers_group(const struct sleepers *sleepers, const struct frame_tree *tree, uint32_t metric,
		   const struct selection *selection, struct flat_table *ret)
{
	int err =
		flat_table_init(ret, tree, metric, sleepers->exist ? &sleepers->awake : selection);

	if (err || !sleepers->exist)
		return err;
	return flat_table_add_row(ret, SLEPT_FRAME_NAME, sleepers->weight);
}

void sleepers_release(struct sleepers *sleepers)
{
	selection_release(&sleepers->awake);
	*sleepers = (struct sleepers){0};
}
