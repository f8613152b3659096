/*
 * Which samples are looked at, and which symbols are searched for.
 */
#ifndef VIEWER_FILTERS_H
#define VIEWER_FILTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/filter.h"
#include "base/attributes.h"
#include "base/error.h"
#include "viewer/graph.h"

/*
 * The samples that pass filters as the command line has them.
 *
 * filters  lines "+KIND:PATTERN" (only what matches) and "-KIND:PATTERN" (only what does not), all
 *          of which must hold; those of the kind "time" are skipped: see times.h
 * ret      the caller releases it
 *
 * Returns 0, -ENOMEM, or -EINVAL with the reason in error.
 */
_must_check_ int filters_apply(const struct frame_tree *tree, const char *filters,
			       struct selection *ret, struct error *error);

/*
 * Set is_match[symbol] to 1 where the text, or what the expression describes, is a part of the
 * name, in any letter case. Returns 0, -ENOMEM, or -EINVAL with the reason (a wrong expression).
 */
_must_check_ int filters_match_symbols(const struct graph *graph, const char *text, bool is_regex,
				       uint8_t *is_match, struct error *error);

#endif
