/*
 * The view as a profile of its own, so that every format can write it.
 */
#ifndef VIEWER_EXTRACT_H
#define VIEWER_EXTRACT_H

#include "base/attributes.h"
#include "viewer/session.h"

/*
 * The samples that are shown, as far as they are drawn: with a fragment, callees have it as their
 * outermost frames, and callers end in it. Frames keep name, module, kind and lines; addresses
 * go. In a comparison the weights are the metrics METRIC_BEFORE and METRIC_AFTER.
 *
 * ret  the caller frees it
 *
 * Returns 0, -ENOMEM or -EOVERFLOW.
 */
_must_check_ int extract_view(struct session *session, struct profile **ret);

#endif
