/*
 * Most of a profile is dense arrays with a way to find an equal item: strings and stacks have
 * tables of their own, threads and locations with an address are intern tables. Two kinds have an
 * index that is maintained by hand here.
 *
 * Locations without an address are in the same array as the others, so that a stack needs one
 * number per frame. But they are not in its index: two of them are equal by their frame, not by
 * three integers. Their address is their own id.
 *
 * Samples are indexed late. A file that is read stack by stack in its own order (folded text, a
 * profile of ours) adds each sample behind all others in the order of compare_samples(). Then no
 * search is needed, and no index is made. The first sample out of order causes all of them to be
 * indexed. It saves a hash table as large as the samples in the common case, and costs only a
 * comparison otherwise.
 *
 * Ids are 32 bits wide; HASH_INDEX_NONE is never one.
 */
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/text.h"

INTERN_TABLE(profile_threads, struct thread, process, tid, comm, source);
INTERN_TABLE(profile_locations, struct location, space, owner, address);

struct profile {
	struct string_table *strings;
	struct stack_table *stacks;
	struct provenance *provenance;
	ARRAY(struct metric) metrics;
	ARRAY(struct module) modules;
	ARRAY(struct process_info) processes;
	struct profile_threads threads;
	struct profile_locations locations; /* found: those that have an address */
	ARRAY(struct frame) frames;
	ARRAY(struct sample) samples;
	struct hash_index frame_index;  /* of locations that have no address */
	struct hash_index sample_index; /* of the samples below num_indexed_samples */
	uint32_t num_indexed_samples;
	uint32_t last_sample;          /* the greatest in the order of compare_samples() */
	struct timestamps *timestamps; /* NULL: not wanted */
};

struct profile *profile_new(void)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return NULL;
	profile->strings = string_table_new();
	profile->stacks = stack_table_new();
	profile->provenance = provenance_new();
	if (!profile->strings || !profile->stacks || !profile->provenance) {
		profile_free(profile);
		return NULL;
	}
	return profile;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	string_table_free(profile->strings);
	stack_table_free(profile->stacks);
	provenance_free(profile->provenance);
	array_release(&profile->metrics);
	array_release(&profile->modules);
	array_release(&profile->processes);
	profile_threads_release(&profile->threads);
	profile_locations_release(&profile->locations);
	array_release(&profile->frames);
	array_release(&profile->samples);
	hash_index_release(&profile->frame_index);
	hash_index_release(&profile->sample_index);
	timestamps_free(profile->timestamps);
	free(profile);
}

int profile_add_string(struct profile *profile, const char *string, uint32_t *ret)
{
	return string_table_add(profile->strings, string, strlen(string), ret);
}

uint32_t profile_find_string(const struct profile *profile, const char *string, size_t length)
{
	return string_table_find(profile->strings, string, length);
}

const char *profile_get_string(const struct profile *profile, uint32_t id)
{
	return string_table_get(profile->strings, id);
}

size_t profile_get_string_length(const struct profile *profile, uint32_t id)
{
	return string_table_get_length(profile->strings, id);
}

uint32_t profile_count_strings(const struct profile *profile)
{
	return string_table_get_count(profile->strings);
}

struct string_table *profile_get_strings(struct profile *profile)
{
	return profile->strings;
}

int profile_copy_string(const struct profile *from, uint32_t string, struct string_table *to,
			uint32_t *ret)
{
	return string_table_copy(from->strings, string, to, ret);
}

int profile_add_module(struct profile *profile, const struct module *module, uint32_t *ret)
{
	struct module *added = array_add(&profile->modules);

	if (!added)
		return -ENOMEM;
	*added = *module;
	*ret = (uint32_t)(profile->modules.length - 1);
	return 0;
}

int profile_add_process(struct profile *profile, uint32_t pid, uint32_t comm, uint32_t *ret)
{
	struct process_info *added = array_add(&profile->processes);

	if (!added)
		return -ENOMEM;
	*added = (struct process_info){.pid = pid, .comm = comm};
	*ret = (uint32_t)(profile->processes.length - 1);
	return 0;
}

