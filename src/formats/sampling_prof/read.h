/*
 * SamplingProf's tables (write.c shows them) hold no stacks, only counts of elements and of calls between them. read.c reads
 * the tables; read_tree.c and read_paths.c rebuild stacks that fit them.
 */
#ifndef FORMATS_SAMPLING_PROF_READ_H
#define FORMATS_SAMPLING_PROF_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/intern.h"
#include "formats/reader.h"
#include "formats/slice.h"

#define NO_CALLER UINT32_MAX
#define NOT_FOUND UINT32_MAX

enum prof_table { TABLE_RUNTIME, TABLE_ELEMENTS, TABLE_COUNTS, TABLE_CALLS, NUM_TABLES };

struct sampling_prof_element {
	uint64_t id;
	uint32_t location;
	bool has_counts;
	bool is_in_tree;
	uint64_t self;
	uint64_t total;
	uint64_t recursions; /* samples in which it called itself */
	uint64_t explained;  /* of the total: own samples and those of callees in the tree */
	uint64_t called;     /* by others */
	uint32_t stack;
	uint32_t caller;     /* in the tree; NO_CALLER */
	uint32_t first_call; /* of the calls it makes, when they are sorted by caller */
};
INTERN_TABLE(sampling_prof_element_table, struct sampling_prof_element, id);

/* A call between two different elements. */
struct call {
	uint32_t from; /* NO_CALLER: outermost */
	uint32_t to;
	uint64_t count;
};

struct sampling_prof_reader {
	struct import *import;
	struct lines lines;
	enum prof_table table;
	uint32_t metric;
	uint32_t thread;
	uint64_t runtime_ms;
	struct sampling_prof_element_table elements;
	ARRAY(struct call) calls; /* those of each caller together, and those of the root last */
	uint32_t first_root;
	ARRAY(uint32_t) heap;  /* calls that leave the tree, the most frequent first */
	ARRAY(uint32_t) order; /* elements in order of joining the tree */
};

/*
 * Give every element one stack, in a tree of the most frequent calls, and its samples to that.
 * *ret_is_exact: the totals and calls of the stacks are those of the file. The samples are added by
 * sampling_prof_add_tree(). Both return 0 or -ENOMEM, the latter also -EOVERFLOW with the import's error.
 */
_must_check_ int sampling_prof_grow_tree(struct sampling_prof_reader *reader, bool *ret_is_exact);
_must_check_ int sampling_prof_add_tree(struct sampling_prof_reader *reader);

/*
 * Give elements that have several callers a stack for each way to them, and add their samples: totals and calls are those of
 * the file. *ret_is_done is false, and nothing is added, if these do not fit together, or go in
 * circles. Returns as sampling_prof_add_tree().
 */
_must_check_ int sampling_prof_add_paths(struct sampling_prof_reader *reader, bool *ret_is_done);

#endif
