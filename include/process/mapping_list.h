/*
 * The executable mappings of one process image: sorted by address, never overlapping.
 *
 * The kernel reports mmap() but not munmap(), so a newer mapping replaces older ones in its range,
 * and a mapping that was only unmapped stays.
 */
#ifndef PROCESS_MAPPING_LIST_H
#define PROCESS_MAPPING_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"

/* Executable mapping. */
struct mapping {
	uint64_t start;
	uint64_t end;         /* first byte after it */
	uint64_t file_offset; /* of start, in bytes; 0 where no file backs it */
	uint32_t file;        /* number in the file table, or FILE_NONE */
};

/* Lists that were inherited share their mappings until one of them changes. */
struct mapping_list {
	ARRAY(struct mapping) sorted; /* by start */
	uint32_t *num_refs;           /* lists with these mappings; NULL: this one alone */
};

void mapping_list_release(struct mapping_list *list);

/*
 * Add a mapping (start < end); mappings that it overlaps are trimmed, split or dropped. Nothing
 * changes if an older mapping has the same part of the same file at these addresses.
 *
 * ret_is_changed   whether the list changed
 *
 * Returns 0, or -ENOMEM (nothing changed).
 */
_must_check_ int mapping_list_add(struct mapping_list *list, const struct mapping *mapping,
				  bool *ret_is_changed);

/*
 * Give list (empty before) the mappings of other. They are not copied: who forks thousands of times
 * with thousands of mappings must not fill our memory. Returns 0 or -ENOMEM.
 */
_must_check_ int mapping_list_share(struct mapping_list *list, struct mapping_list *other);

bool mapping_list_equals(const struct mapping_list *a, const struct mapping_list *b);

/* Whether any mapping lies in this range, at least in part. */
bool mapping_list_overlaps(const struct mapping_list *list, uint64_t start, uint64_t end);

/* The mapping that holds pc, or NULL; borrowed until the list changes. */
const struct mapping *mapping_list_find(const struct mapping_list *list, uint64_t pc);

#endif
