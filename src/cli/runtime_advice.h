/*
 * Advice on JIT compiled code: the options that make a language's runtime write a perf-map, without
 * which its code is unsymbolized, or keep frame pointers.
 */
#ifndef CLI_RUNTIME_ADVICE_H
#define CLI_RUNTIME_ADVICE_H

#include "analysis/flat_table.h"
#include "base/text.h"

/*
 * Append the options for frame pointers of the runtimes that occur in the table, if any.
 *
 * indent  what each line begins with
 */
void runtime_advice_append_frame_pointers(struct text *text, const struct flat_table *table,
					  const char *indent);
void runtime_advice_append_names(struct text *text, const struct flat_table *table,
				 const char *indent);

#endif
