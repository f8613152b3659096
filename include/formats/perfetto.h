/*
 * A writer of Perfetto traces for zones that do not fit into memory. For everything else, see
 * struct format format_pftrace.
 */
#ifndef FORMATS_PERFETTO_H
#define FORMATS_PERFETTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/record_sorter.h"
#include "formats/format.h"
#include "formats/import.h"

/* An input that can be read several times. Both return 0 or negative errno. */
struct zones_source {
	/* Go back to the first byte. */
	int (*rewind)(void *context);
	/* *ret_size is 0 only at the end. */
	int (*read)(void *context, void *data, size_t size, size_t *ret_size);
	void *context;
};

/*
 * Convert any number of zones: the input is read three times, a chunk at a time, and never in
 * memory as a whole. The output equals that of format_pftrace for a timeline that format_zones
 * read; only interning ids and the order of packets may differ.
 *
 * import  gets warnings, counts and error; its data and timeline are not used, its profile stays
 *         as it is
 * store   for records that must be sorted and do not fit into memory; may be NULL
 *
 * Returns 0, -ENOMEM, -EBADMSG with the reason in import->error, or the error of source, store or
 * sink.
 */
_must_check_ int perfetto_write_zones(struct import *import, const struct zones_source *source,
				      const struct record_store *store, bool is_compressed,
				      const struct sink *sink);

#endif