void profile_set_module_copy(struct profile *profile, uint32_t module, uint32_t copy)
{
	profile->modules.items[module].copy = copy;
}

void profile_set_process_comm(struct profile *profile, uint32_t process, uint32_t comm)
{
	profile->processes.items[process].comm = comm;
}

void profile_set_process_script(struct profile *profile, uint32_t process, uint32_t script)
{
	profile->processes.items[process].script = script;
}

bool profile_has_scripts(const struct profile *profile)
{
	array_for_each (&profile->processes, process)
		if (process->script != STRING_EMPTY)
			return true;
	return false;
}

int profile_add_thread(struct profile *profile, const struct thread *thread, uint32_t *ret)
{
	return profile_threads_intern(&profile->threads, thread, ret);
}

int profile_add_location(struct profile *profile, enum location_space space, uint32_t owner,
			 uint64_t address, uint32_t *ret)
{
	struct location wanted = {.space = (uint8_t)space, .owner = owner, .address = address};

	return profile_locations_intern(&profile->locations, &wanted, ret);
}

/*
 * Hash all fields that is_frame_location() compares: a frame that differs only in its line is
 * another location.
 */
static uint64_t hash_frame(const struct frame *frame)
{
	uint64_t hash = hash_mix(hash_mix(2, frame->name), frame->full_name);

	hash = hash_mix(hash_mix(hash, frame->module), frame->file);
	return hash_mix(hash, ((uint64_t)frame->line << 32) | (uint32_t)frame->kind << 1 |
				      frame->is_inlined);
}

/* The index holds locations, not frames: a location of an importer has exactly one. */
static bool is_frame_location(const void *owner, uint32_t item, const void *key)
{
	const struct profile *profile = owner;
	const struct frame *frame =
		&profile->frames.items[profile->locations.items[item].first_frame];
	const struct frame *wanted = key;

	return frame->name == wanted->name && frame->full_name == wanted->full_name &&
	       frame->module == wanted->module && frame->file == wanted->file &&
	       frame->line == wanted->line && frame->kind == wanted->kind &&
	       frame->is_inlined == wanted->is_inlined;
}

/*
 * The location is added before its frame, since profile_set_frames() writes into it. If memory runs
 * out, it is removed again, so that no location without frames remains; the frame itself stays in
 * its array, unreferenced.
 */
int profile_add_frame_location(struct profile *profile, const struct frame *frame, uint32_t *ret)
{
	uint64_t hash = hash_frame(frame);
	uint32_t id =
		hash_index_find(&profile->frame_index, hash, is_frame_location, profile, frame);
	int err;

	if (id != HASH_INDEX_NONE) {
		*ret = id;
		return 0;
	}
	if (array_reserve(&profile->locations, profile->locations.length + 1))
		return -ENOMEM;
	id = (uint32_t)profile->locations.length;
	profile->locations.items[profile->locations.length++] =
		(struct location){.space = LOCATION_NAMED, .address = id};
	err = profile_set_frames(profile, id, frame, 1, UNNAMED_NOT);
	if (err)
		goto err;
	err = hash_index_add(&profile->frame_index, hash, id);
	if (err)
		goto err;
	*ret = id;
	return 0;
err:
	profile->locations.length--;
	return err;
}

int profile_extend_stack(struct profile *profile, const struct frame *frame, uint32_t *stack)
{
	uint32_t location;
	int err = profile_add_frame_location(profile, frame, &location);

	return err ? err : profile_add_stack(profile, *stack, location, stack);
}

static int add_named_frame(struct profile *profile, const char *name, uint32_t parent,
			   uint32_t *ret)
{
	struct frame frame = {0};
	uint32_t location;
	int err = profile_add_string(profile, name, &frame.name);

	if (err)
		return err;
	frame.full_name = frame.name;
	err = profile_add_frame_location(profile, &frame, &location);
	return err ? err : profile_add_stack(profile, parent, location, ret);
}

