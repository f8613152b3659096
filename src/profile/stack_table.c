/*
 * Stacks are looked up in one of two ways. A stack that was in the table when it was settled has a
 * list of the levels that it calls, in the order of the table. Lookups in about that order find
 * neighbours in memory. Stacks added since then are in a hash index.
 */
#include "profile/stack_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"

/* Ids are 32 bits wide, and the last is no id. */
#define MAX_STACK (HASH_INDEX_NONE - 1)
/* Longer lists are sorted by level. */
#define SHORT_LIST 8

struct stack_child {
	uint32_t level;
	uint32_t id;
};

struct stack_table {
	ARRAY(struct stack_node) nodes;
	struct hash_index index; /* of the nodes from num_settled to num_indexed */
	uint32_t num_indexed;
	uint32_t num_settled;  /* from 1: node 0 is never looked up */
	uint32_t *first_child; /* by settled node; its list ends at the start of the next one's */
	struct stack_child *children; /* lists of settled nodes */
};

struct stack_table *stack_table_new(void)
{
	struct stack_table *table = calloc(1, sizeof(*table));

	if (table && !array_add(&table->nodes)) { /* node 0: the empty stack */
		free(table);
		return NULL;
	}
	if (table)
		table->num_indexed = table->num_settled = 1;
	return table;
}

void stack_table_free(struct stack_table *table)
{
	if (!table)
		return;
	stack_table_trim(table);
	array_release(&table->nodes);
	free(table);
}

static bool is_node(const void *owner, uint32_t item, const void *key)
{
	const struct stack_table *table = owner;
	const struct stack_node *wanted = key;

	return table->nodes.items[item].parent == wanted->parent &&
	       table->nodes.items[item].level == wanted->level;
}

static uint64_t hash_node(const struct stack_node *node)
{
	return hash_mix(0, (uint64_t)node->parent << 32 | node->level);
}

/* Add the nodes that are missing in the index. */
static int index_rest(struct stack_table *table)
{
	int err = hash_index_reserve(&table->index, table->nodes.length - table->num_settled);

	if (err)
		return err;
	while (table->num_indexed < table->nodes.length) {
		const struct stack_node *node = &table->nodes.items[table->num_indexed];

		err = hash_index_add(&table->index, hash_node(node), table->num_indexed);
		if (err)
			return err;
		table->num_indexed++;
	}
	return 0;
}

static int compare_levels(const void *left, const void *right)
{
	const struct stack_child *a = left;
	const struct stack_child *b = right;

	return (a->level > b->level) - (a->level < b->level);
}

/*
 * Sort nodes by parent. While lists are filled, the list of node i starts at first[i + 1], which
 * finally is the start of the next one.
 */
static void fill_lists(const struct stack_table *table, uint32_t *first,
		       struct stack_child *children)
{
	uint32_t count = (uint32_t)table->nodes.length;
	const struct stack_node *nodes = table->nodes.items;

	for (uint32_t i = 1; i < count; i++)
		first[nodes[i].parent + 2]++;
	for (uint32_t i = 2; i <= count; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 1; i < count; i++)
		children[first[nodes[i].parent + 1]++] = (struct stack_child){nodes[i].level, i};
	for (uint32_t i = 0; i < count; i++)
		if (first[i + 1] - first[i] > SHORT_LIST)
			qsort(children + first[i], first[i + 1] - first[i], sizeof(*children),
			      compare_levels);
}

int stack_table_settle(struct stack_table *table)
{
	size_t count = table->nodes.length;
	struct stack_child *children;
	uint32_t *first;

	/* This limits the cost of frequent settling to a few times that of settling once. */
	if (count - table->num_settled < table->num_settled)
		return index_rest(table);
	first = calloc(count + 2, sizeof(*first));
	children = calloc(count, sizeof(*children));
	if (!first || !children) {
		free(first);
		free(children);
		return -ENOMEM;
	}
	stack_table_trim(table);
	fill_lists(table, first, children);
	table->first_child = first;
	table->children = children;
	table->num_settled = table->num_indexed = (uint32_t)count;
	return 0;
}

/*
 * Lists of more than SHORT_LIST are sorted by level and searched by halving until they are short.
 * The rest is compared one by one; for a list in order of ids that is the whole search.
 */
static uint32_t find_child(const struct stack_table *table, uint32_t parent, uint32_t level)
{
	const struct stack_child *list = table->children + table->first_child[parent];
	size_t length = table->first_child[parent + 1] - table->first_child[parent];

	while (length > SHORT_LIST) {
		size_t half = length / 2;

		if (list[half].level <= level) {
			list += half;
			length -= half;
		} else {
			length = half;
		}
	}
	for (size_t i = 0; i < length; i++)
		if (list[i].level == level)
			return list[i].id;
	return STACK_EMPTY;
}

uint32_t stack_table_find(const struct stack_table *table, uint32_t parent, uint32_t level)
{
	struct stack_node wanted = {parent, level};
	uint32_t id = STACK_EMPTY;

	if (table->children && parent < table->num_settled)
		id = find_child(table, parent, level);
	if (id != STACK_EMPTY || !table->index.num_items)
		return id;
	id = hash_index_find_inline(&table->index, hash_node(&wanted), is_node, table, &wanted);
	return id == HASH_INDEX_NONE ? STACK_EMPTY : id;
}

int stack_table_add(struct stack_table *table, uint32_t parent, uint32_t level, uint32_t *ret)
{
	int err = table->num_indexed < table->nodes.length ? index_rest(table) : 0;
	uint32_t id;

	if (err)
		return err;
	id = stack_table_find(table, parent, level);
	if (id == STACK_EMPTY)
		return stack_table_add_new(table, parent, level, ret);
	*ret = id;
	return 0;
}

int stack_table_add_new(struct stack_table *table, uint32_t parent, uint32_t level, uint32_t *ret)
{
	if (table->nodes.length > MAX_STACK ||
	    (table->nodes.length == table->nodes.capacity &&
	     array_reserve(&table->nodes, table->nodes.length + 1)))
		return -ENOMEM;
	*ret = (uint32_t)table->nodes.length;
	table->nodes.items[table->nodes.length++] = (struct stack_node){parent, level};
	return 0;
}

void stack_table_trim(struct stack_table *table)
{
	hash_index_release(&table->index);
	free(table->first_child);
	free(table->children);
	table->first_child = NULL;
	table->children = NULL;
	table->num_indexed = table->num_settled = 1;
}

uint32_t stack_table_get_level(const struct stack_table *table, uint32_t stack)
{
	return table->nodes.items[stack].level;
}

uint32_t stack_table_get_parent(const struct stack_table *table, uint32_t stack)
{
	return table->nodes.items[stack].parent;
}

const struct stack_node *stack_table_get_nodes(const struct stack_table *table)
{
	return table->nodes.items;
}

uint32_t stack_table_get_count(const struct stack_table *table)
{
	return (uint32_t)table->nodes.length;
}
