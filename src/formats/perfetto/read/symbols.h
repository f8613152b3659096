/*
 * Names that traceconv has appended to the trace for addresses of code.
 */
#ifndef FORMATS_PERFETTO_READ_SYMBOLS_H
#define FORMATS_PERFETTO_READ_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/intern.h"
#include "formats/perfetto/read/interned_table.h"

/* Names of an address that were found later. */
struct perfetto_symbol {
	uint32_t path; /* strings of the profile */
	uint32_t build_id;
	uint64_t address;
	uint32_t first_line; /* in perfetto_symbols.lines; innermost first */
	uint32_t num_lines;
};
INTERN_TABLE(perfetto_symbol_table, struct perfetto_symbol, path, build_id, address);

struct perfetto_symbols {
	struct perfetto_trace *trace; /* borrowed */
	struct perfetto_symbol_table items;
	ARRAY(struct frame) lines;
};

/* In the first round. */
_must_check_ int perfetto_symbols_read(struct perfetto_symbols *symbols, struct bytes message);
/*
 * The frames of an address, innermost first; borrowed, as long as nothing is read. They have
 * neither module nor kind. NULL if not found.
 */
const struct frame *perfetto_symbols_find(const struct perfetto_symbols *symbols,
					  const struct perfetto_mapping *mapping, uint64_t address,
					  size_t *ret_count);
void perfetto_symbols_release(struct perfetto_symbols *symbols);

#endif
