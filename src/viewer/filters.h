/* Selection of samples by filters, and search for symbols. */
#ifndef VIEWER_FILTERS_H
#define VIEWER_FILTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/filter.h"
#include "base/attributes.h"
#include "base/error.h"
#include "viewer/graph.h"

/*
 * The samples that pass filters in the syntax of the command line.
 *
 * filters  lines "+KIND:PATTERN" (keep matches) and "-KIND:PATTERN" (drop matches); all must hold;
 *          those of the kind "time" are skipped: see times.h
 * ret      the caller releases it
 *
 * Returns 0, -ENOMEM, or -EINVAL with the reason in error.
 */
_must_check_ int filters_apply(const struct frame_tree *tree, const char *filters,
			       struct selection *ret, struct error *error);

/*
 * The symbols that a pattern matches: functions as in the filter "function:PATTERN", and threads by
 * their labels.
 *
 * ret_marks  by symbol of the graph: the marks of matching frames with this name, as a set (a bit
 *            for each); for a thread all or none
 *
 * Returns 0, -ENOMEM, or -EINVAL with the reason in error.
 */
_must_check_ int filters_match_symbols(const struct graph *graph, const char *pattern,
				       uint8_t *ret_marks, struct error *error);

#endif
