/* The terminal or file behind standard output. */
#ifndef CLI_OPTIONS_TERMINAL_H
#define CLI_OPTIONS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"
#include "formats/format.h"

struct terminal {
	size_t num_columns; /* 0: no terminal, lines may have any length */
	bool has_color;     /* a terminal, and NO_COLOR is not set */
};

/* Properties of standard output. */
struct terminal terminal_get(void);

/*
 * Write data to standard output.
 *
 * write  gets a sink for it, and returns 0 or negative errno
 *
 * Returns 0, or negative errno with the reason in error.
 */
_must_check_ int terminal_write(int (*write)(void *context, const struct sink *sink), void *context,
				struct error *error);

#endif
