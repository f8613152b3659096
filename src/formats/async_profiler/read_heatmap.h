/*
 * Reading the heat maps of async-profiler.
 */
#ifndef FORMATS_ASYNC_PROFILER_READ_HEATMAP_H
#define FORMATS_ASYNC_PROFILER_READ_HEATMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "formats/async_profiler/unpack.h"
#include "formats/import.h"
#include "formats/slice.h"

/* A mark of every page with a heat map, before anything that may be large. */
#define ASYNC_PROFILER_HEATMAP_MARK "<pre id=\"executionsHeatmap\">"

/* Returns 0, -ENOMEM, or -EBADMSG with the reason in import->error. */
_must_check_ int async_profiler_read_heatmap(struct import *import);

/* ---- its methods: the frames of stacks ---- */

#define ASYNC_PROFILER_NO_LOCATION UINT32_MAX

struct async_profiler_method {
	uint32_t class; /* number of a string */
	uint32_t name;
	uint32_t line;
	uint32_t location; /* of the profile; ASYNC_PROFILER_NO_LOCATION for a thread */
	uint32_t thread;   /* of the page's threads; 0: not a thread */
	uint8_t type;
	bool is_start; /* stacks start with it */
	bool is_found; /* location and thread are known */
};

/* The first one is for stacks that name none. */
struct async_profiler_thread {
	uint32_t profile;
	uint32_t timeline; /* TIMELINE_NONE: not there yet */
	uint32_t tid;
};

struct async_profiler_methods {
	struct import *import;
	struct slice page;
	ARRAY(size_t) strings; /* offsets in the page, of the quote */
	ARRAY(struct async_profiler_method) items;
	ARRAY(struct async_profiler_thread) threads;
	bool numbers_from_1; /* of strings, where 0 means no string */
	bool hides_classes;  /* of native frames */
	uint64_t name_bytes; /* made so far */
};

/* Returns 0, -EBADMSG or -ENOMEM, as do the functions below. */
_must_check_ int async_profiler_methods_init(struct async_profiler_methods *methods,
					     struct import *import);
void async_profiler_methods_release(struct async_profiler_methods *methods);

/* Make a method's location, or its thread. number  from 1, at most items.length */
_must_check_ int async_profiler_methods_find(struct async_profiler_methods *methods,
					     uint32_t number, struct async_profiler_method *ret);

/* The text of digits after the mark, between S and E. */
_must_check_ int async_profiler_methods_find_digits(const struct async_profiler_methods *methods,
						    const char *mark,
						    struct async_profiler_packed *ret);

/* The part of the page after the mark; false if not found. */
bool async_profiler_find_after(struct slice page, const char *mark, struct slice *ret);

/* "FILE: at byte N: expected … of a heat map". Returns -EBADMSG. */
int async_profiler_heatmap_fail(struct import *import, const void *at, const char *expected);

#endif
