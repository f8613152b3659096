/*
 * What lay where in a process of an experiment, and when: map.xml.
 */
#ifndef FORMATS_GPROFNG_READ_MAP_H
#define FORMATS_GPROFNG_READ_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/hash.h"
#include "base/text.h"
#include "formats/gprofng/read_files.h"
#include "formats/gprofng/read_log.h"
#include "profile/profile.h"

enum gprofng_range_kind {
	GPROFNG_SEGMENT,  /* of a file */
	GPROFNG_FUNCTION, /* code that the process made, or the kernel gave it: [vdso] */
	GPROFNG_METHOD,   /* compiled Java */
	GPROFNG_UNMAPPED, /* the end of what begins at the same address */
};

struct gprofng_range {
	uint64_t start;
	uint64_t end; /* first byte after it */
	uint64_t start_ns;
	uint64_t end_ns; /* UINT64_MAX: it stayed */
	uint64_t value;  /* segment: offset of `start` in the file; method: its number */
	uint32_t name;   /* segment: the module; function: string of the profile */
	uint32_t module; /* function: string, where it lies; else empty */
	uint8_t kind;    /* enum gprofng_range_kind */
	uint32_t number; /* order in the file */
};

/* Sorted by start. */
struct gprofng_ranges {
	ARRAY(struct gprofng_range) items;
	ARRAY(uint64_t) ends; /* the highest end of the items up to this one */
};

/* Zeroed at first. */
struct gprofng_map {
	struct gprofng_ranges files;
	struct gprofng_ranges functions;
	ARRAY(uint64_t) changes; /* times from which on an address may mean something else */
};

/* The modules of an import, by path; shared by its experiments. Zeroed at first. */
struct gprofng_modules {
	ARRAY(uint32_t) items;
	struct hash_index index;
};

void gprofng_modules_release(struct gprofng_modules *modules);

/*
 * log  of the same experiment
 *
 * Returns 0 or -ENOMEM. What makes no sense is left out. Release in any case.
 */
_must_check_ int gprofng_map_read(struct gprofng_map *map, struct profile *profile,
				  struct gprofng_modules *modules, const struct gprofng_log *log,
				  const struct gprofng_file *file);
void gprofng_map_release(struct gprofng_map *map);

/*
 * What lay at an address: the innermost range that was there at that time, or, since a program's
 * first maps are noticed late, at any time. NULL when there is none.
 */
const struct gprofng_range *gprofng_map_find(const struct gprofng_map *map, uint64_t pc,
					     uint64_t time_ns);

/*
 * A number that is the same for two times between which no address changed its meaning.
 */
uint32_t gprofng_map_get_epoch(const struct gprofng_map *map, uint64_t time_ns);

#endif
