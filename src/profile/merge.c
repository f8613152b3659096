/*
 * Everything of one profile is added to another, from simple items to composed ones: metrics,
 * modules, sources, processes, threads, locations, stacks, samples, timestamps. Each kind has an
 * array of the new ids by the old ones, which translates references of the later kinds. Ids are
 * dense, so plain arrays suffice.
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
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

/* Owner of locations without an address that merging created: no importer uses it. */
#define MERGED_OWNER UINT32_MAX

/* Maps ids of one profile to those of the other. */
struct merger {
	struct profile *into;
	const struct profile *from;
	void (*change_name)(struct text *text, const char *name, size_t length); /* or NULL */
	uint32_t *strings; /* STRING_NONE: not yet needed */
	uint32_t *names;   /* the same for names, which may be changed */
	uint32_t *modules;
	uint32_t *processes;
	uint32_t *sources;
	uint32_t *threads;
	uint32_t *metrics; /* METRIC_NONE: skipped */
	uint32_t *locations;
	uint32_t *stacks;
	ARRAY(struct frame) frames;
	struct text text;
};

static int map_string(struct merger *merger, uint32_t id, uint32_t *ret)
{
	uint32_t *known = &merger->strings[id];

	if (*known == STRING_NONE) {
		int err = string_table_add(profile_get_strings(merger->into),
					   profile_get_string(merger->from, id),
					   profile_get_string_length(merger->from, id), known);

		if (err)
			return err;
	}
	*ret = *known;
	return 0;
}

/* Map the name of a function or thread. */
static int map_name(struct merger *merger, uint32_t id, uint32_t *ret)
{
	uint32_t *known = &merger->names[id];
	struct text *text = &merger->text;
	int err;

	if (!merger->change_name)
		return map_string(merger, id, ret);
	if (*known == STRING_NONE) {
		text_truncate(text, 0);
		text_append_string(text, "");
		merger->change_name(text, profile_get_string(merger->from, id),
				    profile_get_string_length(merger->from, id));
		if (text->failed)
			return -ENOMEM;
		err = string_table_add(profile_get_strings(merger->into), text->data, text->length,
				       known);
		if (err)
			return err;
	}
	*ret = *known;
	return 0;
}

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
		err = map_string(merger, module.path, &module.path);
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
		return profile_add_source(merger->into, STRING_EMPTY, &merger->sources[0]);
	return 0;
}

/*
 * A recording merged only with recordings stays without sources: everything is under 0 on both
 * sides.
 */
static uint32_t map_source(const struct merger *merger, uint32_t source)
{
	return merger->sources[source] == STRING_NONE ? 0 : merger->sources[source];
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
			provenance_add_sampling(into, map_source(merger, i), sampling);
	}
	for (uint32_t i = 0; i < provenance_count_tallies(from); i++) {
		struct tally tally = *provenance_get_tally(from, i);

		err = map_string(merger, tally.name, &tally.name);
		if (err)
			return err;
		err = provenance_add_tally(into, map_source(merger, tally.source), tally.name,
					   tally.count);
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
	for (uint32_t i = 0; i < profile_count_sources(merger->from); i++) {
		const struct provenance *from = profile_get_provenance(merger->from);
		uint32_t name;
		uint32_t label;

		err = map_string(merger, profile_get_source(merger->from, i), &name);
		if (err)
			return err;
		err = map_string(merger, provenance_get_label(from, i), &label);
		if (err)
			return err;
		err = profile_add_source(merger->into, name, &merger->sources[i]);
		if (err)
			return err;
		provenance_set_label(profile_get_provenance(merger->into), merger->sources[i],
				     label);
	}
	return merge_account(merger);
}

