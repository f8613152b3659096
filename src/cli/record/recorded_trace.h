/* Makes the timeline of a recording, for outputs with times. */
#ifndef CLI_RECORD_RECORDED_TRACE_H
#define CLI_RECORD_RECORDED_TRACE_H

#include "base/attributes.h"
#include "cli/record/recording.h"
#include "timeline/timeline.h"

/*
 * Open the files of --zones now, since the process may not open files later. Failures are reported.
 */
void recorded_trace_open_zones(struct recording *recording);

/*
 * recording  stopped and symbolized
 * ret        the caller frees, before the recording
 *
 * Returns 0 or an exit status, and has reported why. If only the zones could not be read, or some
 * samples could not be kept, the timeline is returned without them; else *ret is NULL.
 */
_must_check_ int recorded_trace_make(const struct recording *recording, struct timeline **ret);

#endif
