/* Values of the format: TrackEvent.Type. */
#ifndef FORMATS_PERFETTO_EVENT_TYPE_H
#define FORMATS_PERFETTO_EVENT_TYPE_H

enum perfetto_event_type { EVENT_START = 1, EVENT_END = 2, EVENT_INSTANT = 3, EVENT_COUNTER = 4 };

#endif
