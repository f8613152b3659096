/*
 * A progress line on the terminal for long work. Silent if standard error is no terminal, and with
 * --quiet.
 */
#ifndef CLI_OPTIONS_PROGRESS_H
#define CLI_OPTIONS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct progress {
	bool is_shown;
	bool has_line;
	uint64_t start_ns;
	uint64_t next_ns; /* earliest time of the next update */
};

void progress_init(struct progress *progress);

/* Whether an update is due: call it before computing one. */
bool progress_is_due(const struct progress *progress);
void progress_print(struct progress *progress, const char *format, ...) _printf_(2, 3);

/* Remove the line. */
void progress_clear(struct progress *progress);

#endif
