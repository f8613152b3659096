/*
 * Runtimes: their names, and the one that a file contains. The list and the recipe "To add an
 * interpreter" are in wire/runtime.h.
 *
 * A build describes itself by the symbols that it exports, and by tables for debuggers. Nothing is
 * guessed about an unknown version.
 *
 * Not thread-safe, as the objfile.
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "objfile/objfile.h"
#include "runtime/evaluation.h"
#include "runtime/v8_inlines.h"
#include "runtime/v8_wasm.h"
#include "wire/runtime.h"
#include "wire/runtime_layout.h"

/* A row of RUNTIMES(). All strings are literals. */
struct runtime_row {
	const char *name;         /* "Python" */
	const char *account_name; /* "cpython" */
	const char *language;     /* of its frames; NULL: a named runtime */
	const char *advice;       /* the option that makes it write a perf-map, or NULL */
	bool is_library;
};

/* "Python, JavaScript, Java, …": the languages of interpreters, as a literal. Likewise the names of both lists. */
#define RUNTIME_LANGUAGE(tag, name, account_name, language, is_library, advice)      language
#define RUNTIME_NEXT_LANGUAGE(tag, name, account_name, language, is_library, advice) ", " language
#define RUNTIME_NAME(tag, name, account_name, language, is_library, advice)          name
#define RUNTIME_NEXT_NAME(tag, name, account_name, language, is_library, advice)     ", " name
#define INTERPRETER_LANGUAGES                                                        INTERPRETERS_AFTER(RUNTIME_LANGUAGE, RUNTIME_NEXT_LANGUAGE)
#define INTERPRETER_NAMES                                                            INTERPRETERS_AFTER(RUNTIME_NAME, RUNTIME_NEXT_NAME)
#define NAMED_RUNTIME_NAMES                                                          NAMED_RUNTIMES_AFTER(RUNTIME_NAME, RUNTIME_NEXT_NAME)

/* runtime: below NUM_WIRE_RUNTIMES. Borrowed, valid always. */
const struct runtime_row *runtime_get(enum wire_runtime runtime);

/* Whether its name alone is known: its stacks are native ones. */
static inline bool runtime_is_named(enum wire_runtime runtime)
{
	return runtime >= NUM_WIRE_INTERPRETERS;
}

/* "3.11"; of Java, whose versions are one number, "17". */
#define RUNTIME_VERSION_BYTES 12
void runtime_format_version(enum wire_runtime runtime, uint16_t major, uint16_t minor,
			    char ret[static RUNTIME_VERSION_BYTES]);

enum runtime_support {
	SUPPORT_KNOWN,           /* its frames are put into stacks */
	SUPPORT_UNKNOWN_VERSION, /* also one before its release */
	SUPPORT_FREE_THREADED,   /* CPython without its lock */
	/*
	 * Built with unknown options: it has objects of other sizes, a state for each thread
	 * (PHP's ZTS), no state for threads (Perl), compressed pointers, no numbers for debuggers
	 * (V8) or unexpected code (Ruby), or it is not 64-bit, little endian.
	 */
	SUPPORT_UNKNOWN_BUILD,
	SUPPORT_BY_PROCESS, /* HotSpot: known when a process has been read (runtime/hotspot.h) */
	SUPPORT_NAME_ONLY,  /* a named runtime */
	NUM_RUNTIME_SUPPORTS,
};

/* ELF addresses of the variables that hold the addresses of HotSpot's tables for debuggers. */
struct hotspot_build {
	uint64_t structs;
	uint64_t types;
	uint64_t int_constants;
};

/* The runtime that a file contains. Members are 0 where the comment does not name the runtime. */
struct runtime_build {
	enum wire_runtime runtime;
	enum runtime_support support;
	unsigned int major; /* 0 with minor 0: unknown */
	unsigned int minor;
	/* ELF address of the variable that leads to its frames: _PyRuntime, executor_globals, PL_curinterp, … */
	uint64_t state;
	uint64_t state_bytes; /* CPython */
	/* CPython, PHP, Ruby, Perl: the function that evaluates frames; its start first. */
	unsigned int num_eval_parts;
	struct evaluation_part eval_parts[EVALUATION_MAX_PARTS];
	unsigned int num_pushes; /* Ruby */
	struct evaluation_push pushes[EVALUATION_MAX_PUSHES];
	struct wire_runtime_layout layout; /* SUPPORT_KNOWN */
	struct v8_wasm_layout wasm;        /* V8, likewise */
	struct v8_code_layout code;        /* V8, likewise */
	struct hotspot_build hotspot;      /* HotSpot */
};

/*
 * Find the runtime in a file, by its own symbols. Parts of CPython that compilers put elsewhere are
 * found by its debug file, or by the jumps into them.
 *
 * ret  also set for an unknown build
 *
 * Returns 0 or -ENOENT (the file contains no runtime).
 */
_must_check_ int runtime_find(struct objfile *objfile, struct runtime_build *ret);

/*
 * Whether numbers and flags are in their bounds. A build may be sent by a process that a file has
 * taken over: not even its flags may be read before this check.
 */
bool runtime_build_is_valid(const struct runtime_build *build);

#endif
