/*
 * The events whose names are the same on every machine: software events, what the kernel has one name for,
 * whatever the CPU calls it, all system calls, and all requests to block devices.
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

/* By name or alias; NULL: there is none of that name. */
const struct event_name *event_name_find(const char *name);

/* "L1-dcache-load-misses". Whether it is the name of a cache's event. */
bool event_cache_find(const char *name, uint64_t *ret_config);

/* All names of caches' events, in order; false: there are no more. */
bool event_cache_get_name(size_t index, char *ret, size_t size);

/* "u8" to "u64", "s8" to "s64", as perf and the kernel spell the types of probes' arguments; false: it is none of them. */
bool event_type_find(const char *word, uint8_t *ret_bytes, bool *ret_is_signed);

/* What a unit in UCUM's words ("By") is called here: "bytes". Borrowed, perhaps the word itself. */
const char *event_unit_get(const char *word);

#endif
