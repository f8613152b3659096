#include "collect/trace_log.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

struct trace_log {
	ARRAY(struct timed_sample) samples;
	bool is_out_of_order;
};

struct trace_log *trace_log_new(void)
{
	return calloc(1, sizeof(struct trace_log));
}

void trace_log_free(struct trace_log *log)
{
	if (!log)
		return;
	array_release(&log->samples);
	free(log);
}

int trace_log_add_sample(struct trace_log *log, const struct timed_sample *sample)
{
	struct timed_sample *added = array_add(&log->samples);

	if (!added)
		return -ENOMEM;
	*added = *sample;
	log->is_out_of_order |= log->samples.length > 1 && added[-1].time_ns > sample->time_ns;
	return 0;
}

static int compare_samples(const void *a, const void *b)
{
	const struct timed_sample *left = a;
	const struct timed_sample *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

void trace_log_sort(struct trace_log *log)
{
	/* Samples whose stack was walked later come late. */
	if (log->is_out_of_order)
		qsort(log->samples.items, log->samples.length, sizeof(*log->samples.items),
		      compare_samples);
	log->is_out_of_order = false;
}

const struct timed_sample *trace_log_get_samples(const struct trace_log *log, size_t *ret_count)
{
	*ret_count = log->samples.length;
	return log->samples.items;
}
