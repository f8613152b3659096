/*
 * Everything of one profile is copied to another (copier.h), from simple items to composed ones.
 *
 * Strings are translated at their first use. Most strings of a large profile are names. A merge of
 * a few metrics under changed names would otherwise add names that nothing refers to.
 *
 * Stacks need no recursion: a stack's parent always has a smaller id than itself, and is translated
 * before it.
 *
 * Equal numbers from different files need not mean the same: a pid of another machine is another
 * process, and a kernel address may belong to another kernel. Processes are therefore never merged.
 * If an address already has other frames, the new location is added by name (merge_location()).
 * Files with the same path are the same if they have the same build ID; without build IDs that is
 * unknown.
 */
#include <errno.h>
#include <string.h>

#include "profile/copier.h"

/* Owner of locations without an address that merging created: no importer uses it. */
#define MERGED_OWNER UINT32_MAX

struct merger {
	struct profile_copier copier;
	struct profile *into;
	const struct profile *from;
	uint32_t *modules; /* ids of `into` by those of `from`, as in the copier */
	uint32_t *locations;
	ARRAY(struct frame) frames;
};

/* Without a build ID, files with the same path may differ. */
static bool find_module(const struct profile *profile, const struct module *module, uint32_t *ret)
{
	uint32_t count = profile_count_modules(profile);

	for (uint32_t i = 0; module->build_id_size && i < count; i++) {
		const struct module *other = profile_get_module(profile, i);

		if (other->path != module->path || other->build_id_size != module->build_id_size ||
		    memcmp(other->build_id, module->build_id, module->build_id_size) != 0)
			continue;
		*ret = i;
		return true;
	}
	return false;
}

static int merge_modules(struct merger *merger)
{
	int err;

	for (uint32_t i = 0; i < profile_count_modules(merger->from); i++) {
		struct module module = *profile_get_module(merger->from, i);

		module.copy = STRING_EMPTY; /* its input is no longer available */
		err = profile_copier_copy_string(&merger->copier, &module.path);
		if (err)
			return err;
		if (find_module(merger->into, &module, &merger->modules[i]))
			continue;
		err = profile_add_module(merger->into, &module, &merger->modules[i]);
		if (err)
			return err;
	}
	return 0;
}

/* Whether it is a recording: no sources, and threads and account have the number 0. */
static bool is_recording(const struct profile *profile)
{
	const struct provenance *provenance = profile_get_provenance(profile);

	return !profile_count_sources(profile) &&
	       (profile_count_threads(profile) || provenance_find_sampling(provenance, 0) ||
		provenance_count_tallies(provenance));
}

/*
 * If only one of the profiles has sources, the recording of the other gets a source without a name.
 * Otherwise it would be assigned to one of those.
 */
static int separate_sources(struct merger *merger)
{
	uint32_t source;

	if (profile_count_sources(merger->from) && is_recording(merger->into))
		return profile_add_source(merger->into, STRING_EMPTY, &source);
	if (profile_count_sources(merger->into) && is_recording(merger->from))
		return profile_add_source(merger->into, STRING_EMPTY, &merger->copier.sources[0]);
	return 0;
}

/* Merge the data of the sources; that of a recording is under source 0. */
static int merge_account(struct merger *merger)
{
	const struct provenance *from = profile_get_provenance(merger->from);
	struct provenance *into = profile_get_provenance(merger->into);
	uint32_t num_sources = profile_count_sources(merger->from);
	int err;

	for (uint32_t i = 0; i < (num_sources ? num_sources : 1); i++) {
		const struct sampling *sampling = provenance_find_sampling(from, i);

		if (sampling)
			provenance_add_sampling(into, profile_copier_get_source(&merger->copier, i),
						sampling);
	}
	for (uint32_t i = 0; i < provenance_count_tallies(from); i++) {
		err = profile_copier_copy_tally(&merger->copier, provenance_get_tally(from, i));
		if (err)
			return err;
	}
	return 0;
}

/*
 * Each source of the other profile becomes a new one, even if its name is known: if the same file
 * is given twice, its weights count twice.
 */
static int merge_sources(struct merger *merger)
{
	int err = separate_sources(merger);

	if (err)
		return err;
	err = profile_copier_copy_sources(&merger->copier);
	if (err)
		return err;
	return merge_account(merger);
}

static int merge_processes(struct merger *merger)
{
	int err;

	for (uint32_t i = 0; i < profile_count_processes(merger->from); i++) {
		err = profile_copier_copy_process(&merger->copier, i);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < profile_count_threads(merger->from); i++) {
		err = profile_copier_copy_thread(&merger->copier, i);
		if (err)
			return err;
	}
	return 0;
}

static int merge_metrics(struct merger *merger, const struct profile_merge_opts *opts)
{
	int err;

	if (!opts || !opts->num_metrics)
		return profile_copier_copy_metrics(&merger->copier);
	for (size_t i = 0; i < opts->num_metrics; i++) {
		err = profile_add_metric(merger->into, opts->metrics[i].name, opts->metrics[i].unit,
					 &merger->copier.metrics[opts->metrics[i].metric]);
		if (err)
			return err;
	}
	return 0;
}