static bool is_named_frame(const struct profile *profile, uint32_t location, const char *name)
{
	const struct location *found = profile_get_location(profile, location);
	uint32_t id;

	if (found->space != LOCATION_NAMED || found->num_frames != 1)
		return false;
	id = profile_get_frame(profile, found->first_frame)->name;
	return string_equals(profile_get_string(profile, id), name);
}

int profile_add_truncated_frame(struct profile *profile, uint32_t parent, uint32_t *ret)
{
	return add_named_frame(profile, TRUNCATED_FRAME_NAME, parent, ret);
}

bool profile_is_truncated_frame(const struct profile *profile, uint32_t location)
{
	return is_named_frame(profile, location, TRUNCATED_FRAME_NAME);
}

int profile_add_slept_frame(struct profile *profile, uint32_t parent, uint32_t *ret)
{
	return add_named_frame(profile, SLEPT_FRAME_NAME, parent, ret);
}

bool profile_is_slept_frame(const struct profile *profile, uint32_t location)
{
	return is_named_frame(profile, location, SLEPT_FRAME_NAME);
}

int profile_add_stack(struct profile *profile, uint32_t parent, uint32_t location, uint32_t *ret)
{
	return stack_table_add(profile->stacks, parent, location, ret);
}

int profile_add_new_stack(struct profile *profile, uint32_t parent, uint32_t location,
			  uint32_t *ret)
{
	return stack_table_add_new(profile->stacks, parent, location, ret);
}

int profile_settle_stacks(struct profile *profile)
{
	return stack_table_settle(profile->stacks);
}

uint32_t profile_find_stack(const struct profile *profile, uint32_t parent, uint32_t location)
{
	return stack_table_find(profile->stacks, parent, location);
}

static bool is_sample(const void *owner, uint32_t item, const void *key)
{
	const struct profile *profile = owner;
	const struct sample *wanted = key;

	return profile->samples.items[item].thread == wanted->thread &&
	       profile->samples.items[item].stack == wanted->stack &&
	       profile->samples.items[item].metric == wanted->metric;
}

static uint64_t hash_sample(const struct sample *sample)
{
	return hash_mix(hash_mix(hash_mix(1, sample->thread), sample->stack), sample->metric);
}

/* The order of samples when each has a new stack. */
static int compare_samples(const struct sample *a, const struct sample *b)
{
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->metric != b->metric)
		return a->metric < b->metric ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

/* Add the samples that are missing in the index. */
static int index_samples(struct profile *profile)
{
	int err = hash_index_reserve(&profile->sample_index, profile->samples.length);

	if (err)
		return err;
	while (profile->num_indexed_samples < profile->samples.length) {
		uint32_t id = profile->num_indexed_samples;

		err = hash_index_add(&profile->sample_index,
				     hash_sample(&profile->samples.items[id]), id);
		if (err)
			return err;
		profile->num_indexed_samples++;
	}
	return 0;
}

/* Searches only if the sample may exist: not if it is beyond all others. */
static int find_sample(struct profile *profile, const struct sample *wanted, uint32_t *ret)
{
	int order = 1;
	int err;

	if (profile->samples.length)
		order = compare_samples(wanted, &profile->samples.items[profile->last_sample]);
	*ret = order ? HASH_INDEX_NONE : profile->last_sample;
	if (order >= 0)
		return 0;
	err = index_samples(profile);
	if (err)
		return err;
	*ret = hash_index_find(&profile->sample_index, hash_sample(wanted), is_sample, profile,
			       wanted);
	return 0;
}

static void count_sample(struct profile *profile, uint32_t metric, uint64_t weight)
{
	if (weight && metric < profile->metrics.length)
		profile->metrics.items[metric].num_samples++;
}

int profile_add_new_sample(struct profile *profile, uint32_t thread, uint32_t stack,
			   uint32_t metric, uint64_t weight)
{
	uint32_t id = (uint32_t)profile->samples.length;
	struct sample added = {thread, stack, metric, weight};
	struct sample *samples;

	if (id == HASH_INDEX_NONE ||
	    (id == profile->samples.capacity &&
	     array_reserve(&profile->samples, profile->samples.length + 1)))
		return -ENOMEM;
	samples = profile->samples.items;
	samples[profile->samples.length++] = added;
	if (compare_samples(&added, &samples[profile->last_sample]) >= 0)
		profile->last_sample = id;
	count_sample(profile, metric, weight);
	return 0;
}

