/*
 * Interpreters whose frames say their lines themselves, in a file: which one it is, of which version, and where its frames are
 * found in the memory of a process that runs it.
 *
 * A build describes itself by the symbols that it exports. Of a version that is not known nothing is guessed.
 *
 * Not thread-safe, as the objfile.
 */
#ifndef RUNTIME_SCRIPT_H
#define RUNTIME_SCRIPT_H

#include <stdint.h>

#include "base/attributes.h"
#include "objfile/objfile.h"
#include "runtime/evaluation.h"
#include "wire/script.h"

enum script_support {
	SCRIPT_KNOWN,
	SCRIPT_UNKNOWN_VERSION,
	/*
	 * It has a state for each thread (PHP's ZTS), or none for threads (Perl), or was built with other options than those
	 * that are known, or its code is not as is known (Ruby), or it is not of 64 bits, little endian.
	 */
	SCRIPT_UNKNOWN_BUILD,
	NUM_SCRIPT_SUPPORTS,
};

/* Code that pushes a frame, where the interpreter has it as its innermost one, though it may not be written yet. */
struct script_push {
	uint64_t start; /* ELF addresses; the end is the first one after it */
	uint64_t end;
};
#define SCRIPT_MAX_PUSHES 96

struct script_build {
	enum script_support support;
	enum wire_runtime runtime; /* PHP, Ruby or Perl */
	unsigned int major;
	unsigned int minor;
	uint64_t
		state; /* ELF address of what leads to the frames: executor_globals, PL_curinterp */
	unsigned int num_eval_parts;
	struct evaluation_part eval_parts[EVALUATION_MAX_PARTS]; /* the function's begin first */
	unsigned int num_pushes;
	struct script_push pushes[SCRIPT_MAX_PUSHES]; /* of Ruby */
	struct wire_script_layout layout;             /* of SCRIPT_KNOWN; else all 0 */
};

/*
 * Find such an interpreter in a file, by its own symbols.
 *
 * ret  also of a build that is not known
 *
 * Returns 0 or -ENOENT (the file holds none).
 */
_must_check_ int script_find(struct objfile *objfile, struct script_build *ret);

#endif
