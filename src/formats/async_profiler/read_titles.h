/* The table of titles in a page of async-profiler from version 3 on, and the meaning of titles. */
#ifndef FORMATS_ASYNC_PROFILER_READ_TITLES_H
#define FORMATS_ASYNC_PROFILER_READ_TITLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/text.h"
#include "formats/slice.h"
#include "profile/profile.h"

struct async_profiler_titles {
	struct text text; /* one after the other */
	ARRAY(size_t) offsets;
	ARRAY(uint32_t) names; /* strings of the profile, if requested */
};

void async_profiler_titles_release(struct async_profiler_titles *titles);

/* Add the title that a line of the table holds. Returns 0, -EINVAL (it holds none) or -ENOMEM. */
_must_check_ int async_profiler_titles_add(struct async_profiler_titles *titles, const char *line,
					   size_t length);

/* number  less than names.length. Returns 0 or -ENOMEM. */
_must_check_ int async_profiler_titles_find(struct async_profiler_titles *titles,
					    struct profile *profile, uint32_t number,
					    uint32_t *ret);

/*
 * Append the string in single quotes at the start of a text. Quotes in it follow a backslash, and
 * if the page is new enough, backslashes too. False if not found; check text->failed.
 */
bool async_profiler_take_string(const char *start, size_t length, bool has_backslashes,
				struct text *text);

/* "[worker tid=815]" or "[tid=815]", which represents a thread. False for anything else. */
bool async_profiler_parse_thread(struct slice name, struct slice *ret_comm, uint32_t *ret_tid);

/* Set the frame's kind from its type, from version 2.8 on. Returns 0 or -ENOMEM. */
_must_check_ int async_profiler_set_kind(struct profile *profile, unsigned int type,
					 struct frame *frame);

#endif
