#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "base/table_format.h"
#include "base/text.h"

/*
 * The only global state of the program that changes (see the house style): set once by the options,
 * before there are threads.
 */
static enum log_level current_level = LOG_LEVEL_NORMAL;

void log_set_level(enum log_level level)
{
	current_level = level;
}

enum log_level log_get_level(void)
{
	return current_level;
}

/*
 * Messages contain names and contents of foreign files, so control characters are escaped for the
 * terminal. Locked, so that the lines of two threads do not mix.
 */
static void _printf_(2, 0) print_line(const char *prefix, const char *format, va_list arguments)
{
	_cleanup_(text_release) struct text shown = {0};
	_cleanup_free_ char *line = NULL;
	int length = vasprintf(&line, format, arguments);

	if (length < 0)
		line = NULL;
	else
		table_append_name(&shown, line, (size_t)length, TABLE_UNLIMITED_WIDTH);
	flockfile(stderr);
	fputs(prefix, stderr);
	if (line && !shown.failed)
		fwrite(shown.data, 1, shown.length, stderr);
	else
		fputs("out of memory", stderr);
	fputc('\n', stderr);
	funlockfile(stderr);
}

void log_debug(const char *format, ...)
{
	va_list arguments;

	if (current_level < LOG_LEVEL_VERBOSE)
		return;
	va_start(arguments, format);
	print_line("stackwide: debug: ", format, arguments);
	va_end(arguments);
}

void log_warning(const char *format, ...)
{
	va_list arguments;

	if (current_level < LOG_LEVEL_NORMAL)
		return;
	va_start(arguments, format);
	print_line("stackwide: warning: ", format, arguments);
	va_end(arguments);
}

void log_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_line("stackwide: ", format, arguments);
	va_end(arguments);
}
