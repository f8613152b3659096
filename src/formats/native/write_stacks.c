/*
 * Stacks are written level by level (stack_order.h), and on the way their samples and the times of
 * these go to columns of their own.
 */
#include <errno.h>

#include "formats/native/write.h"

/* Number of stacks ahead to prefetch their lists, the items in these, and samples. */
#define LISTS_AHEAD   24
#define ITEMS_AHEAD   16
#define SAMPLES_AHEAD 8

/* ---- times -------------------------------------------------------------------------------- */

/* Whether the reader gets these weights by dividing the sample's value evenly. */
static bool are_equal_shares(const struct native_writer *writer, size_t first, size_t end,
			     uint64_t value)
{
	uint64_t count = end - first;

	for (size_t i = first; i < end; i++)
		if (timestamps_get(writer->timestamps, i)->weight != value / count)
			return false;
	return value % count == 0;
}

/* Durations are the last column, and are left out if there are only moments. */
enum {
	TIMES_FIRST,
	TIMES_NEXT,
	TIMES_MORE,
	TIMES_HAS_WEIGHTS,
	TIMES_WEIGHTS,
	TIMES_DURATIONS,
	NUM_TIMES_COLUMNS,
};

/*
 * The timestamps of a sample, which are sorted by sample and time. Weights are left out if all are
 * equal: a profile at a fixed frequency has the same weight everywhere.
 */
static void add_times(struct native_writer *writer, uint32_t id, struct column *columns,
		      uint64_t *last_time)
{
	const struct sample *sample = profile_get_sample(writer->profile, id);
	uint32_t source = profile_get_thread(writer->profile, sample->thread)->source;
	uint64_t resolution_ns = timestamps_get_resolution_ns(writer->timestamps);
	size_t first = writer->first_timestamps[id];
	size_t end = writer->first_timestamps[id + 1];
	bool has_weights = first < end && !are_equal_shares(writer, first, end, sample->value);
	uint64_t before = *last_time;

	column_add(&columns[TIMES_MORE], end - first);
	if (first < end)
		column_add(&columns[TIMES_HAS_WEIGHTS], has_weights);
	for (size_t i = first; i < end; i++) {
		const struct timestamp *timestamp = timestamps_get(writer->timestamps, i);
		uint64_t time = (timestamp->time_ns - writer->starts.items[source]) / resolution_ns;

		if (i == first) {
			column_add_signed(&columns[TIMES_FIRST], (int64_t)(time - before));
			*last_time = time;
		} else {
			column_add(&columns[TIMES_NEXT], time - before);
		}
		if (has_weights)
			column_add(&columns[TIMES_WEIGHTS],
				   timestamp->weight / writer->steps[sample->metric]);
		column_add(&columns[TIMES_DURATIONS], timestamp->duration);
		before = time;
	}
}

/* ---- stacks and samples ------------------------------------------------------------------- */

/*
 * Write the resolution of times as one number, and a second number if they have durations; no
 * number without times.
 */
static int write_times(struct native_writer *writer, struct column *columns)
{
	_cleanup_(column_release) struct column resolution = {0};
	size_t num_columns = writer->has_intervals ? NUM_TIMES_COLUMNS : TIMES_DURATIONS;
	int err;

	if (writer->timestamps)
		column_add(&resolution, timestamps_get_resolution_ns(writer->timestamps));
	if (writer->timestamps && writer->has_intervals)
		column_add(&resolution, 1);
	err = native_writer_put_column(writer, &resolution, true);
	for (size_t i = 0; !err && writer->timestamps && i < num_columns; i++)
		err = native_writer_put_column(writer, &columns[i],
					       i == TIMES_FIRST || i == TIMES_NEXT);
	return err;
}

struct written_columns {
	struct column ranks;
	struct column classes[NUM_STACK_CLASSES];
	/* Columns of samples. */
	struct column more; /* by stack that has samples: how many but the first */
	struct column metrics;
	struct column threads; /* how far from the sample before */
	struct column *values; /* by metric */
	uint32_t num_metrics;
	uint32_t last_thread;
	struct column times[NUM_TIMES_COLUMNS];
	uint64_t last_time;
	/* Level by level, and the class of each. */
	uint32_t *stacks;
	uint8_t *stack_classes;
};

static void stack_columns_release(struct written_columns *columns)
{
	column_release(&columns->ranks);
	for (size_t i = 0; i < NUM_STACK_CLASSES; i++)
		column_release(&columns->classes[i]);
	column_release(&columns->more);
	column_release(&columns->metrics);
	column_release(&columns->threads);
	for (uint32_t i = 0; columns->values && i < columns->num_metrics; i++)
		column_release(&columns->values[i]);
	for (size_t i = 0; i < NUM_TIMES_COLUMNS; i++)
		column_release(&columns->times[i]);
	free(columns->values);
	free(columns->stacks);
	free(columns->stack_classes);
}

