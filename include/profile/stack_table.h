/*
 * Interned stacks: a prefix tree. A stack is its innermost level plus the id of the stack that
 * called it. Stacks with a common outer part share it.
 *
 * Levels are plain 32-bit numbers; their meaning (locations, names) is the owner's matter.
 */
#ifndef PROFILE_STACK_TABLE_H
#define PROFILE_STACK_TABLE_H

#include <stdint.h>

#include "base/attributes.h"

/* The stack without levels; every outermost level has it as parent. */
#define STACK_EMPTY 0u

struct stack_table;

struct stack_node {
	uint32_t parent; /* always a smaller id than the stack's own */
	uint32_t level;  /* the innermost one */
};

struct stack_table *stack_table_new(void); /* NULL when out of memory */
void stack_table_free(struct stack_table *table);

/*
 * The stack that has `level` called from `parent`.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int stack_table_add(struct stack_table *table, uint32_t parent, uint32_t level,
				 uint32_t *ret);

/*
 * The same for a stack that the caller knows is not in the table yet, without a search: stacks read
 * from sorted text need no hash.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int stack_table_add_new(struct stack_table *table, uint32_t parent, uint32_t level,
				     uint32_t *ret);

/*
 * Prepare for many lookups of stacks, best in about the order of adding.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int stack_table_settle(struct stack_table *table);

/*
 * The stack that has `level` called from `parent`, if it was in the table when that was last
 * settled, or STACK_EMPTY. A stack added since then may be found or not.
 */
uint32_t stack_table_find(const struct stack_table *table, uint32_t parent, uint32_t level);

/* Free memory that only lookups need; it is rebuilt when needed. */
void stack_table_trim(struct stack_table *table);

/* The innermost level of a stack that is not empty. */
uint32_t stack_table_get_level(const struct stack_table *table, uint32_t stack);
/* The stack without its innermost level. Always a smaller id than the stack's own. */
uint32_t stack_table_get_parent(const struct stack_table *table, uint32_t stack);
/*
 * All stacks by id, for walks over many of them. Node 0 is the empty stack. Borrowed until a stack
 * is added.
 */
const struct stack_node *stack_table_get_nodes(const struct stack_table *table);
/* Ids run from 0 (the empty stack) to this number minus 1. */
uint32_t stack_table_get_count(const struct stack_table *table);

#endif
