#include "collect/raw_samples.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "collect/raw_stack.h"

/* A bound on the memory of pending stacks; beyond it, a sample is added with an incomplete stack. */
#define MAX_PENDING_BYTES (64u << 20)

struct pending_raw_sample {
	const struct wire_raw_sample *record; /* owned once it is pending */
	const struct process *process;
	bool is_in_exec;
};

struct raw_samples {
	struct sample_ingest *ingest;
	struct publisher *publisher;
	struct process_table *processes;
	ARRAY(struct pending_raw_sample) pending;
	size_t pending_bytes;
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

static void release(struct pending_raw_sample *pending)
{
	struct wire_raw_sample *record;

	memcpy(&record, &pending->record, sizeof(record)); /* ours, whatever the type says */
	free(record);
}

void raw_samples_free(struct raw_samples *samples)
{
	if (!samples)
		return;
	array_for_each (&samples->pending, pending)
		release(pending);
	array_release(&samples->pending);
	free(samples);
}

static size_t get_size(const struct wire_raw_sample *record)
{
	return offsetof(struct wire_raw_sample, bytes) + raw_stack_get_size(record);
}

/* Walk, and add the sample. Returns 1 without adding it if a table is being built that it needs. */
static int walk_and_add(struct raw_samples *samples, const struct pending_raw_sample *pending,
			bool may_wait)
{
	struct wire_sample sample = pending->record->sample;
	uint64_t outermost_sp;
	enum walk_end end = publisher_walk(samples->publisher, pending->process, pending->record,
					   &samples->walked, &outermost_sp);

	if (end == WALK_NO_TABLE && may_wait)
		return 1;
	sample.type = WIRE_SAMPLE;
	sample.walk_end = (uint8_t)end;
	sample.outermost_sp = outermost_sp;
	samples->walked.type = WIRE_STACK;
	return sample_ingest_add_recovered(samples->ingest, &sample, pending->process,
					   pending->is_in_exec, &samples->walked);
}

static int add_pending(struct raw_samples *samples, const struct pending_raw_sample *pending)
{
	size_t size = get_size(pending->record);
	struct wire_raw_sample *copy = malloc(size);
	struct pending_raw_sample *added = copy ? array_add(&samples->pending) : NULL;

	if (!added) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, pending->record, size);
	*added = *pending;
	added->record = copy;
	samples->pending_bytes += size;
	return 0;
}

int raw_samples_add(struct raw_samples *samples, uint64_t time_ns,
		    const struct wire_raw_sample *record, size_t size)
{
	struct pending_raw_sample pending = {0};
	struct process *process;
	int err;

	if (!raw_stack_is_whole(record, size))
		return 0;
	err = process_table_find(
		samples->processes, time_ns, (pid_t)record->sample.pid, record->sample.generation,
		record->sample.flags & WIRE_SAMPLE_IN_EXEC, &process, &pending.is_in_exec);
	if (err)
		return err;
	pending.process = process;
	pending.record = record;
	err = walk_and_add(samples, &pending, samples->pending_bytes < MAX_PENDING_BYTES);
	return err > 0 ? add_pending(samples, &pending) : err;
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
	for (size_t i = 0; i < samples->pending.length; i++) {
		struct pending_raw_sample *pending = &samples->pending.items[i];

		if (!err)
			err = walk_and_add(samples, pending, !is_final);
		if (err > 0) {
			samples->pending.items[num_left++] = *pending;
			err = 0;
			continue;
		}
		samples->pending_bytes -= get_size(pending->record);
		release(pending);
	}
	samples->pending.length = num_left;
	return err;
}

size_t raw_samples_get_count(const struct raw_samples *samples)
{
	return samples->pending.length;
}