int profile_add_sample(struct profile *profile, uint32_t thread, uint32_t stack, uint32_t metric,
		       uint64_t weight)
{
	struct sample wanted = {thread, stack, metric, weight};
	uint32_t id;
	int err = find_sample(profile, &wanted, &id);

	if (err)
		return err;
	if (id != HASH_INDEX_NONE) {
		uint64_t *value = &profile->samples.items[id].value;
		uint64_t sum;

		if (__builtin_add_overflow(*value, weight, &sum))
			return -EOVERFLOW;
		*value = sum;
		count_sample(profile, metric, weight);
		return 0;
	}
	return profile_add_new_sample(profile, thread, stack, metric, weight);
}

int profile_keep_timestamps(struct profile *profile)
{
	if (!profile->timestamps)
		profile->timestamps = timestamps_new();
	return profile->timestamps ? 0 : -ENOMEM;
}

int profile_clear(struct profile *profile)
{
	struct profile *fresh = profile_new();
	struct profile full = *profile;

	if (!fresh)
		return -ENOMEM;
	if (profile->timestamps && profile_keep_timestamps(fresh)) {
		profile_free(fresh);
		return -ENOMEM;
	}
	*profile = *fresh;
	*fresh = full;
	profile_free(fresh);
	return 0;
}

struct timestamps *profile_get_timestamps(const struct profile *profile)
{
	return profile->timestamps;
}

const struct timestamps *profile_get_times_of_one_clock(const struct profile *profile)
{
	const struct timestamps *times = profile->timestamps;
	uint32_t source = 0;

	for (size_t i = 0; times && i < timestamps_count(times); i++) {
		const struct sample *sample =
			profile_get_sample(profile, timestamps_get(times, i)->sample);
		uint32_t found = profile_get_thread(profile, sample->thread)->source;

		if (i && found != source)
			return NULL;
		source = found;
	}
	return times && timestamps_count(times) ? times : NULL;
}

/*
 * Finds the sample that was just added, usually the last one: find_sample() needs no index for
 * that.
 */
int profile_add_timestamp(struct profile *profile, uint32_t thread, uint32_t stack, uint32_t metric,
			  uint64_t weight, uint64_t time_ns)
{
	return profile_add_interval(profile, thread, stack, metric, weight, time_ns, time_ns);
}

int profile_add_interval(struct profile *profile, uint32_t thread, uint32_t stack, uint32_t metric,
			 uint64_t weight, uint64_t start_ns, uint64_t end_ns)
{
	struct sample wanted = {thread, stack, metric, weight};
	uint32_t id;
	int err;

	if (!profile->timestamps || !weight)
		return 0;
	err = find_sample(profile, &wanted, &id);
	return err || id == HASH_INDEX_NONE
		       ? err
		       : timestamps_add_interval(profile->timestamps, id, start_ns, end_ns, weight);
}

int profile_set_clock(struct profile *profile, uint32_t source, uint64_t zero_ns)
{
	return profile->timestamps ? timestamps_set_clock(profile->timestamps, source, zero_ns) : 0;
}

static bool is_from(const struct profile *profile, const struct sample *sample, uint32_t metric,
		    uint32_t first_source, uint32_t end_source)
{
	uint32_t source = profile->threads.items[sample->thread].source;

	return sample->metric == metric && source >= first_source && source < end_source;
}

int profile_multiply_samples(struct profile *profile, uint32_t metric, uint32_t first_source,
			     uint32_t end_source, uint64_t factor)
{
	size_t num_timestamps = profile->timestamps ? timestamps_count(profile->timestamps) : 0;

	array_for_each (&profile->samples, sample)
		if (is_from(profile, sample, metric, first_source, end_source) &&
		    sample->value > UINT64_MAX / factor)
			return -EOVERFLOW;
	array_for_each (&profile->samples, sample)
		if (is_from(profile, sample, metric, first_source, end_source))
			sample->value *= factor;
	/* These are parts of the samples' weights: none is too large. */
	for (size_t i = 0; i < num_timestamps; i++) {
		struct timestamp timestamp = *timestamps_get(profile->timestamps, i);

		if (is_from(profile, &profile->samples.items[timestamp.sample], metric,
			    first_source, end_source))
			timestamps_set_weight(profile->timestamps, i, timestamp.weight * factor);
	}
	return 0;
}

