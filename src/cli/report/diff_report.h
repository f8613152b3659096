/*
 * The table of `stackwide diff`, as text for people or as JSON for programs.
 */
#ifndef CLI_REPORT_DIFF_REPORT_H
#define CLI_REPORT_DIFF_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/diff.h"
#include "base/attributes.h"
#include "cli/options/terminal.h"
#include "formats/format.h"

/* Before or after. All strings are borrowed. */
struct diff_input {
	const char *path;  /* or several, separated by commas */
	char *metric_name; /* as in the input */
	char *metric_unit;
	size_t num_runs;
	uint64_t scale;       /* factor of the weights, since counts have decimals; else 1 */
	uint64_t num_samples; /* behind the weight; 0: the weight counts samples */
};

struct diff_report {
	const struct diff_table *table;
	const struct diff_input *before;
	const struct diff_input *after;
	const char *doubt; /* the reason for missing confidence values, in one line; NULL: they
			      exist */
	size_t top;        /* maximum number of functions; 0: all */
};

/* Each returns 0, -ENOMEM, or the error of the sink. */
_must_check_ int diff_report_write_text(const struct diff_report *report,
					const struct terminal *terminal, const struct sink *sink);
/*
 * {"metric": {"name", "unit"}, "confidence": 0.95, "before": {"name", "total", "samples", "runs",
 * "slices"}, "after": {…}, "functions": [{"name", "module", "noise": bool, "self": CHANGE, "total":
 * CHANGE}…]}
 *
 * CHANGE is {"before", "after", "before_percent", "after_percent", "change", "low", "high",
 * "noise"}: weights; percent of the side's total; change and its interval in percentage points.
 *
 * "slices" is the number of time slices that show the variation of shares; 0: the side has no
 * times, or runs show it.
 *
 * If the number of samples cannot be known, "confidence" is null and "reason" beside it explains
 * why. Then "samples", "low" and "high" are null, too, and "noise" is true everywhere. A program
 * that looks for changes finds nothing, and "confidence" shows that this is no result.
 */
_must_check_ int diff_report_write_json(const struct diff_report *report, const struct sink *sink);

#endif
