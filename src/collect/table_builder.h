/*
 * Worker threads that build unwind tables, the most wanted file first, so that neither sampling nor
 * the reading of process events waits for them.
 *
 * Functions are called from one thread, the owner's.
 */
#ifndef COLLECT_TABLE_BUILDER_H
#define COLLECT_TABLE_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "process/file_table.h"
#include "unwind/table_cache.h"
#include "unwind/unwind_table.h"

struct table_builder;

struct table_builder_opts {
	unsigned int num_threads;
	/* Borrowed; tables of files that no ordinary user can write are taken from it and put into
	   it. NULL: none */
	struct table_cache *cache;
	/* Called by a worker thread with each table before it is handed over; NULL: nothing. */
	void (*on_table)(const struct unwind_table *table, void *context);
	void *context;
};

/*
 * Starts the threads.
 *
 * Returns 0 or negative errno.
 */
_must_check_ int table_builder_new(const struct table_builder_opts *opts,
				   struct table_builder **ret);
/* Lets running builds end; what waits is not begun. */
void table_builder_free(struct table_builder *builder);

/* Ask for the table of a file that is open. Returns 0 or negative errno. */
_must_check_ int table_builder_add(struct table_builder *builder, uint32_t file,
				   const struct mapped_file *mapped);

/* The file is wanted once more: it moves ahead of those that are wanted less. */
void table_builder_want(struct table_builder *builder, uint32_t file);

/*
 * Take one finished table, which is the caller's then; NULL where the file is not ELF or not of
 * this machine. Returns false when none is finished.
 */
bool table_builder_take(struct table_builder *builder, uint32_t *ret_file,
			struct unwind_table **ret_table);

/* Readable when something is finished. */
int table_builder_get_fd(const struct table_builder *builder);

/* How long the threads have worked on tables, waiting included, summed over them. */
uint64_t table_builder_get_wall_ns(struct table_builder *builder);

/* Wait until something is finished. Returns false when nothing is asked for any more. */
bool table_builder_wait(struct table_builder *builder);

#endif