/*
 * Timestamps are shares of their sample's weight: scale them one by one, as if they made up the
 * sample.
 */
static void scale_timestamps(struct profile *profile, uint32_t metric, const struct ratio *ratio,
			     uint64_t *sums)
{
	size_t num_timestamps = profile->timestamps ? timestamps_count(profile->timestamps) : 0;

	for (size_t i = 0; i < num_timestamps; i++) {
		struct timestamp timestamp = *timestamps_get(profile->timestamps, i);

		if (profile->samples.items[timestamp.sample].metric == metric)
			timestamps_set_weight(
				profile->timestamps, i,
				ratio_scale_next(ratio, &sums[timestamp.sample], timestamp.weight));
	}
}

int profile_scale_samples(struct profile *profile, uint32_t metric, const struct ratio *ratio)
{
	/* Sum of the metric's samples before it, by sample. */
	_cleanup_free_ uint64_t *sums = calloc(profile->samples.length + 1, sizeof(*sums));
	uint64_t sum = 0;

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < profile->samples.length; i++) {
		const struct sample *sample = &profile->samples.items[i];

		sums[i] = sum;
		if (sample->metric == metric && __builtin_add_overflow(sum, sample->value, &sum))
			return -EOVERFLOW;
	}
	if (ratio_scale(ratio, sum) == UINT64_MAX)
		return -EOVERFLOW;
	sum = 0;
	array_for_each (&profile->samples, sample)
		if (sample->metric == metric)
			sample->value = ratio_scale_next(ratio, &sum, sample->value);
	scale_timestamps(profile, metric, ratio, sums);
	return 0;
}

void profile_set_metric_decimals(struct profile *profile, uint32_t metric, uint8_t decimals)
{
	profile->metrics.items[metric].decimals = decimals;
}

void profile_set_metric_samples(struct profile *profile, uint32_t metric, uint64_t num_samples)
{
	profile->metrics.items[metric].num_samples = num_samples;
}

void profile_set_sample_value(struct profile *profile, uint32_t sample, uint64_t value)
{
	profile->samples.items[sample].value = value;
}

/* Timestamps get the new ids of their samples, and at most their weight in total. */
static void limit_timestamps(struct profile *profile, const uint32_t *ids, uint64_t *left)
{
	size_t num_timestamps = timestamps_count(profile->timestamps);
	size_t num_kept = 0;

	for (size_t i = 0; i < num_timestamps; i++) {
		struct timestamp timestamp = *timestamps_get(profile->timestamps, i);
		uint64_t *limit = &left[timestamp.sample];

		if (timestamp.weight > *limit)
			timestamp.weight = *limit;
		*limit -= timestamp.weight;
		timestamp.sample = ids[timestamp.sample];
		if (timestamp.weight)
			timestamps_set(profile->timestamps, num_kept++, &timestamp);
	}
	timestamps_truncate(profile->timestamps, num_kept);
}

/* Close the gaps between kept samples, and note the new ids. */
static void move_samples(struct profile *profile, const uint8_t *is_removed, uint32_t *ids)
{
	struct sample *samples = profile->samples.items;
	uint32_t num_kept = 0;

	for (size_t i = 0; i < profile->samples.length; i++) {
		ids[i] = num_kept;
		if (!is_removed[i])
			samples[num_kept++] = samples[i];
	}
	profile->samples.length = num_kept;
	profile->last_sample = 0;
	for (uint32_t i = 1; i < num_kept; i++)
		if (compare_samples(&samples[i], &samples[profile->last_sample]) >= 0)
			profile->last_sample = i;
	hash_index_release(&profile->sample_index);
	profile->num_indexed_samples = 0;
}