/* The command of a process is changed like that of its threads. */
static int merge_processes(struct merger *merger)
{
	int err;

	for (uint32_t i = 0; i < profile_count_processes(merger->from); i++) {
		const struct process_info *process = profile_get_process(merger->from, i);
		uint32_t comm;
		uint32_t script;

		err = map_name(merger, process->comm, &comm);
		if (err)
			return err;
		err = profile_add_process(merger->into, process->pid, comm, &merger->processes[i]);
		if (err)
			return err;
		if (process->script == STRING_EMPTY)
			continue;
		err = map_name(merger, process->script, &script);
		if (err)
			return err;
		profile_set_process_script(merger->into, merger->processes[i], script);
	}
	return 0;
}

static int merge_threads(struct merger *merger)
{
	int err;

	for (uint32_t i = 0; i < profile_count_threads(merger->from); i++) {
		struct thread thread = *profile_get_thread(merger->from, i);

		thread.process = merger->processes[thread.process];
		if (merger->sources[thread.source] != STRING_NONE)
			thread.source = merger->sources[thread.source];
		err = map_name(merger, thread.comm, &thread.comm);
		if (err)
			return err;
		err = profile_add_thread(merger->into, &thread, &merger->threads[i]);
		if (err)
			return err;
	}
	return 0;
}

static int merge_all_metrics(struct merger *merger)
{
	int err;

	for (uint32_t i = 0; i < profile_count_metrics(merger->from); i++) {
		const struct metric *metric = profile_get_metric(merger->from, i);

		err = profile_add_metric(
			merger->into, profile_get_string(merger->from, metric->name),
			profile_get_string(merger->from, metric->unit), &merger->metrics[i]);
		if (err)
			return err;
	}
	return 0;
}

