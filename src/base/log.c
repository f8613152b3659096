#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static enum log_level current_level = LOG_LEVEL_NORMAL;

void log_set_level(enum log_level level)
{
	current_level = level;
}

enum log_level log_get_level(void)
{
	return current_level;
}

static void _printf_(2, 0) print_line(const char *prefix, const char *format, va_list arguments)
{
	flockfile(stderr);
	fputs(prefix, stderr);
	vfprintf(stderr, format, arguments);
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
