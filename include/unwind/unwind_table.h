/*
 * The unwind table of one objfile: the rule that finds the calling frame, for each code address, in
 * the format of the BPF sampler (wire/unwind.h).
 *
 * A table is immutable; any number of threads may read it.
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

/* Text that one table can describe: 4 GiB from the lowest function up. */
#define UNWIND_TABLE_MAX_PAGES 65536u

struct unwind_statistics {
	uint64_t num_functions; /* entries that rows were made from */
	uint64_t num_malformed; /* entries skipped because they are malformed */
	uint64_t num_outside;   /* entries skipped because they are outside the file's code */
	uint64_t num_unsupported_rows; /* before equal neighbours are merged */
	uint64_t num_spilled_rows;     /* of these, rows whose rule did not fit in the dictionary */
	uint64_t num_lost_registers;   /* rows with a register that no rule can follow */
	uint64_t input_bytes;          /* of call-frame information */
	uint64_t covered_bytes;        /* of code, by functions */
	uint64_t text_bytes;           /* of code, in all */
	uint64_t build_ns;             /* CPU time of the thread */
};

/* A function with rows that are UNWIND_CFA_UNSUPPORTED. */
struct unwind_unsupported {
	uint64_t elf_address; /* of the function */
	uint64_t num_rows;
};

/*
 * Read-only. Rows are in order of address, grouped by page; first_row of a page is an index into
 * `rows`. A row holds up to the next row; the last row of a page holds up to the page's end.
 */
struct unwind_table {
	struct unwind_page *pages;
	struct unwind_row *rows;
	struct unwind_rule *rules; /* [0] is UNWIND_CFA_NONE */
	uint64_t first_page; /* pages[0] starts at ELF address first_page << UNWIND_PAGE_SHIFT */
	uint32_t num_pages;
	uint32_t num_rows;
	uint32_t num_rules; /* at most 65535 */
	/* By address; empty in a table from the cache. */
	ARRAY(struct unwind_unsupported) unsupported;
	struct unwind_statistics statistics;
};

/*
 * Build the table from .eh_frame. Other functions are taken from .debug_frame, then from Go's
 * function table, and last from the code itself, if its instructions prove the rules.
 *
 * objfile  borrowed for the call. Data read from it stays in memory until its last unref, so open a
 *          separate one for building.
 * ret      the caller frees it. Without any information, the table has no pages.
 *
 * - If functions overlap, a later start ends the previous function; of two with the same start the
 *   first one in the file wins.
 * - Up to 64 bytes between two functions are padding, and keep the rule before them.
 * - If nothing describes the entry point of a program, the 64 bytes from there on are outermost
 *   frames.
 *
 * Returns 0, -ENOTSUP (another architecture) or -ENOMEM. Malformed entries are counted and skipped.
 */
_must_check_ int unwind_table_new(struct objfile *objfile, struct unwind_table **ret,
				  struct error *error);
void unwind_table_free(struct unwind_table *table); /* NULL is fine */
static inline void unwind_table_freep(struct unwind_table **table)
{
	unwind_table_free(*table);
}

/*
 * The rule at the address, by the same lookup as the BPF sampler. For a return address pass it
 * minus 1, to look up the call, which may be the last instruction of its function.
 *
 * Returns 0 or -ENOENT (no call-frame information there).
 */
_must_check_ int unwind_table_find(const struct unwind_table *table, uint64_t elf_address,
				   struct unwind_rule *ret);

/*
 * Whether the table has the properties above, and every value is defined in wire/unwind.h, so that
 * a walk cannot read outside of it. Tables of unwind_table_new() are valid.
 */
bool unwind_table_is_valid(const struct unwind_table *table);

/* False: the file's code has no unwind information; it may have been built with frame pointers. */
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
