/*
 * A row is the time span of one cell, 20 ms at the finest. It gets coarser if the clock of the
 * samples is, and until the longest file fits the available columns.
 *
 * Weight without a time is the remainder: the whole weight, less that of the cells. An interval has
 * a part of its weight in each of its cells.
 */
#include "viewer/time_grid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/fragments.h"
#include "viewer/times.h"

#define NS_PER_MS     1000000ull
#define FINEST_ROW_NS (20 * NS_PER_MS)

/* Length of the longest shown file, and its start if it is the only one. */
static uint64_t measure(struct time_grid *grid, const struct session *session,
			const struct time_span *spans)
{
	const struct profile *profile = session_get_profile(session);
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	const uint8_t *sides = session_get_weights_opts(session)->sides;
	uint64_t longest_ns = 0;
	uint32_t num_sources = 0;

	for (uint32_t i = 0; i < profile_count_sources(profile); i++) {
		uint64_t length_ns = spans[i].last_ns - spans[i].first_ns;
		uint64_t zero_ns;

		if (!spans[i].exists || sides[i] == SIDE_OFF)
			continue;
		if (!num_sources++ && timestamps_find_clock(timestamps, i, &zero_ns))
			grid->start_ms = (spans[i].first_ns + zero_ns) / NS_PER_MS;
		if (length_ns > longest_ns)
			longest_ns = length_ns;
	}
	if (num_sources > 1)
		grid->start_ms = 0;
	grid->span_ms = num_sources ? longest_ns / NS_PER_MS + 1 : 0;
	return longest_ns;
}

/*
 * Steps are multiples of each other, and of the clock's resolution: each moment belongs to one
 * cell.
 */
static void choose_columns(struct time_grid *grid, uint64_t length_ns, uint64_t resolution_ns,
			   uint32_t max_columns)
{
	uint64_t row_ns = FINEST_ROW_NS;

	while (row_ns < resolution_ns || length_ns / row_ns / TIME_GRID_ROWS >= max_columns)
		row_ns = timestamps_get_coarser_ns(row_ns);
	grid->row_ms = row_ns / NS_PER_MS;
	grid->num_columns = grid->span_ms ? (uint32_t)(length_ns / row_ns / TIME_GRID_ROWS) + 1 : 0;
}

/* Samples that count are 1, also outside the ranges of time that filters select. */
static uint8_t *choose_samples(struct time_grid *grid, const struct session *session,
			       const struct occurrences *occurrences)
{
	const struct graph *graph = session_get_graph(session);
	struct weights_opts opts = *session_get_weights_opts(session);
	bool has_fragment = session_get_query(session)->fragment_length > 0;
	uint32_t count = profile_count_samples(graph->profile);
	uint8_t *is_chosen = calloc((size_t)count + 1, 1);

	opts.values = NULL;
	for (uint32_t i = 0; is_chosen && i < count; i++) {
		if (weights_classify(graph, &opts, i) != SIDE_SHOWN ||
		    (has_fragment && occurrences->first_ends[graph->sample_nodes[i]] == GRAPH_ROOT))
			continue;
		is_chosen[i] = 1;
		grid->timeless += profile_get_sample(graph->profile, i)->value;
	}
	return is_chosen;
}

/* first_ns: the first time of its source */
static void add_to_cells(struct time_grid *grid, const struct timestamps *timestamps,
			 const struct timestamp *timestamp, uint64_t first_ns)
{
	uint64_t row_ns = grid->row_ms * NS_PER_MS;
	uint64_t end_ns = timestamps_get_end_ns(timestamps, timestamp);
	uint64_t cell = (timestamp->time_ns - first_ns) / row_ns;
	uint64_t last = (end_ns - first_ns) / row_ns;
	uint64_t before = 0;

	for (; cell < last; cell++) {
		uint64_t weight = timestamps_get_weight_before(timestamps, timestamp,
							       first_ns + (cell + 1) * row_ns);

		grid->cells[cell] += weight - before;
		before = weight;
	}
	grid->cells[last] += timestamp->weight - before;
}

static void fill(struct time_grid *grid, const struct profile *profile,
		 const struct time_span *spans, const uint8_t *is_chosen)
{
	const struct timestamps *timestamps = profile_get_timestamps(profile);

	for (size_t i = 0; i < timestamps_count(timestamps); i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);
		uint32_t thread = profile_get_sample(profile, timestamp->sample)->thread;
		uint32_t source = profile_get_thread(profile, thread)->source;

		if (!is_chosen[timestamp->sample])
			continue;
		add_to_cells(grid, timestamps, timestamp, spans[source].first_ns);
		grid->timeless -= timestamp->weight;
	}
}

int time_grid_init(struct time_grid *grid, const struct session *session, uint32_t max_columns)
{
	const struct profile *profile = session_get_profile(session);
	const struct session_query *query = session_get_query(session);
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	_cleanup_free_ struct time_span *spans = NULL;
	_cleanup_(occurrences_release) struct occurrences occurrences = {0};
	_cleanup_free_ uint8_t *is_chosen = NULL;
	int err = times_find_spans(profile, &spans);

	*grid = (struct time_grid){0};
	if (err)
		return err;
	err = graph_find_fragment(session_get_graph(session), query->fragment,
				  query->fragment_length, &occurrences);
	if (err)
		return err;
	is_chosen = choose_samples(grid, session, &occurrences);
	choose_columns(grid, measure(grid, session, spans),
		       timestamps_get_resolution_ns(timestamps), max_columns);
	grid->cells = calloc((size_t)grid->num_columns * TIME_GRID_ROWS + 1, sizeof(*grid->cells));
	if (!is_chosen || !grid->cells) {
		time_grid_release(grid);
		return -ENOMEM;
	}
	fill(grid, profile, spans, is_chosen);
	return 0;
}

void time_grid_release(struct time_grid *grid)
{
	free(grid->cells);
	*grid = (struct time_grid){0};
}
