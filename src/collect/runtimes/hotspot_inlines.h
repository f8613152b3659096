/*
 * Methods inlined into code that HotSpot has compiled. The JVM describes them in the process's
 * memory, which is read when the code is first seen in a sample.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_RUNTIMES_HOTSPOT_INLINES_H
#define COLLECT_RUNTIMES_HOTSPOT_INLINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/runtimes/hotspot_layouts.h"
#include "process/process_table.h"
#include "runtime/hotspot_method.h"
#include "runtime/hotspot_scopes.h"

struct hotspot_inlines;

/* Both are borrowed; methods that are read are added to these. Returns NULL when out of memory. */
struct hotspot_inlines *hotspot_inlines_new(struct hotspot_layouts *hotspots,
					    struct hotspot_methods *methods);
void hotspot_inlines_free(struct hotspot_inlines *inlines);

/*
 * Find the methods at a place of compiled code.
 *
 * code     as it was sent
 * pc       where a call returns to, or the instruction that runs: see hotspot_scopes_find()
 * ret      innermost first; the last one is the compiled method. Empty if they are unknown; it may
 *          lack inlined methods then.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int hotspot_inlines_find(struct hotspot_inlines *inlines,
				      const struct process *process,
				      const struct hotspot_method *code, uint64_t pc, bool is_call,
				      struct hotspot_scope_chain *ret);

/*
 * A method of the chain, inlined into the code; NULL: its name cannot be read. Borrowed until
 * another one is added.
 */
const struct hotspot_method *hotspot_inlines_get_method(struct hotspot_inlines *inlines,
							const struct process *process,
							const struct hotspot_method *code,
							uint64_t method);

/* Number of compiled methods whose inlining was not kept, as the limit was reached. */
uint64_t hotspot_inlines_get_dropped(const struct hotspot_inlines *inlines);

#endif
