/*
 * A copy of a profile in which every location is one named frame.
 *
 * Two changes are made to each stack on the way: a location with inlined calls becomes a level for
 * each of its frames, and addresses are dropped. So two call sites in one function (the same
 * function, file and line) become the same level. Several stacks may therefore become one, and
 * their weights are added up. Stacks, threads and processes are copied as samples need them, so
 * that unreferenced ones are not. Metrics and sources are all copied, in their order, and keep
 * their ids.
 */
#include "formats/named_profile.h"

#include <errno.h>

#include "profile/copier.h"

bool named_profile_is_needless(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile_count_locations(profile); i++) {
		const struct location *location = profile_get_location(profile, i);

		if (location->space != LOCATION_NAMED || location->num_frames != 1)
			return false;
	}
	return true;
}

/* The sampling and the tallies of a source; source 0: of a profile without sources. */
static int copy_account(struct profile_copier *copier, uint32_t source)
{
	const struct provenance *from = profile_get_provenance(copier->from);
	const struct sampling *sampling = provenance_find_sampling(from, source);

	if (sampling)
		provenance_add_sampling(profile_get_provenance(copier->to), source, sampling);
	for (uint32_t i = 0; i < provenance_count_tallies(from); i++) {
		const struct tally *tally = provenance_get_tally(from, i);
		int err = tally->source == source ? profile_copier_copy_tally(copier, tally) : 0;

		if (err)
			return err;
	}
	return 0;
}

/* A source that is left out stays, without its details, so that others keep their numbers. */
static int copy_sources(struct profile_copier *copier)
{
	uint32_t count = profile_count_sources(copier->from);
	int err = profile_copier_copy_sources(copier);

	if (err)
		return err;
	if (!count)
		return copy_account(copier, 0);
	for (uint32_t i = 0; i < count; i++) {
		err = copier->is_left_out && copier->is_left_out[i] ? 0 : copy_account(copier, i);
		if (err)
			return err;
	}
	return 0;
}

/* Frames of a location are innermost first, so the function itself is the last one. */
static int add_levels(struct profile_copier *copier, uint32_t id, uint32_t *stack)
{
	const struct location *location = profile_get_location(copier->from, id);
	struct frame frame = {0};
	int err;

	if (!location->num_frames) {
		err = profile_add_string(copier->to, UNKNOWN_NAME, &frame.name);
		if (err)
			return err;
		frame.full_name = frame.name;
		return profile_extend_stack(copier->to, &frame, stack);
	}
	for (uint32_t i = location->num_frames; i-- > 0;) {
		err = profile_copier_copy_frame(copier, location->first_frame + i, &frame);
		if (err)
			return err;
		err = profile_extend_stack(copier->to, &frame, stack);
		if (err)
			return err;
	}
	return 0;
}

static int copy_all(struct profile_copier *copier)
{
	int err = profile_copier_copy_metrics(copier);

	if (err)
		return err;
	err = copy_sources(copier);
	if (err)
		return err;
	err = profile_copier_copy_samples(copier);
	if (err)
		return err;
	return profile_copier_copy_timestamps(copier);
}

int named_profile_copy_without(const struct profile *profile, const uint8_t *is_left_out,
			       struct profile **ret)
{
	_cleanup_(profile_freep) struct profile *copy = profile_new();
	_cleanup_(profile_copier_release) struct profile_copier copier = {0};
	int err;

	if (!copy || (profile_get_timestamps(profile) && profile_keep_timestamps(copy)))
		return -ENOMEM;
	err = profile_copier_init(&copier, copy, profile);
	if (err)
		return err;
	copier.add_location = add_levels;
	copier.is_left_out = is_left_out;
	err = copy_all(&copier);
	if (err)
		return err;
	*ret = return_ptr(copy);
	return 0;
}

int named_profile_copy(const struct profile *profile, struct profile **ret)
{
	return named_profile_copy_without(profile, NULL, ret);
}
