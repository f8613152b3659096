/*
 * The stack lines of `perf script` and their locations. Lines of the same symbol and file are one,
 * whatever their addresses.
 */
#ifndef FORMATS_PERF_FRAME_H
#define FORMATS_PERF_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/text.h"
#include "profile/profile.h"

/*
 * The result of a line: locations [first, first + count), the caller before its inlined functions.
 */
struct perf_levels {
	uint32_t first;
	uint32_t count; /* 0: the line names no frame */
};

struct perf_frames {
	struct profile *profile;          /* borrowed */
	struct string_table *keys;        /* lines without their addresses */
	ARRAY(struct perf_levels) levels; /* by key */
	ARRAY(uint32_t) locations;
	struct text key;
};

/* Returns 0 or -ENOMEM; release also after a failure. */
_must_check_ int perf_frames_init(struct perf_frames *frames, struct profile *profile);
void perf_frames_release(struct perf_frames *frames);

/*
 * is_java  the thread's name starts with "java": class names lose a leading L
 *
 * Returns 0, -EINVAL (the line is no frame) or -ENOMEM.
 */
_must_check_ int perf_frames_find(struct perf_frames *frames, const char *line, size_t length,
				  bool is_java, struct perf_levels *ret);

/* Whether a line starts, after blanks, as frames do: with a hexadecimal number and a blank. */
bool perf_frame_has_pc(const char *line, size_t length);

#endif
