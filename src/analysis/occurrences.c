/*
 * A single pass from the root down, whatever the depth. Every node continues from its parent's
 * state, the number of the sequence's names matched there, as Knuth, Morris and Pratt search a
 * text. A tree is a text that branches.
 */
#include "analysis/occurrences.h"

#include <errno.h>
#include <stdlib.h>

#define NO_STATE UINT32_MAX
#define ROOT     0u

/*
 * After a match of the first `state` names, followed by another name than the next one, continue as
 * if nexts[state] of them had matched. States with the same next name are skipped, so that few
 * steps are needed at one node.
 */
static void prepare_states(const uint32_t *names, uint32_t num_names, uint32_t *nexts)
{
	uint32_t border = NO_STATE;

	nexts[0] = NO_STATE;
	for (uint32_t state = 0; state < num_names;) {
		while (border != NO_STATE && names[state] != names[border])
			border = nexts[border];
		state++;
		border++; /* NO_STATE becomes 0 */
		nexts[state] =
			state < num_names && names[state] == names[border] ? nexts[border] : border;
	}
}

/*
 * Nodes follow their parents, so the parent's state is known. A matched sequence may start again
 * within itself, as "a;b;a" in "a;b;a;b;a": state num_names continues from its longest border.
 */
int occurrences_init(struct occurrences *occurrences, const struct named_tree *tree,
		     const uint32_t *names, size_t num_names)
{
	_cleanup_free_ uint32_t *nexts = calloc(num_names + 1, sizeof(*nexts));
	_cleanup_free_ uint32_t *states = calloc(tree->num_nodes, sizeof(*states));

	occurrences->first_ends = calloc(tree->num_nodes, sizeof(*occurrences->first_ends));
	occurrences->is_end = calloc(tree->num_nodes, sizeof(*occurrences->is_end));
	if (!nexts || !states || !occurrences->first_ends || !occurrences->is_end ||
	    num_names >= NO_STATE)
		return -ENOMEM;
	if (!num_names)
		return 0;
	prepare_states(names, (uint32_t)num_names, nexts);
	for (uint32_t node = 1; node < tree->num_nodes; node++) {
		uint32_t parent = tree->parents[node];
		uint32_t name = tree->get_name(tree->context, node);
		uint32_t state = states[parent];

		while (state != NO_STATE && (state == num_names || names[state] != name))
			state = nexts[state];
		states[node] = ++state; /* NO_STATE becomes 0 */
		occurrences->is_end[node] =
			state == num_names &&
			(!tree->confirms || tree->confirms(tree->context, node));
		occurrences->first_ends[node] = occurrences->first_ends[parent];
		if (occurrences->first_ends[node] == ROOT && occurrences->is_end[node])
			occurrences->first_ends[node] = node;
	}
	return 0;
}

void occurrences_release(struct occurrences *occurrences)
{
	free(occurrences->first_ends);
	free(occurrences->is_end);
	*occurrences = (struct occurrences){0};
}

/*
 * From the leaves up. A node at the end of an occurrence keeps its weight: nodes above belong to
 * the occurrence around it.
 */
void occurrences_add_up(const bool *is_end, const uint32_t *parents, uint32_t num_nodes,
			uint64_t *weights)
{
	for (uint32_t node = num_nodes; node-- > 1;)
		if (!is_end || !is_end[node])
			weights[parents[node]] += weights[node];
}
