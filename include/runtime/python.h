/*
 * CPython in a file: whether it is there, of which version, and where its frames are found in the memory of a process that
 * runs it.
 *
 * A build describes itself: by the symbols that it exports, and from 3.13 on by a table of offsets at the begin of
 * _PyRuntime. Of a version that is not known nothing is guessed.
 *
 * Not thread-safe, as the objfile.
 */
#ifndef RUNTIME_PYTHON_H
#define RUNTIME_PYTHON_H

#include <stdint.h>

#include "base/attributes.h"
#include "objfile/objfile.h"
#include "runtime/evaluation.h"
#include "wire/python.h"

enum python_support {
	PYTHON_KNOWN,
	PYTHON_UNKNOWN_VERSION, /* also one before its release */
	PYTHON_FREE_THREADED,
	PYTHON_UNKNOWN_BUILD, /* its objects have other sizes, or it is not of 64 bits, little endian */
};

struct python_build {
	enum python_support support;
	unsigned int major;
	unsigned int minor;
	uint64_t
		runtime; /* ELF address of _PyRuntime; before version 3.7 it is 0, and so is all that follows */
	uint64_t runtime_bytes;
	unsigned int num_eval_parts;
	struct evaluation_part eval_parts[EVALUATION_MAX_PARTS]; /* the function's begin first */
	struct wire_python_layout layout;                        /* of PYTHON_KNOWN; else all 0 */
};

/*
 * Find CPython in a file, by its own symbols. Where these are only dynamic ones, the parts that compilers put elsewhere are
 * known by its debug file, or by the jumps into them.
 *
 * ret  also of a build that is not known
 *
 * Returns 0 or -ENOENT (the file holds none).
 */
_must_check_ int python_find(struct objfile *objfile, struct python_build *ret);

#endif
