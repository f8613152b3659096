/*
 * How to open a trace that is too large for a browser.
 */
#ifndef CLI_FILES_TRACE_HINT_H
#define CLI_FILES_TRACE_HINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/*
 * Append the hint, if this many events need one.
 *
 * path  of the trace; "-": standard output
 *
 * Returns whether they do.
 */
bool trace_hint_append(struct text *text, const char *path, uint64_t num_events);

/* Warn by it. */
void trace_hint_warn(const char *path, uint64_t num_events);

#endif
