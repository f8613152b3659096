/*
 * Events with the same names on every machine: software events, hardware events for which the
 * kernel has a common name, all system calls, and all requests to block devices.
 */
#ifndef COLLECT_EVENTS_EVENT_NAMES_H
#define COLLECT_EVENTS_EVENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/events.h"

struct event_name {
	const char *name;
	const char *alias; /* NULL: none */
	enum event_kind kind;
	uint32_t type; /* of struct perf_event_attr */
	uint64_t config;
	const char *purpose;
};

extern const struct event_name event_names[];
extern const size_t num_event_names;

/* Find an event by name or alias; NULL if not found. */
const struct event_name *event_name_find(const char *name);

/* "L1-dcache-load-misses". Whether it is the name of a cache's event. */
bool event_cache_find(const char *name, uint64_t *ret_config);

/* Names of all cache events, by index; returns false after the last. */
bool event_cache_get_name(size_t index, char *ret, size_t size);

/*
 * "u8" to "u64", "s8" to "s64": types of probe arguments in perf and the kernel. Returns false for
 * other words.
 */
bool event_type_find(const char *word, uint8_t *ret_bytes, bool *ret_is_signed);

/* Our name of a UCUM unit: "bytes" for "By". Borrowed, perhaps the word itself. */
const char *event_unit_get(const char *word);

#endif
