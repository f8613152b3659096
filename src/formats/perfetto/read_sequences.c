/*
 * Reading Perfetto traces: the writers of packets, and what of each is known.
 */
#include "formats/perfetto/read.h"

static bool is_sequence(const void *owner, uint32_t item, const void *key)
{
	return ((const struct perfetto_sequences *)owner)->items.items[item].id ==
	       *(const uint32_t *)key;
}

static struct perfetto_sequence *add_sequence(struct perfetto_sequences *sequences, uint32_t id)
{
	struct perfetto_sequence *added;

	if (!perfetto_has_room(sequences->trace, sequences->items.length, 64))
		return NULL;
	added = array_add(&sequences->items);
	if (!added)
		return NULL;
	added->id = id;
	added->metric = PERFETTO_NONE;
	sequences->last = (uint32_t)(sequences->items.length - 1);
	return hash_index_add(&sequences->index, hash_mix(0, id), sequences->last) ? NULL : added;
}

struct perfetto_sequence *perfetto_sequences_find(struct perfetto_sequences *sequences, uint32_t id)
{
	uint32_t found = sequences->last;

	if (found >= sequences->items.length || sequences->items.items[found].id != id)
		found = hash_index_find(&sequences->index, hash_mix(0, id), is_sequence, sequences,
					&id);
	if (found == HASH_INDEX_NONE)
		return add_sequence(sequences, id);
	sequences->last = found;
	return &sequences->items.items[found];
}

void perfetto_sequence_clear(struct perfetto_sequence *sequence)
{
	perfetto_interned_free(sequence->interned);
	sequence->interned = NULL;
	sequence->is_valid = true;
	sequence->is_ours = false;
	sequence->frequency = 0;
	sequence->default_clock = 0;
	sequence->default_track = 0;
	sequence->metric = PERFETTO_NONE;
	sequence->metric_name = STRING_EMPTY;
	sequence->metric_unit = STRING_EMPTY;
}

void perfetto_sequences_release(struct perfetto_sequences *sequences)
{
	array_for_each (&sequences->items, sequence) {
		perfetto_interned_free(sequence->interned);
		array_release(&sequence->clocks);
	}
	array_release(&sequences->items);
	hash_index_release(&sequences->index);
}
