/*
 * Data shared by the parts of the reader of callgrind's profiles: functions with their own costs,
 * and calls between two functions with their inclusive costs.
 */
#ifndef FORMATS_CALLGRIND_READ_H
#define FORMATS_CALLGRIND_READ_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/intern.h"
#include "formats/import.h"
#include "formats/reader.h"
#include "formats/slice.h"

struct callgrind_function {
	uint32_t thread;   /* of the profile */
	uint32_t location; /* of the profile */
};
INTERN_TABLE(callgrind_functions, struct callgrind_function, thread, location);

struct callgrind_call {
	uint32_t caller; /* functions */
	uint32_t callee;
};
INTERN_TABLE(callgrind_calls, struct callgrind_call, caller, callee);

struct callgrind_graph {
	struct import *import;
	size_t num_events;
	struct callgrind_functions functions;
	struct callgrind_calls calls;
	/*
	 * Costs by function and by call, num_events each. Those of all functions together fit 64
	 * bits.
	 */
	ARRAY(uint64_t) self_costs;
	ARRAY(uint64_t) call_costs;
};

void callgrind_graph_release(struct callgrind_graph *graph);

/* The function with this location, in this thread. 0 or -ENOMEM. */
_must_check_ int callgrind_find_function(struct callgrind_graph *graph, uint32_t thread,
					 uint32_t location, uint32_t *ret);
_must_check_ int callgrind_find_call(struct callgrind_graph *graph, uint32_t caller,
				     uint32_t callee, uint32_t *ret);

/* Numbers of compressed names are counted by kind: (1) may be an object and a function. */
enum callgrind_name_kind { CALLGRIND_OBJECT, CALLGRIND_FILE, CALLGRIND_FUNCTION };

struct callgrind_name {
	uint64_t id;
	uint32_t kind;
	uint32_t string;
};
INTERN_TABLE(callgrind_name_table, struct callgrind_name, kind, id);

/* Zeroed at first, but for `import` and `graph`. */
struct callgrind_names {
	struct import *import;
	struct callgrind_graph *graph;
	uint64_t line; /* current line, for messages */
	/* State of the part. Code that changes one clears has_thread. */
	uint64_t pid;  /* 0: not known */
	uint64_t tid;  /* the same */
	uint32_t comm; /* string */
	bool has_thread;

	/* Private. */
	uint32_t thread;
	struct callgrind_name_table table;
	struct processes processes;
};

void callgrind_names_release(struct callgrind_names *names);

_must_check_ int callgrind_add_string(struct callgrind_names *names, struct slice slice,
				      uint32_t *ret);
/*
 * "name", "(1) name", or "(1)" for a name that was there before: a string of the profile. 0,
 * -ENOMEM, or -EBADMSG if the import is strict and the number is not defined.
 */
_must_check_ int callgrind_read_name(struct callgrind_names *names, struct slice text,
				     enum callgrind_name_kind kind, uint32_t *ret);
/* The function with these strings as names. 0 or -ENOMEM. */
_must_check_ int callgrind_find_named(struct callgrind_names *names, uint32_t object, uint32_t file,
				      uint32_t name, uint32_t *ret);

/*
 * Put all into the profile; see read_stacks.c for how stacks are made of it.
 *
 * metrics  of the profile, by event
 *
 * Returns 0, -ENOMEM or -EBADMSG.
 */
_must_check_ int callgrind_add_stacks(struct callgrind_graph *graph, const uint32_t *metrics);

#endif
