/* From an instruction of compiled code to the next place on its path that the JVM describes. */
#ifndef RUNTIME_HOTSPOT_CODE_PATH_H
#define RUNTIME_HOTSPOT_CODE_PATH_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/*
 * A described place: the return address of a call, or an instruction at which the JVM may stop.
 * Both in bytes from the start of the code.
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

/* Index of the first one after an offset; num_pc_descs: not found. */
size_t described_code_find_behind(const struct described_code *code, int32_t offset);

/* The one exactly at an offset, or NULL. */
const struct pc_desc *described_code_find_at(const struct described_code *code, int32_t offset);

/* Maximum number of branches passed by a path; with more, the path is unknown. */
#define CODE_PATH_MAX_BRANCHES 32

/* The way from an instruction to the first place on it that is described. */
struct code_path {
	const struct pc_desc *end;
	/* Targets of branches that were not taken, except backward ones. */
	int32_t branches[CODE_PATH_MAX_BRANCHES];
	size_t num_branches;
};

/* offset: of an instruction that is about to run. Returns 0, or -ENOENT if the path is unknown. */
_must_check_ int code_path_find(const struct described_code *code, int32_t offset,
				struct code_path *ret);

#endif
