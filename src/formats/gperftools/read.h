/* Shared by the files of src/formats/gperftools: see read.c. */
#ifndef FORMATS_GPERFTOOLS_READ_H
#define FORMATS_GPERFTOOLS_READ_H

#include "base/array.h"
#include "base/hash.h"
#include "formats/import.h"
#include "formats/slice.h"

/* Limit of a stack; more is damage. */
#define GPERFTOOLS_MAX_FRAMES 65536

struct gperftools_mapping {
	uint64_t start, end, offset; /* end: first byte behind it */
	uint32_t module;
};

/* A frame that a text profile of Go names: "#	0x401234	main.f+0x14	/src/a.go:12". */
struct gperftools_name {
	uint64_t address;
	struct slice function; /* without offset */
	struct slice file;     /* may be empty */
	uint32_t line;
};

struct gperftools_reader {
	struct import *import;
	uint32_t thread;
	ARRAY(struct gperftools_mapping) mappings; /* sorted by start */
	struct hash_index modules;
	ARRAY(uint64_t) addresses;           /* of the present stack, innermost first */
	ARRAY(struct gperftools_name) names; /* of the present stack */
};

/* Take a hexadecimal number, perhaps after "0x". digits: how many were taken, 16 at most; 0: no number. */
uint64_t gperftools_take_hex(struct slice *text, size_t *digits);

/* Read the lines of /proc/PID/maps in a text, which may contain other lines. */
_must_check_ int gperftools_read_mappings(struct gperftools_reader *reader, struct slice text);

/*
 * Add the present stack.
 *
 * is_leaf_exact  the innermost address is the pc, not a return address
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int gperftools_add_stack(struct gperftools_reader *reader, bool is_leaf_exact,
				      uint32_t *ret);

/* Whether the bytes are a CPU profile: words of 8 bytes, in the order of this machine or the other. */
bool gperftools_is_cpu_profile(const uint8_t *data, size_t size);
_must_check_ int gperftools_read_cpu_profile(struct gperftools_reader *reader);

#endif
