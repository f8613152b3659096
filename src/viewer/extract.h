/* The view as a profile of its own, so that it can be written in any format. */
#ifndef VIEWER_EXTRACT_H
#define VIEWER_EXTRACT_H

#include "base/attributes.h"
#include "viewer/session.h"

/*
 * The shown samples, as they are drawn: with a fragment, callees have it as their outermost frames,
 * and callers end in it. Frames keep name, module, kind and lines; addresses are dropped. In a
 * comparison the weights are the metrics METRIC_BEFORE and METRIC_AFTER.
 *
 * ret  the caller frees it
 *
 * Returns 0, -ENOMEM or -EOVERFLOW.
 */
_must_check_ int extract_view(struct session *session, struct profile **ret);

#endif
