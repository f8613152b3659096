/*
 * Names that threads had before their last ones, in the descriptors of the threads: only our reader
 * knows them. To others a thread has its last name.
 */
#ifndef FORMATS_PERFETTO_WRITE_EARLIER_NAMES_H
#define FORMATS_PERFETTO_WRITE_EARLIER_NAMES_H

#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/text.h"
#include "timeline/timeline.h"
#include <perfetto.pb-c.h>

struct perfetto_earlier_names {
	const struct timeline *timeline; /* borrowed */
	uint32_t *starts;                /* by thread, and one more: index in items */
	uint32_t *items;                 /* numbers of items thread_name, by thread and time */
	/* Those of the last thread, which a descriptor points to. */
	ARRAY(Perfetto__EarlierName) messages;
	ARRAY(Perfetto__EarlierName *) pointers;
	ARRAY(size_t) offsets; /* of the names in the text */
	struct text names;
};

/* Returns 0 or -ENOMEM; perfetto_earlier_names_release() is due either way. */
_must_check_ int perfetto_earlier_names_init(struct perfetto_earlier_names *names,
					     const struct timeline *timeline);
void perfetto_earlier_names_release(struct perfetto_earlier_names *names);

/* Point the descriptor to the names of its thread, until the next call. Returns 0 or -ENOMEM. */
_must_check_ int perfetto_earlier_names_fill(struct perfetto_earlier_names *names, uint32_t thread,
					     Perfetto__ThreadDescriptor *descriptor);

#endif
