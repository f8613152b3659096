#include "profile/stack_table.h"

#include <errno.h>

#include "base/array.h"
#include "base/hash.h"

struct node {
	uint32_t parent;
	uint32_t level;
};

struct stack_table {
	ARRAY(struct node) nodes;
	struct hash_index index;
};

struct stack_table *stack_table_new(void)
{
	struct stack_table *table = calloc(1, sizeof(*table));

	if (table && !array_add(&table->nodes)) { /* node 0: the empty stack */
		free(table);
		return NULL;
	}
	return table;
}

void stack_table_free(struct stack_table *table)
{
	if (!table)
		return;
	array_release(&table->nodes);
	hash_index_release(&table->index);
	free(table);
}

static bool is_node(const void *owner, uint32_t item, const void *key)
{
	const struct stack_table *table = owner;
	const struct node *wanted = key;

	return table->nodes.items[item].parent == wanted->parent &&
	       table->nodes.items[item].level == wanted->level;
}

int stack_table_add(struct stack_table *table, uint32_t parent, uint32_t level, uint32_t *ret)
{
	struct node wanted = {parent, level};
	uint64_t hash = hash_mix(hash_mix(0, parent), level);
	uint32_t id = hash_index_find(&table->index, hash, is_node, table, &wanted);
	struct node *node;

	if (id != HASH_INDEX_NONE) {
		*ret = id;
		return 0;
	}
	node = array_add(&table->nodes);
	if (!node)
		return -ENOMEM;
	*node = wanted;
	id = (uint32_t)(table->nodes.length - 1);
	if (hash_index_add(&table->index, hash, id)) {
		table->nodes.length--;
		return -ENOMEM;
	}
	*ret = id;
	return 0;
}

uint32_t stack_table_get_level(const struct stack_table *table, uint32_t stack)
{
	return table->nodes.items[stack].level;
}

uint32_t stack_table_get_parent(const struct stack_table *table, uint32_t stack)
{
	return table->nodes.items[stack].parent;
}

uint32_t stack_table_get_count(const struct stack_table *table)
{
	return (uint32_t)table->nodes.length;
}