/* The location's frames, with strings of the other profile, in merger->frames. */
static int map_frames(struct merger *merger, const struct location *location)
{
	int err;

	merger->frames.length = 0;
	for (uint32_t i = 0; i < location->num_frames; i++) {
		struct frame *frame = array_add(&merger->frames);

		if (!frame)
			return -ENOMEM;
		err = profile_copier_copy_frame(&merger->copier, location->first_frame + i, frame);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Whether the location has just the frames of merger->frames, which contain ids of the location's
 * profile.
 */
static bool has_frames(const struct merger *merger, uint32_t location_id)
{
	const struct location *location = profile_get_location(merger->into, location_id);

	if (location->num_frames != merger->frames.length)
		return false;
	for (uint32_t i = 0; i < location->num_frames; i++)
		if (!frame_is_same(profile_get_frame(merger->into, location->first_frame + i),
				   &merger->frames.items[i]))
			return false;
	return true;
}

/*
 * A location that consists of its frames only. A frame without a name must keep its reason, and a
 * location of several frames has inlined calls: profile_add_frame_location() supports neither. Such
 * a location gets an address of its own, the number of locations so far, which is always unique.
 */
static int add_frames(struct merger *merger, enum unnamed_reason reason, uint32_t *ret)
{
	int err;

	if (merger->frames.length == 1 && reason == UNNAMED_NOT)
		return profile_add_frame_location(merger->into, merger->frames.items, ret);
	err = profile_add_location(merger->into, LOCATION_NAMED, MERGED_OWNER,
				   profile_count_locations(merger->into), ret);
	if (err || !merger->frames.length)
		return err;
	return profile_set_frames(merger->into, *ret, merger->frames.items, merger->frames.length,
				  reason);
}

/*
 * Owners are compared with the counts: a recording has kernel locations of owner 0, and no source.
 */
static uint32_t map_owner(const struct merger *merger, const struct location *location)
{
	if (location_is_in_module(location) &&
	    location->owner < profile_count_modules(merger->from))
		return merger->modules[location->owner];
	if (location->space == LOCATION_PROCESS &&
	    location->owner < profile_count_processes(merger->from))
		return merger->copier.processes[location->owner];
	if (location->space == LOCATION_KERNEL &&
	    location->owner < profile_count_sources(merger->from))
		return merger->copier.sources[location->owner];
	return location->owner;
}

/*
 * The number of locations shows whether the address was new: an added location is the last one. An
 * address that already has other frames keeps them, and the new location is added by its frames
 * alone.
 *
 * A location that is not symbolized yet has no frames and gets none.
 */
static int merge_location(struct merger *merger, const struct location *location, uint32_t *ret)
{
	enum unnamed_reason reason = (enum unnamed_reason)location->unnamed_reason;
	uint32_t num_locations = profile_count_locations(merger->into);
	int err = map_frames(merger, location);

	if (err)
		return err;
	if (location->space == LOCATION_NAMED)
		return add_frames(merger, reason, ret);
	err = profile_add_location(merger->into, (enum location_space)location->space,
				   map_owner(merger, location), location->address, ret);
	if (err)
		return err;
	if (location->has_elf_address)
		profile_set_elf_address(merger->into, *ret, location->elf_address);
	if (profile_count_locations(merger->into) == num_locations)
		return has_frames(merger, *ret) ? 0 : add_frames(merger, reason, ret);
	if (!merger->frames.length)
		return 0;
	return profile_set_frames(merger->into, *ret, merger->frames.items, merger->frames.length,
				  reason);
}

static int merge_stacks(struct merger *merger)
{
	const struct profile *from = merger->from;
	uint32_t *stacks = merger->copier.stacks;
	int err;

	for (uint32_t i = 0; i < profile_count_locations(from); i++) {
		err = merge_location(merger, profile_get_location(from, i), &merger->locations[i]);
		if (err)
			return err;
	}
	for (uint32_t i = 1; i < profile_count_stacks(from); i++) {
		err = profile_add_stack(merger->into, stacks[profile_get_stack_parent(from, i)],
					merger->locations[profile_get_stack_location(from, i)],
					&stacks[i]);
		if (err)
			return err;
	}
	return 0;
}

static void merger_release(struct merger *merger)
{
	profile_copier_release(&merger->copier);
	free(merger->modules);
	free(merger->locations);
	array_release(&merger->frames);
}

int profile_merge_with(struct profile *into, const struct profile *from,
		       const struct profile_merge_opts *opts)
{
	_cleanup_(merger_release) struct merger merger = {
		.into = into,
		.from = from,
		.modules = calloc((size_t)profile_count_modules(from) + 1, sizeof(uint32_t)),
		.locations = calloc((size_t)profile_count_locations(from) + 1, sizeof(uint32_t)),
	};
	int err = profile_copier_init(&merger.copier, into, from);

	if (err)
		return err;
	if (!merger.modules || !merger.locations)
		return -ENOMEM;
	if (opts)
		merger.copier.change_name = opts->change_name;
	/* In this order: later items refer to the ids of earlier ones. */
	err = merge_metrics(&merger, opts);
	if (err)
		return err;
	err = merge_modules(&merger);
	if (err)
		return err;
	err = merge_sources(&merger);
	if (err)
		return err;
	err = merge_processes(&merger);
	if (err)
		return err;
	err = merge_stacks(&merger);
	if (err)
		return err;
	err = profile_copier_copy_samples(&merger.copier);
	if (err)
		return err;
	return profile_copier_copy_timestamps(&merger.copier);
}

int profile_merge(struct profile *into, const struct profile *from)
{
	return profile_merge_with(into, from, NULL);
}
