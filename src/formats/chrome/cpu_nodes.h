/*
 * CPU profiles of V8, as .cpuprofile files and traces of Chrome have them: a tree of nodes, each a
 * function, and a list of samples, each the number of a node and the microseconds since the sample
 * before. In a trace both are split into chunks.
 *
 * Two metrics: the number of samples, and the time, which is that up to the next sample. V8 does
 * not write samples in order of time: the microseconds may be below 0. The last one lasts until the
 * end, but no longer than any other one did. The root is no frame; (program), (idle) and (garbage
 * collector) are.
 */
#ifndef FORMATS_CHROME_CPU_NODES_H
#define FORMATS_CHROME_CPU_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/hash.h"
#include "base/json.h"
#include "formats/import.h"

struct chrome_cpu_node {
	uint64_t id;
	uint64_t parent_id;
	uint64_t hit_count; /* as reported by the node itself */
	uint64_t samples;   /* samples read */
	uint64_t time_us;
	uint32_t location;
	uint32_t parent;
	uint32_t stack; /* known when has_stack */
	bool has_parent;
	bool is_root;
	bool has_stack;
	bool is_open; /* while those of its parents are built */
};

struct chrome_cpu_child {
	uint64_t id;
	uint32_t parent;
};

struct chrome_cpu_hit {
	uint64_t time_us;     /* since the epoch of start_us */
	uint64_t duration_us; /* up to the next one */
	uint32_t node;        /* UINT32_MAX: of an unknown node */
	uint32_t order;       /* in the file; samples may be in another than that of time */
};

/* Zeroed at first, but for `import`. */
struct chrome_cpu_nodes {
	struct import *import;
	uint64_t start_us;
	uint64_t end_us;  /* 0: not known */
	bool has_samples; /* there was a list of them */
	bool has_hits;    /* a node reports its own number of hits */
	bool has_frames;  /* a node has a call frame */

	/* Private. */
	ARRAY(struct chrome_cpu_node) nodes;
	ARRAY(struct chrome_cpu_child) children;
	ARRAY(uint32_t) path;
	ARRAY(struct chrome_cpu_hit) hits;
	struct hash_index index; /* by id */
	int64_t passed_us;       /* since the start; a clock may have gone back */
	struct text name;
	struct text url;
};

void chrome_cpu_nodes_release(struct chrome_cpu_nodes *nodes);

/* Offsets of the lists of samples in the input; 0: not found. */
struct chrome_cpu_sample_lists {
	size_t samples;
	size_t deltas;
};

/*
 * After a key of a profile's object, or of a chunk's: take its value, more nodes among them, or
 * skip it. Returns 0, -ENOMEM, or -EBADMSG with the offset.
 */
_must_check_ int chrome_cpu_nodes_read_member(struct chrome_cpu_nodes *nodes, struct json *json,
					      struct chrome_cpu_sample_lists *lists);

/* After the key `callFrame`: name and url, into `nodes`, and the line, from 1; 0: unknown. */
uint64_t chrome_cpu_nodes_read_call_frame(struct chrome_cpu_nodes *nodes, struct json *json);
/* The location of the function that `nodes` has name and url of. Returns 0 or -ENOMEM. */
_must_check_ int chrome_cpu_nodes_add_location(struct chrome_cpu_nodes *nodes, uint64_t line,
					       uint32_t *ret);

/*
 * A node that something else has read. parent_id  NULL: it has none. Returns 0, -ENOMEM, or
 * -EBADMSG: its id is another one's, and the import is strict.
 */
_must_check_ int chrome_cpu_nodes_add(struct chrome_cpu_nodes *nodes, uint64_t id,
				      const uint64_t *parent_id, uint32_t location, size_t offset);

/* When all nodes are there: the stacks that they are. Returns 0 or -ENOMEM. */
_must_check_ int chrome_cpu_nodes_build_stacks(struct chrome_cpu_nodes *nodes);
/* After that. False: there is no such node. */
bool chrome_cpu_nodes_find_stack(const struct chrome_cpu_nodes *nodes, uint64_t id, uint32_t *ret);

/* More samples, if any, of nodes that have been read. Returns 0, -ENOMEM, or -EBADMSG with the
 * position. */
_must_check_ int chrome_cpu_nodes_read_samples(struct chrome_cpu_nodes *nodes,
					       const struct chrome_cpu_sample_lists *lists);

/* Add a sample at a time. id  of its node; NULL: the file has no number there. Returns as above. */
_must_check_ int chrome_cpu_nodes_add_hit(struct chrome_cpu_nodes *nodes, const uint64_t *id,
					  uint64_t time_us, size_t offset);

/* When all is read: put it into the profile. Returns 0, -ENOMEM, or -EBADMSG: an overflow. */
_must_check_ int chrome_cpu_nodes_finish(struct chrome_cpu_nodes *nodes, uint32_t thread);

#endif
