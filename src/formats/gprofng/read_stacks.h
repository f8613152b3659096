/*
 * The stacks of an experiment: data.frameinfo, with its addresses resolved.
 *
 * A packet names its stack by a number, a uid. The stack is a list of addresses, leaf first, which
 * may end in the uid of another: the rest, up to the root, is the same as there. So stacks form a
 * tree, and each part of it is made once.
 */
#ifndef FORMATS_GPROFNG_READ_STACKS_H
#define FORMATS_GPROFNG_READ_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/intern.h"
#include "formats/gprofng/read_files.h"
#include "formats/gprofng/read_java.h"
#include "formats/gprofng/read_log.h"
#include "formats/gprofng/read_map.h"

/* A list of addresses, or of Java methods. */
struct gprofng_chain {
	uint64_t uid;
	uint64_t link;   /* uid of the next part, rootward; 0: none */
	uint32_t offset; /* of the first element in the file */
	uint32_t size;   /* in bytes */
	bool is_java;
	bool is_made;
	uint16_t depth; /* frames, with those of the link */
	uint32_t epoch; /* of the map, for which it was made */
	uint32_t stack; /* in the profile */
};
INTERN_TABLE(gprofng_chain_table, struct gprofng_chain, is_java, uid);

/* The chains of a packet's number. */
struct gprofng_stack {
	uint64_t uid;
	uint64_t native; /* uids of chains; 0: none */
	uint64_t java;
};
INTERN_TABLE(gprofng_stack_table, struct gprofng_stack, uid);

/* Zeroed at first. */
struct gprofng_stacks {
	struct import *import;
	const struct gprofng_log *log;
	struct gprofng_map *map;
	struct gprofng_java *java;
	uint32_t process; /* of the profile */
	struct gprofng_file file;
	struct gprofng_chain_table chains;
	struct gprofng_stack_table stacks;
	ARRAY(uint32_t) path; /* chains on the way to the root */
	uint64_t work;        /* addresses looked up so far */
};

/*
 * import, log, map, java and process are set by the caller, and borrowed. Returns 0, -ENOMEM, or
 * -EBADMSG when the import is strict. Release in any case.
 */
_must_check_ int gprofng_stacks_read(struct gprofng_stacks *stacks,
				     const struct gprofng_file *file);
void gprofng_stacks_release(struct gprofng_stacks *stacks);

/*
 * The stack of a packet of that time; [unknown] for a uid that is not known. If a virtual machine
 * runs, the Java stack, as its user sees it. Returns 0 or -ENOMEM.
 */
_must_check_ int gprofng_stacks_find(struct gprofng_stacks *stacks, uint64_t uid, uint64_t time_ns,
				     uint32_t *ret);

#endif
