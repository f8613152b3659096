/*
 * A line that describes an error, filled by functions that read foreign bytes.
 *
 * The integer return value (negative errno) decides how the program goes on. The text is for the
 * reader: file, offset or line number, the expected input.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/attributes.h"

struct error {
	char message[512]; /* NUL-terminated, no newline; empty when nothing was reported */
};

/*
 * Format the message into *error (NULL is fine: nothing is kept) and return code unchanged,
 * so that a failure is one line: return error_set(error, -EINVAL, "…").
 */
int error_set(struct error *error, int code, const char *format, ...) _printf_(3, 4);

#endif
