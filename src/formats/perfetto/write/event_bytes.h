/*
 * The bytes of packets with events: the same as protobuf-c would write, in a quarter of its time.
 * Events are by far the most packets of a trace of zones.
 */
#ifndef FORMATS_PERFETTO_WRITE_EVENT_BYTES_H
#define FORMATS_PERFETTO_WRITE_EVENT_BYTES_H

#include <stdbool.h>

#include <perfetto.pb-c.h>

#include "base/text.h"

/*
 * Append the packet, as a field of a trace, if it is one with an event and nothing that is emitted
 * for the first time.
 *
 * Returns 1 when it is appended, 0 when protobuf-c must do it, or -ENOMEM.
 */
_must_check_ int perfetto_append_event(struct text *text, const Perfetto__TracePacket *packet);

#endif
