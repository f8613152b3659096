/*
 * The executable mappings of one process image: sorted by address, never overlapping.
 *
 * The kernel reports what is mapped but not what is unmapped, so a newer mapping simply
 * takes its range away from the older ones.
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

struct mapping_list {
	ARRAY(struct mapping) sorted; /* by start */
};

void mapping_list_release(struct mapping_list *list);

/*
 * Add a mapping (start < end); what it overlaps is trimmed, split or dropped. One that says
 * nothing new, because an older one holds all its bytes at the same place of the same file, changes
 * nothing.
 *
 * ret_is_changed   whether the list changed
 *
 * Returns 0, or -ENOMEM (nothing changed).
 */
_must_check_ int mapping_list_add(struct mapping_list *list, const struct mapping *mapping,
				  bool *ret_is_changed);

/* Make list (empty before) a copy of other. Returns 0 or -ENOMEM. */
_must_check_ int mapping_list_copy(struct mapping_list *list, const struct mapping_list *other);

bool mapping_list_equals(const struct mapping_list *a, const struct mapping_list *b);

/* The mapping that holds pc, or NULL; borrowed until the list changes. */
const struct mapping *mapping_list_find(const struct mapping_list *list, uint64_t pc);

#endif
