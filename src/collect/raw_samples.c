#include "collect/raw_samples.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "collect/raw_stack.h"

/* A bound on the memory of kept stacks; beyond it, a sample is added with an incomplete stack. */
#define MAX_KEPT_BYTES (64u << 20)

struct kept_raw_sample {
	const struct wire_raw_sample *record; /* owned once it is kept */
	const struct process *process;
	bool is_in_exec;
};

struct raw_samples {
	struct sample_ingest *ingest;
	struct publisher *publisher;
	struct process_table *processes;
	ARRAY(struct kept_raw_sample) kept;
	size_t kept_bytes;
	uint64_t num_taken; /* by the publisher, when they were last tried */
	struct wire_stack walked;
};

struct raw_samples *raw_samples_new(struct sample_ingest *ingest, struct publisher *publisher,
				    struct process_table *processes)
{
	struct raw_samples *samples = calloc(1, sizeof(*samples));

	if (!samples)
		return NULL;
	samples->ingest = ingest;
	samples->publisher = publisher;
	samples->processes = processes;
	return samples;
}

static void release(struct kept_raw_sample *kept)
{
	struct wire_raw_sample *record;

	memcpy(&record, &kept->record, sizeof(record)); /* ours, whatever the type says */
	free(record);
}

void raw_samples_free(struct raw_samples *samples)
{
	if (!samples)
		return;
	array_for_each (&samples->kept, kept)
		release(kept);
	array_release(&samples->kept);
	free(samples);
}

static size_t get_size(const struct wire_raw_sample *record)
{
	return offsetof(struct wire_raw_sample, bytes) + raw_stack_get_size(record);
}

/* Walk, and add the sample. Returns 1 without adding it if a table is being built that it needs. */
static int walk_and_add(struct raw_samples *samples, const struct kept_raw_sample *kept,
			bool may_wait)
{
	struct wire_sample sample = kept->record->sample;
	uint64_t outermost_sp;
	enum walk_end end = publisher_walk(samples->publisher, kept->process, kept->record,
					   &samples->walked, &outermost_sp);

	if (end == WALK_NO_TABLE && may_wait)
		return 1;
	sample.type = WIRE_SAMPLE;
	sample.walk_end = (uint8_t)end;
	sample.outermost_sp = outermost_sp;
	samples->walked.type = WIRE_STACK;
	return sample_ingest_add_recovered(samples->ingest, &sample, kept->process,
					   kept->is_in_exec, &samples->walked);
}

static int keep(struct raw_samples *samples, const struct kept_raw_sample *kept)
{
	size_t size = get_size(kept->record);
	struct wire_raw_sample *copy = malloc(size);
	struct kept_raw_sample *added = copy ? array_add(&samples->kept) : NULL;

	if (!added) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, kept->record, size);
	*added = *kept;
	added->record = copy;
	samples->kept_bytes += size;
	return 0;
}

int raw_samples_add(struct raw_samples *samples, uint64_t time_ns,
		    const struct wire_raw_sample *record, size_t size)
{
	struct kept_raw_sample kept = {0};
	struct process *process;
	int err;

	if (!raw_stack_is_whole(record, size))
		return 0;
	err = process_table_find(
		samples->processes, time_ns, (pid_t)record->sample.pid, record->sample.generation,
		record->sample.flags & WIRE_SAMPLE_IN_EXEC, &process, &kept.is_in_exec);
	if (err)
		return err;
	kept.process = process;
	kept.record = record;
	err = walk_and_add(samples, &kept, samples->kept_bytes < MAX_KEPT_BYTES);
	return err > 0 ? keep(samples, &kept) : err;
}

int raw_samples_retry(struct raw_samples *samples, bool is_final)
{
	uint64_t num_taken = publisher_get_taken_count(samples->publisher);
	size_t num_left = 0;
	int err = 0;

	if (num_taken == samples->num_taken && !is_final)
		return 0;
	samples->num_taken = num_taken;
	/* After an error the others are only freed. */
	for (size_t i = 0; i < samples->kept.length; i++) {
		struct kept_raw_sample *kept = &samples->kept.items[i];

		if (!err)
			err = walk_and_add(samples, kept, !is_final);
		if (err > 0) {
			samples->kept.items[num_left++] = *kept;
			err = 0;
			continue;
		}
		samples->kept_bytes -= get_size(kept->record);
		release(kept);
	}
	samples->kept.length = num_left;
	return err;
}

size_t raw_samples_get_count(const struct raw_samples *samples)
{
	return samples->kept.length;
}
