/*
 * V8 in a file: whether it is there, of which version, and by which offsets its frames and functions are read in the memory
 * of a process that runs it.
 *
 * A build describes itself, in numbers that it exports for debuggers (v8dbg_…). What these do not say was compared with the
 * versions that Node.js 16 to 25 have; of others nothing is guessed.
 *
 * Not thread-safe, as the objfile.
 */
#ifndef RUNTIME_V8_H
#define RUNTIME_V8_H

#include "base/attributes.h"
#include "objfile/objfile.h"
#include "runtime/v8_inlines.h"
#include "runtime/v8_wasm.h"
#include "wire/v8.h"

enum v8_support {
	V8_KNOWN,
	V8_UNKNOWN_VERSION,
	V8_UNKNOWN_BUILD, /* with compressed pointers, without numbers for debuggers, or not of 64 bits, little endian */
};

struct v8_build {
	enum v8_support support;
	unsigned int major; /* 0: not known */
	unsigned int minor;
	struct wire_v8_layout layout; /* of V8_KNOWN; else all 0 */
	struct v8_wasm_layout wasm;   /* likewise */
	struct v8_code_layout code;   /* likewise */
};

/* Find V8 in a file, by its own symbols. Returns 0, also for a build that is not known, or -ENOENT: the file holds none. */
_must_check_ int v8_find(struct objfile *objfile, struct v8_build *ret);

#endif