static int merge_metrics(struct merger *merger, const struct profile_merge_opts *opts)
{
	int err;

	if (!opts || !opts->num_metrics)
		return merge_all_metrics(merger);
	for (size_t i = 0; i < opts->num_metrics; i++) {
		err = profile_add_metric(merger->into, opts->metrics[i].name, opts->metrics[i].unit,
					 &merger->metrics[opts->metrics[i].metric]);
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
		*frame = *profile_get_frame(merger->from, location->first_frame + i);
		err = map_name(merger, frame->name, &frame->name);
		if (err)
			return err;
		err = map_name(merger, frame->full_name, &frame->full_name);
		if (err)
			return err;
		err = map_string(merger, frame->module, &frame->module);
		if (err)
			return err;
		err = map_string(merger, frame->file, &frame->file);
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
		return merger->processes[location->owner];
	if (location->space == LOCATION_KERNEL &&
	    location->owner < profile_count_sources(merger->from))
		return merger->sources[location->owner];
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
	int err;

	for (uint32_t i = 0; i < profile_count_locations(from); i++) {
		err = merge_location(merger, profile_get_location(from, i), &merger->locations[i]);
		if (err)
			return err;
	}
	for (uint32_t i = 1; i < profile_count_stacks(from); i++) {
		err = profile_add_stack(
			merger->into, merger->stacks[profile_get_stack_parent(from, i)],
			merger->locations[profile_get_stack_location(from, i)], &merger->stacks[i]);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Each stack was added as one sample; replace the counts by the sums of both profiles' counts.
 *
 * before  counts by metric, before the merge
 */
static void merge_sample_counts(struct merger *merger, const uint64_t *before)
{
	for (uint32_t i = 0; i < profile_count_metrics(merger->into); i++)
		profile_set_metric_samples(merger->into, i, before[i]);
	for (uint32_t i = 0; i < profile_count_metrics(merger->from); i++) {
		uint32_t into = merger->metrics[i];
		uint64_t count = profile_get_metric(merger->from, i)->num_samples;

		if (into == METRIC_NONE)
			continue;
		if (__builtin_add_overflow(
			    count, profile_get_metric(merger->into, into)->num_samples, &count))
			count = UINT64_MAX;
		profile_set_metric_samples(merger->into, into, count);
	}
}

/* The weights of samples that become one are added up; the sum may exceed 64 bits. */
static int merge_samples(struct merger *merger)
{
	uint32_t num_metrics = profile_count_metrics(merger->into);
	_cleanup_free_ uint64_t *before = calloc((size_t)num_metrics + 1, sizeof(*before));
	int err;

	if (!before)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_metrics; i++)
		before[i] = profile_get_metric(merger->into, i)->num_samples;
	for (uint32_t i = 0; i < profile_count_samples(merger->from); i++) {
		const struct sample *sample = profile_get_sample(merger->from, i);

		if (merger->metrics[sample->metric] == METRIC_NONE)
			continue;
		err = profile_add_sample(merger->into, merger->threads[sample->thread],
					 merger->stacks[sample->stack],
					 merger->metrics[sample->metric], sample->value);
		if (err)
			return err;
	}
	merge_sample_counts(merger, before);
	return 0;
}

/* If both profiles keep them. */
static int merge_timestamps(struct merger *merger)
{
	const struct timestamps *timestamps = profile_get_timestamps(merger->from);
	size_t count = timestamps && profile_get_timestamps(merger->into)
			       ? timestamps_count(timestamps)
			       : 0;
	int err;

	for (size_t i = 0; i < count; i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);
		const struct sample *sample = profile_get_sample(merger->from, timestamp->sample);

		if (merger->metrics[sample->metric] == METRIC_NONE)
			continue;
		err = profile_add_timestamp(merger->into, merger->threads[sample->thread],
					    merger->stacks[sample->stack],
					    merger->metrics[sample->metric], timestamp->weight,
					    timestamp->time_ns);
		if (err)
			return err;
	}
	for (uint32_t i = 0; timestamps && i < profile_count_sources(merger->from); i++) {
		uint64_t zero_ns;

		if (!timestamps_find_clock(timestamps, i, &zero_ns))
			continue;
		err = profile_set_clock(merger->into, merger->sources[i], zero_ns);
		if (err)
			return err;
	}
	return 0;
}

/* One element more than count, so that sources[0] exists for a profile without sources, too. */
static uint32_t *allocate(uint32_t count)
{
	uint32_t *ids = calloc((size_t)count + 1, sizeof(*ids));

	if (ids)
		memset(ids, 0xff, ((size_t)count + 1) * sizeof(*ids)); /* *_NONE */
	return ids;
}

static int merger_init(struct merger *merger, struct profile *into, const struct profile *from)
{
	*merger = (struct merger){
		.into = into,
		.from = from,
		.strings = allocate(profile_count_strings(from)),
		.names = allocate(profile_count_strings(from)),
		.modules = allocate(profile_count_modules(from)),
		.processes = allocate(profile_count_processes(from)),
		.sources = allocate(profile_count_sources(from)),
		.threads = allocate(profile_count_threads(from)),
		.metrics = allocate(profile_count_metrics(from)),
		.locations = allocate(profile_count_locations(from)),
		.stacks = allocate(profile_count_stacks(from)),
	};
	if (!merger->strings || !merger->names || !merger->modules || !merger->processes ||
	    !merger->sources || !merger->threads || !merger->metrics || !merger->locations ||
	    !merger->stacks)
		return -ENOMEM;
	merger->stacks[STACK_EMPTY] = STACK_EMPTY;
	return 0;
}

static void merger_release(struct merger *merger)
{
	free(merger->strings);
	free(merger->names);
	free(merger->modules);
	free(merger->processes);
	free(merger->sources);
	free(merger->threads);
	free(merger->metrics);
	free(merger->locations);
	free(merger->stacks);
	array_release(&merger->frames);
	text_release(&merger->text);
}

int profile_merge_with(struct profile *into, const struct profile *from,
		       const struct profile_merge_opts *opts)
{
	_cleanup_(merger_release) struct merger merger;
	int err = merger_init(&merger, into, from);

	if (err)
		return err;
	if (opts)
		merger.change_name = opts->change_name;
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
	err = merge_threads(&merger);
	if (err)
		return err;
	err = merge_stacks(&merger);
	if (err)
		return err;
	err = merge_samples(&merger);
	if (err)
		return err;
	return merge_timestamps(&merger);
}

int profile_merge(struct profile *into, const struct profile *from)
{
	return profile_merge_with(into, from, NULL);
}
