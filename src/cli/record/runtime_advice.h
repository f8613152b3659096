/*
 * Advice on JIT compiled code: options that make a language's runtime write a perf-map, without
 * which its code is unsymbolized, or keep frame pointers. Java needs neither if the recording knew
 * its versions.
 */
#ifndef CLI_RECORD_RUNTIME_ADVICE_H
#define CLI_RECORD_RUNTIME_ADVICE_H

#include "analysis/flat_table.h"
#include "base/text.h"
#include "collect/recorder.h"

/*
 * Append the options for frame pointers of the runtimes that occur in the table, if any.
 *
 * ticks   the recording's counts of runtimes
 * indent  start of each line
 */
void runtime_advice_append_frame_pointers(struct text *text, const struct flat_table *table,
					  const struct recorder_account *ticks, const char *indent);
void runtime_advice_append_names(struct text *text, const struct flat_table *table,
				 const struct recorder_account *ticks, const char *indent);

#endif
