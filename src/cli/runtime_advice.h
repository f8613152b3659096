/*
 * What to do about code that a language's runtime compiles while it runs: without help from the
 * runtime it has no names, and in some no frame pointers.
 */
#ifndef CLI_RUNTIME_ADVICE_H
#define CLI_RUNTIME_ADVICE_H

#include "analysis/flat_table.h"
#include "base/text.h"

/*
 * Append the options of those runtimes that the table shows and that have one; nothing where there
 * is none.
 *
 * indent  what each line begins with
 */
void runtime_advice_append_frame_pointers(struct text *text, const struct flat_table *table,
					  const char *indent);
void runtime_advice_append_names(struct text *text, const struct flat_table *table,
				 const char *indent);

#endif