int profile_remove_samples(struct profile *profile, const uint8_t *is_removed)
{
	size_t num_samples = profile->samples.length;
	_cleanup_free_ uint32_t *ids = calloc(num_samples + 1, sizeof(*ids));
	_cleanup_free_ uint64_t *left = calloc(num_samples + 1, sizeof(*left));

	if (!ids || !left)
		return -ENOMEM;
	for (size_t i = 0; i < num_samples; i++)
		left[i] = is_removed[i] ? 0 : profile->samples.items[i].value;
	move_samples(profile, is_removed, ids);
	if (profile->timestamps)
		limit_timestamps(profile, ids, left);
	return 0;
}

void profile_trim(struct profile *profile)
{
	stack_table_trim(profile->stacks);
	hash_index_release(&profile->sample_index);
	profile->num_indexed_samples = 0;
}

/* If a location gets frames again, the old ones remain, unused. */
int profile_set_frames(struct profile *profile, uint32_t location, const struct frame *frames,
		       size_t num_frames, enum unnamed_reason reason)
{
	struct location *target = &profile->locations.items[location];
	size_t first = profile->frames.length;
	int err = array_reserve(&profile->frames, first + num_frames);

	if (err)
		return err;
	memcpy(profile->frames.items + first, frames, num_frames * sizeof(*frames));
	profile->frames.length += num_frames;
	target->first_frame = (uint32_t)first;
	target->num_frames = (uint32_t)num_frames;
	target->unnamed_reason = (uint8_t)reason;
	return 0;
}

void profile_mark_sizeless(struct profile *profile, uint32_t location)
{
	profile->locations.items[location].is_sizeless = true;
}

void profile_set_elf_address(struct profile *profile, uint32_t location, uint64_t elf_address)
{
	profile->locations.items[location].elf_address = elf_address;
	profile->locations.items[location].has_elf_address = true;
}

/* Linear search: a profile has few metrics. */
int profile_add_metric(struct profile *profile, const char *name, const char *unit, uint32_t *ret)
{
	struct metric wanted = {0};
	struct metric *added;
	int err = profile_add_string(profile, name, &wanted.name);

	if (err)
		return err;
	err = profile_add_string(profile, unit, &wanted.unit);
	if (err)
		return err;
	array_for_each (&profile->metrics, metric) {
		if (metric->name == wanted.name && metric->unit == wanted.unit) {
			*ret = (uint32_t)(metric - profile->metrics.items);
			return 0;
		}
	}
	added = array_add(&profile->metrics);
	if (!added)
		return -ENOMEM;
	*added = wanted;
	*ret = (uint32_t)(profile->metrics.length - 1);
	return 0;
}

int profile_rename_metric(struct profile *profile, uint32_t metric, const char *name,
			  const char *unit)
{
	struct metric renamed = profile->metrics.items[metric];
	int err = profile_add_string(profile, name, &renamed.name);

	if (err)
		return err;
	err = profile_add_string(profile, unit, &renamed.unit);
	if (err)
		return err;
	profile->metrics.items[metric] = renamed;
	return 0;
}

uint32_t profile_find_metric(const struct profile *profile, const char *name)
{
	for (uint32_t i = 0; i < profile->metrics.length; i++)
		if (string_equals(profile_get_string(profile, profile->metrics.items[i].name),
				  name))
			return i;
	return METRIC_NONE;
}

static uint32_t find_time_metric(const struct profile *profile, uint32_t first, const char *name)
{
	for (uint32_t i = first; i < profile->metrics.length; i++) {
		const struct metric *metric = &profile->metrics.items[i];

		if (string_equals(profile_get_string(profile, metric->name), name) &&
		    string_equals(profile_get_string(profile, metric->unit), "nanoseconds"))
			return i;
	}
	return METRIC_NONE;
}

uint32_t profile_find_wall_metric(const struct profile *profile, uint32_t first)
{
	if (find_time_metric(profile, first, METRIC_BLOCKED) == METRIC_NONE)
		return METRIC_NONE;
	return find_time_metric(profile, first, METRIC_WALL);
}

