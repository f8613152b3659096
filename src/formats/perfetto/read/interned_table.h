/* The interned items of a sequence, which its packets then refer to by number. */
#ifndef FORMATS_PERFETTO_READ_INTERNED_TABLE_H
#define FORMATS_PERFETTO_READ_INTERNED_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/intern.h"
#include "formats/perfetto/read/trace.h"

/* Fields of InternedData. */
enum perfetto_interned_kind {
	PERFETTO_INTERNED_CATEGORY = 1, /* these are strings of the timeline */
	PERFETTO_INTERNED_EVENT_NAME = 2,
	PERFETTO_INTERNED_ANNOTATION_NAME = 3,
	PERFETTO_INTERNED_STRING_VALUE = 29,
	PERFETTO_INTERNED_KERNEL_SYMBOL = 26,
	PERFETTO_INTERNED_SOURCE_LOCATION = 4,
	PERFETTO_INTERNED_FUNCTION = 5, /* these are strings of the profile */
	PERFETTO_INTERNED_SHORT_NAME =
		1000, /* no field: a part of the function of the same number */
	PERFETTO_INTERNED_BUILD_ID = 16,
	PERFETTO_INTERNED_PATH = 17,
	PERFETTO_INTERNED_SOURCE_PATH = 18,
	PERFETTO_INTERNED_MAPPING = 19,
	PERFETTO_INTERNED_FRAME = 6,
	PERFETTO_INTERNED_CALLSTACK = 7, /* stacks of the profile */
};

struct perfetto_source {
	uint32_t function; /* strings of the timeline */
	uint32_t file;
	uint32_t line;
};

struct perfetto_entry {
	uint64_t iid;
	uint32_t kind;
	uint32_t value;
};
INTERN_TABLE(perfetto_entries, struct perfetto_entry, kind, iid);

struct perfetto_mapping {
	uint32_t path; /* strings of the profile */
	uint32_t build_id;
	uint64_t load_bias; /* difference of ELF addresses to file offsets */
	bool has_load_bias;
};

struct perfetto_frame {
	struct frame frame;
	uint64_t address;
	uint32_t mapping; /* PERFETTO_NONE */
	bool has_address;
	bool is_elf_address;  /* of ours; those of others are */
	bool is_unsymbolized; /* its address is all that is known: see read/code.c */
};

/* State of one sequence, until it is cleared. */
struct perfetto_interned {
	struct perfetto_entries entries;
	ARRAY(struct perfetto_source) sources;
	ARRAY(struct perfetto_mapping) mappings;
	ARRAY(struct perfetto_frame) frames;
};

struct perfetto_interned *perfetto_interned_new(void); /* NULL when out of memory */
void perfetto_interned_free(struct perfetto_interned *interned);
/* PERFETTO_NONE when the sequence has interned none, or `interned` is NULL. */
uint32_t perfetto_interned_find(const struct perfetto_interned *interned,
				enum perfetto_interned_kind kind, uint64_t iid);
/* NULL if not found. */
const struct perfetto_source *perfetto_interned_find_source(
	const struct perfetto_interned *interned, uint64_t iid);

_must_check_ int perfetto_interned_put(struct perfetto_interned *interned,
				       enum perfetto_interned_kind kind, uint64_t iid,
				       uint32_t value);

#endif
