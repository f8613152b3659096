/* From an instruction of compiled code to the place that execution comes to next and that the JVM describes. */
#ifndef RUNTIME_HOTSPOT_CODE_PATH_H
#define RUNTIME_HOTSPOT_CODE_PATH_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/*
 * A place that is described: where a call returns to, or an instruction at which the JVM may stop. Both in bytes from the code's
 * begin.
 */
struct pc_desc {
	int32_t pc;
	int32_t scope; /* 0 or less: none, and the place is not described */
};

struct described_code {
	const uint8_t *bytes;
	size_t num_bytes;
	const struct pc_desc *pc_descs; /* sorted by pc */
	size_t num_pc_descs;
};

/* The number of the first one behind an offset; num_pc_descs: there is none. */
size_t described_code_find_behind(const struct described_code *code, int32_t offset);

/* The one exactly at an offset; NULL: it is not described. */
const struct pc_desc *described_code_find_at(const struct described_code *code, int32_t offset);

/* Branches that a way goes by; with more of them it is not known. */
#define CODE_PATH_MAX_BRANCHES 32

/* The way from an instruction to the first place on it that is described. */
struct code_path {
	const struct pc_desc *end;
	/* Where branches lead to that were not taken, but for those that lead back. */
	int32_t branches[CODE_PATH_MAX_BRANCHES];
	size_t num_branches;
};

/* offset: of an instruction that is about to run. Returns 0, or -ENOENT: the way is not known so far. */
_must_check_ int code_path_find(const struct described_code *code, int32_t offset,
				struct code_path *ret);

#endif
