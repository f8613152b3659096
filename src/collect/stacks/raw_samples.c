#include "collect/stacks/raw_samples.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/attributes.h"
#include "collect/kernel/raw_stack.h"

/* A bound on the memory of pending stacks; beyond it, a sample is added with an incomplete stack. */
#define MAX_PENDING_BYTES (64u << 20)
/*
 * The same for requests that have not ended; beyond it the oldest one is no longer waited for, as
 * its end may be lost.
 */
#define MAX_REQUEST_BYTES (32u << 20)

struct pending_raw_sample {
	const struct wire_raw_sample *record; /* owned once it is pending */
	struct process *process;
	struct kept_mappings mappings; /* of the sample's time, once it is pending */
	size_t size_bytes;             /* of all that is owned */
	bool is_in_exec;
	bool has_raw_stack; /* else a wait whose own stack is known */
};

struct raw_samples {
	struct sample_ingest *ingest;
	struct publisher *publisher;
	struct process_table *processes;
	ARRAY(struct pending_raw_sample) pending;
	size_t pending_bytes;
	ARRAY(struct pending_raw_sample) requests; /* requests that have not ended, oldest first */
	size_t request_bytes;
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

	memcpy(&record, &pending->record, sizeof(record)); /* owned by us, despite the const */
	free(record);
	kept_mappings_release(&pending->mappings);
}

void raw_samples_free(struct raw_samples *samples)
{
	if (!samples)
		return;
	array_for_each (&samples->pending, pending)
		release(pending);
	array_release(&samples->pending);
	array_for_each (&samples->requests, request)
		release(request);
	array_release(&samples->requests);
	free(samples);
}

static size_t get_size(const struct wire_raw_sample *record)
{
	return offsetof(struct wire_raw_sample, bytes) + raw_stack_get_size(record);
}

/*
 * Walk, and add the sample. Returns 1 without adding it if it needs a table that is being built, or
 * if it is a wait whose waker does.
 */
static int walk_and_add(struct raw_samples *samples, const struct pending_raw_sample *pending,
			bool may_wait)
{
	struct wire_sample sample = pending->record->sample;
	uint64_t outermost_sp;
	enum walk_end end;

	if (may_wait && sample_ingest_expects_waker(samples->ingest, &sample))
		return 1;
	if (!pending->has_raw_stack)
		return sample_ingest_add_recovered(samples->ingest, &sample, pending->process,
						   pending->is_in_exec, NULL);
	end = publisher_walk(samples->publisher, pending->process, pending->record,
			     &samples->walked, &outermost_sp);
	if (end == WALK_NO_TABLE && may_wait)
		return 1;
	sample.type = WIRE_SAMPLE;
	sample.mappings_version = 0; /* those of its time */
	sample.walk_end = (uint8_t)end;
	sample.outermost_sp = outermost_sp;
	samples->walked.type = WIRE_STACK;
	return sample_ingest_add_recovered(samples->ingest, &sample, pending->process,
					   pending->is_in_exec, &samples->walked);
}

/* walk_and_add() by the mappings that its process had at its time. */
static int walk_and_add_pending(struct raw_samples *samples, struct pending_raw_sample *pending,
				bool may_wait)
{
	bool is_other =
		pending->process && pending->mappings.version != pending->process->mappings_version;
	int err;

	if (is_other)
		process_swap_mappings(pending->process, &pending->mappings);
	err = walk_and_add(samples, pending, may_wait);
	if (is_other)
		process_swap_mappings(pending->process, &pending->mappings);
	return err;
}

static size_t get_kept_size(const struct pending_raw_sample *pending,
			    const struct pending_raw_sample *last)
{
	size_t size = get_size(pending->record);

	/* Mappings that have not changed since the last one are shared. */
	if (last && last->process == pending->process &&
	    last->mappings.version == pending->mappings.version)
		return size;
	return size + pending->mappings.list.sorted.length * sizeof(struct mapping);
}

/*
 * Replace a record in a ring by a copy of our own, and keep the mappings of its time.
 *
 * last  the one that was kept before; NULL: none
 */
static int keep(struct pending_raw_sample *pending, const struct pending_raw_sample *last)
{
	size_t size = get_size(pending->record);
	struct wire_raw_sample *copy = malloc(size);
	int err = copy ? 0 : -ENOMEM;

	if (!err && pending->process)
		err = process_keep_mappings(pending->process, &pending->mappings);
	if (err) {
		free(copy);
		return err;
	}
	memcpy(copy, pending->record, size);
	pending->record = copy;
	pending->size_bytes = get_kept_size(pending, last);
	return 0;
}

static const struct pending_raw_sample *get_last_pending(const struct raw_samples *samples)
{
	size_t count = samples->pending.length;

	return count ? &samples->pending.items[count - 1] : NULL;
}

/* Takes over what the sample owns. */
static int add_pending(struct raw_samples *samples, struct pending_raw_sample *pending)
{
	struct pending_raw_sample *added = array_add(&samples->pending);

	if (!added) {
		release(pending);
		return -ENOMEM;
	}
	*added = *pending;
	samples->pending_bytes += pending->size_bytes;
	if (pending->record->sample.flags & WIRE_SAMPLE_WAKER)
		sample_ingest_expect_waker(samples->ingest, pending->record->sample.wakeup);
	return 0;
}

