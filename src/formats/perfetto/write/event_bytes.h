/*
 * The bytes of packets with events: the same as protobuf-c would write, in a quarter of its time.
 * Events are by far the most packets of a trace of zones.
 */
#ifndef FORMATS_PERFETTO_WRITE_EVENT_BYTES_H
#define FORMATS_PERFETTO_WRITE_EVENT_BYTES_H

#include <stdbool.h>

#include <perfetto.pb-c.h>

#include "base/text.h"

/* Append a packet with an event, as a field of a trace. As perfetto_stream_add_event(). Returns 0 or -ENOMEM. */
_must_check_ int perfetto_append_event(struct text *text, const Perfetto__TracePacket *packet,
				       const struct text *interned);

#endif
