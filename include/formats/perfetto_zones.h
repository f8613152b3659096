/*
 * Zones of any number as a Perfetto trace: the input is read three times, a piece at a time, and
 * never in memory as a whole.
 */
#ifndef FORMATS_PERFETTO_ZONES_H
#define FORMATS_PERFETTO_ZONES_H

#include "base/record_sorter.h"
#include "formats/format.h"
#include "formats/import.h"

/* An input that can be read again. Both return 0 or negative errno. */
struct zones_source {
	/* The next byte is to be the first one. */
	int (*rewind)(void *context);
	/* *ret_size is 0 at the end, and only there. */
	int (*read)(void *context, void *data, size_t size, size_t *ret_size);
	void *context;
};

/*
 * Write what format_pftrace would write of what format_zones reads; only numbers that nobody sees
 * may differ, and the order of packets.
 *
 * import  gets warnings, counts and error; its data and timeline are not used, its profile stays
 *         as it is
 * store   for what must be sorted and is too much for memory; NULL: there is none
 *
 * Returns 0, -ENOMEM, -EBADMSG with the reason in import->error, or what source, store or sink
 * returned.
 */
_must_check_ int perfetto_write_zones(struct import *import, const struct zones_source *source,
				      const struct record_store *store, bool is_compressed,
				      const struct sink *sink);

#endif
