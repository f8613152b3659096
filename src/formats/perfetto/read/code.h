/* Mappings, frames and callstacks, as items of the profile. */
#ifndef FORMATS_PERFETTO_READ_CODE_H
#define FORMATS_PERFETTO_READ_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/text.h"
#include "formats/perfetto/read/sequences.h"
#include "formats/perfetto/read/symbols.h"

/* Turns mappings, frames and callstacks into items of the profile. */
struct perfetto_code {
	struct perfetto_trace *trace;     /* borrowed */
	struct perfetto_symbols *symbols; /* borrowed */
	struct hash_index modules;        /* of the profile, by path and build ID */
	ARRAY(uint32_t) stack;            /* frames of the callstack that is being read */
	ARRAY(struct frame) frames;
	struct text text;
};

/* The sequence has an `interned`. */
_must_check_ int perfetto_code_read_mapping(struct perfetto_code *code,
					    struct perfetto_interned *interned,
					    struct bytes message);
_must_check_ int perfetto_code_read_frame(struct perfetto_code *code,
					  const struct perfetto_sequence *sequence,
					  struct bytes message);
/* Read a full stack, outermost frame first: names, files and lines, no addresses. */
_must_check_ int perfetto_code_read_named_stack(struct perfetto_code *code, struct bytes message,
						uint32_t *ret);
_must_check_ int perfetto_code_read_callstack(struct perfetto_code *code,
					      const struct perfetto_sequence *sequence,
					      struct bytes message);
void perfetto_code_release(struct perfetto_code *code);

#endif