static void add_samples(struct native_writer *writer, uint32_t first, uint32_t end,
			struct written_columns *columns)
{
	column_add(&columns->more, end - first - 1);
	for (uint32_t i = first; i < end; i++) {
		const struct sample *sample =
			profile_get_sample(writer->profile, writer->order.samples[i]);
		uint64_t step = writer->steps[sample->metric];

		column_add(&columns->metrics, sample->metric);
		column_add_signed(&columns->threads,
				  (int64_t)sample->thread - columns->last_thread);
		column_add(&columns->values[sample->metric],
			   step == 1 ? sample->value : sample->value / step);
		columns->last_thread = sample->thread;
		if (writer->timestamps)
			add_times(writer, writer->order.samples[i], columns->times,
				  &columns->last_time);
	}
}

/*
 * A stack without callees has samples, or it would not be here. For others, the number of callees
 * is written, and whether they have samples. Returns the number of callees, which are put where
 * `children` points.
 */
static uint32_t add_stack(struct native_writer *writer, struct written_columns *columns,
			  size_t place, size_t end)
{
	const struct stack_order *order = &writer->order;
	const struct stack_lists *lists = &order->lists[columns->stacks[place]];
	const uint64_t *children = order->children + lists->first_child;
	uint32_t num_children = lists[1].first_child - lists->first_child;
	bool has_samples = lists[1].first_sample > lists->first_sample;
	uint32_t next = 0;

	column_add(&columns->classes[columns->stack_classes[place]],
		   num_children ? (uint64_t)num_children * 2 - 1 + has_samples : 0);
	if (has_samples)
		add_samples(writer, lists->first_sample, lists[1].first_sample, columns);
	for (uint32_t i = 0; i < num_children; i++) {
		uint32_t rank = (uint32_t)(children[i] >> 32);

		column_add(&columns->ranks, rank - next);
		columns->stacks[end + i] = (uint32_t)children[i];
		columns->stack_classes[end + i] = (uint8_t)stack_order_classify(rank, num_children);
		next = rank + 1;
	}
	return num_children;
}

static int write_stack_columns(struct native_writer *writer, struct written_columns *columns)
{
	int err = native_writer_put_column(writer, &columns->ranks, true);

	for (size_t i = 0; !err && i < NUM_STACK_CLASSES; i++)
		err = native_writer_put_column(writer, &columns->classes[i], false);
	if (err)
		return err;
	err = native_writer_put_column(writer, &columns->more, false);
	if (err)
		return err;
	err = native_writer_put_column(writer, &columns->metrics, false);
	if (err)
		return err;
	err = native_writer_put_column(writer, &columns->threads, false);
	for (uint32_t i = 0; !err && i < columns->num_metrics; i++)
		err = native_writer_put_column(writer, &columns->values[i], true);
	return err ? err : write_times(writer, columns->times);
}

/* The walk jumps all over the profile; half of its time would be spent waiting for memory. */
static void prefetch(const struct native_writer *writer, const uint32_t *stacks, size_t place,
		     size_t end)
{
	const struct stack_order *order = &writer->order;
	const struct stack_lists *lists;

	if (place + LISTS_AHEAD < end)
		__builtin_prefetch(&order->lists[stacks[place + LISTS_AHEAD]]);
	if (place + ITEMS_AHEAD < end) {
		lists = &order->lists[stacks[place + ITEMS_AHEAD]];
		__builtin_prefetch(&order->children[lists->first_child]);
		__builtin_prefetch(&order->samples[lists->first_sample]);
	}
	if (place + SAMPLES_AHEAD < end) {
		lists = &order->lists[stacks[place + SAMPLES_AHEAD]];
		__builtin_prefetch(
			profile_get_sample(writer->profile, order->samples[lists->first_sample]));
	}
}

/* Level by level: the callees of all are put behind the present ones. */
int native_write_stacks(struct native_writer *writer)
{
	const struct stack_order *order = &writer->order;
	_cleanup_(stack_columns_release) struct written_columns columns = {
		.num_metrics = profile_count_metrics(writer->profile),
		.stacks = calloc(order->num_stacks, sizeof(*columns.stacks)),
		.stack_classes = calloc(order->num_stacks, sizeof(*columns.stack_classes)),
	};
	size_t end = 1; /* the first is STACK_EMPTY */

	columns.values = calloc((size_t)columns.num_metrics + 1, sizeof(*columns.values));
	if (!columns.values || !columns.stacks || !columns.stack_classes)
		return -ENOMEM;
	for (size_t i = 0; i < end; i++) {
		prefetch(writer, columns.stacks, i, end);
		end += add_stack(writer, &columns, i, end);
	}
	return write_stack_columns(writer, &columns);
}
