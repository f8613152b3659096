/*
 * Threads and stacks of a flight recording's chunk, made once for each of its constants.
 */
#ifndef FORMATS_JFR_READ_NAMES_H
#define FORMATS_JFR_READ_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/intern.h"
#include "base/text.h"
#include "formats/import.h"
#include "formats/jfr/read_chunk.h"
#include "formats/jfr/read_value.h"

/*
 * A frame as a stack trace has it: frames are no constants, but each trace contains them in full,
 * so the same one occurs many times.
 */
struct jfr_frame {
	uint64_t method; /* key of jdk.types.Method */
	uint64_t type;   /* key of jdk.types.FrameType */
	uint32_t line;
	uint32_t location; /* in the profile */
};
INTERN_TABLE(jfr_frame_table, struct jfr_frame, method, type, line);

struct jfr_method {
	uint32_t name;
	uint32_t module;
	bool is_native; /* not Java's */
};

struct jfr_names {
	struct import *import;   /* borrowed */
	struct jfr_chunk *chunk; /* borrowed */
	bool is_async;           /* async-profiler wrote it */
	bool has_default_state;  /* among the states of threads */
	uint64_t pid;            /* 0: not known */
	uint32_t process;
	uint32_t anonymous_thread;
	ARRAY(struct jfr_method) methods;
	struct jfr_frame_table frames;
	ARRAY(uint32_t) path; /* locations of the stack that is being made, innermost first */
	struct text text;
};

/* Returns 0 or -ENOMEM; release in any case. */
_must_check_ int jfr_names_init(struct jfr_names *names, struct import *import,
				struct jfr_chunk *chunk);
void jfr_names_release(struct jfr_names *names);

/*
 * The thread that the values of an event name; a thread without a name if they name none. Returns 0
 * or -ENOMEM.
 */
_must_check_ int jfr_names_find_thread(struct jfr_names *names, const struct jfr_values *event,
				       uint32_t *ret);
/*
 * The stack of an event; one frame "?" if the chunk lacks its stack trace. Returns 0, -ENOMEM or
 * -EBADMSG (damaged).
 */
_must_check_ int jfr_names_find_stack(struct jfr_names *names, const struct jfr_values *event,
				      uint32_t *ret);

/* Whether the string in a field of an event, or of another struct, is this text. */
bool jfr_names_is_text(struct jfr_names *names, const struct jfr_values *values, enum jfr_role role,
		       const char *text);

/* Whether the sampled thread has no state or STATE_DEFAULT, as in async-profiler's CPU samples. */
bool jfr_names_is_default_state(struct jfr_names *names, const struct jfr_values *event);

#endif
