#include "formats/folded/label_order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/folded/sort.h"

/* Labels whose inner rank waits for those that sort before it, the longest at the end. */
struct label_ranking {
	struct label_order *order;
	const struct folded_entry *entries;
	ARRAY(uint32_t) waiting; /* indexes of entries */
};

static void rank_waiting(struct label_ranking *ranking)
{
	struct label_order *order = ranking->order;
	uint32_t entry = ranking->waiting.items[--ranking->waiting.length];
	uint32_t label = ranking->entries[entry].line;

	order->ranks[label].inner = ++order->num_ranks;
	order->labels[order->num_ranks] = label;
}

/* Whether the waiting label and `;` sort before another label, which sorts behind the label alone. */
static bool goes_before(const struct folded_entry *waiting, const struct folded_entry *other)
{
	return other->length <= waiting->length || other->stack[waiting->length] > ';' ||
	       memcmp(other->stack, waiting->stack, waiting->length) != 0;
}

static int rank_label(struct label_ranking *ranking, uint32_t entry)
{
	struct label_order *order = ranking->order;
	uint32_t label = ranking->entries[entry].line;
	uint32_t *added;

	while (ranking->waiting.length &&
	       goes_before(&ranking->entries[ranking->waiting.items[ranking->waiting.length - 1]],
			   &ranking->entries[entry]))
		rank_waiting(ranking);
	order->ranks[label].last = ++order->num_ranks;
	order->labels[order->num_ranks] = label;
	added = array_add(&ranking->waiting);
	if (!added)
		return -ENOMEM;
	*added = entry;
	return 0;
}

static int rank_all(struct label_ranking *ranking, uint32_t count)
{
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++)
		err = rank_label(ranking, i);
	while (!err && ranking->waiting.length)
		rank_waiting(ranking);
	array_release(&ranking->waiting);
	return err;
}

int label_order_init(struct label_order *order, const struct string_table *labels)
{
	uint32_t count = string_table_get_count(labels);
	_cleanup_free_ struct folded_entry *entries = calloc((size_t)count + 1, sizeof(*entries));
	struct label_ranking ranking = {.order = order, .entries = entries};

	*order = (struct label_order){
		.ranks = calloc((size_t)count + 1, sizeof(*order->ranks)),
		.labels = calloc(2 * (size_t)count + 1, sizeof(*order->labels)),
	};
	if (!entries || !order->ranks || !order->labels || count > UINT32_MAX / 2 - 1)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		entries[i] = (struct folded_entry){
			.stack = (const uint8_t *)string_table_get(labels, i),
			.length = (uint32_t)string_table_get_length(labels, i),
			.line = i,
		};
	folded_sort(entries, count);
	return rank_all(&ranking, count);
}

void label_order_release(struct label_order *order)
{
	free(order->ranks);
	free(order->labels);
	*order = (struct label_order){0};
}
