/*
 * The code of allocators that have probes, of each event and at each time. A call of an allocator
 * within another one's code, such as that of a preloaded library which passes malloc() on, is part
 * of a call that counts already.
 *
 * Thread-safe.
 */
#ifndef COLLECT_EVENTS_ALLOCATOR_CODE_H
#define COLLECT_EVENTS_ALLOCATOR_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

struct allocator_code;
struct probe_site;

/* NULL when out of memory. */
struct allocator_code *allocator_code_new(void);
void allocator_code_free(struct allocator_code *code); /* NULL is fine */

/*
 * The functions of a file that allocate have probes from now on.
 *
 * event     number of the event that counts them
 * sites     all of the file; borrowed for the call
 * since_ns  clock_now_ns(), when hits of the probes start to count; 0: always
 *
 * Returns 0 or negative errno.
 */
_must_check_ int allocator_code_add(struct allocator_code *code, size_t event,
				    const struct probe_site *sites, size_t num_sites,
				    uint64_t since_ns);
/* From this time on the file has no probes of the event. */
void allocator_code_end(struct allocator_code *code, size_t event, dev_t device, ino_t inode,
			uint64_t until_ns);

/* An offset in a file. */
struct code_place {
	dev_t device;
	ino_t inode;
	uint64_t offset;
};

enum allocator_part {
	ALLOCATOR_NONE,     /* not in a file with an allocator */
	ALLOCATOR_FILE,     /* elsewhere in such a file */
	ALLOCATOR_HELPER,   /* in code that one of its functions may jump to */
	ALLOCATOR_FUNCTION, /* in a function that allocates */
};

/* The part of an allocator that a place belongs to, if that had probes of the event at that time. */
enum allocator_part allocator_code_find(struct allocator_code *code, size_t event,
					const struct code_place *place, uint64_t time_ns);

#endif