int profile_add_source(struct profile *profile, uint32_t name, uint32_t *ret)
{
	return provenance_add_source(profile->provenance, name, ret);
}

struct provenance *profile_get_provenance(const struct profile *profile)
{
	return profile->provenance;
}

void profile_add_sampling(struct profile *profile, const struct sampling *sampling)
{
	uint32_t count = provenance_count_sources(profile->provenance);

	provenance_add_sampling(profile->provenance, count ? count - 1 : 0, sampling);
}

const struct sampling *profile_get_sampling(const struct profile *profile)
{
	return provenance_get_sum(profile->provenance);
}

int profile_add_tally(struct profile *profile, uint32_t source, const char *name, uint64_t count)
{
	uint32_t string;
	int err = profile_add_string(profile, name, &string);

	return err ? err : provenance_add_tally(profile->provenance, source, string, count);
}

const struct metric *profile_get_metric(const struct profile *profile, uint32_t id)
{
	return &profile->metrics.items[id];
}

uint32_t profile_get_source(const struct profile *profile, uint32_t id)
{
	return provenance_get_source(profile->provenance, id);
}

uint32_t profile_count_metrics(const struct profile *profile)
{
	return (uint32_t)profile->metrics.length;
}

uint32_t profile_count_sources(const struct profile *profile)
{
	return provenance_count_sources(profile->provenance);
}

const struct module *profile_get_module(const struct profile *profile, uint32_t id)
{
	return &profile->modules.items[id];
}

const struct process_info *profile_get_process(const struct profile *profile, uint32_t id)
{
	return &profile->processes.items[id];
}

const struct thread *profile_get_thread(const struct profile *profile, uint32_t id)
{
	return &profile->threads.items[id];
}

const struct location *profile_get_location(const struct profile *profile, uint32_t id)
{
	return &profile->locations.items[id];
}

const struct frame *profile_get_frame(const struct profile *profile, uint32_t id)
{
	return &profile->frames.items[id];
}

const struct sample *profile_get_sample(const struct profile *profile, uint32_t id)
{
	return &profile->samples.items[id];
}

uint32_t profile_count_modules(const struct profile *profile)
{
	return (uint32_t)profile->modules.length;
}

uint32_t profile_count_processes(const struct profile *profile)
{
	return (uint32_t)profile->processes.length;
}

uint32_t profile_count_threads(const struct profile *profile)
{
	return (uint32_t)profile->threads.length;
}

uint32_t profile_count_locations(const struct profile *profile)
{
	return (uint32_t)profile->locations.length;
}

uint32_t profile_count_frames(const struct profile *profile)
{
	return (uint32_t)profile->frames.length;
}

uint32_t profile_count_samples(const struct profile *profile)
{
	return (uint32_t)profile->samples.length;
}

void profile_set_frame_module(struct profile *profile, uint32_t id, uint32_t module)
{
	profile->frames.items[id].module = module;
}

void profile_set_frame_names(struct profile *profile, uint32_t id, uint32_t name,
			     uint32_t full_name)
{
	profile->frames.items[id].name = name;
	profile->frames.items[id].full_name = full_name;
}

uint32_t profile_get_stack_location(const struct profile *profile, uint32_t stack)
{
	return stack_table_get_level(profile->stacks, stack);
}

uint32_t profile_find_outermost(const struct profile *profile, uint32_t stack)
{
	uint32_t parent = profile_get_stack_parent(profile, stack);

	while (parent != STACK_EMPTY) {
		stack = parent;
		parent = profile_get_stack_parent(profile, stack);
	}
	return profile_get_stack_location(profile, stack);
}

uint32_t profile_get_stack_parent(const struct profile *profile, uint32_t stack)
{
	return stack_table_get_parent(profile->stacks, stack);
}

const struct stack_node *profile_get_stacks(const struct profile *profile)
{
	return stack_table_get_nodes(profile->stacks);
}

uint32_t profile_count_stacks(const struct profile *profile)
{
	return stack_table_get_count(profile->stacks);
}
