/*
 * The names of a sequence of Perfetto events: each is emitted in full once, with the packet that
 * needs it first, and from then on by number.
 */
#ifndef FORMATS_PERFETTO_WRITE_NAMES_H
#define FORMATS_PERFETTO_WRITE_NAMES_H

#include "formats/perfetto/write/stream.h"
#include "timeline/timeline.h"

enum perfetto_name_kind {
	PERFETTO_EVENT_NAME,
	PERFETTO_CATEGORY,
	PERFETTO_ANNOTATION_NAME,
	PERFETTO_STRING_VALUE,
	NUM_PERFETTO_NAME_KINDS,
};

struct perfetto_names;

/* The timeline is borrowed. NULL when out of memory. */
struct perfetto_names *perfetto_names_new(const struct timeline *timeline);
void perfetto_names_free(struct perfetto_names *names);

/* The number of a string of the timeline. Returns 0 or -ENOMEM. */
_must_check_ int perfetto_names_use(struct perfetto_names *names, enum perfetto_name_kind kind,
				    uint32_t string, uint64_t *ret);
/* The number of any other text; its copy is gone with the state. 0 or -ENOMEM. */
_must_check_ int perfetto_names_use_bytes(struct perfetto_names *names,
					  enum perfetto_name_kind kind, const char *text,
					  size_t length, uint64_t *ret);
/* The number of a source location of the timeline. Returns 0 or -ENOMEM. */
_must_check_ int perfetto_names_use_location(struct perfetto_names *names, uint32_t location,
					     uint64_t *ret);

/*
 * The items since the last flush, for the packet that is about to be written, as fields of its interned data. ret: NULL if nothing
 * is new; valid until the next call. Returns 0 or -ENOMEM.
 */
_must_check_ int perfetto_names_get_new(struct perfetto_names *names, const struct text **ret);
/* The packet is written. */
void perfetto_names_flush(struct perfetto_names *names);
/* The sequence's state is cleared: everything must be emitted again. */
void perfetto_names_clear(struct perfetto_names *names);

#endif
