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

enum er_range_kind {
	ER_SEGMENT,  /* of a file */
	ER_FUNCTION, /* code that the process made, or the kernel gave it: [vdso] */
	ER_METHOD,   /* compiled Java */
	ER_UNMAPPED, /* the end of what begins at the same address */
};

struct er_range {
	uint64_t start;
	uint64_t end; /* first byte after it */
	uint64_t start_ns;
	uint64_t end_ns; /* UINT64_MAX: it stayed */
	uint64_t value;  /* segment: offset of `start` in the file; method: its number */
	uint32_t name;   /* segment: the module; function: string of the profile */
	uint32_t module; /* function: string, where it lies; else empty */
	uint8_t kind;    /* enum er_range_kind */
	uint32_t number; /* order in the file */
};

/* Sorted by start. */
struct er_ranges {
	ARRAY(struct er_range) items;
	ARRAY(uint64_t) ends; /* the highest end of the items up to this one */
};

/* Zeroed at first. */
struct er_map {
	struct er_ranges files;
	struct er_ranges functions;
	ARRAY(uint64_t) changes; /* times from which on an address may mean something else */
};

/* The modules of an import, by path; shared by its experiments. Zeroed at first. */
struct er_modules {
	ARRAY(uint32_t) items;
	struct hash_index index;
};

void er_modules_release(struct er_modules *modules);

/*
 * log  of the same experiment
 *
 * Returns 0 or -ENOMEM. What makes no sense is left out. Release in any case.
 */
_must_check_ int er_map_read(struct er_map *map, struct profile *profile,
			     struct er_modules *modules, const struct er_log *log,
			     const struct er_file *file);
void er_map_release(struct er_map *map);

/*
 * What lay at an address: the innermost range that was there at that time, or, since a program's
 * first maps are noticed late, at any time. NULL when there is none.
 */
const struct er_range *er_map_find(const struct er_map *map, uint64_t pc, uint64_t time_ns);

/*
 * A number that is the same for two times between which no address changed its meaning.
 */
uint32_t er_map_get_epoch(const struct er_map *map, uint64_t time_ns);

#endif
