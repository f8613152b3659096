/*
 * Devices that count events (PMUs), as /sys/bus/event_source/devices describes them: `type`, for each word of an
 * event's description the bits that it fills (format/WORD: "config:0-7,32-35"), and events by name (events/NAME:
 * "event=0x3c,umask=0x0").
 */
#ifndef COLLECT_EVENTS_EVENT_DEVICE_H
#define COLLECT_EVENTS_EVENT_DEVICE_H

#include "collect/events.h"

/*
 * Fill in type and configuration of "DEVICE/WORDS/".
 *
 * devices  the folder
 * device   a folder in it
 * words    "event=0x3c,umask=0x0" or the name of an event, or both
 *
 * Returns 0, -EINVAL (unknown word, or value too large), -ENOTSUP (no such device), with error
 * filled; or -ENOMEM.
 */
_must_check_ int event_device_configure(const char *devices, const char *device, const char *words,
					struct event *event, struct error *error);

/*
 * Pass the names of a device's events to handle(): "cpu/cache-misses/". Returns 0, the first
 * nonzero result of handle(), or -ENOMEM.
 */
_must_check_ int event_device_list(const char *devices, const char *device,
				   int (*handle)(const char *name, void *context), void *context);

#endif
