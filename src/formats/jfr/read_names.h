/*
 * Threads and stacks of a flight recording's chunk, made once for each of its constants.
 */
#ifndef FORMATS_JFR_READ_NAMES_H
#define FORMATS_JFR_READ_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/hash.h"
#include "base/text.h"
#include "formats/import.h"
#include "formats/jfr/read_chunk.h"
#include "formats/jfr/read_value.h"

/* A frame as a stack trace has it. */
struct jfr_frame {
	uint64_t method;
	uint64_t type;
	uint32_t line;
	uint32_t location;
};

struct jfr_method {
	uint32_t name;
	uint32_t module;
	bool is_native; /* not Java's */
};

struct jfr_names {
	struct import *import;   /* borrowed */
	struct jfr_chunk *chunk; /* borrowed */
	bool is_async;           /* async-profiler wrote it */
	uint64_t pid;            /* 0: not known */
	uint32_t process;
	uint32_t nameless_thread;
	ARRAY(struct jfr_method) methods;
	ARRAY(struct jfr_frame) frames;
	struct hash_index frame_index;
	ARRAY(uint32_t) path; /* locations of the stack that is being made, innermost first */
	struct text text;
};

/* Returns 0 or -ENOMEM; release in any case. */
_must_check_ int jfr_names_init(struct jfr_names *names, struct import *import,
				struct jfr_chunk *chunk);
void jfr_names_release(struct jfr_names *names);

/* The thread that the values of an event name. Returns 0, -ENOMEM or -EBADMSG (damaged). */
_must_check_ int jfr_names_find_thread(struct jfr_names *names, const struct jfr_values *event,
				       uint32_t *ret);
_must_check_ int jfr_names_find_stack(struct jfr_names *names, const struct jfr_values *event,
				      uint32_t *ret);

/* Whether async-profiler gives the thread no state, as it does when it samples CPU time. */
bool jfr_names_is_default_state(struct jfr_names *names, const struct jfr_values *event);

#endif
