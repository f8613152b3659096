/*
 * The text at the end of a recording: where the time went, how reliable the result is, its cost,
 * and its files.
 */
#ifndef CLI_RECORD_SUMMARY_H
#define CLI_RECORD_SUMMARY_H

#include <stdbool.h>

#include "base/attributes.h"
#include "base/text.h"
#include "cli/files/outputs.h"
#include "cli/record/account.h"
#include "symbolize/symbolizer.h"

struct summary {
	const struct account *account;
	const struct profile *profile;
	const struct outputs *outputs;
	const char *stats_path; /* NULL: not written */
	const char *event_name;
	bool is_kernel_restricted; /* kallsyms showed no addresses */
	struct unread_debug_info unread_debug_info;
	bool has_user_stacks;
	struct trace_losses trace_losses; /* all 0 without a trace */
	uint32_t metric;                  /* of the list of top functions */
	size_t num_columns;               /* summary_get_columns() */
};

/* Columns of the terminal on standard error, or a usual number. At least 40. */
size_t summary_get_columns(void);

/* Append it. Returns 0 or -ENOMEM. */
_must_check_ int summary_append(const struct summary *summary, struct text *ret);
/* In one line, for one of many flushes. */
_must_check_ int summary_append_line(const struct summary *summary, struct text *ret);

/* Print them to standard error. Return 0 or -ENOMEM. */
_must_check_ int summary_print(const struct summary *summary);
_must_check_ int summary_print_line(const struct summary *summary);

#endif
