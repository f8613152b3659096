/* Reading Perfetto traces: the writers of packets and their state. */
#include "formats/perfetto/read/sequences.h"

struct perfetto_sequence *perfetto_sequences_find(struct perfetto_sequences *sequences, uint32_t id)
{
	struct perfetto_sequence sequence = {.id = id, .metric = PERFETTO_NONE};
	uint32_t found = sequences->last;

	/* Most packets are of the sequence of the one before. */
	if (found >= sequences->items.length || sequences->items.items[found].id != id)
		found = perfetto_sequence_table_find(&sequences->items, &sequence);
	if (found == HASH_INDEX_NONE &&
	    (!perfetto_has_room(sequences->trace, sequences->items.length, 64) ||
	     perfetto_sequence_table_add(&sequences->items, &sequence, &found)))
		return NULL;
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
	perfetto_sequence_table_release(&sequences->items);
}
