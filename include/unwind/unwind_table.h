/*
 * The unwind table of one objfile: for each of its code addresses the rule that leads to the
 * calling frame, in the form that the sampling program reads (wire/unwind.h).
 *
 * A table does not change once it is made; any number of threads may read it.
 */
#ifndef UNWIND_UNWIND_TABLE_H
#define UNWIND_UNWIND_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/error.h"
#include "objfile/objfile.h"
#include "wire/unwind.h"

/* Text that one table can describe: 4 GiB from the lowest function on. */
#define UNWIND_TABLE_MAX_PAGES 65536u

struct unwind_statistics {
	uint64_t num_functions;        /* entries that rows were made from */
	uint64_t num_malformed;        /* entries left out because they are broken */
	uint64_t num_outside;          /* entries left out: not in the file's code */
	uint64_t num_unsupported_rows; /* before equal neighbours are merged */
	uint64_t num_spilled_rows;     /* of these: their rule found no room in the dictionary */
	uint64_t num_lost_registers;   /* rows with a register that no rule can follow */
	uint64_t input_bytes;          /* of call-frame information */
	uint64_t covered_bytes;        /* of code, by functions */
	uint64_t text_bytes;           /* of code, in all */
	uint64_t build_ns;             /* CPU time of the thread */
};

/* A function some of whose rows are UNWIND_CFA_UNSUPPORTED. */
struct unwind_unsupported {
	uint64_t elf_address; /* of the function */
	uint64_t num_rows;
};

/*
 * All read-only. Rows are in order of address, those of a page together; first_row of a page counts
 * from `rows`. A row holds to the next one, the last of a page to the page's end.
 */
struct unwind_table {
	struct unwind_page *pages;
	struct unwind_row *rows;
	struct unwind_rule *rules; /* [0] is UNWIND_CFA_NONE */
	uint64_t first_page; /* pages[0] begins at ELF address first_page << UNWIND_PAGE_SHIFT */
	uint32_t num_pages;
	uint32_t num_rows;
	uint32_t num_rules; /* at most 65535 */
	/* By address; empty in a table from the cache. */
	ARRAY(struct unwind_unsupported) unsupported;
	struct unwind_statistics statistics;
};

/*
 * Build the table from .eh_frame; for functions that it does not know from .debug_frame, then from
 * the table that Go programs carry, and then from the code itself, where its instructions prove it.
 *
 * objfile  borrowed for the call. What is read of it stays in memory until its last unref, so
 *          that a builder had better open one of its own.
 * ret      the caller frees it. A file of which nothing is known gives a table without pages.
 *
 * - Where functions overlap, a later start ends the one before; of two with the same start the one
 *   that comes first in the file stays.
 * - Up to 64 bytes between two functions are padding: they keep the rule before them.
 * - Where nothing describes the entry point of a program, 64 bytes from there are outermost frames.
 *
 * Returns 0, -ENOTSUP (not x86-64) or -ENOMEM. Broken entries are counted and left out.
 */
_must_check_ int unwind_table_new(struct objfile *objfile, struct unwind_table **ret,
				  struct error *error);
void unwind_table_free(struct unwind_table *table); /* NULL is fine */
static inline void unwind_table_freep(struct unwind_table **table)
{
	unwind_table_free(*table);
}

/*
 * The rule at the address, found as the sampling program does. For a return address pass 1 less, so
 * that the call is looked up, which may be the last instruction of its function.
 *
 * Returns 0 or -ENOENT (no call-frame information there).
 */
_must_check_ int unwind_table_find(const struct unwind_table *table, uint64_t elf_address,
				   struct unwind_rule *ret);

/*
 * Whether the table has the properties above, and every value is one of wire/unwind.h, so that a
 * walk cannot read outside of it. Tables of unwind_table_new() are valid.
 */
bool unwind_table_is_valid(const struct unwind_table *table);

/* False: nothing is known of the file's code; it may have been built with frame pointers. */
static inline bool unwind_table_has_rows(const struct unwind_table *table)
{
	return table->num_rows != 0;
}

/* Bytes of pages, rows and rules. */
static inline uint64_t unwind_table_get_size_bytes(const struct unwind_table *table)
{
	return (uint64_t)table->num_pages * sizeof(*table->pages) +
	       (uint64_t)table->num_rows * sizeof(*table->rows) +
	       (uint64_t)table->num_rules * sizeof(*table->rules);
}

#endif
