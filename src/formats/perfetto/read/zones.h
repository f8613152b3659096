/* Turns slices into zones. */
#ifndef FORMATS_PERFETTO_READ_ZONES_H
#define FORMATS_PERFETTO_READ_ZONES_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/perfetto/read/slices.h"

/* Slices to zones and occupancies, when all packets are read. */
_must_check_ int perfetto_slices_finish(struct perfetto_slices *slices);
void perfetto_slices_release(struct perfetto_slices *slices);

#endif
