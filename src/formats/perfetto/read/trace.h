/*
 * Data shared by all parts of the reader of Perfetto traces: the source and the target of a trace.
 * The parts are stages, in the order of scripts/check-rooms: each knows those before it, and read.c
 * all.
 *
 * Functions return as format.read unless stated otherwise. Field numbers are those of
 * google/perfetto v55.3; perfetto.proto has those that stackwide writes.
 */
#ifndef FORMATS_PERFETTO_READ_TRACE_H
#define FORMATS_PERFETTO_READ_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "formats/import.h"
#include "formats/protobuf_reader.h"
#include "timeline/timeline.h"

/* Ids from here on are our writer's invention: the number is not known. */
#define PERFETTO_SYNTHETIC_ID 2000000000u

#define PERFETTO_NONE     UINT32_MAX
#define PERFETTO_BOOTTIME 6 /* the clock */

/* Data shared by all parts of the reader. */
struct perfetto_trace {
	struct import *import;     /* borrowed */
	struct timeline *timeline; /* of the import; if it wants none, for the reader alone */
	size_t offset;             /* in the file, of the packet that is being read */
	uint64_t num_bytes;        /* of packets, decompressed: bounds the kept data */
};

/* Whether an item may be added to `count` of its kind. */
static inline bool perfetto_has_room(const struct perfetto_trace *trace, size_t count,
				     unsigned int bytes_each)
{
	return count < 65536 + trace->num_bytes / bytes_each;
}

static inline int perfetto_add_string(struct perfetto_trace *trace, struct bytes string,
				      uint32_t *ret)
{
	return timeline_add_bytes(trace->timeline, string.size ? (const char *)string.data : "",
				  string.size, ret);
}

static inline int perfetto_add_profile_string(struct perfetto_trace *trace, struct bytes string,
					      uint32_t *ret)
{
	return string_table_add(profile_get_strings(trace->import->profile),
				string.size ? (const char *)string.data : "", string.size, ret);
}

#endif
