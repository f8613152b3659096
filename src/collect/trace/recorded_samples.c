#include "collect/trace/recorded_samples.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/events.h"
#include "collect/trace/trace_log.h"

/* From this sample on, the tid of a profile's thread belongs to another thread of the timeline. */
struct thread_change {
	uint64_t number;
	uint32_t profile_thread;
	uint32_t thread;
};

struct recorded_samples {
	struct spool *spool;
	uint64_t period_ns;
	uint64_t wait_ns;
	ARRAY(struct thread_change) changes; /* in order of number */
	struct metric_scale scales[MAX_EVENTS];
	size_t num_scales;
	/* While reading: */
	uint32_t *threads; /* the timeline's, by thread of the profile */
	uint64_t number;
	size_t next_change;
	uint64_t sums[MAX_EVENTS]; /* of scaled weights, by scale */
};

struct recorded_samples *recorded_samples_new(struct spool *spool, uint32_t num_threads,
					      uint64_t period_ns, uint64_t wait_ns)
{
	struct recorded_samples *samples = calloc(1, sizeof(*samples));

	if (!samples)
		return NULL;
	samples->spool = spool;
	samples->period_ns = period_ns;
	samples->wait_ns = wait_ns;
	samples->threads = calloc((size_t)num_threads + 1, sizeof(*samples->threads));
	if (!samples->threads) {
		recorded_samples_free(samples);
		return NULL;
	}
	return samples;
}

void recorded_samples_free(struct recorded_samples *samples)
{
	if (!samples)
		return;
	array_release(&samples->changes);
	free(samples->threads);
	free(samples);
}

int recorded_samples_set_thread(struct recorded_samples *samples, uint64_t number,
				uint32_t profile_thread, uint32_t thread)
{
	struct thread_change *added = array_add(&samples->changes);

	if (!added)
		return -ENOMEM;
	*added = (struct thread_change){
		.number = number, .profile_thread = profile_thread, .thread = thread};
	return 0;
}

void recorded_samples_add_scale(struct recorded_samples *samples, const struct metric_scale *scale)
{
	assert(samples->num_scales < MAX_EVENTS);
	samples->scales[samples->num_scales++] = *scale;
}

static int rewind_samples(void *context)
{
	struct recorded_samples *samples = context;

	samples->number = 0;
	samples->next_change = 0;
	memset(samples->sums, 0, sizeof(samples->sums));
	return spool_rewind(samples->spool);
}

static uint64_t scale_weight(struct recorded_samples *samples, const struct timed_sample *sample)
{
	for (size_t i = 0; i < samples->num_scales; i++)
		if (samples->scales[i].metric == sample->metric)
			return ratio_scale_next(&samples->scales[i].ratio, &samples->sums[i],
						sample->weight);
	return sample->weight;
}

static uint64_t get_weight(struct recorded_samples *samples, const struct timed_sample *sample)
{
	if (sample->weight)
		return scale_weight(samples, sample);
	return sample->num_periods * (sample->is_off_cpu ? samples->wait_ns : samples->period_ns);
}

static int next_sample(void *context, void *ret)
{
	struct recorded_samples *samples = context;
	struct timed_sample sample;
	int got = spool_next(samples->spool, &sample);

	if (got <= 0)
		return got;
	for (; samples->next_change < samples->changes.length; samples->next_change++) {
		const struct thread_change *change = &samples->changes.items[samples->next_change];

		if (change->number > samples->number)
			break;
		samples->threads[change->profile_thread] = change->thread;
	}
	samples->number++;
	*(struct timeline_sample *)ret = (struct timeline_sample){
		.time_ns = sample.time_ns,
		.weight = get_weight(samples, &sample),
		.thread = samples->threads[sample.thread],
		.stack = sample.stack,
		.cpu = sample.cpu,
		.metric = sample.metric,
		.mode = sample.is_in_kernel ? SAMPLE_MODE_KERNEL : SAMPLE_MODE_USER,
		.is_truncated = sample.is_truncated,
	};
	return 1;
}

static void free_samples(void *context)
{
	recorded_samples_free(context);
}

void recorded_samples_give(struct recorded_samples *samples, struct timeline *timeline)
{
	struct timeline_source source = {
		.rewind = rewind_samples,
		.next = next_sample,
		.free = free_samples,
		.context = samples,
	};

	timeline_set_samples(timeline, &source);
}
