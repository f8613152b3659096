/* The probes of an allocator that was found in a file. */
#ifndef COLLECT_EVENTS_ALLOCATOR_SITES_H
#define COLLECT_EVENTS_ALLOCATOR_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/events/probe.h"
#include "objfile/allocator.h"

/* Whether a function is probed; only live memory needs those that only free. */
bool allocator_site_is_needed(const struct allocator_function *function, bool is_live);

/*
 * The probe of one of the allocator's functions.
 *
 * fd  of the file; borrowed by the site
 */
struct probe_site allocator_site_describe(const struct allocator *allocator,
					  const struct allocator_function *function,
					  const struct allocator_probes *probes, int fd);

#endif
