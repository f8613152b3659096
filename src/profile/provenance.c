/*
 * Recordings are kept by source, or on their own while there is no source. Their sum is kept, too:
 * most readers ask for it, and borrow it.
 *
 * Counts are from files, which may contain anything. They are added up without overflow: the
 * greatest number means "more than that", which is still a better answer than a small one.
 */
#include "profile/provenance.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/array.h"
#include "base/hash.h"

/* A sampling may be all zeros (a file that records only its existence), hence the flag. */
struct source_recording {
	struct sampling sampling;
	bool exists;
};

/* Strings of the profile, like all here. */
struct source {
	uint32_t name;
	uint32_t label;
	struct source_recording recording;
};

struct provenance {
	ARRAY(struct source) sources;
	ARRAY(struct tally) tallies;
	struct hash_index tally_index; /* by source and name */
	struct source_recording sum;
	struct source_recording sourceless; /* of a profile that was recorded, not read */
};

struct provenance *provenance_new(void)
{
	return calloc(1, sizeof(struct provenance));
}

void provenance_free(struct provenance *provenance)
{
	if (!provenance)
		return;
	array_release(&provenance->sources);
	array_release(&provenance->tallies);
	hash_index_release(&provenance->tally_index);
	free(provenance);
}

int provenance_add_source(struct provenance *provenance, uint32_t name, uint32_t *ret)
{
	struct source *added = array_add(&provenance->sources);

	if (!added)
		return -ENOMEM;
	*added = (struct source){.name = name, .label = name};
	/*
	 * Earlier recordings belong to this source now. Tallies need no such step: those of a
	 * recording are under source 0, and this source has that number.
	 */
	if (provenance->sources.length == 1) {
		added->recording = provenance->sourceless;
		provenance->sourceless = (struct source_recording){0};
	}
	*ret = (uint32_t)(provenance->sources.length - 1);
	return 0;
}

uint32_t provenance_count_sources(const struct provenance *provenance)
{
	return (uint32_t)provenance->sources.length;
}

uint32_t provenance_get_source(const struct provenance *provenance, uint32_t source)
{
	return provenance->sources.items[source].name;
}

void provenance_set_label(struct provenance *provenance, uint32_t source, uint32_t label)
{
	provenance->sources.items[source].label = label;
}

uint32_t provenance_get_label(const struct provenance *provenance, uint32_t source)
{
	return provenance->sources.items[source].label;
}

/*
 * A period is one number for all samples, or unknown: with different periods, weights cannot be
 * converted to time.
 */
static void add_recording(struct source_recording *recording, const struct sampling *sampling)
{
	struct sampling *sum = &recording->sampling;

	if (!sum->start_ns || (sampling->start_ns && sampling->start_ns < sum->start_ns))
		sum->start_ns = sampling->start_ns;
	if (!recording->exists)
		sum->period_ns = sampling->period_ns;
	else if (sum->period_ns != sampling->period_ns)
		sum->period_ns = 0;
	sum->duration_ns = add_saturated(sum->duration_ns, sampling->duration_ns);
	sum->complete_stacks = add_saturated(sum->complete_stacks, sampling->complete_stacks);
	sum->truncated_stacks = add_saturated(sum->truncated_stacks, sampling->truncated_stacks);
	sum->lost_samples = add_saturated(sum->lost_samples, sampling->lost_samples);
	recording->exists = true;
}

void provenance_add_sampling(struct provenance *provenance, uint32_t source,
			     const struct sampling *sampling)
{
	if (source < provenance->sources.length)
		add_recording(&provenance->sources.items[source].recording, sampling);
	else
		add_recording(&provenance->sourceless, sampling);
	add_recording(&provenance->sum, sampling);
}

const struct sampling *provenance_get_sum(const struct provenance *provenance)
{
	return &provenance->sum.sampling;
}

const struct sampling *provenance_find_sampling(const struct provenance *provenance,
						uint32_t source)
{
	const struct source_recording *recording =
		source < provenance->sources.length ? &provenance->sources.items[source].recording
						    : &provenance->sourceless;

	return recording->exists ? &recording->sampling : NULL;
}

static uint64_t hash_tally(const struct tally *tally)
{
	return hash_mix(tally->source, tally->name);
}

static bool is_tally(const void *owner, uint32_t item, const void *key)
{
	const struct provenance *provenance = owner;
	const struct tally *tally = &provenance->tallies.items[item];
	const struct tally *wanted = key;

	return tally->source == wanted->source && tally->name == wanted->name;
}

int provenance_add_tally(struct provenance *provenance, uint32_t source, uint32_t name,
			 uint64_t count)
{
	struct tally wanted = {source, name, count};
	uint64_t hash = hash_tally(&wanted);
	struct tally *added;
	uint32_t item;

	if (!count)
		return 0;
	item = hash_index_find(&provenance->tally_index, hash, is_tally, provenance, &wanted);
	if (item != HASH_INDEX_NONE) {
		added = &provenance->tallies.items[item];
		added->count = add_saturated(added->count, count);
		return 0;
	}
	added = array_add(&provenance->tallies);
	if (!added)
		return -ENOMEM;
	*added = wanted;
	return hash_index_add(&provenance->tally_index, hash,
			      (uint32_t)(provenance->tallies.length - 1));
}

uint32_t provenance_count_tallies(const struct provenance *provenance)
{
	return (uint32_t)provenance->tallies.length;
}

const struct tally *provenance_get_tally(const struct provenance *provenance, uint32_t id)
{
	return &provenance->tallies.items[id];
}

/*
 * The sum does not change, since nothing is added or removed. The key of a tally includes its
 * source, so the tally must leave the index before the source changes.
 */
int provenance_hand_over(struct provenance *provenance, uint32_t from, uint32_t to)
{
	struct source *source = &provenance->sources.items[from];
	int err;

	if (source->label != source->name)
		provenance->sources.items[to].label = source->label;
	provenance->sources.items[to].recording = source->recording;
	source->recording = (struct source_recording){0};
	for (uint32_t i = 0; i < provenance->tallies.length; i++) {
		struct tally *tally = &provenance->tallies.items[i];

		if (tally->source != from)
			continue;
		hash_index_remove(&provenance->tally_index, hash_tally(tally), i);
		tally->source = to;
		err = hash_index_add(&provenance->tally_index, hash_tally(tally), i);
		if (err)
			return err;
	}
	return 0;
}
