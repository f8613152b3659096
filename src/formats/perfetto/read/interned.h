/* The interned items of a packet, put into its sequence. */
#ifndef FORMATS_PERFETTO_READ_INTERNED_H
#define FORMATS_PERFETTO_READ_INTERNED_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/perfetto/read/code.h"

/* Read the interned items of a packet. */
_must_check_ int perfetto_read_interned(struct perfetto_code *code,
					struct perfetto_sequence *sequence, struct bytes message);

/* The same of heap profiles up to 2019, which interned it themselves. */
_must_check_ int perfetto_read_interned_of_heap(struct perfetto_code *code,
						struct perfetto_sequence *sequence,
						struct bytes message);

#endif
