/*
 * Unwinds copied user stacks of an input (perf record --call-graph dwarf) by unwind tables, which
 * are built on first use.
 */
#ifndef CLI_FILES_STACK_WALKER_H
#define CLI_FILES_STACK_WALKER_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "formats/import.h"
#include "process/file_table.h"

struct stack_walker;

/*
 * files      by module; borrowed
 * find_file  called before the first use of a file, to add it to the table; 0 or -ENOMEM
 *
 * Returns NULL when out of memory.
 */
struct stack_walker *stack_walker_new(const struct file_table *files,
				      int (*find_file)(void *context, uint32_t module),
				      void *context);
void stack_walker_free(struct stack_walker *walker); /* NULL is fine */

/* As struct import's walk(). */
_must_check_ int stack_walker_walk(struct stack_walker *walker, const struct import_stack *stack,
				   uint64_t *pcs, size_t max_pcs, size_t *ret_num);

#endif
