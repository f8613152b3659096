/*
 * Builds unwind tables in threads, so that neither sampling nor the reading of process events waits
 * for them. The file with the most requests is first. Each thread has a process without rights that
 * reads the files (elf_worker.h). Files of users other than root and us are queued behind those of
 * users that have taken less time. A file that takes long is built when nothing else waits.
 *
 * Functions are called from one thread, the owner's.
 */
#ifndef COLLECT_TABLES_TABLE_BUILDER_H
#define COLLECT_TABLES_TABLE_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/elf/elf_worker.h"
#include "process/file_table.h"
#include "unwind/table_cache.h"
#include "unwind/unwind_table.h"

struct table_builder;

struct table_builder_opts {
	unsigned int num_threads;
	uid_t user; /* whom the processes become, if we are root */
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
/* No more tables are needed: builds that are running are given up, and queued ones dropped. */
void table_builder_finish(struct table_builder *builder);
void table_builder_free(struct table_builder *builder);

/* Queue the table of a file, which stays open until the builder is freed. Returns 0 or negative errno. */
_must_check_ int table_builder_add(struct table_builder *builder, uint32_t file,
				   const struct mapped_file *mapped);

/* Add a request for a queued file: it moves ahead of those with fewer. */
void table_builder_request(struct table_builder *builder, uint32_t file);

/*
 * Take one finished table, which is the caller's then; NULL where the file is not ELF or not of
 * this machine. Returns false when none is finished.
 */
bool table_builder_take(struct table_builder *builder, uint32_t *ret_file,
			struct unwind_table **ret_table);

/* Readable when a table is finished. */
int table_builder_get_fd(const struct table_builder *builder);

/* CPU time and largest memory of the processes, summed; all of the memory after they have ended. */
struct elf_worker_cost table_builder_get_cost(const struct table_builder *builder);

/* How long the threads have worked on tables, waiting included, summed over them. */
uint64_t table_builder_get_wall_ns(struct table_builder *builder);

/*
 * Wait until a table is finished, or until this moment (clock_now_ns()). Returns false if no table
 * is ready then. Returns false at once if the tables left are all of files that took too long
 * before, or of users whose files did.
 */
bool table_builder_wait(struct table_builder *builder, uint64_t until_ns);

#endif