static int find_process(const struct raw_samples *samples, uint64_t time_ns,
			const struct wire_sample *sample, struct pending_raw_sample *ret)
{
	struct process *process;
	int err = process_table_find(samples->processes, time_ns, (pid_t)sample->pid,
				     sample->generation, sample->flags & WIRE_SAMPLE_IN_EXEC,
				     &process, &ret->is_in_exec);

	if (err)
		return err;
	ret->process = process;
	return 0;
}

int raw_samples_add(struct raw_samples *samples, uint64_t time_ns,
		    const struct wire_raw_sample *record, size_t size)
{
	struct pending_raw_sample pending = {.record = record, .has_raw_stack = true};
	int err;

	if (!raw_stack_is_whole(record, size))
		return 0;
	err = find_process(samples, time_ns, &record->sample, &pending);
	if (err)
		return err;
	err = walk_and_add(samples, &pending, samples->pending_bytes < MAX_PENDING_BYTES);
	if (err <= 0)
		return err;
	err = keep(&pending, get_last_pending(samples));
	return err ? err : add_pending(samples, &pending);
}

/* The caller owns the result. */
static struct pending_raw_sample take_request(struct raw_samples *samples, size_t number)
{
	struct pending_raw_sample *request = &samples->requests.items[number];
	struct pending_raw_sample taken = *request;

	samples->requests.length--;
	memmove(request, request + 1, (samples->requests.length - number) * sizeof(*request));
	samples->request_bytes -= taken.size_bytes;
	return taken;
}

int raw_samples_add_request(struct raw_samples *samples, uint64_t time_ns,
			    const struct wire_raw_sample *record, size_t size)
{
	struct pending_raw_sample request = {.record = record, .has_raw_stack = true};
	const struct pending_raw_sample *last;
	struct pending_raw_sample *added;
	int err;

	if (!raw_stack_is_whole(record, size))
		return 0;
	err = find_process(samples, time_ns, &record->sample, &request);
	if (err)
		return err;
	while (samples->requests.length && samples->request_bytes >= MAX_REQUEST_BYTES) {
		struct pending_raw_sample oldest = take_request(samples, 0);

		release(&oldest);
	}
	last = samples->requests.length ? &samples->requests.items[samples->requests.length - 1]
					: NULL;
	err = keep(&request, last);
	if (err)
		return err;
	added = array_add(&samples->requests);
	if (!added) {
		release(&request);
		return -ENOMEM;
	}
	*added = request;
	samples->request_bytes += request.size_bytes;
	return 0;
}

static bool is_of(const struct wire_sample *request, const struct wire_sample *sample)
{
	return request->request_ns == sample->request_ns && request->tid == sample->tid &&
	       request->event == sample->event;
}

/* A request has ended. */
static int end_request(struct raw_samples *samples, const struct wire_sample *sample,
		       bool *ret_is_taken)
{
	struct pending_raw_sample request;
	struct wire_raw_sample *record;
	size_t number = 0;
	int err;

	while (number < samples->requests.length &&
	       !is_of(&samples->requests.items[number].record->sample, sample))
		number++;
	*ret_is_taken = number < samples->requests.length;
	if (!*ret_is_taken)
		return 0;
	request = take_request(samples, number);
	memcpy(&record, &request.record, sizeof(record)); /* owned by us, despite the const */
	record->sample = *sample;
	err = walk_and_add_pending(samples, &request, samples->pending_bytes < MAX_PENDING_BYTES);
	if (err > 0)
		return add_pending(samples, &request);
	release(&request);
	return err;
}

/* A wait whose waker is pending. */
static int add_wait(struct raw_samples *samples, uint64_t time_ns, const struct wire_sample *sample)
{
	struct pending_raw_sample wait = {0};
	_cleanup_free_ struct wire_raw_sample *record =
		calloc(1, offsetof(struct wire_raw_sample, bytes));
	int err = record ? find_process(samples, time_ns, sample, &wait) : -ENOMEM;

	if (err)
		return err;
	memcpy(record, sample, sizeof(*sample)); /* the record has only this first part */
	wait.record = record;
	err = keep(&wait, get_last_pending(samples));
	return err ? err : add_pending(samples, &wait);
}

int raw_samples_add_plain(struct raw_samples *samples, uint64_t time_ns,
			  const struct wire_sample *sample, bool *ret_is_taken)
{
	*ret_is_taken = false;
	if (!(sample->flags & WIRE_SAMPLE_OFF_CPU))
		return sample->request_ns ? end_request(samples, sample, ret_is_taken) : 0;
	*ret_is_taken = samples->pending_bytes < MAX_PENDING_BYTES &&
			sample_ingest_expects_waker(samples->ingest, sample);
	return *ret_is_taken ? add_wait(samples, time_ns, sample) : 0;
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
			err = walk_and_add_pending(samples, pending, !is_final);
		if (err > 0) {
			samples->pending.items[num_left++] = *pending;
			err = 0;
			continue;
		}
		samples->pending_bytes -= pending->size_bytes;
		release(pending);
	}
	samples->pending.length = num_left;
	return err;
}

size_t raw_samples_get_count(const struct raw_samples *samples)
{
	return samples->pending.length;
}
