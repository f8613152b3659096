/*
 * Messages by id. Producers count their ids from 1. Then an array by id is the smallest and fastest
 * table; but the format allows any 64 bits. If the largest id is far above the number of messages,
 * the ids are sorted and searched instead. So a small file cannot ask for much memory.
 */
#include <errno.h>

#include "formats/pprof/read.h"

/* Ids that are at most so many times the number of messages index an array. */
#define DENSE_FACTOR 2
#define FIELD_ID     1 /* of mapping, location and function alike */

struct pprof_place {
	uint64_t id;
	uint32_t place;
};

/* A message without id has the id 0, which nothing may refer to. */
static bool read_id(struct bytes message, uint64_t *ret)
{
	struct protobuf_field field;

	*ret = 0;
	while (protobuf_next(&message, &field)) {
		if (field.number == FIELD_ID && field.type == PROTOBUF_VARINT) {
			*ret = field.value;
			return true;
		}
	}
	return !message.failed;
}

bool pprof_table_count(struct pprof_table *table, struct bytes message)
{
	uint64_t id;

	if (!read_id(message, &id))
		return false;
	if (id > table->max_id)
		table->max_id = id;
	table->count++;
	return true;
}

int pprof_table_reserve(struct pprof_table *table)
{
	bool is_dense = table->max_id <= (uint64_t)table->count * DENSE_FACTOR;

	table->offsets = calloc((size_t)table->count + 1, sizeof(*table->offsets));
	if (is_dense)
		table->places = calloc(table->max_id + 1, sizeof(*table->places));
	else
		table->sorted = calloc((size_t)table->count + 1, sizeof(*table->sorted));
	return table->offsets && (table->places || table->sorted) ? 0 : -ENOMEM;
}

void pprof_table_add(struct pprof_table *table, uint32_t place, struct bytes message, size_t offset)
{
	uint64_t id;

	(void)read_id(message, &id); /* it could be read before */
	table->offsets[place] = (uint32_t)offset;
	if (table->sorted)
		table->sorted[place] = (struct pprof_place){.id = id, .place = place};
	/*
	 * The first of two messages with one id counts, as in the sorted table, where it is found
	 * first.
	 */
	else if (!table->places[id])
		table->places[id] = place + 1;
}

static int compare_places(const void *left, const void *right)
{
	const struct pprof_place *a = left;
	const struct pprof_place *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

void pprof_table_finish(struct pprof_table *table)
{
	if (table->sorted)
		qsort(table->sorted, table->count, sizeof(*table->sorted), compare_places);
}

void pprof_table_release(struct pprof_table *table)
{
	free(table->offsets);
	free(table->places);
	free(table->sorted);
	*table = (struct pprof_table){0};
}

bool pprof_table_find(const struct pprof_table *table, uint64_t id, uint32_t *ret_place)
{
	size_t place;

	if (!id || id > table->max_id)
		return false;
	if (table->places) {
		*ret_place = table->places[id] - 1;
		return table->places[id] != 0;
	}
	place = count_front(table->sorted, table->count, item, item->id < id);
	if (place == table->count || table->sorted[place].id != id)
		return false;
	*ret_place = table->sorted[place].place;
	return true;
}
