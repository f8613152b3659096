#include "profile/stack_table.h"

#include <errno.h>

#include "base/array.h"
#include "base/hash.h"

/* Ids are 32 bits wide, and the last is no id. */
#define MAX_STACK (HASH_INDEX_NONE - 1)

struct node {
	uint32_t parent;
	uint32_t level;
};

struct stack_table {
	ARRAY(struct node) nodes;
	struct hash_index index; /* of the nodes below num_indexed */
	uint32_t num_indexed;
};

struct stack_table *stack_table_new(void)
{
	struct stack_table *table = calloc(1, sizeof(*table));

	if (table && !array_add(&table->nodes)) { /* node 0: the empty stack */
		free(table);
		return NULL;
	}
	if (table)
		table->num_indexed = 1; /* node 0 is never looked up */
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

static uint64_t hash_node(const struct node *node)
{
	return hash_mix(0, (uint64_t)node->parent << 32 | node->level);
}

/* Bring the index up to the nodes that were added without it. */
static int index_rest(struct stack_table *table)
{
	int err = hash_index_reserve(&table->index, table->nodes.length);

	while (!err && table->num_indexed < table->nodes.length) {
		const struct node *node = &table->nodes.items[table->num_indexed];

		err = hash_index_add(&table->index, hash_node(node), table->num_indexed);
		if (!err)
			table->num_indexed++;
	}
	return err;
}

int stack_table_add(struct stack_table *table, uint32_t parent, uint32_t level, uint32_t *ret)
{
	struct node wanted = {parent, level};
	uint32_t id;
	int err = table->num_indexed < table->nodes.length ? index_rest(table) : 0;

	if (err)
		return err;
	id = hash_index_find(&table->index, hash_node(&wanted), is_node, table, &wanted);
	if (id != HASH_INDEX_NONE) {
		*ret = id;
		return 0;
	}
	return stack_table_add_new(table, parent, level, ret);
}

int stack_table_add_new(struct stack_table *table, uint32_t parent, uint32_t level, uint32_t *ret)
{
	if (table->nodes.length > MAX_STACK ||
	    array_reserve(&table->nodes, table->nodes.length + 1))
		return -ENOMEM;
	*ret = (uint32_t)table->nodes.length;
	table->nodes.items[table->nodes.length++] = (struct node){parent, level};
	return 0;
}

void stack_table_trim(struct stack_table *table)
{
	hash_index_release(&table->index);
	table->num_indexed = 1;
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
