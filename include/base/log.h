/*
 * Messages for a person, on standard error, one sentence per line. A control character in a message
 * becomes a blank, an invalid UTF-8 byte a question mark.
 *
 * Rooms below cli may call log_debug() only; cli also warns and reports errors. Thread-safe.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/attributes.h"

enum log_level { LOG_LEVEL_QUIET, LOG_LEVEL_NORMAL, LOG_LEVEL_VERBOSE };

void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* Printed at LOG_LEVEL_VERBOSE. */
void log_debug(const char *format, ...) _printf_(1, 2);
/* Printed unless quiet. */
void log_warning(const char *format, ...) _printf_(1, 2);
/* Always printed. */
void log_error(const char *format, ...) _printf_(1, 2);

#endif
